// SPDX-License-Identifier: BSD-3-Clause
// Things that happen during a run: each is begun at its time, and the figures of all items from it
// to the next one are gathered. The longest gaps are the workers' (worker_book_gap). Path: cold.
// Management thread.
#pragma once

#include "engine/plan/plan.h"
#include "engine/result/result.h"

struct events;

struct events *events_start(const struct plan *p, struct arena *a);
// Begin those that are due.
void events_tick(struct events *e, uint64_t now);
// ns until the next one is due; UINT64_MAX: there is none.
uint64_t events_wait_ns(const struct events *e, uint64_t now);
// An interval of the measured part, or what came after it (measured false). Puts the names of the
// events in it into i.
void events_interval(struct events *e, struct result_interval *i, bool measured, struct arena *a);
// The workers have ended: wait for commands, and put all of it into r.
void events_end(struct events *e, struct arena *a, struct result *r);
