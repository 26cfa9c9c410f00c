// SPDX-License-Identifier: BSD-3-Clause
// What limited a run, what was judged and why, and the verdict as a sentence that needs no manual.
// Path: cold. Main thread.
#include "report_verdict.h"

#include <math.h>
#include <string.h>

#include "engine/run/run.h"
#include "report.h"
#include "report_series.h"
#include "stats/text.h"

static bool is_of_load(const struct result_verdict *v)
{
	return v->invalid_by && strcmp(v->invalid_by, "load") == 0;
}

// Of a run that came to its end.
static void print_limit(FILE *out, const struct result_verdict *v)
{
	static const struct {
		const char *by, *text;
	} limits[] = {
		{"none", "nothing: the load went out as asked and came back"},
		{"tester", "the tester: this box could not do what was asked of it"},
		{"wire", "the wire: the link carried no more"},
		{"server", "the server"},
	};
	bool judged = v->limited_by && !is_of_load(v) && strcmp(v->status, "unreachable") != 0 &&
	              strcmp(v->status, "interrupted") != 0;

	for (size_t i = 0; judged && i < sizeof(limits) / sizeof(limits[0]); i++)
		if (strcmp(v->limited_by, limits[i].by) == 0)
			fprintf(out, "\nlimited by %s\n", limits[i].text);
	if (is_of_load(v))
		fputs("\nlimited by the load itself: there was nobody to make all of it\n", out);
}

const char *report_criterion_value(const struct result_criterion *c, char *buf, size_t room)
{
	if (isnan(c->value))
		return "not seen";
	if (isinf(c->value))
		return report_time(c->value, true, buf, room);
	return stats_format(c->value, c->unit, buf, room);
}

static void print_criteria(FILE *out, const struct counter_list *criteria)
{
	const struct result_criterion *c = criteria->items;
	char value[32];

	if (criteria->count)
		fputs("\ncriteria\n", out);
	for (uint32_t i = 0; i < criteria->count; i++)
		fprintf(out, "  %s  %-40s  %s\n", c[i].pass ? "pass" : "FAIL", c[i].expression,
			report_criterion_value(&c[i], value, sizeof(value)));
}

static void print_reasons(FILE *out, const struct counter_list *reasons)
{
	const char *const *texts = reasons->items;

	if (reasons->count)
		fputs("\nwhy\n", out);
	for (uint32_t i = 0; i < reasons->count; i++)
		fprintf(out, "  - %s\n", texts[i]);
}

struct verdict_text {
	const char *status, *word, *colour, *text;
};

static const struct verdict_text *verdict_text(const struct result_verdict *v)
{
	static const struct verdict_text texts[] = {
		{"pass", "PASS", "\033[32m", NULL},
		{"fail", "FAIL", "\033[31m", NULL},
		{"invalid", "INVALID", "\033[33m",
			"the tester did not keep up, so this says nothing about the server"},
		{"unreachable", "UNREACHABLE", "\033[31m", "the server did not answer at all"},
		{"interrupted", "INTERRUPTED", "\033[33m", "stopped before its end, so not judged"},
	};
	static const struct verdict_text broken = {"", "INTERNAL ERROR", "\033[31m",
		"the tester's own books do not add up, so nothing here is to be trusted"};
	static const struct verdict_text load = {"", "INVALID", "\033[33m",
		"there was nobody to make all that was due, so this is not the load that was asked "
		"for"};
	static const struct verdict_text unknown = {"", "NO VERDICT", "", NULL};

	if (v->exit_code == EXIT_INTERNAL)
		return &broken;
	if (is_of_load(v))
		return &load;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(v->status, texts[i].status) == 0)
			return &texts[i];
	return &unknown;
}

// "200 000 requests sent, all answered in time"
static void print_totals(FILE *out, const struct counter_list *traffic)
{
	const struct result_item *items = traffic->items;
	uint64_t sent = 0, answered = 0, failed = 0, lost = 0, no_reply = 0;
	char a[32], b[32];

	for (uint32_t i = 0; i < traffic->count; i++) {
		sent += items[i].ledger.sent;
		answered += items[i].ledger.answered;
		failed += items[i].ledger.failed;
		lost += items[i].ledger.lost;
		no_reply += items[i].ledger.no_reply;
	}
	if (sent == 0) {
		fputs("nothing was sent", out);
		return;
	}
	fprintf(out, "%s requests sent, ", report_count(sent, a, sizeof(a)));
	if (answered + no_reply == sent) {
		fputs("all answered in time", out);
		if (no_reply)
			fprintf(out, " but %s that nothing answers",
				report_count(no_reply, b, sizeof(b)));
		return;
	}
	fprintf(out, "%s answered in time", report_count(answered, a, sizeof(a)));
	if (failed)
		fprintf(out, ", %s failed", report_count(failed, a, sizeof(a)));
	if (lost)
		fprintf(out, ", %s lost (%s)", report_count(lost, a, sizeof(a)),
			stats_format((double)lost / (double)sent, "1", b, sizeof(b)));
}

static void print_held(FILE *out, const struct counter_list *criteria)
{
	const struct result_criterion *c = criteria->items;
	uint32_t failed = 0;
	const char *first = NULL;

	for (uint32_t i = 0; i < criteria->count; i++) {
		if (c[i].pass)
			continue;
		failed++;
		first = first ? first : c[i].expression;
	}
	if (failed == 1)
		fprintf(out, "; does not hold: %s", first);
	else if (failed)
		fprintf(out, "; %u of %u criteria do not hold", failed, criteria->count);
	else if (criteria->count == 0)
		fputs("; there were no criteria to judge by", out);
	else if (criteria->count == 1)
		fputs("; the criterion holds", out);
	else
		fprintf(out, "; all %u criteria hold", criteria->count);
}

void report_reasons(FILE *out, const struct result_verdict *v)
{
	print_limit(out, v);
	print_criteria(out, &v->criteria);
	print_reasons(out, &v->reasons);
}

void report_verdict(FILE *out, bool colour, const struct result *result)
{
	const struct verdict_text *t = verdict_text(&result->verdict);

	fprintf(out, "%s%s%s: ", colour ? t->colour : "", t->word, colour ? "\033[0m" : "");
	if (t->text)
		fprintf(out, "%s (", t->text);
	if (result->search)
		report_answer(out, result->search);
	else
		print_totals(out, &result->traffic);
	if (t->text)
		fputs(")", out);
	else
		print_held(out, &result->verdict.criteria);
	fputc('\n', out);
}
