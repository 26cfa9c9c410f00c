// SPDX-License-Identifier: BSD-3-Clause
// What runs out before a run is over, and when: clients, and leases of the embedded responder. And
// relay addresses that are too few for the workers.
// Path: cold. Management thread.
#pragma once

#include "engine/plan/plan_state.h"

// The clients of an item whose input is read: how many it has, and how it gets more of them or has
// more of them bound. count 0: its protocol has none.
struct proto_stock plan_clients(const struct plan_item *i);

// Seconds from the start of the run until an item first had no client for a transaction that was
// due; of a closed loop until no worker ever began one again. -1: never.
double plan_starved_s(const struct plan *p, const struct plan_item *i);

// A text for each thing that runs out or is too little, as warnings have it. The input is read. In
// a.
struct counter_list plan_shortages(const struct plan *p, struct arena *a);
