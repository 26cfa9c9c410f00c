// SPDX-License-Identifier: BSD-3-Clause
// The driver table: one row per way to reach a wire {name, devargs, needs, limits, help}.
// ethdev is the abstraction; nothing here is on the packet path. Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/port_state.h"
#include "io/host/privileges.h"

// The meaning of ports[].device.
enum driver_device {
	DEVICE_NONE,      // not used
	DEVICE_PCI,       // PCI address of a card that DPDK drives
	DEVICE_INTERFACE, // kernel network interface
	DEVICE_HOST,      // an interface that the host keeps using
	DEVICE_TAP,       // kernel network interface that the port makes
	DEVICE_SOCKET,    // socket path, the port may make it
	DEVICE_BACKEND,   // path that exists: socket of a backend or a character device
	DEVICE_PEER,      // name of another port
	DEVICE_DEVARGS,   // DPDK device arguments
};

// Where the kernel's stamps of received packets are.
enum driver_stamps {
	STAMPS_NONE,
	STAMPS_NS,   // in mbufs, by the driver
	STAMPS_US,   // in microseconds
	STAMPS_RING, // in the packet ring that it reads
};

struct driver {
	const char *name; // as in ports[].driver
	const char *help;
	const char *device_help; // meaning of ports[].device
	enum driver_device device;
	bool device_optional; // ports[].device may be absent
	bool files;           // rx_file and tx_file take the place of the device
	const char *pmd;      // plug-in that must be installed: "net_pcap"; NULL: none
	const char *package;  // Debian package that brings it
	uint64_t caps;        // capabilities without which it cannot start
	uint64_t closing;     // capabilities for closing it
	bool xdp;             // attaches an XDP program and locks packet memory
	// Memory of the kernel that it locks in addition, NULL: none.
	uint64_t (*locks)(const struct port_settings *p);
	bool dma;      // a card may reach its mbufs by physical address
	bool one_pool; // sends an mbuf of its receive pool as it is, and copies all others
	bool hugepages_only;
	bool counts_missed;    // its imissed is real
	bool checksum_offload; // done by hardware, not by the driver in software
	bool own_mac;          // the port gives itself a fixed MAC (port_own_mac)
	bool one_queue;        // of each device: a port with several queues has several devices
	bool pairs;            // the other end replies on the queue of the request
	bool sockets; // UDP of the kernel (io/sockets/sockets.h): addresses, routes and next hops
	              // are the host's, and other frames cannot be sent
	bool joins_fragments; // the kernel does, of IPv4 at least: packets longer than the mtu
	enum driver_stamps stamps;
	const char *caveat; // a restriction that results must state, or NULL
	uint16_t max_queues;
	uint16_t burst;       // default burst: small for drivers that make a system call per packet
	uint16_t descriptors; // default per queue and direction
	bool cost_known;
	double cost_ns; // worker time that it adds to a message and its reply, on top of their cost
	                // over rings; measured on a veth pair if it has one (docs/performance.md)
	// Write the devargs of the port into buf ("net_pcap0,iface=veth0"); 0, or -errno with *why
	// (static text). index: of the port among all ports, plus PORT_MAX times the queue with
	// one_queue. NULL: the ports are made without devargs (ring).
	int (*devargs)(const struct port_settings *p, unsigned index, char *buf, size_t room,
		const char **why);
};

extern const struct driver drivers[]; // the row behind the last one has no name
extern const unsigned driver_count;

// The capabilities with which it works on any machine, including locking packet memory above the
// limit.
uint64_t driver_least_caps(const struct driver *d);

const struct driver *driver_of(const struct port_settings *p);
bool port_on_kernel_interface(const struct port_settings *p); // and not on files
bool port_is_files(const struct port_settings *p); // rx_file and tx_file instead of the device
bool port_is_pci(const struct port_settings *p);   // a card that DPDK drives

// With driver vdev and devargs of another row ("net_af_packet0,iface=eth0"): the n-th kernel
// interface in them, as a port of that row would name it. The text is in name. Returns false if
// there is no n-th interface.
bool port_of_devargs(const struct port_settings *p, unsigned n, struct port_settings *as,
	char *name, size_t room);

// CPUs in ports[].cpus, also when they are nonsense.
// Workers of the port: its CPUs, at least 1.
unsigned port_cpu_count(const struct port_settings *p);
// Queue pairs: one for each worker, or more if the other end of a ring has more.
unsigned port_queue_count(const struct port_settings *p);
uint64_t port_cpus_given(const struct port_settings *p);
uint16_t port_data_room(const struct port_settings *p); // bytes of an mbuf, headroom included

// memif: the path behind "server:" or "client:". socket_try: -EPROTOTYPE when a process listens on
// the path, -ECONNREFUSED when that process died, or another -errno.
const char *socket_path(const char *device);
int socket_try(const char *path);
bool socket_is_served(const char *path);

// The packet ring of af_packet: bytes of a frame, and number of frames.
void driver_packet_ring(const struct port_settings *p, uint32_t *frame, uint32_t *frames);

// Path of the installed plug-in of a driver, "librte_net_pcap.so.23": 0, or -ENOENT. pmd as in the
// table.
int driver_plugin(const char *pmd, char *path, size_t room);

// 02:64:64:h:h:index, the locally administered MAC of a port that has no device MAC. It is constant
// over the runs of a file and differs between its ports. h is a hash of names and role, so it most
// likely differs between files. role may be NULL.
void port_own_mac(const struct port_settings *p, unsigned index, const char *role, uint8_t mac[6]);
