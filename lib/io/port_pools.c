// SPDX-License-Identifier: BSD-3-Clause
// Memory of a port for packets: two pools for every queue, and the rings of driver ring; made and
// freed. How large they are is in memory.c. Path: cold. Management thread.
#include "io/port_internal.h"

#include <errno.h>
#include <stdio.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "io/driver.h"
#include "io/explain.h"
#include "io/memory.h"

#define POOL_CACHE 256

_Static_assert(PORT_HEADROOM == RTE_PKTMBUF_HEADROOM, "what net/ builds in front of the data");

int port_memory_socket(uint16_t id)
{
	int socket = rte_eth_dev_socket_id(id);

	return socket < 0 ? SOCKET_ID_ANY : socket;
}

// Without hugepages DPDK would give every mbuf a page of its own, all at the same offset, for the
// sake of cards that read physical memory; drivers of the kernel and of memory need it dense
// instead.
static struct rte_mempool *make_dense_pool(const char *name, uint32_t mbufs, uint16_t room)
{
	struct rte_pktmbuf_pool_private private = {.mbuf_data_room_size = room};
	unsigned size = (unsigned)sizeof(struct rte_mbuf) + room;
	struct rte_mempool *pool = rte_mempool_create_empty(name, mbufs, size, POOL_CACHE,
		sizeof(private), SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);

	if (!pool)
		return NULL;
	rte_pktmbuf_pool_init(pool, &private);
	// Without a name it would be whichever kind of pool was registered first.
	if (rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL) < 0 ||
		rte_mempool_populate_default(pool) < 0) {
		rte_mempool_free(pool);
		return NULL;
	}
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

static struct rte_mempool *make_pool(
	const struct port *port, unsigned queue, const char *direction, uint32_t mbufs)
{
	int socket = port_memory_socket(port->queue[queue].device);
	uint16_t room = port_data_room(port->settings);
	struct rte_mempool *pool;
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "%s_%u_%u", direction, port->devices[0], queue);
	if (port_has_dense_pools(port->settings))
		return make_dense_pool(name, mbufs, room);
	pool = rte_pktmbuf_pool_create(name, mbufs, POOL_CACHE, 0, room, socket);
	if (!pool && socket != SOCKET_ID_ANY)
		pool = rte_pktmbuf_pool_create(name, mbufs, POOL_CACHE, 0, room, SOCKET_ID_ANY);
	return pool;
}

int port_make_pools(struct port *port, unsigned q, struct io_error *e)
{
	const struct port_settings *p = port->settings;

	port->rx_pool[q] = make_pool(port, q, "rx", port_rx_mbufs(p));
	port->tx_pool[q] = make_pool(port, q, "tx", port_tx_mbufs(p));
	if (port->rx_pool[q] && port->tx_pool[q])
		return 0;
	return port_fail(e, p, -ENOMEM,
		"no memory for %u + %u packet buffers: raise host.memory_size", port_rx_mbufs(p),
		port_tx_mbufs(p));
}

void port_free_pools(struct port *port)
{
	for (unsigned q = 0; q < port->queues; q++) {
		rte_mempool_free(port->rx_pool[q]);
		rte_mempool_free(port->tx_pool[q]);
		port->rx_pool[q] = NULL;
		port->tx_pool[q] = NULL;
	}
}

int port_make_rings(struct port *port, unsigned index, struct io_error *e)
{
	const struct port_settings *p = port->settings;
	char name[RTE_RING_NAMESIZE];

	for (unsigned q = 0; q < port->queues; q++) {
		snprintf(name, sizeof(name), "wire_%u_%u", index, q);
		port->ring[q] = rte_ring_create(name, rte_align32pow2(port_tx_descriptors(p)),
			SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (!port->ring[q])
			return port_fail(
				e, p, -ENOMEM, "no memory for a ring: raise host.memory_size");
	}
	return 0;
}

void port_free_rings(struct port *port)
{
	void *mbuf;

	for (unsigned q = 0; q < port->queues; q++) {
		while (port->ring[q] && rte_ring_dequeue(port->ring[q], &mbuf) == 0)
			rte_pktmbuf_free(mbuf);
		rte_ring_free(port->ring[q]);
		port->ring[q] = NULL;
	}
}
