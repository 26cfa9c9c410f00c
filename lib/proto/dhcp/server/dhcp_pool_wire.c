// SPDX-License-Identifier: BSD-3-Clause
// Finding, giving and taking back leases: a hash table with chains through the records, and a queue
// per state. When that happens is not known here. Path: hot. The responder's thread.

#include "proto/dhcp/server/dhcp_pool.h"

#include <string.h>

#include "base/rand.h"

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
	memset(p->by_identity, 0xff, ((size_t)p->mask + 1) * sizeof(*p->by_identity));
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

// It is nobody's any more.
static void forget(struct dhcp_pool *p, struct dhcp_lease *l)
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
	l->state = (uint8_t)state;
	l->since_s = now_s;
	queue_append(p, l);
	if (state == DHCP_BOUND && !dhcp_pool_is_shared(p, l))
		p->last_bound = l->place;
}

void dhcp_pool_give(struct dhcp_pool *p, struct dhcp_lease *l, uint64_t identity, uint32_t now_s)
{
	uint32_t *bucket = &p->by_identity[identity & p->mask];

	forget(p, l);
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
		forget(p, l);
	dhcp_pool_move(p, l, DHCP_FREE, now_s);
}

void dhcp_pool_rest(struct dhcp_pool *p, struct dhcp_lease *l, uint32_t now_s)
{
	bool shared = dhcp_pool_is_shared(p, l);

	forget(p, l);
	dhcp_pool_move(p, l, shared ? DHCP_FREE : DHCP_RESTING, now_s);
}
