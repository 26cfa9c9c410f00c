// SPDX-License-Identifier: BSD-3-Clause
// Facts about the kernel's network interfaces, over netlink and ioctl (not sysfs, which may show
// another namespace), and the few changes made to them. Path: cold. Management thread.
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

#define NETIF_ADDRS_MAX 16

struct netif {
	char name[IFNAMSIZ];
	char kind[16];   // of software interfaces: "veth", "bridge", "vlan"; "" for a card
	char driver[32]; // kernel driver, "" when unknown
	char bus[32];    // address of its device on the bus, "0000:01:00.0"; "" when unknown
	uint32_t index;
	uint32_t flags; // IFF_*
	uint32_t mtu;
	uint32_t master; // index of the bridge or bond that it belongs to, 0: none
	uint32_t lower;  // index of the interface under this VLAN or macvlan, 0: none
	uint8_t mac[6];
	bool carrier;
	bool default_route;
	uint32_t xdp_program; // id, 0: none
	const char *xdp_mode; // of it, in the words of ip(8): "xdpdrv", "xdpgeneric", "xdpoffload"
	uint32_t rx_queues;   // 0: unknown
	uint64_t speed_bps;   // of a card, 0: unknown
	uint32_t addr_count;
	struct addr_prefix addrs[NETIF_ADDRS_MAX]; // further addresses are left out
};

// All interfaces of the network namespace. 0, and *list is the caller's to free; or -errno.
int netif_list(struct netif **list, unsigned *count);
const struct netif *netif_find(const struct netif *list, unsigned count, const char *name);
// The interfaces that use n, which is in the list: itself, and bridges, bonds, VLANs and switches
// (Open vSwitch) above it. Returns a bool for each interface of the list, to be freed.
bool *netif_users(const struct netif *list, unsigned count, const struct netif *n);
// Reads a single interface. 0, -ENODEV or another -errno.
int netif_read(const char *name, struct netif *out);

// The kernel's route to an address.
struct netif_route {
	char name[IFNAMSIZ];  // of the interface
	struct addr source;   // address of this host; len 0: it has none
	struct addr next_hop; // len 0: the address is on the link
};

// The route over the interface `link`, or over any if NULL. 0, or -errno: -ENETUNREACH without a
// route.
int netif_route(const struct addr *to, const char *link, struct netif_route *out);

struct steer;

// Reads the key and table by which the card spreads received packets over its queues into s. s is
// unchanged if the card has none.
void netif_read_rss(const char *name, struct steer *s);

// Is it up, with a carrier? Returns false if it does not exist, and true if the kernel does not
// report it.
bool netif_running(const char *name);

// Detaches this XDP program in any mode. 0, also if another program or none is attached, or -errno.
int netif_detach_xdp(const char *name, uint32_t program);
// Sets or clears IFF_PROMISC.
int netif_set_promiscuous(const char *name, bool on);
// Sets or clears IFF_UP.
int netif_set_up(const char *name, bool on);
// Renames an interface that is down. 0 or -errno.
int netif_rename(const char *name, const char *to);
// Sets the MTU and, if up, IFF_UP of a new interface. 0 or -errno.
int netif_restore(const char *name, uint32_t mtu, bool up);
// Receives all multicast while the returned descriptor is open; the kernel undoes it then. Or
// -errno.
int netif_open_multicast(const char *name);
