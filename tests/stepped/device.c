// SPDX-License-Identifier: BSD-3-Clause
// In the place of ethdev, as far as the drivers ring, null and pcap with files need it, and in that
// of the pools and rings of lib/io: without EAL. The ring port's rings are the links of world.c.
// With a sanitizer each packet has memory of its own. Path: tests only.
#include <errno.h>
#include <pcap.h>
#include <stdlib.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_mempool.h>

#include "io/port_state.h"
#include "base/rand.h"
#include "io/driver/memory.h"
#include "io/driver/stamps.h"
#include "lib/test_port.h"
#include "machine.h"
#include "net/frame.h"
#include "world.h"

#define DEVICES 32

struct device {
	bool used;
	struct way *rx[PORT_MAX_QUEUES], *tx[PORT_MAX_QUEUES]; // ring
	uint16_t queues;
	pcap_t *reads;
	pcap_dumper_t *writes;
	pcap_t *format; // of what it writes
	struct rte_mempool *pool;
	char name[RTE_ETH_NAME_MAX_LEN];
	struct rte_eth_stats stats;
};

// What the driver finds behind a queue.
struct device_queue {
	struct device *of;
	uint16_t number;
};

static struct device devices[DEVICES];
static struct device_queue queues[DEVICES][PORT_MAX_QUEUES];
static void *queue_data[DEVICES][PORT_MAX_QUEUES];
static void *no_callbacks[PORT_MAX_QUEUES];
static bool spread, stamps;

void device_reset(bool by_ports, bool stamped)
{
	spread = by_ports;
	stamps = stamped;
	memset(devices, 0, sizeof(devices));
}

struct way *device_way(uint16_t device, uint16_t queue)
{
	return devices[device].rx[queue];
}

// --- buffers ---

struct pool {
	struct rte_mempool mp;
	struct test_pool buffers;
	uint32_t left, count;
	uint16_t room;
	struct rte_mbuf **spare; // used and given back
	uint32_t spares;
};

static struct rte_mbuf *mbuf_make(void *pool)
{
	struct pool *p = pool;
	struct rte_mbuf *m;

	if (p->spares)
		return p->spare[--p->spares];
	m = aligned_alloc(64, (sizeof(*m) + p->room + 63) & ~(size_t)63);
	if (!m)
		abort();
	memset(m, 0, sizeof(*m));
	m->buf_addr = m + 1;
	m->buf_len = p->room;
	m->data_off = RTE_PKTMBUF_HEADROOM;
	m->pool = &p->mp;
	m->nb_segs = 1;
	rte_mbuf_refcnt_set(m, 1);
	return m;
}

static void mbuf_take_back(void *pool, struct rte_mbuf *m)
{
	struct pool *p = pool;

	p->left++;
#ifdef __SANITIZE_ADDRESS__
	free(m);
#else
	p->spare[p->spares++] = m;
#endif
}

static struct rte_mempool *pool_new(uint32_t count, uint16_t room)
{
	struct pool *p = aligned_alloc(64, (sizeof(*p) + 63) & ~(size_t)63);

	if (!p)
		abort();
	memset(p, 0, sizeof(*p));
	p->buffers = (struct test_pool){p, &p->left, mbuf_make, mbuf_take_back};
	test_pool_open(&p->mp, &p->buffers);
	p->mp.size = p->left = p->count = count;
	p->room = room;
	p->spare = malloc(count * sizeof(*p->spare));
	return &p->mp;
}

static void pool_free(struct rte_mempool *mp)
{
	struct pool *p = (struct pool *)mp; // its first member

	if (!p)
		return;
	machine_leaked(p->count - p->left);
	while (p->spares)
		free(p->spare[--p->spares]);
	free(p->spare);
	free(p);
}

int __wrap_port_make_pools(struct port *port, unsigned q, struct io_error *e)
{
	uint32_t rx = port_rx_mbufs(port->settings), tx = port_tx_mbufs(port->settings);

	port->rx_pool[q] = pool_new(rx, port->room);
	port->tx_pool[q] = pool_new(tx, port->room);
	return 0;
}

void __wrap_port_free_pools(struct port *port)
{
	for (unsigned q = 0; q < port->queues; q++) {
		pool_free(port->rx_pool[q]);
		pool_free(port->tx_pool[q]);
		port->rx_pool[q] = port->tx_pool[q] = NULL;
	}
}

int __wrap_port_make_rings(struct port *port, unsigned index, struct io_error *e)
{
	for (unsigned q = 0; q < port->queues; q++)
		port->ring[q] = (struct rte_ring *)way_new();
	return 0;
}

void __wrap_port_free_rings(struct port *port)
{
	for (unsigned q = 0; q < port->queues; q++) {
		if (port->ring[q])
			way_free((struct way *)port->ring[q]);
		port->ring[q] = NULL;
	}
}

// --- packets ---

struct rte_mbuf *device_copy(const struct rte_mbuf *m)
{
	struct rte_mbuf *copy;

	if (m->nb_segs > 1 || rte_mempool_get_bulk(m->pool, (void **)&copy, 1) != 0)
		return NULL;
	copy->data_off = m->data_off;
	copy->data_len = m->data_len;
	copy->pkt_len = m->pkt_len;
	copy->ol_flags = m->ol_flags;
	memcpy(rte_pktmbuf_mtod(copy, uint8_t *), rte_pktmbuf_mtod(m, const uint8_t *),
		m->data_len);
	return copy;
}

// Behind the addresses of Ethernet, so that it reaches its destination.
void device_corrupt(struct rte_mbuf *m, uint64_t random)
{
	uint32_t at = 14 + (uint32_t)rand_scale(random, m->data_len - 14u);

	rte_pktmbuf_mtod(m, uint8_t *)[at] ^= (uint8_t)(1u << (random & 7));
}

// In a field that ends where an mbuf does.
#define STAMP_AT (sizeof(struct rte_mbuf) - sizeof(uint64_t))

void device_stamp(struct rte_mbuf *m, uint64_t tick)
{
	*RTE_MBUF_DYNFIELD(m, STAMP_AT, uint64_t *) = tick;
	m->ol_flags |= RTE_MBUF_F_FIRST_FREE;
}

struct stamps __wrap_stamps_of(const struct port *port, uint16_t queue)
{
	return (struct stamps){
		.known = stamps, .at = STAMP_AT, .flag = RTE_MBUF_F_FIRST_FREE, .unit = 1};
}

uint32_t device_hash(const struct rte_mbuf *m)
{
	struct frame f;
	enum frame_kind kind = frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, &f);

	if (kind != FRAME_UDP && kind != FRAME_TCP)
		return 0;
	return (uint32_t)rand_hash((uint64_t)f.src_port << 16 | f.dst_port);
}

static uint16_t receive(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct device_queue *q = queue;
	struct device *d = q->of;
	struct way *w = d->rx[q->number];
	struct pcap_pkthdr *head;
	const u_char *data;
	uint16_t got = 0;

	if (w) {
		got = way_take(w, pkts, n);
		d->stats.ipackets += got;
		return got;
	}
	while (d->reads && got < n && pcap_next_ex(d->reads, &head, &data) == 1) {
		if (rte_mempool_get_bulk(d->pool, (void **)&pkts[got], 1) != 0)
			break;
		pkts[got]->data_off = RTE_PKTMBUF_HEADROOM;
		pkts[got]->ol_flags = 0;
		if (head->caplen > rte_pktmbuf_tailroom(pkts[got]) + pkts[got]->data_len) {
			rte_mempool_put_bulk(d->pool, (void **)&pkts[got], 1);
			continue;
		}
		memcpy(rte_pktmbuf_mtod(pkts[got], void *), data, head->caplen);
		pkts[got]->data_len = (uint16_t)head->caplen;
		pkts[got++]->pkt_len = head->caplen;
	}
	d->stats.ipackets += got;
	return got;
}

static void write_file(struct device *d, const struct rte_mbuf *m)
{
	uint64_t us = (WORLD_EPOCH_NS + world_now()) / 1000;
	const struct pcap_pkthdr head = {
		.ts = {(time_t)(us / 1000000), (suseconds_t)(us % 1000000)},
		.caplen = m->data_len,
		.len = m->data_len};

	pcap_dump((u_char *)d->writes, &head, rte_pktmbuf_mtod(m, const u_char *));
}

static uint16_t transmit(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct device_queue *q = queue;
	struct device *d = q->of;

	for (uint16_t i = 0; i < n; i++) {
		uint16_t to = spread && d->queues > 1 ? (uint16_t)(device_hash(pkts[i]) % d->queues)
		                                      : q->number;

		if (d->writes)
			write_file(d, pkts[i]);
		if (d->tx[0])
			way_send(d->tx[to], pkts[i]);
		else
			rte_pktmbuf_free(pkts[i]);
	}
	d->stats.opackets += n;
	return n;
}

// --- ethdev ---

static struct device *device_new(const char *name, uint16_t *id)
{
	for (uint16_t i = 0; i < DEVICES; i++) {
		struct rte_eth_fp_ops *row = &rte_eth_fp_ops[i];

		if (devices[i].used)
			continue;
		memset(&devices[i], 0, sizeof(devices[i]));
		devices[i].used = true;
		snprintf(devices[i].name, sizeof(devices[i].name), "%s", name);
		for (uint16_t q = 0; q < PORT_MAX_QUEUES; q++) {
			queues[i][q] = (struct device_queue){&devices[i], q};
			queue_data[i][q] = &queues[i][q];
		}
		row->rx_pkt_burst = receive;
		row->tx_pkt_burst = transmit;
		row->rxq = row->txq = (struct rte_ethdev_qdata){queue_data[i], no_callbacks};
		*id = i;
		return &devices[i];
	}
	abort();
}

int rte_eth_from_rings(const char *name, struct rte_ring *const rx[], const unsigned rx_count,
	struct rte_ring *const tx[], const unsigned tx_count, const unsigned node)
{
	uint16_t id;
	struct device *d = device_new(name, &id);

	d->queues = (uint16_t)rx_count;
	for (unsigned q = 0; q < rx_count; q++) {
		d->rx[q] = (struct way *)rx[q];
		d->tx[q] = (struct way *)tx[q];
	}
	return id;
}

static char *argument(const char *args, const char *key)
{
	const char *at = strstr(args, key);

	return at ? strndup(at + strlen(key), strcspn(at + strlen(key), ",")) : NULL;
}

static int open_files(struct device *d, const char *args)
{
	char *in = argument(args, "rx_pcap="), *out = argument(args, "tx_pcap=");
	char why[PCAP_ERRBUF_SIZE];
	int rc = 0;

	d->reads = in ? pcap_open_offline(in, why) : NULL;
	d->format = out ? pcap_open_dead(DLT_EN10MB, UINT16_MAX) : NULL;
	d->writes = out ? pcap_dump_open(d->format, out) : NULL;
	if ((in && !d->reads) || (out && !d->writes))
		rc = -EINVAL;
	free(in);
	free(out);
	return rc;
}

int rte_eal_hotplug_add(const char *bus, const char *name, const char *args)
{
	uint16_t id;
	struct device *d;

	if (strncmp(name, "net_pcap", 8) != 0 && strncmp(name, "net_null", 8) != 0)
		return -ENODEV;
	d = device_new(name, &id);
	d->queues = PORT_MAX_QUEUES;
	return strncmp(name, "net_pcap", 8) == 0 ? open_files(d, args) : 0;
}

int rte_eth_dev_get_port_by_name(const char *name, uint16_t *id)
{
	for (uint16_t i = 0; i < DEVICES; i++)
		if (devices[i].used && strcmp(devices[i].name, name) == 0) {
			*id = i;
			return 0;
		}
	return -ENODEV;
}

int rte_eth_dev_info_get(uint16_t id, struct rte_eth_dev_info *info)
{
	memset(info, 0, sizeof(*info));
	info->driver_name = "stepped";
	info->max_rx_queues = info->max_tx_queues = devices[id].queues;
	return 0;
}

int rte_eth_rx_queue_setup(uint16_t id, uint16_t queue, uint16_t descriptors, unsigned socket,
	const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
	devices[id].pool = pool;
	return 0;
}

int rte_eth_dev_close(uint16_t id)
{
	struct device *d = &devices[id];

	if (d->reads)
		pcap_close(d->reads);
	if (d->writes)
		pcap_dump_close(d->writes);
	if (d->format)
		pcap_close(d->format);
	d->used = false;
	return 0;
}

int rte_eth_stats_get(uint16_t id, struct rte_eth_stats *out)
{
	const struct device *d = &devices[id];

	*out = d->stats;
	out->imissed = 0;
	for (uint16_t q = 0; q < PORT_MAX_QUEUES; q++)
		out->imissed += d->rx[q] ? way_dropped(d->rx[q]) : 0;
	return 0;
}

int rte_eth_stats_reset(uint16_t id)
{
	memset(&devices[id].stats, 0, sizeof(devices[id].stats));
	return 0;
}

int rte_eth_link_get_nowait(uint16_t id, struct rte_eth_link *link)
{
	*link = (struct rte_eth_link){.link_status = RTE_ETH_LINK_UP};
	return 0;
}

int rte_eth_macaddr_get(uint16_t id, struct rte_ether_addr *mac)
{
	*mac = (struct rte_ether_addr){{2, 'd', 'e', 'v', 0, (uint8_t)id}};
	return 0;
}

// Nothing of these is to be done.
#define NOTHING(name, ...)                                                                         \
	int name(__VA_ARGS__)                                                                      \
	{                                                                                          \
		return 0;                                                                          \
	}

NOTHING(rte_eth_dev_configure, uint16_t id, uint16_t rx, uint16_t tx,
	const struct rte_eth_conf *conf)
NOTHING(rte_eth_dev_adjust_nb_rx_tx_desc, uint16_t id, uint16_t *rx, uint16_t *tx)
NOTHING(rte_eth_tx_queue_setup, uint16_t id, uint16_t queue, uint16_t descriptors, unsigned socket,
	const struct rte_eth_txconf *conf)
NOTHING(rte_eth_dev_start, uint16_t id)
NOTHING(rte_eth_dev_stop, uint16_t id)
NOTHING(rte_eth_dev_socket_id, uint16_t id)
NOTHING(rte_eth_promiscuous_enable, uint16_t id)
NOTHING(rte_eth_allmulticast_enable, uint16_t id)
NOTHING(rte_dev_remove, struct rte_device *device)

int rte_eal_has_hugepages(void)
{
	return 0;
}
