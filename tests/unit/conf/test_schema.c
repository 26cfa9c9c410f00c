// SPDX-License-Identifier: BSD-3-Clause
// From a file to structs: values, defaults, choices, and every error with its exact text and place.
#include "fixture.h"

#include <math.h>

static const char full[] = "run: {seed: 7, warmup: 250us, drain: 2s, memory: auto}\n"
			   "own: 198.18.0.1/24\n"
			   "pool: 198.18.64.0/18\n"
			   "cpu: 4-7\n"
			   "traffic:\n"
			   "  - name: queries\n"
			   "    server: 198.18.0.2\n"
			   "    ports: [53, 1024-65535]\n"
			   "    sources: [198.18.0.16-198.18.0.31, \"2001:db8::/120\"]\n"
			   "    timeout: 20ms\n"
			   "    loss: 5%\n"
			   "    load: {rate: max, total: 100k}\n"
			   "    dns:\n"
			   "      queries: queries.txt\n"
			   "      lines: [a, \"b c\"]\n"
			   "      mode: null\n"
			   "      recursion: false\n"
			   "      option: 00ff12\n"
			   "  - server: 2001:db8::2\n"
			   "    dhcp4:\n"
			   "      clients: 1M\n"
			   "      mac: \"02:00:00:00:00:ff\"\n"
			   "      relay: {addresses: 198.18.0.64/26}\n"
			   "criteria: [loss <= 0.1%]\n";

static void every_type_is_read(void **state)
{
	const struct sample_dns *dns;
	const struct sample_item *item;
	struct fixture f;

	fixture_load(&f, full);
	assert_errors(&f, "");
	assert_int_equal(f.rc, 0);
	assert_int_equal(f.s.run.seed, 7);
	assert_int_equal(f.s.run.warmup_ns, 250000);
	assert_int_equal(f.s.run.drain_ns, 2000000000);
	assert_int_equal(f.s.run.memory, UINT64_MAX);
	assert_int_equal(f.s.own.bits, 24);
	assert_int_equal(f.s.own.addr.bytes[3], 1);
	assert_int_equal(f.s.pool.count, 16384);
	assert_int_equal(f.s.cpu.first, 4);
	assert_int_equal(f.s.cpu.last, 7);
	assert_int_equal(f.s.traffic.count, 2);
	item = item_of(&f, 0);
	assert_string_equal(item->name, "queries");
	assert_int_equal(item->server.bytes[3], 2);
	assert_int_equal(item->ports.count, 2);
	assert_int_equal(((struct field_range *)item->ports.items)[0].last, 53);
	assert_int_equal(((struct field_range *)item->ports.items)[1].last, 65535);
	assert_int_equal(((struct addr_range *)item->sources.items)[0].count, 16);
	assert_int_equal(((struct addr_range *)item->sources.items)[1].count, 256);
	assert_int_equal(item->timeout_ns, 20000000);
	assert_true(item->loss == 0.05);
	assert_true(isinf(item->load.rate));
	assert_int_equal(item->load.total, 100000);
	assert_null(item->protocols[2]);
	dns = item->protocols[0];
	assert_string_equal(dns->queries, "queries.txt");
	assert_string_equal(((const char **)dns->lines.items)[1], "b c");
	assert_int_equal(dns->mode, MODE_NULL);
	assert_false(dns->recursion);
	assert_int_equal(dns->option.len, 3);
	assert_memory_equal(dns->option.data, "\x00\xff\x12", 3);
	assert_string_equal(((const char **)f.s.criteria.items)[0], "loss <= 0.1%");
	fixture_end(&f);
}

static void a_scalar_is_a_list_of_one(void **state)
{
	const struct sample_dhcp *dhcp;
	struct fixture f;

	fixture_load(&f, full);
	dhcp = item_of(&f, 1)->protocols[2];
	assert_int_equal(dhcp->clients, 1000000);
	assert_int_equal(dhcp->mac[5], 255);
	assert_int_equal(dhcp->relay->addresses.count, 1);
	assert_int_equal(((struct addr_range *)dhcp->relay->addresses.items)[0].count, 64);
	assert_int_equal(dhcp->relay->levels, 1);
	fixture_end(&f);
}

static void a_scalar_of_addresses_splits_at_commas_and_text_does_not(void **state)
{
	struct fixture f;

	fixture_load(&f, "traffic: [{server: 1.2.3.4, ports: \"1, 5-7,9\"}]\ncriteria: a, b\n");
	assert_errors(&f, "");
	assert_int_equal(item_of(&f, 0)->ports.count, 3);
	assert_int_equal(f.s.criteria.count, 1);
	fixture_end(&f);
}

static void defaults_fill_what_is_absent(void **state)
{
	const struct sample_item *item;
	struct fixture f;

	fixture_load(&f, "traffic:\n  - server: 1.2.3.4\n    dns:\n");
	assert_errors(&f, "");
	assert_int_equal(f.s.run.seed, 1);
	assert_int_equal(f.s.run.drain_ns, UINT64_MAX);
	assert_int_equal(f.s.run.memory, 64u << 20);
	assert_int_equal(f.s.own.addr.len, 0);
	assert_int_equal(f.s.criteria.count, 0);
	item = item_of(&f, 0);
	assert_null(item->name);
	assert_int_equal(item->ports.count, 2);
	assert_int_equal(((struct field_range *)item->ports.items)[0].last, 2047);
	assert_int_equal(((struct field_range *)item->ports.items)[1].first, 4096);
	assert_int_equal(item->timeout_ns, 1000000000);
	assert_true(item->loss == 0.001);
	assert_true(item->load.rate == 20000);
	assert_int_equal(item->load.total, UINT64_MAX);
	assert_int_equal(((struct sample_dns *)item->protocols[0])->mode, MODE_SLOW);
	assert_true(((struct sample_dns *)item->protocols[0])->recursion);
	assert_null(((struct sample_dns *)item->protocols[0])->queries);
	fixture_end(&f);
}

static void a_given_list_replaces_the_default(void **state)
{
	struct fixture f;

	fixture_load(&f, "traffic: [{server: 1.2.3.4, ports: []}]\n");
	assert_errors(&f, "");
	assert_int_equal(item_of(&f, 0)->ports.count, 0);
	fixture_end(&f);
}

static void an_empty_section_is_an_empty_mapping(void **state)
{
	assert_load_errors("run:\ntraffic: [{server: 1.2.3.4, dns: }]\n", "");
	assert_load_errors("run: {}\ntraffic: [{server: 1.2.3.4, dns: {}}]\n", "");
	assert_load_errors("run: ~\n", "");
}

static void wrong_values_say_what_is_allowed(void **state)
{
	assert_load_errors("traffic:\n"
			   "  - name: queries\n"
			   "    server: 198.18.0\n"
			   "    ports: [0, 70000, 9-5, x]\n"
			   "    sources: [1.2.3.4/33, \"2001:db8::/63\"]\n"
			   "    timeout: 10\n"
			   "    loss: 0.1\n"
			   "    load:\n"
			   "      rate: 50q\n"
			   "      total: 1.5\n"
			   "    dns:\n"
			   "      mode: quick\n"
			   "      recursion: yes\n"
			   "      option: 0f1\n"
			   "own: 198.18.0.1\n"
			   "run: {memory: 64, seed: 0x10}\n",
		"f.yaml:3:13: traffic.queries.server: \"198.18.0\" is not an IP address (like "
		"198.18.0.1 or 2001:db8::1)\n"
		"f.yaml:4:13: traffic.queries.ports[0]: \"0\" is out of range (1 to 65535)\n"
		"f.yaml:4:16: traffic.queries.ports[1]: \"70000\" is out of range (1 to 65535)\n"
		"f.yaml:4:23: traffic.queries.ports[2]: \"9-5\" is not a range in ascending "
		"order (like 4-7)\n"
		"f.yaml:4:28: traffic.queries.ports[3]: \"x\" is not a number or a range (like 4 "
		"or "
		"4-7)\n"
		"f.yaml:5:15: traffic.queries.sources[0]: \"1.2.3.4/33\" is not an address range "
		"(like 198.18.0.1, 198.18.0.0/24 or 198.18.0.16-198.18.0.31)\n"
		"f.yaml:5:27: traffic.queries.sources[1]: \"2001:db8::/63\" is not an IPv6 address "
		"range within one /64 (prefixes /64 to /128)\n"
		"f.yaml:6:14: traffic.queries.timeout: \"10\" is not a duration with its unit "
		"(like "
		"250us, 20ms or 10s)\n"
		"f.yaml:7:11: traffic.queries.loss: \"0.1\" is not a percentage with its sign "
		"(like "
		"0.1%)\n"
		"f.yaml:9:13: traffic.queries.load.rate: \"50q\" is not a rate (like 500, 20k or "
		"1.5M) or max\n"
		"f.yaml:10:14: traffic.queries.load.total: \"1.5\" is not a count (like 500, 100k "
		"or "
		"1.5M) or none\n"
		"f.yaml:12:13: traffic.queries.dns.mode: \"quick\" is not one of fast, slow, null\n"
		"f.yaml:13:18: traffic.queries.dns.recursion: \"yes\" is not a boolean (true or "
		"false)\n"
		"f.yaml:14:15: traffic.queries.dns.option: \"0f1\" is not an even number of hex "
		"digits (like 00ff12)\n"
		"f.yaml:15:6: own: \"198.18.0.1\" is not an address with a prefix length (like "
		"198.18.0.1/24 or 2001:db8::1/64)\n"
		"f.yaml:16:15: run.memory: \"64\" is not a size with its unit (like 64KiB or "
		"512MiB) "
		"or auto\n"
		"f.yaml:16:25: run.seed: \"0x10\" is not a count (like 500, 100k or 1.5M)\n");
}

static void ranges_come_in_the_unit_of_the_setting(void **state)
{
	assert_load_errors("run: {memory: 4KiB}\n"
			   "traffic:\n"
			   "  - server: 1.2.3.4\n"
			   "    timeout: 2m\n"
			   "    loss: 101%\n"
			   "    load: {rate: 0, outstanding: 2M, total: 0}\n"
			   "    dns: {queries: \"\", option: 000102030405060708}\n"
			   "  - {server: 1.2.3.4, timeout: 0}\n",
		"f.yaml:1:15: run.memory: \"4KiB\" is out of range (at least 1MiB)\n"
		"f.yaml:4:14: traffic[0].timeout: \"2m\" is out of range (1ms to 1m)\n"
		"f.yaml:5:11: traffic[0].loss: \"101%\" is out of range (0% to 100%)\n"
		"f.yaml:6:18: traffic[0].load.rate: \"0\" is out of range (1 to 1G)\n"
		"f.yaml:6:34: traffic[0].load.outstanding: \"2M\" is out of range (1 to 1000000)\n"
		"f.yaml:6:45: traffic[0].load.total: \"0\" is out of range (at least 1)\n"
		"f.yaml:7:20: traffic[0].dns.queries: \"\" is out of range (1 to 255 long)\n"
		"f.yaml:7:32: traffic[0].dns.option: \"000102030405060708\" is out of range (0 to "
		"8 "
		"long)\n"
		"f.yaml:8:32: traffic[1].timeout: \"0\" is out of range (1ms to 1m)\n");
}

static void both_ends_of_a_range_are_checked(void **state)
{
	assert_load_errors("traffic: [{server: 1.2.3.4, ports: [0-5, 9-65536, 1-65535]}]\n",
		"f.yaml:1:37: traffic[0].ports[0]: \"0-5\" is out of range (1 to 65535)\n"
		"f.yaml:1:42: traffic[0].ports[1]: \"9-65536\" is out of range (1 to 65535)\n");
	assert_load_errors("cpu: 4294967296\n",
		"f.yaml:1:6: cpu: \"4294967296\" is not a number or a range (like 4 or 4-7)\n");
	assert_load_errors("cpu: 010\n",
		"f.yaml:1:6: cpu: \"010\" is not a number or a range (like 4 or 4-7)\n");
}

static void unknown_keys_suggest_the_nearest(void **state)
{
	assert_load_errors("trafic: []\n"
			   "run: {sede: 1, colour: red}\n"
			   "traffic:\n"
			   "  - name: a\n"
			   "    server: 1.2.3.4\n"
			   "    dsn: {}\n"
			   "    dns:\n"
			   "      qeries: x\n",
		"f.yaml:1:1: unknown key \"trafic\" (did you mean \"traffic\"?)\n"
		"f.yaml:2:7: run: unknown key \"sede\" (did you mean \"seed\"?)\n"
		"f.yaml:2:16: run: unknown key \"colour\" (allowed: seed, warmup, drain, memory)\n"
		"f.yaml:6:5: traffic.a: unknown key \"dsn\" (did you mean \"dns\"?)\n"
		"f.yaml:8:7: traffic.a.dns: unknown key \"qeries\" (did you mean \"queries\"?)\n");
}

static void missing_keys_are_named_once(void **state)
{
	assert_load_errors("traffic:\n"
			   "  - name: a\n"
			   "    dhcp4:\n"
			   "      relay:\n"
			   "  - dhcp4: {clients: 5}\n",
		"f.yaml:2:5: traffic.a.server: is missing (to be asked)\n"
		"f.yaml:4:7: traffic.a.dhcp4.clients: is missing (distinct ones)\n"
		"f.yaml:4:13: traffic.a.dhcp4.relay.addresses: is missing (of the relays)\n"
		"f.yaml:5:5: traffic[1].server: is missing (to be asked)\n");
}

static void a_key_without_a_value_is_an_error(void **state)
{
	assert_load_errors("cpu:\n"
			   "traffic:\n"
			   "criteria: [a, ]\n"
			   "own: ~\n",
		"f.yaml:1:1: cpu: has no value, expected a number or a range (like 4 or 4-7)\n"
		"f.yaml:2:1: traffic: has no value, expected a list (each item begins with \"- "
		"\")\n"
		"f.yaml:4:1: own: has no value, expected an address with a prefix length (like "
		"198.18.0.1/24 or 2001:db8::1/64)\n");
	assert_load_errors("criteria:\n  - a\n  -\n",
		"f.yaml:3:4: criteria[1]: has no value, expected a text\n");
}

static void the_wrong_kind_of_node_is_named(void **state)
{
	assert_load_errors("run: fast\n"
			   "cpu: [1]\n"
			   "pool: {a: b}\n"
			   "traffic: {name: x}\n"
			   "criteria: {a: b}\n",
		"f.yaml:1:6: run: \"fast\" is not a mapping (lines of \"key: value\")\n"
		"f.yaml:2:6: cpu: is a list, expected a number or a range (like 4 or 4-7)\n"
		"f.yaml:3:7: pool: is a mapping, expected an address range (like 198.18.0.1, "
		"198.18.0.0/24 or 198.18.0.16-198.18.0.31)\n"
		"f.yaml:4:10: traffic: is a mapping, expected a list (each item begins with \"- "
		"\")\n"
		"f.yaml:5:11: criteria: is a mapping, expected a list (like [a, b])\n");
	assert_load_errors("traffic: [[a], b, {server: 1.2.3.4, dns: [x], dhcp4: y}]\n",
		"f.yaml:1:11: traffic[0]: is a list, expected a mapping (lines of \"key: value\")\n"
		"f.yaml:1:16: traffic[1]: \"b\" is not a mapping (lines of \"key: value\")\n"
		"f.yaml:1:42: traffic[2].dns: is a list, expected a mapping (lines of \"key: "
		"value\")\n"
		"f.yaml:1:54: traffic[2].dhcp4: \"y\" is not a mapping (lines of \"key: "
		"value\")\n");
}

static void after_errors_the_struct_is_safe(void **state)
{
	const struct sample_item *item;
	struct fixture f;

	fixture_load(&f, "run: {seed: x}\n"
			 "criteria: [a, [b], c]\n"
			 "traffic: [{server: x, ports: [1, x, 3], dns: 5}, 7]\n");
	assert_int_not_equal(f.rc, 0);
	assert_int_equal(f.s.run.seed, 1);
	assert_int_equal(f.s.criteria.count, 2);
	assert_string_equal(((const char **)f.s.criteria.items)[1], "c");
	item = item_of(&f, 0);
	assert_int_equal(item->server.len, 0);
	assert_int_equal(item->ports.count, 2);
	assert_int_equal(((struct sample_dns *)item->protocols[0])->mode, MODE_SLOW);
	assert_int_equal(item_of(&f, 1)->timeout_ns, 1000000000);
	fixture_end(&f);
}

static void values_are_marked_with_their_line(void **state)
{
	const struct sample_item *item;
	struct fixture f;

	fixture_load(&f, full);
	item = item_of(&f, 0);
	diag_error(f.d, &item->load.rate, "rate", "one");
	diag_error(f.d, &item->load.outstanding, "outstanding", "two");
	diag_error(f.d, (struct field_range *)item->ports.items + 1, NULL, "three");
	diag_error(f.d, item, "", "four");
	diag_error(f.d, &((struct sample_dns *)item->protocols[0])->queries, "queries", "five");
	diag_error(f.d, &item_of(&f, 1)->load.rate, "rate", "six");
	diag_error(f.d, &f.s.traffic, NULL, "seven");
	diag_error(f.d, item->protocols[0], "", "eight");
	diag_error(f.d, item, "timeout", "ten");
	diag_error(f.d, item, NULL, "eleven");
	diag_error(f.d, &item_of(&f, 1)->name, "name", "nine");
	assert_errors(&f, "f.yaml:6:3: traffic: seven\n"
			  "f.yaml:6:5: traffic.queries: four\n"
			  "f.yaml:6:11: traffic.queries.name: eleven\n"
			  "f.yaml:8:17: traffic.queries.ports[1]: three\n"
			  "f.yaml:10:14: traffic.queries.timeout: ten\n"
			  "f.yaml:12:11: traffic.queries.load.outstanding: two\n"
			  "f.yaml:12:18: traffic.queries.load.rate: one\n"
			  "f.yaml:14:7: traffic.queries.dns: eight\n"
			  "f.yaml:14:16: traffic.queries.dns.queries: five\n"
			  "f.yaml:19:5: traffic[1].load.rate: six\n"
			  "f.yaml:19:5: traffic[1].name: nine\n");
	assert_string_equal(diag_file(f.d, &item->name), "f.yaml");
	fixture_end(&f);
}

static void long_and_unprintable_values_are_shown_tamed(void **state)
{
	assert_load_errors("cpu: \"a\\e[31m\\nb\"\n",
		"f.yaml:1:6: cpu: \"a?[31m?b\" is not a number or a range (like 4 or 4-7)\n");
	assert_load_errors(
		"cpu: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
		"f.yaml:1:6: cpu: "
		"\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\" "
		"is not a number or a range (like 4 or 4-7)\n");
	// 59 letters and a letter of two bytes: cut before it, not within.
	assert_load_errors(
		"cpu: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\xc3\xbcyyy\n",
		"f.yaml:1:6: cpu: "
		"\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\" "
		"is not a number or a range (like 4 or 4-7)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_read),
		cmocka_unit_test(a_scalar_is_a_list_of_one),
		cmocka_unit_test(a_scalar_of_addresses_splits_at_commas_and_text_does_not),
		cmocka_unit_test(defaults_fill_what_is_absent),
		cmocka_unit_test(a_given_list_replaces_the_default),
		cmocka_unit_test(an_empty_section_is_an_empty_mapping),
		cmocka_unit_test(wrong_values_say_what_is_allowed),
		cmocka_unit_test(ranges_come_in_the_unit_of_the_setting),
		cmocka_unit_test(both_ends_of_a_range_are_checked),
		cmocka_unit_test(unknown_keys_suggest_the_nearest),
		cmocka_unit_test(missing_keys_are_named_once),
		cmocka_unit_test(a_key_without_a_value_is_an_error),
		cmocka_unit_test(the_wrong_kind_of_node_is_named),
		cmocka_unit_test(after_errors_the_struct_is_safe),
		cmocka_unit_test(values_are_marked_with_their_line),
		cmocka_unit_test(long_and_unprintable_values_are_shown_tamed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
