// SPDX-License-Identifier: BSD-3-Clause
// Addresses, ranges, prefixes and MACs: accepted and refused ones, and back to the same text.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/addr.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct addr_range range_of(const char *text)
{
	const char *what = NULL;
	struct addr_range r;

	assert_int_equal(addr_parse_range(text, &r, &what), 0);
	return r;
}

static struct addr addr_of(const char *text)
{
	const char *what = NULL;
	struct addr a;

	assert_int_equal(addr_parse(text, &a, &what), 0);
	return a;
}

static void addresses_come_back_in_canonical_form(void **state)
{
	static const char *const pairs[][2] = {
		{"198.18.0.1", "198.18.0.1"},
		{"0.0.0.0", "0.0.0.0"},
		{"255.255.255.255", "255.255.255.255"},
		{"2001:DB8::1", "2001:db8::1"},
		{"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
		{"2001:0db8:0000:0001:0001:0001:0001:0001", "2001:db8:0:1:1:1:1:1"},
		{"::", "::"},
		{"::ffff:1.2.3.4", "::ffff:1.2.3.4"},
	};
	char buf[ADDR_TEXT_SIZE];

	for (size_t i = 0; i < COUNT(pairs); i++) {
		struct addr a = addr_of(pairs[i][0]);

		assert_string_equal(addr_format(&a, buf, sizeof(buf)), pairs[i][1]);
	}
}

static void bytes_after_the_length_are_zero(void **state)
{
	static const uint8_t zero[12];
	struct addr a;

	memset(&a, 0xee, sizeof(a));
	a = addr_of("1.2.3.4");
	assert_int_equal(a.len, 4);
	assert_memory_equal(a.bytes, "\1\2\3\4", 4);
	assert_memory_equal(a.bytes + 4, zero, 12);
}

static void lenient_and_broken_addresses_are_refused(void **state)
{
	static const char *const bad[] = {"", " ", "1", "1.2.3", "1.2.3.4.5", "01.2.3.4",
		"0x1.2.3.4", "1.2.3.256", "1.2.3.4 ", " 1.2.3.4", "1.2.3.4/24",
		":::", "2001:db8::1::2", "fe80::1%eth0", "12345::", "[::1]", "localhost",
		"1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111:1111"};
	struct addr a;

	for (size_t i = 0; i < COUNT(bad); i++) {
		const char *what = NULL;

		assert_int_equal(addr_parse(bad[i], &a, &what), -EINVAL);
		assert_non_null(what);
	}
}

static void prefixes_keep_their_host_bits(void **state)
{
	static const char *const good[] = {
		"198.18.0.1/24", "0.0.0.0/0", "1.2.3.4/32", "2001:db8::1/64", "::/0", "::1/128"};
	static const char *const bad[] = {"1.2.3.4", "1.2.3.4/", "1.2.3.4/33", "1.2.3.4/-1",
		"1.2.3.4/024", "1.2.3.4/24 ", "1.2.3.4/+8", "::/129", "::/1000", "/24",
		"1.2.3.4/2/4"};
	char buf[ADDR_TEXT_SIZE];
	struct addr_prefix p;
	const char *what;

	for (size_t i = 0; i < COUNT(good); i++) {
		assert_int_equal(addr_parse_prefix(good[i], &p, &what), 0);
		assert_string_equal(addr_format_prefix(&p, buf, sizeof(buf)), good[i]);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(addr_parse_prefix(bad[i], &p, &what), -EINVAL);
}

static void ranges_count_all_their_addresses(void **state)
{
	static const struct {
		const char *text;
		const char *first;
		uint64_t count;
		const char *format;
	} good[] = {
		{"198.18.0.1", "198.18.0.1", 1, "198.18.0.1"},
		{"198.18.0.16-198.18.0.31", "198.18.0.16", 16, "198.18.0.16/28"},
		{"198.18.0.15-198.18.0.30", "198.18.0.15", 16, "198.18.0.15-198.18.0.30"},
		{"198.18.0.1-198.18.0.1", "198.18.0.1", 1, "198.18.0.1"},
		{"198.18.0.77/24", "198.18.0.0", 256, "198.18.0.0/24"},
		{"198.18.0.77/32", "198.18.0.77", 1, "198.18.0.77"},
		{"1.2.3.4/0", "0.0.0.0", UINT64_C(1) << 32, "0.0.0.0/0"},
		{"0.0.0.0-255.255.255.255", "0.0.0.0", UINT64_C(1) << 32, "0.0.0.0/0"},
		{"2001:db8::100-2001:db8::13f", "2001:db8::100", 64, "2001:db8::100/122"},
		{"2001:db8:1:2:3::/96", "2001:db8:1:2:3::", UINT64_C(1) << 32,
			"2001:db8:1:2:3::/96"},
		{"2001:db8::1/128", "2001:db8::1", 1, "2001:db8::1"},
		{"2001:db8::/64", "2001:db8::", UINT64_C(1) << 32, "2001:db8::/96"},
		{"1111:1111:1111:1111:1111:1111:1111:1112-1111:1111:1111:1111:1111:1111:1111:1114",
			"1111:1111:1111:1111:1111:1111:1111:1112", 3,
			"1111:1111:1111:1111:1111:1111:1111:1112-1111:1111:1111:1111:1111:1111:"
			"1111:1114"},
	};
	char buf[ADDR_TEXT_SIZE];

	for (size_t i = 0; i < COUNT(good); i++) {
		struct addr_range r = range_of(good[i].text), again;
		struct addr first = addr_of(good[i].first);

		assert_true(addr_equal(&r.first, &first));
		assert_int_equal(r.count, good[i].count);
		assert_string_equal(addr_format_range(&r, buf, sizeof(buf)), good[i].format);
		again = range_of(buf);
		assert_true(addr_equal(&r.first, &again.first));
		assert_int_equal(r.count, again.count);
	}
}

static void impossible_ranges_say_why(void **state)
{
	static const char *const bad[][2] = {
		{"", "like"},
		{"1.2.3.4-", "like"},
		{"-1.2.3.4", "like"},
		{"1.2.3.4-1.2.3.5-1.2.3.6", "like"},
		{"1.2.3.4/24-1.2.3.9", "like"},
		{"1.2.3.4/33", "like"},
		{"1.2.3.5-1.2.3.4", "ascending"},
		{"1.2.3.4-2001:db8::1", "one IP version"},
		{"2001:db8::/63", "/64"},
		{"2001:db8::-2001:db8:0:1::", "/64"},
		{"2001:db8::-2001:db8::1:0:0", "2^32"},
	};
	struct addr_range r;

	for (size_t i = 0; i < COUNT(bad); i++) {
		const char *what = NULL;

		assert_int_equal(addr_parse_range(bad[i][0], &r, &what), -EINVAL);
		assert_non_null(strstr(what, bad[i][1]));
	}
}

static void nth_and_index_are_inverse(void **state)
{
	static const char *const texts[] = {"198.18.0.16-198.18.1.200", "0.0.0.0/0",
		"2001:db8::ff00-2001:db8::1:2", "2001:db8::/64"};

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct addr_range r = range_of(texts[i]);
		uint64_t picks[] = {0, 1, 255, 256, r.count / 2, r.count - 1};
		struct addr beyond;

		for (size_t k = 0; k < COUNT(picks); k++) {
			struct addr a = addr_nth(&r, picks[k]);

			assert_int_equal(addr_index(&r, a.bytes, a.len), picks[k]);
		}
		beyond = addr_nth(&r, r.count);
		if (r.count < UINT64_C(1) << 32)
			assert_int_equal(addr_index(&r, beyond.bytes, beyond.len), UINT64_MAX);
	}
}

static void index_refuses_the_other_family_and_network(void **state)
{
	struct addr_range r = range_of("2001:db8::/64");
	struct addr other = addr_of("2001:db8:0:1::5"), v4 = addr_of("1.2.3.4");

	assert_int_equal(addr_index(&r, other.bytes, other.len), UINT64_MAX);
	assert_int_equal(addr_index(&r, v4.bytes, v4.len), UINT64_MAX);
}

static void prefix_membership_goes_by_bits(void **state)
{
	static const struct {
		const char *prefix;
		const char *addr;
		bool in;
	} rows[] = {
		{"198.18.0.1/24", "198.18.0.255", true},
		{"198.18.0.1/24", "198.18.1.0", false},
		{"198.18.0.1/23", "198.18.1.0", true},
		{"10.0.0.0/9", "10.127.255.255", true},
		{"10.0.0.0/9", "10.128.0.0", false},
		{"0.0.0.0/0", "9.9.9.9", true},
		{"1.2.3.4/32", "1.2.3.5", false},
		{"::/0", "1.2.3.4", false},
		{"2001:db8::1/64", "2001:db8::ffff:1", true},
		{"2001:db8::1/64", "2001:db8:0:1::", false},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct addr_prefix p;
		struct addr a = addr_of(rows[i].addr);
		const char *what;

		assert_int_equal(addr_parse_prefix(rows[i].prefix, &p, &what), 0);
		assert_int_equal(addr_in_prefix(&a, &p), rows[i].in);
	}
}

static void link_local_is_known_in_both_families(void **state)
{
	static const char *const yes[] = {"169.254.0.1", "fe80::1", "febf::1"};
	static const char *const no[] = {"169.253.0.1", "fec0::1", "2001:db8::1", "::"};
	struct addr a;

	for (size_t i = 0; i < COUNT(yes); i++) {
		a = addr_of(yes[i]);
		assert_true(addr_is_link_local(&a));
	}
	for (size_t i = 0; i < COUNT(no); i++) {
		a = addr_of(no[i]);
		assert_false(addr_is_link_local(&a));
	}
}

static void macs_are_six_pairs_of_hex_digits(void **state)
{
	static const char *const bad[] = {"", "02:00:00:00:00", "02:00:00:00:00:0",
		"02-00-00-00-00-00", "02:00:00:00:00:00:", "0g:00:00:00:00:00", "2:0:0:0:0:0",
		"02:00:00:00:00: 0"};
	char buf[ADDR_TEXT_SIZE];
	const char *what;
	uint8_t mac[6];

	assert_int_equal(addr_parse_mac("02:aB:00:9f:00:01", mac, &what), 0);
	assert_memory_equal(mac, "\x02\xab\x00\x9f\x00\x01", 6);
	assert_string_equal(addr_format_mac(mac, buf, sizeof(buf)), "02:ab:00:9f:00:01");
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(addr_parse_mac(bad[i], mac, &what), -EINVAL);
}

static void a_place_to_listen_at_is_local_unless_it_says_otherwise(void **state)
{
	static const struct {
		const char *text, *addr;
		uint16_t port;
	} good[] = {{"9464", "127.0.0.1", 9464}, {"127.0.0.2:0", "127.0.0.2", 0},
		{"[::1]:65535", "::1", 65535}, {"0.0.0.0:1", "0.0.0.0", 1}};
	static const char *const bad[] = {"", ":", ":9464", "localhost:9464", "127.0.0.1",
		"127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1: 1", "::1:9464",
		"[127.0.0.1]:1", "[::1]", "[]:1", "[:1", "1.2.3.4:000001"};
	char buf[ADDR_TEXT_SIZE];
	const char *what;
	struct addr a;
	uint16_t port;

	for (size_t i = 0; i < COUNT(good); i++) {
		assert_int_equal(addr_parse_listen(good[i].text, &a, &port, &what), 0);
		assert_string_equal(addr_format(&a, buf, sizeof(buf)), good[i].addr);
		assert_int_equal(port, good[i].port);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(addr_parse_listen(bad[i], &a, &port, &what), -EINVAL);
	assert_int_equal(addr_parse_listen("127.0.0.1:100000", &a, &port, &what), -EINVAL);
	assert_non_null(strstr(what, "out of range (0 to 65535)"));
}

static void a_server_is_read_as_people_write_it(void **state)
{
	static const struct {
		const char *text, *addr, *host, *link;
		uint16_t port;
	} good[] = {{"192.0.2.1", "192.0.2.1", "192.0.2.1", "", 0},
		{"192.0.2.1:5300", "192.0.2.1", "192.0.2.1", "", 5300},
		{"192.0.2.1#53", "192.0.2.1", "192.0.2.1", "", 53},
		{"@192.0.2.1", "192.0.2.1", "192.0.2.1", "", 0},
		{"2001:db8::1", "2001:db8::1", "2001:db8::1", "", 0},
		{"[2001:db8::1]", "2001:db8::1", "2001:db8::1", "", 0},
		{"@[2001:db8::1]:65535", "2001:db8::1", "2001:db8::1", "", 65535},
		{"2001:db8::1#53", "2001:db8::1", "2001:db8::1", "", 53},
		{"fe80::1%eth0", "fe80::1", "fe80::1", "eth0", 0},
		{"[fe80::1%eth0.5]:53", "fe80::1", "fe80::1", "eth0.5", 53},
		{"::ffff:192.0.2.1", "192.0.2.1", "::ffff:192.0.2.1", "", 0},
		{"ns1.example.net:53", "none", "ns1.example.net", "", 53}};
	static const char *const bad[] = {"", "@", "192.0.2.1:", "192.0.2.1:0", "192.0.2.1:65536",
		"192.0.2.1:x", "[2001:db8::1", "[2001:db8::1]x", "2001:db8:::1", "%eth0",
		"fe80::1%", "fe80::1%abcdefghijklmnop", "ns1.example.net%eth0", "a b",
		"192.0.2.1,192.0.2.2"};
	char buf[ADDR_TEXT_SIZE];
	struct addr_server s;
	const char *what;

	for (size_t i = 0; i < COUNT(good); i++) {
		assert_int_equal(addr_parse_server(good[i].text, &s, &what), 0);
		assert_string_equal(addr_format(&s.addr, buf, sizeof(buf)), good[i].addr);
		assert_string_equal(s.host, good[i].host);
		assert_string_equal(s.link, good[i].link);
		assert_int_equal(s.port, good[i].port);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(addr_parse_server(bad[i], &s, &what), -EINVAL);
	assert_non_null(strstr(what, "servers: ["));
	assert_int_equal(addr_parse_server("127.0.0.1#65536", &s, &what), -EINVAL);
	assert_non_null(strstr(what, "out of range (1 to 65535)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_come_back_in_canonical_form),
		cmocka_unit_test(bytes_after_the_length_are_zero),
		cmocka_unit_test(lenient_and_broken_addresses_are_refused),
		cmocka_unit_test(prefixes_keep_their_host_bits),
		cmocka_unit_test(ranges_count_all_their_addresses),
		cmocka_unit_test(impossible_ranges_say_why),
		cmocka_unit_test(nth_and_index_are_inverse),
		cmocka_unit_test(index_refuses_the_other_family_and_network),
		cmocka_unit_test(prefix_membership_goes_by_bits),
		cmocka_unit_test(link_local_is_known_in_both_families),
		cmocka_unit_test(macs_are_six_pairs_of_hex_digits),
		cmocka_unit_test(a_place_to_listen_at_is_local_unless_it_says_otherwise),
		cmocka_unit_test(a_server_is_read_as_people_write_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
