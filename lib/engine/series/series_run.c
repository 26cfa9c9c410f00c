// SPDX-License-Identifier: BSD-3-Clause
// One run of a series: the file with more settings, and the steps that searches and repeats have in
// common. Path: cold. Management thread.
#include "engine/series/series_run.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/config/config_load.h"
#include "engine/series/series_internal.h"

#define REST_NS 20000000ull // between two checks for a signal

unsigned series_at(const struct config *c, double value, struct arena *a, char **texts)
{
	bool whole = value == floor(value);
	unsigned n = 0;

	texts[n++] = arena_printf(a, whole ? "%s=%.0f" : "%s=%.3f", c->search->variable, value);
	if (c->search->method != SEARCH_RAMP)
		return n;
	texts[n++] = arena_printf(a, "%s.ramp=null", search_load_path(c->search, a));
	texts[n++] = arena_printf(a, "run.interval=%lluns", (unsigned long long)c->run.interval_ns);
	return n;
}

unsigned series_ramp(const struct config *c, struct arena *a, char **texts)
{
	const struct search_settings *s = c->search;
	unsigned long long over = s->trial_ns * s->steps;
	char *load = search_load_path(s, a);

	texts[0] = arena_printf(a, "%s=null", s->variable);
	texts[1] = arena_printf(a, "%s.ramp={from: %.3f, to: %.3f, over: %lluns, hold: 0s}", load,
		s->from, s->to, over);
	texts[2] = arena_printf(a, "run.warmup=%lluns", (unsigned long long)s->warmup_ns);
	texts[3] = arena_printf(a, "run.duration=%lluns", over);
	texts[4] = arena_printf(a, "run.interval=%lluns", (unsigned long long)s->trial_ns);
	return 5;
}

bool series_concerns(const struct config *c, uint32_t n)
{
	const char *path = c->search->variable;
	const char *name = ((const struct item_settings *)c->traffic.items)[n].name;
	size_t len = strlen(name);

	if (strncmp(path, "traffic[", 8) == 0)
		return strtoul(path + 8, NULL, 10) == n;
	return strncmp(path + 8, name, len) == 0 && path[8 + len] == '.';
}

int series_check(const struct config *c, struct arena *a, struct diag *d)
{
	char *texts[SERIES_AT_MAX];
	unsigned n;

	if (!c->search)
		return 0;
	n = series_at(c, c->search->from, a, texts);
	if (!config_derive(c, texts, n, a, d))
		return -EINVAL;
	n = series_at(c, c->search->to, a, texts);
	if (!config_derive(c, texts, n, a, d))
		return -EINVAL;
	return series_trial(c, false, a, d) ? 0 : -EINVAL;
}

const struct config *series_greatest(const struct config *c, struct arena *a, struct diag *d)
{
	char *texts[SERIES_AT_MAX];

	return config_derive(c, texts, series_at(c, c->search->to, a, texts), a, d);
}

const struct config *series_trial(
	const struct config *c, bool longest, struct arena *a, struct diag *d)
{
	const struct search_settings *s = c->search;
	char *texts[SERIES_RAMP_MAX + 3];
	unsigned n;

	n = s->method == SEARCH_RAMP ? series_ramp(c, a, texts) : series_at(c, s->to, a, texts);
	if (s->method != SEARCH_RAMP) {
		uint64_t length = longest && s->final_ns > s->trial_ns ? s->final_ns : s->trial_ns;

		texts[n++] = arena_printf(a, "run.warmup=%lluns", (unsigned long long)s->warmup_ns);
		texts[n++] = arena_printf(a, "run.duration=%lluns", (unsigned long long)length);
	}
	texts[n++] = arena_printf(a, "search=null");
	return config_derive(c, texts, n, a, d);
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

// "run.seed=12".
static char *seed_text(const struct series *s)
{
	return arena_printf(s->arena, "run.seed=%llu",
		(unsigned long long)((s->config->run.seed + s->runs) & INT64_MAX));
}

// Quotes a text as in YAML.
static char *quoted(const char *text, struct arena *a)
{
	char *out = arena_zalloc(a, 2 * strlen(text) + 3), *to = out;

	*to++ = '\'';
	for (; *text; text++) {
		if (*text == '\'')
			*to++ = '\'';
		*to++ = *text;
	}
	*to = '\'';
	return out;
}

// dir/name.pcapng of the second run is dir/name-2.pcapng.
static char *capture_text(const struct series *s)
{
	const char *file = s->config->output.capture->file;
	const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
	const char *dot = strrchr(base, '.');
	int stem = (int)(dot && dot > base ? dot - file : (ptrdiff_t)strlen(file));
	char *name = arena_printf(
		s->arena, "%.*s-%llu%s", stem, file, (unsigned long long)s->runs + 1, file + stem);

	return arena_printf(s->arena, "output.capture.file=%s", quoted(name, s->arena));
}

int series_open(struct series *s, const struct run_options *o)
{
	const struct run_elsewhere *e = o->elsewhere;

	return e ? e->open(e->ctx, o, s->arena) : run_open(o, s->arena, &s->run);
}

int series_close(struct series *s)
{
	const struct run_elsewhere *e = s->options->elsewhere;

	return e ? e->close(e->ctx) : run_close(s->run);
}

int series_plain(struct series *s, struct result *out)
{
	const struct run_elsewhere *e = s->options->elsewhere;
	int code, kept;

	if (!e)
		return run_execute(s->options, s->arena, out);
	memset(out, 0, sizeof(*out));
	code = series_open(s, s->options);
	if (code == 0)
		code = e->once(e->ctx, s->config, NULL, 0, out);
	kept = series_close(s);
	return code ? code : kept;
}

int series_run(struct series *s, char *const *texts, unsigned count, struct result *out)
{
	char **all = arena_zalloc(s->arena, (count + 2) * sizeof(*all));
	const struct run_elsewhere *e = s->options->elsewhere;
	const struct config *c;
	int code = EXIT_CONFIG;
	struct diag *d;

	for (unsigned i = 0; i < count; i++)
		all[i] = texts[i];
	all[count++] = seed_text(s);
	if (s->config->output.capture)
		all[count++] = capture_text(s);
	s->runs++;
	memset(out, 0, sizeof(*out));
	c = series_derive(s, all, count, &d);
	if (c)
		code = e ? e->once(e->ctx, c, all, count, out) : run_once(s->run, c, d, out);
	diag_free(d);
	return code;
}

const char *series_capture(const struct result *r)
{
	return r->capture ? r->capture->file : NULL;
}

bool series_rest(const struct series *s, uint64_t ns)
{
	while (ns && *s->options->signals == 0) {
		uint64_t part = ns < REST_NS ? ns : REST_NS;

		nanosleep(&(struct timespec){0, (long)part}, NULL);
		ns -= part;
		if (s->options->hooks.tick)
			s->options->hooks.tick(s->options->hooks.ctx);
	}
	return *s->options->signals == 0;
}

void series_reason(const struct series *s, struct result_verdict *v, const char *text)
{
	const char **all = arena_zalloc(s->arena, (v->reasons.count + 1) * sizeof(*all));

	all[0] = text;
	if (v->reasons.count)
		memcpy(all + 1, v->reasons.items, v->reasons.count * sizeof(*all));
	v->reasons = (struct counter_list){all, v->reasons.count + 1};
}
