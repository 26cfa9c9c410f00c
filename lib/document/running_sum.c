// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Any thread, one at a time.
#include "document/running_sum.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "engine/result/result_read.h"
#include "engine/run/run.h"
#include "stats/json.h"

static const char *const members[] = {"traffic", "ports", "workers", "responder"};

#define MEMBERS (sizeof(members) / sizeof(members[0]))

void running_sum_begin(struct running_sum *s, struct document_reader *b)
{
	*s = (struct running_sum){.document = b->document,
		.file = b->file,
		.arena = arena_new(),
		.hz = reader_tick_hz(b)};
	for (size_t i = 0; i < 3; i++) // a responder need not be there
		json_object_set_new(b->document, members[i], json_array());
}

static struct result_fold fold_of(const struct running_sum *s)
{
	return (struct result_fold){FOLD_OVER_TIME, s->arena, s->arena, s->hz};
}

void running_sum_add(struct running_sum *s, const json_t *interval)
{
	const struct result_fold f = fold_of(s);
	struct arena *a = arena_new();
	struct result_interval one = {0};
	const char *why;

	if (result_read(&result_interval_section, interval, &one, a, &why) == 0) {
		one.t_s = fmax(one.t_s, s->begun ? s->sum.t_s : 0);
		result_fold_interval(&f, &s->sum, &one, s->hz, !s->begun);
		s->sum.t_s = one.t_s;
		s->begun = true;
	} else if (!s->warned) {
		log_warning("%s: an interval is left out: %s", s->file, why);
		s->warned = true;
	}
	arena_free(a);
}

// Drops the members that only an item of an interval has.
static void drop_members(json_t *item)
{
	static const char *const names[] = {"p50_ns", "p99_ns", "max_ns", "by_due"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		json_object_del(item, names[i]);
}

void running_sum_put(struct running_sum *s)
{
	const struct result_fold f = fold_of(s);
	json_t *all, *item;
	size_t n;

	json_object_set_new(json_object_get(s->document, "run"), "measured_s",
		json_real(s->begun ? s->sum.t_s : 0));
	if (!s->begun)
		return;
	result_derive_interval(&f, &s->sum);
	result_derive_rates(&s->sum);
	all = stats_json(&result_interval_section, &s->sum);
	json_array_foreach(json_object_get(all, "traffic"), n, item) drop_members(item);
	for (size_t i = 0; i < MEMBERS; i++)
		if (json_object_get(all, members[i]))
			json_object_set(s->document, members[i], json_object_get(all, members[i]));
	json_decref(all);
}

void running_sum_forget(struct running_sum *s)
{
	arena_free(s->arena);
	*s = (struct running_sum){0};
}

static void set_verdict(json_t *document, double last_s)
{
	char reason[128];

	snprintf(reason, sizeof(reason),
		"the tester was killed; its last interval ended %.3g s after the start of the "
		"measured part",
		last_s);
	json_object_set_new(document, "verdict",
		json_pack("{s:s, s:i, s:s, s:[s], s:[]}", "status", "interrupted", "exit_code",
			EXIT_INTERRUPTED, "limited_by", "none", "reasons", reason, "criteria"));
}

void running_sum_end(struct running_sum *s)
{
	running_sum_put(s);
	if (!json_object_get(s->document, "verdict"))
		set_verdict(s->document, s->begun ? s->sum.t_s : 0);
	running_sum_forget(s);
}
