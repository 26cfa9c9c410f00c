// SPDX-License-Identifier: BSD-3-Clause
// Before a run on a port of several workers: does the device bring answers to the workers that ask?
// Every worker asks a few questions of its items, with source ports and addresses of its own, and
// it is counted whose queue the answers come to. The questions have keys that the run has no use
// for, so whatever is answered too late is known (worker_item.asked) and no stray of the run. Items
// whose protocol has no question that leaves the server as it was are not asked. Path: cold.
// Management thread, while no worker runs on these ports.
#pragma once

#include <signal.h>

#include "engine/plan/plan.h"
#include "engine/result/result.h"

#define STEER_PROBE_MS 200 // answers are waited for so long

// Of a port with several workers, by its setting and driver.
bool steer_probe_is_wanted(const struct plan *p, uint32_t port);

// Ask and count, with next hops known. NULL: there is nothing to ask.
struct result_steer_probe *steer_probe_run(
	struct plan *p, uint32_t port, const volatile sig_atomic_t *signals, struct arena *a);

// Was anything answered, so that it is known where answers come to? probe may be NULL.
bool steer_probe_tells(const struct result_steer_probe *probe);

// The share of the answers that came to the worker that had asked; steer_probe_tells.
double steer_probe_home(const struct result_steer_probe *probe);

// As a sentence; probe NULL: there was nothing to ask.
void steer_probe_describe(const struct result_steer_probe *probe, char *text, size_t room);

// Answers that the workers have seen during the run. After it.
uint64_t steer_probe_late(const struct plan *p, uint32_t port);
