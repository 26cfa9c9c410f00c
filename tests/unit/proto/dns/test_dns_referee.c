// SPDX-License-Identifier: BSD-3-Clause
// Which reply of a capture belongs to which query, and the judgement of replies that differ from
// it. Path: tests only.

#include "dns_fixture.h"
#include <unistd.h>

#include "net/frame.h"

// A message of a capture: "a" is a query, "A" its reply; with client, server, ID and question.
struct seen {
	bool answer;
	uint8_t client, id, name, last, port;
};

static const int32_t parts[] = {DNS_COMPARED_RCODE, DNS_COMPARED_ANSWER};

// From header to the last record: a name of one letter (0: no question), an address in the answer.
static uint32_t message_of(const struct seen *s, uint8_t *out)
{
	const uint8_t head[] = {
		0, s->id, s->answer ? 0x84 : 0, 0, 0, s->name != 0, 0, s->last != 0, 0, 0, 0, 0};
	struct writer w = writer_of(out, 128);

	write_bytes(&w, head, sizeof(head));
	if (s->name) {
		write_u8(&w, 1);
		write_u8(&w, s->name);
		write_bytes(&w, "\0\0\1\0\1", 5);
	}
	if (s->last) {
		write_bytes(&w, "\1a\0\0\1\0\1\0\0\0\0\0\4\x0a\0\0", 16);
		write_u8(&w, s->last);
	}
	return (uint32_t)(w.at - out);
}

static void pairs_read(
	struct dns_referee *r, const struct seen *seen, uint32_t count, uint32_t *found)
{
	struct dns_pairs pairs = {.referee = r};
	uint32_t queries = 0;

	for (uint32_t i = 0; i < count; i++) {
		const uint8_t client[4] = {10, 0, 0, seen[i].client}, server[4] = {10, 0, 1, 1};
		uint8_t message[128];
		struct frame f = {.addr_len = 4,
			.src = seen[i].answer ? server : client,
			.dst = seen[i].answer ? client : server,
			.src_port = seen[i].answer ? DNS_PORT : 4000 + seen[i].port,
			.dst_port = seen[i].answer ? 4000 + seen[i].port : DNS_PORT,
			.payload = message,
			.payload_len = message_of(&seen[i], message)};

		assert_int_equal(
			dns_pairs_add(&pairs, &f, seen[i].answer ? DNS_PAIRS_ANSWER : queries++),
			0);
	}
	assert_int_equal(dns_pairs_end(&pairs, queries, found), 0);
}

static void an_answer_is_that_of_its_address_port_id_and_question(void **state)
{
	const struct seen seen[] = {
		{0, 1, 7, 'a', 0},                      // 0
		{0, 2, 7, 'a', 0},                      // 1: another client
		{0, 1, 8, 'a', 0},                      // 2: another ID
		{1, 2, 7, 'a', 22}, {1, 1, 8, 'A', 11}, // in other case
		{1, 1, 7, 'b', 33},                     // answers another question
		{0, 1, 7, 'c', 0},                      // 3
		{0, 1, 7, 'c', 0},                      // 4: sent again
		{1, 1, 7, 'c', 44}, {1, 1, 7, 'c', 55}, // answered twice
		{0, 1, 7, 'd', 0},                      // 5
		{1, 1, 7, 0, 66},                       // no question
		{0, 1, 7, 'd', 0},                      // 6
	};
	struct dns_referee r = {.parts = 1u << DNS_COMPARED_ANSWER};
	struct dns_digest *a;
	const struct seen ports[] = {
		{0, 1, 7, 'a', 0, 1}, {0, 1, 7, 'a', 0, 2}, {1, 1, 7, 'a', 11, 1}};
	uint32_t found;

	pairs_read(&r, ports, 3, &found);
	assert_true(found == 1 && r.answers[0].known && !r.answers[1].known);
	free(r.answers);
	pairs_read(&r, seen, sizeof(seen) / sizeof(seen[0]), &found);
	a = r.answers;
	assert_int_equal(found, 5);
	assert_false(a[0].known || a[6].known);
	assert_true(a[1].known && a[2].known && a[3].known && a[4].known && a[5].known);
	assert_true(a[3].sections[0] == a[4].sections[0]);
	for (uint32_t i = 2; i < 6; i++)
		assert_true(i == 4 || a[i].sections[0] != a[i - 1].sections[0]);
	free(r.answers);
}

static void without_a_referee_nothing_is_kept(void **state)
{
	struct dns_pairs pairs = {.referee = NULL};
	uint32_t found = 1;

	assert_int_equal(dns_pairs_add(&pairs, NULL, 0), 0);
	assert_null(pairs.seen);
	assert_int_equal(dns_pairs_end(&pairs, 1, &found), 0);
	assert_int_equal(found, 0);
}

static void many_messages_find_their_answers(void **state)
{
	struct dns_referee r = {.parts = 1u << DNS_COMPARED_ANSWER};
	static struct seen seen[6000];
	uint32_t found;

	for (uint32_t i = 0; i < 3000; i++) {
		seen[i] = (struct seen){0, (uint8_t)(i / 250), (uint8_t)(i % 250), 'a', 0};
		seen[5999 - i] = (struct seen){
			1, (uint8_t)(i / 250), (uint8_t)(i % 250), 'a', (uint8_t)(i % 251 + 1)};
	}
	pairs_read(&r, seen, 6000, &found);
	assert_int_equal(found, 3000);
	for (uint32_t i = 251; i < 3000; i++)
		assert_true(r.answers[i].sections[0] == r.answers[i - 251].sections[0]);
	assert_true(r.answers[0].sections[0] != r.answers[1].sections[0]);
	free(r.answers);
}

#define PCAP        "\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x65\0\0\0"
#define PACKET(len) "\1\0\0\0\2\0\0\0" len "\0\0\0" len "\0\0\0"
#define QUERY                                                                                      \
	PACKET("\x2d")                                                                             \
	"\x45\0\0\x2d\0\0\x40\0\x40\x11\0\0\xc0\0\2\1\xc0\0\2\2"                                   \
	"\x30\x39\0\x35\0\x19\0\0\x77\x77\1\0\0\1\0\0\0\0\0\0\0\0\1\0\1"
#define ANSWER(bits)                                                                               \
	PACKET("\x3c")                                                                             \
	"\x45\0\0\x3c\0\0\x40\0\x40\x11\0\0\xc0\0\2\2\xc0\0\2\1"                                   \
	"\0\x35\x30\x39\0\x28\0\0\x77\x77" bits "\0\0\1\0\1\0\0\0\0\0\0\1\0\1"                     \
	"\0\0\1\0\1\0\0\0\0\0\4\xc0\0\2\1"

static struct dns_fixture *fixture_captured(char *path, const char *bytes, size_t len)
{
	struct dns_fixture *f = fixture_new(NULL);
	int fd = mkstemp(path);

	assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	close(fd);
	f->settings.names.count = 0;
	f->settings.wire = path;
	f->expect.captured = (struct field_list){(void *)parts, 2};
	f->settings.expect = &f->expect;
	return f;
}

static void replies_are_judged_by_the_captured_answer(void **state)
{
	static const char capture[] = PCAP QUERY ANSWER("\x84") QUERY;
	char path[] = "/tmp/ddiperf-referee-XXXXXX";
	struct dns_fixture *f = fixture_captured(path, capture, sizeof(capture) - 1);
	const uint8_t address[] = "\0\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1";

	fixture_open(f);
	fixture_ask(f, 0);
	fixture_append(f, address, sizeof(address) - 1);
	f->reply[7]++;
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_null(dns_reason(&f->ctx, &f->txn, f->reply, f->reply_len));
	f->reply[f->reply_len - 1]++;
	assert_int_equal(fixture_verdict(f), PROTO_FAIL);
	assert_string_equal(dns_reason(&f->ctx, &f->txn, f->reply, f->reply_len),
		"another answer section than in the capture");
	f->reply[3] |= DNS_NXDOMAIN;
	assert_int_equal(fixture_verdict(f), PROTO_FAIL);
	assert_string_equal(dns_reason(&f->ctx, &f->txn, f->reply, f->reply_len),
		"another RCODE than in the capture");
	assert_int_equal(f->n.captured_differs[DNS_COMPARED_ANSWER], 1);
	assert_int_equal(f->n.captured_differs[DNS_COMPARED_RCODE], 1);
	assert_int_equal(f->n.captured_same, 1);
	fixture_ask(f, 1); // the second query has no answer in the capture
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.captured_unknown, 1);
	f->reply_len--;
	assert_string_equal(dns_reason(&f->ctx, &f->txn, f->reply, f->reply_len),
		"its question is broken, or there are several");
	unlink(path);
	fixture_end(f);
}

// A complete reply over a connection may have any contents if the capture has a truncated one.
static void a_truncated_answer_says_nothing_about_a_whole_one(void **state)
{
	static const char capture[] = PCAP QUERY ANSWER("\x86");
	char path[] = "/tmp/ddiperf-referee-XXXXXX";
	struct dns_fixture *f = fixture_captured(path, capture, sizeof(capture) - 1);

	fixture_open(f);
	f->ctx.stream = true;
	fixture_ask(f, 0);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(f->n.captured_unknown, 1);
	f->ctx.stream = false;
	assert_int_equal(fixture_verdict(f), PROTO_FAIL);
	unlink(path);
	fixture_end(f);
}

static void a_capture_without_answers_is_refused(void **state)
{
	static const char capture[] = PCAP QUERY;
	char path[] = "/tmp/ddiperf-referee-XXXXXX";
	struct dns_fixture *f = fixture_captured(path, capture, sizeof(capture) - 1);
	char *text;

	assert_null(dns_setup(&f->settings, &f->env, &(struct proto_facts){0}, f->diag));
	text = diag_text(f->diag);
	assert_non_null(strstr(text, "holds no answer over UDP to any of its queries"));
	free(text);
	unlink(path);
	fixture_end(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_that_of_its_address_port_id_and_question),
		cmocka_unit_test(without_a_referee_nothing_is_kept),
		cmocka_unit_test(many_messages_find_their_answers),
		cmocka_unit_test(replies_are_judged_by_the_captured_answer),
		cmocka_unit_test(a_truncated_answer_says_nothing_about_a_whole_one),
		cmocka_unit_test(a_capture_without_answers_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
