// SPDX-License-Identifier: BSD-3-Clause
// Stocks that run out before a run is over, and when: clients, and leases of the embedded
// responder. And relay addresses that are too few for the workers.
// Path: cold. Management thread.
#pragma once

#include "engine/plan/plan_state.h"

// Returns the clients of an item whose input is read: their number, and how to get more of them, or
// more of them bound. count 0: its protocol has none.
struct proto_stock plan_clients(const struct plan_item *i);

// Returns the seconds from the start of the run until an item first lacked a client for a due
// transaction; for a closed loop, until the last worker began its last one. -1: never.
double plan_starved_s(const struct plan *p, const struct plan_item *i);

// Returns a warning for each stock that runs out or is too small. The input is read. Lives in a.
struct counter_list plan_shortages(const struct plan *p, struct arena *a);
