// SPDX-License-Identifier: BSD-3-Clause
// The ledger of an item: due = sent + unsent, and sent = answered + failed + lost + no_reply +
// in_flight. Path: hot (written by one worker) | cold (sums and differences).
#pragma once

#include <stdint.h>

// Workers count all but unsent and in_flight, which follow. dataplane: wo, ctlplane: ro.
struct ledger {
	uint64_t due, sent, answered, failed, lost;
	uint64_t no_reply;                          // nothing answers such a message
	uint64_t late, duplicate, stray, malformed; // came back and matched nothing in flight
};
