// SPDX-License-Identifier: BSD-3-Clause
// EDNS options of all kinds: in words of a line, as settings, padding, and in replies. Path: tests
// only.

#include "dns_fixture.h"

static const char *read_word(const char *word, uint8_t *out, uint32_t room, uint32_t *len)
{
	struct writer w = writer_of(out, room);
	const char *error = dns_option_read(&w, word, strlen(word));

	*len = (uint32_t)(w.at - out);
	return error;
}

static void a_word_becomes_an_option(void **state)
{
	static const struct {
		const char *word, *wire;
		uint32_t len;
	} cases[] = {
		{"+3", "\0\3\0\0", 4},
		{"+3=", "\0\3\0\0", 4},
		{"+65001=c0FFee", "\xfd\xe9\0\3\xc0\xff\xee", 7},
		{"+65535:abc",
			"\xff\xff\0\3"
			"abc",
			7},
		{"+0:c0", "\0\0\0\2c0", 6},
		{"+15:a=b:\\032\\255\\\\\\;",
			"\0\x0f\0\x08"
			"a=b: \xff\\;",
			12},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t out[64];
		uint32_t len;

		assert_null(read_word(cases[i].word, out, sizeof(out), &len));
		assert_int_equal(len, cases[i].len);
		assert_memory_equal(out, cases[i].wire, len);
	}
}

static void other_words_are_refused(void **state)
{
	static const struct {
		const char *word, *error;
	} cases[] = {
		{"+", "not an option"},
		{"+=c0", "not an option"},
		{"+nsid", "not an option"},
		{"+65536=c0", "not an option"},
		{"+99999999999999999999", "not an option"},
		{"+3 ", "not an option"},
		{"+3=c", "an odd number"},
		{"+3=cz", "not hex digits"},
		{"+3:a\\", "not an escape"},
		{"+3:\\256", "not an escape"},
		{"+3:\\1x3", "not an escape"},
		{"+3:0123456789abcdef", "more than 512"},
		{"+3=000102030405060708", "more than 512"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t out[12];
		uint32_t len;
		const char *error = read_word(cases[i].word, out, sizeof(out), &len);

		assert_non_null(error);
		assert_non_null(strstr(error, cases[i].error));
	}
}

static void assert_opt(const struct dns_fixture *f, const void *opt, uint32_t len)
{
	uint32_t at = DNS_HEADER_LEN + dns_question_len(f->query, f->query_len);

	assert_int_equal(f->query_len - at, len);
	assert_int_equal(f->query[11], 1);
	assert_memory_equal(f->query + at, opt, len);
}

static void the_options_of_a_line_stand_behind_those_of_all_and_before_the_cookie(void **state)
{
	struct dns_option_settings options[] = {{.code = 65001, .text = "hi"}};
	struct dns_fixture *f = fixture_new(". NS +65002=dead +65003:x 192.0.2.0/24");

	f->settings.edns = &f->edns;
	f->edns.zoneversion = true;
	f->edns.client_subnet = (struct addr_prefix){{4, {10}}, 8};
	f->edns.options = (struct field_list){options, 1};
	f->settings.cookies = DNS_COOKIES_CLIENT;
	fixture_open(f);
	fixture_ask(f, 0);
	assert_int_equal(f->query_len, 17 + 11 + 11 + 4 + 6 + 6 + 5 + 12);
	memset(f->query + f->query_len - 8, 0xcc, 8); // the cookie is random
	assert_opt(f,
		"\0\0\x29\x04\xd0\0\0\0\0\0\x2c"
		"\0\x08\0\7\0\1\x18\0\xc0\0\2"
		"\0\x13\0\0"
		"\xfd\xe9\0\2hi"
		"\xfd\xea\0\2\xde\xad"
		"\xfd\xeb\0\1x"
		"\0\x0a\0\x08\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc",
		55);
	fixture_end(f);
}

static void a_subnet_is_drawn_beside_the_options_of_a_line(void **state)
{
	struct dns_fixture *f = fixture_new(". NS +65002=dead");

	f->settings.edns = &f->edns;
	f->edns.client_subnet = (struct addr_prefix){{4, {10, 1, 2}}, 24};
	fixture_open(f);
	fixture_ask(f, 0);
	assert_opt(f,
		"\0\0\x29\x04\xd0\0\0\0\0\0\x11"
		"\0\x08\0\7\0\1\x18\0\x0a\1\2"
		"\xfd\xea\0\2\xde\xad",
		28);
	fixture_opt(f, 0, f->query + 28, 11);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	fixture_end(f);
}

static void a_line_with_an_option_has_an_opt_record_of_its_own(void **state)
{
	struct dns_fixture *f = fixture_start(". NS +3");

	fixture_ask(f, 0);
	assert_opt(f, "\0\0\x29\x04\xd0\0\0\0\0\0\4\0\3\0\0", 15);
	fixture_opt(f, 0, "\0\3\0\2id", 6);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.nsid, 1);
	fixture_end(f);
}

// 12 + 17 + 11 + 4 + 84 = 128, as dnspython 2.9 writes it with pad=128.
static void a_query_is_padded_to_its_block(void **state)
{
	struct dns_fixture *f = fixture_new("example.com A");
	uint8_t opt[99] = "\0\0\x29\x04\xd0\0\0\0\0\0\x58\0\x0c\0\x54";

	f->settings.edns = &f->edns;
	f->edns.padding = 128;
	fixture_open(f);
	fixture_ask(f, 0);
	assert_int_equal(f->query_len, 128);
	assert_opt(f, opt, 99);
	assert_int_equal(f->n.request_bytes, 128);
	assert_true(f->facts.longest >= 128);
	fixture_end(f);
}

static void padding_is_the_last_option_whatever_stands_before_it(void **state)
{
	static const uint64_t blocks[] = {1, 2, 31, 128, 468, 4096};

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		struct dns_fixture *f = fixture_new("www.example.com A +65001=0102");
		struct dns_message m;
		uint32_t at;

		f->settings.edns = &f->edns;
		f->settings.cookies = DNS_COOKIES_FULL;
		f->edns.client_subnet = (struct addr_prefix){{16, {0x20, 1}}, 16};
		f->edns.padding = blocks[i];
		fixture_open(f);
		for (uint64_t seq = 0; seq < 2; seq++) {
			fixture_ask(f, seq);
			at = DNS_HEADER_LEN + dns_question_len(f->query, f->query_len);
			assert_int_equal(f->query_len % blocks[i], 0);
			assert_true(f->query_len <= f->facts.longest);
			assert_true(dns_message_walk(f->query, f->query_len, at, &m));
			assert_int_equal(m.left, 0);
			assert_int_equal(m.cookie_len, seq ? 16 : 8);
			assert_non_null(m.subnet);
			assert_true(m.padding > m.cookie);
			for (const uint8_t *p = m.padding; p < f->query + f->query_len; p++)
				assert_int_equal(*p, 0);
			if (seq == 0) { // a server cookie makes the next one longer
				uint8_t cookie[20] = "\0\x0a\0\x10........87654321";

				memcpy(cookie + 4, m.cookie, 8);
				fixture_opt(f, 0, cookie, sizeof(cookie));
				assert_int_equal(fixture_verdict(f), PROTO_DONE);
				assert_int_equal(f->n.cookies_learnt, 1);
			}
		}
		fixture_end(f);
	}
}

static void hex_and_text_are_one_or_the_other(void **state)
{
	struct dns_option_settings options[] = {
		{.code = 1, .text = "a", .hex = {(const uint8_t *)"b", 1}}};
	struct dns_fixture *f = fixture_new("a A");

	f->settings.edns = &f->edns;
	f->edns.options = (struct field_list){options, 1};
	dns_check(&f->settings, NULL, f->diag);
	assert_diag_has(f->diag, "conflicts with hex");
	fixture_end(f);
}

static void replies_are_counted_by_extended_error_and_option(void **state)
{
	struct dns_fixture *f = fixture_new("a A");

	f->settings.edns = &f->edns;
	fixture_open(f);
	fixture_ask(f, 0);
	fixture_answer(f);
	fixture_opt(f, 0,
		"\0\x0f\0\2\0\3"
		"\0\x0f\0\5\0\x1ewhy"
		"\0\x0f\0\2\0\x1e"
		"\0\x0f\0\2\0\x1f"
		"\0\x0f\0\2\xff\xff"
		"\0\x0f\0\1\0"
		"\0\x0f\0\0"
		"\0\x12\0\7\5agent\0"
		"\0\x13\0\6\0\0\0\0\0\1"
		"\0\x0c\0\1\0",
		6 + 9 + 6 + 6 + 6 + 5 + 4 + 11 + 10 + 5);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	for (uint32_t i = 0; i < DNS_EDES; i++)
		assert_int_equal(f->n.extended_error[i], i == 3 || i == 30 || i == 31);
	assert_int_equal(f->n.report_channel, 1);
	assert_int_equal(f->n.zoneversion, 1);
	assert_int_equal(f->n.padded, 1);
	fixture_end(f);
}

static void an_option_that_is_asked_for_and_empty_is_not_counted(void **state)
{
	struct dns_fixture *f = fixture_new("a A");

	f->settings.edns = &f->edns;
	f->edns.zoneversion = true;
	fixture_open(f);
	fixture_ask(f, 0);
	assert_memory_equal(f->query + f->query_len - 4, "\0\x13\0\0", 4);
	fixture_opt(f, 0, "\0\x13\0\0", 4);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.zoneversion + f->n.report_channel + f->n.padded, 0);
	fixture_end(f);
}

// The names come from IANA's registry and are unique: each is a path of a criterion.
static void each_extended_error_has_its_name(void **state)
{
	assert_string_equal(dns_ede_label(0), "Other_Error");
	assert_string_equal(dns_ede_label(22), "No_Reachable_Authority");
	assert_string_equal(dns_ede_label(30), "Invalid_Query_Type");
	assert_string_equal(dns_ede_label(31), "other");
	for (uint32_t i = 0; i < DNS_EDES; i++)
		for (uint32_t k = 0; k < i; k++)
			assert_string_not_equal(dns_ede_label(i), dns_ede_label(k));
}

// Makes the query of an item, and the responder's reply in f->reply.
static void answered_by(struct dns_fixture *f, const struct dns_answers_settings *s)
{
	struct dns_answer_counters n = {0};
	struct proto_ctx ctx = {.counters = &n};

	ctx.shared = dns_answers_setup(s, &f->env, &(struct proto_facts){0}, f->diag);
	assert_non_null(ctx.shared);
	fixture_ask(f, 0);
	f->reply_len = dns_answer(&ctx, f->query, f->query_len, f->reply, 1400);
	assert_true(f->reply_len > 0 && f->reply_len <= dns_answer_longest(ctx.shared));
	assert_int_equal(n.answered, 1);
	dns_answers_teardown((void *)ctx.shared);
}

static void the_responder_carries_what_it_is_told_to_and_asked_for(void **state)
{
	static uint64_t codes[] = {18, 4711};
	const struct dns_answers_settings s = {.address = {4, {192, 0, 2, 1}},
		.address6 = {.len = 16},
		.text = "",
		.keepalive_ns = UINT64_MAX,
		.errors = {codes, 2},
		.report_channel = "agent.example"};
	struct dns_fixture *f = fixture_new("a A");

	f->settings.edns = &f->edns;
	f->settings.cookies = DNS_COOKIES_CLIENT;
	f->edns.zoneversion = true;
	f->edns.padding = 128;
	fixture_open(f);
	answered_by(f, &s);
	assert_int_equal(f->reply_len, 468);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.extended_error[18], 1);
	assert_int_equal(f->n.extended_error[31], 1);
	assert_int_equal(f->n.report_channel + f->n.zoneversion + f->n.padded, 3);
	assert_int_equal(f->n.trailing + f->n.oversize, 0);
	fixture_end(f);
}

static void an_answer_that_does_not_fit_padded_is_not_padded(void **state)
{
	const struct dns_answers_settings s = {.address = {4, {192, 0, 2, 1}},
		.address6 = {.len = 16},
		.text = "a text of more than 468 octets: ......................................."
			"......................................................................."
			"......................................................................."
			"......................................................................."
			"......................................................................."
			"......................................................................."
			"................................",
		.keepalive_ns = UINT64_MAX};
	struct dns_fixture *f = fixture_new("a TXT");

	f->settings.edns = &f->edns;
	f->edns.size = 600;
	f->edns.padding = 128;
	fixture_open(f);
	answered_by(f, &s);
	assert_true(f->reply_len > 468 && f->reply_len < 600);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.padded, 0);
	fixture_end(f);
}

static void a_wrong_agent_or_too_many_errors_are_refused(void **state)
{
	static uint64_t codes[DNS_EXTRA_EDES + 1];
	struct dns_answers_settings s = {.address = {4, {192, 0, 2, 1}},
		.address6 = {.len = 16},
		.text = "",
		.errors = {codes, DNS_EXTRA_EDES + 1}};
	struct dns_fixture *f = fixture_new("a A");

	assert_null(dns_answers_setup(&s, &f->env, &(struct proto_facts){0}, f->diag));
	assert_diag_has(f->diag, "more than 8 extended errors");
	s.errors.count = 0;
	s.report_channel = "a..b";
	assert_null(dns_answers_setup(&s, &f->env, &(struct proto_facts){0}, f->diag));
	assert_int_equal(diag_count(f->diag), 2);
	fixture_end(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_becomes_an_option),
		cmocka_unit_test(other_words_are_refused),
		cmocka_unit_test(
			the_options_of_a_line_stand_behind_those_of_all_and_before_the_cookie),
		cmocka_unit_test(a_subnet_is_drawn_beside_the_options_of_a_line),
		cmocka_unit_test(a_line_with_an_option_has_an_opt_record_of_its_own),
		cmocka_unit_test(a_query_is_padded_to_its_block),
		cmocka_unit_test(padding_is_the_last_option_whatever_stands_before_it),
		cmocka_unit_test(hex_and_text_are_one_or_the_other),
		cmocka_unit_test(replies_are_counted_by_extended_error_and_option),
		cmocka_unit_test(an_option_that_is_asked_for_and_empty_is_not_counted),
		cmocka_unit_test(each_extended_error_has_its_name),
		cmocka_unit_test(the_responder_carries_what_it_is_told_to_and_asked_for),
		cmocka_unit_test(an_answer_that_does_not_fit_padded_is_not_padded),
		cmocka_unit_test(a_wrong_agent_or_too_many_errors_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
