// SPDX-License-Identifier: BSD-3-Clause
// Ports opened, configured and closed: offloads, queues, pools, rings, steering, and the order of
// it all. DPDK's devices, pools and rings are this test's.
#include "ports.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_log.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "io/driver/driver.h"
#include "io/driver/memory.h"
#include "io/port/port.h"
#include "io/port/port_internal.h"
#include "io/port/rules.h"
#include "io/port/untag.h"

#define DEVICES   40
#define COUNT(a)  (sizeof(a) / sizeof((a)[0]))
#define CHECKSUMS (RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM)
#define FINISHES  (RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM)
#define KEY_LEN   40

static struct io_error e;

struct queue {
	uint16_t rx_descriptors, tx_descriptors;
	uint64_t tx_offloads;
	const struct rte_mempool *pool;
};

static struct device {
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf;
	bool given_key;
	uint16_t rx_queues, tx_queues;
	unsigned configured, started, stopped, closed, removed, promiscuous, allmulticast;
	uint16_t vlans[4];
	unsigned vlan_count;
	struct rte_ether_addr groups[PORT_GROUPS_MAX];
	unsigned group_count;
	uint32_t untagged; // queues whose tags are put back, one bit each
	struct queue queue[PORT_MAX_QUEUES];
} devices[DEVICES];

// Their answers to every call: 0, or -errno.
static struct answers {
	int info, configure, key, adjust, rx_queue, tx_queue, start, mac, hash, reta, rules, groups;
	int socket; // of the devices
	unsigned vlan_room;
	bool no_pool, no_tx_pool, no_pool_there, no_ops, no_populate, no_ring, no_device, own_rings,
		no_step;
	struct rte_eth_link link;
	int link_err;
	const uint8_t *key_taken; // NULL: it has its own
	uint64_t hashes;          // RTE_ETH_RSS_*
	uint32_t one_by_one;      // 1: neighbours in its table are of different queues
} say;

static struct calls {
	unsigned pools, dense, rings, rules, flushed;
	int socket; // of the last pool
	uint16_t room;
	unsigned mbufs; // of all pools
	char plugged[64], arguments[64], asked[64];
	unsigned plugs;
	uint16_t last_device;
	uint32_t log_level; // of DPDK, while a device is configured
} calls;

static uint16_t next_device;

static int fresh(void **state)
{
	memset(devices, 0, sizeof(devices));
	for (unsigned i = 0; i < DEVICES; i++) {
		devices[i].info.max_rx_queues = devices[i].info.max_tx_queues = PORT_MAX_QUEUES;
		devices[i].info.device = (struct rte_device *)&devices[i];
	}
	say = (struct answers){.link = {.link_speed = 10000, .link_status = RTE_ETH_LINK_UP}};
	calls = (struct calls){0};
	next_device = 0;
	e.text[0] = '\0';
	return 0;
}

int rte_eth_dev_info_get(uint16_t id, struct rte_eth_dev_info *info)
{
	*info = devices[id].info;
	return say.info;
}

int rte_eth_dev_configure(uint16_t id, uint16_t rx, uint16_t tx, const struct rte_eth_conf *conf)
{
	struct device *d = &devices[id];

	calls.log_level = rte_log_get_global_level();
	d->configured++;
	d->conf = *conf;
	d->given_key = conf->rx_adv_conf.rss_conf.rss_key;
	d->rx_queues = rx;
	d->tx_queues = tx;
	return d->given_key && say.key ? say.key : say.configure;
}

int rte_eth_dev_adjust_nb_rx_tx_desc(uint16_t id, uint16_t *rx, uint16_t *tx)
{
	*rx += 1;
	*tx += 2;
	return say.adjust;
}

int rte_eth_rx_queue_setup(uint16_t id, uint16_t queue, uint16_t descriptors, unsigned socket,
	const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
	devices[id].queue[queue].rx_descriptors = descriptors;
	devices[id].queue[queue].pool = pool;
	return say.rx_queue;
}

int rte_eth_tx_queue_setup(uint16_t id, uint16_t queue, uint16_t descriptors, unsigned socket,
	const struct rte_eth_txconf *conf)
{
	devices[id].queue[queue].tx_descriptors = descriptors;
	devices[id].queue[queue].tx_offloads = conf->offloads;
	return say.tx_queue;
}

int rte_eth_dev_socket_id(uint16_t id)
{
	return say.socket;
}

int rte_eth_dev_start(uint16_t id)
{
	devices[id].started++;
	return say.start;
}

int rte_eth_dev_stop(uint16_t id)
{
	devices[id].stopped++;
	return 0;
}

int rte_eth_dev_close(uint16_t id)
{
	devices[id].closed++;
	calls.last_device = id;
	return 0;
}

int rte_dev_remove(struct rte_device *device)
{
	((struct device *)device)->removed++;
	return 0;
}

int rte_eth_promiscuous_enable(uint16_t id)
{
	devices[id].promiscuous++;
	return 0;
}

int rte_eth_dev_vlan_filter(uint16_t id, uint16_t vlan, int on)
{
	assert_true(on && devices[id].conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER);
	if (devices[id].vlan_count == say.vlan_room)
		return -ENOSPC;
	devices[id].vlans[devices[id].vlan_count++] = vlan;
	return 0;
}

const struct rte_eth_rxtx_callback *rte_eth_add_rx_callback(
	uint16_t id, uint16_t queue, rte_rx_callback_fn step, void *unused)
{
	assert_ptr_equal(step, untag_undo);
	rte_errno = ENOMEM;
	devices[id].untagged |= 1u << queue;
	return say.no_step ? NULL : (const void *)&devices[id];
}

int rte_eth_dev_set_mc_addr_list(uint16_t id, struct rte_ether_addr *list, uint32_t count)
{
	memcpy(devices[id].groups, list, count * sizeof(*list));
	devices[id].group_count = count;
	return say.groups;
}

int rte_eth_allmulticast_enable(uint16_t id)
{
	devices[id].allmulticast++;
	return 0;
}

int rte_eth_macaddr_get(uint16_t id, struct rte_ether_addr *mac)
{
	*mac = (struct rte_ether_addr){{2, 4, 6, 8, 10, (uint8_t)id}};
	return say.mac;
}

int rte_eth_link_get_nowait(uint16_t id, struct rte_eth_link *link)
{
	*link = say.link;
	return say.link_err;
}

int rte_eal_hotplug_add(const char *bus, const char *name, const char *arguments)
{
	assert_string_equal(bus, "vdev");
	snprintf(calls.plugged, sizeof(calls.plugged), "%s", name);
	snprintf(calls.arguments, sizeof(calls.arguments), "%s", arguments);
	calls.plugs++;
	return say.no_device ? -EIO : 0;
}

int rte_eth_dev_get_port_by_name(const char *name, uint16_t *id)
{
	snprintf(calls.asked, sizeof(calls.asked), "%s", name);
	*id = next_device++;
	return say.no_device ? -ENODEV : 0;
}

int rte_eth_from_rings(const char *name, struct rte_ring *const rx[], const unsigned rx_count,
	struct rte_ring *const tx[], const unsigned tx_count, const unsigned numa_node)
{
	assert_int_equal(rx_count, tx_count);
	for (unsigned i = 0; i < rx_count; i++)
		assert_true(rx[i] && tx[i]);
	devices[next_device].info.max_rx_queues = (uint16_t)(say.own_rings ? 16 : rx_count);
	return next_device++;
}

int rte_eth_dev_rss_hash_conf_get(uint16_t id, struct rte_eth_rss_conf *conf)
{
	assert_int_equal(conf->rss_key_len, devices[id].info.hash_key_size);
	memset(conf->rss_key, 0x5a, KEY_LEN);
	conf->rss_key[3] = 0x17;
	if (say.key_taken)
		memcpy(conf->rss_key, say.key_taken, KEY_LEN);
	conf->rss_key_len = KEY_LEN;
	conf->rss_hf = say.hashes;
	return say.hash;
}

int rte_eth_dev_rss_reta_query(uint16_t id, struct rte_eth_rss_reta_entry64 *reta, uint16_t size)
{
	for (unsigned i = 0; i < size; i++) {
		assert_true(reta[i / 64].mask >> i % 64 & 1);
		reta[i / 64].reta[i % 64] =
			(uint16_t)(i / (2 - say.one_by_one) % devices[id].rx_queues);
	}
	return say.reta;
}

int rte_flow_validate(uint16_t id, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	calls.rules++;
	return say.rules;
}

struct rte_flow *rte_flow_create(uint16_t id, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	return (struct rte_flow *)&devices[id];
}

int rte_flow_flush(uint16_t id, struct rte_flow_error *error)
{
	calls.flushed++;
	return 0;
}

static struct rte_mempool *pool_new(const char *name, unsigned n, int socket)
{
	calls.socket = socket;
	calls.mbufs += n;
	if (say.no_pool || (say.no_tx_pool && name[0] == 't') ||
		(say.no_pool_there && socket != SOCKET_ID_ANY))
		return NULL;
	calls.pools++;
	return calloc(1, sizeof(struct rte_mempool));
}

struct rte_mempool *rte_mempool_create_empty(const char *name, unsigned n, unsigned size,
	unsigned cache, unsigned private, int socket, unsigned flags)
{
	assert_int_equal(flags, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
	calls.dense++;
	calls.room = (uint16_t)(size - sizeof(struct rte_mbuf));
	return pool_new(name, n, socket);
}

struct rte_mempool *rte_pktmbuf_pool_create(
	const char *name, unsigned n, unsigned cache, uint16_t private, uint16_t room, int socket)
{
	calls.room = room;
	return pool_new(name, n, socket);
}

void rte_pktmbuf_pool_init(struct rte_mempool *pool, void *arg)
{
	assert_int_equal(((struct rte_pktmbuf_pool_private *)arg)->mbuf_data_room_size, calls.room);
}

const char *rte_mbuf_best_mempool_ops(void)
{
	return "best";
}

int rte_mempool_set_ops_byname(struct rte_mempool *pool, const char *name, void *config)
{
	assert_string_equal(name, "best");
	return say.no_ops ? -EINVAL : 0;
}

int rte_mempool_populate_default(struct rte_mempool *pool)
{
	return say.no_populate ? -ENOMEM : 1;
}

uint32_t rte_mempool_obj_iter(struct rte_mempool *pool, rte_mempool_obj_cb_t *f, void *arg)
{
	return 0;
}

void rte_mempool_free(struct rte_mempool *pool)
{
	calls.pools -= pool ? 1 : 0;
	free(pool);
}

struct rte_ring *rte_ring_create(const char *name, unsigned n, int socket, unsigned flags)
{
	size_t size = ((size_t)rte_ring_get_memsize(n) + 127) / 128 * 128;
	struct rte_ring *r = say.no_ring ? NULL : aligned_alloc(128, size);

	if (!r)
		return NULL;
	calls.rings++;
	assert_int_equal(rte_ring_init(r, name, n, flags), 0);
	return r;
}

void rte_ring_free(struct rte_ring *r)
{
	calls.rings -= r ? 1 : 0;
	free(r);
}

// A port of so many queues, probed as device 3.
static struct port probed(const struct port_settings *s)
{
	struct port p = {.settings = s,
		.driver = driver_of(s),
		.devices = {3, 4, 5, 6},
		.device_count = 1,
		.queues = (uint16_t)port_queue_count(s),
		.room = port_data_room(s)};

	for (uint16_t q = 0; q < p.queues; q++)
		p.queue[q] = p.driver->one_queue ? (struct port_queue){p.devices[q], 0}
		                                 : (struct port_queue){3, q};
	return p;
}

static int configure(const struct port_settings *s, struct port *p)
{
	int err;

	*p = probed(s);
	err = port_configure(p, 0, &e);
	port_free_pools(p);
	assert_int_equal(calls.pools, 0);
	return err;
}

static void a_device_needs_a_queue_of_each_kind_for_every_worker(void **state)
{
	static const struct {
		const char *driver;
		uint32_t queues;
		uint16_t max_rx, max_tx, max_mtu;
		int err;
		const char *text;
	} cases[] = {
		{"pci", 4, 4, 4, 0, 0, ""},
		{"pci", 4, 3, 8, 0, -EINVAL, "(up to 3 CPUs)"},
		{"pci", 4, 8, 2, 0, -EINVAL, "(up to 2 CPUs)"},
		{"af_xdp", 4, 1, 1, 0, 0, ""}, // has a device for each
		{"af_xdp", 4, 1, 0, 0, -EINVAL, "(up to 0 CPUs)"},
		{"pci", 1, 1, 1, 1500, 0, ""},
		{"pci", 1, 1, 1, 1499, -EMSGSIZE, "at most 1499"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct port_settings s = port_of("p", cases[i].driver, "01:00.0");
		struct port p;

		fresh(state);
		s.queues = cases[i].queues;
		devices[3].info.max_rx_queues = cases[i].max_rx;
		devices[3].info.max_tx_queues = cases[i].max_tx;
		devices[3].info.max_mtu = cases[i].max_mtu;
		assert_int_equal(configure(&s, &p), cases[i].err);
		assert_non_null(strstr(e.text, cases[i].text));
		assert_int_equal(devices[3].configured, !cases[i].err);
	}
}

static void receive_offloads_follow_card_and_driver(void **state)
{
	static const struct {
		const char *driver;
		uint64_t able, hash;
		uint32_t queues;
		uint8_t key_len;
		bool answers;
		bool checks, spreads, keyed;
	} cases[] = {
		{"pci", CHECKSUMS, RTE_ETH_RSS_UDP, 2, 40, false, true, true, true},
		{"pci", UINT64_MAX, RTE_ETH_RSS_IP, 2, 64, false, true, true, true},
		{"pci", CHECKSUMS, RTE_ETH_RSS_UDP, 2, 39, false, true, true, false},
		{"pci", CHECKSUMS, RTE_ETH_RSS_UDP, 2, 65, false, true, true, false},
		{"pci", CHECKSUMS, RTE_ETH_RSS_UDP, 2, 40, true, true, true, false},
		{"pci", CHECKSUMS, RTE_ETH_RSS_UDP, 1, 40, false, true, false, false},
		{"pci", CHECKSUMS, RTE_ETH_RSS_ESP, 2, 40, false, true, false, false},
		{"pci", RTE_ETH_RX_OFFLOAD_UDP_CKSUM, 0, 2, 40, false, false, false, false},
		{"pci", RTE_ETH_RX_OFFLOAD_IPV4_CKSUM, 0, 2, 40, false, false, false, false},
		{"vdev", CHECKSUMS, RTE_ETH_RSS_UDP, 2, 40, false, false, false, false},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct port_settings s = port_of("p", cases[i].driver, "01:00.0");
		const struct rte_eth_conf *conf = &devices[3].conf;
		struct port p;

		fresh(state);
		s.queues = cases[i].queues;
		s.answers = cases[i].answers;
		devices[3].info.rx_offload_capa = cases[i].able;
		devices[3].info.flow_type_rss_offloads = cases[i].hash;
		devices[3].info.hash_key_size = cases[i].key_len;
		assert_int_equal(configure(&s, &p), 0);
		assert_int_equal(conf->rxmode.offloads, cases[i].checks ? CHECKSUMS : 0);
		assert_int_equal(p.reports_checksums, cases[i].checks);
		assert_int_equal(conf->rxmode.mq_mode,
			cases[i].spreads ? RTE_ETH_MQ_RX_RSS : RTE_ETH_MQ_RX_NONE);
		assert_int_equal(
			conf->rx_adv_conf.rss_conf.rss_hf, cases[i].spreads ? cases[i].hash : 0);
		assert_int_equal(devices[3].given_key, cases[i].keyed);
		if (cases[i].keyed) { // the driver reads it later, when the device starts
			uint8_t key[STEER_KEY_MAX];

			steer_key_sparse(key, cases[i].key_len);
			assert_ptr_equal(conf->rx_adv_conf.rss_conf.rss_key, p.steer.key);
			assert_memory_equal(p.steer.key, key, cases[i].key_len);
		}
		assert_int_equal(conf->rx_adv_conf.rss_conf.rss_key_len,
			cases[i].keyed ? cases[i].key_len : 0);
		assert_int_equal(conf->rxmode.mtu, port_is_pci(&s) ? 1500 : 0);
		assert_int_equal(devices[3].rx_queues, cases[i].queues);
		assert_int_equal(devices[3].tx_queues, cases[i].queues);
	}
}

static void checksums_are_left_to_a_card_that_finishes_both(void **state)
{
	static const struct {
		const char *driver;
		bool wanted;
		uint64_t able;
		bool left;
	} cases[] = {
		{"pci", true, FINISHES, true},
		{"pci", false, FINISHES, false},
		{"pci", true, RTE_ETH_TX_OFFLOAD_UDP_CKSUM, false},
		{"pci", true, RTE_ETH_TX_OFFLOAD_IPV4_CKSUM, false},
		{"vdev", true, FINISHES, false},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct port_settings s = port_of("p", cases[i].driver, "01:00.0");
		struct port p;

		fresh(state);
		s.checksum_offload = cases[i].wanted;
		devices[3].info.tx_offload_capa = cases[i].able;
		assert_int_equal(configure(&s, &p), 0);
		assert_int_equal(p.checksum_offload, cases[i].left);
		assert_int_equal(devices[3].conf.txmode.offloads, cases[i].left ? FINISHES : 0);
		assert_int_equal(devices[3].queue[0].tx_offloads, cases[i].left ? FINISHES : 0);
	}
}

// A card that does them for UDP alone is asked for none.
static void a_port_with_connections_asks_for_checksums_of_tcp(void **state)
{
	for (int able = 0; able < 2; able++) {
		struct port_settings s = port_of("p", "pci", "01:00.0");
		uint64_t rx = CHECKSUMS | (able ? RTE_ETH_RX_OFFLOAD_TCP_CKSUM : 0);
		uint64_t tx = FINISHES | (able ? RTE_ETH_TX_OFFLOAD_TCP_CKSUM : 0);
		struct port p;

		fresh(state);
		s.checksum_offload = s.has_streams = true;
		devices[3].info.rx_offload_capa = rx;
		devices[3].info.tx_offload_capa = tx;
		assert_int_equal(configure(&s, &p), 0);
		assert_int_equal(p.reports_checksums, able);
		assert_int_equal(p.checksum_offload, able);
		assert_int_equal(devices[3].conf.rxmode.offloads, able ? rx : 0);
		assert_int_equal(devices[3].conf.txmode.offloads, able ? tx : 0);
	}
}

static void a_card_that_insists_on_its_key_keeps_it(void **state)
{
	struct port_settings s = port_of("p", "pci", "01:00.0");
	struct port p;

	s.queues = 2;
	devices[3].info.flow_type_rss_offloads = RTE_ETH_RSS_UDP;
	devices[3].info.hash_key_size = KEY_LEN;
	say.key = -EINVAL;
	assert_int_equal(configure(&s, &p), 0);
	assert_int_equal(devices[3].configured, 2);
	assert_false(devices[3].given_key);
	fresh(state);
	say.configure = -EIO; // without a key nothing else helps
	assert_int_equal(configure(&s, &p), -EIO);
	assert_int_equal(devices[3].configured, 1);
}

static void queues_have_descriptors_and_pools(void **state)
{
	struct port_settings s = port_of("p", "pci", "01:00.0");
	struct port p = probed(&s);

	s.queues = 3;
	s.rx_descriptors = 512;
	s.tx_descriptors = 256;
	p = probed(&s);
	assert_int_equal(port_configure(&p, 0, &e), 0);
	for (unsigned q = 0; q < 3; q++) {
		assert_int_equal(devices[3].queue[q].rx_descriptors, 513);
		assert_int_equal(devices[3].queue[q].tx_descriptors, 258);
		assert_ptr_equal(devices[3].queue[q].pool, p.rx_pool[q]);
	}
	assert_int_equal(devices[3].queue[3].rx_descriptors, 0);
	assert_int_equal(calls.pools, 6);
	port_free_pools(&p);
	assert_int_equal(calls.pools, 0);
}

static void a_device_with_one_queue_takes_the_pool_of_its_worker(void **state)
{
	struct port_settings s = port_of("p", "af_xdp", "lo");
	struct port p;

	s.queues = 3;
	p = probed(&s);
	assert_int_equal(port_configure(&p, 2, &e), 0);
	assert_int_equal(devices[5].rx_queues, 1);
	assert_non_null(p.rx_pool[2]);
	assert_ptr_equal(devices[5].queue[0].pool, p.rx_pool[2]);
	assert_null(p.rx_pool[0]);
	port_free_pools(&p);
	assert_int_equal(calls.pools, 0);
}

static void every_step_of_a_configuration_may_fail(void **state)
{
	static const struct answers cases[] = {
		{.info = -EIO},
		{.configure = -EIO},
		{.adjust = -EIO},
		{.rx_queue = -EIO},
		{.tx_queue = -EIO},
	};
	struct port_settings s = port_of("p", "pci", "01:00.0");
	struct port p;

	for (size_t i = 0; i < COUNT(cases); i++) {
		fresh(state);
		say = cases[i];
		assert_int_equal(configure(&s, &p), -EIO);
	}
}

// The driver would copy each packet that it sends, and take a buffer of the other pool for it.
static void a_socket_sends_from_the_pool_that_it_receives_into(void **state)
{
	for (unsigned i = 0; i < driver_count; i++) {
		struct port_settings s = port_of("p", drivers[i].name, "lo");
		struct port p = probed(&s);
		uint32_t both = port_rx_mbufs(&s) + port_tx_mbufs(&s);

		fresh(state);
		assert_int_equal(port_make_pools(&p, 0, &e), 0);
		assert_int_equal(p.rx_pool[0] == p.tx_pool[0], drivers[i].one_pool);
		assert_int_equal(calls.pools, drivers[i].one_pool ? 1 : 2);
		assert_int_equal(calls.mbufs, both);
		port_free_pools(&p);
		assert_int_equal(calls.pools, 0);
	}
}

static void pools_are_dense_where_no_card_reads_them(void **state)
{
	for (unsigned i = 0; i < driver_count; i++) {
		struct port_settings s = port_of("p", drivers[i].name, "lo");
		struct port p = probed(&s);

		fresh(state);
		assert_int_equal(port_make_pools(&p, 0, &e), 0);
		assert_int_equal(calls.dense, drivers[i].dma ? 0 : 2);
		assert_int_equal(calls.room, port_data_room(&s));
		port_free_pools(&p);
	}
}

static void a_pool_of_a_card_is_near_it_or_anywhere(void **state)
{
	static const struct {
		int device;
		bool elsewhere;
		int socket;
	} cases[] = {{1, false, 1}, {0, false, 0}, {1, true, SOCKET_ID_ANY},
		{0, true, SOCKET_ID_ANY}, {-1, false, SOCKET_ID_ANY}};
	struct port_settings s = port_of("p", "pci", "01:00.0");
	struct port p = probed(&s);

	for (size_t i = 0; i < COUNT(cases); i++) {
		fresh(state);
		say.socket = cases[i].device;
		say.no_pool_there = cases[i].elsewhere;
		assert_int_equal(port_make_pools(&p, 0, &e), 0);
		assert_int_equal(calls.socket, cases[i].socket);
		port_free_pools(&p);
	}
}

static void a_pool_without_memory_is_an_error(void **state)
{
	static const struct answers cases[] = {
		{.no_pool = true}, {.no_tx_pool = true}, {.no_ops = true}, {.no_populate = true}};
	struct port_settings s = port_of("p", "null", NULL);
	struct port p = probed(&s);

	for (size_t i = 0; i < COUNT(cases); i++) {
		fresh(state);
		say = cases[i];
		assert_int_equal(port_make_pools(&p, 0, &e), -ENOMEM);
		assert_non_null(strstr(e.text, "raise host.memory_size"));
		port_free_pools(&p);
		assert_int_equal(calls.pools, 0);
	}
}

static enum steer_how steering(const struct port_settings *s)
{
	struct port p = probed(s);

	devices[3].rx_queues = p.queues;
	port_choose_steering(&p);
	return p.steer.how;
}

static void a_card_with_a_hash_is_steered_by_it(void **state)
{
	static const struct {
		uint32_t queues;
		uint16_t reta;
		uint8_t key;
		int hash, table;
		enum steer_how how;
	} cases[] = {
		{2, 128, 40, 0, 0, STEER_HASHED},
		{2, STEER_RETA_MAX, STEER_KEY_MAX, 0, 0, STEER_HASHED},
		{2, STEER_RETA_MAX * 2, 40, 0, 0, STEER_BLIND},
		{2, 128, STEER_KEY_MAX + 4, 0, 0, STEER_BLIND},
		{2, 128, 40, -ENOTSUP, 0, STEER_BLIND},
		{2, 128, 40, 0, -ENOTSUP, STEER_BLIND},
		{2, 0, 40, 0, 0, STEER_BLIND},
		{1, 128, 40, 0, 0, STEER_ALONE},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct port_settings s = port_of("p", "pci", "01:00.0");

		fresh(state);
		s.queues = cases[i].queues;
		devices[3].info.reta_size = cases[i].reta;
		devices[3].info.hash_key_size = cases[i].key;
		say.hash = cases[i].hash;
		say.reta = cases[i].table;
		assert_int_equal(steering(&s), cases[i].how);
		assert_int_equal(calls.rules, 0); // no ports, no homes
	}
}

static void the_table_of_a_card_is_read_in_order(void **state)
{
	struct port_settings s = port_of("p", "pci", "01:00.0");
	struct port p;

	s.queues = 3;
	p = probed(&s);
	devices[3].rx_queues = 3;
	devices[3].info.reta_size = 256;
	devices[3].info.hash_key_size = KEY_LEN;
	port_choose_steering(&p);
	assert_int_equal(p.steer.key_len, KEY_LEN);
	assert_int_equal(p.steer.reta_size, 256);
	for (unsigned i = 0; i < 256; i++)
		assert_int_equal(p.steer.reta[i], i / 2 % 3);
}

static void rules_come_before_a_hash(void **state)
{
	static struct rule_home homes[RULES_MAX + 1];
	static const struct {
		const char *driver;
		uint32_t homes;
		bool has_ports;
		int rules;
		enum steer_how how;
		unsigned flushed; // when the port is closed
	} cases[] = {
		{"pci", 0, true, 0, STEER_RULES, 1},
		{"pci", 2, false, 0, STEER_ADDRESS, 1},
		{"pci", RULES_MAX, true, 0, STEER_ADDRESS, 1},
		{"pci", RULES_MAX + 1, true, 0, STEER_HASHED, 0},
		{"pci", 0, true, -ENOTSUP, STEER_HASHED, 0},
		{"pci", 0, false, 0, STEER_HASHED, 0},
		{"vdev", 0, true, 0, STEER_RULES, 1},
		{"vdev", 0, false, 0, STEER_BLIND, 0}, // no card: its hash is not asked for
		{"af_xdp", 0, true, 0, STEER_BLIND, 0},
		{"ring", 0, true, 0, STEER_PAIR, 0},
	};

	for (uint32_t i = 0; i < COUNT(homes); i++)
		homes[i] = (struct rule_home){
			{4, {198, 18, (uint8_t)(i >> 8), (uint8_t)i}}, (uint16_t)(i & 1)};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct port_settings s = port_of("p", cases[i].driver, "nonexistent0");
		struct port p;

		fresh(state);
		s.queues = 2;
		s.has_ports = cases[i].has_ports;
		s.homes = (struct field_list){homes, cases[i].homes};
		say.rules = cases[i].rules;
		p = probed(&s);
		devices[3].rx_queues = 2;
		devices[3].info.reta_size = 128;
		devices[3].info.hash_key_size = KEY_LEN;
		port_choose_steering(&p);
		assert_int_equal(p.steer.how, cases[i].how);
		port_remove_rules(&p);
		assert_int_equal(calls.flushed, cases[i].flushed);
		p.device_count = 0;
		port_remove_rules(&p); // it was never opened
		assert_int_equal(calls.flushed, cases[i].flushed);
	}
}

static void relays_go_by_a_key_of_ours_if_rules_do_no_better(void **state)
{
	static struct addr_range relays[] = {
		{{4, {198, 18, 0, 64}}, 1}, {{4, {198, 18, 0, 65}}, 1}};
	static struct addr_range alike[] = {{{4, {198, 18, 0, 64}}, 1}, {{4, {198, 18, 0, 64}}, 1}};
	static struct rule_home homes[] = {{{4, {198, 18, 0, 64}}, 0}, {{4, {198, 18, 0, 65}}, 1}};
	static const struct {
		struct addr_range *relays;
		bool has_ports, ours;
		enum steer_how how;
	} cases[] = {
		{relays, false, true, STEER_SPARSE},
		{relays, true, true, STEER_SPARSE},
		{alike, false, true, STEER_ADDRESS},
		{alike, true, true, STEER_SPARSE},
		{relays, false, false, STEER_ADDRESS},
		{relays, true, false, STEER_RULES},
		{NULL, true, true, STEER_RULES},
		{NULL, false, true, STEER_SPARSE},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct port_settings s = port_of("p", "pci", "01:00.0");
		uint8_t key[KEY_LEN] = {0};

		fresh(state);
		s.queues = 2;
		s.has_ports = cases[i].has_ports;
		s.relays = (struct field_list){cases[i].relays, cases[i].relays ? 2 : 0};
		if (cases[i].relays && !s.has_ports)
			s.homes = (struct field_list){homes, 2};
		if (s.has_ports || !cases[i].relays)
			steer_key_sparse(key, KEY_LEN);
		steer_key_addresses(key, KEY_LEN, &s.relays, 2);
		say.key_taken = cases[i].ours ? key : NULL;
		say.one_by_one = 1;
		devices[3].info.reta_size = 128;
		devices[3].info.hash_key_size = KEY_LEN;
		assert_int_equal(steering(&s), cases[i].how);
	}
}

static void a_hash_of_addresses_alone_leaves_the_ports_out(void **state)
{
	static const struct {
		uint64_t hashes;
		bool v4, v6, tcp_v4, tcp_v6;
	} cases[] = {
		{0, false, false, false, false}, // it reports nothing
		{RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6, true, true, true, true},
		{RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP, false, true, true, true},
		{RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP, false, false, true, true},
		{RTE_ETH_RSS_IP | RTE_ETH_RSS_NONFRAG_IPV6_TCP, true, true, true, false},
		{RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP, true, true, false, false},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct port_settings s = port_of("p", "pci", "01:00.0");
		struct port p;

		fresh(state);
		s.queues = 2;
		say.hashes = cases[i].hashes;
		devices[3].info.reta_size = 128;
		devices[3].info.hash_key_size = KEY_LEN;
		devices[3].rx_queues = 2;
		p = probed(&s);
		port_choose_steering(&p);
		assert_int_equal(p.steer.portless[0], cases[i].v4);
		assert_int_equal(p.steer.portless[1], cases[i].v6);
		assert_int_equal(p.steer.portless_tcp[0], cases[i].tcp_v4);
		assert_int_equal(p.steer.portless_tcp[1], cases[i].tcp_v6);
	}
}

static void ring_ports_are_two_ends(void **state)
{
	struct port_settings s[] = {port_of("a", "ring", "b"), port_of("b", "ring", NULL)};
	struct port p[2];

	s[0].queues = s[1].queues = 2;
	assert_int_equal(port_start_all(s, 2, p, &e), 0);
	assert_int_equal(calls.rings, 4);
	assert_int_equal(calls.pools, 8);
	assert_int_equal(calls.plugs, 0);
	for (unsigned i = 0; i < 2; i++) {
		uint8_t mac[6];

		assert_int_equal(p[i].device_count, 1);
		assert_int_equal(devices[i].started, 1);
		assert_int_equal(devices[i].promiscuous, 0);
		assert_int_equal(devices[i].allmulticast, 0);
		assert_int_equal(p[i].queue[1].device, i);
		assert_int_equal(p[i].queue[1].number, 1);
		port_own_mac(&s[i], i, NULL, mac);
		assert_memory_equal(p[i].mac, mac, 6);
		assert_int_equal(p[i].link_bps, 0); // claims 10 Gbit/s that it does not have
	}
	port_stop_all(p, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(devices[i].stopped, 1);
		assert_int_equal(devices[i].closed, 1);
		assert_int_equal(devices[i].removed, 1);
		assert_int_equal(p[i].device_count, 0);
	}
	assert_int_equal(calls.rings + calls.pools, 0);
}

static void a_ring_port_without_a_peer_is_refused(void **state)
{
	struct port_settings s = port_of("a", "ring", "nobody");
	struct port p;

	assert_int_equal(port_start_all(&s, 1, &p, &e), -EINVAL);
	assert_non_null(strstr(e.text, "must name another ring port"));
	assert_int_equal(calls.rings + calls.pools, 0);
	say.no_ring = true;
	assert_int_equal(port_start_all(&s, 1, &p, &e), -ENOMEM);
	assert_non_null(strstr(e.text, "no memory for a ring"));
}

static void a_ring_port_that_leads_elsewhere_is_refused(void **state)
{
	struct port_settings s[] = {port_of("a", "ring", "b"), port_of("b", "ring", NULL)};
	struct port p[2];

	say.own_rings = true;
	assert_int_equal(port_start_all(s, 2, p, &e), -ENOMEM);
}

static void a_virtual_device_is_plugged_in_and_out(void **state)
{
	struct port_settings s[] = {port_of("a", "null", NULL),
		port_of("b", "vdev", "net_x,y=1,z=2"), port_of("c", "vdev", "net_bare")};
	static const char *const plugged[] = {"net_null0", "net_x", "net_bare"};
	static const char *const arguments[] = {"no-rx=1", "y=1,z=2", ""};
	struct port p;

	for (size_t i = 0; i < COUNT(s); i++) {
		fresh(state);
		s[i].promiscuous = i == 1;
		assert_int_equal(port_start_all(&s[i], 1, &p, &e), 0);
		assert_string_equal(calls.plugged, plugged[i]);
		assert_string_equal(calls.asked, plugged[i]);
		assert_string_equal(calls.arguments, arguments[i]);
		assert_int_equal(devices[0].promiscuous, i == 1);
		assert_int_equal(p.burst, 32);
		assert_int_equal(!memcmp(p.mac, "\2\4\6\10\12\0", 6), i != 0);
		port_stop_all(&p, 1);
		assert_int_equal(devices[0].removed, 1);
	}
}

// The driver cannot listen on the socket of a dead process. Sockets in use, and other files, stay.
static void a_socket_of_the_dead_gives_way(void **state)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct port_settings s = port_of("a", "memif", at.sun_path);
	struct port p;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "/tmp/ddiperf-test-%d.sock", (int)getpid());
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	for (unsigned i = 0; i < 3; i++) {
		fresh(state);
		if (i == 1)
			close(fd);
		if (i == 2)
			close(open(at.sun_path, O_CREAT | O_WRONLY, 0600));
		assert_int_equal(port_start_all(&s, 1, &p, &e), 0);
		assert_int_equal(access(at.sun_path, F_OK), i == 1 ? -1 : 0);
		port_stop_all(&p, 1);
	}
	unlink(at.sun_path);
}

static void a_device_that_drops_unknown_vlans_is_told_of_those_of_the_port(void **state)
{
	static const char *const names[] = {
		"net_virtio", "net_e1000_igb_vf", "net_iavf", "net_e1000_igb"};
	uint16_t tags[] = {10, 4094, 7};
	struct port_settings s = port_of("a", "pci", "01:00.0");
	struct port p;

	s.tags = (struct field_list){tags, COUNT(tags)};
	for (size_t i = 0; i < COUNT(names); i++) {
		unsigned told = i == 3 ? 0 : i == 2 ? 1 : 3;

		fresh(state);
		devices[0].info.driver_name = names[i];
		devices[0].info.rx_offload_capa = RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
		say.vlan_room = i == 2 ? 1 : 4; // a device with less room is used nevertheless
		assert_int_equal(port_start_all(&s, 1, &p, &e), 0);
		assert_int_equal(devices[0].vlan_count, told);
		assert_memory_equal(devices[0].vlans, tags, told * sizeof(tags[0]));
		port_stop_all(&p, 1);
	}
	fresh(state);
	devices[0].info.driver_name = "net_virtio"; // and has no filter
	assert_int_equal(port_start_all(&s, 1, &p, &e), 0);
	assert_int_equal(devices[0].vlan_count, 0);
	port_stop_all(&p, 1);
}

// A card of Linux' igb takes them off whether its function knows of VLANs or not.
static void tags_that_the_card_of_a_function_took_off_are_put_back(void **state)
{
	static const char *const names[] = {
		"net_e1000_igb_vf", "net_iavf", "net_e1000_igb", "net_virtio", NULL};
	struct field_range cpus = {1, 3};
	struct port_settings s = port_of("a", "pci", "01:00.0");
	struct port p;

	s.cpus = (struct field_list){&cpus, 1};
	for (size_t i = 0; i < COUNT(names); i++) {
		fresh(state);
		devices[0].info.driver_name = names[i];
		assert_int_equal(port_start_all(&s, 1, &p, &e), 0);
		assert_int_equal(devices[0].untagged, i < 2 ? 7 : 0);
		port_stop_all(&p, 1);
	}
	fresh(state);
	devices[0].info.driver_name = names[0];
	say.no_step = true;
	assert_int_equal(port_start_all(&s, 1, &p, &e), -ENOMEM);
	assert_int_equal(devices[0].closed, 1);
}

// In 14 bits 16 384 is none. e1000 would use 8 192 of anything less.
static void a_long_buffer_has_a_length_that_the_card_can_tell(void **state)
{
	static const struct {
		const char *driver;
		uint64_t mtu;
		uint16_t room;
	} rows[] = {
		{"net_vmxnet3", 9000, 16384},
		{"net_vmxnet3", 1500, 2048 + 128},
		{"net_i40e", 9000, 16384},
		{"net_i40e", 16001, 16384 + 128},
		{"net_e1000_em", 9000, 16384 + 128},
		{NULL, 9000, 16384},
	};
	struct port_settings s = port_of("a", "pci", "01:00.0");
	struct port p;

	for (size_t i = 0; i < COUNT(rows); i++) {
		fresh(state);
		devices[0].info.driver_name = rows[i].driver;
		s.mtu = rows[i].mtu;
		assert_int_equal(port_start_all(&s, 1, &p, &e), 0);
		assert_int_equal(calls.room, rows[i].room);
		port_stop_all(&p, 1);
	}
}

// The list alone where it is enough: a function is not always given all multicast.
static void a_card_is_told_of_its_multicast_groups(void **state)
{
	static const struct {
		const char *driver;
		bool more;
		int says;
		unsigned all;
	} rows[] = {
		{"net_e1000_igb_vf", false, 0, 0},
		{"net_e1000_igb_vf", true, 0, 1},
		{"net_e1000_igb_vf", false, -ENOTSUP, 1},
		{"net_e1000_igb", false, 0, 1},
	};
	uint8_t macs[][6] = {{0x33, 0x33, 0, 0, 0, 1}, {0x33, 0x33, 0xff, 0, 0, 2}};
	struct port_settings s = port_of("a", "pci", "01:00.0");
	struct port p;

	s.listens = (struct field_list){macs, COUNT(macs)};
	for (size_t i = 0; i < COUNT(rows); i++) {
		fresh(state);
		devices[0].info.driver_name = rows[i].driver;
		s.listens_more = rows[i].more;
		say.groups = rows[i].says;
		assert_int_equal(port_start_all(&s, 1, &p, &e), 0);
		assert_int_equal(devices[0].group_count, COUNT(macs));
		assert_memory_equal(devices[0].groups, macs, sizeof(macs));
		assert_int_equal(devices[0].allmulticast, rows[i].all);
		port_stop_all(&p, 1);
	}
}

static void a_card_stays_plugged_in(void **state)
{
	struct port_settings s = port_of("a", "pci", "01:00.0");
	uint64_t vlans[] = {5, 6, 7};
	struct port p;

	s.vlans = (struct field_list){vlans, 3};
	s.burst = 7;
	assert_int_equal(port_start_all(&s, 1, &p, &e), 0);
	assert_string_equal(calls.asked, "0000:01:00.0");
	assert_int_equal(calls.plugs, 0);
	assert_int_equal(devices[0].allmulticast, 1);
	assert_int_equal(p.link_bps, UINT64_C(10000000000));
	assert_int_equal(p.burst, 7);
	assert_int_equal(p.vlan_count, 2);
	assert_int_equal(p.vlans[0], 5);
	assert_int_equal(p.vlans[1], 6);
	port_stop_all(&p, 1);
	assert_int_equal(devices[0].closed, 1);
	assert_int_equal(devices[0].removed, 0);
	say.no_device = true;
	s.burst = 0;
	assert_int_equal(port_start_all(&s, 1, &p, &e), -ENODEV);
	assert_non_null(strstr(e.text, "no DPDK driver took the device"));
	assert_int_equal(p.burst, 32);
}

static void a_failed_start_leaves_nothing_open(void **state)
{
	static const struct answers cases[] = {{.start = -EIO}, {.mac = -EIO}, {.configure = -EIO},
		{.no_pool = true}, {.no_device = true}, {.rx_queue = -EIO}};
	struct port_settings s[] = {port_of("a", "vdev", "net_a"), port_of("b", "vdev", "net_b")};
	struct port p[2];

	for (size_t i = 0; i < COUNT(cases); i++) {
		fresh(state);
		say = cases[i];
		assert_true(port_start_all(s, 2, p, &e) < 0);
		assert_non_null(strstr(e.text, "port a"));
		assert_int_equal(devices[0].closed, !cases[i].no_device);
		assert_int_equal(devices[1].closed, 0);
		assert_int_equal(p[0].device_count + calls.pools, 0);
	}
}

// A driver reports its failure at a log level that is silent in a run.
static void drivers_talk_while_a_port_is_opened(void **state)
{
	struct port_settings s = port_of("a", "vdev", "net_a");
	struct port p;

	for (int fails = 0; fails < 2; fails++) {
		rte_log_set_global_level(RTE_LOG_CRIT);
		say.start = fails ? -EIO : 0;
		assert_int_equal(port_start_all(&s, 1, &p, &e), say.start);
		assert_int_equal(calls.log_level, RTE_LOG_INFO);
		assert_int_equal(rte_log_get_global_level(), RTE_LOG_CRIT);
		port_stop_all(&p, 1);
	}
}

static void too_many_ports_are_refused(void **state)
{
	static struct port_settings s[PORT_MAX + 1];
	static struct port p[PORT_MAX + 1];

	for (unsigned i = 0; i <= PORT_MAX; i++)
		s[i] = port_of("a", "null", NULL);
	assert_int_equal(port_start_all(s, PORT_MAX + 1, p, &e), -E2BIG);
	assert_non_null(strstr(e.text, "17 ports are too many (up to 16)"));
	assert_int_equal(port_start_all(s, PORT_MAX, p, &e), 0);
	port_stop_all(p, PORT_MAX);
	assert_int_equal(calls.last_device, PORT_MAX - 1);
}

static void the_speed_of_a_link_is_the_files_or_the_cards(void **state)
{
	static const struct {
		const char *driver;
		double given;
		uint32_t reported;
		int err;
		uint64_t expected;
	} cases[] = {
		{"pci", INFINITY, 25000, 0, 25000000000},
		{"pci", 0, 25000, 0, 25000000000},
		{"pci", 1e9, 25000, 0, 1000000000},
		{"pci", INFINITY, RTE_ETH_SPEED_NUM_UNKNOWN, 0, 0},
		{"vdev", INFINITY, 25000, 0, 0},
		{"vdev", 1e9, 25000, 0, 1000000000},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct port_settings s = port_of("p", cases[i].driver, "01:00.0");
		struct port p = probed(&s);

		fresh(state);
		s.link_speed = cases[i].given;
		say.link.link_speed = cases[i].reported;
		port_wait_for_links(&p, 1);
		assert_int_equal(p.link_bps, cases[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_device_needs_a_queue_of_each_kind_for_every_worker, fresh),
		cmocka_unit_test_setup(receive_offloads_follow_card_and_driver, fresh),
		cmocka_unit_test_setup(checksums_are_left_to_a_card_that_finishes_both, fresh),
		cmocka_unit_test_setup(a_port_with_connections_asks_for_checksums_of_tcp, fresh),
		cmocka_unit_test_setup(a_card_that_insists_on_its_key_keeps_it, fresh),
		cmocka_unit_test_setup(queues_have_descriptors_and_pools, fresh),
		cmocka_unit_test_setup(a_device_with_one_queue_takes_the_pool_of_its_worker, fresh),
		cmocka_unit_test_setup(every_step_of_a_configuration_may_fail, fresh),
		cmocka_unit_test_setup(a_socket_sends_from_the_pool_that_it_receives_into, fresh),
		cmocka_unit_test_setup(pools_are_dense_where_no_card_reads_them, fresh),
		cmocka_unit_test_setup(a_pool_of_a_card_is_near_it_or_anywhere, fresh),
		cmocka_unit_test_setup(a_pool_without_memory_is_an_error, fresh),
		cmocka_unit_test_setup(a_card_with_a_hash_is_steered_by_it, fresh),
		cmocka_unit_test_setup(the_table_of_a_card_is_read_in_order, fresh),
		cmocka_unit_test_setup(rules_come_before_a_hash, fresh),
		cmocka_unit_test_setup(relays_go_by_a_key_of_ours_if_rules_do_no_better, fresh),
		cmocka_unit_test_setup(a_hash_of_addresses_alone_leaves_the_ports_out, fresh),
		cmocka_unit_test_setup(ring_ports_are_two_ends, fresh),
		cmocka_unit_test_setup(a_ring_port_without_a_peer_is_refused, fresh),
		cmocka_unit_test_setup(a_ring_port_that_leads_elsewhere_is_refused, fresh),
		cmocka_unit_test_setup(a_virtual_device_is_plugged_in_and_out, fresh),
		cmocka_unit_test_setup(a_socket_of_the_dead_gives_way, fresh),
		cmocka_unit_test_setup(
			a_device_that_drops_unknown_vlans_is_told_of_those_of_the_port, fresh),
		cmocka_unit_test_setup(
			tags_that_the_card_of_a_function_took_off_are_put_back, fresh),
		cmocka_unit_test_setup(a_card_is_told_of_its_multicast_groups, fresh),
		cmocka_unit_test_setup(a_long_buffer_has_a_length_that_the_card_can_tell, fresh),
		cmocka_unit_test_setup(a_card_stays_plugged_in, fresh),
		cmocka_unit_test_setup(a_failed_start_leaves_nothing_open, fresh),
		cmocka_unit_test_setup(drivers_talk_while_a_port_is_opened, fresh),
		cmocka_unit_test_setup(too_many_ports_are_refused, fresh),
		cmocka_unit_test_setup(the_speed_of_a_link_is_the_files_or_the_cards, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
