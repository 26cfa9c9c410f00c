// SPDX-License-Identifier: BSD-3-Clause
// Faults of the responder's DNS answers: each makes the change it is named for in one finished
// message, and no other. engine/core/responder/faults.h decides when. Path: hot. The worker that
// owns the message.

#include <string.h>

#include "proto/dns/server/dns_answers.h"
#include "base/bytes.h"
#include "proto/dns/client/dns_tsig.h"

#define SERVFAIL 2

static uint32_t wrong_id(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	// 1..65535: never the valid one.
	uint16_t change = (uint16_t)(1 + rand_scale(random, UINT16_MAX));

	if (len < DNS_HEADER_LEN)
		return 0;
	buf[0] ^= (uint8_t)(change >> 8);
	buf[1] ^= (uint8_t)change;
	return len;
}

// Another name of equal length, or for the root another type: well formed, but another question.
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

// Remove the only record of the answer section. Returns the new length; 0: there is none.
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
	buf[3] = (uint8_t)((buf[3] & ~DNS_RCODE) | SERVFAIL);
	return bare ? bare : len;
}

static uint32_t tc(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	uint32_t bare = answer_remove(buf, len);

	if (len < DNS_HEADER_LEN)
		return 0;
	buf[2] |= DNS_TC;
	return bare ? bare : len;
}

static uint32_t empty(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	return answer_remove(buf, len);
}

// A reply without a query: changes ID and question.
static uint32_t unsolicited(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	return wrong_question(buf, len, room, random) ? wrong_id(buf, len, room, random) : 0;
}

// Parse a reply with a TSIG record. false: it has none.
static bool signed_read(const uint8_t *buf, uint32_t len, struct dns_message *m)
{
	uint32_t question = len < DNS_HEADER_LEN ? 0 : dns_question_len(buf, len);

	return question && dns_message_walk(buf, len, DNS_HEADER_LEN + question, m) && m->tsig;
}

static uint32_t tsig_mac(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	struct dns_message m;
	struct dns_tsig t;

	if (!signed_read(buf, len, &m) || !dns_tsig_read(buf, len, &m, &t) || t.mac_len == 0)
		return 0;
	buf[t.mac - buf + rand_scale(random, t.mac_len)] ^= 1;
	return len;
}

static uint32_t tsig_unsigned(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	struct dns_message m;

	if (!signed_read(buf, len, &m))
		return 0;
	bytes_put_be16(buf + 10, (uint16_t)(bytes_be16(buf + 10) - 1));
	return m.tsig;
}

// Change the class.
static uint32_t tsig_format(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	struct dns_message m;

	if (!signed_read(buf, len, &m))
		return 0;
	buf[m.tsig_type + 3] ^= 1;
	return len;
}

const struct proto_fault dns_faults[] = {
	{"wrong_id", "replies with another ID", false, wrong_id},
	{"wrong_question", "replies with another question", false, wrong_question},
	{"rcode", "SERVFAIL in place of the RCODE", false, rcode},
	{"tc", "replies cut to the question, with TC set", false, tc},
	{"empty", "NOERROR without the answer record", false, empty},
	{"tsig_mac", "signed replies with another MAC", false, tsig_mac},
	{"tsig_unsigned", "signed replies without their TSIG record", false, tsig_unsigned},
	{"tsig_format", "signed replies with a TSIG record of another class", false, tsig_format},
	{"unsolicited", "one more reply, to no request, beside the right one", true, unsolicited},
	{0},
};
