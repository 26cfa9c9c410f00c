// SPDX-License-Identifier: BSD-3-Clause
// Transactions of one item on one worker: the key on the wire is the slot, so a reply is found by
// an index and a compare. Slots are issued in ring order; a freed one rests for the quarantine, so
// that a late reply is known as late. Knows no protocol and no packet. Path: hot (inline) | cold
// (init). The worker that owns it.
//
// The n-th transaction (seq) has slot = seq mod count and round = seq / count. The slot chooses
// client, port and the upper number: slot = (high * ports + port) * clients + client, so that
// consecutive ones differ in address and port. The key is a keyed permutation of (round, high),
// shifted by a number of its own for each port and client: neighbours do not share an ID, and a
// reply to an earlier round of the same slot is known as such.
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/rand.h"

#define TXN_NONE  UINT32_MAX
#define TXN_WAITS 65 // queues of transactions in flight: one for each length of wait

enum txn_state {
	TXN_FREE,   // never used
	TXN_DONE,   // answered or failed, in quarantine
	TXN_LOST,   // timed out, in quarantine
	TXN_TAKEN,  // being built, or waiting to be built again
	TXN_FLYING, // sent, waiting for the reply
};

struct txn_slot {
	uint64_t due;        // tick
	uint64_t time;       // FLYING: of the last send; DONE, LOST: when it was freed
	uint32_t next, prev; // in the list that its state says; LOST: tick of the last send
	union {
		struct {
			uint32_t user;       // the protocol's
			uint8_t step, tries; // the protocol's
			uint8_t wait;        // the queue of its last message while FLYING
			uint8_t state : 3;   // enum txn_state
			uint8_t judged : 1;  // due in the measured part
			uint8_t begun : 1;   // its first message was sent
			uint8_t kept : 1;    // its query is in the capture file
			uint8_t silent : 1;  // nothing answers its last message
		};
		uint64_t word; // all of these
	};
};

_Static_assert(sizeof(struct txn_slot) == 32, "at most 32 bytes per transaction in flight");

struct txn_list {
	uint32_t head, tail;
};

// Which flow a slot belongs to, and its upper number.
struct txn_spot {
	uint32_t client, port, high;
};

struct txn_table {
	struct txn_slot *slots;
	uint32_t count;
	uint32_t next;       // slot of the next transaction
	uint64_t round;      // of next
	struct txn_spot at;  // of next
	uint64_t quarantine; // ticks
	uint32_t ports, clients;
	uint32_t high_bits, key_bits;
	struct perm perm;
	struct recip by_port, by_client;
	uint64_t in_flight;                // TAKEN and FLYING
	struct txn_list again;             // to be sent again
	uint32_t waits;                    // queues in use
	struct txn_list flying[TXN_WAITS]; // in order of their last send
};

// A slot on the wire.
struct txn_place {
	uint32_t port;   // index into the item's source ports
	uint32_t client; // index into the item's source addresses
	uint32_t key;
	uint64_t seq;
};

enum txn_match {
	TXN_MATCH,    // the transaction that the slot holds or held last
	TXN_EARLIER,  // a transaction that the slot held before that
	TXN_NO_MATCH, // never issued
};

struct txn_shape {
	uint32_t count; // slots
	uint32_t ports, clients;
	uint8_t key_bits;    // 16..32
	uint32_t more_waits; // queues beside the first, below TXN_WAITS
	uint64_t seed;
	uint64_t quarantine;
};

// slots: count zeroed entries owned by the caller. 0, or -ERANGE: more slots than ports x clients x
// keys.
int txn_init(struct txn_table *t, struct txn_slot *slots, const struct txn_shape *shape);

// Bits of a number below n.
static inline uint32_t txn_bits_for(uint64_t n)
{
	return n <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(n - 1);
}

// The shift of a flow's keys: the top bits of a multiplicative hash.
static inline uint64_t txn_shift(const struct txn_table *t, uint64_t port, uint64_t client)
{
	return ((port * t->clients + client) * 0x9e3779b97f4a7c15u) >> (64 - t->key_bits);
}

static inline void txn_place_at(const struct txn_table *t, const struct txn_spot *at, uint32_t slot,
	uint64_t round, struct txn_place *out)
{
	uint64_t x = (round << t->high_bits | at->high) & t->perm.mask;

	out->client = at->client;
	out->port = at->port;
	out->key = (uint32_t)(perm_map(&t->perm, x) ^ txn_shift(t, at->port, at->client));
	out->seq = round * t->count + slot;
}

static inline void txn_place(const struct txn_table *t, uint32_t slot, struct txn_place *out)
{
	uint64_t row = recip_div(&t->by_client, slot);
	uint64_t high = recip_div(&t->by_port, row);
	struct txn_spot at = {.client = slot - (uint32_t)row * t->clients,
		.port = (uint32_t)(row - high * t->ports),
		.high = (uint32_t)high};

	txn_place_at(t, &at, slot, slot < t->next ? t->round : t->round - 1, out);
}

// The slot of a key, t->count or more when there is no such, and the key's bits of the round.
static inline uint64_t txn_slot_of(
	const struct txn_table *t, uint32_t port, uint32_t client, uint32_t key, uint64_t *round)
{
	uint64_t x = perm_unmap(&t->perm, (key ^ txn_shift(t, port, client)) & t->perm.mask);
	uint64_t high = x & ((1ull << t->high_bits) - 1);

	*round = x >> t->high_bits;
	return (high * t->ports + port) * t->clients + client;
}

// The slot of a reply by its port, client and key; seq is written when it matches.
static inline enum txn_match txn_find(
	const struct txn_table *t, struct txn_place *reply, uint32_t *slot)
{
	uint64_t said, at = txn_slot_of(t, reply->port, reply->client, reply->key, &said);
	uint64_t round, behind;

	if (at >= t->count)
		return TXN_NO_MATCH;
	*slot = (uint32_t)at;
	round = *slot < t->next ? t->round : t->round - 1;
	if (round == UINT64_MAX) // not used yet
		return TXN_NO_MATCH;
	behind = (round - said) & (t->perm.mask >> t->high_bits);
	if (behind)
		return behind <= round ? TXN_EARLIER : TXN_NO_MATCH;
	reply->seq = round * t->count + *slot;
	return TXN_MATCH;
}

// The slot of a key that belongs to the round before the first: txn_place of slots before
// any was taken. TXN_NONE: it belongs to another round. Only after many rounds, when keys come
// again, is it that of a transaction.
static inline uint32_t txn_before(
	const struct txn_table *t, uint32_t port, uint32_t client, uint32_t key)
{
	uint64_t said, at = txn_slot_of(t, port, client, key, &said);

	return said == t->perm.mask >> t->high_bits && at < t->count ? (uint32_t)at : TXN_NONE;
}

// The number of the transaction that a slot held when this was its key; held: its present number.
static inline uint64_t txn_earlier(
	const struct txn_table *t, const struct txn_place *held, uint32_t key)
{
	uint64_t shift = txn_shift(t, held->port, held->client);
	uint64_t now = perm_unmap(&t->perm, (held->key ^ shift) & t->perm.mask);
	uint64_t then = perm_unmap(&t->perm, (key ^ shift) & t->perm.mask);

	// The upper number is the same in both.
	return held->seq - (((now - then) & t->perm.mask) >> t->high_bits) * t->count;
}

static inline void txn_append(struct txn_table *t, struct txn_list *l, uint32_t slot)
{
	struct txn_slot *s = &t->slots[slot];

	s->next = TXN_NONE;
	s->prev = l->tail;
	if (l->tail == TXN_NONE)
		l->head = slot;
	else
		t->slots[l->tail].next = slot;
	l->tail = slot;
}

static inline void txn_unlink(struct txn_table *t, struct txn_list *l, uint32_t slot)
{
	struct txn_slot *s = &t->slots[slot];

	if (s->prev == TXN_NONE)
		l->head = s->next;
	else
		t->slots[s->prev].next = s->next;
	if (s->next == TXN_NONE)
		l->tail = s->prev;
	else
		t->slots[s->next].prev = s->prev;
}

// Was anything of it sent that an answer may come to, though none is waited for now?
static inline bool txn_has_been(const struct txn_slot *s)
{
	return s->state == TXN_DONE || s->state == TXN_LOST || (s->state == TXN_TAKEN && s->begun);
}

// Ticks from `then` to `now`. One pass of a loop works with several clock readings, so `now` may be
// the older.
static inline int64_t txn_since(uint64_t now, uint64_t then)
{
	return (int64_t)(now - then);
}

// The number of the transaction that txn_take begins next.
static inline uint64_t txn_next_seq(const struct txn_table *t)
{
	return t->round * t->count + t->next;
}

// Is the next slot in ring order neither in flight nor resting?
static inline bool txn_may_take(const struct txn_table *t, uint64_t now)
{
	const struct txn_slot *s = &t->slots[t->next];

	return s->state == TXN_FREE ||
	       (s->state < TXN_TAKEN && txn_since(now, s->time) >= (int64_t)t->quarantine);
}

// Take the next slot in ring order, and its place; TXN_NONE while it is in flight or rests.
static inline uint32_t txn_take(struct txn_table *t, uint64_t now, struct txn_place *place)
{
	uint32_t slot = t->next;
	struct txn_slot *s = &t->slots[slot];

	if (!txn_may_take(t, now))
		return TXN_NONE;
	__builtin_prefetch(s + 8, 1);
	s->word = (struct txn_slot){.state = TXN_TAKEN}.word;
	txn_place_at(t, &t->at, slot, t->round, place);
	t->in_flight++;
	// The next slot has the next client; after the last one, the next port; then the next
	// upper number.
	if (++t->at.client == t->clients) {
		t->at.client = 0;
		if (++t->at.port == t->ports) {
			t->at.port = 0;
			t->at.high++;
		}
	}
	if (++t->next == t->count) {
		t->next = 0;
		t->round++;
		t->at = (struct txn_spot){0};
	}
	return slot;
}

// A taken one was sent.
static inline void txn_arm(struct txn_table *t, uint32_t slot, uint64_t now)
{
	t->slots[slot].state = TXN_FLYING;
	t->slots[slot].time = now;
	txn_append(t, &t->flying[t->slots[slot].wait], slot);
}

// A flying one goes on with another message.
static inline void txn_again(struct txn_table *t, uint32_t slot)
{
	txn_unlink(t, &t->flying[t->slots[slot].wait], slot);
	t->slots[slot].state = TXN_TAKEN;
	txn_append(t, &t->again, slot);
}

// A flying one has ended as DONE or LOST: it rests from now on.
static inline void txn_give(struct txn_table *t, uint32_t slot, enum txn_state how, uint64_t now)
{
	txn_unlink(t, &t->flying[t->slots[slot].wait], slot);
	t->slots[slot].state = how & 7;
	t->slots[slot].time = now;
	t->in_flight--;
}

// It is lost: its list is not needed any more, the time of its last send may be.
static inline void txn_remember_sent(struct txn_slot *s, uint64_t tick)
{
	s->next = (uint32_t)tick;
	s->prev = (uint32_t)(tick >> 32);
}

static inline uint64_t txn_lost_sent(const struct txn_slot *s)
{
	return (uint64_t)s->prev << 32 | s->next;
}

// A flying one was not answered in time.
static inline void txn_lose(struct txn_table *t, uint32_t slot, uint64_t now)
{
	uint64_t sent = t->slots[slot].time;

	txn_give(t, slot, TXN_LOST, now);
	txn_remember_sent(&t->slots[slot], sent);
}

// The oldest flying one of a queue whose last send was `timeout` ticks ago or more, or TXN_NONE.
static inline uint32_t txn_expired(
	const struct txn_table *t, uint32_t wait, uint64_t now, uint64_t timeout)
{
	uint32_t slot = t->flying[wait].head;

	if (slot == TXN_NONE || txn_since(now, t->slots[slot].time) < (int64_t)timeout)
		return TXN_NONE;
	return slot;
}
