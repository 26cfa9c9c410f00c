// SPDX-License-Identifier: BSD-3-Clause
// The time to wait for the reply to each try of each kind of message: RFC 2131 section 4.1 (doubled
// each time, a second more or less) and RFC 8415 section 15 (IRT, MRT, MRC, MRD, RAND) in one
// table. Equal waits share a place in the layout. Path: cold (build) | hot (the rest). Any thread.
#pragma once

#include "base/arena.h"
#include "proto/proto.h"

#define DHCP_TRIES_MAX 16 // of one message

// Retransmission of one kind of message.
struct dhcp_backoff {
	uint64_t first_ns;
	uint64_t longest_ns; // 0: any
	uint64_t total_ns;   // when all tries end; 0: by tries alone
	uint64_t jitter_ns;  // a wait is up to this much shorter or longer,
	double jitter;       // and by this share of it
	uint32_t factor;     // from one to the next
	uint32_t tries;      // at least 1
};

struct dhcp_wait_kind {
	uint8_t tries;
	uint8_t first[DHCP_TRIES_MAX]; // index into layout.waits of the shortest, by try
	uint64_t ns[DHCP_TRIES_MAX];   // without jitter
};

struct dhcp_waits {
	uint32_t count;    // different ones, without their steps of jitter; 0: the item's timeout
	uint32_t steps;    // of jitter
	uint64_t tries_ns; // all tries of one message, at most; 0: the item's timeout
	struct dhcp_wait_kind kinds[PROTO_MAX_STEPS];
};

// kinds: by step, `steps` of them; NULL: one try of each message. The waits go to *out; none if
// there are more different ones (w->count) than PROTO_MAX_WAITS.
void dhcp_waits_build(struct dhcp_waits *w, const struct dhcp_backoff *kinds, uint32_t steps,
	struct arena *a, struct field_list *out);
// Number of tries before the first whose wait is longer than this; 0: none is longer.
static inline uint8_t dhcp_waits_within(const struct dhcp_waits *w, uint32_t step, uint64_t ns)
{
	uint8_t n = 1;

	while (n < w->kinds[step].tries && w->kinds[step].ns[n] <= ns)
		n++;
	return n < w->kinds[step].tries ? n : 0;
}
