// SPDX-License-Identifier: BSD-3-Clause
// The course of a run between its start and its end. Path: cold. Management thread.
#pragma once

#include <stdint.h>

struct run;

// With the tables built: find the server, send, judge; or answer until a signal comes. Returns as
// run_once.
int run_course(struct run *r);

// An order of the user to the run in progress (orders.h), from a hook's tick: at_ns as there. NULL:
// done; else the reason why not.
const char *run_order(const char *order, uint64_t at_ns);

// Let the workers of the run in progress end, if there is one: for the last moments of a process
// whose management thread does nothing any more. Any thread.
void run_halt(void);
