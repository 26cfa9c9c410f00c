// SPDX-License-Identifier: BSD-3-Clause
// Deliberately malformed messages: their selection, and edits of a finished message. A family
// defines the kinds. Such a message both begins and ends an exchange: the server's answer, or its
// silence, is counted by kind and judged apart. Path: hot. Any thread.
#pragma once

#include "base/bytes.h"
#include "base/rand.h"
#include "proto/dhcp/client/dhcp_client.h"

// Kind of error in the message that t sends; DHCP_WRONG_COUNT: none.
static __attribute__((noinline)) uint32_t dhcp_wrong_kind(
	const struct dhcp_worker *w, const struct proto_txn *t)
{
	const struct dhcp_wrong *wrong = &w->plan->wrong;
	uint64_t number = t->seq * w->work.workers + w->work.worker, drawn;
	uint32_t kind = 0;

	// A negative number marks the probe before the run.
	if (!wrong->steps || !(wrong->steps >> t->step & 1) || (int64_t)t->seq < 0)
		return DHCP_WRONG_COUNT;
	drawn = rand_hash(w->work.wrong_salt + number) >> 32;
	while (kind < DHCP_WRONG_COUNT && drawn >= wrong->below[kind])
		kind++;
	return kind;
}

static inline bool dhcp_is_wrong(const struct dhcp_worker *w, const struct proto_txn *t)
{
	return __builtin_expect(w->plan->wrong.steps, 0) &&
	       dhcp_wrong_kind(w, t) < DHCP_WRONG_COUNT;
}

// The switch case of a kind listed as X(number, name, help, edit).
#define DHCP_WRONG_CASE(number, name, help, ...)                                                   \
	case number:                                                                               \
		__VA_ARGS__;                                                                       \
		break;

// A message type unknown to both families.
static inline uint8_t dhcp_wrong_type(uint64_t random)
{
	const uint8_t unknown = 200;

	return (uint8_t)(unknown + random % (256 - unknown));
}

// Replace `old` bytes at `at`; the writer fails if there is no room.
static inline void dhcp_wrong_replace(
	struct writer *w, uint8_t *at, uint32_t old, const void *bytes, uint32_t count)
{
	size_t behind = (size_t)(w->at - at) - old;

	if (count > old && !write_space(w, count - old))
		return;
	memmove(at + count, at + old, behind);
	memcpy(at, bytes, count);
	if (count < old)
		w->at -= old - count;
}

// Randomise the rest of the message from there on.
static inline void dhcp_wrong_random(uint8_t *from, const struct writer *w, uint64_t random)
{
	for (uint32_t i = 0; from < w->at; i++, from++, random >>= 8) {
		if (i % 8 == 0)
			random = rand_hash(random + i);
		*from = (uint8_t)random;
	}
}
