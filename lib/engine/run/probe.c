// SPDX-License-Identifier: BSD-3-Clause
// The thread that runs the command, and the evaluation of its output. Path: cold. Management
// thread | the probe's thread.
#include "engine/run/probe.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "engine/run/command.h"
#include "engine/run/cpu.h"

#define OUTPUT_MAX 65536

// The output of one run of the command.
struct sample {
	uint64_t at; // tick of its end
	struct cpu_times times;
	struct probe_pair *pairs;
	uint32_t count;
};

struct probe {
	const struct probe_settings *settings;
	uint64_t every_ns;
	pthread_t thread;
	pthread_mutex_t lock; // of over
	pthread_cond_t change;
	bool over;
	// The thread's until it has ended.
	struct sample *samples;
	uint32_t count, room;
	uint64_t failures;
	char why[128]; // of the first one
	char text[OUTPUT_MAX];
};

uint32_t probe_parse_pairs(const char *text, struct probe_pair out[PROBE_PAIRS_MAX])
{
	uint32_t n = 0;

	while (*text && n < PROBE_PAIRS_MAX) {
		size_t line = strcspn(text, "\n"), key = strcspn(text, "=\n");
		const char *value = text + key + 1;
		char *end;

		if (key < line && key > 0 && key < PROBE_NAME_SIZE) {
			snprintf(out[n].name, sizeof(out[n].name), "%.*s", (int)key, text);
			out[n].value = strtod(value, &end);
			n += end > value && end <= text + line && isfinite(out[n].value);
		}
		text += line + (text[line] != '\0');
	}
	return n;
}

static void probe_fail(struct probe *p, const char *why)
{
	if (p->failures++ == 0)
		snprintf(p->why, sizeof(p->why), "%s", why);
}

static bool probe_grow(struct probe *p)
{
	uint32_t room = p->room ? 2 * p->room : 64;
	struct sample *more;

	if (p->count < p->room)
		return true;
	more = realloc(p->samples, room * sizeof(*more));
	if (!more)
		return false;
	p->samples = more;
	p->room = room;
	return true;
}

static bool probe_understand(struct probe *p, struct sample *s)
{
	struct probe_pair pairs[PROBE_PAIRS_MAX];

	if (p->settings->format == PROBE_PROC_STAT)
		return cpu_parse(p->text, &s->times);
	s->count = probe_parse_pairs(p->text, pairs);
	if (s->count == 0)
		return false;
	s->pairs = malloc(s->count * sizeof(*s->pairs));
	if (s->pairs)
		memcpy(s->pairs, pairs, s->count * sizeof(*s->pairs));
	return s->pairs != NULL;
}

static void probe_ask(struct probe *p)
{
	struct command_run c = {.text = p->settings->command,
		.out = p->text,
		.room = sizeof(p->text),
		.timeout_ns = p->settings->timeout_ns};
	struct sample s = {0};
	char outcome[96];
	int rc = command_run(&c);

	s.at = clock_now();
	if (rc != 0) {
		probe_fail(p, command_outcome(&c, rc, outcome, sizeof(outcome)));
		return;
	}
	if (!probe_grow(p) || !probe_understand(p, &s)) {
		probe_fail(p, p->settings->format == PROBE_PAIRS
				      ? "no key=value with a number in it"
				      : "not the text of /proc/stat");
		return;
	}
	p->samples[p->count++] = s;
}

static void add_ns(struct timespec *t, uint64_t ns)
{
	ns += (uint64_t)t->tv_nsec;
	t->tv_sec += (time_t)(ns / 1000000000);
	t->tv_nsec = (long)(ns % 1000000000);
}

static void *probe_loop(void *arg)
{
	struct probe *p = arg;
	struct timespec next, now;

	clock_gettime(CLOCK_MONOTONIC, &next);
	pthread_mutex_lock(&p->lock);
	while (!p->over) {
		pthread_mutex_unlock(&p->lock);
		probe_ask(p);
		clock_gettime(CLOCK_MONOTONIC, &now);
		do
			add_ns(&next, p->every_ns);
		while (next.tv_sec < now.tv_sec ||
			(next.tv_sec == now.tv_sec && next.tv_nsec <= now.tv_nsec));
		pthread_mutex_lock(&p->lock);
		while (!p->over && pthread_cond_timedwait(&p->change, &p->lock, &next) == 0)
			;
	}
	pthread_mutex_unlock(&p->lock);
	probe_ask(p); // how things stand at the end
	return NULL;
}

static void init_lock(struct probe *p)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&p->change, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&p->lock, NULL);
}

struct probe *probe_start(const struct probe_settings *s, uint64_t every_ns)
{
	struct probe *p = calloc(1, sizeof(*p));
	int rc;

	if (!p) {
		log_error("dut.probe: not enough memory");
		return NULL;
	}
	p->settings = s;
	p->every_ns = every_ns;
	init_lock(p);
	rc = pthread_create(&p->thread, NULL, probe_loop, p);
	if (rc == 0)
		return p;
	log_error("dut.probe: %s", strerror(rc));
	free(p);
	return NULL;
}

// --- its findings ---

// The share of CPU from the sample before to this one.
static double used_until(const struct probe *p, uint32_t i)
{
	return i ? cpu_used(&p->samples[i - 1].times, &p->samples[i].times) : NAN;
}

// The figures of a sample, by name: those of its pairs, or the share used since the one before.
static struct counter_list figures_at(const struct probe *p, uint32_t i, struct arena *a)
{
	const struct sample *s = &p->samples[i];
	uint32_t n = p->settings->format == PROBE_PAIRS ? s->count : 1;
	struct result_dut_figure *out = arena_zalloc(a, (n + 1) * sizeof(*out));

	if (p->settings->format == PROBE_PROC_STAT) {
		out[0] = (struct result_dut_figure){"used", used_until(p, i)};
		return (struct counter_list){out, isnan(out[0].value) ? 0 : 1};
	}
	for (uint32_t k = 0; k < n; k++)
		out[k] = (struct result_dut_figure){
			arena_strdup(a, s->pairs[k].name), s->pairs[k].value};
	return (struct counter_list){out, n};
}

static const struct result_dut_interval *interval_figures(
	const struct probe *p, uint32_t i, struct arena *a)
{
	struct result_dut_interval *out = arena_zalloc(a, sizeof(*out));

	out->figures = figures_at(p, i, a);
	return out->figures.count ? out : NULL;
}

// The newest sample of each interval.
static void fill_intervals(const struct probe *p, const struct clock *c, uint64_t from,
	struct arena *a, struct result *r)
{
	struct result_interval *list = (struct result_interval *)r->intervals.items;

	for (uint32_t i = 0; i < p->count; i++) {
		double t_s = (double)(int64_t)(p->samples[i].at - from) / c->hz;

		for (uint32_t k = 0; k < r->intervals.count; k++)
			if (t_s > list[k].t_s - list[k].length_s && t_s <= list[k].t_s)
				list[k].dut = interval_figures(p, i, a);
	}
}

// Over the samples in the measured part.
static void fill_usage(const struct probe *p, uint64_t from, uint64_t to, const struct result *r,
	struct result_dut *out)
{
	const struct sample *first = NULL, *last = NULL;

	for (uint32_t i = 0; i < p->count; i++) {
		if (p->samples[i].at < from || p->samples[i].at > to)
			continue;
		first = first ? first : &p->samples[i];
		last = &p->samples[i];
	}
	out->used = out->us_per_transaction = NAN;
	out->cpus = p->count ? p->samples[p->count - 1].times.cpus : 0;
	if (!first || p->settings->format != PROBE_PROC_STAT)
		return;
	out->used = cpu_used(&first->times, &last->times);
	out->us_per_transaction =
		cpu_demand_us(out->used, last->times.cpus, result_answered_per_s(r));
}

static void fill_last(const struct probe *p, struct arena *a, struct result_dut *out)
{
	if (p->count && p->settings->format == PROBE_PAIRS)
		out->figures = figures_at(p, p->count - 1, a);
}

static void probe_free(struct probe *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		free(p->samples[i].pairs);
	free(p->samples);
	pthread_cond_destroy(&p->change);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void probe_stop(struct probe *p, const struct clock *c, uint64_t from, uint64_t to, struct arena *a,
	struct result *r)
{
	struct result_dut *out;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->over = true;
	pthread_cond_signal(&p->change);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	out = arena_zalloc(a, sizeof(*out));
	*out = (struct result_dut){.command = p->settings->command,
		.format = probe_formats[p->settings->format],
		.samples = p->count,
		.failures = p->failures};
	fill_usage(p, from, to, r, out);
	fill_last(p, a, out);
	fill_intervals(p, c, from, a, r);
	r->dut = out;
	if (p->failures)
		log_warning("dut.probe: %llu of %llu times no figures: %s",
			(unsigned long long)p->failures,
			(unsigned long long)(p->failures + p->count), p->why);
	probe_free(p);
}
