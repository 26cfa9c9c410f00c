// SPDX-License-Identifier: BSD-3-Clause
// The number of clients of an item that sets none, and the supplies that run out before the end of
// a run. Path: cold. Test.
#include "../planned.h"

#include <unistd.h>

#include "engine/plan/plan_supply.h"

#define MIB (1ull << 20)

uint64_t __wrap_memory_available(void);

static uint64_t memory;

uint64_t __wrap_memory_available(void)
{
	return memory;
}

#define HEAD                                                                                       \
	"run: {warmup: 1s, duration: 10s}\n"                                                       \
	"ports:\n  - {name: lan, driver: ring, device: dut, cpus: %s, addresses: "                 \
	"[198.18.0.1/24]}\n"                                                                       \
	"  - {name: dut, driver: ring, device: lan, cpus: %s, addresses: [198.18.0.2/24]}\n"       \
	"responder: {port: dut, dhcp4: {pool: [%s], server_id: 198.18.0.2, %s}}\n"
#define RELAY "relay: {addresses: [198.18.0.64/26]}"

struct given {
	const char *load, *dhcp4; // of the item
	const char *cpus, *pool, *responder;
};

static struct planned *planned(const struct given *g)
{
	char text[2048];
	const char *cpus = g->cpus ? g->cpus : "1";

	snprintf(text, sizeof(text),
		HEAD "traffic:\n  - {name: r, server: 198.18.0.2, timeout: 1s, load: {%s}, "
		     "dhcp4: {" RELAY "%s}}\n",
		cpus, cpus, g->pool ? g->pool : "10.0.0.0/16", g->responder ? g->responder : "",
		g->load, g->dhcp4 ? g->dhcp4 : "");
	return planned_read(text, false);
}

static void expect_clients(struct given g, uint64_t clients)
{
	struct planned *p = planned(&g);
	const struct proto_stock got = plan_clients(&p->plan.items[0]);

	assert_true(got.chosen);
	if (got.count != clients)
		fail_msg("%s%s: %llu clients instead of %llu", g.load, g.dhcp4 ? g.dhcp4 : "",
			(unsigned long long)got.count, (unsigned long long)clients);
	assert_int_equal(plan_shortages(&p->plan, p->l.a).count, 0);
	planned_free(p);
}

static void expect_shortage(struct given g, uint32_t count, const char *text)
{
	struct planned *p = planned(&g);
	struct counter_list all = plan_shortages(&p->plan, p->l.a);

	assert_int_equal(all.count, count);
	if (count)
		assert_string_equal(*(const char **)all.items, text);
	planned_free(p);
}

static void there_are_as_many_clients_as_a_load_begins(void **state)
{
	expect_clients((struct given){.load = "rate: 500"}, 5500);
	expect_clients((struct given){.load = "rate: 500, total: 100"}, 600);
	expect_clients((struct given){.load = "rate: 500, start_at: 5s"}, 2500);
	expect_clients((struct given){.load = "storm: {clients: 777, within: 2s}"}, 777);
	expect_clients((struct given){.load = "burst: {size: 10, every: 1s}"}, 110);
	expect_clients((struct given){.load = "ramp: {from: 0, to: 100, over: 10s}"}, 500);
	expect_clients(
		(struct given){.load = "steps: [{rate: 10, for: 5s}, {rate: 0, for: 1s}]"}, 60);
	expect_clients((struct given){.load = "rate: 500", .cpus = "1-3"}, 5502);
}

// As many clients as the expected addresses and prefixes suffice for.
static void no_more_clients_than_leases(void **state)
{
	static const struct {
		const char *dhcp6;
		uint64_t clients;
	} rows[] = {{"lease: both", 5500},
		{"lease: address, expect: {pool: [\"2001:db8:1::/120\"]}", 256},
		{"lease: prefix, expect: {prefixes: [\"2001:db8:8000::/47\"], prefix_length: 56}",
			512},
		{"lease: both, expect: {pool: [\"2001:db8:1::/119\"], prefixes: "
		 "[\"2001:db8:8000::/48\"], prefix_length: 56}",
			256},
		{"lease: both, addresses: 2, expect: {pool: [\"2001:db8:1::/120\"]}", 128}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[1000];
		struct planned *p;
		struct proto_stock got;

		snprintf(text, sizeof(text),
			"run: {warmup: 1s, duration: 10s}\n"
			"ports: [{name: lan, driver: af_packet, device: nosuch0, cpus: 1, "
			"addresses: [\"2001:db8::1/64\"]}]\n"
			"traffic: [{name: r, timeout: 1s, load: {rate: 500}, dhcp6: {%s}}]\n",
			rows[i].dhcp6);
		p = planned_read(text, false);
		got = plan_clients(&p->plan.items[0]);
		assert_int_equal(got.count, rows[i].clients);
		assert_true(got.chosen);
		planned_free(p);
	}
}

// At 500/s and a timeout of 1 s, at most 1831 are in flight.
static void exchanges_that_use_up_no_client_need_those_in_flight(void **state)
{
	expect_clients((struct given){.load = "rate: 500", .dhcp4 = ", exchange: discover"}, 1831);
	expect_clients((struct given){.load = "rate: 5", .dhcp4 = ", exchange: discover"}, 55);
	expect_clients(
		(struct given){.load = "rate: 500", .dhcp4 = ", mix: {renew: 60%}"}, 2200 + 1831);
	expect_clients((struct given){.load = "rate: 500", .dhcp4 = ", mix: {release: 50%}"}, 1831);
	expect_clients(
		(struct given){.load = "rate: 500", .dhcp4 = ", mix: {decline: 50%}"}, 2750 + 1831);
}

// 650/s in all, at which 2303 are in flight: 400 of them keep a client.
static void rates_of_a_mix_come_on_top_of_that_of_the_load(void **state)
{
	struct given g = {.load = "rate: 500",
		.dhcp4 = ", clients: 9000, mix: {renew: 50/s, release: 100/s}"};
	struct planned *p = planned(&g);

	assert_true(load_peak(&p->plan.items[0].settings->load) == 650);
	assert_int_equal(config_slots_needed(p->l.config, p->plan.items[0].settings), 2303);
	planned_free(p);
	g.dhcp4 = ", mix: {renew: 50/s, release: 100/s}";
	expect_clients(g, 400 * 11 + 2303);
	g.dhcp4 = ", clients: 400, mix: {renew: 50/s, release: 100/s}";
	expect_shortage(g, 1,
		"traffic r: its 400 clients run out after 1 s of 11 s, warm-up included (raise "
		"dhcp4.clients, or set again: true)");
}

// In flight, and 256 more.
static void clients_that_start_over_are_few_and_never_run_out(void **state)
{
	expect_clients((struct given){.load = "rate: 500", .dhcp4 = ", again: true"}, 1831 + 256);
	expect_clients((struct given){.load = "rate: 5", .dhcp4 = ", again: true"}, 55);
	expect_clients((struct given){.load = "outstanding: 10", .dhcp4 = ", again: true"}, 266);
	expect_clients((struct given){.load = "rate: max", .dhcp4 = ", again: true"}, 65536 + 256);
	expect_clients(
		(struct given){
			.load = "rate: 500", .dhcp4 = ", again: true", .pool = "10.0.0.0/20"},
		1831 + 256);
	expect_shortage(
		(struct given){.load = "rate: 500", .dhcp4 = ", again: true, clients: 9"}, 0, "");
	expect_shortage(
		(struct given){
			.load = "rate: 500", .dhcp4 = ", again: true", .pool = "10.0.0.0/24"},
		1,
		"responder.dhcp4: its 256 addresses run out after 0.512 s of 11 s, warm-up "
		"included (give it a larger pool, or set full_pool: true)");
}

// The rate of a closed loop is unknown: 100 000/s.
static uint64_t dhcp4_bytes(const struct planned *p)
{
	return p->plan.items[0].facts.memory;
}

static void memory_bounds_a_number_that_nobody_knows(void **state)
{
	expect_clients((struct given){.load = "outstanding: 10"}, 1100000);
	expect_clients((struct given){.load = "outstanding: 10, total: 50"}, 1100000);
	memory = 64 * MIB;
	{
		struct given g = {.load = "rate: max"};
		struct planned *p = planned(&g);
		uint64_t n = plan_clients(&p->plan.items[0]).count;
		uint64_t bytes = dhcp4_bytes(p);

		assert_true(n > 10000 && n < 1100000);
		assert_true(bytes <= 16 * MIB && bytes > 12 * MIB);
		planned_free(p);
	}
	memory = 0;
}

static void a_number_that_is_given_stays(void **state)
{
	struct given g = {.load = "rate: 500", .dhcp4 = ", clients: 7"};
	struct planned *p = planned(&g);
	const struct proto_stock got = plan_clients(&p->plan.items[0]);

	assert_int_equal(got.count, 7);
	assert_false(got.chosen);
	planned_free(p);
}

static void expect_given(const char *load, const char *dhcp4, uint64_t clients, uint64_t idle)
{
	struct given g = {.load = load, .dhcp4 = dhcp4, .pool = "10.0.0.0/9"};
	struct planned *p = planned(&g);
	const struct proto_stock got = plan_clients(&p->plan.items[0]);

	assert_int_equal(got.count, clients);
	assert_int_equal(idle ? got.given - got.count : 0, idle);
	assert_int_equal(plan_shortages(&p->plan, p->l.a).count, 0);
	planned_free(p);
}

static void clients_that_cannot_begin_cost_nothing(void **state)
{
	expect_given("rate: 500", ", clients: 500M", 5500, 500000000 - 5500);
	expect_given("rate: 500", ", clients: 500M, again: true", 5500, 500000000 - 5500);
	expect_given("rate: 500", ", clients: 500M, mac_count: 400M", 5500, 500000000 - 5500);
	expect_given("rate: 500", ", clients: 500M, vlans: [{clients: 7-499999999, vlans: [5]}]",
		5500, 500000000 - 5500);
	expect_given("outstanding: 10", ", clients: 5M", 5000000, 0); // of a rate that is not known
	memory = 64 * MIB;
	{
		struct given g = {.load = "rate: 1000000",
			.dhcp4 = ", clients: 500M, again: true",
			.responder = "full_pool: true"};
		struct planned *p = planned(&g);

		assert_true(plan_clients(&p->plan.items[0]).given > 500000000 - 1);
		assert_true(plan_clients(&p->plan.items[0]).count < 10000000);
		assert_true(dhcp4_bytes(p) <= 32 * MIB && dhcp4_bytes(p) > 24 * MIB);
		planned_free(p);
	}
	memory = 0;
}

static void what_runs_out_is_told_with_its_time(void **state)
{
	expect_shortage((struct given){.load = "rate: 500", .dhcp4 = ", clients: 2000"}, 1,
		"traffic r: its 2000 clients run out after 4 s of 11 s, warm-up included (raise "
		"dhcp4.clients, or set again: true)");
	expect_shortage((struct given){.load = "rate: 500", .pool = "10.0.0.0/24"}, 1,
		"responder.dhcp4: its 256 addresses run out after 0.512 s of 11 s, warm-up "
		"included (give it a larger pool, or set full_pool: true)");
	expect_shortage(
		(struct given){.load = "rate: 500", .dhcp4 = ", expect: {pool: [10.0.0.0/24]}"}, 1,
		"traffic r: its 256 clients run out after 0.512 s of 11 s, warm-up included (there "
		"are no more addresses in expect, or hardware addresses, or memory)");
}

static void nothing_is_told_where_it_lasts_or_is_back_in_time(void **state)
{
	expect_shortage((struct given){.load = "rate: 500", .dhcp4 = ", clients: 5500"}, 0, "");
	expect_shortage((struct given){.load = "rate: 500",
				.dhcp4 = ", clients: 2000, mix: {dora: 70%, release: 30%}"},
		1,
		"traffic r: its 2000 clients run out after 10 s of 11 s, warm-up included (raise "
		"dhcp4.clients, or set again: true)");
	expect_shortage((struct given){.load = "rate: 500",
				.dhcp4 = ", clients: 2000, mix: {dora: 60%, release: 40%}"},
		0, "");
	expect_shortage((struct given){.load = "rate: 500",
				.dhcp4 = ", clients: 2000",
				.responder = "lease_time: 3s"},
		0, "");
	expect_shortage(
		(struct given){
			.load = "rate: 500", .pool = "10.0.0.0/24", .responder = "full_pool: true"},
		0, "");
	expect_shortage((struct given){.load = "outstanding: 9", .dhcp4 = ", clients: 9"}, 0, "");
}

static char *file_of(const char *text)
{
	char *path = strdup("/tmp/supply-XXXXXX");
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return path;
}

static void file_close(char *path)
{
	unlink(path);
	free(path);
}

static void files_tell_how_many_clients_there_are(void **state)
{
	char *macs = file_of("02:00:00:00:00:01\n02:00:00:00:00:09\n02:00:00:00:00:05\n");
	char *leases = file_of("client,mac,address,server,expires\n"
			       "41,02:00:00:00:00:29,10.0.0.1,198.18.0.2,never\n");
	char *times = file_of("0\n0.5\n1\n7\n");
	char more[256];
	struct given g = {.load = "rate: 500", .dhcp4 = more};
	struct planned *p;

	snprintf(more, sizeof(more), ", mac_file: %s", macs);
	p = planned(&g);
	assert_int_equal(plan_clients(&p->plan.items[0]).count, 3);
	assert_int_equal(plan_shortages(&p->plan, p->l.a).count, 1);
	planned_free(p);
	snprintf(more, sizeof(more), ", leases: {load: %s}", leases);
	expect_clients(g, 5500 + 42);
	snprintf(more, sizeof(more), ", exchange: renew, leases: {load: %s}", leases);
	expect_clients(g, 1 + 42);
	snprintf(more, sizeof(more), "replay: {file: %s}", times);
	expect_clients((struct given){.load = more}, 4);
	snprintf(more, sizeof(more), "replay: {file: %s, speed: 0.5}", times);
	expect_shortage((struct given){.load = more, .dhcp4 = ", clients: 2"}, 1,
		"traffic r: its 2 clients run out after 3 s of 11 s, warm-up included (raise "
		"dhcp4.clients, or set again: true)");
	file_close(times);
	file_close(leases);
	file_close(macs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_are_as_many_clients_as_a_load_begins),
		cmocka_unit_test(no_more_clients_than_leases),
		cmocka_unit_test(exchanges_that_use_up_no_client_need_those_in_flight),
		cmocka_unit_test(rates_of_a_mix_come_on_top_of_that_of_the_load),
		cmocka_unit_test(clients_that_start_over_are_few_and_never_run_out),
		cmocka_unit_test(memory_bounds_a_number_that_nobody_knows),
		cmocka_unit_test(a_number_that_is_given_stays),
		cmocka_unit_test(clients_that_cannot_begin_cost_nothing),
		cmocka_unit_test(what_runs_out_is_told_with_its_time),
		cmocka_unit_test(nothing_is_told_where_it_lasts_or_is_back_in_time),
		cmocka_unit_test(files_tell_how_many_clients_there_are),
	};

	return cmocka_run_group_tests_name("plan_supply", tests, NULL, NULL);
}
