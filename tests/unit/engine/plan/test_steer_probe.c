// SPDX-License-Identifier: BSD-3-Clause
// Probes before the run: on which ports and for which items they are sent, and the conclusion from
// the queues that get the replies. Over a port of the test. Path: cold. Test.
#include "../planned.h"

#include <netinet/in.h>

#include "engine/plan/steer_probe.h"
#include "lib/test_port.h"

#define LAN(cpus, more)                                                                            \
	"  - {name: lan, driver: af_packet, device: nosuch0, cpus: " cpus                          \
	", addresses: [198.18.0.1/24]" more "}\n"
#define ITEM(name, more)                                                                           \
	"  - {name: " name ", port: lan, server: 198.18.0.2, load: {rate: 1k" more                 \
	"}, " LOADED_DNS "}\n"
#define RELAYED                                                                                    \
	"  - {name: r, port: lan, server: 198.18.0.2, load: {rate: 10},"                           \
	" dhcp4: {clients: 9, relay: {addresses: 198.18.0.64}}}\n"

#define STREAM                                                                                     \
	"  - {name: q, port: lan, server: 198.18.0.2, load: {rate: 1k},"                           \
	" dns: {names: [a A], transport: tcp}}\n"
#define TCP_FLAGS 47 // places in a frame without VLAN and options
#define TCP_SUM   50

static struct test_port port;
static uint32_t answers; // that the server still gives
static uint32_t resets;  // that it got
static bool refuses;
static bool twice, stranger;
static volatile sig_atomic_t signals;

// Turns a SYN into its reply: flags and acknowledgement change the checksum of the segment.
static void accept_syn(uint8_t *f)
{
	uint8_t flags = refuses ? TCP_RST | TCP_ACK : TCP_SYN | TCP_ACK;
	uint32_t seq = bytes_be32(f + 38), sum = (uint16_t)~bytes_be16(f + TCP_SUM);

	assert_int_equal(f[TCP_FLAGS], TCP_SYN);
	sum += (uint32_t)flags - f[TCP_FLAGS] + seq + 1 - stranger;
	f[TCP_FLAGS] = flags;
	bytes_put_be32(f + 42, seq + 1 - stranger);
	bytes_put_be16(f + TCP_SUM, (uint16_t) ~(sum + (sum >> 16)));
}

// Turns a DNS query into its reply by the QR bit; the sums of addresses and ports do not change.
static void on_sent(struct test_port *p, uint16_t queue, const struct rte_mbuf *m)
{
	uint8_t f[256], swap[6];

	assert_true(m->data_len <= sizeof(f));
	memcpy(f, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
	if (f[23] == IPPROTO_TCP && f[TCP_FLAGS] & TCP_RST) {
		resets++;
		return;
	}
	if (answers == 0)
		return;
	answers--;
	memcpy(swap, f, 6);
	memcpy(f, f + 6, 6);
	memcpy(f + 6, swap, 6);
	memcpy(swap, f + 26, 4);
	memcpy(f + 26, f + 30, 4);
	memcpy(f + 30, swap, 4);
	memcpy(swap, f + 34, 2);
	memcpy(f + 34, f + 36, 2);
	memcpy(f + 36, swap, 2);
	if (f[23] == IPPROTO_TCP) {
		accept_syn(f);
	} else {
		f[40] = f[41] = 0; // no UDP checksum
		f[44] |= 0x80;
		f[42] ^= stranger; // another ID
	}
	test_port_receive(p, f, m->data_len);
	if (twice)
		test_port_receive(p, f, m->data_len);
}

static int fresh(void **state)
{
	answers = UINT32_MAX;
	resets = 0;
	twice = stranger = refuses = false;
	signals = 0;
	return 0;
}

static struct planned *planned(const char *ports, const char *items)
{
	char text[2048];
	struct planned *p;
	const uint8_t mac[6] = {2, 9, 9, 9, 9, 9};

	snprintf(text, sizeof(text), "ports:\n%straffic:\n%s", ports, items);
	p = planned_start(text, false);
	test_port_open(&port, 10);
	port.sent = on_sent;
	for (uint32_t q = 0; q < p->plan.ports[0].queues; q++)
		p->plan.ports[0].tx_pool[q] = &port.pool;
	assert_int_equal(plan_build(&p->plan, p->l.a), 0);
	for (uint32_t i = 0; i < p->plan.item_count; i++)
		for (uint32_t n = 0; n < p->plan.items[i].path_count; n++)
			plan_address(&p->plan.items[i], n, mac);
	p->plan.clock.hz = 1e8; // the time to wait is over sooner
	return p;
}

static struct result_steer_probe *probe(struct planned *p)
{
	return steer_probe_run(&p->plan, 0, &signals, p->l.a);
}

// The queue of the first worker is read first, and has all replies.
static void answers_are_counted_by_the_queue_that_they_come_to(void **state)
{
	struct planned *p = planned(LAN("1-2", ""), ITEM("q", ""));
	const struct result_steer_probe *r = probe(p);

	assert_int_equal(r->sent, 2 * WORKER_ASKS);
	assert_int_equal(r->home, WORKER_ASKS);
	assert_int_equal(r->elsewhere, WORKER_ASKS);
	assert_int_equal(r->unanswered, 0);
	assert_true(steer_probe_tells(r));
	assert_true(steer_probe_home(r) == 0.5);
	assert_int_equal(port.live, 0);
	planned_free(p);
}

static void connections_are_asked_for_and_reset(void **state)
{
	for (int n = 0; n < 2; n++) {
		struct planned *p = planned(LAN("1-2", ""), STREAM);
		const struct result_steer_probe *r;

		resets = 0;
		refuses = n == 1;
		r = probe(p);
		assert_int_equal(r->sent, 2 * WORKER_ASKS);
		assert_int_equal(r->home, WORKER_ASKS);
		assert_int_equal(r->elsewhere, WORKER_ASKS);
		assert_int_equal(r->unanswered, 0);
		assert_int_equal(resets, refuses ? 0 : 2 * WORKER_ASKS);
		assert_int_equal(port.live, 0);
		planned_free(p);
	}
}

static void an_acknowledgement_of_another_syn_is_no_answer(void **state)
{
	struct planned *p = planned(LAN("1-2", ""), STREAM);

	stranger = true;
	assert_int_equal(probe(p)->unanswered, 2 * WORKER_ASKS);
	planned_free(p);
}

static void questions_without_an_answer_are_counted(void **state)
{
	struct planned *p = planned(LAN("1-2", ""), ITEM("q", ""));
	const struct result_steer_probe *r;

	answers = 1;
	r = probe(p);
	assert_int_equal(r->home, 1);
	assert_int_equal(r->elsewhere, 0);
	assert_int_equal(r->unanswered, 2 * WORKER_ASKS - 1);
	assert_true(steer_probe_tells(r));
	assert_true(steer_probe_home(r) == 1);
	answers = 0;
	r = probe(p);
	assert_int_equal(r->unanswered, r->sent);
	assert_false(steer_probe_tells(r));
	assert_false(steer_probe_tells(NULL));
	planned_free(p);
}

static void an_answer_counts_once_and_only_to_its_question(void **state)
{
	struct planned *p = planned(LAN("1-2", ""), ITEM("q", ""));
	const struct result_steer_probe *r;

	twice = true;
	answers = WORKER_ASKS;
	r = probe(p);
	assert_int_equal(r->home + r->elsewhere, WORKER_ASKS);
	planned_free(p);
	p = planned(LAN("1-2", ""), ITEM("q", ""));
	twice = false;
	stranger = true;
	answers = UINT32_MAX;
	r = probe(p);
	assert_int_equal(r->home + r->elsewhere, 0);
	planned_free(p);
}

static void what_the_port_does_not_take_was_not_asked(void **state)
{
	struct planned *p = planned(LAN("1-2", ""), ITEM("q", ""));

	port.takes = 0;
	assert_int_equal(probe(p)->sent, 0);
	assert_int_equal(port.live, 0);
	port.takes = UINT32_MAX;
	port.buffers = 3;
	assert_int_equal(probe(p)->sent, 3);
	planned_free(p);
}

static void a_signal_ends_the_wait(void **state)
{
	struct planned *p = planned(LAN("1-2", ""), ITEM("q", ""));

	signals = 1;
	assert_int_equal(probe(p)->unanswered, 2 * WORKER_ASKS);
	planned_free(p);
}

// A request for a lease would take one away.
static void only_harmless_questions_are_asked(void **state)
{
	struct planned *p = planned(LAN("1-2", ""), RELAYED);

	assert_null(probe(p));
	assert_int_equal(port.count, 0);
	planned_free(p);
	p = planned(LAN("1-2", ""), RELAYED ITEM("q", ""));
	assert_int_equal(probe(p)->sent, 2 * WORKER_ASKS);
	planned_free(p);
}

static void items_of_another_port_are_not_asked(void **state)
{
	struct planned *p = planned(
		LAN("1-2", "") "  - {name: wan, driver: af_packet, device: nosuch1, cpus: 3-4,"
			       " addresses: [198.19.0.1/24]}\n",
		"  - {name: q, port: wan, server: 198.19.0.2, load: {rate: 1k}, " LOADED_DNS "}\n");

	assert_null(probe(p));
	planned_free(p);
}

// The last keys of the space, a little apart, so that addresses and ports differ.
static void the_keys_that_are_used_last_are_asked_with(void **state)
{
	struct planned *p = planned(LAN("1-2", ""), ITEM("q", ", slots: 1"));
	const struct worker_item *run;

	assert_int_equal(probe(p)->sent, 2 * WORKER_ASKS);
	run = plan_run(&p->plan.items[0], 1);
	assert_int_equal(run->asked_count, WORKER_ASKS);
	for (uint32_t n = 0; n < WORKER_ASKS; n++)
		assert_int_equal(run->asked[n], 1 + n * (run->txns.clients + 1));
	assert_int_equal(run->txns.issued, 0);
	planned_free(p);
}

static void expect_wanted(const char *ports, const char *items, bool wanted)
{
	struct planned *p = planned(ports, items);

	assert_int_equal(steer_probe_is_wanted(&p->plan, 0), wanted);
	planned_free(p);
}

#define RINGS(more)                                                                                \
	"  - {name: lan, driver: ring, device: dut, cpus: 1-2, addresses: [198.18.0.1/24]" more    \
	"}\n"                                                                                      \
	"  - {name: dut, driver: ring, device: lan, cpus: 3-4, addresses: [198.18.0.2/24]}\n"      \
	"responder: {port: dut, dns: {}}\n"

static void a_port_of_several_workers_is_probed_unless_its_queues_are_certain(void **state)
{
	expect_wanted(LAN("1", ""), ITEM("q", ""), false);
	expect_wanted(LAN("1-2", ""), ITEM("q", ""), true);
	expect_wanted(LAN("1-2", ", steering_probe: never"), ITEM("q", ""), false);
	expect_wanted(LAN("1", ", steering_probe: always"), ITEM("q", ""), false);
	expect_wanted(RINGS(""), ITEM("q", ""), false);
	expect_wanted(RINGS(", steering_probe: always"), ITEM("q", ""), true);
}

static void what_was_found_is_said_in_a_sentence(void **state)
{
	const struct result_steer_probe none = {.sent = 8, .unanswered = 8};
	const struct result_steer_probe some = {
		.sent = 8, .home = 5, .elsewhere = 2, .unanswered = 1};
	char text[256];

	steer_probe_describe(NULL, text, sizeof(text));
	assert_non_null(strstr(text, "the first interval shows"));
	steer_probe_describe(&none, text, sizeof(text));
	assert_non_null(strstr(text, "none of 8 queries"));
	steer_probe_describe(&some, text, sizeof(text));
	assert_non_null(strstr(text, "of 8 queries"));
	assert_non_null(strstr(text, "5 had their reply on the sender's queue, 2 on"));
}

static void answers_that_came_during_the_run_are_those_of_all_workers_and_items(void **state)
{
	struct planned *p = planned(
		LAN("1-2", "") "  - {name: wan, driver: af_packet, device: nosuch1, cpus: 3-4,"
			       " addresses: [198.19.0.1/24]}\n",
		ITEM("q", "") ITEM("s", "") "  - {name: t, port: wan, server: 198.19.0.2, load: "
					    "{rate: 1k}, " LOADED_DNS "}\n");

	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t k = 0; k < 2; k++)
			plan_run(&p->plan.items[i], k)->books.counts[1].probe_late = 1 + 10 * i;
	assert_int_equal(steer_probe_late(&p->plan, 0), 2 + 22);
	assert_int_equal(steer_probe_late(&p->plan, 1), 42);
	planned_free(p);
}

#define TEST(name) cmocka_unit_test_setup(name, fresh)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers_are_counted_by_the_queue_that_they_come_to),
		TEST(connections_are_asked_for_and_reset),
		TEST(an_acknowledgement_of_another_syn_is_no_answer),
		TEST(questions_without_an_answer_are_counted),
		TEST(an_answer_counts_once_and_only_to_its_question),
		TEST(what_the_port_does_not_take_was_not_asked),
		TEST(a_signal_ends_the_wait),
		TEST(only_harmless_questions_are_asked),
		TEST(items_of_another_port_are_not_asked),
		TEST(the_keys_that_are_used_last_are_asked_with),
		TEST(a_port_of_several_workers_is_probed_unless_its_queues_are_certain),
		TEST(what_was_found_is_said_in_a_sentence),
		TEST(answers_that_came_during_the_run_are_those_of_all_workers_and_items),
	};

	return cmocka_run_group_tests_name("steer_probe", tests, NULL, NULL);
}
