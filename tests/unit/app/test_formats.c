// SPDX-License-Identifier: BSD-3-Clause
// The formats of a result: each has every row of the result, and keeps its rules.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/table.h"
#include "base/arena.h"
#include "engine/result/result.h"
#include "format/format.h"
#include "format/format_select.h"
#include "proto/proto.h"
#include "stats/json.h"

// Returns the text of a document in a format; takes the document. *rc: the writer's result.
static char *written_as(const char *name, json_t *document, const char *select, int *rc)
{
	struct document_reader reader, *readers = &reader;
	const struct format *f = format_find(name);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(f);
	assert_non_null(out);
	reader_take(&reader, "r.json", document);
	*rc = f->write(&(struct format_input){&readers, 1, select}, out);
	fclose(out);
	reader_close(&reader);
	return text;
}

static char *written(const char *name, json_t *document, const char *select)
{
	int rc;
	char *text = written_as(name, document, select, &rc);

	assert_int_equal(rc, 0);
	return text;
}

#define assert_fragment(text, fragment)                                                            \
	do {                                                                                       \
		if (!strstr(text, fragment))                                                       \
			fail_msg("\"%s\" is not in: %s", fragment, text);                          \
	} while (0)

static const struct result_criterion criteria[] = {
	{"loss <= 0.1%", 0.00003, true, "1"},
	{"p99 < 2ms & \"x\">", 3e6, false, "ns"},
};
static const char *const reasons[] = {"first <reason>", "second\a"};
static const struct result_item items[] = {{.name = "q", .answered_per_s = 1234.5}};

static struct result sample(const char *status)
{
	return (struct result){
		.run = {"id-1", "a & b", "0.1", "2024-02-29", .measured_s = 2.5, .seed = 7},
		.verdict = {status, .reasons = {reasons, 2}, .criteria = {criteria, 2}},
		.traffic = {items, 1},
	};
}

// --- every row ---

// Memory as the rows of a section describe it, with a value of its own in each.
struct filling {
	struct arena *arena;
	const struct proto *proto;
	uint64_t values;
};

static void fill(struct filling *f, const struct counter_section *s, void *at);

static void *filled(struct filling *f, const struct counter_section *s)
{
	void *at = arena_zalloc(f->arena, s->size);

	fill(f, s, at);
	return at;
}

static const struct counter_section *own_counters(
	const struct filling *f, const struct counter_section *of)
{
	return strcmp(of->name, "protocols") ? f->proto->counters : f->proto->server->counters;
}

static bool is_first_label(const struct counter *r, uint32_t label)
{
	for (uint32_t i = 0; i < label; i++)
		if (strcmp(r->label(i), r->label(label)) == 0)
			return false;
	return true;
}

static void fill_row(
	struct filling *f, const struct counter_section *s, const struct counter *r, void *place)
{
	static const char *const why[] = {"why"};
	const struct counter_section *own;

	switch (r->type) {
	case COUNTER_U64:
		*(uint64_t *)place = ++f->values;
		break;
	case COUNTER_F64:
		*(double *)place = 0.5 + (double)++f->values;
		break;
	case COUNTER_BOOL:
		*(bool *)place = true;
		break;
	case COUNTER_STRING:
		*(const char **)place = strcmp(r->name, "histogram") ? "x" : NULL;
		break;
	case COUNTER_ARRAY:
		for (uint32_t i = 0; i < r->length; i++)
			((uint64_t *)place)[i] = is_first_label(r, i) ? ++f->values : 0;
		break;
	case COUNTER_SECTION:
		if (r->optional)
			*(void **)place = filled(f, r->section);
		else
			fill(f, r->section, place);
		break;
	case COUNTER_LIST:
		*(struct counter_list *)place = (struct counter_list){filled(f, r->section), 1};
		break;
	case COUNTER_STRINGS:
		*(struct counter_list *)place = (struct counter_list){why, 1};
		break;
	case COUNTER_CHOICE:
		own = own_counters(f, s);
		*(struct counter_choice *)place = (struct counter_choice){own, filled(f, own)};
		break;
	}
}

static void fill(struct filling *f, const struct counter_section *s, void *at)
{
	for (uint32_t i = 0; i < s->count; i++)
		fill_row(f, s, &s->rows[i], (char *)at + s->rows[i].offset);
}

// Calls each for the path of every row.
struct naming {
	struct filling *f;
	void (*each)(struct naming *n, const char *path, const struct counter *r);
	const char *text;
	unsigned count;
	bool numbers; // no texts
};

static void name_rows(struct naming *n, const struct counter_section *s, const char *prefix);

static bool has_name(const struct counter_section *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (strcmp(s->rows[i].name, "name") == 0)
			return true;
	return false;
}

static void name_row(struct naming *n, const struct counter_section *s, const struct counter *r,
	const char *prefix)
{
	struct arena *a = n->f->arena;
	const char *path = arena_printf(a, "%s%s", prefix, r->name);
	const struct counter_section *own;

	switch (r->type) {
	case COUNTER_STRING:
		if (strcmp(r->name, "histogram") == 0 || n->numbers)
			break;
		n->each(n, path, r);
		break;
	case COUNTER_U64:
	case COUNTER_F64:
	case COUNTER_BOOL:
		n->each(n, path, r);
		break;
	case COUNTER_ARRAY:
		for (uint32_t i = 0; i < r->length; i++)
			if (is_first_label(r, i))
				n->each(n, arena_printf(a, "%s.%s", path, r->label(i)), r);
		break;
	case COUNTER_SECTION:
		name_rows(n, r->section, arena_printf(a, "%s.", path));
		break;
	case COUNTER_LIST:
		name_rows(n, r->section,
			arena_printf(a, has_name(r->section) ? "%s.x." : "%s[0].", path));
		break;
	case COUNTER_STRINGS:
		if (!n->numbers)
			n->each(n, arena_printf(a, "%s[0]", path), r);
		break;
	case COUNTER_CHOICE:
		own = own_counters(n->f, s);
		name_rows(n, own, arena_printf(a, "%s%s.", prefix, own->name));
		break;
	}
}

static void name_rows(struct naming *n, const struct counter_section *s, const char *prefix)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (strcmp(s->rows[i].name, "intervals") != 0)
			name_row(n, s, &s->rows[i], prefix);
}

static const struct counter_section *interval_section(void)
{
	for (uint32_t i = 0; i < result_section.count; i++)
		if (strcmp(result_section.rows[i].name, "intervals") == 0)
			return result_section.rows[i].section;
	fail();
	return NULL;
}

static json_t *whole_document(struct filling *f)
{
	return stats_json(&result_section, filled(f, &result_section));
}

static void in_keyval(struct naming *n, const char *path, const struct counter *r)
{
	char line[512];

	snprintf(line, sizeof(line), "\n%s=", path);
	assert_fragment(n->text, line);
	n->count++;
}

static void in_header(struct naming *n, const char *path, const struct counter *r)
{
	char cell[512];

	snprintf(cell, sizeof(cell), ",%s,", path);
	assert_fragment(n->text, cell);
	n->count++;
}

static void count_row(struct naming *n, const char *path, const struct counter *r)
{
	n->count++;
}

// Counts the samples of OpenMetrics, except texts.
static unsigned samples_of(const char *text)
{
	unsigned count = 0;

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		size_t name = strcspn(text, "{ ");

		count += *text != '#' && (name < 5 || strncmp(text + name - 5, "_info", 5) != 0);
	}
	return count;
}

// A comma at both ends of the header line.
static char *header_of(const char *csv)
{
	size_t len = strcspn(csv, "\r");
	char *header = calloc(1, len + 3);

	assert_non_null(header);
	header[0] = header[len + 1] = ',';
	memcpy(header + 1, csv, len);
	return header;
}

static void every_row_is_in_every_format(void **state)
{
	for (unsigned i = 0; protos[i]; i++) {
		struct filling f = {arena_new(), protos[i]};
		json_t *document = protos[i]->server ? whole_document(&f) : NULL;
		char *keyval, *csv, *header, *json, *metrics, *with_newline;
		struct naming numbers = {&f, count_row, .numbers = true};
		json_t *again;

		if (!document) {
			arena_free(f.arena);
			continue;
		}
		keyval = written("keyval", json_deep_copy(document), NULL);
		with_newline = arena_printf(f.arena, "\n%s", keyval);
		name_rows(&(struct naming){&f, in_keyval, with_newline}, &result_section, "");
		csv = written("csv", json_deep_copy(document), NULL);
		header = header_of(csv);
		name_rows(&(struct naming){&f, in_header, header, .numbers = true},
			interval_section(), "");
		metrics = written("openmetrics", json_deep_copy(document), NULL);
		name_rows(&numbers, &result_section, "");
		assert_int_equal(samples_of(metrics), numbers.count);
		free(metrics);
		json = written("json", json_deep_copy(document), NULL);
		again = json_loads(json, 0, NULL);
		assert_true(json_equal(again, document));
		json_decref(again);
		json_decref(document);
		free(keyval);
		free(csv);
		free(header);
		free(json);
		arena_free(f.arena);
	}
}

// --- JUnit ---

static void the_document_of_a_failed_run_is_whole(void **state)
{
	struct result r = sample("fail");
	char *text = written("junit", stats_json(&result_section, &r), NULL);

	assert_string_equal(text,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
		"  <testsuite name=\"a &amp; b\" timestamp=\"2024-02-29\" tests=\"3\" "
		"failures=\"2\" errors=\"0\" time=\"2.500\">\n"
		"    <properties>\n"
		"      <property name=\"id\" value=\"id-1\"/>\n"
		"      <property name=\"version\" value=\"0.1\"/>\n"
		"      <property name=\"seed\" value=\"7\"/>\n"
		"      <property name=\"traffic.q.answered_per_s\" value=\"1234.5\"/>\n"
		"    </properties>\n"
		"    <testcase classname=\"ddiperf\" name=\"loss &lt;= 0.1%\" time=\"2.500\"/>\n"
		"    <testcase classname=\"ddiperf\" name=\"p99 &lt; 2ms &amp; &quot;x&quot;&gt;\" "
		"time=\"2.500\">\n"
		"      <failure message=\"found 3.00 ms\"/>\n    </testcase>\n"
		"    <testcase classname=\"ddiperf\" name=\"verdict\" time=\"2.500\">\n"
		"      <failure message=\"fail\">first &lt;reason&gt;\nsecond?\n</failure>\n"
		"    </testcase>\n"
		"  </testsuite>\n</testsuites>\n");
	free(text);
}

static void the_verdict_decides_between_failure_and_error(void **state)
{
	static const struct {
		const char *status, *counts, *element;
	} cases[] = {
		{"pass", "tests=\"3\" failures=\"1\" errors=\"0\"",
			"name=\"verdict\" time=\"2.500\"/>"},
		{"done", "tests=\"3\" failures=\"1\" errors=\"0\"",
			"name=\"verdict\" time=\"2.500\"/>"},
		{"fail", "tests=\"3\" failures=\"2\" errors=\"0\"", "<failure message=\"fail\">"},
		{"invalid", "tests=\"3\" failures=\"1\" errors=\"1\"",
			"<error message=\"invalid\">"},
		{"unreachable", "tests=\"3\" failures=\"1\" errors=\"1\"",
			"<error message=\"unreachable\">"},
		{"interrupted", "tests=\"3\" failures=\"1\" errors=\"1\"",
			"<error message=\"interrupted\">"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct result r = sample(cases[i].status);
		char *text = written("junit", stats_json(&result_section, &r), NULL);

		assert_fragment(text, cases[i].counts);
		assert_fragment(text, cases[i].element);
		free(text);
	}
}

static void a_search_shows_its_answer_and_a_name_may_be_missing(void **state)
{
	struct result_search search = {.answer = 40000};
	struct result r = sample("pass");
	char *text;

	r.search = &search;
	r.run.name = NULL;
	r.verdict.criteria.count = 0;
	text = written("junit", stats_json(&result_section, &r), NULL);
	assert_fragment(text, "<property name=\"search.answer\" value=\"40000\"/>");
	assert_fragment(text, "<testsuite name=\"\" ");
	assert_fragment(text, "tests=\"1\" failures=\"0\" errors=\"0\"");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_in_every_format),
		cmocka_unit_test(the_document_of_a_failed_run_is_whole),
		cmocka_unit_test(the_verdict_decides_between_failure_and_error),
		cmocka_unit_test(a_search_shows_its_answer_and_a_name_may_be_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
