// SPDX-License-Identifier: BSD-3-Clause
// What the files of a worker share: worker.c its loop, worker_rx.c what it receives, worker_tx.c
// what it sends, worker_books.c what it writes down of transactions that do not just end well.
// Path: hot. The worker's own thread.
#pragma once

#include "base/clock.h"
#include "engine/core/worker.h"

#define EXPIRE_AFTER_BURSTS 1024 // a receive queue and a socket buffer hold fewer packets

// What every packet goes through is one piece, though the compiler thinks it too large for that;
// what few go through, and what a whole burst does, is kept out of it, for the registers' sake.
#define HOT   static inline __attribute__((always_inline))
#define APART static __attribute__((noinline))

// As one pointer: the compiler would keep the array and a distance into it, and has no registers
// for two.
HOT struct worker_item *item_of(struct worker *w, uint32_t i)
{
	struct worker_item *it = &w->items[i];

	__asm__("" : "+r"(it));
	return it;
}

// Received, and not looked at yet.
struct received {
	struct rte_mbuf *pkts[BURST_MAX];
	uint16_t count;
	uint64_t at; // tick
};

// The queue of its own. r->count 0: there was nothing.
void worker_rx(struct worker *w, struct received *r);
void worker_look(struct worker *w, struct received *r);
// Give the other workers of the port what is theirs, of a burst of so many packets received since
// `now`, and take from them. As many as received, or a full burst when there may be more.
uint16_t worker_exchange(struct worker *w, uint16_t received, uint64_t now);

// until: what is due before is sent. How many were.
uint16_t worker_tx(struct worker *w, uint64_t until);
// What is built but can no longer be sent.
void worker_drop_pending(struct worker_item *it, uint64_t now);

// One more in its cell of the ledger, and into the capture file. Rare: nothing of this happens to a
// transaction that is answered as it should be.
void worker_book(struct worker_item *it, bool judged, enum evidence_reason why, uint32_t slot,
	const struct frame *answer, uint64_t now);
void worker_book_lost(struct worker_item *it, uint32_t slot, uint64_t now);
// The step of a judged transaction ends with an answer.
void worker_book_step(struct worker_item *it, uint32_t slot, uint64_t now, bool failed);

// What a slot and the protocol's view of it have in common lies in both alike: moved as one.
#define VIEW_SEEN (offsetof(struct proto_txn, tries) + 1 - offsetof(struct proto_txn, user))
#define VIEW_KEPT (offsetof(struct proto_txn, wait) + 1 - offsetof(struct proto_txn, user))

#define SAME_PLACE(member)                                                                         \
	_Static_assert(                                                                            \
		offsetof(struct txn_slot, member) - offsetof(struct txn_slot, user) ==             \
			offsetof(struct proto_txn, member) - offsetof(struct proto_txn, user),     \
		"as in the other")

SAME_PLACE(step);
SAME_PLACE(tries);
SAME_PLACE(wait);

static inline struct proto_txn txn_seen(
	const struct worker_item *it, const struct txn_slot *s, const struct txn_place *place)
{
	struct proto_txn view = {
		.seq = place->seq, .key = place->key | it->tag, .client = place->client};

	memcpy(&view.user, &s->user, VIEW_SEEN);
	return view;
}

static inline void txn_view(const struct worker_item *it, uint32_t slot, struct txn_place *place,
	struct proto_txn *view)
{
	txn_place(&it->txns, slot, place);
	*view = txn_seen(it, &it->txns.slots[slot], place);
}

// A silent message is the last one of its transaction: the mark is never taken back.
static inline void txn_keep(struct txn_slot *s, const struct proto_txn *view)
{
	memcpy(&s->user, &view->user, VIEW_KEPT);
	if (view->silent)
		s->silent = 1;
}

// Nothing was answered up to here. After the end of sending answered_at lies in the far future.
static inline void item_silence(struct worker_item *it, uint64_t now)
{
	int64_t gap = txn_since(now, it->answered_at);

	if (gap <= 0)
		return;
	it->answered_at = now;
	if ((uint64_t)gap > it->longest_gap)
		it->longest_gap = (uint64_t)gap;
}

// The books of the step that a transaction is in, or NULL.
static inline struct step_books *step_of(struct worker_item *it, const struct txn_slot *s)
{
	return it->steps && s->judged ? &it->steps[s->step] : NULL;
}

static inline void step_complete(struct worker_item *it, uint32_t slot, uint64_t now, bool failed)
{
	if (it->steps)
		worker_book_step(it, slot, now, failed);
}

// The next step is due at `now`.
static inline void step_begin(struct worker_item *it, uint32_t slot, uint64_t now)
{
	if (it->steps)
		it->step_due[slot] = (uint32_t)(now >> STEP_UNIT);
}

static inline uint32_t worker_ms(const struct worker *w, uint64_t now)
{
	return clock_ms(now - w->times.start, w->ms_scale);
}
