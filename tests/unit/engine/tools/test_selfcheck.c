// SPDX-License-Identifier: BSD-3-Clause
// The check of this box: the traffic of a file against the embedded server, at a rate a tenth
// higher and with a quarter of the timeouts, and the head-room that its result shows. Path: cold.
// Test.
#include "proto/table.h"
#include "../loaded.h"

#include <math.h>

#include "conf/schema.h"
#include "engine/tools/selfcheck.h"
#include "io/driver/driver.h"

#define FILE_HEAD                                                                                  \
	"ports:\n"                                                                                 \
	"  - {name: lan, driver: af_packet, device: nosuch0, cpus: [1, 2], vlans: [100],"          \
	" addresses: [198.18.0.1/24, 198.18.0.7/24, \"2001:db8::1/64\"],"                          \
	" gateway: [198.18.0.254, \"2001:db8::fe\"]}\n"                                            \
	"  - {name: wan, driver: af_packet, device: nosuch1, addresses: [198.19.0.1/24],"          \
	" gateway: 198.19.0.254}\n"
#define ITEM(name, port, server, load)                                                             \
	"  - {name: " name ", port: " port ", server: " server ", load: {" load "}, " LOADED_DNS   \
	"}\n"

static struct loaded l;
static const struct config *derived;

static void derive(const char *text)
{
	l = loaded_from(text);
	derived = selfcheck_derive(l.config, l.a, l.d);
	diag_print(l.d, stderr);
	assert_non_null(derived);
}

static const struct port_settings *port(uint32_t n)
{
	return &((const struct port_settings *)derived->ports.items)[n];
}

static const struct item_settings *item(uint32_t n)
{
	return &((const struct item_settings *)derived->traffic.items)[n];
}

static void expect_addresses(const struct port_settings *p, const char *const *texts)
{
	const struct addr_prefix *own = p->addresses.items;
	char text[ADDR_TEXT_SIZE];
	uint32_t n = 0;

	for (; texts[n]; n++) {
		assert_true(n < p->addresses.count);
		assert_string_equal(addr_format(&own[n].addr, text, sizeof(text)), texts[n]);
	}
	assert_int_equal(p->addresses.count, n);
}

// One end is the tester on all ports of the file, the other one has all servers and gateways; each
// address once, and one gateway per family.
static void a_ring_pair_has_the_addresses_of_the_file(void **state)
{
	derive(FILE_HEAD "traffic:\n" ITEM("a", "lan", "198.18.0.2", "rate: 1k") ITEM(
		"b", "lan", "198.18.0.2", "rate: 1k") ITEM("c", "wan", "198.19.0.2", "rate: 1k")
			ITEM("d", "lan", "\"2001:db8::2\"", "rate: 1k"));
	assert_int_equal(derived->ports.count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_string_equal(driver_of(port(i))->name, "ring");
		assert_string_equal(port(i)->device, port(!i)->name);
		assert_int_equal(port(i)->vlans.count, 1);
	}
	assert_int_equal(port(0)->cpus.count, 2);
	assert_int_equal(port(1)->cpus.count, 0);
	expect_addresses(port(0), (const char *const[]){"198.18.0.1", "198.18.0.7", "2001:db8::1",
					  "198.19.0.1", NULL});
	expect_addresses(port(1), (const char *const[]){"198.18.0.2", "198.19.0.2", "2001:db8::2",
					  "198.18.0.254", "2001:db8::fe", NULL});
	assert_int_equal(port(0)->gateway.count, 2);
	assert_string_equal(derived->responder->port, port(1)->name);
	for (uint32_t i = 0; i < 4; i++)
		assert_string_equal(item(i)->port, "lan");
	loaded_free(&l);
}

static void clients_without_a_server_get_one(void **state)
{
	derive(FILE_HEAD "traffic: [{name: a, port: lan, load: {rate: 10}, "
			 "dhcp4: {clients: 9}}]\n");
	expect_addresses(port(1), (const char *const[]){"192.0.2.1", "2001:db8::ff01",
					  "198.18.0.254", "2001:db8::fe", NULL});
	loaded_free(&l);
}

static void loads_are_a_tenth_more_and_timeouts_a_quarter(void **state)
{
	derive(FILE_HEAD "traffic:\n" ITEM("a", "lan", "198.18.0.2", "rate: 1k") ITEM(
		"b", "lan", "198.18.0.2", "outstanding: 7, slots: 99")
			ITEM("c", "lan", "198.18.0.2", "rate: max") ITEM("d", "lan", "198.18.0.2",
				"steps: [{rate: 100, for: 1s}, {rate: 300, for: "
				"1s}], start_at: 2s, stop_at: 3s")
				ITEM("e", "lan", "198.18.0.2", "replay: {file: /nosuch}"));
	assert_float_equal(item(0)->load.rate, 1100, 1e-9);
	assert_int_equal(item(0)->timeout_ns, 250000000);
	assert_int_equal(item(0)->load.slots, UINT64_MAX);
	assert_true(item(1)->load.rate == 0);
	assert_int_equal(item(1)->load.outstanding, 7);
	assert_int_equal(item(1)->load.slots, 99);
	assert_true(isinf(item(2)->load.rate));
	assert_float_equal(item(3)->load.rate, 330, 1e-9);
	assert_int_equal(item(3)->load.start_at_ns, 0);
	assert_int_equal(item(3)->load.stop_at_ns, UINT64_MAX);
	assert_int_equal(item(3)->load.steps.count, 0);
	assert_true(isinf(item(4)->load.rate));
	assert_null(item(4)->load.replay);
	loaded_free(&l);
}

static void a_timeout_is_a_tenth_of_a_millisecond_at_least(void **state)
{
	static const struct {
		const char *timeout;
		uint64_t ns;
	} rows[] = {{"400us", 100000}, {"401us", 100250}, {"300us", 100000}};
	char text[2048];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text),
			FILE_HEAD "traffic: [{name: a, port: lan, server: 198.18.0.2, timeout: %s, "
				  "load: {rate: 1k}, " LOADED_DNS "}]\n",
			rows[i].timeout);
		derive(text);
		assert_int_equal(item(0)->timeout_ns, rows[i].ns);
		loaded_free(&l);
	}
}

static void the_check_is_short_and_has_one_criterion(void **state)
{
	derive("run: {warmup: 5s, duration: 1h, repeat: {}}\nhooks: {start: x}\n"
	       "criteria: [loss <= 5%]\nstop: [loss > 5%]\n" FILE_HEAD
	       "traffic:\n" ITEM("a", "lan", "198.18.0.2", "rate: 1k"));
	assert_int_equal(derived->run.warmup_ns, 1000000000);
	assert_int_equal(derived->run.duration_ns, 10000000000);
	assert_int_equal(derived->run.drain_ns, UINT64_MAX);
	assert_null(derived->run.repeat);
	assert_null(derived->hooks.start);
	assert_int_equal(derived->stop.count, 0);
	assert_int_equal(derived->criteria.count, 1);
	assert_string_equal(((const char *const *)derived->criteria.items)[0], "loss <= 0%");
	loaded_free(&l);
	derive("run: {warmup: 300ms, duration: 4s}\n" FILE_HEAD
	       "traffic:\n" ITEM("a", "lan", "198.18.0.2", "rate: 1k"));
	assert_int_equal(derived->run.warmup_ns, 300000000);
	assert_int_equal(derived->run.duration_ns, 4000000000);
	loaded_free(&l);
}

// The file's settings for replies apply, but not its faults.
static void its_configuration_can_be_read_back(void **state)
{
	struct diag *d = diag_new();
	char *text = NULL;
	size_t len = 0;
	FILE *f;

	derive(FILE_HEAD "traffic:\n" ITEM(
		"a", "lan", "198.18.0.2", "rate: 1k") "hooks: {start: \"true\", timeout: 5s}\n");
	f = open_memstream(&text, &len);
	conf_dump(config_section(), derived, f);
	fclose(f);
	if (!config_load_text("back.yaml", text, len, l.a, d))
		diag_print(d, stderr);
	assert_int_equal(diag_count(d), 0);
	diag_free(d);
	free(text);
	loaded_free(&l);
}

static void the_server_is_that_of_the_file_without_its_faults(void **state)
{
	uint32_t protocols = 0;

	derive(LOADED_PORTS "traffic:\n" ITEM("a", "lan", "198.18.0.2", "rate: 1k"));
	assert_ptr_equal(derived->responder->protocol[0], l.config->responder->protocol[0]);
	loaded_free(&l);
	derive(FILE_HEAD "traffic:\n" ITEM("a", "lan", "198.18.0.2", "rate: 1k"));
	for (uint32_t k = 0; protos[k]; k++)
		protocols += derived->responder->protocol[k] != NULL;
	assert_int_equal(protocols, 1);
	assert_null(derived->responder->faults);
	loaded_free(&l);
}

static void without_traffic_there_is_nothing_to_check(void **state)
{
	l = loaded_from(LOADED_PORTS);
	assert_null(selfcheck_derive(l.config, l.a, l.d));
	assert_int_equal(diag_count(l.d), 1);
	loaded_free(&l);
}

// --- in words ---

static char said[4096];

static void say(void *ctx, const char *text)
{
	strncat(said, text, sizeof(said) - strlen(said) - 2);
	strcat(said, "\n");
}

static void describe(const char *load, const char *status, const char *reason)
{
	struct result_item items[2] = {
		{.name = "a",
			.answered_per_s = 1234,
			.latency.service = {.count = 9, .p50_ns = 1500, .p99_ns = 2500}},
		{.name = "none"},
	};
	const struct result r = {.traffic = {items, 2},
		.verdict = {.status = status, .reasons = {&reason, reason != NULL}}};
	char text[1024];

	snprintf(text, sizeof(text),
		LOADED_PORTS
		"traffic: [{name: a, port: lan, server: 198.18.0.2, load: {%s}, " LOADED_DNS "}]\n",
		load);
	l = loaded_from(text);
	said[0] = '\0';
	selfcheck_describe(l.config, &r, say, NULL);
	loaded_free(&l);
}

static void the_result_is_said_with_the_delay_of_the_box(void **state)
{
	describe("rate: 1k", "pass", NULL);
	assert_non_null(strstr(said, "a: tester and responder together need 1.5 us (median), 2.5 "
				     "us (99th percentile) with 1234"));
	assert_null(strstr(said, "none:"));
	assert_non_null(strstr(said, "PASS: this box has at least 10 % head-room"));
	describe("rate: max", "pass", NULL);
	assert_non_null(strstr(said, "PASS: nothing was lost"));
	describe("outstanding: 5", "pass", NULL);
	assert_non_null(strstr(said, "PASS: nothing was lost"));
	describe("rate: 1k", "fail", "criterion not met: loss <= 0%");
	assert_non_null(strstr(said, "FAIL: "));
	assert_non_null(strstr(said, "self-check: criterion not met: loss <= 0%"));
	describe("rate: 1k", "invalid", "late");
	assert_non_null(strstr(said, "INVALID: "));
	assert_non_null(strstr(said, "self-check: late"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ring_pair_has_the_addresses_of_the_file),
		cmocka_unit_test(clients_without_a_server_get_one),
		cmocka_unit_test(loads_are_a_tenth_more_and_timeouts_a_quarter),
		cmocka_unit_test(a_timeout_is_a_tenth_of_a_millisecond_at_least),
		cmocka_unit_test(the_check_is_short_and_has_one_criterion),
		cmocka_unit_test(its_configuration_can_be_read_back),
		cmocka_unit_test(the_server_is_that_of_the_file_without_its_faults),
		cmocka_unit_test(without_traffic_there_is_nothing_to_check),
		cmocka_unit_test(the_result_is_said_with_the_delay_of_the_box),
	};

	return cmocka_run_group_tests_name("selfcheck", tests, NULL, NULL);
}
