// SPDX-License-Identifier: BSD-3-Clause
// Replies of the responder's zones other than plain ones: whole zones in many messages, changes
// from the journal, delegations and DNAME. Path: tests only.

#include "proto/dns/server/dns_answers.h"
#include "dns_zone_fixture.h"

#include "proto/dns/server/dns_answer_transfer.h"

// A query for the zone z, with the serial of a copy; below 0: for all of it.
static uint32_t transfer_begin(struct responder *r, int64_t serial)
{
	uint8_t message[100] = "\xab\xcd\0\0\0\1\0\0\0\0\0\0\1z\0\0\xfc\0\1";
	uint32_t len = 19;

	if (serial >= 0) {
		message[9] = 1;
		message[16] = DNS_IXFR;
		memcpy(message + 19, "\xc0\x0c\0\6\0\1\0\0\0\0\0\x16\0\0", 14);
		bytes_put_be32(message + 33, (uint32_t)serial);
		len += 34;
	}
	r->ctx.stream = true;
	r->ctx.more = 0;
	return ask(r, message, len, 65535);
}

// Appends the records of the message at r->out as text: the serial of an SOA record, the last octet
// of any other's data, and its first label if that is not the zone's.
static void records_append(struct responder *r, char *text)
{
	uint32_t steps = UINT32_MAX;
	const uint8_t *at = r->out + DNS_HEADER_LEN + dns_question_len(r->out, r->len);
	struct dns_message m;

	assert_true(dns_message_walk(r->out, r->len, (uint32_t)(at - r->out), &m));
	assert_int_equal(m.left, 0);
	for (uint32_t left = bytes_be16(r->out + 6); left > 0; left--) {
		const uint8_t *fixed = dns_name_end(at, r->out, r->len, &steps);
		uint32_t len = bytes_be16(fixed + 8), serial;

		if (bytes_be16(fixed) == DNS_SOA) {
			assert_true(dns_soa_serial(r->out, r->len, fixed + 10, &steps, &serial));
			sprintf(text + strlen(text), " [%u]", serial);
		} else {
			sprintf(text + strlen(text), " %.*s%u", *at < 64 ? *at : 0, at + 1,
				fixed[9 + len]);
		}
		at = fixed + 10 + len;
	}
}

// Receives all messages of a transfer. Returns their number.
static uint32_t transfer(struct responder *r, int64_t serial, char *text)
{
	uint32_t messages = 1;

	*text = '\0';
	assert_int_equal(transfer_begin(r, serial), 0);
	records_append(r, text);
	for (; r->ctx.more; messages++) {
		r->len = dns_answer_more(&r->ctx, NULL, 0, r->out, sizeof(r->out));
		assert_memory_equal(r->out, "\xab\xcd\x84\0\0\1", 6);
		records_append(r, text);
	}
	return messages;
}

#define HEAD "$ORIGIN z.\n$TTL 300\n@ SOA ns h 10 3600 900 604800 60\n@ NS ns\nns A 192.0.2.53\n"

static void records_come_once_whatever_the_size(void **state)
{
	char all[500], text[500];
	struct responder *r = responder_of(ZONE, 0, 65535);

	assert_int_equal(transfer(r, -1, all), 1);
	assert_memory_equal(all, " [10]", 5);
	assert_string_equal(all + strlen(all) - 5, " [10]");
	for (uint32_t size = 1; size < 400; size++) {
		uint32_t messages;

		r->answers.transfer_size = size;
		r->n = (struct dns_answer_counters){0};
		messages = transfer(r, -1, text);
		assert_string_equal(text, all);
		assert_int_equal(r->n.transfer_messages, messages);
		assert_int_equal(r->n.transfer_records, 12);
		assert_int_equal(r->n.transfers, 1);
		if (size < 17)
			assert_int_equal(messages, 12); // each alone
	}
	assert_int_equal(query_over(r, "a.z", DNS_AXFR, true), 5);
	responder_end(r);
}

static void changes_are_those_of_each_update(void **state)
{
	struct responder *r = responder_of(HEAD, 1 << 16, 65535);
	char text[500];

	assert_int_equal(update(r, "z\nadd a 1 A 1.1.1.1\nadd b 1 A 1.1.1.2\nsend\n"), 0);
	assert_int_equal(update(r, "z\nadd a 1 A 1.1.1.1\nsend\n"), 0); // changes nothing
	assert_int_equal(update(r, "z\ndelete a\nadd b 9 A 1.1.1.3\nsend\n"), 0);
	assert_int_equal(update(r, "z\nadd c 1 A 1.1.1.4\ndelete c\nadd d 1 A 1.1.1.5\nsend\n"), 0);
	assert_int_equal(update(r, "z\nadd @ 1 SOA ns h 20 1 1 1 1\nsend\n"), 0);
	transfer(r, 13, text);
	assert_string_equal(text, " [20] [13] [20] [20]");
	// A record added and deleted by one update is in neither list.
	transfer(r, 12, text);
	assert_string_equal(text, " [20] [12] [13] d5 [13] [20] [20]");
	// A changed TTL means that the record is deleted and added.
	transfer(r, 11, text);
	assert_string_equal(text, " [20] [11] a1 b2 [12] b3 b2 [12] [13] d5 [13] [20] [20]");
	transfer(r, 10, text);
	assert_string_equal(
		text, " [20] [10] [11] a1 b2 [11] a1 b2 [12] b3 b2 [12] [13] d5 [13] [20] [20]");
	r->answers.transfer_size = 1;
	r->n = (struct dns_answer_counters){0};
	assert_int_equal(transfer(r, 12, text), 7);
	assert_string_equal(text, " [20] [12] [13] d5 [13] [20] [20]");
	assert_int_equal(r->n.transfers_incremental, 1);
	transfer(r, 20, text);
	assert_string_equal(text, " [20]");
	transfer(r, 21, text);
	assert_string_equal(text, " [20]");
	assert_int_equal(r->n.transfers_unchanged, 2);
	assert_int_equal(r->n.transfers_incremental, 1);
	transfer(r, 9, text); // from before the journal: the whole zone
	assert_int_equal(r->n.transfer_records, 7 + 2 + 7);
	responder_end(r);
}

static void a_question_without_its_serial_is_malformed(void **state)
{
	static const char *const questions[] = {
		"\xab\xcd\0\0\0\1\0\0\0\0\0\0\1z\0\0\xfb\0\1",
		"\xab\xcd\0\0\0\1\0\0\0\1\0\0\1z\0\0\xfb\0\1\xc0\x0c\0\1\0\1\0\0\0\0\0\0",
		"\xab\xcd\0\0\0\1\0\0\0\1\0\0\1z\0\0\xfb\0\1\xc0\x0c\0\6\0\1\0\0\0\0\0\2\0\0",
	};
	static const uint32_t lens[] = {19, 31, 33};
	struct responder *r = responder_of(HEAD, 0, 65535);

	r->ctx.stream = true;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(ask(r, (const uint8_t *)questions[i], lens[i], 65535), 1);
	responder_end(r);
}

// The journal has room for some tens of such updates: the oldest go, and too large a one empties
// it.
static void the_journal_is_bounded(void **state)
{
	struct responder *r = responder_of(HEAD, 1 << 20, 65535);
	const struct dns_journal *j = &r->answers.zones->journal;
	char text[20000], line[100];
	uint32_t kept = 0;
	FILE *f;

	for (int i = 0; i < 1000; i++) {
		sprintf(line, "z\nadd h%d 1 A 1.1.1.1\nsend\n", i);
		assert_int_equal(update(r, line), 0);
		assert_true(j->len <= j->room);
	}
	for (uint32_t serial = 10; serial <= 1010; serial++) {
		uint32_t at = dns_journal_find(j, &r->answers.zones->zones[0], serial);

		kept += at != UINT32_MAX;
		assert_true(
			at != UINT32_MAX || kept == 0 || serial == 1010); // all behind the eldest
	}
	assert_in_range(kept, 50, 200);
	transfer(r, 1000, text);
	assert_int_equal(r->n.transfers_incremental, 1);
	assert_int_equal(r->n.transfer_records, 2 + 10 * 3);
	f = fmemopen(text, sizeof(text), "w");
	fprintf(f, "z\n");
	for (int i = 0; i < 60; i++)
		fprintf(f, "delete h%d\n", i);
	fprintf(f, "send\n");
	fclose(f);
	r->answers.zones->journal.room = 1024; // less than the next update needs
	r->answers.zones->journal.len = 0;
	assert_int_equal(update(r, text), 0);
	assert_int_equal(j->len, 0);
	assert_int_equal(update(r, "z\nadd one 1 A 1.1.1.1\nsend\n"), 0);
	transfer(r, 1011, text);
	assert_string_equal(text, " [1012] [1011] [1012] one1 [1012]");
	responder_end(r);
}

static void a_zone_that_changes_overtakes_its_transfers(void **state)
{
	struct responder *r = responder_of(HEAD, 1 << 16, 1);
	uint32_t more;

	assert_int_equal(transfer_begin(r, -1), 0);
	more = r->ctx.more;
	assert_int_not_equal(more, 0);
	r->ctx.stream = false;
	assert_int_equal(update(r, "z\nadd a 1 A 1.1.1.1\nsend\n"), 0);
	r->ctx.more = more;
	r->len = dns_answer_more(&r->ctx, NULL, 0, r->out, sizeof(r->out));
	assert_int_equal(r->out[3] & 15, DNS_SERVFAIL);
	assert_int_equal(r->len, 19);
	assert_int_equal(r->ctx.more, 0);
	assert_int_equal(r->n.transfers_overtaken, 1);
	responder_end(r);
}

static void transfers_at_a_time_are_bounded_and_those_dropped_have_room_again(void **state)
{
	struct responder *r = responder_of(HEAD, 0, 1);
	uint32_t last = 0;

	for (int i = 0; i < PROTO_MAX_MORE; i++) {
		assert_int_equal(transfer_begin(r, -1), 0);
		last = r->ctx.more;
		assert_in_range(last, 1, PROTO_MAX_MORE);
	}
	assert_int_equal(transfer_begin(r, -1), DNS_SERVFAIL);
	assert_int_equal(r->ctx.more, 0);
	r->ctx.more = last;
	assert_int_equal(dns_answer_more(&r->ctx, NULL, 0, NULL, 0), 0);
	assert_int_equal(r->ctx.more, 0);
	assert_int_equal(r->n.transfers_dropped, 1);
	assert_int_equal(transfer_begin(r, -1), 0);
	assert_int_equal(r->ctx.more, last);
	responder_end(r);
}

static void over_udp_the_serial_is_told_and_a_zone_is_cut(void **state)
{
	struct responder *r = responder_of(HEAD, 0, 65535);

	assert_int_equal(query(r, "z", DNS_IXFR), 0);
	assert_int_equal(answers(r), 1);
	assert_int_equal(query(r, "z", DNS_AXFR), 0);
	assert_int_equal(answers(r), 0);
	assert_int_equal(r->out[2] & 2, 2); // TC
	responder_end(r);
}

// --- delegations and DNAME ---

#define BELOW                                                                                      \
	HEAD "sub NS ns.sub\nsub NS ns.example.\nns.sub A 192.0.2.54\nns.sub AAAA 2001:db8::54\n"  \
	     "deep.ns.sub A 192.0.2.55\nold DNAME new\nunder.old A 192.0.2.9\na.new A "            \
	     "192.0.2.80\n"                                                                        \
	     "away DNAME example.\nlong DNAME " LABEL "." LABEL                                    \
	     ".a234567890123456789012345678.\nx CNAME a.old\n"                                     \
	     "y CNAME q.sub\nsub.old NS ns\n"
#define LABEL "a2345678901234567890123456789012345678901234567890123456789"

static void names_below_lead_elsewhere(void **state)
{
	static const struct {
		const char *name;
		uint16_t type;
		uint32_t rcode, answers, authority, additional;
		bool aa;
	} asked[] = {
		{"sub.z", DNS_A, 0, 0, 2, 2, false},
		{"sub.z", DNS_NS, 0, 0, 2, 2, false},
		{"q.sub.z", DNS_A, 0, 0, 2, 2, false},
		{"ns.sub.z", DNS_A, 0, 0, 2, 2, false},
		{"deep.ns.sub.z", DNS_ANY, 0, 0, 2, 2, false},
		{"sub.z", DNS_DS, 0, 0, 1, 0, true}, // no data, and the SOA record
		{"a.old.z", DNS_A, 0, 3, 0, 0, true},
		{"under.old.z", DNS_A, 3, 2, 1, 0, true},
		{"a.old.z", DNS_CNAME, 0, 2, 0, 0, true},
		{"a.old.z", DNS_AAAA, 0, 2, 1, 0, true},
		{"old.z", DNS_DNAME, 0, 1, 0, 0, true},
		{"sub.old.z", DNS_A, 3, 2, 1, 0, true}, // the topmost decides
		{"a.away.z", DNS_A, 0, 2, 0, 0, true},
		{"x.z", DNS_A, 0, 4, 0, 0, true},
		{"y.z", DNS_A, 0, 1, 2, 2, true},
		{LABEL ".long.z", DNS_A, 0, 2, 0, 0, true},
		{LABEL "." LABEL ".long.z", DNS_A, 6, 1, 0, 0, true},
	};
	struct responder *r = responder_of(BELOW, 0, 65535);

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		uint32_t rcode = query(r, asked[i].name, asked[i].type);

		if (rcode != asked[i].rcode || answers(r) != asked[i].answers ||
			authority(r) != asked[i].authority ||
			bytes_be16(r->out + 10) != asked[i].additional ||
			!!(r->out[2] & 4) != asked[i].aa)
			fail_msg("%s type %u: rcode %u, %u answers, %u, %u, AA %d", asked[i].name,
				asked[i].type, rcode, answers(r), authority(r),
				bytes_be16(r->out + 10), r->out[2] & 4);
	}
	responder_end(r);
}

static void referrals_and_redirections_have_their_bytes(void **state)
{
	static const uint8_t referral[] =
		"\xc0\x0c\0\2\0\1\0\0\1\x2c\0\x0a\2ns\3sub\1z\0"
		"\xc0\x0c\0\2\0\1\0\0\1\x2c\0\x0c\2ns\7example\0"
		"\xc0\x23\0\1\0\1\0\0\1\x2c\0\4\xc0\0\2\x36"
		"\xc0\x23\0\x1c\0\1\0\0\1\x2c\0\x10\x20\1\xd\xb8\0\0\0\0\0"
		"\0\0\0\0\0\0\x54";
	static const uint8_t redirection[] = "\xc0\x0e\0\x27\0\1\0\0\1\x2c\0\7\3new\1z\0"
					     "\xc0\x0c\0\5\0\1\0\0\1\x2c\0\x9\1a\3new\1z\0"
					     "\xc0\x38\0\1\0\1\0\0\1\x2c\0\4\xc0\0\2\x50";
	struct responder *r = responder_of(BELOW, 0, 65535);

	query(r, "sub.z", DNS_A);
	assert_int_equal(r->len, 23 + sizeof(referral) - 1);
	assert_memory_equal(r->out + 23, referral, sizeof(referral) - 1);
	query(r, "A.old.z", DNS_A);
	assert_int_equal(r->len, 25 + sizeof(redirection) - 1);
	assert_memory_equal(r->out + 25, redirection, sizeof(redirection) - 1);
	responder_end(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_once_whatever_the_size),
		cmocka_unit_test(changes_are_those_of_each_update),
		cmocka_unit_test(a_question_without_its_serial_is_malformed),
		cmocka_unit_test(the_journal_is_bounded),
		cmocka_unit_test(a_zone_that_changes_overtakes_its_transfers),
		cmocka_unit_test(transfers_at_a_time_are_bounded_and_those_dropped_have_room_again),
		cmocka_unit_test(over_udp_the_serial_is_told_and_a_zone_is_cut),
		cmocka_unit_test(names_below_lead_elsewhere),
		cmocka_unit_test(referrals_and_redirections_have_their_bytes),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
