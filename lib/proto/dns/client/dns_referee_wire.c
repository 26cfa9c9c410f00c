// SPDX-License-Identifier: BSD-3-Clause
// Digests of answers for comparison. Path: hot. Any thread.

#include "proto/dns/client/dns_referee.h"

#include "proto/dns/client/dns_internal.h"

#define NAME_STEPS  256 // pointers, and labels after them, per name
#define RECORD_HEAD 10  // type, class, TTL, length
#define POINTER     0xc0

// RDATA of types with names that may be compressed or differ in case (RFC 4034 section 6.2): octets
// and then strings before the names, octets after them.
static const struct layout {
	uint8_t octets, strings, names;
} layouts[] = {
	[DNS_NS] = {0, 0, 1},
	[3 /* MD */] = {0, 0, 1},
	[4 /* MF */] = {0, 0, 1},
	[DNS_CNAME] = {0, 0, 1},
	[DNS_SOA] = {0, 0, 2},
	[7 /* MB */] = {0, 0, 1},
	[8 /* MG */] = {0, 0, 1},
	[9 /* MR */] = {0, 0, 1},
	[12 /* PTR */] = {0, 0, 1},
	[14 /* MINFO */] = {0, 0, 2},
	[15 /* MX */] = {2, 0, 1},
	[17 /* RP */] = {0, 0, 2},
	[18 /* AFSDB */] = {2, 0, 1},
	[21 /* RT */] = {2, 0, 1},
	[24 /* SIG */] = {18, 0, 1},
	[26 /* PX */] = {2, 0, 2},
	[30 /* NXT */] = {0, 0, 1},
	[33 /* SRV */] = {6, 0, 1},
	[35 /* NAPTR */] = {4, 3, 1},
	[36 /* KX */] = {2, 0, 1},
	[39 /* DNAME */] = {0, 0, 1},
	[46 /* RRSIG */] = {18, 0, 1},
};

struct view {
	const uint8_t *buf;
	uint32_t len;
	bool ttl, asked;
	uint64_t seed, question; // hash of the question's name, if any
};

uint64_t dns_bytes_hash(uint64_t h, const uint8_t *p, uint32_t len)
{
	uint64_t word = 0;

	h ^= (uint64_t)len << 32;
	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = rand_hash(h ^ word);
	}
	word = 0;
	for (uint32_t i = 0; i < len; i++)
		word |= (uint64_t)p[i] << 8 * i;
	return rand_hash(h ^ word);
}

// The end of the name at p, which is hashed into *h. NULL: no name ends before `end`.
static const uint8_t *name_hash(
	const struct view *v, const uint8_t *p, const uint8_t *end, uint64_t *h)
{
	uint8_t name[DNS_NAME_MAX];
	uint32_t steps = NAME_STEPS;
	const uint8_t *after = dns_name_end(p, v->buf, v->len, &steps);

	if (!after || after > end)
		return NULL;
	*h = dns_bytes_hash(*h, name, dns_name_read(v->buf, v->len, (uint32_t)(p - v->buf), name));
	return after;
}

// RDATA that do not match their type are hashed as octets.
static uint64_t rdata_hash(
	const struct view *v, uint64_t h, uint32_t type, const uint8_t *p, const uint8_t *end)
{
	const struct layout *l =
		type < sizeof(layouts) / sizeof(layouts[0]) ? &layouts[type] : &layouts[0];
	uint32_t all = (uint32_t)(end - p), octets = l->octets;
	const uint8_t *at = p;
	uint64_t made = h;

	for (uint32_t i = 0; i < l->strings && octets < all; i++)
		octets += 1u + p[octets];
	if (l->names == 0 || octets > all)
		return dns_bytes_hash(h, p, all);
	made = dns_bytes_hash(h, p, octets);
	at = p + octets;
	for (uint32_t i = 0; i < l->names && at; i++)
		at = name_hash(v, at, end, &made);
	return at ? dns_bytes_hash(made, at, (uint32_t)(end - at)) : dns_bytes_hash(h, p, all);
}

// The end of the record at p, whose hash is added to *sum. OPT and TSIG are not data.
static const uint8_t *record_add(const struct view *v, const uint8_t *p, uint64_t *sum)
{
	const uint8_t *message_end = v->buf + v->len, *head, *end;
	uint64_t h = v->seed;
	uint32_t type;

	if (v->asked && p[0] == POINTER && p[1] == DNS_HEADER_LEN) {
		h = v->question;
		head = p + 2;
	} else {
		head = name_hash(v, p, message_end, &h);
	}
	if (!head) // impossible in a well-formed message
		return message_end;
	type = bytes_be16(head);
	end = head + RECORD_HEAD + bytes_be16(head + 8);
	if (type == DNS_OPT || type == DNS_TSIG)
		return end;
	h = rand_hash(h ^ bytes_be32(head)); // including the class
	if (v->ttl)
		h = rand_hash(h ^ bytes_be32(head + 4));
	*sum += rdata_hash(v, h, type, head + RECORD_HEAD, end);
	return end;
}

void dns_digest_make(const struct dns_referee *r, const uint8_t *buf, uint32_t len, uint32_t at,
	const struct dns_message *m, struct dns_digest *out)
{
	struct view v = {.buf = buf,
		.len = len,
		.ttl = r->parts >> DNS_COMPARED_TTL & 1,
		.asked = at > DNS_HEADER_LEN,
		.seed = r->seed,
		.question = r->seed};
	uint32_t wanted = r->parts & DNS_COMPARED_SECTIONS;
	const uint8_t *p = buf + at;

	*out = (struct dns_digest){.rcode = (uint16_t)(m->ext_rcode << 4 | (buf[3] & DNS_RCODE)),
		.flags = (uint16_t)((buf[2] & (DNS_AA | DNS_TC)) << 8 | (buf[3] & DNS_AD)),
		.known = true};
	if (wanted && v.asked)
		name_hash(&v, buf + DNS_HEADER_LEN, buf + at, &v.question);
	for (uint32_t s = 0; s < 3 && wanted >> DNS_COMPARED_ANSWER >> s; s++) {
		uint64_t sum = 0;

		for (uint32_t left = bytes_be16(buf + 6 + 2 * s); left > 0 && p < buf + len; left--)
			p = record_add(&v, p, &sum);
		out->sections[s] = wanted >> DNS_COMPARED_ANSWER >> s & 1 ? sum : 0;
	}
}

uint32_t dns_digest_differs(uint32_t parts, const struct dns_digest *a, const struct dns_digest *b)
{
	const uint32_t differ =
		(uint32_t)(a->rcode != b->rcode) << DNS_COMPARED_RCODE |
		(uint32_t)(a->flags != b->flags) << DNS_COMPARED_FLAGS |
		(uint32_t)(a->sections[0] != b->sections[0]) << DNS_COMPARED_ANSWER |
		(uint32_t)(a->sections[1] != b->sections[1]) << DNS_COMPARED_AUTHORITY |
		(uint32_t)(a->sections[2] != b->sections[2]) << DNS_COMPARED_ADDITIONAL;

	return differ & parts ? (uint32_t)__builtin_ctz(differ & parts) : DNS_COMPARED_COUNT;
}
