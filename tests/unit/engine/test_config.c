// SPDX-License-Identifier: BSD-3-Clause
// The rules that tie the sections of a file together: each broken rule is one error at its place in
// the file. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/config.h"

#define PORTS                                                                                      \
	"ports:\n"                                                                                 \
	"  - {name: lan, driver: ring, device: dut, addresses: [198.18.0.1/24]}\n"                 \
	"  - {name: dut, driver: ring, device: lan, addresses: [198.18.0.2/24]}\n"                 \
	"responder: {port: dut, dns: {}}\n"
#define DNS "dns: {names: [\"a.example.com A\"]}"

// All that diag_print writes for the text; "" when the file is right.
static char *errors_of(const char *text)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new();
	const struct config *c = config_load_text("t.yaml", text, strlen(text), a, d);
	char *out = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&out, &len);

	diag_print(d, f);
	fclose(f);
	assert_int_equal(c != NULL, diag_count(d) == 0);
	diag_free(d);
	arena_free(a);
	return out;
}

static void expect_error(const char *text, const char *part)
{
	char *errors = errors_of(text);

	if (!strstr(errors, part))
		fail_msg("expected \"%s\" in:\n%s", part, errors);
	free(errors);
}

static void expect_fine(const char *text)
{
	char *errors = errors_of(text);

	assert_string_equal(errors, "");
	free(errors);
}

static void a_right_file_has_no_errors(void **state)
{
	expect_fine(
		PORTS "traffic:\n  - {name: q, server: 198.18.0.2, load: {rate: 1k}, " DNS "}\n");
}

static void an_unknown_key_is_an_error_with_a_suggestion(void **state)
{
	expect_error(PORTS "traffic:\n  - {name: q, sever: 198.18.0.2, load: {rate: 1k}, " DNS
			   "}\n",
		"t.yaml:6:15: traffic.q: unknown key \"sever\" (did you mean \"server\"?)");
}

static void a_rate_without_sense_names_line_and_column(void **state)
{
	expect_error(PORTS "traffic:\n  - {name: q, server: 198.18.0.2, load: {rate: 50q}, " DNS
			   "}\n",
		"t.yaml:6:48: traffic.q.load.rate: \"50q\" is not a rate (like 500, 20k or 1.5M)");
}

static void a_missing_server_is_an_error(void **state)
{
	expect_error(PORTS "traffic:\n  - {name: q, load: {rate: 1k}, " DNS "}\n", "server");
}

static void an_item_without_a_protocol_is_an_error(void **state)
{
	expect_error(PORTS "traffic:\n  - {name: q, server: 198.18.0.2, load: {rate: 1k}}\n",
		"no protocol section (exactly one of: dns, dhcp4, dhcp6)");
}

static void too_few_source_ports_for_rate_and_timeout_says_how_many(void **state)
{
	expect_error(PORTS
		"traffic:\n  - {name: q, server: 198.18.0.2, source: {ports: 5000}, timeout: 2s, "
		"load: {rate: 100k}, " DNS "}\n",
		"1 source ports are too few for rate x 3 timeouts = 630256 transactions (at least "
		"10,");
}

static void open_and_closed_loop_at_once_is_an_error(void **state)
{
	expect_error(PORTS
		"traffic:\n  - {name: q, server: 198.18.0.2, load: {rate: 1k, outstanding: 5}, " DNS
		"}\n",
		"closed loop and open loop at once");
}

static void a_server_off_the_subnet_needs_a_gateway(void **state)
{
	expect_error(PORTS "traffic:\n  - {name: q, server: 203.0.113.1, load: {rate: 1k}, " DNS
			   "}\n",
		"t.yaml:6:23: traffic.q.server: not on a subnet of port lan");
}

static void a_server_of_a_family_that_the_port_lacks_is_an_error(void **state)
{
	expect_error(PORTS "traffic:\n  - {name: q, server: \"2001:db8::2\", load: {rate: 1k}, " DNS
			   "}\n",
		"no IPv6 address on this port");
}

static void an_unknown_port_is_an_error(void **state)
{
	expect_error(PORTS
		"traffic:\n  - {name: q, port: wan, server: 198.18.0.2, load: {rate: 1k}, " DNS
		"}\n",
		"there is no port called \"wan\"");
}

static void two_items_of_one_name_are_an_error(void **state)
{
	expect_error(PORTS "traffic:\n  - {name: q, server: 198.18.0.2, load: {rate: 1k}, " DNS
			   "}\n"
			   "  - {name: q, server: 198.18.0.2, load: {rate: 1k}, " DNS "}\n",
		"a traffic item called \"q\" is there already");
}

static void a_criterion_over_an_unknown_figure_is_an_error(void **state)
{
	const char *head =
		PORTS "traffic:\n  - {name: q, server: 198.18.0.2, load: {rate: 1k}, " DNS "}\n";
	const char *const bad[] = {"speed <= 5", "loss ! 5%", "traffic.x.loss <= 1%", "loss <= 5",
		"p99 <= 5%", "dns.rcode.NOSUCH == 0", ""};
	const char *const good[] = {"loss <= 0.1%", "p99 < 2ms", "traffic.q.lost == 0",
		"dns.rcode.SERVFAIL == 0", "answered_per_s >= 900", "latency.service.p50_ns > 1us"};
	char text[1024];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "%scriteria: [\"%s\"]\n", head, bad[i]);
		expect_error(text, "t.yaml:7:");
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(text, sizeof(text), "%scriteria: [\"%s\"]\n", head, good[i]);
		expect_fine(text);
	}
}

static void all_errors_of_a_file_come_at_once(void **state)
{
	char *errors =
		errors_of(PORTS "traffic:\n"
				"  - {name: a, server: 203.0.113.1, load: {rate: 1k}, " DNS "}\n"
				"  - {name: b, server: 198.18.0.2, load: {}, " DNS "}\n"
				"criteria: [\"nonsense\"]\n");
	int lines = 0;

	for (const char *p = errors; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 3);
	free(errors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_right_file_has_no_errors),
		cmocka_unit_test(an_unknown_key_is_an_error_with_a_suggestion),
		cmocka_unit_test(a_rate_without_sense_names_line_and_column),
		cmocka_unit_test(a_missing_server_is_an_error),
		cmocka_unit_test(an_item_without_a_protocol_is_an_error),
		cmocka_unit_test(too_few_source_ports_for_rate_and_timeout_says_how_many),
		cmocka_unit_test(open_and_closed_loop_at_once_is_an_error),
		cmocka_unit_test(a_server_off_the_subnet_needs_a_gateway),
		cmocka_unit_test(a_server_of_a_family_that_the_port_lacks_is_an_error),
		cmocka_unit_test(an_unknown_port_is_an_error),
		cmocka_unit_test(two_items_of_one_name_are_an_error),
		cmocka_unit_test(a_criterion_over_an_unknown_figure_is_an_error),
		cmocka_unit_test(all_errors_of_a_file_come_at_once),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
