// SPDX-License-Identifier: BSD-3-Clause
// Records that follow leases: DHCIDs as in RFC 4701, the queries of clients, the meaning of
// replies, and when a client is queried. Path: tests only.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <nettle/base64.h>

#include "one_message.h"
#include "proto/dns/ddns/ddns.h"
#include "proto/dns/ddns/ddns_internal.h"
#include "proto/dns/client/dns_internal.h"

#define CLIENTS 4
#define EVERY   20
#define WITHIN  100

static struct ddns_plan plan;
static struct ddns_counters n;
static struct ddns_worker *w;
static struct proto_ctx ctx, followed_ctx;
static struct proto_txn txn;
static uint8_t query[512], reply[512];
static uint32_t query_len, reply_len;

static void name_of(const struct proto_ctx *of, uint32_t client, struct writer *out)
{
	assert_ptr_equal(of, &followed_ctx);
	write_bytes(out, "\2PC", 3);
	out->at[-3] = 3;
	write_u8(out, (uint8_t)('0' + client));
	write_bytes(out, "\7Example\0", 9);
}

static void identity_of(const struct proto_ctx *of, uint32_t client, struct proto_identity *out)
{
	out->type = 0;
	out->len = 7;
	memcpy(out->bytes, "\1\2\3\4\5\6", 6);
	out->bytes[6] = (uint8_t)client;
}

static const struct proto_followed followed = {.name = name_of, .identity = identity_of};

static int begin(void **state)
{
	plan = (struct ddns_plan){.followed = &followed,
		.records = 1 << DDNS_RECORD_ADDRESS,
		.happenings = 3,
		.every_ms = EVERY,
		.within_ms = WITHIN};
	memset(&n, 0, sizeof(n));
	w = calloc(1, sizeof(*w) + CLIENTS * sizeof(w->clients[0]));
	w->fresh.first = w->again.first = DDNS_NOBODY;
	w->count = CLIENTS;
	ctx = (struct proto_ctx){
		.shared = &plan, .own = w, .counters = &n, .followed = &followed_ctx};
	return 0;
}

static int end(void **state)
{
	free(w);
	return 0;
}

static void happen(enum proto_happening what, uint32_t client, uint64_t now_ms)
{
	struct proto_event e = {.what = what,
		.client = client,
		.number = client,
		.addr_len = 4,
		.addr = {192, 0, 2, (uint8_t)client},
		.at = 1000 + now_ms};

	ctx.now_ms = now_ms;
	ddns_happened(&ctx, &e);
}

// Begins the next transaction at this time, and makes its message. Returns false if none is due.
static bool ask(uint64_t now_ms)
{
	ctx.now_ms = now_ms;
	if (ddns_due(&ctx) > now_ms)
		return false;
	txn = (struct proto_txn){.key = 0x1234};
	if (ddns_begin(&ctx, &txn, 1) == 0)
		return false;
	query_len = proto_request(&ddns_proto, &ctx, &txn, query, sizeof(query));
	assert_true(query_len > DNS_HEADER_LEN);
	return true;
}

// Its reply with this RCODE and records, whose owner is the question.
static void answer(uint8_t rcode)
{
	memcpy(reply, query, query_len);
	reply_len = query_len;
	reply[2] = DNS_QR | DNS_AA;
	reply[3] = rcode;
}

static void answer_add(uint16_t type, const void *data, uint16_t len)
{
	struct writer out = writer_of(reply + reply_len, sizeof(reply) - reply_len);

	write_be16(&out, 0xc00c);
	write_be16(&out, type);
	write_be16(&out, DNS_CLASS_IN);
	write_be32(&out, 60);
	write_be16(&out, len);
	write_bytes(&out, data, len);
	reply_len += 12u + len;
	bytes_add_be16(reply + 6, 1);
}

static enum proto_verdict judge(void)
{
	ctx.mark = 0;
	return judge_one(&ddns_proto, &ctx, &txn, reply, reply_len);
}

static const uint8_t own[4] = {192, 0, 2, 1}, other[4] = {192, 0, 2, 99};

static enum proto_verdict judge_address(const uint8_t *address)
{
	answer(address ? DNS_NOERROR : DNS_NXDOMAIN);
	if (address)
		answer_add(DNS_A, address, 4);
	return judge();
}

static void dhcids_are_those_of_the_rfc(void **state)
{
	static const struct {
		struct proto_identity identity;
		const char *name, *text;
		uint32_t name_len;
	} all[] = {
		{{2, 14, "\0\1\0\6\x41\x2d\xf1\x66\1\2\3\4\5\6"}, "\4chi6\7example\3com",
			"AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=", 18},
		{{1, 7, "\1\7\x08\x09\x0a\x0b\x0c"}, "\3chi\7example\3com",
			"AAEBOSD+XR3Os/0LozeXVqcNc7FwCfQdWL3b/NaiUDlW2No=", 17},
		{{0, 7, "\1\1\2\3\4\5\6"}, "\6client\7example\3com",
			"AAABxLmlskllE0MVjd57zHcWmEH3pCQ6VytcKD//7es/deY=", 20},
	};
	char text[BASE64_ENCODE_RAW_LENGTH(DDNS_DHCID_LEN) + 1] = "";
	uint8_t out[DDNS_DHCID_LEN];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		ddns_dhcid(&all[i].identity, (const uint8_t *)all[i].name, all[i].name_len, out);
		base64_encode_raw(text, sizeof(out), out);
		assert_string_equal(text, all[i].text);
	}
}

static void a_question_is_about_the_name_or_the_address(void **state)
{
	static const char pointer[] = "\1"
				      "1\1"
				      "2\1"
				      "0\3"
				      "192\7in-addr\4arpa";

	plan.records = 7;
	happen(PROTO_LEASED, 1, 0);
	assert_true(ask(0));
	assert_memory_equal(query + 12, "\3pc1\7example\0\0\1\0\1", 18);
	assert_int_equal(query_len, 12 + 17);
	assert_true(ask(0));
	assert_memory_equal(query + 12, pointer, sizeof(pointer));
	assert_true(ask(0));
	assert_int_equal(bytes_be16(query + query_len - 4), 49);
	assert_false(ask(0));
	for (int kind = 0; kind < DDNS_KINDS; kind++)
		assert_int_equal(n.leased[kind], kind != DDNS_AAAA);
}

static void a_record_is_asked_for_until_it_is_there(void **state)
{
	happen(PROTO_LEASED, 1, 7);
	assert_true(ask(7));
	assert_false(ask(7 + EVERY - 1));
	assert_int_equal(judge_address(NULL), PROTO_DONE);
	assert_false(ask(7 + EVERY - 1));
	assert_true(ask(7 + EVERY));
	assert_int_equal(judge_address(own), PROTO_DONE);
	assert_int_equal(ctx.mark, 1 + DDNS_A);
	assert_int_equal(ctx.mark_from, 1007);
	assert_int_equal(n.visible[DDNS_A], 1);
	assert_false(ask(1000));
	assert_int_equal(ddns_due(&ctx), PROTO_NOT_DUE);
}

static void one_without_an_answer_is_asked_for_after_its_loss(void **state)
{
	happen(PROTO_LEASED, 1, 0);
	assert_true(ask(0));
	assert_false(ask(EVERY));
	assert_int_equal(ddns_timeout(&ctx, &txn), PROTO_FAIL);
	assert_true(ask(2 * EVERY));
	assert_int_equal(n.never[DDNS_A], 0);
}

static void what_is_given_up_has_no_record_or_anothers(void **state)
{
	for (uint32_t client = 1; client < 3; client++)
		happen(PROTO_LEASED, client, 0);
	for (uint64_t now = 0; now <= 2 * WITHIN; now++)
		while (ask(now))
			judge_address(ddns_user_client(txn.user) == 1 ? other : NULL);
	assert_int_equal(n.leased[DDNS_A], 2);
	assert_int_equal(n.wrong[DDNS_A], 1);
	assert_int_equal(n.never[DDNS_A], 1);
	assert_int_equal(ddns_due(&ctx), PROTO_NOT_DUE);
}

static void only_what_was_seen_is_followed_until_it_is_gone(void **state)
{
	happen(PROTO_LEASED, 1, 0);
	happen(PROTO_LEASED, 2, 0);
	while (ask(0))
		judge_address(ddns_user_client(txn.user) == 1 ? own : NULL);
	happen(PROTO_RELEASED, 1, 50);
	happen(PROTO_RELEASED, 2, 50);
	assert_int_equal(n.released[DDNS_A], 1);
	assert_int_equal(n.overtaken[DDNS_A], 1);
	assert_true(ask(50));
	assert_int_equal(ddns_user_client(txn.user), 1);
	judge_address(own);
	assert_true(ask(50 + EVERY));
	judge_address(other);
	assert_int_equal(n.gone[DDNS_A], 1);
	assert_int_equal(ctx.mark, 1 + DDNS_KINDS + DDNS_A);
	assert_int_equal(ctx.mark_from, 1050);
}

static void an_answer_from_before_the_last_event_says_nothing(void **state)
{
	happen(PROTO_LEASED, 1, 0);
	assert_true(ask(0));
	judge_address(own);
	happen(PROTO_RELEASED, 1, 30);
	assert_true(ask(30));
	happen(PROTO_LEASED, 1, 31);
	assert_int_equal(judge_address(NULL), PROTO_DONE);
	assert_int_equal(n.gone[DDNS_A], 0);
	assert_int_equal(n.overtaken[DDNS_A], 1);
	assert_int_equal(n.leased[DDNS_A], 2);
}

static void a_renewal_changes_nothing(void **state)
{
	happen(PROTO_LEASED, 1, 0);
	assert_true(ask(0));
	happen(PROTO_LEASED, 1, 5);
	judge_address(own);
	assert_int_equal(n.leased[DDNS_A], 1);
	assert_int_equal(ctx.mark_from, 1000);
}

static void what_is_waited_for_at_the_end_is_counted(void **state)
{
	happen(PROTO_LEASED, 1, 0);
	happen(PROTO_LEASED, 2, 0);
	assert_int_equal(ddns_waiting(&ctx, 1), 2);
	ddns_over(&ctx);
	assert_int_equal(n.unfinished[DDNS_A], 2);
}

static void answers_that_are_none_are_dropped(void **state)
{
	happen(PROTO_LEASED, 1, 0);
	assert_true(ask(0));
	answer(DNS_NOERROR);
	reply[13] ^= 1;
	assert_int_equal(judge(), PROTO_STRAY);
	answer(DNS_NOERROR);
	reply[0] ^= 1;
	assert_int_equal(judge(), PROTO_STRAY);
	answer(DNS_NOERROR);
	answer_add(DNS_A, own, 4);
	for (uint32_t len = 0; len < reply_len; len++) {
		uint32_t all = reply_len;

		reply_len = len;
		assert_int_equal(judge(), PROTO_MALFORMED);
		reply_len = all;
	}
	assert_int_equal(n.visible[DDNS_A], 0);
	reply[13] ^= 0x20; // of another case
	assert_int_equal(judge(), PROTO_DONE);
	assert_int_equal(n.visible[DDNS_A], 1);
}

static void errors_and_truncated_answers_fail_and_say_nothing(void **state)
{
	happen(PROTO_LEASED, 1, 0);
	assert_true(ask(0));
	answer(DNS_SERVFAIL);
	assert_int_equal(judge(), PROTO_FAIL);
	assert_int_equal(n.errors, 1);
	assert_true(ask(EVERY));
	answer(DNS_NOERROR);
	answer_add(DNS_A, own, 4);
	reply[2] |= DNS_TC;
	assert_int_equal(judge(), PROTO_FAIL);
	assert_int_equal(n.truncated, 1);
	assert_int_equal(n.visible[DDNS_A], 0);
	assert_true(ask(2 * EVERY));
}

static void a_pointer_is_right_in_any_case_and_compressed(void **state)
{
	plan.records = 1 << DDNS_RECORD_PTR;
	happen(PROTO_LEASED, 1, 0);
	assert_true(ask(0));
	answer(DNS_NOERROR);
	answer_add(12, "\3pc2\7example", 13);
	answer_add(12, "\3Pc1\xc0", 6);
	reply[reply_len - 1] = (uint8_t)(reply_len - 6 - 12 - 13 + 4);
	assert_int_equal(judge(), PROTO_DONE);
	assert_int_equal(n.visible[DDNS_PTR], 1);
	assert_int_equal(n.beside[DDNS_PTR], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dhcids_are_those_of_the_rfc),
#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, end)
		EACH(a_question_is_about_the_name_or_the_address),
		EACH(a_record_is_asked_for_until_it_is_there),
		EACH(one_without_an_answer_is_asked_for_after_its_loss),
		EACH(what_is_given_up_has_no_record_or_anothers),
		EACH(only_what_was_seen_is_followed_until_it_is_gone),
		EACH(an_answer_from_before_the_last_event_says_nothing),
		EACH(a_renewal_changes_nothing),
		EACH(what_is_waited_for_at_the_end_is_counted),
		EACH(answers_that_are_none_are_dropped),
		EACH(errors_and_truncated_answers_fail_and_say_nothing),
		EACH(a_pointer_is_right_in_any_case_and_compressed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
