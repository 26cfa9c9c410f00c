// SPDX-License-Identifier: BSD-3-Clause
// The checks before EAL. Each refusal names the command or setting that helps. Path: cold.
// Management thread.
#include "io/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "io/driver.h"
#include "io/explain.h"
#include "io/memory.h"
#include "io/netif.h"
#include "io/state.h"

#define MIB (UINT64_C(1) << 20)

uint64_t capabilities_now(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &head, data) < 0)
		return 0;
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

const char *capabilities_names(uint64_t caps, char *buf, size_t room)
{
	static const struct {
		unsigned number;
		const char *name;
	} names[] = {{CAP_NET_RAW, "CAP_NET_RAW"}, {CAP_NET_ADMIN, "CAP_NET_ADMIN"},
		{CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, {CAP_IPC_LOCK, "CAP_IPC_LOCK"}};
	size_t used = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]) && used < room; i++)
		if (caps & NEED_CAP(names[i].number))
			used += (size_t)snprintf(
				buf + used, room - used, "%s%s", used ? ", " : "", names[i].name);
	return buf;
}

static void program_path(char *path, size_t room)
{
	ssize_t len = readlink("/proc/self/exe", path, room - 1);

	path[len > 0 ? len : 0] = '\0';
}

static void lower_case(char *text)
{
	char *to = text;

	for (; *text; text++)
		if (*text != ' ')
			*to++ = *text >= 'A' && *text <= 'Z' ? (char)(*text + 32) : *text;
	*to = '\0';
}

static int check_capabilities(const struct port_settings *p, struct io_error *e)
{
	uint64_t need = driver_of(p)->caps, missing;
	char names[128], small[128], program[256];

	if (driver_of(p)->kernel_interface && !p->device)
		need = 0; // files
	missing = need & ~capabilities_now();
	if (!missing)
		return 0;
	capabilities_names(missing, names, sizeof(names));
	capabilities_names(
		driver_of(p)->xdp ? need | NEED_CAP(CAP_IPC_LOCK) : need, small, sizeof(small));
	lower_case(small);
	program_path(program, sizeof(program));
	return port_fail(e, p, -EPERM, "%s missing: run as root, or `sudo setcap %s+ep %s`", names,
		small, program);
}

// The kernel locks the packet memory of XDP sockets against the limit of processes without
// CAP_IPC_LOCK.
static int check_memory_lock(const struct port_settings *p, struct io_error *e)
{
	uint64_t need = port_memory(p);
	struct rlimit limit;

	if (!driver_of(p)->xdp || capabilities_now() & NEED_CAP(CAP_IPC_LOCK))
		return 0;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_MEMLOCK, &limit);
	if (limit.rlim_max >= need)
		return 0;
	return port_fail(e, p, -EPERM,
		"may lock %" PRIu64 " KiB of memory and needs %" PRIu64
		": run as root, or `ulimit -l unlimited`, or give it CAP_IPC_LOCK",
		(uint64_t)limit.rlim_max / 1024, need / 1024);
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
		"%s carries the default route of this box: use another interface "
		"(or force: true, which may cut you off)",
		through);
}

static int check_addresses(const struct port_settings *p, const struct netif *n, struct io_error *e)
{
	uint32_t kept = n->addr_count < NETIF_ADDRS_MAX ? n->addr_count : NETIF_ADDRS_MAX;
	const struct addr_prefix *in_use = NULL;
	char text[ADDR_TEXT_SIZE];
	bool same = false;

	for (uint32_t i = 0; i < kept && !same; i++) {
		if (addr_is_link_local(&n->addrs[i].addr))
			continue;
		in_use = &n->addrs[i];
		same = port_has(p, &in_use->addr);
	}
	if (!in_use)
		return 0;
	addr_format_prefix(in_use, text, sizeof(text));
	if (same)
		return port_fail(e, p, -EADDRINUSE,
			"%s is an address of this port that the kernel also has on %s, and both "
			"would answer: `ip address del %s dev %s`",
			text, n->name, text, n->name);
	return port_fail(e, p, -EADDRINUSE,
		"the kernel has the address %s on %s, so this box uses it: "
		"`ip address del %s dev %s`, or force: true",
		text, n->name, text, n->name);
}

int preflight_users(const struct port_settings *p, const struct netif *n, const struct netif *list,
	unsigned count, struct io_error *e)
{
	int err = 0;

	for (unsigned i = 0; !err && i < count; i++) {
		const struct netif *user = &list[i];

		if (user != n && user->index != n->master && user->lower != n->index)
			continue;
		err = check_default_route(p, user, e);
		if (!err)
			err = check_addresses(p, user, e);
	}
	return err;
}

static int check_xdp(const struct port_settings *p, const struct netif *n, struct io_error *e)
{
	int err;

	if (!n->xdp_program)
		return 0;
	if (!p->force)
		return port_fail(e, p, -EBUSY,
			"an XDP program (id %u) that is not ours is attached: "
			"`ip link set dev %s xdp off`, or force: true",
			n->xdp_program, p->device);
	err = netif_detach_xdp(p->device);
	if (!err)
		log_warning("port %s: detached XDP program %u from %s (force)", p->name,
			n->xdp_program, p->device);
	return err ? port_fail(e, p, err, "XDP program %u cannot be detached: %s", n->xdp_program,
			     strerror(-err))
	           : 0;
}

// An XDP socket sees one receive queue: what the card puts into the others would never arrive.
static int check_queues(const struct port_settings *p, const struct netif *n, struct io_error *e)
{
	unsigned queues = port_queue_count(p);
	const char *kind = !strcmp(n->kind, "veth") ? "rx" : "combined";

	if (!driver_of(p)->xdp)
		return 0;
	if (!n->rx_queues || n->rx_queues == queues || p->force)
		return 0;
	return port_fail(e, p, -EINVAL,
		"the interface has %u receive queues and the port uses %u: "
		"`ethtool -L %s %s %u`, or cpus: with %u CPUs (or force: true)",
		n->rx_queues, queues, p->device, kind, queues, n->rx_queues);
}

static int check_link(const struct port_settings *p, const struct netif *n, struct io_error *e)
{
	if (!(n->flags & IFF_UP))
		return port_fail(e, p, -ENETDOWN, "the interface is down: `ip link set dev %s up`",
			p->device);
	if (p->mtu > n->mtu)
		return port_fail(e, p, -EMSGSIZE,
			"mtu: %" PRIu64 " is above the %u of the interface: "
			"`ip link set dev %s mtu %" PRIu64 "`",
			p->mtu, n->mtu, p->device, p->mtu);
	return 0;
}

static int check_interface(
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
	return err ? err : check_xdp(p, n, e);
}

int preflight_interface(const struct port_settings *p, struct io_error *e)
{
	struct netif *list;
	unsigned count;
	int err = state_recover(p, NULL, e);

	if (err)
		return err;
	err = netif_list(&list, &count);
	if (err)
		return port_fail(e, p, err, "interfaces cannot be listed: %s", strerror(-err));
	err = check_interface(p, list, count, e);
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

int preflight_pcap(const struct port_settings *p, struct io_error *e)
{
	int err;

	if (p->device)
		return preflight_interface(p, e);
	err = check_rx_file(p, e);
	return err ? err : check_tx_file(p, e);
}

int preflight_tap(const struct port_settings *p, struct io_error *e)
{
	int fd;

	if (p->device && if_nametoindex(p->device))
		return port_fail(e, p, -EBUSY,
			"the interface exists already and a tap port makes its own: "
			"choose another name, or driver: af_packet");
	fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return port_fail(e, p, -errno, "/dev/net/tun: %s: `modprobe tun`, and run as root",
			strerror(errno));
	close(fd);
	return 0;
}

const char *socket_path(const char *device)
{
	if (!strncmp(device, "server:", 7) || !strncmp(device, "client:", 7))
		return device + 7;
	return device;
}

// Without connecting, which a DPDK on the other side does not survive when we go away at once: a
// socket of the wrong type is refused with EPROTOTYPE when the path is alive, ECONNREFUSED when its
// process died. -errno
static int socket_try(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd, err;

	if (strlen(path) >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	strcpy(to.sun_path, path);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	err = connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ? -errno : 0;
	close(fd);
	return err;
}

bool socket_is_served(const char *path)
{
	return socket_try(path) == -EPROTOTYPE;
}

int preflight_socket(const struct port_settings *p, struct io_error *e)
{
	char path[PATH_MAX];
	const char *folder;
	struct stat st;

	snprintf(path, sizeof(path), "%s", socket_path(p->device));
	if (stat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return port_fail(e, p, -EBUSY, "%s exists and is not a socket", path);
	if (socket_try(path) == -ECONNREFUSED)
		unlink(path); // left by a process that died
	folder = dirname(path);
	if (access(folder, W_OK) == 0)
		return 0;
	return port_fail(e, p, -errno, "no socket can be made in %s: %s", folder, strerror(errno));
}

int preflight_backend(const struct port_settings *p, struct io_error *e)
{
	const char *hint = strcmp(p->device, "/dev/vhost-net")
	                           ? "start the vhost-user backend (switch) first"
	                           : "`modprobe vhost-net`, and run as root";

	if (access(p->device, R_OK | W_OK) == 0)
		return 0;
	return port_fail(e, p, errno == ENOENT ? -ENODEV : -errno, "%s: %s: %s", p->device,
		strerror(errno), hint);
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

int port_preflight(const struct port_settings *p, const struct host_settings *h, struct io_error *e)
{
	int err = check_plugin(p, e);

	if (!err)
		err = check_capabilities(p, e);
	if (!err)
		err = check_memory_lock(p, e);
	if (!err && driver_of(p)->preflight)
		err = driver_of(p)->preflight(p, e);
	return err ? err : check_hugepages(p, h, e);
}
