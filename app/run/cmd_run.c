// SPDX-License-Identifier: BSD-3-Clause
// ddiperf run FILE and ddiperf respond FILE: load the file, catch signals, run the user's hooks,
// execute, report and write the result. Path: cold. Main thread.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "document/document_reader.h"
#include "run/commands.h"
#include "run/control.h"
#include "document/document.h"
#include "engine/run/run_course.h"
#include "engine/series/series.h"
#include "engine/tools/dryrun.h"
#include "engine/tools/selfcheck.h"
#include "format/format.h"
#include "format/format_select.h"
#include "fleet/coordinator/fleet.h"
#include "line/front.h"
#include "process/hooks.h"
#include "format/interval_format.h"
#include "io/driver/state.h"
#include "run/run_child.h"
#include "follow/run_events.h"
#include "process/orders.h"
#include "document/interval_file.h"
#include "report/report.h"
#include "export/scrape.h"
#include "process/signals.h"
#include "follow/stream.h"
#include "report/terminal.h"

#define JSON "--json" // name of the file in messages

struct session {
	const struct options *options;
	const struct config *config;
	bool respond;
	bool self_check;
	bool summed;     // the summary has been printed
	bool lines_lost; // output.jsonl is incomplete
	struct hooks hooks;
	struct report report;
	struct result result;
	struct run_events live;
	struct interval_format intervals;
	struct view view;
	struct interval_file part;
	bool keep_part;
	struct scrape scrape;
	struct control control;
	struct order_reader orders;
	struct fleet *fleet; // NULL: the run is local
};

static void on_note(void *ctx, const char *text)
{
	struct session *s = ctx;

	report_note(&s->report, text);
}

static void on_begin(void *ctx, const struct result *r, const struct config *c)
{
	struct session *s = ctx;

	signals_follow();
	run_events_begin(&s->live, r, s->config, c);
}

static void on_kept(void *ctx, const struct result_interval *i)
{
	struct session *s = ctx;

	run_events_interval(&s->live, i, false);
}

static void on_interval(void *ctx, const struct result_interval *i, bool warmup)
{
	struct session *s = ctx;

	if (warmup) // another one was kept
		run_events_interval(&s->live, i, true);
}

static void on_trial(
	void *ctx, const struct result_trial *t, uint32_t number, double answer, double upper)
{
	struct session *s = ctx;

	run_events_trial(&s->live, t, number, answer, upper);
}

// Writes one block with a single write: SIGUSR1.
static void tell_state(struct session *s)
{
	struct view_size size = {.columns = 79, .rows = 100, .utf8 = view_is_utf8(), .hint = ""};
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	ssize_t written;

	if (!f)
		return;
	view_draw(&s->view, &size, f);
	if (s->respond)
		fprintf(f, "received %llu, answered %llu\n",
			(unsigned long long)s->report.responder_received,
			(unsigned long long)s->report.responder_answered);
	fclose(f);
	report_clear(&s->report);
	fflush(stdout);
	written = write(STDERR_FILENO, text, len);
	(void)written; // there is nowhere to complain
	free(text);
}

static const char *take_order(void *ctx, const json_t *value, const json_t *line)
{
	const char *text, *refused;
	struct session *s = ctx;
	uint64_t at_ns;
	const char *why = order_setting(value, line, &text, &at_ns);

	if (why)
		return why;
	refused = s->config->search ? "a search sets the load itself"
	          : s->fleet        ? fleet_order(s->fleet, text, at_ns)
	                            : run_order(text, at_ns);
	if (refused)
		log_warning("order %s: %s", text, refused);
	else
		report_note(&s->report, text);
	run_events_order(&s->live, text, refused);
	return NULL;
}

static const struct order_verb verbs[] = {{"order", take_order}, {"stop", order_stop}, {0}};

static void on_refused(void *ctx, const char *line, const char *why)
{
	log_warning("order %s: %s", line, why);
}

static void on_tick(void *ctx)
{
	struct session *s = ctx;

	orders_read(&s->orders);
	if (signals_state_wanted())
		tell_state(s);
	run_events_tick(&s->live);
}

static void on_responder(void *ctx, double t_s, const struct result_responder *total)
{
	struct session *s = ctx;

	report_responder(&s->report, t_s, total);
}

static bool on_asked(void *ctx)
{
	struct session *s = ctx;

	return control_is_asked(&s->control);
}

static void on_told(void *ctx, const struct result_responder *total)
{
	struct session *s = ctx;

	control_tell(&s->control, total);
}

// Iterates over the formats requested in the file; *path is the file of the returned format. NULL:
// no more. Start with *at = 0.
static const struct format *next_output(const struct session *s, unsigned *at, const char **path)
{
	const struct output_settings *output = &s->config->output;

	while (!s->respond && *at < format_count) {
		const struct format *f = &formats[(*at)++];

		*path = f->file ? f->file(output) : NULL;
		if (*path)
			return f;
	}
	return NULL;
}

static const char *option_of(const struct session *s, const struct format *f)
{
	return arena_printf(s->options->arena, "output.%s:", f->name);
}

// Another output with the same file, which f's would replace; NULL: none. Pipes and devices accept
// several.
static const char *same_file(const struct session *s, const struct format *f, const char *path)
{
	const struct format *other;
	const char *taken;
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return NULL;
	if (s->options->json && strcmp(s->options->json, path) == 0)
		return JSON;
	for (unsigned at = 0; (other = next_output(s, &at, &taken)) && other != f;)
		if (strcmp(taken, path) == 0)
			return option_of(s, other);
	return NULL;
}

static int check_output(const struct session *s, const struct format *f, const char *path)
{
	const char *option = option_of(s, f), *other = same_file(s, f, path);

	if (other) {
		log_error("%s %s is the file of %s too (each needs its own)", option, path, other);
		return -EINVAL;
	}
	if (f->series && s->config->search) {
		log_error("%s a search has trials and no intervals (leave out output.%s, or "
			  "search)",
			option, f->name);
		return -EINVAL;
	}
	if (f->unfit && f->unfit(s->config)) {
		log_error("%s %s", option, f->unfit(s->config));
		return -EINVAL;
	}
	if (f->live && strncmp(path, STREAM_UNIX, strlen(STREAM_UNIX)) == 0)
		return 0;
	return document_check(option, path);
}

static int check_outputs(const struct session *s)
{
	int rc = s->options->json ? document_check(JSON, s->options->json) : 0;
	const struct format *f;
	const char *path;

	for (unsigned at = 0; rc == 0 && (f = next_output(s, &at, &path));)
		rc = check_output(s, f, path);
	return rc == 0 ? 0 : file_error_of_box(rc) ? EXIT_ENVIRONMENT : EXIT_CONFIG;
}

struct writing {
	const struct format *format;
	struct document_reader *reader;
};

static int write_format(void *ctx, FILE *out)
{
	const struct writing *w = ctx;

	return w->format->write(&(struct format_input){&w->reader, 1}, out);
}

static int write_outputs(const struct session *s, struct document_reader *b)
{
	const struct format *f;
	const char *path;
	int rc = 0;

	for (unsigned at = 0; (f = next_output(s, &at, &path));) {
		struct writing w = {f, b};

		if (f->live)
			continue;
		rc |= document_write_by(option_of(s, f), path,
			&(struct document_writer){write_format, &w, hooks_any_command(s->config)});
	}
	return rc;
}

// Members are NULL unless the front end has its own output.
static const struct front_output *front_output(const struct session *s)
{
	static const struct front_output none;

	return s->options->front ? &s->options->front->output : &none;
}

static bool wants_document(const struct session *s)
{
	const struct format *f;
	const char *path;
	unsigned at = 0;

	while ((f = next_output(s, &at, &path)) && f->live)
		;
	return s->options->json || s->options->brief || f || front_output(s)->end;
}

// The disk of the result is full or failing: saves the document where there is room, or prints it.
static void save_elsewhere(const struct session *s, struct document_reader *b)
{
	const char *const folders[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"};
	const char *wanted = s->options->json, *slash = strrchr(wanted, '/');

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char *dir = arena_printf(
			s->options->arena, "%s/ddiperf-XXXXXX", folders[i] ? folders[i] : "");
		const char *path;

		if (!folders[i] || !mkdtemp(dir))
			continue;
		path = arena_printf(s->options->arena, "%s/%s", dir, slash ? slash + 1 : wanted);
		if (reader_write(b, JSON, path, hooks_any_command(s->config)) == 0) {
			log_error("the result is in %s instead", path);
			return;
		}
		rmdir(dir);
	}
	reader_write(b, JSON, "-", false);
}

static bool is_file(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && (stat(path, &st) != 0 || S_ISREG(st.st_mode));
}

// 0, or negative after an error, which was logged. Keeps the interval file if the document cannot
// be written. *code: a front end may have its own exit codes.
static int write_document(struct session *s, int *code)
{
	const struct front_output *front = front_output(s);
	json_t *document = document_result(&s->result, s->config);
	struct document_reader reader;
	int rc = 0;

	if (s->fleet)
		fleet_complete(s->fleet, s->result.number, document);
	reader_of_run(&reader, document_as_written(document), s->part.f, s->result.number);
	if (s->options->json)
		rc = reader_write(&reader, JSON, s->options->json, hooks_any_command(s->config));
	if (file_error_of_box(rc) && is_file(s->options->json))
		save_elsewhere(s, &reader);
	if (rc < 0 && s->part.path && !s->part.error) {
		interval_file_leave(&s->part);
		s->keep_part = true;
	}
	rc |= write_outputs(s, &reader);
	if (s->options->brief)
		printf("%.2f\n", select_merit(&reader, 0));
	if (front->end)
		*code = front->end(front->ctx, &reader, *code);
	reader_close(&reader);
	return rc | s->part.error;
}

static void print_line(void *ctx, const char *text)
{
	fprintf(ctx, "%s\n", text);
}

// A summary did not reach standard output, or a result did not reach its file.
static void sum_up_on_stderr(struct session *s)
{
	struct report r;

	report_init(&r, stderr, false);
	if (s->respond)
		report_responder_end(&r, s->result.responder);
	else
		report_result(&r, &s->result);
	s->summed = true;
}

static bool sum_up(struct session *s)
{
	if (s->respond)
		report_responder_end(&s->report, s->result.responder);
	else
		report_result(&s->report, &s->result);
	if (s->self_check && s->report.out)
		selfcheck_describe(s->config, &s->result, print_line, s->report.out);
	return s->report.out && !s->report.quiet && fflush(s->report.out) == 0 &&
	       !ferror(s->report.out);
}

// A file that could not be written changes the exit code only of a run that passed.
static int hand_out(struct session *s, int code)
{
	bool incomplete = s->result.capture && s->result.capture->incomplete;

	s->summed = sum_up(s);
	if (s->report.out && ferror(s->report.out))
		sum_up_on_stderr(s);
	if (wants_document(s) && write_document(s, &code) < 0) {
		incomplete = true;
		if (!s->summed)
			sum_up_on_stderr(s);
	}
	s->summed = true;
	return incomplete && code == EXIT_PASS ? EXIT_ENVIRONMENT : code;
}

// Supports ddiperf watch. A run that cannot be watched continues.
static void open_watch_socket(struct session *s)
{
	char dir[256], path[512];
	struct stream *stream;
	int rc = -ENOENT;

	// Another run may remove the empty folder between the two calls.
	for (unsigned tries = 0; rc == -ENOENT && tries < 100; tries++) {
		rc = state_directory(dir, sizeof(dir));
		if (rc < 0)
			break;
		snprintf(path, sizeof(path), STREAM_UNIX);
		state_socket(
			dir, (uint64_t)getpid(), path + strlen(path), sizeof(path) - strlen(path));
		rc = stream_open(NULL, path, true, NULL, &stream);
	}
	if (rc == 0)
		run_events_follow(&s->live, stream_follower(stream));
	else
		log_debug("the run cannot be watched: %s", strerror(-rc));
}

static void follow_no_more(struct session *s)
{
	char dir[256];

	if (s->control.daemon)
		control_close(&s->control);
	run_events_close(&s->live);
	view_free(&s->view);
	interval_file_close(&s->part, s->keep_part);
	if (state_directory(dir, sizeof(dir)) == 0)
		state_leave_directory(dir);
}

// Start all observers of the run. 0, or -errno, which was logged.
static int follow(struct session *s)
{
	const struct output_settings *output = &s->config->output;
	struct stream *stream;
	int rc = 0;

	if (s->respond)
		return control_open(&s->control, s->config->responder->control);
	s->live.judges = true;
	if (wants_document(s))
		rc = interval_file_open(&s->part, s->options->json);
	if (s->part.f)
		run_events_follow(&s->live,
			(struct run_events_follower){interval_file_line, .ctx = &s->part});
	if (s->options->intervals && s->report.out && !s->report.quiet) {
		s->intervals = (struct interval_format){s->options->intervals, s->report.out};
		run_events_follow(&s->live, interval_format_follower(&s->intervals));
	} else {
		run_events_follow(
			&s->live, (struct run_events_follower){report_line, .ctx = &s->report});
	}
	if (front_output(s)->line)
		run_events_follow(&s->live, (struct run_events_follower){front_output(s)->line,
						    .ctx = front_output(s)->ctx});
	run_events_follow(&s->live, (struct run_events_follower){view_line, .ctx = &s->view});
	if (rc == 0)
		open_watch_socket(s);
	if (rc == 0 && output->jsonl) {
		rc = stream_open("output.jsonl:", output->jsonl, hooks_any_command(s->config),
			&s->lines_lost, &stream);
		if (rc == 0)
			run_events_follow(&s->live, stream_follower(stream));
	}
	if (rc == 0 && output->prometheus) {
		rc = scrape_open(&s->scrape, output->prometheus);
		if (rc == 0)
			run_events_follow(&s->live, (struct run_events_follower){scrape_line,
							    scrape_tick, scrape_close, &s->scrape});
	}
	if (rc == 0 && s->report.live) { // last, after the messages of the others
		terminal_open(&s->view, s->report.out, "q: stop and report");
		run_events_follow(&s->live, terminal_follower());
	}
	return rc;
}

static int execute(struct session *s, const struct run_options *run)
{
	int code;

	if (follow(s) < 0) {
		follow_no_more(s);
		return EXIT_ENVIRONMENT;
	}
	code = series_execute(run, s->options->arena, &s->result);
	if (s->respond && code == EXIT_INTERRUPTED)
		code = EXIT_PASS;
	if (s->result.verdict.status) {
		run_events_end(&s->live, &s->result);
		code = hand_out(s, code);
	}
	follow_no_more(s);
	return s->lines_lost && code == EXIT_PASS ? EXIT_ENVIRONMENT : code;
}

static int execute_between_hooks(struct session *s, const struct run_options *run)
{
	int code = EXIT_INTERRUPTED, rc = hooks_start(&s->hooks);

	if (rc < 0 && rc != -ECANCELED)
		return EXIT_ENVIRONMENT;
	if (!interrupt_count)
		code = execute(s, run);
	rc = hooks_stop(&s->hooks, code, s->result.verdict.status);
	if (rc < 0 && code == EXIT_PASS)
		code = rc == -ECANCELED ? EXIT_INTERRUPTED : EXIT_ENVIRONMENT;
	return code;
}

// Hooks of the file run on each box.
static int execute_on_fleet(struct session *s, struct run_options *run)
{
	const struct options *o = s->options;
	const struct fleet_wanted wanted = {.bus = options_bus(o, "ddiperf run"),
		.agents = o->agents,
		.labels = o->labels,
		.assignments = o->assignments,
		.assignment_count = o->assignment_count};
	struct run_elsewhere elsewhere;
	int code = fleet_open(&wanted, s->config, &s->fleet);

	if (code == 0) {
		elsewhere = fleet_elsewhere(s->fleet);
		run->elsewhere = &elsewhere;
		code = execute(s, run);
	}
	fleet_close(s->fleet);
	s->fleet = NULL;
	return code;
}

// For the emergency exit: see signals.h.
static struct session *session;

static void on_fatal_end(int code)
{
	const struct report *r = &session->report;

	run_halt();
	state_end_own();
	file_drafts_remove();
	interval_file_leave(&session->part);
	if (!session->summed && session->result.verdict.status)
		sum_up_on_stderr(session);
	else if (!session->summed && r->sent)
		log_error("until the end of the last interval: sent %llu, answered %llu, lost %llu",
			(unsigned long long)r->sent, (unsigned long long)r->answered,
			(unsigned long long)r->lost);
	if (!session->respond)
		hooks_stop(&session->hooks, code, session->result.verdict.status);
	log_error("the run was given up (exit code %d); the box is as it was before", code);
}

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

static int run_session(struct session *s, struct diag *d)
{
	const struct options *o = s->options;
	bool alone = o->brief || is_stdout(o->json) || is_stdout(s->config->output.jsonl) ||
	             front_output(s)->end;
	struct run_options run = {.config = s->config,
		.diag = d,
		.respond_only = s->respond,
		.command = o->command_line,
		.version = DDIPERF_VERSION,
		.id = s->config->run.id ? s->config->run.id : run_make_id(o->arena),
		.signals = &interrupt_count,
		.hooks = {.note = on_note,
			.begin = on_begin,
			.trial = on_trial,
			.kept = on_kept,
			.interval = on_interval,
			.responder = on_responder,
			.asked = s->respond ? on_asked : NULL,
			.told = on_told,
			.tick = on_tick,
			.ctx = s}};
	int code;

	if (o->intervals && interval_format_check_names(o->intervals, s->config) < 0)
		return EXIT_CONFIG;
	code = check_outputs(s);
	if (code)
		return code;
	report_init(&s->report, alone ? NULL : stdout, o->quiet);
	s->report.live &= !o->intervals && !s->respond;
	s->hooks = (struct hooks){s->config, run.id, o->json};
	session = s;
	signals_catch(on_fatal_end, terminal_restore);
	if (o->fleet)
		code = execute_on_fleet(s, &run);
	else
		code = s->respond ? execute(s, &run) : execute_between_hooks(s, &run);
	signals_over();
	orders_close(&s->orders);
	return code;
}

static int dry_run(const struct options *o, const struct config *c, struct diag *d)
{
	struct dryrun done;
	int code = dryrun_write(c, o->dry_run, o->arena, d, &done);

	if (code == EXIT_PASS && !o->quiet)
		printf("%llu packets in %s; nothing was sent\n", (unsigned long long)done.packets,
			o->dry_run);
	return code;
}

static int self_check(const struct options *o, const struct config *c, struct diag *d)
{
	struct session s = {.options = o,
		.config = selfcheck_possible(c, d) ? selfcheck_derive(c, o->arena, d) : NULL,
		.self_check = true};

	if (s.config)
		return run_session(&s, d);
	diag_print(d, stderr);
	return EXIT_CONFIG;
}

int cmd_run(const struct options *o)
{
	struct session s = {.options = o,
		.orders = {.wanted = o->orders,
			.size = ORDER_SIZE,
			.verbs = verbs,
			.refused = on_refused,
			.ctx = &s}};
	struct diag *d;
	int code = EXIT_CONFIG;

	if (o->dry_run && (o->self_check || o->json)) {
		log_error("run: --dry-run sends nothing and has no result (leave out %s)",
			o->json ? "--json" : "--self-check");
		return EXIT_CONFIG;
	}
	if (o->brief && (o->dry_run || is_stdout(o->json))) {
		log_error("run: --brief prints one figure (leave out --%s)",
			o->dry_run ? "dry-run" : "json -");
		return EXIT_CONFIG;
	}
	if (o->led && (o->dry_run || o->self_check || o->brief || o->json || o->orders)) {
		log_error("run: --led has its own orders and results (leave out --json, --orders, "
			  "--brief, --dry-run and --self-check)");
		return EXIT_CONFIG;
	}
	if (o->intervals && interval_format_check(o->intervals) < 0)
		return EXIT_CONFIG;
	s.config = command_config(o, &d);
	if (!s.config)
		code = command_error_code(d);
	if (o->led)
		code = run_child(o, s.config, d);
	else if (s.config)
		code = o->dry_run      ? dry_run(o, s.config, d)
		       : o->self_check ? self_check(o, s.config, d)
		                       : run_session(&s, d);
	diag_free(d);
	return code;
}

int cmd_run_front(struct front *f, const struct options *o)
{
	struct options line = *o;

	line.front = f;
	if (o->html)
		front_set(f, arena_printf(o->arena, "--html %s", o->html), "output.html", o->html);
	line.html = NULL;
	if (!o->dump)
		return cmd_run(&line);
	printf("# %s\n%s", o->command_line, front_yaml(f));
	return EXIT_PASS;
}

const struct own_option respond_options[] = {
	{'\0', "control", "ADDRESS", "responder.control.address", NULL, FRONT_TEXT,
		"serve the counters at 127.0.0.1:PORT or unix:PATH to testers with the token"},
	{'\0', "control-token", "FILE", "responder.control.token", NULL, FRONT_TEXT,
		"its first line is the token"},
	{0},
};

// An interrupt is the normal end of a responder.
int cmd_respond(const struct options *o)
{
	struct options line = *o;
	struct session s = {.options = &line, .respond = true};
	struct diag *d;
	int code;

	for (unsigned i = 0; i < o->given_count; i++)
		line.assignments[line.assignment_count++] =
			arena_printf(o->arena, "%s=%s", o->given[i].row->path, o->given[i].value);
	s.config = command_config(&line, &d);
	code = s.config ? run_session(&s, d) : command_error_code(d);
	diag_free(d);
	return code;
}
