// SPDX-License-Identifier: BSD-3-Clause
// Finding, giving and taking back leases: two hash tables with chains through the records, and a
// queue per state. When that happens is not known here. Path: hot. The responder's thread.

#include "proto/dhcp4_pool.h"

#include <string.h>

#include "base/rand.h"

enum salt { SALT_CLIENT_ID = 1, SALT_HARDWARE };

static uint64_t bytes_hash(uint64_t h, const uint8_t *p, uint32_t len)
{
	uint64_t word;

	h = rand_hash(h + len);
	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, 8);
		h = rand_hash(h ^ word);
	}
	word = 0;
	for (uint32_t i = 0; i < len; i++)
		word = word << 8 | p[i];
	h = rand_hash(h ^ word);
	return h ? h : 1;
}

static uint64_t hardware_hash(
	const struct dhcp4_pool *p, uint8_t htype, const uint8_t *chaddr, uint8_t hlen)
{
	return bytes_hash(p->seed + SALT_HARDWARE + ((uint64_t)htype << 8), chaddr, hlen);
}

uint64_t dhcp4_pool_identity(const struct dhcp4_pool *p, const struct dhcp4_asker *a)
{
	if (a->client_id_len)
		return bytes_hash(p->seed + SALT_CLIENT_ID, a->client_id, a->client_id_len);
	return hardware_hash(p, a->htype, a->chaddr, a->hlen);
}

static uint32_t index_of(const struct dhcp4_pool *p, const struct dhcp4_lease *l)
{
	return (uint32_t)(l - p->leases);
}

static void queue_remove(struct dhcp4_pool *p, struct dhcp4_lease *l)
{
	struct dhcp4_queue *q = &p->queues[l->state];

	if (l->prev == DHCP4_NO_LEASE)
		q->head = l->next;
	else
		p->leases[l->prev].next = l->next;
	if (l->next == DHCP4_NO_LEASE)
		q->tail = l->prev;
	else
		p->leases[l->next].prev = l->prev;
}

static void queue_append(struct dhcp4_pool *p, struct dhcp4_lease *l)
{
	struct dhcp4_queue *q = &p->queues[l->state];

	l->prev = q->tail;
	l->next = DHCP4_NO_LEASE;
	if (q->tail == DHCP4_NO_LEASE)
		q->head = index_of(p, l);
	else
		p->leases[q->tail].next = index_of(p, l);
	q->tail = index_of(p, l);
}

static uint32_t address_of(const struct dhcp4_pool *p, uint32_t lease)
{
	const struct dhcp4_range *r = p->ranges;

	while (lease - r->lease >= r->count)
		r++;
	return r->first + (lease - r->lease);
}

void dhcp4_pool_clear(struct dhcp4_pool *p)
{
	memset(p->by_identity, 0xff, ((size_t)p->mask + 1) * sizeof(*p->by_identity));
	memset(p->by_hardware, 0xff, ((size_t)p->mask + 1) * sizeof(*p->by_hardware));
	memset(p->queues, 0xff, sizeof(p->queues));
	p->last_bound = DHCP4_NO_LEASE;
	for (uint32_t i = 0; i < p->count; i++) {
		p->leases[i] = (struct dhcp4_lease){.address = address_of(p, i)};
		queue_append(p, &p->leases[i]);
	}
}

struct dhcp4_lease *dhcp4_pool_of_identity(const struct dhcp4_pool *p, uint64_t identity)
{
	uint32_t i = p->by_identity[identity & p->mask];

	while (i != DHCP4_NO_LEASE && p->leases[i].identity != identity)
		i = p->leases[i].same_identity;
	return i == DHCP4_NO_LEASE ? NULL : &p->leases[i];
}

struct dhcp4_lease *dhcp4_pool_of_hardware(
	const struct dhcp4_pool *p, uint8_t htype, const uint8_t *chaddr, uint8_t hlen)
{
	uint64_t hash = hardware_hash(p, htype, chaddr, hlen);
	struct dhcp4_lease *plain = dhcp4_pool_of_identity(p, hash);

	if (plain)
		return plain;
	for (uint32_t i = p->by_hardware[hash & p->mask]; i != DHCP4_NO_LEASE;
		i = p->leases[i].same_hardware) {
		struct dhcp4_lease *l = &p->leases[i];

		if (l->htype == htype && l->hlen == hlen && memcmp(l->bytes, chaddr, hlen) == 0)
			return l;
	}
	return NULL;
}

struct dhcp4_lease *dhcp4_pool_at(const struct dhcp4_pool *p, uint32_t address)
{
	for (uint32_t i = 0; i < p->range_count; i++) {
		const struct dhcp4_range *r = &p->ranges[i];

		if (address - r->first < r->count)
			return &p->leases[r->lease + (address - r->first)];
	}
	return NULL;
}

bool dhcp4_pool_is_over(const struct dhcp4_pool *p, const struct dhcp4_lease *l, uint32_t now_s)
{
	uint32_t hold_s = p->hold_s[l->state];

	return hold_s != UINT32_MAX && now_s - l->since_s >= hold_s;
}

struct dhcp4_lease *dhcp4_pool_oldest(const struct dhcp4_pool *p, uint32_t now_s)
{
	for (uint32_t state = DHCP4_FREE; state < DHCP4_LEASE_STATES; state++) {
		uint32_t head = p->queues[state].head;

		if (head == DHCP4_NO_LEASE)
			continue;
		if (dhcp4_pool_is_over(p, &p->leases[head], now_s))
			return &p->leases[head];
	}
	return NULL;
}

static void unchain_identity(struct dhcp4_pool *p, const struct dhcp4_lease *l)
{
	uint32_t *at = &p->by_identity[l->identity & p->mask];

	while (*at != index_of(p, l))
		at = &p->leases[*at].same_identity;
	*at = l->same_identity;
}

static void unchain_hardware(struct dhcp4_pool *p, const struct dhcp4_lease *l)
{
	uint32_t *at = &p->by_hardware[hardware_hash(p, l->htype, l->bytes, l->hlen) & p->mask];

	while (*at != index_of(p, l))
		at = &p->leases[*at].same_hardware;
	*at = l->same_hardware;
}

// It is nobody's any more.
static void forget(struct dhcp4_pool *p, struct dhcp4_lease *l)
{
	if (l->shared)
		l->address = address_of(p, index_of(p, l));
	l->shared = false;
	if (l->identity == 0)
		return;
	unchain_identity(p, l);
	if (l->has_client_id)
		unchain_hardware(p, l);
	l->identity = 0;
	l->has_client_id = false;
}

static void remember(struct dhcp4_pool *p, struct dhcp4_lease *l, const struct dhcp4_asker *a)
{
	uint32_t *identity = &p->by_identity[a->identity & p->mask];
	uint32_t *hardware;

	l->identity = a->identity;
	l->same_identity = *identity;
	*identity = index_of(p, l);
	l->htype = a->htype;
	l->hlen = a->hlen;
	memcpy(l->bytes, a->chaddr, a->hlen);
	l->client_id_len = 0;
	if (a->client_id_len == 0)
		return;
	hardware = &p->by_hardware[hardware_hash(p, a->htype, a->chaddr, a->hlen) & p->mask];
	l->has_client_id = true;
	l->same_hardware = *hardware;
	*hardware = index_of(p, l);
	if (a->client_id_len > DHCP4_IDENTITY_MAX - a->hlen)
		return;
	l->client_id_len = (uint8_t)a->client_id_len;
	memcpy(l->bytes + a->hlen, a->client_id, a->client_id_len);
}

void dhcp4_pool_move(
	struct dhcp4_pool *p, struct dhcp4_lease *l, enum dhcp4_lease_state state, uint32_t now_s)
{
	queue_remove(p, l);
	l->state = (uint8_t)state;
	l->since_s = now_s;
	queue_append(p, l);
	if (state == DHCP4_BOUND && !l->shared)
		p->last_bound = index_of(p, l);
}

void dhcp4_pool_give(
	struct dhcp4_pool *p, struct dhcp4_lease *l, const struct dhcp4_asker *a, uint32_t now_s)
{
	forget(p, l);
	remember(p, l, a);
	dhcp4_pool_move(p, l, DHCP4_OFFERED, now_s);
}

bool dhcp4_pool_share(struct dhcp4_pool *p, struct dhcp4_lease *l)
{
	const struct dhcp4_lease *other;

	if (p->last_bound == DHCP4_NO_LEASE)
		return false;
	other = &p->leases[p->last_bound];
	if (other == l || other->state != DHCP4_BOUND)
		return false;
	l->address = other->address;
	l->shared = true;
	return true;
}

void dhcp4_pool_free(struct dhcp4_pool *p, struct dhcp4_lease *l, uint32_t now_s)
{
	if (l->shared)
		forget(p, l);
	dhcp4_pool_move(p, l, DHCP4_FREE, now_s);
}

void dhcp4_pool_rest(struct dhcp4_pool *p, struct dhcp4_lease *l, uint32_t now_s)
{
	bool shared = l->shared;

	forget(p, l);
	dhcp4_pool_move(p, l, shared ? DHCP4_FREE : DHCP4_RESTING, now_s);
}
