// SPDX-License-Identifier: BSD-3-Clause
// Query files and inline names from anyone: whatever is accepted must be a well-formed question,
// and of inline names, whose patterns are drawn per query, every query must be one whose answer is
// taken back. The first byte says which of the two it is. Path: tests only.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dns/dns.h"
#include "lib/one_message.h"
#include "fuzz_text.h"

#include "base/log.h"
#include "proto/dns/client/dns_internal.h"
#include "proto/dns/client/dns_patterns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const uint8_t *entry, uint32_t len)
{
	uint8_t message[DNS_HEADER_LEN + DNS_QUESTION_MAX + DNS_OWN_OPT_MAX] = {0};
	uint32_t random_len = entry[1] & DNS_RANDOM_MAX, question;
	struct dns_message m;

	if (len < 5 || len > sizeof(message) - DNS_HEADER_LEN)
		abort();
	memcpy(message + DNS_HEADER_LEN, entry + DNS_ENTRY_HEAD, len);
	question = dns_question_len(message, DNS_HEADER_LEN + len);
	if (question == 0 || question > len || (random_len && entry[0] + random_len > question - 5))
		abort();
	message[11] = question < len;
	if (!dns_message_walk(message, DNS_HEADER_LEN + len, DNS_HEADER_LEN + question, &m) ||
		m.left || m.has_opt != (question < len) ||
		(!m.subnet && entry[1] & DNS_OWN_SUBNET)) // +8=... is one, too
		abort();
}

// So many digits make ranges that are right, but take long to expand.
static bool is_slow(const char *line)
{
	uint32_t digits = 0;

	for (; *line; line++)
		digits += *line >= '0' && *line <= '9';
	return digits > 6;
}

static void require(bool holds)
{
	if (!holds)
		abort();
}

// Ask, and answer with the question alone.
static void ask(struct proto_ctx *ctx, uint64_t seq)
{
	uint8_t message[DNS_HEADER_LEN + DNS_QUESTION_MAX + DNS_OWN_OPT_MAX];
	struct proto_txn t = {.seq = seq, .key = (uint16_t)seq};
	uint32_t len = proto_request(&dns_proto, ctx, &t, message, sizeof(message));

	require(len > DNS_HEADER_LEN && len <= sizeof(message));
	len = DNS_HEADER_LEN + dns_question_len(message, len);
	require(len > DNS_HEADER_LEN);
	message[2] |= 0x80; // QR
	message[11] = 0;    // no OPT
	require(judge_one(&dns_proto, ctx, &t, message, len) == PROTO_DONE);
}

static void ask_line(const char *line, bool mixed_case)
{
	const struct dns_settings s = {
		.names = {&line, 1}, .order = DNS_SEQUENTIAL, .case_0x20 = mixed_case};
	const struct proto_env env = {.seed = 1, .workers = 2, .worker = 1, .clients = 1};
	struct dns_counters n = {0};
	struct proto_ctx ctx = {.counters = &n};
	struct diag *d = diag_new();

	ctx.shared = dns_setup(&s, &env, &(struct proto_facts){0}, d);
	diag_free(d);
	if (!ctx.shared)
		return;
	require(dns_open(&ctx, &env) == 0);
	for (uint32_t bit = 0; bit < 60; bit += 4)
		ask(&ctx, (1ull << bit) - 1);
	dns_close(&ctx);
	dns_teardown((void *)ctx.shared);
}

static void load_names(
	struct dns_queries *q, const struct dns_form *form, char *text, struct diag *d)
{
	const char *line = text;
	struct field_list names = {&line, 1};

	if (!is_slow(line))
		dns_queries_load_names(q, form, &names, d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct dns_opt opt = {
		.len = DNS_OPT_HEADER_LEN, .bytes = "\0\0\x29\x04\xd0\0\0\0\0\0"};
	struct dns_form form = {.class = 1, .opt = &opt};
	struct dns_queries q = {0};
	struct diag *d;
	char *text;

	if (size < 1)
		return 0;
	log_set_level(LOG_QUIET);
	text = fuzz_text(data, size);
	if (!text)
		return 0;
	d = diag_new();
	form.two_words = data[0] & 8;
	form.every_opt = data[0] & 16;
	if ((data[0] & 3) == 3 && !is_slow(text))
		ask_line(text, data[0] & 4);
	else if (data[0] & 1)
		load_names(&q, &form, text, d);
	else if (dns_queries_load_text(&q, &form, "q.txt", text, size - 1, &q, d) == 0 &&
		 q.count == 0)
		abort();
	for (uint32_t i = 0; i < q.count; i++)
		check_entry(
			q.blob + q.offsets[i], q.offsets[i + 1] - q.offsets[i] - DNS_ENTRY_HEAD);
	dns_queries_free(&q);
	diag_free(d);
	free(text);
	return 0;
}
