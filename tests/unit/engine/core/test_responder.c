// SPDX-License-Identifier: BSD-3-Clause
// The responder: which packets it answers, where replies go, which faults apply to them, and when
// they are sent. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/config/faults_settings.h"
#include "engine/core/responder/responder.h"
#include "io/port_state.h"
#include "lib/test_port.h"

#define START 1000000000ull // ticks are nanoseconds
#define PORT  5353
#define SENT  64

struct answer {
	uint8_t bytes[256];
	uint32_t len;
	struct frame f;
	uint16_t queue;
	uint64_t at, ol_flags;
	bool whole; // its checksums are right
};

static struct {
	struct responder r;
	struct responder_protocol protocol;
	struct test_port port;
	struct clock clock;
	uint64_t tick;
	uint64_t counters;
	_Atomic uint32_t phase;
	struct answer sent[SENT];
	uint32_t count, fragments;
	// The actions of the protocol.
	bool silent;
	bool directs;
	uint32_t more; // messages behind each answer
	struct proto_direction to;
	struct proto_ends ends; // of the last request
	uint64_t now_ms;
} t;

static struct neighbours nobody;

static const struct addr_range owned[] = {
	{{4, {198, 18, 0, 2}}, 2},
	{{16, {0x20, 0x01, 0x0d, 0xb8, [15] = 2}}, 1},
};
static const struct port_queue queues[3] = {{0, 0}, {0, 1}, {0, 2}};

// The reply is the request with each byte one higher.
static uint32_t answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	assert_true(len <= room);
	t.ends = *ctx->ends;
	t.now_ms = ctx->now_ms;
	for (uint32_t i = 0; i < len; i++)
		out[i] = buf[i] + 1;
	ctx->directed = t.directs;
	ctx->more = t.more;
	ctx->to = t.to;
	return t.silent ? 0 : len;
}

// Each further message contains the number of messages left.
static uint32_t more(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	assert_true(len <= room);
	memset(out, (int)ctx->more--, len);
	return len;
}

static uint32_t spoil(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	if (buf[0] == 100) // not possible with this one
		return 0;
	buf[0] = 0xee;
	return buf[1] == 100 ? PROTO_NO_ANSWER : len;
}

static struct proto_server server = {.answer = answer, .more = more};
static struct proto proto = {.name = "test", .server = &server};
static const struct proto_fault spoiled = {"spoiled", "", false, spoil};
static const struct proto_fault beside = {"beside", "", true, spoil};

static void sent(struct test_port *p, uint16_t queue, const struct rte_mbuf *m)
{
	struct answer *a = &t.sent[t.count++ % SENT];

	a->len = m->data_len;
	assert_true(a->len <= sizeof(a->bytes) && m->pkt_len == a->len);
	memcpy(a->bytes, rte_pktmbuf_mtod(m, const uint8_t *), a->len);
	if (frame_parse(a->bytes, a->len, &a->f) == FRAME_FRAGMENT && t.r.scratch) {
		t.fragments++;
		return;
	}
	assert_int_equal(frame_parse(a->bytes, a->len, &a->f), FRAME_UDP);
	a->queue = queue;
	a->at = t.tick - START;
	a->ol_flags = m->ol_flags;
	a->whole = frame_checksum_ok(&a->f);
}

static int fresh(void **state)
{
	memset(&t, 0, sizeof(t));
	server.groups = NULL;
	test_port_open(&t.port, 0);
	t.port.sent = sent;
	t.tick = START;
	t.clock = (struct clock){.hz = 1e9, .set = &t.tick};
	t.protocol = (struct responder_protocol){
		.proto = &proto, .server = &server, .port = PORT, .ctx.counters = &t.counters};
	t.r = (struct responder){.wire = {.burst = 32, .reports_checksums = true},
		.queues = queues,
		.queue_step = 1,
		.queue_end = 1,
		.protocols = &t.protocol,
		.protocol_count = 1,
		.clock = &t.clock,
		.phase = &t.phase,
		.patience = 1000,
		.tx_patience = 1000,
		.stall = 1000,
		.start = START,
		.ms_scale = clock_ms_scale(&t.clock)};
	t.r.wire.tx_pool = &t.port.pool;
	t.r.wire.clock = &t.clock;
	t.r.wire.neighbours = &nobody;
	t.r.wire.self =
		(struct neigh_self){.mac = {2, 0, 0, 0, 0, 2}, .owned = owned, .owned_count = 2};
	return 0;
}

static int over(void **state)
{
	responder_halt(&t.r);
	faults_free(&t.r.faults);
	return t.port.live ? -1 : 0;
}

// Receives a request with a payload of len bytes, all of them `byte`.
static void ask_with(const struct frame_path *path, uint16_t port, uint8_t byte, uint32_t len)
{
	static const uint8_t v4[16] = {198, 18, 0, 77};
	static const uint8_t v6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 77};
	struct frame_path full = *path;
	struct frame_template template;
	uint8_t frame[2400];

	memcpy(full.src_mac, ((uint8_t[]){2, 0, 0, 0, 0, 9}), 6);
	full.dst_port = port;
	frame_template_build(&template, &full);
	memset(frame + template.len, byte, len);
	test_port_receive(&t.port, frame,
		frame_stamp(&template, frame, full.dst.len == 4 ? v4 : v6, 40001,
			(struct frame_payload){.len = len}));
}

static const struct frame_path to_us = {.dst_mac = {2, 0, 0, 0, 0, 2}, .dst = {4, {198, 18, 0, 3}}};

static void ask(uint8_t byte)
{
	ask_with(&to_us, PORT, byte, 20);
}

static void pass(uint64_t at)
{
	t.tick = START + at;
	responder_pass(&t.r);
}

static void an_answer_goes_back_where_the_request_came_from(void **state)
{
	ask(5);
	pass(2500000);
	assert_int_equal(t.count, 1);
	assert_memory_equal(t.sent[0].f.dst, ((uint8_t[]){198, 18, 0, 77}), 4);
	assert_memory_equal(t.sent[0].f.src, ((uint8_t[]){198, 18, 0, 3}), 4);
	assert_memory_equal(t.sent[0].f.eth, ((uint8_t[]){2, 0, 0, 0, 0, 9}), 6);
	assert_memory_equal(t.sent[0].f.eth + 6, ((uint8_t[]){2, 0, 0, 0, 0, 2}), 6);
	assert_int_equal(t.sent[0].f.src_port, PORT);
	assert_int_equal(t.sent[0].f.dst_port, 40001);
	assert_int_equal(t.sent[0].f.payload_len, 20);
	assert_int_equal(t.sent[0].f.payload[19], 6);
	assert_true(t.sent[0].whole);
	assert_int_equal(t.r.counts.received, 1);
	assert_int_equal(t.r.counts.answered, 1);
	assert_null(t.protocol.ctx.ends);
	assert_int_equal(t.ends.src_port, 40001);
}

static void a_protocol_with_a_clock_is_told_the_time(void **state)
{
	t.r.timed = true;
	ask(5);
	pass(2500000);
	assert_int_equal(t.now_ms, 2);
	ask(5);
	pass(60 * 86400 * 1000000000ull + 1000); // 60 days
	assert_int_equal(t.now_ms, 60 * 86400 * 1000ull);
}

static void both_families_and_vlans_are_answered_alike(void **state)
{
	const struct frame_path v6 = {
		.dst_mac = {2, 0, 0, 0, 0, 2}, .dst = {16, {0x20, 0x01, 0x0d, 0xb8, [15] = 2}}};
	struct frame_path tagged = to_us;

	ask_with(&v6, PORT, 1, 20);
	ask(2);
	pass(0);
	assert_int_equal(t.count, 2);
	assert_int_equal(t.sent[0].f.addr_len, 16);
	assert_int_equal(t.sent[0].f.dst[15], 77);
	assert_int_equal(t.sent[0].f.src[15], 2);
	assert_true(t.sent[0].whole);
	assert_int_equal(t.sent[1].f.addr_len, 4);
	t.r.wire.self.vlans[0] = 100;
	t.r.wire.self.vlan_count = 1;
	tagged.vlans[0] = 100;
	tagged.vlan_count = 1;
	ask_with(&tagged, PORT, 3, 20);
	ask(4); // without its tag
	pass(1);
	assert_int_equal(t.count, 3);
	assert_int_equal(t.sent[2].f.vlan_count, 1);
	assert_int_equal(t.sent[2].f.vlans[0], 100);
	assert_true(t.sent[2].whole);
	assert_int_equal(t.r.wire.counters.wrong_vlan, 1);
}

static void further_messages_of_an_answer_travel_like_it(void **state)
{
	t.more = 2;
	ask(1);
	pass(0);
	assert_int_equal(t.count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(t.sent[i].f.dst_port, 40001);
		assert_int_equal(t.sent[i].f.payload[0], 2 - i + (i == 0 ? 0 : 1));
		assert_true(t.sent[i].whole);
	}
	assert_int_equal(t.r.counts.answered, 1);
	t.silent = true; // no answer, nothing behind it
	ask(1);
	pass(1);
	assert_int_equal(t.count, 3);
}

static void a_protocol_may_have_several_ports_and_answer_from_another(void **state)
{
	t.protocol.ports = 2;
	t.directs = true;
	t.to = (struct proto_direction){.src_port = PORT + 7};
	for (uint16_t port = PORT - 1; port <= PORT + 3; port++)
		ask_with(&to_us, port, 1, 20);
	pass(0);
	assert_int_equal(t.count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(t.sent[i].f.src_port, PORT + 7);
		assert_int_equal(t.sent[i].f.dst_port, 40001);
	}
}

static void the_protocol_may_send_its_answer_elsewhere(void **state)
{
	t.directs = true;
	t.to = (struct proto_direction){
		.dst = {198, 18, 0, 99}, .dst_port = 68, .mac = {2, 0, 0, 0, 0, 7}};
	ask(1);
	pass(0);
	assert_memory_equal(t.sent[0].f.dst, t.to.dst, 4);
	assert_memory_equal(t.sent[0].f.eth, t.to.mac, 6);
	assert_int_equal(t.sent[0].f.dst_port, 68);
	assert_true(t.sent[0].whole);
	t.to = (struct proto_direction){
		.dst_port = 67}; // no address and no MAC: taken from the request
	ask(1);
	pass(1);
	assert_memory_equal(t.sent[1].f.dst, ((uint8_t[]){198, 18, 0, 77}), 4);
	assert_memory_equal(t.sent[1].f.eth, ((uint8_t[]){2, 0, 0, 0, 0, 9}), 6);
	assert_int_equal(t.sent[1].f.dst_port, 67);
}

static void a_broadcast_is_for_protocols_that_listen_to_groups(void **state)
{
	static const struct {
		struct addr dst;
		bool groups, answered;
	} rows[] = {
		{{4, {198, 18, 0, 2}}, false, true},
		{{4, {198, 18, 0, 4}}, true, false}, // nobody's
		{{4, {255, 255, 255, 255}}, false, false},
		{{4, {255, 255, 255, 255}}, true, true},
		{{16, {0xff, 2, [13] = 1, [15] = 2}}, true, true},
		{{16, {0xff, 2, [13] = 1, [15] = 2}}, false, false},
	};
	static const struct addr some;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct frame_path path = {.dst_mac = {0xff}, .dst = rows[i].dst};

		fresh(NULL);
		server.groups = rows[i].groups ? &some : NULL;
		ask_with(&path, PORT, 1, 20);
		pass(0);
		assert_int_equal(t.count, rows[i].answered);
		assert_int_equal(t.r.wire.counters.unmatched, !rows[i].answered);
		assert_int_equal(t.r.counts.received, rows[i].answered);
		if (rows[i].answered && rows[i].dst.len == 4)
			assert_memory_equal(t.sent[0].f.src, owned[0].first.bytes, 4);
		if (rows[i].answered && rows[i].dst.len == 16)
			assert_memory_equal(t.sent[0].f.src, owned[1].first.bytes, 16);
	}
}

static void a_port_that_no_protocol_has_is_unmatched(void **state)
{
	ask_with(&to_us, PORT + 1, 1, 20);
	pass(0);
	assert_int_equal(t.count, 0);
	assert_int_equal(t.r.wire.counters.unmatched, 1);
}

static void a_request_without_an_answer_is_ignored(void **state)
{
	for (int turns = 0; turns < 2; turns++) {
		fresh(NULL);
		t.r.turns = t.port.pooled = turns;
		t.silent = true;
		ask(1);
		pass(0);
		assert_int_equal(t.count, 0);
		assert_int_equal(t.r.counts.received, 1);
		assert_int_equal(t.r.counts.ignored, 1);
		assert_int_equal(t.r.counts.answered, 0);
		assert_int_equal(t.port.live, 0);
	}
}

static void without_a_buffer_there_is_no_answer(void **state)
{
	t.port.buffers = 0;
	ask(1);
	pass(0);
	assert_int_equal(t.r.counts.no_buffer, 1);
	assert_int_equal(t.r.tx_no_mbuf, 1);
	assert_int_equal(t.count, 0);
}

static void between_rings_the_answer_has_the_buffer_of_its_request(void **state)
{
	struct rte_mbuf *m, *exact;

	ask(7);
	assert_int_equal(rte_mempool_get_bulk(&t.port.pool, (void **)&m, 1), 0);
	exact = t.port.received[0];
	m->data_len = exact->data_len;
	m->pkt_len = exact->pkt_len;
	memcpy(rte_pktmbuf_mtod(m, void *), exact->buf_addr, exact->data_len);
	t.port.received[0] = m; // a buffer with room, as a ring gives it
	rte_pktmbuf_free(exact);
	t.port.buffers = 0;
	t.r.turns = t.port.pooled = true;
	pass(0);
	assert_int_equal(t.count, 1);
	assert_int_equal(t.sent[0].f.payload[0], 8);
	assert_memory_equal(t.sent[0].f.dst, ((uint8_t[]){198, 18, 0, 77}), 4);
	assert_true(t.sent[0].whole);
	assert_int_equal(t.port.live, 0);
}

static void checksums_are_left_to_a_device_that_can(void **state)
{
	t.r.wire.checksum_offload = true;
	ask(1);
	pass(0);
	assert_int_equal(t.sent[0].ol_flags & RTE_MBUF_F_TX_UDP_CKSUM, RTE_MBUF_F_TX_UDP_CKSUM);
	assert_false(t.sent[0].whole);
}

static void answers_wait_for_room_for_some_time_only(void **state)
{
	t.port.takes = 0;
	ask(1);
	t.r.tx_patience = 0;
	pass(0);
	assert_int_equal(t.r.tx_refused, 1);
	assert_int_equal(t.r.counts.answered, 1);
	assert_int_equal(t.port.live, 0);
}

// The port takes one packet at a time; without patience the rest of the burst is lost.
static void a_burst_that_is_taken_in_parts_leaves_in_order(void **state)
{
	t.port.takes = 1;
	for (uint8_t i = 1; i <= 3; i++)
		ask(i);
	pass(0);
	assert_int_equal(t.count, 3);
	assert_int_equal(t.r.tx_refused, 0);
	for (uint8_t i = 0; i < 3; i++)
		assert_int_equal(t.sent[i].f.payload[0], i + 2);
	t.r.tx_patience = 0;
	for (uint8_t i = 1; i <= 3; i++)
		ask(i);
	pass(0);
	assert_int_equal(t.count, 4);
	assert_int_equal(t.r.tx_refused, 2);
	assert_int_equal(t.port.live, 0);
}

static void all_queues_are_served(void **state)
{
	t.r.queue_first = 1;
	t.r.queue_step = 1;
	t.r.queue_end = 3;
	t.r.wire.burst = 1;
	ask(1);
	ask(2);
	pass(0);
	assert_int_equal(t.count, 2);
	assert_int_equal(t.sent[0].queue, 1);
	assert_int_equal(t.sent[1].queue, 2);
}

// Applies this fault of the table to every reply.
static void always(uint32_t fault, const struct proto_fault *row)
{
	t.r.faults.active = true;
	t.r.faults.on = 1ull << fault;
	t.r.faults.gates[fault] = (struct fault_gate){.every = 1, .left = 1};
	t.protocol.faults[fault] = row;
}

static int fresh_faults(void **state)
{
	static const struct faults_settings none;

	fresh(state);
	assert_int_equal(faults_init(&t.r.faults, &none, &t.clock, 1, 16), 0);
	t.r.faults.active = true;
	return 0;
}

static void each_fault_has_its_packets_and_its_count(void **state)
{
	static const struct {
		uint32_t fault;
		const struct proto_fault *row;
		uint32_t sent, answered;
		bool whole;
		uint16_t src_port;
		uint32_t len;
	} rows[] = {
		{FAULT_LOSS, NULL, 0, 0, true, PORT, 20},
		{FAULT_DUPLICATE, NULL, 2, 1, true, PORT, 20},
		{FAULT_CORRUPT, NULL, 1, 1, true, PORT, 20},
		{FAULT_CORRUPT_CHECKSUM, NULL, 1, 1, false, PORT, 20},
		{FAULT_TRUNCATE, NULL, 1, 1, true, PORT, 10},
		{FAULT_WRONG_PORT, NULL, 1, 1, true, PORT ^ 1, 20},
		{FAULT_OF_PROTOCOL, &spoiled, 1, 1, true, PORT, 20},
		{FAULT_OF_PROTOCOL, &beside, 2, 1, true, PORT, 20},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		fresh_faults(NULL);
		always(rows[i].fault, rows[i].row);
		ask(1);
		pass(0);
		pass(1);
		assert_int_equal(t.count, rows[i].sent);
		assert_int_equal(t.r.counts.answered, rows[i].answered);
		assert_int_equal(t.r.faults.counts[rows[i].fault], 1);
		for (uint32_t n = 0; n < t.count; n++) {
			assert_int_equal(t.sent[n].whole, rows[i].whole);
			assert_int_equal(t.sent[n].f.src_port, rows[i].src_port);
			assert_int_equal(t.sent[n].f.payload_len, rows[i].len);
		}
		if (rows[i].row == &spoiled)
			assert_int_equal(t.sent[0].f.payload[0], 0xee);
		if (rows[i].row == &beside) {
			assert_int_equal(t.sent[0].f.payload[0], 2);
			assert_int_equal(t.sent[1].f.payload[0], 0xee);
		}
		assert_int_equal(over(NULL), 0);
	}
	fresh_faults(NULL);
}

// Three fragments over an MTU of 68, by their offsets in units of 8 octets.
static void a_long_answer_leaves_in_fragments(void **state)
{
	static uint8_t scratch[FRAGMENTS_FRAME_MAX];
	static const struct {
		uint32_t fault, sent;
		uint8_t offsets[4];
	} rows[] = {
		{FAULTS_MAX, 3, {0, 6, 12}}, {FAULT_FRAGMENT_LOSS, 2, {0, 6}},
		{FAULT_FRAGMENT_DUPLICATE, 4, {0, 6, 0, 12}},
		{FAULT_FRAGMENT_REORDER, 3, {12, 0, 6}},
		{FAULT_FRAGMENT_OVERLAP, 4, {0, 6, 11, 12}},
		{FAULT_REORDER, 3, {0, 6, 12}},   // not possible, nor are two answers
		{FAULT_DUPLICATE, 3, {0, 6, 12}}, // at once
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		fresh_faults(NULL);
		if (rows[i].fault != FAULTS_MAX)
			always(rows[i].fault, NULL);
		t.r.scratch = scratch;
		t.r.mtu = 68;
		t.protocol.is_long = true;
		ask_with(&to_us, PORT, 1, 100);
		pass(0);
		assert_int_equal(t.fragments, rows[i].sent);
		assert_int_equal(t.r.counts.fragmented, 1);
		assert_int_equal(t.r.counts.answered, 1);
		for (uint32_t n = 0; n < t.count; n++) {
			const uint8_t *ip = t.sent[n].f.ip;
			uint8_t at = rows[i].offsets[n];

			assert_int_equal(bytes_be16(ip + 6), (at == 12 ? 0 : 0x2000) | at);
			assert_true(csum_is_right(csum_wide(ip, 20)));
			assert_int_equal(t.sent[n].f.payload_len, at == 12   ? 12
								  : at == 11 ? 8
									     : 48);
		}
		ask(1); // a short reply of the same protocol
		pass(1);
		assert_int_equal(t.count, rows[i].sent + 1 + (rows[i].fault == FAULT_DUPLICATE) -
						  (rows[i].fault == FAULT_REORDER));
		assert_int_equal(t.r.counts.fragmented, 1);
		assert_int_equal(over(NULL), 0);
	}
	fresh_faults(NULL);
}

static void a_fault_that_is_not_possible_leaves_the_next_its_turn(void **state)
{
	always(FAULT_OF_PROTOCOL, &spoiled);
	always(FAULT_OF_PROTOCOL + 1, &beside);
	t.r.faults.on |= 1ull << FAULT_OF_PROTOCOL;
	ask(99); // its answer begins with 100
	pass(0);
	assert_int_equal(t.count, 1);
	assert_int_equal(t.r.faults.counts[FAULT_OF_PROTOCOL], 0);
	assert_int_equal(t.r.faults.counts[FAULT_OF_PROTOCOL + 1], 0);
	assert_int_equal(t.sent[0].f.payload[0], 100);
	ask(1);
	pass(1);
	assert_int_equal(t.r.faults.counts[FAULT_OF_PROTOCOL], 1);
	assert_int_equal(t.r.faults.counts[FAULT_OF_PROTOCOL + 1], 0);
}

static void without_a_buffer_there_is_no_duplicate(void **state)
{
	always(FAULT_DUPLICATE, NULL);
	t.port.buffers = 1;
	ask(1);
	pass(0);
	assert_int_equal(t.count, 1);
	assert_int_equal(t.r.faults.counts[FAULT_DUPLICATE], 0);
}

static void a_reordered_answer_leaves_after_the_next_or_after_its_patience(void **state)
{
	always(FAULT_REORDER, NULL);
	ask(1);
	pass(0);
	assert_int_equal(t.count, 0);
	assert_int_equal(t.r.counts.waiting, 1);
	ask(2); // the fault has its turn again, but one waits already: both leave
	pass(10);
	assert_int_equal(t.count, 2);
	assert_int_equal(t.sent[0].f.payload[0], 3);
	assert_int_equal(t.sent[1].f.payload[0], 2);
	assert_int_equal(t.r.counts.waiting, 0);
	ask(3);
	pass(20);
	pass(1020);
	assert_int_equal(t.count, 2);
	pass(1021);
	assert_int_equal(t.count, 3);
}

static void a_delayed_answer_leaves_later_and_in_order(void **state)
{
	t.r.faults.first = 50000; // constant
	ask(1);
	pass(0);
	assert_int_equal(t.count, 0);
	assert_int_equal(t.r.counts.waiting, 1);
	t.r.faults.first = 0;
	ask(2); // it leaves before the other one, by way of the wheel
	pass(10000);
	pass(20000);
	assert_int_equal(t.count, 1);
	assert_int_equal(t.sent[0].f.payload[0], 3);
	pass(49999);
	assert_int_equal(t.count, 1);
	pass(60000);
	assert_int_equal(t.count, 2);
	assert_int_equal(t.sent[1].f.payload[0], 2);
	assert_int_equal(t.r.counts.waiting, 0);
}

static void a_full_wheel_sends_at_once_and_is_counted(void **state)
{
	t.r.faults.first = 50000;
	for (uint8_t i = 0; i < 17; i++)
		ask(i);
	pass(0);
	assert_int_equal(t.count, 1);
	assert_int_equal(t.r.tx_no_mbuf, 1);
	assert_int_equal(t.r.counts.waiting, 16);
}

static void in_an_outage_requests_are_dropped(void **state)
{
	t.r.faults.off_at = 1000;
	t.r.faults.on_at = 2000;
	ask(1);
	pass(0);
	ask(2);
	pass(1000);
	ask(3);
	pass(2000);
	assert_int_equal(t.count, 2);
	assert_int_equal(t.r.counts.received, 3);
	assert_int_equal(t.r.faults.counts[FAULT_OUTAGE], 1);
}

static uint32_t passes;

static void next_pass(struct test_port *p)
{
	t.tick += 1001;
	if (passes-- == 0)
		t.phase = PHASE_STOP;
}

static void a_long_pass_after_the_warmup_is_a_stall(void **state)
{
	t.port.poll = next_pass;
	t.phase = PHASE_WARMUP;
	passes = 3;
	responder_loop(&t.r);
	assert_int_equal(t.r.counts.gaps_over_1ms, 0);
	t.phase = PHASE_MEASURE;
	passes = 3;
	responder_loop(&t.r);
	assert_int_equal(t.r.counts.gaps_over_1ms, 4);
	assert_int_equal(t.r.counts.stolen, 4004);
	assert_int_equal(t.r.counts.max_gap, 1001);
	t.r.stall = 1001;
	t.phase = PHASE_MEASURE;
	passes = 3;
	responder_loop(&t.r);
	assert_int_equal(t.r.counts.gaps_over_1ms, 4);
}

#define TEST(name)  cmocka_unit_test_setup_teardown(name, fresh, over)
#define FAULT(name) cmocka_unit_test_setup_teardown(name, fresh_faults, over)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_answer_goes_back_where_the_request_came_from),
		TEST(a_protocol_with_a_clock_is_told_the_time),
		TEST(both_families_and_vlans_are_answered_alike),
		TEST(the_protocol_may_send_its_answer_elsewhere),
		TEST(further_messages_of_an_answer_travel_like_it),
		TEST(a_protocol_may_have_several_ports_and_answer_from_another),
		TEST(a_broadcast_is_for_protocols_that_listen_to_groups),
		TEST(a_port_that_no_protocol_has_is_unmatched),
		TEST(a_request_without_an_answer_is_ignored),
		TEST(without_a_buffer_there_is_no_answer),
		TEST(between_rings_the_answer_has_the_buffer_of_its_request),
		TEST(checksums_are_left_to_a_device_that_can),
		TEST(answers_wait_for_room_for_some_time_only),
		TEST(a_burst_that_is_taken_in_parts_leaves_in_order),
		TEST(all_queues_are_served),
		FAULT(each_fault_has_its_packets_and_its_count),
		FAULT(a_long_answer_leaves_in_fragments),
		FAULT(a_fault_that_is_not_possible_leaves_the_next_its_turn),
		FAULT(without_a_buffer_there_is_no_duplicate),
		FAULT(a_reordered_answer_leaves_after_the_next_or_after_its_patience),
		FAULT(a_delayed_answer_leaves_later_and_in_order),
		FAULT(a_full_wheel_sends_at_once_and_is_counted),
		FAULT(in_an_outage_requests_are_dropped),
		TEST(a_long_pass_after_the_warmup_is_a_stall),
	};

	return cmocka_run_group_tests_name("engine responder", tests, NULL, NULL);
}
