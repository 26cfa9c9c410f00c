// SPDX-License-Identifier: BSD-3-Clause
// Transactions of one item on one worker. A counter numbers them, and the number determines the key
// on the wire; a slot comes from a stack of free slots, so memory depends on the number in flight.
// The outcome of an ended transaction is kept as two bits, which tell a late reply from a
// duplicate. Knows no protocol and no packet. Path: hot (inline) | cold (size, init). The worker
// that owns it.
//
// Transaction k has x = k mod space = (high * ports + port) * clients + client, so consecutive ones
// differ in address and port. The key is a keyed permutation of high, shifted by a number that
// differs for each port and client, so neighbours do not share an ID. `at` maps k to the newest
// slot at its place; older slots in flight at that place are on its chain.
//
// With lanes a source port counts as several, distinguished by bits above the key's. Consecutive
// transactions then leave by one port, which is faster where each port is a socket.
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rand.h"
#include "proto/proto.h"

#define TXN_NONE  UINT32_MAX
#define TXN_WAITS 65 // queues of transactions in flight: one for each length of wait
#define TXN_PARTS 64 // of the key space: the times of their last use are kept

#define TXN_WORD_KEYS 32 // outcomes in a word

// The first three are the outcomes, too.
enum txn_state {
	TXN_FREE,   // not in use, nothing was sent
	TXN_DONE,   // answered or failed
	TXN_LOST,   // timed out
	TXN_TAKEN,  // being built, or waiting to be built again
	TXN_FLYING, // sent, waiting for the reply
	TXN_JUDGED, // in flight, and its reply is being judged
};

// The protocol sees and changes `view`. The members beside it overlay it, and add the engine's own
// in the remaining bits.
struct txn_slot {
	union {
		struct proto_txn view;
		struct {
			uint64_t k;           // number of the transaction
			uint32_t key, client; // as on the wire; index of the source address
			union {
				struct {
					uint32_t user;
					uint8_t step, tries;
					uint8_t wait;       // the queue of its last message
					uint8_t silent : 1; // nothing answers its last message
					uint8_t over : 1;
					uint8_t state : 3;  // enum txn_state
					uint8_t judged : 1; // due in the measured part
					uint8_t begun : 1;  // its first message was sent
					uint8_t kept : 1;   // its query is in the capture file
				};
				uint64_t word; // all of these
			};
		};
	};
	uint64_t due;        // tick
	uint64_t time;       // tick of the last send
	uint32_t next, prev; // in the list that belongs to its state; next TXN_NONE: in none
	uint32_t chain;      // an older transaction at the same place of `at`, or TXN_NONE
	uint32_t free;       // entry of the stack of free slots: those from in_flight on
	uint64_t unused;     // a slot is a cache line
};

#define SAME_PLACE(slot, view)                                                                     \
	_Static_assert(offsetof(struct txn_slot, slot) == offsetof(struct proto_txn, view),        \
		"slot and view differ")

SAME_PLACE(k, seq);
SAME_PLACE(key, key);
SAME_PLACE(client, client);
SAME_PLACE(user, user);
SAME_PLACE(step, step);
SAME_PLACE(tries, tries);
SAME_PLACE(wait, wait);
_Static_assert(sizeof(struct proto_txn) == offsetof(struct txn_slot, due), "slot and view differ");
_Static_assert(sizeof(struct txn_slot) == 64, "a slot is a cache line");

// Which flow a transaction belongs to, and its upper number.
struct txn_spot {
	uint32_t client, port;
	uint64_t row;    // number of the flow: port * clients + client
	uint64_t high;   // number above the row
	uint64_t mapped; // high, permuted
};

// Lost transactions that are older than the outcomes: their numbers, ascending, in a ring.
struct txn_lost {
	uint64_t *k;
	uint32_t first, count, mask;
	uint64_t unknown; // numbers below it may be missing
};

struct txn_table {
	struct txn_slot *slots;
	uint32_t *at;       // slot of k: at[k & at_mask]
	uint64_t *outcomes; // two bits of k: in word k / 32 & word_mask
	uint32_t count;     // slots, without the heads of lists
	uint32_t in_flight; // TAKEN and FLYING
	uint32_t at_mask;
	uint32_t ports, clients, key_bits;
	uint32_t lane_mask; // lanes of a source port, a power of two, less 1: all in `ports`
	uint64_t word_mask;
	uint64_t oldest;    // number of the first transaction in outcomes
	uint64_t issued;    // number of the next transaction
	uint64_t x;         // of it, in the key space
	struct txn_spot to; // of it
	uint64_t space;     // keys of all flows
	uint64_t gate;      // number of the first transaction of the next part of the key space
	struct perm perm;
	struct recip by_row, by_client; // flows; clients
	uint32_t waits;                 // queues in use
	uint32_t again;                 // head of the list of transactions to be sent again
	uint32_t stream; // head of the list of transactions that continue over a connection
	// With in_order, transactions that were sent once are in no list: those in flight have
	// numbers from `settled` on, and the lowest of them expires first.
	bool in_order;
	uint64_t settled;
	struct txn_lost lost;
	uint64_t highs;           // upper numbers in use
	uint64_t part;            // keys of a part of the key space
	uint32_t in_part;         // of the last transaction
	uint64_t rest;            // ticks until a key may be used again
	uint64_t used[TXN_PARTS]; // tick of the last use of each part
	// If keys are used again at once: transactions of each part that have ended, and a bit for
	// each part of which one was lost.
	bool reuse;
	uint64_t lost_parts;
	uint64_t ended[TXN_PARTS];
	struct recip by_part;
	size_t bytes; // of all tables, from slots on
};

// A transaction on the wire.
struct txn_place {
	uint32_t port;   // index into the item's source ports; of a reply: any lane of it
	uint32_t client; // index into the item's source addresses
	uint32_t key;
	uint64_t seq; // its number
};

enum txn_match {
	TXN_MATCH,    // in flight
	TXN_EARLIER,  // no longer in flight; see txn_outcome
	TXN_NO_MATCH, // never issued
};

struct txn_shape {
	uint32_t count; // slots
	uint32_t ports, clients;
	uint8_t key_bits;    // 1..32, without the bits of lanes
	uint32_t lane_mask;  // as txn_table.lane_mask
	uint32_t more_waits; // queues beside the first, below TXN_WAITS
	uint64_t seed;
	uint64_t window; // transactions whose outcomes are kept
	uint64_t rest;   // ticks after the use of a key before it may be used again
	bool reuse;      // answered ones need not rest: a connection brings each answer once, or
	                 // there are few keys
	bool in_order;   // first messages are sent in the order of numbers, and wait equally long
};

// Bytes of memory that a table takes beside itself.
size_t txn_bytes(const struct txn_shape *shape);

// memory: txn_bytes zeroed bytes, aligned to 8 (better 64), owned by the caller. 0, or -ERANGE: no
// slots, or more than there are keys, or too many waits.
int txn_init(struct txn_table *t, void *memory, const struct txn_shape *shape);

// Bits of a number below n.
static inline uint32_t txn_bits_for(uint64_t n)
{
	return n <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(n - 1);
}

// The shift of a flow's keys: bits of a multiplicative hash.
static inline uint64_t txn_shift(uint64_t row)
{
	return (row * 0x9e3779b97f4a7c15u) >> 32;
}

static inline uint32_t txn_key(const struct txn_table *t, const struct txn_spot *at)
{
	uint64_t lane = at->port & t->lane_mask;

	return (uint32_t)(((at->mapped ^ txn_shift(at->row)) & t->perm.mask) | lane << t->key_bits);
}

static inline void txn_place_at(
	const struct txn_table *t, const struct txn_spot *at, uint64_t k, struct txn_place *out)
{
	out->client = at->client;
	out->port = at->port;
	out->key = txn_key(t, at);
	out->seq = k;
}

// The place of a number in the key space. The number may belong to the last lap or, before the
// first transaction, be below zero.
static inline void txn_place_of(const struct txn_table *t, uint64_t k, struct txn_place *out)
{
	uint64_t back = t->issued - k, x;
	struct txn_spot spot;

	while (back > t->space)
		back -= t->space;
	x = t->x >= back ? t->x - back : t->x + t->space - back;
	spot.high = recip_div(&t->by_row, x);
	spot.mapped = perm_map(&t->perm, spot.high);
	spot.row = x - spot.high * t->by_row.divisor;
	spot.port = (uint32_t)recip_div(&t->by_client, spot.row);
	spot.client = (uint32_t)(spot.row - (uint64_t)spot.port * t->clients);
	txn_place_at(t, &spot, k, out);
}

static inline void txn_place(const struct txn_table *t, uint32_t slot, struct txn_place *out)
{
	txn_place_of(t, t->slots[slot].k, out);
}

// The number of the last transaction that had this key. t->issued or more: not yet; that is its
// number below zero, in the lap before the first one, or TXN_NO_KEY.
#define TXN_NO_KEY (1ull << 63)

static inline uint64_t txn_number(
	const struct txn_table *t, uint32_t port, uint32_t client, uint32_t key)
{
	uint32_t lane = (uint32_t)((uint64_t)key >> t->key_bits) & t->lane_mask;
	uint64_t row = (uint64_t)((port & ~t->lane_mask) | lane) * t->clients + client;
	uint64_t high = perm_unmap(&t->perm, (key ^ txn_shift(row)) & t->perm.mask);
	uint64_t k = t->issued - t->x + high * t->by_row.divisor + row;

	if (__builtin_expect(high >= t->highs, 0))
		return TXN_NO_KEY;
	return k < t->issued ? k : k - t->space; // of the lap before
}

// The number of a transaction from its lower 32 bits: it was begun among the last 2^32.
static inline uint64_t txn_whole(const struct txn_table *t, uint32_t low)
{
	return t->issued - ((uint32_t)t->issued - low);
}

// The slot of number k, or TXN_NONE when it is not in flight.
static inline uint32_t txn_slot_of(const struct txn_table *t, uint64_t k)
{
	uint32_t slot = t->at[k & t->at_mask];

	while (slot != TXN_NONE && t->slots[slot].k != k)
		slot = t->slots[slot].chain;
	return slot;
}

// The transaction of a reply by its port, client and key; seq is written unless there is none, and
// *slot when it is in flight.
static inline enum txn_match txn_find(
	const struct txn_table *t, struct txn_place *reply, uint32_t *slot)
{
	uint64_t k = txn_number(t, reply->port, reply->client, reply->key);

	if (k >= t->issued)
		return TXN_NO_MATCH;
	reply->seq = k;
	*slot = txn_slot_of(t, k);
	return *slot == TXN_NONE ? TXN_EARLIER : TXN_MATCH;
}

// The number, counted back from the first transaction, of a key not issued yet: 1 for the last key
// of the key space. Returns 0 if the key was issued or does not exist.
static inline uint64_t txn_before(
	const struct txn_table *t, uint32_t port, uint32_t client, uint32_t key)
{
	uint64_t k = txn_number(t, port, client, key);

	return k < t->issued || k == TXN_NO_KEY ? 0 : -k;
}

// --- lists ---
// A list is a ring of slots. Its head is a slot without a transaction, whose number identifies the
// list: the heads of the queues follow the transactions' slots, then come `again` and `stream`.

static inline uint32_t txn_queue(const struct txn_table *t, uint32_t wait)
{
	return t->count + wait;
}

// The first one, or TXN_NONE.
static inline uint32_t txn_first(const struct txn_table *t, uint32_t list)
{
	uint32_t first = t->slots[list].next;

	return first == list ? TXN_NONE : first;
}

// Put a slot into a list behind `prev`, which may be the head.
static inline void txn_link(struct txn_table *t, uint32_t prev, uint32_t slot)
{
	struct txn_slot *s = &t->slots[slot];

	s->next = t->slots[prev].next;
	s->prev = prev;
	t->slots[s->next].prev = slot;
	t->slots[prev].next = slot;
}

static inline void txn_append(struct txn_table *t, uint32_t list, uint32_t slot)
{
	txn_link(t, t->slots[list].prev, slot);
}

// Take a slot out of its list, if it is in one.
static inline void txn_unlink(struct txn_table *t, struct txn_slot *s)
{
	if (s->next == TXN_NONE)
		return;
	t->slots[s->prev].next = s->next;
	t->slots[s->next].prev = s->prev;
	s->next = TXN_NONE;
}

// Take up to `most` slots out of a list, from the first on. Returns their number.
static inline uint32_t txn_shift_n(
	struct txn_table *t, uint32_t list, uint32_t most, uint32_t *slots)
{
	struct txn_slot *all = t->slots;
	uint32_t slot = all[list].next, n = 0;

	for (; n < most && slot != list; n++) {
		slots[n] = slot;
		slot = all[slot].next;
		all[slots[n]].next = TXN_NONE;
	}
	all[list].next = slot;
	all[slot].prev = list;
	return n;
}

// Ticks from `then` to `now`. One pass of a loop works with several clock readings, so `now` may be
// the older.
static inline int64_t txn_since(uint64_t now, uint64_t then)
{
	return (int64_t)(now - then);
}

// --- outcomes ---

// Remember a lost transaction that is older than the outcomes. Rare.
void txn_remember_lost(struct txn_table *t, uint64_t k);
// Was it remembered as lost? Rare.
bool txn_was_lost(const struct txn_table *t, uint64_t k);
// A word of outcomes is used anew, for transaction k and those after it: remember the lost ones.
void txn_forget(struct txn_table *t, uint64_t k);

static inline bool txn_is_remembered(const struct txn_table *t, uint64_t k)
{
	return k >= t->oldest;
}

static inline void txn_note(struct txn_table *t, uint64_t k, enum txn_state how)
{
	if (txn_is_remembered(t, k))
		t->outcomes[k / TXN_WORD_KEYS & t->word_mask] |= (uint64_t)how
		                                                 << 2 * (k % TXN_WORD_KEYS);
	else if (how == TXN_LOST)
		txn_remember_lost(t, k);
}

// How an issued transaction ended that is not in flight: TXN_DONE, TXN_LOST, or TXN_FREE when
// nothing of it was sent.
static inline enum txn_state txn_outcome(const struct txn_table *t, uint64_t k)
{
	if (txn_is_remembered(t, k))
		return t->outcomes[k / TXN_WORD_KEYS & t->word_mask] >> 2 * (k % TXN_WORD_KEYS) & 3;
	return txn_was_lost(t, k) ? TXN_LOST : TXN_DONE;
}

// --- a transaction's life ---

// The next transaction is the first of a part of the key space. false: the keys of the part were
// used too short a time ago.
bool txn_enter_part(struct txn_table *t, uint64_t now);

// Is there a slot and a key for the next transaction?
static inline bool txn_may_take(struct txn_table *t, uint64_t now)
{
	return t->in_flight < t->count && (t->issued != t->gate || txn_enter_part(t, now));
}

// How many transactions may be begun one after the other: as long as there are slots, and keys of
// the same part of the key space. 0: there is no slot or no key.
static inline uint64_t txn_room(struct txn_table *t, uint64_t now)
{
	uint64_t slots = t->count - t->in_flight, keys;

	if (!txn_may_take(t, now))
		return 0;
	keys = t->gate - t->issued;
	return slots < keys ? slots : keys;
}

// All flows had one: the first has the next, with the next upper number.
static inline void txn_next_row(struct txn_table *t)
{
	uint64_t high = t->to.high + 1 < t->highs ? t->to.high + 1 : 0;

	if (high == 0)
		t->x = 0;
	t->to = (struct txn_spot){.high = high, .mapped = perm_map(&t->perm, high)};
}

// Give a slot to transaction k, which has this place in the key space.
static inline __attribute__((always_inline)) struct txn_slot *txn_enter(const struct txn_table *t,
	uint32_t slot, uint32_t *at, const struct txn_spot *spot, uint64_t k)
{
	struct txn_slot *s = &t->slots[slot];

	s->k = k;
	s->key = txn_key(t, spot);
	s->client = spot->client;
	s->next = TXN_NONE;
	s->chain = *at;
	*at = slot;
	return s;
}

// The next one has the next client; after the last one, the next port; then the next upper number.
static inline __attribute__((always_inline)) void txn_next_spot(
	struct txn_table *t, struct txn_spot *spot)
{
	spot->row++;
	if (++spot->client < t->clients)
		return;
	spot->client = 0;
	if (++spot->port == t->ports) {
		txn_next_row(t);
		*spot = t->to;
	}
}

// Begin the next transaction, for which there is room: its slot. port: index of its source port.
static inline uint32_t txn_begin(struct txn_table *t, uint32_t *port)
{
	uint32_t slot = t->slots[t->in_flight++].free;
	uint64_t k = t->issued++;

	if (k % TXN_WORD_KEYS == 0)
		txn_forget(t, k);
	txn_enter(t, slot, &t->at[k & t->at_mask], &t->to, k)->word =
		(struct txn_slot){.state = TXN_TAKEN}.word;
	*port = t->to.port;
	t->x++;
	txn_next_spot(t, &t->to);
	return slot;
}

// Begin n transactions, for which there is room, due at these ticks: writes their slots, views and
// the indices of their source ports.
void txn_begin_n(struct txn_table *t, uint32_t n, const uint64_t *due, bool judged, uint32_t *slots,
	uint32_t *ports, struct proto_txn **views);

// Like txn_begin, but returns TXN_NONE if there is no room.
static inline uint32_t txn_take(struct txn_table *t, uint64_t now, uint32_t *port)
{
	return txn_may_take(t, now) ? txn_begin(t, port) : TXN_NONE;
}

// A taken one was sent.
static inline void txn_arm(struct txn_table *t, uint32_t slot, uint64_t now)
{
	struct txn_slot *s = &t->slots[slot];

	if (!t->in_order || s->begun || __builtin_expect(s->k < t->settled, 0))
		txn_append(t, txn_queue(t, s->wait), slot);
	s->state = TXN_FLYING;
	s->begun = 1;
	s->time = now;
}

// One in flight continues with another message.
static inline void txn_again(struct txn_table *t, uint32_t slot)
{
	struct txn_slot *s = &t->slots[slot];

	txn_unlink(t, s);
	s->state = TXN_TAKEN;
	txn_append(t, t->again, slot);
}

// One in flight continues over a connection.
static inline void txn_to_stream(struct txn_table *t, uint32_t slot)
{
	struct txn_slot *s = &t->slots[slot];

	txn_unlink(t, s);
	s->state = TXN_TAKEN;
	txn_append(t, t->stream, slot);
}

// A transaction of a table with reuse has ended.
static inline void txn_end_key(struct txn_table *t, uint64_t k, enum txn_state how)
{
	uint64_t back = t->issued - k, x = t->x >= back ? t->x - back : t->x + t->space - back;
	uint64_t part = recip_div(&t->by_part, x);

	t->ended[part]++;
	t->lost_parts |= (uint64_t)(how == TXN_LOST) << part;
}

// n transactions, taken or in flight, have ended alike: their slots are free.
void txn_give_n(struct txn_table *t, const uint32_t *slots, uint32_t n, enum txn_state how);

static inline void txn_give(struct txn_table *t, uint32_t slot, enum txn_state how)
{
	txn_give_n(t, &slot, 1, how);
}

// Moves `settled` up to the oldest transaction in flight that is in no list. Returns false if it
// has not come that far yet: the work of a call is bounded.
bool txn_settle(struct txn_table *t);

// The flying transaction of a queue that was sent first, or TXN_NONE. After txn_settle.
static inline uint32_t txn_oldest(const struct txn_table *t, uint32_t wait)
{
	uint32_t listed = txn_first(t, txn_queue(t, wait)), slot = TXN_NONE;

	if (t->in_order && t->settled < t->issued)
		slot = txn_slot_of(t, t->settled);
	if (slot == TXN_NONE || t->slots[slot].next != TXN_NONE ||
		t->slots[slot].state == TXN_TAKEN)
		return listed;
	if (listed != TXN_NONE && txn_since(t->slots[slot].time, t->slots[listed].time) > 0)
		return listed;
	return slot;
}

// The oldest flying transaction of a queue, if it was last sent at least `timeout` ticks ago, or
// TXN_NONE.
static inline uint32_t txn_expired(
	struct txn_table *t, uint32_t wait, uint64_t now, uint64_t timeout)
{
	uint32_t slot = txn_settle(t) ? txn_oldest(t, wait) : TXN_NONE;

	if (slot == TXN_NONE || txn_since(now, t->slots[slot].time) < (int64_t)timeout)
		return TXN_NONE;
	return slot;
}
