// SPDX-License-Identifier: BSD-3-Clause
// The interval between two snapshots of the workers. Path: cold. Management thread.
#pragma once

#include "engine/run/collect/collect_box.h"

// Everything since the last snapshot that was taken.
struct collect_state {
	struct item_sums *before; // per item
	struct collect_box box;
	uint64_t *due_before;        // per item
	struct item_sums now, since; // of one item at a time
	uint64_t taken;              // snapshots
	uint64_t at_before;          // tick
};

// Returns true with the next interval when every worker has published it. t_s and length_s are from
// the snapshot's own times.
bool collect_interval(const struct plan *p, struct collect_state *s, struct arena *a,
	struct result_interval *out, bool *warmup);

// Returns the share of a port's packets, by the last snapshots, that the right worker received; -1:
// no packet came.
double collect_home(const struct plan *p, uint32_t port);

// After the workers have ended: the interval since the last snapshot (the drain).
void collect_last_interval(const struct plan *p, struct collect_state *s, struct arena *a,
	struct result_interval *out);

void collect_start(const struct plan *p, struct collect_state *s, struct arena *a);
