// SPDX-License-Identifier: BSD-3-Clause
// What a worker of the responder keeps: the hashes of its keys, and the transfers that it is at.
// Made by dns_answers.c. Path: hot. The worker that owns ctx.
#pragma once

#include "proto/dns/server/dns_answers.h"
#include "proto/dns/client/dns_tsig.h"

// A transfer with further messages.
struct dns_transfer {
	uint32_t next; // of the free ones
	struct dns_zone_cursor cursor;
	bool is_signed;
	struct dns_tsig_chain chain;
	uint8_t head[4]; // ID and flags
	uint32_t question_len;
	uint8_t question[DNS_QUESTION_MAX];
};

struct dns_answerer {
	struct dns_tsig_server *tsig;   // NULL: no keys
	uint32_t free;                  // a transfer; PROTO_MAX_MORE: none
	struct dns_transfer *transfers; // [PROTO_MAX_MORE]; NULL: no zones
};

// dns_answer_transfer_wire.c. Begin to answer the request of len bytes for a transfer over a
// connection: w writes at the end of the question of the message at out, whose header is there.
void dns_transfer_answer(struct proto_ctx *ctx, const uint8_t *buf, uint32_t len,
	uint32_t question_len, const uint8_t *out, struct writer *w, struct dns_zone_reply *r);
// The first message, of an answer of several messages, was signed.
void dns_transfer_signed(struct proto_ctx *ctx, const struct dns_tsig_session *session);
