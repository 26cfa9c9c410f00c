// SPDX-License-Identifier: BSD-3-Clause
// One attempt at a time: start the server, run its operations, stop it. Path: cold. Main thread.
#include "campaign/campaign_run.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "document/document_reader.h"
#include "campaign/campaign_table.h"
#include "engine/run/around/command.h"
#include "engine/run/run.h"
#include "engine/run/around/task.h"
#include "format/format_select.h"
#include "line/options.h"

#define RUN_NS    (1000000ull * 1000000000) // a run ends by itself
#define POLL_TEXT "0.02"                    // seconds between two checks of until

// An operation of an attempt.
struct attempt {
	struct campaign_runner *runner;
	const struct campaign_cell *cell;
	const struct campaign_operation *op;
	struct arena *arena;
	uint32_t repeat, number;
	uint32_t operation;
	const char *why; // why it is unusable; NULL: it is usable
};

static const char *beside_journal(const struct attempt *t, const char *suffix)
{
	return arena_printf(t->arena, "%s%s", t->runner->campaign->settings.output.jsonl, suffix);
}

static int fail(struct attempt *t, const char *name, const char *outcome)
{
	if (!t->why)
		t->why = arena_printf(t->runner->arena, "%s: %s", name, outcome);
	return -EIO;
}

struct waiting {
	struct campaign_runner *runner;
	int before; // interrupts
};

// Reads orders while a command runs; they may interrupt it.
static int on_wait(void *ctx)
{
	struct waiting *w = ctx;

	orders_read(&w->runner->orders);
	return interrupt_escalate(&w->before);
}

// As command_run.
static int run_shell(struct attempt *t, struct command_run *c)
{
	c->interrupt = on_wait;
	c->ctx = &(struct waiting){t->runner, interrupt_count};
	return command_run(c);
}

// Run a command of the user. 0, -EIO with t->why, or -ECANCELED.
static int hook(struct attempt *t, const char *name, const char *text)
{
	struct command_run c = {
		.text = text, .timeout_ns = t->runner->campaign->settings.timeout_ns};
	char outcome[96];
	int rc;

	if (!text)
		return 0;
	rc = run_shell(t, &c);
	if (rc == 0 || rc == -ECANCELED)
		return rc;
	return fail(t, name, command_outcome(&c, rc, outcome, sizeof(outcome)));
}

// --- a run

static const char *run_command(const struct attempt *t, const char *result, const char *log)
{
	const struct campaign *c = t->runner->campaign;
	const char *through = c->settings.through ? c->settings.through : "";
	char binary[4096];
	ssize_t len = readlink("/proc/self/exe", binary, sizeof(binary) - 1);
	const char *text;
	unsigned count;
	char **sets = campaign_assignments(c, t->cell, t->op, t->arena, &count);

	binary[len > 0 ? len : 0] = '\0';
	// The run must end if its campaign is killed: the next campaign needs its ports.
	text = arena_printf(t->arena,
		"exec setpriv --pdeathsig TERM -- %s %s run %s --quiet --json %s%s%s", through,
		options_quote(binary, t->arena), options_quote(t->cell->base, t->arena),
		options_quote(result, t->arena), c->confined ? " --confined" : "",
		c->commands ? " --allow-commands" : "");
	for (unsigned i = 0; i < count; i++)
		text = arena_printf(
			t->arena, "%s --set %s", text, options_quote(sets[i], t->arena));
	return arena_printf(t->arena, "%s >%s 2>&1", text, options_quote(log, t->arena));
}

// The last line that is not empty.
static const char *last_line(const struct attempt *t, const char *file)
{
	FILE *f = fopen(file, "re");
	const char *last = "it printed nothing";
	char line[1024];

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line)
			last = arena_strdup(t->arena, line);
	}
	if (f)
		fclose(f);
	return last;
}

static const char *reasons(const struct attempt *t, const json_t *document)
{
	const json_t *one;
	const char *out = "";
	size_t i;

	json_array_foreach(document_at(document, "verdict.reasons"), i, one) out =
		arena_printf(t->arena, "%s%s%s", out, *out ? "; " : "",
			json_string_value(one) ? json_string_value(one) : "");
	return out;
}

// From the start of the measured part to the success of until, both by the wall clock.
static double seconds_until(const struct document_reader *b, uint64_t ended)
{
	double since = (double)(clock_now() - ended) / reader_tick_hz(b);
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - since -
	       1e-9 * document_number(b->document, "run.measured_from_ns");
}

// Completed exchanges.
static double operations_of(const struct document_reader *b)
{
	double sum = 0;
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(b->document, "traffic"), i, item) sum +=
		document_number(item, "answered") + document_number(item, "no_reply");
	return sum;
}

// 0, or -EINVAL: the name matches no figure, or several (logged). *out: NAN: not in the result.
static int figure_of(struct attempt *t, const struct document_reader *b, const char *name,
	double seconds, double *out)
{
	struct choice chosen;
	char *end;

	*out = strcmp(name, CAMPAIGN_SECONDS) == 0 ? seconds
	       : strcmp(name, CAMPAIGN_PER_S) == 0 ? operations_of(b) / seconds
	                                           : NAN;
	if (isfinite(*out))
		return 0;
	if (select_figures(b, name, 0, t->arena, &chosen) < 0)
		return -EINVAL;
	if (chosen.count != 1 || chosen.blocks[0].count != 1) {
		log_error("columns: %s: several figures of the result are called so (one)", name);
		return -EINVAL;
	}
	*out = strtod(chosen.blocks[0].list[0].text, &end);
	if (end == chosen.blocks[0].list[0].text || *end)
		*out = NAN;
	return 0;
}

static json_t *figures_json(struct attempt *t, const struct document_reader *b, double seconds)
{
	const struct campaign *c = t->runner->campaign;
	json_t *out = json_object();

	for (uint32_t i = 0; i < c->settings.columns.count; i++) {
		const struct campaign_column *column = &c->columns[i];
		double value, per = 1;

		if (figure_of(t, b, column->figure, seconds, &value) < 0 ||
			(column->per && figure_of(t, b, column->per, seconds, &per) < 0)) {
			json_decref(out);
			return NULL;
		}
		value /= per;
		json_object_set_new(
			out, c->columns[i].name, isfinite(value) ? json_real(value) : json_null());
	}
	return out;
}

static json_t *settings_json(const struct attempt *t)
{
	const struct campaign *c = t->runner->campaign;
	json_t *out = json_object();

	for (uint32_t i = 0; i < c->settings.vary.count; i++)
		json_object_set_new(out, c->vary[i].name, json_string(t->cell->values[i]));
	return out;
}

// Which run it is: the beginning of its line.
static json_t *run_json(const struct attempt *t)
{
	return json_pack("{s:i, s:s, s:o, s:s?, s:i, s:i}", "cell",
		(int)(t->cell - t->runner->campaign->cells), "point", t->cell->point->name,
		"settings", settings_json(t), "operation", t->op ? t->op->name : NULL, "repeat",
		(int)t->repeat + 1, "attempt", (int)t->number);
}

static void tell_step(const struct attempt *t)
{
	json_t *running = run_json(t);

	t->runner->on_step(t->runner->ctx, running);
	json_decref(running);
}

// Write the line of a run into the journal. 0, -EIO with t->why if its values are unusable, or as
// campaign_execute.
static int keep(struct attempt *t, const struct document_reader *b, double seconds)
{
	const char *status = document_text(b->document, "verdict.status");
	bool counts = strcmp(status, "pass") == 0 || strcmp(status, "done") == 0 ||
	              strcmp(status, "fail") == 0;
	json_t *figures = figures_json(t, b, seconds), *line;
	int rc;

	if (!figures)
		return -EINVAL;
	line = run_json(t);
	rc = json_object_update_new(
		line, json_pack("{s:s, s:b, s:s, s:s, s:s, s:o}", "status", status, "counts",
			      counts, "reason", reasons(t, b->document), "started",
			      document_text(b->document, "run.started"), "id",
			      document_text(b->document, "run.id"), "figures", figures));
	rc = rc < 0 ? -ENOMEM : journal_add(t->runner->journal, line);
	if (rc == 0 && !counts)
		rc = fail(t, t->op->name,
			arena_printf(t->arena, "%s: %s", status, reasons(t, b->document)));
	json_decref(line);
	return rc;
}

// Take the result of a run's process. ended: time of until's success, in ticks; 0: there is no
// until.
static int take_result(struct attempt *t, const char *result, uint64_t ended)
{
	struct document_reader b;
	double seconds;
	int rc;

	if (reader_open(&b, result) < 0)
		return fail(t, t->op->name, "its result cannot be read");
	seconds = ended ? seconds_until(&b, ended) : document_number(b.document, "run.measured_s");
	if (seconds <= 0)
		rc = fail(t, t->op->name, "until succeeded before the run began");
	else
		rc = keep(t, &b, seconds);
	reader_close(&b);
	return rc;
}

// Repeats the command of until as long as the file exists.
static struct task *watch(const struct attempt *t, const char *flag)
{
	static const struct clock counter; // CPU counter, also read by the run
	const char *file = options_quote(flag, t->arena);
	FILE *f = fopen(flag, "we");

	if (f)
		fclose(f);
	return task_start(&counter, "until",
		arena_printf(t->arena,
			"until { %s\n}; do test -e %s || exit 1; sleep " POLL_TEXT "; done",
			t->op->until, file),
		NULL, 0, t->runner->campaign->settings.timeout_ns);
}

// 0, or -EIO with t->why.
static int await(struct attempt *t, struct task *task, struct task_end *end)
{
	task_end(task, end);
	return end->rc == 0 ? 0 : fail(t, "until", end->outcome);
}

static int run_operation(struct attempt *t)
{
	const char *result = beside_journal(t, ".result"), *log = beside_journal(t, ".log");
	const char *flag = beside_journal(t, ".until");
	struct command_run c = {.text = run_command(t, result, log), .timeout_ns = RUN_NS};
	struct task_end end = {0};
	struct task *task = NULL;
	char outcome[96];
	int rc;

	unlink(result);
	if (t->op->until && !(task = watch(t, flag)))
		return -ENOMEM;
	rc = run_shell(t, &c);
	if (rc != 0 || interrupt_count)
		unlink(flag); // after a failed run, the leases may never go away
	if (task && await(t, task, &end) < 0 && rc == 0)
		rc = -EIO;
	unlink(flag);
	if (rc > 0 && access(result, F_OK) != 0)
		rc = fail(t, t->op->name,
			arena_printf(t->arena, "%s: %s",
				command_outcome(&c, rc, outcome, sizeof(outcome)),
				last_line(t, log)));
	else if (rc >= 0)
		rc = take_result(t, result, task ? end.ended : 0);
	else if (rc != -ECANCELED && !t->why)
		rc = fail(t, t->op->name, command_outcome(&c, rc, outcome, sizeof(outcome)));
	unlink(result);
	unlink(log);
	return rc;
}

// --- an attempt

static void set_environment(const struct attempt *t)
{
	const struct campaign *c = t->runner->campaign;

	setenv("DDIPERF_CAMPAIGN", c->settings.name, 1);
	setenv("DDIPERF_POINT", t->cell->point->name, 1);
	setenv("DDIPERF_REPEAT", arena_printf(t->arena, "%u", t->repeat + 1), 1);
	setenv("DDIPERF_OPERATION", t->op ? t->op->name : "", 1);
	for (uint32_t i = 0; i < c->settings.vary.count; i++) {
		char *name = arena_printf(t->arena, "DDIPERF_VARY_%s", c->vary[i].name);

		for (char *at = name; *at; at++)
			*at = isalnum((unsigned char)*at) ? (char)toupper((unsigned char)*at) : '_';
		setenv(name, t->cell->values[i], 1);
	}
}

static int run_operations(struct attempt *t)
{
	const struct campaign *c = t->runner->campaign;
	int rc = 0;

	for (t->operation = 0; rc == 0 && t->operation < c->operation_count; t->operation++) {
		t->op = campaign_operation_of(c, t->cell, t->operation);
		if (!t->op)
			continue;
		set_environment(t);
		tell_step(t);
		rc = hook(t, arena_printf(t->arena, "before %s", t->op->name), t->op->before);
		if (rc == 0)
			rc = run_operation(t);
		if (rc == 0 && interrupt_count)
			rc = -ECANCELED;
	}
	t->op = NULL;
	set_environment(t);
	return rc;
}

// 0: all runs count; -EIO with *why; or as campaign_execute.
static int run_attempt(struct campaign_runner *r, uint32_t cell, uint32_t repeat, const char **why)
{
	struct attempt t = {.runner = r,
		.cell = &r->campaign->cells[cell],
		.arena = arena_new(),
		.repeat = repeat,
		.number = journal_attempts(r->journal, cell, repeat).begun + 1};
	int rc, stopped;

	set_environment(&t);
	if (t.cell->point->start)
		tell_step(&t);
	rc = hook(&t, "start", t.cell->point->start);
	if (rc == 0)
		rc = interrupt_count ? -ECANCELED : run_operations(&t);
	*why = t.why;
	t.why = NULL;
	stopped = hook(&t, "stop", t.cell->point->stop);
	if (stopped == -EIO) {
		log_error("%s: %s", campaign_cell_name(r->campaign, t.cell, t.arena), t.why);
		r->stop_failed = true;
	}
	arena_free(t.arena);
	return rc == -EIO && interrupt_count ? -ECANCELED : rc;
}

// One repeat of a cell, with as many attempts as needed.
static int run_repeat(struct campaign_runner *r, uint32_t cell, uint32_t repeat)
{
	const struct campaign_attempts so_far = journal_attempts(r->journal, cell, repeat);
	const char *why = so_far.reason, *name;
	int rc = -EIO;

	name = campaign_cell_name(r->campaign, &r->campaign->cells[cell], r->arena);
	for (uint64_t n = so_far.invalid; rc == -EIO && n < r->campaign->settings.attempts; n++) {
		rc = run_attempt(r, cell, repeat, &why);
		if (rc == -EIO)
			log_warning("%s, repeat %u: %s", name, repeat + 1, why);
	}
	*campaign_why(r, cell, repeat) = rc == 0 ? NULL : why;
	if (rc == 0 && !r->quiet)
		table_put_repeat(r->journal, cell, repeat, stdout);
	return rc == -EIO ? 0 : rc;
}

int campaign_execute(struct campaign_runner *r)
{
	const struct campaign *c = r->campaign;
	int rc = 0;

	r->why = arena_zalloc(r->arena, c->cell_count * c->settings.repeats * sizeof(*r->why));
	// Repeat by repeat, so that changes on the box over time affect all points alike.
	for (uint32_t repeat = 0; rc == 0 && repeat < c->settings.repeats; repeat++)
		for (uint32_t cell = 0; rc == 0 && cell < c->cell_count; cell++) {
			if (interrupt_count)
				rc = -ECANCELED;
			else if (!journal_has(r->journal, cell, repeat))
				rc = run_repeat(r, cell, repeat);
		}
	return rc;
}
