// SPDX-License-Identifier: BSD-3-Clause
// Probes for our own addresses before the run, over ports of the test: which ones, on which VLANs,
// and which hosts reply. Path: cold. Test.
#include "../planned.h"

#include <errno.h>
#include <time.h>

#include "engine/plan/address_probe.h"
#include "lib/test_port.h"

#define ASKED_MAX 64 // that are kept

// The wire, with a host that has some of our addresses.
static struct world {
	struct test_port port[2];
	struct neigh_self host;
	struct addr_range owned;
	bool answers, probes; // for its address; or asks for it at the same time
	struct {
		uint16_t number, vlans[2];
		uint8_t vlan_count;
		struct addr target;
	} asked[ASKED_MAX];
	uint32_t count, in_a_row, most_in_a_row;
	uint64_t now_ns;
} world;

static volatile sig_atomic_t signals;

int nanosleep(const struct timespec *time, struct timespec *left)
{
	world.now_ns += 200000;
	world.in_a_row = 0;
	return 0;
}

static struct addr addr(const char *text)
{
	struct addr a;
	const char *what;

	assert_int_equal(addr_parse(text, &a, &what), 0);
	return a;
}

static void on_sent(struct test_port *p, uint16_t queue, const struct rte_mbuf *m)
{
	struct neigh_self host = world.host;
	uint8_t out[NEIGH_FRAME_MAX];
	struct neigh_claim claim;
	struct frame f;
	enum frame_kind kind = frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, &f);
	const struct addr nobody = {.len = kind == FRAME_ARP ? 4 : 16};
	uint32_t len = 0;

	if (!neigh_claim(kind, &f, &claim) || !claim.probe)
		return; // an answer of ours
	if (world.count < ASKED_MAX) {
		world.asked[world.count].number = (uint16_t)(p - world.port);
		memcpy(world.asked[world.count].vlans, f.vlans, sizeof(f.vlans));
		world.asked[world.count].vlan_count = f.vlan_count;
		world.asked[world.count].target = claim.addr;
	}
	world.count++;
	if (++world.in_a_row > world.most_in_a_row)
		world.most_in_a_row = world.in_a_row;
	memcpy(host.vlans, f.vlans, sizeof(host.vlans));
	host.vlan_count = f.vlan_count;
	if (world.answers)
		len = neigh_answer(&host, kind, &f, out, sizeof(out));
	else if (world.probes && addr_equal(&claim.addr, &world.owned.first))
		len = neigh_ask(&host, &nobody, &claim.addr, out, sizeof(out));
	if (len)
		test_port_receive(p, out, len);
}

static int fresh(void **state)
{
	memset(&world, 0, sizeof(world));
	signals = 0;
	world.host = (struct neigh_self){
		.mac = {2, 9, 9, 9, 9, 9}, .owned = &world.owned, .owned_count = 1};
	world.owned = (struct addr_range){addr("198.18.0.66"), 1};
	return 0;
}

static struct planned *planned(const char *text)
{
	struct planned *p = planned_start(text, false);

	for (uint32_t i = 0; i < p->plan.port_count; i++) {
		test_port_open(&world.port[i], (uint16_t)(10 + i));
		world.port[i].sent = on_sent;
		for (uint32_t q = 0; q < p->plan.ports[i].queues; q++)
			p->plan.ports[i].tx_pool[q] = &world.port[i].pool;
	}
	assert_int_equal(plan_build(&p->plan, p->l.a), 0);
	p->plan.clock.set = &world.now_ns;
	return p;
}

static void free_planned(struct planned *p)
{
	for (uint32_t i = 0; i < p->plan.port_count; i++)
		assert_int_equal(world.port[i].live, world.port[i].received_count);
	planned_free(p);
}

#define PORT(driver, more)                                                                         \
	"ports: [{name: lan, driver: " driver                                                      \
	", addresses: [198.18.0.1/16, \"2001:db8::1/64\"]" more "}"
#define LAN PORT("af_packet, device: lan0", "") "]\n"
#define SOURCES(list)                                                                              \
	"traffic: [{name: q, server: 198.18.0.2, load: {rate: 1k}, source: {addresses: "           \
	"[" list "]}, " LOADED_DNS "}]\n"

static struct address_probe probe;
static struct io_error error;

static int run(struct planned *p)
{
	error.text[0] = '\0';
	return address_probe_run(&p->plan, &signals, &probe, &error);
}

static void assert_asked(uint32_t n, const char *target)
{
	struct addr a = addr(target);

	assert_true(addr_equal(&world.asked[n].target, &a));
}

static void each_address_is_asked_for_twice(void **state)
{
	struct planned *p = planned(LAN SOURCES("198.18.0.64-198.18.0.66"));

	assert_int_equal(run(p), 0);
	assert_int_equal(world.count, 2 * 5);
	for (uint32_t round = 0; round < 2; round++) {
		assert_asked(5 * round, "198.18.0.1");
		assert_asked(5 * round + 1, "2001:db8::1");
		assert_asked(5 * round + 2, "198.18.0.64");
		assert_asked(5 * round + 4, "198.18.0.66");
	}
	assert_int_equal(probe.asked, 5);
	assert_int_equal(probe.left_out, 0);
	assert_true(probe.seconds > 0.19 && probe.seconds < 0.25);
	assert_false(p->plan.workers[0].wire.tentative);
	free_planned(p);
}

static void a_host_that_has_one_is_named(void **state)
{
	struct planned *p = planned(LAN SOURCES("198.18.0.64-198.18.0.66"));

	world.answers = true;
	assert_int_equal(run(p), -EADDRINUSE);
	assert_non_null(strstr(error.text, "port lan: the host 02:09:09:09:09:09 has 198.18.0.66"));
	assert_non_null(strstr(error.text, "ports.lan.address_probe: never"));
	assert_int_equal(world.count, 5);
	free_planned(p);
	fresh(state);
	world.owned.first = addr("2001:db8::1");
	world.answers = true;
	p = planned(LAN SOURCES("198.18.0.64"));
	assert_int_equal(run(p), -EADDRINUSE);
	assert_non_null(strstr(error.text, "has 2001:db8::1,"));
	free_planned(p);
}

// RFC 5227 section 2.1.1, RFC 4862 section 5.4.3.
static void a_host_that_wants_one_is_named_too(void **state)
{
	struct planned *p = planned(LAN SOURCES("198.18.0.64-198.18.0.66"));

	world.probes = true;
	assert_int_equal(run(p), -EADDRINUSE);
	assert_non_null(strstr(error.text, "02:09:09:09:09:09 is about to take 198.18.0.66"));
	free_planned(p);
}

static void a_port_of_ours_is_no_other_host(void **state)
{
	struct planned *p = planned(LAN SOURCES("198.18.0.66"));

	memcpy(world.host.mac, p->plan.ports[0].mac, 6);
	world.answers = true;
	assert_int_equal(run(p), 0);
	free_planned(p);
}

static void expect_asked(const char *text, uint32_t count)
{
	struct planned *p;

	fresh(NULL);
	p = planned(text);
	assert_int_equal(run(p), 0);
	assert_int_equal(world.count, count);
	assert_int_equal(world.now_ns > 0, count > 0);
	free_planned(p);
}

static void without_another_host_on_the_wire_nobody_is_asked(void **state)
{
	static const char load[] =
		"traffic: [{name: q, port: lan, server: 198.18.0.2, load: {rate: 1k}, " LOADED_DNS
		"}]\n";
	char text[1024];
	static const struct {
		const char *port;
		uint32_t count;
	} rows[] = {
		{PORT("af_packet, device: lan0", ""), 4},
		{PORT("af_packet, device: lan0", ", address_probe: never"), 0},
		{PORT("pci, device: \"0000:01:00.0\"", ""), 4},
		{PORT("pcap, device: lan0", ""), 4},
		{PORT("pcap, rx_file: a, tx_file: b", ""), 0},
		{PORT("null", ""), 0},
		{PORT("null", ", address_probe: always"), 4},
		{PORT("ring, device: dut",
			 "") ", {name: dut, driver: ring, device: lan, addresses: [198.18.0.2/24]}",
			0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(text, sizeof(text), "%s]\n%s", rows[i].port, load);
		expect_asked(text, rows[i].count);
	}
}

static void relays_are_asked_for_on_the_vlans_of_their_clients(void **state)
{
	struct planned *p = planned(
		LAN "traffic: [{name: r, server: 198.18.0.2, load: {rate: 1},"
		    " dhcp4: {clients: 9, relay: {addresses: 198.18.0.64},"
		    " vlans: [{clients: 0-3, vlans: [7]}, {clients: 4-8, vlans: [8]}]}}]\n");

	assert_int_equal(run(p), 0);
	assert_int_equal(world.count, 2 * (2 + 2));
	for (uint32_t n = 0; n < 2; n++) {
		assert_asked(2 + n, "198.18.0.64");
		assert_int_equal(world.asked[2 + n].vlan_count, 1);
		assert_int_equal(world.asked[2 + n].vlans[0], 7 + n);
	}
	free_planned(p);
}

// 4 096 addresses take half a second: 16 for each pause of a millisecond.
static void what_comes_before_the_run_is_not_counted(void **state)
{
	static const uint8_t lldp[60] = {1, 0x80, 0xc2, 0, 0, 14, 2, 9, 9, 9, 9, 9, 0x88, 0xcc};
	const struct wire_counters none = {0};
	struct planned *p = planned(LAN SOURCES("198.18.0.66"));

	test_port_receive(&world.port[0], lldp, sizeof(lldp));
	assert_int_equal(run(p), 0);
	assert_memory_equal(&p->plan.workers[0].wire.counters, &none, sizeof(none));
	free_planned(p);
}

static void many_addresses_are_asked_for_in_batches(void **state)
{
	struct planned *p = planned(LAN SOURCES("198.18.16.0/20"));

	assert_int_equal(run(p), 0);
	assert_int_equal(probe.asked, 2 + 4096);
	assert_int_equal(world.count, 2 * probe.asked);
	assert_int_equal(world.most_in_a_row, 16);
	assert_true(probe.seconds > 0.5 && probe.seconds < 0.9);
	free_planned(p);
	fresh(state);
	p = planned(LAN SOURCES("198.18.64.0/18, 198.18.32.0-198.18.32.9"));
	assert_int_equal(run(p), 0);
	assert_int_equal(probe.asked, ADDRESS_PROBE_MAX);
	assert_int_equal(probe.left_out, 2 + 10);
	free_planned(p);
}

static void a_device_that_takes_no_question_is_no_answer(void **state)
{
	struct planned *p = planned(LAN SOURCES("198.18.0.64-198.18.0.66"));

	world.port[0].takes = 0;
	assert_int_equal(run(p), 0);
	assert_int_equal(probe.asked, 0);
	assert_int_equal(probe.left_out, 5);
	free_planned(p);
}

static void a_signal_ends_it(void **state)
{
	struct planned *p = planned(LAN SOURCES("198.18.0.64"));

	signals = 1;
	assert_int_equal(run(p), -EINTR);
	assert_int_equal(world.count, 0);
	free_planned(p);
}

#define TEST(name) cmocka_unit_test_setup(name, fresh)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_address_is_asked_for_twice),
		TEST(a_host_that_has_one_is_named),
		TEST(a_host_that_wants_one_is_named_too),
		TEST(a_port_of_ours_is_no_other_host),
		TEST(without_another_host_on_the_wire_nobody_is_asked),
		TEST(relays_are_asked_for_on_the_vlans_of_their_clients),
		TEST(what_comes_before_the_run_is_not_counted),
		TEST(many_addresses_are_asked_for_in_batches),
		TEST(a_device_that_takes_no_question_is_no_answer),
		TEST(a_signal_ends_it),
	};

	return cmocka_run_group_tests_name("address_probe", tests, NULL, NULL);
}
