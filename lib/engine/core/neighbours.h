// SPDX-License-Identifier: BSD-3-Clause
// The next hops of a port and their MACs, shared by all workers of the port, and our own MACs. A
// worker that hears of another MAC stores it here; each worker sees that in its next pass and aims
// its templates at it (worker_hops.c). No lock: a MAC is one atomic word, and one counter says that
// any has changed. Path: hot (learn, but rare). Any worker of the port, and the management thread.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "net/frame.h"
#include "net/neigh.h"

#define HOP_NONE UINT32_MAX // of a path to a group, whose MAC is not asked for

struct next_hop {
	// ctlplane: wo before the launch, dataplane: ro
	struct addr addr;
	struct addr from; // it is asked in this name; len 0: in none
	struct frame_vlans vlans;
	uint64_t shown; // ctlplane alone: the MAC that the user was told
	// dataplane: rw
	_Atomic uint64_t mac;       // hop_mac_word; 0: unknown
	_Atomic uint64_t ask_again; // tick from which on it may be asked again
};

struct neighbours {
	struct next_hop *hops;
	uint32_t count;
	uint32_t mac_count;
	const uint8_t (*macs)[6]; // of all ports of this process
	_Atomic uint32_t moved;   // grows with each MAC that takes the place of another
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

// A host said at tick `now` that it has an address, in a frame on these VLANs. If it is a next hop,
// its MAC is stored. true: it had another one. A claim that does not override a known MAC is only
// believed while the next hop is asked for.
bool neighbours_learn(
	struct neighbours *n, const struct frame *f, const struct neigh_claim *claim, uint64_t now);
