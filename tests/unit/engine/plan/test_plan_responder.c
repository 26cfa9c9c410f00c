// SPDX-License-Identifier: BSD-3-Clause
// The embedded server's workers: which protocols they answer, on which queues, and how they share
// faults. Path: cold. Test.
#include "proto/table.h"
#include "../planned.h"

#define PORTS(lan, dut)                                                                            \
	"ports:\n  - {name: lan, driver: ring, device: dut, cpus: " lan                            \
	", addresses: [198.18.0.1/24]}\n"                                                          \
	"  - {name: dut, driver: ring, device: lan, cpus: " dut ", addresses: [198.18.0.2/24]}\n"
#define TRAFFIC "traffic: [{name: q, server: 198.18.0.2, load: {rate: 1k}, " LOADED_DNS "}]\n"

uint64_t __wrap_memory_available(void);
void __wrap_log_error(const char *fmt, ...);

static uint64_t available; // 0: unknown
static char said[256];

uint64_t __wrap_memory_available(void)
{
	return available;
}

void __wrap_log_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(said, sizeof(said), fmt, args);
	va_end(args);
}

// 2^20 leases of 64 octets; each of two workers has two indexes of 2^20 cells.
static void leases_that_the_box_has_no_memory_for_are_refused(void **state)
{
	struct loaded l =
		loaded_from(PORTS("1-2", "3-4") "responder: {port: dut, dhcp4: {pool: 10.0.0.0/12, "
						"clients: 1048576}}\n" TRAFFIC);
	struct plan plan;

	for (int enough = 0; enough < 2; enough++) {
		available = (enough ? 90ull : 70ull) << 20;
		said[0] = '\0';
		assert_int_equal(
			plan_read_input(&plan, l.config, false, l.a, l.d), enough ? 0 : -ENOSPC);
		if (!enough)
			assert_string_equal(said,
				"responder.dhcp4: not enough memory: 80 MiB are needed and "
				"70 are available (reduce its clients, pools or zones)");
		plan_free(&plan);
	}
	available = 0;
	loaded_free(&l);
}

static void each_worker_answers_the_protocols_of_the_file(void **state)
{
	struct planned *p = planned_build(
		PORTS("1-3", "4-5") "responder: {port: dut, dns: {}, dhcp4: {}}\n" TRAFFIC);

	assert_int_equal(p->plan.responder_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct responder *r = &p->plan.responders[i];

		assert_int_equal(r->protocol_count, 2);
		assert_ptr_equal(r->protocols[0].proto, proto_find("dns"));
		assert_ptr_equal(r->protocols[1].proto, proto_find("dhcp4"));
		assert_int_equal(r->protocols[0].port, 53);
		assert_int_equal(r->protocols[1].port, 67);
		assert_non_null(r->protocols[0].ctx.counters);
	}
	assert_ptr_not_equal(p->plan.responders[0].protocols[0].ctx.counters,
		p->plan.responders[1].protocols[0].ctx.counters);
	assert_ptr_equal(p->plan.responders[0].protocols[0].ctx.shared,
		p->plan.responders[1].protocols[0].ctx.shared);
	planned_free(p);
}

// Three queues and two workers: the first has the first and the third.
static void the_queues_of_the_port_are_dealt_in_turn(void **state)
{
	struct planned *p =
		planned_build(PORTS("1-3", "4-5") "responder: {port: dut, dns: {}}\n" TRAFFIC);

	for (uint32_t i = 0; i < 2; i++) {
		const struct responder *r = &p->plan.responders[i];

		assert_int_equal(r->queue_first, i);
		assert_int_equal(r->queue_step, 2);
		assert_int_equal(r->queue_end, 3);
		assert_int_equal(r->cpu, 4 + i);
		assert_int_equal(r->wire.queue, i);
		assert_int_equal(r->wire.port, 11);
		assert_true(r->wire.reports_checksums);
		assert_int_equal(r->patience, 1000000);
		assert_int_equal(r->tx_patience, 20000000);
		assert_int_equal(r->stall, 1000000);
		assert_false(r->yields);
		assert_false(r->turns);
	}
	planned_free(p);
}

static void only_leases_age_and_only_relays_come_on_any_vlan(void **state)
{
	struct planned *p =
		planned_build(PORTS("1", "2") "responder: {port: dut, dns: {}}\n" TRAFFIC);

	assert_false(p->plan.responders[0].timed);
	assert_false(p->plan.responders[0].wire.any_vlan);
	planned_free(p);
	p = planned_build(PORTS("1", "2") "responder: {port: dut, dns: {}, dhcp4: {}}\n" TRAFFIC);
	assert_true(p->plan.responders[0].timed);
	assert_true(p->plan.responders[0].wire.any_vlan);
	planned_free(p);
}

static void buffers_of_a_ring_go_back_in_the_answer(void **state)
{
	struct planned *p =
		planned_start(PORTS("1", "2") "responder: {port: dut, dns: {}}\n" TRAFFIC, false);

	p->plan.ports[1].ring[0] = (struct rte_ring *)p;
	assert_int_equal(plan_build(&p->plan, p->l.a), 0);
	assert_true(p->plan.responders[0].turns);
	p->plan.ports[1].ring[0] = NULL;
	planned_free(p);
}

// Two workers have half of the capacity each: a reply takes twice as long as with one worker.
static void workers_share_the_capacity_and_draw_for_themselves(void **state)
{
	static const char *const ends[] = {"2", "2-3"};
	uint64_t gaps[2];

	for (int i = 0; i < 2; i++) {
		char text[2048];
		struct planned *p;

		snprintf(text, sizeof(text),
			PORTS("0-1", "%s") "responder: {port: dut, dns: {}, faults: {capacity: "
					   "{rate: 1k}, loss: {share: 50%%}}}\n" TRAFFIC,
			ends[i]);
		p = planned_build(text);
		gaps[i] = p->plan.responders[0].faults.gap;
		if (i == 1)
			assert_int_not_equal(p->plan.responders[0].faults.rand.state,
				p->plan.responders[1].faults.rand.state);
		planned_free(p);
	}
	assert_int_equal(gaps[0], 1000000);
	assert_int_equal(gaps[1], 2000000);
}

static void what_the_protocol_refuses_is_an_error(void **state)
{
	struct loaded l = loaded_from(PORTS(
		"1", "2") "responder: {port: dut, dhcp4: {lease_time: 10s, t2: 11s}}\n" TRAFFIC);
	struct plan plan;

	assert_int_equal(plan_read_input(&plan, l.config, false, l.a, l.d), -EINVAL);
	assert_int_equal(diag_count(l.d), 1);
	plan_free(&plan);
	loaded_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_worker_answers_the_protocols_of_the_file),
		cmocka_unit_test(the_queues_of_the_port_are_dealt_in_turn),
		cmocka_unit_test(only_leases_age_and_only_relays_come_on_any_vlan),
		cmocka_unit_test(buffers_of_a_ring_go_back_in_the_answer),
		cmocka_unit_test(workers_share_the_capacity_and_draw_for_themselves),
		cmocka_unit_test(what_the_protocol_refuses_is_an_error),
		cmocka_unit_test(leases_that_the_box_has_no_memory_for_are_refused),
	};

	return cmocka_run_group_tests_name("plan_responder", tests, NULL, NULL);
}
