// SPDX-License-Identifier: BSD-3-Clause
// Queries from anyone to the responder: what it answers must itself be a well-formed response. The
// first byte gives the room for the answer. Path: tests only.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "proto/dns/dns_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *answers_new(void)
{
	const struct dns_answers_settings s = {
		.ttl_ns = 60000000000,
		.address = {4, {192, 0, 2, 1}},
		.address6 = {16, {0x20, 1, 0xd, 0xb8}},
		.text = "ddiperf",
	};
	const struct proto_env env = {.workers = 1};
	struct diag *d = diag_new();
	void *a = dns_answers_setup(&s, &env, d);

	diag_free(d);
	if (!a)
		abort();
	return a;
}

static void check_response(const uint8_t *query, const uint8_t *out, uint32_t len)
{
	uint32_t question = 0;
	struct dns_message m;

	if (len < DNS_HEADER_LEN || memcmp(query, out, 2) != 0 || !(out[2] & 0x80))
		abort();
	if (bytes_be16(out + 4) == 1)
		question = dns_question_len(out, len);
	if (bytes_be16(out + 4) != (question > 0))
		abort();
	if (!dns_message_walk(out, len, DNS_HEADER_LEN + question, &m) || m.left != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct dns_answer_counters n;
	static struct proto_ctx ctx = {.counters = &n};
	uint32_t room, len;
	uint8_t *query, *out;

	if (!ctx.shared)
		ctx.shared = answers_new();
	if (size < 1 || size > 65535)
		return 0;
	room = data[0] * 6u;
	query = malloc(size);
	out = malloc(room + 1);
	if (query && out) {
		memcpy(query, data + 1, size - 1);
		len = dns_answer(&ctx, query, (uint32_t)size - 1, out, room);
		if (len > room || n.received != n.answered + n.ignored)
			abort();
		if (len)
			check_response(query, out, len);
	}
	free(query);
	free(out);
	return 0;
}
