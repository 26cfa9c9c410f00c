// SPDX-License-Identifier: BSD-3-Clause
// The checks of a port before EAL: its device, by the kind of device, then the needs of all ports
// (plug-in, capabilities, memory). Each refusal names the command or setting that helps.
// Path: cold. Management thread.
#include "io/doctor/preflight.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/driver/driver.h"
#include "io/driver/explain.h"
#include "io/driver/memory.h"
#include "io/driver/settings.h"
#include "io/driver/state.h"
#include "io/host/netif.h"
#include "io/host/privileges.h"
#include "io/pci/pci.h"
#include "io/port_state.h"

#define MIB (UINT64_C(1) << 20)

static int no_such_interface(
	const struct port_settings *p, const struct netif *list, unsigned count, struct io_error *e)
{
	char names[512] = "";
	size_t used = 0;

	for (unsigned i = 0; i < count && used < sizeof(names); i++)
		used += (size_t)snprintf(
			names + used, sizeof(names) - used, "%s%s", used ? ", " : "", list[i].name);
	return port_fail(e, p, -ENODEV, "there is no such interface (there are: %s%s)", names,
		used >= sizeof(names) ? "..." : "");
}

static int check_default_route(
	const struct port_settings *p, const struct netif *n, struct io_error *e)
{
	const char *through = strcmp(n->name, p->device) ? n->name : "the interface";

	if (!n->default_route)
		return 0;
	return port_fail(e, p, -EBUSY,
		"%s carries the default route of this box, and a test would cut the box off: "
		"use another interface (or force: true)",
		through);
}

static int check_addresses(const struct port_settings *p, const struct netif *n, struct io_error *e)
{
	const struct addr_prefix *in_use = NULL;
	char text[ADDR_TEXT_SIZE];
	bool same = false;

	for (uint32_t i = 0; i < n->addr_count && !same; i++) {
		if (addr_is_link_local(&n->addrs[i].addr))
			continue;
		in_use = &n->addrs[i];
		same = port_has(p, &in_use->addr);
	}
	if (!in_use)
		return 0;
	addr_format_prefix(in_use, text, sizeof(text));
	if (n->flags & IFF_LOOPBACK) // the host needs its addresses
		return port_fail(e, p, -EADDRINUSE,
			"%s is the loopback interface, which has no ARP: use driver: socket "
			"(-D socket)",
			n->name);
	if (same)
		return port_fail(e, p, -EADDRINUSE,
			"%s is an address of this port, but the kernel has it too on %s, and both "
			"would answer: `ip address del %s dev %s`",
			text, n->name, text, n->name);
	return port_fail(e, p, -EADDRINUSE,
		"the kernel has the address %s on %s, and traffic of this box would mix with the "
		"test: `ip address del %s dev %s`, or force: true",
		text, n->name, text, n->name);
}

int preflight_users(const struct port_settings *p, const struct netif *n, const struct netif *list,
	unsigned count, struct io_error *e)
{
	bool *users = netif_users(list, count, n);
	int err = 0;

	for (unsigned i = 0; !err && i < count; i++) {
		if (!users[i])
			continue;
		err = check_default_route(p, &list[i], e);
		if (!err)
			err = check_addresses(p, &list[i], e);
	}
	free(users);
	return err;
}

// An XDP socket reads one receive queue: packets in other queues of the card would never arrive.
static int check_queues(const struct port_settings *p, const struct netif *n, struct io_error *e)
{
	unsigned queues = port_queue_count(p);
	const char *kind = !strcmp(n->kind, "veth") ? "rx" : "combined";

	if (!driver_of(p)->xdp)
		return 0;
	if (!n->rx_queues || n->rx_queues == queues || p->force)
		return 0;
	return port_fail(e, p, -EINVAL,
		"the interface has %u receive queues and the port uses %u, so replies in the "
		"other queues would be lost: "
		"`ethtool -L %s %s %u`, or cpus: with %u CPUs (or force: true)",
		n->rx_queues, queues, p->device, kind, queues, n->rx_queues);
}

static int check_link(const struct port_settings *p, const struct netif *n, struct io_error *e)
{
	if (!(n->flags & IFF_UP) && !state_sets_up(n))
		return port_fail(e, p, -ENETDOWN, "the interface is down: `ip link set dev %s up`",
			p->device);
	if (p->mtu > n->mtu)
		return port_fail(e, p, -EMSGSIZE,
			"mtu: %" PRIu64 " is above the %u of the interface: "
			"`ip link set dev %s mtu %" PRIu64 "`",
			p->mtu, n->mtu, p->device, p->mtu);
	return 0;
}

int preflight_interface(
	const struct port_settings *p, const struct netif *list, unsigned count, struct io_error *e)
{
	const struct netif *n = netif_find(list, count, p->device);
	int err;

	if (!n)
		return no_such_interface(p, list, count, e);
	err = p->force ? 0 : preflight_users(p, n, list, count, e);
	if (!err)
		err = check_link(p, n, e);
	if (!err)
		err = check_queues(p, n, e);
	return err ? err : state_look(p, n, e);
}

static int check_interface_device(const struct port_settings *p, struct io_error *e)
{
	struct netif *list;
	unsigned count;
	int err = netif_list(&list, &count);

	if (err)
		return port_fail(e, p, err, "interfaces cannot be listed: %s", strerror(-err));
	if (driver_of(p)->device != DEVICE_HOST)
		err = preflight_interface(p, list, count, e);
	else if (!netif_find(list, count, p->device))
		err = no_such_interface(p, list, count, e);
	free(list);
	return err;
}

static int check_rx_file(const struct port_settings *p, struct io_error *e)
{
	if (!p->rx_file || access(p->rx_file, R_OK) == 0)
		return 0;
	return port_fail(
		e, p, -errno, "rx_file %s cannot be read: %s", p->rx_file, strerror(errno));
}

static int check_tx_file(const struct port_settings *p, struct io_error *e)
{
	char path[PATH_MAX];

	if (!p->tx_file)
		return 0;
	snprintf(path, sizeof(path), "%s", p->tx_file);
	if (access(path, W_OK) == 0 || access(dirname(path), W_OK) == 0)
		return 0;
	return port_fail(
		e, p, -errno, "tx_file %s cannot be written: %s", p->tx_file, strerror(errno));
}

static int check_interface_or_files(const struct port_settings *p, struct io_error *e)
{
	int err;

	if (p->device)
		return check_interface_device(p, e);
	err = check_rx_file(p, e);
	return err ? err : check_tx_file(p, e);
}

static int check_tap_device(const struct port_settings *p, struct io_error *e)
{
	if (p->device && if_nametoindex(p->device))
		return port_fail(e, p, -EBUSY,
			"the interface exists already and a tap port makes its own: "
			"choose another name, or driver: af_packet");
	// Opening it would load the kernel's module.
	if (access("/dev/net/tun", R_OK | W_OK) < 0)
		return port_fail(e, p, -errno, "/dev/net/tun: %s: `modprobe tun`, and run as root",
			strerror(errno));
	return 0;
}

static int check_socket_device(const struct port_settings *p, struct io_error *e)
{
	char path[PATH_MAX];
	const char *folder;
	struct stat st;

	snprintf(path, sizeof(path), "%s", socket_path(p->device));
	if (stat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return port_fail(e, p, -EBUSY,
			"%s exists and is not a socket: remove it, or choose another path", path);
	folder = dirname(path);
	if (access(folder, W_OK) == 0)
		return 0;
	return port_fail(
		e, p, -errno, "a socket cannot be made in %s: %s", folder, strerror(errno));
}

static int check_backend_device(const struct port_settings *p, struct io_error *e)
{
	const char *hint = strcmp(p->device, "/dev/vhost-net")
	                           ? "start the vhost-user backend (switch) first"
	                           : "`modprobe vhost-net`, and run as root";

	if (access(p->device, R_OK | W_OK) == 0)
		return 0;
	return port_fail(e, p, errno == ENOENT ? -ENODEV : -errno, "%s: %s: %s", p->device,
		strerror(errno), hint);
}

// Cards that DPDK shares with their kernel driver must not carry traffic of the host either.
static int check_shared_card(const struct port_settings *p, const struct pci_box *b,
	const struct pci_card *c, struct io_error *e)
{
	struct port_settings shown = *p;
	int err = 0;

	if (p->force)
		return 0;
	for (const struct netif *n = NULL; !err && (n = pci_interface(b, c, n));) {
		shown.device = n->name;
		err = preflight_users(&shown, n, b->interfaces, b->interface_count, e);
	}
	return err;
}

static int check_vfio(const struct port_settings *p, const struct pci_box *b,
	const struct pci_card *c, struct io_error *e)
{
	char path[PATH_MAX];

	// Without an IOMMU group the card has no file; DPDK reports that.
	if (strcmp(c->driver, "vfio-pci") || !c->group[0])
		return 0;
	pci_node(b, c, path);
	if (access(path, R_OK | W_OK) == 0 && !pci_is_used(b, c))
		return 0;
	if (errno == EBUSY)
		return port_fail(e, p, -EBUSY,
			"another process uses the card: wait for its end (`fuser -v %s` names it)",
			path);
	return port_fail(e, p, -EPERM, "%s: %s: run as root, or `sudo chown %u %s`", path,
		strerror(errno), (unsigned)getuid(), path);
}

static int check_card(
	const struct port_settings *p, const struct pci_box *b, const char *bdf, struct io_error *e)
{
	const struct pci_card *c = pci_find(b, bdf);
	char advice[1024];

	if (!c)
		return port_fail(
			e, p, -ENODEV, "there is no such network card: `ddiperf bind` lists them");
	if (pci_is_shared(c))
		return check_shared_card(p, b, c, e);
	if (pci_is_bound(c))
		return check_vfio(p, b, c, e);
	return port_fail(e, p, -EBUSY, "its kernel driver is %s, and DPDK needs vfio-pci: %s",
		c->driver[0] ? c->driver : "none", pci_advice(b, c, advice, sizeof(advice)));
}

static int check_pci_device(const struct port_settings *p, struct io_error *e)
{
	struct pci_box b = {.root = ""};
	const char *why;
	char bdf[32];
	int err;

	if (driver_of(p)->devargs(p, 0, bdf, sizeof(bdf), &why) < 0)
		return port_fail(e, p, -EINVAL, "%s", why);
	err = pci_read(&b);
	err = err ? port_fail(e, p, err, "interfaces cannot be listed: %s", strerror(-err))
	          : check_card(p, &b, bdf, e);
	pci_free(&b);
	return err;
}

int preflight_device(const struct port_settings *p, struct io_error *e)
{
	switch (driver_of(p)->device) {
	case DEVICE_PCI:
		return check_pci_device(p, e);
	case DEVICE_INTERFACE:
		return check_interface_or_files(p, e);
	case DEVICE_TAP:
		return check_tap_device(p, e);
	case DEVICE_SOCKET:
		return check_socket_device(p, e);
	case DEVICE_BACKEND:
		return check_backend_device(p, e);
	case DEVICE_HOST:
		return p->device ? check_interface_device(p, e) : 0;
	case DEVICE_NONE:
	case DEVICE_PEER:
	case DEVICE_DEVARGS:
		break;
	}
	return 0;
}

static int check_capabilities(const struct port_settings *p, struct io_error *e)
{
	uint64_t missing = port_is_files(p) ? 0 : driver_of(p)->caps & ~capabilities_now();
	char names[128], command[512];

	if (!missing)
		return 0;
	return port_fail(e, p, -EPERM, "%s missing: run as root, or %s",
		capabilities_names(missing, names, sizeof(names)),
		capabilities_command(driver_least_caps(driver_of(p)), command, sizeof(command)));
}

// The kernel locks packet memory against the limit of processes without CAP_IPC_LOCK.
static int check_memory_lock(const struct port_settings *p, struct io_error *e)
{
	const struct driver *d = driver_of(p);
	uint64_t need = d->xdp ? port_memory(p) : d->locks ? d->locks(p) : 0;
	struct rlimit limit;

	if (!need || capabilities_now() & NEED_CAP(CAP_IPC_LOCK))
		return 0;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_MEMLOCK, &limit);
	if (limit.rlim_max >= need)
		return 0;
	return port_fail(e, p, -EPERM,
		"its packet memory needs %" PRIu64 " KiB that are locked, and the limit is %" PRIu64
		": run as root, or `ulimit -l unlimited`, or give the program CAP_IPC_LOCK",
		need / 1024, (uint64_t)limit.rlim_max / 1024);
}

static int check_plugin(const struct port_settings *p, struct io_error *e)
{
	const char *bus = port_is_pci(p) ? "bus_pci" : "bus_vdev";
	char path[256];

	if (driver_of(p)->pmd && driver_plugin(driver_of(p)->pmd, path, sizeof(path)) < 0)
		return port_fail(e, p, -ENOENT,
			"DPDK's driver is not installed (%s): "
			"`apt-get install %s`",
			path, driver_of(p)->package);
	if (driver_plugin("mempool_ring", path, sizeof(path)) < 0 ||
		driver_plugin(bus, path, sizeof(path)) < 0)
		return port_fail(e, p, -ENOENT,
			"a part of DPDK is not installed (%s): "
			"`apt-get install librte-meta-mempool librte-meta-bus`",
			path);
	return 0;
}

static int check_hugepages(
	const struct port_settings *p, const struct host_settings *h, struct io_error *e)
{
	uint64_t need = port_memory(p), have = hugepages_free();
	bool wanted = h->memory == MEMORY_HUGEPAGES || driver_of(p)->hugepages_only;

	if (!wanted || have >= need)
		return 0;
	return port_fail(e, p, -ENOMEM,
		"needs %" PRIu64 " MiB of hugepages and %" PRIu64 " are free: "
		"`echo %" PRIu64 " > /proc/sys/vm/nr_hugepages`%s",
		need / MIB + 1, have / MIB, hugepages_to_set(need + 128 * MIB),
		driver_of(p)->hugepages_only ? "" : ", or host.memory: pages");
}

static int check_port(
	const struct port_settings *p, const struct host_settings *h, struct io_error *e)
{
	int err = check_plugin(p, e);

	if (!err)
		err = check_capabilities(p, e);
	if (!err)
		err = check_memory_lock(p, e);
	if (!err)
		err = preflight_device(p, e);
	return err ? err : check_hugepages(p, h, e);
}

int port_preflight(const struct port_settings *p, const struct host_settings *h, struct io_error *e)
{
	struct port_settings as;
	char name[64];
	int err = 0;

	for (unsigned n = 0; !err && port_of_devargs(p, n, &as, name, sizeof(name)); n++)
		err = check_port(&as, h, e);
	return err ? err : check_port(p, h, e);
}
