// SPDX-License-Identifier: BSD-3-Clause
// Verdict and criteria to JUnit XML, as CI systems read it. Path: cold. Main thread.
#include "junit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

// Text as the value of an attribute: markup is escaped, control characters become "?". NULL: empty.
static void put_escaped(FILE *out, const char *text)
{
	for (const char *c = text ? text : ""; *c; c++) {
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

static void put_properties(FILE *out, const struct result *r)
{
	const struct result_item *items = r->traffic.items;
	char name[128], value[64];

	fputs("    <properties>\n", out);
	put_property(out, "id", r->run.id);
	put_property(out, "version", r->run.version);
	snprintf(value, sizeof(value), "%llu", (unsigned long long)r->run.seed);
	put_property(out, "seed", value);
	for (uint32_t i = 0; i < r->traffic.count; i++) {
		snprintf(name, sizeof(name), "traffic.%s.answered_per_s", items[i].name);
		snprintf(value, sizeof(value), "%.6g", items[i].answered_per_s);
		put_property(out, name, value);
	}
	if (r->search) {
		snprintf(value, sizeof(value), "%.6g", r->search->answer);
		put_property(out, "search.answer", value);
	}
	fputs("    </properties>\n", out);
}

static void put_case(FILE *out, const struct result *r, const char *name)
{
	fputs("    <testcase classname=\"ddiperf\"", out);
	put_attribute(out, "name", name);
	fprintf(out, " time=\"%.3f\"", r->run.measured_s);
}

static void put_criterion(FILE *out, const struct result *r, const struct result_criterion *c)
{
	char found[64], value[32];

	put_case(out, r, c->expression);
	if (c->pass) {
		fputs("/>\n", out);
		return;
	}
	snprintf(found, sizeof(found), "found %s", report_criterion_value(c, value, sizeof(value)));
	fputs(">\n      <failure", out);
	put_attribute(out, "message", found);
	fputs("/>\n    </testcase>\n", out);
}

// A server that misses its criteria is a failure; a run that says nothing about it is an error.
// NULL: passed.
static const char *verdict_element(const struct result_verdict *v)
{
	if (strcmp(v->status, "pass") == 0)
		return NULL;
	return strcmp(v->status, "fail") == 0 ? "failure" : "error";
}

static void put_verdict(FILE *out, const struct result *r)
{
	const char *element = verdict_element(&r->verdict);
	const char *const *reasons = r->verdict.reasons.items;

	put_case(out, r, "verdict");
	if (!element) {
		fputs("/>\n", out);
		return;
	}
	fprintf(out, ">\n      <%s", element);
	put_attribute(out, "message", r->verdict.status);
	fputc('>', out);
	for (uint32_t i = 0; i < r->verdict.reasons.count; i++) {
		put_escaped(out, reasons[i]);
		fputc('\n', out);
	}
	fprintf(out, "</%s>\n    </testcase>\n", element);
}

char *junit_text(const struct result *r)
{
	const struct result_criterion *c = r->verdict.criteria.items;
	const char *element = verdict_element(&r->verdict);
	unsigned failures = element && strcmp(element, "failure") == 0;
	unsigned errors = element && !failures;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		abort();
	for (uint32_t i = 0; i < r->verdict.criteria.count; i++)
		failures += !c[i].pass;
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite", out);
	put_attribute(out, "name", r->run.name);
	put_attribute(out, "timestamp", r->run.started);
	fprintf(out, " tests=\"%u\" failures=\"%u\" errors=\"%u\" time=\"%.3f\">\n",
		1 + r->verdict.criteria.count, failures, errors, r->run.measured_s);
	put_properties(out, r);
	for (uint32_t i = 0; i < r->verdict.criteria.count; i++)
		put_criterion(out, r, &c[i]);
	put_verdict(out, r);
	fputs("  </testsuite>\n</testsuites>\n", out);
	if (fclose(out) != 0)
		abort();
	return text;
}
