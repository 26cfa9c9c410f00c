// SPDX-License-Identifier: BSD-3-Clause
// PROXY headers: as in haproxy's specification, the addresses that they claim, and the headers that
// the responder accepts. Path: tests only.

#include "proto/dns/dns.h"
#include "dns_fixture.h"

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define UDP4      SIGNATURE "\x21\x12\0\x0c\xc0\0\2\0\xc6\x12\0\2\4\0\0\x35"

static struct dns_fixture *proxy_new(const char *clients, const char *server)
{
	static struct dns_proxy_settings proxy;
	struct dns_fixture *f = fixture_new("a A");
	const char *what;

	proxy = (struct dns_proxy_settings){.local = clients == NULL};
	if (clients)
		assert_int_equal(addr_parse_range(clients, &proxy.clients, &what), 0);
	if (server)
		assert_int_equal(addr_parse(server, &proxy.server, &what), 0);
	addr_parse("198.18.0.2", &f->env.server, &what);
	f->env.server_port = 53;
	f->settings.proxy = &proxy;
	return f;
}

static void ask(struct dns_fixture *f, uint64_t seq)
{
	f->txn.seq = seq;
	f->query_len = proto_request(&dns_proto, &f->ctx, &f->txn, f->query, sizeof(f->query));
	assert_true(f->query_len > 16 && f->query_len <= f->facts.longest);
}

static void each_datagram_begins_with_a_header(void **state)
{
	struct dns_fixture *f = proxy_new("192.0.2.0/24", NULL);

	fixture_open(f);
	ask(f, 0);
	assert_int_equal(f->query_len, 28 + 19);
	assert_memory_equal(f->query, UDP4, 28);
	assert_memory_equal(f->query + 28, "\x12\x34\1\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1", 19);
	assert_int_equal(f->n.request_bytes, 19);
	assert_int_equal(proto_request(&dns_proto, &f->ctx, &f->txn, f->query, 46), 0);
	assert_int_equal(proto_request(&dns_proto, &f->ctx, &f->txn, f->query, 20), 0);
	fixture_end(f);
}

static void values_stand_at_the_end_of_each_header(void **state)
{
	struct dns_option_settings tlvs[] = {
		{.code = 0xe0, .text = "abc"}, {.code = 4}, {.code = 1}};
	struct dns_fixture *f = proxy_new("192.0.2.0/24", NULL);
	uint8_t most[251] = {7};

	f->settings.proxy->tlvs = (struct field_list){tlvs, 2};
	fixture_open(f);
	ask(f, 0);
	assert_int_equal(f->query_len, 28 + 9 + 19);
	assert_memory_equal(f->query,
		SIGNATURE "\x21\x12\0\x15\xc0\0\2\0\xc6\x12\0\2\4\0\0\x35"
			  "\xe0\0\3abc\4\0\0\x12\x34",
		28 + 9 + 2);
	assert_int_equal(dns_preface(&f->ctx, 0, f->query, sizeof(f->query)), 28 + 9);
	assert_int_equal(dns_proxy_framed(f->query, 28 + 9), 28 + 9);
	fixture_end(f);

	f = proxy_new(NULL, NULL);
	tlvs[0] = (struct dns_option_settings){.code = 2, .hex = {most, 250}};
	f->settings.proxy->tlvs = (struct field_list){tlvs, 2};
	fixture_open(f);
	ask(f, 0);
	assert_int_equal(f->query_len, 16 + 256 + 19);
	assert_memory_equal(f->query + 12, "\x20\0\1\0\2\0\xfa\7", 8);
	dns_close(&f->ctx);
	dns_teardown((void *)f->ctx.shared);
	tlvs[0].hex.len = 251;
	f->ctx.shared = dns_setup(&f->settings, &f->env, &f->facts, f->diag);
	assert_null(f->ctx.shared);
	assert_diag_has(f->diag, "more than 256 bytes");
	tlvs[1] = (struct dns_option_settings){.text = "a", .hex = {most, 1}};
	dns_check(&f->settings, NULL, f->diag);
	assert_diag_has(f->diag, "conflicts with hex");
	fixture_end(f);
}

static void clients_and_ports_follow_one_another(void **state)
{
	struct dns_fixture *f = proxy_new("192.0.2.254-192.0.3.1", NULL);

	fixture_open(f);
	ask(f, 1);
	assert_memory_equal(f->query + 16, "\xc0\0\2\xff\xc6\x12\0\2\4\0\0\x35", 12);
	ask(f, 3);
	assert_memory_equal(f->query + 16, "\xc0\0\3\1\xc6\x12\0\2\4\0\0\x35", 12);
	ask(f, 4);
	assert_memory_equal(f->query + 16, "\xc0\0\2\xfe\xc6\x12\0\2\4\1\0\x35", 12);
	ask(f, 4 * 64512);
	assert_memory_equal(f->query + 16, "\xc0\0\2\xfe\xc6\x12\0\2\4\0\0\x35", 12);
	fixture_end(f);
}

static void a_client_of_ipv6_needs_a_server_of_ipv6(void **state)
{
	struct dns_fixture *f = proxy_new("2001:db8::/64", NULL);

	assert_null(dns_setup(&f->settings, &f->env, &(struct proto_facts){0}, f->diag));
	assert_diag_has(f->diag, "not of the family of clients");
	fixture_end(f);
	f = proxy_new("2001:db8::fe-2001:db8::ff", "2001:db8:1::2");
	fixture_open(f);
	ask(f, 1);
	assert_int_equal(f->query_len, 52 + 19);
	assert_memory_equal(f->query,
		SIGNATURE "\x21\x22\0\x24"
			  "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\xff"
			  "\x20\1\x0d\xb8\0\1\0\0\0\0\0\0\0\0\0\2\4\0\0\x35",
		52);
	fixture_end(f);
}

static void local_claims_nobody(void **state)
{
	struct dns_fixture *f = proxy_new(NULL, NULL);

	fixture_open(f);
	ask(f, 5);
	assert_memory_equal(f->query, SIGNATURE "\x20\0\0\0\x12\x34", 18);
	fixture_end(f);
}

static void a_connection_begins_with_one_and_its_messages_do_not(void **state)
{
	struct dns_fixture *f = proxy_new("192.0.2.0/24", NULL);
	uint8_t head[28];

	fixture_open(f);
	assert_int_equal(dns_preface(&f->ctx, 3, head, 27), 0);
	assert_int_equal(dns_preface(&f->ctx, 3, head, 28), 28);
	assert_memory_equal(head, SIGNATURE "\x21\x11\0\x0c\xc0\0\2\3\xc6\x12\0\2\4\0\0\x35", 28);
	f->ctx.stream = true;
	ask(f, 0);
	assert_int_equal(f->query_len, 19);
	fixture_end(f);
	f = fixture_start("a A");
	assert_int_equal(dns_preface(&f->ctx, 0, head, sizeof(head)), 0);
	fixture_end(f);
}

static void replies_are_judged_as_without_it(void **state)
{
	struct dns_fixture *f = proxy_new("192.0.2.0/24", NULL);

	fixture_open(f);
	assert_true(((const struct dns_plan *)f->ctx.shared)->plain);
	ask(f, 0);
	f->reply_len = f->query_len - 28;
	memcpy(f->reply, f->query + 28, f->reply_len);
	f->reply[2] |= 0x80;
	fixture_answer(f);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	fixture_end(f);
}

static void clients_or_local_is_needed(void **state)
{
	struct dns_proxy_settings proxy = {.local = false};
	struct dns_fixture *f = fixture_new("a A");

	f->settings.proxy = &proxy;
	dns_check(&f->settings, NULL, f->diag);
	assert_diag_has(f->diag, "needs clients");
	proxy = (struct dns_proxy_settings){
		.local = true, .clients = {.first = {4, {192, 0, 2, 1}}, .count = 1}};
	dns_check(&f->settings, NULL, f->diag);
	assert_diag_has(f->diag, "conflicts with clients");
	fixture_end(f);
}

static enum dns_proxy_kind read_head(const void *bytes, uint32_t len, bool stream, uint32_t *head)
{
	uint8_t *exact = malloc(len ? len : 1);
	enum dns_proxy_kind kind;

	memcpy(exact, bytes, len);
	kind = dns_proxy_read(exact, len, stream, head);
	free(exact);
	return kind;
}

static void headers_are_read_and_wrong_ones_are_not(void **state)
{
	static const struct {
		const char *bytes;
		uint32_t len;
		bool stream;
		enum dns_proxy_kind kind;
		uint32_t head;
	} cases[] = {
		{UDP4, 28, false, DNS_PROXY_CLIENT, 28},
		{UDP4, 28, true, DNS_PROXY_BAD, 0}, // of a datagram
		{UDP4, 27, false, DNS_PROXY_BAD, 0},
		{UDP4, 0, false, DNS_PROXY_BAD, 0},
		{SIGNATURE "\x20\0\0\0", 16, false, DNS_PROXY_LOCAL, 16},
		{SIGNATURE "\x20\0\0\0", 16, true, DNS_PROXY_LOCAL, 16},
		{SIGNATURE "\x20\0\0\2..", 18, true, DNS_PROXY_LOCAL, 18},
		{SIGNATURE "\x20\0\0\3..", 18, true, DNS_PROXY_BAD, 0},
		{SIGNATURE "\x22\0\0\0", 16, true, DNS_PROXY_BAD, 0}, // no such command
		{SIGNATURE "\x11\0\0\0", 16, true, DNS_PROXY_BAD, 0}, // version 1
		{SIGNATURE "\x21\x11\0\x0b...........", 27, true, DNS_PROXY_BAD, 0},
		{SIGNATURE "\x21\x11\0\x0e..............", 30, true, DNS_PROXY_CLIENT, 30},
		{SIGNATURE "\x21\x21\0\x0c............", 28, true, DNS_PROXY_BAD, 0},
		{SIGNATURE "\x21\0\0\x0c............", 28, true, DNS_PROXY_BAD, 0},
		{"\r\n\r\n\0\r\nQUIT\r\x20\0\0\0", 16, true, DNS_PROXY_BAD, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t head = 0;

		assert_int_equal(read_head(cases[i].bytes, cases[i].len, cases[i].stream, &head),
			cases[i].kind);
		if (cases[i].kind != DNS_PROXY_BAD)
			assert_int_equal(head, cases[i].head);
	}
}

static void the_end_of_a_header_is_known_from_its_first_16_octets(void **state)
{
	assert_int_equal(dns_proxy_framed((const uint8_t *)UDP4, 15), 0);
	assert_int_equal(dns_proxy_framed((const uint8_t *)UDP4, 16), 28);
	assert_int_equal(dns_proxy_framed((const uint8_t *)"GET / HTTP/1.1\r\n", 16), 16);
	assert_int_equal(
		dns_proxy_framed((const uint8_t *)SIGNATURE "\x21\x11\xff\xef", 16), 65535);
	assert_int_equal(dns_proxy_framed((const uint8_t *)SIGNATURE "\x21\x11\xff\xf0", 16), 16);
}

static void the_responder_takes_what_is_behind_the_header(void **state)
{
	const struct dns_answers_settings s = {
		.address = {4, {192, 0, 2, 1}}, .address6 = {.len = 16}, .text = "", .proxy = true};
	struct dns_fixture *f = proxy_new("192.0.2.0/24", NULL);
	struct dns_answer_counters n = {0};
	struct proto_ctx ctx = {.counters = &n};
	struct proto_facts facts = {0};

	fixture_open(f);
	ctx.shared = dns_answers_setup(&s, &f->env, &facts, f->diag);
	assert_ptr_equal(facts.preface, dns_proxy_framed);
	ask(f, 0);
	f->reply_len = dns_answer(&ctx, f->query, f->query_len, f->reply, 512);
	assert_int_equal(fixture_verdict(f), PROTO_DONE);
	assert_int_equal(dns_answer(&ctx, f->query + 28, 19, f->reply, 512), 0);
	assert_int_equal(
		dns_answer(&ctx, (const uint8_t *)SIGNATURE "\x20\0\0\0", 16, f->reply, 512), 0);
	assert_int_equal(n.received, 3);
	assert_int_equal(n.answered, 1);
	assert_int_equal(n.ignored, 2);
	assert_int_equal(n.proxied, 2);
	assert_int_equal(n.proxied_local, 1);
	assert_int_equal(n.proxy_bad, 1);
	ctx.stream = ctx.begins = true;
	assert_int_equal(dns_answer(&ctx, f->query, 28, f->reply, 512), PROTO_RESET);
	assert_int_equal(
		dns_answer(&ctx, (const uint8_t *)SIGNATURE "\x20\0\0\0", 16, f->reply, 512), 0);
	ctx.begins = false;
	assert_int_equal(dns_answer(&ctx, f->query + 28, 19, f->reply, 512), 35);
	dns_answers_teardown((void *)ctx.shared);
	fixture_end(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_datagram_begins_with_a_header),
		cmocka_unit_test(values_stand_at_the_end_of_each_header),
		cmocka_unit_test(clients_and_ports_follow_one_another),
		cmocka_unit_test(a_client_of_ipv6_needs_a_server_of_ipv6),
		cmocka_unit_test(local_claims_nobody),
		cmocka_unit_test(a_connection_begins_with_one_and_its_messages_do_not),
		cmocka_unit_test(replies_are_judged_as_without_it),
		cmocka_unit_test(clients_or_local_is_needed),
		cmocka_unit_test(headers_are_read_and_wrong_ones_are_not),
		cmocka_unit_test(the_end_of_a_header_is_known_from_its_first_16_octets),
		cmocka_unit_test(the_responder_takes_what_is_behind_the_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
