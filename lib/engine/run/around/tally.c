// SPDX-License-Identifier: BSD-3-Clause
// Two readings, matched by name. Path: cold. Management thread.
#include "engine/run/around/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/run/around/task.h"
#include "stats/flatten.h"

#define OUTPUT_MAX   (1u << 20)
#define COUNTERS_MAX 4096
#define WHAT         "dut.counters"

// --- the text ---

struct found {
	struct arena *arena;
	struct result_dut_counter *list; // [COUNTERS_MAX]
	uint32_t count;
};

static void tally_add(void *ctx, const char *name, double value)
{
	struct found *f = ctx;

	if (f->count < COUNTERS_MAX && isfinite(value))
		f->list[f->count++] =
			(struct result_dut_counter){arena_strdup(f->arena, name), value};
}

static void tally_parse_line(struct found *f, const char *line, size_t len)
{
	char *text = arena_zalloc(f->arena, len + 1), *end, *value;
	size_t name;
	double number;

	memcpy(text, line, len);
	text += strspn(text, " \t\"");
	name = strcspn(text, " \t=:\"");
	value = text + name + strspn(text + name, " \t=:\"");
	number = strtod(value, &end);
	if (name == 0 || value == text + name || end == value)
		return;
	text[name] = '\0';
	tally_add(f, text, number);
}

struct counter_list tally_parse(const char *text, struct arena *a)
{
	struct found f = {a, arena_zalloc(a, COUNTERS_MAX * sizeof(*f.list)), 0};
	size_t blank = strspn(text, " \t\r\n");

	if (text[blank] == '{' || text[blank] == '[')
		stats_flatten(text, tally_add, &f);
	else
		for (size_t len; *text; text += len + (text[len] != '\0')) {
			len = strcspn(text, "\n");
			tally_parse_line(&f, text, len);
		}
	return (struct counter_list){f.list, f.count};
}

// --- the readings ---

struct tally {
	const struct counters_settings *settings;
	const struct clock *clock;
	struct task *first; // NULL: not started
	char *text;         // [OUTPUT_MAX] of the current reading
};

static struct task *tally_ask(struct tally *t)
{
	return task_start(
		t->clock, WHAT, t->settings->command, t->text, OUTPUT_MAX, t->settings->timeout_ns);
}

struct tally *tally_start(const struct counters_settings *s, const struct clock *c, struct arena *a)
{
	struct tally *t = arena_zalloc(a, sizeof(*t));

	*t = (struct tally){.settings = s, .clock = c, .text = arena_zalloc(a, OUTPUT_MAX)};
	t->first = tally_ask(t);
	return t->first ? t : NULL;
}

bool tally_is_ready(const struct tally *t)
{
	return task_is_over(t->first);
}

// Takes a reading that has begun. Returns false with the reason in *why.
static bool tally_take(struct tally *t, struct task *task, struct task_end *end, struct arena *a,
	struct counter_list *out, const char **why)
{
	*why = "not enough memory";
	if (!task)
		return false;
	task_end(task, end);
	*why = arena_strdup(a, end->outcome);
	if (end->rc != 0)
		return false;
	*out = tally_parse(t->text, a);
	*why = "it prints no counters";
	return out->count > 0;
}

// Both readings nearly always have the same names in the same order.
static const struct result_dut_counter *tally_find(
	const struct counter_list *l, const char *name, uint32_t guess)
{
	const struct result_dut_counter *c = l->items;

	if (guess < l->count && strcmp(c[guess].name, name) == 0)
		return &c[guess];
	for (uint32_t i = 0; i < l->count; i++)
		if (strcmp(c[i].name, name) == 0)
			return &c[i];
	return NULL;
}

static struct counter_list tally_differences(
	const struct counter_list *before, const struct counter_list *after, struct arena *a)
{
	const struct result_dut_counter *now = after->items;
	struct result_dut_counter *out = arena_zalloc(a, (after->count + 1) * sizeof(*out));
	uint32_t n = 0;

	for (uint32_t i = 0; i < after->count; i++) {
		const struct result_dut_counter *then = tally_find(before, now[i].name, i);

		if (then)
			out[n++] = (struct result_dut_counter){
				now[i].name, now[i].difference - then->difference};
	}
	return (struct counter_list){out, n};
}

static struct result_dut *tally_place(struct result *r, struct arena *a)
{
	if (!r->dut) {
		r->dut = arena_zalloc(a, sizeof(*r->dut));
		r->dut->use = (struct result_cpu_use){NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0};
		r->dut->us_per_transaction = NAN;
	}
	r->dut->counters_s = NAN;
	return r->dut;
}

void tally_stop(struct tally *t, struct arena *a, struct result *r)
{
	struct counter_list before, after;
	struct result_dut *out;
	struct task_end first, last;
	const char *why;

	if (!t)
		return;
	out = tally_place(r, a);
	if (tally_take(t, t->first, &first, a, &before, &why) &&
		tally_take(t, tally_ask(t), &last, a, &after, &why)) {
		out->counters = tally_differences(&before, &after, a);
		out->counters_s = clock_ns(t->clock, last.ended - first.ended) / 1e9;
		return;
	}
	log_warning(WHAT ": no differences: %s", why);
	out->counters_error = why;
}
