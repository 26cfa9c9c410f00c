// SPDX-License-Identifier: BSD-3-Clause
// Faults of the responder's DNS answers: each spoils one ready message, and only in the way that
// its name says. Not here: when they happen (engine/core/faults.h). Path: hot. The worker that owns
// the message.

#include <string.h>

#include "base/bytes.h"
#include "proto/dns/dns_internal.h"

#define TC       0x02 // of byte 2 of the header
#define RCODE    0x0f // of byte 3
#define SERVFAIL 2

static uint32_t wrong_id(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	// 1..65535: never the right one.
	uint16_t change = (uint16_t)(1 + rand_scale(random, UINT16_MAX));

	if (len < DNS_HEADER_LEN)
		return 0;
	buf[0] ^= (uint8_t)(change >> 8);
	buf[1] ^= (uint8_t)change;
	return len;
}

// Another name of the same length, or for the root another type: well formed, but another
// question.
static uint32_t wrong_question(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	uint32_t question = len < DNS_HEADER_LEN ? 0 : dns_question_len(buf, len);
	uint8_t *name = buf + DNS_HEADER_LEN;

	if (question == 0 || bytes_be16(buf + 4) != 1)
		return 0;
	if (name[0])
		name[1] = (name[1] | 0x20) == 'x' ? 'y' : 'x';
	else
		name[2] ^= 1;
	return len;
}

// Take the one record out of the answer section. The length that is left; 0: there is none.
static uint32_t answer_remove(uint8_t *buf, uint32_t len)
{
	uint32_t question = len < DNS_HEADER_LEN ? 0 : dns_question_len(buf, len);
	uint32_t at = DNS_HEADER_LEN + question, end;

	if (question == 0 || bytes_be16(buf + 6) != 1 || len - at < 12)
		return 0;
	end = at + 12 + bytes_be16(buf + at + 10);
	if (end > len)
		return 0;
	memmove(buf + at, buf + end, len - end);
	buf[7] = 0;
	return len - (end - at);
}

static uint32_t rcode(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	uint32_t bare = answer_remove(buf, len);

	if (len < DNS_HEADER_LEN)
		return 0;
	buf[3] = (uint8_t)((buf[3] & ~RCODE) | SERVFAIL);
	return bare ? bare : len;
}

static uint32_t tc(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	uint32_t bare = answer_remove(buf, len);

	if (len < DNS_HEADER_LEN)
		return 0;
	buf[2] |= TC;
	return bare ? bare : len;
}

static uint32_t empty(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	return answer_remove(buf, len);
}

// A reply without a query: another ID and another question.
static uint32_t unsolicited(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	return wrong_question(buf, len, room, random) ? wrong_id(buf, len, room, random) : 0;
}

const struct proto_fault dns_faults[] = {
	{"wrong_id", "replies with another ID", false, wrong_id},
	{"wrong_question", "replies with another question", false, wrong_question},
	{"rcode", "SERVFAIL in place of the RCODE", false, rcode},
	{"tc", "replies cut to the question, with TC set", false, tc},
	{"empty", "NOERROR without the answer record", false, empty},
	{"unsolicited", "one more reply, to no request, beside the right one", true, unsolicited},
	{0},
};
