// SPDX-License-Identifier: BSD-3-Clause
// The intervals of the parts are added up as they arrive. Path: cold. Main thread.
#include <string.h>

#include "base/log.h"
#include "document/document_reader.h"
#include "engine/result/lines.h"
#include "engine/result/result_fold.h"
#include "engine/result/result_read.h"
#include "fleet/coordinator/fleet_internal.h"

static const json_t *first_interval(const struct fleet_part *p)
{
	return json_array_get(p->intervals, 0);
}

static bool is_last(const json_t *interval)
{
	return json_is_true(json_object_get(interval, LINE_LAST));
}

static uint64_t number_of(const json_t *interval)
{
	return (uint64_t)json_integer_value(json_object_get(interval, LINE_NUMBER));
}

// Finds the next interval of all parts together: one interval of each, or several of a part with
// shorter ones. Returns false if some have not come yet.
static bool next_group(struct fleet *f, uint64_t *number, bool *last)
{
	*number = 0;
	*last = true;
	for (unsigned i = 0; i < f->count; i++) {
		const json_t *one = first_interval(&f->parts[i]);

		if (!one && !*f->parts[i].trouble && !f->parts[i].ended)
			return false;
		if (!one || is_last(one))
			continue;
		*last = false;
		*number = number_of(one) > *number ? number_of(one) : *number;
	}
	for (unsigned i = 0; i < f->count; i++)
		if (!*last && f->parts[i].number_last < *number && !*f->parts[i].trouble &&
			!f->parts[i].ended)
			return false;
	return true;
}

// Returns the next interval of a part; NULL: it is not in this group.
static json_t *take_interval(struct fleet_part *p, uint64_t number, bool last)
{
	json_t *one = json_array_get(p->intervals, 0);

	if (!one || is_last(one) != last || (!last && number_of(one) > number))
		return NULL;
	json_incref(one);
	json_array_remove(p->intervals, 0);
	return one;
}

static bool add_interval(const struct result_fold *to, const struct fleet_part *p,
	const json_t *one, struct result_interval *sum, bool *warmup, bool first)
{
	struct result_interval i = {0};
	const char *why;

	if (result_read_line(one, &i, warmup, to->arena, &why) < 0) {
		log_error("agent %s: an interval: %s", p->name, why);
		return false;
	}
	for (uint32_t n = 0; n < i.workers.count; n++)
		((struct result_interval_worker *)i.workers.items)[n].part = p->number;
	result_fold_interval(to, sum, &i, p->hz, first);
	return true;
}

// Returns false if none of them can be read.
static bool add_group(struct fleet *f, uint64_t number, bool last, const struct result_fold *to,
	struct result_interval *sum, bool *warmup)
{
	bool first = true;
	json_t *one;

	for (unsigned i = 0; i < f->count; i++)
		while ((one = take_interval(&f->parts[i], number, last))) {
			bool this_warmup;

			if (add_interval(to, &f->parts[i], one, sum, first ? warmup : &this_warmup,
				    first))
				first = false;
			json_decref(one);
		}
	return !first;
}

static void judge_interval(struct fleet *f, const struct result_interval *i, struct arena *a)
{
	const char *rule = f->stopped ? NULL : stop_check(&f->stop, i, a, &f->stopped_value);

	if (!rule)
		return;
	f->stopped = strdup(rule);
	f->stopped_s = i->t_s;
}

static void show_interval(
	struct fleet *f, const struct result_interval *i, bool warmup, struct arena *a)
{
	const struct run_hooks *h = &f->run->hooks;

	if (!warmup && h->kept)
		h->kept(h->ctx, i);
	if (!warmup && !i->last)
		judge_interval(f, i, a);
	if (!i->last && h->interval)
		h->interval(h->ctx, i, warmup);
}

// Returns the ticks a second of the sums: those used by the first part that has begun.
static double hz_of(const struct fleet *f)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->parts[i].hz > 0)
			return f->parts[i].hz;
	return 0;
}

void fleet_pass_intervals(struct fleet *f)
{
	uint64_t number;
	bool last, more = true;

	while (more && next_group(f, &number, &last)) {
		struct arena *a = arena_new();
		const struct result_fold to = {FOLD_OVER_BOXES, a, a, hz_of(f)};
		struct result_interval sum = {0};
		bool warmup = false;

		more = add_group(f, number, last, &to, &sum, &warmup);
		if (more) {
			result_derive_interval(&to, &sum);
			show_interval(f, &sum, warmup, a);
		}
		arena_free(a);
	}
}
