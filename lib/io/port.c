// SPDX-License-Identifier: BSD-3-Clause
// Ethdev bring-up and tear-down of all ports, the drivers' output captured meanwhile. Not here: the
// checks before EAL (preflight.c), EAL (eal.c), the driver's arguments (driver.c). Path: cold.
// Management thread.
#include "io/port.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_ring.h>

#include "base/log.h"
#include "io/burst.h"
#include "io/driver.h"
#include "io/eal.h"
#include "io/explain.h"
#include "io/memory.h"
#include "io/netif.h"
#include "io/pcap_ring.h"
#include "io/preflight.h"
#include "io/rules.h"
#include "io/state.h"

#define STALE_BURSTS 10000 // in a queue between two runs, at most
#define LINK_WAIT_MS 2000
#define POOL_CACHE   256

_Static_assert(PORT_HEADROOM == RTE_PKTMBUF_HEADROOM, "what net/ builds in front of the data");
_Static_assert(BURST_MAX == 64, "the range of ports[].burst");

static bool on_kernel_interface(const struct port_settings *p)
{
	return driver_of(p)->kernel_interface && p->device;
}

static bool is_pci(const struct port_settings *p)
{
	return driver_of(p)->preflight == preflight_pci;
}

static int memory_socket(uint16_t id)
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
	int socket = memory_socket(port->queue[queue].device);
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

static int make_pools(struct port *port, unsigned q, struct io_error *e)
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

// A ring per queue, which this port sends into and its peer receives from.
static int make_rings(struct port *port, unsigned index, struct io_error *e)
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

static int probe_ring(
	struct port *ports, unsigned count, unsigned index, uint16_t *id, struct io_error *e)
{
	struct port *port = &ports[index];
	int peer = port_ring_peer(ports[0].settings, count, index), rc;
	char name[16];

	if (peer < 0)
		return port_fail(e, port->settings, -EINVAL, "device: must name another ring port");
	snprintf(name, sizeof(name), "wire%u", index);
	rc = rte_eth_from_rings(name, ports[peer].ring, port->queues, port->ring, port->queues, 0);
	if (rc < 0)
		return -rte_errno;
	*id = (uint16_t)rc;
	return 0;
}

static int probe_pci(const struct port *port, const char *bdf, uint16_t *id, struct io_error *e)
{
	if (rte_eth_dev_get_port_by_name(bdf, id) == 0)
		return 0;
	return port_fail(e, port->settings, -ENODEV,
		"no DPDK driver took the device: `apt-get install librte-meta-net`, and "
		"`ddiperf --verbose` shows what DPDK said");
}

static int probe_vdev(char *devargs, uint16_t *id)
{
	char *args = devargs;
	char *name = strsep(&args, ",");
	int err = rte_eal_hotplug_add("vdev", name, args ? args : "");

	return err ? err : rte_eth_dev_get_port_by_name(name, id);
}

// device: of the port's.
static int probe(
	struct port *ports, unsigned count, unsigned index, unsigned device, struct io_error *e)
{
	struct port *port = &ports[index];
	const struct port_settings *p = port->settings;
	uint16_t *id = &port->devices[device];
	char devargs[8192];
	const char *why;
	int err;

	if (!port->driver->devargs)
		return probe_ring(ports, count, index, id, e);
	err = port->driver->devargs(p, index + PORT_MAX * device, devargs, sizeof(devargs), &why);
	if (err)
		return port_fail(e, p, err, "%s", why);
	pcap_ring_for(p);
	return is_pci(p) ? probe_pci(port, devargs, id, e) : probe_vdev(devargs, id);
}

// Drivers accept RSS that they do not have, so it is asked for only where the device names its hash
// fields and is a card. With a key that makes the queue a function of the source port, if it takes
// one; a responder has one port, and keeps the card's own key.
static void choose_receive(struct port *port, const struct rte_eth_dev_info *info,
	struct rte_eth_conf *conf, uint8_t *key)
{
	uint64_t checksums = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
	uint64_t hash =
		info->flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP);

	if (is_pci(port->settings))
		conf->rxmode.mtu = (uint32_t)port->settings->mtu;
	if (port->driver->checksum_offload && (info->rx_offload_capa & checksums) == checksums)
		conf->rxmode.offloads |= checksums;
	if (!port->driver->checksum_offload || port->queues == 1 || !hash)
		return;
	conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf->rx_adv_conf.rss_conf.rss_hf = hash;
	if (port->settings->answers || info->hash_key_size < STEER_KEY_LEAST ||
		info->hash_key_size > STEER_KEY_MAX)
		return;
	steer_key_sparse(key, info->hash_key_size);
	conf->rx_adv_conf.rss_conf.rss_key = key;
	conf->rx_adv_conf.rss_conf.rss_key_len = info->hash_key_size;
}

static void choose_transmit(
	const struct port *port, const struct rte_eth_dev_info *info, struct rte_eth_conf *conf)
{
	uint64_t checksums = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
	const struct port_settings *p = port->settings;

	if (p->checksum_offload && port->driver->checksum_offload &&
		(info->tx_offload_capa & checksums) == checksums)
		conf->txmode.offloads |= checksums;
}

static unsigned queues_of_device(const struct port *port)
{
	return port->driver->one_queue ? 1 : port->queues;
}

static int check_limits(
	const struct port *port, const struct rte_eth_dev_info *info, struct io_error *e)
{
	const struct port_settings *p = port->settings;
	unsigned queues = queues_of_device(port);

	if (queues > info->max_rx_queues || queues > info->max_tx_queues)
		return port_fail(e, p, -EINVAL,
			"cpus: has %u CPUs, the device has %u receive and %u transmit queues, and "
			"every worker needs one of each (up to %u CPUs)",
			port->queues, info->max_rx_queues, info->max_tx_queues,
			info->max_rx_queues < info->max_tx_queues ? info->max_rx_queues
								  : info->max_tx_queues);
	if (info->max_mtu && p->mtu > info->max_mtu)
		return port_fail(e, p, -EMSGSIZE, "mtu: the device has at most %u", info->max_mtu);
	return 0;
}

static int setup_queue(struct port *port, unsigned q, uint16_t rx, uint16_t tx,
	const struct rte_eth_txconf *txconf)
{
	uint16_t device = port->queue[q].device, number = port->queue[q].number;
	int socket = memory_socket(device);
	int err = rte_eth_rx_queue_setup(device, number, rx, socket, NULL, port->rx_pool[q]);

	return err ? err : rte_eth_tx_queue_setup(device, number, tx, socket, txconf);
}

// first: of the port's queues, that is on this device.
static int setup_queues(struct port *port, unsigned first, const struct rte_eth_dev_info *info,
	const struct rte_eth_conf *conf, struct io_error *e)
{
	uint16_t rx = port_rx_descriptors(port->settings), tx = port_tx_descriptors(port->settings);
	struct rte_eth_txconf txconf = info->default_txconf;
	int err = rte_eth_dev_adjust_nb_rx_tx_desc(port->queue[first].device, &rx, &tx);

	txconf.offloads = conf->txmode.offloads;
	for (unsigned q = first; !err && q < first + queues_of_device(port); q++) {
		err = make_pools(port, q, e);
		if (!err)
			err = setup_queue(port, q, rx, tx, &txconf);
	}
	return err;
}

static int configure(struct port *port, unsigned device, struct io_error *e)
{
	uint16_t id = port->devices[device], queues = (uint16_t)queues_of_device(port);
	uint8_t key[STEER_KEY_MAX];
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	int err = rte_eth_dev_info_get(id, &info);

	if (!err)
		err = check_limits(port, &info, e);
	if (err)
		return err;
	choose_receive(port, &info, &conf, key);
	choose_transmit(port, &info, &conf);
	port->reports_checksums = conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
	port->checksum_offload = conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
	err = rte_eth_dev_configure(id, queues, queues, &conf);
	if (err && conf.rx_adv_conf.rss_conf.rss_key) {
		conf.rx_adv_conf.rss_conf.rss_key = NULL; // it insists on its own
		err = rte_eth_dev_configure(id, queues, queues, &conf);
	}
	return err ? err : setup_queues(port, device * queues, &info, &conf, e);
}

// What a card says about its hash, now that it runs.
static void read_rss_of_card(struct port *port)
{
	struct rte_eth_rss_reta_entry64 reta[STEER_RETA_MAX / RTE_ETH_RETA_GROUP_SIZE];
	struct rte_eth_rss_conf conf = {.rss_key = port->steer.key};
	struct steer *s = &port->steer;
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(port->devices[0], &info) < 0 || info.reta_size > STEER_RETA_MAX ||
		info.hash_key_size > STEER_KEY_MAX)
		return;
	conf.rss_key_len = info.hash_key_size;
	memset(reta, 0, sizeof(reta));
	for (size_t i = 0; i < sizeof(reta) / sizeof(reta[0]); i++)
		reta[i].mask = UINT64_MAX;
	if (rte_eth_dev_rss_hash_conf_get(port->devices[0], &conf) < 0 ||
		rte_eth_dev_rss_reta_query(port->devices[0], reta, info.reta_size) < 0)
		return;
	s->key_len = conf.rss_key_len;
	s->reta_size = info.reta_size;
	for (uint32_t i = 0; i < s->reta_size; i++)
		s->reta[i] = reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE];
}

// Rules by the addresses that are a queue's where there are any, else by port.
static bool takes_rules(const struct port *port)
{
	const struct port_settings *p = port->settings;
	struct rule rules[RULES_MAX];
	uint32_t n;

	if (port->driver->one_queue || p->homes.count > RULES_MAX)
		return false;
	if (p->homes.count)
		n = rules_by_address(p->homes.items, p->homes.count, port->vlan_count, rules);
	else
		n = p->has_ports ? rules_by_port(port->queues, port->vlan_count, rules) : 0;
	return rules_install(port->devices[0], rules, n) == 0;
}

// Where answers are going to come, by what the device says of itself.
static void choose_steering(struct port *port)
{
	struct steer_facts facts = {.queues = port->queues,
		.pairs = port->driver->pairs,
		.by_address = port->settings->homes.count > 0};

	if (port->queues > 1 && !facts.pairs) {
		if (is_pci(port->settings))
			read_rss_of_card(port);
		else if (port->driver->one_queue)
			netif_read_rss(port->settings->device, &port->steer);
		facts.takes_rules = takes_rules(port);
	}
	steer_choose(&port->steer, &facts);
}

// Neighbour discovery of the many source addresses goes to as many multicast groups.
static void open_multicast(struct port *port)
{
	int fd;

	if (is_pci(port->settings))
		rte_eth_allmulticast_enable(port->devices[0]);
	if (!on_kernel_interface(port->settings))
		return;
	fd = netif_open_multicast(port->settings->device);
	if (fd > 0)
		port->multicast = fd;
}

static int read_mac(struct port *port, unsigned index)
{
	struct rte_ether_addr mac;
	int err;

	if (port->driver->own_mac) {
		port_own_mac(port->settings, index, NULL, port->mac);
		return 0;
	}
	err = rte_eth_macaddr_get(port->devices[0], &mac);
	memcpy(port->mac, mac.addr_bytes, sizeof(port->mac));
	return err;
}

static int open_device(
	struct port *ports, unsigned count, unsigned index, unsigned device, struct io_error *e)
{
	struct port *port = &ports[index];
	unsigned queues = queues_of_device(port);
	int err = probe(ports, count, index, device, e);

	if (err)
		return err;
	port->device_count++;
	for (unsigned n = 0; n < queues; n++)
		port->queue[device * queues + n] =
			(struct port_queue){port->devices[device], (uint16_t)n};
	err = configure(port, device, e);
	return err ? err : rte_eth_dev_start(port->devices[device]);
}

static int open_port(struct port *ports, unsigned count, unsigned index, struct io_error *e)
{
	struct port *port = &ports[index];
	unsigned devices = port->queues / queues_of_device(port);
	int err = 0;

	if (on_kernel_interface(port->settings)) {
		err = state_begin(port->settings, e);
		port->claimed = !err;
	}
	for (unsigned d = 0; !err && d < devices; d++)
		err = open_device(ports, count, index, d, e);
	if (!err)
		err = read_mac(port, index);
	if (err)
		return err;
	choose_steering(port);
	open_multicast(port);
	if (port->settings->promiscuous)
		rte_eth_promiscuous_enable(port->devices[0]); // -ENOTSUP: it hears everything
	if (on_kernel_interface(port->settings) && !port->driver->counts_missed)
		drops_start(&port->drops, port->settings->device, port->queues);
	if (port->claimed)
		state_attached(port->settings);
	return 0;
}

static int open_captured(struct port *ports, unsigned count, unsigned index, struct io_error *e)
{
	struct capture c;
	char *said;
	int err;

	e->text[0] = '\0';
	capture_begin(&c);
	eal_set_talkative(true);
	err = open_port(ports, count, index, e);
	eal_set_talkative(false);
	said = capture_end(&c);
	if (err && !e->text[0])
		err = explain(e, ports[index].settings, err, said);
	free(said);
	return err;
}

static void fill_port(struct port *port, const struct port_settings *p)
{
	const uint64_t *vlans = p->vlans.items;

	memset(port, 0, sizeof(*port));
	port->settings = p;
	port->driver = driver_of(p);
	port->queues = (uint16_t)port_queue_count(p);
	port->burst = p->burst && p->burst != UINT64_MAX ? (uint16_t)p->burst : port->driver->burst;
	port->vlan_count = p->vlans.count < 2 ? (uint8_t)p->vlans.count : 2;
	for (unsigned i = 0; i < port->vlan_count; i++)
		port->vlans[i] = (uint16_t)vlans[i];
}

static bool has_given_speed(const struct port_settings *p)
{
	return p->link_speed > 0 && !isinf(p->link_speed);
}

uint64_t port_link_expected(const struct port_settings *p)
{
	struct netif n;

	if (has_given_speed(p))
		return (uint64_t)p->link_speed;
	return on_kernel_interface(p) && netif_read(p->device, &n) == 0 ? n.speed_bps : 0;
}

static void choose_speed(struct port *port)
{
	struct rte_eth_link link;

	port->link_bps = port_link_expected(port->settings);
	// Virtual devices claim speeds that they do not have.
	if (has_given_speed(port->settings) || !is_pci(port->settings) ||
		rte_eth_link_get_nowait(port->devices[0], &link) < 0)
		return;
	if (link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN)
		port->link_bps = link.link_speed * 1000000ull;
}

bool port_link_up(const struct port *p)
{
	struct rte_eth_link link;

	// Drivers on top of the kernel say what was true when they started.
	if (on_kernel_interface(p->settings))
		return netif_running(p->settings->device);
	return rte_eth_link_get_nowait(p->devices[0], &link) == 0 &&
	       link.link_status == RTE_ETH_LINK_UP;
}

static bool all_up(const struct port *ports, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!port_link_up(&ports[i]))
			return false;
	return true;
}

static void wait_for_links(struct port *ports, unsigned count)
{
	for (unsigned ms = 0; ms < LINK_WAIT_MS && !all_up(ports, count); ms += 10)
		usleep(10000);
	for (unsigned i = 0; i < count; i++) {
		if (!port_link_up(&ports[i]))
			log_warning("port %s: no link after %u s", ports[i].settings->name,
				LINK_WAIT_MS / 1000);
		if (ports[i].settings->checksum_offload && !ports[i].checksum_offload)
			log_note("port %s: the device cannot finish checksums, the tester does",
				ports[i].settings->name);
		choose_speed(&ports[i]);
	}
}

int port_start_all(const struct port_settings *ports, unsigned count, struct port *ports_out,
	struct io_error *e)
{
	int err = 0;

	if (count > PORT_MAX)
		return io_fail(e, -E2BIG, "%u ports are too many (%u)", count, PORT_MAX);
	for (unsigned i = 0; i < count; i++)
		fill_port(&ports_out[i], &ports[i]);
	for (unsigned i = 0; !err && i < count; i++)
		if (!ports_out[i].driver->devargs)
			err = make_rings(&ports_out[i], i, e);
	for (unsigned i = 0; !err && i < count; i++)
		err = open_captured(ports_out, count, i, e);
	if (err) {
		port_stop_all(ports_out, count);
		return err;
	}
	wait_for_links(ports_out, count);
	return 0;
}

static void add_counters(uint16_t device, struct port_counters *out)
{
	struct rte_eth_stats stats = {0};

	if (rte_eth_stats_get(device, &stats) < 0)
		return;
	out->rx_packets += stats.ipackets;
	out->tx_packets += stats.opackets;
	out->rx_bytes += stats.ibytes;
	out->tx_bytes += stats.obytes;
	out->rx_missed += stats.imissed;
	out->rx_no_mbuf += stats.rx_nombuf;
	out->tx_errors += stats.oerrors;
}

static void read_devices(struct port *p, struct port_counters *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < p->device_count; i++)
		add_counters(p->devices[i], out);
	out->rx_missed_known = p->driver->counts_missed;
	if (p->drops.count)
		out->rx_missed = drops_read(&p->drops, &out->rx_missed_known);
}

static void close_device(const struct port *port, uint16_t id)
{
	struct rte_eth_dev_info info = {0};

	rte_eth_dev_info_get(id, &info);
	rte_eth_dev_stop(id);
	rte_eth_dev_close(id);
	if (info.device && !is_pci(port->settings))
		rte_dev_remove(info.device);
}

void port_read_counters(struct port *p, struct port_counters *out)
{
	read_devices(p, out);
	out->rx_packets -= p->before.rx_packets;
	out->tx_packets -= p->before.tx_packets;
	out->rx_bytes -= p->before.rx_bytes;
	out->tx_bytes -= p->before.tx_bytes;
	out->rx_missed -= p->before.rx_missed;
	out->rx_no_mbuf -= p->before.rx_no_mbuf;
	out->tx_errors -= p->before.tx_errors;
}

void port_renew(struct port *p)
{
	struct rte_mbuf *pkts[BURST_MAX];
	uint16_t n;

	for (uint16_t q = 0; q < p->queues; q++)
		for (unsigned i = 0; i < STALE_BURSTS; i++) {
			n = burst_rx(p->queue[q].device, p->queue[q].number, pkts, BURST_MAX);
			if (n == 0)
				break;
			burst_free(pkts, n);
		}
	read_devices(p, &p->before);
}

static bool has_rules(const struct port *port)
{
	return port->steer.how == STEER_RULES || port->steer.how == STEER_ADDRESS;
}

static void close_port(struct port *port)
{
	if (port->device_count && has_rules(port))
		rules_remove(port->devices[0]);
	if (port->multicast)
		close(port->multicast);
	port->multicast = 0;
	while (port->device_count > 0)
		close_device(port, port->devices[--port->device_count]);
}

static void empty_rings(struct port *port)
{
	void *mbuf;

	for (unsigned q = 0; q < port->queues; q++) {
		while (port->ring[q] && rte_ring_dequeue(port->ring[q], &mbuf) == 0)
			rte_pktmbuf_free(mbuf);
		rte_ring_free(port->ring[q]);
		port->ring[q] = NULL;
	}
}

static void free_pools(struct port *port)
{
	for (unsigned q = 0; q < port->queues; q++) {
		rte_mempool_free(port->rx_pool[q]);
		rte_mempool_free(port->tx_pool[q]);
		port->rx_pool[q] = NULL;
		port->tx_pool[q] = NULL;
	}
}

// Mbufs of one port may wait in another one, so pools go last.
void port_stop_all(struct port *ports, unsigned count)
{
	struct capture c;

	capture_begin(&c);
	for (unsigned i = 0; i < count; i++)
		close_port(&ports[i]);
	for (unsigned i = 0; i < count; i++)
		empty_rings(&ports[i]);
	for (unsigned i = 0; i < count; i++)
		free_pools(&ports[i]);
	free(capture_end(&c));
	for (unsigned i = 0; i < count; i++) {
		if (ports[i].claimed)
			state_end(ports[i].settings);
		ports[i].claimed = false;
	}
}
