// SPDX-License-Identifier: BSD-3-Clause
// Next hops in a run: which packets change a MAC, when the worker's frames use it, and when it is
// requested again. Path: cold. Test.
#include "rig.h"

#define NEW_MAC                                                                                    \
	{                                                                                          \
		2, 0, 0, 0, 0, 7                                                                   \
	}
#define OLD_MAC                                                                                    \
	{                                                                                          \
		2, 0, 0, 0, 0, 2                                                                   \
	}
#define LOOKS(n) (RIG_START + (n)*RIG_LOOK)
#define ANSWERED 10 // a moment after the query of rig_ask

static const uint8_t new_mac[6] = NEW_MAC, old_mac[6] = OLD_MAC;
static const struct addr server = {4, {198, 18, 0, 9}}, second = {4, {198, 18, 0, 10}};
static const struct addr server6 = {16, {0x20, 0x01, 0x0d, 0xb8, [15] = 9}};
static struct next_hop hops[2];
static const uint32_t of_paths[2] = {0, 1};

static struct worker_item *const it = &rig.items[0];
static struct wire_counters *const counts = &rig.w.wire.counters;

static int fresh(void **state)
{
	rig_fresh(state);
	hops[0] = (struct next_hop){.addr = server, .from = {4, {198, 18, 0, 1}}};
	hops[1] = (struct next_hop){.addr = second, .from = {4, {198, 18, 0, 1}}};
	hops[0].mac = hops[1].mac = hop_mac_word(old_mac);
	rig.neighbours = (struct neighbours){.hops = hops, .count = 2};
	for (uint32_t i = 0; i < RIG_ITEMS; i++) {
		rig.items[i].hops = of_paths;
		rig.items[i].path_count = 1;
	}
	return 0;
}

// A host announces to all on these VLANs (7, 8) that it has the address.
static void announce_on(const struct addr *addr, const uint8_t mac[6], uint8_t vlans)
{
	struct neigh_self self = {.vlans = {7, 8}, .vlan_count = vlans};
	uint8_t frame[NEIGH_FRAME_MAX];

	memcpy(self.mac, mac, 6);
	test_port_receive(&rig.port, frame, neigh_ask(&self, addr, addr, frame, sizeof(frame)));
}

// An advertisement with these flags of the server that is at the new MAC.
static void advertise(uint8_t flags)
{
	static const struct addr_range all = {{16, {0x20, 0x01, 0x0d, 0xb8, [15] = 9}}, 1};
	const struct neigh_self asker = {.mac = {2, 0, 0, 0, 0, 1}};
	const struct neigh_self self = {.mac = NEW_MAC, .owned = &all, .owned_count = 1};
	const struct addr from = {16, {0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
	uint8_t asked[NEIGH_FRAME_MAX], frame[NEIGH_FRAME_MAX];
	uint16_t check;
	struct frame f;
	uint32_t len;

	len = neigh_ask(&asker, &from, &server6, asked, sizeof(asked));
	len = neigh_answer(&self, frame_parse(asked, len, &f), &f, frame, sizeof(frame));
	assert_int_equal(frame_parse(frame, len, &f), FRAME_ND);
	frame[14 + 40 + 4] = flags;
	memset(frame + 14 + 40 + 2, 0, 2);
	check = csum_fold(csum_add(
		csum_pseudo(f.src, f.dst, 16, FRAME_PROTOCOL_ICMPV6, 32), frame + 14 + 40, 32));
	memcpy(frame + 14 + 40 + 2, &check, 2);
	test_port_receive(&rig.port, frame, len);
}

// Sends the next query, which has to go to this MAC.
static void expect_query_to(const uint8_t mac[6], uint64_t at)
{
	uint32_t n = rig.asked;

	it->pace.next = RIG_START + at;
	rig_pass(at);
	assert_int_equal(rig.asked, n + 1);
	assert_memory_equal(rig.queries[n].bytes, mac, 6);
	it->pace.next = 2 * RIG_END;
}

static void frames_follow_a_next_hop_that_moved(void **state)
{
	rig_ask();
	assert_memory_equal(rig.queries[0].bytes, old_mac, 6);
	announce_on(&server, new_mac, 0);
	rig_pass(600);
	expect_query_to(new_mac, 700);
	assert_int_equal(counts->neighbour_changed, 1);
	announce_on(&server, new_mac, 0);
	rig_pass(800);
	assert_int_equal(counts->neighbour_changed, 1);
	announce_on(&server, old_mac, 0);
	rig_pass(900);
	expect_query_to(old_mac, 950);
	assert_int_equal(counts->neighbour_changed, 2);
	assert_true(frame_checksum_ok(&rig.queries[rig.asked - 1].f));
}

static void a_frame_of_somebody_else_moves_nothing(void **state)
{
	static const struct addr other = {4, {198, 18, 0, 11}}, none = {4, {0}};
	static const struct neigh_self prober = {.mac = NEW_MAC};
	uint8_t frame[NEIGH_FRAME_MAX];

	rig_ask();
	rig.w.wire.any_vlan = true;
	announce_on(&other, new_mac, 0);
	announce_on(&server, new_mac, 1);
	test_port_receive(
		&rig.port, frame, neigh_ask(&prober, &none, &server, frame, sizeof(frame)));
	rig_pass(600);
	expect_query_to(old_mac, 700);
	hops[0].vlans = (struct frame_vlans){{7, 9}, 2};
	announce_on(&server, new_mac, 2);
	rig_pass(800);
	hops[0].vlans = (struct frame_vlans){{7, 8}, 2};
	announce_on(&server, new_mac, 0);
	rig_pass(900);
	assert_int_equal(counts->neighbour_changed, 0);
	announce_on(&server, new_mac, 2);
	rig_pass(950);
	assert_int_equal(counts->neighbour_changed, 1);
}

// Another worker of the port has learned a new MAC.
static void every_worker_follows(void **state)
{
	rig_ask();
	hops[0].mac = hop_mac_word(new_mac);
	expect_query_to(old_mac, 600); // not before the counter changes
	rig.neighbours.moved++;
	expect_query_to(new_mac, 700);
	assert_memory_equal(rig.items[1].frames[0].bytes, new_mac, 6);
	assert_int_equal(counts->neighbour_changed, 0);
}

static void a_path_is_turned_to_where_a_reply_says(void **state)
{
	rig_routed();
	rig_ask();
	memcpy(it->frames[0].bytes, new_mac, 6);
	rig.script[0].finds = second.bytes;
	rig_reply(0, PROTO_DONE);
	rig_pass(600);
	expect_query_to(old_mac, 700); // which the rig replies from
	assert_memory_equal(rig.queries[1].f.dst, second.bytes, 4);
	assert_true(frame_checksum_ok(&rig.queries[1].f));
	assert_int_equal(it->ctx.path_found, 0);
}

static void only_paths_through_it_follow(void **state)
{
	static const uint32_t group[2] = {0, HOP_NONE};

	it->path_count = rig.items[1].path_count = 2;
	rig.items[1].hops = group;
	hops[0].mac = hop_mac_word(new_mac);
	rig.neighbours.moved++;
	rig_ask();
	assert_memory_equal(it->frames[0].bytes, new_mac, 6);
	assert_memory_equal(it->frames[1].bytes, old_mac, 6);
	assert_memory_equal(rig.items[1].frames[1].bytes, old_mac, 6);
	hops[1].mac = 0;
	rig.neighbours.moved++;
	rig_pass(600);
	assert_memory_equal(it->frames[1].bytes, old_mac, 6);
}

// RFC 4861 section 7.2.5: an advertisement without override flag, unless a request is unanswered.
static void an_advertisement_that_does_not_override_is_believed_when_asked_for(void **state)
{
	hops[0].addr = server6;
	rig_ask();
	advertise(0x40);
	rig_pass(600);
	assert_int_equal(counts->neighbour_changed, 0);
	hops[0].ask_again = RIG_START + 700;
	advertise(0x40);
	rig_pass(700);
	assert_int_equal(counts->neighbour_changed, 0);
	advertise(0x40);
	rig_pass(699);
	assert_int_equal(counts->neighbour_changed, 1);
	hops[0].mac = hop_mac_word(old_mac);
	advertise(0x20);
	rig_pass(800);
	assert_int_equal(counts->neighbour_changed, 2);
}

// Returns the ARP requests since the last call; all other packets have to be queries.
static uint32_t questions(void)
{
	static const uint8_t everybody[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	static const uint8_t last[2] = {9, 10};
	uint32_t n = 0;

	for (uint32_t i = 0; i < rig.asked; i++) {
		const struct rig_query *q = &rig.queries[i];

		if (q->kind != FRAME_ARP)
			continue;
		assert_memory_equal(q->bytes, everybody, 6);
		assert_int_equal(q->bytes[14 + 17], 1);
		assert_int_equal(q->bytes[14 + 27], last[n % 2 && it->path_count > 1]);
		n++;
	}
	rig.asked = 0;
	return n;
}

// Makes the pass in which the n-th look is due.
static void look(uint32_t n)
{
	rig_pass(n * RIG_LOOK - 1);
	assert_int_equal(questions(), 0);
	rig_pass(n * RIG_LOOK);
}

static void a_silent_next_hop_is_asked_for_once_in_four_looks(void **state)
{
	it->waits[0] = RIG_END;
	rig_ask();
	questions();
	rig.w.look_at = LOOKS(1);
	look(1);
	assert_int_equal(questions(), 1);
	for (uint32_t n = 2; n < 5; n++) {
		look(n);
		assert_int_equal(questions(), 0);
	}
	look(5);
	assert_int_equal(questions(), 1);
	assert_int_equal(counts->neighbour_asked, 2);
}

static void a_worker_does_not_ask_when_another_has(void **state)
{
	rig_ask();
	questions();
	rig.w.look_at = LOOKS(1);
	hops[0].ask_again = LOOKS(1) + 1;
	look(1);
	assert_int_equal(questions(), 0);
}

static void a_question_that_was_not_sent_is_not_counted(void **state)
{
	rig_ask();
	rig.w.look_at = LOOKS(1);
	rig.port.takes = 0;
	rig_pass(RIG_LOOK);
	rig.port.takes = UINT32_MAX;
	rig.port.buffers = 0;
	hops[0].ask_again = 0;
	rig_pass(2 * RIG_LOOK);
	assert_int_equal(counts->neighbour_asked, 0);
}

static void who_replies_is_not_asked_for(void **state)
{
	static const enum proto_verdict verdicts[] = {
		PROTO_DONE, PROTO_FAIL, PROTO_STRAY, PROTO_MALFORMED};

	for (size_t i = 0; i < sizeof(verdicts) / sizeof(*verdicts); i++) {
		fresh(state);
		rig_ask();
		rig.w.look_at = LOOKS(1);
		rig_reply(0, verdicts[i]);
		questions();
		look(1);
		assert_int_equal(questions(), 0);
		rig_over(state);
	}
	fresh(state);
}

static void without_messages_nobody_is_asked_for(void **state)
{
	it->pace.next = 2 * RIG_END;
	rig.w.look_at = LOOKS(1);
	look(1);
	assert_int_equal(questions(), 0);
	assert_int_equal(rig.w.look_at, LOOKS(2));
}

// Messages without any reply say nothing about the next hop.
static void whom_no_server_answers_asks_too(void **state)
{
	rig.script[0].silent = true;
	rig_ask();
	questions();
	assert_int_equal(it->txns.in_flight, 0);
	rig.w.look_at = LOOKS(1);
	look(1);
	assert_int_equal(questions(), 1);
	hops[0].ask_again = 0;
	look(2);
	assert_int_equal(questions(), 0);
}

// With several next hops, a lost transaction may have used the silent one.
static void a_loss_asks_for_each_of_several_next_hops(void **state)
{
	for (uint32_t paths = 1; paths <= 2; paths++) {
		fresh(state);
		it->path_count = paths;
		rig_ask();
		rig_reply(0, PROTO_DONE);
		questions();
		it->books.ledger[0].lost++;
		rig.w.look_at = LOOKS(1);
		look(1);
		assert_int_equal(questions(), paths == 1 ? 0 : 2);
		rig_over(state);
	}
	fresh(state);
}

static void the_first_look_is_after_the_start(void **state)
{
	worker_begin(&rig.w);
	assert_int_equal(rig.w.look_at, LOOKS(1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, rig_over)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_follow_a_next_hop_that_moved),
		TEST(a_frame_of_somebody_else_moves_nothing),
		TEST(every_worker_follows),
		TEST(a_path_is_turned_to_where_a_reply_says),
		TEST(only_paths_through_it_follow),
		TEST(an_advertisement_that_does_not_override_is_believed_when_asked_for),
		TEST(a_silent_next_hop_is_asked_for_once_in_four_looks),
		TEST(a_worker_does_not_ask_when_another_has),
		TEST(a_question_that_was_not_sent_is_not_counted),
		TEST(who_replies_is_not_asked_for),
		TEST(without_messages_nobody_is_asked_for),
		TEST(whom_no_server_answers_asks_too),
		TEST(a_loss_asks_for_each_of_several_next_hops),
		TEST(the_first_look_is_after_the_start),
	};

	return cmocka_run_group_tests_name("engine worker_hops", tests, NULL, NULL);
}
