// SPDX-License-Identifier: BSD-3-Clause
// One run from the point of view of the process: signals in, report and document out.
// Path: cold. Main thread.
#include "session.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "document.h"
#include "engine/dryrun.h"
#include "engine/selfcheck.h"
#include "engine/series.h"
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

// after: what else is to be said about the result; NULL: nothing.
static int session(const struct options *o, const struct config *c, struct diag *d, bool respond,
	void (*after)(struct report *report, const struct config *c, const struct result *r))
{
	bool alone = o->json && o->json[0] == '-' && o->json[1] == '\0';
	struct report report;
	struct result result = {0};
	struct run_options run = {.config = c,
		.diag = d,
		.respond_only = respond,
		.command = o->command_line,
		.version = DDIPERF_VERSION,
		.signals = &interrupts,
		.hooks = {on_note, on_interval, on_responder, &report}};
	const char *junit = respond ? NULL : c->output.junit;
	int code;

	if (o->json && document_check(o->json) < 0)
		return EXIT_CONFIG;
	if (junit && document_check_as(JUNIT, junit) < 0)
		return EXIT_CONFIG;
	report_init(&report, alone ? NULL : stdout, o->quiet);
	report.duration_s = 1e-9 * (double)c->run.duration_ns;
	catch_signals();
	code = series_execute(&run, o->arena, &result);
	if (respond && code == EXIT_INTERRUPTED)
		code = EXIT_PASS;
	if (!result.verdict.status)
		return code;
	if (respond)
		report_responder_end(&report, result.responder);
	else
		report_result(&report, &result);
	if (after)
		after(&report, c, &result);
	if (junit)
		code = write_junit(junit, &result, code);
	return o->json ? write_document(o->json, &result, c, code) : code;
}

int session_run(const struct options *o, const struct config *c, struct diag *d, bool respond)
{
	return session(o, c, d, respond, NULL);
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
	const struct config *derived = selfcheck_derive(c, o->arena, d);

	if (derived)
		return session(o, derived, d, false, describe_self_check);
	diag_print(d, stderr);
	return EXIT_CONFIG;
}
