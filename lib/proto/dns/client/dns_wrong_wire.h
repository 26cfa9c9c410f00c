// SPDX-License-Identifier: BSD-3-Clause
// Messages that are wrong on purpose, and the judgement of what a server does with them. They are
// judged apart: neither an answer nor its absence counts in the ledger. Path: hot. The worker that
// owns ctx.
#pragma once

#include "proto/dns/client/dns_internal.h"

// Bytes that a message gets longer by, at the most: a name of 300 octets, and a question for it.
#define DNS_WRONG_MORE 304

// Which kind the message of a transaction is: a function of its number. DNS_WRONG_COUNT: none.
uint32_t dns_wrong_kind(
	const struct dns_plan *p, const struct dns_worker *w, const struct proto_txn *t);
// Spoil the ready message of len bytes if it is to be wrong. The new length; 0: no room.
uint32_t dns_wrong_spoil(const struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf,
	uint32_t len, uint32_t room);
// A message of that kind has this answer, of 12 bytes or more; or none in time.
void dns_wrong_answered(struct dns_counters *n, uint32_t kind, const uint8_t *buf, uint32_t len);
void dns_wrong_unanswered(struct dns_counters *n, uint32_t kind);
