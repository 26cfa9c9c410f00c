// SPDX-License-Identifier: BSD-3-Clause
// The holder of each address: one lock-free table for all items of a protocol and all workers,
// which may call every function concurrently. It detects every address with two holders. Memory is
// allocated at the start. Owners are only numbers to it. Path: hot | cold (init, free, memory). Any
// thread.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DHCP_NOBODY       UINT32_MAX
#define DHCP_UNWATCHED    (UINT32_MAX - 1) // also no owner
#define DHCP_HOLDERS_LINE 8                // cells in a cache line

// A cell is one word; from the upper bits down: end of the lease (0: being taken by a thread; more
// than six days after the start of the run up to 64 s early), owner + 1, distance in lines from the
// address's home, and the address bits that its home does not determine. 0: an empty cell.
struct dhcp_holders {
	// ctlplane: wo, dataplane: ro
	_Atomic uint64_t *cells;
	_Atomic uint8_t *reach; // maximum distance of addresses by home line; dataplane: rw
	uint32_t line_mask;
	uint32_t furthest; // maximum distance in lines from home
	uint8_t home_shift, away_shift, owner_shift, until_shift;
	uint64_t tags;    // bits of a cell below the owner
	uint64_t forever; // the latest end of a lease in a cell
	bool several;     // several threads use the table
	// Is key the address of this owner? Called if the numbers are equal. NULL: the numbers are
	// the addresses. An owner's address must not change between hold and drop.
	bool (*same)(const void *of, uint32_t owner, const void *key);
	const void *of;
};

// A 32-bit number: an address, or the hash of *key.
struct dhcp_held {
	uint32_t number;
	const void *key; // for same
};

// For this number of owners with one address each; several: more than one thread will use it. 0 or
// -ENOMEM.
int dhcp_holders_init(struct dhcp_holders *h, uint64_t owners, bool several);
void dhcp_holders_free(struct dhcp_holders *h);
// Bytes that init allocates.
uint64_t dhcp_holders_memory(uint64_t owners);

// Register the owner as holder of the address until until_s (UINT32_MAX: forever). Returns
// DHCP_NOBODY, or another owner with a running lease on it, without any change, or DHCP_UNWATCHED
// if the table is full, so a second holder is not detected. An owner number belongs to one thread.
uint32_t dhcp_holders_hold(struct dhcp_holders *h, struct dhcp_held what, uint32_t owner,
	uint32_t until_s, uint32_t now_s);
// The owner gives up the address. No effect if another owner holds it.
void dhcp_holders_drop(struct dhcp_holders *h, struct dhcp_held what, uint32_t owner);
// The owner of a running lease on the address, or DHCP_NOBODY.
uint32_t dhcp_holders_find(const struct dhcp_holders *h, struct dhcp_held what, uint32_t now_s);
// Prefetch for an upcoming hold of this number.
void dhcp_holders_expect(const struct dhcp_holders *h, uint32_t number);
