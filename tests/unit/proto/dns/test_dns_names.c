// SPDX-License-Identifier: BSD-3-Clause
// Names and types from text: escapes are parsed, and limits kept. Path: tests only.

#include "dns_fixture.h"

#include <errno.h>

static int parse(const char *text, uint8_t *wire, struct dns_text_error *e)
{
	return dns_name_from_text(text, strlen(text), wire, e);
}

static void assert_wire(const char *text, const char *wire, size_t len)
{
	uint8_t out[DNS_NAME_MAX];
	struct dns_text_error e;

	assert_int_equal(parse(text, out, &e), len);
	assert_memory_equal(out, wire, len);
}

static void assert_refused(const char *text, size_t at, const char *what)
{
	uint8_t out[DNS_NAME_MAX];
	struct dns_text_error e;

	assert_int_equal(parse(text, out, &e), -EINVAL);
	assert_int_equal(e.at, at);
	assert_non_null(strstr(e.reason, what));
}

static void names_become_labels_with_their_case_kept(void **state)
{
	assert_wire("www.Example.com", "\3www\7Example\3com", 17);
	assert_wire("www.Example.com.", "\3www\7Example\3com", 17);
	assert_wire("a", "\1a", 3);
	assert_wire(".", "", 1);
}

static void decimal_escapes_are_decimal(void **state)
{
	assert_wire("\\123.x", "\1{\1x", 5);
	assert_wire("\\065b", "\2Ab", 4);
	assert_wire("\\000\\255", "\2\0\xff", 4);
	assert_wire("a\\.b.c", "\3a.b\1c", 7);
	assert_wire("a\\\\b\\ c", "\5a\\b c", 7);
}

static void broken_escapes_are_refused_where_they_start(void **state)
{
	assert_refused("ab\\256", 2, "escape");
	assert_refused("a.\\12", 2, "escape");
	assert_refused("a\\1x3", 1, "escape");
	assert_refused("a\\", 1, "escape");
	assert_refused("a\tb", 1, "control");
}

static void empty_labels_are_refused(void **state)
{
	assert_refused("", 0, "empty");
	assert_refused("..", 0, "empty label");
	assert_refused(".a", 0, "empty label");
	assert_refused("a..b", 2, "empty label");
}

static void labels_hold_63_octets_and_no_more(void **state)
{
	char text[80];
	uint8_t out[DNS_NAME_MAX];
	struct dns_text_error e;

	memset(text, 'x', sizeof(text));
	assert_int_equal(dns_name_from_text(text, 63, out, &e), 65);
	assert_int_equal(out[0], 63);
	assert_int_equal(dns_name_from_text(text, 64, out, &e), -EINVAL);
	assert_int_equal(e.at, 63);
	assert_non_null(strstr(e.reason, "63"));
}

static void names_hold_255_octets_and_no_more(void **state)
{
	char text[300];
	uint8_t out[DNS_NAME_MAX];
	struct dns_text_error e;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 64 == 63 ? '.' : 'x';
	// 3 labels of 63 and one of 61: 3 * 64 + 62 + 1
	assert_int_equal(dns_name_from_text(text, 3 * 64 + 61, out, &e), 255);
	assert_int_equal(out[254], 0);
	text[3 * 64 + 61] = '.';
	assert_int_equal(dns_name_from_text(text, 3 * 64 + 62, out, &e), 255);
	text[3 * 64 + 61] = 'x';
	assert_int_equal(dns_name_from_text(text, 3 * 64 + 62, out, &e), -EINVAL);
	assert_non_null(strstr(e.reason, "255"));
	assert_int_equal(dns_name_from_text(text, 300, out, &e), -EINVAL);
}

static void assert_question(const char *name, uint16_t type, const char *line)
{
	uint8_t message[DNS_HEADER_LEN + DNS_QUESTION_MAX] = {0};
	char text[DNS_LINE_MAX];
	struct dns_text_error e;
	int len = parse(name, message + DNS_HEADER_LEN, &e);
	uint32_t end = DNS_HEADER_LEN + (uint32_t)len;

	assert_true(len > 0);
	message[end] = (uint8_t)(type >> 8);
	message[end + 1] = (uint8_t)type;
	assert_int_equal(dns_question_text(message, end + 4, text), 0);
	assert_string_equal(text, line);
	for (uint32_t cut = 0; cut < end + 4; cut++)
		assert_int_equal(dns_question_text(message, cut, text), -EINVAL);
}

static void questions_become_lines_again(void **state)
{
	assert_question("www.Example.com", 1, "www.Example.com A");
	assert_question(".", 2, ". NS");
	assert_question(
		"a\\.b\\\\c\\;.\\000\\255\\ .x", 65, "a\\.b\\\\c\\;.\\000\\255\\032.x HTTPS");
	assert_question("x", 65280, "x TYPE65280");
}

static void names_of_single_letters_stop_at_255_too(void **state)
{
	char text[300];
	uint8_t *out = malloc(DNS_NAME_MAX);
	struct dns_text_error e;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 2 ? '.' : 'x';
	assert_int_equal(dns_name_from_text(text, 253, out, &e), 255);
	assert_int_equal(dns_name_from_text(text, 254, out, &e), 255);
	assert_int_equal(dns_name_from_text(text, 255, out, &e), -EINVAL);
	free(out);
}

static int32_t type_of(const char *text)
{
	return dns_type_from_text(text, strlen(text));
}

static void types_are_mnemonics_in_any_case_or_numbers(void **state)
{
	assert_int_equal(type_of("A"), 1);
	assert_int_equal(type_of("aaaa"), 28);
	assert_int_equal(type_of("Https"), 65);
	assert_int_equal(type_of("ANY"), 255);
	assert_int_equal(type_of("NSEC3PARAM"), 51);
	assert_int_equal(type_of("NSAP-PTR"), 23);
	assert_int_equal(type_of("TYPE0"), 0);
	assert_int_equal(type_of("type65535"), 65535);
	assert_int_equal(type_of("TYPE028"), 28);
}

static void types_are_never_matched_by_prefix(void **state)
{
	assert_int_equal(type_of("AAA"), -1);
	assert_int_equal(type_of("AAAAA"), -1);
	assert_int_equal(type_of("TYPE"), -1);
	assert_int_equal(type_of("TYPE65536"), -1);
	assert_int_equal(type_of("TYPE1x"), -1);
	assert_int_equal(type_of("TYPE000001"), -1);
	assert_int_equal(type_of(""), -1);
	assert_int_equal(type_of("1"), -1);
}

static void labels_of_counters_exist_for_every_index(void **state)
{
	for (uint32_t i = 0; i < DNS_RCODES; i++)
		assert_true(dns_rcode_label(i)[0]);
	for (uint32_t i = 0; i < DNS_SIZES; i++)
		assert_true(dns_size_label(i)[0]);
	for (uint32_t i = 0; i < DNS_TYPE_BUCKETS; i++)
		assert_true(dns_type_bucket_label(i)[0]);
	assert_string_equal(dns_rcode_label(0), "NOERROR");
	assert_string_equal(dns_rcode_label(5), "REFUSED");
	assert_string_equal(dns_rcode_label(DNS_BADVERS), "BADVERS");
	assert_string_equal(dns_rcode_label(DNS_BADCOOKIE), "BADCOOKIE");
	assert_string_equal(dns_rcode_label(DNS_RCODE_OTHER), "other");
	assert_null(dns_rcode_names[DNS_RCODE_OTHER]);
	assert_null(dns_plain_rcode_names[11]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_become_labels_with_their_case_kept),
		cmocka_unit_test(decimal_escapes_are_decimal),
		cmocka_unit_test(broken_escapes_are_refused_where_they_start),
		cmocka_unit_test(empty_labels_are_refused),
		cmocka_unit_test(labels_hold_63_octets_and_no_more),
		cmocka_unit_test(names_hold_255_octets_and_no_more),
		cmocka_unit_test(questions_become_lines_again),
		cmocka_unit_test(names_of_single_letters_stop_at_255_too),
		cmocka_unit_test(types_are_mnemonics_in_any_case_or_numbers),
		cmocka_unit_test(types_are_never_matched_by_prefix),
		cmocka_unit_test(labels_of_counters_exist_for_every_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
