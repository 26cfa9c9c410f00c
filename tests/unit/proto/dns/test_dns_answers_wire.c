// SPDX-License-Identifier: BSD-3-Clause
// The responder byte by byte: records as configured, EDNS, errors, and silence where needed.
// Path: tests only.

#include "dns_fixture.h"

#define QUESTION(type) "\3www\7Example\3com\0\0" type "\0\1"
#define QUESTION_LEN   21
#define QUERY(type)    "\xab\xcd\1\0\0\1\0\0\0\0\0\0" QUESTION(type)
#define QUERY_EDNS     "\xab\xcd\1\0\0\1\0\0\0\0\0\1" QUESTION("\1")

struct responder {
	struct proto_ctx ctx;
	struct dns_answer_counters n;
	uint8_t out[1024];
	uint32_t room;
};

static struct responder *responder_new(int32_t rcode)
{
	struct responder *r = calloc(1, sizeof(*r));
	const struct dns_answers_settings s = {
		.ttl_ns = 60000000000,
		.rcode = rcode,
		.address = {4, {192, 0, 2, 1}},
		.address6 = {16, {0x20, 1, 0xd, 0xb8, [15] = 1}},
		.text = "ddiperf",
	};
	const struct proto_env env = {.workers = 1};
	struct diag *d = diag_new();

	r->ctx.shared = dns_answers_setup(&s, &env, &(struct proto_facts){0}, d);
	assert_non_null(r->ctx.shared);
	assert_int_equal(dns_open(&r->ctx, &env), 0);
	r->ctx.counters = &r->n;
	r->room = sizeof(r->out);
	diag_free(d);
	return r;
}

static void responder_end(struct responder *r)
{
	dns_close(&r->ctx);
	dns_answers_teardown((void *)r->ctx.shared);
	free(r);
}

static uint32_t answer(struct responder *r, const void *query, uint32_t len)
{
	return fixture_answer_to(&r->ctx, query, len, r->out, r->room);
}

static void assert_answer(struct responder *r, const void *query, uint32_t len,
	const void *expected, uint32_t expected_len)
{
	assert_int_equal(answer(r, query, len), expected_len);
	assert_memory_equal(r->out, expected, expected_len);
}

static void a_aaaa_and_txt_get_one_record_each(void **state)
{
	struct responder *r = responder_new(0);

	assert_answer(r, QUERY("\1"), 33,
		"\xab\xcd\x85\0\0\1\0\1\0\0\0\0" QUESTION(
			"\1") "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1",
		49);
	assert_answer(r, QUERY("\x1c"), 33,
		"\xab\xcd\x85\0\0\1\0\1\0\0\0\0" QUESTION(
			"\x1c") "\xc0\x0c\0\x1c\0\1\0\0\0\x3c\0\x10\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0"
				"\0\0\1",
		61);
	assert_answer(r, QUERY("\x10"), 33,
		"\xab\xcd\x85\0\0\1\0\1\0\0\0\0" QUESTION(
			"\x10") "\xc0\x0c\0\x10\0\1\0\0\0\x3c\0\x08\7ddiperf",
		53);
	assert_int_equal(r->n.received, 3);
	assert_int_equal(r->n.answered, 3);
	assert_int_equal(r->n.type[0], 1);
	assert_int_equal(r->n.type[1], 1);
	assert_int_equal(r->n.type[2], 1);
	responder_end(r);
}

static void other_types_and_classes_get_an_empty_answer(void **state)
{
	struct responder *r = responder_new(0);
	uint8_t query[33];

	assert_answer(r, QUERY("\x0f"), 33, "\xab\xcd\x85\0\0\1\0\0\0\0\0\0" QUESTION("\x0f"), 33);
	memcpy(query, QUERY("\1"), 33);
	query[32] = 3;
	assert_int_equal(answer(r, query, 33), 33);
	memcpy(query, QUERY("\x10"), 33);
	query[32] = 4;
	assert_int_equal(answer(r, query, 33), 33);
	assert_int_equal(r->n.type[3], 1);
	responder_end(r);
}

static void texts_of_class_chaos_are_answered_in_it(void **state)
{
	struct responder *r = responder_new(0);
	uint8_t query[33];

	memcpy(query, QUERY("\x10"), 33);
	query[32] = 3;
	assert_int_equal(answer(r, query, 33), 53);
	assert_memory_equal(r->out + 33, "\xc0\x0c\0\x10\0\3\0\0\0\x3c\0\x08\7ddiperf", 20);
	responder_end(r);
}

static void the_rcode_is_as_set(void **state)
{
	struct responder *r = responder_new(3);

	assert_answer(r, QUERY("\1"), 33, "\xab\xcd\x85\3\0\1\0\0\0\0\0\0" QUESTION("\1"), 33);
	responder_end(r);
}

static void rd_and_cd_are_copied_and_ad_is_not(void **state)
{
	struct responder *r = responder_new(0);
	uint8_t query[33];

	memcpy(query, QUERY("\1"), 33);
	query[2] = 0;
	query[3] = 0x30;
	assert_int_equal(answer(r, query, 33), 49);
	assert_int_equal(r->out[2], 0x84);
	assert_int_equal(r->out[3], 0x10);
	responder_end(r);
}

static void edns_is_answered_with_edns_and_do_copied(void **state)
{
	struct responder *r = responder_new(0);

	assert_answer(r, QUERY_EDNS "\0\0\x29\x10\0\0\0\x80\0\0\0", 44,
		"\xab\xcd\x85\0\0\1\0\1\0\0\0\1" QUESTION(
			"\1") "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1"
			      "\0\0\x29\x04\xd0\0\0\x80\0\0\0",
		60);
	responder_end(r);
}

static void an_edns_size_below_512_means_512(void **state)
{
	struct responder *r = responder_new(0);

	assert_int_equal(answer(r, QUERY_EDNS "\0\0\x29\0\1\0\0\0\0\0\0", 44), 60);
	assert_int_equal(r->n.truncated, 0);
	responder_end(r);
}

static void nsid_and_cookie_are_answered(void **state)
{
	struct responder *r = responder_new(0);
	const char *query = QUERY_EDNS "\0\0\x29\x10\0\0\0\0\0\0\x10\0\3\0\0\0\x0a\0\x08"
				       "clientck";
	const char *opt = "\0\0\x29\x04\xd0\0\0\0\0\0\x1f\0\3\0\7ddiperf\0\x0a\0\x10"
			  "clientck";
	uint8_t server[8];

	assert_int_equal(answer(r, query, 60), 49 + 42);
	assert_memory_equal(r->out + 49, opt, 34);
	memcpy(server, r->out + 83, 8);
	assert_int_equal(answer(r, query, 60), 49 + 42);
	assert_memory_equal(r->out + 83, server, 8);
	responder_end(r);
}

static void an_unknown_edns_version_is_badvers(void **state)
{
	struct responder *r = responder_new(0);

	assert_answer(r, QUERY_EDNS "\0\0\x29\x10\0\0\1\0\0\0\0", 44,
		"\xab\xcd\x85\0\0\1\0\0\0\0\0\1" QUESTION("\1") "\0\0\x29\x04\xd0\1\0\0\0\0\0", 44);
	responder_end(r);
}

static void other_opcodes_are_not_implemented(void **state)
{
	struct responder *r = responder_new(0);
	uint8_t query[33];

	memcpy(query, QUERY("\1"), 33);
	query[2] |= 5 << 3;
	assert_answer(r, query, 33, "\xab\xcd\xa9\4\0\0\0\0\0\0\0\0", 12);
	assert_int_equal(r->n.not_implemented, 1);
	assert_int_equal(r->n.answered, 1);
	responder_end(r);
}

static void malformed_queries_are_formerr(void **state)
{
	struct responder *r = responder_new(0);
	const char *query = QUERY_EDNS "\0\0\x29\x10\0\0\0\0\0\0\x0c\0\x0a\0\x08"
				       "clientck";
	uint8_t bytes[56];
	uint32_t n = 0;

	memcpy(bytes, query, 56);
	for (uint32_t cut = 12; cut < 56; cut++, n++)
		assert_answer(r, query, cut, "\xab\xcd\x81\1\0\0\0\0\0\0\0\0", 12);
	for (int count = 0; count < 3; count += 2, n++) {
		bytes[5] = (uint8_t)count;
		assert_answer(r, bytes, 56, "\xab\xcd\x81\1\0\0\0\0\0\0\0\0", 12);
	}
	// an impossible cookie
	assert_answer(r, QUERY_EDNS "\0\0\x29\x10\0\0\0\0\0\0\5\0\x0a\0\1x", 49,
		"\xab\xcd\x81\1\0\0\0\0\0\0\0\0", 12);
	assert_int_equal(r->n.malformed, n + 1);
	assert_int_equal(answer(r, query, 56), 49 + 31);
	responder_end(r);
}

static void responses_and_scraps_get_no_answer(void **state)
{
	struct responder *r = responder_new(0);
	uint8_t query[33];

	memcpy(query, QUERY("\1"), 33);
	for (uint32_t len = 0; len < 12; len++)
		assert_int_equal(answer(r, query, len), 0);
	query[2] |= 0x80;
	assert_int_equal(answer(r, query, 33), 0);
	assert_int_equal(r->n.ignored, 13);
	assert_int_equal(r->n.received, 13);
	assert_int_equal(r->n.answered, 0);
	responder_end(r);
}

static void what_does_not_fit_is_truncated_or_left_out(void **state)
{
	struct responder *r = responder_new(0);

	r->room = 49;
	assert_int_equal(answer(r, QUERY("\1"), 33), 49);
	assert_int_equal(r->n.truncated, 0);
	r->room = 48;
	assert_answer(r, QUERY("\1"), 33, "\xab\xcd\x87\0\0\1\0\0\0\0\0\0" QUESTION("\1"), 33);
	assert_int_equal(r->n.truncated, 1);
	r->room = 32;
	assert_int_equal(answer(r, QUERY("\1"), 33), 0);
	r->room = 11;
	assert_int_equal(answer(r, QUERY("\1"), 33), 0);
	assert_int_equal(r->n.received, r->n.answered + r->n.ignored);
	responder_end(r);
}

static void a_long_name_and_text_keep_to_512_bytes_without_edns(void **state)
{
	struct dns_answers_settings s = {
		.address = {4, {0}},
		.address6 = {16, {0}},
		.text = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
			"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
			"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
			"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef!",
	};
	const struct proto_env env = {.workers = 1};
	struct responder r = {.ctx.counters = &r.n, .room = 1024};
	uint8_t query[512] = {[5] = 1};
	struct diag *d = diag_new();
	uint32_t len = 12 + 255;

	r.ctx.shared = dns_answers_setup(&s, &env, &(struct proto_facts){0}, d);
	for (int i = 0; i < 254; i += 2)
		query[12 + i] = 1;
	memcpy(query + len, "\0\x10\0\1", 4);
	len += 4;
	assert_int_equal(answer(&r, query, len), len);
	assert_int_equal(r.out[2] & 2, 2);
	query[11] = 1;
	memcpy(query + len, "\0\0\x29\x02\x1b\0\0\0\0\0\0", 11); // 539
	assert_int_equal(answer(&r, query, len + 11), len + 11);
	memcpy(query + len, "\0\0\x29\x10\0\0\0\0\0\0\0", 11);
	assert_int_equal(answer(&r, query, len + 11), len + 12 + 256 + 3 + 11);
	assert_int_equal(r.out[len + 12], 255);
	assert_memory_equal(r.out + len + 12 + 256, "\2f!", 3); // the next string of it
	assert_in_range(dns_answer_longest(r.ctx.shared), len + 12 + 256 + 3 + 11, len + 850);
	dns_answers_teardown((void *)r.ctx.shared);
	diag_free(d);
}

static void addresses_of_the_wrong_family_are_refused(void **state)
{
	const struct dns_answers_settings s = {
		.address = {16, {0}}, .address6 = {4, {0}}, .text = ""};
	const struct proto_env env = {.workers = 1};
	struct diag *d = diag_new();

	assert_null(dns_answers_setup(&s, &env, &(struct proto_facts){0}, d));
	assert_int_equal(diag_count(d), 2);
	diag_free(d);
}

static void our_own_queries_are_answered_to_our_satisfaction(void **state)
{
	struct dns_fixture *f = fixture_new("{random:12}.h{0-9}.example AAAA");
	struct responder *r = responder_new(0);
	int32_t noerror = 0;

	f->settings.edns = &f->edns;
	f->settings.expect = &f->expect;
	f->settings.case_0x20 = true;
	f->settings.cookies = DNS_COOKIES_FULL;
	f->edns.nsid = true;
	f->expect.rcode = (struct field_list){&noerror, 1};
	f->expect.min_answers = 1;
	fixture_open(f);
	for (uint32_t i = 0; i < 100; i++) {
		f->txn.key = i * 611;
		f->txn.client = i % 4;
		fixture_ask(f, i);
		f->reply_len = answer(r, f->query, f->query_len);
		memcpy(f->reply, r->out, f->reply_len);
		assert_int_equal(fixture_verdict(f), PROTO_DONE);
	}
	assert_int_equal(f->n.cookies_learnt, 4);
	assert_int_equal(f->n.nsid, 100);
	responder_end(r);
	fixture_end(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_aaaa_and_txt_get_one_record_each),
		cmocka_unit_test(other_types_and_classes_get_an_empty_answer),
		cmocka_unit_test(texts_of_class_chaos_are_answered_in_it),
		cmocka_unit_test(the_rcode_is_as_set),
		cmocka_unit_test(rd_and_cd_are_copied_and_ad_is_not),
		cmocka_unit_test(edns_is_answered_with_edns_and_do_copied),
		cmocka_unit_test(an_edns_size_below_512_means_512),
		cmocka_unit_test(nsid_and_cookie_are_answered),
		cmocka_unit_test(an_unknown_edns_version_is_badvers),
		cmocka_unit_test(other_opcodes_are_not_implemented),
		cmocka_unit_test(malformed_queries_are_formerr),
		cmocka_unit_test(responses_and_scraps_get_no_answer),
		cmocka_unit_test(what_does_not_fit_is_truncated_or_left_out),
		cmocka_unit_test(a_long_name_and_text_keep_to_512_bytes_without_edns),
		cmocka_unit_test(addresses_of_the_wrong_family_are_refused),
		cmocka_unit_test(our_own_queries_are_answered_to_our_satisfaction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
