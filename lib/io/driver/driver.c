// SPDX-License-Identifier: BSD-3-Clause
// The rows of the driver table and the devargs each driver wants from DPDK 22.11. Not here:
// starting them. Path: cold. Management thread.
#include "io/driver/driver.h"
#include "io/port_state.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_build_config.h>

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

// Debian packages carry DPDK's ABI number, which changes with every long-term release.
#define DPDK_ABI (RTE_VER_YEAR + (RTE_VER_MONTH == 11))
#if DPDK_ABI == 23
#define ABI 23
#elif DPDK_ABI == 24
#define ABI 24
#elif DPDK_ABI == 25
#define ABI 25
#else
#define ABI 26
#endif
#define PACKAGE(name) "librte-" name TEXT(ABI)

// The kernel puts fragments together: DNS with the usual size of EDNS, 4096, and a packet ring's
// head. Sixteen of them are whole pages.
#define DATAGRAM       4352
#define FRAME_OVERHEAD 96  // Ethernet, VLAN tags, the kernel's head of a packet ring's frame
#define XDP_OVERHEAD   278 // Ethernet, VLAN tags, XDP_PACKET_HEADROOM in front of a frame

__attribute__((format(printf, 4, 5))) static int append_args(
	char *buf, size_t room, const char **why, const char *fmt, ...)
{
	size_t used = strlen(buf);
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(buf + used, room - used, fmt, args);
	va_end(args);
	if (len >= 0 && (size_t)len < room - used)
		return 0;
	*why = "is too long";
	return -ENAMETOOLONG;
}

#define write_args(buf, ...) ((buf)[0] = '\0', append_args((buf), __VA_ARGS__))

// Devargs have no way to quote these.
static int check_text(const char *text, const char **why)
{
	if (!text[strcspn(text, ",\"[]")])
		return 0;
	*why = "must not contain any of , \" [ ]";
	return -EINVAL;
}

// Devargs that begin with a name and one key with the device as its value.
static int write_device(const struct port_settings *p, unsigned index, char *buf, size_t room,
	const char **why, const char *head)
{
	int err = check_text(p->device, why);

	return err ? err : write_args(buf, room, why, "%s%u,iface=%s", head, index, p->device);
}

static int append_mac(const struct port_settings *p, unsigned index, const char *role, char *buf,
	size_t room, const char **why)
{
	uint8_t mac[6];

	port_own_mac(p, index, role, mac);
	return append_args(buf, room, why, ",mac=%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
		mac[2], mac[3], mac[4], mac[5]);
}

static int devargs_pci(
	const struct port_settings *p, unsigned index, char *buf, size_t room, const char **why)
{
	unsigned domain = 0, bus, slot, function;
	int end = 0;

	if (sscanf(p->device, "%4x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &end) != 4 ||
		p->device[end]) {
		domain = 0;
		end = 0;
		if (sscanf(p->device, "%2x:%2x.%1x%n", &bus, &slot, &function, &end) != 3 ||
			p->device[end]) {
			*why = "is not a PCI address (like 0000:01:00.0)";
			return -EINVAL;
		}
	}
	return write_args(buf, room, why, "%04x:%02x:%02x.%x", domain, bus, slot, function);
}

// Without busy polling: measured on veth, it costs half of the rate. One device per queue, as the
// driver refuses several queues on interfaces without combined channels (veth).
static int devargs_af_xdp(
	const struct port_settings *p, unsigned index, char *buf, size_t room, const char **why)
{
	int err = write_device(p, index, buf, room, why, "net_af_xdp");

	if (err)
		return err;
	return append_args(
		buf, room, why, ",start_queue=%u,queue_count=1,busy_budget=0", index / PORT_MAX);
}

// Frames of the packet ring as long as mbufs; blocks of the ring in whole pages.
static unsigned packet_frame(const struct port_settings *p)
{
	return port_data_room(p) - PORT_HEADROOM;
}

static unsigned packet_frames(const struct port_settings *p)
{
	return packet_frame(p) > DATAGRAM ? 1024 : 4096;
}

void driver_packet_ring(const struct port_settings *p, uint32_t *frame, uint32_t *frames)
{
	*frame = packet_frame(p);
	*frames = packet_frames(p);
}

static int devargs_af_packet(
	const struct port_settings *p, unsigned index, char *buf, size_t room, const char **why)
{
	unsigned frame = packet_frame(p), block = frame == DATAGRAM ? 16 * frame : frame;
	int err = write_device(p, index, buf, room, why, "net_af_packet");

	if (err)
		return err;
	return append_args(buf, room, why,
		",qpairs=%u,framesz=%u,blocksz=%u,framecnt=%u,qdisc_bypass=1", port_queue_count(p),
		frame, block, packet_frames(p));
}

// A ring of each queue and direction.
static uint64_t locked_by_af_packet(const struct port_settings *p)
{
	return 2ull * port_queue_count(p) * packet_frames(p) * packet_frame(p);
}

// `iface`, never `rx_iface`: the latter also returns the port's own packets.
static int devargs_pcap(
	const struct port_settings *p, unsigned index, char *buf, size_t room, const char **why)
{
	const char *files[] = {p->rx_file, p->tx_file};
	static const char *const keys[] = {"rx_pcap", "tx_pcap"};
	int err;

	if (p->device) {
		err = write_device(p, index, buf, room, why, "net_pcap");
		return err ? err : append_args(buf, room, why, ",phy_mac=1");
	}
	err = write_args(buf, room, why, "net_pcap%u", index);
	for (unsigned i = 0; !err && i < 2; i++) {
		if (!files[i])
			continue;
		err = check_text(files[i], why);
		if (!err)
			err = append_args(buf, room, why, ",%s=%s", keys[i], files[i]);
	}
	return err;
}

static int devargs_tap(
	const struct port_settings *p, unsigned index, char *buf, size_t room, const char **why)
{
	int err;

	if (p->device)
		err = write_device(p, index, buf, room, why, "net_tap");
	else
		err = write_args(buf, room, why, "net_tap%u,iface=ddiperf%u", index, index);
	return err ? err : append_mac(p, index, NULL, buf, room, why);
}

const char *socket_path(const char *device)
{
	if (!strncmp(device, "server:", 7) || !strncmp(device, "client:", 7))
		return device + 7;
	return device;
}

// Without a connection, which a DPDK process on the other side does not survive when we end at
// once. A socket of the wrong type is refused with EPROTOTYPE when a process listens, and with
// ECONNREFUSED when that process died.
int socket_try(const char *path)
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

// Without a side in the text: client of a socket on which a process listens, otherwise server.
static const char *memif_role(const char *device)
{
	if (!strncmp(device, "server:", 7))
		return "server";
	if (!strncmp(device, "client:", 7))
		return "client";
	return socket_is_served(device) ? "client" : "server";
}

static int devargs_memif(
	const struct port_settings *p, unsigned index, char *buf, size_t room, const char **why)
{
	const char *path = socket_path(p->device), *role = memif_role(p->device);
	int err = check_text(path, why);

	if (!err)
		err = write_args(buf, room, why,
			"net_memif%u,role=%s,id=0,socket=%s,socket-abstract=no,rsize=11", index,
			role, path);
	return err ? err : append_mac(p, index, role, buf, room, why);
}

static int devargs_virtio_user(
	const struct port_settings *p, unsigned index, char *buf, size_t room, const char **why)
{
	int err = check_text(p->device, why);

	if (!err)
		err = write_args(buf, room, why,
			"net_virtio_user%u,path=%s,queues=%u,queue_size=1024", index, p->device,
			port_queue_count(p));
	return err ? err : append_mac(p, index, NULL, buf, room, why);
}

static int devargs_null(
	const struct port_settings *p, unsigned index, char *buf, size_t room, const char **why)
{
	return write_args(buf, room, why, "net_null%u,no-rx=1", index);
}

static int devargs_vdev(
	const struct port_settings *p, unsigned index, char *buf, size_t room, const char **why)
{
	if (!strncmp(p->device, "net_", 4) || !strncmp(p->device, "eth_", 4))
		return write_args(buf, room, why, "%s", p->device);
	*why = "is not a DPDK device (like net_vhost0,iface=/tmp/sock)";
	return -EINVAL;
}

#define CAPS_PACKET (NEED_CAP(CAP_NET_RAW) | NEED_CAP(CAP_NET_ADMIN))

const struct driver drivers[] = {
	{
		.name = "pci",
		.help = "network card driven by DPDK itself: the fastest driver",
		.device_help = "PCI address, 0000:01:00.0",
		.device = DEVICE_PCI,
		.closing = UINT64_MAX, // each card has a driver of its own
		.package = "librte-meta-net",
		.dma = true,
		.counts_missed = true,
		.checksum_offload = true,
		.max_queues = PORT_MAX_QUEUES,
		.burst = 32,
		.descriptors = 1024,
		.devargs = devargs_pci,
	},
	{
		.name = "af_xdp",
		.help = "kernel interface through XDP sockets; the card stays with the kernel",
		.device_help = "kernel interface",
		.device = DEVICE_INTERFACE,
		.pmd = "net_af_xdp",
		.package = PACKAGE("net-af-xdp"),
		// libxdp finds programs by their ids, for which CAP_BPF is too little.
		.caps = CAPS_PACKET | NEED_CAP(CAP_SYS_ADMIN),
		.closing = NEED_CAP(CAP_NET_ADMIN) | NEED_CAP(CAP_SYS_ADMIN),
		.xdp = true,
		.dma = true,
		.one_pool = true,
		.counts_missed = true,
		.one_queue = true,
		.max_queues = PORT_MAX_QUEUES,
		.burst = 32,
		.descriptors = 2048,
		.cost_known = true,
		.cost_ns = 850,
		.devargs = devargs_af_xdp,
	},
	{
		.name = "af_packet",
		.help = "kernel interface through packet sockets; works with every interface",
		.device_help = "kernel interface",
		.device = DEVICE_INTERFACE,
		.pmd = "net_af_packet",
		.package = PACKAGE("net-af-packet"),
		.caps = CAPS_PACKET,
		.closing = NEED_CAP(CAP_NET_ADMIN), // flags of the interface
		.locks = locked_by_af_packet,
		.joins_fragments = true,
		.stamps = STAMPS_RING,
		.max_queues = PORT_MAX_QUEUES,
		.burst = 32,
		.descriptors = 1024,
		.cost_known = true,
		.cost_ns = 1550,
		.devargs = devargs_af_packet,
	},
	{
		.name = "pcap",
		.help = "kernel interface through libpcap, or packet files (rx_file, tx_file)",
		.device_help = "kernel interface",
		.device = DEVICE_INTERFACE,
		.device_optional = true,
		.files = true,
		.pmd = "net_pcap",
		.package = PACKAGE("net-pcap"),
		.caps = NEED_CAP(CAP_NET_RAW),
		.counts_missed = true,
		.stamps = STAMPS_US,
		.max_queues = 1,
		.burst = 16,
		.descriptors = 1024,
		.cost_known = true,
		.cost_ns = 1500,
		.devargs = devargs_pcap,
	},
	{
		.name = "tap",
		.help = "new kernel interface; the port is its other end",
		.device_help = "name of the interface to make",
		.device = DEVICE_TAP,
		.device_optional = true,
		.pmd = "net_tap",
		.package = PACKAGE("net-tap"),
		.caps = NEED_CAP(CAP_NET_ADMIN),
		.closing = NEED_CAP(CAP_NET_ADMIN),
		.max_queues = PORT_MAX_QUEUES,
		.burst = 16,
		.descriptors = 256,
		.cost_known = true,
		.cost_ns = 8300,
		.devargs = devargs_tap,
	},
	{
		.name = "memif",
		.help = "shared memory with another process (VPP, DPDK)",
		.device_help = "socket path; \"server:\" or \"client:\" before it fixes the side",
		.device = DEVICE_SOCKET,
		.pmd = "net_memif",
		.package = PACKAGE("net-memif"),
		.counts_missed = true,
		.max_queues = PORT_MAX_QUEUES,
		.burst = 32,
		.descriptors = 2048,
		.cost_known = true,
		.cost_ns = 50,
		.devargs = devargs_memif,
	},
	{
		.name = "virtio_user",
		.help = "vhost-user switch, or /dev/vhost-net of the kernel",
		.device_help = "socket path of the vhost backend, or /dev/vhost-net",
		.device = DEVICE_BACKEND,
		.closing = NEED_CAP(CAP_NET_ADMIN), // interface of /dev/vhost-net
		.pmd = "net_virtio",
		.package = PACKAGE("net-virtio"),
		.max_queues = 8,
		.burst = 32,
		.descriptors = 1024,
		.devargs = devargs_virtio_user,
	},
	{
		.name = "ring",
		.help = "another ring port of the same file, in memory: self-tests without a "
			"network",
		.device_help = "name of the peer port",
		.device = DEVICE_PEER,
		.device_optional = true,
		.pmd = "net_ring",
		.package = PACKAGE("net-ring"),
		.counts_missed = true,
		.own_mac = true,
		.pairs = true,
		.max_queues = PORT_MAX_QUEUES,
		.burst = 64,
		.descriptors = 1024,
		.cost_known = true,
	},
	{
		.name = "null",
		.help = "no wire: drops sent packets, receives none",
		.device_help = "not used",
		.device = DEVICE_NONE,
		.pmd = "net_null",
		.package = PACKAGE("net-null"),
		.counts_missed = true,
		.own_mac = true,
		.pairs = true,
		.max_queues = PORT_MAX_QUEUES,
		.burst = 32,
		.descriptors = 1024,
		.devargs = devargs_null,
	},
	{
		.name = "socket",
		.help = "sockets of the kernel, UDP and TCP, with addresses of this host: no root, "
			"any interface",
		.device_help = "kernel interface that its sockets are bound to",
		.device = DEVICE_HOST,
		.device_optional = true,
		.pmd = "net_null", // the sockets replace its bursts
		.package = PACKAGE("net-null"),
		.counts_missed = true,
		.own_mac = true,
		.pairs = true,
		.sockets = true,
		.stamps = STAMPS_NS,
		.joins_fragments = true,
		.caveat =
			"send times are those of system calls, not of the wire; TCP is the "
			"kernel's, with its acknowledgements, windows, timestamps and ports in "
			"TIME_WAIT; no clients that broadcast or have MACs of their own, no VLANs; "
			"replies from addresses other than the server's stay in the kernel",
		.max_queues = PORT_MAX_QUEUES,
		.burst = 32,
		.descriptors = 1024,
		.cost_known = true,
		.cost_ns = 1750,
		.devargs = devargs_null,
	},
	{
		.name = "vdev",
		.help = "any DPDK device, given by its devargs",
		.device_help = "DPDK devargs, net_vhost0,iface=/tmp/sock",
		.device = DEVICE_DEVARGS,
		.closing = UINT64_MAX, // not known
		.package = "librte-meta-net",
		.dma = true,
		.max_queues = PORT_MAX_QUEUES,
		.burst = 32,
		.descriptors = 1024,
		.devargs = devargs_vdev,
	},
	{.name = NULL},
};

const unsigned driver_count = sizeof(drivers) / sizeof(drivers[0]) - 1;

uint64_t driver_least_caps(const struct driver *d)
{
	return d->caps | (d->xdp || d->locks ? NEED_CAP(CAP_IPC_LOCK) : 0);
}

const struct driver *driver_of(const struct port_settings *p)
{
	return &drivers[p->driver];
}

bool port_on_kernel_interface(const struct port_settings *p)
{
	return driver_of(p)->device == DEVICE_INTERFACE && p->device;
}

bool port_is_files(const struct port_settings *p)
{
	return driver_of(p)->files && !p->device;
}

bool port_is_pci(const struct port_settings *p)
{
	return driver_of(p)->device == DEVICE_PCI;
}

static const struct driver *row_of_devargs(const char *devargs)
{
	for (const struct driver *d = drivers; d->name; d++) {
		const char *kind = d->pmd ? d->pmd + strlen("net_") : ""; // eth_ is an alias

		if (d->device == DEVICE_INTERFACE && strlen(devargs) > strlen("net_") &&
			!strncmp(devargs + strlen("net_"), kind, strlen(kind)))
			return d;
	}
	return NULL;
}

static bool is_interface_key(const char *argument)
{
	static const char *const keys[] = {"iface=", "rx_iface=", "rx_iface_in=", "tx_iface="};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strncmp(argument, keys[i], strlen(keys[i])))
			return true;
	return false;
}

bool port_of_devargs(const struct port_settings *p, unsigned n, struct port_settings *as,
	char *name, size_t room)
{
	const struct driver *d = driver_of(p)->device == DEVICE_DEVARGS && p->device
	                                 ? row_of_devargs(p->device)
	                                 : NULL;
	const char *at = d ? strchr(p->device, ',') : NULL;

	for (; at; at = strchr(at + 1, ',')) {
		const char *value;

		if (!is_interface_key(at + 1) || n-- > 0)
			continue;
		value = strchr(at, '=') + 1;
		snprintf(name, room, "%.*s", (int)strcspn(value, ","), value);
		*as = *p;
		as->driver = (int32_t)(d - drivers);
		as->device = name;
		return true;
	}
	return false;
}

uint64_t port_cpus_given(const struct port_settings *p)
{
	const struct field_range *cpus = p->cpus.items;
	uint64_t n = 0;

	for (uint32_t i = 0; i < p->cpus.count; i++)
		n += (uint64_t)cpus[i].last - cpus[i].first + 1;
	return n;
}

unsigned port_cpu_count(const struct port_settings *p)
{
	uint64_t n = port_cpus_given(p);

	if (n == 0)
		return 1;
	return n < PORT_MAX_QUEUES ? (unsigned)n : PORT_MAX_QUEUES;
}

unsigned port_queue_count(const struct port_settings *p)
{
	unsigned cpus = port_cpu_count(p);

	return p->queues > cpus ? p->queues : cpus;
}

static uint32_t power_of_two(uint32_t least)
{
	uint32_t n = 2048;

	while (n < least)
		n *= 2;
	return n;
}

// Long frames take whole pages, as in packet rings. XDP wants the mbuf itself within one page. Some
// cards (e1000e) use a power of two of it, and would put the rest of a frame into another buffer.
uint16_t port_data_room(const struct port_settings *p)
{
	uint32_t packet = p->longest > p->mtu ? p->longest : (uint32_t)p->mtu;
	uint32_t frame = packet + (driver_of(p)->xdp ? XDP_OVERHEAD : FRAME_OVERHEAD);
	uint32_t unit = driver_of(p)->xdp || p->longest ? 64 : 4096;

	if (driver_of(p)->joins_fragments && frame < DATAGRAM)
		return PORT_HEADROOM + DATAGRAM;
	if (frame <= 2048 || port_is_pci(p))
		frame = power_of_two(frame);
	else
		frame = (frame + unit - 1) / unit * unit;
	return (uint16_t)(PORT_HEADROOM + frame);
}

int driver_plugin(const char *pmd, char *path, size_t room)
{
	int len = snprintf(path, room, RTE_EAL_PMD_PATH "/librte_%s.so." TEXT(ABI), pmd);

	if (len < 0 || (size_t)len >= room)
		return -ENAMETOOLONG;
	return access(path, R_OK) == 0 ? 0 : -ENOENT;
}

static uint32_t hash_text(uint32_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = (hash ^ (uint8_t)*text) * 16777619u; // FNV-1a
	return hash;
}

void port_own_mac(const struct port_settings *p, unsigned index, const char *role, uint8_t mac[6])
{
	uint32_t hash = hash_text(hash_text(hash_text(2166136261u, p->name), p->device), role);

	mac[0] = 0x02;
	mac[1] = 0x64;
	mac[2] = 0x64;
	mac[3] = (uint8_t)(hash >> 24);
	mac[4] = (uint8_t)(hash >> 16);
	mac[5] = (uint8_t)index;
}
