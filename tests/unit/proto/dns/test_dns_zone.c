// SPDX-License-Identifier: BSD-3-Clause
// The responder's zones: updates by the rules of RFC 2136 section 3, their memory, answers, and
// zone files. Messages come from texts (dns_updates.h), as a client would send them. Path: tests
// only.

#include "dns_zone_fixture.h"

static const struct {
	const char *what, *lines;
	uint32_t rcode, changes, added, deleted;
} cases[] = {
	// Section 3.2: prerequisites of all five kinds, right and wrong
	{"set exists", "require a A", 0, 0, 0, 0},
	{"set does not", "require a AAAA", 8, 0, 0, 0},
	{"no such name for a set", "require q A", 8, 0, 0, 0},
	{"set with these records, in any order", "require a A 192.0.2.2\nrequire a A 192.0.2.1", 0,
		0, 0, 0},
	{"set has one more", "require a A 192.0.2.1", 8, 0, 0, 0},
	{"set has one less", "require a A 192.0.2.1\nrequire a A 192.0.2.2\nrequire a A 192.0.2.3",
		8, 0, 0, 0},
	{"names in data in any case", "require b.deep MX 10 A.Z.", 0, 0, 0, 0},
	{"set is not there", "prohibit a AAAA", 0, 0, 0, 0},
	{"set that must not be", "prohibit a A", 7, 0, 0, 0},
	{"name is there", "require A", 0, 0, 0, 0},
	{"name is not", "require q", 3, 0, 0, 0},
	{"name has only names below", "require deep", 3, 0, 0, 0},
	{"name is free", "prohibit q", 0, 0, 0, 0},
	{"name has only names below, so it is free", "prohibit deep", 0, 0, 0, 0},
	{"name is taken", "prohibit a", 6, 0, 0, 0},
	{"a prerequisite elsewhere", "require a.example.", 10, 0, 0, 0},
	{"the first that fails decides", "require q\nprohibit a", 3, 0, 0, 0},
	{"a failed prerequisite changes nothing", "prohibit a\nadd q 1 A 1.1.1.1", 6, 0, 0, 0},
	// Section 3.4
	{"a new name", "add q 60 A 192.0.2.9", 0, 1, 1, 0},
	{"a new record", "add a 300 A 192.0.2.9", 0, 1, 1, 0},
	{"a record that is there", "add a 300 A 192.0.2.1", 0, 0, 0, 0},
	{"another TTL", "add a 301 A 192.0.2.1", 0, 1, 0, 0},
	{"elsewhere, behind a good one", "add q 60 A 192.0.2.9\nadd q.example. 60 A 192.0.2.9", 10,
		0, 0, 0},
	{"a CNAME beside data", "add a 60 CNAME b", 0, 0, 0, 0},
	{"data beside a CNAME", "add alias 60 A 192.0.2.9", 0, 0, 0, 0},
	{"another CNAME", "add alias 300 CNAME b", 0, 1, 1, 1},
	{"an earlier serial", "add @ 300 SOA ns h 9 1 1 1 1", 0, 0, 0, 0},
	{"a later serial", "add @ 300 SOA ns h 20 1 1 1 1", 0, 10, 1, 1},
	{"a SOA record elsewhere", "add a 300 SOA ns h 20 1 1 1 1", 0, 0, 0, 0},
	{"a set", "delete a A", 0, 1, 0, 2},
	{"a set that is not there", "delete a AAAA", 0, 0, 0, 0},
	{"a name", "delete a", 0, 1, 0, 3},
	{"a name that is not there", "delete q", 0, 0, 0, 0},
	{"a record", "delete a A 192.0.2.1", 0, 1, 0, 1},
	{"a record with a name in another case", "delete B.Deep MX 10 A", 0, 1, 0, 1},
	{"a record that is not there", "delete a A 192.0.2.9", 0, 0, 0, 0},
	{"all of the zone's name: SOA and NS stay", "delete @", 0, 0, 0, 0},
	{"the SOA record stays", "delete @ SOA", 0, 0, 0, 0},
	{"all NS records stay", "delete @ NS", 0, 0, 0, 0},
	{"the last NS record stays", "delete @ NS ns", 0, 0, 0, 0},
	{"an NS record, when there is another", "add @ 300 NS a\ndelete @ NS ns", 0, 1, 1, 1},
	{"delete and add: one step", "delete a A\nadd a 300 A 192.0.2.7", 0, 1, 1, 2},
	{"a pseudo type", "delete a AXFR", 1, 0, 0, 0},
	{"nothing", "", 0, 0, 0, 0},
};

static void updates_follow_rfc_2136(void **state)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct responder *r = responder_new(1 << 16);
		char text[500];
		uint32_t rcode;

		snprintf(text, sizeof(text), "Z\n%s\nsend\n", cases[i].lines);
		rcode = update(r, text);
		if (rcode != cases[i].rcode || serial(r) != 10 + cases[i].changes ||
			r->n.records_added != cases[i].added ||
			r->n.records_deleted != cases[i].deleted)
			fail_msg("%s: rcode %u, serial %u, added %lu, deleted %lu", cases[i].what,
				rcode, serial(r), (unsigned long)r->n.records_added,
				(unsigned long)r->n.records_deleted);
		assert_int_equal(r->n.update_rcode[cases[i].rcode], 1);
		assert_int_equal(r->n.serial_steps, cases[i].changes > 0);
		assert_int_equal(r->n.update_noops, cases[i].changes == 0 && cases[i].rcode == 0);
		responder_end(r);
	}
}

static void only_zones_of_ours_that_take_updates(void **state)
{
	struct responder *r = responder_new(1 << 16);

	assert_int_equal(update(r, "y\nadd a 1 A 1.1.1.1\nsend\n"), 9);
	assert_int_equal(update(r, "a.z\nadd a 1 A 1.1.1.1\nsend\n"), 9);
	responder_end(r);
	r = responder_new(0);
	assert_int_equal(update(r, "z\nadd a 1 A 1.1.1.1\nsend\n"), 5);
	responder_end(r);
}

// Messages that have no form in text.
static void malformed_updates_get_formerr(void **state)
{
#define HEAD "\xab\xcd\x28\0\0\1"
#define SOA  "\1z\0\0\6\0\1"
	static const struct {
		const char *message;
		uint32_t len;
	} wrong[] = {
#define WRONG(bytes) {bytes, sizeof(bytes) - 1}
		WRONG("\xab\xcd\x28\0\0\0\0\0\0\0\0\0"),                             // no zone
		WRONG(HEAD "\0\0\0\0\0\0\1z\0\0\1\0\1"),                             // type A
		WRONG(HEAD "\0\0\0\0\0\0\1z\0\0\6\0\3"),                             // class CH
		WRONG(HEAD "\0\0\0\1\0\0" SOA "\xc0\x0c\0\1\0\1\0\0\0\1\0\4\1\1\1"), // cut off
		WRONG(HEAD "\0\1\0\0\0\0" SOA "\xc0\x0c\0\6\0\xff\0\0\0\1\0\0"),     // with a TTL
		WRONG(HEAD "\0\1\0\0\0\0" SOA "\xc0\x0c\0\1\0\xff\0\0\0\0\0\1x"),    // with data
		WRONG(HEAD "\0\1\0\0\0\0" SOA "\xc0\x0c\0\6\0\3\0\0\0\0\0\0"),       // class CH
		WRONG(HEAD "\0\0\0\1\0\0" SOA "\xc0\x0c\0\6\0\3\0\0\0\0\0\0"),
		WRONG(HEAD "\0\0\0\1\0\0" SOA "\xc0\x0c\0\1\0\1\0\0\0\1\0\3\1\1\1"), // A of 3 bytes
		WRONG(HEAD "\0\0\0\1\0\0" SOA "\xc0\x0c\0\1\0\1\0\0\0\1\0\0"),       // of none
		WRONG(HEAD "\0\0\0\1\0\0" SOA "\xc0\x0c\0\xff\0\1\0\0\0\1\0\0"),     // ANY
		WRONG(HEAD "\0\0\0\1\0\0" SOA
			   "\xc0\x0c\0\2\0\1\0\0\0\1\0\2\xc0\x1f"), // points at itself
		WRONG(HEAD "\0\0\0\1\0\0" SOA
			   "\xc0\x0c\0\1\0\xfe\0\0\0\1\0\4\1\1\1\1"), // NONE with a TTL
		WRONG(HEAD "\0\0\0\1\0\0" SOA
			   "\xc0\x0c\0\1\0\xff\0\0\0\0\0\4\1\1\1\1"), // ANY with data
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct responder *r = responder_new(1 << 16);

		if (ask(r, (const uint8_t *)wrong[i].message, wrong[i].len, 512) != 1)
			fail_msg("%zu: rcode %u", i, r->out[3]);
		assert_int_equal(serial(r), 10);
		responder_end(r);
	}
}

// Names in RDATA may be compressed.
static void compressed_data_is_stored_in_full(void **state)
{
	static const char message[] =
		HEAD "\0\0\0\1\0\0" SOA "\1q\xc0\x0c\0\x0f\0\1\0\0\0\1\0\6\0\7\1a\xc0\x0c";
	struct responder *r = responder_new(1 << 16);

	assert_int_equal(ask(r, (const uint8_t *)message, sizeof(message) - 1, 512), 0);
	assert_int_equal(query(r, "q.z", 15), 0);
	assert_int_equal(answers(r), 1);
	assert_memory_equal(r->out + r->len - 9, "\0\7\0\7\1a\1z\0", 9);
	responder_end(r);
}

// Adds records up to the last piece of memory, then SERVFAIL without a change; deletion frees room.
static void a_full_zone_says_servfail_and_changes_nothing(void **state)
{
	struct responder *r = responder_new(1 << 12);
	uint32_t fits = 0, before;
	char text[200];

	for (;; fits++) {
		snprintf(text, sizeof(text), "z\nadd x%u 1 TXT \"%040u\"\nsend\n", fits, fits);
		if (update(r, text) != 0)
			break;
		assert_in_range(fits, 0, 200);
	}
	assert_in_range(fits, 20, 60);
	before = serial(r);
	assert_int_equal(before, 10 + fits);
	assert_int_equal(r->n.update_rcode[2], 1);
	assert_int_equal(
		update(r, "z\ndelete x1\nadd one 1 TXT \"1\"\nadd y.x2 1 TXT \"1\"\nsend\n"), 2);
	assert_int_equal(serial(r), before);
	assert_int_equal(query(r, "x1.z", 16), 0);
	assert_int_equal(answers(r), 1);
	for (uint32_t round = 0; round < 1000; round++) {
		snprintf(text, sizeof(text), "z\ndelete x%u\nsend\n", round % fits);
		assert_int_equal(update(r, text), 0);
		snprintf(text, sizeof(text), "z\nadd x%u 1 TXT \"%040u\"\nsend\n", round % fits,
			round);
		assert_int_equal(update(r, text), 0);
	}
	assert_int_equal(serial(r), before + 2000);
	responder_end(r);
}

// Each name appears and disappears with the names above it.
static void names_between_come_and_go(void **state)
{
	struct responder *r = responder_new(1 << 16);
	uint32_t nodes = r->answers.zones->nodes;

	assert_int_equal(update(r, "z\nadd 1.2.3.4 1 A 1.1.1.1\nsend\n"), 0);
	assert_int_equal(r->answers.zones->nodes, nodes + 4);
	assert_int_equal(query(r, "3.4.z", DNS_A), 0); // NODATA
	assert_int_equal(answers(r), 0);
	assert_int_equal(authority(r), 1);
	assert_int_equal(update(r, "z\nadd 3.4 1 A 1.1.1.1\ndelete 1.2.3.4\nsend\n"), 0);
	assert_int_equal(r->answers.zones->nodes, nodes + 2);
	assert_int_equal(update(r, "z\ndelete 3.4 A 1.1.1.1\nsend\n"), 0);
	assert_int_equal(r->answers.zones->nodes, nodes);
	assert_int_equal(query(r, "3.4.z", DNS_A), 3);
	responder_end(r);
}

static void queries_are_answered_from_the_zone(void **state)
{
	static const struct {
		const char *name;
		uint16_t type;
		uint32_t rcode, answers, authority;
	} asked[] = {
		{"a.z", DNS_A, 0, 2, 0},
		{"A.Z", DNS_TXT, 0, 1, 0},
		{"a.z", DNS_ANY, 0, 3, 0},
		{"a.z", DNS_AAAA, 0, 0, 1},
		{"deep.z", DNS_A, 0, 0, 1},
		{"q.z", DNS_A, 3, 0, 1},
		{"z", DNS_SOA, 0, 1, 0},
		{"alias.z", DNS_A, 0, 3, 0},
		{"alias.z", DNS_AAAA, 0, 1, 1},
		{"alias.z", DNS_CNAME, 0, 1, 0},
		{"away.z", DNS_A, 0, 1, 0},
		{"loop.z", DNS_A, 0, 8, 0},
		{"x.w.z", DNS_TXT, 0, 1, 0},
		{"x.y.w.z", DNS_TXT, 0, 1, 0},
		{"x.w.z", DNS_A, 0, 0, 1},
		{"w.z", DNS_A, 0, 0, 1},
		{"example.com", DNS_A, 5, 0, 0},
		{".", DNS_A, 5, 0, 0},
	};
	struct responder *r = responder_new(0);

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		uint32_t rcode = query(r, asked[i].name, asked[i].type);

		if (rcode != asked[i].rcode || answers(r) != asked[i].answers ||
			authority(r) != asked[i].authority)
			fail_msg("%s type %u: rcode %u, %u answers, %u in authority", asked[i].name,
				asked[i].type, rcode, answers(r), authority(r));
		assert_int_equal(!!(r->out[2] & 0x04), rcode != 5);
	}
	assert_int_equal(r->n.zone_rcode[0], 15);
	// RFC 2308: the negative TTL is the MINIMUM of 60, below the 300 of the record.
	query(r, "q.z", DNS_A);
	assert_memory_equal(r->out + DNS_HEADER_LEN + 9, "\xc0\x0e\0\6\0\1\0\0\0\x3c", 10);
	responder_end(r);
}

static void answers_that_do_not_fit_are_cut(void **state)
{
	struct responder *r = responder_new(1 << 16);
	char text[300];

	for (int i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "z\nadd big 1 TXT \"%0180d\"\nsend\n", i);
		assert_int_equal(update(r, text), 0);
	}
	query(r, "big.z", DNS_TXT);
	assert_int_equal(r->out[2], 0x87);
	assert_int_equal(answers(r), 0);
	assert_int_equal(r->n.truncated, 1);
	assert_int_equal(query_over(r, "big.z", DNS_TXT, true), 0);
	assert_int_equal(answers(r), 4);
	responder_end(r);
}

static void a_small_zone_is_transferred_in_one_message(void **state)
{
	struct responder *r = responder_new(0);

	assert_int_equal(query_over(r, "z", DNS_AXFR, true), 0);
	assert_int_equal(answers(r), 12); // 11 records, the SOA record twice
	assert_int_equal(query_over(r, "a.z", DNS_AXFR, true), 5);
	responder_end(r);
}

static void notify_is_acknowledged(void **state)
{
	static const char ours[] = "\xab\xcd\x24\0\0\1\0\0\0\0\0\0\1z\0\0\6\0\1";
	static const char other[] = "\xab\xcd\x24\0\0\1\0\0\0\0\0\0\1y\0\0\6\0\1";
	struct responder *r = responder_new(0);

	assert_int_equal(ask(r, (const uint8_t *)ours, sizeof(ours) - 1, 512), 0);
	assert_int_equal(r->out[2], 0xa4);
	assert_int_equal(r->len, sizeof(ours) - 1);
	assert_int_equal(ask(r, (const uint8_t *)other, sizeof(other) - 1, 512), 9);
	assert_int_equal(r->n.notifies, 2);
	responder_end(r);
}

static void zone_files_are_refused_with_place_and_reason(void **state)
{
	static const char *const wrong[][2] = {
		{"z. 1 A 1.1.1.1\n", "z.zone:1:1: the first record of a zone is its SOA record"},
		{"z. 1 SOA a. b. 1 1 1 1 1\n\ny. 1 A 1.1.1.1\n",
			"z.zone:3:1: the name is not in the zone"},
		{"z. 1 SOA a. b. 1 1 1 1 1\na.z. 1 A 1.1.1\n", "z.zone:2:1: "},
		{"z. 1 SOA a. b. 1 1 1 1 1\nz. 1 SOA a. b. 2 1 1 1 1\n",
			"z.zone:2:1: a second SOA record"},
		{"z. 1 SOA a. b. 1 1 1 1 1\na.z. 1 A 1.1.1.1\na.z. 1 CNAME b.z.\n",
			"z.zone:3:1: the name has a CNAME"},
		{"z. 1 CH SOA a. b. 1 1 1 1 1\n", "z.zone:1:1: a class other than IN"},
		{"$INCLUDE other\n", "z.zone:1:1: $INCLUDE is not taken"},
		{"; nothing\n", "z.zone: holds no record"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct diag *d = diag_new();

		assert_null(dns_zones_load_text("z.zone", wrong[i][0], strlen(wrong[i][0]), 1, d));
		assert_diag_has(d, wrong[i][1]);
		diag_free(d);
	}
}

// More names than the first hash table and the first chunk hold.
static void a_large_zone_is_found_in_whole(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	struct diag *d = diag_new();
	struct dns_zones *z;

	fputs("$TTL 1\n$ORIGIN z.\n@ SOA a b 1 1 1 1 1\n", f);
	for (int i = 0; i < 20000; i++)
		fprintf(f, "h%d A 10.%d.%d.%d\n", i, i >> 16, i >> 8 & 255, i & 255);
	fclose(f);
	z = dns_zones_load_text("z.zone", text, size, 1, d);
	assert_non_null(z);
	assert_int_equal(z->nodes, 20001);
	for (int i = 0; i < 20000; i++) {
		char name[20];
		uint8_t wire[30];
		struct dns_text_error e;
		uint32_t len;

		snprintf(name, sizeof(name), "h%d.z", i);
		len = (uint32_t)dns_name_from_text(name, strlen(name), wire, &e);
		assert_non_null(dns_zone_find(z, wire, len));
	}
	dns_zones_free(z);
	diag_free(d);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(updates_follow_rfc_2136),
		cmocka_unit_test(only_zones_of_ours_that_take_updates),
		cmocka_unit_test(malformed_updates_get_formerr),
		cmocka_unit_test(compressed_data_is_stored_in_full),
		cmocka_unit_test(a_full_zone_says_servfail_and_changes_nothing),
		cmocka_unit_test(names_between_come_and_go),
		cmocka_unit_test(queries_are_answered_from_the_zone),
		cmocka_unit_test(answers_that_do_not_fit_are_cut),
		cmocka_unit_test(a_small_zone_is_transferred_in_one_message),
		cmocka_unit_test(notify_is_acknowledged),
		cmocka_unit_test(zone_files_are_refused_with_place_and_reason),
		cmocka_unit_test(a_large_zone_is_found_in_whole),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
