// SPDX-License-Identifier: BSD-3-Clause
// The course of a run between its start and its end. Path: cold. Management thread.
#pragma once

#include <stdint.h>

struct run;

// With the tables built: finds the server, sends, judges; or answers until a signal comes. Returns
// like run_once.
int run_course(struct run *r);

// Gives an order of the user to the run in progress (orders.h), from a hook's tick; at_ns as there.
// Returns NULL, or the reason of a refusal.
const char *run_order(const char *order, uint64_t at_ns);

// Ends the workers of the run in progress, if there is one: for the last moments of a process whose
// management thread no longer works. Any thread.
void run_halt(void);
