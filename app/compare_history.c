// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "compare_history.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "document/document_reader.h"
#include "run/commands.h"
#include "conf/units.h"
#include "compare/figures.h"
#include "compare/history.h"
#include "compare/trend.h"
#include "stats/text.h"

static const char *confidence_text(double confidence)
{
	return stats_shown_text(confidence > TREND_SURE ? "> %.2f %%" : "%.2f %%",
		100 * fmin(confidence, TREND_SURE));
}

// The minimum of its past values, or with sign -1 of their negatives.
static double least(const struct trend_figure *f, double sign)
{
	double value = INFINITY;

	for (unsigned i = 0; i < f->count; i++)
		value = fmin(value, sign * f->past[i]);
	return value;
}

static void print_figure(const struct trend_figure *f)
{
	const char *unit = figures_unit(f->path);

	printf("  %-28s %12s", f->path, figures_text(f->value, unit));
	if (f->judged && f->noisy)
		printf(" %12s %12s  too noisy: %s to %s before\n", figures_text(f->mean, unit), "-",
			figures_text(least(f, 1), unit), figures_text(-least(f, -1), unit));
	else if (f->judged)
		printf(" %12s %12s  %s\n", figures_text(f->mean, unit),
			figures_text(f->bound, unit),
			f->worse ? confidence_text(f->confidence) : "no");
	else if (f->lost)
		printf("  not judged: lost in %u of the runs\n", f->lost);
	else
		printf("  not judged: known in %u of the runs\n", f->count);
}

static void print_trend(const struct trend *t)
{
	const char *item = NULL;

	for (unsigned i = 0; i < t->count; i++) {
		const struct trend_figure *f = &t->figures[i];

		if (!item || strcmp(item, f->item) != 0)
			printf("\n%-30s %12s %12s %12s  worse\n", f->item, "this run", "mean",
				"bound");
		item = f->item;
		print_figure(f);
	}
	putchar('\n');
}

// Print the last line: the figures that are worse, with their confidence, or figures that cannot be
// judged. Returns the exit code.
static int print_verdict(const struct trend *t, double confidence)
{
	unsigned worse = 0, noisy = 0;

	for (unsigned i = 0; i < t->count; i++) {
		const struct trend_figure *f = &t->figures[i];

		if (f->worse)
			printf("%s%s of %s (%s)",
				worse++ ? ", " : "FAIL: worse than the last runs: ", f->path,
				f->item, confidence_text(f->confidence));
	}
	for (unsigned i = 0; i < t->count && worse == 0; i++) {
		const struct trend_figure *f = &t->figures[i];

		if (f->noisy)
			printf("%s%s of %s", noisy++ ? ", " : "TOO NOISY TO JUDGE: ", f->path,
				f->item);
	}
	if (noisy)
		printf(" differed too much in the last %u runs; a quieter box, longer runs or more "
		       "of them help",
			t->runs);
	else if (worse == 0)
		printf("PASS: not worse than the last %u runs (%.4g %% confidence, "
		       "figures judged: %u)",
			t->runs, 100 * confidence, t->judged);
	putchar('\n');
	return worse ? EXIT_FAIL : noisy ? EXIT_NOISY : EXIT_PASS;
}

static int judge(
	const struct options *o, const json_t *entries, const json_t *entry, double confidence)
{
	const char *name = document_text(entry, "run.name"),
		   *status = document_text(entry, "verdict.status");
	struct trend t;

	trend_of(entries, entry, confidence, o->arena, &t);
	if (!o->quiet && t.runs)
		printf("%s: the last %u runs of %s with this configuration, %s to %s\n", o->history,
			t.runs, name, t.first, t.last);
	if (t.boxes)
		log_warning("compare: %u of the last %u runs had another CPU (%s here)", t.boxes,
			t.runs, document_text(entry, "run.host.cpu"));
	if (!trend_may_judge(status)) {
		log_error(
			"compare: %s: its verdict is %s, so it is not judged", o->operand, status);
		return EXIT_INVALID;
	}
	if (t.runs < TREND_RUNS_MIN || t.judged == 0) {
		log_error(
			"compare: %s: %u runs to compare with, at least %u are needed: of the "
			"name %s, with this configuration, and a verdict on the server (%u others "
			"have the name); add runs by ddiperf report RESULT.json --append",
			o->history, t.runs, TREND_RUNS_MIN, name, t.others);
		return EXIT_INVALID;
	}
	if (!o->quiet)
		print_trend(&t);
	return print_verdict(&t, confidence);
}

static int refuse(const char *reason)
{
	log_error("compare: %s (see ddiperf compare --help)", reason);
	return EXIT_CONFIG;
}

int compare_history(const struct options *o)
{
	double confidence = TREND_DEFAULT;
	const char *expected = "";
	json_t *entries, *entry;
	struct document_reader b;
	int code;

	if (o->operand_count > 1 || o->baseline || o->margin_count)
		return refuse("--history judges one result, without --baseline and --fail-on");
	if (o->confidence && (units_parse_percent(o->confidence, &confidence, &expected) < 0 ||
				     confidence < 0.5 || confidence > TREND_SURE))
		return refuse("--confidence is a percentage from 50% to 99.99%");
	entries = history_read(o->history);
	if (!entries)
		return EXIT_CONFIG;
	if (reader_open(&b, o->operand) < 0) {
		json_decref(entries);
		return EXIT_CONFIG;
	}
	entry = history_entry(&b);
	code = judge(o, entries, entry, confidence);
	json_decref(entry);
	json_decref(entries);
	reader_close(&b);
	return code;
}
