// SPDX-License-Identifier: BSD-3-Clause
// Connections of a thread: deadlines occur in order and not early, places are found and freed, and
// messages are complete wherever segments cut them. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/core/conn.h"

#define CONNS 4
#define TURN  (8192u << 10) // microseconds of the wheel
#define STEP  1024u         // of a bucket
#define CUT   1000          // bytes of a segment

static struct conns cs;
static uint32_t expired[CONNS], order[CONNS], expired_count;

static void note(struct conns *of, uint32_t c, uint32_t events)
{
	expired[c]++;
	order[expired_count++ % CONNS] = c;
}

static const struct conn_owner owner = {.expired = note};

static int fresh(void **state)
{
	const struct conns_shape shape = {
		.count = CONNS, .places = 2, .blocks = 400, .window = 80000, .tries = 4};

	*state = aligned_alloc(64, (conns_bytes(&shape) + 63) / 64 * 64);
	memset(*state, 0, conns_bytes(&shape));
	conns_init(&cs, *state, &shape, 0, 0);
	cs.owner = &owner;
	memset(expired, 0, sizeof(expired));
	expired_count = 0;
	return 0;
}

static int over(void **state)
{
	free(*state);
	return 0;
}

static void pass(uint32_t at)
{
	cs.host.now = at;
	conns_expire(&cs);
}

static void deadlines_come_in_order(void **state)
{
	conn_wake(&cs, 0, 30 * STEP);
	conn_wake(&cs, 1, 10 * STEP);
	conn_wake(&cs, 2, 20 * STEP);
	pass(10 * STEP);
	assert_int_equal(expired_count, 0);
	pass(100 * STEP);
	assert_int_equal(expired_count, 3);
	assert_int_equal(order[0], 1);
	assert_int_equal(order[1], 2);
	assert_int_equal(order[2], 0);
	assert_int_equal(cs.timed, 0);
}

static void a_deadline_beyond_a_turn_waits(void **state)
{
	conn_wake(&cs, 0, 2 * TURN + 5 * STEP);
	for (uint32_t at = 0; at <= 2 * TURN + 5 * STEP; at += 100 * STEP)
		pass(at);
	assert_int_equal(expired[0], 0);
	pass(2 * TURN + 6 * STEP);
	assert_int_equal(expired[0], 1);
}

static void only_an_earlier_deadline_replaces_one(void **state)
{
	conn_wake(&cs, 0, 50 * STEP);
	conn_wake(&cs, 0, 90 * STEP);
	conn_wake(&cs, 1, 50 * STEP);
	conn_wake(&cs, 1, 20 * STEP);
	assert_int_equal(cs.timed, 2);
	pass(21 * STEP);
	assert_int_equal(expired[1], 1);
	assert_int_equal(expired[0], 0);
	pass(51 * STEP);
	assert_int_equal(expired[0], 1);
	pass(200 * STEP);
	assert_int_equal(expired_count, 2);
}

static void the_clock_begins_again(void **state)
{
	pass(0u - 10 * STEP);
	conn_wake(&cs, 0, 5 * STEP);
	conn_wake(&cs, 1, 0u - 5 * STEP);
	pass(0u - 4 * STEP);
	assert_int_equal(expired[1], 1);
	assert_int_equal(expired[0], 0);
	pass(5 * STEP);
	assert_int_equal(expired[0], 0);
	pass(6 * STEP);
	assert_int_equal(expired[0], 1);
}

static void places_lead_to_chains_until_none_is_free(void **state)
{
	uint32_t first = conn_take(&cs, 3), second = conn_take(&cs, 1);

	assert_int_equal(cs.at[1], second);
	assert_int_equal(cs.all[second].chain, first);
	assert_int_equal(cs.all[first].chain, CONN_NONE);
	conn_take(&cs, 0);
	assert_int_not_equal(conn_take(&cs, 0), CONN_NONE);
	assert_int_equal(cs.used, CONNS);
	assert_int_equal(conn_take(&cs, 0), CONN_NONE);
}

// An accepted connection whose peer's first byte has number 1.
static uint32_t accepted(void)
{
	struct tcp_segment s = {
		.flags = TCP_SYN, .window = 1000, .mss = 1460, .scale = TCP_NO_SCALE};
	uint32_t c = conn_take(&cs, 0);
	struct tcp *t = &cs.all[c].tcp;

	tcp_accept(&cs.host, t, 100, 1460, &s);
	assert_true(tcp_output(&cs.host, t, &s));
	s = (struct tcp_segment){.seq = 1, .ack = 101, .flags = TCP_ACK, .window = 1000};
	assert_true(tcp_input(&cs.host, t, &s) & TCP_OPENED);
	return c;
}

// Receives bytes; each complete message has to be the next of `lens`.
static void receive(uint32_t c, uint32_t at, const uint8_t *data, uint32_t len,
	const uint32_t *lens, uint32_t *next)
{
	struct tcp_segment s = {.seq = 1 + at,
		.ack = 101,
		.flags = TCP_ACK,
		.window = 1000,
		.len = len,
		.data = data + at};
	const uint8_t *message;
	uint32_t got;

	assert_true(tcp_input(&cs.host, &cs.all[c].tcp, &s) & TCP_DATA);
	while (conn_message(&cs, c, &message, &got)) {
		assert_int_equal(got, lens[*next]);
		for (uint32_t i = 0; i < got; i++)
			assert_int_equal(message[i], (uint8_t)(*next + i * 7));
		++*next;
	}
	while (tcp_output(&cs.host, &cs.all[c].tcp, &s)) { // the window moves on
	}
}

static uint32_t write_all(uint8_t *to, const uint32_t *lens, uint32_t count)
{
	uint32_t at = 0;

	for (uint32_t n = 0; n < count; n++) {
		bytes_put_be16(to + at, (uint16_t)lens[n]);
		at += CONN_LENGTH;
		for (uint32_t i = 0; i < lens[n]; i++)
			to[at++] = (uint8_t)(n + i * 7);
	}
	return at;
}

static void messages_are_whole_wherever_they_are_cut(void **state)
{
	static const uint32_t lens[] = {5, 0, 1, 300, 0, 12};
	uint8_t bytes[400];
	uint32_t len = write_all(bytes, lens, 6);

	for (uint32_t cut = 1; cut < len; cut++) {
		uint32_t next = 0, c;

		over(state);
		fresh(state);
		c = accepted();
		receive(c, 0, bytes, cut, lens, &next);
		receive(c, cut, bytes, len - cut, lens, &next);
		assert_int_equal(next, 6);
		assert_int_equal(cs.host.used, 0);
	}
}

static void the_longest_message_comes_in_pieces(void **state)
{
	static const uint32_t lens[] = {65535, 3};
	static uint8_t bytes[65535 + 3 + 2 * CONN_LENGTH];
	uint32_t len = write_all(bytes, lens, 2), next = 0, c = accepted();

	for (uint32_t at = 0; at < len; at += CUT)
		receive(c, at, bytes, len - at < CUT ? len - at : CUT, lens, &next);
	assert_int_equal(next, 2);
	assert_int_equal(cs.host.used, 0);
}

// "3abc": a digit is the length of a message, including itself, after a letter. A blank is a
// message.
static uint32_t by_digit(const uint8_t *bytes, uint32_t len)
{
	if (bytes[0] == ' ')
		return 1;
	return len < 2 ? 0 : (uint32_t)(bytes[1] - '0');
}

static void a_protocol_says_where_its_messages_end(void **state)
{
	static const char stream[] = "a2 b5cdeX9xxxxxxx ";
	static const uint32_t lens[] = {2, 1, 5, 9, 1};
	uint32_t len = sizeof(stream) - 1;

	for (uint32_t cut = 1; cut < len; cut++) {
		const uint32_t parts[] = {0, cut, len};
		uint32_t next = 0, at = 0, got, c;
		const uint8_t *message;

		over(state);
		fresh(state);
		cs.framed = by_digit;
		c = accepted();
		for (int i = 0; i < 2; i++) {
			struct tcp_segment s = {.seq = 1 + parts[i],
				.ack = 101,
				.flags = TCP_ACK,
				.window = 1000,
				.len = parts[i + 1] - parts[i],
				.data = (const uint8_t *)stream + parts[i]};

			assert_true(tcp_input(&cs.host, &cs.all[c].tcp, &s) & TCP_DATA);
			while (conn_message(&cs, c, &message, &got)) {
				assert_int_equal(got, lens[next++]);
				assert_memory_equal(message, stream + at, got);
				at += got;
			}
		}
		assert_int_equal(next, 5);
		assert_int_equal(cs.host.used, 0);
	}
}

static void only_its_own_bytes_are_written(void **state)
{
	uint32_t c = accepted();
	struct tcp_segment s;

	memcpy(cs.message + CONN_LENGTH, "hello", 5);
	cs.framed = by_digit;
	assert_true(conn_write(&cs, c, 5));
	cs.framed = NULL;
	assert_true(conn_write(&cs, c, 5));
	assert_true(tcp_output(&cs.host, &cs.all[c].tcp, &s));
	assert_int_equal(s.len, 5 + CONN_LENGTH + 5);
	tcp_copy(&cs.host, &cs.all[c].tcp, &s, cs.message);
	assert_memory_equal(cs.message, "hello\0\5hello", 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(deadlines_come_in_order, fresh, over),
		cmocka_unit_test_setup_teardown(a_deadline_beyond_a_turn_waits, fresh, over),
		cmocka_unit_test_setup_teardown(only_an_earlier_deadline_replaces_one, fresh, over),
		cmocka_unit_test_setup_teardown(the_clock_begins_again, fresh, over),
		cmocka_unit_test_setup_teardown(
			places_lead_to_chains_until_none_is_free, fresh, over),
		cmocka_unit_test_setup_teardown(
			messages_are_whole_wherever_they_are_cut, fresh, over),
		cmocka_unit_test_setup_teardown(the_longest_message_comes_in_pieces, fresh, over),
		cmocka_unit_test_setup_teardown(
			a_protocol_says_where_its_messages_end, fresh, over),
		cmocka_unit_test_setup_teardown(only_its_own_bytes_are_written, fresh, over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
