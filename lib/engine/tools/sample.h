// SPDX-License-Identifier: BSD-3-Clause
// The size of an item's messages and their number in an exchange. Its first exchanges are played
// between client and server of the protocol, without a port, a schedule or a transaction table.
// Path: cold. Main thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "engine/config/config.h"

#define SAMPLE_EXCHANGES 1000 // of each item

// Sums over the exchanges that were played; octets as on the wire (wire_octets).
struct sample {
	uint64_t exchanges;
	uint64_t messages, answers;
	uint64_t message_octets, answer_octets;
	uint64_t assumed; // replies that the server did not write: as long as the request
	uint64_t cut; // exchanges of several messages that ended early, as a reply failed a check
	uint64_t memory;       // bytes of its tables (plan_item_memory)
	const char *input;     // part of its input file that is used; NULL: all
	double replayed_per_s; // times of its replay, on average; 0: it has none
};

// Octets of a frame on the link: with padding to the least length, checksum, preamble
// and gap (IEEE 802.3).
uint64_t wire_octets(uint64_t frame_len);

// out: an element for each item of c->traffic. Reads the input files of the items. The answering
// side is the file's responder, or the built-in one with its defaults. Returns 0, -EINVAL (in d) or
// -ENOMEM. input: bytes of memory that the input took; shortages: as plan_shortages.
int sample_items(const struct config *c, struct arena *a, struct diag *d, struct sample *out,
	uint64_t *input, struct counter_list *shortages);
