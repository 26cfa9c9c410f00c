// SPDX-License-Identifier: BSD-3-Clause
// Fragments: a cut datagram is whole again, whatever the order; a datagram that breaks a rule is
// not, and leaves other datagrams alone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "net/fragments.h"

#define TIMEOUT 1000
#define LONGEST 65535
#define FRAME   (FRAGMENTS_FRAME_MAX + 8)

static struct {
	struct fragments table;
	void *memory;
	uint64_t duplicates, lost[FRAGMENTS_REASONS];
	uint64_t now;
	uint8_t whole[FRAME], out[FRAGMENTS_FRAME_MAX];
	struct frame f; // of whole
	uint32_t whole_len;
} t;

static const struct fragments_counts counts = {&t.duplicates, t.lost};

static void open_table(uint16_t datagrams, uint16_t blocks)
{
	const struct fragments_limits limits = {datagrams, blocks, TIMEOUT};

	free(t.memory);
	memset(&t, 0, sizeof(t));
	t.memory = malloc(fragments_memory(&limits));
	assert_non_null(t.memory);
	memset(t.memory, 0xa5, fragments_memory(&limits));
	fragments_init(&t.table, &limits, t.memory);
	t.now = 5000;
}

static int fresh(void **state)
{
	open_table(8, 64);
	return 0;
}

static int over(void **state)
{
	free(t.memory);
	t.memory = NULL;
	return 0;
}

// A datagram with so many octets behind its UDP header. Its frame is t.whole.
static void make(uint8_t addr_len, uint8_t vlans, uint32_t len)
{
	struct frame_path path = {.src_mac = {2, 0, 0, 0, 0, 2},
		.dst_mac = {2, 0, 0, 0, 0, 1},
		.vlans = {100, 101},
		.vlan_count = vlans,
		.dst = {addr_len, {198, 18, 0, 1}},
		.dst_port = 7};
	const uint8_t src[16] = {198, 18, 0, 2};
	struct frame_template template;

	frame_template_build(&template, &path);
	for (uint32_t i = 0; i < len; i++)
		t.whole[template.len + i] = (uint8_t)(i * 7 + (i >> 8));
	t.whole_len = frame_stamp(&template, t.whole, src, 53, (struct frame_payload){len, 0});
	assert_int_equal(frame_parse(t.whole, t.whole_len, &t.f), FRAME_UDP);
}

static uint32_t take(const uint8_t *data, uint32_t len)
{
	struct frame f;

	assert_int_equal(frame_parse(data, len, &f), FRAME_FRAGMENT);
	return fragments_take(&t.table, &f, t.now, t.out, counts);
}

// One fragment of t.whole; in a block of its own size for the sanitizer.
static uint32_t give_id(uint32_t id, uint32_t offset, uint32_t len)
{
	uint8_t *data = malloc(t.whole_len + 8);
	uint32_t made = fragment_make(&t.f, id, offset, len, data), result;

	data = realloc(data, made);
	result = take(data, made);
	free(data);
	return result;
}

static uint32_t give(uint32_t offset, uint32_t len)
{
	return give_id(1, offset, len);
}

// Checks that the result is t.whole, except for the ID and DF of IPv4 and their checksum.
static void assert_whole(uint32_t len)
{
	struct frame f;

	assert_int_equal(len, t.whole_len);
	assert_int_equal(frame_parse(t.out, len, &f), FRAME_UDP);
	assert_true(frame_checksum_ok(&f));
	if (f.addr_len == 4) {
		uint8_t *ip = t.out + (f.ip - f.eth);

		memcpy(ip + 4, t.f.ip + 4, 4);
		memcpy(ip + 10, t.f.ip + 10, 2);
	}
	assert_memory_equal(t.out, t.whole, len);
}

static void assert_lost(enum fragments_reason why, uint64_t n)
{
	for (uint32_t i = 0; i < FRAGMENTS_REASONS; i++)
		if (t.lost[i] != (i == why ? n : 0))
			fail_msg("reason %u: %lu", i, (unsigned long)t.lost[i]);
}

static void gives_back_what_was_cut(void **state)
{
	static const uint32_t lens[] = {9, 1472, 1473, 4000, 65000};

	for (uint32_t i = 0; i < sizeof(lens) / sizeof(lens[0]) * 6; i++) {
		uint8_t addr_len = i % 2 ? 4 : 16, vlans = i / 2 % 3;
		uint32_t room = fragment_room(addr_len, i / 6 == 0 ? 68 : 1500), n, len = 0;

		assert_int_equal(room % 8, 0);
		make(addr_len, vlans, lens[i / 6]);
		n = 8 + lens[i / 6];
		for (uint32_t at = 0; at < n; at += room) {
			assert_int_equal(len, 0);
			len = at == 0 && n <= room ? give(0, 8) + give(8, n - 8)
			                           : give(at, n - at < room ? n - at : room);
		}
		assert_whole(len);
	}
	assert_lost(0, 0);
}

static void takes_any_order(void **state)
{
	static const uint32_t orders[6][3] = {
		{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

	make(16, 0, 4000);
	for (int i = 0; i < 6; i++) {
		for (int k = 0; k < 3; k++) {
			uint32_t at = orders[i][k] * 1448;
			uint32_t len = give(at, orders[i][k] == 2 ? 4008 - at : 1448);

			if (k == 2)
				assert_whole(len);
			else
				assert_int_equal(len, 0);
		}
	}
	assert_lost(0, 0);
}

static void keeps_datagrams_apart(void **state)
{
	make(4, 0, 2000);
	assert_int_equal(give_id(1, 0, 1480), 0);
	assert_int_equal(give_id(2, 1480, 528), 0);
	make(4, 1, 2000); // the same on a VLAN
	assert_int_equal(give_id(2, 0, 1480), 0);
	make(4, 0, 2000);
	assert_whole(give_id(1, 1480, 528));
	assert_whole(give_id(2, 0, 1480));
	make(4, 1, 2000);
	assert_whole(give_id(2, 1480, 528));
}

// The protocol is part of the key over IPv4.
static void keeps_protocols_apart(void **state)
{
	uint8_t data[2048];
	uint32_t len;

	make(4, 0, 2000);
	assert_int_equal(give(0, 1480), 0);
	len = fragment_make(&t.f, 1, 1480, 528, data);
	data[14 + 9] = 6;
	assert_int_equal(take(data, len), 0);
	assert_whole(give(1480, 528));
}

static void ignores_an_exact_duplicate(void **state)
{
	make(4, 0, 4000);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(give(0, 1480), 0);
		assert_int_equal(give(2960, 1048), 0);
	}
	assert_int_equal(t.duplicates, 4);
	assert_whole(give(1480, 1480));
	assert_lost(0, 0);
}

// Checks that neither this datagram nor its further fragments are accepted, until its time is over.
static void assert_refused(enum fragments_reason why)
{
	assert_lost(why, 1);
	assert_int_equal(t.table.free_blocks, 64);
	assert_int_equal(give(0, 1480), 0);
	assert_int_equal(give(1480, 1480), 0);
	assert_int_equal(give(2960, 1048), 0);
	t.now += TIMEOUT + 1;
	assert_int_equal(give(0, 1480), 0);
	assert_int_equal(give(1480, 1480), 0);
	assert_whole(give(2960, 1048));
	assert_lost(why, 1);
	t.lost[why] = 0;
}

static void refuses_overlaps(void **state)
{
	static const uint32_t pairs[][4] = {{0, 1480, 1472, 1480}, {1472, 1480, 0, 1480},
		{0, 1480, 0, 1472}, {0, 1480, 8, 8}, {8, 8, 0, 1480}, {2960, 1048, 2952, 1048},
		{0, 8, 0, 16}};

	make(4, 0, 4000);
	for (uint32_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		assert_int_equal(give(pairs[i][0], pairs[i][1]), 0);
		assert_int_equal(give(pairs[i][2], pairs[i][3]), 0);
		assert_refused(FRAGMENTS_OVERLAP);
	}
}

static void refuses_a_duplicate_with_other_octets(void **state)
{
	make(4, 0, 4000);
	for (uint32_t at = 0; at < 1480; at += 1479) {
		assert_int_equal(give(0, 1480), 0);
		t.whole[34 + at] ^= 1;
		assert_int_equal(give(0, 1480), 0);
		t.whole[34 + at] ^= 1;
		assert_refused(FRAGMENTS_OVERLAP);
	}
}

static void refuses_odd_and_empty_parts(void **state)
{
	make(4, 0, 4000);
	assert_int_equal(give(0, 1479), 0);
	assert_refused(FRAGMENTS_BAD_LENGTH);
	assert_int_equal(give(0, 1480), 0);
	assert_int_equal(give(1480, 0), 0);
	assert_refused(FRAGMENTS_BAD_LENGTH);
}

// Gives a fragment whose flag contradicts its place.
static uint32_t give_with(bool more, uint32_t offset, uint32_t len)
{
	uint8_t data[2048];
	uint32_t made = fragment_make(&t.f, 1, offset, len, data);

	data[14 + 6] = (uint8_t)((data[14 + 6] & 0x1f) | (more ? 0x20 : 0));
	return take(data, made);
}

static void refuses_ends_that_differ(void **state)
{
	make(4, 0, 4000);
	assert_int_equal(give(0, 1480), 0);
	assert_int_equal(give_with(false, 1480, 1480), 14 + 20 + 2960);
	assert_lost(0, 0); // a shorter datagram is whole, too; its checksum decides
	assert_int_equal(give(2960, 1048), 0);
	assert_int_equal(give_with(false, 1480, 1480), 0);
	assert_refused(FRAGMENTS_BAD_END);
	assert_int_equal(give_with(false, 1480, 1480), 0);
	assert_int_equal(give(2960, 1048), 0);
	assert_refused(FRAGMENTS_BAD_END);
	assert_int_equal(give_with(false, 1480, 1480), 0);
	assert_int_equal(give_with(true, 2960, 1048), 0);
	assert_refused(FRAGMENTS_BAD_END);
	assert_int_equal(give(2960, 1048), 0);
	assert_int_equal(give_with(true, 2960, 1048), 0); // the last one is not
	assert_refused(FRAGMENTS_BAD_END);
	assert_int_equal(give_with(true, 2960, 1048), 0);
	assert_int_equal(give_with(false, 1480, 1480), 0); // ends before
	assert_refused(FRAGMENTS_BAD_END);
}

static void refuses_packets_over_65535(void **state)
{
	uint8_t data[2048];
	uint32_t len;

	make(4, 0, 4000);
	len = fragment_make(&t.f, 1, 0, 1480, data);
	bytes_put_be16(data + 14 + 6, 0x1fff);
	assert_int_equal(take(data, len), 0);
	assert_refused(FRAGMENTS_TOO_LONG);
}

// 65 535 octets with the IPv4 header, and eight more.
static void takes_the_longest_packet(void **state)
{
	make(4, 2, LONGEST - 28);
	for (uint32_t at = 0; at + 8 < LONGEST - 20; at += 8184) {
		uint32_t n = LONGEST - 20 - at < 8184 ? LONGEST - 20 - at : 8184;
		uint32_t len = give(at, n);

		if (at + n == LONGEST - 20)
			assert_whole(len);
		else
			assert_int_equal(len, 0);
	}
	make(16, 2, LONGEST - 8);
	for (uint32_t at = 0; at < LONGEST; at += 8184) {
		uint32_t n = LONGEST - at < 8184 ? LONGEST - at : 8184, len = give(at, n);

		if (at + n == LONGEST)
			assert_whole(len);
		else
			assert_int_equal(len, 0);
	}
	assert_lost(0, 0);
}

// IPv4 counts its header, so data may end later than the packet.
static void refuses_headers_that_make_it_too_long(void **state)
{
	uint8_t data[9000];

	make(4, 0, 8184 - 8);
	for (uint32_t at = 0; at < 65520; at += 8184) {
		uint32_t n = 65520 - at < 8184 ? 65520 - at : 8184;
		uint32_t len = fragment_make(&t.f, 1, 0, n, data);

		bytes_put_be16(data + 14 + 6, (uint16_t)((n == 8184 ? 0x2000 : 0) | at / 8));
		assert_int_equal(take(data, len), 0);
	}
	assert_lost(FRAGMENTS_TOO_LONG, 1);
	assert_int_equal(t.table.free_blocks, 64);
}

static void gives_up_after_the_timeout(void **state)
{
	make(16, 0, 4000);
	assert_int_equal(give(0, 1448), 0);
	t.now += TIMEOUT;
	fragments_expire(&t.table, t.now, counts);
	assert_int_equal(t.table.free_blocks, 63);
	fragments_expire(&t.table, t.now + 1, counts);
	assert_lost(FRAGMENTS_INCOMPLETE, 1);
	assert_int_equal(t.table.free_blocks, 64);
	// The rest of it is the beginning of another one.
	assert_int_equal(give(1448, 1448), 0);
	assert_int_equal(give(2896, 1112), 0);
	assert_whole(give(0, 1448));
	assert_int_equal(give(0, 1448), 0);
	fragments_end(&t.table, counts);
	assert_lost(FRAGMENTS_INCOMPLETE, 2);
	assert_int_equal(t.table.free_blocks, 64);
}

static void evicts_the_oldest(void **state)
{
	make(4, 0, 2000);
	for (uint32_t id = 0; id < 9; id++)
		assert_int_equal(give_id(id, 0, 1480), 0);
	assert_lost(FRAGMENTS_EVICTED, 1);
	for (uint32_t id = 1; id < 9; id++)
		assert_whole(give_id(id, 1480, 528));
	assert_lost(FRAGMENTS_EVICTED, 1);
	assert_int_equal(give_id(0, 1480, 528), 0);
}

static void evicts_for_blocks(void **state)
{
	open_table(8, 4);
	make(4, 0, 8000);
	assert_int_equal(give_id(1, 0, 1480), 0);
	assert_int_equal(give_id(2, 0, 1480), 0);
	assert_int_equal(give_id(3, 0, 4440), 0); // three blocks: 1 goes
	assert_lost(FRAGMENTS_EVICTED, 1);
	assert_int_equal(give_id(2, 1480, 1480), 0); // 3 goes
	assert_lost(FRAGMENTS_EVICTED, 2);
	assert_int_equal(give_id(2, 2960, 1480), 0);
	assert_int_equal(give_id(2, 4440, 1480), 0);
	assert_int_equal(t.table.free_blocks, 0);
	assert_int_equal(give_id(2, 5920, 1480), 0); // nobody else is left to go
	assert_lost(FRAGMENTS_EVICTED, 3);
	assert_int_equal(t.table.free_blocks, 4);
}

// Extension headers in front of the fragment header stay, and the last one names UDP then.
static void takes_the_fragment_header_out(void **state)
{
	// Hop by hop, authentication, whose length has another unit, and destination.
	const uint8_t options[40] = {51, 0, 1, 4, [8] = 60, 2, [24] = 44, 1, 1, 12};
	uint8_t data[2048];
	uint8_t expected[4096];
	uint32_t len, n;

	make(16, 1, 2000);
	for (uint32_t at = 0; at < 2008; at += 1400) {
		n = 2008 - at < 1400 ? 2008 - at : 1400;
		len = fragment_make(&t.f, 0xdeadbeef, at, n, data);
		memmove(data + 58 + 40, data + 58, len - 58);
		memcpy(data + 58, options, 40);
		data[18 + 6] = 0;
		bytes_put_be16(data + 18 + 4, (uint16_t)(40 + 8 + n));
		len = take(data, len + 40);
	}
	memcpy(expected, t.whole, 58);
	memcpy(expected + 58, options, 40);
	memcpy(expected + 98, t.whole + 58, 2008);
	expected[18 + 6] = 0;
	expected[58 + 24] = FRAME_PROTOCOL_UDP;
	bytes_put_be16(expected + 18 + 4, 40 + 2008);
	assert_int_equal(len, 98 + 2008);
	assert_memory_equal(t.out, expected, len);
}

static void keeps_options_of_the_first_part(void **state)
{
	uint8_t data[2048];
	struct frame f;
	uint32_t len, n;
	uint16_t check;

	make(4, 0, 2000);
	for (uint32_t at = 0; at < 2008; at += 1400) {
		n = 2008 - at < 1400 ? 2008 - at : 1400;
		len = fragment_make(&t.f, 9, at, n, data);
		if (at == 0) {
			memmove(data + 38, data + 34, n);
			memset(data + 34, 1, 4);
			data[14] = 0x46;
			bytes_put_be16(data + 16, (uint16_t)(24 + n));
			len += 4;
		}
		len = take(data, len);
	}
	assert_int_equal(len, 38 + 2008);
	assert_int_equal(frame_parse(t.out, len, &f), FRAME_UDP);
	assert_true(frame_checksum_ok(&f));
	memcpy(&check, t.out + 24, 2);
	assert_true(check != 0);
	assert_int_equal(f.payload_len, 2000);
	assert_memory_equal(f.payload, t.f.payload, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(gives_back_what_was_cut, fresh, over),
		cmocka_unit_test_setup_teardown(takes_any_order, fresh, over),
		cmocka_unit_test_setup_teardown(keeps_datagrams_apart, fresh, over),
		cmocka_unit_test_setup_teardown(keeps_protocols_apart, fresh, over),
		cmocka_unit_test_setup_teardown(ignores_an_exact_duplicate, fresh, over),
		cmocka_unit_test_setup_teardown(refuses_overlaps, fresh, over),
		cmocka_unit_test_setup_teardown(refuses_a_duplicate_with_other_octets, fresh, over),
		cmocka_unit_test_setup_teardown(refuses_odd_and_empty_parts, fresh, over),
		cmocka_unit_test_setup_teardown(refuses_ends_that_differ, fresh, over),
		cmocka_unit_test_setup_teardown(refuses_packets_over_65535, fresh, over),
		cmocka_unit_test_setup_teardown(takes_the_longest_packet, fresh, over),
		cmocka_unit_test_setup_teardown(refuses_headers_that_make_it_too_long, fresh, over),
		cmocka_unit_test_setup_teardown(gives_up_after_the_timeout, fresh, over),
		cmocka_unit_test_setup_teardown(evicts_the_oldest, fresh, over),
		cmocka_unit_test_setup_teardown(evicts_for_blocks, fresh, over),
		cmocka_unit_test_setup_teardown(takes_the_fragment_header_out, fresh, over),
		cmocka_unit_test_setup_teardown(keeps_options_of_the_first_part, fresh, over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
