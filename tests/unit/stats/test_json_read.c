// SPDX-License-Identifier: BSD-3-Clause
// Figures survive JSON unchanged, and an invalid one is refused with its place.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sample.h"
#include "stats/json.h"
#include "stats/json_read.h"

static struct arena *a;

static const struct counter_section *choose(const struct counter_section *in, const char *name)
{
	assert_ptr_equal(in, &sample_section);
	return strcmp(name, "dns") == 0 ? &sample_own_section : NULL;
}

static int read_text(const char *text, struct sample *out, const char **why)
{
	struct stats_reader r = {.choice = choose, .arena = a};
	json_t *o = json_loads(text, JSON_DECODE_ANY, NULL);
	int rc = stats_read(&r, &sample_section, o, out);

	assert_non_null(o);
	json_decref(o);
	*why = r.why;
	return rc;
}

static char *text_of(const struct sample *s)
{
	json_t *o = stats_json(&sample_section, s);
	char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17));

	json_decref(o);
	return text;
}

static void assert_there_and_back(const struct sample *s)
{
	char *there = text_of(s), *back;
	struct sample out = {0};
	const char *why;

	assert_int_equal(read_text(there, &out, &why), 0);
	back = text_of(&out);
	assert_string_equal(there, back);
	free(there);
	free(back);
}

static void every_type_comes_back(void **state)
{
	struct sample_part maybe = {.name = "m", .lost = UINT64_MAX, .p99_ns = NAN};
	struct sample s = sample_full(), none = {0};

	assert_there_and_back(&s);
	s.maybe = &maybe;
	s.loss = 1.0 / 3;
	assert_there_and_back(&s);
	none.own.section = &sample_own_section;
	assert_there_and_back(&none);
}

static void null_is_no_number_and_unknown_members_are_passed_over(void **state)
{
	struct sample s = {.sent = 7};
	const char *why;

	assert_int_equal(
		read_text(
			"{\"loss\":null,\"new\":[1],\"dns\":{\"rcode\":{\"NEW\":1,\"NXDOMAIN\":2}},"
			"\"parts\":[{\"lost\":3}]}",
			&s, &why),
		0);
	assert_true(isnan(s.loss));
	assert_int_equal(s.sent, 7); // is not there
	assert_null(s.name);
	assert_null(s.maybe);
	assert_int_equal(((const struct sample_own *)s.own.data)->rcode[3], 2);
	assert_int_equal(((const struct sample_own *)s.own.data)->rcode[0], 0);
	assert_int_equal(((const struct sample_part *)s.parts.items)->lost, 3);
}

static void a_wrong_type_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{"[]", ": not an object"},
		{"{\"sent\":-1}", "sent: not a number from 0 on"},
		{"{\"sent\":1e300}", "sent: not a number from 0 on"},
		{"{\"sent\":null}", "sent: not a number from 0 on"},
		{"{\"loss\":\"1\"}", "loss: not a number or null"},
		{"{\"known\":1}", "known: not true or false"},
		{"{\"name\":null}", "name: not a text"},
		{"{\"inside\":[]}", "inside: not an object"},
		{"{\"inside\":{\"lost\":\"\"}}", "inside.lost: not a number from 0 on"},
		{"{\"maybe\":{\"name\":1}}", "maybe.name: not a text"},
		{"{\"parts\":{}}", "parts: not a list"},
		{"{\"parts\":[{},1]}", "parts[1]: not an object"},
		{"{\"parts\":[{},{\"lost\":-2}]}", "parts[1].lost: not a number from 0 on"},
		{"{\"reasons\":[\"a\",2]}", "reasons[1]: not a text"},
		{"{\"reasons\":\"a\"}", "reasons: not a list"},
		{"{\"dns\":{\"rcode\":{\"NXDOMAIN\":false}}}",
			"dns.rcode.NXDOMAIN: not a number from 0 on"},
		{"{\"dns\":{\"rcode\":[]}}", "dns.rcode: not an object"},
		{"{\"dns\":7}", "dns: not an object"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct sample s = {0};
		const char *why;

		assert_true(read_text(wrong[i].text, &s, &why) < 0);
		assert_string_equal(why, wrong[i].why);
	}
}

static int setup(void **state)
{
	a = arena_new();
	return 0;
}

static int teardown(void **state)
{
	arena_free(a);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_comes_back),
		cmocka_unit_test(null_is_no_number_and_unknown_members_are_passed_over),
		cmocka_unit_test(a_wrong_type_is_refused_with_its_place),
	};

	return cmocka_run_group_tests_name("stats/json_read", tests, setup, teardown);
}
