// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of a worker: worker.c has its loop, worker_tx.c sends, worker_rx.c receives,
// worker_match.c matches replies with transactions, worker_books.c counts the
// transactions that do not end well, worker_message.c rebuilds messages, worker_hops.c keeps the
// MACs of next hops. Below: the protocol's view of a transaction, and the longest silence.
// Path: hot. The worker's own thread.
#pragma once

#include "base/clock.h"
#include "engine/core/worker/worker_state.h"

#define EXPIRE_AFTER_BURSTS 1024 // a receive queue and a socket buffer hold fewer packets
#define HOP_ASK_LOOKS       4    // a silent next hop is asked for at each fourth look

// HOT: run for each packet, always inlined. APART: run for few packets or once a burst; kept out of
// the caller, which would run out of registers.
#define HOT   static inline __attribute__((always_inline))
#define APART static __attribute__((noinline))

// Optional features of items. The functions of a burst are compiled for each kind of item, with
// `has`: the features that items of the kind may have. No code is left for other features.
enum item_feature {
	HAS_PICKS = 1 << 0, // the protocol picks the clients: proto.begin
	HAS_ROUTER = 1 << 1,
	HAS_CONNS = 1 << 2,
	HAS_SERVERS = 1 << 3, // several, or any port of one
	HAS_STEPS = 1 << 4,
	HAS_EVIDENCE = 1 << 5,
	HAS_FOLLOWERS = 1 << 6,
};

static const unsigned kind_features[ITEM_KINDS] = {
	[ITEM_FULL] = ~0u,
	[ITEM_PLAIN] = 0,
	[ITEM_ROUTED] = HAS_PICKS | HAS_ROUTER | HAS_STEPS | HAS_FOLLOWERS,
	[ITEM_CONNS] = HAS_CONNS,
};

// A burst that was received, before worker_look.
struct received {
	struct rte_mbuf *pkts[BURST_MAX];
	uint16_t count;
	uint64_t at;              // tick
	uint64_t came[BURST_MAX]; // tick at which each arrived, if the queue has stamps
};

// Receive a burst from the worker's own queue; r->count is 0 when there was none.
void worker_rx(struct worker *w, struct received *r);
// Match each packet of the burst with its transaction, and free it.
void worker_look(struct worker *w, struct received *r);
// Send the other workers of the port their packets, out of a burst of `received` packets since
// `now`, and look at the packets that they sent. Returns `received`, or a full burst when more may
// wait.
uint16_t worker_exchange(struct worker *w, uint16_t received, uint64_t now);

// Send all that is due at tick `until`. Returns the number of packets that the device took.
uint16_t worker_tx(struct worker *w, uint64_t until);
// Drop the messages that are built and can no longer be sent.
void worker_drop_pending(struct worker_item *it, uint64_t now);
// Drop a taken transaction, whose message is not sent.
void worker_drop(struct worker_item *it, uint32_t slot, uint64_t now);

// A reply that came this way shows the destination of a path: ctx.path_found.
void worker_turn_path(struct worker_item *it, const struct proto_ends *ends);
// A next hop has another MAC, or w->look_at has come.
void worker_hops(struct worker *w, uint64_t now);

// Replies for one item, received at `now`: whole frames of the right server, with a key each.
struct replies {
	uint32_t count;
	bool stamped;   // each has the tick of its arrival
	bool timed_out; // output: a transaction of them had ended when its reply came
	uint64_t now;
	uint64_t late_to; // tick: replies until then count as late if they came too late; 0: none
	uint64_t came[BURST_MAX]; // if they are stamped
	struct rte_mbuf *pkts[BURST_MAX];
	struct proto_message in[BURST_MAX];
	struct txn_place at[BURST_MAX]; // seq is not known yet
};

// The tick at which a reply counts as arrived.
HOT uint64_t reply_at(const struct replies *r, uint32_t i)
{
	return __builtin_expect(r->stamped, 0) ? r->came[i] : r->now;
}

// A transaction ended well at `now`: pass it on to the items that follow its item.
void worker_tell(struct worker_item *it, uint32_t slot, uint64_t now);

// The wait of a transaction's message is over. true: it has ended; else it sends the next one.
bool item_time_out(struct worker_item *it, uint32_t slot, uint64_t now);

// replies.late_to of a burst received at `at`: up to when replies are late, by their stamps, for
// transactions that have not expired yet. After a stop of this process, up to its end, because the
// peer was not stopped.
static inline uint64_t worker_late_to(const struct worker *w, uint64_t at)
{
	if (!w->stamps.known || at < w->next_expiry)
		return 0;
	return at < w->expire_after ? w->back_at : at;
}

// A single reply, which arrived at `came`; late_to: as in struct replies.
HOT void replies_of_one(struct replies *r, struct rte_mbuf *m, uint64_t came, uint64_t late_to)
{
	r->count = 1;
	r->stamped = late_to != 0; // else now is when it arrived
	r->timed_out = false;
	r->late_to = late_to;
	r->now = r->came[0] = came;
	r->pkts[0] = m;
}

// Find the transactions of replies and let the protocol judge them.
void item_match(struct worker_item *it, struct replies *r);

// End a transaction as failed by the only reply of r, for a reason below the protocol's messages:
// static text.
void worker_fail(struct worker_item *it, uint32_t slot, const struct replies *r, const char *why);

// Count a transaction or reply in its cell of the ledger, and capture it. Rare: a transaction that
// is answered well is counted where it ends. slot: TXN_NONE when it belongs to none; answer: NULL
// when there was none.
void worker_book(struct worker_item *it, bool judged, enum evidence_reason why, uint32_t slot,
	const struct rte_mbuf *answer, uint64_t now);
// Note where a reply came from that is not the server that was asked, or not its port.
void worker_book_elsewhere(struct worker_item *it, bool judged, const struct proto_ends *ends);
// Note why a reply does not parse; t NULL: it has not even a key.
void worker_book_malformed(
	struct worker_item *it, const struct proto_txn *t, const uint8_t *buf, uint32_t len);
// As worker_book, of a late reply to a transaction that was lost.
void worker_book_late(struct worker_item *it, bool judged, const struct txn_place *at,
	const struct rte_mbuf *answer, uint64_t now);
// Capture without counting, where there is evidence.
void worker_keep(struct worker_item *it, enum evidence_reason why, uint32_t slot,
	const struct rte_mbuf *answer, uint64_t now);
void worker_book_lost(struct worker_item *it, uint32_t slot, uint64_t now);
// End a flying transaction that is not part of the measurement. how: whether it was answered.
void worker_book_apart(struct worker_item *it, uint32_t slot, enum txn_state how);
// A transaction that was due before the end of the last gap of an event was answered.
void worker_book_waited(struct worker_item *it, uint64_t due, uint64_t now);
// Count a reply to a request that was due before it->earlier_than.
void worker_book_earlier(struct worker_item *it, uint64_t due, uint64_t now, bool failed);

// --- the protocol's view of a transaction ---

// The view of a transaction without a slot.
static inline struct proto_txn txn_of(const struct worker_item *it, const struct txn_place *place)
{
	return (struct proto_txn){.seq = place->seq,
		.key = it->keyless ? 0 : place->key | it->tag,
		.client = place->client};
}

static inline struct txn_slot *slot_of(struct proto_txn *view)
{
	return (struct txn_slot *)view;
}

// How many of n views of slots, from the first on, are due in the same part of the run as it.
static inline uint32_t views_alike(struct proto_txn *const *views, uint32_t n)
{
	uint32_t i = 1;

	while (i < n && slot_of(views[i])->judged == slot_of(views[0])->judged)
		i++;
	return i;
}

// The VLANs of a message on a path whose VLANs vary, into its frame.
static inline void flow_vlans(
	const struct worker_item *it, const struct proto_flow *flow, uint8_t *frame)
{
	if (__builtin_expect(flow->vlans[0] == 0, 1))
		return;
	bytes_put_be16(frame + it->vlan_at, flow->vlans[0]);
	if (flow->vlans[1])
		bytes_put_be16(frame + it->vlan_at + 4, flow->vlans[1]);
}

static inline uint64_t worker_ms(const struct worker *w, uint64_t now)
{
	return clock_ms(now - w->times.start, w->ms_scale);
}

// --- books ---

// Note a gap that an event may have caused, in a list of the item or of a server.
void worker_book_gap(struct worker_item *it, struct gap *gaps, uint64_t from, uint64_t to);

// No valid reply came up to `now`. After the end of sending answered_at lies in the far future.
static inline void item_silence(struct worker_item *it, uint64_t now)
{
	int64_t gap = txn_since(now, it->answered_at);

	if (gap <= 0)
		return;
	it->answered_at = now;
	if ((uint64_t)gap > it->books.longest_gap)
		it->books.longest_gap = (uint64_t)gap;
	if ((uint64_t)gap >= it->gap_least)
		worker_book_gap(it, it->gaps, now - (uint64_t)gap, now);
}
