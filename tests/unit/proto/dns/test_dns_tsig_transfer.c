// SPDX-License-Identifier: BSD-3-Clause
// Signed zone transfers as the client verifies them (RFC 8945 section 5.3.1): which messages may be
// unsigned, and a counter for each mistake. Path: tests only.

#include "proto/dns/dns.h"
#include "dns_fixture.h"
#include "dns_secret_fixture.h"

#include <unistd.h>

#include "base/bytes.h"
#include "proto/dns/client/dns_tsig.h"

#define NOW 1700000000

static struct dns_key_settings key_settings = {
	.secret_file = secret_path, .name = "key.example", .fudge_ns = 300000000000};

// Both ends of the transfers of a zone. The server signs with a key that it has read itself.
struct transfer {
	struct dns_fixture *f;
	struct dns_tsig_key *key;
	struct dns_tsig_signer signer;
	struct dns_tsig_chain theirs;
};

// The server identifies the request by its MAC.
static void transfer_ask(struct transfer *x, uint64_t seq)
{
	struct dns_fixture *f = x->f;
	struct dns_tsig_prior mac = {{0}};
	struct dns_message m;
	struct dns_tsig t;

	fixture_ask(f, seq);
	assert_true(dns_message_walk(f->query, f->query_len,
		DNS_HEADER_LEN + dns_question_len(f->query, f->query_len), &m));
	assert_true(dns_tsig_read(f->query, f->query_len, &m, &t));
	bytes_put_be16(mac.len_be, t.mac_len);
	memcpy(mac.mac, t.mac, t.mac_len);
	dns_tsig_chain_begin(&x->theirs, &x->signer, &mac);
}

static struct transfer *transfer_new(void)
{
	struct transfer *x = calloc(1, sizeof(*x));
	const struct field_list list = {&key_settings, 1};

	x->f = fixture_new("a");
	x->f->settings.names.count = 0;
	x->f->settings.transfers = (struct field_list){x->f->names, 1};
	x->f->settings.key = &key_settings;
	x->f->ctx.stream = true;
	x->f->ctx.began_ms = NOW * 1000ull;
	fixture_open(x->f);
	x->key = dns_tsig_keys_load(&list, x->f->diag);
	assert_non_null(x->key);
	dns_tsig_signer_init(&x->signer, x->key);
	transfer_ask(x, 0);
	return x;
}

static void transfer_free(struct transfer *x)
{
	dns_tsig_keys_free(x->key, 1);
	fixture_end(x->f);
	free(x);
}

// A message with the SOA record, an A record, or the SOA record again. how: s: signed, u: unsigned,
// b: with a bit of the MAC changed, o: at a time that is too old, f: with a malformed record.
static enum proto_verdict message(struct transfer *x, char record, char how)
{
	struct dns_fixture *f = x->f;
	const struct dns_tsig say = {.time = how == 'o' ? NOW - 301 : NOW, .fudge = 300};

	f->reply_len = DNS_HEADER_LEN + dns_question_len(f->query, f->query_len);
	memset(f->reply + 6, 0, 6);
	if (record == 'x')
		fixture_append(f, "\xc0\x0c\0\1\0\1\0\0\0\0\0\4\1\2\3\4", 16);
	else
		fixture_append(f,
			"\xc0\x0c\0\6\0\1\0\0\0\0\0\x18\xc0\x0c\xc0\x0c\0\0\0\5"
			"0123456789abcdef",
			36);
	f->reply[7]++;
	f->reply_len = dns_tsig_chain_sign(
		&x->theirs, how == 'u' ? NULL : &say, f->reply, f->reply_len, sizeof(f->reply));
	if (how == 'b')
		f->reply[f->reply_len - 7] ^= 1;
	if (how == 'f')
		f->reply[f->reply_len - 1] = 1;
	return fixture_verdict(f);
}

#define COUNTER(member) offsetof(struct dns_counters, member)

static void each_mistake_has_its_counter(void **state)
{
	static const struct {
		const char *records, *how;
		enum proto_verdict verdict;
		uint64_t verified;
		size_t counter; // that is 1
	} cases[] = {
		{"5xx5", "ssss", PROTO_DONE, 4, COUNTER(transfers)},
		{"5xx5", "suus", PROTO_DONE, 2, COUNTER(transfers)},
		{"5xx5", "usss", PROTO_FAIL, 0, COUNTER(tsig_unsigned)},
		{"5xx5", "sssu", PROTO_FAIL, 3, COUNTER(tsig_chain_last)},
		{"5xx5", "ssbs", PROTO_FAIL, 2, COUNTER(tsig_chain_bad)},
		{"5xx5", "bsss", PROTO_FAIL, 0, COUNTER(tsig_chain_bad)},
		{"5xx5", "suub", PROTO_FAIL, 1, COUNTER(tsig_chain_bad)},
		{"5xx5", "ssfs", PROTO_FAIL, 2, COUNTER(tsig_chain_bad)},
		{"5xx5", "osss", PROTO_FAIL, 0, COUNTER(tsig_time)},
		{"5xx5", "ssso", PROTO_FAIL, 3, COUNTER(tsig_time)},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct transfer *x = transfer_new();
		enum proto_verdict v = PROTO_KEPT;
		uint64_t n;

		for (uint32_t k = 0; v == PROTO_KEPT && cases[i].records[k]; k++)
			v = message(x, cases[i].records[k], cases[i].how[k]);
		memcpy(&n, (const char *)&x->f->n + cases[i].counter, sizeof(n));
		if (v != cases[i].verdict || n != 1 || x->f->n.tsig_verified != cases[i].verified)
			fail_msg("%s %s: verdict %d, counter %d, verified %d", cases[i].records,
				cases[i].how, (int)v, (int)n, (int)x->f->n.tsig_verified);
		assert_int_equal(x->f->n.transfers, v == PROTO_DONE);
		transfer_free(x);
	}
}

static void no_more_than_99_unsigned_messages_in_a_row(void **state)
{
	for (int plain = 99; plain <= 100; plain++) {
		struct transfer *x = transfer_new();
		enum proto_verdict v = message(x, '5', 's');

		for (int i = 0; i < plain && v == PROTO_KEPT; i++)
			v = message(x, 'x', 'u');
		assert_int_equal(v, plain == 99 ? PROTO_KEPT : PROTO_FAIL);
		assert_int_equal(x->f->n.tsig_chain_unsigned, plain == 100);
		if (plain == 99)
			assert_int_equal(message(x, '5', 's'), PROTO_DONE);
		transfer_free(x);
	}
}

static void a_message_that_is_missing_breaks_the_chain(void **state)
{
	for (int missing = 0; missing < 2; missing++) {
		struct transfer *x = transfer_new();
		struct dns_tsig_chain kept;

		assert_int_equal(message(x, '5', 's'), PROTO_KEPT);
		kept = x->theirs;
		assert_int_equal(message(x, 'x', missing ? 's' : 'u'), PROTO_KEPT);
		if (missing) // as the server would sign the following messages without it
			x->theirs = kept;
		assert_int_equal(message(x, '5', 's'), missing ? PROTO_FAIL : PROTO_DONE);
		transfer_free(x);
	}
}

static void a_refusal_is_counted_by_its_error(void **state)
{
	struct transfer *x = transfer_new();
	struct dns_fixture *f = x->f;

	f->reply[3] = DNS_REFUSED;
	assert_int_equal(fixture_verdict(f), PROTO_FAIL);
	assert_int_equal(f->n.tsig_unsigned_errors, 1);
	assert_int_equal(f->n.unexpected_rcode, 1);
	transfer_free(x);
}

static void built_again_the_request_is_the_same_and_the_chain_goes_on(void **state)
{
	struct transfer *x = transfer_new();
	struct proto_txn copy = x->f->txn;
	uint8_t again[512];

	assert_int_equal(message(x, '5', 's'), PROTO_KEPT);
	x->f->ctx.began_ms += 100000;
	assert_int_equal(proto_request(&dns_proto, &x->f->ctx, &copy, again, sizeof(again)),
		x->f->query_len);
	assert_memory_equal(again, x->f->query, x->f->query_len);
	assert_int_equal(message(x, '5', 's'), PROTO_DONE);
	transfer_free(x);
}

static void asked_again_on_another_connection_it_begins_anew(void **state)
{
	struct transfer *x = transfer_new();

	assert_int_equal(message(x, '5', 's'), PROTO_KEPT);
	dns_timeout(&x->f->ctx, &x->f->txn);
	x->f->ctx.began_ms += 100000;
	x->theirs = (struct dns_tsig_chain){.begun = false};
	transfer_ask(x, 0);
	assert_int_equal(message(x, '5', 's'), PROTO_KEPT);
	assert_int_equal(message(x, '5', 's'), PROTO_DONE);
	transfer_free(x);
}

// Nearly as many as are kept, the oldest of them last.
static void many_transfers_are_in_flight_at_once(void **state)
{
	const uint64_t most = DNS_TSIG_TRANSFERS;
	struct transfer *x = transfer_new();
	struct dns_tsig_chain first = x->theirs;

	for (uint64_t seq = 1; seq < most; seq++)
		transfer_ask(x, seq);
	assert_int_equal(message(x, '5', 's'), PROTO_KEPT);
	assert_int_equal(message(x, '5', 's'), PROTO_DONE);
	x->f->txn.seq = 0;
	x->f->txn.tries = 0;
	x->theirs = first;
	assert_int_equal(message(x, '5', 's'), PROTO_KEPT);
	assert_int_equal(message(x, '5', 's'), PROTO_DONE);
	// One more than there are places for: the oldest is no longer known.
	x->f->txn.tries = 0;
	for (uint64_t seq = most; seq < 3 * most; seq++)
		transfer_ask(x, seq);
	x->f->txn.seq = most - 2;
	assert_int_equal(message(x, '5', 's'), PROTO_FAIL);
	assert_int_equal(x->f->n.tsig_chain_forgotten, 1);
	transfer_free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_mistake_has_its_counter),
		cmocka_unit_test(no_more_than_99_unsigned_messages_in_a_row),
		cmocka_unit_test(a_message_that_is_missing_breaks_the_chain),
		cmocka_unit_test(a_refusal_is_counted_by_its_error),
		cmocka_unit_test(built_again_the_request_is_the_same_and_the_chain_goes_on),
		cmocka_unit_test(asked_again_on_another_connection_it_begins_anew),
		cmocka_unit_test(many_transfers_are_in_flight_at_once),
	};

	return cmocka_run_group_tests(tests, secret_create, secret_remove);
}
