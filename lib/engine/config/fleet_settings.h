// SPDX-License-Identifier: BSD-3-Clause
// A run divided among boxes with the same file. The workers of all boxes are one list, and each box
// has a part of it: its load, source ports, clients, keys and names are the same as on one box with
// all of these workers. So nothing is sent twice, and the parts together send that box's messages.
// Independent of the network between the boxes. Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/field.h"

#define FLEET_WORKERS_MAX 256 // of a port, over all boxes

struct config;
struct port_settings;

struct fleet_settings {
	uint64_t agents;
	uint64_t part;             // of this box, from 1; 0: it runs the whole
	struct field_list weights; // uint64_t, of each part; empty: 1 each
};

extern const struct field_section fleet_section;

// The workers of this box in a list: first to first + count - 1 of `of`.
struct fleet_share {
	uint32_t first, count, of;
};

static inline bool fleet_is_part(const struct fleet_share *s)
{
	return s->of != s->count;
}

// Returns the weight of this box's part; 0: it runs the whole, or there is no such part.
uint64_t fleet_weight(const struct config *c);

// Does this box run the commands that concern the server and not the box? Only one box does: part
// 1, or the box that runs the whole.
bool fleet_asks_server(const struct config *c);

// Returns this box's part of the workers that a port has in all boxes.
struct fleet_share fleet_share(const struct config *c, const struct port_settings *p);

// Returns the box's part of a list of addresses (struct addr_range): a contiguous piece in
// proportion to its workers. The items live in a.
struct field_list fleet_addresses(
	const struct field_list *all, const struct fleet_share *s, struct arena *a);
