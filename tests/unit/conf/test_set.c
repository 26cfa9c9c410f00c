// SPDX-License-Identifier: BSD-3-Clause
// --set replaces, adds, and complains under its own name.
#include "fixture.h"

static const char base_text[] = "run: {seed: 7}\n"
				"cpu:\n"
				"traffic:\n"
				"  - name: queries\n"
				"    server: 198.18.0.2\n"
				"    ports: [1, 2]\n"
				"    dns:\n"
				"  - server: 198.18.0.3\n"
				"criteria: [a, b]\n";

// Parse, set all (NULL-terminated), apply.
static void load_with(struct fixture *f, const char *const *assignments)
{
	fixture_parse(f, base_text);
	for (; *assignments; assignments++)
		f->rc |= conf_set(f->tree, *assignments, f->a, f->d);
	f->rc |= conf_apply(f->tree, &sample_section, &f->s, f->a, f->d);
}

static void assert_set_error(const char *assignment, const char *wanted)
{
	struct fixture f;

	fixture_parse(&f, "run: {seed: 7}\ntraffic:\n  - name: queries\n    server: 198.18.0.2\n");
	f.rc = conf_set(f.tree, assignment, f.a, f.d);
	if (f.rc == 0)
		f.rc = conf_apply(f.tree, &sample_section, &f.s, f.a, f.d);
	assert_int_not_equal(f.rc, 0);
	assert_errors(&f, wanted);
	fixture_end(&f);
}

static void values_are_replaced_by_name_and_by_index(void **state)
{
	static const char *const sets[] = {"run.seed=9", "cpu=4-5", "traffic.queries.load.rate=50k",
		"traffic[1].server=2001:db8::7", "traffic[0].ports[1]=99", "criteria[0]=x y", NULL};
	struct fixture f;

	load_with(&f, sets);
	assert_errors(&f, "");
	assert_int_equal(f.rc, 0);
	assert_int_equal(f.s.run.seed, 9);
	assert_int_equal(f.s.cpu.last, 5);
	assert_true(item_of(&f, 0)->load.rate == 50000);
	assert_int_equal(((struct field_range *)item_of(&f, 0)->ports.items)[1].first, 99);
	assert_int_equal(((struct field_range *)item_of(&f, 0)->ports.items)[0].first, 1);
	assert_int_equal(item_of(&f, 1)->server.len, 16);
	assert_string_equal(((const char **)f.s.criteria.items)[0], "x y");
	assert_string_equal(((const char **)f.s.criteria.items)[1], "b");
	fixture_end(&f);
}

static void values_are_yaml(void **state)
{
	static const char *const sets[] = {"criteria=[\"loss <= 1%\", 'p99 <= 2ms']", "cpu=1",
		"traffic.queries.dns={queries: x=y, mode: fast}", "run=", NULL};
	struct fixture f;

	load_with(&f, sets);
	assert_errors(&f, "");
	assert_int_equal(f.s.criteria.count, 2);
	assert_string_equal(((const char **)f.s.criteria.items)[0], "loss <= 1%");
	assert_string_equal(((struct sample_dns *)item_of(&f, 0)->protocols[0])->queries, "x=y");
	assert_int_equal(f.s.run.seed, 1);
	fixture_end(&f);
}

static void missing_mappings_on_the_way_are_made(void **state)
{
	static const char *const sets[] = {"cpu=1", "traffic[1].dhcp4.clients=5",
		"traffic[1].dhcp4.relay.addresses=[1.2.3.4]", "traffic.queries.dns.mode=fast",
		NULL};
	const struct sample_dhcp *dhcp;
	struct fixture f;

	load_with(&f, sets);
	assert_errors(&f, "");
	dhcp = item_of(&f, 1)->protocols[2];
	assert_int_equal(dhcp->clients, 5);
	assert_int_equal(dhcp->relay->addresses.count, 1);
	assert_int_equal(((struct sample_dns *)item_of(&f, 0)->protocols[0])->mode, MODE_FAST);
	fixture_end(&f);
}

static void the_last_of_several_counts(void **state)
{
	static const char *const sets[] = {
		"cpu=1", "cpu=2", "run={seed: 3}", "run.warmup=5s", "run.seed=4", NULL};
	struct fixture f;

	load_with(&f, sets);
	assert_errors(&f, "");
	assert_int_equal(f.s.cpu.first, 2);
	assert_int_equal(f.s.run.seed, 4);
	assert_int_equal(f.s.run.warmup_ns, 5000000000);
	fixture_end(&f);
}

static void null_takes_a_setting_out(void **state)
{
	static const char *const sets[] = {"cpu=1", "run.seed=null", "traffic.queries.ports=null",
		"criteria=null", "traffic.queries.dns=null", "traffic.queries.dhcp4={clients: 5}",
		"run.warmup=null", "criteria=[c]", NULL};
	struct fixture f;

	load_with(&f, sets);
	assert_errors(&f, "");
	assert_int_equal(f.s.run.seed, 1);
	assert_int_equal(((struct field_range *)item_of(&f, 0)->ports.items)[0].first, 1024);
	assert_int_equal(f.s.criteria.count, 1);
	assert_null(item_of(&f, 0)->protocols[0]);
	fixture_end(&f);
	assert_set_error("run.sede=null",
		"--set run.sede=null: run: unknown key \"sede\" (did you mean \"seed\"?)\n");
	assert_set_error("traffic[0]=null",
		"--set traffic[0]=null: only a setting can be taken out, no item of a list\n");
	assert_set_error("traffic.queries.server=null",
		"f.yaml:3:5: traffic.queries.server: is missing (to be asked)\n");
}

static void a_set_value_is_not_relative_to_the_file(void **state)
{
	static const char *const sets[] = {"cpu=1", "traffic.queries.dns.queries=dir/q.txt", NULL};
	const struct sample_dns *dns;
	struct fixture f;

	load_with(&f, sets);
	dns = item_of(&f, 0)->protocols[0];
	assert_null(diag_file(f.d, &dns->queries));
	diag_error(f.d, &dns->queries, "queries", "is not there");
	assert_errors(&f,
		"--set traffic.queries.dns.queries=dir/q.txt: traffic.queries.dns.queries: "
		"is not there\n");
	fixture_end(&f);
}

static void wrong_values_are_found_when_applied(void **state)
{
	assert_set_error("traffic.queries.load.rate=50q",
		"--set traffic.queries.load.rate=50q: traffic.queries.load.rate: \"50q\" is not a "
		"rate (like 500, 20k or 1.5M) or max\n");
	assert_set_error("run.sede=1",
		"--set run.sede=1: run: unknown key \"sede\" (did you mean \"seed\"?)\n");
	assert_set_error("cpu=",
		"--set cpu=: cpu: has no value, expected a number or a range (like 4 "
		"or 4-7)\n");
	assert_set_error("run={seed: x}",
		"--set run={seed: x}: run.seed: \"x\" is not a count (like 500, 100k or 1.5M)\n");
	assert_set_error("traffic.queries={name: queries}",
		"--set traffic.queries={name: queries}: traffic.queries.server: is missing (to be "
		"asked)\n");
}

static void wrong_paths_say_what_is_missing(void **state)
{
	assert_set_error("cpu", "--set cpu: no \"=\" in it (like traffic.queries.load.rate=50k)\n");
	assert_set_error(
		"=5", "--set =5: no path before \"=\" (like traffic.queries.load.rate=50k)\n");
	assert_set_error("run..seed=5",
		"--set run..seed=5: not a path (like traffic.queries.load.rate=50k)\n");
	assert_set_error(
		".run=5", "--set .run=5: not a path (like traffic.queries.load.rate=50k)\n");
	assert_set_error(
		"run.=5", "--set run.=5: not a path (like traffic.queries.load.rate=50k)\n");
	assert_set_error("traffic.[0]=5",
		"--set traffic.[0]=5: not a path (like traffic.queries.load.rate=50k)\n");
	assert_set_error("traffic[0]name=5",
		"--set traffic[0]name=5: not a path (like traffic.queries.load.rate=50k)\n");
	assert_set_error("traffic[x]=5",
		"--set traffic[x]=5: an index is a number in brackets (like ports[0].mtu=1500)\n");
	assert_set_error("traffic[99999999999]=5",
		"--set traffic[99999999999]=5: an index is a number in brackets (like "
		"ports[0].mtu=1500)\n");
	assert_set_error("traffic[0=5",
		"--set traffic[0=5: an index is a number in brackets (like ports[0].mtu=1500)\n");
	assert_set_error("traffic.leases.server=1.2.3.4",
		"--set traffic.leases.server=1.2.3.4: traffic has no item named \"leases\"\n");
	assert_set_error("traffic[1].server=1.2.3.4",
		"--set traffic[1].server=1.2.3.4: traffic has 1 items, so there is no [1]\n");
	assert_set_error("run.seed.x=1", "--set run.seed.x=1: run.seed is not a mapping\n");
	assert_set_error("run[0]=1", "--set run[0]=1: run is not a list\n");
	assert_set_error("[0]=1", "--set [0]=1: the file is not a list\n");
}

static void wrong_yaml_is_named(void **state)
{
	assert_set_error("cpu=[1", "--set cpu=[1: not YAML: did not find expected ',' or ']'\n");
	assert_set_error(
		"run={seed: 1, seed: 2}", "--set run={seed: 1, seed: 2}: seed: is given twice\n");
	assert_set_error(
		"cpu=*a", "--set cpu=*a: is an alias (\"*...\"), which is not supported\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_replaced_by_name_and_by_index),
		cmocka_unit_test(values_are_yaml),
		cmocka_unit_test(missing_mappings_on_the_way_are_made),
		cmocka_unit_test(the_last_of_several_counts),
		cmocka_unit_test(null_takes_a_setting_out),
		cmocka_unit_test(a_set_value_is_not_relative_to_the_file),
		cmocka_unit_test(wrong_values_are_found_when_applied),
		cmocka_unit_test(wrong_paths_say_what_is_missing),
		cmocka_unit_test(wrong_yaml_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
