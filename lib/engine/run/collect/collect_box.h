// SPDX-License-Identifier: BSD-3-Clause
// The part of an interval that belongs to no item: ports, workers, responder. Path: cold.
// Management thread.
#pragma once

#include "engine/run/collect/collect.h"

// Ports, workers and responder at the end of the last interval.
struct collect_box {
	struct worker_snapshot *workers; // per worker
	struct worker_snapshot *since;   // per worker: of the last interval
	struct port_counters *ports;     // per port
	struct result_responder responder;
};

void collect_box_start(const struct plan *p, struct collect_box *b, struct arena *a);

// The ports, workers and responder of an interval whose length is known. over: the workers have
// ended, and are read themselves instead of their snapshots.
void collect_box(const struct plan *p, struct collect_box *b, bool over, struct arena *a,
	struct result_interval *out);
