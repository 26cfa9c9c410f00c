// SPDX-License-Identifier: BSD-3-Clause
// Queries from anyone to the responder: what it answers must itself be a well-formed response. The
// first byte gives the room for the answer. Path: tests only.

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dns/server/dns_answers.h"
#include "base/bytes.h"
#include "proto/dns/client/dns_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *answers_new(bool proxy)
{
	const struct dns_answers_settings s = {
		.ttl_ns = 60000000000,
		.address = {4, {192, 0, 2, 1}},
		.address6 = {16, {0x20, 1, 0xd, 0xb8}},
		.text = "ddiperf",
		.proxy = proxy,
	};
	const struct proto_env env = {.workers = 1};
	struct diag *d = diag_new();
	void *a = dns_answers_setup(&s, &env, &(struct proto_facts){0}, d);

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
	static const uint8_t signature[] = "\r\n\r\n\0\r\nQUIT\n";
	static struct dns_answer_counters n;
	static struct proto_ctx both[2] = {{.counters = &n}, {.counters = &n}};
	uint32_t room, len, head = 0;
	uint8_t *query, *out;
	struct proto_ctx *ctx;
	bool proxy;

	if (size < 1 || size > 65535)
		return 0;
	// Behind a PROXY header, whose signature is put right: few inputs came beyond it.
	proxy = size > sizeof(signature) && data[1] == signature[0];
	ctx = &both[proxy];
	if (!ctx->shared)
		ctx->shared = answers_new(proxy);
	room = data[0] * 6u;
	query = malloc(size);
	out = malloc(room + 1);
	if (query && out) {
		memcpy(query, data + 1, size - 1);
		if (proxy) {
			memcpy(query, signature, sizeof(signature) - 1);
			dns_proxy_read(query, (uint32_t)size - 1, false, &head);
		}
		len = dns_answer(ctx, query, (uint32_t)size - 1, out, room);
		if (len > room || n.received != n.answered + n.ignored)
			abort();
		if (len)
			check_response(query + head, out, len);
	}
	free(query);
	free(out);
	return 0;
}
