// SPDX-License-Identifier: BSD-3-Clause
// The walk for programs: order of the rows, containers opened and closed, numbers bare.
#include "fixture.h"

static FILE *trace;

static void on_begin(void *ctx, const char *key, bool is_list)
{
	fprintf(trace, "%s%s ", key ? key : "", is_list ? "[" : "{");
}

static void on_end(void *ctx)
{
	fprintf(trace, "/ ");
}

static void on_value(void *ctx, const char *key, const char *text, bool is_text)
{
	const char *quote = is_text ? "'" : "";

	assert_ptr_equal(ctx, trace);
	fprintf(trace, "%s=%s%s%s ", key ? key : "", quote, text, quote);
}

static void every_value_comes_once_in_order(void **state)
{
	char *text = NULL;
	struct fixture f;
	size_t len;

	fixture_load(
		&f, "traffic: [{name: q, server: 1.2.3.4, dns: {mode: fast}}]\ncriteria: [a]\n");
	assert_errors(&f, "");
	trace = open_memstream(&text, &len);
	conf_visit(
		&sample_section, &f.s, &(struct conf_visitor){on_begin, on_end, on_value, trace});
	fclose(trace);
	assert_string_equal(text,
		"run{ seed=1 warmup='0s' drain='auto' memory='64MiB' / cpu='0' "
		"traffic[ { name='q' server='1.2.3.4' ports[ ='1024-2047' ='4096' / sources[ / "
		"timeout='1s' loss='0.1%' load{ rate=20000 total='none' / "
		"dns{ lines[ / mode='fast' recursion=true / / / criteria[ ='a' / ");
	free(text);
	fixture_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_comes_once_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
