// SPDX-License-Identifier: BSD-3-Clause
// The plan: items on the workers of their port, the addresses and VLANs that a port answers for,
// next hops, and the ticks of the schedule. Path: cold. Test.
#include "engine/plan/plan_neighbours.h"
#include "proto/table.h"
#include "../planned.h"

#define SECOND 1000000000ull
#define WARMUP "run: {warmup: 2s, duration: 10s, interval: 500ms}\n"
#define LAN                                                                                        \
	"  - {name: lan, driver: af_packet, device: nosuch0, cpus: 1-2, vlans: [100],"             \
	" addresses: [198.18.0.1/24, \"2001:db8::1/64\"],"                                         \
	" gateway: [198.18.0.254, \"2001:db8::fe\"]}\n"
#define WAN                                                                                        \
	"  - {name: wan, driver: af_packet, device: nosuch1, cpus: 3-5,"                           \
	" addresses: [198.19.0.1/24], gateway: 198.19.0.254}\n"
#define DNS(name, port, server, more)                                                              \
	"  - {name: " name ", port: " port ", server: " server ", " more ", " LOADED_DNS "}\n"
#define RATE "load: {rate: 1k}"
#define RELAYED                                                                                    \
	"  - {name: r, port: lan, server: 198.18.0.2, load: {rate: 10},"                           \
	" dhcp4: {clients: 9, relay: {addresses: [198.18.0.64-198.18.0.66]}}}\n"

#define TWO_PORTS                                                                                  \
	WARMUP "ports:\n" LAN WAN "traffic:\n" DNS(                                                \
		"a", "lan", "198.18.0.2", RATE ", source: {addresses: [198.18.0.16-198.18.0.19]}") \
		DNS("b", "wan", "198.19.0.2", RATE) RELAYED

static void an_item_is_run_by_all_workers_of_its_port(void **state)
{
	struct planned *p = planned_build(TWO_PORTS);
	const struct plan_item *i = p->plan.items;
	const struct worker *w = p->plan.workers;
	const uint32_t items[] = {2, 2, 1, 1, 1};

	assert_ptr_equal(i[0].worker, &w[0]);
	assert_ptr_equal(i[1].worker, &w[2]);
	assert_ptr_equal(i[2].worker, &w[0]);
	assert_int_equal(i[0].worker_count, 2);
	assert_int_equal(i[1].worker_count, 3);
	assert_int_equal(i[0].place, 0);
	assert_int_equal(i[1].place, 0);
	assert_int_equal(i[2].place, 1);
	for (uint32_t n = 0; n < 5; n++)
		assert_int_equal(w[n].item_count, items[n]);
	for (uint32_t k = 0; k < 2; k++) {
		assert_null(plan_run(&i[0], k)->router);
		assert_non_null(plan_run(&i[2], k)->router);
		assert_ptr_equal(plan_run(&i[2], k)->proto, proto_find("dhcp4"));
	}
	assert_ptr_equal(i[2].run, plan_run(&i[2], 0));
	planned_free(p);
}

static void a_worker_has_a_queue_and_a_cpu_of_its_own(void **state)
{
	struct planned *p = planned_build(TWO_PORTS);
	const struct worker *w = p->plan.workers;

	for (uint32_t n = 0; n < 5; n++) {
		assert_int_equal(w[n].wire.port, n < 2 ? 10 : 11);
		assert_int_equal(w[n].wire.queue, n < 2 ? n : n - 2);
		assert_int_equal(w[n].wire.burst, 32);
		assert_int_equal(w[n].spares, 32);
		assert_int_equal(w[n].cpu, n + 1);
		assert_int_equal(w[n].wire.self.mac[5], n < 2 ? 0 : 1);
		assert_int_equal(w[n].wire.self.vlan_count, n < 2 ? 1 : 0);
		assert_false(w[n].yields);
		assert_true(w[n].idle.sleeps && w[n].idle.spins);
		assert_non_null(w[n].hand);
		assert_ptr_equal(w[n].phase, &p->plan.phase);
		assert_ptr_equal(w[n].wire.self.others_of, &w[n]);
		// The reader's snapshot is neither being filled nor changing hands.
		assert_int_equal(w[n].filling + w[n].reading + w[n].handed, 3);
	}
	assert_int_equal(w[0].wire.self.vlans[0], 100);
	planned_free(p);
}

static struct idle idle_of(const char *host)
{
	char text[512];
	struct planned *p;
	struct idle idle;

	snprintf(text, sizeof(text),
		"%sports:\n  - {name: lan, driver: af_packet, device: nosuch0, cpus: [3],"
		" addresses: [198.18.0.1/24]}\ntraffic:\n" DNS("a", "lan", "198.18.0.2", RATE),
		host);
	p = planned_build(text);
	idle = p->plan.workers[0].idle;
	planned_free(p);
	return idle;
}

static void a_worker_polls_on_an_isolated_cpu_and_spins_only_with_time_to_spare(void **state)
{
	assert_true(idle_of("").sleeps && idle_of("").spins);
	assert_false(idle_of("host: {idle: poll}\n").sleeps);
	planned_isolated = 0x8;
	assert_false(idle_of("").sleeps);
	assert_true(idle_of("host: {idle: sleep}\n").sleeps);
	planned_isolated = 0x4; // another CPU
	assert_true(idle_of("").sleeps);
	planned_isolated = 0;
	planned_quota = 1.9; // for the worker and the management thread
	assert_false(idle_of("").spins);
	planned_quota = 2;
	assert_true(idle_of("").spins);
	planned_quota = INFINITY;
	planned_cpus = 0x8;
	assert_false(idle_of("").spins);
	planned_cpus = 0xff;
}

static void workers_of_one_cpu_yield_and_sleep_when_told_to(void **state)
{
	struct planned *p =
		planned_build("host: {idle: sleep}\nports:\n"
			      "  - {name: lan, driver: af_packet, device: nosuch0, cpus: [1, 2],"
			      " addresses: [198.18.0.1/24]}\n"
			      "  - {name: wan, driver: af_packet, device: nosuch1, cpus: [3, 2],"
			      " addresses: [198.19.0.1/24]}\n"
			      "traffic:\n" DNS("a", "lan", "198.18.0.2", RATE));

	assert_false(p->plan.workers[0].yields);
	assert_true(p->plan.workers[1].yields);
	assert_false(p->plan.workers[2].yields);
	assert_true(p->plan.workers[3].yields);
	assert_true(p->plan.workers[0].idle.sleeps);
	planned_free(p);
}

static bool owns(const struct worker *w, const char *text)
{
	struct addr a;
	const char *what;

	assert_int_equal(addr_parse(text, &a, &what), 0);
	return neigh_owns(&w->wire.self, a.bytes, a.len);
}

static void a_port_answers_for_its_own_addresses_and_those_of_its_items(void **state)
{
	struct planned *p = planned_build(TWO_PORTS);
	const struct worker *lan = &p->plan.workers[1], *wan = &p->plan.workers[2];
	const char *const of_lan[] = {"198.18.0.1", "2001:db8::1", "198.18.0.16", "198.18.0.19",
		"198.18.0.64", "198.18.0.66"};
	const char *const of_nobody[] = {
		"198.18.0.20", "198.18.0.15", "198.18.0.67", "198.18.0.254", "2001:db8::2"};

	for (size_t i = 0; i < sizeof(of_lan) / sizeof(of_lan[0]); i++) {
		assert_true(owns(lan, of_lan[i]));
		assert_false(owns(wan, of_lan[i]));
	}
	for (size_t i = 0; i < sizeof(of_nobody) / sizeof(of_nobody[0]); i++)
		assert_false(owns(lan, of_nobody[i]));
	assert_true(owns(wan, "198.19.0.1"));
	planned_free(p);
}

static void a_group_has_a_mac_that_nobody_is_asked_for(void **state)
{
	static const struct {
		const char *addr;
		bool group;
		uint8_t mac[6];
	} rows[] = {
		{"255.255.255.255", true, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		{"255.255.255.254", false, {0}},
		{"198.18.0.255", false, {0}},
		{"223.255.255.255", false, {0}},
		{"224.0.0.1", true, {0x01, 0x00, 0x5e, 0, 0, 1}},
		{"239.255.255.250", true, {0x01, 0x00, 0x5e, 0x7f, 0xff, 0xfa}},
		{"240.0.0.1", false, {0}},
		{"ff02::1:2", true, {0x33, 0x33, 0, 1, 0, 2}},
		{"ff05::1:3", true, {0x33, 0x33, 0, 1, 0, 3}},
		{"ffff:ffff::abcd", true, {0x33, 0x33, 0, 0, 0xab, 0xcd}},
		{"fe80::1:2", false, {0}},
		{"2001:db8::ffff", false, {0}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t mac[6] = {0};
		struct addr a;
		const char *what;

		assert_int_equal(addr_parse(rows[i].addr, &a, &what), 0);
		assert_int_equal(plan_group_mac(&a, mac), rows[i].group);
		assert_memory_equal(mac, rows[i].mac, 6);
	}
}

static void expect_hop(const char *item, uint32_t path, const char *hop)
{
	char text[2048], got[ADDR_TEXT_SIZE];
	struct planned *p;

	snprintf(text, sizeof(text), "ports:\n" LAN "traffic:\n%s", item);
	p = planned_build(text);
	assert_true(path < p->plan.items[0].path_count);
	assert_string_equal(addr_format(&p->plan.items[0].next_hops[path], got, sizeof(got)), hop);
	planned_free(p);
}

static void the_next_hop_is_the_server_or_the_gateway_of_its_family(void **state)
{
	expect_hop(DNS("a", "lan", "198.18.0.2", RATE), 0, "198.18.0.2");
	expect_hop(DNS("a", "lan", "203.0.113.1", RATE), 0, "198.18.0.254");
	expect_hop(DNS("a", "lan", "\"2001:db8::2\"", RATE), 0, "2001:db8::2");
	expect_hop(DNS("a", "lan", "\"2001:db9::2\"", RATE), 0, "2001:db8::fe");
	expect_hop("  - {name: a, load: {rate: 10}, dhcp4: {clients: 9}}\n", 0, "255.255.255.255");
	expect_hop("  - {name: a, load: {rate: 10}, dhcp6: {clients: 9}}\n", 0, "ff02::1:2");
}

#define TAGGED(port, vlan)                                                                         \
	"  - {name: c" port ", port: " port ", load: {rate: 10}, dhcp4: {clients: 9,"              \
	" vlans: [{clients: 0-8, vlans: [" vlan "]}]}}\n"

static void clients_have_vlans_inside_those_of_their_port(void **state)
{
	struct planned *p = planned_build("ports:\n" LAN WAN "traffic:\n" DNS(
		"a", "lan", "198.18.0.2", RATE) TAGGED("lan", "7") TAGGED("wan", "8, 9"));
	struct frame_vlans v = plan_vlans(&p->plan.items[0], 0);
	const struct wire *lan = &p->plan.workers[0].wire, *wan = &p->plan.workers[2].wire;

	assert_int_equal(v.count, 1);
	assert_int_equal(v.ids[0], 100);
	assert_int_equal(lan->more_count, 1);
	assert_int_equal(lan->more[0].count, 2);
	assert_int_equal(lan->more[0].ids[0], 100);
	assert_int_equal(lan->more[0].ids[1], 7);
	assert_int_equal(wan->more_count, 1);
	assert_int_equal(wan->more[0].count, 2);
	assert_int_equal(wan->more[0].ids[0], 8);
	assert_int_equal(wan->more[0].ids[1], 9);
	planned_free(p);
}

static void frames_begin_with_the_macs_of_their_path_on_every_worker(void **state)
{
	const uint8_t mac[6] = {2, 3, 4, 5, 6, 7};
	struct planned *p = planned_start(TWO_PORTS, false);
	struct plan_item *i = &p->plan.items[0];

	p->plan.ports[0].checksum_offload = true;
	assert_int_equal(plan_build(&p->plan, p->l.a), 0);
	plan_address(i, 0, mac);
	for (uint32_t k = 0; k < 2; k++) {
		const struct frame_template *t = plan_run(i, k)->frames;

		assert_memory_equal(t->bytes, mac, 6);
		assert_memory_equal(t->bytes + 6, p->plan.ports[0].mac, 6);
		assert_int_equal(t->len, frame_header_len(1, 4));
		assert_true(t->checksum_offload);
	}
	planned_free(p);
}

// --- the schedule ---

#define START 5000

// The first worker's share of the only item, on a port with this number of CPUs.
static struct planned *scheduled(const char *cpus, const char *load)
{
	char text[2048];
	struct planned *p;

	snprintf(text, sizeof(text),
		WARMUP "ports:\n  - {name: lan, driver: af_packet, device: nosuch0, cpus: %s,"
		       " addresses: [198.18.0.1/24]}\n"
		       "traffic: [{name: a, server: 198.18.0.2, load: {%s}, " LOADED_DNS "}]\n",
		cpus, load);
	p = planned_build(text);
	plan_schedule(&p->plan, START);
	return p;
}

static void the_parts_of_a_run_follow_each_other(void **state)
{
	struct planned *p = scheduled("1-2", "rate: 1k");

	for (uint32_t n = 0; n < 2; n++) {
		const struct run_times *t = &p->plan.workers[n].times;

		assert_int_equal(t->start, START);
		assert_int_equal(t->measure, START + 2 * SECOND);
		assert_int_equal(t->end, START + 12 * SECOND);
		assert_int_equal(t->grace, 20000000);
		assert_int_equal(t->interval, SECOND / 2);
		assert_int_equal(p->plan.workers[n].stall, 1000000);
	}
	planned_free(p);
}

static void expect_first(const char *load, uint64_t next, uint64_t begun, uint64_t answered)
{
	struct planned *p = scheduled("1", load);
	const struct worker_item *run = p->plan.items[0].run;

	// A longer long double, as on arm64, is below what one of x86 is rounded to.
	assert_in_range(run->pace.next, next - 1, next);
	assert_int_equal(run->begun_at, begun);
	assert_in_range(run->answered_at, answered - 1, answered);
	planned_free(p);
}

// A load includes the warm-up, unless it has its own start; gaps without a reply are counted from
// the first send of the measured part.
static void a_load_begins_with_the_warmup_or_when_it_says(void **state)
{
	const uint64_t measure = START + 2 * SECOND;

	expect_first("rate: 1k", START + 500000, measure, measure + 500000);
	expect_first("rate: 1k, start_at: 3s", measure + 3 * SECOND + 500000, measure + 3 * SECOND,
		measure + 3 * SECOND + 500000);
	expect_first("storm: {clients: 10, within: 1s}", measure + SECOND / 20, measure,
		measure + SECOND / 20);
	expect_first("steps: [{rate: 10, for: 1s}, {rate: 20, for: 1s}]", START + SECOND / 20,
		measure, measure);
	expect_first("slots: 999, outstanding: 5", START, measure, measure);
	expect_first("slots: 999, outstanding: 5, start_at: 1s", measure + SECOND, measure + SECOND,
		measure + SECOND);
	expect_first("slots: 999, rate: max", START, measure, measure);
}

static void a_closed_loop_stops_where_it_is_told_to(void **state)
{
	struct planned *p = scheduled("1", "slots: 999, outstanding: 5, stop_at: 4s");

	assert_int_equal(p->plan.items[0].run->pace.stop, START + 6 * SECOND);
	planned_free(p);
	p = scheduled("1", "slots: 999, outstanding: 5");
	assert_int_equal(p->plan.items[0].run->pace.stop, PACE_NEVER);
	assert_int_equal(p->plan.items[0].run->pace.left, UINT64_MAX);
	planned_free(p);
	p = scheduled("1", "slots: 999, outstanding: 5, ramp_up: 3s");
	assert_int_equal(p->plan.items[0].run->pace.ramp_up, 3 * SECOND);
	planned_free(p);
}

static void workers_share_rate_and_total(void **state)
{
	struct planned *p = scheduled("1-3", "rate: 1k, total: 100");
	uint64_t left = 0;

	for (uint32_t k = 0; k < 3; k++) {
		const struct worker_item *run = plan_run(&p->plan.items[0], k);

		assert_int_equal(run->pace.next, START + 500000 + k * 1000000);
		assert_int_equal(run->pace.of, 3);
		left += run->pace.left;
	}
	assert_int_equal(left, 100);
	planned_free(p);
	p = scheduled("1-3", "rate: 1k");
	assert_int_equal(plan_run(&p->plan.items[0], 2)->pace.left, UINT64_MAX);
	planned_free(p);
}

static void the_seed_of_the_run_decides_on_random_arrivals(void **state)
{
	struct planned *a = scheduled("1", "rate: 1k, arrivals: poisson");
	struct planned *b = scheduled("1", "rate: 1k, arrivals: poisson");

	assert_int_equal(a->plan.items[0].run->pace.next, b->plan.items[0].run->pace.next);
	assert_int_not_equal(a->plan.items[0].run->pace.next, START + 500000);
	planned_free(a);
	planned_free(b);
}

// --- input read before ---

// A burst of transactions uses one port of a socket, as far as keys of 16 bits suffice.
static void sockets_have_lanes(void **state)
{
	static const struct {
		const char *driver, *ports, *protocol;
		uint32_t lanes;
	} rows[] = {
		{"af_packet", "[1024-1123]", LOADED_DNS, 1},
		{"socket", "[1024-1123]", LOADED_DNS, 32},
		{"socket", "[1024-2047, 3000-4023]", LOADED_DNS, 32},
		{"socket", "[1024-2047, 3000-4024]", LOADED_DNS, 1},
		{"socket", "[1024-3071]", LOADED_DNS, 32},
		{"socket", "[1024-3072]", LOADED_DNS, 1},
		{"socket", "[1024-1223]", "dns: {names: [\"a A\"], transport: tcp}", 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[1000];
		struct planned *p;

		snprintf(text, sizeof(text),
			"ports:\n  - {name: lan, driver: %s, device: nosuch0, cpus: 1-2, "
			"addresses: "
			"[198.18.0.1/24]}\ntraffic:\n  - {name: a, server: 198.18.0.2, load: "
			"{rate: 1}, source: {ports: %s}, %s}\n",
			rows[i].driver, rows[i].ports, rows[i].protocol);
		p = planned_build(text);
		for (uint32_t k = 0; k < 2; k++) {
			const struct txn_table *t = &plan_run(&p->plan.items[0], k)->txns;

			assert_int_equal(t->lane_mask, rows[i].lanes - 1);
			assert_int_equal(t->key_bits, rows[i].lanes == 1 ? 16 : 11);
		}
		planned_free(p);
	}
}

static void only_items_that_are_sent_are_read(void **state)
{
	struct planned *p = planned_read("ports:\n" LAN "responder: {port: lan, dns: {}}\n", true);

	assert_int_equal(p->plan.item_count, 0);
	assert_int_equal(p->plan.responder_count, 2);
	assert_int_equal(p->plan.responder_port, -1);
	planned_free(p);
}

// All items report their errors, not only the first.
static void the_input_of_every_item_is_looked_at(void **state)
{
	struct loaded l = loaded_from(
		"ports:\n" LAN "traffic:\n"
		"  - {name: a, server: 198.18.0.2, load: {rate: 1}, dns: {queries: /nosuch/a}}\n"
		"  - {name: b, server: 198.18.0.2, load: {rate: 1}, dns: {queries: /nosuch/b}}\n");
	struct plan plan;

	assert_int_equal(plan_read_input(&plan, l.config, false, l.a, l.d), -EINVAL);
	assert_int_equal(diag_count(l.d), 2);
	plan_free(&plan);
	loaded_free(&l);
}

// A run that is refused before its plan is begun closes it nevertheless.
static void a_plan_that_was_never_begun_is_freed(void **state)
{
	struct plan plan = {0};

	assert_int_equal(plan_free(&plan), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_item_is_run_by_all_workers_of_its_port),
		cmocka_unit_test(a_worker_has_a_queue_and_a_cpu_of_its_own),
		cmocka_unit_test(
			a_worker_polls_on_an_isolated_cpu_and_spins_only_with_time_to_spare),
		cmocka_unit_test(workers_of_one_cpu_yield_and_sleep_when_told_to),
		cmocka_unit_test(a_port_answers_for_its_own_addresses_and_those_of_its_items),
		cmocka_unit_test(a_group_has_a_mac_that_nobody_is_asked_for),
		cmocka_unit_test(the_next_hop_is_the_server_or_the_gateway_of_its_family),
		cmocka_unit_test(clients_have_vlans_inside_those_of_their_port),
		cmocka_unit_test(frames_begin_with_the_macs_of_their_path_on_every_worker),
		cmocka_unit_test(the_parts_of_a_run_follow_each_other),
		cmocka_unit_test(a_load_begins_with_the_warmup_or_when_it_says),
		cmocka_unit_test(a_closed_loop_stops_where_it_is_told_to),
		cmocka_unit_test(workers_share_rate_and_total),
		cmocka_unit_test(the_seed_of_the_run_decides_on_random_arrivals),
		cmocka_unit_test(sockets_have_lanes),
		cmocka_unit_test(only_items_that_are_sent_are_read),
		cmocka_unit_test(the_input_of_every_item_is_looked_at),
		cmocka_unit_test(a_plan_that_was_never_begun_is_freed),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
