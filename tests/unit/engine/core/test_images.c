// SPDX-License-Identifier: BSD-3-Clause
// Images of frames: what a worker sends by copying them is what it sends when the protocol writes
// each message. Path: cold. Test.
#include "rig.h"

#define NUMBERED 4 // messages: of 20, 31, 42 and 53 bytes
#define SENT     12

static struct worker_item *const it = &rig.items[0];
static uint32_t numbered = NUMBERED;

static uint32_t count(const void *shared)
{
	return numbered;
}

static uint32_t message_write(const void *shared, uint32_t number, uint8_t *buf, uint32_t room)
{
	uint32_t len = 20 + 11 * number;

	if (len > room)
		return 0;
	for (uint32_t i = 0; i < len; i++)
		buf[i] = i < 2 ? 0 : (uint8_t)(17 * i + number);
	return len;
}

static void choose(struct proto_ctx *ctx, struct proto_txn *const *t, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		t[i]->user = (uint32_t)(t[i]->seq * 3 % NUMBERED);
}

static uint32_t request_one(struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t room)
{
	uint32_t len;

	choose(ctx, &t, 1);
	len = message_write(NULL, t->user, buf, room);
	bytes_put_be16(buf, (uint16_t)t->key);
	*(uint64_t *)ctx->counters += len;
	return len;
}

static PROTO_REQUEST(request, request_one);

static const struct proto_images of = {count, message_write, choose, 0};
static const struct proto proto = {.images = &of};

static struct frame_path path_of(uint8_t addr_len, uint8_t vlans)
{
	return (struct frame_path){.src_mac = {2, 0, 0, 0, 0, 1},
		.dst_mac = {2, 0, 0, 0, 0, 2},
		.vlans = {100, 200},
		.vlan_count = vlans,
		.dst = addr_len == 4 ? (struct addr){4, {198, 18, 0, 9}}
	                             : (struct addr){16, {0x20, 0x01, 0x0d, 0xb8, [15] = 9}},
		.dst_port = 53};
}

// Makes the item one with a single source address.
static void leave_one_source(uint8_t addr_len)
{
	static const struct addr_range sources[] = {
		{{4, {198, 18, 0, 77}}, 1}, {{16, {0xfd, [15] = 77}}, 1}};
	static uint64_t memory[4096];
	const struct txn_shape shape = {
		.count = RIG_SLOTS, .ports = 2, .clients = 1, .key_bits = 16, .window = RIG_SLOTS};

	it->sources = &sources[addr_len == 16];
	it->source_ranges = 1;
	memset(memory, 0, sizeof(memory));
	assert_true(txn_bytes(&shape) <= sizeof(memory));
	assert_int_equal(txn_init(&it->txns, memory, &shape), 0);
}

// Sends messages in three bursts: of the warm-up, to a next hop with another MAC, and of both parts
// of the run. images: NULL: each is written. bytes: that were counted, of both parts.
static void send_all(
	const struct frame_path *path, bool one, const struct images *images, uint64_t bytes[2])
{
	static struct frame_template frame;

	rig_fresh(NULL);
	if (path->dst.len == 16)
		rig_ipv6();
	rig.proto.request = request;
	rig.proto.images = &of;
	frame_template_build(&frame, path);
	it->frames = &frame;
	it->images = images;
	if (one)
		leave_one_source(path->dst.len);
	*(uint64_t *)it->banks[0] = *(uint64_t *)it->banks[1] = 0;
	rig_pass(4500);
	frame.bytes[5] ^= 1;
	rig_pass(8500);
	rig_pass(11500);
	assert_int_equal(rig.asked, SENT);
	for (int b = 0; b < 2; b++)
		bytes[b] = *(uint64_t *)it->banks[b];
	assert_int_equal(rig_over(NULL), 0);
}

static void copies_are_the_frames_that_would_be_written(void **state)
{
	static struct rig_query written[SENT];

	for (uint8_t i = 0; i < 12; i++) {
		struct frame_path path = path_of(i < 6 ? 4 : 16, i / 2 % 3);
		uint64_t bytes[2], copied[2];
		struct images images;

		assert_true(images_make(&images, &proto, NULL, &path));
		assert_int_equal(images.count, NUMBERED);
		send_all(&path, i % 2, NULL, bytes);
		memcpy(written, rig.queries, sizeof(written));
		send_all(&path, i % 2, &images, copied);
		assert_memory_equal(copied, bytes, sizeof(bytes));
		assert_true(bytes[0] > bytes[1] && bytes[1] > 0);
		for (uint32_t n = 0; n < SENT; n++) {
			const struct rig_query *q = &rig.queries[n];

			assert_int_equal(q->len, written[n].len);
			assert_memory_equal(q->bytes, written[n].bytes, q->len);
			assert_int_equal(q->kind, path.vlan_count ? q->kind : FRAME_UDP);
		}
		images_free(&images);
	}
}

static void an_image_has_room_for_the_longest(void **state)
{
	const struct frame_path path = path_of(4, 0);
	struct images images;

	assert_true(images_make(&images, &proto, NULL, &path));
	assert_int_equal(images.stride, 96); // for 95 bytes
	images_free(&images);
	for (uint32_t len = 42; len < 700; len++) {
		assert_in_range(images_stride(len), len, len + 63);
		assert_int_equal(images_stride(len) % 64, 32);
	}
}

static void none_are_made_of_too_many_or_too_long_messages(void **state)
{
	static const struct proto without = {.name = "without"};
	const struct frame_path path = path_of(4, 0);
	struct images images;

	for (uint32_t i = 0; i < 3; i++) {
		numbered =
			(uint32_t[]){0, 200, IMAGES_MOST / 96 + 1}[i]; // none, of 2209 bytes, many
		assert_true(images_make(&images, &proto, NULL, &path));
		assert_null(images.bytes);
		images_free(&images);
	}
	numbered = NUMBERED;
	assert_true(images_make(&images, &without, NULL, &path));
	assert_null(images.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_are_the_frames_that_would_be_written),
		cmocka_unit_test(an_image_has_room_for_the_longest),
		cmocka_unit_test(none_are_made_of_too_many_or_too_long_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
