// SPDX-License-Identifier: BSD-3-Clause
// JUnit XML: one case for each criterion and one for the verdict, their counts, and escaped text.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "junit.h"

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

static void the_document_of_a_failed_run_is_whole(void **state)
{
	struct result r = sample("fail");
	char *text = junit_text(&r);

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
		char *text = junit_text(&r);

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
	text = junit_text(&r);
	assert_fragment(text, "<property name=\"search.answer\" value=\"40000\"/>");
	assert_fragment(text, "<testsuite name=\"\" ");
	assert_fragment(text, "tests=\"1\" failures=\"0\" errors=\"0\"");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_document_of_a_failed_run_is_whole),
		cmocka_unit_test(the_verdict_decides_between_failure_and_error),
		cmocka_unit_test(a_search_shows_its_answer_and_a_name_may_be_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
