// SPDX-License-Identifier: BSD-3-Clause
// Matches replies with transactions, a block of them at a time: find the slots, let the protocol
// judge, end the transactions. Replies that end no transaction well are handled one by one.
// Path: hot. The worker's own thread.
#include "engine/core/worker/worker_conn.h"
#include "engine/core/worker/worker_internal.h"
#include "engine/core/worker/worker_servers.h"

// Replies to transactions in flight: at most one for each transaction.
struct found {
	uint32_t count;
	uint32_t judged;          // of them, due in the measured part
	uint8_t index[BURST_MAX]; // in the block of replies
	uint8_t steps[BURST_MAX]; // before the replies
	uint32_t slots[BURST_MAX];
	struct proto_txn *views[BURST_MAX]; // of the slots
	const struct proto_message *in;
	enum proto_verdict verdicts[BURST_MAX];
};

// Where the transactions are that wait for an answer on a connection, if these replies came over
// none.
static const uint32_t *conns_apart(const struct worker_item *it)
{
	return it->conns && !it->ctx.stream ? it->conns->of_slot : NULL;
}

// Does the slot wait for a reply that came this way?
static bool slot_waits(const struct worker_item *it, const uint32_t *apart, uint32_t slot)
{
	return slot != TXN_NONE && it->txns.slots[slot].state == TXN_FLYING &&
	       !(apart && apart[slot] != CONN_NONE);
}

// Did the reply cross the last message of its transaction? Replies are looked at after the next
// messages are sent, and other workers hand theirs over later still.
static bool slot_crossed(const struct worker_item *it, uint32_t slot, uint64_t now)
{
	return it->txns.slots[slot].time >= now;
}

// When the message was sent that a reply answers which crossed the last one. It is the one before;
// when that is not known any more, the transaction is as old as its due time.
static uint64_t slot_time_before(const struct worker_item *it, uint32_t slot, uint64_t now)
{
	for (uint32_t i = it->resent_count; i-- > 0;)
		if (it->resent[i].slot == slot && it->resent[i].before < now)
			return it->resent[i].before;
	return it->txns.slots[slot].due;
}

// How a reply counts that is for no transaction in flight.
static enum evidence_reason reason_of(enum proto_verdict verdict)
{
	switch (verdict) {
	case PROTO_STRAY:
		return EVIDENCE_STRAY;
	case PROTO_MALFORMED:
		return EVIDENCE_MALFORMED;
	case PROTO_DONE:
	case PROTO_AGAIN:
	case PROTO_STREAM:
	case PROTO_FAIL:
	case PROTO_APART:
	case PROTO_KEPT:
	case PROTO_DUPLICATE:
		break;
	}
	return EVIDENCE_LATE;
}

// A reply to a transaction that has ended, or that waits to send its next message: validated like
// any other, counted apart. slot: TXN_NONE when it has ended. With a router its client is not known
// any more, so its content is not judged.
static void item_afterwards(struct worker_item *it, const struct replies *r, uint32_t i,
	uint32_t slot, enum txn_state ended)
{
	const struct txn_place *at = &r->at[i];
	bool judged = at->seq >= it->judged_from;
	enum proto_verdict verdict = PROTO_DONE;
	enum evidence_reason why;
	struct proto_txn view;

	view = slot == TXN_NONE ? txn_of(it, at) : it->txns.slots[slot].view;
	view.over = true;
	it->ctx.counters = it->shadow;
	if (slot != TXN_NONE || !it->router)
		verdict = proto_reply(it->proto, &it->ctx, &view, &r->in[i]);
	why = reason_of(verdict);
	if (why == EVIDENCE_MALFORMED)
		worker_book_malformed(it, &view, r->in[i].buf, r->in[i].len);
	if (verdict == PROTO_DUPLICATE || (why == EVIDENCE_LATE && ended == TXN_DONE))
		it->books.ledger[judged].duplicate++;
	else if (slot == TXN_NONE && why == EVIDENCE_LATE)
		worker_book_late(it, judged, at, r->pkts[i], reply_at(r, i));
	else
		worker_book(it, judged, why, slot, r->pkts[i], reply_at(r, i));
	it->note = NULL;
}

// Does it answer a question of the probe before the run?
static bool item_was_asked(const struct worker_item *it, const struct txn_place *at)
{
	uint64_t before = txn_before(&it->txns, at->port, at->client, at->key);

	for (uint32_t i = 0; i < it->asked_count; i++)
		if (it->asked[i] == before)
			return true;
	return false;
}

// A reply to a transaction that is not in flight, or does not wait for a reply now.
static void item_no_match(struct worker_item *it, enum txn_match match, uint32_t slot,
	const struct replies *r, uint32_t i)
{
	enum txn_state ended = TXN_FREE;

	if (match == TXN_NO_MATCH && item_was_asked(it, &r->at[i])) {
		it->books.counts[1].probe_late++;
		return;
	}
	if (match == TXN_EARLIER)
		ended = txn_outcome(&it->txns, r->at[i].seq);
	else if (match == TXN_MATCH && it->txns.slots[slot].begun) // or answered, and continues
		ended = conns_apart(it) ? TXN_DONE : TXN_LOST;
	if (ended == TXN_FREE)
		worker_book(it, r->now >= it->pace.measure, EVIDENCE_STRAY, TXN_NONE, r->pkts[i],
			reply_at(r, i));
	else
		item_afterwards(it, r, i, slot, ended);
}

// A reply to a transaction in flight that does not end it well.
APART void item_other_answer(
	struct worker_item *it, const struct found *f, uint32_t n, const struct replies *r)
{
	const struct rte_mbuf *m = r->pkts[f->index[n]];
	uint64_t at = reply_at(r, f->index[n]);
	struct txn_slot *s = &it->txns.slots[f->slots[n]];
	uint32_t slot = f->slots[n];

	switch (f->verdicts[n]) {
	case PROTO_DONE: // counted in item_complete
		return;
	case PROTO_FAIL:
		it->ctx.counters = it->shadow;
		it->note = it->failed_by;
		if (it->evidence && it->proto->reason && !it->note)
			it->note =
				it->proto->reason(&it->ctx, &s->view, f->in[n].buf, f->in[n].len);
		worker_book(it, s->judged, EVIDENCE_FAILED, slot, m, at);
		it->note = NULL;
		return;
	case PROTO_APART:
		worker_book_apart(it, slot, TXN_DONE);
		return;
	case PROTO_AGAIN:
		txn_again(&it->txns, slot);
		return;
	case PROTO_STREAM:
		txn_to_stream(&it->txns, slot);
		return;
	case PROTO_KEPT:
		return;
	case PROTO_DUPLICATE:
		it->books.ledger[s->judged].duplicate++;
		return;
	case PROTO_STRAY:
		worker_book(it, s->judged, EVIDENCE_STRAY, slot, m, at);
		return;
	case PROTO_MALFORMED:
		worker_book_malformed(it, &s->view, f->in[n].buf, f->in[n].len);
		worker_book(it, s->judged, EVIDENCE_MALFORMED, slot, m, at);
		it->note = NULL;
		return;
	}
}

// Replies to one step. Their latencies mostly repeat together.
struct step_run {
	uint64_t response, service, times;
	uint64_t answered, failed; // answered: the failed, too
};

// Without the address of a run, so that the caller keeps it in registers.
APART void step_book(struct step_books *b, uint64_t response, uint64_t service, uint64_t times)
{
	hist_run_end(&b->response, &(struct hist_run){response, times});
	hist_run_end(&b->service, &(struct hist_run){service, times});
}

// Count the reply, which came at `now`, to a step of a transaction of the measured part. The next
// step is due then. step_run_end is due at the end.
HOT void step_run_add(struct step_books *b, struct step_run *run, const struct txn_slot *s,
	uint64_t *due, uint64_t now, bool failed)
{
	// A step without a message begins when it is due.
	uint64_t response = now - *due, service = now - (s->time > *due ? s->time : *due);

	run->failed += failed;
	run->answered++;
	if (response != run->response || service != run->service) {
		step_book(b, run->response, run->service, run->times);
		run->response = response;
		run->service = service;
		run->times = 0;
	}
	run->times++;
	*due = now;
}

HOT void step_run_end(struct step_books *b, const struct step_run *run)
{
	b->answered += run->answered - run->failed;
	b->failed += run->failed;
	step_book(b, run->response, run->service, run->times);
}

// Count the replies from the n-th on to one step. Returns the number of the first to another.
HOT uint32_t item_book_step(struct worker_item *it, const struct found *f, const struct replies *r,
	uint32_t n, bool stamped)
{
	const uint8_t step = f->steps[n];
	struct step_books *b = &it->steps[step];
	uint64_t *step_due = it->step_due;
	const uint64_t now = r->now;
	struct step_run run = {0};

	for (; n < f->count && f->steps[n] == step; n++) {
		const struct txn_slot *s = slot_of(f->views[n]);
		enum proto_verdict verdict = f->verdicts[n];
		bool goes_on = verdict == PROTO_KEPT && s->step != step;

		if (!s->judged)
			continue;
		if (goes_on)
			it->steps[s->step].sent++;
		if (verdict == PROTO_DONE || verdict == PROTO_AGAIN || verdict == PROTO_FAIL ||
			goes_on)
			step_run_add(b, &run, s, &step_due[f->slots[n]],
				stamped ? r->came[f->index[n]] : now, verdict == PROTO_FAIL);
	}
	step_run_end(b, &run);
	return n;
}

// Count the replies to steps, before the transactions end or continue. Replies of a burst mostly
// come by step.
HOT void item_book_steps(
	struct worker_item *it, const struct found *f, const struct replies *r, bool stamped)
{
	for (uint32_t n = 0; n < f->count;)
		n = item_book_step(it, f, r, n, stamped);
}

APART void book_steps(struct worker_item *it, const struct found *f, const struct replies *r)
{
	item_book_steps(it, f, r, false);
}

APART void book_steps_stamped(
	struct worker_item *it, const struct found *f, const struct replies *r)
{
	item_book_steps(it, f, r, true);
}

// Capture a message within a transaction and its reply. The slot already describes the next
// message.
APART void item_keep_step(
	struct worker_item *it, const struct found *f, uint32_t n, const struct replies *r)
{
	struct txn_slot *s = slot_of(f->views[n]);
	const struct proto_txn next = s->view;

	s->view.step = f->steps[n];
	worker_keep(it, EVIDENCE_STEP, f->slots[n], r->pkts[f->index[n]], reply_at(r, f->index[n]));
	s->view = next;
	s->kept = 0;
}

// Capture the transactions that end well, while their slots still describe the message sent.
APART void item_keep_answered(
	struct worker_item *it, const struct found *f, const struct replies *r)
{
	for (uint32_t n = 0; n < f->count; n++) {
		struct txn_slot *s = slot_of(f->views[n]);
		bool step = it->steps && f->verdicts[n] == PROTO_AGAIN &&
		            f->views[n]->step != f->steps[n];

		if (f->verdicts[n] != PROTO_DONE && !step)
			continue;
		s->state = TXN_FLYING;
		if (step)
			item_keep_step(it, f, n, r);
		else
			worker_keep(it, EVIDENCE_ANSWERED, f->slots[n], r->pkts[f->index[n]],
				reply_at(r, f->index[n]));
	}
}

void worker_tell(struct worker_item *it, uint32_t slot, uint64_t now)
{
	struct txn_slot *s = &it->txns.slots[slot];
	struct proto_event event;

	if (!it->proto->followed->happened(&it->ctx, &s->view, &event))
		return;
	event.at = s->judged ? now : 0;
	for (uint32_t i = 0; i < it->follower_count; i++) {
		struct worker_item *f = it->followers[i];

		f->ctx.counters = f->banks[s->judged];
		f->ctx.now_ms = it->ctx.now_ms;
		f->proto->follower->happened(&f->ctx, &event);
	}
}

APART void item_tell(struct worker_item *it, const struct found *f, const struct replies *r)
{
	for (uint32_t n = 0; n < f->count; n++)
		if (f->verdicts[n] == PROTO_DONE)
			worker_tell(it, f->slots[n], reply_at(r, f->index[n]));
}

// Count the replies by server, before the transactions end.
APART void item_book_servers(struct worker_item *it, const struct found *f, const struct replies *r)
{
	struct proto_ends room;

	for (uint32_t n = 0; n < f->count; n++) {
		enum proto_verdict verdict = f->verdicts[n];

		if ((verdict == PROTO_DONE || verdict == PROTO_FAIL) &&
			slot_of(f->views[n])->judged)
			servers_answered(it, proto_ends_of(&f->in[n], &room), verdict == PROTO_FAIL,
				reply_at(r, f->index[n]));
	}
}

// The replies of this block ended a gap: all of them have waited.
APART void item_book_waited(struct worker_item *it, const struct found *f, const struct replies *r)
{
	for (uint32_t n = 0; n < f->count; n++) {
		const struct txn_slot *s = slot_of(f->views[n]);

		if (f->verdicts[n] == PROTO_DONE && s->judged)
			worker_book_waited(it, s->due, reply_at(r, f->index[n]));
	}
}

// Silence and last answer of a block whose replies have stamps: each reply has its own time.
APART void item_silences(struct worker_item *it, const struct found *f, const struct replies *r)
{
	bool waited = false;

	for (uint32_t n = 0; n < f->count; n++) {
		uint64_t at = reply_at(r, f->index[n]);

		if (f->verdicts[n] != PROTO_DONE && f->verdicts[n] != PROTO_FAIL)
			continue;
		if (at > it->last_answer)
			it->last_answer = at;
		item_silence(it, at);
		waited = waited || it->earlier_than == at;
	}
	if (waited && it->waited)
		item_book_waited(it, f, r);
}

// End the transactions whose verdict is DONE or FAIL, and book the others.
HOT void item_complete(struct worker_item *it, unsigned has, const struct found *f,
	const struct replies *r, bool stamped)
{
	struct hist_run response = {0}, service = {0};
	uint64_t answered = 0, judged = 0;
	uint32_t ended = 0, slots[BURST_MAX];

	if (has & HAS_STEPS && it->steps)
		stamped ? book_steps_stamped(it, f, r) : book_steps(it, f, r);
	if (has & HAS_EVIDENCE && it->evidence)
		item_keep_answered(it, f, r);
	if (has & HAS_FOLLOWERS && __builtin_expect(it->followers != NULL, 0))
		item_tell(it, f, r);
	if (has & HAS_SERVERS && it->servers)
		item_book_servers(it, f, r);
	for (uint32_t n = 0; n < f->count; n++) {
		uint32_t slot = f->slots[n];
		struct txn_slot *s = slot_of(f->views[n]);
		enum proto_verdict verdict = f->verdicts[n];
		uint64_t at = stamped ? r->came[f->index[n]] : r->now;

		if (has & HAS_STEPS && verdict == PROTO_AGAIN) {
			txn_again(&it->txns, slot);
			continue;
		}
		if (__builtin_expect(verdict != PROTO_DONE, 0)) {
			s->state = TXN_FLYING;
			item_other_answer(it, f, n, r);
			if (verdict != PROTO_FAIL)
				continue;
		} else {
			answered++;
		}
		slots[ended++] = slot;
		if (s->judged) {
			judged += verdict == PROTO_DONE;
			hist_run_add(&it->books.response, &response, at - s->due);
			hist_run_add(&it->books.service, &service, at - s->time);
			if (__builtin_expect(s->due < it->earlier_than, 0))
				worker_book_earlier(it, s->due, at, verdict == PROTO_FAIL);
		}
	}
	if (ended == 0)
		return;
	txn_give_n(&it->txns, slots, ended, TXN_DONE);
	it->books.ledger[0].answered += answered - judged;
	it->books.ledger[1].answered += judged;
	hist_run_end(&it->books.response, &response);
	hist_run_end(&it->books.service, &service);
	if (stamped) {
		item_silences(it, f, r);
		return;
	}
	it->last_answer = r->now;
	item_silence(it, r->now);
	if (__builtin_expect(it->earlier_than == r->now, 0) && it->waited)
		item_book_waited(it, f, r);
}

// Take over the protocol's notes about the i-th reply.
APART void item_take_notes(
	struct worker_item *it, const struct found *f, uint32_t i, const struct replies *r)
{
	const struct proto_ctx *ctx = &it->ctx;
	struct proto_ends room;

	if (ctx->elsewhere)
		worker_book_elsewhere(
			it, slot_of(f->views[i])->judged, proto_ends_of(&f->in[i], &room));
	if (ctx->path_found)
		worker_turn_path(it, proto_ends_of(&f->in[i], &room));
	if (ctx->mark && ctx->mark_from)
		hist_add(&it->marks[ctx->mark - 1], reply_at(r, f->index[i]) - ctx->mark_from);
	proto_notes_clear(&it->ctx);
}

// Let the protocol judge each reply, with the counters of the part of the run in which its
// transaction was due.
HOT void item_judge(struct worker_item *it, struct found *f, const struct replies *r)
{
	for (uint32_t from = 0, n; from < f->count; from += n) {
		n = f->count - from;
		if (f->judged && f->judged < f->count) // rare: the measured part begins here
			n = views_alike(f->views + from, n);
		it->ctx.counters = it->banks[slot_of(f->views[from])->judged];
		n = it->proto->reply(
			&it->ctx, f->views + from, f->in + from, f->verdicts + from, n);
		if (__builtin_expect(it->ctx.noted, 0))
			item_take_notes(it, f, from + n - 1, r);
	}
}

// A transaction in flight, and its reply in the block.
HOT void found_add(
	const struct worker_item *it, unsigned has, struct found *f, uint32_t slot, uint32_t reply)
{
	struct txn_slot *s = &it->txns.slots[slot];

	s->state = TXN_JUDGED;
	f->judged += s->judged;
	f->index[f->count] = (uint8_t)reply;
	if (has & HAS_STEPS)
		f->steps[f->count] = s->step;
	f->slots[f->count] = slot;
	f->views[f->count++] = &s->view;
}

// stamped: as r->stamped, where the compiler knows it.
HOT void found_end(struct worker_item *it, unsigned has, struct found *f, const struct replies *r,
	bool stamped)
{
	item_judge(it, f, r);
	item_complete(it, has, f, r, stamped);
}

APART void found_end_one(struct worker_item *it, struct found *one, const struct replies *r)
{
	found_end(it, kind_features[ITEM_FULL], one, r, r->stamped);
}

void worker_fail(struct worker_item *it, uint32_t slot, const struct replies *r, const char *why)
{
	struct found one = {.in = r->in, .verdicts = {PROTO_FAIL}};

	found_add(it, kind_features[ITEM_FULL], &one, slot, 0);
	it->failed_by = why;
	item_complete(it, kind_features[ITEM_FULL], &one, r, r->stamped);
	it->failed_by = NULL;
}

// A reply that crossed the last message of its transaction answers the one before. Nothing answers
// a message that was not even due.
APART void item_match_crossed(
	struct worker_item *it, struct found *one, const struct replies *r, uint32_t i)
{
	struct txn_slot *s = slot_of(one->views[0]);
	uint64_t last = s->time, at = reply_at(r, i);

	s->time = slot_time_before(it, one->slots[0], at);
	if (s->time <= at) {
		found_end_one(it, one, r);
	} else {
		s->state = TXN_FLYING;
		worker_book(it, s->judged, EVIDENCE_STRAY, one->slots[0], r->pkts[i], at);
	}
	if (s->state == TXN_FLYING)
		s->time = last;
}

bool item_time_out(struct worker_item *it, uint32_t slot, uint64_t now)
{
	struct txn_slot *s = &it->txns.slots[slot];
	struct proto_txn view = s->view;
	enum proto_verdict verdict;

	if (it->servers && !it->router && servers_next(it, slot)) {
		txn_again(&it->txns, slot);
		return false;
	}
	it->ctx.counters = it->banks[s->judged];
	verdict = it->proto->timeout(&it->ctx, &view);
	if (it->servers && (verdict != PROTO_AGAIN || view.step == s->step))
		servers_lost(it, slot);
	if (verdict == PROTO_AGAIN) {
		if (it->steps && s->judged && view.step != s->step) {
			// The kept reply answers the step before.
			struct step_run run = {0};

			step_run_add(&it->steps[s->step], &run, s, &it->step_due[slot], now, false);
			step_run_end(&it->steps[s->step], &run);
		}
		s->view = view;
		txn_again(&it->txns, slot);
		return false;
	}
	if (verdict == PROTO_APART) {
		worker_book_apart(it, slot, TXN_LOST);
	} else {
		worker_book_lost(it, slot, now);
		txn_give(&it->txns, slot, TXN_LOST);
	}
	return true;
}

// By the stamps of its queue: did the reply come when the transaction's time was over, which the
// worker was too late to see? If a further message would have been sent, any reply to that
// transaction is taken. Without stamps, a reply seen before it expires counts as in time.
APART bool reply_is_late(
	const struct worker_item *it, uint32_t slot, const struct replies *r, uint64_t at)
{
	const struct txn_slot *s = &it->txns.slots[slot];

	if (at > r->late_to || txn_since(at, s->time) <= (int64_t)it->waits[s->wait])
		return false;
	if (it->servers && !it->router && servers_have_next(it, slot))
		return false;
	return !it->proto->gives_up || it->proto->gives_up(&it->ctx, &s->view);
}

// A reply whose transaction was not in flight, had another reply in the same block, which has been
// judged by now, or sent another message since the reply came.
APART void item_match_rest(struct worker_item *it, struct replies *r, uint32_t i)
{
	struct found one = {.in = &r->in[i]};
	uint32_t slot = TXN_NONE;
	enum txn_match match = txn_find(&it->txns, &r->at[i], &slot);
	bool crossed;

	if (slot_waits(it, conns_apart(it), slot) && reply_is_late(it, slot, r, reply_at(r, i))) {
		r->timed_out = item_time_out(it, slot, reply_at(r, i));
		slot = TXN_NONE;
		match = txn_find(&it->txns, &r->at[i], &slot);
	}
	if (!slot_waits(it, conns_apart(it), slot)) {
		item_no_match(it, match, slot, r, i);
		return;
	}
	crossed = slot_crossed(it, slot, reply_at(r, i));
	found_add(it, kind_features[ITEM_FULL], &one, slot, i);
	if (crossed)
		item_match_crossed(it, &one, r, i);
	else
		found_end_one(it, &one, r);
}

// Leave out, and count, replies from servers other than the last one asked: a reply of a server
// asked earlier is late, any other is a stray.
APART void item_leave_out(struct worker_item *it, struct replies *r)
{
	const struct worker_servers *s = it->servers;
	struct proto_ends room;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		uint32_t server = servers_replied(s, proto_ends_of(&r->in[i], &room));
		uint32_t slot = TXN_NONE;
		enum txn_match match = txn_find(&it->txns, &r->at[i], &slot);

		if (slot != TXN_NONE && !(s->slots[slot].ever & 1u << server)) {
			worker_book(it, it->txns.slots[slot].judged, EVIDENCE_STRAY, slot,
				r->pkts[i], reply_at(r, i));
		} else if (slot != TXN_NONE && !(s->slots[slot].asked & 1u << server)) {
			item_no_match(it, match, slot, r, i);
		} else {
			r->pkts[kept] = r->pkts[i];
			r->in[kept] = r->in[i];
			r->came[kept] = r->stamped ? r->came[i] : 0;
			r->at[kept++] = r->at[i];
		}
	}
	r->count = kept;
}

HOT void item_match_block(struct worker_item *it, unsigned has, struct replies *r, bool stamped)
{
	struct proto_message in[BURST_MAX];
	const uint32_t *apart = has & HAS_CONNS ? conns_apart(it) : NULL;
	uint8_t rest[BURST_MAX];
	uint32_t rest_count = 0;
	struct found f;

	if (has & HAS_SERVERS && __builtin_expect(it->servers != NULL, 0) && !it->router)
		item_leave_out(it, r);
	f.count = f.judged = 0;
	f.in = r->in;
	for (uint32_t i = 0; i < r->count; i++) {
		uint32_t slot = TXN_NONE;

		txn_find(&it->txns, &r->at[i], &slot);
		if (__builtin_expect(!slot_waits(it, apart, slot) || (stamped && r->late_to) ||
					     slot_crossed(it, slot, stamped ? r->came[i] : r->now),
			    0))
			rest[rest_count++] = (uint8_t)i;
		else
			found_add(it, has, &f, slot, i);
	}
	if (rest_count) { // rare: the others close up
		for (uint32_t n = 0; n < f.count; n++)
			in[n] = r->in[f.index[n]];
		f.in = in;
	}
	found_end(it, has, &f, r, stamped);
	for (uint32_t i = 0; i < rest_count; i++)
		item_match_rest(it, r, rest[i]);
}

#define MATCH(name, KIND, stamped)                                                                 \
	APART void match_##name(struct worker_item *it, struct replies *r)                         \
	{                                                                                          \
		item_match_block(it, kind_features[KIND], r, stamped);                             \
	}

MATCH(full, ITEM_FULL, false)
MATCH(plain, ITEM_PLAIN, false)
MATCH(routed, ITEM_ROUTED, false)
MATCH(conns, ITEM_CONNS, false)
MATCH(stamped, ITEM_FULL, true)

void item_match(struct worker_item *it, struct replies *r)
{
	static void (*const match[ITEM_KINDS])(struct worker_item * it, struct replies * r) = {
		[ITEM_FULL] = match_full,
		[ITEM_PLAIN] = match_plain,
		[ITEM_ROUTED] = match_routed,
		[ITEM_CONNS] = match_conns,
	};

	if (__builtin_expect(r->stamped, 0))
		match_stamped(it, r);
	else
		match[it->kind](it, r);
}
