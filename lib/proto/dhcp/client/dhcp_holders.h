// SPDX-License-Identifier: BSD-3-Clause
// Who holds which address: one table for all items of a protocol and all workers, which may call
// every verb at the same time, so that no address has two holders unnoticed. Without locks: nobody
// waits for a thread that does not run. Memory is allocated at the start; knows no client, only
// numbers. Path: hot | cold (init, free, memory). Any thread.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DHCP_NOBODY       UINT32_MAX
#define DHCP_HOLDERS_LINE 8 // cells in a cache line

// A cell is one word, from the upper bits down: when the lease ends (0: somebody is about to take
// the cell), the owner + 1, how many lines the address lies from its home, and those bits of the
// address that its home does not tell. 0: an empty cell.
struct dhcp_holders {
	// ctlplane: wo, dataplane: ro
	_Atomic uint64_t *cells;
	_Atomic uint8_t
		*reach; // how far its addresses lie from each home line at most; dataplane: rw
	uint32_t line_mask;
	uint32_t furthest; // lines that an address may lie from home
	uint8_t home_shift, away_shift, owner_shift, until_shift;
	bool several; // threads use it
	// Does the owner hold what key points at? Asked where numbers are equal. NULL: they are the
	// addresses themselves. What owners hold is laid down before hold and stays until after
	// drop.
	bool (*same)(const void *of, uint32_t owner, const void *key);
	const void *of;
	// dataplane: rw
	_Atomic uint64_t unwatched; // addresses that found no place, so that nobody watches them
};

// A number of 32 bits: an address, or the hash of what key points at.
struct dhcp_held {
	uint32_t number;
	const void *key; // for same
};

// For so many owners, each of which holds one address; several: more than one thread will use it. 0
// or -ENOMEM.
int dhcp_holders_init(struct dhcp_holders *h, uint64_t owners, bool several);
void dhcp_holders_free(struct dhcp_holders *h);
// Bytes that init allocates.
uint64_t dhcp_holders_memory(uint64_t owners);

// The owner holds it until until_s (UINT32_MAX: for ever). DHCP_NOBODY, or who
// else has a running lease on it: then nothing changes. An owner number is one thread's.
uint32_t dhcp_holders_hold(struct dhcp_holders *h, struct dhcp_held what, uint32_t owner,
	uint32_t until_s, uint32_t now_s);
// The owner does not hold it any more. Nothing happens when it is not the owner's.
void dhcp_holders_drop(struct dhcp_holders *h, struct dhcp_held what, uint32_t owner);
// Who has a running lease on it, or DHCP_NOBODY.
uint32_t dhcp_holders_find(const struct dhcp_holders *h, struct dhcp_held what, uint32_t now_s);
// hold will be asked about this number soon.
void dhcp_holders_expect(const struct dhcp_holders *h, uint32_t number);
