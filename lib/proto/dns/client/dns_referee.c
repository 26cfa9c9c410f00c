// SPDX-License-Identifier: BSD-3-Clause
// Matches the answers of a capture with its queries. Path: cold. Management thread.

#include "proto/dns/client/dns_referee.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "net/frame.h"
#include "proto/dns/client/dns_internal.h"

struct dns_seen {
	uint64_t flow;     // client, server, ports and ID
	uint64_t question; // 0: none, or several
	uint32_t order;
	uint32_t query; // or DNS_PAIRS_ANSWER
	struct dns_digest digest;
};

static uint64_t flow_of(const struct frame *f, bool answer)
{
	const uint8_t *client = answer ? f->dst : f->src, *server = answer ? f->src : f->dst;
	uint64_t h = dns_bytes_hash(bytes_be16(f->payload), client, f->addr_len);

	h = dns_bytes_hash(h ^ (answer ? f->dst_port : f->src_port), server, f->addr_len);
	return h ^ (f->payload[2] & DNS_OPCODE);
}

// *len: length of the question; 0: none, or not well formed.
static uint64_t question_of(const struct frame *f, uint32_t *len)
{
	uint8_t question[DNS_QUESTION_MAX];

	*len = bytes_be16(f->payload + 4) == 1 ? dns_question_len(f->payload, f->payload_len) : 0;
	for (uint32_t i = 0; i < *len; i++) {
		uint8_t octet = f->payload[DNS_HEADER_LEN + i];

		question[i] = i < *len - 4 ? dns_lower_case(octet) : octet;
	}
	return *len ? dns_bytes_hash(0, question, *len) : 0;
}

int dns_pairs_add(struct dns_pairs *p, const struct frame *f, uint32_t query)
{
	bool answer = query == DNS_PAIRS_ANSWER;
	struct dns_message m;
	struct dns_seen *s;
	uint32_t len;

	if (!p->referee)
		return 0;
	if (p->count == p->room) {
		uint32_t room = p->room ? 2 * p->room : 1024;

		s = reallocarray(p->seen, room, sizeof(*s));
		if (!s || room < p->room)
			return -ENOMEM;
		p->seen = s;
		p->room = room;
	}
	s = &p->seen[p->count];
	*s = (struct dns_seen){.flow = flow_of(f, answer), .order = p->count, .query = query};
	s->question = question_of(f, &len);
	if (answer) {
		if ((len == 0 && bytes_be16(f->payload + 4) > 0) ||
			!dns_message_walk(f->payload, f->payload_len, DNS_HEADER_LEN + len, &m))
			return 0;
		dns_digest_make(p->referee, f->payload, f->payload_len, DNS_HEADER_LEN + len, &m,
			&s->digest);
	}
	p->count++;
	return 0;
}

static int by_flow(const void *a, const void *b)
{
	const struct dns_seen *x = a, *y = b;

	if (x->flow != y->flow)
		return x->flow < y->flow ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

// The answer is given to all equal queries since the previous answer: they are retransmissions.
static uint32_t answer_give(
	const struct dns_seen *from, const struct dns_seen *answer, struct dns_digest *answers)
{
	uint32_t given = 0;

	for (const struct dns_seen *s = from; s < answer; s++)
		if (s->question == answer->question || answer->question == 0) {
			answers[s->query] = answer->digest;
			given++;
		}
	return given;
}

int dns_pairs_end(struct dns_pairs *p, uint32_t count, uint32_t *found)
{
	struct dns_referee *r = p->referee;
	const struct dns_seen *from = p->seen;

	*found = 0;
	if (r)
		r->answers = calloc(count ? count : 1, sizeof(*r->answers));
	if (r && r->answers && p->count)
		qsort(p->seen, p->count, sizeof(*p->seen), by_flow);
	for (uint32_t i = 0; i < p->count && r->answers; i++) {
		if (p->seen[i].flow != from->flow)
			from = &p->seen[i];
		if (p->seen[i].query != DNS_PAIRS_ANSWER)
			continue;
		*found += answer_give(from, &p->seen[i], r->answers);
		from = &p->seen[i] + 1;
		if (i + 1 == p->count)
			break;
	}
	free(p->seen);
	p->seen = NULL;
	return r && !r->answers ? -ENOMEM : 0;
}
