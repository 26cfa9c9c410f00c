// SPDX-License-Identifier: BSD-3-Clause
// What runs out before a run is over, and when: clients, and leases of the embedded responder. And
// relay addresses that are too few for the workers.
// Path: cold. Management thread.
#pragma once

#include "engine/plan/plan.h"

// Clients of an item whose input is read, and whether their number is automatic; 0: its protocol
// has none.
uint64_t plan_clients(const struct plan_item *i, bool *automatic);
// Clients in the file that the run cannot begin an exchange with, or has no memory for.
uint64_t plan_idle_clients(const struct plan_item *i);

// How an item gets more of what runs out first.
const char *plan_remedy(const struct plan_item *i);
// How more of them are bound, for an item whose clients may be.
const char *plan_bound_remedy(const struct plan_item *i);

// Seconds from the start of the run until an item first had no client for a transaction that was
// due; of a closed loop until no worker ever began one again. -1: never.
double plan_starved_s(const struct plan *p, const struct plan_item *i);

// A text for each thing that runs out or is too little, as warnings have it. The input is read. In
// a.
struct counter_list plan_shortages(const struct plan *p, struct arena *a);
