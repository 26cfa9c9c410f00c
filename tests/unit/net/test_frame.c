// SPDX-License-Identifier: BSD-3-Clause
// Frames: parsed from captures, whole, cut and with wrong lengths; stamped and checked by a plain
// implementation.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "samples.h"

#define V4_A "\xc6\x12\x00\x01"
#define V4_B "\xc6\x12\x00\x02"
#define V6_A "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01"
#define V6_B "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02"

#define ETH 14

static enum frame_kind kind_of(const struct bytes *b)
{
	struct frame f;

	return frame_parse(b->data, b->len, &f);
}

static void set16(struct bytes *b, uint32_t at, unsigned v)
{
	assert_true(at + 2 <= b->len);
	put_be16(b->data + at, v);
}

// Put len bytes in at an offset.
static void insert(struct bytes *b, uint32_t at, const void *bytes, uint32_t len)
{
	b->data = realloc(b->data, b->len + len);
	assert_non_null(b->data);
	memmove(b->data + at + len, b->data + at, b->len - at);
	memcpy(b->data + at, bytes, len);
	b->len += len;
}

static void tells_captured_frames_apart(void **state)
{
	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		struct bytes b = sample_load(samples[i].name);

		if (kind_of(&b) != samples[i].kind)
			fail_msg("%s is parsed as kind %d", samples[i].name, kind_of(&b));
		free(b.data);
	}
}

static void calls_every_cut_frame_bad(void **state)
{
	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		struct bytes whole = sample_load(samples[i].name);

		for (uint32_t len = 0; len < whole.len; len++) {
			struct bytes cut = bytes_copy(whole.data, len);

			if (kind_of(&cut) != FRAME_BAD)
				fail_msg("%s cut to %u is kind %d", samples[i].name, len,
					kind_of(&cut));
			free(cut.data);
		}
		free(whole.data);
	}
}

// The DNS query that all UDP samples carry, between the same addresses and ports.
static void assert_query(const char *name)
{
	struct bytes b = sample_load(name);
	struct frame f;

	assert_int_equal(frame_parse(b.data, b.len, &f), FRAME_UDP);
	assert_ptr_equal(f.eth, b.data);
	assert_memory_equal(f.src, f.addr_len == 4 ? V4_A : V6_A, f.addr_len);
	assert_memory_equal(f.dst, f.addr_len == 4 ? V4_B : V6_B, f.addr_len);
	assert_int_equal(f.ip[0] >> 4, f.addr_len == 4 ? 4 : 6);
	assert_int_equal(f.src_port, 40000);
	assert_int_equal(f.dst_port, 53);
	assert_int_equal(f.payload_len, 33);
	assert_ptr_equal(f.payload + f.payload_len, b.data + b.len);
	assert_ptr_equal(f.l4 + 8, f.payload);
	assert_int_equal(get_be16(f.payload), 0x1234);
	assert_true(frame_checksum_ok(&f));
	free(b.data);
}

static void shows_addresses_ports_and_payload(void **state)
{
	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		if (samples[i].kind == FRAME_UDP)
			assert_query(samples[i].name);
	}
}

static void shows_hop_limits(void **state)
{
	struct bytes v4 = sample_load("udp4"), nd = sample_load("ns");
	struct frame f;

	frame_parse(v4.data, v4.len, &f);
	assert_int_equal(f.hop_limit, 64);
	frame_parse(nd.data, nd.len, &f);
	assert_int_equal(f.hop_limit, 255);
	free(v4.data);
	free(nd.data);
}

static void assert_vlans(const struct bytes *b, unsigned count, unsigned outer, unsigned inner)
{
	struct frame f;

	assert_int_equal(frame_parse(b->data, b->len, &f), FRAME_UDP);
	assert_int_equal(f.vlan_count, count);
	assert_int_equal(f.vlans[0], outer);
	assert_int_equal(f.vlans[1], inner);
}

static void shows_vlans_outermost_first_without_priority(void **state)
{
	struct bytes none = sample_load("udp6"), one = sample_load("udp6-vlan"),
		     two = sample_load("udp4-qinq");

	assert_vlans(&none, 0, 0, 0);
	assert_vlans(&one, 1, 100, 0);
	assert_vlans(&two, 2, 200, 300);
	set16(&one, 12, 0x9100);
	assert_vlans(&one, 1, 100, 0);
	set16(&two, 14, 0x60c8);
	assert_vlans(&two, 2, 200, 300);
	free(none.data);
	free(one.data);
	free(two.data);
}

static void takes_a_priority_tag_for_no_vlan(void **state)
{
	struct bytes b = sample_load("udp4-qinq");

	set16(&b, 14, 0xe000);
	assert_vlans(&b, 1, 300, 0);
	set16(&b, 18, 0);
	assert_vlans(&b, 0, 0, 0);
	free(b.data);
}

static void leaves_three_vlan_tags_alone(void **state)
{
	struct bytes b = sample_load("udp4-qinq");

	insert(&b, 12, "\x81\x00\x00\x01", 4);
	assert_int_equal(kind_of(&b), FRAME_OTHER);
	free(b.data);
}

static void leaves_other_ethertypes_alone(void **state)
{
	struct bytes b = sample_load("udp4");

	set16(&b, 12, 0x88cc); // LLDP
	assert_int_equal(kind_of(&b), FRAME_OTHER);
	set16(&b, 12, 61); // an IEEE 802.3 length
	assert_int_equal(kind_of(&b), FRAME_OTHER);
	free(b.data);
}

static void takes_lengths_from_the_headers_not_the_padding(void **state)
{
	static const char *const names[] = {
		"udp4", "udp6", "udp4-options", "arp-request", "echo4", "ns"};
	static const uint8_t padding[18] = {[0 ... 17] = 0xee};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct bytes b = sample_load(names[i]);
		uint32_t len = b.len;
		struct frame f;

		insert(&b, b.len, padding, sizeof(padding));
		assert_int_not_equal(frame_parse(b.data, b.len, &f), FRAME_BAD);
		assert_ptr_equal(f.payload + f.payload_len, b.data + len);
		free(b.data);
	}
}

static void lets_udp_be_shorter_than_its_packet(void **state)
{
	struct bytes b = sample_load("udp4");
	struct frame f;

	set16(&b, ETH + 24, 8 + 12);
	assert_int_equal(frame_parse(b.data, b.len, &f), FRAME_UDP);
	assert_int_equal(f.payload_len, 12);
	set16(&b, ETH + 24, 8);
	assert_int_equal(frame_parse(b.data, b.len, &f), FRAME_UDP);
	assert_int_equal(f.payload_len, 0);
	free(b.data);
}

// One sample with one 16-bit field overwritten.
static enum frame_kind kind_with(const char *name, uint32_t at, unsigned v)
{
	struct bytes b = sample_load(name);
	enum frame_kind kind;

	set16(&b, at, v);
	kind = kind_of(&b);
	free(b.data);
	return kind;
}

static void calls_lying_lengths_bad(void **state)
{
	assert_int_equal(kind_with("udp4", ETH, 0x6500), FRAME_BAD); // version
	assert_int_equal(kind_with("udp4", ETH, 0x4400), FRAME_BAD); // header of 16
	assert_int_equal(kind_with("udp4", ETH, 0x4000), FRAME_BAD); // header of none
	assert_int_equal(kind_with("udp4", ETH + 2, 62), FRAME_BAD); // more than there is
	assert_int_equal(kind_with("udp4", ETH + 2, 0), FRAME_BAD);  // as large offloads leave it
	assert_int_equal(kind_with("udp4", ETH + 2, 19), FRAME_BAD); // less than the header
	assert_int_equal(
		kind_with("udp4-options", ETH + 2, 23), FRAME_BAD);  // less than its options
	assert_int_equal(kind_with("udp4", ETH + 2, 27), FRAME_BAD); // no room for UDP
	assert_int_equal(kind_with("udp4", ETH + 24, 7), FRAME_BAD); // less than the UDP header
	assert_int_equal(kind_with("udp4", ETH + 24, 0), FRAME_BAD);
	assert_int_equal(kind_with("udp4", ETH + 24, 42), FRAME_BAD); // more than the packet
	assert_int_equal(kind_with("udp6", ETH, 0x4000), FRAME_BAD);
	assert_int_equal(kind_with("udp6", ETH + 4, 42), FRAME_BAD);
	assert_int_equal(kind_with("udp6", ETH + 4, 7), FRAME_BAD);
	assert_int_equal(kind_with("udp6", ETH + 44, 0), FRAME_BAD); // a jumbogram
	assert_int_equal(kind_with("udp6-extensions", ETH + 4, 15), FRAME_BAD);
	assert_int_equal(kind_with("udp6-extensions", ETH + 40, 0x2cff), FRAME_BAD); // 2048 octets
	assert_int_equal(kind_with("echo4", ETH + 2, 27), FRAME_BAD);
	assert_int_equal(kind_with("echo6", ETH + 4, 7), FRAME_BAD);
}

static void passes_over_ipv4_options_only_within_the_packet(void **state)
{
	struct bytes b = sample_load("udp4");

	b.data[ETH] = 0x4f; // 60 octets of header in a packet of 61
	assert_int_equal(kind_of(&b), FRAME_BAD);
	b.data[ETH + 9] = 47; // GRE
	assert_int_equal(kind_of(&b), FRAME_OTHER);
	free(b.data);
}

static void sorts_fragments_out(void **state)
{
	assert_int_equal(kind_with("udp4", ETH + 6, 0x4000), FRAME_UDP); // don't fragment
	assert_int_equal(kind_with("udp4", ETH + 6, 0x2000), FRAME_FRAGMENT);
	assert_int_equal(kind_with("udp4", ETH + 6, 0x0001), FRAME_FRAGMENT);
	assert_int_equal(kind_with("udp4", ETH + 6, 0x1000), FRAME_FRAGMENT);
	assert_int_equal(kind_with("udp6-extensions", ETH + 50, 0x0001), FRAME_FRAGMENT);
	assert_int_equal(kind_with("udp6-extensions", ETH + 50, 0x0008), FRAME_FRAGMENT);
	assert_int_equal(kind_with("udp6-extensions", ETH + 50, 0x8000), FRAME_FRAGMENT);
	assert_int_equal(
		kind_with("udp6-extensions", ETH + 50, 0x0006), FRAME_UDP); // reserved bits
}

// A UDP packet over IPv6 behind `count` extension headers of 8 octets.
static struct bytes with_extensions(const uint8_t ext[8], unsigned count)
{
	struct bytes b = sample_load("udp6");

	for (unsigned i = 0; i < count; i++) {
		insert(&b, ETH + 40, ext, 8);
		b.data[ETH + 40] = i ? ext[0] : 17;
	}
	if (count)
		b.data[ETH + 6] = ext[0];
	set16(&b, ETH + 4, b.len - ETH - 40);
	return b;
}

static void passes_over_eight_extension_headers_and_no_more(void **state)
{
	static const uint8_t destination[8] = {60, 0, 1, 4};

	for (unsigned count = 0; count <= 10; count++) {
		struct bytes b = with_extensions(destination, count);

		assert_int_equal(kind_of(&b), count <= 8 ? FRAME_UDP : FRAME_OTHER);
		free(b.data);
	}
}

static void leaves_packets_on_their_way_elsewhere_alone(void **state)
{
	static const uint8_t routing[8] = {43, 0, 4, 0};
	struct bytes b = with_extensions(routing, 1);

	assert_int_equal(kind_of(&b), FRAME_UDP);
	b.data[ETH + 40 + 3] = 1; // segments left
	assert_int_equal(kind_of(&b), FRAME_OTHER);
	free(b.data);
}

static void passes_over_an_authentication_header(void **state)
{
	static const uint8_t first[8] = {51, 4}; // in units of 4, less 2: 24 octets
	static const uint8_t rest[16];
	struct bytes b = with_extensions(first, 1);

	insert(&b, ETH + 48, rest, sizeof(rest));
	set16(&b, ETH + 4, b.len - ETH - 40);
	assert_int_equal(kind_of(&b), FRAME_UDP);
	b.data[ETH + 6] = 60; // the same length in units of 8, less 1, is 40 octets
	assert_int_not_equal(kind_of(&b), FRAME_UDP);
	free(b.data);
}

static void counts_icmp_errors_and_nothing_else_as_errors(void **state)
{
	for (unsigned type = 0; type < 256; type++) {
		enum frame_kind v4 = FRAME_OTHER, v6 = type < 128 ? FRAME_ICMP_ERROR : FRAME_OTHER;

		if (type == 8)
			v4 = FRAME_ECHO;
		if ((type >= 3 && type <= 5) || type == 11 || type == 12)
			v4 = FRAME_ICMP_ERROR;
		if (type == 128)
			v6 = FRAME_ECHO;
		if (type >= 133 && type <= 136)
			v6 = FRAME_ND;
		assert_int_equal(kind_with("unreachable4", ETH + 20, type << 8), v4);
		assert_int_equal(kind_with("unreachable6", ETH + 40, type << 8), v6);
	}
}

static void shows_type_and_code_of_icmp(void **state)
{
	struct bytes v4 = sample_load("unreachable4"), v6 = sample_load("unreachable6");
	struct frame f;

	frame_parse(v4.data, v4.len, &f);
	assert_int_equal(f.icmp_type, 3);
	assert_int_equal(f.icmp_code, 3);
	assert_ptr_equal(f.payload, v4.data + ETH + 20);
	frame_parse(v6.data, v6.len, &f);
	assert_int_equal(f.icmp_type, 1);
	assert_int_equal(f.icmp_code, 4);
	assert_ptr_equal(f.payload, v6.data + ETH + 40);
	free(v4.data);
	free(v6.data);
}

static void takes_icmp_that_is_a_header_alone(void **state)
{
	assert_int_equal(kind_with("unreachable4", ETH + 2, 20 + 8), FRAME_ICMP_ERROR);
	assert_int_equal(kind_with("unreachable4", ETH + 2, 20 + 7), FRAME_BAD);
	assert_int_equal(kind_with("unreachable6", ETH + 4, 8), FRAME_ICMP_ERROR);
	assert_int_equal(kind_with("unreachable6", ETH + 4, 7), FRAME_BAD);
}

static void leaves_icmp_of_the_other_family_alone(void **state)
{
	assert_int_equal(kind_with("echo4", ETH + 8, 64 << 8 | 58), FRAME_OTHER);
	assert_int_equal(kind_with("echo6", ETH + 6, 1 << 8 | 64), FRAME_OTHER);
}

static void finds_every_flipped_bit_that_a_checksum_covers(void **state)
{
	static const char *const names[] = {"udp4", "udp6"};

	for (size_t i = 0; i < 2; i++) {
		struct bytes b = sample_load(names[i]);
		uint32_t first =
			ETH + (i ? 8 : 0); // IPv6 does not cover the fields before the addresses
		struct frame f;

		for (uint32_t bit = first * 8; bit < b.len * 8; bit++) {
			b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			if (frame_parse(b.data, b.len, &f) == FRAME_UDP && frame_checksum_ok(&f))
				fail_msg("bit %u of %s", bit, names[i]);
			b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		free(b.data);
	}
}

static void assert_same_view(const struct frame *a, const struct frame *b)
{
	assert_ptr_equal(a->eth, b->eth);
	assert_ptr_equal(a->ip, b->ip);
	assert_ptr_equal(a->src, b->src);
	assert_ptr_equal(a->dst, b->dst);
	assert_ptr_equal(a->l4, b->l4);
	assert_ptr_equal(a->payload, b->payload);
	assert_int_equal(a->payload_len, b->payload_len);
	assert_int_equal(a->src_port, b->src_port);
	assert_int_equal(a->dst_port, b->dst_port);
	assert_int_equal(a->vlan_count, b->vlan_count);
	assert_int_equal(a->addr_len, b->addr_len);
	assert_int_equal(a->hop_limit, b->hop_limit);
	assert_int_equal(a->icmp_type, b->icmp_type);
	assert_int_equal(a->icmp_code, b->icmp_code);
}

// The checksums too.
static void assert_same_plain(
	const struct bytes *b, const struct frame *plain, const struct frame *f)
{
	uint32_t len = frame_plain_len(b->data, b->len, f->addr_len);

	assert_same_view(plain, f);
	assert_int_equal(len, 8 + f->payload_len);
	assert_int_equal(frame_plain_checksum_ok(b->data, len, f->addr_len), frame_checksum_ok(f));
}

// Whether it is taken, too: all that need not go the long way.
static void takes_the_short_way_to_the_same_view(void **state)
{
	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		struct bytes b = sample_load(samples[i].name);
		uint32_t bits = (b.len < 70 ? b.len : 70) * 8;
		struct frame f, plain;

		for (uint32_t bit = 0; bit <= bits; bit++) {
			bool udp, due;

			if (bit < bits)
				b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			udp = frame_parse(b.data, b.len, &f) == FRAME_UDP;
			due = udp && f.ip == b.data + ETH &&
			      f.l4 == f.ip + (f.addr_len == 4 ? 20 : 40);
			assert_int_equal(frame_parse_plain(b.data, b.len, &plain), due);
			if (due)
				assert_same_plain(&b, &plain, &f);
			if (bit < bits)
				b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		free(b.data);
	}
}

// Whether frames have the headers of a mask is what their view says, with each bit of them turned.
static void a_mask_has_the_plain_frames_of_a_peer(void **state)
{
	for (size_t i = 0; i < SAMPLE_COUNT; i++) {
		struct bytes b = sample_load(samples[i].name);
		uint32_t bits = (b.len < 62 ? b.len : 62) * 8, had = 0;
		struct frame whole, f;

		if (!frame_parse_plain(b.data, b.len, &whole)) {
			free(b.data);
			continue;
		}
		for (uint32_t with = 0; with < 8; with++) {
			struct bytes copy = bytes_copy(b.data, b.len);
			uint32_t words = with ? frame_mask_words(whole.addr_len) : FRAME_MASK_PLAIN;
			struct frame_mask mask;

			frame_parse_plain(b.data, b.len, &whole);
			frame_mask_make(&mask, whole.addr_len, with & 1 ? whole.src : NULL,
				with & 2 ? whole.src_port : 0, with & 4 ? whole.dst : NULL);
			for (uint32_t bit = 0; bit <= bits; bit++) {
				bool due;

				if (bit < bits)
					copy.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
				due = frame_parse_plain(copy.data, copy.len, &f) &&
				      f.addr_len == whole.addr_len &&
				      (!(with & 1) || memcmp(f.src, whole.src, f.addr_len) == 0) &&
				      (!(with & 2) || f.src_port == whole.src_port) &&
				      (!(with & 4) || memcmp(f.dst, whole.dst, f.addr_len) == 0);
				assert_int_equal(frame_has(&mask, copy.data, words) &&
							 frame_plain_udp_len(copy.data, copy.len,
								 whole.addr_len),
					due);
				had += due;
				if (bit < bits)
					copy.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			}
			free(copy.data);
		}
		assert_in_range(had, 9, 8 * bits);
		free(b.data);
	}
}

static void takes_no_short_way_through_a_cut_frame(void **state)
{
	static const char *const names[] = {"udp4", "udp6"};
	struct frame f;

	for (size_t i = 0; i < 2; i++) {
		struct bytes whole = sample_load(names[i]);

		for (uint32_t len = 0; len < whole.len; len++) {
			struct bytes cut = bytes_copy(whole.data, len);

			assert_false(frame_parse_plain(cut.data, cut.len, &f));
			free(cut.data);
		}
		free(whole.data);
	}
}

static void takes_a_zero_udp_checksum_over_ipv4_only(void **state)
{
	struct bytes v4 = sample_load("udp4"), v6 = sample_load("udp6");
	struct frame f;

	set16(&v4, ETH + 26, 0);
	frame_parse(v4.data, v4.len, &f);
	assert_true(frame_checksum_ok(&f));
	assert_same_plain(&v4, &f, &f);
	set16(&v4, ETH + 10, 0x1111);
	assert_false(frame_checksum_ok(&f));
	assert_same_plain(&v4, &f, &f);
	set16(&v6, ETH + 46, 0);
	frame_parse(v6.data, v6.len, &f);
	assert_false(frame_checksum_ok(&f));
	assert_same_plain(&v6, &f, &f);
	free(v4.data);
	free(v6.data);
}

static struct frame_path path_of(uint8_t addr_len, uint8_t vlan_count)
{
	struct frame_path path = {.src_mac = {2, 0, 0, 0, 0, 1},
		.dst_mac = {2, 0, 0, 0, 0, 2},
		.vlans = {200, 300},
		.vlan_count = vlan_count,
		.dst.len = addr_len,
		.dst_port = 53};

	if (vlan_count == 1)
		path.vlans[0] = 100;
	memcpy(path.dst.bytes, addr_len == 4 ? V4_B : V6_B, addr_len);
	return path;
}

static const uint8_t *source_of(uint8_t addr_len)
{
	return (const uint8_t *)(addr_len == 4 ? V4_A : V6_A);
}

// The captured query as Linux sent it, but for the IPv4 identification and IPv6 flow label, which
// are zero.
static struct bytes expected_query(uint8_t addr_len, uint8_t vlan_count)
{
	static const char *const names[2][3] = {
		{"udp4", "udp4-vlan", "udp4-qinq"}, {"udp6", "udp6-vlan", "udp6-qinq"}};
	struct bytes b = sample_load(names[addr_len == 16][vlan_count]);
	uint8_t *ip = b.data + ETH + 4 * vlan_count;

	if (vlan_count == 1)
		put_be16(b.data + 14, 100); // without the sample's priority
	if (addr_len == 4) {
		put_be16(ip + 4, 0);
		put_be16(ip + 10, 0);
		put_be16(ip + 10, (uint16_t)~plain_sum(0, ip, 20));
	} else {
		memset(ip + 1, 0, 3);
	}
	return b;
}

// One for nobody, aimed at the destination of the path, makes the same frames.
static void assert_template_aims(const struct frame_template *want, struct frame_path path)
{
	uint8_t mac[6], ours[100] = {7, 8, 9}, theirs[100] = {7, 8, 9};
	const struct frame_payload three = {.len = 3};
	struct addr dst = path.dst;
	uint16_t port = path.dst_port;
	struct frame_template t;

	memcpy(mac, path.dst_mac, sizeof(mac));
	memset(path.dst_mac, 0, sizeof(path.dst_mac));
	memset(path.dst.bytes, 0, sizeof(path.dst.bytes));
	path.dst_port = 0;
	frame_template_build(&t, &path);
	frame_template_aim(&t, mac, dst.bytes, port);
	assert_memory_equal(t.bytes, want->bytes, sizeof(t.bytes));
	frame_stamp(&t, ours, source_of(dst.len), 9, three);
	frame_stamp(want, theirs, source_of(dst.len), 9, three);
	assert_memory_equal(ours, theirs, t.len);

	memset(path.dst.bytes, 0xff, sizeof(path.dst.bytes)); // the same from another one
	path.dst_port = port;
	frame_template_build(&t, &path);
	frame_template_turn(&t, mac, dst.bytes);
	assert_memory_equal(t.bytes, want->bytes, sizeof(t.bytes));
	frame_stamp(&t, ours, source_of(dst.len), 9, three);
	assert_memory_equal(ours, theirs, t.len);
}

static void stamps_the_very_bytes_that_linux_sent(void **state)
{
	for (unsigned i = 0; i < 6; i++) {
		uint8_t addr_len = i < 3 ? 4 : 16, vlan_count = i % 3, buf[200] = {0};
		struct frame_path path = path_of(addr_len, vlan_count);
		struct bytes want = expected_query(addr_len, vlan_count);
		struct frame_template t;

		frame_template_build(&t, &path);
		assert_template_aims(&t, path);
		assert_int_equal(t.len, want.len - 33);
		memcpy(buf + t.len, want.data + t.len, 33);
		assert_int_equal(frame_stamp(&t, buf, source_of(addr_len), 40000,
					 (struct frame_payload){.len = 33}),
			want.len);
		assert_memory_equal(buf, want.data, want.len);
		free(want.data);
	}
}

static void stamps_qinq_as_8021ad_outside_and_8021q_inside(void **state)
{
	static const uint8_t want[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xa8, 0, 200, 0x81,
		0, 0x01, 0x2c, 0x86, 0xdd, 0x60, 0, 0, 0};
	struct frame_path path = path_of(16, 2);
	struct frame_template t;
	uint8_t buf[100] = {0};

	frame_template_build(&t, &path);
	frame_stamp(&t, buf, source_of(16), 1, (struct frame_payload){.len = 0});
	assert_memory_equal(buf, want, sizeof(want));
}

static void assert_plain_checksums(const uint8_t *ip, uint8_t addr_len, uint32_t payload_len)
{
	uint32_t header = addr_len == 4 ? 20 : 40, len = 8 + payload_len;
	const uint8_t *addrs = ip + (addr_len == 4 ? 12 : 8);

	if (addr_len == 4) {
		assert_int_equal(plain_sum(0, ip, 20), 0xffff);
		assert_int_equal(get_be16(ip + 2), header + len);
	} else {
		assert_int_equal(get_be16(ip + 4), len);
	}
	assert_int_equal(get_be16(ip + header + 4), len);
	assert_int_not_equal(get_be16(ip + header + 6), 0);
	assert_int_equal(plain_message_sum(addrs, 2u * addr_len, 17, ip + header, len), 0xffff);
}

// A random payload of this length with a random source, checked and parsed back; nothing else is
// touched.
static void stamp_and_check(const struct frame_template *t, struct rand *r, uint32_t payload_len)
{
	uint8_t buf[FRAME_HEADER_MAX + 1500 + 16], before[sizeof(buf)], src[16];
	uint16_t port = (uint16_t)rand_next(r);
	struct frame_payload known = {.len = payload_len};
	struct frame f;
	uint32_t len;

	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)rand_next(r);
	for (size_t i = 0; i < sizeof(src); i++)
		src[i] = (uint8_t)rand_next(r);
	memcpy(before, buf, sizeof(buf));
	len = frame_stamp(t, buf, src, port, known);
	assert_int_equal(len, t->len + payload_len);
	assert_memory_equal(buf + t->len, before + t->len, sizeof(buf) - t->len);
	assert_plain_checksums(buf + t->ip, t->addr_len, payload_len);
	memcpy(before, buf, sizeof(buf));
	known.sum = csum_add(0, buf + t->len, payload_len);
	frame_stamp(t, buf, src, port, known);
	assert_memory_equal(buf, before, sizeof(buf));
	if (frame_template_is_plain(t)) {
		uint32_t plain_src;

		memcpy(&plain_src, src, 4);
		memset(buf, 0xee, t->len);
		assert_int_equal(frame_stamp_plain(t, buf, plain_src, port, known), len);
		assert_memory_equal(buf, before, sizeof(buf));
	}

	assert_int_equal(frame_parse(buf, len, &f), FRAME_UDP);
	assert_true(frame_checksum_ok(&f));
	assert_int_equal(f.src_port, port);
	assert_int_equal(f.dst_port, 53);
	assert_int_equal(f.addr_len, t->addr_len);
	assert_memory_equal(f.src, src, t->addr_len);
	assert_ptr_equal(f.payload, buf + t->len);
	assert_int_equal(f.payload_len, payload_len);
}

static void stamps_right_checksums_for_every_shape_and_length(void **state)
{
	struct rand r = {1};

	for (unsigned i = 0; i < 6; i++) {
		struct frame_path path = path_of(i < 3 ? 4 : 16, i % 3);
		struct frame_template t;

		frame_template_build(&t, &path);
		assert_int_equal(frame_template_is_plain(&t), i == 0);
		for (uint32_t len = 0; len <= 130; len++)
			stamp_and_check(&t, &r, len);
		stamp_and_check(&t, &r, 1471);
		stamp_and_check(&t, &r, 1472);
	}
}

static void sends_a_computed_udp_checksum_of_zero_as_ones(void **state)
{
	for (uint8_t addr_len = 4; addr_len <= 16; addr_len += 12) {
		struct frame_path path = path_of(addr_len, 0);
		struct frame_template t;
		uint8_t buf[100] = {0};

		frame_template_build(&t, &path);
		frame_stamp(&t, buf, source_of(addr_len), 1000, (struct frame_payload){.len = 2});
		memcpy(buf + t.len, buf + t.len - 2, 2); // this payload makes the sum all ones
		frame_stamp(&t, buf, source_of(addr_len), 1000, (struct frame_payload){.len = 2});
		assert_int_equal(get_be16(buf + t.len - 2), 0xffff);
		assert_plain_checksums(buf + t.ip, addr_len, 2);
		if (addr_len == 4) {
			uint32_t src;

			memcpy(&src, source_of(4), 4);
			frame_stamp_plain(&t, buf, src, 1000,
				(struct frame_payload){2, csum_add(0, buf + t.len, 2)});
			assert_int_equal(get_be16(buf + t.len - 2), 0xffff);
		}
	}
}

static void leaves_the_pseudo_header_sum_for_the_device(void **state)
{
	for (uint8_t addr_len = 4; addr_len <= 16; addr_len += 12) {
		struct frame_path path = path_of(addr_len, 1);
		struct frame_template t;
		uint8_t buf[200];
		const uint8_t *ip = buf + ETH + 4;
		uint16_t pseudo;

		frame_template_build(&t, &path);
		assert_false(t.checksum_offload);
		t.checksum_offload = true;
		assert_false(frame_template_is_plain(&t));
		memset(buf, 0xa5, sizeof(buf));
		frame_stamp(&t, buf, source_of(addr_len), 1000, (struct frame_payload){.len = 77});
		pseudo = plain_sum(17 + 8 + 77, ip + (addr_len == 4 ? 12 : 8), 2u * addr_len);
		assert_int_equal(get_be16(buf + t.len - 2), pseudo);
		assert_int_equal(get_be16(buf + t.len - 4), 85);
		assert_int_equal(get_be16(buf + t.len - 8), 1000);
		if (addr_len == 4)
			assert_int_equal(get_be16(ip + 10), 0);
	}
}

static void writes_no_header_without_room(void **state)
{
	const struct frame_ip v4 = {source_of(4), source_of(4), 4, 64, 1, 8};
	const struct frame_ip v6 = {source_of(16), source_of(16), 16, 64, 58, 8};

	for (uint32_t room = 0; room <= 40; room++) {
		uint8_t *buf = malloc(room + 1);
		struct writer w = writer_of(buf, room);

		frame_write_ip(&w, &v4);
		assert_int_equal(w.failed, room < 20);
		w = writer_of(buf, room);
		frame_write_ip(&w, &v6);
		assert_int_equal(w.failed, room < 40);
		free(buf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_captured_frames_apart),
		cmocka_unit_test(calls_every_cut_frame_bad),
		cmocka_unit_test(shows_addresses_ports_and_payload),
		cmocka_unit_test(shows_hop_limits),
		cmocka_unit_test(shows_vlans_outermost_first_without_priority),
		cmocka_unit_test(takes_a_priority_tag_for_no_vlan),
		cmocka_unit_test(leaves_three_vlan_tags_alone),
		cmocka_unit_test(leaves_other_ethertypes_alone),
		cmocka_unit_test(takes_lengths_from_the_headers_not_the_padding),
		cmocka_unit_test(lets_udp_be_shorter_than_its_packet),
		cmocka_unit_test(calls_lying_lengths_bad),
		cmocka_unit_test(passes_over_ipv4_options_only_within_the_packet),
		cmocka_unit_test(sorts_fragments_out),
		cmocka_unit_test(passes_over_eight_extension_headers_and_no_more),
		cmocka_unit_test(leaves_packets_on_their_way_elsewhere_alone),
		cmocka_unit_test(passes_over_an_authentication_header),
		cmocka_unit_test(counts_icmp_errors_and_nothing_else_as_errors),
		cmocka_unit_test(shows_type_and_code_of_icmp),
		cmocka_unit_test(takes_icmp_that_is_a_header_alone),
		cmocka_unit_test(leaves_icmp_of_the_other_family_alone),
		cmocka_unit_test(finds_every_flipped_bit_that_a_checksum_covers),
		cmocka_unit_test(takes_the_short_way_to_the_same_view),
		cmocka_unit_test(a_mask_has_the_plain_frames_of_a_peer),
		cmocka_unit_test(takes_no_short_way_through_a_cut_frame),
		cmocka_unit_test(takes_a_zero_udp_checksum_over_ipv4_only),
		cmocka_unit_test(stamps_the_very_bytes_that_linux_sent),
		cmocka_unit_test(stamps_qinq_as_8021ad_outside_and_8021q_inside),
		cmocka_unit_test(stamps_right_checksums_for_every_shape_and_length),
		cmocka_unit_test(sends_a_computed_udp_checksum_of_zero_as_ones),
		cmocka_unit_test(leaves_the_pseudo_header_sum_for_the_device),
		cmocka_unit_test(writes_no_header_without_room),
	};

	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
