// SPDX-License-Identifier: BSD-3-Clause
// Rules between settings, and paths relative to the file that names them. Path: tests only.

#include "dns_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

static struct dns_fixture *checked(void)
{
	struct dns_fixture *f = fixture_new("a A");

	f->settings.edns = &f->edns;
	return f;
}

static void exactly_one_source_of_queries_is_right(void **state)
{
	struct dns_fixture *f = checked();

	dns_check(&f->settings, NULL, f->diag);
	assert_int_equal(diag_count(f->diag), 0);
	f->settings.queries = "q.txt";
	dns_check(&f->settings, NULL, f->diag);
	assert_diag_has(f->diag, "remove the others");
	f->settings.names.count = 0;
	dns_check(&f->settings, NULL, f->diag);
	assert_int_equal(diag_count(f->diag), 1);
	f->settings.queries = NULL;
	dns_check(&f->settings, NULL, f->diag);
	assert_diag_has(f->diag, "no queries");
	fixture_end(f);
}

static void client_subnet_bits_fit_the_prefix(void **state)
{
	const struct {
		uint64_t bits;
		unsigned errors;
	} cases[] = {{UINT64_MAX, 0}, {16, 0}, {24, 0}, {32, 0}, {15, 1}, {33, 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dns_fixture *f = checked();

		f->edns.client_subnet = (struct addr_prefix){{4, {10}}, 16};
		f->edns.client_subnet_bits = cases[i].bits;
		dns_check(&f->settings, NULL, f->diag);
		assert_int_equal(diag_count(f->diag), cases[i].errors);
		fixture_end(f);
	}
}

static void client_subnet_bits_need_a_prefix(void **state)
{
	struct dns_fixture *f = checked();

	f->edns.client_subnet_bits = 24;
	dns_check(&f->settings, NULL, f->diag);
	assert_diag_has(f->diag, "needs client_subnet");
	fixture_end(f);
}

static void client_subnet_bits_are_24_and_56_unless_the_prefix_is_longer(void **state)
{
	struct dns_edns_settings s = {.client_subnet_bits = UINT64_MAX};

	s.client_subnet = (struct addr_prefix){{4, {0}}, 0};
	assert_int_equal(dns_client_subnet_bits(&s), 24);
	s.client_subnet.bits = 28;
	assert_int_equal(dns_client_subnet_bits(&s), 28);
	s.client_subnet = (struct addr_prefix){{16, {0}}, 32};
	assert_int_equal(dns_client_subnet_bits(&s), 56);
	s.client_subnet_bits = 48;
	assert_int_equal(dns_client_subnet_bits(&s), 48);
}

static void options_that_are_too_long_together_are_refused(void **state)
{
	struct dns_fixture *f = checked();
	uint8_t data[1000] = {0};
	struct dns_option_settings options[] = {
		{.code = 1, .hex = {data, 500}},
		{.code = 2, .hex = {data, 468}},
	};

	f->edns.options = (struct field_list){options, 2};
	f->edns.nsid = true;
	f->edns.zoneversion = true;
	f->edns.client_subnet = (struct addr_prefix){{16, {0}}, 128};
	f->settings.cookies = DNS_COOKIES_FULL;
	dns_check(&f->settings, NULL, f->diag);
	assert_int_equal(diag_count(f->diag), 0);
	fixture_open(f); // the longest that there is
	fixture_ask(f, 0);
	assert_int_equal(f->query_len, 12 + 7 + 11 + 4 + 24 + 4 + 500 + 4 + 4 + 468 + 12);
	options[1].hex.len += 1;
	dns_check(&f->settings, NULL, f->diag);
	assert_int_equal(diag_count(f->diag), 1);
	diag_free(f->diag);
	f->diag = diag_new();
	options[0].hex.len = UINT32_MAX;
	dns_check(&f->settings, NULL, f->diag);
	assert_int_equal(diag_count(f->diag), 1);
	fixture_end(f);
}

static void bad_names_give_no_plan(void **state)
{
	struct dns_fixture *f = fixture_new("a");

	assert_null(dns_setup(&f->settings, &f->env, &(struct proto_facts){0}, f->diag));
	assert_int_equal(diag_count(f->diag), 1);
	fixture_end(f);
}

static void query_files_are_relative_to_the_file_that_names_them(void **state)
{
	struct dns_fixture *f = fixture_new("");
	char folder[] = "/tmp/ddiperf-test-XXXXXX", yaml[64], path[64];
	FILE *file;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/q.txt", folder);
	snprintf(yaml, sizeof(yaml), "%s/run.yaml", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("a A\n", file);
	fclose(file);

	f->settings.names.count = 0;
	f->settings.queries = "q.txt";
	diag_mark(f->diag, &f->settings.queries, sizeof(f->settings.queries), yaml, 3, 5,
		"dns.queries");
	fixture_open(f);
	fixture_ask(f, 0);
	assert_memory_equal(f->query + 12, "\1a\0\0\1\0\1", 7);
	f->settings.queries = path; // absolute
	fixture_reopen(f);
	f->settings.queries = "none.txt";
	assert_null(dns_setup(&f->settings, &f->env, &(struct proto_facts){0}, f->diag));
	assert_diag_has(f->diag, "run.yaml:3:5: dns.queries: ");
	assert_diag_has(f->diag, "none.txt: No such file");
	unlink(path);
	rmdir(folder);
	fixture_end(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exactly_one_source_of_queries_is_right),
		cmocka_unit_test(client_subnet_bits_fit_the_prefix),
		cmocka_unit_test(client_subnet_bits_need_a_prefix),
		cmocka_unit_test(client_subnet_bits_are_24_and_56_unless_the_prefix_is_longer),
		cmocka_unit_test(options_that_are_too_long_together_are_refused),
		cmocka_unit_test(bad_names_give_no_plan),
		cmocka_unit_test(query_files_are_relative_to_the_file_that_names_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
