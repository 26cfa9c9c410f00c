// SPDX-License-Identifier: BSD-3-Clause
// A series whose runs the test plays: the functions of run.h are defined here, so the linker does
// not need the library's. Path: cold. Test.
#pragma once

#include "../loaded.h"

#include <math.h>

#include "engine/run/run.h"
#include "engine/series/series.h"

#define PLAYED_MAX 256

// The outcome of a run. A test changes the members that differ.
struct played_run {
	int code;
	const char *status; // NULL: the run did not begin
	const char *reason; // NULL: none
	const char *stopped;
	uint64_t sent, answered, failed, lost, in_flight, no_reply;
	double p99_ns;
	double cpu_used; // 0: the box was not looked at
	bool signal;     // the user interrupts
};

static struct played {
	// Set by the test.
	void (*run)(const struct config *c, uint32_t n, struct played_run *r);
	int open_code, close_code;
	// Read by the test.
	struct loaded l;
	volatile sig_atomic_t signals;
	struct run_options options;
	const struct run_options *opened_with;
	struct result out;
	int code;
	uint32_t opened, closed, runs, notes;
	const struct config *config[PLAYED_MAX];
	char note[512];
} played;

int run_open(const struct run_options *o, struct arena *a, struct run **out)
{
	played.opened++;
	played.opened_with = o;
	*out = NULL;
	return played.open_code;
}

int run_close(struct run *r)
{
	played.closed++;
	return played.close_code;
}

int run_execute(const struct run_options *o, struct arena *a, struct result *out)
{
	return 77;
}

static void played_result(const struct config *c, const struct played_run *r, struct result *out)
{
	struct arena *a = played.l.a;
	const struct item_settings *s = c->traffic.items;
	struct result_item *items = arena_zalloc(a, c->traffic.count * sizeof(*items));
	const char **reason = arena_zalloc(a, sizeof(*reason));

	for (uint32_t i = 0; i < c->traffic.count; i++)
		items[i] = (struct result_item){.name = s[i].name,
			.ledger = {.due = 1000, .sent = 1000, .answered = 1000},
			.answered_per_s = 1000,
			.sending_s = 1,
			.latency.response = {.count = 1000, .p99_ns = 1e6}};
	items[0].ledger = (struct ledger){.due = r->sent,
		.sent = r->sent,
		.answered = r->answered,
		.failed = r->failed,
		.lost = r->lost,
		.no_reply = r->no_reply};
	items[0].in_flight = r->in_flight;
	items[0].answered_per_s = (double)r->answered;
	items[0].latency.response.count = r->answered;
	items[0].latency.response.p99_ns = r->p99_ns;
	*reason = r->reason;
	out->run.seed = c->run.seed;
	out->run.measured_s = 1e-9 * (double)c->run.duration_ns;
	out->traffic = (struct counter_list){items, c->traffic.count};
	out->verdict = (struct result_verdict){.status = r->status,
		.exit_code = (uint64_t)r->code,
		.stopped = r->stopped,
		.reasons = {reason, r->reason != NULL}};
	if (r->cpu_used > 0) {
		out->cpu = arena_zalloc(a, sizeof(*out->cpu));
		out->cpu->use.used = r->cpu_used;
	}
	if (c->output.capture) {
		out->capture = arena_zalloc(a, sizeof(*out->capture));
		out->capture->file = c->output.capture->file;
	}
}

int run_once(struct run *r, const struct config *c, struct diag *d, struct result *out)
{
	struct played_run run = {.status = "pass", .sent = 1000, .answered = 1000, .p99_ns = 1e6};

	assert_true(played.runs < PLAYED_MAX);
	played.config[played.runs] = c;
	if (played.run)
		played.run(c, played.runs, &run);
	played.runs++;
	if (run.signal)
		played.signals = 1;
	if (run.status)
		played_result(c, &run, out);
	return run.code;
}

static void played_note(void *ctx, const char *text)
{
	played.notes++;
	snprintf(played.note, sizeof(played.note), "%s", text);
}

static inline const struct config *played_load(const char *text)
{
	played.l = loaded_from(text);
	played.options = (struct run_options){.config = played.l.config,
		.diag = played.l.d,
		.hooks.note = played_note,
		.signals = &played.signals};
	return played.l.config;
}

// Runs the series of the text; `run` gives the outcome of its runs.
static inline int played_series(
	const char *text, void (*run)(const struct config *c, uint32_t n, struct played_run *r))
{
	played_load(text);
	played.run = run;
	played.code = series_execute(&played.options, played.l.a, &played.out);
	return played.code;
}

static int played_setup(void **state)
{
	memset(&played, 0, sizeof(played));
	return 0;
}

static int played_teardown(void **state)
{
	loaded_free(&played.l);
	return 0;
}

static inline bool played_says(const char *words)
{
	const char *const *reasons = played.out.verdict.reasons.items;

	for (uint32_t i = 0; i < played.out.verdict.reasons.count; i++)
		if (strstr(reasons[i], words))
			return true;
	return false;
}

#define PLAYED_TEST(name) cmocka_unit_test_setup_teardown(name, played_setup, played_teardown)

#define PLAYED_HEAD                                                                                \
	LOADED_PORTS "traffic:\n"                                                                  \
		     "  - {name: q, server: 198.18.0.2, load: {rate: 1k}, " LOADED_DNS "}\n"
