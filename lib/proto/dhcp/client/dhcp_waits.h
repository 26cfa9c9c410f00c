// SPDX-License-Identifier: BSD-3-Clause
// The wait for the reply to each try of each kind of message: RFC 2131 section 4.1 (doubled each
// time, plus or minus a second) and RFC 8415 section 15 (IRT, MRT, MRC, MRD, RAND) in one table.
// Equal waits share an entry in the layout. Path: cold (build) | hot (the rest). Any thread.
#pragma once

#include "base/arena.h"
#include "proto/proto.h"

#define DHCP_TRIES_MAX 16 // of one message

// Retransmission of one kind of message.
struct dhcp_backoff {
	uint64_t first_ns;
	uint64_t longest_ns; // 0: unlimited
	uint64_t total_ns;   // limit for all tries; 0: only tries count
	uint64_t jitter_ns;  // a wait is up to this much shorter or longer
	double jitter;       // and up to this share of it
	uint32_t factor;     // from one wait to the next
	uint32_t tries;      // at least 1
};

struct dhcp_wait_kind {
	uint8_t tries;
	uint8_t first[DHCP_TRIES_MAX]; // by try: index of the shortest wait in layout.waits
	uint64_t ns[DHCP_TRIES_MAX];   // without jitter
};

struct dhcp_waits {
	uint32_t count;    // distinct waits, without jitter steps; 0: the item's timeout
	uint32_t steps;    // of jitter
	uint64_t tries_ns; // maximum duration of all tries of one message; 0: the item's timeout
	struct dhcp_wait_kind kinds[PROTO_MAX_STEPS];
};

// kinds: by step, `steps` of them; NULL: one try per message. The waits go to *out, which stays
// empty if there are more distinct ones (w->count) than PROTO_MAX_WAITS.
void dhcp_waits_build(struct dhcp_waits *w, const struct dhcp_backoff *kinds, uint32_t steps,
	struct arena *a, struct field_list *out);
// Number of tries before the first wait longer than ns; 0: none is longer.
static inline uint8_t dhcp_waits_within(const struct dhcp_waits *w, uint32_t step, uint64_t ns)
{
	uint8_t n = 1;

	while (n < w->kinds[step].tries && w->kinds[step].ns[n] <= ns)
		n++;
	return n < w->kinds[step].tries ? n : 0;
}
