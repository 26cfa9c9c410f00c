// SPDX-License-Identifier: BSD-3-Clause
// Deliberately malformed messages, and the judgement of the server's reaction. They are judged
// apart: neither an answer nor its absence counts in the ledger. Path: hot. The worker that owns
// ctx.
#pragma once

#include "proto/dns/client/dns_internal.h"

// Maximum number of bytes added to a message: a name of 300 octets, and a question for it.
#define DNS_WRONG_MORE 304

// The kind of error in a transaction's message: a function of its number. DNS_WRONG_COUNT: none.
uint32_t dns_wrong_kind(
	const struct dns_plan *p, const struct dns_worker *w, const struct proto_txn *t);
// Corrupt the finished message of len bytes if it is to be wrong. The new length; 0: no room.
uint32_t dns_wrong_spoil(const struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf,
	uint32_t len, uint32_t room);
// Count the answer, of 12 bytes or more, to a message of that kind; or a missing answer.
void dns_wrong_answered(struct dns_counters *n, uint32_t kind, const uint8_t *buf, uint32_t len);
void dns_wrong_unanswered(struct dns_counters *n, uint32_t kind);
