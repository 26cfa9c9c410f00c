// SPDX-License-Identifier: BSD-3-Clause
// The rules of searches and repeats, and the steps that both are made of. Path: cold. Management
// thread.
#include "engine/series.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "conf/schema.h"
#include "engine/series_internal.h"

#define REST_NS 20000000ull // between two looks for a signal

char *series_value(const struct config *c, double value, struct arena *a)
{
	bool whole = value == floor(value);

	return arena_printf(a, whole ? "%s=%.0f" : "%s=%.3f", c->search->variable, value);
}

static bool is_number(const struct field *f)
{
	return !f->list && (f->type == FIELD_RATE || f->type == FIELD_COUNT);
}

static void check_variable(const struct config *c, struct arena *a, struct diag *d)
{
	const struct search_settings *s = c->search;
	const char *what;
	const void *place;
	const struct field *f = conf_find(config_section(), c, s->variable, &place, a, &what);

	if (!f)
		diag_error(d, &s->variable, NULL, "\"%s\": %s", s->variable, what);
	else if (!is_number(f))
		diag_error(d, &s->variable, NULL,
			"\"%s\" is not a number (a rate or a count, like "
			"traffic.queries.load.rate)",
			s->variable);
	else if (strncmp(s->variable, "traffic.", 8) != 0 && strncmp(s->variable, "traffic[", 8))
		diag_error(d, &s->variable, NULL,
			"\"%s\" is nothing that a server would notice (a rate or a count of "
			"traffic)",
			s->variable);
	else if (f->type == FIELD_COUNT && (s->from != floor(s->from) || s->to != floor(s->to)))
		diag_error(d, &s->from, NULL, "%s counts (from and to are whole numbers)",
			s->variable);
}

static void check_search(const struct config *c, struct arena *a, struct diag *d)
{
	const struct search_settings *s = c->search;

	check_variable(c, a, d);
	if (s->from >= s->to)
		diag_error(d, &s->from, NULL, "no lower than to");
	if (s->goals.count == 0)
		diag_error(d, s, "goals", "nothing to meet (like [{loss: 0.1%%, p99: 10ms}])");
	if (s->final_ns < s->trial_ns && s->method != SEARCH_RAMP)
		diag_error(d, s, "final", "shorter than a trial");
	if (c->run.repeat)
		diag_error(d, c->run.repeat, "",
			"a search and repeats at once (either search or run.repeat; mlr repeats "
			"trials)");
}

static void check_repeat(const struct repeat_settings *r, struct diag *d)
{
	if (r->min > r->max)
		diag_error(d, &r->min, NULL, "more than max");
}

void series_check_settings(const struct config *c, struct arena *a, struct diag *d)
{
	const void *which = c->search ? (const void *)c->search : c->run.repeat;

	if (!which)
		return;
	if (c->traffic.count == 0)
		diag_error(d, which, "", "no traffic to run");
	if (c->output.capture)
		diag_error(d, c->output.capture, "",
			"of which run? (leave out %s, and capture one run)",
			c->search ? "search" : "run.repeat");
	if (c->search)
		check_search(c, a, d);
	if (c->run.repeat)
		check_repeat(c->run.repeat, d);
}

int series_check(const struct config *c, struct arena *a, struct diag *d)
{
	char *ends[2];

	if (!c->search)
		return 0;
	ends[0] = series_value(c, c->search->from, a);
	ends[1] = series_value(c, c->search->to, a);
	for (int i = 0; i < 2; i++)
		if (!config_derive(c, &ends[i], 1, a, d))
			return -EINVAL;
	return 0;
}

const struct config *series_derive(
	const struct series *s, char *const *texts, unsigned count, struct diag **d)
{
	const struct config *c;

	*d = diag_new();
	c = config_derive(s->config, texts, count, s->arena, *d);
	diag_print(*d, stderr);
	return c;
}

int series_run(const struct series *s, char *const *texts, unsigned count, struct result *out)
{
	struct diag *d;
	const struct config *c = series_derive(s, texts, count, &d);
	int code = EXIT_CONFIG;

	memset(out, 0, sizeof(*out));
	if (c)
		code = run_once(s->run, c, d, out);
	diag_free(d);
	return code;
}

bool series_rest(const struct series *s, uint64_t ns)
{
	while (ns && *s->options->signals == 0) {
		uint64_t part = ns < REST_NS ? ns : REST_NS;

		nanosleep(&(struct timespec){0, (long)part}, NULL);
		ns -= part;
	}
	return *s->options->signals == 0;
}

void series_note(const struct series *s, const char *fmt, ...)
{
	const struct run_hooks *h = &s->options->hooks;
	char text[512];
	va_list args;

	if (!h->note)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	h->note(h->ctx, text);
}

void series_reason(const struct series *s, struct result_verdict *v, const char *text)
{
	const char **all = arena_zalloc(s->arena, (v->reasons.count + 1) * sizeof(*all));

	all[0] = text;
	if (v->reasons.count)
		memcpy(all + 1, v->reasons.items, v->reasons.count * sizeof(*all));
	v->reasons = (struct counter_list){all, v->reasons.count + 1};
}

char *series_seed(const struct series *s, uint64_t n)
{
	return arena_printf(s->arena, "run.seed=%llu",
		(unsigned long long)((s->config->run.seed + n) & INT64_MAX));
}

int series_execute(const struct run_options *o, struct arena *a, struct result *out)
{
	struct series s = {.options = o, .config = o->config, .arena = a};

	if (o->respond_only || (!o->config->search && !o->config->run.repeat))
		return run_execute(o, a, out);
	return o->config->search ? series_search(&s, out) : series_repeat(&s, out);
}
