// SPDX-License-Identifier: BSD-3-Clause
// Templates: the output of each name, the errors for invalid ones, and that lengths are kept.
// Path: tests only.

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/addr.h"
#include "base/pattern.h"

static struct arena *arena;
static struct pattern pattern;
static char what[256];

static const struct pattern_values values = {.client = 7081,
	.seed = 42,
	.mac = (const uint8_t[]){0x02, 0xab, 0, 0x0c, 0x10, 0xff},
	.relay = (const uint8_t[]){10, 0, 255, 1},
	.address = (const uint8_t[]){192, 168, 100, 200}};

static int compile(enum pattern_kind kind, const char *text, uint64_t clients)
{
	const struct pattern_clients all = {clients, 6, 4, NULL, NULL};

	what[0] = 0;
	return pattern_compile(&pattern, kind, text, &all, arena, what, sizeof(what));
}

static uint32_t write_values(const struct pattern_values *v, uint8_t *out, uint32_t room)
{
	struct writer w = writer_of(out, room);

	pattern_write(&pattern, v, &w);
	assert_false(w.failed);
	return (uint32_t)(w.at - out);
}

static void assert_written(enum pattern_kind kind, const char *text, const char *wanted, size_t len)
{
	uint8_t out[256];

	assert_int_equal(compile(kind, text, 10000), 0);
	assert_int_equal(write_values(&values, out, sizeof(out)), len);
	assert_memory_equal(out, wanted, len);
	assert_true(pattern.max_len >= len);
}

#define TEXT(text, wanted) assert_written(PATTERN_TEXT, text, wanted, sizeof(wanted) - 1)
#define HEX(text, wanted)  assert_written(PATTERN_HEX, text, wanted, sizeof(wanted) - 1)

static void text_stays_as_it_is(void **state)
{
	TEXT("", "");
	TEXT("x", "x");
	TEXT("MSFT 5.0 \xc3\xa4:}", "MSFT 5.0 \xc3\xa4:}");
	TEXT("{{", "{");
	TEXT("{{client}", "{client}");
	TEXT("a{{{{b", "a{{b");
	TEXT("{{{client}}", "{7081}");
}

static void text_names_are_replaced(void **state)
{
	TEXT("host-{client}", "host-7081");
	TEXT("{client}{client}.x", "70817081.x");
	TEXT("{mac}", "02:ab:00:0c:10:ff");
	TEXT("<{relay}>", "<10.0.255.1>");
	TEXT("{address}/32", "192.168.100.200/32");
}

static void a_width_pads_with_zeros_or_cuts_at_the_front(void **state)
{
	TEXT("{client:1}", "1");
	TEXT("{client:2}", "81");
	TEXT("{client:3}", "081");
	TEXT("{client:4}", "7081");
	TEXT("{client:6}", "007081");
	TEXT("{client:06}", "007081");
	TEXT("{client:20}", "00000000000000007081");
	TEXT("{client:01x}", "9");
	TEXT("{client:03x}", "ba9");
	TEXT("{client:04x}", "1ba9");
	TEXT("{client:08x}", "00001ba9");
	TEXT("{client:016x}", "0000000000001ba9");
}

static void the_largest_number_has_room(void **state)
{
	struct pattern_values v = values;
	uint8_t out[64];

	v.client = UINT64_MAX;
	assert_int_equal(compile(PATTERN_TEXT, "{client} {client:20}", UINT64_MAX), 0);
	assert_int_equal(write_values(&v, out, sizeof(out)), 41);
	assert_memory_equal(out, "18446744073709551615 18446744073709551615", 41);
	v.client = 0;
	assert_int_equal(write_values(&v, out, sizeof(out)), 22);
	assert_memory_equal(out, "0 00000000000000000000", 22);
}

static void hex_is_pairs_with_anything_between(void **state)
{
	HEX("", "");
	HEX(" :\t\r\n", "");
	HEX("00ff12", "\0\xff\x12");
	HEX("0a:Fb 9C\t:00", "\x0a\xfb\x9c\0");
}

static void hex_names_give_bytes(void **state)
{
	HEX("{client}", "\0\0\x1b\xa9");
	HEX("{client:1}", "\xa9");
	HEX("{client:2}", "\x1b\xa9");
	HEX("ff{client:8}", "\xff\0\0\0\0\0\0\x1b\xa9");
	HEX("01 {mac}", "\1\2\xab\0\x0c\x10\xff");
	HEX("{relay}:{address}", "\x0a\0\xff\1\xc0\xa8\x64\xc8");
}

static void flags_say_what_a_pattern_has(void **state)
{
	static const struct {
		enum pattern_kind kind;
		const char *text;
		bool fixed, relay;
	} rows[] = {
		{PATTERN_TEXT, "", true, false},
		{PATTERN_TEXT, "a{{relay}", true, false},
		{PATTERN_TEXT, "{client}", false, false},
		{PATTERN_TEXT, "a{relay}", false, true},
		{PATTERN_HEX, "00ff", true, false},
		{PATTERN_HEX, "00{mac}", false, false},
		{PATTERN_HEX, "{relay}00", false, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(compile(rows[i].kind, rows[i].text, 1), 0);
		assert_int_equal(pattern.fixed, rows[i].fixed);
		assert_int_equal(pattern.relay, rows[i].relay);
		assert_int_equal(pattern.kind, rows[i].kind);
	}
}

static void literals_beside_each_other_are_one_piece(void **state)
{
	assert_int_equal(compile(PATTERN_TEXT, "ab{{cd{mac}ef{{", 1), 0);
	assert_int_equal(pattern.count, 3);
	assert_int_equal(compile(PATTERN_HEX, "00:01 02", 1), 0);
	assert_int_equal(pattern.count, 1);
}

static void max_len_is_reached_and_never_exceeded(void **state)
{
	static const uint8_t mac[6], longest[4] = {255, 255, 255, 255};
	static const char *const texts[] = {"{client}", "a{client}-{client:3}", "{client:08x}",
		"{mac}{relay}{address}", "{random:7}{client}"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		for (uint64_t clients = 1; clients < 1002; clients += clients < 12 ? 1 : 33) {
			struct pattern_values v = {
				.mac = mac, .relay = longest, .address = longest};
			uint32_t len = 0;
			uint8_t out[100];

			assert_int_equal(compile(PATTERN_TEXT, texts[i], clients), 0);
			for (v.client = 0; v.client < clients; v.client++)
				len = write_values(&v, out, pattern.max_len);
			assert_int_equal(len, pattern.max_len);
		}
	}
}

static void max_len_of_hex_is_its_length(void **state)
{
	uint8_t out[64];

	assert_int_equal(compile(PATTERN_HEX, "00{client}{mac}{relay}{address}{random:9}", 5), 0);
	assert_int_equal(pattern.max_len, 28);
	assert_int_equal(write_values(&values, out, sizeof(out)), 28);
}

static void ipv6_addresses_are_written_as_rfc_5952_wants(void **state)
{
	static const char *const texts[] = {"::", "::1", "2001:db8::1", "2001:db8:0:1:1:1:1:1",
		"2001:0:0:1::1", "1:2:3:4:5:6:7:8", "fe80::ff:fe00:1",
		"1::", "a0:b:c00:d000::", "0:1:2:3:4:5:6:7", "1:0:0:2:0:0:0:3",
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::3:4:5:6:7:8", "1:2:3::6:7:8",
		"1:2:3:4:5:6::", "1::4:0:0:7:8", "10:100:1000:1:f:ff:fff:ffff"};
	const struct pattern_clients scope = {10, 6, 16};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct pattern_values v = values;
		uint8_t out[80];
		struct addr a;
		const char *why;
		char wanted[ADDR_TEXT_SIZE];

		assert_int_equal(addr_parse(texts[i], &a, &why), 0);
		v.relay = v.address = a.bytes;
		addr_format(&a, wanted, sizeof(wanted));
		assert_int_equal(pattern_compile(&pattern, PATTERN_TEXT, "{relay}", &scope, arena,
					 what, sizeof(what)),
			0);
		assert_int_equal(pattern.max_len, 39);
		assert_int_equal(write_values(&v, out, sizeof(out)), strlen(wanted));
		assert_memory_equal(out, wanted, strlen(wanted));
		assert_int_equal(pattern_compile(&pattern, PATTERN_HEX, "{address}", &scope, arena,
					 what, sizeof(what)),
			0);
		assert_int_equal(write_values(&v, out, sizeof(out)), 16);
		assert_memory_equal(out, a.bytes, 16);
	}
}

static void clients_are_at_least_one(void **state)
{
	assert_int_equal(compile(PATTERN_TEXT, "{client}", 0), 0);
	assert_int_equal(pattern.max_len, 1);
}

static void too_little_room_fails_the_writer(void **state)
{
	uint32_t len;
	uint8_t out[256];

	assert_int_equal(
		compile(PATTERN_TEXT,
			"a{client}{client:3}{client:04x}{mac}{relay}{address}{random:9}", 10000),
		0);
	len = write_values(&values, out, sizeof(out));
	for (uint32_t room = 0; room < len; room++) {
		uint8_t *exact = malloc(room + 1);
		struct writer w = writer_of(exact, room);

		assert_non_null(exact);
		pattern_write(&pattern, &values, &w);
		assert_true(w.failed);
		free(exact);
	}
}

// Two lines of two columns: "ab:Cd", "name" and "", "x".
static const uint32_t table_at[] = {0, 5, 9, 9, 10}, table_longest[] = {5, 4};
static const struct pattern_table table = {
	(const uint8_t *)"ab:Cdnamex", table_at, 2, 2, table_longest};

static uint32_t file_write(enum pattern_kind kind, const char *text, uint64_t client, uint8_t *out)
{
	const struct pattern_clients all = {10, 6, 4, &table, NULL};
	struct pattern_values v = {.client = client};

	assert_int_equal(pattern_compile(&pattern, kind, text, &all, arena, what, sizeof(what)), 0);
	return write_values(&v, out, 64);
}

static void vlans_are_numbers_in_text_and_two_bytes_in_hex(void **state)
{
	struct pattern_values v = {.vlans = {100, 4094}};
	uint8_t out[64];

	assert_int_equal(compile(PATTERN_TEXT, "{outer}.{inner}.{vlan}", 1), 0);
	assert_int_equal(write_values(&v, out, sizeof(out)), 13);
	assert_memory_equal(out, "100.4094.4094", 13);
	assert_int_equal(compile(PATTERN_HEX, "{outer}{inner}{vlan}", 1), 0);
	assert_int_equal(write_values(&v, out, sizeof(out)), 6);
	assert_memory_equal(out, "\x00\x64\x0f\xfe\x0f\xfe", 6);
	v.vlans.inner = 0;
	assert_int_equal(compile(PATTERN_TEXT, "{vlan}", 1), 0);
	assert_int_equal(write_values(&v, out, sizeof(out)), 3);
	assert_memory_equal(out, "100", 3);
	assert_int_equal(compile(PATTERN_TEXT, "{vlan:2}", 1), -EINVAL);
}

static void columns_of_a_file_are_those_of_the_client(void **state)
{
	uint8_t out[64];

	assert_int_equal(file_write(PATTERN_TEXT, "<{file:2}>", 0, out), 6);
	assert_memory_equal(out, "<name>", 6);
	assert_int_equal(pattern.max_len, 6);
	assert_false(pattern.fixed);
	assert_int_equal(file_write(PATTERN_TEXT, "{file:1}{file:2}", 1, out), 1);
	assert_int_equal(out[0], 'x');
	assert_int_equal(file_write(PATTERN_TEXT, "{file:2}", 2, out), 0); // without a line
	assert_int_equal(file_write(PATTERN_HEX, "00{file:1}", 0, out), 3);
	assert_memory_equal(out, "\0\xab\xcd", 3);
	assert_int_equal(file_write(PATTERN_HEX, "00{file:1}", 1, out), 1);
}

static void columns_that_are_not_there_are_refused(void **state)
{
	static const struct {
		enum pattern_kind kind;
		const char *text, *why;
		const struct pattern_table *table;
	} bad[] = {{PATTERN_TEXT, "{file:1}", "needs a client_file", NULL},
		{PATTERN_TEXT, "{file:3}", "the file has 2 columns", &table},
		{PATTERN_TEXT, "{file:0}", "number of a column", &table},
		{PATTERN_TEXT, "{file}", "number of a column", &table},
		{PATTERN_HEX, "{file:2}", "the field of client 0 is not pairs", &table}};

	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct pattern_clients all = {10, 6, 4, bad[i].table, NULL};

		assert_int_equal(pattern_compile(&pattern, bad[i].kind, bad[i].text, &all, arena,
					 what, sizeof(what)),
			-EINVAL);
		assert_non_null(strstr(what, bad[i].why));
	}
}

static void random_stays_the_same_for_a_seed(void **state)
{
	uint8_t first[64], again[64];
	struct pattern_values v = values;

	assert_int_equal(compile(PATTERN_TEXT, "{random:32}", 10), 0);
	write_values(&v, first, sizeof(first));
	v.client++;
	write_values(&v, again, sizeof(again));
	assert_memory_equal(first, again, 32);
	v.seed++;
	write_values(&v, again, sizeof(again));
	assert_memory_not_equal(first, again, 32);
}

// Known values: a later version must not change values that lease files or servers have.
static void random_is_the_same_in_every_version(void **state)
{
	TEXT("{random:12}", "w0ud8gqk9yll");
	HEX("{random:10}", "\x41\x79\x03\x05\x64\xca\xb0\xa1\x75\xf7");
}

static void two_randoms_of_a_pattern_differ(void **state)
{
	uint8_t out[64];

	assert_int_equal(compile(PATTERN_TEXT, "{random:16}{random:16}", 10), 0);
	assert_int_equal(write_values(&values, out, sizeof(out)), 32);
	assert_memory_not_equal(out, out + 16, 16);
}

// 36 letters, 36000 draws: each is there 1000 times, within 6 standard deviations.
static void random_letters_are_evenly_spread(void **state)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	uint32_t seen[256] = {0}, sum = 0;
	struct pattern_values v = values;
	uint8_t out[36];

	assert_int_equal(compile(PATTERN_TEXT, "{random:36}", 1000), 0);
	for (v.seed = 0; v.seed < 1000; v.seed++) {
		assert_int_equal(write_values(&v, out, sizeof(out)), 36);
		for (uint32_t i = 0; i < sizeof(out); i++)
			seen[out[i]]++;
	}
	for (uint32_t i = 0; i < 36; i++) {
		assert_in_range(seen[(uint8_t)letters[i]], 810, 1190);
		sum += seen[(uint8_t)letters[i]];
	}
	assert_int_equal(sum, 36000);
}

static void consecutive_seeds_give_different_clients(void **state)
{
	uint64_t all[1000];
	struct pattern_values v = values;

	assert_int_equal(compile(PATTERN_HEX, "{random:8}", 1000), 0);
	for (v.seed = 0; v.seed < 1000; v.seed++) {
		write_values(&v, (uint8_t *)&all[v.seed], 8);
		for (uint32_t i = 0; i < v.seed; i++)
			assert_true(all[i] != all[v.seed]);
	}
}

#define TEXT_NAMES                                                                                 \
	" is not {client}, {client:N}, {client:0Nx}, {mac}, {relay}, {address}, {vlan}, {outer}, " \
	"{inner}, {random:N} or {file:N} "                                                         \
	"(like host-{client}; a brace itself is {{)"
#define HEX_NAMES                                                                                  \
	"{client}, {client:N}, {mac}, {relay}, {address}, {vlan}, {outer}, {inner}, {random:N} "   \
	"or "                                                                                      \
	"{file:N} (like ff{client:4}{mac})"
#define CLIENT_TEXT                                                                                \
	" is not {client:N} with 1 to 20 digits or {client:0Nx} with 1 to 16 (like {client:04x})"
#define CLIENT_HEX " is not {client:N} with 1 to 8 bytes (like {client:4})"
#define RANDOM     " is not {random:N} with 1 to 255 characters or bytes (like {random:8})"
#define OPEN       "an open brace without its end"
#define BRACE      " (a brace itself is {{)"

static void a_bad_text_is_told_what_is_allowed(void **state)
{
	static const char *const rows[][2] = {
		{"{", OPEN BRACE},
		{"a{client", OPEN BRACE},
		{"a{client{{", OPEN BRACE},
		{"{{{", OPEN BRACE},
		{"{}", "{}" TEXT_NAMES},
		{"{:4}", "{:4}" TEXT_NAMES},
		{"{clients}", "{clients}" TEXT_NAMES},
		{"{clien}", "{clien}" TEXT_NAMES},
		{"{CLIENT}", "{CLIENT}" TEXT_NAMES},
		{"{ client}", "{ client}" TEXT_NAMES},
		{"{mac:6}", "{mac:6}" TEXT_NAMES},
		{"{relay:1}", "{relay:1}" TEXT_NAMES},
		{"{address:}", "{address:}" TEXT_NAMES},
		{"{a name that is too long to be shown}",
			"{a name that is too long to be sh...}" TEXT_NAMES},
		{"{client:}", "{client:}" CLIENT_TEXT},
		{"{client:0}", "{client:0}" CLIENT_TEXT},
		{"{client:21}", "{client:21}" CLIENT_TEXT},
		{"{client:4294967297}", "{client:4294967297}" CLIENT_TEXT},
		{"{client:-1}", "{client:-1}" CLIENT_TEXT},
		{"{client:x}", "{client:x}" CLIENT_TEXT},
		{"{client:0x}", "{client:0x}" CLIENT_TEXT},
		{"{client:4x}", "{client:4x}" CLIENT_TEXT},
		{"{client:017x}", "{client:017x}" CLIENT_TEXT},
		{"{client:04X}", "{client:04X}" CLIENT_TEXT},
		{"{client:4:4}", "{client:4:4}" CLIENT_TEXT},
		{"{random}", "{random}" RANDOM},
		{"{random:}", "{random:}" RANDOM},
		{"{random:0}", "{random:0}" RANDOM},
		{"{random:256}", "{random:256}" RANDOM},
		{"{random:8x}", "{random:8x}" RANDOM},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(compile(PATTERN_TEXT, rows[i][0], 10), -EINVAL);
		assert_string_equal(what, rows[i][1]);
	}
}

static void bad_hex_is_told_what_is_allowed(void **state)
{
	static const char *const rows[][2] = {
		{"0", "half a byte '0': hex digits stand in pairs (like 0a:ff)"},
		{"00:1", "half a byte '1': hex digits stand in pairs (like 0a:ff)"},
		{"0:0", "half a byte '0': hex digits stand in pairs (like 0a:ff)"},
		{"0{mac}", "half a byte '0': hex digits stand in pairs (like 0a:ff)"},
		{"0x12", "half a byte '0': hex digits stand in pairs (like 0a:ff)"},
		{"g0", "'g' is not a hex digit or one of " HEX_NAMES},
		{"00-11", "'-' is not a hex digit or one of " HEX_NAMES},
		{"00}", "'}' is not a hex digit or one of " HEX_NAMES},
		{"\xc3\xa4", "byte 0xc3 is not a hex digit"},
		{"\1", "byte 0x01 is not a hex digit"},
		{"{{", OPEN},
		{"{mac", OPEN},
		{"{host}", "{host} is not " HEX_NAMES},
		{"{client:04x}", "{client:04x}" CLIENT_HEX},
		{"{client:0}", "{client:0}" CLIENT_HEX},
		{"{client:9}", "{client:9}" CLIENT_HEX},
		{"{client:}", "{client:}" CLIENT_HEX},
		{"{random}", "{random}" RANDOM},
		{"{random:256}", "{random:256}" RANDOM},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(compile(PATTERN_HEX, rows[i][0], 10), -EINVAL);
		assert_string_equal(what, rows[i][1]);
	}
}

static void a_complaint_is_cut_to_its_room(void **state)
{
	const struct pattern_clients one = {1, 6, 4};
	char *small = malloc(8);

	assert_non_null(small);
	assert_int_equal(
		pattern_compile(&pattern, PATTERN_TEXT, "{bad}", &one, arena, small, 8), -EINVAL);
	assert_string_equal(small, "{bad} i");
	free(small);
}

static void a_very_long_text_is_refused(void **state)
{
	char *text = malloc(65537);

	assert_non_null(text);
	memset(text, 'a', 65536);
	text[65536] = 0;
	assert_int_equal(compile(PATTERN_TEXT, text, 1), -EINVAL);
	assert_string_equal(what, "longer than 65535 characters");
	text[65535] = 0;
	assert_int_equal(compile(PATTERN_TEXT, text, 1), 0);
	assert_int_equal(pattern.max_len, 65535);
	assert_int_equal(pattern.pieces[0].width, 65535);
	free(text);
}

static int arena_start(void **state)
{
	arena = arena_new();
	return 0;
}

static int arena_end(void **state)
{
	arena_free(arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_stays_as_it_is),
		cmocka_unit_test(text_names_are_replaced),
		cmocka_unit_test(a_width_pads_with_zeros_or_cuts_at_the_front),
		cmocka_unit_test(the_largest_number_has_room),
		cmocka_unit_test(hex_is_pairs_with_anything_between),
		cmocka_unit_test(hex_names_give_bytes),
		cmocka_unit_test(flags_say_what_a_pattern_has),
		cmocka_unit_test(literals_beside_each_other_are_one_piece),
		cmocka_unit_test(max_len_is_reached_and_never_exceeded),
		cmocka_unit_test(max_len_of_hex_is_its_length),
		cmocka_unit_test(ipv6_addresses_are_written_as_rfc_5952_wants),
		cmocka_unit_test(clients_are_at_least_one),
		cmocka_unit_test(too_little_room_fails_the_writer),
		cmocka_unit_test(vlans_are_numbers_in_text_and_two_bytes_in_hex),
		cmocka_unit_test(columns_of_a_file_are_those_of_the_client),
		cmocka_unit_test(columns_that_are_not_there_are_refused),
		cmocka_unit_test(random_stays_the_same_for_a_seed),
		cmocka_unit_test(random_is_the_same_in_every_version),
		cmocka_unit_test(two_randoms_of_a_pattern_differ),
		cmocka_unit_test(random_letters_are_evenly_spread),
		cmocka_unit_test(consecutive_seeds_give_different_clients),
		cmocka_unit_test(a_bad_text_is_told_what_is_allowed),
		cmocka_unit_test(bad_hex_is_told_what_is_allowed),
		cmocka_unit_test(a_complaint_is_cut_to_its_room),
		cmocka_unit_test(a_very_long_text_is_refused),
	};

	return cmocka_run_group_tests(tests, arena_start, arena_end);
}
