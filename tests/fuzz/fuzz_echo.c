// SPDX-License-Identifier: BSD-3-Clause
// Echo messages from anyone, as a reply, as a request and as a stream. The first byte says how much
// of a right message is put in front, so that the fuzzer gets past the checks; the next two are the
// sizes of the item. Path: tests only.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/one_message.h"
#include "proto/echo/echo.h"
#include "proto/echo/echo_internal.h"

#define LEN_MAX 2048
#define ROOM    4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool right)
{
	if (!right)
		abort();
}

// All bytes of a stream belong to a message, or wait for more.
static void cut(const uint8_t *bytes, uint32_t len)
{
	uint32_t whole;

	for (uint32_t at = 0; at < len; at += whole) {
		uint32_t head = len - at < 32 ? len - at : 32;

		whole = echo_framed(bytes + at, head);
		require(whole <= UINT16_MAX && (whole || head < 32));
		require(whole == 0 || whole <= head || whole == echo_framed(bytes + at, len - at));
		if (whole == 0 || whole > len - at)
			return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct echo_plan *plan;
	const struct echo_settings s = {.size = 64, .reply = UINT64_MAX, .fill = ECHO_RANDOM};
	const struct proto_env env = {.seed = 1};
	const struct echo_server_plan server_plan = {ECHO_REPLY_MOST, UINT64_MAX};
	struct echo_counters n = {0};
	struct echo_server_counters sn = {0};
	struct proto_ctx client = {.counters = &n};
	struct proto_ctx server = {.shared = &server_plan, .counters = &sn};
	struct proto_txn t = {.seq = 5, .key = 0x1234};
	uint8_t request[ROOM], answer[ROOM], *reply;
	uint32_t len, sent, got, key;
	enum proto_verdict v;

	if (size < 3 || size > LEN_MAX)
		return 0;
	plan = plan ? plan : echo_proto.setup(&s, &env, &(struct proto_facts){0}, NULL);
	reply = malloc(size);
	if (!plan || !reply)
		abort();
	client.shared = plan;
	plan->size = ECHO_HEAD + data[1];
	plan->reply = ECHO_HEAD + 4u * data[2];
	len = (uint32_t)size - 3;
	memcpy(reply, data + 3, len);
	sent = proto_request(&echo_proto, &client, &t, request, sizeof(request));
	got = echo_answer(&server, request, sent, answer, sizeof(answer));
	require(got == plan->reply &&
		judge_one(&echo_proto, &client, &t, answer, got) == PROTO_DONE);
	memcpy(reply, answer, data[0] < len ? data[0] : len);
	v = judge_one(&echo_proto, &client, &t, reply, len);
	require(echo_key(reply, len, &key) == (v != PROTO_MALFORMED));
	require(v != PROTO_DONE || (len == got && memcmp(reply, answer, len) == 0));
	got = echo_answer(&server, reply, len, answer, sizeof(answer));
	require(got == 0 || got <= (len > ECHO_REPLY_MOST ? len : ECHO_REPLY_MOST));
	require(sn.received == sn.answered + sn.one_way + sn.ignored);
	cut(reply, len);
	for (const struct proto_fault *f = echo_faults; f->name; f++)
		require(f->apply(reply, len, len, data[0]) <= len);
	free(reply);
	return 0;
}
