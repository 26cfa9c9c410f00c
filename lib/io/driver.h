// SPDX-License-Identifier: BSD-3-Clause
// The driver table: one row per way to reach a wire {name, devargs, needs, limits, help}.
// ethdev is the abstraction; nothing here is on the packet path. Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/port.h"

#define NEED_CAP(n) (1ull << (n)) // n: CAP_* of linux/capability.h

enum driver_device { DEVICE_NONE, DEVICE_OPTIONAL, DEVICE_REQUIRED };

struct driver {
	const char *name; // as in ports[].driver
	const char *help;
	const char *device_help;   // what ports[].device means for it
	enum driver_device device; // must ports[].device be given?
	const char *pmd;           // plug-in that must be installed: "net_pcap"; NULL: none
	const char *package;       // Debian package that brings it
	uint64_t caps;             // capabilities without which it cannot start
	bool xdp;                  // attaches an XDP program and locks packet memory
	bool kernel_interface;     // device is a kernel network interface
	bool dma;                  // a card may reach its mbufs by physical address
	bool hugepages_only;
	bool copies; // a sent mbuf is free at once, its bytes copied; false: it may go to the peer
	             // as it is
	bool counts_missed;    // its imissed is real
	bool checksum_offload; // done by hardware, not by the driver in software
	bool own_mac;   // the port gives itself a MAC that is the same in every run (port_own_mac)
	bool one_queue; // of each device: a port with several queues has several devices
	bool pairs;     // the other end answers on the queue that it was asked on
	uint16_t max_queues;
	uint16_t burst;       // default burst: small for drivers that make a system call per packet
	uint16_t descriptors; // default per queue and direction
	bool cost_known;
	double cost_ns; // worker time that it adds to a message and its answer, beside what they
	                // cost over rings; measured on a veth pair where it has one
	                // (docs/performance.md)
	// Write the devargs of the port into buf ("net_pcap0,iface=veth0"); 0, or -errno with *why
	// (static text). index: of the port among all ports, plus PORT_MAX times the queue with
	// one_queue. NULL: the ports are made without devargs (ring).
	int (*devargs)(const struct port_settings *p, unsigned index, char *buf, size_t room,
		const char **why);
	// Is what the device text names there and free? Before EAL. NULL: nothing to look at.
	int (*preflight)(const struct port_settings *p, struct io_error *e);
};

extern const struct driver drivers[];
extern const unsigned driver_count;
extern const char *const driver_names[]; // of drivers[], in its order, NULL-terminated

const struct driver *driver_of(const struct port_settings *p);
bool port_on_kernel_interface(const struct port_settings *p); // and not on files
bool port_is_pci(const struct port_settings *p);              // a card that DPDK drives

// Path of the installed plug-in of a driver, "librte_net_pcap.so.23": 0, or -ENOENT. pmd as in the
// table.
int driver_plugin(const char *pmd, char *path, size_t room);

// 02:64:64:h:h:index, the locally administered MAC of a port that has no device MAC: the same in
// every run of a file, different between its ports and most likely between files (h: of names and
// role, which may be NULL).
void port_own_mac(const struct port_settings *p, unsigned index, const char *role, uint8_t mac[6]);
