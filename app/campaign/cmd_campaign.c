// SPDX-License-Identifier: BSD-3-Clause
// ddiperf campaign FILE: many runs, on several servers, as one table that can be resumed.
// Path: cold. Main thread.
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "campaign/campaign_run.h"
#include "campaign/campaign_table.h"
#include "run/commands.h"
#include "conf/schema.h"
#include "document/document.h"
#include "process/signals.h"
#include "report/terminal.h"

static int write_json(void *ctx, FILE *out)
{
	json_t *table = table_json(ctx);
	int rc = document_print(table, out);

	json_decref(table);
	return rc;
}

static int write_markdown(void *ctx, FILE *out)
{
	table_put(ctx, TABLE_MARKDOWN, out);
	return 0;
}

static int write_csv(void *ctx, FILE *out)
{
	table_put_csv(ctx, out);
	return 0;
}

static int write_page(void *ctx, FILE *out)
{
	return table_put_page(ctx, out);
}

#define OUTPUT_JSON   "output.json:"
#define PLACE(member) offsetof(struct campaign_output, member)

// The output files in addition to the journal.
static const struct {
	const char *option;
	size_t place;
	int (*write)(void *ctx, FILE *out);
} files[] = {
	{OUTPUT_JSON, PLACE(json), write_json},
	{"output.markdown:", PLACE(markdown), write_markdown},
	{"output.csv:", PLACE(csv), write_csv},
	{"output.html:", PLACE(html), write_page},
};

#define FILES (sizeof(files) / sizeof(files[0]))

static const char *path_of(const struct campaign *c, size_t i)
{
	return *(const char *const *)((const char *)&c->settings.output + files[i].place);
}

static int check_files(const struct campaign *c)
{
	for (size_t i = 0; i < FILES; i++)
		if (path_of(c, i) && document_check(files[i].option, path_of(c, i)) < 0)
			return -EINVAL;
	return 0;
}

// 0, or negative if a file could not be written, which was logged.
static int write_files(const struct campaign_table *t)
{
	const struct campaign *c = t->journal->campaign;
	int rc = 0;

	for (size_t i = 0; i < FILES; i++)
		if (path_of(c, i))
			rc |= document_write_by(files[i].option, path_of(c, i),
				&(struct document_writer){files[i].write, (void *)t});
	return rc;
}

static void on_fatal_end(int code)
{
	log_error("the campaign was given up (exit code %d); its finished runs are kept", code);
}

static int code_of(const struct campaign_runner *r, const struct campaign_table *t, int rc)
{
	struct campaign_state state = table_state(t);

	if (rc == -ECANCELED)
		return EXIT_INTERRUPTED;
	if (rc == -EINVAL)
		return EXIT_CONFIG;
	if (rc < 0 || r->stop_failed || state.missing > state.invalid)
		return EXIT_ENVIRONMENT;
	return state.invalid ? EXIT_INVALID : state.failed ? EXIT_FAIL : EXIT_PASS;
}

static const char *verdict_of(int code)
{
	switch (code) {
	case EXIT_PASS:
		return "done";
	case EXIT_FAIL:
		return "fail";
	case EXIT_INVALID:
		return "invalid";
	case EXIT_INTERRUPTED:
		return "interrupted";
	default:
		return "incomplete";
	}
}

static void on_step(void *ctx, const json_t *running)
{
	const struct campaign_runner *r = ctx;
	struct campaign_journal j = *r->journal; // its texts go after each table
	struct campaign_table t = {.journal = &j, .why = r->why, .running = running, .code = -1};
	int code;

	if (!r->campaign->settings.output.json)
		return;
	j.arena = arena_new();
	code = code_of(r, &t, 0);
	t.verdict = code == EXIT_PASS ? NULL : verdict_of(code);
	document_write_by(OUTPUT_JSON, r->campaign->settings.output.json,
		&(struct document_writer){write_json, &t});
	arena_free(j.arena);
}

static const struct order_verb verbs[] = {{"stop", order_stop}, {0}};

static void on_refused(void *ctx, const char *line, const char *why)
{
	log_warning("order %s: %s", line, why);
}

static void introduce(const struct campaign *c, const struct campaign_journal *j)
{
	printf("campaign %s: %u points and values x %llu repeats; %u runs are in %s\n",
		c->settings.name, c->cell_count, (unsigned long long)c->settings.repeats, j->count,
		c->settings.output.jsonl);
	fflush(stdout);
}

static int execute(const struct options *o, const struct campaign *c)
{
	struct campaign_journal j;
	struct campaign_runner r = {.campaign = c,
		.journal = &j,
		.arena = o->arena,
		.quiet = o->quiet,
		.orders = {.wanted = o->orders,
			.size = ORDER_SIZE,
			.verbs = verbs,
			.refused = on_refused},
		.on_step = on_step,
		.ctx = &r};
	struct campaign_table t = {.journal = &j};
	int rc, written;

	if (check_files(c) < 0)
		return EXIT_CONFIG;
	rc = journal_open(&j, c, o->arena);
	if (rc < 0)
		return rc == -EINVAL ? EXIT_CONFIG : EXIT_ENVIRONMENT;
	if (!o->quiet)
		introduce(c, &j);
	signals_catch(on_fatal_end, terminal_restore);
	rc = campaign_execute(&r);
	signals_over();
	t.why = r.why;
	if (!o->quiet)
		fputc('\n', stdout);
	table_put(&t, TABLE_TEXT, stdout);
	t.code = code_of(&r, &t, rc);
	t.verdict = verdict_of(t.code);
	written = write_files(&t);
	journal_close(&j);
	orders_close(&r.orders);
	return written < 0 && t.code == EXIT_PASS ? EXIT_ENVIRONMENT : t.code;
}

int cmd_campaign(const struct options *o)
{
	struct diag *d = diag_new();
	const struct campaign *c = campaign_load(o, d);
	int code = EXIT_CONFIG;

	diag_print(d, stderr);
	if (c && o->dump) {
		conf_dump(campaign_section(), &c->settings, stdout);
		code = EXIT_PASS;
	} else if (c) {
		code = execute(o, c);
	}
	diag_free(d);
	return code;
}
