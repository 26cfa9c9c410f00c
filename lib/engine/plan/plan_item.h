// SPDX-License-Identifier: BSD-3-Clause
// Look-ups in an item whose input is read. Path: cold. Management thread.
#pragma once

#include "engine/plan/plan_state.h"

// Returns the length of an item's longest message in bytes; 0: each fits into any packet.
static inline uint32_t plan_item_longest(const struct plan_item *i)
{
	return i->facts.longest;
}

// Returns the part of its input file that is used, as text; NULL: all.
static inline const char *plan_item_input(const struct plan_item *i)
{
	return i->facts.input;
}

// Returns the bytes that the tables and histograms of an item will take. Its input is read.
uint64_t plan_item_memory(const struct plan *p, const struct plan_item *i);
