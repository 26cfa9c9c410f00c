// SPDX-License-Identifier: BSD-3-Clause
// Zone transfers: their queries, and their end. Path: tests only.

#include "dns_fixture.h"

static struct dns_fixture *fixture_transfer(const char *line)
{
	struct dns_fixture *f = fixture_new(line);

	f->settings.names.count = 0;
	f->settings.transfers = (struct field_list){f->names, 1};
	f->ctx.stream = true;
	return f;
}

static void questions_are_those_of_the_rfcs(void **state)
{
	struct dns_fixture *f = fixture_transfer("a");

	fixture_open(f);
	fixture_ask(f, 0);
	assert_int_equal(f->query_len, 19);
	assert_memory_equal(f->query + 2, "\0\0\0\1\0\0\0\0\0\0\1a\0\0\xfc\0\1", 17);
	fixture_end(f);
	f = fixture_transfer("a 258");
	fixture_open(f);
	fixture_ask(f, 0);
	assert_int_equal(f->query_len, 19 + 34);
	assert_memory_equal(f->query + 2,
		"\0\0\0\1\0\0\0\1\0\0\1a\0\0\xfb\0\1"
		"\xc0\x0c\0\6\0\1\0\0\0\0\0\x16\0\0\0\0\1\2"
		"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
		17 + 34);
	fixture_end(f);
}

static void wrong_serials_are_refused(void **state)
{
	const char *lines[] = {"a x", "a 4294967296", "a 1 2", "a -1"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct dns_fixture *f = fixture_transfer(lines[i]);

		assert_null(dns_setup(&f->settings, &f->env, &(struct proto_facts){0}, f->diag));
		assert_int_equal(diag_count(f->diag), 1);
		fixture_end(f);
	}
}

// A digit is the SOA record of that serial, another letter an A record. question: is there one?
static enum proto_verdict message(struct dns_fixture *f, const char *records, bool question)
{
	uint8_t soa[] = "\xc0\x0c\0\6\0\1\0\0\0\0\0\x18\xc0\x0c\xc0\x0c\0\0\0\0"
			"0123456789abcdef";
	const uint8_t a[] = "\xc0\x0c\0\1\0\1\0\0\0\0\0\4\1\2\3\4";

	f->reply_len = DNS_HEADER_LEN + (question ? dns_question_len(f->query, f->query_len) : 0);
	memcpy(f->reply + DNS_HEADER_LEN, f->query + DNS_HEADER_LEN, f->reply_len - DNS_HEADER_LEN);
	f->reply[5] = question;
	memset(f->reply + 6, 0, 6);
	for (; *records; records++) {
		bool first =
			!question && f->reply[7] == 0; // its name stands where the question's would

		soa[19] = (uint8_t)(*records - '0');
		if (first)
			fixture_append(f, "\1a", 3);
		if (*records <= '9')
			fixture_append(f, soa + 2 * first, (uint32_t)sizeof(soa) - 1 - 2 * first);
		else
			fixture_append(f, a + 2 * first, 16 - 2 * first);
		f->reply[7]++;
	}
	return fixture_verdict(f);
}

static void a_transfer_ends_with_the_record_that_began_it(void **state)
{
	const struct {
		const char *line, *messages; // of one digit or letter a record, between blanks
		enum proto_verdict verdict;
		uint64_t unchanged;
	} cases[] = {
		{"a", "5xx5", PROTO_DONE, 0},
		{"a", "55", PROTO_DONE, 0},
		{"a", "5 x xx x5", PROTO_DONE, 0},
		{"a", "5xx", PROTO_KEPT, 0},
		{"a", "5", PROTO_KEPT, 0},
		{"a", "5xx6", PROTO_FAIL, 0},
		{"a", "56", PROTO_FAIL, 0},
		{"a", "x5", PROTO_FAIL, 0},
		{"a", "5x5x", PROTO_FAIL, 0},
		{"a", "5x55", PROTO_FAIL, 0},
		{"a 3", "5xx5", PROTO_DONE, 0},
		{"a 3", "53x5x5", PROTO_DONE, 0},
		{"a 3", "5 3 x 5 x 5", PROTO_DONE, 0},
		{"a 3", "53x4x4xx5x5", PROTO_DONE, 0},
		{"a 3", "53x4x4xx5x", PROTO_KEPT, 0},
		{"a 3", "53x4x5x6", PROTO_FAIL, 0},
		{"a 5", "5", PROTO_DONE, 1},
		{"a 6", "5", PROTO_DONE, 1},
		{"a 4", "5", PROTO_KEPT, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dns_fixture *f = fixture_transfer(cases[i].line);
		enum proto_verdict v = PROTO_KEPT;
		char text[64], *rest = NULL;
		uint64_t messages = 0;

		fixture_open(f);
		fixture_ask(f, 0);
		strcpy(text, cases[i].messages);
		for (char *m = strtok_r(text, " ", &rest); m; m = strtok_r(NULL, " ", &rest)) {
			assert_int_equal(v, PROTO_KEPT);
			v = message(f, m, messages++ == 0);
		}
		if (v != cases[i].verdict)
			fail_msg("%s: %s: %d", cases[i].line, cases[i].messages, (int)v);
		assert_int_equal(f->n.transfer_messages, messages);
		assert_int_equal(f->n.transfers, v == PROTO_DONE);
		assert_int_equal(f->n.transfers_broken, v == PROTO_FAIL);
		assert_int_equal(f->n.transfers_unchanged, cases[i].unchanged);
		fixture_end(f);
	}
}

static void asked_again_it_begins_anew(void **state)
{
	struct dns_fixture *f = fixture_transfer("a");

	fixture_open(f);
	fixture_ask(f, 0);
	assert_int_equal(message(f, "5xx", true), PROTO_KEPT);
	fixture_ask(f, 0);
	assert_int_equal(message(f, "6xx", true), PROTO_KEPT);
	assert_int_equal(message(f, "6", false), PROTO_DONE);
	fixture_end(f);
}

static void settings_of_queries_are_refused(void **state)
{
	struct dns_fixture *f = fixture_transfer("a");

	f->settings.transport.transport = TRANSPORT_TCP;
	dns_check(&f->settings, NULL, f->diag);
	assert_int_equal(diag_count(f->diag), 0);
	f->settings.case_0x20 = true;
	f->settings.opcode = DNS_NOTIFY;
	f->settings.cookies = DNS_COOKIES_FULL;
	f->settings.transport.transport = TRANSPORT_UDP;
	dns_check(&f->settings, NULL, f->diag);
	assert_int_equal(diag_count(f->diag), 4);
	fixture_end(f);
}

static void a_refusal_fails_and_another_question_is_stray(void **state)
{
	struct dns_fixture *f = fixture_transfer("a");

	fixture_open(f);
	fixture_ask(f, 0);
	f->reply[3] = 5;
	assert_int_equal(message(f, "", true), PROTO_FAIL);
	assert_int_equal(f->n.unexpected_rcode, 1);
	f->reply[3] = 0;
	assert_int_equal(message(f, "5", false), PROTO_STRAY); // the first message has the question
	assert_int_equal(message(f, "5", true), PROTO_KEPT);
	assert_int_equal(message(f, "x5", false), PROTO_DONE);
	fixture_end(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(questions_are_those_of_the_rfcs),
		cmocka_unit_test(wrong_serials_are_refused),
		cmocka_unit_test(a_transfer_ends_with_the_record_that_began_it),
		cmocka_unit_test(asked_again_it_begins_anew),
		cmocka_unit_test(settings_of_queries_are_refused),
		cmocka_unit_test(a_refusal_fails_and_another_question_is_stray),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
