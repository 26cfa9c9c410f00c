// SPDX-License-Identifier: BSD-3-Clause
// The intervals of a run as they end: kept for the result, held against the stop rules, shown.
// Path: cold. Management thread.
#include <string.h>

#include "engine/run/run_internal.h"

#define ROUNDING_S 1e-4 // a tick is calibrated

void run_start_intervals(struct run *r)
{
	r->intervals = NULL;
	r->interval_count = r->interval_room = 0;
	collect_start(&r->plan, &r->collected, r->arena);
	stop_start(&r->stop, r->plan.config, r->arena);
}

static void keep_interval(struct run *r, const struct result_interval *i)
{
	if (r->interval_count == r->interval_room) {
		uint32_t room = r->interval_room ? 2 * r->interval_room : 64;
		struct result_interval *more = arena_zalloc(r->arena, room * sizeof(*more));

		if (r->interval_count)
			memcpy(more, r->intervals, r->interval_count * sizeof(*more));
		r->intervals = more;
		r->interval_room = room;
	}
	r->intervals[r->interval_count++] = *i;
}

// In the drain nothing is sent any more, so it has nothing to stop, and no rates.
static bool is_measured(const struct run *r, const struct result_interval *i)
{
	return i->t_s <= 1e-9 * (double)r->config->run.duration_ns + ROUNDING_S;
}

// The first rule that holds ends the run.
static void look_for_stop(struct run *r, const struct result_interval *i)
{
	struct result_verdict *v = &r->result->verdict;
	double value;
	const char *rule = v->stopped ? NULL : stop_check(&r->stop, i, r->arena, &value);

	if (!rule)
		return;
	v->stopped = rule;
	v->stopped_s = i->t_s;
	v->stopped_value = value;
}

void run_tick(struct run *r)
{
	const struct run_hooks *h = &r->options->hooks;
	struct result_interval i;
	bool warmup;

	while (collect_interval(&r->plan, &r->collected, r->arena, &i, &warmup)) {
		run_note_home(r);
		if (i.length_s <= 0)
			continue;
		if (!warmup)
			keep_interval(r, &i);
		if (!warmup && is_measured(r, &i))
			look_for_stop(r, &i);
		if (h->interval)
			h->interval(h->ctx, &i, warmup);
	}
}

void run_end_intervals(struct run *r)
{
	struct result_interval last;

	run_tick(r);
	collect_last_interval(&r->plan, &r->collected, r->arena, &last);
	keep_interval(r, &last);
	r->result->intervals = (struct counter_list){r->intervals, r->interval_count};
}
