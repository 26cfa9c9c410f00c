// SPDX-License-Identifier: BSD-3-Clause
// Zone transfers of the responder over connections, and the state of a responder worker: the hashes
// of its keys, and its transfers in progress. Created by dns_answers.c. Path: hot. The worker that
// owns ctx.
#pragma once

#include "proto/dns/client/dns_tsig.h"
#include "proto/dns/server/dns_answers.h"
#include "proto/dns/server/dns_zone_answer.h"
#include "proto/dns/server/dns_zone_transfer.h"

// A transfer with messages left to send.
struct dns_transfer {
	uint32_t next; // in the free list
	struct dns_zone_cursor cursor;
	bool is_signed;
	struct dns_tsig_chain chain;
	uint8_t head[4]; // ID and flags
	uint32_t question_len;
	uint8_t question[DNS_QUESTION_MAX];
};

struct dns_answerer {
	struct dns_tsig_server *tsig;   // NULL: no keys
	uint32_t free;                  // first free transfer; PROTO_MAX_MORE: none
	struct dns_transfer *transfers; // [PROTO_MAX_MORE]; NULL: no zones
};

// Begin the answer to a transfer request of len bytes over a connection: w continues after the
// question of the message at out, whose header is written.
void dns_transfer_answer(struct proto_ctx *ctx, const uint8_t *buf, uint32_t len,
	uint32_t question_len, const uint8_t *out, struct writer *w, struct dns_zone_reply *r);
// Called when the first message of a longer answer has been signed.
void dns_transfer_signed(struct proto_ctx *ctx, const struct dns_tsig_session *session);
// The next message of a longer answer, for proto.h.
uint32_t dns_answer_more(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room);
