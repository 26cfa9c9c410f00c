// SPDX-License-Identifier: BSD-3-Clause
// Answers to queries from the responder's zones; dns_answers_wire.c writes header, question and OPT
// record around them. Path: hot. Any thread of the responder.
#pragma once

#include "proto/dns/server/dns_zone.h"

struct dns_zone_reply {
	uint16_t answers, authority, additional;
	uint8_t rcode;
	bool foreign;  // in none of our zones
	bool referral; // to the servers of a child zone: not authoritative
};

// Write the sections after the question, which follows the header in the message at `message`, to
// which w appends. If w fails, they do not fit.
void dns_zone_answer(const struct dns_zones *z, const uint8_t *message, uint32_t question_len,
	struct writer *w, struct dns_zone_reply *r);
