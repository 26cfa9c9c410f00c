// SPDX-License-Identifier: BSD-3-Clause
// The rows of ports: and host:, and the rules between settings that rows cannot express.
// Path: cold.
#include <stddef.h>
#include <string.h>

#include "base/diag.h"
#include "io/driver/settings.h"
#include "io/driver/driver.h"
#include "io/port_state.h"

#define AT(member) offsetof(struct port_settings, member)

static const char *const probe_names[] = {"auto", "always", "never", NULL};

static const struct field port_fields[] = {
	{.name = "name",
		.help = "name of the port in the rest of the file and in the report",
		.type = FIELD_STRING,
		.required = true,
		.offset = AT(name),
		.min = 1,
		.max = 63},
	{.name = "driver",
		.help = "how to reach the wire (`ddiperf list drivers`)",
		.type = FIELD_ENUM,
		.required = true,
		.offset = AT(driver),
		.names = &drivers[0].name,
		.names_step = sizeof(drivers[0])},
	{.name = "device",
		.help = "kernel interface, PCI address, socket path, peer port's name (ring)",
		.type = FIELD_STRING,
		.offset = AT(device),
		.min = 1,
		.max = 255},
	{.name = "rx_file",
		.help = "pcap: packets to receive, instead of a live interface",
		.type = FIELD_STRING,
		.role = FIELD_INPUT,
		.offset = AT(rx_file),
		.min = 1,
		.max = 4000},
	{.name = "tx_file",
		.help = "pcap: file for sent packets, instead of a live interface",
		.type = FIELD_STRING,
		.role = FIELD_OUTPUT,
		.offset = AT(tx_file),
		.min = 1,
		.max = 4000},
	{.name = "cpus",
		.help = "one worker and one queue pair on each; absent: an isolated CPU, or any",
		.type = FIELD_RANGE,
		.list = true,
		.offset = AT(cpus),
		.min = 0,
		.max = 4095},
	{.name = "addresses",
		.help = "the tester's addresses on this port, with prefix length",
		.type = FIELD_PREFIX,
		.list = true,
		.offset = AT(addresses)},
	{.name = "gateway",
		.help = "next hop for servers off the subnet, one per family",
		.type = FIELD_ADDR,
		.list = true,
		.offset = AT(gateway)},
	{.name = "vlans",
		.help = "VLAN tags of every packet, outermost first",
		.type = FIELD_COUNT,
		.list = true,
		.offset = AT(vlans),
		.min = 1,
		.max = 4094},
	{.name = "mtu",
		.help = "largest IP packet in bytes",
		.type = FIELD_COUNT,
		.offset = AT(mtu),
		.def = "1500",
		.min = 576,
		.max = 9600},
	{.name = "burst",
		.help = "packets per driver call; auto: the driver's choice",
		.type = FIELD_COUNT,
		.offset = AT(burst),
		.def = "auto",
		.word = "auto",
		.min = 1,
		.max = 64},
	{.name = "rx_descriptors",
		.help = "length of a receive queue",
		.type = FIELD_COUNT,
		.offset = AT(rx_descriptors),
		.def = "auto",
		.word = "auto",
		.min = 64,
		.max = 32768},
	{.name = "tx_descriptors",
		.help = "length of a transmit queue",
		.type = FIELD_COUNT,
		.offset = AT(tx_descriptors),
		.def = "auto",
		.word = "auto",
		.min = 64,
		.max = 32768},
	{.name = "mbufs",
		.help = "packet buffers per queue and direction",
		.type = FIELD_COUNT,
		.offset = AT(mbufs),
		.def = "auto",
		.word = "auto",
		.min = 1024,
		.max = 16777216},
	{.name = "send_buffer",
		.help = "driver: socket: size of the kernel's buffer for sending on each socket "
			"(SO_SNDBUF); auto: by tx_descriptors, over TCP the kernel's choice",
		.type = FIELD_SIZE,
		.offset = AT(send_buffer),
		.def = "auto",
		.word = "auto",
		.min = 1,
		.max = 1 << 30},
	{.name = "receive_buffer",
		.help = "driver: socket: size of the kernel's buffer for receiving on each socket "
			"(SO_RCVBUF); auto: by rx_descriptors, over TCP the kernel's choice",
		.type = FIELD_SIZE,
		.offset = AT(receive_buffer),
		.def = "auto",
		.word = "auto",
		.min = 1,
		.max = 1 << 30},
	{.name = "link_speed",
		.help = "bits per second of the link, like 10G; auto: the device's, none for "
			"virtual ones",
		.type = FIELD_RATE,
		.offset = AT(link_speed),
		.def = "auto",
		.word = "auto",
		.min = 1e6,
		.max = 1e12},
	{.name = "checksum_offload",
		.help = "let the device finish checksums where it can",
		.type = FIELD_BOOL,
		.offset = AT(checksum_offload),
		.def = "false"},
	{.name = "force",
		.help = "use the interface even if the host uses it; an XDP program on it stays "
			"attached",
		.type = FIELD_BOOL,
		.offset = AT(force),
		.def = "false"},
	{.name = "steering_probe",
		.help = "send a few queries before the run to see which queue replies reach; auto: "
			"if the driver leaves that open",
		.type = FIELD_ENUM,
		.offset = AT(steering_probe),
		.def = "auto",
		.names = probe_names},
	{.name = "address_probe",
		.help = "ask before the run whether other hosts have the tester's addresses; auto: "
			"unless no other host can be on the wire (ring, null, files)",
		.type = FIELD_ENUM,
		.offset = AT(address_probe),
		.def = "auto",
		.names = probe_names},
};

const struct field_section port_section = {
	.name = "ports",
	.help = "the ways to the wire",
	FIELD_ROWS(port_fields),
	.size = sizeof(struct port_settings),
};

static const char *const memory_names[] = {"auto", "hugepages", "pages", NULL};
static const char *const idle_names[] = {"auto", "poll", "sleep", NULL};

static const struct field host_fields[] = {
	{.name = "management_cpu",
		.help = "CPU of all threads except workers; auto: one that is not isolated, or any",
		.type = FIELD_COUNT,
		.offset = offsetof(struct host_settings, management_cpu),
		.def = "auto",
		.word = "auto",
		.min = 0,
		.max = 4095},
	{.name = "memory",
		.help = "packet memory; auto: hugepages when enough are free, else pages",
		.type = FIELD_ENUM,
		.offset = offsetof(struct host_settings, memory),
		.def = "auto",
		.names = memory_names},
	{.name = "memory_size",
		.help = "amount of packet memory; auto: as much as the ports need",
		.type = FIELD_SIZE,
		.offset = offsetof(struct host_settings, memory_size),
		.def = "auto",
		.word = "auto",
		.min = 64 << 20,
		.max = 1ull << 40},
	{.name = "idle",
		.help = "how workers wait for packets or their next send: poll or sleep; auto: "
			"poll on isolated CPUs, sleep on others",
		.type = FIELD_ENUM,
		.offset = offsetof(struct host_settings, idle),
		.def = "auto",
		.names = idle_names},
	{.name = "crew",
		.help = "CPUs of threads that compute the handshakes of TLS; absent: each worker "
			"computes one between two passes, which delays its sends by 0.2 ms",
		.type = FIELD_RANGE,
		.list = true,
		.offset = offsetof(struct host_settings, crew),
		.max = 4095},
};

const struct field_section host_section = {
	.name = "host",
	.help = "the box that the tester runs on",
	FIELD_ROWS(host_fields),
	.size = sizeof(struct host_settings),
};

bool port_has(const struct port_settings *p, const struct addr *a)
{
	const struct addr_prefix *own = p->addresses.items;

	for (uint32_t i = 0; i < p->addresses.count; i++)
		if (addr_equal(&own[i].addr, a))
			return true;
	return false;
}

static void check_files(const struct port_settings *p, struct diag *d)
{
	bool files = driver_of(p)->files;

	if (p->rx_file && (!files || p->device))
		diag_error(d, &p->rx_file, NULL, "is for driver: pcap without a device");
	if (p->tx_file && (!files || p->device))
		diag_error(d, &p->tx_file, NULL, "is for driver: pcap without a device");
	if (files && !p->device && !p->rx_file && !p->tx_file)
		diag_error(d, p, "device", "is needed (a kernel interface, or rx_file or tx_file)");
}

static void check_device(const struct port_settings *p, struct diag *d)
{
	const struct driver *driver = driver_of(p);
	const char *const *at = p->device ? &p->device : p->tx_file ? &p->tx_file : &p->rx_file;
	char buf[8192];
	const char *why;

	if (driver->device == DEVICE_NONE && p->device)
		diag_error(d, &p->device, NULL, "is not used by driver: %s", driver->name);
	if (!p->device && driver->device != DEVICE_NONE && !driver->device_optional) {
		diag_error(d, p, "device", "is needed by driver: %s (%s)", driver->name,
			driver->device_help);
		return;
	}
	if (driver->device == DEVICE_SOCKET)
		return; // its devargs depend on a process that listens: that is for the start
	if (driver->devargs && driver->devargs(p, 0, buf, sizeof(buf), &why) < 0)
		diag_error(d, at, NULL, "%s", why);
}

// Settings of frames, which the kernel decides on.
static void check_sockets(const struct port_settings *p, struct diag *d)
{
	if (!driver_of(p)->sockets) {
		if (port_buffer_given(p->send_buffer))
			diag_error(d, &p->send_buffer, NULL, "is for driver: socket");
		if (port_buffer_given(p->receive_buffer))
			diag_error(d, &p->receive_buffer, NULL, "is for driver: socket");
		return;
	}
	if (p->vlans.count)
		diag_error(d, &p->vlans, NULL,
			"driver: socket sends no tags (add them to the "
			"interface: ip link add link ... type vlan)");
	if (p->gateway.count)
		diag_error(d, &p->gateway, NULL, "driver: socket has the host's routes (ip route)");
}

static void check_cpus(const struct port_settings *p, struct diag *d)
{
	uint64_t n = port_cpus_given(p);

	if (n > driver_of(p)->max_queues)
		diag_error(d, &p->cpus, NULL, "has %llu CPUs, driver: %s has at most %u queues",
			(unsigned long long)n, driver_of(p)->name, driver_of(p)->max_queues);
}

static bool is_on_link(const struct port_settings *p, const struct addr *gateway)
{
	const struct addr_prefix *own = p->addresses.items;

	if (addr_is_link_local(gateway))
		return true;
	for (uint32_t i = 0; i < p->addresses.count; i++)
		if (addr_in_prefix(gateway, &own[i]))
			return true;
	return false;
}

static void check_gateways(const struct port_settings *p, struct diag *d)
{
	const struct addr *gateway = p->gateway.items;

	for (uint32_t i = 0; i < p->gateway.count; i++) {
		for (uint32_t j = 0; j < i; j++)
			if (gateway[j].len == gateway[i].len)
				diag_error(d, &gateway[i], NULL,
					"is a second gateway of its family (one for IPv4, one for "
					"IPv6)");
		if (!is_on_link(p, &gateway[i]))
			diag_error(d, &gateway[i], NULL, "is in no prefix of the port's addresses");
	}
}

static void check_port(const struct port_settings *p, struct diag *d)
{
	if (p->driver < 0 || (unsigned)p->driver >= driver_count)
		return; // reported by the row
	check_files(p, d);
	check_device(p, d);
	check_cpus(p, d);
	check_sockets(p, d);
	check_gateways(p, d);
	if (p->vlans.count > 2)
		diag_error(d, &p->vlans, NULL, "has more than two tags (up to 2)");
}

static bool is_ring(const struct port_settings *p)
{
	return driver_of(p)->device == DEVICE_PEER;
}

static bool names(const struct port_settings *p, const struct port_settings *other)
{
	return p->device && other->name && !strcmp(p->device, other->name);
}

int port_ring_peer(const struct port_settings *ports, unsigned count, unsigned index)
{
	const struct port_settings *p = &ports[index];

	for (unsigned i = 0; i < count; i++) {
		if (i == index || !is_ring(&ports[i]))
			continue;
		if (names(p, &ports[i]) || (!p->device && names(&ports[i], p)))
			return (int)i;
	}
	return -1;
}

static void check_ring(
	const struct port_settings *ports, unsigned count, unsigned index, struct diag *d)
{
	const struct port_settings *p = &ports[index];
	const void *at = p->device ? (const void *)&p->device : p;
	const char *key = p->device ? NULL : "device";
	int peer = port_ring_peer(ports, count, index);

	if (peer < 0)
		diag_error(d, at, key, "names no other port with driver: ring");
	else if (port_ring_peer(ports, count, (unsigned)peer) != (int)index)
		diag_error(d, at, key, "names port %s, which is paired with another one",
			ports[peer].name);
}

static bool same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static void check_pair(
	const struct port_settings *p, const struct port_settings *earlier, struct diag *d)
{
	bool by_device = driver_of(p)->device == DEVICE_INTERFACE || driver_of(p)->checksum_offload;

	if (same_text(p->name, earlier->name))
		diag_error(d, &p->name, NULL, "is the name of two ports");
	if (by_device && same_text(p->device, earlier->device))
		diag_error(d, &p->device, NULL, "is used by port %s too", earlier->name);
	if (same_text(p->tx_file, earlier->tx_file))
		diag_error(d, &p->tx_file, NULL, "is written by port %s too", earlier->name);
}

void port_check_all(const struct port_settings *ports, unsigned count, struct diag *d)
{
	for (unsigned i = 0; i < count; i++)
		check_port(&ports[i], d);
	for (unsigned i = 0; i < count; i++)
		if (ports[i].driver < 0 || (unsigned)ports[i].driver >= driver_count)
			return;
	for (unsigned i = 0; i < count; i++) {
		for (unsigned j = 0; j < i; j++)
			check_pair(&ports[i], &ports[j], d);
		if (is_ring(&ports[i]))
			check_ring(ports, count, i, d);
	}
}
