// SPDX-License-Identifier: BSD-3-Clause
// All ports opened and closed, in order: devices probed and started, interfaces claimed and given
// back, the drivers' output captured meanwhile. Not here: the checks before EAL (preflight.c), EAL
// (eal.c), the driver's arguments (driver.c), the device's configuration (port_configure.c), its
// memory (memory.c), link and counts (port_read.c). Path: cold. Management thread.
#include "io/port/port.h"
#include "io/driver/driver.h"
#include "io/driver/eal.h"
#include "io/driver/memory.h"
#include "io/driver/settings.h"
#include "io/port/port_internal.h"
#include "io/port_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>

#include "base/log.h"
#include "io/driver/explain.h"
#include "io/host/netif.h"
#include "io/port/pcap_ring.h"
#include "io/sockets/sockets.h"
#include "io/driver/state.h"
#include "io/port/untag.h"

static int probe_ring(
	struct port *ports, unsigned count, unsigned index, uint16_t *id, struct io_error *e)
{
	struct port *port = &ports[index];
	struct rte_eth_dev_info info;
	int peer = port_ring_peer(ports[0].settings, count, index), rc;
	char name[16];

	if (peer < 0)
		return port_fail(e, port->settings, -EINVAL, "device: must name another ring port");
	snprintf(name, sizeof(name), "wire%u", index);
	rc = rte_eth_from_rings(name, ports[peer].ring, port->queues, port->ring, port->queues, 0);
	if (rc < 0)
		return -rte_errno;
	*id = (uint16_t)rc;
	// Short of memory the driver makes a port on rings of its own, as many as it can have.
	if (rte_eth_dev_info_get(*id, &info) < 0 || info.max_rx_queues != port->queues)
		return -ENOMEM;
	return 0;
}

static int probe_pci(const struct port *port, const char *bdf, uint16_t *id, struct io_error *e)
{
	if (rte_eth_dev_get_port_by_name(bdf, id) == 0)
		return 0;
	return port_fail(e, port->settings, -ENODEV,
		"no DPDK driver took the device: `apt-get install librte-meta-net`, and "
		"`ddiperf --verbose` shows the messages of DPDK");
}

static int probe_vdev(char *devargs, uint16_t *id)
{
	char *args = devargs;
	char *name = strsep(&args, ",");
	int err = rte_eal_hotplug_add("vdev", name, args ? args : "");

	return err ? err : rte_eth_dev_get_port_by_name(name, id);
}

// The settings by which the port has an interface.
static const struct port_settings *claim_settings(const struct port *port)
{
	return port->named_device[0] ? &port->named : port->settings;
}

static int claim_interface(struct port *port, struct io_error *e)
{
	int claim;

	if (!port_of_devargs(port->settings, 0, &port->named, port->named_device,
		    sizeof(port->named_device)) &&
		!port_on_kernel_interface(port->settings))
		return 0;
	claim = state_begin(claim_settings(port), e);
	port->claim = claim < 0 ? 0 : claim;
	return claim < 0 ? claim : 0;
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
	return port_is_pci(p) ? probe_pci(port, devargs, id, e) : probe_vdev(devargs, id);
}

// Neighbour discovery of many source addresses needs as many multicast groups. A virtual function
// may support fewer (iavf), and if it asks for all, its card may forget the list (igb).
static void open_groups(const struct port *port)
{
	const struct port_settings *p = port->settings;
	const uint8_t(*macs)[6] = p->listens.items;
	struct rte_ether_addr list[PORT_GROUPS_MAX];
	int err;

	for (uint32_t i = 0; i < p->listens.count; i++)
		memcpy(list[i].addr_bytes, macs[i], 6);
	err = rte_eth_dev_set_mc_addr_list(port->devices[0], list, p->listens.count);
	if (err || p->listens_more || !port->is_function)
		rte_eth_allmulticast_enable(port->devices[0]);
}

static void open_multicast(struct port *port)
{
	int fd;

	if (port_is_pci(port->settings))
		open_groups(port);
	if (!port_on_kernel_interface(port->settings))
		return;
	fd = netif_open_multicast(port->settings->device);
	if (fd > 0)
		port->multicast = fd;
}

// A virtual function has room for some dozens.
static void open_vlans(const struct port *port)
{
	const struct field_list *tags = &port->settings->tags;
	const uint16_t *ids = tags->items;

	for (uint32_t i = 0; i < tags->count; i++) {
		if (rte_eth_dev_vlan_filter(port->devices[0], ids[i], 1) == 0)
			continue;
		log_warning(
			"port %s: the card takes %u of %u VLANs, and drops packets of the others",
			port->settings->name, i, tags->count);
		return;
	}
}

// Their tags may be stripped from any packet, whether VLANs are configured on the port or not.
static int keep_tags(const struct port *port)
{
	int err = 0;

	for (unsigned q = 0; !err && q < port->queues; q++)
		err = untag_undo_on(port->queue[q].device, port->queue[q].number);
	return err;
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
	unsigned queues = port_queues_of_device(port);
	int err = probe(ports, count, index, device, e);

	if (err)
		return err;
	port->device_count++;
	for (unsigned n = 0; n < queues; n++)
		port->queue[device * queues + n] =
			(struct port_queue){port->devices[device], (uint16_t)n};
	err = port_configure(port, device, e);
	if (port->claim)
		state_attached(claim_settings(port)); // also by a driver that failed then
	return err ? err : rte_eth_dev_start(port->devices[device]);
}

// Left by a process that died: the driver cannot listen there otherwise.
static void remove_dead_socket(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISSOCK(st.st_mode) && socket_try(path) == -ECONNREFUSED)
		unlink(path);
}

static int open_port(struct port *ports, unsigned count, unsigned index, struct io_error *e)
{
	struct port *port = &ports[index];
	unsigned devices = port->queues / port_queues_of_device(port);
	int err = 0;

	if (port->driver->device == DEVICE_SOCKET)
		remove_dead_socket(socket_path(port->settings->device));
	for (unsigned d = 0; !err && d < devices; d++)
		err = open_device(ports, count, index, d, e);
	if (!err)
		err = read_mac(port, index);
	if (!err && port->is_function)
		err = keep_tags(port);
	if (err)
		return err;
	port_choose_steering(port);
	open_multicast(port);
	if (port->filters_vlans)
		open_vlans(port);
	if (port->driver->sockets) {
		err = sockets_open(port->settings, port->queues, &port->sockets, e);
		if (err)
			return err;
		sockets_attach(port->sockets, port);
	}
	if (port->settings->promiscuous)
		rte_eth_promiscuous_enable(port->devices[0]); // -ENOTSUP: it receives all
	if (port_on_kernel_interface(port->settings) && !port->driver->counts_missed)
		drops_start(&port->drops, port->settings->device, port->queues);
	return 0;
}

static int open_captured(struct port *ports, unsigned count, unsigned index, struct io_error *e)
{
	struct capture c;
	char *said;
	int err;

	e->text[0] = '\0';
	err = claim_interface(&ports[index], e);
	if (err)
		return err;
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

int port_start_all(const struct port_settings *ports, unsigned count, struct port *ports_out,
	struct io_error *e)
{
	int err = 0;

	if (count > PORT_MAX)
		return io_fail(e, -E2BIG, "%u ports are too many (up to %u)", count, PORT_MAX);
	for (unsigned i = 0; i < count; i++)
		fill_port(&ports_out[i], &ports[i]);
	for (unsigned i = 0; !err && i < count; i++)
		if (!ports_out[i].driver->devargs)
			err = port_make_rings(&ports_out[i], i, e);
	for (unsigned i = 0; !err && i < count; i++)
		err = open_captured(ports_out, count, i, e);
	if (err) {
		port_stop_all(ports_out, count);
		return err;
	}
	port_wait_for_links(ports_out, count);
	return 0;
}

static void close_device(const struct port *port, uint16_t id)
{
	struct rte_eth_dev_info info;
	bool known = rte_eth_dev_info_get(id, &info) == 0;

	rte_eth_dev_stop(id);
	rte_eth_dev_close(id);
	if (known && info.device && !port_is_pci(port->settings))
		rte_dev_remove(info.device);
}

static void close_port(struct port *port)
{
	port_remove_rules(port);
	if (port->multicast)
		close(port->multicast);
	port->multicast = 0;
	while (port->device_count > 0) // with sockets: their bursts are gone then
		close_device(port, port->devices[--port->device_count]);
	sockets_close(port->sockets);
	port->sockets = NULL;
}

// Mbufs of one port may wait in another one, so pools go last.
void port_stop_all(struct port *ports, unsigned count)
{
	struct capture c;

	capture_begin(&c);
	for (unsigned i = 0; i < count; i++)
		close_port(&ports[i]);
	for (unsigned i = 0; i < count; i++)
		port_free_rings(&ports[i]);
	for (unsigned i = 0; i < count; i++)
		port_free_pools(&ports[i]);
	free(capture_end(&c));
	for (unsigned i = 0; i < count; i++) {
		if (ports[i].claim)
			state_end(claim_settings(&ports[i]), ports[i].claim);
		ports[i].claim = 0;
	}
}
