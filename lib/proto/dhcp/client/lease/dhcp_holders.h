// SPDX-License-Identifier: BSD-3-Clause
// The holder of each address: one lock-free table for all items of a protocol and all workers,
// which may call every function at the same time. It finds every address with two holders. Memory
// is allocated at the start. Knows owners by number only. Path: hot | cold (init, free, memory).
// Any thread.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DHCP_NOBODY       UINT32_MAX
#define DHCP_UNWATCHED    (UINT32_MAX - 1) // no owner either
#define DHCP_HOLDERS_LINE 8                // cells in a cache line

// A cell is one word, from the upper bits down: when the lease ends (0: a thread is about to take
// the cell; more than six days after the start of the run maybe 64 s early), the owner + 1, how
// many lines the address lies from its home, and those bits of the address that its home does not
// tell. 0: an empty cell.
struct dhcp_holders {
	// ctlplane: wo, dataplane: ro
	_Atomic uint64_t *cells;
	_Atomic uint8_t
		*reach; // how far its addresses lie from each home line at most; dataplane: rw
	uint32_t line_mask;
	uint32_t furthest; // lines that an address may lie from home
	uint8_t home_shift, away_shift, owner_shift, until_shift;
	bool several; // threads use it
	// Is key the address of this owner? Asked where numbers are equal. NULL: they are the
	// addresses themselves. An owner's address must not change from hold to drop.
	bool (*same)(const void *of, uint32_t owner, const void *key);
	const void *of;
};

// A number of 32 bits: an address, or the hash of what key points at.
struct dhcp_held {
	uint32_t number;
	const void *key; // for same
};

// For this number of owners, each with one address; several: more than one thread will use it. 0 or
// -ENOMEM.
int dhcp_holders_init(struct dhcp_holders *h, uint64_t owners, bool several);
void dhcp_holders_free(struct dhcp_holders *h);
// Bytes that init allocates.
uint64_t dhcp_holders_memory(uint64_t owners);

// The owner holds the address until until_s (UINT32_MAX: for ever). DHCP_NOBODY, or another owner
// with a running lease on it: then nothing changes. DHCP_UNWATCHED: the table has no room for it,
// so its next holder is not found out. Only one thread may use an owner's number.
uint32_t dhcp_holders_hold(struct dhcp_holders *h, struct dhcp_held what, uint32_t owner,
	uint32_t until_s, uint32_t now_s);
// The owner does not hold the address any more. No effect if another owner holds it.
void dhcp_holders_drop(struct dhcp_holders *h, struct dhcp_held what, uint32_t owner);
// The owner with a running lease on the address, or DHCP_NOBODY.
uint32_t dhcp_holders_find(const struct dhcp_holders *h, struct dhcp_held what, uint32_t now_s);
// hold is called for this number soon: prefetch.
void dhcp_holders_expect(const struct dhcp_holders *h, uint32_t number);
