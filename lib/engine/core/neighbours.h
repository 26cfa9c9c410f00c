// SPDX-License-Identifier: BSD-3-Clause
// The next hops of a port and their MACs, shared by all workers of the port, and our own MACs. A
// worker that learns of a changed MAC stores it here; each worker notices in its next pass and
// updates its templates (worker_hops.c). No lock: a MAC is one atomic word, and a counter marks any
// change. Path: hot (learn, but rare). Any worker of the port, and the management thread.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "net/frame.h"
#include "net/neigh.h"

#define HOP_NONE UINT32_MAX // of a path whose MAC is not requested: to a group, or on sockets

struct next_hop {
	// ctlplane: wo before the launch, dataplane: ro
	struct addr addr;
	struct addr from; // sender address of requests for its MAC; len 0: none
	struct frame_vlans vlans;
	uint64_t shown; // ctlplane only: the MAC last reported to the user
	// dataplane: rw
	_Atomic uint64_t mac;       // hop_mac_word; 0: unknown
	_Atomic uint64_t ask_again; // tick from which its MAC may be requested again
};

struct neighbours {
	struct next_hop *hops;
	uint32_t count;
	uint32_t mac_count;
	const uint8_t (*macs)[6]; // of all ports of this process
	_Atomic uint32_t moved;   // incremented when a MAC replaces another
};

static inline bool neighbours_mac_is_ours(const struct neighbours *n, const uint8_t mac[6])
{
	for (uint32_t i = 0; i < n->mac_count; i++)
		if (memcmp(n->macs[i], mac, 6) == 0)
			return true;
	return false;
}

static inline uint64_t hop_mac_word(const uint8_t mac[6])
{
	uint64_t word = 0;

	memcpy(&word, mac, 6);
	return word;
}

// Handles a host's claim of an address, received at tick `now` in frame f. If the address is a next
// hop's on the VLANs of f, stores its MAC. Returns true if that replaces another MAC. A claim
// without the override flag replaces a known MAC only while a request for the next hop is pending.
bool neighbours_learn(
	struct neighbours *n, const struct frame *f, const struct neigh_claim *claim, uint64_t now);
