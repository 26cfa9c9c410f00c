// SPDX-License-Identifier: BSD-3-Clause
// ARP (RFC 826), neighbour discovery (RFC 4861) and ping: answer for the addresses that we own, ask
// for others. Pure functions on bytes: no table, no clock, no port.
// Path: hot (answer, claim, but rare) | cold (ask). Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "net/frame.h"

#define NEIGH_FRAME_MAX    128 // room that neigh_ask and neigh_solicit need
#define NEIGH_PREFIXES_MAX 4

// Flags of a router: hosts get addresses, or only other parameters, by DHCPv6.
#define NEIGH_MANAGED 0x80
#define NEIGH_OTHER   0x40

struct neigh_prefix {
	struct addr_prefix prefix;
	bool on_link, autonomous;
	uint32_t valid_s, preferred_s; // UINT32_MAX: for ever
};

// A router advertisement (RFC 4861 section 4.2).
struct neigh_advert {
	uint8_t flags; // NEIGH_MANAGED, NEIGH_OTHER, and others
	uint8_t hop_limit;
	uint16_t lifetime_s;
	uint8_t prefix_count; // the first ones
	struct neigh_prefix prefixes[NEIGH_PREFIXES_MAX];
};

// The local addresses of one port.
struct neigh_self {
	uint8_t mac[6];
	uint16_t vlans[FRAME_MAX_VLANS];
	uint8_t vlan_count;
	const struct addr_range *owned;
	uint32_t owned_count;
	// Further addresses, from a callback of the caller; mac is written unless it is
	// the one above. NULL: none.
	bool (*others)(void *of, const uint8_t *addr, uint8_t addr_len, uint8_t mac[6]);
	void *others_of;
	const struct neigh_advert *router; // its advertisements; NULL: not a router
};

bool neigh_owns(const struct neigh_self *self, const uint8_t *addr, uint8_t addr_len);

// Is the address local, or in the list of others? Then writes its MAC.
bool neigh_mac_of(
	const struct neigh_self *self, const uint8_t *addr, uint8_t addr_len, uint8_t mac[6]);

// The whole frame to send back for an ARP request, a neighbour solicitation or an echo request of
// kind for an address we own, on our VLANs, or for a router solicitation if we are a router; 0 when
// there is nothing to answer or no room. out must
// not overlap the frame. ND: hop limit 255, checksum, options and target are verified first. Echo:
// payload returned in full. Never answered: another host's announcement of our address, a group,
// and a sender that claims our address. The Ethernet destination is not judged, nor a source MAC
// equal to ours: ports of a ring pair share theirs.
uint32_t neigh_answer(const struct neigh_self *self, enum frame_kind kind, const struct frame *f,
	uint8_t *out, uint32_t room);

// An ARP request or neighbour solicitation for target, asked in the name of `from` (same family, 4
// or 16). `from` all zero: a probe, as its sender has no address yet (RFC 5227, RFC 4862). Returns
// its length; 0: no room.
uint32_t neigh_ask(const struct neigh_self *self, const struct addr *from,
	const struct addr *target, uint8_t *out, uint32_t room);

// A router solicitation from `from` (16 bytes) with our MAC. Like neigh_ask.
uint32_t neigh_solicit(
	const struct neigh_self *self, const uint8_t *from, uint8_t *out, uint32_t room);

// A valid router advertisement (RFC 4861 section 6.1.2). Returns false for any other frame. Does
// not look at the VLANs.
bool neigh_advert(enum frame_kind kind, const struct frame *f, struct neigh_advert *out);

// The group that a neighbour solicitation for the target goes to (RFC 4291 section 2.7.1).
struct addr neigh_group(const struct addr *target);

// The addresses of the sender of an ARP or ND frame, as it announces them.
struct neigh_claim {
	struct addr addr;
	uint8_t mac[6];
	bool probe;     // it asks whether the address is free, and does not have it yet
	bool overrides; // its MAC takes the place of a known one (RFC 4861 section 7.2.5)
};

// An ARP message (RFC 826: of either kind), a valid neighbour advertisement, or a valid
// solicitation with the sender's MAC in its option or as a probe. false: any other frame; *out is
// undefined. Does not look at the VLANs: the caller compares them.
bool neigh_claim(enum frame_kind kind, const struct frame *f, struct neigh_claim *out);
