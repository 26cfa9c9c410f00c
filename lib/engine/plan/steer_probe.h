// SPDX-License-Identifier: BSD-3-Clause
// Before a run on a port with several workers: do replies reach the queue of the worker that sent
// the query? Each worker sends a few queries of its items, from its own source ports and addresses;
// the replies are counted by queue. Their keys are used last in the run, so a late reply is
// recognised (worker_item.asked). Items whose every query changes the server send none. Items over
// TCP send a SYN, and reset connections that the server accepts; the run resets late ones.
// Path: cold. Management thread, while no worker runs on these ports.
#pragma once

#include <signal.h>

#include "engine/plan/plan_state.h"
#include "engine/result/result.h"

#define STEER_PROBE_MS 200 // wait for replies

// Is the probe wanted? Only on ports with several workers, by setting and driver.
bool steer_probe_is_wanted(const struct plan *p, uint32_t port);

// Sends and counts, with next hops known. NULL: no item has a query to send.
struct result_steer_probe *steer_probe_run(
	struct plan *p, uint32_t port, const volatile sig_atomic_t *signals, struct arena *a);

// Did any reply come? probe may be NULL.
bool steer_probe_tells(const struct result_steer_probe *probe);

// Returns the share of replies on the queue of the sender; only if steer_probe_tells.
double steer_probe_home(const struct result_steer_probe *probe);

// Describes the probe in a sentence; probe NULL: no query was sent.
void steer_probe_describe(const struct result_steer_probe *probe, char *text, size_t room);

// Returns the late replies that came during the run; call after it.
uint64_t steer_probe_late(const struct plan *p, uint32_t port);
