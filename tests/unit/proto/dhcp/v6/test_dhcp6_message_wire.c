// SPDX-License-Identifier: BSD-3-Clause
// DHCPv6 messages read and written: captured ones, every option at every level, relay messages, and
// broken ones without a read beyond the end. Path: tests only.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proto/dhcp/v6/dhcp6_message.h"

static struct dhcp6_message m;
static struct dhcp6_envelope e;
static uint8_t *block;

// ADVERTISEs of ISC dhcpd 4.4: address and prefix; address, and no prefix left.
static const char captured_both[] =
	"02000000000300280000000100000000000000000005001820010db8000000000000000000001002000008ca"
	"00000e1000190029000000010000000000000000001a0019000008ca00000e103820010db880000200000000"
	"00000000000001000e0001000132947588000c010203040002000e000100013294758682d517bee598000700"
	"01070017001020010db80000000000000000000000530018000d076578616d706c6503636f6d00";
static const char captured_no_prefix[] =
	"02000006000300280000000100000000000000000005001820010db8000000000000000000001000000008ca"
	"00000e100019003b000000010000000000000000000d002b00064e6f20707265666978657320617661696c61"
	"626c6520666f72207468697320696e746572666163652e0001000e0001000132947588000c01020307000200"
	"0e000100013294758682d517bee59800070001070017001020010db800000000000000000000005300180"
	"00d076578616d706c6503636f6d00";

static uint32_t from_hex(const char *hex, uint8_t *out)
{
	uint32_t len = 0;
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		out[len++] = (uint8_t)byte;
	return len;
}

// Parses in a block of exactly that size, so that the sanitizer sees every read beyond it; the
// block stays for the pointers of m and e.
static const uint8_t *exact(const void *data, uint32_t len)
{
	free(block);
	block = malloc(len ? len : 1);
	assert_non_null(block);
	memcpy(block, data, len);
	memset(&m, 0xee, sizeof(m));
	memset(&e, 0xee, sizeof(e));
	return block;
}

static bool parse(const void *data, uint32_t len)
{
	return dhcp6_parse(exact(data, len), len, &m);
}

static bool unwrap(const void *data, uint32_t len)
{
	return dhcp6_unwrap(exact(data, len), len, &e);
}

#define LITERAL(text) (text), sizeof(text) - 1
#define PARSE(text)   parse("\7\0\0\1" text, sizeof("\7\0\0\1" text) - 1)

#define assert_piece(text, piece)                                                                  \
	do {                                                                                       \
		assert_non_null((piece).data);                                                     \
		assert_int_equal((piece).len, sizeof(text) - 1);                                   \
		assert_memory_equal((piece).data, text, sizeof(text) - 1);                         \
	} while (0)

static const uint8_t address[16] = {0x20, 1, 0x0d, 0xb8, [15] = 0x10};
static const uint8_t prefix[16] = {0x20, 1, 0x0d, 0xb8, 0x80, 0, 2, 0};
static const uint8_t link_address[16] = {0x20, 1, 0x0d, 0xb8, [15] = 1};
static const uint8_t peer_address[16] = {0xfe, 0x80, [15] = 2};

static void a_captured_advertise_with_address_and_prefix_is_read(void **state)
{
	uint8_t data[512];

	assert_true(parse(data, from_hex(captured_both, data)));
	assert_int_equal(m.type, DHCP6_ADVERTISE);
	assert_int_equal(m.xid, 0);
	assert_int_equal(m.ia_count, 2);
	assert_int_equal(m.ias[0].type, DHCP6_OPT_IA_NA);
	assert_int_equal(m.ias[0].iaid, 1);
	assert_int_equal(m.ias[0].lease_count, 1);
	assert_memory_equal(
		m.ias[0].leases[0].address, "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\x10\2", 16);
	assert_int_equal(m.ias[0].leases[0].bits, 128);
	assert_int_equal(m.ias[0].leases[0].preferred_s, 2250);
	assert_int_equal(m.ias[0].leases[0].valid_s, 3600);
	assert_int_equal(m.ias[1].type, DHCP6_OPT_IA_PD);
	assert_int_equal(m.ias[1].lease_count, 1);
	assert_int_equal(m.ias[1].leases[0].bits, 56);
	assert_memory_equal(m.ias[1].leases[0].address, prefix, 16);
	assert_int_equal(m.ias[1].leases[0].valid_s, 3600);
	assert_piece("\0\1\0\1\x32\x94\x75\x88\0\x0c\1\2\3\4", m.client_id);
	assert_piece("\0\1\0\1\x32\x94\x75\x86\x82\xd5\x17\xbe\xe5\x98", m.server_id);
	assert_int_equal(m.preference, 7);
	assert_true(dhcp6_has(&m, DHCP6_OPT_DNS));
	assert_true(dhcp6_has(&m, DHCP6_OPT_DOMAIN_LIST));
	assert_false(dhcp6_has(&m, DHCP6_OPT_RAPID_COMMIT));
	assert_int_equal(m.status, DHCP6_STATUS_NONE);
}

static void a_captured_status_in_an_ia_is_read(void **state)
{
	uint8_t data[512];

	assert_true(parse(data, from_hex(captured_no_prefix, data)));
	assert_int_equal(m.xid, 6);
	assert_int_equal(m.ia_count, 2);
	assert_int_equal(m.ias[0].status, DHCP6_STATUS_NONE);
	assert_int_equal(m.ias[1].lease_count, 0);
	assert_int_equal(m.ias[1].status, DHCP6_NO_PREFIX_AVAIL);
	assert_piece("No prefixes available for this interface.", m.ias[1].message);
	assert_int_equal(m.status, DHCP6_STATUS_NONE);
}

static void a_captured_message_cut_anywhere_is_refused_or_whole(void **state)
{
	uint8_t data[512];
	uint32_t len = from_hex(captured_both, data), whole = 0, padded = 0;

	for (uint32_t cut = 0; cut < len; cut++) {
		bool right = parse(data, cut);

		whole += right;
		padded += right && m.notes.trailing;
	}
	// After the header, and after six of seven options. The first octet of the next one is like
	// padding.
	assert_int_equal(whole, 7 + 7);
	assert_int_equal(padded, 7);
}

static void write_everything(struct writer *w)
{
	const struct dhcp6_lease a = {.address = address,
		.preferred_s = 100,
		.valid_s = DHCP6_INFINITY,
		.status = DHCP6_NOT_ON_LINK};
	const struct dhcp6_lease p = {.address = prefix,
		.preferred_s = 1,
		.valid_s = 2,
		.bits = 56,
		.status = DHCP6_STATUS_NONE};
	uint8_t *ia;

	dhcp6_write_header(w, DHCP6_REPLY, 0xff123456);
	dhcp6_write_option(w, DHCP6_OPT_CLIENT_ID, "\0\3\0\1abcdef", 10);
	dhcp6_write_option(w, DHCP6_OPT_SERVER_ID, "\0\2\0\0\0\1x", 7);
	ia = dhcp6_ia_begin(w, DHCP6_OPT_IA_NA, 0x01020304, 50, 80);
	dhcp6_write_lease(w, DHCP6_OPT_IA_ADDRESS, &a);
	dhcp6_option_end(w, ia);
	ia = dhcp6_ia_begin(w, DHCP6_OPT_IA_TA, 5, 6, 7);
	dhcp6_write_status(w, DHCP6_NO_ADDRS_AVAIL, "none");
	dhcp6_option_end(w, ia);
	ia = dhcp6_ia_begin(w, DHCP6_OPT_IA_PD, 9, 10, 11);
	dhcp6_write_lease(w, DHCP6_OPT_IA_PREFIX, &p);
	dhcp6_option_end(w, ia);
	dhcp6_write_option(w, DHCP6_OPT_ORO, "\0\x52\0\x17", 4);
	dhcp6_write_option_u8(w, DHCP6_OPT_PREFERENCE, 255);
	dhcp6_write_option_be16(w, DHCP6_OPT_ELAPSED_TIME, 1234);
	dhcp6_write_option(w, DHCP6_OPT_UNICAST, address, 16);
	dhcp6_write_status(w, DHCP6_USE_MULTICAST, "why");
	dhcp6_write_option(w, DHCP6_OPT_RAPID_COMMIT, NULL, 0);
	dhcp6_write_option(w, DHCP6_OPT_RECONFIGURE_ACCEPT, NULL, 0);
	dhcp6_write_option_be32(w, DHCP6_OPT_REFRESH_TIME, 86400);
	dhcp6_write_option_be32(w, DHCP6_OPT_SOL_MAX_RT, 3600);
	dhcp6_write_option_be32(w, DHCP6_OPT_INF_MAX_RT, 7200);
	dhcp6_write_option(w, 4000, "xyz", 3);
}

// Bytes that tshark decodes as exactly this message.
static const char everything[] =
	"071234560001000a0003000161626364656600020007000200000001780003002e0102030400000032000000"
	"500005001e20010db800000000000000000000001000000064ffffffff000d000200040004000e0000000500"
	"0d000600026e6f6e6500190029000000090000000a0000000b001a001900000001000000023820010db88000"
	"02000000000000000000000600040052001700070001ff0008000204d2000c001020010db800000000000000"
	"0000000010000d00050005776879000e00000014000000200004000151800052000400000e10005300040000"
	"1c200fa0000378797a";

static void what_is_written_is_what_tshark_reads(void **state)
{
	uint8_t expected[512], bytes[512];
	uint32_t len = from_hex(everything, expected);
	struct writer w = writer_of(bytes, sizeof(bytes));

	write_everything(&w);
	assert_false(w.failed);
	assert_int_equal(w.at - bytes, len);
	assert_memory_equal(bytes, expected, len);
}

static void writing_beyond_the_room_fails_at_every_length(void **state)
{
	uint8_t bytes[512], *room;
	struct writer w = writer_of(bytes, sizeof(bytes));
	uint32_t len;

	write_everything(&w);
	len = (uint32_t)(w.at - bytes);
	for (uint32_t i = 0; i < len; i++) {
		room = malloc(i ? i : 1);
		w = writer_of(room, i);
		write_everything(&w);
		assert_true(w.failed);
		free(room);
	}
}

static void every_option_is_read(void **state)
{
	uint8_t data[512];

	assert_true(parse(data, from_hex(everything, data)));
	assert_int_equal(m.type, DHCP6_REPLY);
	assert_int_equal(m.xid, 0x123456);
	assert_piece("\0\3\0\1abcdef", m.client_id);
	assert_piece("\0\2\0\0\0\1x", m.server_id);
	assert_piece("\0\x52\0\x17", m.oro);
	assert_int_equal(m.preference, 255);
	assert_int_equal(m.elapsed, 1234);
	assert_memory_equal(m.unicast, address, 16);
	assert_int_equal(m.status, DHCP6_USE_MULTICAST);
	assert_piece("why", m.status_message);
	assert_int_equal(m.refresh_s, 86400);
	assert_int_equal(m.sol_max_rt_s, 3600);
	assert_int_equal(m.inf_max_rt_s, 7200);
	assert_int_equal(m.ias_ignored, 0);
}

static void every_ia_is_read(void **state)
{
	uint8_t data[512];

	assert_true(parse(data, from_hex(everything, data)));
	assert_int_equal(m.ia_count, 3);
	assert_int_equal(m.ias[0].type, DHCP6_OPT_IA_NA);
	assert_int_equal(m.ias[0].iaid, 0x01020304);
	assert_int_equal(m.ias[0].t1_s, 50);
	assert_int_equal(m.ias[0].t2_s, 80);
	assert_int_equal(m.ias[0].whole.len, 46);
	assert_int_equal(m.ias[0].status, DHCP6_STATUS_NONE);
	assert_int_equal(m.ias[0].leases[0].status, DHCP6_NOT_ON_LINK);
	assert_int_equal(m.ias[0].leases[0].preferred_s, 100);
	assert_int_equal(m.ias[0].leases[0].valid_s, DHCP6_INFINITY);
	assert_int_equal(m.ias[1].type, DHCP6_OPT_IA_TA);
	assert_int_equal(m.ias[1].iaid, 5);
	assert_int_equal(m.ias[1].t1_s, 0);
	assert_int_equal(m.ias[1].t2_s, 0);
	assert_int_equal(m.ias[1].lease_count, 0);
	assert_int_equal(m.ias[1].status, DHCP6_NO_ADDRS_AVAIL);
	assert_piece("none", m.ias[1].message);
	assert_int_equal(m.ias[2].type, DHCP6_OPT_IA_PD);
	assert_int_equal(m.ias[2].t1_s, 10);
	assert_int_equal(m.ias[2].t2_s, 11);
	assert_int_equal(m.ias[2].leases[0].bits, 56);
	assert_int_equal(m.ias[2].leases[0].status, DHCP6_STATUS_NONE);
	assert_memory_equal(m.ias[2].leases[0].address, prefix, 16);
}

static void present_tells_what_is_there_and_nothing_else(void **state)
{
	static const uint8_t there[] = {1, 2, 3, 4, 6, 7, 8, 12, 13, 14, 20, 25, 32, 82, 83};
	uint32_t count = 0;
	uint8_t data[512];

	assert_true(parse(data, from_hex(everything, data)));
	for (uint32_t i = 0; i < sizeof(there); i++)
		assert_true(dhcp6_has(&m, there[i]));
	for (uint32_t code = 0; code < 256; code++)
		count += dhcp6_has(&m, (uint8_t)code);
	assert_int_equal(count, sizeof(there));
}

static void what_is_absent_is_zero(void **state)
{
	assert_true(PARSE(""));
	assert_null(m.client_id.data);
	assert_null(m.server_id.data);
	assert_null(m.oro.data);
	assert_null(m.status_message.data);
	assert_null(m.unicast);
	assert_int_equal(m.status, DHCP6_STATUS_NONE);
	assert_int_equal(m.ia_count, 0);
	assert_int_equal(m.elapsed, 0);
	assert_int_equal(m.sol_max_rt_s, 0);
}

static void options_of_a_wrong_size_are_refused(void **state)
{
	assert_false(PARSE("\0\1\0\2ab"));  // DUID
	assert_false(PARSE("\0\6\0\3abc")); // ORO
	assert_false(PARSE("\0\7\0\2ab"));  // preference
	assert_false(PARSE("\0\7\0\0"));
	assert_false(PARSE("\0\x08\0\1a"));     // elapsed time
	assert_false(PARSE("\0\x0c\0\4abcd"));  // unicast
	assert_false(PARSE("\0\x0d\0\1a"));     // status
	assert_false(PARSE("\0\x0e\0\1a"));     // rapid commit
	assert_false(PARSE("\0\x14\0\1a"));     // reconfigure accept
	assert_false(PARSE("\0\x20\0\3abc"));   // refresh time
	assert_false(PARSE("\0\x52\0\5abcde")); // SOL_MAX_RT
	assert_false(PARSE("\0\x53\0\0"));      // INF_MAX_RT
	assert_false(PARSE("\0\3\0\x0b"
			   "abcdefghijk"));    // IA_NA
	assert_false(PARSE("\0\4\0\3abc"));    // IA_TA
	assert_false(PARSE("\0\x19\0\4abcd")); // IA_PD
	assert_true(PARSE("\0\4\0\4abcd"));
}

static void duids_have_3_to_130_bytes(void **state)
{
	uint8_t data[4 + 4 + 131] = {7, 0, 0, 1, 0, 1, 0, 0};

	for (uint32_t len = 0; len <= 131; len++) {
		data[7] = (uint8_t)len;
		assert_int_equal(parse(data, 8 + len), len >= 3 && len <= 130);
	}
}

#define TWICE(a, b)                                                                                \
	do {                                                                                       \
		assert_false(PARSE(a b));                                                          \
		assert_non_null(m.notes.broken);                                                   \
		assert_true(PARSE(a a));                                                           \
		assert_true(m.notes.repeats);                                                      \
		assert_true(PARSE(a));                                                             \
		assert_false(m.notes.repeats);                                                     \
	} while (0)

static void options_that_may_be_there_once_are_refused_twice_if_they_differ(void **state)
{
	TWICE("\0\1\0\3abc", "\0\1\0\3abd");
	TWICE("\0\2\0\3abc", "\0\2\0\4abcd");
	TWICE("\0\6\0\2ab", "\0\6\0\2ac");
	TWICE("\0\7\0\1a", "\0\7\0\1b");
	TWICE("\0\x08\0\2ab", "\0\x08\0\2bb");
	TWICE("\0\x0c\0\x10"
	      "abcdefghijklmnop",
		"\0\x0c\0\x10"
		"abcdefghijklmnoq");
	TWICE("\0\x0d\0\2ab", "\0\x0d\0\2ac");
	TWICE("\0\x0e\0\0", "\0\x0e\0\1a");
	TWICE("\0\x13\0\1a", "\0\x13\0\1b");
	TWICE("\0\x52\0\4abcd", "\0\x52\0\4abce");
	assert_true(PARSE("\0\x17\0\1a\0\x17\0\1b")); // not ours to judge
	assert_false(m.notes.repeats);
}

static void what_is_broken_has_a_reason(void **state)
{
	assert_false(PARSE("\0\1\0\4abc"));
	assert_string_equal(m.notes.broken, "an option runs beyond the end of its container");
	assert_false(PARSE("\0\1\0\2ab"));
	assert_string_equal(m.notes.broken, "an option has a wrong length (a DUID, perhaps)");
	assert_false(PARSE("\0\x0d\0\2ab\0\x0d\0\2ac"));
	assert_string_equal(m.notes.broken, "two different status codes (option 13)");
}

// Padding too short for an option; other clients ignore it.
static void a_few_octets_behind_the_last_option_are_passed_over(void **state)
{
	assert_true(PARSE("\0\1\0\3abc"));
	assert_false(m.notes.trailing);
	assert_true(PARSE("\0\1\0\3abc\0"));
	assert_true(m.notes.trailing);
	assert_true(PARSE("\0\1\0\3abc\0\0\0"));
	assert_true(m.notes.trailing);
	assert_int_equal(m.client_id.len, 3);
	assert_false(PARSE("\0\1\0\3abc\0\0\1"));
	assert_false(PARSE("\0\1\0\3abc\0\0\0\1"));
}

// Writes an IA_NA or IA_PD that repeats a lease this number of times.
static void write_ia(struct writer *w, uint16_t type, uint32_t leases)
{
	const struct dhcp6_lease l = {
		.address = address, .status = DHCP6_STATUS_NONE, .bits = 64, .valid_s = 9};
	uint8_t *ia = dhcp6_ia_begin(w, type, 1, 2, 3);

	for (uint32_t i = 0; i < leases; i++)
		dhcp6_write_lease(w, dhcp6_lease_code(type), &l);
	dhcp6_option_end(w, ia);
}

static void ias_and_leases_beyond_the_fixed_numbers_are_counted(void **state)
{
	uint8_t data[4096];
	struct writer w = writer_of(data, sizeof(data));

	dhcp6_write_header(&w, DHCP6_REPLY, 1);
	for (uint32_t i = 0; i < DHCP6_IAS_MAX + 3; i++)
		write_ia(&w, DHCP6_OPT_IA_NA, i);
	assert_true(parse(data, (uint32_t)(w.at - data)));
	assert_int_equal(m.ia_count, DHCP6_IAS_MAX);
	assert_int_equal(m.ias_ignored, 3);
	assert_int_equal(m.ias[4].lease_count, 4);
	assert_int_equal(m.ias[4].leases_ignored, 0);
	assert_int_equal(m.ias[7].lease_count, DHCP6_IA_LEASES_MAX);
	assert_int_equal(m.ias[7].leases_ignored, 3);
	assert_int_equal(m.ias[7].leases[3].valid_s, 9);
}

static void what_is_broken_beyond_the_fixed_numbers_is_refused_too(void **state)
{
	uint8_t data[4096];
	struct writer w = writer_of(data, sizeof(data));

	dhcp6_write_header(&w, DHCP6_REPLY, 1);
	for (uint32_t i = 0; i < DHCP6_IAS_MAX; i++)
		write_ia(&w, DHCP6_OPT_IA_PD, 1);
	dhcp6_write_option(&w, DHCP6_OPT_IA_PD, "abcd", 4);
	assert_false(parse(data, (uint32_t)(w.at - data)));
}

static void leases_that_run_over_their_ia_are_refused(void **state)
{
	uint8_t data[512];
	struct writer w = writer_of(data, sizeof(data));

	dhcp6_write_header(&w, DHCP6_REPLY, 1);
	write_ia(&w, DHCP6_OPT_IA_NA, 1);
	write_ia(&w, DHCP6_OPT_IA_PD, 1);
	assert_true(parse(data, (uint32_t)(w.at - data)));
	data[7] -= 1; // the first IA ends within its address
	assert_false(parse(data, (uint32_t)(w.at - data)));
	data[7] += 1;
	data[4 + 16 + 3] -= 1; // an address of 23 bytes
	assert_false(parse(data, (uint32_t)(w.at - data)));
}

static void a_prefix_longer_than_128_bits_is_refused(void **state)
{
	uint8_t data[512];
	struct writer w = writer_of(data, sizeof(data));

	dhcp6_write_header(&w, DHCP6_REPLY, 1);
	write_ia(&w, DHCP6_OPT_IA_PD, 1);
	data[4 + 16 + 4 + 8] = 128;
	assert_true(parse(data, (uint32_t)(w.at - data)));
	assert_int_equal(m.ias[0].leases[0].bits, 128);
	data[4 + 16 + 4 + 8] = 129;
	assert_false(parse(data, (uint32_t)(w.at - data)));
}

static void leases_of_the_other_kind_are_passed_over(void **state)
{
	uint8_t data[512];
	struct writer w = writer_of(data, sizeof(data));

	dhcp6_write_header(&w, DHCP6_REPLY, 1);
	write_ia(&w, DHCP6_OPT_IA_NA, 1);
	data[4 + 1] = DHCP6_OPT_IA_PD; // with an address in it
	assert_true(parse(data, (uint32_t)(w.at - data)));
	assert_int_equal(m.ias[0].type, DHCP6_OPT_IA_PD);
	assert_int_equal(m.ias[0].lease_count, 0);
}

// Writes a SOLICIT behind this number of relays, innermost hop count 0.
static uint32_t relayed(uint8_t *data, uint32_t room, uint32_t levels, uint8_t type)
{
	struct writer w = writer_of(data, room);
	uint8_t *begins[16];

	for (uint32_t i = 0; i < levels; i++) {
		dhcp6_write_relay(&w, type, (uint8_t)(levels - 1 - i), link_address, peer_address);
		dhcp6_write_option(&w, DHCP6_OPT_INTERFACE_ID, "eth0", 4);
		begins[i] = dhcp6_option_begin(&w, DHCP6_OPT_RELAY_MESSAGE);
	}
	dhcp6_write_header(&w, DHCP6_SOLICIT, 0xabcdef);
	for (uint32_t i = levels; i-- > 0;)
		dhcp6_option_end(&w, begins[i]);
	assert_false(w.failed);
	return (uint32_t)(w.at - data);
}

static void relay_messages_are_taken_off_outermost_first(void **state)
{
	uint8_t data[1024];
	uint32_t xid;

	for (uint32_t levels = 0; levels <= DHCP6_LEVELS_MAX; levels++) {
		uint32_t len = relayed(data, sizeof(data), levels, DHCP6_RELAY_FORW);

		assert_true(unwrap(data, len));
		assert_int_equal(e.levels, levels);
		for (uint32_t i = 0; i < levels; i++) {
			assert_int_equal(e.relays[i].type, DHCP6_RELAY_FORW);
			assert_int_equal(e.relays[i].hop_count, levels - 1 - i);
			assert_memory_equal(e.relays[i].link, link_address, 16);
			assert_memory_equal(e.relays[i].peer, peer_address, 16);
			assert_piece("eth0", e.relays[i].interface_id);
			assert_null(e.relays[i].remote_id.data);
		}
		assert_int_equal(e.inner_len, 4);
		assert_memory_equal(e.inner, "\1\xab\xcd\xef", 4);
		assert_true(dhcp6_xid(block, len, DHCP6_RELAY_FORW, &xid));
		assert_int_equal(xid, 0xabcdef);
		assert_int_equal(dhcp6_xid(block, len, DHCP6_RELAY_REPL, &xid), levels == 0);
	}
}

static void nine_levels_are_refused(void **state)
{
	uint8_t data[1024];
	uint32_t xid, len = relayed(data, sizeof(data), 9, DHCP6_RELAY_REPL);

	assert_false(unwrap(data, len));
	assert_false(dhcp6_xid(block, len, DHCP6_RELAY_REPL, &xid));
}

static void a_relayed_message_cut_anywhere_is_refused(void **state)
{
	uint8_t data[1024];
	uint32_t xid, len = relayed(data, sizeof(data), 3, DHCP6_RELAY_REPL);

	for (uint32_t cut = 1; cut < len; cut++) {
		assert_false(unwrap(data, cut));
		assert_false(dhcp6_xid(block, cut, DHCP6_RELAY_REPL, &xid));
	}
	assert_true(unwrap(data, 0));
	assert_int_equal(e.inner_len, 0);
}

static void relays_of_two_types_are_refused(void **state)
{
	uint8_t data[1024];
	uint32_t len = relayed(data, sizeof(data), 2, DHCP6_RELAY_FORW);

	data[DHCP6_RELAY_LEN + 8 + DHCP6_OPTION_LEN] = DHCP6_RELAY_REPL;
	assert_false(unwrap(data, len));
}

static void every_option_of_a_relay_is_read(void **state)
{
	struct dhcp6_relay r;
	uint8_t data[512];
	struct writer w = writer_of(data, sizeof(data));
	uint32_t len;

	dhcp6_write_relay(&w, DHCP6_RELAY_FORW, 31, link_address, peer_address);
	dhcp6_write_option(&w, DHCP6_OPT_REMOTE_ID, "\0\0\1\2remote", 10);
	dhcp6_write_option(&w, DHCP6_OPT_SUBSCRIBER_ID, "sub", 3);
	dhcp6_write_option(&w, DHCP6_OPT_CLIENT_LINK_LAYER, "\0\1abcdef", 8);
	dhcp6_write_option_be16(&w, DHCP6_OPT_RELAY_PORT, 0x1234);
	dhcp6_write_option(&w, 53, "relay", 5);
	dhcp6_write_option(&w, DHCP6_OPT_INTERFACE_ID, "", 0);
	dhcp6_write_option(&w, DHCP6_OPT_RELAY_MESSAGE, "\1\0\0\1", 4);
	len = (uint32_t)(w.at - data);
	assert_true(dhcp6_parse_relay(exact(data, len), len, &r));
	assert_int_equal(r.hop_count, 31);
	assert_piece("\0\0\1\2remote", r.remote_id);
	assert_piece("sub", r.subscriber_id);
	assert_piece("\0\1abcdef", r.link_layer);
	assert_piece("\x12\x34", r.port);
	assert_piece("", r.interface_id);
	assert_piece("\1\0\0\1", r.message);
	assert_false(dhcp6_parse_relay(exact(data, len - 8), len - 8, &r)); // nothing in it
	assert_non_null(strstr(r.notes.broken, "without a message"));
	dhcp6_write_option(&w, DHCP6_OPT_INTERFACE_ID, "", 0);
	assert_true(dhcp6_parse_relay(exact(data, len + 4), len + 4, &r));
	assert_true(r.notes.repeats);
	data[len + 3] = 1; // repeated with another value
	assert_false(dhcp6_parse_relay(exact(data, len + 5), len + 5, &r));
}

static void a_relay_message_is_not_one_of_a_client(void **state)
{
	uint8_t data[1024];
	uint32_t len = relayed(data, sizeof(data), 1, DHCP6_RELAY_FORW);

	assert_false(parse(data, len));
	assert_int_equal(m.type, DHCP6_RELAY_FORW);
}

static void an_option_too_long_for_its_length_fails(void **state)
{
	static uint8_t data[70000], bytes[70000];
	struct writer w = writer_of(data, sizeof(data));

	dhcp6_write_option(&w, 17, bytes, UINT16_MAX);
	assert_false(w.failed);
	w = writer_of(data, sizeof(data));
	dhcp6_write_option(&w, 17, bytes, UINT16_MAX + 1);
	assert_true(w.failed);
}

static void options_are_found_where_they_are(void **state)
{
	uint8_t data[512];
	uint32_t len = from_hex(captured_both, data);

	assert_int_equal(dhcp6_find_option(data, 4, len, DHCP6_OPT_IA_NA), 4);
	assert_int_equal(dhcp6_find_option(data, 4, len, DHCP6_OPT_IA_PD), 48);
	assert_int_equal(dhcp6_find_option(data, 64, 64 + 29, DHCP6_OPT_IA_PREFIX), 64);
	assert_int_equal(dhcp6_find_option(data, 4, len, DHCP6_OPT_IA_TA), 0);
	assert_int_equal(dhcp6_find_option(data, 4, 50, DHCP6_OPT_IA_PD), 0);
	assert_int_equal(dhcp6_find_option(data, len, len, 0), 0);
}

static void types_and_statuses_have_names(void **state)
{
	assert_string_equal(dhcp6_type_name(DHCP6_INFORMATION), "INFORMATION-REQUEST");
	assert_string_equal(dhcp6_status_name(DHCP6_NO_BINDING), "NoBinding");
	for (uint32_t i = 1; i < DHCP6_TYPES; i++)
		assert_non_null(dhcp6_type_name(i));
	for (uint32_t i = 0; i < DHCP6_STATUSES; i++)
		assert_non_null(dhcp6_status_name(i));
	assert_null(dhcp6_type_name(0));
	assert_null(dhcp6_type_name(DHCP6_TYPES));
	assert_null(dhcp6_status_name(DHCP6_STATUS_NONE));
}

static int release(void **state)
{
	free(block);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_captured_advertise_with_address_and_prefix_is_read),
		cmocka_unit_test(a_captured_status_in_an_ia_is_read),
		cmocka_unit_test(a_captured_message_cut_anywhere_is_refused_or_whole),
		cmocka_unit_test(what_is_written_is_what_tshark_reads),
		cmocka_unit_test(writing_beyond_the_room_fails_at_every_length),
		cmocka_unit_test(every_option_is_read),
		cmocka_unit_test(every_ia_is_read),
		cmocka_unit_test(present_tells_what_is_there_and_nothing_else),
		cmocka_unit_test(what_is_absent_is_zero),
		cmocka_unit_test(options_of_a_wrong_size_are_refused),
		cmocka_unit_test(duids_have_3_to_130_bytes),
		cmocka_unit_test(options_that_may_be_there_once_are_refused_twice_if_they_differ),
		cmocka_unit_test(what_is_broken_has_a_reason),
		cmocka_unit_test(a_few_octets_behind_the_last_option_are_passed_over),
		cmocka_unit_test(ias_and_leases_beyond_the_fixed_numbers_are_counted),
		cmocka_unit_test(what_is_broken_beyond_the_fixed_numbers_is_refused_too),
		cmocka_unit_test(leases_that_run_over_their_ia_are_refused),
		cmocka_unit_test(a_prefix_longer_than_128_bits_is_refused),
		cmocka_unit_test(leases_of_the_other_kind_are_passed_over),
		cmocka_unit_test(relay_messages_are_taken_off_outermost_first),
		cmocka_unit_test(nine_levels_are_refused),
		cmocka_unit_test(a_relayed_message_cut_anywhere_is_refused),
		cmocka_unit_test(relays_of_two_types_are_refused),
		cmocka_unit_test(every_option_of_a_relay_is_read),
		cmocka_unit_test(a_relay_message_is_not_one_of_a_client),
		cmocka_unit_test(an_option_too_long_for_its_length_fails),
		cmocka_unit_test(options_are_found_where_they_are),
		cmocka_unit_test(types_and_statuses_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, release);
}
