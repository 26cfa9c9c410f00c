// SPDX-License-Identifier: BSD-3-Clause
// Messages that are invalid on purpose: each kind has only its own mistake, the responder and the
// judge agree about it, and replies to other kinds are recognised. Path: tests only.

#include "proto/dns/dns.h"
#include "dns_fixture.h"
#include "dns_secret_fixture.h"

#include <unistd.h>

#include "proto/dns/client/dns_wrong_wire.h"

static struct dns_key_settings key = {
	.secret_file = secret_path, .name = "k", .fudge_ns = 300000000000};

// An item whose messages are all of one kind.
static struct dns_fixture *wrong_new(const char *line, enum dns_wrong kind)
{
	static struct dns_wrong_settings shares;
	struct dns_fixture *f = fixture_new(line);

	shares = (struct dns_wrong_settings){{0}};
	shares.shares[kind] = 1;
	f->settings.key = kind == DNS_WRONG_TSIG_MAC ? &key : NULL;
	f->settings.wrong = &shares;
	return f;
}

static void ask(struct dns_fixture *f, uint64_t seq)
{
	f->txn.seq = seq;
	f->query_len = proto_request(&dns_proto, &f->ctx, &f->txn, f->query, sizeof(f->query));
	assert_true(f->query_len >= 2 && f->query_len <= f->facts.longest);
	assert_memory_equal(f->query, "\x12\x34", 2); // the ID stays
}

static void assert_query(enum dns_wrong kind, const void *wire, uint32_t len)
{
	struct dns_fixture *f = wrong_new("a A", kind);

	fixture_open(f);
	ask(f, 0);
	assert_int_equal(f->query_len, len);
	assert_memory_equal(f->query + 2, (const uint8_t *)wire + 2, len - 2);
	assert_int_equal(f->n.wrong_sent[kind], 1);
	assert_int_equal(f->n.request_bytes, len);
	fixture_end(f);
}

#define RESPONSE_TO_A "..\1\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1"

static void each_kind_has_its_bytes(void **state)
{
	uint8_t name[4096] = "..\1\0\0\1\0\0\0\0\0\0";

	assert_query(DNS_WRONG_LOOP, "..\1\0\0\1\0\0\0\0\0\0\xc0\x0c\0\1\0\1", 18);
	assert_query(DNS_WRONG_RESPONSE, "..\x81\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1", 19);
	assert_query(DNS_WRONG_QUESTIONS, "..\1\0\0\2\0\0\0\0\0\0\1a\0\0\1\0\1\1a\0\0\1\0\1", 26);
	assert_query(DNS_WRONG_OPTS,
		"..\1\0\0\1\0\0\0\0\0\2\1a\0\0\1\0\1"
		"\0\0\x29\4\xd0\0\0\0\0\0\0\0\0\x29\4\xd0\0\0\0\0\0\0",
		41);
	name[12] = 64;
	memset(name + 13, 'a', 64);
	memcpy(name + 77, "\0\0\1\0\1", 5);
	assert_query(DNS_WRONG_LABEL, name, 82);
	memset(name + 12, 'a', 300);
	for (uint32_t i = 0; i < 4; i++)
		name[12 + 64 * i] = 63;
	name[12 + 256] = 42;
	memcpy(name + 12 + 299, "\0\0\1\0\1", 5);
	assert_query(DNS_WRONG_NAME, name, 12 + 304);
}

static void kinds_with_random_parts_stay_within_them(void **state)
{
	uint32_t lens = 0, versions = 0, cookies = 0;

	for (uint64_t seq = 0; seq < 500; seq++) {
		static const enum dns_wrong kinds[] = {
			DNS_WRONG_HEADER, DNS_WRONG_VERSION, DNS_WRONG_COOKIE, DNS_WRONG_COUNTS};

		for (uint32_t i = 0; i < 4; i++) {
			struct dns_fixture *f = wrong_new("a A", kinds[i]);
			struct dns_message m;

			fixture_open(f);
			ask(f, seq);
			if (kinds[i] == DNS_WRONG_HEADER) {
				assert_true(f->query_len <= 11);
				lens |= 1u << f->query_len;
				fixture_end(f);
				continue;
			}
			assert_int_equal(dns_message_walk(f->query, f->query_len, 19, &m),
				kinds[i] != DNS_WRONG_COUNTS);
			if (kinds[i] == DNS_WRONG_VERSION) {
				assert_true(m.version > 0 && m.cookie == NULL && m.left == 0);
				versions |= m.version & 0xc0 ? 1 : 2;
			} else if (kinds[i] == DNS_WRONG_COOKIE) {
				assert_true(m.cookie_len >= 1 && m.cookie_len <= 7 && m.left == 0);
				assert_int_equal(m.version, 0);
				cookies |= 1u << m.cookie_len;
			}
			fixture_end(f);
		}
	}
	assert_int_equal(lens, 0xffc);
	assert_int_equal(versions, 3);
	assert_int_equal(cookies, 0xfe);
}

// dnspython 2.9 agrees: UnknownTSIGKey without the key, BadSignature with one of that name.
static void a_signature_is_well_formed_and_with_an_unknown_key(void **state)
{
	struct dns_fixture *f = wrong_new("a A", DNS_WRONG_TSIG);

	fixture_open(f);
	ask(f, 3);
	assert_int_equal(f->query_len, 19 + 79);
	assert_int_equal(f->query[11], 1);
	assert_memory_equal(f->query + 19,
		"\6nobody\0\0\xfa\0\xff\0\0\0\0\0\x3d"
		"\13hmac-sha256\0\0\0\0\0\0\0\1\x2c\0\x20",
		18 + 13 + 10);
	assert_memory_equal(f->query + 19 + 41 + 32, "\x12\x34\0\0\0\0", 6);
	fixture_end(f);
}

// With options of all kinds, and any question.
static void an_opt_record_that_is_there_is_used(void **state)
{
	for (enum dns_wrong kind = 0; kind < DNS_WRONG_COUNT; kind++) {
		struct dns_fixture *f = wrong_new(". NS", kind);
		struct dns_message m;

		f->settings.edns = &f->edns;
		f->settings.cookies = DNS_COOKIES_CLIENT;
		f->edns.padding = 128;
		fixture_open(f);
		ask(f, 7);
		if (kind == DNS_WRONG_COOKIE) {
			assert_true(dns_message_walk(f->query, f->query_len, 17, &m));
			assert_true(m.cookie_len < 8 && m.left == 0 && m.padding == NULL);
		}
		if (kind == DNS_WRONG_VERSION) {
			assert_true(dns_message_walk(f->query, f->query_len, 17, &m));
			assert_true(m.version > 0 && m.padding && m.left == 0);
		}
		if (kind == DNS_WRONG_OPTS)
			assert_int_equal(f->query[11], 2);
		fixture_end(f);
	}
}

// A whole message without a question gets one if its kind needs it.
static void a_message_without_a_question_is_spoiled_too(void **state)
{
	for (enum dns_wrong kind = 0; kind < DNS_WRONG_TSIG_MAC; kind++) {
		static const uint8_t whole[12] = {0x12, 0x34, 0x10};
		struct dns_plan p = {.wrong = true};
		struct dns_worker w = {.workers = 1};
		struct dns_counters n = {0};
		struct proto_ctx ctx = {.shared = &p, .own = &w, .counters = &n};
		struct proto_txn t = {.key = 0x1234};
		uint32_t room = 12 + DNS_WRONG_MORE, len;
		uint8_t *exact = malloc(room);

		for (uint32_t i = kind; i < DNS_WRONG_COUNT; i++)
			p.wrong_below[i] = 1ull << 32;
		memcpy(exact, whole, 12);
		len = dns_wrong_spoil(&ctx, &t, exact, 12, room);
		assert_true(len >= 2 && len <= room);
		assert_int_equal(n.wrong_sent[kind], 1);
		free(exact);
	}
}

static void without_room_nothing_is_written(void **state)
{
	static const enum dns_wrong longer[] = {DNS_WRONG_LABEL, DNS_WRONG_NAME,
		DNS_WRONG_QUESTIONS, DNS_WRONG_OPTS, DNS_WRONG_VERSION, DNS_WRONG_COOKIE,
		DNS_WRONG_TSIG};

	for (size_t i = 0; i < sizeof(longer) / sizeof(longer[0]); i++) {
		struct dns_fixture *f = wrong_new("a A", longer[i]);
		uint8_t *exact = malloc(20);

		fixture_open(f);
		assert_int_equal(proto_request(&dns_proto, &f->ctx, &f->txn, exact, 20), 0);
		free(exact);
		fixture_end(f);
	}
}

// The responder detects all kinds but signatures, which it does not know.
static void the_responder_and_the_judge_agree(void **state)
{
	const struct dns_answers_settings s = {
		.address = {4, {192, 0, 2, 1}}, .address6 = {.len = 16}, .text = ""};

	for (enum dns_wrong kind = 0; kind < DNS_WRONG_COUNT; kind++)
		for (uint64_t seq = 0; seq < 64; seq++) {
			struct dns_fixture *f = wrong_new("www.example.com AAAA", kind);
			struct dns_answer_counters n = {0};
			struct proto_ctx ctx = {.counters = &n};
			bool tsig = kind == DNS_WRONG_TSIG;
			struct dns_answers_settings keyed = s;

			if (seq & 1)
				f->settings.edns = &f->edns;
			if (kind == DNS_WRONG_TSIG_MAC)
				keyed.keys = (struct field_list){&key, 1};
			fixture_open(f);
			ctx.shared = dns_answers_setup(
				&keyed, &f->env, &(struct proto_facts){0}, f->diag);
			assert_int_equal(dns_answers_open(&ctx, &f->env), 0);
			ask(f, seq);
			f->reply_len = dns_answer(
				&ctx, f->query, f->query_len, f->reply, sizeof(f->reply));
			assert_int_equal(
				f->reply_len ? fixture_verdict(f) : dns_timeout(&f->ctx, &f->txn),
				PROTO_APART);
			if (!tsig) {
				assert_int_equal(f->n.wrong_right[kind], 1);
				assert_int_equal(f->n.wrong_unexpected, 0);
			}
			assert_int_equal(f->n.wrong_unanswered[kind] + f->n.rcode[DNS_FORMERR], 0);
			assert_int_equal(f->n.reply_bytes, f->reply_len);
			dns_answers_close(&ctx);
			dns_answers_teardown((void *)ctx.shared);
			fixture_end(f);
		}
}

static void judge(enum dns_wrong kind, const void *reply, uint32_t len, bool right)
{
	struct dns_fixture *f = wrong_new("a A", kind);

	fixture_open(f);
	ask(f, 0);
	assert_int_equal(fixture_verdict_of(f, reply, len), PROTO_APART);
	assert_int_equal(f->n.wrong_right[kind], right);
	assert_int_equal(f->n.wrong_other[kind], !right);
	assert_int_equal(f->n.wrong_unexpected, !right);
	fixture_end(f);
}

#define HEAD(rcode) "\x12\x34\x81" rcode "\0\0\0\0\0\0\0\0"

static void answers_are_judged_by_what_must_come(void **state)
{
	judge(DNS_WRONG_LABEL, HEAD("\1"), 12, true);
	judge(DNS_WRONG_LABEL, HEAD("\2"), 12, false);
	judge(DNS_WRONG_LABEL, HEAD("\0"), 12, false);
	judge(DNS_WRONG_HEADER, HEAD("\1"), 12, false); // nothing must come
	judge(DNS_WRONG_RESPONSE, HEAD("\1"), 12, false);
	judge(DNS_WRONG_RANDOM, "\x12\x34\xf8\4\0\0\0\0\0\0\0\0", 12, true);
	judge(DNS_WRONG_RANDOM, HEAD("\0"), 12, false);
	judge(DNS_WRONG_COOKIE, HEAD("\0"), 12, true);
	judge(DNS_WRONG_COOKIE, HEAD("\1"), 12, true);
	judge(DNS_WRONG_COOKIE, HEAD("\5"), 12, false);
	judge(DNS_WRONG_VERSION, HEAD("\1"), 12, false);
	judge(DNS_WRONG_VERSION,
		"\x12\x34\x81\0\0\1\0\0\0\0\0\1\1a\0\0\1\0\1\0\0\x29\4\xd0\1\0\0\0\0\0", 30, true);
	judge(DNS_WRONG_VERSION,
		"\x12\x34\x81\0\0\1\0\0\0\0\0\1\1a\0\0\1\0\1\0\0\x29\4\xd0\0\0\0\0\0\0", 30, false);
	judge(DNS_WRONG_TSIG, HEAD("\x9"), 12, false); // without the error BADKEY
	judge(DNS_WRONG_TSIG, HEAD("\x9") "........\0\x11\0\0", 24, true);
	judge(DNS_WRONG_TSIG, HEAD("\x9") "........\0\x10\0\0", 24, false);
	judge(DNS_WRONG_TSIG, HEAD("\0") "........\0\x11\0\0", 24, false);
	judge(DNS_WRONG_TSIG_MAC, HEAD("\x9") "........\0\x10\0\0", 24, true);
	judge(DNS_WRONG_TSIG_MAC, HEAD("\x9") "........\0\x11\0\0", 24, false);
}

static void other_replies_are_strangers_as_ever(void **state)
{
	struct dns_fixture *f = wrong_new("a A", DNS_WRONG_LABEL);

	fixture_open(f);
	ask(f, 0);
	assert_int_equal(fixture_verdict_of(f, HEAD("\1"), 11), PROTO_MALFORMED);
	assert_int_equal(fixture_verdict_of(f, "\x12\x35\x81\1\0\0\0\0\0\0\0\0", 12), PROTO_STRAY);
	assert_int_equal(fixture_verdict_of(f, "\x12\x34\1\1\0\0\0\0\0\0\0\0", 12), PROTO_STRAY);
	assert_int_equal(f->n.wrong_right[DNS_WRONG_LABEL] + f->n.wrong_unexpected, 0);
	fixture_end(f);
}

static void silence_is_right_or_counted(void **state)
{
	for (enum dns_wrong kind = 0; kind < DNS_WRONG_COUNT; kind++) {
		struct dns_fixture *f = wrong_new("a A", kind);
		bool right = kind == DNS_WRONG_HEADER || kind == DNS_WRONG_RANDOM ||
		             kind == DNS_WRONG_RESPONSE;

		fixture_open(f);
		ask(f, 0);
		assert_int_equal(dns_timeout(&f->ctx, &f->txn), PROTO_APART);
		assert_int_equal(f->n.wrong_right[kind], right);
		assert_int_equal(f->n.wrong_unanswered[kind], !right);
		assert_int_equal(f->n.wrong_unexpected, 0);
		fixture_end(f);
	}
}

static void a_share_is_drawn_and_the_others_are_as_ever(void **state)
{
	struct dns_wrong_settings shares = {
		.shares = {[DNS_WRONG_LOOP] = 0.2, [DNS_WRONG_TSIG] = 0.05}};
	struct dns_fixture *f = fixture_new("a A");
	uint8_t first[10000][2];

	f->settings.wrong = &shares;
	fixture_open(f);
	for (uint32_t seq = 0; seq < 10000; seq++) {
		ask(f, seq);
		memcpy(first[seq], f->query + 10, 2);
		if (f->query_len == 19) {
			assert_memory_equal(f->query + 2, (const uint8_t *)RESPONSE_TO_A + 2, 17);
			assert_int_equal(dns_timeout(&f->ctx, &f->txn), PROTO_FAIL);
		}
	}
	assert_in_range(f->n.wrong_sent[DNS_WRONG_LOOP], 1850, 2150);
	assert_in_range(f->n.wrong_sent[DNS_WRONG_TSIG], 430, 570);
	fixture_reopen(f); // the same seed: the same messages
	for (uint32_t seq = 0; seq < 10000; seq++) {
		ask(f, seq);
		assert_memory_equal(first[seq], f->query + 10, 2);
	}
	ask(f, UINT64_MAX); // of the probe before the run
	assert_int_equal(f->query_len, 19);
	fixture_end(f);
}

static void a_share_beyond_the_whole_is_refused(void **state)
{
	struct dns_wrong_settings shares;
	struct dns_fixture *f = fixture_new("a A");

	for (uint32_t i = 0; i < DNS_WRONG_COUNT; i++)
		shares.shares[i] = 1.0 / DNS_WRONG_COUNT;
	f->settings.wrong = &shares;
	dns_check(&f->settings, NULL, f->diag);
	assert_diag_has(f->diag, "needs key");
	diag_free(f->diag);
	f->diag = diag_new();
	f->settings.key = &key;
	dns_check(&f->settings, NULL, f->diag);
	assert_int_equal(diag_count(f->diag), 0);
	shares.shares[0] += 0.001;
	dns_check(&f->settings, NULL, f->diag);
	assert_diag_has(f->diag, "more than 100%");
	fixture_end(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_has_its_bytes),
		cmocka_unit_test(kinds_with_random_parts_stay_within_them),
		cmocka_unit_test(a_signature_is_well_formed_and_with_an_unknown_key),
		cmocka_unit_test(an_opt_record_that_is_there_is_used),
		cmocka_unit_test(a_message_without_a_question_is_spoiled_too),
		cmocka_unit_test(without_room_nothing_is_written),
		cmocka_unit_test(the_responder_and_the_judge_agree),
		cmocka_unit_test(answers_are_judged_by_what_must_come),
		cmocka_unit_test(other_replies_are_strangers_as_ever),
		cmocka_unit_test(silence_is_right_or_counted),
		cmocka_unit_test(a_share_is_drawn_and_the_others_are_as_ever),
		cmocka_unit_test(a_share_beyond_the_whole_is_refused),
	};

	return cmocka_run_group_tests(tests, secret_create, secret_remove);
}
