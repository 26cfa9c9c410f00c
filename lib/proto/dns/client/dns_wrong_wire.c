// SPDX-License-Identifier: BSD-3-Clause
// Deliberately malformed messages: their selection, their edits, and the answers a server must
// give. The ID is kept, so that an answer is recognised. Path: hot. The worker that owns ctx.

#include "proto/dns/client/dns_wrong_wire.h"

#include "proto/dns/client/dns_request_wire.h"
#include "proto/dns/client/dns_tsig.h"

#define QDCOUNT        4 // offsets
#define ARCOUNT        10
#define TSIG_FUDGE     300
#define MAC_LEN        32 // of hmac-sha256
#define LABEL_TOO_LONG 64
#define NAME_TOO_LONG  300
#define BIT(rcode)     (1u << (rcode))

// Length of the only question, including type and class; 0: not exactly one question.
static uint32_t question_of(const uint8_t *buf, uint32_t len)
{
	return bytes_be16(buf + QDCOUNT) == 1 ? dns_question_len(buf, len) : 0;
}

// Parse the message after its question. false: it is already wrong.
static bool walk(const uint8_t *buf, uint32_t len, struct dns_message *m)
{
	return dns_message_walk(buf, len, DNS_HEADER_LEN + question_of(buf, len), m);
}

// Replace `old` bytes at offset `at` by others. Returns the new length; 0: no room.
static uint32_t replace(uint8_t *buf, uint32_t len, uint32_t room, uint32_t at, uint32_t old,
	const void *bytes, uint32_t count)
{
	if (len - old + count > room)
		return 0;
	memmove(buf + at + count, buf + at + old, len - at - old);
	memcpy(buf + at, bytes, count);
	return len - old + count;
}

// Replace the name in the question, or add a question with it.
static uint32_t question_rename(
	uint8_t *buf, uint32_t len, uint32_t room, const void *wire, uint32_t count)
{
	uint32_t question = question_of(buf, len);

	if (question)
		return replace(buf, len, room, DNS_HEADER_LEN, question - 4, wire, count);
	bytes_put_be16(buf + QDCOUNT, 1);
	len = replace(buf, len, room, DNS_HEADER_LEN, 0, "\0\1\0\1", 4);
	return len ? replace(buf, len, room, DNS_HEADER_LEN, 0, wire, count) : 0;
}

// Append an additional record.
static uint32_t append(
	uint8_t *buf, uint32_t len, uint32_t room, const void *record, uint32_t count)
{
	if (len + count > room)
		return 0;
	memcpy(buf + len, record, count);
	bytes_add_be16(buf + ARCOUNT, 1);
	return len + count;
}

static uint32_t opt_append(uint8_t *buf, uint32_t len, uint32_t room)
{
	static const uint8_t opt[DNS_OPT_HEADER_LEN] = "\0\0\x29\x04\xd0";

	return append(buf, len, room, opt, sizeof(opt));
}

// --- the kinds ---

static uint32_t header(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	return 2 + (uint32_t)(random % (DNS_HEADER_LEN - 2));
}

static uint32_t counts(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	uint32_t section = 1 + (uint32_t)(random % 3); // answer, authority, additional

	bytes_add_be16(buf + QDCOUNT + 2 * section, (uint16_t)(1 + (random >> 8 & 0xff)));
	return len;
}

static uint32_t loop(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	return question_rename(buf, len, room, "\xc0\x0c", 2);
}

static uint32_t label(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	uint8_t wire[LABEL_TOO_LONG + 2];

	memset(wire, 'a', sizeof(wire));
	wire[0] = LABEL_TOO_LONG;
	wire[LABEL_TOO_LONG + 1] = 0;
	return question_rename(buf, len, room, wire, sizeof(wire));
}

// Labels of maximum length, and one for the rest.
static uint32_t name(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	uint8_t wire[NAME_TOO_LONG];

	memset(wire, 'a', sizeof(wire));
	for (uint32_t at = 0; at < NAME_TOO_LONG; at += LABEL_TOO_LONG) {
		uint32_t left = NAME_TOO_LONG - 2 - at;

		wire[at] = (uint8_t)(left < LABEL_TOO_LONG ? left : LABEL_TOO_LONG - 1);
	}
	wire[NAME_TOO_LONG - 1] = 0;
	return question_rename(buf, len, room, wire, sizeof(wire));
}

static uint32_t octets(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	for (uint32_t at = 2; at < len; at++, random >>= 8) {
		if (at % 8 == 2)
			random = rand_hash(random + at);
		buf[at] = (uint8_t)random;
	}
	return len;
}

static uint32_t response(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	buf[2] |= DNS_QR;
	return len;
}

static uint32_t questions(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	uint8_t question[DNS_QUESTION_MAX] = "\0\0\1\0\1"; // . A
	uint32_t count = question_of(buf, len);

	if (count == 0) {
		bytes_put_be16(buf + QDCOUNT, 1);
		count = 5;
		len = replace(buf, len, room, DNS_HEADER_LEN, 0, question, count);
		if (len == 0)
			return 0;
	}
	memcpy(question, buf + DNS_HEADER_LEN, count);
	bytes_put_be16(buf + QDCOUNT, 2);
	return replace(buf, len, room, DNS_HEADER_LEN, 0, question, count);
}

static uint32_t opts(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	struct dns_message m;

	if (!walk(buf, len, &m) || !m.has_opt)
		len = opt_append(buf, len, room);
	return len ? opt_append(buf, len, room) : 0;
}

// The offset of RDLENGTH in the OPT record, which is added if missing; 0: no room.
static uint32_t opt_of_message(uint8_t *buf, uint32_t *len, uint32_t room)
{
	struct dns_message m;

	if (walk(buf, *len, &m) && m.opt)
		return (uint32_t)(m.opt + 8 - buf);
	*len = opt_append(buf, *len, room);
	return *len ? *len - 2 : 0;
}

static uint32_t version(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	uint32_t at = opt_of_message(buf, &len, room);

	if (at == 0)
		return 0;
	buf[at - 3] = (uint8_t)(1 + random % 255);
	return len;
}

// Replaces all other options, so that no other cookie counts.
static uint32_t cookie(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	uint32_t at = opt_of_message(buf, &len, room), count = 1 + (uint32_t)(random % 7);
	uint8_t option[DNS_OPTION_HEAD + 7] = {0, DNS_COOKIE, 0, (uint8_t)count};

	if (at == 0)
		return 0;
	memcpy(option + DNS_OPTION_HEAD, &random, count);
	count += DNS_OPTION_HEAD;
	len = replace(buf, len, room, at + 2, bytes_be16(buf + at), option, count);
	bytes_put_be16(buf + at, (uint16_t)count);
	return len;
}

// RFC 8945 section 4.2, without the time, because servers look up the key first.
static uint32_t tsig(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	static const char algorithm[] = "\13hmac-sha256";
	uint8_t record[128];
	struct writer w = writer_of(record, sizeof(record));
	uint64_t mac[MAC_LEN / sizeof(uint64_t)];

	for (uint32_t i = 0; i < MAC_LEN / sizeof(mac[0]); i++)
		mac[i] = rand_hash(random + i);
	write_bytes(&w, "\6nobody", 8);
	write_be16(&w, DNS_TSIG);
	write_be16(&w, DNS_CLASS_ANY);
	write_be32(&w, 0);
	write_be16(&w, sizeof(algorithm) + 6 + 2 + 2 + MAC_LEN + 6);
	write_bytes(&w, algorithm, sizeof(algorithm));
	write_be16(&w, 0);
	write_be32(&w, 0);
	write_be16(&w, TSIG_FUDGE);
	write_be16(&w, MAC_LEN);
	write_bytes(&w, mac, MAC_LEN);
	write_bytes(&w, buf, 2); // original ID
	write_be32(&w, 0);       // error, and no other data
	return append(buf, len, room, record, (uint32_t)(w.at - record));
}

// Change a byte near the end of the MAC, which precedes ID, error and length of other data.
static uint32_t tsig_mac(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random)
{
	buf[len - 7 - random % 8] ^= (uint8_t)(1 + (random >> 8) % 255);
	return len;
}

// The answer a server must give: an RCODE of this set, or none at all.
static const struct wrong {
	uint32_t (*spoil)(uint8_t *buf, uint32_t len, uint32_t room, uint64_t random);
	uint32_t rcodes; // bit per RCODE
	bool nothing;
	uint16_t error; // required in the TSIG record; 0: any
	bool signs;     // the message is signed first
} wrongs[DNS_WRONG_COUNT] = {
	[DNS_WRONG_HEADER] = {header, 0, true},
	[DNS_WRONG_COUNTS] = {counts, BIT(DNS_FORMERR)},
	[DNS_WRONG_LOOP] = {loop, BIT(DNS_FORMERR)},
	[DNS_WRONG_LABEL] = {label, BIT(DNS_FORMERR)},
	[DNS_WRONG_NAME] = {name, BIT(DNS_FORMERR)},
	[DNS_WRONG_RANDOM] = {octets, ~BIT(DNS_NOERROR), true},
	[DNS_WRONG_RESPONSE] = {response, 0, true},
	[DNS_WRONG_QUESTIONS] = {questions, BIT(DNS_FORMERR)},
	[DNS_WRONG_OPTS] = {opts, BIT(DNS_FORMERR)},
	[DNS_WRONG_VERSION] = {version, BIT(DNS_BADVERS)},
	[DNS_WRONG_COOKIE] = {cookie, BIT(DNS_FORMERR) | BIT(DNS_NOERROR) | BIT(DNS_NXDOMAIN)},
	[DNS_WRONG_TSIG] = {tsig, BIT(DNS_NOTAUTH), .error = DNS_BADKEY},
	[DNS_WRONG_TSIG_MAC] = {tsig_mac, BIT(DNS_NOTAUTH), .error = DNS_BADSIG, .signs = true},
};

uint32_t dns_wrong_kind(
	const struct dns_plan *p, const struct dns_worker *w, const struct proto_txn *t)
{
	uint64_t drawn = rand_hash(w->salt[DNS_SALT_WRONG] + number_of(w, t)) >> 32;
	uint32_t kind = 0;

	if ((int64_t)t->seq < 0) // marks the probe before the run
		return DNS_WRONG_COUNT;
	while (kind < DNS_WRONG_COUNT && drawn >= p->wrong_below[kind])
		kind++;
	return kind;
}

uint32_t dns_wrong_spoil(
	const struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t len, uint32_t room)
{
	const struct dns_worker *w = ctx->own;
	struct dns_counters *n = ctx->counters;
	uint32_t kind = dns_wrong_kind(ctx->shared, w, t);

	if (kind == DNS_WRONG_COUNT)
		return len;
	n->wrong_sent[kind]++;
	if (wrongs[kind].signs)
		len = dns_tsig_request(w->tsig, ctx, t, buf, len, room);
	if (len == 0)
		return 0;
	return wrongs[kind].spoil(
		buf, len, room, rand_hash(~w->salt[DNS_SALT_WRONG] + number_of(w, t)));
}

// RFC 8945 section 5.3.2: the last record contains the error.
static bool tells(const uint8_t *buf, uint32_t len, uint16_t error)
{
	return error == 0 || (bytes_be16(buf + len - 4) == error && bytes_be16(buf + len - 2) == 0);
}

void dns_wrong_answered(struct dns_counters *n, uint32_t kind, const uint8_t *buf, uint32_t len)
{
	uint32_t rcode = buf[3] & DNS_RCODE;
	struct dns_message m;
	bool right;

	if (walk(buf, len, &m))
		rcode |= (uint32_t)m.ext_rcode << 4;
	right = rcode < 32 && wrongs[kind].rcodes >> rcode & 1 &&
	        tells(buf, len, wrongs[kind].error);
	n->reply_bytes += len;
	n->wrong_right[kind] += right;
	n->wrong_other[kind] += !right;
	n->wrong_unexpected += !right;
	n->wrong_rcode[rcode < DNS_RCODE_OTHER ? rcode : DNS_RCODE_OTHER]++;
}

void dns_wrong_unanswered(struct dns_counters *n, uint32_t kind)
{
	if (wrongs[kind].nothing)
		n->wrong_right[kind]++;
	else
		n->wrong_unanswered[kind]++;
}
