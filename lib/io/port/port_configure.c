// SPDX-License-Identifier: BSD-3-Clause
// A device by its abilities: checked against the needs of the port, then configured with its
// offloads, hash and queues. Once it runs: which queue replies will reach, by its own report or by
// rules. Path: cold. Management thread.
#include "io/driver/driver.h"
#include "io/driver/memory.h"
#include "io/port/port_internal.h"

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "io/driver/explain.h"
#include "io/host/netif.h"
#include "io/port/rules.h"

#define BUFFER_BITS_14 16384
#define BUFFER_UNIT    128
#define LONG_MTU       16000 // its frames fit into one unit less

unsigned port_queues_of_device(const struct port *port)
{
	return port->driver->one_queue ? 1 : port->queues;
}

static int check_limits(
	const struct port *port, const struct rte_eth_dev_info *info, struct io_error *e)
{
	const struct port_settings *p = port->settings;
	unsigned queues = port_queues_of_device(port), most = info->max_mtu;

	if (port->driver->xdp && (most == 0 || most > PORT_XDP_MTU))
		most = PORT_XDP_MTU;
	if (queues > info->max_rx_queues || queues > info->max_tx_queues)
		return port_fail(e, p, -EINVAL,
			"cpus: has %u CPUs, the device has %u receive and %u transmit queues, and "
			"every worker needs one of each (up to %u CPUs)",
			port->queues, info->max_rx_queues, info->max_tx_queues,
			info->max_rx_queues < info->max_tx_queues ? info->max_rx_queues
								  : info->max_tx_queues);
	if (most && p->mtu > most)
		return port_fail(e, p, -EMSGSIZE, "mtu: the device has at most %u", most);
	return 0;
}

// The key that a card is given: by source port, by relay address, or by both.
static void write_key(const struct port_settings *p, unsigned queues, uint8_t *key, uint32_t len)
{
	memset(key, 0, len);
	if (p->has_ports || p->relays.count == 0)
		steer_key_sparse(key, len);
	steer_key_addresses(key, len, &p->relays, queues);
}

// Drivers accept RSS that they do not have, so it is asked for only where the device names its hash
// fields and is a card. The key makes the queue a function of the source port or of the relay,
// if the card accepts one. A responder has one server port, and keeps the card's own key.
static void choose_receive(
	struct port *port, const struct rte_eth_dev_info *info, struct rte_eth_conf *conf)
{
	uint64_t checksums = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM |
	                     (port->settings->has_streams ? RTE_ETH_RX_OFFLOAD_TCP_CKSUM : 0);
	uint64_t hash =
		info->flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP);

	if (port_is_pci(port->settings))
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
	write_key(port->settings, port->queues, port->steer.key, info->hash_key_size);
	conf->rx_adv_conf.rss_conf.rss_key = port->steer.key; // drivers read it when they start
	conf->rx_adv_conf.rss_conf.rss_key_len = info->hash_key_size;
}

// Virtio devices and virtual functions drop VLANs that are not configured. Other cards accept all,
// so that the tester can count foreign ones.
static void choose_vlans(
	struct port *port, const struct rte_eth_dev_info *info, struct rte_eth_conf *conf)
{
	const char *name = info->driver_name ? info->driver_name : "";
	const struct port_settings *p = port->settings;

	port->is_function = port_is_pci(p) && strstr(name, "vf");
	if (port_is_pci(p) && p->tags.count && (strstr(name, "virtio") || port->is_function))
		conf->rxmode.offloads |= info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
}

static void choose_transmit(
	const struct port *port, const struct rte_eth_dev_info *info, struct rte_eth_conf *conf)
{
	const struct port_settings *p = port->settings;
	uint64_t checksums = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
	                     (p->has_streams ? RTE_ETH_TX_OFFLOAD_TCP_CKSUM : 0);

	if (p->checksum_offload && port->driver->checksum_offload &&
		(info->tx_offload_capa & checksums) == checksums)
		conf->txmode.offloads |= checksums;
}

// Most cards have 14 bits for the length of a buffer, so 16 384 bytes would become 0 (vmxnet3:
// nothing is received). Cards of e1000 support powers of two only.
static uint16_t room_of(const struct port *port, const struct rte_eth_dev_info *info)
{
	const char *name = info->driver_name ? info->driver_name : "";
	uint16_t room = port_data_room(port->settings);

	if (!port_is_pci(port->settings) || strstr(name, "e1000") ||
		room != PORT_HEADROOM + BUFFER_BITS_14 || port->settings->mtu > LONG_MTU)
		return room;
	return room - BUFFER_UNIT;
}

static int setup_queue(struct port *port, unsigned q, uint16_t rx, uint16_t tx,
	const struct rte_eth_txconf *txconf)
{
	uint16_t device = port->queue[q].device, number = port->queue[q].number;
	int socket = port_memory_socket(device);
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
	for (unsigned q = first; !err && q < first + port_queues_of_device(port); q++) {
		err = port_make_pools(port, q, e);
		if (!err)
			err = setup_queue(port, q, rx, tx, &txconf);
	}
	return err;
}

int port_configure(struct port *port, unsigned device, struct io_error *e)
{
	uint16_t id = port->devices[device], queues = (uint16_t)port_queues_of_device(port);
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	int err = rte_eth_dev_info_get(id, &info);

	if (!err)
		err = check_limits(port, &info, e);
	if (err)
		return err;
	choose_receive(port, &info, &conf);
	choose_transmit(port, &info, &conf);
	choose_vlans(port, &info, &conf);
	port->filters_vlans = conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
	port->reports_checksums =
		conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_UDP_CKSUM || port->driver->sockets;
	port->room = room_of(port, &info);
	port->checksum_offload = conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
	err = rte_eth_dev_configure(id, queues, queues, &conf);
	if (err && conf.rx_adv_conf.rss_conf.rss_key) {
		conf.rx_adv_conf.rss_conf.rss_key = NULL; // it insists on its own
		err = rte_eth_dev_configure(id, queues, queues, &conf);
	}
	return err ? err : setup_queues(port, device * queues, &info, &conf, e);
}

// The hash that a running card reports.
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
	s->portless[0] = conf.rss_hf && !(conf.rss_hf & RTE_ETH_RSS_NONFRAG_IPV4_UDP);
	s->portless[1] = conf.rss_hf && !(conf.rss_hf & RTE_ETH_RSS_NONFRAG_IPV6_UDP);
	s->portless_tcp[0] = conf.rss_hf && !(conf.rss_hf & RTE_ETH_RSS_NONFRAG_IPV4_TCP);
	s->portless_tcp[1] = conf.rss_hf && !(conf.rss_hf & RTE_ETH_RSS_NONFRAG_IPV6_TCP);
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
		n = p->has_ports
		            ? rules_by_port(port->queues, port->vlan_count, p->has_streams, rules)
		            : 0;
	return rules_install(port->devices[0], rules, n) == 0;
}

// Does our RSS key steer relays at least as well as rules would? Rules by port do not cover relays.
static bool serves_relays(const struct port *port)
{
	const struct port_settings *p = port->settings;

	return p->relays.count && port->steer.how == STEER_SPARSE &&
	       (p->has_ports || steer_is_even(&port->steer, &p->relays, port->queues));
}

// Choose the steering method from the device's report.
void port_choose_steering(struct port *port)
{
	uint8_t key[STEER_KEY_MAX];
	struct steer_facts facts = {.queues = port->queues,
		.pairs = port->driver->pairs,
		.by_address = port->settings->homes.count > 0};

	if (port->queues > 1 && !facts.pairs) {
		if (port_is_pci(port->settings))
			read_rss_of_card(port);
		else if (port->driver->one_queue)
			netif_read_rss(port->settings->device, &port->steer);
		if (port->steer.key_len) {
			write_key(port->settings, port->queues, key, port->steer.key_len);
			facts.key = key;
		}
		steer_choose(&port->steer, &facts);
		if (serves_relays(port))
			return;
		facts.takes_rules = takes_rules(port);
	}
	steer_choose(&port->steer, &facts);
}

void port_remove_rules(struct port *port)
{
	bool has_rules = port->steer.how == STEER_RULES || port->steer.how == STEER_ADDRESS;

	if (port->device_count && has_rules)
		rules_remove(port->devices[0]);
}
