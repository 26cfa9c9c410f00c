// SPDX-License-Identifier: BSD-3-Clause
// Walking messages: real ones in full, broken ones without a read beyond the end or a loop.
// Path: tests only.

#include "base/bytes.h"
#include "dns_fixture.h"

// Replies of Knot DNS 3.2.6.
static const char *const captured[] = {
	// www.example.com A
	"12348500000100010000000003777777076578616d706c6503636f6d0000010001c00c0001000100000e10"
	"0004c0000250",
	// example.com MX
	"123485000001000100000001076578616d706c6503636f6d00000f0001c00c000f000100000e100009000a"
	"046d61696cc00cc02b0001000100000e100004c0000219",
	// alias.example.com A
	"12348500000100020000000005616c696173076578616d706c6503636f6d0000010001c00c000500010000"
	"0e10000603777777c012c02f0001000100000e100004c0000250",
	// none.example.com A, EDNS
	"123485030001000000010001046e6f6e65076578616d706c6503636f6d0000010001c01100060001000001"
	"2c0027036e7331c0110a686f73746d6173746572c0110000000100000e1000000258000151800000012c00"
	"002904d0000000000000",
	// www.example.com A, EDNS with NSID
	"12348500000100010000000103777777076578616d706c6503636f6d0000010001c00c0001000100000e10"
	"0004c000025000002904d000000000000a000300066b6e6f742d61",
	// www.example.com A with a cookie: BADCOOKIE
	"12348107000100000000000103777777076578616d706c6503636f6d000001000100002904d00100000000"
	"1c000a00186162636465666768010000006b0099d275443f97b3b79dc1",
};

// Walks a block of exactly that size, so that the sanitizer sees every read beyond it.
static bool walk(const uint8_t *data, uint32_t len, struct dns_message *m)
{
	uint8_t *exact = malloc(len);
	uint32_t question;
	bool right;

	assert_non_null(exact);
	memcpy(exact, data, len);
	question = bytes_be16(exact + 4) ? dns_question_len(exact, len) : 0;
	right = (question || bytes_be16(exact + 4) == 0) &&
	        dns_message_walk(exact, len, DNS_HEADER_LEN + question, m);
	free(exact);
	return right;
}

static bool walk_hex(const char *hex, struct dns_message *m)
{
	uint8_t data[512];

	return walk(data, from_hex(hex, data), m);
}

static void captured_replies_are_well_formed(void **state)
{
	struct dns_message m;

	for (size_t i = 0; i < sizeof(captured) / sizeof(captured[0]); i++) {
		assert_true(walk_hex(captured[i], &m));
		assert_int_equal(m.left, 0);
		assert_int_equal(m.has_opt, i >= 3);
	}
	assert_true(walk_hex(captured[2], &m));
	assert_int_equal(m.answers, 2);
}

static void captured_options_are_found(void **state)
{
	uint8_t data[512];
	struct dns_message m;
	uint32_t len = from_hex(captured[4], data);

	assert_true(dns_message_walk(data, len, 33, &m));
	assert_int_equal(m.udp_size, 1232);
	assert_int_equal(m.ext_rcode, 0);
	assert_int_equal(m.nsid_len, 6);
	assert_memory_equal(m.nsid, "knot-a", 6);
	assert_null(m.cookie);

	len = from_hex(captured[5], data);
	assert_true(dns_message_walk(data, len, 33, &m));
	assert_int_equal(m.ext_rcode, 1);
	assert_int_equal(m.cookie_len, 24);
	assert_memory_equal(m.cookie, "abcdefgh", 8);
}

static void every_cut_of_a_reply_is_malformed(void **state)
{
	uint8_t data[512];
	struct dns_message m;

	for (size_t i = 0; i < sizeof(captured) / sizeof(captured[0]); i++) {
		uint32_t len = from_hex(captured[i], data);

		for (uint32_t cut = DNS_HEADER_LEN; cut < len; cut++)
			assert_false(walk(data, cut, &m));
	}
}

static void bytes_after_the_last_record_are_counted(void **state)
{
	uint8_t data[512] = {0};
	struct dns_message m;
	uint32_t len = from_hex(captured[0], data);

	assert_true(walk(data, len + 5, &m));
	assert_int_equal(m.left, 5);
}

// A header without question, one answer whose owner is these bytes, of type A with four bytes of
// data.
static bool walk_owner(const void *owner, uint32_t len)
{
	uint8_t data[600] = {[7] = 1};
	struct dns_message m;

	memcpy(data + 12, owner, len);
	memcpy(data + 12 + len, "\0\1\0\1\0\0\0\1\0\4abcd", 14);
	return walk(data, 12 + len + 14, &m);
}

static void owners_are_names_or_pointers_back(void **state)
{
	assert_true(walk_owner("\0", 1));
	assert_true(walk_owner("\3www\0", 5));
	assert_false(walk_owner("\xc0\x0c", 2));    // to itself
	assert_false(walk_owner("\1a\xc0\x0c", 4)); // to its own start
	assert_false(walk_owner("\xc0\x0e", 2));    // forward
	assert_false(walk_owner("\xc0\x00", 2));    // into the header
	assert_false(walk_owner("\xff\xff", 2));    // beyond the end
	assert_false(walk_owner("\x40", 1));        // label types that do not exist
	assert_false(walk_owner("\x80\0", 2));
}

static void a_pointer_into_the_middle_of_a_label_is_followed_and_judged(void **state)
{
	// Question \3\1a\0 A IN; the answer's owner points to \1a\0 in its label, then into data
	// that is no name.
	uint8_t data[] = "\0\0\x80\0\0\1\0\1\0\0\0\0"
			 "\3\1a\0\0\0\1\0\1"
			 "\xc0\x0d\0\1\0\1\0\0\0\1\0\4abcd";
	struct dns_message m;

	assert_true(walk(data, sizeof(data) - 1, &m));
	data[14] = 0x80;
	data[13] = 0x80;
	assert_false(walk(data, sizeof(data) - 1, &m));
}

static void compression_loops_end(void **state)
{
	// Two answers: the second one's owner leads into the first one's data, where pointers chase
	// each other.
	uint8_t data[] = "\0\0\x80\0\0\0\0\2\0\0\0\0"
			 "\0\0\1\0\1\0\0\0\1\0\4\xc0\x19\xc0\x17"
			 "\xc0\x19\0\1\0\1\0\0\0\1\0\4abcd";
	struct dns_message m;

	assert_int_equal(data[0x17], 0xc0);
	assert_false(walk(data, sizeof(data) - 1, &m));
}

static void chains_of_pointers_are_bounded(void **state)
{
	// Data full of pointers, each to the one before it; the first to a root label.
	for (uint32_t count = 120; count < 135; count++) {
		uint8_t data[1024] = {[7] = 2};
		uint32_t at = 12 + 11;
		struct dns_message m;

		data[21] = (uint8_t)((1 + 2 * count) >> 8);
		data[22] = (uint8_t)(1 + 2 * count);
		at++; // the root
		for (uint32_t i = 0; i < count; i++, at += 2) {
			uint32_t target = i ? at - 2 : at - 1;

			data[at] = (uint8_t)(0xc0 | target >> 8);
			data[at + 1] = (uint8_t)target;
		}
		data[at] = (uint8_t)(0xc0 | (at - 2) >> 8);
		data[at + 1] = (uint8_t)(at - 2);
		assert_int_equal(walk(data, at + 12, &m), count <= 126);
	}
}

// A record whose data are `count` labels or pointers, and records whose owners lead through them.
static bool walk_records(uint32_t records, uint32_t count, bool pointers)
{
	uint8_t data[4096] = {[7] = (uint8_t)(1 + records)};
	uint32_t at = 12 + 11, first, head;
	struct dns_message m;

	data[21] = (uint8_t)((1 + 2 * count) >> 8);
	data[22] = (uint8_t)(1 + 2 * count);
	first = pointers ? at : at + 2 * count;
	data[first] = 0;
	at += pointers;
	head = at;
	for (uint32_t i = 0; i < count; i++, at += 2) {
		uint32_t target = i ? at - 2 : first;

		data[at] = pointers ? (uint8_t)(0xc0 | target >> 8) : 1;
		data[at + 1] = pointers ? (uint8_t)target : 'a';
	}
	head = pointers ? at - 2 : head;
	at += !pointers;
	for (uint32_t i = 0; i < records; i++, at += 12) {
		data[at] = (uint8_t)(0xc0 | head >> 8);
		data[at + 1] = (uint8_t)head;
	}
	return walk(data, at, &m);
}

static void pointers_of_a_message_are_budgeted_and_not_of_each_name(void **state)
{
	for (int pointers = 0; pointers < 2; pointers++) {
		assert_true(walk_records(1, 126, pointers));
		assert_true(walk_records(200, 25, pointers));
		assert_false(walk_records(200, 126, pointers));
		assert_false(walk_records(200, 50, pointers));
	}
}

static void expanded_names_hold_255_octets(void **state)
{
	// Five labels of 49 octets in data (250 with the root), and an owner that puts a label
	// before them.
	for (uint32_t label = 1; label < 10; label++) {
		uint8_t data[512] = {[7] = 2};
		uint32_t at = 12 + 9;
		struct dns_message m;

		data[at++] = 0;
		data[at++] = 251;
		for (int i = 0; i < 5; i++, at += 50)
			data[at] = 49;
		at++;
		data[at] = (uint8_t)label;
		at += label + 1;
		data[at++] = 0xc0;
		data[at++] = 23;
		assert_int_equal(walk(data, at + 10, &m), label + 1 + 251 <= 255);
	}
}

static void a_plain_owner_holds_255_octets(void **state)
{
	uint8_t owner[300] = {0};

	for (int i = 0; i < 254; i += 2)
		owner[i] = 1;
	assert_true(walk_owner(owner, 255));
	owner[254] = 1;
	assert_false(walk_owner(owner, 257));
}

static void questions_are_plain_names_with_type_and_class(void **state)
{
	uint8_t data[300] = {0};

	assert_int_equal(dns_question_len(data, 17), 5);
	assert_int_equal(dns_question_len(data, 16), 0);
	assert_int_equal(dns_question_len(data, 12), 0);
	data[12] = 0xc0; // no pointers: there is nothing to point to
	assert_int_equal(dns_question_len(data, 100), 0);
	data[12] = 64;
	assert_int_equal(dns_question_len(data, 100), 0);
	for (int i = 0; i < 254; i += 2)
		data[12 + i] = 1;
	assert_int_equal(dns_question_len(data, 300), 259);
	data[12 + 254] = 1;
	assert_int_equal(dns_question_len(data, 300), 0);
}

// A header without question and one additional record of these bytes.
static bool walk_additional(const void *record, uint32_t len, uint8_t count, struct dns_message *m)
{
	uint8_t data[300] = {[11] = count};

	memcpy(data + 12, record, len);
	return walk(data, 12 + len, m);
}

static void opt_stands_once_at_the_root(void **state)
{
	struct dns_message m;

	assert_true(walk_additional("\0\0\x29\x10\0\2\1\x80\0\0\0", 11, 1, &m));
	assert_true(m.has_opt);
	assert_int_equal(m.udp_size, 4096);
	assert_int_equal(m.ext_rcode, 2);
	assert_int_equal(m.version, 1);
	assert_int_equal(m.edns_flags, 0x8000);
	assert_false(walk_additional("\1a\0\0\x29\x10\0\0\0\0\0\0\0", 13, 1, &m));
	assert_false(
		walk_additional("\0\0\x29\x10\0\0\0\0\0\0\0\0\0\x29\x10\0\0\0\0\0\0\0", 22, 2, &m));
}

static void options_must_fill_their_opt_exactly(void **state)
{
	struct dns_message m;

	assert_true(walk_additional("\0\0\x29\x10\0\0\0\0\0\0\4\0\3\0\0", 15, 1, &m));
	assert_non_null(m.nsid);
	assert_int_equal(m.nsid_len, 0);
	assert_false(walk_additional("\0\0\x29\x10\0\0\0\0\0\0\4\0\3\0\1", 15, 1, &m));
	assert_false(walk_additional("\0\0\x29\x10\0\0\0\0\0\0\3\0\3\0", 14, 1, &m));
	assert_false(walk_additional("\0\0\x29\x10\0\0\0\0\0\0\5\0\3\0\0\0", 16, 1, &m));
}

static void a_message_of_64_kib_is_walked(void **state)
{
	const uint32_t len = 65535;
	uint8_t *data = calloc(1, len);
	uint32_t records = (len - 12) / 11, at = 12;
	struct dns_message m;

	data[6] = (uint8_t)(records >> 8);
	data[7] = (uint8_t)records;
	for (uint32_t i = 0; i < records; i++, at += 11)
		data[at + 2] = 1;
	assert_true(walk(data, len, &m));
	assert_int_equal(m.answers, records);
	assert_int_equal(m.left, len - at);
	data[7]++; // one more than there is
	assert_false(walk(data, len, &m));
	memset(data + 6, 0xff, 6); // the highest counts
	assert_false(walk(data, len, &m));
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captured_replies_are_well_formed),
		cmocka_unit_test(captured_options_are_found),
		cmocka_unit_test(every_cut_of_a_reply_is_malformed),
		cmocka_unit_test(bytes_after_the_last_record_are_counted),
		cmocka_unit_test(owners_are_names_or_pointers_back),
		cmocka_unit_test(a_pointer_into_the_middle_of_a_label_is_followed_and_judged),
		cmocka_unit_test(compression_loops_end),
		cmocka_unit_test(chains_of_pointers_are_bounded),
		cmocka_unit_test(pointers_of_a_message_are_budgeted_and_not_of_each_name),
		cmocka_unit_test(expanded_names_hold_255_octets),
		cmocka_unit_test(a_plain_owner_holds_255_octets),
		cmocka_unit_test(questions_are_plain_names_with_type_and_class),
		cmocka_unit_test(opt_stands_once_at_the_root),
		cmocka_unit_test(options_must_fill_their_opt_exactly),
		cmocka_unit_test(a_message_of_64_kib_is_walked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
