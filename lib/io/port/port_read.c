// SPDX-License-Identifier: BSD-3-Clause
// Reads of a port: its link and the link's speed, and the device's counters since the run began.
// Path: cold. Management thread.
#include "io/driver/driver.h"
#include "io/port/port_read.h"
#include "io/port/port_internal.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "base/interrupt.h"
#include "base/log.h"
#include "io/burst.h"
#include "io/host/netif.h"
#include "io/sockets/sockets.h"

#define STALE_BURSTS 10000 // in a queue between two runs, at most
#define LINK_WAIT_MS 2000

_Static_assert(BURST_MAX == 64, "the range of ports[].burst");

static bool has_given_speed(const struct port_settings *p)
{
	return p->link_speed > 0 && !isinf(p->link_speed);
}

uint64_t port_link_expected(const struct port_settings *p)
{
	struct netif n;

	if (has_given_speed(p))
		return (uint64_t)p->link_speed;
	return port_on_kernel_interface(p) && netif_read(p->device, &n) == 0 ? n.speed_bps : 0;
}

static void choose_speed(struct port *port)
{
	struct rte_eth_link link;

	port->link_bps = port_link_expected(port->settings);
	// Virtual devices claim speeds that they do not have.
	if (has_given_speed(port->settings) || !port_is_pci(port->settings) ||
		rte_eth_link_get_nowait(port->devices[0], &link) < 0)
		return;
	if (link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN)
		port->link_bps = link.link_speed * 1000000ull;
}

bool port_link_up(const struct port *p)
{
	struct rte_eth_link link;

	// Drivers on top of the kernel report the link as it was at their start.
	if (port_on_kernel_interface(p->settings))
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

void port_wait_for_links(struct port *ports, unsigned count)
{
	for (unsigned ms = 0; ms < LINK_WAIT_MS && !all_up(ports, count) && !interrupt_count;
		ms += 10)
		usleep(10000);
	for (unsigned i = 0; i < count; i++) {
		if (!interrupt_count && !port_link_up(&ports[i]))
			log_warning("port %s: no link after %u s, so no reply can arrive (check "
				    "the cable and the other end)",
				ports[i].settings->name, LINK_WAIT_MS / 1000);
		if (ports[i].settings->checksum_offload && !ports[i].checksum_offload)
			log_note("port %s: checksum_offload has no effect, as the device cannot "
				 "finish checksums",
				ports[i].settings->name);
		choose_speed(&ports[i]);
	}
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
	if (p->sockets)
		sockets_read(p->sockets, out);
	if (p->drops.count)
		out->rx_missed = drops_read(&p->drops, &out->rx_missed_known);
}

#define SINCE_BEFORE(member, help) out->member -= p->before.member;

void port_read_counters(struct port *p, struct port_counters *out)
{
	read_devices(p, out);
	PORT_COUNTERS(SINCE_BEFORE)
}

void port_count_anew(struct port *p)
{
	read_devices(p, &p->before);
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
	port_count_anew(p);
}

bool port_nic(const struct port *port, char *text, size_t room)
{
	struct rte_eth_dev_info info = {0};
	struct netif n;

	if (port_on_kernel_interface(port->settings)) {
		if (netif_read(port->settings->device, &n) < 0 || (!n.driver[0] && !n.kind[0]))
			return false;
		snprintf(text, room, "%s", n.driver[0] ? n.driver : n.kind);
		return true;
	}
	if (!port_is_pci(port->settings) || !port->device_count ||
		rte_eth_dev_info_get(port->devices[0], &info) < 0)
		return false;
	snprintf(text, room, "%s %s", info.driver_name, rte_dev_name(info.device));
	return true;
}
