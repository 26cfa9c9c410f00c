// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a capture file, read back by the rules of pcapng and not by the writer's; and the
// thread's treatment of packets out of order, repeated, or too many.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/port/capture.h"

#define PACKETS_MAX 64
#define RING        8

struct seen_packet {
	uint32_t interface, len, wire_len, flags;
	uint64_t time;
	const uint8_t *data;
	char comments[CAPTURE_COMMENTS][600];
	uint32_t comment_count;
};

static struct seen {
	uint8_t bytes[65536];
	size_t size;
	uint32_t sections, interfaces, packets;
	char names[4][64];
	int resolution[4];
	struct seen_packet packet[PACKETS_MAX];
} seen;

static char path[64];

static int make_path(void **state)
{
	strcpy(path, "/tmp/ddiperf-capture-XXXXXX");
	close(mkstemp(path));
	return 0;
}

static int remove_path(void **state)
{
	return unlink(path);
}

static uint16_t u16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, 2);
	return v;
}

static uint32_t u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

// Options fill the rest of a block: code, length, value padded to 32 bits, and an end.
static void read_options(const uint8_t *at, const uint8_t *end,
	void (*option)(uint16_t code, const uint8_t *value, uint16_t len))
{
	while (at < end) {
		uint16_t code = u16(at), len = u16(at + 2);

		if (code == 0) {
			assert_int_equal(len, 0);
			assert_ptr_equal(at + 4, end);
			return;
		}
		assert_true(at + 4 + len <= end);
		option(code, at + 4, len);
		at += 4 + (len + 3) / 4 * 4;
	}
	fail_msg("options without an end");
}

static void section_option(uint16_t code, const uint8_t *value, uint16_t len)
{
	assert_int_equal(code, 4);
	assert_memory_equal(value, "ddiperf", len);
}

static void interface_option(uint16_t code, const uint8_t *value, uint16_t len)
{
	if (code == 2)
		memcpy(seen.names[seen.interfaces], value, len);
	if (code == 9)
		seen.resolution[seen.interfaces] = *value;
}

static void packet_option(uint16_t code, const uint8_t *value, uint16_t len)
{
	struct seen_packet *p = &seen.packet[seen.packets];

	if (code == 1)
		memcpy(p->comments[p->comment_count++], value, len);
	if (code == 2)
		p->flags = u32(value);
}

static void read_packet(const uint8_t *body, const uint8_t *end)
{
	struct seen_packet *p = &seen.packet[seen.packets];

	assert_true(seen.packets < PACKETS_MAX);
	p->interface = u32(body);
	p->time = (uint64_t)u32(body + 4) << 32 | u32(body + 8);
	p->len = u32(body + 12);
	p->wire_len = u32(body + 16);
	p->data = body + 20;
	assert_true(p->interface < seen.interfaces);
	read_options(p->data + (p->len + 3) / 4 * 4, end, packet_option);
	seen.packets++;
}

static void read_block(uint32_t type, const uint8_t *body, const uint8_t *end)
{
	switch (type) {
	case 0x0a0d0d0a:
		assert_int_equal(u32(body), 0x1a2b3c4d);
		assert_int_equal(u16(body + 4), 1);
		assert_int_equal(u16(body + 6), 0);
		read_options(body + 16, end, section_option);
		seen.sections++;
		return;
	case 1:
		assert_int_equal(u16(body), 1);
		read_options(body + 8, end, interface_option);
		seen.interfaces++;
		return;
	case 6:
		read_packet(body, end);
		return;
	default:
		fail_msg("block type %u", type);
	}
}

static void read_file(void)
{
	FILE *f = fopen(path, "r");
	size_t at = 0;

	memset(&seen, 0, sizeof(seen));
	seen.size = fread(seen.bytes, 1, sizeof(seen.bytes), f);
	fclose(f);
	while (at < seen.size) {
		const uint8_t *b = seen.bytes + at;
		uint32_t len = u32(b + 4);

		assert_int_equal(len % 4, 0);
		assert_true(len >= 12 && at + len <= seen.size);
		assert_int_equal(u32(b + len - 4), len);
		read_block(u32(b), b + 8, b + len - 4);
		at += len;
	}
	assert_int_equal(seen.sections, 1);
}

static const char *const names[] = {"lan", "a much longer name"};

static void a_file_says_its_ports_and_resolution(void **state)
{
	struct capture_file *f = capture_file_open(path, names, 2);

	assert_non_null(f);
	assert_int_equal(capture_file_close(f), 0);
	read_file();
	assert_int_equal(seen.interfaces, 2);
	assert_string_equal(seen.names[0], "lan");
	assert_string_equal(seen.names[1], "a much longer name");
	assert_int_equal(seen.resolution[0], 9);
	assert_int_equal(seen.resolution[1], 9);
	assert_int_equal(seen.packets, 0);
}

static void packets_of_any_length_keep_bytes_time_direction_and_comments(void **state)
{
	struct capture_file *f = capture_file_open(path, names, 2);
	uint8_t data[8];

	for (uint32_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(0xf0 + i);
	for (uint32_t len = 0; len <= sizeof(data); len++) {
		struct capture_packet p = {.time = 0x1122334455667788 + len,
			.interface = len % 2,
			.outbound = len % 2,
			.len = len,
			.wire_len = len + 100,
			.data = data,
			.comments = {len ? "why" : NULL, len > 4 ? "and also" : NULL}};

		capture_file_write(f, &p);
	}
	assert_int_equal(capture_file_close(f), 0);
	read_file();
	assert_int_equal(seen.packets, sizeof(data) + 1);
	for (uint32_t len = 0; len < seen.packets; len++) {
		const struct seen_packet *p = &seen.packet[len];

		assert_int_equal(p->time, 0x1122334455667788 + len);
		assert_int_equal(p->interface, len % 2);
		assert_int_equal(p->flags, len % 2 ? 2 : 1);
		assert_int_equal(p->len, len);
		assert_int_equal(p->wire_len, len + 100);
		assert_memory_equal(p->data, data, len);
		assert_int_equal(p->comment_count, (len > 0) + (len > 4));
		if (len)
			assert_string_equal(p->comments[0], "why");
		if (len > 4)
			assert_string_equal(p->comments[1], "and also");
	}
}

static void what_is_too_long_is_cut_and_said_to_be(void **state)
{
	static uint8_t data[CAPTURE_BYTES + 500];
	static char text[5000];
	struct capture_file *f;
	struct capture_packet p = {.len = sizeof(data),
		.wire_len = sizeof(data),
		.data = data,
		.comments = {text, text, text, text}};

	memset(text, 'x', sizeof(text) - 1);
	f = capture_file_open(path, names, 1);
	capture_file_write(f, &p);
	assert_int_equal(capture_file_close(f), 0);
	read_file();
	assert_int_equal(seen.packet[0].len, CAPTURE_BYTES);
	assert_int_equal(seen.packet[0].wire_len, sizeof(data));
	assert_int_equal(seen.packet[0].comment_count, CAPTURE_COMMENTS);
}

static void a_full_disk_is_told_at_the_end(void **state)
{
	struct capture_file *f = capture_file_open("/dev/full", names, 1);

	assert_non_null(f);
	assert_int_equal(capture_file_close(f), -ENOSPC);
	assert_null(capture_file_open("/nonexistent/x", names, 1));
	assert_int_equal(errno, ENOENT);
}

static uint64_t wall_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// --- rings and the thread ---

static struct capture_slot slots[RING];
static struct capture_ring ring;

static void ring_clear(void)
{
	memset(&ring, 0, sizeof(ring));
	ring.slots = slots;
	ring.count = RING;
}

static bool put(uint64_t time, uint64_t id, const char *comment)
{
	struct capture_slot *s;

	if (capture_room(&ring) == 0)
		return false;
	s = capture_at(&ring);
	s->packet = (struct capture_packet){.time = time,
		.id = id,
		.len = (uint32_t)strlen(comment),
		.wire_len = (uint32_t)strlen(comment),
		.comments = {comment}};
	memcpy(s->bytes, comment, strlen(comment));
	capture_commit(&ring);
	return true;
}

static struct capture *begin(uint64_t reach_ns)
{
	struct capture_source s = {.path = path,
		.interfaces = names,
		.interface_count = 1,
		.rings = &ring,
		.ring_count = 1,
		.clock = {.hz = 1e9},
		.reach_ns = reach_ns};
	struct capture *c = capture_start(&s);

	assert_non_null(c);
	return c;
}

static void a_full_ring_has_no_room_and_waits_for_nobody(void **state)
{
	ring_clear();
	for (int i = 0; i < RING; i++)
		assert_true(put(1, 0, "x"));
	assert_false(put(1, 0, "x"));
	assert_int_equal(capture_room(&ring), 0);
}

static void packets_come_in_order_of_time_whenever_they_were_known(void **state)
{
	uint64_t now, packets;
	struct capture *c;

	ring_clear();
	c = begin(1000000000000);
	now = clock_now();
	put(now + 300, 0, "third");
	put(now + 100, 7, "first");
	put(now + 400, 0, "fourth");
	put(now + 100, 9, "second, of the same burst");
	put(now + 300, 0, "third, of the same time");
	assert_int_equal(capture_stop(c, &packets), 0);
	assert_int_equal(packets, 5);
	read_file();
	assert_int_equal(seen.packets, 5);
	assert_string_equal(seen.packet[0].comments[0], "first");
	assert_string_equal(seen.packet[1].comments[0], "second, of the same burst");
	assert_string_equal(seen.packet[2].comments[0], "third");
	assert_string_equal(seen.packet[3].comments[0], "third, of the same time");
	assert_string_equal(seen.packet[4].comments[0], "fourth");
	assert_memory_equal(seen.packet[4].data, "fourth", 6);
}

// More than are held at first, in an order that has nothing to do with time.
static void any_number_is_put_in_order(void **state)
{
	static struct capture_slot many[1024];
	static char numbers[1000][8];
	uint64_t now = clock_now(), packets, last = 0;
	struct capture *c;
	FILE *f;

	ring_clear();
	ring.slots = many;
	ring.count = 1024;
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(numbers[i], sizeof(numbers[i]), "%u", i * 7919 % 1000);
		put(now + 1000 * (i * 7919 % 1000), 0, numbers[i]);
	}
	c = begin(1000000000000);
	assert_int_equal(capture_stop(c, &packets), 0);
	assert_int_equal(packets, 1000);
	f = fopen(path, "r");
	packets = 0;
	for (uint32_t head[2]; fread(head, sizeof(head), 1, f) == 1;) {
		uint32_t body[64] = {0};
		uint64_t time;

		assert_in_range(head[1], 12, sizeof(body));
		assert_int_equal(fread(body, head[1] - sizeof(head), 1, f), 1);
		if (head[0] != 6)
			continue;
		time = (uint64_t)body[1] << 32 | body[2];
		assert_true(time > last);
		assert_int_equal(atoi((const char *)&body[5]), packets++);
		last = time;
	}
	assert_int_equal(packets, 1000);
	fclose(f);
}

static void a_tick_before_the_start_is_before_it_in_the_file(void **state)
{
	uint64_t before = wall_now(), packets;
	struct capture *c;

	ring_clear();
	c = begin(0);
	put(clock_now() - 5000000000, 0, "five seconds of a clock of 1 GHz ago");
	assert_int_equal(capture_stop(c, &packets), 0);
	read_file();
	assert_in_range(seen.packet[0].time, before - 5000000000, before);
}

static void reasons_are_as_many_as_a_packet_has_room_for(void **state)
{
	uint64_t now = clock_now(), packets;
	struct capture *c;

	ring_clear();
	for (int i = 0; i < CAPTURE_COMMENTS + 2; i++)
		put(now, 5, i == 1 ? "second" : "x");
	c = begin(1000000000000);
	assert_int_equal(capture_stop(c, &packets), 0);
	assert_int_equal(packets, 1);
	read_file();
	assert_int_equal(seen.packet[0].comment_count, CAPTURE_COMMENTS);
	assert_string_equal(seen.packet[0].comments[1], "second");
}

// Neither without an id, nor at another time or interface.
static void other_packets_stay_apart(void **state)
{
	static const struct {
		uint64_t id[2], later;
		uint16_t interface;
		uint32_t count;
	} cases[] = {{{5, 5}, 0, 0, 1}, {{0, 0}, 0, 0, 2}, {{5, 6}, 0, 0, 2}, {{5, 5}, 1, 0, 2},
		{{5, 5}, 0, 1, 2}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t now = clock_now(), packets;
		struct capture_source s = {.path = path,
			.interfaces = names,
			.interface_count = 2,
			.rings = &ring,
			.ring_count = 1,
			.clock = {.hz = 1e9},
			.reach_ns = 1000000000000};

		ring_clear();
		put(now, cases[i].id[0], "one");
		put(now + cases[i].later, cases[i].id[1], "two");
		slots[1].packet.interface = cases[i].interface;
		assert_int_equal(capture_stop(capture_start(&s), &packets), 0);
		assert_int_equal(packets, cases[i].count);
	}
}

static void a_capture_that_cannot_be_written_is_told(void **state)
{
	struct capture_source s = {.path = "/nonexistent/x", .clock = {.hz = 1e9}};
	uint64_t packets;

	assert_null(capture_start(&s));
	assert_int_equal(errno, ENOENT);
	ring_clear();
	s.path = "/dev/full";
	s.rings = &ring;
	s.ring_count = 1;
	put(clock_now(), 0, "x");
	assert_int_equal(capture_stop(capture_start(&s), &packets), -ENOSPC);
}

static void one_packet_with_two_reasons_is_one_packet(void **state)
{
	uint64_t now, packets;
	struct capture *c;

	ring_clear();
	c = begin(1000000000000);
	now = clock_now();
	put(now, 5, "malformed");
	put(now, 6, "another one");
	put(now, 5, "lost");
	assert_int_equal(capture_stop(c, &packets), 0);
	assert_int_equal(packets, 2);
	read_file();
	assert_int_equal(seen.packets, 2);
	assert_int_equal(seen.packet[0].comment_count, 2);
	assert_string_equal(seen.packet[0].comments[0], "malformed");
	assert_string_equal(seen.packet[0].comments[1], "lost");
}

static void ticks_become_the_time_of_day(void **state)
{
	uint64_t before = wall_now(), packets;
	struct capture *c;

	ring_clear();
	c = begin(0);
	put(clock_now() + 2000000000, 0, "in two seconds of a clock of 1 GHz");
	assert_int_equal(capture_stop(c, &packets), 0);
	read_file();
	// The counter does not run at 1 GHz, so only the time since the start is off.
	assert_in_range(seen.packet[0].time, before + 2000000000, before + 3000000000);
}

static void what_is_old_enough_is_in_the_file_before_the_end(void **state)
{
	struct stat before, after;
	struct capture *c;
	uint64_t packets;

	ring_clear();
	stat(path, &before);
	c = begin(0);
	put(clock_now(), 0, "now");
	for (int i = 0; i < 100; i++) {
		usleep(5000);
		stat(path, &after);
		if (after.st_size > 0)
			break;
	}
	assert_true(after.st_size > 0);
	assert_int_equal(capture_room(&ring), RING);
	assert_int_equal(capture_stop(c, &packets), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_says_its_ports_and_resolution),
		cmocka_unit_test(packets_of_any_length_keep_bytes_time_direction_and_comments),
		cmocka_unit_test(what_is_too_long_is_cut_and_said_to_be),
		cmocka_unit_test(a_full_disk_is_told_at_the_end),
		cmocka_unit_test(a_full_ring_has_no_room_and_waits_for_nobody),
		cmocka_unit_test(packets_come_in_order_of_time_whenever_they_were_known),
		cmocka_unit_test(any_number_is_put_in_order),
		cmocka_unit_test(a_tick_before_the_start_is_before_it_in_the_file),
		cmocka_unit_test(reasons_are_as_many_as_a_packet_has_room_for),
		cmocka_unit_test(other_packets_stay_apart),
		cmocka_unit_test(a_capture_that_cannot_be_written_is_told),
		cmocka_unit_test(one_packet_with_two_reasons_is_one_packet),
		cmocka_unit_test(ticks_become_the_time_of_day),
		cmocka_unit_test(what_is_old_enough_is_in_the_file_before_the_end),
	};

	return cmocka_run_group_tests_name("io capture", tests, make_path, remove_path);
}
