// SPDX-License-Identifier: BSD-3-Clause
// Completion of the beginning of an assignment. Path: cold. Test.
#include "fixture.h"

#define TEXT                                                                                       \
	"traffic:\n"                                                                               \
	"  - {name: apple, server: 10.0.0.1}\n"                                                    \
	"  - {name: pear, server: 10.0.0.2}\n"

static void note(void *ctx, const char *text, const char *help)
{
	FILE *out = ctx;

	assert_non_null(help);
	fprintf(out, "%s ", text);
}

static void assert_offers(const char *file, const char *typed, const char *wanted)
{
	struct fixture f;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	fixture_parse(&f, file);
	conf_complete(&sample_section, f.tree, typed, note, out);
	fclose(out);
	assert_string_equal(text, wanted);
	free(text);
	fixture_end(&f);
}

static void keys_end_as_they_go_on(void **state)
{
	assert_offers(TEXT, "r", "run. ");
	assert_offers(TEXT, "cri", "criteria= ");
	assert_offers(TEXT, "run.se", "run.seed= ");
	assert_offers(TEXT, "traffic.pear.d", "traffic.pear.dns. traffic.pear.dhcp4. ");
	assert_offers(TEXT, "traffic.pear.dhcp4.relay.l", "traffic.pear.dhcp4.relay.levels= ");
}

static void items_have_the_names_of_the_file(void **state)
{
	assert_offers(TEXT, "tra", "traffic. ");
	assert_offers(TEXT, "traffic.", "traffic.apple. traffic.pear. ");
	assert_offers(TEXT, "traffic.p", "traffic.pear. ");
	assert_offers(TEXT, "traffic[1].dn", "traffic[1].dns. ");
}

static void items_without_names_have_numbers(void **state)
{
	assert_offers("", "tra", "traffic[0]. ");
	assert_offers("traffic: [{server: 10.0.0.1}, {}]", "tra", "traffic[0]. traffic[1]. ");
	assert_offers("traffic: 7", "tra", "traffic[0]. ");
	assert_offers("", "traffic[0].dns.m", "traffic[0].dns.mode= ");
}

static void values_are_those_of_the_row(void **state)
{
	static const char pear[] = "traffic.pear.load.rate=";

	assert_offers(TEXT, "traffic.pear.dns.mode=s", "traffic.pear.dns.mode=slow ");
	assert_offers(TEXT, "traffic.pear.dns.recursion=t", "traffic.pear.dns.recursion=true ");
	assert_offers(TEXT, pear, "traffic.pear.load.rate=max ");
	assert_offers(TEXT, "run.seed=", "");
}

static void nothing_follows_a_wrong_path(void **state)
{
	assert_offers(TEXT, "x", "");
	assert_offers(TEXT, "run.seed.", "");
	assert_offers(TEXT, "run.seed[", "");
	assert_offers(TEXT, "run=", "");
	assert_offers(TEXT, "run[0", "");
	assert_offers(TEXT, "traffic=", "");
	assert_offers(TEXT, "traffic[", "");
	assert_offers(TEXT, "traffic[9].server", "traffic[9].server= ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_end_as_they_go_on),
		cmocka_unit_test(items_have_the_names_of_the_file),
		cmocka_unit_test(items_without_names_have_numbers),
		cmocka_unit_test(values_are_those_of_the_row),
		cmocka_unit_test(nothing_follows_a_wrong_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
