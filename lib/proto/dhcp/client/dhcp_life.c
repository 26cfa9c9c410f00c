// SPDX-License-Identifier: BSD-3-Clause
// The timing wheel of a worker's clients, and the next exchange of an idle client. Plans and
// forecasts are in dhcp_life_plan.c. Path: hot. The worker that owns it.

#include "proto/dhcp/client/dhcp_life.h"

#include "proto/dhcp/client/dhcp_clients.h"

#define MOVES      0x80                // flag in the exchange field of an idle client's record
#define PARTS_BITS 5                   // T2 and the end of a lease are kept in units of T1 / 2^5
#define STEPS_MAX  64                  // slots and clients examined per call
#define SQRT2      0x6a09e667f3bcc908u // (sqrt(2) - 1) x 2^64
#define GOLDEN     0x9e3779b97f4a7c15u

static inline uint32_t slot_of(uint64_t at_ms)
{
	return (uint32_t)at_ms & (DHCP_LIFE_SLOTS - 1);
}

static inline void slot_push(struct dhcp_life *l, uint32_t slot, uint32_t client)
{
	uint32_t next = l->slots[slot];

	l->of[client].next = next;
	l->slots[slot] = client;
	if (!l->calls)
		return;
	l->calls[client].prev = DHCP_NOBODY;
	if (next != DHCP_NOBODY)
		l->calls[next].prev = client;
}

// Remove from the wheel, at any position. The first client of the remaining list has no prev.
static void slot_remove(struct dhcp_life *l, uint32_t client)
{
	uint32_t next = l->of[client].next, prev = l->calls[client].prev;
	uint32_t *slot = &l->slots[slot_of(l->calls[client].at_ms)];

	if (l->list == client)
		l->list = next;
	else if (*slot == client)
		*slot = next;
	else
		l->of[prev].next = next;
	if (next != DHCP_NOBODY)
		l->calls[next].prev = prev;
}

void dhcp_life_wait(struct dhcp_life *l, uint32_t client, uint64_t now_ms, uint64_t delay_ms)
{
	uint64_t at_ms = now_ms + delay_ms, left;

	if (at_ms <= l->at_ms)
		at_ms = l->at_ms + 1;
	if (at_ms >= DHCP_LIFE_NO_TURN) // longer than any run
		at_ms = DHCP_LIFE_NO_TURN - 1;
	left = (at_ms - l->at_ms - 1) / DHCP_LIFE_SLOTS;
	l->of[client].rounds = (uint16_t)left;
	slot_push(l, slot_of(at_ms), client);
	if (l->calls)
		l->calls[client].at_ms = (uint32_t)at_ms;
}

// The list of the next millisecond, if that has come.
static inline bool slot_next(struct dhcp_life *l, uint64_t now_ms)
{
	uint32_t *slot;

	if (l->at_ms >= now_ms)
		return false;
	slot = &l->slots[slot_of(++l->at_ms)];
	l->list = *slot;
	*slot = DHCP_NOBODY;
	return true;
}

uint64_t dhcp_life_due(struct dhcp_life *l, uint64_t now_ms)
{
	uint64_t until_ms = l->dry ? DHCP_LIFE_NEVER : now_ms;

	if (l->called_first != DHCP_NOBODY)
		return now_ms;
	for (uint32_t n = 0; n < STEPS_MAX || (l->dry && n < DHCP_LIFE_SLOTS); n++) {
		struct dhcp_living *k;
		uint32_t client = l->list;

		if (client == DHCP_NOBODY) {
			if (!slot_next(l, until_ms))
				return DHCP_LIFE_NEVER;
			continue;
		}
		k = &l->of[client];
		if (k->rounds == 0)
			return l->at_ms;
		k->rounds--;
		l->list = k->next;
		slot_push(l, slot_of(l->at_ms), client);
	}
	return DHCP_LIFE_NEVER;
}

uint32_t dhcp_life_take(struct dhcp_life *l)
{
	uint32_t client = l->called_first;

	if (client != DHCP_NOBODY) {
		l->called_first = l->of[client].next;
		return client;
	}
	client = l->list;
	if (l->calls)
		l->calls[client].planned = DHCP_LIFE_UNCALLED;
	l->list = l->of[client].next;
	if (l->list != DHCP_NOBODY)
		__builtin_prefetch(&l->of[l->list]);
	return client;
}

void dhcp_life_call(struct dhcp_life *l, uint32_t client, struct dhcp_client *k, uint8_t exchange)
{
	struct dhcp_callable *c = &l->calls[client];

	if (c->at_ms != DHCP_LIFE_NO_TURN)
		slot_remove(l, client);
	c->planned = k->exchange;
	k->exchange = exchange;
	k->state = DHCP_IS_BUSY;
	l->of[client].next = DHCP_NOBODY;
	if (l->called_first == DHCP_NOBODY)
		l->called_first = client;
	else
		l->of[l->called_last].next = client;
	l->called_last = client;
}

// Resume the exchange planned before the call.
static void resume(struct dhcp_life *l, uint32_t client, struct dhcp_client *k, uint64_t now_ms)
{
	struct dhcp_callable *c = &l->calls[client];
	uint32_t at_ms = c->at_ms;

	k->exchange = (uint8_t)c->planned;
	if (at_ms != DHCP_LIFE_NO_TURN)
		dhcp_life_wait(l, client, now_ms, at_ms > now_ms ? at_ms - now_ms : 1);
}

uint64_t dhcp_life_waiting(const struct dhcp_life *l, uint64_t until_ms)
{
	uint32_t client = l->list;
	uint64_t n = 0;

	for (uint64_t at_ms = l->at_ms; at_ms < until_ms;) {
		for (; client != DHCP_NOBODY; client = l->of[client].next)
			n += l->of[client].rounds == 0;
		if (++at_ms - l->at_ms < DHCP_LIFE_SLOTS)
			client = l->slots[slot_of(at_ms)];
		else
			break;
	}
	return n;
}

// Milliseconds of the run; UINT32_MAX: beyond any run.
static uint32_t run_ms(const struct dhcp_life_plan *p, uint32_t client_s)
{
	uint64_t ms = (client_s * p->per_s + (1 << 15)) >> 16;

	if (client_s == UINT32_MAX || ms >= UINT32_MAX)
		return UINT32_MAX;
	return ms ? (uint32_t)ms : 1;
}

// A time in units of T1 / 2^PARTS_BITS, in one byte. Servers usually send 1.6 and 2, or 1.75 and 2,
// times T1. Computed by comparison, to avoid a division.
static uint8_t in_parts(uint32_t s, uint32_t t1_s)
{
	uint64_t parts = 0;

	for (uint32_t bit = 0x80; bit; bit >>= 1)
		if ((parts | bit) * t1_s <= (uint64_t)s << PARTS_BITS)
			parts |= bit;
	return (uint8_t)parts;
}

// Defaults of RFC 2131 section 4.4.5, also used when a DHCPv6 server leaves T1 and T2 at 0.
bool dhcp_life_lease(
	struct dhcp_life *l, uint32_t client, uint32_t t1_s, uint32_t t2_s, uint32_t valid_s)
{
	struct dhcp_living *k = &l->of[client];

	if (t1_s == 0)
		t1_s = valid_s == UINT32_MAX ? UINT32_MAX : valid_s / 2;
	if (t1_s == 0)
		t1_s = 1;
	if (t2_s == 0)
		t2_s = (uint32_t)(valid_s * (uint64_t)7 / 8);
	k->t1_ms = run_ms(l->plan, t1_s);
	k->t2 = in_parts(t2_s, t1_s);
	k->ends = in_parts(valid_s, t1_s);
	if (k->t2 <= 1u << PARTS_BITS)
		k->t2 = (1u << PARTS_BITS) + 1;
	if (k->ends <= k->t2)
		k->ends = k->t2 < UINT8_MAX ? k->t2 + 1 : UINT8_MAX;
	return t1_s == l->plan->t1_s;
}

static uint64_t parts_ms(const struct dhcp_living *k, uint8_t from, uint8_t to)
{
	return ((uint64_t)(to - from) * k->t1_ms) >> PARTS_BITS;
}

static void act_later(struct dhcp_life *l, uint32_t client, struct dhcp_client *k, uint64_t now_ms,
	uint8_t exchange, uint64_t delay_ms)
{
	k->exchange = exchange;
	dhcp_life_wait(l, client, now_ms, delay_ms);
}

// A lease has begun: schedule an event before T1, or T1.
static void leased(struct dhcp_life *l, uint32_t client, struct dhcp_client *k, uint64_t now_ms)
{
	const struct dhcp_life_plan *p = l->plan;
	struct dhcp_living *of = &l->of[client];
	uint64_t n = ++l->draws, at = rand_scale(n * SQRT2 + l->salt, of->t1_ms);
	uint64_t since = dhcp_client_age_ms(k, now_ms);
	const uint8_t next[DHCP_LIFE_EVENTS] = {[DHCP_LIFE_REBOOT] = p->exchanges.reboot,
		[DHCP_LIFE_FORGET] = p->start,
		[DHCP_LIFE_RELEASE] = p->exchanges.release,
		[DHCP_LIFE_MOVE] = p->start | MOVES};
	uint32_t e = 0;

	while (e < DHCP_LIFE_EVENTS && n * GOLDEN + l->salt >= p->below[e])
		e++;
	if (e < DHCP_LIFE_EVENTS) {
		act_later(l, client, k, now_ms, next[e], at);
		if (e == DHCP_LIFE_REBOOT && !p->exchanges.reboot_leases)
			of->t1_ms -= (uint32_t)at;
		return;
	}
	k->exchange = p->exchanges.renew;
	if (of->t1_ms != UINT32_MAX) // counted from the request (RFC 2131 section 4.4.5)
		dhcp_life_wait(l, client, now_ms, of->t1_ms > since ? of->t1_ms - since : 1);
	else if (l->calls)
		l->calls[client].at_ms = DHCP_LIFE_NO_TURN;
}

// After a refusal or no reply, use the rest of the lease.
static void failed(struct dhcp_life *l, uint32_t client, struct dhcp_client *k, uint64_t now_ms)
{
	const struct dhcp_life_plan *p = l->plan;
	const struct dhcp_life_exchanges *x = &p->exchanges;
	uint64_t took = dhcp_client_age_ms(k, now_ms), until = 0;
	struct dhcp_living *of = &l->of[client];

	if (k->exchange == p->start) {
		act_later(l, client, k, now_ms, p->start, p->retry_ms);
	} else if (k->exchange == x->release) {
		act_later(l, client, k, now_ms, p->start, p->away_ms);
	} else if (!k->holds) {
		act_later(l, client, k, now_ms, p->start, 1);
	} else if (k->exchange == x->reboot) {
		act_later(l, client, k, now_ms, x->renew, of->t1_ms);
	} else if (k->exchange == x->renew) {
		until = parts_ms(of, 1 << PARTS_BITS, of->t2);
		act_later(l, client, k, now_ms, x->rebind, until > took ? until - took : 1);
	} else {
		until = parts_ms(of, of->t2, of->ends);
		of->t2 = 0;
		act_later(l, client, k, now_ms, p->start, until > took ? until - took : 1);
	}
}

void dhcp_life_left(struct dhcp_life *l, uint32_t client, struct dhcp_client *k, uint64_t now_ms,
	enum dhcp_left how)
{
	const struct dhcp_life_plan *p = l->plan;

	k->state = k->holds ? DHCP_IS_BOUND : DHCP_IS_FREE;
	if (how == DHCP_LEFT_LEASED)
		leased(l, client, k, now_ms);
	else if (dhcp_life_is_called(l, client) && k->holds)
		resume(l, client, k, now_ms);
	else if (how == DHCP_LEFT_FAILED)
		failed(l, client, k, now_ms);
	else if (k->exchange == p->exchanges.release)
		act_later(l, client, k, now_ms, p->start, p->away_ms);
	else
		act_later(l, client, k, now_ms, p->exchanges.renew, l->of[client].t1_ms);
}

uint8_t dhcp_life_exchange(struct dhcp_life *l, uint32_t client, const struct dhcp_client *k)
{
	if (k->exchange & MOVES)
		l->relays[client] = l->moved[l->relays[client]];
	return k->exchange & (uint8_t)~MOVES;
}
