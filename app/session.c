// SPDX-License-Identifier: BSD-3-Clause
// One run from the point of view of the process: signals in, report and document out.
// Path: cold. Main thread.
#include "session.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "document.h"
#include "engine/config/config_load.h"
#include "engine/tools/dryrun.h"
#include "engine/tools/selfcheck.h"
#include "engine/series/series.h"
#include "hooks.h"
#include "junit.h"
#include "report.h"

#define JUNIT "output.junit:"

static volatile sig_atomic_t interrupts;

// The third one is for a start or a stop that hangs.
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

const struct config *session_config(const struct options *o, struct diag **d)
{
	const struct config *c;

	*d = diag_new();
	c = config_load(o->operand, o->assignments, o->assignment_count, o->arena, *d);
	diag_print(*d, stderr);
	return c;
}

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

// The verdict matters more than a result that could not be stored, unless all was well.
static int write_document(
	const char *path, const struct result *r, const struct config *c, int code)
{
	json_t *document = document_result(r, c);
	int rc = document_write(document, path);

	json_decref(document);
	return rc < 0 && code == EXIT_PASS ? EXIT_ENVIRONMENT : code;
}

static int write_junit(const char *path, const struct result *r, int code)
{
	char *text = junit_text(r);
	int rc = document_put(JUNIT, text, path);

	free(text);
	return rc < 0 && code == EXIT_PASS ? EXIT_ENVIRONMENT : code;
}

struct session {
	const struct options *options;
	const struct config *config;
	bool respond;
	// What else is to be said about the result; NULL: nothing.
	void (*after)(struct report *report, const struct config *c, const struct result *r);
	struct report report;
	struct result result;
};

static const char *junit_of(const struct session *s)
{
	return s->respond ? NULL : s->config->output.junit;
}

static int check_outputs(const struct session *s)
{
	if (s->options->json && document_check(s->options->json) < 0)
		return EXIT_CONFIG;
	if (junit_of(s) && document_check_as(JUNIT, junit_of(s)) < 0)
		return EXIT_CONFIG;
	return 0;
}

static bool lacks_evidence(const struct result *r)
{
	return r->capture && r->capture->incomplete;
}

static int hand_out(struct session *s, int code)
{
	if (lacks_evidence(&s->result) && code == EXIT_PASS)
		code = EXIT_ENVIRONMENT;
	if (s->respond)
		report_responder_end(&s->report, s->result.responder);
	else
		report_result(&s->report, &s->result);
	if (s->after)
		s->after(&s->report, s->config, &s->result);
	if (junit_of(s))
		code = write_junit(junit_of(s), &s->result, code);
	if (s->options->json)
		code = write_document(s->options->json, &s->result, s->config, code);
	return code;
}

static int execute(struct session *s, const struct run_options *run)
{
	int code = series_execute(run, s->options->arena, &s->result);

	if (s->respond && code == EXIT_INTERRUPTED)
		code = EXIT_PASS;
	return s->result.verdict.status ? hand_out(s, code) : code;
}

// What was started is stopped, whatever became of the run.
static int execute_between_hooks(struct session *s, const struct run_options *run)
{
	const struct hooks_settings *hooks = &s->config->hooks;
	struct arena *a = s->options->arena;
	struct hook h = {.id = run->id,
		.name = s->config->run.name,
		.result = s->options->json,
		.exit_code = -1,
		.timeout_ns = hooks->timeout_ns};
	int code;

	if (hook_run("start", hooks->start, &h, a) < 0)
		return EXIT_ENVIRONMENT;
	code = execute(s, run);
	h.status = s->result.verdict.status;
	h.exit_code = code;
	return hook_run("stop", hooks->stop, &h, a) < 0 && code == EXIT_PASS ? EXIT_ENVIRONMENT
	                                                                     : code;
}

static int session(struct session *s, struct diag *d)
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
	int code = check_outputs(s);

	if (code)
		return code;
	report_init(&s->report, alone ? NULL : stdout, o->quiet);
	s->report.duration_s = 1e-9 * (double)s->config->run.duration_ns;
	catch_signals();
	return s->respond ? execute(s, &run) : execute_between_hooks(s, &run);
}

int session_run(const struct options *o, const struct config *c, struct diag *d, bool respond)
{
	struct session s = {.options = o, .config = c, .respond = respond};

	return session(&s, d);
}

int session_dry_run(const struct options *o, const struct config *c, struct diag *d)
{
	struct dryrun done;
	int code = dryrun_write(c, o->dry_run, o->arena, d, &done);

	if (code == EXIT_PASS && !o->quiet)
		printf("%llu packets in %s; nothing was sent\n", (unsigned long long)done.packets,
			o->dry_run);
	return code;
}

static void print_line(void *ctx, const char *text)
{
	fprintf(ctx, "%s\n", text);
}

static void describe_self_check(
	struct report *report, const struct config *c, const struct result *r)
{
	if (report->out)
		selfcheck_describe(c, r, print_line, report->out);
}

int session_self_check(const struct options *o, const struct config *c, struct diag *d)
{
	struct session s = {.options = o,
		.config = selfcheck_derive(c, o->arena, d),
		.after = describe_self_check};

	if (s.config)
		return session(&s, d);
	diag_print(d, stderr);
	return EXIT_CONFIG;
}
