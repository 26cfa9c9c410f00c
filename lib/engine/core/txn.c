// SPDX-License-Identifier: BSD-3-Clause
// A transaction table's memory, blocks of transactions, and the rare parts of its work: outcomes
// that leave the window, and the parts of the key space. The rest is inline in txn.h. Path: cold
// (bytes, init) | hot (begin_n, give_n, settle, enter_part, remember_lost, was_lost, forget).
// Management thread | the worker that owns the table.
#include "engine/core/txn.h"

#include <string.h>

#define LOST_BITS 0xaaaaaaaaaaaaaaaau // of a word of outcomes
#define LOST_MIN  64
#define LOST_MAX  32768 // 256 KiB
#define SPACE_MAX (1ull << 56)
#define ENDED     0x5555555555555555u // a bit of each outcome in a word
#define SETTLES   8192                // steps of a call of txn_settle

// The least power of two that is not below n.
static uint64_t power_for(uint64_t n)
{
	return 1ull << txn_bits_for(n);
}

static uint64_t words_of(const struct txn_shape *s)
{
	return power_for((s->window + TXN_WORD_KEYS - 1) / TXN_WORD_KEYS + 1);
}

// All that can be lost while the outcomes of a closed loop cover less than its three timeouts.
static uint64_t lost_of(const struct txn_shape *s)
{
	uint64_t n = power_for(4ull * s->count);

	return n < LOST_MIN ? LOST_MIN : n > LOST_MAX ? LOST_MAX : n;
}

// Including the slots that lists begin with.
static uint64_t slots_of(const struct txn_shape *s)
{
	return (uint64_t)s->count + 1 + s->more_waits + 2;
}

size_t txn_bytes(const struct txn_shape *s)
{
	return slots_of(s) * sizeof(struct txn_slot) + words_of(s) * sizeof(uint64_t) +
	       lost_of(s) * sizeof(uint64_t) + power_for(s->count) * sizeof(uint32_t);
}

static void place_tables(struct txn_table *t, void *memory, const struct txn_shape *s)
{
	t->bytes = txn_bytes(s);
	t->slots = memory;
	t->outcomes = (uint64_t *)(t->slots + slots_of(s));
	t->lost.k = t->outcomes + words_of(s);
	t->at = (uint32_t *)(t->lost.k + lost_of(s));
	t->word_mask = words_of(s) - 1;
	t->lost.mask = (uint32_t)lost_of(s) - 1;
	t->at_mask = (uint32_t)power_for(s->count) - 1;
	memset(t->at, 0xff, power_for(s->count) * sizeof(*t->at));
	for (uint32_t i = 0; i < s->count; i++)
		t->slots[i].free = i;
	for (uint32_t list = s->count; list <= t->stream; list++)
		t->slots[list].next = t->slots[list].prev = list;
}

int txn_init(struct txn_table *t, void *memory, const struct txn_shape *shape)
{
	uint64_t row = (uint64_t)shape->ports * shape->clients;
	uint64_t highs = 1ull << shape->key_bits;

	if (highs > SPACE_MAX / row)
		highs = SPACE_MAX / row;
	if (shape->count == 0 || shape->count > highs * row || shape->more_waits >= TXN_WAITS)
		return -ERANGE;
	*t = (struct txn_table){
		.count = shape->count,
		.ports = shape->ports,
		.clients = shape->clients,
		.key_bits = shape->key_bits,
		.lane_mask = shape->lane_mask,
		.highs = highs,
		.space = highs * row,
		.part = (highs * row + TXN_PARTS - 1) / TXN_PARTS,
		.rest = shape->rest,
		.reuse = shape->reuse,
		.in_order = shape->in_order,
		.waits = 1 + shape->more_waits,
	};
	t->again = txn_queue(t, t->waits);
	t->stream = t->again + 1;
	t->gate = t->part;
	place_tables(t, memory, shape);
	perm_init(&t->perm, shape->seed, shape->key_bits);
	t->to.mapped = perm_map(&t->perm, 0);
	recip_init(&t->by_row, row);
	recip_init(&t->by_client, shape->clients);
	recip_init(&t->by_part, t->part);
	return 0;
}

// The last part of a lap may be shorter. An answer to a lost transaction may come yet.
bool txn_enter_part(struct txn_table *t, uint64_t now)
{
	uint32_t next = t->x ? t->in_part + 1 : 0;
	uint64_t left = t->space - t->x, keys = left < t->part ? left : t->part;
	bool answered = t->reuse && t->ended[next] == keys && !(t->lost_parts >> next & 1);

	if (t->issued >= t->space && !answered && txn_since(now, t->used[next]) < (int64_t)t->rest)
		return false;
	t->used[t->in_part] = now;
	t->in_part = next;
	t->gate += keys;
	t->ended[next] = 0;
	t->lost_parts &= ~(1ull << next);
	return true;
}

// The table's counters are kept in registers, as the compiler cannot know that no slot overlaps
// them.
void txn_begin_n(struct txn_table *t, uint32_t n, const uint64_t *due, bool judged, uint32_t *slots,
	uint32_t *ports, struct proto_txn **views)
{
	const uint64_t taken = (struct txn_slot){.state = TXN_TAKEN, .judged = judged}.word;
	const struct txn_slot *const spare = t->slots + t->in_flight;
	const uint32_t at_mask = t->at_mask;
	uint32_t *const places = t->at;
	struct txn_spot to = t->to;
	uint64_t k = t->issued;

	t->in_flight += n;
	t->x += n;
	t->issued += n;
	for (uint32_t i = 0; i < n; i++, k++) {
		uint32_t slot = spare[i].free;
		struct txn_slot *s;

		if (k % TXN_WORD_KEYS == 0)
			txn_forget(t, k);
		s = txn_enter(t, slot, &places[k & at_mask], &to, k);
		s->word = taken;
		s->due = due[i];
		slots[i] = slot;
		ports[i] = to.port;
		views[i] = &s->view;
		txn_next_spot(t, &to);
	}
	t->to = to;
}

void txn_give_n(struct txn_table *t, const uint32_t *slots, uint32_t n, enum txn_state how)
{
	struct txn_slot *const all = t->slots;
	struct txn_slot *spare = all + t->in_flight;
	uint32_t *const places = t->at, at_mask = t->at_mask;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = slots[i], *at;
		struct txn_slot *s = &all[slot];

		txn_unlink(t, s);
		at = &places[s->k & at_mask];
		while (__builtin_expect(*at != slot, 0))
			at = &all[*at].chain;
		*at = s->chain;
		s->state = how & 7;
		txn_note(t, s->k, how);
		(--spare)->free = slot;
	}
	t->in_flight -= n;
	for (uint32_t i = 0; t->reuse && i < n; i++)
		txn_end_key(t, all[slots[i]].k, how);
}

static uint64_t *lost_at(const struct txn_lost *l, uint32_t i)
{
	return &l->k[(l->first + i) & l->mask];
}

void txn_remember_lost(struct txn_table *t, uint64_t k)
{
	struct txn_lost *l = &t->lost;
	uint32_t i = l->count;

	if (l->count > l->mask) {
		l->unknown = *lost_at(l, 0) + 1;
		l->first++;
		i = --l->count;
	}
	for (; i > 0 && *lost_at(l, i - 1) > k; i--)
		*lost_at(l, i) = *lost_at(l, i - 1);
	*lost_at(l, i) = k;
	l->count++;
}

bool txn_was_lost(const struct txn_table *t, uint64_t k)
{
	const struct txn_lost *l = &t->lost;
	uint32_t low = 0, high = l->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (*lost_at(l, middle) < k)
			low = middle + 1;
		else
			high = middle;
	}
	return (low < l->count && *lost_at(l, low) == k) || k < l->unknown;
}

// A step of txn_settle. Returns false at a transaction in flight that is in no list.
static bool settle_step(struct txn_table *t)
{
	uint64_t word = t->outcomes[t->settled / TXN_WORD_KEYS & t->word_mask];
	uint32_t in_word = t->settled % TXN_WORD_KEYS, slot;
	uint64_t ended = (word | word >> 1) & ENDED;

	if (in_word == 0 && ended == ENDED) {
		t->settled += TXN_WORD_KEYS;
		return true;
	}
	slot = ended >> 2 * in_word & 1 ? TXN_NONE : txn_slot_of(t, t->settled);
	if (slot != TXN_NONE && t->slots[slot].next == TXN_NONE)
		return false;
	t->settled++;
	return true;
}

bool txn_settle(struct txn_table *t)
{
	for (uint32_t i = 0; t->in_order && t->settled < t->issued; i++) {
		if (i == SETTLES)
			return false;
		if (!settle_step(t))
			return true;
	}
	return true;
}

// The outcomes of transactions up to the oldest remembered one are gone: those in flight go into
// the queue, in the order of their messages.
static void list_forgotten(struct txn_table *t)
{
	uint32_t list = txn_queue(t, 0);

	for (; t->settled < t->oldest; t->settled++) {
		uint32_t slot = txn_slot_of(t, t->settled), prev = t->slots[list].prev;
		const struct txn_slot *all = t->slots;

		if (slot == TXN_NONE || all[slot].next != TXN_NONE || all[slot].state == TXN_TAKEN)
			continue;
		while (prev != list && txn_since(all[prev].time, all[slot].time) > 0)
			prev = all[prev].prev;
		txn_link(t, prev, slot);
	}
}

void txn_forget(struct txn_table *t, uint64_t k)
{
	uint64_t *word = &t->outcomes[k / TXN_WORD_KEYS & t->word_mask];
	uint64_t lost = *word & LOST_BITS;

	// Two steps for each word that begins keep up with it.
	for (uint32_t i = 0; i < 2 && t->in_order && t->settled < k && settle_step(t); i++)
		;
	*word = 0;
	if (k / TXN_WORD_KEYS <= t->word_mask)
		return;
	k -= (t->word_mask + 1) * TXN_WORD_KEYS;
	t->oldest = k + TXN_WORD_KEYS;
	for (; lost; lost &= lost - 1)
		txn_remember_lost(t, k + (uint64_t)__builtin_ctzll(lost) / 2);
	if (t->in_order)
		list_forgotten(t);
}
