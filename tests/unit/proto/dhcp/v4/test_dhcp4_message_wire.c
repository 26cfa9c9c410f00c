// SPDX-License-Identifier: BSD-3-Clause
// Messages read and written: every field and option, options in three fields and in pieces, broken
// ones without a read beyond the end. Path: tests only.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proto/dhcp/v4/dhcp4_message.h"
#include "dhcp4_same.h"

#define FILE_LEN  128
#define SNAME_LEN 64

static struct dhcp4_scratch scratch;
static struct dhcp4_message m;
static uint8_t *block;

static const uint8_t header[DHCP4_OPTIONS_AT] = {2, 1, 6, 3, 0x12, 0x34, 0x56, 0x78, 0x01, 0x02,
	0x80, 0x00, 10, 0, 0, 1, 10, 0, 0, 2, 10, 0, 0, 3, 10, 0, 0, 4, 0x02, 0, 0, 0, 0,
	0x07, [DHCP4_AT_COOKIE] = 0x63, 0x82, 0x53, 0x63};

struct packet {
	uint8_t bytes[4096];
	struct writer w;
};

static void packet_start(struct packet *p)
{
	memset(p->bytes, 0, sizeof(p->bytes));
	memcpy(p->bytes, header, sizeof(header));
	p->w = writer_of(p->bytes + sizeof(header), sizeof(p->bytes) - sizeof(header));
}

static uint32_t packet_len(const struct packet *p)
{
	return (uint32_t)(p->w.at - p->bytes);
}

// Parses in a block of exactly that size, so that the sanitizer sees every read beyond it; the
// block stays for the pointers of m. The second time the layout is known.
static bool parse(const void *data, uint32_t len)
{
	struct dhcp4_message again;
	bool right;

	free(block);
	block = malloc(len ? len : 1);
	assert_non_null(block);
	memcpy(block, data, len);
	memset(&scratch.layouts, 0, sizeof(scratch.layouts));
	memset(scratch.bytes, 0xee, sizeof(scratch.bytes));
	memset(&m, 0xee, sizeof(m));
	right = dhcp4_parse(block, len, &scratch, &m);
	memset(&again, 0xee, sizeof(again));
	assert_int_equal(dhcp4_parse(block, len, &scratch, &again), right);
	assert_true(!right || same_message(&m, &again));
	return right;
}

static bool parse_packet(const struct packet *p)
{
	assert_false(p->w.failed);
	return parse(p->bytes, packet_len(p));
}

// A message whose options are these bytes, and file and sname when given.
static bool parse_fields(const void *options, uint32_t len, const void *file, uint32_t file_len,
	const void *sname, uint32_t sname_len)
{
	struct packet p;

	packet_start(&p);
	write_bytes(&p.w, options, len);
	memcpy(p.bytes + DHCP4_AT_FILE, file, file_len);
	memcpy(p.bytes + DHCP4_AT_SNAME, sname, sname_len);
	return parse_packet(&p);
}

#define LITERAL(text) (text), sizeof(text) - 1
#define PARSE(text)   parse_fields(LITERAL(text), "", 0, "", 0)

#define assert_piece(text, data, len)                                                              \
	do {                                                                                       \
		assert_non_null(data);                                                             \
		assert_int_equal(len, sizeof(text) - 1);                                           \
		assert_memory_equal(data, text, sizeof(text) - 1);                                 \
	} while (0)

static void offer(struct packet *p)
{
	packet_start(p);
	dhcp4_write_option_u8(&p->w, DHCP4_OPT_TYPE, DHCP4_OFFER);
	dhcp4_write_option_be32(&p->w, DHCP4_OPT_SERVER_ID, 0xc0000201);
	dhcp4_write_option_be32(&p->w, DHCP4_OPT_LEASE_TIME, 3600);
	dhcp4_write_option_be32(&p->w, DHCP4_OPT_T1, 1800);
	dhcp4_write_option_be32(&p->w, DHCP4_OPT_T2, 3150);
	dhcp4_write_option_be32(&p->w, DHCP4_OPT_REQUESTED_ADDRESS, 0x0a000002);
	dhcp4_write_option(&p->w, DHCP4_OPT_CLIENT_ID, "\1abcdef", 7);
	dhcp4_write_option(&p->w, DHCP4_OPT_PARAMETERS, "\1\3\6", 3);
	dhcp4_write_option(&p->w, DHCP4_OPT_MESSAGE, "why", 3);
	dhcp4_write_option(&p->w, 224, "private", 7);
	dhcp4_write_option(&p->w, DHCP4_OPT_RELAY_INFO, "\1\2xy", 4);
	write_u8(&p->w, DHCP4_OPT_END);
}

// Replies of ISC dhcpd 4.4 to a relay: an OFFER with room for 576 bytes, whose option 224 continues
// in file and sname and whose options field has no END, and a NAK.
static const char captured_offer[] =
	"020106011234567800000000000000000a4d0064000000000a4d00020200000000010000000000000000"
	"0000e02278787878787878787878787878787878787878787878787878787878787878787878ff000000"
	"000000000000000000000000000000000000000000000000e07d78787878787878787878787878787878"
	"787878787878787878787878787878787878787878787878787878787878787878787878787878787878"
	"787878787878787878787878787878787878787878787878787878787878787878787878787878787878"
	"78787878787878787878787878787878787878787878787878ff6382536335010236040a4d0001330400"
	"000e103a04000007083b0400000c4e0104ffffff0003040a4d000106040a4d00010f0b6578616d706c65"
	"2e636f6d1164727272727272727272727272727272727272727272727272727272727272727272727272"
	"727272727272727272727272727272727272727272727272727272727272727272727272727272727272"
	"72727272727272727272727272727272727272727272283c6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e"
	"6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e"
	"e05178787878787878787878787878787878787878787878787878787878787878787878787878787878"
	"787878787878787878787878787878787878787878787878787878787878787878787878787878787834"
	"0103520e010463697263020672656d6f7465";
static const char captured_nak[] =
	"0201060112345678000080000000000000000000000000000a4d00020200000000010000000000000000"
	"000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
	"000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
	"000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
	"000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
	"00000000000000000000000000000000000000000000000000006382536335010636040a4d0001381f72"
	"65717565737465642061646472657373206e6f7420617661696c61626c65520e01046369726302067265"
	"6d6f7465ff00";

static uint32_t from_hex(const char *hex, uint8_t *out)
{
	uint32_t len = 0;
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		out[len++] = (uint8_t)byte;
	return len;
}

static void a_captured_overloaded_offer_is_read(void **state)
{
	uint8_t data[1024];

	assert_true(parse(data, from_hex(captured_offer, data)));
	assert_int_equal(m.type, DHCP4_OFFER);
	assert_int_equal(m.yiaddr, 0x0a4d0064);
	assert_int_equal(m.server_id, 0x0a4d0001);
	assert_int_equal(m.lease_time, 3600);
	assert_int_equal(m.t1, 1800);
	assert_int_equal(m.t2, 3150);
	assert_piece("\1\4circ\2\6remote", m.relay_info, m.relay_info_len);
	assert_true(dhcp4_has(&m, 224));
	assert_false(m.has_end);
}

// The OFFER again, with its split option renumbered to one that is reassembled.
static void the_split_option_of_a_captured_offer_is_whole(void **state)
{
	uint8_t data[1024];
	uint32_t len = from_hex(captured_offer, data), renamed = 0;

	for (uint32_t at = DHCP4_AT_SNAME; at < len; at++) {
		if (data[at] == 224 && data[at + 2] == 'x') {
			data[at] = DHCP4_OPT_MESSAGE;
			renamed++;
		}
	}
	assert_int_equal(renamed, 3);
	assert_true(parse(data, len));
	assert_int_equal(m.message_len, 240);
	for (uint32_t i = 0; i < m.message_len; i++)
		assert_int_equal(m.message[i], 'x');
	{
		uint8_t joined[DHCP4_OPTION_MAX];

		assert_int_equal(
			dhcp4_option_join(data, len, DHCP4_OPT_MESSAGE, joined, sizeof(joined)),
			240);
		assert_memory_equal(joined, m.message, 240);
		assert_int_equal(dhcp4_option_join(data, len, DHCP4_OPT_MESSAGE, joined, 239), -1);
		assert_int_equal(dhcp4_option_join(data, len, 213, joined, sizeof(joined)), -1);
		for (uint32_t cut = 0; cut < len; cut++)
			dhcp4_option_join(data, cut, DHCP4_OPT_MESSAGE, joined, sizeof(joined));
	}
}

static int join(const char *options, uint32_t len, uint8_t code, uint8_t *out)
{
	struct packet p;

	packet_start(&p);
	write_bytes(&p.w, options, len);
	return dhcp4_option_join(p.bytes, packet_len(&p), code, out, DHCP4_OPTION_MAX);
}

static void an_option_that_is_there_twice_is_joined_once(void **state)
{
	static const char twice[] = "\x06\4\1\2\3\4\x03\4\1\2\3\4\x06\4\1\2\3\4\xff";
	static const char others[] = "\x06\4\1\2\3\4\x06\4\1\2\3\5\xff";
	uint8_t joined[DHCP4_OPTION_MAX];

	assert_int_equal(join(twice, sizeof(twice) - 1, 6, joined), 4);
	assert_memory_equal(joined, "\1\2\3\4", 4);
	assert_int_equal(join(others, sizeof(others) - 1, 6, joined), 8);
	assert_memory_equal(joined, "\1\2\3\4\1\2\3\5", 8);
	assert_int_equal(join("\x38\2ab\x38\2ab\xff", 9, DHCP4_OPT_MESSAGE, joined), 4);
}

static void a_captured_nak_is_read(void **state)
{
	uint8_t data[1024];

	assert_true(parse(data, from_hex(captured_nak, data)));
	assert_int_equal(m.type, DHCP4_NAK);
	assert_int_equal(m.flags, DHCP4_BROADCAST);
	assert_int_equal(m.yiaddr, 0);
	assert_piece("requested address not available", m.message, m.message_len);
	assert_piece("\1\4circ\2\6remote", m.relay_info, m.relay_info_len);
	assert_true(m.has_end);
}

static void every_header_field_is_read(void **state)
{
	struct packet p;

	offer(&p);
	assert_true(parse_packet(&p));
	assert_int_equal(m.op, DHCP4_REPLY_OP);
	assert_int_equal(m.htype, 1);
	assert_int_equal(m.hlen, 6);
	assert_int_equal(m.hops, 3);
	assert_int_equal(m.xid, 0x12345678);
	assert_int_equal(m.secs, 0x0102);
	assert_int_equal(m.flags, DHCP4_BROADCAST);
	assert_int_equal(m.ciaddr, 0x0a000001);
	assert_int_equal(m.yiaddr, 0x0a000002);
	assert_int_equal(m.siaddr, 0x0a000003);
	assert_int_equal(m.giaddr, 0x0a000004);
	assert_memory_equal(m.chaddr, "\2\0\0\0\0\7\0\0\0\0\0\0\0\0\0\0", DHCP4_CHADDR_LEN);
}

static void every_option_is_read(void **state)
{
	struct packet p;

	offer(&p);
	assert_true(parse_packet(&p));
	assert_int_equal(m.type, DHCP4_OFFER);
	assert_int_equal(m.server_id, 0xc0000201);
	assert_int_equal(m.lease_time, 3600);
	assert_int_equal(m.t1, 1800);
	assert_int_equal(m.t2, 3150);
	assert_int_equal(m.requested, 0x0a000002);
	assert_piece("\1abcdef", m.client_id, m.client_id_len);
	assert_piece("\1\3\6", m.parameters, m.parameters_len);
	assert_piece("why", m.message, m.message_len);
	assert_piece("\1\2xy", m.relay_info, m.relay_info_len);
	assert_true(m.has_end);
}

static void present_tells_what_is_there_and_nothing_else(void **state)
{
	static const uint8_t there[] = {50, 51, 53, 54, 55, 56, 58, 59, 61, 82, 224};
	uint32_t count = 0;
	struct packet p;

	offer(&p);
	assert_true(parse_packet(&p));
	for (uint32_t i = 0; i < sizeof(there); i++)
		assert_true(dhcp4_has(&m, there[i]));
	for (uint32_t code = 0; code < 256; code++)
		count += dhcp4_has(&m, (uint8_t)code);
	assert_int_equal(count, sizeof(there));
}

static void what_is_absent_is_zero(void **state)
{
	assert_true(PARSE(""));
	assert_int_equal(m.type, 0);
	assert_int_equal(m.server_id, 0);
	assert_int_equal(m.lease_time, 0);
	assert_null(m.client_id);
	assert_null(m.relay_info);
	assert_null(m.message);
	assert_null(m.parameters);
	assert_false(m.has_end);
}

static void an_option_of_no_bytes_is_there(void **state)
{
	assert_true(PARSE("\x3d\0\x52\0\x38\0\x37\0\x50\0"));
	assert_non_null(m.client_id);
	assert_int_equal(m.client_id_len, 0);
	assert_non_null(m.relay_info);
	assert_non_null(m.message);
	assert_non_null(m.parameters);
	assert_true(dhcp4_has(&m, DHCP4_OPT_RAPID_COMMIT));
}

// A message may end at the start of an option: a missing END is no error.
static void a_cut_is_broken_unless_it_is_between_options(void **state)
{
	uint8_t boundary[512] = {0};
	struct packet p;
	uint32_t len;

	offer(&p);
	len = packet_len(&p);
	for (uint32_t at = DHCP4_OPTIONS_AT; at < len; at += 2u + p.bytes[at + 1])
		boundary[at] = 1;
	for (uint32_t cut = 0; cut < len; cut++) {
		assert_int_equal(parse(p.bytes, cut), boundary[cut]);
		assert_false(m.has_end);
	}
	assert_true(parse(p.bytes, len));
}

static void without_the_cookie_it_is_no_message(void **state)
{
	struct packet p;

	for (uint32_t i = 0; i < 4; i++) {
		offer(&p);
		p.bytes[DHCP4_AT_COOKIE + i] ^= 1;
		assert_false(parse_packet(&p));
		assert_int_equal(m.xid, 0x12345678);
	}
}

static void padding_is_stepped_over(void **state)
{
	struct packet p;

	packet_start(&p);
	memset(write_space(&p.w, 300), 0, 300);
	dhcp4_write_option_u8(&p.w, DHCP4_OPT_TYPE, DHCP4_ACK);
	memset(write_space(&p.w, 300), 0, 300);
	dhcp4_write_option_be32(&p.w, DHCP4_OPT_SERVER_ID, 7);
	assert_true(parse_packet(&p));
	assert_int_equal(m.type, DHCP4_ACK);
	assert_int_equal(m.server_id, 7);
	assert_false(m.has_end);
}

static void nothing_counts_after_the_end(void **state)
{
	assert_true(PARSE("\x35\1\5\xff\x36\4\1\2\3\4\x35\x40"));
	assert_int_equal(m.type, DHCP4_ACK);
	assert_false(dhcp4_has(&m, DHCP4_OPT_SERVER_ID));
	assert_true(m.has_end);
}

static void a_fixed_size_option_of_another_size_is_broken(void **state)
{
	static const uint8_t size_of[60] = {
		[50] = 4, [51] = 4, [52] = 1, [53] = 1, [54] = 4, [58] = 4, [59] = 4};
	struct packet p;

	for (uint8_t code = 50; code < 60; code++) {
		for (uint32_t len = 0; len <= 8; len++) {
			packet_start(&p);
			dhcp4_write_option(&p.w, code, "\0\0\0\0\0\0\0\0", len);
			write_u8(&p.w, DHCP4_OPT_END);
			assert_int_equal(parse_packet(&p), !size_of[code] || len == size_of[code]);
		}
	}
}

static void an_option_that_is_there_twice_is_broken_if_its_values_differ(void **state)
{
	assert_false(PARSE("\x35\1\5\x35\1\6\xff"));
	assert_string_equal(
		m.broken, "option 53 (message type) is not of 1 octet, or twice with two values");
	assert_false(PARSE("\x36\4\1\2\3\4\x36\4\1\2\3\5\xff"));
	assert_non_null(strstr(m.broken, "option 54 (server identifier)"));
	assert_true(PARSE("\x36\4\1\2\3\4\x36\0\xff"));
	assert_int_equal(m.server_id, 0x01020304);
	assert_false(m.repeats);
	assert_true(PARSE("\x35\1\5\x35\1\5\xff"));
	assert_int_equal(m.type, 5);
	assert_true(m.repeats);
	assert_true(PARSE("\x36\4\1\2\3\4\x35\1\5\x36\4\1\2\3\4\xff"));
	assert_int_equal(m.server_id, 0x01020304);
	assert_true(m.repeats);
}

// Besides options of a fixed size, options with compared contents.
static void an_identifier_that_is_there_twice_is_no_longer_one(void **state)
{
	assert_true(PARSE("\x3d\3\1ab\x52\4\1\2cd\x3d\3\1ab\x52\4\1\2cd\xff"));
	assert_true(m.repeats);
	assert_int_equal(m.client_id_len, 3);
	assert_int_equal(m.relay_info_len, 4);
	assert_true(PARSE("\x3d\3\1ab\x3d\3\1ac\xff")); // pieces of one
	assert_false(m.repeats);
	assert_int_equal(m.client_id_len, 6);
	assert_true(PARSE("\x38\2ab\x38\2ab\xff")); // a text may have any contents
	assert_int_equal(m.message_len, 4);
}

static void what_is_broken_has_a_reason(void **state)
{
	assert_false(PARSE("\x36\4\1\2\3"));
	assert_string_equal(m.broken, "an option runs over the end");
	assert_false(PARSE("\x34\1\4\xff"));
	assert_string_equal(m.broken, "option 52 (overload) is above 3");
	assert_false(PARSE("\x34\1\3\x34\1\3\xff"));
	assert_false(PARSE("\x33\2\1\2\xff"));
	assert_string_equal(m.broken, "an option of a fixed size is too short");
}

static void pieces_of_a_fixed_size_option_are_not_counted_around(void **state)
{
	struct packet p;

	packet_start(&p);
	for (uint32_t i = 0; i < 65; i++)
		dhcp4_write_option_be32(&p.w, DHCP4_OPT_SERVER_ID, i);
	assert_false(parse_packet(&p));
}

// RFC 3396 section 5: an option that does not fit at the end of a field continues in the next.
static void a_fixed_size_option_may_be_split_between_fields(void **state)
{
	assert_true(parse_fields(LITERAL("\x34\1\1\x36\1\xc0\xff"), LITERAL("\x36\3\0\2\1\xff"),
		LITERAL("\x35\1\5")));
	assert_int_equal(m.server_id, 0xc0000201);
	assert_int_equal(m.type, 0);
	assert_false(parse_fields(
		LITERAL("\x34\1\1\x36\1\xc0\xff"), LITERAL("\x36\2\0\2\xff"), LITERAL("")));
}

static void overload_says_which_fields_hold_options(void **state)
{
	for (uint8_t overload = 0; overload <= 3; overload++) {
		char options[] = "\x34\1\1\xff";

		options[2] = (char)overload;
		assert_true(parse_fields(
			options, 4, LITERAL("\x36\4\1\2\3\4\xff"), LITERAL("\x33\4\0\0\0\7\xff")));
		assert_int_equal(m.server_id, overload & 1 ? 0x01020304 : 0);
		assert_int_equal(m.lease_time, overload & 2 ? 7 : 0);
		assert_true(m.has_end);
	}
	assert_false(PARSE("\x34\1\4\xff"));
	assert_false(PARSE("\x34\1\xff\xff"));
}

static void without_overload_file_and_sname_are_names(void **state)
{
	assert_true(parse_fields(LITERAL("\x35\1\5\xff"), LITERAL("boot/file"), LITERAL("server")));
	assert_int_equal(m.type, DHCP4_ACK);
	assert_false(dhcp4_has(&m, 'b'));
}

static void options_of_a_field_may_fill_it_but_not_run_over_its_end(void **state)
{
	uint8_t file[FILE_LEN] = {60, FILE_LEN - 2}, sname[SNAME_LEN] = {60, SNAME_LEN - 2};

	assert_true(
		parse_fields(LITERAL("\x34\1\3\xff"), file, sizeof(file), sname, sizeof(sname)));
	file[1]++;
	assert_false(
		parse_fields(LITERAL("\x34\1\3\xff"), file, sizeof(file), sname, sizeof(sname)));
	assert_true(
		parse_fields(LITERAL("\x34\1\2\xff"), file, sizeof(file), sname, sizeof(sname)));
	sname[1]++;
	assert_false(
		parse_fields(LITERAL("\x34\1\2\xff"), file, sizeof(file), sname, sizeof(sname)));
	assert_true(
		parse_fields(LITERAL("\x34\1\0\xff"), file, sizeof(file), sname, sizeof(sname)));
	memset(file, 0, sizeof(file));
	file[FILE_LEN - 1] = 12;
	assert_false(parse_fields(LITERAL("\x34\1\1\xff"), file, sizeof(file), "", 0));
}

static void an_overloaded_field_cannot_overload_again(void **state)
{
	assert_false(parse_fields(LITERAL("\x34\1\1\xff"), LITERAL("\x34\1\2\xff"), "", 0));
}

static void fields_are_joined_in_the_order_options_file_sname(void **state)
{
	assert_true(parse_fields(LITERAL("\x3d\3\1ab\x34\1\3\xff"), LITERAL("\x3d\2cd\xff"),
		LITERAL("\x3d\2ef\xff")));
	assert_piece("\1abcdef", m.client_id, m.client_id_len);
	assert_true(parse_fields(LITERAL("\x52\3\1\5a\x34\1\2\xff"), LITERAL("\x52\2no\xff"),
		LITERAL("\x52\4bcde\xff")));
	assert_piece("\1\5abcde", m.relay_info, m.relay_info_len);
}

struct joined {
	char bytes[16];
	uint32_t len;
};

static void joined_take(struct joined *j, const char *piece)
{
	memcpy(j->bytes + j->len, piece + 2, (size_t)piece[1]);
	j->len += (uint32_t)piece[1];
}

static void assert_joined(const struct joined *j, const uint8_t *data, uint16_t len)
{
	assert_int_equal(len, j->len);
	assert_memory_equal(data, j->bytes, len);
}

// All orders of seven options, each n-th of the 7! permutations.
static void split_options_are_joined_in_every_order(void **state)
{
	static const char *const pieces[7] = {
		"=\2ab", "=\1c", "=\3def", "R\2gh", "R\3ijk", "8\1l", "5\1\5"};

	for (uint32_t n = 0; n < 5040; n++) {
		struct joined id = {.len = 0}, relay = {.len = 0}, message = {.len = 0};
		const char *left[7];
		uint32_t digit = n;
		struct packet p;

		memcpy(left, pieces, sizeof(left));
		packet_start(&p);
		for (uint32_t i = 7; i > 0; digit /= i, i--) {
			const char *piece = left[digit % i];

			left[digit % i] = left[i - 1];
			write_bytes(&p.w, piece, 2 + (size_t)piece[1]);
			if (piece[0] != '5')
				joined_take(piece[0] == '='   ? &id
					    : piece[0] == 'R' ? &relay
							      : &message,
					piece);
		}
		assert_true(parse_packet(&p));
		assert_int_equal(m.type, DHCP4_ACK);
		assert_joined(&id, m.client_id, m.client_id_len);
		assert_joined(&relay, m.relay_info, m.relay_info_len);
		assert_joined(&message, m.message, m.message_len);
	}
}

static void a_split_option_has_a_longest_length(void **state)
{
	uint8_t data[DHCP4_OPTION_MAX + 1];
	struct packet p;

	for (uint32_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	for (uint32_t len = sizeof(data) - 1; len <= sizeof(data); len++) {
		packet_start(&p);
		dhcp4_write_option(&p.w, DHCP4_OPT_CLIENT_ID, data, len);
		assert_int_equal(parse_packet(&p), len <= DHCP4_OPTION_MAX);
	}
	assert_int_equal(m.client_id_len, DHCP4_OPTION_MAX - 4);
}

static void of_a_split_parameter_list_the_first_piece_is_told(void **state)
{
	assert_true(PARSE("\x37\2\1\3\x37\1\6\xff"));
	assert_piece("\1\3", m.parameters, m.parameters_len);
}

static void the_xid_is_that_of_a_header_with_this_op(void **state)
{
	uint32_t xid = 0;

	assert_true(dhcp4_xid(header, DHCP4_HEADER_LEN, DHCP4_REPLY_OP, &xid));
	assert_int_equal(xid, 0x12345678);
	assert_false(dhcp4_xid(header, DHCP4_HEADER_LEN, DHCP4_REQUEST_OP, &xid));
	assert_false(dhcp4_xid(header, DHCP4_HEADER_LEN - 1, DHCP4_REPLY_OP, &xid));
	assert_false(dhcp4_xid(header, 0, DHCP4_REPLY_OP, &xid));
}

static void a_written_option_of_any_length_is_read_back(void **state)
{
	static const uint32_t lens[] = {0, 1, 254, 255, 256, 509, 510, 511, DHCP4_OPTION_MAX};
	static const uint32_t pieces[] = {1, 1, 1, 1, 2, 2, 2, 3, 5};
	uint8_t data[DHCP4_OPTION_MAX];
	struct packet p;

	for (uint32_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	for (uint32_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		packet_start(&p);
		dhcp4_write_option(&p.w, DHCP4_OPT_MESSAGE, lens[i] ? data : NULL, lens[i]);
		assert_int_equal(packet_len(&p), DHCP4_OPTIONS_AT + lens[i] + 2 * pieces[i]);
		assert_true(parse_packet(&p));
		assert_int_equal(m.message_len, lens[i]);
		assert_memory_equal(m.message, data, lens[i]);
	}
}

static void an_option_that_does_not_fit_fails_the_writer(void **state)
{
	uint8_t data[600] = {0};

	for (uint32_t room = 0; room <= 606; room++) {
		uint8_t *out = malloc(room + 1);
		struct writer w = writer_of(out, room);

		assert_non_null(out);
		dhcp4_write_option(&w, 43, data, sizeof(data));
		assert_int_equal(w.failed, room < 606);
		free(out);
	}
}

static void numbers_are_written_in_network_order(void **state)
{
	uint8_t out[9];
	struct writer w = writer_of(out, sizeof(out));

	dhcp4_write_option_be32(&w, 51, 0x01020304);
	dhcp4_write_option_u8(&w, 53, 5);
	assert_false(w.failed);
	assert_memory_equal(out, "\x33\4\1\2\3\4\x35\1\5", 9);
}

static void an_option_is_found_where_it_starts(void **state)
{
	struct packet p;
	uint32_t len, at = DHCP4_OPTIONS_AT;

	offer(&p);
	len = packet_len(&p);
	for (; at < len - 1; at += 2u + p.bytes[at + 1])
		assert_int_equal(dhcp4_find_option(p.bytes, len, p.bytes[at]), at);
	assert_int_equal(dhcp4_find_option(p.bytes, len, DHCP4_OPT_END), len - 1);
	assert_int_equal(dhcp4_find_option(p.bytes, len, DHCP4_OPT_PAD), 0);
	assert_int_equal(dhcp4_find_option(p.bytes, len, DHCP4_OPT_DOMAIN), 0);
}

static void an_option_after_the_end_or_cut_off_is_not_found(void **state)
{
	uint8_t bytes[DHCP4_OPTIONS_AT + 9];

	memcpy(bytes, header, sizeof(header));
	memcpy(bytes + sizeof(header), "\0\x35\1\5\xff\x36\2ab", 9);
	assert_int_equal(dhcp4_find_option(bytes, sizeof(bytes), 53), DHCP4_OPTIONS_AT + 1);
	assert_int_equal(dhcp4_find_option(bytes, sizeof(bytes), 54), 0);
	bytes[DHCP4_OPTIONS_AT + 4] = 0;
	assert_int_equal(dhcp4_find_option(bytes, sizeof(bytes), 54), DHCP4_OPTIONS_AT + 5);
	for (uint32_t cut = 0; cut < sizeof(bytes); cut++)
		assert_int_equal(dhcp4_find_option(bytes, cut, 54), 0);
}

static void every_message_type_has_its_name(void **state)
{
	static const char *const names[] = {NULL, "DISCOVER", "OFFER", "REQUEST", "DECLINE", "ACK",
		"NAK", "RELEASE", "INFORM", "FORCERENEW", "LEASEQUERY", "LEASEUNASSIGNED",
		"LEASEUNKNOWN", "LEASEACTIVE", "BULKLEASEQUERY", "LEASEQUERYDONE",
		"ACTIVELEASEQUERY", "LEASEQUERYSTATUS"};

	for (uint32_t i = 0; i < DHCP4_TYPES; i++) {
		if (names[i])
			assert_string_equal(dhcp4_type_name(i), names[i]);
		else
			assert_null(dhcp4_type_name(i));
	}
	assert_null(dhcp4_type_name(DHCP4_TYPES));
	assert_null(dhcp4_type_name(UINT32_MAX));
	assert_string_equal(dhcp4_status_name(DHCP4_STATUS_NOT_ALLOWED), "NotAllowed");
	assert_null(dhcp4_status_name(DHCP4_STATUSES));
}

static int blocks_free(void **state)
{
	free(block);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_captured_overloaded_offer_is_read),
		cmocka_unit_test(the_split_option_of_a_captured_offer_is_whole),
		cmocka_unit_test(an_option_that_is_there_twice_is_joined_once),
		cmocka_unit_test(a_captured_nak_is_read),
		cmocka_unit_test(every_header_field_is_read),
		cmocka_unit_test(every_option_is_read),
		cmocka_unit_test(present_tells_what_is_there_and_nothing_else),
		cmocka_unit_test(what_is_absent_is_zero),
		cmocka_unit_test(an_option_of_no_bytes_is_there),
		cmocka_unit_test(a_cut_is_broken_unless_it_is_between_options),
		cmocka_unit_test(without_the_cookie_it_is_no_message),
		cmocka_unit_test(padding_is_stepped_over),
		cmocka_unit_test(nothing_counts_after_the_end),
		cmocka_unit_test(a_fixed_size_option_of_another_size_is_broken),
		cmocka_unit_test(an_option_that_is_there_twice_is_broken_if_its_values_differ),
		cmocka_unit_test(an_identifier_that_is_there_twice_is_no_longer_one),
		cmocka_unit_test(what_is_broken_has_a_reason),
		cmocka_unit_test(pieces_of_a_fixed_size_option_are_not_counted_around),
		cmocka_unit_test(a_fixed_size_option_may_be_split_between_fields),
		cmocka_unit_test(overload_says_which_fields_hold_options),
		cmocka_unit_test(without_overload_file_and_sname_are_names),
		cmocka_unit_test(options_of_a_field_may_fill_it_but_not_run_over_its_end),
		cmocka_unit_test(an_overloaded_field_cannot_overload_again),
		cmocka_unit_test(fields_are_joined_in_the_order_options_file_sname),
		cmocka_unit_test(split_options_are_joined_in_every_order),
		cmocka_unit_test(a_split_option_has_a_longest_length),
		cmocka_unit_test(of_a_split_parameter_list_the_first_piece_is_told),
		cmocka_unit_test(the_xid_is_that_of_a_header_with_this_op),
		cmocka_unit_test(a_written_option_of_any_length_is_read_back),
		cmocka_unit_test(an_option_that_does_not_fit_fails_the_writer),
		cmocka_unit_test(numbers_are_written_in_network_order),
		cmocka_unit_test(an_option_is_found_where_it_starts),
		cmocka_unit_test(an_option_after_the_end_or_cut_off_is_not_found),
		cmocka_unit_test(every_message_type_has_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, blocks_free);
}
