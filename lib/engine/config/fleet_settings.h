// SPDX-License-Identifier: BSD-3-Clause
// A run that several boxes divide, each with the same file. The workers of all boxes are one list,
// of which each box has a part: its load, source ports, clients, keys and names are those that one
// box with all of these workers would give them. So nothing is sent twice, and all parts together
// send the messages of that box. Knows no network between the boxes. Path: cold. Management thread.
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

// The weight of this box's part; 0: it runs the whole, or there is no such part.
uint64_t fleet_weight(const struct config *c);

// Does this box run the commands that are about the server, and not about the box? Once is enough:
// part 1 does, and a box that runs the whole.
bool fleet_asks_server(const struct config *c);

// Of the workers of a port in all boxes, those of this box.
struct fleet_share fleet_share(const struct config *c, const struct port_settings *p);

// The box's part of a list of addresses (struct addr_range): one piece of it, in proportion to its
// workers. The items are a's.
struct field_list fleet_addresses(
	const struct field_list *all, const struct fleet_share *s, struct arena *a);
