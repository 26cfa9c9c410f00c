// SPDX-License-Identifier: BSD-3-Clause
// Things that happen during a run: each is begun at its time, and the figures of all items from it
// to the next one are gathered. The longest gaps are the workers' (worker_book_gap). Path: cold.
// Management thread.
#pragma once

#include "engine/plan/plan.h"
#include "engine/result/result.h"

struct events;

struct events *events_start(const struct plan *p, struct arena *a);
// Begins the events that are due.
void events_tick(struct events *e, uint64_t now);
// Returns the ns until the next event is due; UINT64_MAX: none.
uint64_t events_wait_ns(const struct events *e, uint64_t now);
// Adds an interval of the measured part, or the rest after it (measured false), and puts the names
// of its events into i.
void events_interval(struct events *e, struct result_interval *i, bool measured, struct arena *a);
// After the workers have ended: waits for commands, and puts all figures into r.
void events_end(struct events *e, struct arena *a, struct result *r);
