// SPDX-License-Identifier: BSD-3-Clause
// Before EAL starts: which CPU each worker gets, which ports are brought up, and the facts about
// items that ports need. On CPUs that the test chooses. Path: cold. Test.
#include "engine/plan/plan_start.h"
#include "../planned.h"
#include "base/bytes.h"
#include "io/port/rules.h"
#include "net/frame.h"

#define ANY LCORE_ANY_CPU
#define PORT(name, peer, more)                                                                     \
	"  - {name: " name ", driver: ring, device: " peer ", addresses: [198.18.0.1/24]" more "}" \
	"\n"
#define SERVER(more)                                                                               \
	"  - {name: dut, driver: ring, device: lan, addresses: [198.18.0.2/24]" more "}\n"
#define ITEM(name)                                                                                 \
	"  - {name: " name ", server: 198.18.0.2, port: lan, load: {rate: 1k}, " LOADED_DNS "}\n"
#define TRAFFIC    "responder: {port: dut, dns: {}}\ntraffic:\n" ITEM("q")
#define BOTH(cpus) "ports:\n" PORT("lan", "dut", cpus) SERVER("") TRAFFIC

static int setup(void **state)
{
	planned_cpus = 0xff;
	planned_isolated = 0;
	planned_taken = 0;
	return 0;
}

static void expect_cpus(const char *text, const uint32_t *cpus, uint32_t count)
{
	struct planned *p = planned_start(text, false);

	assert_int_equal(p->plan.worker_count, count);
	assert_int_equal(p->plan.lcores.worker_count, count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(p->plan.lcores.worker_cpus[i], cpus[i]);
	planned_free(p);
}

static void workers_take_the_cpus_that_the_file_names(void **state)
{
	expect_cpus(BOTH(", cpus: [5, 2-4]"), (const uint32_t[]){5, 2, 3, 4, ANY}, 5);
	expect_cpus("ports:\n" PORT("lan", "dut", ", cpus: 3-4") SERVER(", cpus: [6, 7]") TRAFFIC,
		(const uint32_t[]){3, 4, 6, 7}, 4);
}

static void expect_management(const char *text, uint32_t cpu)
{
	struct planned *p = planned_start(text, false);

	assert_int_equal(p->plan.lcores.management_cpu, cpu);
	planned_free(p);
}

static void without_isolated_cpus_the_kernel_chooses(void **state)
{
	expect_cpus(BOTH(""), (const uint32_t[]){ANY, ANY}, 2);
	expect_management(BOTH(""), ANY);
	expect_management("host: {management_cpu: 3}\n" BOTH(""), 3);
}

static void isolated_cpus_are_the_workers_and_another_one_manages(void **state)
{
	planned_isolated = 0x31;
	expect_management(BOTH(""), 1);
	expect_cpus(BOTH(""), (const uint32_t[]){0, 4}, 2);
	expect_cpus("host: {management_cpu: 0}\n" BOTH(""), (const uint32_t[]){4, 5}, 2);
	expect_cpus(BOTH(", cpus: [4, 0]"), (const uint32_t[]){4, 0, 5}, 3);
	planned_taken = 0x1; // by another run
	expect_management(BOTH(""), 1);
	expect_cpus(BOTH(""), (const uint32_t[]){4, 5}, 2);
	planned_taken = 0x31;
	expect_cpus(BOTH(""), (const uint32_t[]){ANY, ANY}, 2);
	expect_cpus(BOTH(", cpus: [4, 0]"), (const uint32_t[]){4, 0, ANY}, 3); // the user knows
	planned_taken = 0;
	planned_isolated = 0x2;
	expect_management(BOTH(""), 0);
	expect_cpus(BOTH(""), (const uint32_t[]){1, ANY}, 2);
	planned_cpus = planned_isolated;
	expect_management(BOTH(""), ANY);
}

static void expect_no_start(const char *text, const char *part)
{
	struct planned *p = planned_read(text, false);
	struct io_error e = {""};

	assert_int_equal(plan_start(&p->plan, false, p->l.a, &e), -EINVAL);
	if (!strstr(e.text, part))
		fail_msg("expected \"%s\" in: %s", part, e.text);
	planned_free(p);
}

static void a_cpu_that_the_process_may_not_use_is_an_error(void **state)
{
	expect_no_start(BOTH(", cpus: 8"), "ports.lan.cpus: this process may not run on CPU 8 (it "
					   "has 8 CPUs");
	expect_no_start(BOTH(", cpus: 1024"), "CPU 1024");
	expect_no_start("host: {management_cpu: 9}\n" BOTH(""),
		"host.management_cpu: this process may not");
}

static void a_responder_alone_has_its_port_alone(void **state)
{
	struct planned *p = planned_start(BOTH(""), true);

	assert_int_equal(p->plan.port_count, 1);
	assert_string_equal(p->plan.port_settings[0].name, "dut");
	assert_int_equal(p->plan.responder_port, 0);
	assert_int_equal(p->plan.item_count, 0);
	planned_free(p);
	p = planned_start(BOTH(""), false);
	assert_int_equal(p->plan.port_count, 2);
	assert_int_equal(p->plan.responder_port, 1);
	assert_true(p->plan.port_settings[1].answers);
	assert_false(p->plan.port_settings[0].answers);
	planned_free(p);
}

static void workers_are_counted_port_by_port(void **state)
{
	struct planned *p = planned_start(
		"ports:\n" PORT("lan", "dut", ", cpus: 1-3") SERVER(", cpus: 4-5") TRAFFIC, false);

	assert_int_equal(p->plan.first_worker[0], 0);
	assert_int_equal(p->plan.first_worker[1], 3);
	assert_int_equal(p->plan.first_worker[2], 5);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(p->plan.workers[i].port, i / 3);
		assert_int_equal(p->plan.workers[i].number, i % 3);
	}
	planned_free(p);
}

static void both_ends_of_a_ring_have_the_queues_of_the_end_with_more(void **state)
{
	struct planned *p = planned_start(BOTH(", cpus: 1-3"), false);

	assert_int_equal(port_queue_count(&p->plan.port_settings[0]), 3);
	assert_int_equal(port_queue_count(&p->plan.port_settings[1]), 3);
	planned_free(p);
}

#define FAULTY(rate)                                                                               \
	"responder: {port: dut, dns: {}, faults: {delay: {constant: 500ms}}}\n"                    \
	"traffic:\n  - {name: q, server: 198.18.0.2, load: {" rate "}, " LOADED_DNS "}\n"          \
	"  - {name: r, server: 198.18.0.2, load: {rate: 500}, " LOADED_DNS "}\n"
#define FAULTY_FILE(rate) "ports:\n" PORT("lan", "dut", "") SERVER("") FAULTY(rate)

static uint64_t held(const char *text, bool respond_only)
{
	struct planned *p = planned_start(text, respond_only);
	uint64_t n = p->plan.port_settings[p->plan.responder_port].held;

	planned_free(p);
	return n;
}

// Buffers for delayed replies, at the rate of all items; at 200 k/s if it is unknown.
static void the_port_of_the_responder_keeps_buffers_for_answers_that_wait(void **state)
{
	assert_int_equal(held(FAULTY_FILE("rate: 1k"), false), 1500);
	assert_int_equal(held(FAULTY_FILE("rate: 1k"), true), 200000);
	assert_int_equal(held(FAULTY_FILE("rate: max"), false), 200000);
	assert_int_equal(held(BOTH(""), false), 0);
}

// --- facts about items that ports need ---

#define RELAYED(name, more)                                                                        \
	"  - {name: " name ", port: lan, server: 198.18.0.2, load: {rate: 10}, "                   \
	"dhcp4: {clients: 100, relay: {addresses: [" more "]}}}\n"
#define WIDE(name, cpus)                                                                           \
	"  - {name: " name ", driver: ring, device: " name "2, addresses: [198.18.0.1/16]" cpus    \
	"}\n"                                                                                      \
	"  - {name: " name "2, driver: ring, device: " name ", addresses: [198.18.0.2/16]}\n"

static void a_port_with_clients_of_their_own_takes_packets_to_any_mac(void **state)
{
	struct planned *p = planned_start(
		"ports:\n" WIDE("lan", "") WIDE("wan", "") "traffic:\n" RELAYED("r", "198.18.0.64")
			ITEM("q") "  - {name: own, port: wan, load: {rate: 10}, dhcp4: {clients: "
				  "100}}\n",
		false);

	assert_false(p->plan.port_settings[0].promiscuous);
	assert_true(p->plan.port_settings[2].promiscuous);
	assert_true(p->plan.port_settings[0].has_ports);
	assert_false(p->plan.port_settings[1].has_ports);
	assert_false(p->plan.port_settings[2].has_ports);
	planned_free(p);
}

// VLANs of clients on the lan port of a self-test, which has its own VLAN or none.
static void check_tags_of(
	const char *own, const char *clients, bool respond_only, uint32_t count, uint16_t first)
{
	char text[2048];
	struct planned *p;

	snprintf(text, sizeof(text),
		"ports:\n"
		"  - {name: lan, driver: ring, device: dut, addresses: [198.18.0.1/16]%s}\n"
		"  - {name: dut, driver: ring, device: lan, addresses: [198.18.0.2/16]%s}\n"
		"traffic:\n"
		"  - {name: a, port: lan, load: {rate: 10}, dhcp4: {clients: 100%s}}\n"
		"responder: {port: dut, dhcp4: {}}\n",
		own, own, clients);
	p = planned_start(text, respond_only);
	for (uint32_t i = 0; i < p->plan.port_count; i++) {
		const struct field_list *tags = &p->plan.port_settings[i].tags;

		assert_int_equal(tags->count, count);
		if (count)
			assert_int_equal(*(const uint16_t *)tags->items, first);
	}
	planned_free(p);
}

static void a_port_knows_the_vlans_of_what_it_receives(void **state)
{
	const char *clients =
		", vlans: [{clients: 0-9, vlans: [70, 5]}, {clients: 10-19, vlans: [60]}]";

	check_tags_of("", "", false, 0, 0);
	check_tags_of("", clients, false, 2, 60);
	check_tags_of(", vlans: [9, 8]", "", false, 1, 9);
	check_tags_of(", vlans: [9]", ", vlans: [{clients: 0-9, vlans: [70]}]", false, 1, 9);
	check_tags_of("", clients, true, FRAME_VLAN_MAX, 1);
	check_tags_of(", vlans: [9]", "", true, 1, 9);
}

// The multicast groups of the lan port and of the responder's, by the last four bytes of their
// MACs.
static void check_groups(const char *item, bool more, const uint32_t *lan, uint32_t lan_count,
	const uint32_t *dut, uint32_t dut_count)
{
	const uint32_t *each[] = {lan, dut}, counts[] = {lan_count, dut_count};
	char text[2048];
	struct planned *p;

	snprintf(text, sizeof(text),
		"ports:\n"
		"  - {name: lan, driver: ring, device: dut, addresses: [198.18.0.1/16, "
		"2001:db8::1/64]}\n"
		"  - {name: dut, driver: ring, device: lan, addresses: [198.18.0.2/16, "
		"2001:db8::2/64]}\n"
		"traffic:\n"
		"  - {name: a, port: lan, load: {rate: 10}, %s}\n"
		"responder: {port: dut, dns: {}, dhcp4: {}, dhcp6: {}}\n",
		item);
	p = planned_start(text, false);
	for (uint32_t i = 0; i < 2; i++) {
		const struct port_settings *s = &p->plan.port_settings[i];
		const uint8_t(*macs)[6] = s->listens.items;

		assert_int_equal(s->listens.count, counts[i]);
		for (uint32_t n = 0; n < counts[i]; n++) {
			assert_int_equal(bytes_be16(macs[n]), 0x3333);
			assert_int_equal(bytes_be32(macs[n] + 2), each[i][n]);
		}
		assert_int_equal(s->listens_more, more && i == 0);
	}
	planned_free(p);
}

#define GROUPS(...) (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4
#define DUT_GROUPS  GROUPS(0xff000002, 1, 0x00010002, 0x00010003)

static void a_port_knows_the_groups_of_what_it_receives(void **state)
{
	check_groups("server: 198.18.0.2, dns: {names: [a.example A]}", false,
		GROUPS(0xff000001, 1), DUT_GROUPS);
	check_groups("server: 2001:db8::2, source: {addresses: [2001:db8::ab:1-2001:db8::ab:2]}, "
		     "dns: {names: [a.example A]}",
		false, GROUPS(0xff000001, 0xffab0001, 0xffab0002, 1), DUT_GROUPS);
	check_groups("server: 2001:db8::2, dhcp6: {clients: 9, relay: {addresses: [2001:db8::9]}}",
		false, GROUPS(0xff000001, 0xff000009, 1), DUT_GROUPS);
	// The addresses of clients are unknown before the run.
	check_groups("dhcp6: {clients: 9}", true, GROUPS(0xff000001, 1), DUT_GROUPS);
	check_groups("dhcp4: {clients: 9}", false, GROUPS(0xff000001, 1), DUT_GROUPS);
}

static void more_groups_than_a_card_takes_are_told(void **state)
{
	struct planned *p = planned_start(
		"ports:\n  - {name: lan, driver: ring, device: dut, addresses: [2001:db8::1/64]}\n"
		"  - {name: dut, driver: ring, device: lan, addresses: [2001:db8::2/64]}\n"
		"traffic:\n"
		"  - {name: a, port: lan, load: {rate: 10}, server: 2001:db8::2, "
		"source: {addresses: [2001:db8::1:0/112]}, dns: {names: [a.example A]}}\n",
		false);

	assert_int_equal(p->plan.port_settings[0].listens.count, PORT_GROUPS_MAX);
	assert_true(p->plan.port_settings[0].listens_more);
	assert_false(p->plan.port_settings[1].listens_more);
	planned_free(p);
}

// Counts the addresses of the port that belong to each queue.
static uint32_t homes(const char *traffic, uint16_t *queues)
{
	char text[2048];
	struct planned *p;
	const struct rule_home *h;
	uint32_t n;

	snprintf(text, sizeof(text),
		"ports:\n"
		"  - {name: lan, driver: af_packet, device: nosuch0, cpus: 1-3,"
		" addresses: [198.18.0.1/16]}\n"
		"  - {name: wan, driver: af_packet, device: nosuch1, cpus: 4-6,"
		" addresses: [198.19.0.1/16]}\n"
		"traffic:\n%s",
		traffic);
	p = planned_start(text, false);
	h = p->plan.port_settings[0].homes.items;
	n = p->plan.port_settings[0].homes.count;
	for (uint32_t i = 0; i < n; i++) {
		queues[i] = h[i].queue;
		assert_int_equal(h[i].addr.len, 4);
	}
	assert_int_equal(p->plan.port_settings[1].homes.count, 0);
	planned_free(p);
	return n;
}

static void relay_addresses_are_a_queues_when_there_is_one_for_each(void **state)
{
	uint16_t queues[2 * RULES_MAX];

	assert_int_equal(homes(RELAYED("r", "198.18.0.64-198.18.0.66"), queues), 3);
	assert_int_equal(queues[0], 0);
	assert_int_equal(queues[1], 1);
	assert_int_equal(queues[2], 2);
	assert_int_equal(homes(RELAYED("r", "198.18.0.64-198.18.0.65"), queues), 0);
	// Counting continues over several ranges.
	assert_int_equal(
		homes(RELAYED("r", "198.18.0.64-198.18.0.65, 198.18.0.80-198.18.0.81"), queues), 4);
	assert_int_equal(queues[2], 2);
	assert_int_equal(queues[3], 0);
	// Each item starts with the first queue again.
	assert_int_equal(homes(RELAYED("r", "198.18.0.64-198.18.0.67")
					 RELAYED("s", "198.18.0.80-198.18.0.82"),
				 queues),
		7);
	assert_int_equal(queues[3], 0);
	assert_int_equal(queues[4], 0);
}

static void relay_addresses_are_nobodys_beside_an_item_without(void **state)
{
	uint16_t queues[2 * RULES_MAX];

	assert_int_equal(homes(RELAYED("r", "198.18.0.64-198.18.0.66") ITEM("q"), queues), 0);
	assert_int_equal(homes(RELAYED("r", "198.18.0.64-198.18.0.66")
					 RELAYED("s", "198.18.0.80-198.18.0.81"),
				 queues),
		0);
}

static void there_are_no_more_homes_than_rules(void **state)
{
	uint16_t queues[2 * RULES_MAX];

	assert_int_equal(homes(RELAYED("r", "198.18.1.0-198.18.1.255"), queues), RULES_MAX);
	assert_int_equal(homes(RELAYED("r", "198.18.1.0-198.18.2.0"), queues), 0);
	assert_int_equal(
		homes(RELAYED("r", "198.18.1.0-198.18.1.252") RELAYED("s", "198.18.2.0-198.18.2.2"),
			queues),
		RULES_MAX);
	assert_int_equal(
		homes(RELAYED("r", "198.18.1.0-198.18.1.253") RELAYED("s", "198.18.2.0-198.18.2.2"),
			queues),
		0);
}

static void an_only_worker_needs_no_homes(void **state)
{
	struct planned *p = planned_start(
		"ports:\n" WIDE("lan", "") "traffic:\n" RELAYED("r", "198.18.0.64-198.18.0.66"),
		false);

	assert_int_equal(p->plan.port_settings[0].homes.count, 0);
	planned_free(p);
}

static void the_next_plan_takes_over_cpus_and_ports(void **state)
{
	struct planned *p = planned_start(BOTH(", cpus: 1-2"), false);
	struct planned *next = planned_read(BOTH(", cpus: 1-2"), false);

	plan_adopt(&next->plan, &p->plan, next->l.a);
	assert_ptr_equal(next->plan.ports, p->plan.ports);
	assert_ptr_equal(next->plan.port_settings, p->plan.port_settings);
	assert_int_equal(next->plan.port_count, 2);
	assert_int_equal(next->plan.responder_port, 1);
	assert_int_equal(next->plan.worker_count, 3);
	assert_int_equal(next->plan.lcores.worker_cpus[1], 2);
	assert_ptr_not_equal(next->plan.workers, p->plan.workers);
	planned_free(next);
	planned_free(p);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(workers_take_the_cpus_that_the_file_names),
		TEST(without_isolated_cpus_the_kernel_chooses),
		TEST(isolated_cpus_are_the_workers_and_another_one_manages),
		TEST(a_cpu_that_the_process_may_not_use_is_an_error),
		TEST(a_responder_alone_has_its_port_alone),
		TEST(workers_are_counted_port_by_port),
		TEST(both_ends_of_a_ring_have_the_queues_of_the_end_with_more),
		TEST(the_port_of_the_responder_keeps_buffers_for_answers_that_wait),
		TEST(a_port_with_clients_of_their_own_takes_packets_to_any_mac),
		TEST(a_port_knows_the_vlans_of_what_it_receives),
		TEST(a_port_knows_the_groups_of_what_it_receives),
		TEST(more_groups_than_a_card_takes_are_told),
		TEST(relay_addresses_are_a_queues_when_there_is_one_for_each),
		TEST(relay_addresses_are_nobodys_beside_an_item_without),
		TEST(there_are_no_more_homes_than_rules),
		TEST(an_only_worker_needs_no_homes),
		TEST(the_next_plan_takes_over_cpus_and_ports),
	};

	return cmocka_run_group_tests_name("plan_start", tests, NULL, NULL);
}
