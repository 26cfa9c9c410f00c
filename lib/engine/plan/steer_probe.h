// SPDX-License-Identifier: BSD-3-Clause
// Before a run on a port of several workers: do replies reach the queue of the worker that sent the
// query? Each worker sends a few queries of its items, from its own source ports and addresses; the
// replies are counted by queue. Their keys are used last in the run, so a late reply is recognised
// (worker_item.asked). Items whose every query changes the server send none. Of an item over TCP
// the queries are SYN, and connections that the server accepts are reset; what comes late is reset
// by the run. Path: cold. Management thread, while no worker runs on these ports.
#pragma once

#include <signal.h>

#include "engine/plan/plan_state.h"
#include "engine/result/result.h"

#define STEER_PROBE_MS 200 // wait for replies

// Of a port with several workers, by its setting and driver.
bool steer_probe_is_wanted(const struct plan *p, uint32_t port);

// Send and count, with next hops known. NULL: no item has a query to send.
struct result_steer_probe *steer_probe_run(
	struct plan *p, uint32_t port, const volatile sig_atomic_t *signals, struct arena *a);

// Did any reply come? probe may be NULL.
bool steer_probe_tells(const struct result_steer_probe *probe);

// The share of replies on the queue of the sender; steer_probe_tells.
double steer_probe_home(const struct result_steer_probe *probe);

// As a sentence; probe NULL: no query was sent.
void steer_probe_describe(const struct result_steer_probe *probe, char *text, size_t room);

// Late replies that came during the run. After it.
uint64_t steer_probe_late(const struct plan *p, uint32_t port);
