// SPDX-License-Identifier: BSD-3-Clause
// TSIG byte by byte, compared with messages that dnspython signed: requests, replies and their
// verdicts, transfers of several messages, and the responder's side. Path: tests only.

#include "proto/dns/dns.h"
#include "proto/dns/server/dns_answers.h"
#include "dns_fixture.h"
#include "dns_tsig_vectors.h"

#include <unistd.h>

#include "base/bytes.h"
#include "proto/dns/client/dns_tsig.h"

#define SHA256   3 // of vectors
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

// The MAC of a message that was just signed, without other data.
static void spoil(uint8_t *buf, uint32_t len)
{
	buf[len - 7] ^= 1; // ID, error and length of other data are behind it
}

static char secret_path[] = "/tmp/ddiperf-tsig-XXXXXX";

static int secret_create(void **state)
{
	int fd = mkstemp(secret_path);
	ssize_t n = fd < 0 ? -1 : write(fd, VECTOR_SECRET "\n", sizeof(VECTOR_SECRET));

	close(fd);
	return n < 0;
}

static int secret_remove(void **state)
{
	return unlink(secret_path);
}

static struct dns_key_settings key_settings(int32_t algorithm)
{
	return (struct dns_key_settings){.secret_file = secret_path,
		.name = "Key.Example.",
		.algorithm = algorithm,
		.fudge_ns = 300000000000};
}

static void skew(struct dns_key_settings *key, int64_t skew_s)
{
	*(skew_s < 0 ? &key->behind_ns : &key->ahead_ns) =
		(uint64_t)(skew_s < 0 ? -skew_s : skew_s) * 1000000000;
}

// algorithm: of vectors.
static struct dns_fixture *signed_new(size_t algorithm, int64_t skew_s)
{
	static struct dns_key_settings key;
	struct dns_fixture *f = fixture_new("www.example.com A");

	key = key_settings((int32_t)algorithm + 1);
	skew(&key, skew_s);
	f->settings.key = &key;
	fixture_open(f);
	f->ctx.began_ms = (uint64_t)(VECTOR_TIME - skew_s) * 1000;
	fixture_ask(f, 0);
	return f;
}

static void use_reply(struct dns_fixture *f, const char *hex)
{
	f->reply_len = from_hex(hex, f->reply);
}

static void requests_are_those_of_another_implementation(void **state)
{
	uint8_t theirs[512];

	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct dns_fixture *f = signed_new(i, 0);

		assert_string_equal(dns_tsig_algorithms[i].name, vectors[i].algorithm);
		assert_int_equal(f->query_len, from_hex(vectors[i].request, theirs));
		assert_memory_equal(f->query, theirs, f->query_len);
		assert_int_equal(f->facts.longest, f->query_len);
		assert_int_equal(f->n.request_bytes, f->query_len);
		fixture_end(f);
	}
}

static void their_replies_are_right(void **state)
{
	for (size_t i = 0; i < COUNT(vectors); i++) {
		struct dns_fixture *f = signed_new(i, 0);

		use_reply(f, vectors[i].reply);
		assert_int_equal(fixture_verdict(f), PROTO_DONE);
		assert_int_equal(f->n.tsig_verified, 1);
		assert_int_equal(f->n.rcode[0], 1);
		assert_int_equal(f->n.trailing, 0);
		fixture_end(f);
	}
}

static void any_bit_that_changes_makes_a_reply_wrong(void **state)
{
	struct dns_fixture *f = signed_new(SHA256, 0);
	uint32_t taken = 0;

	use_reply(f, vectors[SHA256].reply);
	for (uint32_t bit = 0; bit < f->reply_len * 8; bit++) {
		f->reply[bit / 8] ^= (uint8_t)(1 << bit % 8);
		// The case of the key's name and algorithm, and therefore the MAC, does not change.
		taken += fixture_verdict(f) == PROTO_DONE;
		f->reply[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(taken, strlen("keyexample") + strlen("hmacsha"));
	assert_int_equal(f->n.tsig_verified, taken);
	assert_true(f->n.tsig_mac_bad > 256);
	assert_true(f->n.tsig_malformed > 0);
	fixture_end(f);
}

static void a_reply_without_signature_fails(void **state)
{
	struct dns_fixture *f = signed_new(SHA256, 0);

	fixture_answer(f);
	assert_int_equal(fixture_verdict(f), PROTO_FAIL);
	assert_int_equal(f->n.tsig_unsigned, 1);
	assert_int_equal(f->n.rcode[0], 1);
	f->reply[3] |= 2; // SERVFAIL
	assert_int_equal(fixture_verdict(f), PROTO_FAIL);
	assert_int_equal(f->n.tsig_unsigned, 2);
	fixture_end(f);
}

static void errors_of_a_server_that_cannot_sign_are_taken(void **state)
{
	static const uint8_t rcodes[] = {DNS_FORMERR, DNS_NOTIMP, DNS_REFUSED};

	for (size_t i = 0; i < COUNT(rcodes); i++) {
		struct dns_fixture *f = signed_new(SHA256, 0);

		f->reply[3] = rcodes[i];
		assert_int_equal(fixture_verdict(f), PROTO_DONE);
		assert_int_equal(f->n.tsig_unsigned_errors, 1);
		assert_int_equal(f->n.rcode[rcodes[i]], 1);
		fixture_end(f);
	}
}

// An unsigned TSIG record of the key: MAC size 0.
static void append_error(struct dns_fixture *f, uint8_t error)
{
	static const uint8_t record[] = "\3key\7example\0\0\xfa\0\xff\0\0\0\0\0\x1d\13hmac-sha256\0"
					"\0\0\x65\x53\xf1\0\1\x2c\0\0\x12\x34\0\0\0";

	f->reply[3] = DNS_NOTAUTH;
	f->reply[11]++;
	fixture_append(f, record, sizeof(record));
	f->reply[f->reply_len - 3] = error;
}

static void badsig_and_badkey_come_without_a_mac(void **state)
{
	struct dns_fixture *f = signed_new(SHA256, 0);

	append_error(f, DNS_BADSIG);
	assert_int_equal(fixture_verdict(f), PROTO_FAIL);
	assert_int_equal(f->n.tsig_error[0], 1);
	f->reply[f->reply_len - 3] = DNS_BADKEY;
	assert_int_equal(fixture_verdict(f), PROTO_FAIL);
	assert_int_equal(f->n.tsig_error[1], 1);
	assert_int_equal(f->n.rcode[DNS_NOTAUTH], 2);
	f->reply[f->reply_len - 3] = DNS_BADTIME; // needs a signature
	assert_int_equal(fixture_verdict(f), PROTO_FAIL);
	f->reply[f->reply_len - 3] = DNS_BADSIG;
	f->reply[3] = 0; // no NOTAUTH
	assert_int_equal(fixture_verdict(f), PROTO_FAIL);
	assert_int_equal(f->n.tsig_unsigned, 2);
	fixture_end(f);
}

static void badtime_is_signed(void **state)
{
	struct dns_fixture *f = signed_new(SHA256, 0);

	use_reply(f, vector_badtime);
	assert_int_equal(fixture_verdict(f), PROTO_FAIL);
	assert_int_equal(f->n.tsig_error[2], 1);
	f->reply[f->reply_len - 1] ^= 1; // the server's time
	assert_int_equal(fixture_verdict(f), PROTO_STRAY);
	assert_int_equal(f->n.tsig_mac_bad, 1);
	fixture_end(f);
}

static void a_time_beyond_the_fudge_fails(void **state)
{
	static const struct {
		int32_t ahead; // our clock, when the reply comes
		enum proto_verdict verdict;
	} cases[] = {{300, PROTO_DONE}, {301, PROTO_FAIL}, {-300, PROTO_DONE}, {-301, PROTO_FAIL}};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct dns_fixture *f = signed_new(SHA256, 0);

		use_reply(f, vectors[SHA256].reply);
		f->ctx.began_ms += (uint64_t)(int64_t)cases[i].ahead * 1000;
		assert_int_equal(fixture_verdict(f), cases[i].verdict);
		assert_int_equal(f->n.tsig_time, cases[i].verdict == PROTO_FAIL);
		fixture_end(f);
	}
}

static void the_clock_is_skewed_on_purpose(void **state)
{
	for (int skew = -1000; skew <= 1000; skew += 2000) {
		struct dns_fixture *f = signed_new(SHA256, skew);
		uint8_t theirs[512];

		assert_int_equal(f->query_len, from_hex(vectors[SHA256].request, theirs));
		assert_memory_equal(f->query, theirs, f->query_len);
		fixture_end(f);
	}
}

static void the_time_of_a_request_is_kept_beside_other_ones(void **state)
{
	struct dns_fixture *f = signed_new(SHA256, 0);
	struct proto_txn first = f->txn;

	for (uint64_t seq = 1; seq <= DNS_TSIG_KEPT; seq++) {
		f->ctx.now_ms = 2000;
		f->txn.user = 0;
		fixture_ask(f, seq);
	}
	// Its place among the MACs is taken, and its time differs.
	f->txn = first;
	assert_null(dns_tsig_request_mac(((struct dns_worker *)f->ctx.own)->tsig, &f->txn));
	use_reply(f, vectors[SHA256].reply);
	f->n = (struct dns_counters){0};
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.tsig_verified, 1);
	assert_int_equal(f->n.request_bytes, 0);
	fixture_end(f);
}

static void a_request_that_is_built_again_at_once_is_the_same(void **state)
{
	struct dns_fixture *f = signed_new(SHA256, 0);
	uint8_t first[512];
	uint32_t len = f->query_len;

	memcpy(first, f->query, len);
	f->ctx.now_ms = 1500;
	fixture_ask(f, 0);
	assert_memory_equal(f->query, first, len);
	f->ctx.now_ms = 2000;
	fixture_ask(f, 0);
	assert_memory_not_equal(f->query, first, len);
	fixture_end(f);
}

static void a_late_reply_is_judged_without_its_request(void **state)
{
	struct dns_fixture *f = signed_new(SHA256, 0);

	f->txn.over = true;
	f->txn.user = 0;
	use_reply(f, vectors[SHA256].reply);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.tsig_verified, 1); // its MAC is still kept
	f->txn.seq = DNS_TSIG_KEPT;
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.tsig_verified, 1);
	fixture_end(f);
}

static void a_request_without_room_is_not_signed(void **state)
{
	struct dns_fixture *f = signed_new(SHA256, 0);
	uint8_t *exact = malloc(f->query_len);

	for (uint32_t room = 0; room <= f->query_len; room++)
		assert_int_equal(proto_request(&dns_proto, &f->ctx, &f->txn, exact, room),
			room == f->query_len ? f->query_len : 0);
	free(exact);
	fixture_end(f);
}

static void a_spoilt_mac_differs_in_it_alone(void **state)
{
	struct dns_fixture *f = signed_new(SHA256, 0);
	struct dns_message m;
	struct dns_tsig before, after;
	uint8_t copy[512];

	memcpy(copy, f->query, f->query_len);
	spoil(copy, f->query_len);
	assert_true(dns_message_walk(copy, f->query_len, 33, &m));
	assert_true(dns_tsig_read(copy, f->query_len, &m, &after));
	assert_true(dns_tsig_read(f->query, f->query_len, &m, &before));
	assert_memory_not_equal(before.mac, after.mac, 32);
	memcpy(copy + (after.mac - copy), before.mac, 32);
	assert_memory_equal(copy, f->query, f->query_len);
	fixture_end(f);
}

static struct dns_tsig_key *key_new(int32_t algorithm)
{
	struct dns_key_settings s = key_settings(algorithm);
	const struct field_list list = {&s, 1};
	struct diag *d = diag_new();
	struct dns_tsig_key *key = dns_tsig_keys_load(&list, d);

	assert_non_null(key);
	diag_free(d);
	return key;
}

// Judges vector_transfer, with some messages changed. Returns the verdicts as letters: R, U, W.
static const char *transfer(const char *skip, uint32_t flip)
{
	static char verdicts[8];
	struct dns_tsig_key *key = key_new(SHA256 + 1);
	struct dns_tsig_prior request = {{0, 32}};
	struct dns_tsig_signer s;
	struct dns_tsig_chain c;
	uint32_t n = 0;

	from_hex(vector_transfer_mac, request.mac);
	dns_tsig_signer_init(&s, key);
	dns_tsig_chain_begin(&c, &s, &request);
	for (uint32_t i = 0; i < COUNT(vector_transfer); i++) {
		uint8_t buf[512];
		uint32_t len = from_hex(vector_transfer[i], buf);
		struct dns_message m;
		struct dns_tsig say;

		if (strchr(skip, (int)('0' + i)))
			continue;
		if (flip == i)
			buf[40] ^= 1;
		assert_true(dns_message_walk(
			buf, len, DNS_HEADER_LEN + (buf[5] ? dns_question_len(buf, len) : 0), &m));
		verdicts[n++] = "RUW"[dns_tsig_chain_next(&c, buf, len, &m, &say)];
	}
	verdicts[n] = '\0';
	dns_tsig_keys_free(key, 1);
	return verdicts;
}

static void messages_of_a_transfer_hang_together(void **state)
{
	assert_string_equal(transfer("", 9), "RRUR");
	assert_string_equal(transfer("", 0), "WWWW");
	assert_string_equal(transfer("", 2), "RRUW");
	assert_string_equal(transfer("2", 9), "RRW");
	assert_string_equal(transfer("1", 9), "RUW");
	assert_string_equal(transfer("01", 9), "WW");
}

static void a_transfer_may_have_99_messages_between_signed_ones(void **state)
{
	struct dns_tsig_key *key = key_new(SHA256 + 1);
	struct dns_tsig_prior prior = {{0}};
	struct dns_tsig_signer s;
	struct dns_tsig_chain c;
	struct dns_message m = {0};
	struct dns_tsig say;

	dns_tsig_signer_init(&s, key);
	dns_tsig_chain_begin(&c, &s, &prior);
	c.form = DNS_TSIG_TIMERS; // as after the first one
	for (int i = 0; i < 99; i++)
		assert_int_equal(dns_tsig_chain_next(&c, (const uint8_t *)"x", 1, &m, &say),
			DNS_TSIG_UNSIGNED);
	assert_int_equal(
		dns_tsig_chain_next(&c, (const uint8_t *)"x", 1, &m, &say), DNS_TSIG_WRONG);
	dns_tsig_keys_free(key, 1);
}

// Messages signed as a transfer are verified as a transfer.
static void a_transfer_is_signed_as_it_is_verified(void **state)
{
	struct dns_tsig_key *key = key_new(6);
	const struct dns_tsig_prior request = {{0, 4}, "abcd"};
	struct dns_tsig_signer s;
	struct dns_tsig_chain c, theirs;

	dns_tsig_signer_init(&s, key);
	dns_tsig_chain_begin(&c, &s, &request);
	dns_tsig_chain_begin(&theirs, &s, &request);
	for (uint32_t i = 0; i < 6; i++) {
		const struct dns_tsig say = {.time = VECTOR_TIME + i, .fudge = 300};
		uint8_t buf[512] = {0x12, 0x34, 0x80, (uint8_t)i};
		struct dns_message m;
		struct dns_tsig read;
		bool plain = i == 2 || i == 3;
		uint32_t len =
			dns_tsig_chain_sign(&theirs, plain ? NULL : &say, buf, 12, sizeof(buf));

		assert_true(dns_message_walk(buf, len, 12, &m));
		assert_int_equal(dns_tsig_chain_next(&c, buf, len, &m, &read),
			plain ? DNS_TSIG_UNSIGNED : DNS_TSIG_RIGHT);
		assert_true(plain || read.time == VECTOR_TIME + i);
	}
	dns_tsig_keys_free(key, 1);
}

// --- the responder ---

struct responder {
	struct proto_ctx ctx;
	struct dns_answer_counters n;
	struct dns_key_settings keys[2];
	uint8_t out[1024];
	uint32_t room;
};

static struct responder *responder_new(int64_t skew_s)
{
	struct responder *r = calloc(1, sizeof(*r));
	struct dns_answers_settings s = {.ttl_ns = 60000000000,
		.address = {4, {192, 0, 2, 1}},
		.address6 = {16, {0x20, 1}},
		.text = "ddiperf"};
	const struct proto_env env = {.workers = 1};
	struct diag *d = diag_new();

	r->keys[0] = key_settings(2);
	r->keys[0].name = "other";
	r->keys[1] = key_settings(SHA256 + 1);
	skew(&r->keys[1], skew_s);
	s.keys = (struct field_list){r->keys, 2};
	r->ctx.shared = dns_answers_setup(&s, &env, &(struct proto_facts){0}, d);
	assert_non_null(r->ctx.shared);
	assert_int_equal(dns_answers_open(&r->ctx, &env), 0);
	r->ctx.counters = &r->n;
	r->ctx.began_ms = VECTOR_TIME * 1000ull;
	r->room = sizeof(r->out);
	diag_free(d);
	return r;
}

static void responder_end(struct responder *r)
{
	dns_answers_close(&r->ctx);
	dns_answers_teardown((void *)r->ctx.shared);
	free(r);
}

static uint32_t answer(struct responder *r, const uint8_t *query, uint32_t len)
{
	return fixture_answer_to(&r->ctx, query, len, r->out, r->room);
}

// Returns the verdict of the client on the reply to its request.
static enum proto_verdict exchange(struct dns_fixture *f, struct responder *r)
{
	f->reply_len = answer(r, f->query, f->query_len);
	memcpy(f->reply, r->out, f->reply_len);
	return fixture_verdict(f);
}

static void client_and_responder_understand_each_other(void **state)
{
	struct dns_fixture *f = signed_new(SHA256, 0);
	struct responder *r = responder_new(0);

	assert_int_equal(exchange(f, r), PROTO_DONE);
	assert_int_equal(f->n.tsig_verified, 1);
	assert_int_equal(r->n.tsig_verified, 1);
	assert_int_equal(f->n.rcode[0], 1);
	assert_int_equal(f->n.empty, 0);
	assert_int_equal(f->n.trailing, 0);
	responder_end(r);
	fixture_end(f);
}

static void the_responder_refuses_by_name_algorithm_secret_and_time(void **state)
{
	struct responder *r = responder_new(0);
	struct dns_fixture *f = signed_new(SHA256 + 1, 0); // not the algorithm of the key

	assert_int_equal(exchange(f, r), PROTO_FAIL);
	assert_int_equal(f->n.tsig_error[1], 1);
	assert_int_equal(r->n.tsig_refused[1], 1);
	fixture_end(f);

	f = signed_new(SHA256, 0);
	f->query[34] ^= 1; // the name
	f->reply_len = answer(r, f->query, f->query_len);
	assert_int_equal(r->n.tsig_refused[1], 2);
	f->query[34] ^= 1;
	spoil(f->query, f->query_len);
	assert_int_equal(exchange(f, r), PROTO_FAIL);
	assert_int_equal(f->n.tsig_error[0], 1);
	assert_int_equal(r->n.tsig_refused[0], 1);
	spoil(f->query, f->query_len);
	r->ctx.began_ms += 301000;
	assert_int_equal(exchange(f, r), PROTO_FAIL);
	assert_int_equal(f->n.tsig_error[2], 1);
	assert_int_equal(r->n.tsig_refused[2], 1);
	assert_int_equal(f->n.rcode[DNS_NOTAUTH], 2);
	fixture_end(f);
	responder_end(r);
}

static void the_responder_refuses_shortened_macs(void **state)
{
	struct responder *r = responder_new(0);
	struct dns_fixture *f = signed_new(SHA256, 0);
	uint8_t *mac_len = f->query + f->query_len - 6 - 32 - 1, *rdlen = f->query + 33 + 13 + 9;

	// The first 16 octets of the MAC are correct.
	memmove(mac_len + 17, mac_len + 33, 6);
	*mac_len = 16;
	*rdlen -= 16;
	f->query_len -= 16;
	f->reply_len = answer(r, f->query, f->query_len);
	assert_int_equal(r->n.tsig_refused[3], 1);
	assert_int_equal(r->out[3] & 15, DNS_NOTAUTH);
	assert_int_equal(r->out[f->reply_len - 3], DNS_BADTRUNC);
	fixture_end(f);
	responder_end(r);
}

static void a_signed_answer_stays_below_the_size_of_the_client(void **state)
{
	struct responder *r = responder_new(0);
	struct dns_fixture *f = signed_new(SHA256, 0);
	uint32_t whole = answer(r, f->query, f->query_len);

	for (r->room = 0; r->room < whole; r->room++) {
		uint32_t len = answer(r, f->query, f->query_len);

		assert_true(len == 0 || len == whole - 16);
		assert_true(len == 0 || r->out[2] & 2); // TC
	}
	fixture_end(f);
	responder_end(r);
}

static void the_responder_tells_a_wrong_time(void **state)
{
	struct responder *r = responder_new(-400);
	struct dns_fixture *f = signed_new(SHA256, 0);

	assert_int_equal(exchange(f, r), PROTO_FAIL);
	assert_int_equal(f->n.tsig_time, 1);
	fixture_end(f);
	responder_end(r);
}

static void faults_spoil_signatures(void **state)
{
	static const struct {
		const char *name;
		enum proto_verdict verdict;
		size_t counter;
	} cases[] = {{"tsig_mac", PROTO_STRAY, offsetof(struct dns_counters, tsig_mac_bad)},
		{"tsig_unsigned", PROTO_FAIL, offsetof(struct dns_counters, tsig_unsigned)},
		{"tsig_format", PROTO_MALFORMED, offsetof(struct dns_counters, tsig_malformed)}};
	struct responder *r = responder_new(0);

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct dns_fixture *f = signed_new(SHA256, 0);
		const struct proto_fault *fault = dns_faults;
		uint64_t n;

		while (strcmp(fault->name, cases[i].name) != 0)
			fault++;
		f->reply_len = answer(r, f->query, f->query_len);
		memcpy(f->reply, r->out, f->reply_len);
		f->reply_len = fault->apply(f->reply, f->reply_len, sizeof(f->reply), 12345);
		assert_true(f->reply_len > 0);
		assert_int_equal(fixture_verdict(f), cases[i].verdict);
		memcpy(&n, (const char *)&f->n + cases[i].counter, sizeof(n));
		assert_int_equal(n, 1);
		// A reply without a signature has none to corrupt.
		assert_int_equal(fault->apply(f->reply, 33, sizeof(f->reply), 12345), 0);
		fixture_end(f);
	}
	responder_end(r);
}

// A request changes if a cookie was learned meanwhile, so its MAC is kept.
static void full_cookies_are_signed(void **state)
{
	static struct dns_key_settings key;
	struct dns_fixture *f = fixture_new("www.example.com A");
	struct responder *r = responder_new(0);
	uint8_t early[512], answers[2][1024];
	uint32_t lens[2];

	key = key_settings(SHA256 + 1);
	f->settings.key = &key;
	f->settings.cookies = DNS_COOKIES_FULL;
	fixture_open(f);
	f->ctx.began_ms = VECTOR_TIME * 1000ull;
	for (uint64_t seq = 0; seq < 2; seq++) {
		fixture_ask(f, seq);
		lens[seq] = answer(r, f->query, f->query_len);
		memcpy(answers[seq], r->out, lens[seq]);
	}
	assert_int_equal(fixture_verdict_of(f, answers[1], lens[1]), PROTO_DONE);
	assert_int_equal(f->n.cookies_learnt, 1);
	f->txn.seq = 0;
	assert_true(
		proto_request(&dns_proto, &f->ctx, &f->txn, early, sizeof(early)) > f->query_len);
	assert_int_equal(fixture_verdict_of(f, answers[0], lens[0]), PROTO_DONE);
	assert_int_equal(f->n.tsig_verified, 2);
	// Another request has taken its place: the MAC is unknown.
	fixture_ask(f, DNS_TSIG_KEPT_FULL);
	f->txn.seq = 0;
	assert_int_equal(fixture_verdict_of(f, answers[0], lens[0]), PROTO_DONE);
	assert_int_equal(f->n.tsig_forgotten, 1);
	assert_int_equal(f->n.tsig_verified, 2);
	responder_end(r);
	fixture_end(f);
}

static void what_is_behind_a_tsig_record_is_no_message(void **state)
{
	struct responder *r = responder_new(0);
	struct dns_fixture *f = signed_new(SHA256, 0);

	memcpy(f->query + f->query_len, "\0\0\x29\4\xd0\0\0\0\0\0\0", 11);
	f->query[11]++;
	assert_int_equal(answer(r, f->query, f->query_len + 11), 12);
	assert_int_equal(r->out[3] & 15, DNS_FORMERR);
	assert_int_equal(r->n.malformed, 1);
	f->query[11]--;
	f->query[f->query_len - 1] = 1; // other data that are not there
	assert_int_equal(answer(r, f->query, f->query_len), 12);
	assert_int_equal(r->n.malformed, 2);
	assert_int_equal(r->n.tsig_verified, 0);
	fixture_end(f);
	responder_end(r);
}

static void names_of_keys_may_be_compressed_and_in_any_case(void **state)
{
	static const uint8_t msg[] = "............\3KEY\7Example\0\300\014\0";
	uint8_t name[DNS_NAME_MAX];

	assert_int_equal(dns_name_read(msg, 27, 12, name), 13);
	assert_memory_equal(name, "\3key\7example\0", 13);
	assert_int_equal(dns_name_read(msg, 27, 25, name), 13);
	assert_int_equal(dns_name_read(msg, 26, 25, name), 0);
	assert_int_equal(dns_name_read(msg, 20, 12, name), 0);
	assert_int_equal(dns_name_read((const uint8_t *)"\300\0", 2, 0, name), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_those_of_another_implementation),
		cmocka_unit_test(their_replies_are_right),
		cmocka_unit_test(any_bit_that_changes_makes_a_reply_wrong),
		cmocka_unit_test(a_reply_without_signature_fails),
		cmocka_unit_test(errors_of_a_server_that_cannot_sign_are_taken),
		cmocka_unit_test(badsig_and_badkey_come_without_a_mac),
		cmocka_unit_test(badtime_is_signed),
		cmocka_unit_test(a_time_beyond_the_fudge_fails),
		cmocka_unit_test(the_clock_is_skewed_on_purpose),
		cmocka_unit_test(the_time_of_a_request_is_kept_beside_other_ones),
		cmocka_unit_test(a_request_that_is_built_again_at_once_is_the_same),
		cmocka_unit_test(a_late_reply_is_judged_without_its_request),
		cmocka_unit_test(a_request_without_room_is_not_signed),
		cmocka_unit_test(a_spoilt_mac_differs_in_it_alone),
		cmocka_unit_test(messages_of_a_transfer_hang_together),
		cmocka_unit_test(a_transfer_may_have_99_messages_between_signed_ones),
		cmocka_unit_test(a_transfer_is_signed_as_it_is_verified),
		cmocka_unit_test(client_and_responder_understand_each_other),
		cmocka_unit_test(the_responder_refuses_by_name_algorithm_secret_and_time),
		cmocka_unit_test(the_responder_refuses_shortened_macs),
		cmocka_unit_test(a_signed_answer_stays_below_the_size_of_the_client),
		cmocka_unit_test(the_responder_tells_a_wrong_time),
		cmocka_unit_test(faults_spoil_signatures),
		cmocka_unit_test(full_cookies_are_signed),
		cmocka_unit_test(what_is_behind_a_tsig_record_is_no_message),
		cmocka_unit_test(names_of_keys_may_be_compressed_and_in_any_case),
	};

	return cmocka_run_group_tests(tests, secret_create, secret_remove);
}
