// SPDX-License-Identifier: BSD-3-Clause
// Questions about an item whose input is read. Path: cold. Management thread.
#pragma once

#include "engine/plan/plan_state.h"

// The longest message of an item, in bytes; 0: each fits into any packet.
static inline uint32_t plan_item_longest(const struct plan_item *i)
{
	return i->facts.longest;
}

// What its input file has that is used, if that is not all; NULL: all.
static inline const char *plan_item_input(const struct plan_item *i)
{
	return i->facts.input;
}

// Bytes that the tables and histograms of an item are going to take. Its input is read.
uint64_t plan_item_memory(const struct plan *p, const struct plan_item *i);
