// SPDX-License-Identifier: BSD-3-Clause
// What the set-up of both responders has in common: ready options, parts of pools for several
// workers, and whether the pools have room for the clients of the same file. Path: cold (set-up) |
// hot (struct dhcp_ready). Management thread.
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "proto/proto.h"

#define DHCP_READY_ROOM 516 // the longest: 32 IPv6 addresses

// An option that is ready to be copied, code and length included.
struct dhcp_ready {
	uint16_t code;
	uint16_t len;
	uint8_t bytes[DHCP_READY_ROOM];
};

struct writer dhcp_ready_begin(struct dhcp_ready *r, uint16_t code);
void dhcp_ready_end(struct dhcp_ready *r, const struct writer *w);

// Whole seconds of a duration; UINT32_MAX: for ever.
uint32_t dhcp_seconds(uint64_t ns);
// ns as it is set; without (UINT64_MAX): so many of 40 parts of another time.
uint32_t dhcp_time_of(uint64_t ns, uint32_t whole_s, uint32_t fortieths);

// The leases of one worker, of all those of the pool: its neighbours' begin where its end.
struct dhcp_part {
	uint32_t begin, end;
};

struct dhcp_part dhcp_part_of(uint32_t leases, const struct proto_env *env);
// Of the count leases from first on, those in the part: they begin with *skipped. How many.
uint32_t dhcp_part_cut(
	const struct dhcp_part *p, uint32_t first, uint32_t count, uint32_t *skipped);
// Has each worker one, or is there none at all?
bool dhcp_part_check(uint32_t leases, const struct proto_env *env, const void *where,
	const char *key, struct diag *d);

// What clients of several items want of a kind of lease.
struct dhcp_demand {
	uint64_t (*wanted)(const void *settings, bool prefixes);
	// Have items the same clients? They are leased the same.
	bool (*same)(const void *a, const void *b);
};

// A pool in the settings `where`.
struct dhcp_supply {
	const void *where;
	uint64_t have, most; // leases, of which the setting `clients` is the limit
	const char *key, *what;
	bool prefixes;
};

void dhcp_supply_check(const struct dhcp_supply *s, const struct dhcp_demand *of,
	const void *const *settings, uint32_t count, struct diag *d);
// Are texts of settings (NULL: not given) the same?
bool dhcp_text_equal(const char *a, const char *b);
