// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "run/run_child.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "document/document_reader.h"
#include "run/commands.h"
#include "document/document.h"
#include "engine/config/config_load.h"
#include "engine/run/run.h"
#include "engine/run/run_course.h"
#include "engine/series/series.h"
#include "engine/series/series_run.h"
#include "process/hooks.h"
#include "io/driver/state.h"
#include "follow/run_events.h"
#include "process/orders.h"
#include "document/interval_file.h"
#include "process/signals.h"
#include "report/terminal.h"

#define WAIT_MS   20   // for an order
#define TEXT_SIZE 1024 // of a reason

enum led_state { LED_IDLE, LED_RUNS, LED_WAITS }; // WAITS: a run is ready and has no start time

struct led {
	const struct options *options;
	struct run_options run;
	const struct config *config; // of the file
	FILE *out;
	struct order_reader reader;
	struct hooks hooks;
	struct run_events live;
	struct interval_file part;
	enum led_state state;
	struct run *ports;
	uint64_t number;   // of the latest run
	uint64_t start_ns; // ordered start time; 0: none
	int lent;          // interrupts added by orders to stop
	bool enough;       // the run has reached its purpose
	char **texts;      // settings of the next run; NULL: no run was ordered
	unsigned count;
	struct result result;
};

// --- events ---

// If the leader is gone, acts like an interrupt.
static void put_line(void *ctx, const json_t *line)
{
	struct led *s = ctx;

	if (json_dumpf(line, s->out, JSON_COMPACT | JSON_REAL_PRECISION(15)) == 0 &&
		fputc('\n', s->out) >= 0 && fflush(s->out) == 0)
		return;
	if (interrupt_count == 0)
		interrupt_count = 1;
}

static void put_event(struct led *s, json_t *event)
{
	put_line(s, event);
	json_decref(event);
}

static json_t *text_of(const char *text)
{
	json_t *s = json_string(text);

	return s ? s : json_string("(not UTF-8)");
}

static void put_number(struct led *s, const char *kind, uint64_t wall_ns)
{
	put_event(s,
		json_pack("{s:I,s:I}", kind, (json_int_t)s->number, "at_ns", (json_int_t)wall_ns));
}

// Report the reason: errors of the settings, otherwise the last logged error.
static void put_failed(struct led *s, int code, const struct diag *d)
{
	char logged[TEXT_SIZE], *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	log_take_error(logged, sizeof(logged));
	if (!f)
		arena_exhausted();
	if (d && diag_count(d))
		diag_print(d, f);
	else
		fputs(logged[0] ? logged : "interrupted", f);
	fclose(f);
	while (len && text[len - 1] == '\n')
		text[--len] = '\0';
	put_event(s, json_pack("{s:i,s:o}", "failed", code, "text", text_of(text)));
	free(text);
}

// --- orders ---

// Is the setting fixed for the process? So are settings of ports and commands that already exist.
static bool is_fixed(const char *setting)
{
	static const char *const fixed[] = {"ports", "host", "responder", "hooks", "fleet"};

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		size_t len = strlen(fixed[i]);

		if (strncmp(setting, fixed[i], len) == 0 && strchr(".[= ", setting[len]))
			return true;
	}
	return false;
}

static const char *take_once(void *ctx, const json_t *value, const json_t *line)
{
	struct led *s = ctx;
	size_t count = json_array_size(value);
	char **texts = arena_zalloc(s->options->arena, (count + 1) * sizeof(*texts));

	if (s->state != LED_IDLE || s->texts)
		return "a run is in progress";
	if (!json_is_array(value))
		return "once: a list of settings is missing";
	for (size_t i = 0; i < count; i++) {
		const char *text = json_string_value(json_array_get(value, i));

		if (!text)
			return "once: not a text like traffic.queries.load.rate=5k";
		if (is_fixed(text))
			return "once: ports, host, responder, hooks and fleet stay as they are";
		texts[i] = arena_strdup(s->options->arena, text);
	}
	s->texts = texts;
	s->count = (unsigned)count;
	return NULL;
}

static const char *take_start(void *ctx, const json_t *value, const json_t *line)
{
	struct led *s = ctx;

	if (s->state != LED_WAITS)
		return "no run waits for its start";
	if (json_integer_value(value) <= 0)
		return "start: Unix time in nanoseconds is missing";
	s->start_ns = (uint64_t)json_integer_value(value);
	return NULL;
}

static const char *take_order(void *ctx, const json_t *value, const json_t *line)
{
	const char *text, *refused;
	struct led *s = ctx;
	uint64_t at_ns;
	const char *why = order_setting(value, line, &text, &at_ns);

	if (why)
		return why;
	refused = run_order(text, at_ns);
	if (refused)
		log_warning("order %s: %s", text, refused);
	if (s->state != LED_IDLE)
		run_events_order(&s->live, text, refused);
	else // no run can include it in its lines
		put_event(s, json_pack("{s:s,s:s?}", "order", text, "refused", refused));
	return NULL;
}

// End the run with this number of interrupts, withdrawn afterwards. 0: its purpose is reached.
static const char *take_stop(void *ctx, const json_t *value, const json_t *line)
{
	struct led *s = ctx;
	int wanted = (int)json_integer_value(value);

	if (s->state == LED_IDLE)
		return "no run is in progress";
	if (!json_is_integer(value) || wanted < 0 || wanted > 2)
		return "stop: 0 (enough), 1 (wait for replies) or 2 (at once) is missing";
	s->enough |= wanted == 0;
	if (interrupt_count < wanted) {
		s->lent += wanted - interrupt_count;
		interrupt_count = wanted;
	}
	return NULL;
}

static const struct order_verb verbs[] = {{"once", take_once}, {"start", take_start},
	{"order", take_order}, {"stop", take_stop}, {0}};

static void on_refused(void *ctx, const char *line, const char *why)
{
	put_event(ctx, json_pack("{s:o,s:s}", "refused", text_of(line), "text", why));
}

// --- a run ---

static void on_note(void *ctx, const char *text)
{
	log_note("%s", text);
}

static void on_begin(void *ctx, const struct result *r, const struct config *c)
{
	struct led *s = ctx;

	signals_follow();
	s->number = r->number;
	run_events_begin(&s->live, r, c, c);
}

static void on_kept(void *ctx, const struct result_interval *i)
{
	struct led *s = ctx;

	run_events_interval(&s->live, i, false);
}

static void on_interval(void *ctx, const struct result_interval *i, bool warmup)
{
	struct led *s = ctx;

	if (warmup) // another one was kept
		run_events_interval(&s->live, i, true);
}

static void on_tick(void *ctx)
{
	struct led *s = ctx;

	orders_read(&s->reader);
	run_events_tick(&s->live);
}

static bool on_enough(void *ctx)
{
	const struct led *s = ctx;

	return s->enough;
}

static bool on_start(void *ctx, uint64_t *wall_ns)
{
	struct timespec now;
	struct led *s = ctx;

	clock_gettime(CLOCK_REALTIME, &now);
	s->start_ns = 0;
	s->state = LED_WAITS;
	put_number(s, "ready", (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	while (!s->start_ns && !interrupt_count) {
		orders_wait(WAIT_MS);
		on_tick(s);
	}
	s->state = LED_RUNS;
	*wall_ns = s->start_ns;
	return !interrupt_count;
}

static void on_started(void *ctx, uint64_t wall_ns)
{
	put_number(ctx, "started", wall_ns);
}

// 0, or -errno, which was logged; then the interval file is kept.
static int write_result(struct led *s, const char *file, const struct config *c)
{
	struct document_reader reader;
	int rc;

	reader_of_run(&reader, document_as_written(document_result(&s->result, c)), s->part.f,
		s->result.number);
	rc = reader_write(&reader, "run --led:", file, hooks_any_command(c));
	reader_close(&reader);
	return rc ? rc : s->part.error;
}

static const struct config *derive(struct led *s, struct diag *d)
{
	const struct config *c = config_derive(s->config, s->texts, s->count, s->options->arena, d);

	return c && s->options->confined ? command_confine(c, s->options->commands, d) : c;
}

// Returns the exit code of the run. Its document exists, or the reason was reported.
static int run_ordered(struct led *s, const struct config *c, struct diag *d, const char *file)
{
	int code = run_once(s->ports, c, d, &s->result);

	if (s->result.verdict.status) {
		run_events_end(&s->live, &s->result);
		if (write_result(s, file, c) < 0) {
			interval_file_leave(&s->part);
			code = EXIT_ENVIRONMENT;
			s->result.verdict.status = NULL;
		}
	}
	if (s->result.verdict.status)
		put_event(s, json_pack("{s:I,s:s,s:i}", "result", (json_int_t)s->number, "file",
				     file, "code", code));
	else
		put_failed(s, code, d);
	return code;
}

static int run_next(struct led *s)
{
	char *file =
		arena_printf(s->options->arena, "run-%llu.json", (unsigned long long)s->number + 1);
	struct diag *d = diag_new();
	const struct config *c = derive(s, d);
	int code = EXIT_CONFIG;

	s->state = LED_RUNS;
	s->texts = NULL;
	diag_print(d, stderr);
	if (!c) {
		put_failed(s, code, d);
	} else if (interval_file_open(&s->part, file) < 0) {
		code = EXIT_ENVIRONMENT;
		put_failed(s, code, NULL);
	} else {
		bool known;

		code = run_ordered(s, c, d, file);
		known = s->result.verdict.status || !s->part.filled;
		interval_file_close(&s->part, !known);
	}
	s->state = LED_IDLE;
	s->enough = false;
	interrupt_count -= s->lent;
	s->lent = 0;
	diag_free(d);
	return code;
}

// --- from start to end ---

static struct led *led;

static void on_fatal_end(int code)
{
	run_halt();
	state_end_own();
	file_drafts_remove();
	interval_file_leave(&led->part);
	hooks_stop(&led->hooks, code, led->result.verdict.status);
	log_error("the run was given up (exit code %d); the box is as it was before", code);
}

// Returns the code of the last run, or the reason for having none.
static int serve_orders(struct led *s)
{
	int code = EXIT_PASS;

	put_event(s, json_pack("{s:b}", "up", 1));
	while (!interrupt_count && !s->reader.over) {
		orders_read(&s->reader);
		if (s->texts)
			code = run_next(s);
		else if (!s->reader.over)
			orders_wait(WAIT_MS);
	}
	return interrupt_count && !s->reader.over ? EXIT_INTERRUPTED : code;
}

static int lead_on_ports(struct led *s)
{
	int code = run_open(&s->run, s->options->arena, &s->ports), kept;

	if (code)
		put_failed(s, code, s->run.diag);
	else
		code = serve_orders(s);
	kept = run_close(s->ports);
	return code ? code : kept;
}

static int lead_between_hooks(struct led *s)
{
	int rc = hooks_start(&s->hooks), code = EXIT_INTERRUPTED;

	if (rc < 0 && rc != -ECANCELED) {
		put_failed(s, EXIT_ENVIRONMENT, NULL);
		return EXIT_ENVIRONMENT;
	}
	if (rc == 0 && !interrupt_count)
		code = lead_on_ports(s);
	rc = hooks_stop(&s->hooks, code, s->result.verdict.status);
	return rc < 0 && code == EXIT_PASS ? EXIT_ENVIRONMENT : code;
}

// Reserves standard output for events; other output, including drivers' lines, goes to standard
// error.
static FILE *take_stdout(void)
{
	int fd = dup(STDOUT_FILENO);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (out && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		return out;
	log_error("standard output: %s", strerror(errno));
	return NULL;
}

int run_child(const struct options *o, const struct config *c, struct diag *d)
{
	struct led s = {.options = o,
		.config = c,
		.out = take_stdout(),
		.reader = {.wanted = true,
			.size = ORDER_SIZE_MAX,
			.verbs = verbs,
			.refused = on_refused},
		.run = {.config = c && c->search ? series_greatest(c, o->arena, d) : c,
			.diag = d,
			.command = o->command_line,
			.version = DDIPERF_VERSION,
			.signals = &interrupt_count,
			.hooks = {.note = on_note,
				.begin = on_begin,
				.kept = on_kept,
				.interval = on_interval,
				.tick = on_tick,
				.enough = on_enough,
				.start = on_start,
				.started = on_started}}};
	int code = EXIT_CONFIG;

	if (!s.out)
		return EXIT_ENVIRONMENT;
	s.run.hooks.ctx = s.reader.ctx = &s;
	if (!s.run.config) {
		put_failed(&s, code, d);
	} else {
		s.run.id = c->run.id ? c->run.id : run_make_id(o->arena);
		s.hooks = (struct hooks){.config = c, .id = s.run.id};
		run_events_follow(
			&s.live, (struct run_events_follower){interval_file_line, .ctx = &s.part});
		run_events_follow(&s.live, (struct run_events_follower){put_line, .ctx = &s});
		led = &s;
		signals_catch(on_fatal_end, terminal_restore);
		code = lead_between_hooks(&s);
		signals_over();
		run_events_close(&s.live);
	}
	orders_close(&s.reader);
	fclose(s.out);
	return code;
}
