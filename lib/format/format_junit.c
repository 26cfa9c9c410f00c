// SPDX-License-Identifier: BSD-3-Clause
// Verdict and criteria to JUnit XML, as CI systems read it. Path: cold. Main thread.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "format/format_walk.h"
#include "format/format_writers.h"
#include "stats/text.h"

#define NUMBER  64 // room for one
#define TRAFFIC "traffic."

// Writes text as the value of an attribute: escapes markup, and replaces control characters by "?".
static void put_escaped(FILE *out, const char *text)
{
	for (const char *c = text; *c; c++) {
		const char *instead = *c == '&'   ? "&amp;"
		                      : *c == '<' ? "&lt;"
		                      : *c == '>' ? "&gt;"
		                      : *c == '"' ? "&quot;"
		                                  : NULL;

		if (instead)
			fputs(instead, out);
		else
			fputc((unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c, out);
	}
}

static void put_attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	put_escaped(out, value);
	fputc('"', out);
}

static void put_property(FILE *out, const char *name, const char *value)
{
	fputs("      <property", out);
	put_attribute(out, "name", name);
	put_attribute(out, "value", value);
	fputs("/>\n", out);
}

static double measured_s(const struct document_reader *b)
{
	double s = document_number(b->document, "run.measured_s");

	return s >= 0 ? s : 0;
}

static const json_t *items_of(const struct document_reader *b, const char *path)
{
	return document_at(b->document, path);
}

static void put_properties(FILE *out, const struct document_reader *b)
{
	double answer = document_number(b->document, "search.answer");
	char name[128], value[NUMBER];
	json_t *item;
	size_t i;

	fputs("    <properties>\n", out);
	put_property(out, "id", document_text(b->document, "run.id"));
	put_property(out, "version", document_text(b->document, "run.version"));
	put_property(
		out, "seed", walk_text(document_at(b->document, "run.seed"), value, sizeof(value)));
	json_array_foreach(items_of(b, "traffic"), i, item)
	{
		snprintf(name, sizeof(name), "traffic.%s.answered_per_s",
			document_text(item, "name"));
		snprintf(value, sizeof(value), "%.6g", document_number(item, "answered_per_s"));
		put_property(out, name, value);
	}
	if (!isnan(answer)) {
		snprintf(value, sizeof(value), "%.6g", answer);
		put_property(out, "search.answer", value);
	}
	fputs("    </properties>\n", out);
}

static void put_case(FILE *out, const struct document_reader *b, const char *name)
{
	fputs("    <testcase classname=\"ddiperf\"", out);
	put_attribute(out, "name", name);
	fprintf(out, " time=\"%.3f\"", measured_s(b));
}

static bool passed(const json_t *criterion)
{
	return json_is_true(document_at(criterion, "pass"));
}

// Explains a figure without a value: among lost transactions a percentile is not a time.
static const char *missing_text(
	const struct document_reader *b, const char *expression, char *buf, size_t room)
{
	const char *of = strncmp(expression, TRAFFIC, strlen(TRAFFIC)) == 0
	                         ? expression + strlen(TRAFFIC)
	                         : NULL;
	double sent = 0, lost = 0;
	char share[NUMBER];
	json_t *item;
	size_t i;

	json_array_foreach(items_of(b, "traffic"), i, item)
	{
		const char *name = document_text(item, "name");
		size_t len = strlen(name);

		if (of && (strncmp(of, name, len) != 0 || of[len] != '.'))
			continue;
		sent += fmax(document_number(item, "sent"), 0);
		lost += fmax(document_number(item, "lost"), 0);
	}
	if (!(lost > 0))
		return "found no value: nothing was timed";
	snprintf(buf, room, "found lost: %s of the transactions had no answer",
		stats_format(lost / sent, "1", share, sizeof(share)));
	return buf;
}

static void put_criterion(FILE *out, const struct document_reader *b, const json_t *criterion)
{
	const char *unit = document_text(criterion, "unit");
	double found = document_number(criterion, "value");
	const char *expression = document_text(criterion, "expression"), *message;
	char text[2 * NUMBER], value[NUMBER];

	put_case(out, b, expression);
	if (passed(criterion)) {
		fputs("/>\n", out);
		return;
	}
	snprintf(text, sizeof(text), "found %s",
		stats_format(found, *unit ? unit : NULL, value, sizeof(value)));
	message = isnan(found) ? missing_text(b, expression, text, sizeof(text)) : text;
	fputs(">\n      <failure", out);
	put_attribute(out, "message", message);
	fputs("/>\n    </testcase>\n", out);
}

// A server that misses its criteria is a failure; a run that does not measure it is an error. NULL:
// neither.
static const char *verdict_element(const char *status)
{
	if (strcmp(status, "pass") == 0 || strcmp(status, "done") == 0)
		return NULL;
	return strcmp(status, "fail") == 0 ? "failure" : "error";
}

static void put_verdict(FILE *out, const struct document_reader *b)
{
	const char *status = document_text(b->document, "verdict.status");
	const char *element = verdict_element(status);
	json_t *reason;
	size_t i;

	put_case(out, b, "verdict");
	if (!element) {
		fputs("/>\n", out);
		return;
	}
	fprintf(out, ">\n      <%s", element);
	put_attribute(out, "message", status);
	fputc('>', out);
	json_array_foreach(items_of(b, "verdict.reasons"), i, reason)
	{
		put_escaped(out, document_text(reason, ""));
		fputc('\n', out);
	}
	fprintf(out, "</%s>\n    </testcase>\n", element);
}

int junit_write(const struct format_input *in, FILE *out)
{
	const struct document_reader *b = in->readers[0];
	const json_t *criteria = items_of(b, "verdict.criteria");
	const char *element = verdict_element(document_text(b->document, "verdict.status"));
	unsigned failures = element && strcmp(element, "failure") == 0;
	unsigned errors = element && !failures;
	json_t *one;
	size_t i;

	json_array_foreach(criteria, i, one) failures += !passed(one);
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite", out);
	put_attribute(out, "name", document_text(b->document, "run.name"));
	put_attribute(out, "timestamp", document_text(b->document, "run.started"));
	fprintf(out, " tests=\"%zu\" failures=\"%u\" errors=\"%u\" time=\"%.3f\">\n",
		1 + json_array_size(criteria), failures, errors, measured_s(b));
	put_properties(out, b);
	json_array_foreach(criteria, i, one) put_criterion(out, b, one);
	put_verdict(out, b);
	fputs("  </testsuite>\n</testsuites>\n", out);
	return 0;
}
