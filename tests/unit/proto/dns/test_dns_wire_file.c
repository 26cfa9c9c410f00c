// SPDX-License-Identifier: BSD-3-Clause
// Files of whole messages: which are read, which are refused, and how replies to them are judged.
// Path: tests only.

#include "proto/dns/dns.h"
#include "dns_fixture.h"

#include <unistd.h>

#define BYTES(text) text, sizeof(text) - 1
#define QUESTION    "\3www\7Example\3com\0\0\1\0\1"
#define NOTIFY      "\x24\0\0\1\0\0\0\0\0\0" // from the flags on, opcode 4
#define TWO         "\1\0\0\2\0\0\0\0\0\0"

static char path[] = "/tmp/ddiperf-wire-XXXXXX";

static struct dns_fixture *fixture_file(const void *bytes, size_t len)
{
	struct dns_fixture *f = fixture_new(NULL);
	int fd;

	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
	f->settings.names.count = 0;
	f->settings.wire = path;
	return f;
}

static void file_end(struct dns_fixture *f)
{
	unlink(path);
	fixture_end(f);
}

static void messages_go_as_they_are_but_for_the_id(void **state)
{
	struct dns_fixture *f = fixture_file(
		BYTES("\0\x21\xff\xff\1\x20\0\1\0\0\0\0\0\0" QUESTION "\0\x0d\0\0" TWO "\0"));

	fixture_open(f);
	assert_int_equal(f->facts.longest, 33);
	fixture_ask(f, 0);
	assert_int_equal(f->query_len, 33);
	assert_memory_equal(f->query, "\x12\x34\1\x20\0\1\0\0\0\0\0\0" QUESTION, 33);
	assert_int_equal(proto_request(&dns_proto, &f->ctx, &f->txn, f->query, 32), 0);
	f->txn.seq = 1;
	assert_int_equal(
		proto_request(&dns_proto, &f->ctx, &f->txn, f->query, sizeof(f->query)), 13);
	assert_memory_equal(f->query, "\x12\x34" TWO "\0", 13);
	assert_int_equal(f->n.request_bytes, 33 + 13);
	fixture_ask(f, 2);
	assert_int_equal(f->query_len, 33);
	file_end(f);
}

// With the settings' OPT record after the message, as in updates.
static void a_record_behind_the_message_is_counted(void **state)
{
	struct dns_fixture *f =
		fixture_file(BYTES("\0\x23\0\0\1\0\0\1\0\0\0\0\0\1" QUESTION "\0\0"));

	f->settings.edns = &f->edns;
	fixture_open(f);
	fixture_ask(f, 0);
	assert_int_equal(f->query_len, 35 + DNS_OPT_HEADER_LEN);
	assert_memory_equal(f->query + 10, "\0\2" QUESTION "\0\0\0\0\x29\x04\xd0", 2 + 21 + 7);
	assert_int_equal(f->facts.longest, f->query_len);
	file_end(f);
}

static void the_question_of_a_reply_is_ours(void **state)
{
	struct dns_fixture *f = fixture_file(BYTES("\0\x21\0\0\1\0\0\1\0\0\0\0\0\0" QUESTION));

	fixture_open(f);
	fixture_ask(f, 0);
	fixture_answer(f);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	f->reply[13] = 'W';
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	f->reply[13] = 'v';
	assert_int_equal(fixture_verdict(f), PROTO_STRAY);
	f->reply[13] = 'w';
	f->reply[2] |= 0x28; // UPDATE
	assert_int_equal(fixture_verdict(f), PROTO_STRAY);
	assert_int_equal(f->n.rcode[DNS_NOERROR], 2);
	file_end(f);
}

static void other_opcodes_may_be_answered_without_a_question(void **state)
{
	const char answer[] = "\x12\x34\xa4\0\0\0\0\0\0\0\0\0";
	struct dns_fixture *f = fixture_file(BYTES("\0\x21\0\0" NOTIFY QUESTION));

	fixture_open(f);
	fixture_ask(f, 0);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(fixture_verdict_of(f, answer, 12), PROTO_DONE);
	f->reply[2] &= ~0x78;
	assert_int_equal(fixture_verdict(f), PROTO_STRAY);
	assert_int_equal(f->n.rcode[DNS_NOERROR], 2);
	file_end(f);
}

static void two_questions_are_known_by_id(void **state)
{
	struct dns_fixture *f = fixture_file(BYTES("\0\x16\0\0" TWO "\0\0\1\0\1\0\0\1\0\2"));

	fixture_open(f);
	f->txn.seq = 0;
	f->query_len = proto_request(&dns_proto, &f->ctx, &f->txn, f->query, sizeof(f->query));
	assert_int_equal(f->query_len, 22);
	assert_int_equal(
		fixture_verdict_of(f, "\x12\x34\x81\1\0\2\0\0\0\0\0\0\0\0\1\0\1\0\0\1\0\2", 22),
		PROTO_DONE);
	assert_int_equal(fixture_verdict_of(f, "\x12\x34\x81\1\0\0\0\0\0\0\0\0", 12), PROTO_DONE);
	assert_int_equal(
		fixture_verdict_of(f, "\x12\x34\x81\1\0\1\0\0\0\0\0\0\0\0\1\0\1", 17), PROTO_DONE);
	assert_int_equal(fixture_verdict_of(f, "\x12\x34\x81\1\0\2\0\0\0\0\0\0\0\0\1\0\1", 17),
		PROTO_MALFORMED);
	assert_int_equal(fixture_verdict_of(f, "\x12\x35\x81\1\0\0\0\0\0\0\0\0", 12), PROTO_STRAY);
	assert_int_equal(f->n.rcode[DNS_FORMERR], 3);
	file_end(f);
}

// A capture of raw IP (101) or Ethernet (1): a query, a reply, a TCP segment, another port's query.
#define PCAP(link)         "\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\xff\xff\0\0" link "\0\0\0"
#define PACKET(len)        "\1\0\0\0\2\0\0\0" len "\0\0\0" len "\0\0\0"
#define IP4(len, protocol) "\x45\0\0" len "\0\0\x40\0\x40" protocol "\0\0\xc0\0\2\1\xc0\0\2\2"
#define UDP(port, flags)                                                                           \
	"\x30\x39\0" port "\0\x1b\0\0\x77\x77" flags "\0\0\1\0\0\0\0\0\0\0\0\6\0\1\0\0"
#define ETHERNET "\0\0\0\0\0\0\0\0\0\0\0\0\x08\0"

static void queries_of_a_capture_are_messages(void **state)
{
	const struct {
		const char *bytes;
		size_t len;
	} cases[] = {
		{BYTES(PCAP("\x65") PACKET("\x2f") IP4("\x2f", "\x11") UDP("\x35", "\1") PACKET(
			"\x2f") IP4("\x2f", "\x11") UDP("\x35", "\x81") PACKET("\x2f")
				IP4("\x2f", "\x06") UDP("\x35", "\1") PACKET("\x2f")
					IP4("\x2f", "\x11") UDP("\x36", "\1"))},
		{BYTES(PCAP("\1") PACKET("\x3d") ETHERNET IP4("\x2f", "\x11") UDP("\x35", "\1"))},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dns_fixture *f = fixture_file(cases[i].bytes, cases[i].len);

		fixture_open(f);
		assert_int_equal(((const struct dns_plan *)f->ctx.shared)->queries.count, 1);
		fixture_ask(f, 0);
		assert_int_equal(f->query_len, 19);
		assert_memory_equal(f->query, "\x12\x34\1\0\0\1\0\0\0\0\0\0\0\0\6\0\1\0\0", 19);
		file_end(f);
	}
}

static void every_error_names_its_message(void **state)
{
	const struct {
		const char *bytes;
		size_t len;
		const char *error;
	} cases[] = {
		{"", 0, "holds no message"},
		{BYTES("\0"), "message 1, at byte 0: the length is cut off (two bytes)"},
		{BYTES(PCAP("\x65")), "holds no query over UDP to port 53 (it has no packet)"},
		{BYTES(PCAP("\x69")), "holds no query over UDP to port 53 (it has no packet)"},
		{BYTES(PCAP("\x69") PACKET("\x01") "\0"),
			"its link is IEEE802_11, and none of Ethernet"},
		{BYTES(PCAP("\x65") PACKET("\x2f") "\0"),
			"left out: 1 at the end of the file, which is cut off"},
		{BYTES(PCAP("\x65") PACKET("\x2f") IP4("\x2f", "\x11") UDP("\x36", "\1")),
			"0 of 1 packets of "},
		{BYTES(PCAP("\x65") PACKET("\x2f") IP4("\x2f", "\x11") UDP("\x36", "\1")),
			"left out: 1 queries to other ports; queries: 1 to port 54"},
		{BYTES("\0\x0d\0\0" TWO), "message 1, at byte 0: cut off: the file has fewer "
					  "bytes than its length says"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dns_fixture *f = fixture_file(cases[i].bytes, cases[i].len);
		char *text;

		assert_null(dns_setup(&f->settings, &f->env, &(struct proto_facts){0}, f->diag));
		text = diag_text(f->diag);
		if (!strstr(text, cases[i].error))
			fail_msg("%s", text);
		free(text);
		file_end(f);
	}
}

// To port 53 over UDP, in GRE, to port 54, over TCP.
#define QUERY(protocol, port) PACKET("\x2f") IP4("\x2f", protocol) UDP(port, "\1")
#define CAPTURE_TO_53         PCAP("\x65") QUERY("\x11", "\x35") QUERY("\x2f", "\x35")
#define CAPTURE               CAPTURE_TO_53 QUERY("\x11", "\x36") QUERY("\x06", "\x35")

// By the port of the item's server, or by the setting only.
static void captured_queries_go_to_the_ports_of_servers(void **state)
{
	static const struct {
		uint16_t captured;
		uint64_t setting;
		uint32_t count;
	} cases[] = {{53, UINT64_MAX, 1}, {54, UINT64_MAX, 2}, {53, 54, 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dns_fixture *f = fixture_file(BYTES(CAPTURE));

		f->env.captured_port = cases[i].captured;
		f->settings.wire_port = cases[i].setting;
		fixture_open(f);
		assert_int_equal(
			((const struct dns_plan *)f->ctx.shared)->queries.count, cases[i].count);
		file_end(f);
	}
}

static void what_a_capture_has_besides_is_counted_by_what_it_is(void **state)
{
	struct dns_fixture *f = fixture_file(BYTES(CAPTURE));
	const char *used;

	fixture_open(f);
	used = f->facts.input;
	assert_non_null(strstr(used, "1 of 4 packets of ddiperf-wire-"));
	assert_non_null(
		strstr(used, "; left out: 1 GRE, 1 queries to other ports, 1 DNS over TCP"));
	file_end(f);
}

// The time of the query, not of the other packets; only if the replay has the same file.
static void times_are_those_of_the_messages(void **state)
{
	struct dns_fixture *f = fixture_file(BYTES(CAPTURE));

	f->env.times_of = path;
	fixture_open(f);
	assert_int_equal(f->facts.times->count, 1);
	assert_int_equal(f->facts.times->ns[0], 1000002000);
	file_end(f);
	f = fixture_file(BYTES(CAPTURE));
	f->env.times_of = "another";
	fixture_open(f);
	assert_int_equal(f->facts.times->count, 0);
	file_end(f);
}

static void messages_that_end_within_the_header_have_no_answer(void **state)
{
	struct dns_fixture *f =
		fixture_file(BYTES("\0\0\0\1\xaa\0\3\xaa\xbb\xcc\0\x0d\0\0" TWO "\0"));

	fixture_open(f);
	for (uint32_t i = 0; i < 4; i++) {
		static const uint32_t lens[] = {0, 1, 3, 13};

		f->txn.seq = i;
		f->txn.silent = 0;
		f->query_len =
			proto_request(&dns_proto, &f->ctx, &f->txn, f->query, sizeof(f->query));
		assert_int_equal(f->query_len, lens[i]);
		assert_int_equal(f->txn.silent, i < 3);
	}
	assert_int_equal(f->n.request_bytes, 17);
	file_end(f);
}

static void messages_beyond_a_datagram_are_left_out_over_udp(void **state)
{
	static uint8_t file[2 * (2 + 65535)] = {0xff, 0xff};
	struct dns_fixture *f;
	const char *used;

	file[2 + 65535 + 1] = 13;
	f = fixture_file(file, 2 + 65535 + 2 + 13);
	fixture_open(f);
	used = f->facts.input;
	assert_non_null(strstr(used, "1 of 2 messages of "));
	assert_non_null(strstr(used, "left out: 1 longer than a datagram can be"));
	file_end(f);
	f = fixture_file(file, 2 + 65535 + 2 + 13);
	f->settings.transport.transport = TRANSPORT_TCP;
	fixture_open(f);
	assert_null(f->facts.input);
	file_end(f);
}

static void settings_of_questions_are_refused(void **state)
{
	struct dns_fixture *f = fixture_file(BYTES(""));

	f->settings.edns = &f->edns;
	f->settings.opcode = DNS_NOTIFY;
	f->settings.queries = "q.txt";
	dns_check(&f->settings, NULL, f->diag);
	assert_int_equal(diag_count(f->diag), 3); // two lists, opcode, edns
	file_end(f);
}

// A question with another opcode: NOTIFY has AA, and no RD (RFC 1996 section 3.6).
static void the_opcode_of_questions_can_be_set(void **state)
{
	struct dns_fixture *f = fixture_new("example.com SOA");

	f->settings.opcode = DNS_NOTIFY;
	fixture_open(f);
	fixture_ask(f, 0);
	assert_memory_equal(f->query + 2, "\x24\0\0\1", 4);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	f->reply[2] &= ~0x78;
	assert_int_equal(fixture_verdict(f), PROTO_STRAY);
	fixture_end(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_go_as_they_are_but_for_the_id),
		cmocka_unit_test(a_record_behind_the_message_is_counted),
		cmocka_unit_test(the_question_of_a_reply_is_ours),
		cmocka_unit_test(other_opcodes_may_be_answered_without_a_question),
		cmocka_unit_test(two_questions_are_known_by_id),
		cmocka_unit_test(queries_of_a_capture_are_messages),
		cmocka_unit_test(every_error_names_its_message),
		cmocka_unit_test(captured_queries_go_to_the_ports_of_servers),
		cmocka_unit_test(what_a_capture_has_besides_is_counted_by_what_it_is),
		cmocka_unit_test(times_are_those_of_the_messages),
		cmocka_unit_test(messages_that_end_within_the_header_have_no_answer),
		cmocka_unit_test(messages_beyond_a_datagram_are_left_out_over_udp),
		cmocka_unit_test(settings_of_questions_are_refused),
		cmocka_unit_test(the_opcode_of_questions_can_be_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
