// SPDX-License-Identifier: BSD-3-Clause
// One run from the point of view of the process: signals in, report and document out.
// Path: cold. Main thread.
#include "session.h"

#include <signal.h>
#include <unistd.h>

#include "base/log.h"
#include "document.h"
#include "report.h"

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

int session_run(const struct options *o, const struct config *c, struct diag *d, bool respond)
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
	int code;

	if (o->json && document_check(o->json) < 0)
		return EXIT_CONFIG;
	report_init(&report, alone ? NULL : stdout, o->quiet);
	report.duration_s = 1e-9 * (double)c->run.duration_ns;
	catch_signals();
	code = run_execute(&run, o->arena, &result);
	if (respond && code == EXIT_INTERRUPTED)
		code = EXIT_PASS;
	if (!result.verdict.status)
		return code;
	if (respond)
		report_responder_end(&report, result.responder);
	else
		report_result(&report, &result);
	return o->json ? write_document(o->json, &result, c, code) : code;
}
