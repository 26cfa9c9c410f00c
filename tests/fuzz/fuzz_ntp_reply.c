// SPDX-License-Identifier: BSD-3-Clause
// NTP replies and requests from anyone. The first byte says how much of the reply is put right, so
// that the fuzzer gets past the checks; the same bytes are also a request to the server, whose
// answer the client must find well formed. Path: tests only.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/one_message.h"
#include "proto/ntp/ntp.h"
#include "proto/ntp/ntp_internal.h"

#define GIVE_ORIGIN 1 // of the first byte
#define GIVE_MODE   2
#define LEN_MAX     512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool right)
{
	if (!right)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ntp_plan plan = {.seed = 1, .version = 4, .poll = 6};
	const struct ntp_server_plan server_plan = {.stratum = 2};
	struct ntp_counters n = {0};
	struct ntp_server_counters sn = {0};
	struct proto_ctx client = {.shared = &plan, .counters = &n};
	struct proto_ctx server = {.shared = &server_plan, .counters = &sn};
	struct proto_txn t = {.seq = 5, .key = 0x1234};
	uint8_t request[NTP_LEN], answer[NTP_LEN];
	uint32_t len = (uint32_t)size - 1, key;
	enum proto_verdict v;
	uint8_t *reply;

	if (size < 1 || size > LEN_MAX)
		return 0;
	reply = malloc(size); // one more: never of size 0
	if (!reply)
		return 0;
	memcpy(reply, data + 1, len);
	require(proto_request(&ntp_proto, &client, &t, request, sizeof(request)) == NTP_LEN);
	if ((data[0] & GIVE_ORIGIN) && len >= 32)
		memcpy(reply + 24, request + 40, 8);
	if ((data[0] & GIVE_MODE) && len > 0)
		reply[0] = (uint8_t)((reply[0] & 0xc0) | (request[0] & 0x38) | 4);
	v = judge_one(&ntp_proto, &client, &t, reply, len);
	require(ntp_key(reply, len, &key) == (v != PROTO_MALFORMED));
	require(v != PROTO_DONE || (n.reply_bytes == len && n.unsynchronised == 0));
	if (ntp_answer(&server, reply, len, answer, sizeof(answer)))
		require(ntp_key(answer, NTP_LEN, &key));
	require(sn.received == sn.answered + sn.ignored);
	for (const struct proto_fault *f = ntp_faults; len >= NTP_LEN && f->name; f++)
		require(f->apply(reply, len, len, 1) == len);
	free(reply);
	return 0;
}
