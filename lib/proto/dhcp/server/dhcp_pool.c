// SPDX-License-Identifier: BSD-3-Clause
// The lease table: memory, ranges, a hash table with chains through the records, and a queue per
// state. dhcp_claim.h decides when a lease changes hands. Path: cold (make, unmake, clear) | hot
// (hash, of_identity, at, is_over, oldest, give, share, move, free, rest). The responder's thread.

#include "proto/dhcp/server/dhcp_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"

#define CACHE_LINE 64

static void *lines_alloc(size_t count, size_t size)
{
	return aligned_alloc(CACHE_LINE, (count * size / CACHE_LINE + 1) * CACHE_LINE);
}

static uint32_t mask_for(uint32_t count)
{
	uint32_t mask = 1;

	while (mask < count)
		mask = mask << 1 | 1;
	return mask;
}

uint64_t dhcp_pool_memory(uint32_t count, size_t record, bool by_hardware)
{
	uint64_t buckets = (mask_for(count) + 1ull) * sizeof(uint32_t);

	return (uint64_t)count * record + (by_hardware ? 2 : 1) * buckets;
}

int dhcp_pool_make(
	struct dhcp_pool *p, uint32_t count, size_t record, bool by_hardware, uint64_t seed)
{
	*p = (struct dhcp_pool){.count = count, .mask = mask_for(count), .seed = seed};
	p->shift = (uint32_t)__builtin_ctzl(record);
	p->records = lines_alloc(count, record);
	p->by_identity = lines_alloc((size_t)p->mask + 1, sizeof(uint32_t));
	if (by_hardware)
		p->by_hardware = lines_alloc((size_t)p->mask + 1, sizeof(uint32_t));
	if (p->records && p->by_identity && (p->by_hardware || !by_hardware))
		return 0;
	dhcp_pool_unmake(p);
	return -ENOMEM;
}

void dhcp_pool_unmake(struct dhcp_pool *p)
{
	free(p->records);
	free(p->by_identity);
	free(p->by_hardware);
	p->records = NULL;
	p->by_identity = p->by_hardware = NULL;
}

uint64_t dhcp_pool_hash(uint64_t seed, const uint8_t *bytes, uint32_t len)
{
	uint64_t h = rand_hash(seed + len), word;

	for (; len >= 8; len -= 8, bytes += 8) {
		memcpy(&word, bytes, 8);
		h = rand_hash(h ^ word);
	}
	word = 0;
	for (uint32_t i = 0; i < len; i++)
		word = word << 8 | bytes[i];
	h = rand_hash(h ^ word);
	return h ? h : 1;
}

static void queue_remove(struct dhcp_pool *p, struct dhcp_lease *l)
{
	struct dhcp_queue *q = &p->queues[l->state];

	if (l->prev == DHCP_NO_LEASE)
		q->head = l->next;
	else
		dhcp_pool_record(p, l->prev)->next = l->next;
	if (l->next == DHCP_NO_LEASE)
		q->tail = l->prev;
	else
		dhcp_pool_record(p, l->next)->prev = l->prev;
}

static void queue_append(struct dhcp_pool *p, struct dhcp_lease *l)
{
	struct dhcp_queue *q = &p->queues[l->state];
	uint32_t i = dhcp_pool_index(p, l);

	l->prev = q->tail;
	l->next = DHCP_NO_LEASE;
	if (q->tail == DHCP_NO_LEASE)
		q->head = i;
	else
		dhcp_pool_record(p, q->tail)->next = i;
	q->tail = i;
}

void dhcp_pool_clear(struct dhcp_pool *p)
{
	size_t buckets = ((size_t)p->mask + 1) * sizeof(uint32_t);

	memset(p->by_identity, 0xff, buckets);
	if (p->by_hardware)
		memset(p->by_hardware, 0xff, buckets);
	memset(p->queues, 0xff, sizeof(p->queues));
	memset(p->records, 0, (size_t)p->count << p->shift);
	p->last_bound = DHCP_NO_LEASE;
	for (uint32_t i = 0; i < p->count; i++) {
		struct dhcp_lease *l = dhcp_pool_record(p, i);

		l->place = i;
		queue_append(p, l);
	}
}

struct dhcp_lease *dhcp_pool_of_identity(const struct dhcp_pool *p, uint64_t identity)
{
	uint32_t i = p->by_identity[identity & p->mask];

	while (i != DHCP_NO_LEASE) {
		struct dhcp_lease *l = dhcp_pool_record(p, i);

		if (l->identity == identity)
			return l;
		i = l->same_identity;
	}
	return NULL;
}

struct dhcp_lease *dhcp_pool_at(const struct dhcp_pool *p, dhcp_number n)
{
	dhcp_number between = ((dhcp_number)1 << p->step) - 1;

	for (uint32_t i = 0; i < p->range_count; i++) {
		const struct dhcp_range *r = &p->ranges[i];
		dhcp_number distance = n - r->first;

		if ((distance & between) == 0 && distance >> p->step < r->count)
			return dhcp_pool_record(p, r->lease + (uint32_t)(distance >> p->step));
	}
	return NULL;
}

bool dhcp_pool_is_over(const struct dhcp_pool *p, const struct dhcp_lease *l, uint32_t now_s)
{
	uint32_t hold_s = p->hold_s[l->state];

	return hold_s != UINT32_MAX && now_s - l->since_s >= hold_s;
}

struct dhcp_lease *dhcp_pool_oldest(const struct dhcp_pool *p, uint32_t now_s)
{
	for (uint32_t state = DHCP_FREE; state < DHCP_LEASE_STATES; state++) {
		uint32_t head = p->queues[state].head;

		if (head == DHCP_NO_LEASE)
			continue;
		if (dhcp_pool_is_over(p, dhcp_pool_record(p, head), now_s))
			return dhcp_pool_record(p, head);
	}
	return NULL;
}

// Remove the lease from its client and from the bucket.
static void client_forget(struct dhcp_pool *p, struct dhcp_lease *l)
{
	uint32_t *at = &p->by_identity[l->identity & p->mask];
	uint32_t i = dhcp_pool_index(p, l);

	l->place = i;
	if (l->identity == 0)
		return;
	while (*at != i)
		at = &dhcp_pool_record(p, *at)->same_identity;
	*at = l->same_identity;
	l->identity = 0;
}

void dhcp_pool_move(
	struct dhcp_pool *p, struct dhcp_lease *l, enum dhcp_lease_state state, uint32_t now_s)
{
	queue_remove(p, l);
	l->state = state;
	l->since_s = now_s;
	queue_append(p, l);
	if (state == DHCP_BOUND && !dhcp_pool_is_shared(p, l))
		p->last_bound = l->place;
}

void dhcp_pool_give(struct dhcp_pool *p, struct dhcp_lease *l, uint64_t identity, uint32_t now_s)
{
	uint32_t *bucket = &p->by_identity[identity & p->mask];

	client_forget(p, l);
	l->identity = identity;
	l->same_identity = *bucket;
	*bucket = dhcp_pool_index(p, l);
	dhcp_pool_move(p, l, DHCP_OFFERED, now_s);
}

bool dhcp_pool_share(const struct dhcp_pool *p, struct dhcp_lease *l)
{
	const struct dhcp_lease *other;

	if (p->last_bound == DHCP_NO_LEASE)
		return false;
	other = dhcp_pool_record(p, p->last_bound);
	if (other == l || other->state != DHCP_BOUND)
		return false;
	l->place = other->place;
	return true;
}

void dhcp_pool_free(struct dhcp_pool *p, struct dhcp_lease *l, uint32_t now_s)
{
	if (dhcp_pool_is_shared(p, l))
		client_forget(p, l);
	dhcp_pool_move(p, l, DHCP_FREE, now_s);
}

void dhcp_pool_rest(struct dhcp_pool *p, struct dhcp_lease *l, uint32_t now_s)
{
	bool shared = dhcp_pool_is_shared(p, l);

	client_forget(p, l);
	dhcp_pool_move(p, l, shared ? DHCP_FREE : DHCP_RESTING, now_s);
}
