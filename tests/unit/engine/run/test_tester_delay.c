// SPDX-License-Identifier: BSD-3-Clause
// The delay of the tester over a pair of ports that pass packets on at once. Where the peer
// reflects packets by itself, its thread and the tester's take turns, so each run is identical.
// Path: cold. Test.
#include "../planned.h"

#include <pthread.h>
#include <semaphore.h>

#include "engine/run/around/tester_delay.h"
#include "lib/test_port.h"

#define BURST            4
#define ROUNDS           8192
#define WARM             256
#define COUNTED          (ROUNDS - WARM - 1)
#define DUT_PORT(driver) "  - {name: dut, driver: " driver ", addresses: [198.18.0.2/24]}\n"
#define LAN_PORT         "  - {name: lan, driver: ring, device: dut, addresses: [198.18.0.1/24]}\n"
#define RESPONDER        "responder: {port: dut, dns: {}}\n"
#define TRAFFIC                                                                                    \
	"traffic: [{name: q, port: lan, server: 198.18.0.2, load: {rate: 1k}, " LOADED_DNS "}]\n"
#define PORTS "ports:\n" DUT_PORT("ring, device: lan") LAN_PORT
#define TEXT  PORTS RESPONDER TRAFFIC

enum { DUT, LAN };

static struct test_port port[2];
static struct planned *p;
static pthread_t peer;
static sem_t turn[2];
static bool apart;    // the peer has a thread
static bool swallows; // packets to the peer are lost
static uint32_t launched[8], launches, yields[2];
static int (*peer_loop)(void *);
static void *peer_arg;
static _Thread_local bool is_peer;

void __wrap_launch_loop(uint32_t worker, int (*loop)(void *), void *arg);
void __wrap_launch_wait(uint32_t worker);
int __wrap_sched_yield(void);

static void *peer_thread(void *arg)
{
	is_peer = true;
	sem_wait(&turn[DUT]);
	peer_loop(peer_arg);
	return NULL;
}

// The responder's CPU has the same number as its port.
static bool is_tester(uint32_t worker)
{
	return worker != (uint32_t)p->plan.responder_port;
}

void __wrap_launch_loop(uint32_t worker, int (*loop)(void *), void *arg)
{
	launched[launches++] = worker;
	if (is_tester(worker)) {
		loop(arg);
		return;
	}
	peer_loop = loop;
	peer_arg = arg;
	apart = true;
	assert_int_equal(pthread_create(&peer, NULL, peer_thread, NULL), 0);
}

void __wrap_launch_wait(uint32_t worker)
{
	if (is_tester(worker))
		return;
	sem_post(&turn[DUT]);
	pthread_join(peer, NULL);
	apart = false;
}

int __wrap_sched_yield(void)
{
	yields[is_peer ? DUT : LAN]++;
	return 0;
}

// The other thread has its turn until it looks for packets itself.
static void take_turns(struct test_port *of)
{
	if (!apart)
		return;
	sem_post(&turn[is_peer ? LAN : DUT]);
	sem_wait(&turn[is_peer ? DUT : LAN]);
}

static void pass_on(struct test_port *from, uint16_t queue, const struct rte_mbuf *m)
{
	static const uint8_t bytes[60];
	bool to_dut = from == &port[LAN];

	if (to_dut && swallows)
		return;
	test_port_receive(&port[to_dut ? DUT : LAN], bytes, sizeof(bytes));
}

// hz: 1e13 gives the probe minutes of this machine's ticks, 1e-3 no time.
static struct result_tester_delay *measure(const char *text, double hz, bool yields_too)
{
	struct result_tester_delay *out;

	p = planned_start(text, false);
	for (uint32_t i = 0; i < p->plan.port_count; i++) {
		p->plan.ports[i].burst = BURST;
		p->plan.ports[i].tx_pool[0] = &port[i].pool;
	}
	assert_int_equal(plan_build(&p->plan, p->l.a), 0);
	p->plan.clock.hz = hz;
	for (uint32_t i = 0; i < p->plan.worker_count; i++)
		p->plan.workers[i].yields = yields_too;
	out = tester_delay_measure(&p->plan, p->l.a);
	return out;
}

static int setup(void **state)
{
	for (uint16_t i = 0; i < 2; i++) {
		test_port_open(&port[i], 10 + i);
		port[i].sent = pass_on;
		port[i].poll = take_turns;
		sem_init(&turn[i], 0, 0);
		yields[i] = 0;
	}
	launches = 0;
	swallows = false;
	return 0;
}

static int teardown(void **state)
{
	planned_free(p);
	for (uint16_t i = 0; i < 2; i++)
		assert_int_equal(port[i].live, 0);
	return 0;
}

static void each_kind_has_its_rounds_without_those_to_warm_up(void **state)
{
	const struct result_tester_delay *out = measure(TEXT, 1e13, false);

	assert_string_equal(out->port, "lan");
	assert_int_equal(out->burst_size, BURST);
	assert_int_equal(out->single.count, COUNTED);
	assert_int_equal(out->burst.count, COUNTED * BURST);
	assert_int_equal(out->apart.count, COUNTED);
	assert_true(out->single.p50_ns > 0 && out->burst.p50_ns > 0 && out->apart.p50_ns > 0);
	assert_int_equal(port[LAN].count, ROUNDS * (2 + BURST));
	assert_int_equal(port[DUT].count, ROUNDS * (2 + BURST));
	// Alone on the tester's CPU, then with the peer on its own.
	assert_int_equal(launches, 3);
	assert_int_equal(launched[0], LAN);
	assert_int_equal(launched[1], DUT);
	assert_int_equal(launched[2], LAN);
	assert_int_equal(yields[LAN] + yields[DUT], 0);
}

// A packet is back at once, alone and in turns; at most one look before the first and one after the
// last finds nothing.
static void workers_that_share_a_cpu_give_it_up_when_there_is_nothing(void **state)
{
	measure(TEXT, 1e13, true);
	assert_in_range(yields[LAN], 1, 2);
	assert_in_range(yields[DUT], 1, 2);
}

static void a_kind_ends_with_its_time(void **state)
{
	const struct result_tester_delay *out = measure(TEXT, 1e-3, false);

	assert_int_equal(out->single.count, 1);
	assert_int_equal(out->burst.count, BURST);
	assert_int_equal(out->apart.count, 0); // the first look came before the peer's
}

static void lost_packets_are_waited_for_until_the_time_is_over(void **state)
{
	const struct result_tester_delay *out;

	swallows = true;
	out = measure(TEXT, 1e6, false);
	assert_int_equal(out->single.count + out->burst.count + out->apart.count, 0);
	assert_int_equal(port[LAN].count, 2 + BURST);
}

static void packets_that_the_port_does_not_take_are_freed(void **state)
{
	const struct result_tester_delay *out;

	port[LAN].takes = 0;
	out = measure(TEXT, 1e6, false);
	assert_int_equal(out->burst.count, 0);
	assert_int_equal(port[LAN].count, 0);
}

static void without_buffers_nothing_is_measured(void **state)
{
	const struct result_tester_delay *out;

	port[LAN].buffers = port[DUT].buffers = 0;
	out = measure(TEXT, 1e13, false);
	assert_int_equal(out->single.count + out->burst.count + out->apart.count, 0);
	planned_free(p);
	out = measure(
		"ports:\n" LAN_PORT DUT_PORT("ring, device: lan") RESPONDER TRAFFIC, 1e13, false);
	assert_string_equal(out->port, "lan"); // the first port in the file
	assert_int_equal(out->single.count, 0);
}

static void packets_that_are_left_are_taken_away(void **state)
{
	static const uint8_t bytes[60];

	for (uint32_t i = 0; i < 3 * BURST; i++) {
		test_port_receive(&port[LAN], bytes, sizeof(bytes));
		test_port_receive(&port[DUT], bytes, sizeof(bytes));
	}
	port[LAN].buffers = 0;
	measure(TEXT, 1e13, false);
	assert_int_equal(port[LAN].received_count, 0);
	assert_int_equal(port[DUT].received_count, 0);
}

static void only_a_ring_to_the_responder_is_measured(void **state)
{
	assert_null(measure(PORTS TRAFFIC, 1e13, false));
	planned_free(p);
	assert_null(
		measure("ports:\n" DUT_PORT("'null'") "  - {name: lan, driver: 'null', addresses: "
						      "[198.18.0.1/24]}\n" RESPONDER TRAFFIC,
			1e13, false));
	assert_int_equal(launches, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_kind_has_its_rounds_without_those_to_warm_up),
		TEST(workers_that_share_a_cpu_give_it_up_when_there_is_nothing),
		TEST(a_kind_ends_with_its_time),
		TEST(lost_packets_are_waited_for_until_the_time_is_over),
		TEST(packets_that_the_port_does_not_take_are_freed),
		TEST(without_buffers_nothing_is_measured),
		TEST(packets_that_are_left_are_taken_away),
		TEST(only_a_ring_to_the_responder_is_measured),
	};

	return cmocka_run_group_tests_name("tester_delay", tests, NULL, NULL);
}
