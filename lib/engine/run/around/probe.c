// SPDX-License-Identifier: BSD-3-Clause
// The thread that runs the command, and the evaluation of its output. Path: cold. Management
// thread | the probe's thread.
#include "engine/run/around/probe.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/interrupt.h"
#include "base/log.h"
#include "engine/run/around/command.h"
#include "engine/run/around/cpu.h"
#include "io/host/privileges.h"

#define OUTPUT_MAX 65536
#define JOIN_NS    1000000 // between two checks for the end of the thread

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
	pthread_mutex_t lock; // of over and of the samples that wait for their interval
	pthread_cond_t change;
	bool over;
	_Atomic bool cut; // kill the running command
	struct sample *samples;
	uint32_t count, room;
	// Owned by the thread until it has ended.
	uint64_t failures;
	char why[128]; // of the first one
	char text[OUTPUT_MAX];
	// Owned by the management thread.
	struct sample newest; // of the samples taken
	uint64_t taken;
	struct cpu_times first, last; // in the measured part
	bool measured;                // first and last are set
};

#define TEXT_OF(number)  #number
#define MORE_THAN(limit) "more than " TEXT_OF(limit) " figures"
#define NAME_OF(limit)   "a name of " TEXT_OF(limit) " characters or more"

uint32_t probe_parse_pairs(
	const char *text, struct probe_pair out[PROBE_PAIRS_MAX], const char **why)
{
	uint32_t n = 0;

	*why = "no key=value with a number in it";
	for (size_t line; *text; text += line + (text[line] != '\0')) {
		size_t key = strcspn(text, "=\n");
		const char *after = text + key + 1;
		double value;
		char *end;

		line = strcspn(text, "\n");
		if (key == line || key == 0)
			continue;
		value = strtod(after, &end);
		if (end == after || end > text + line || !isfinite(value))
			continue;
		if (key >= PROBE_NAME_SIZE)
			*why = NAME_OF(PROBE_NAME_SIZE);
		if (n == PROBE_PAIRS_MAX)
			*why = MORE_THAN(PROBE_PAIRS_MAX);
		if (key >= PROBE_NAME_SIZE || n == PROBE_PAIRS_MAX)
			return 0;
		snprintf(out[n].name, sizeof(out[n].name), "%.*s", (int)key, text);
		out[n++].value = value;
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

// Returns false with the reason in *why.
static bool probe_understand(struct probe *p, struct sample *s, const char **why)
{
	struct probe_pair pairs[PROBE_PAIRS_MAX];

	*why = "not the text of /proc/stat";
	if (p->settings->format == PROBE_PROC_STAT)
		return cpu_parse(p->text, &s->times);
	s->count = probe_parse_pairs(p->text, pairs, why);
	if (s->count == 0)
		return false;
	*why = "not enough memory";
	s->pairs = malloc(s->count * sizeof(*s->pairs));
	if (s->pairs)
		memcpy(s->pairs, pairs, s->count * sizeof(*s->pairs));
	return s->pairs != NULL;
}

static int probe_interrupt(void *ctx)
{
	struct probe *p = ctx;

	return p->cut ? SIGKILL : 0;
}

static void probe_ask(struct probe *p)
{
	struct command_run c = {.text = p->settings->command,
		.out = p->text,
		.room = sizeof(p->text),
		.timeout_ns = p->settings->timeout_ns,
		.interrupt = probe_interrupt,
		.ctx = p};
	struct sample s = {0};
	const char *why = "not enough memory";
	char outcome[96];
	int rc = command_run(&c);

	s.at = clock_now();
	if (rc == -ECANCELED)
		return;
	if (rc != 0) {
		probe_fail(p, command_outcome(&c, rc, outcome, sizeof(outcome)));
		return;
	}
	if (!probe_understand(p, &s, &why)) {
		probe_fail(p, why);
		return;
	}
	pthread_mutex_lock(&p->lock);
	if (probe_grow(p))
		p->samples[p->count++] = s;
	pthread_mutex_unlock(&p->lock);
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

	privileges_drop(true);
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
	if (!p->cut)
		probe_ask(p); // the state at the end
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

// Returns the figures of the newest sample, by name: its pairs, or the share of CPU used since the
// sample before.
static struct counter_list newest_figures(
	const struct probe *p, const struct cpu_times *before, struct arena *a)
{
	const struct sample *s = &p->newest;
	bool pairs = p->settings->format == PROBE_PAIRS;
	uint32_t n = pairs ? s->count : p->taken > 1;
	struct result_dut_figure *out = arena_zalloc(a, (n + 1) * sizeof(*out));

	if (!pairs && n)
		out[0] = (struct result_dut_figure){"used", cpu_use(before, &s->times).used};
	for (uint32_t k = 0; pairs && k < n; k++)
		out[k] = (struct result_dut_figure){
			arena_strdup(a, s->pairs[k].name), s->pairs[k].value};
	return (struct counter_list){out, n && !isnan(out[0].value) ? n : 0};
}

// Takes the oldest waiting sample as the newest, if it is not younger than until.
static bool take_sample(struct probe *p, const struct probe_span *measured, uint64_t until)
{
	bool any;

	pthread_mutex_lock(&p->lock);
	any = p->count && p->samples[0].at <= until;
	if (any) {
		free(p->newest.pairs);
		p->newest = p->samples[0];
		memmove(p->samples, p->samples + 1, --p->count * sizeof(*p->samples));
	}
	pthread_mutex_unlock(&p->lock);
	if (!any)
		return false;
	p->taken++;
	if (p->newest.at < measured->from || p->newest.at > measured->to)
		return true;
	if (!p->measured)
		p->first = p->newest.times;
	p->measured = true;
	p->last = p->newest.times;
	return true;
}

const struct result_dut_interval *probe_take(
	struct probe *p, const struct probe_span *measured, uint64_t until, struct arena *a)
{
	struct result_dut_interval *out = arena_zalloc(a, sizeof(*out));
	struct cpu_times before;

	for (before = p->newest.times; take_sample(p, measured, until); before = p->newest.times)
		out->figures = newest_figures(p, &before, a);
	return out->figures.count ? out : NULL;
}

static void fill_usage(const struct probe *p, const struct result *r, struct result_dut *out)
{
	const struct cpu_times none = {.cpus = 0};

	out->use = cpu_use(&none, &none);
	out->us_per_transaction = NAN;
	out->cpus = p->newest.times.cpus;
	if (!p->measured || p->settings->format != PROBE_PROC_STAT)
		return;
	out->use = cpu_use(&p->first, &p->last);
	out->us_per_transaction =
		cpu_demand_us(out->use.used, p->newest.times.cpus, result_answered_per_s(r));
}

static void probe_free(struct probe *p)
{
	free(p->newest.pairs);
	free(p->samples);
	pthread_cond_destroy(&p->change);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void probe_stop(
	struct probe *p, const struct probe_span *measured, struct arena *a, struct result *r)
{
	struct result_dut *out;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->over = true;
	pthread_cond_signal(&p->change);
	pthread_mutex_unlock(&p->lock);
	while (pthread_tryjoin_np(p->thread, NULL) == EBUSY) {
		p->cut = interrupt_count > 1;
		nanosleep(&(struct timespec){0, JOIN_NS}, NULL);
	}
	while (take_sample(p, measured, UINT64_MAX))
		;
	out = arena_zalloc(a, sizeof(*out));
	*out = (struct result_dut){.command = p->settings->command,
		.format = probe_formats[p->settings->format],
		.samples = p->taken,
		.failures = p->failures};
	fill_usage(p, r, out);
	if (p->settings->format == PROBE_PAIRS)
		out->figures = newest_figures(p, NULL, a);
	r->dut = out;
	if (p->failures)
		log_warning("dut.probe: %llu of %llu times no figures: %s",
			(unsigned long long)p->failures,
			(unsigned long long)(p->failures + p->taken), p->why);
	probe_free(p);
}
