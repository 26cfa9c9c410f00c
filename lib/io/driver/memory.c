// SPDX-License-Identifier: BSD-3-Clause
// Packet memory of ports: sizes from settings and driver, the two pools of every queue, the rings
// of driver ring. Also the kernel's figures of hugepages. Path: cold. Management thread.
#include "io/driver/memory.h"
#include "io/driver/driver.h"
#include "io/port_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "base/file.h"
#include "io/driver/explain.h"
#include "io/handoff.h"

#define PORT_OVERHEAD (4u << 20)
#define POOL_CACHE    256 // mbufs of each lcore
#define LCORE_CACHE   512 // mbufs: a pool's cache, with its flush threshold
#define POOL_OVERHEAD (256u << 10)

_Static_assert(
	PORT_HEADROOM == RTE_PKTMBUF_HEADROOM, "headers that net/ builds in front of the data");

static uint64_t automatic(uint64_t set, uint64_t otherwise)
{
	return set && set != UINT64_MAX ? set : otherwise;
}

uint16_t port_rx_descriptors(const struct port_settings *p)
{
	return (uint16_t)automatic(p->rx_descriptors, driver_of(p)->descriptors);
}

uint16_t port_tx_descriptors(const struct port_settings *p)
{
	return (uint16_t)automatic(p->tx_descriptors, driver_of(p)->descriptors);
}

// Twice the descriptors (a driver may refill before it hands over, or free late) and the caches of
// the lcores.
static uint32_t automatic_mbufs(uint16_t descriptors)
{
	return rte_align32pow2(2u * descriptors + 1024) - 1;
}

uint32_t port_rx_mbufs(const struct port_settings *p)
{
	// Packets that one worker received can wait in its rings to all others, and in the caches
	// of their CPUs.
	uint32_t handed_over = (port_queue_count(p) - 1) * (HANDOFF_RING + LCORE_CACHE);

	return (uint32_t)automatic(p->mbufs, automatic_mbufs(port_rx_descriptors(p)) + handed_over);
}

uint32_t port_tx_mbufs(const struct port_settings *p)
{
	return (uint32_t)automatic(p->mbufs, automatic_mbufs(port_tx_descriptors(p)) + p->held);
}

// May its mbufs cross pages? Not where a card, or XDP on one, reads them by physical address.
static bool has_dense_pools(const struct port_settings *p)
{
	return !driver_of(p)->dma;
}

// The memory of one pool. Where mbufs may not cross pages, each takes a whole page of ordinary
// size.
static uint64_t pool_memory(const struct port_settings *p, uint32_t mbufs)
{
	uint32_t element = (uint32_t)sizeof(struct rte_mbuf) + port_data_room(p);
	uint64_t size = rte_mempool_calc_obj_size(element, 0, NULL);
	uint64_t caches = RTE_MAX_LCORE * sizeof(struct rte_mempool_cache);

	if (!has_dense_pools(p))
		size = RTE_ALIGN_CEIL(size, 4096);
	// 16 bytes: the place of an mbuf in the ring of its pool, which has a power of two of them.
	return mbufs * (size + 16) + caches + POOL_OVERHEAD;
}

uint64_t port_memory(const struct port_settings *p)
{
	uint64_t queue = pool_memory(p, port_rx_mbufs(p)) + pool_memory(p, port_tx_mbufs(p));

	return PORT_OVERHEAD + port_queue_count(p) * queue;
}

int port_memory_socket(uint16_t id)
{
	int socket = rte_eth_dev_socket_id(id);

	return socket < 0 ? SOCKET_ID_ANY : socket;
}

// Without hugepages DPDK would give every mbuf a page of its own, all at the same offset. Cards
// that read physical memory need that; drivers of the kernel and of memory need the mbufs dense.
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
	uint16_t room = port->room;
	struct rte_mempool *pool;
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "%s_%u_%u", direction, port->devices[0], queue);
	if (has_dense_pools(port->settings))
		return make_dense_pool(name, mbufs, room);
	pool = rte_pktmbuf_pool_create(name, mbufs, POOL_CACHE, 0, room, socket);
	if (!pool && socket != SOCKET_ID_ANY)
		pool = rte_pktmbuf_pool_create(name, mbufs, POOL_CACHE, 0, room, SOCKET_ID_ANY);
	return pool;
}

int port_make_pools(struct port *port, unsigned q, struct io_error *e)
{
	const struct port_settings *p = port->settings;
	uint32_t rx = port_rx_mbufs(p), tx = port_tx_mbufs(p);

	if (driver_of(p)->one_pool) {
		port->rx_pool[q] = make_pool(port, q, "all", rx + tx);
		port->tx_pool[q] = port->rx_pool[q];
	} else {
		port->rx_pool[q] = make_pool(port, q, "rx", rx);
		port->tx_pool[q] = make_pool(port, q, "tx", tx);
	}
	if (port->rx_pool[q] && port->tx_pool[q])
		return 0;
	return port_fail(e, p, -ENOMEM,
		"no memory for %u + %u packet buffers: raise host.memory_size", rx, tx);
}

void port_free_pools(struct port *port)
{
	for (unsigned q = 0; q < port->queues; q++) {
		if (port->tx_pool[q] != port->rx_pool[q])
			rte_mempool_free(port->tx_pool[q]);
		rte_mempool_free(port->rx_pool[q]);
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

static uint64_t read_number(const char *folder, const char *file)
{
	char path[512], line[32];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	return strtoull(file_first_line(path, line, sizeof(line)), NULL, 10);
}

// The number behind a word at the start of a line; 0: the file does not have it.
static uint64_t find_number(const char *path, const char *word)
{
	FILE *f = fopen(path, "re");
	size_t len = strlen(word);
	uint64_t n = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, word, len) == 0 && sscanf(line + len, "%" SCNu64, &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

#define CGROUPS "/sys/fs/cgroup"

// The memory that a control group may still take; unused pages of files count as free.
static uint64_t group_available(const char *folder)
{
	uint64_t max = read_number(folder, "memory.max"); // "max": no limit
	uint64_t used = read_number(folder, "memory.current"), unused;
	char path[512];

	if (max == 0)
		return UINT64_MAX;
	snprintf(path, sizeof(path), "%s/memory.stat", folder);
	unused = find_number(path, "inactive_file "); // read later, so it can be the larger one
	used -= unused < used ? unused : used;
	return max > used ? max - used : 1;
}

// The least that the process's control group and those above it may take (version 2).
static uint64_t groups_available(void)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char folder[256] = CGROUPS, line[200];
	uint64_t least = UINT64_MAX, here;

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "0::/", 4) == 0)
			snprintf(folder, sizeof(folder), CGROUPS "%.*s",
				(int)strcspn(line + 3, "\n"), line + 3);
	if (f)
		fclose(f);
	do {
		here = group_available(folder);
		if (here < least)
			least = here;
		*strrchr(folder, '/') = '\0';
	} while (strlen(folder) >= strlen(CGROUPS));
	return least;
}

uint64_t memory_available(void)
{
	uint64_t box = find_number("/proc/meminfo", "MemAvailable:") * 1024;
	uint64_t groups = groups_available();

	return groups < box || (box == 0 && groups < UINT64_MAX) ? groups : box;
}

unsigned hugepages_read(struct hugepages out[HUGEPAGE_SIZES_MAX])
{
	static const uint64_t sizes_kib[HUGEPAGE_SIZES_MAX] = {64, 2048, 32768, 1048576};
	unsigned count = 0;

	for (unsigned i = 0; i < HUGEPAGE_SIZES_MAX; i++) {
		char folder[128];

		snprintf(folder, sizeof(folder), "/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB",
			sizes_kib[i]);
		if (access(folder, F_OK) < 0)
			continue;
		out[count].size = sizes_kib[i] * 1024;
		out[count].total = read_number(folder, "nr_hugepages");
		out[count].free = read_number(folder, "free_hugepages");
		count++;
	}
	return count;
}

uint64_t hugepages_free(void)
{
	struct hugepages pages[HUGEPAGE_SIZES_MAX];
	unsigned count = hugepages_read(pages);
	uint64_t bytes = 0;

	for (unsigned i = 0; i < count; i++)
		bytes += pages[i].free * pages[i].size;
	return bytes;
}

// The file counts pages of the default size, which is 2 MiB wherever DPDK is used.
uint64_t hugepages_to_set(uint64_t bytes)
{
	struct hugepages pages[HUGEPAGE_SIZES_MAX];
	unsigned count = hugepages_read(pages);
	uint64_t have = hugepages_free(), page = 2 << 20, total = 0;

	for (unsigned i = 0; i < count; i++)
		if (pages[i].size == page)
			total = pages[i].total;
	return total + (bytes > have ? (bytes - have + page - 1) / page : 0);
}
