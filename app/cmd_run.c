// SPDX-License-Identifier: BSD-3-Clause
// ddiperf run FILE and ddiperf respond FILE: load the file, catch signals, run the user's hooks,
// execute, report and write the result. Path: cold. Main thread.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "commands.h"
#include "document.h"
#include "engine/run/command.h"
#include "engine/series/series.h"
#include "engine/tools/dryrun.h"
#include "engine/tools/selfcheck.h"
#include "junit.h"
#include "report.h"

#define JUNIT "output.junit:" // as messages call the file
#define JSON  "--json"

static volatile sig_atomic_t interrupts;

// The third signal ends a start or a stop that hangs.
static void on_signal(int number)
{
	if (++interrupts > 2)
		_exit(EXIT_INTERRUPTED);
}

static void catch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal}, before;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		sigaction(numbers[i], NULL, &before);
		if (numbers[i] == SIGHUP && before.sa_handler == SIG_IGN)
			continue; // nohup
		sigaction(numbers[i], &action, NULL);
	}
}

struct session {
	const struct options *options;
	const struct config *config;
	const char *junit; // NULL: none
	bool respond;
	bool self_check;
	struct report report;
	struct result result;
};

static void on_note(void *ctx, const char *text)
{
	report_note(ctx, text);
}

static void on_interval(void *ctx, const struct result_interval *i, bool warmup)
{
	report_interval(ctx, i, warmup);
}

static void on_responder(void *ctx, double t_s, const struct result_responder *total)
{
	report_responder(ctx, t_s, total);
}

static int check_outputs(const struct session *s)
{
	if (s->options->json && document_check(JSON, s->options->json) < 0)
		return EXIT_CONFIG;
	if (s->junit && document_check(JUNIT, s->junit) < 0)
		return EXIT_CONFIG;
	return 0;
}

static int write_json(const struct session *s)
{
	json_t *document = document_result(&s->result, s->config);
	int rc = document_write_json(JSON, document, s->options->json);

	json_decref(document);
	return rc;
}

static int write_junit(const struct session *s)
{
	char *text = junit_text(&s->result);
	int rc = document_write(JUNIT, text, s->junit);

	free(text);
	return rc;
}

static void print_line(void *ctx, const char *text)
{
	fprintf(ctx, "%s\n", text);
}

// A file that could not be written changes the exit code of a run that passed, and of no other.
static int hand_out(struct session *s, int code)
{
	bool incomplete = s->result.capture && s->result.capture->incomplete;

	if (s->respond)
		report_responder_end(&s->report, s->result.responder);
	else
		report_result(&s->report, &s->result);
	if (s->self_check && s->report.out)
		selfcheck_describe(s->config, &s->result, print_line, s->report.out);
	if (s->junit)
		incomplete |= write_junit(s) < 0;
	if (s->options->json)
		incomplete |= write_json(s) < 0;
	return incomplete && code == EXIT_PASS ? EXIT_ENVIRONMENT : code;
}

static int execute(struct session *s, const struct run_options *run)
{
	int code = series_execute(run, s->options->arena, &s->result);

	if (s->respond && code == EXIT_INTERRUPTED)
		code = EXIT_PASS;
	return s->result.verdict.status ? hand_out(s, code) : code;
}

struct hook {
	const char *name; // "start" or "stop"
	const char *text; // the command; NULL: none
	int exit_code;    // of the run; -1: the run has not begun
};

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

// 0, or -1 after an error, which was logged.
static int run_hook(const struct session *s, const struct run_options *run, const struct hook *h)
{
	struct arena *a = s->options->arena;
	char *env[6] = {
		arena_printf(a, "DDIPERF_RUN_ID=%s", text_or_empty(run->id)),
		arena_printf(a, "DDIPERF_RUN_NAME=%s", text_or_empty(s->config->run.name)),
		arena_printf(a, "DDIPERF_RESULT=%s", text_or_empty(s->options->json)),
	};
	struct command_run c = {
		.text = h->text, .more_env = env, .timeout_ns = s->config->hooks.timeout_ns};
	char outcome[96];
	int rc;

	if (!h->text)
		return 0;
	if (h->exit_code >= 0) {
		env[3] = arena_printf(
			a, "DDIPERF_STATUS=%s", text_or_empty(s->result.verdict.status));
		env[4] = arena_printf(a, "DDIPERF_EXIT_CODE=%d", h->exit_code);
	}
	rc = command_run(&c);
	if (rc == 0)
		return 0;
	log_error("hooks.%s: %s: %s", h->name, h->text,
		command_outcome(&c, rc, outcome, sizeof(outcome)));
	return -1;
}

// The stop hook follows every start hook, whatever became of the run.
static int execute_between_hooks(struct session *s, const struct run_options *run)
{
	const struct hooks_settings *hooks = &s->config->hooks;
	int code;

	if (run_hook(s, run, &(struct hook){"start", hooks->start, -1}) < 0)
		return EXIT_ENVIRONMENT;
	code = execute(s, run);
	if (run_hook(s, run, &(struct hook){"stop", hooks->stop, code}) < 0 && code == EXIT_PASS)
		code = EXIT_ENVIRONMENT;
	return code;
}

static int run_session(struct session *s, struct diag *d)
{
	const struct options *o = s->options;
	bool alone = o->json && o->json[0] == '-' && o->json[1] == '\0';
	struct run_options run = {.config = s->config,
		.diag = d,
		.respond_only = s->respond,
		.command = o->command_line,
		.version = DDIPERF_VERSION,
		.id = run_make_id(o->arena),
		.signals = &interrupts,
		.hooks = {.note = on_note,
			.interval = on_interval,
			.responder = on_responder,
			.ctx = &s->report}};
	int code;

	s->junit = s->respond ? NULL : s->config->output.junit;
	code = check_outputs(s);
	if (code)
		return code;
	report_init(&s->report, alone ? NULL : stdout, o->quiet);
	s->report.duration_s = 1e-9 * (double)s->config->run.duration_ns;
	catch_signals();
	return s->respond ? execute(s, &run) : execute_between_hooks(s, &run);
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
	struct session s = {.options = o};
	struct diag *d;
	int code = EXIT_CONFIG;

	if (o->dry_run && (o->self_check || o->json)) {
		log_error("run: --dry-run sends nothing and has no result (leave out %s)",
			o->json ? "--json" : "--self-check");
		return EXIT_CONFIG;
	}
	s.config = command_config(o, &d);
	if (s.config)
		code = o->dry_run      ? dry_run(o, s.config, d)
		       : o->self_check ? self_check(o, s.config, d)
		                       : run_session(&s, d);
	diag_free(d);
	return code;
}

// An interrupt is the normal end of a responder.
int cmd_respond(const struct options *o)
{
	struct session s = {.options = o, .respond = true};
	struct diag *d;
	int code = EXIT_CONFIG;

	s.config = command_config(o, &d);
	if (s.config)
		code = run_session(&s, d);
	diag_free(d);
	return code;
}
