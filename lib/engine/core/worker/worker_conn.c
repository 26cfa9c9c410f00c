// SPDX-License-Identifier: BSD-3-Clause
// Messages of an item over connections: opens them, writes messages that are due, reads replies,
// and counts the outcomes. Path: hot. The worker's own thread.
#include "engine/core/worker/worker_conn_internal.h"

#include "engine/core/http.h"
#include "engine/core/quic_channel.h"
#include "engine/core/secure.h"
#include "engine/core/wire.h"
#include "engine/core/worker/worker_internal.h"
#include "engine/core/worker/worker_tx.h"

#define LINGER_US     2000000 // that the server has to close a connection that we closed
#define IDLE_US_OF_MS 900     // nine tenths: before the server does
#define HALT_TRIES    1000    // bursts that the device does not take
#define SEATS_SEEN    64      // examined to find a seat to renew
#define GATHERED_MOST 512     // messages of a pass that Nagle's algorithm may gather in segments
#define SEATS_CACHED  1000    // of at most so many, a CPU's cache has the connections
#define SEATS_AHEAD   6       // whose connections are fetched, before a message is due there

static __attribute__((noinline)) void secured_counts(struct worker_conns *wc, bool measured)
{
	wc->cs.secure->counts = &wc->books.tls[measured];
	if (wc->cs.https)
		wc->cs.https->counts = &wc->books.http[measured];
}

void worker_conn_clock(struct worker_conns *wc, uint64_t now)
{
	conns_clock(&wc->cs, now);
	if (wc->cs.secure)
		secured_counts(wc, conn_is_measured(wc, now));
	if (wc->cs.quic)
		wc->cs.quic->counts = &wc->books.quic[conn_is_measured(wc, now)];
}

// --- headers ---

void worker_conn_head_of(struct conns *cs, uint32_t c, struct conn_head *out)
{
	worker_conn_head(cs->of, cs->all[c].row, out);
}

// --- opening ---

// Opens a connection over TCP. Returns false without memory.
static bool way_open(struct worker_conns *wc, uint32_t c)
{
	struct conn *of = conn_at(wc, c);

	tcp_open(&wc->cs.host, &of->tcp,
		tcp_iss(&wc->cs.host, rand_hash(wc->secret ^ ((uint64_t)of->row << 16))), wc->mss);
	if (wc->cs.secure && !conn_on(&wc->cs, c, wc->cs.https ? CHANNEL_HTTP : CHANNEL_TLS))
		return false;
	return !wc->it->proto->preface || worker_conn_preface(wc, &wc->cs, c);
}

// Opens a connection. Returns CONN_NONE if no port or memory is free.
static uint32_t conn_open(struct worker_conns *wc, uint32_t seat, uint64_t now)
{
	struct conn *of;
	uint32_t row, c;

	if (wc->row_count == 0)
		return CONN_NONE;
	row = wc->rows[wc->row_first & wc->row_mask];
	c = conn_take(&wc->cs, row);
	if (c == CONN_NONE)
		return c;
	wc->row_first++;
	wc->row_count--;
	of = conn_at(wc, c);
	of->row = row;
	of->seat = seat;
	of->asked = 0;
	of->open = 0;
	of->since = (uint32_t)(now >> SINCE_SHIFT);
	counts_of(wc, now)->opened++;
	conn_touch(&wc->cs, c);
	if (!(wc->open ? wc->open(wc, c, now) : way_open(wc, c))) {
		counts_of(wc, now)->no_memory++;
		conn_abort(&wc->cs, c);
		of->flags |= CONN_SHUT;
		return CONN_NONE;
	}
	return c;
}

// Opens a connection for a seat. Returns false if that is not possible.
static bool seat_open(struct worker_conns *wc, uint32_t seat, uint64_t now)
{
	wc->seats[seat].conn = conn_open(wc, seat, now);
	return wc->seats[seat].conn != CONN_NONE;
}

void worker_conn_leave(struct worker_conns *wc, uint32_t c)
{
	struct conn *of = conn_at(wc, c);

	of->flags |= CONN_OVER;
	if (wc->seat_count && wc->seats[of->seat].conn == c)
		wc->seats[of->seat].conn = CONN_NONE;
}

void worker_conn_not_open(struct worker_conns *wc, struct conn *of)
{
	wc->books.open -= (of->flags & (CONN_OPENED | CONN_SHUT)) == CONN_OPENED;
	of->flags |= CONN_SHUT;
}

static void conn_close(struct worker_conns *wc, uint32_t c)
{
	worker_conn_leave(wc, c);
	worker_conn_not_open(wc, conn_at(wc, c));
	conn_shut(&wc->cs, c);
	conn_at(wc, c)->since = (uint32_t)wc->cs.host.now + LINGER_US;
	conn_at(wc, c)->flags |= CONN_LATE;
	conn_wake(&wc->cs, c, conn_at(wc, c)->since);
	conn_touch(&wc->cs, c);
}

// Makes sure that the seat has a connection for another message. Returns false if it gets none.
static bool seat_ready(struct worker_conns *wc, uint32_t seat, uint64_t now)
{
	uint32_t c = wc->seats[seat].conn;

	if (c != CONN_NONE && conn_at(wc, c)->asked >= wc->per_conn && !wc->seats[seat].waiting) {
		worker_conn_leave(wc, c);
		if (conn_at(wc, c)->open == 0)
			conn_close(wc, c);
		c = CONN_NONE;
	}
	return c != CONN_NONE || seat_open(wc, seat, now);
}

// --- asking ---

static bool is_open_loop(const struct worker_conns *wc)
{
	return wc->it->pace.kind == PACE_RATE;
}

// Counts a message given to its connection, or to its seat, as sent. The lag is the tester's own
// delay only: a wait for earlier replies is part of the response latency.
static inline __attribute__((always_inline)) void slot_sent(
	struct worker_item *it, uint32_t slot, uint64_t now)
{
	struct txn_slot *s = &it->txns.slots[slot];

	if (!s->begun) {
		s->begun = 1;
		if (!it->first_sent)
			it->first_sent = now;
		it->books.ledger[s->judged].sent++;
		if (s->judged)
			hist_add(&it->books.lag, s->time - s->due);
	}
	if (it->steps && s->judged)
		it->steps[s->step].sent++;
	txn_arm(&it->txns, slot, now);
}

// Updates silent_at after a transaction of the seat was written or dropped.
static void seat_count_silent(struct worker_conns *wc, uint32_t seat, bool silent)
{
	wc->silent_at[seat] += silent || wc->silent_at[seat];
}

// Notes the end of a message that was given to its connection, or dropped, and may have no reply.
APART void note_silent(struct worker_conns *wc, const struct conn *of, uint32_t slot)
{
	const struct txn_slot *s = &wc->it->txns.slots[slot];

	wc->end_of[slot] = tcp_end(&of->tcp);
	if ((s->state == TXN_FLYING || !s->begun) && wc->seat_count)
		seat_count_silent(wc, of->seat, s->silent);
}

// Gives the message of a transaction to its connection. Returns false without memory, or if it does
// not fit.
static bool message_write(struct worker_conns *wc, uint32_t c, struct txn_slot *s, uint64_t now)
{
	struct worker_item *it = wc->it;
	uint32_t len;

	if (it->keyless) {
		wc->cs.stream.tag = (uint32_t)s->k;
		wc->cs.stream.measured = s->judged;
		s->key = 0;
	}
	it->ctx.counters = it->banks[s->judged];
	it->ctx.now_ms = worker_ms(wc->w, now);
	it->ctx.stream = true;
	len = proto_request(it->proto, &it->ctx, &s->view, wc->cs.message + CONN_LENGTH,
		CONN_MESSAGE_MAX - CONN_LENGTH);
	it->ctx.stream = false;
	return len && conn_write(&wc->cs, c, len);
}

// Writes the message of a transaction. Returns false without memory, and drops the transaction.
static bool slot_write(struct worker_conns *wc, uint32_t c, uint32_t slot, uint64_t now)
{
	struct worker_item *it = wc->it;
	struct txn_slot *s = &it->txns.slots[slot];
	struct conn *of = conn_at(wc, c);

	if (!wc->connects && !message_write(wc, c, s, now)) {
		counts_of(wc, now)->no_memory++;
		if (wc->silent)
			note_silent(wc, of, slot);
		worker_drop(it, slot, now);
		return false;
	}
	of->asked++;
	of->open++;
	wc->of_slot[slot] = c;
	if (__builtin_expect(wc->silent && !wc->connects, 0))
		note_silent(wc, of, slot);
	if (__builtin_expect(s->state == TXN_FLYING, 0)) {
		txn_unlink(&it->txns, s);
		txn_arm(&it->txns, slot, now); // the timeout of its answer begins
	} else {
		slot_sent(it, slot, now);
	}
	conn_touch(&wc->cs, c);
	return true;
}

static bool pipeline_has_room(const struct worker_conns *wc, uint32_t c)
{
	const struct conn *of = &wc->cs.all[c];

	return of->open < wc->pipeline && of->asked < wc->per_conn;
}

// Returns the number of the seat's transaction after which `back` others were begun there.
static uint64_t seat_number(const struct worker_conns *wc, uint32_t seat, uint32_t back)
{
	const struct txn_table *t = &wc->it->txns;
	uint64_t ago =
		t->to.client > seat ? t->to.client - seat : t->to.client + wc->seat_count - seat;

	return t->issued - ago - (uint64_t)back * wc->seat_count;
}

// Takes the first of the messages that wait at the seat. Returns its slot.
static uint32_t seat_next(struct worker_conns *wc, uint32_t seat)
{
	wc->waiting--;
	return txn_slot_of(&wc->it->txns, seat_number(wc, seat, --wc->seats[seat].waiting));
}

// Skips the messages that timed out while they waited at the seat.
static void seat_skip(struct worker_conns *wc, uint32_t seat)
{
	const struct conn_seat *at = &wc->seats[seat];

	while (at->waiting &&
		txn_slot_of(&wc->it->txns, seat_number(wc, seat, at->waiting - 1)) == TXN_NONE) {
		seat_next(wc, seat);
		if (wc->silent)
			seat_count_silent(wc, seat, false);
	}
}

void worker_conn_seat(struct worker_conns *wc, uint32_t seat, uint64_t now)
{
	struct conn_seat *at = &wc->seats[seat];

	for (seat_skip(wc, seat); at->waiting && seat_ready(wc, seat, now); seat_skip(wc, seat)) {
		struct txn_slot *s;
		uint32_t slot;

		if (at->conn != CONN_NONE && conn_at(wc, at->conn)->asked >= wc->per_conn)
			worker_conn_leave(wc, at->conn);
		if (at->conn == CONN_NONE && !seat_open(wc, seat, now))
			return;
		if (!pipeline_has_room(wc, at->conn))
			return;
		slot = seat_next(wc, seat);
		s = &wc->it->txns.slots[slot];
		wc->it->books.ledger[s->judged].due += !is_open_loop(wc);
		slot_write(wc, at->conn, slot, now);
	}
}

// Lets the message of a taken transaction wait at its seat, unless a new connection takes it.
APART void seat_wait(struct worker_conns *wc, uint32_t seat, uint32_t slot, uint64_t now)
{
	struct conn_seat *at = &wc->seats[seat];

	at->waiting++;
	wc->waiting++;
	counts_of(wc, now)->pipeline_full++;
	if (!is_open_loop(wc)) // it is due when it is written
		wc->it->books.ledger[wc->it->txns.slots[slot].judged].due--;
	worker_conn_seat(wc, seat, now);
	if (at->waiting && at->conn != CONN_NONE && is_open_loop(wc))
		slot_sent(wc->it, slot, now);
}

// Writes the message of a taken transaction, or lets it wait at its seat, which has a connection. A
// transaction that continues does not wait: only the seat's last ones do.
static void seat_ask(struct worker_conns *wc, uint32_t seat, uint32_t slot, uint64_t now)
{
	const struct conn_seat *at = &wc->seats[seat];
	struct txn_slot *s = &wc->it->txns.slots[slot];

	s->time = now;
	if (s->begun || (at->waiting == 0 && pipeline_has_room(wc, at->conn)))
		slot_write(wc, at->conn, slot, now);
	else
		seat_wait(wc, seat, slot, now);
}

// Continues the transactions whose reply was truncated, as far as there are ports.
static void stream_ask(struct worker_conns *wc, uint64_t now)
{
	struct txn_table *t = &wc->it->txns;
	uint32_t slot, c;

	for (uint32_t n = 0; n < BURST_MAX && (slot = txn_first(t, t->stream)) != TXN_NONE; n++) {
		c = conn_open(wc, slot, now);
		if (c == CONN_NONE) {
			counts_of(wc, now)->no_port++;
			return;
		}
		txn_unlink(t, &t->slots[slot]);
		if (!slot_write(wc, c, slot, now))
			conn_close(wc, c);
	}
}

// Gives a new connection to the next seat in turn that is to have one.
static void seat_renew(struct worker_conns *wc, uint64_t now)
{
	for (uint32_t n = 0; n < SEATS_SEEN; n++) {
		uint32_t seat = wc->open_seat, c = wc->seats[seat].conn;

		wc->open_seat = seat + 1 < wc->seat_count ? seat + 1 : 0;
		if (c != CONN_NONE && !wc->replaces)
			continue;
		if (c != CONN_NONE) {
			worker_conn_leave(wc, c);
			if (conn_at(wc, c)->open == 0)
				conn_close(wc, c);
		}
		if (!seat_open(wc, seat, now))
			counts_of(wc, now)->no_port++;
		else if (wc->seats[seat].waiting)
			worker_conn_seat(wc, seat, now);
		return;
	}
}

// Opens the connections that are due without a message.
static void seats_open(struct worker_conns *wc, uint64_t now)
{
	if (wc->open_at == 0)
		wc->open_at = wc->w->times.start;
	for (uint32_t n = 0; n < BURST_MAX && txn_since(now, wc->open_at) >= 0; n++) {
		wc->open_at += wc->open_gap;
		seat_renew(wc, now);
	}
}

// Closes a connection that has done its work, or else gives it the next messages: it has fewer
// without a reply now.
static void conn_go_on(struct worker_conns *wc, uint32_t c, uint64_t now)
{
	struct conn *of = conn_at(wc, c);

	if (wc->seat_count == 0) {
		conn_close(wc, c);
		return;
	}
	if (__builtin_expect(wc->it->ended, 0) && !wc->seats[of->seat].waiting)
		worker_conn_leave(wc, c);
	if (of->open == 0 && (of->flags & CONN_OVER || of->asked >= wc->per_conn))
		conn_close(wc, c);
	else if (of->open == 0 && wc->idle_us) {
		of->since = (uint32_t)wc->cs.host.now + wc->idle_us;
		of->flags |= CONN_LATE;
		conn_wake(&wc->cs, c, of->since);
	}
	if (wc->seats[of->seat].waiting)
		worker_conn_seat(wc, of->seat, now);
}

// Handles a message of the connection that has its reply, or will have none.
static void conn_answered(struct worker_conns *wc, uint32_t c, uint64_t now)
{
	conn_at(wc, c)->open--;
	conn_go_on(wc, c, now);
}

// Ends the silent messages, which have no reply, that the server has acknowledged. Messages of a
// seat end in their order.
APART void silent_end(struct worker_conns *wc, uint32_t c, uint64_t now)
{
	struct txn_table *t = &wc->it->txns;
	const struct conn *of = conn_at(wc, c);
	const struct conn_seat *at = &wc->seats[of->seat];
	uint32_t *silent = &wc->silent_at[of->seat];

	while (*silent) {
		uint64_t k = seat_number(wc, of->seat, at->waiting + *silent - 1);
		uint32_t slot = txn_slot_of(t, k);

		if (slot != TXN_NONE) {
			const struct txn_slot *s = &t->slots[slot];

			if (s->state != TXN_FLYING || !s->silent || wc->of_slot[slot] != c ||
				tcp_before(of->tcp.una, wc->end_of[slot]))
				return;
			wc->it->books.ledger[s->judged].no_reply++;
			txn_give(t, slot, TXN_DONE);
			wc->of_slot[slot] = CONN_NONE;
		}
		--*silent;
		if (slot != TXN_NONE)
			conn_answered(wc, c, now);
	}
}

// Finds the seat of the next transaction. Returns whether a transaction is due.
static bool next_seat(struct worker_item *it, uint64_t until, uint32_t *seat)
{
	uint32_t again = txn_first(&it->txns, it->txns.again);

	*seat = again != TXN_NONE ? it->txns.slots[again].client : it->txns.to.client;
	return again != TXN_NONE || pace_ready(&it->pace, until, it->txns.in_flight);
}

// Fetches the connection of a seat some places ahead: messages are due there soon, as they go
// around.
static void seat_fetch(const struct worker_conns *wc, uint32_t seat)
{
	uint32_t next = seat + SEATS_AHEAD, c;

	next -= next < wc->seat_count ? 0 : wc->seat_count;
	c = wc->seats[next].conn;
	if (c != CONN_NONE)
		conn_fetch(&wc->cs, c);
}

uint16_t worker_conn_tx(struct worker *w, struct worker_item *it, uint64_t until)
{
	struct worker_conns *wc = it->conns;
	uint32_t most = wc->cs.host.nagle ? GATHERED_MOST : BURST_MAX, seat;
	uint64_t now = clock_time(w->clock);
	uint16_t others = 0;

	worker_conn_clock(wc, now);
	conns_expire(&wc->cs);
	stream_ask(wc, now);
	if (wc->open_gap && !it->ended)
		seats_open(wc, now);
	for (uint32_t n = 0; n < most && it->stream && next_seat(it, until, &seat); n++) {
		uint32_t slot;

		if (wc->seat_count > SEATS_CACHED)
			seat_fetch(wc, it->txns.to.client);
		if (!seat_ready(wc, seat, now)) {
			counts_of(wc, now)->no_port++;
			break;
		}
		slot = worker_take(w, it, until);
		if (slot == TXN_NONE)
			break;
		seat_ask(wc, seat, slot, now);
	}
	if (wc->behave)
		others = worker_behave_tx(wc->behave, now);
	if (wc->cs.secure)
		others += secure_pass(&wc->cs);
	others += conns_send(&wc->cs, &w->wire, &w->tx_no_mbuf);
	if (wc->cs.quic)
		wc->books.datagrams = wc->cs.quic->q.counts;
	return others;
}

// --- ending ---

// Handles a message without a reply after its connection, or its stream, has ended. again: it is
// sent again.
static void slot_lose(struct worker_conns *wc, uint32_t slot, bool again, uint64_t now)
{
	struct worker_item *it = wc->it;
	struct conn_counters *counts = counts_of(wc, now);
	const struct txn_slot *s = &it->txns.slots[slot];
	struct proto_txn view = s->view;
	bool apart;

	conn_at(wc, wc->of_slot[slot])->open--;
	wc->of_slot[slot] = CONN_NONE;
	it->ctx.counters = it->banks[s->judged];
	it->ctx.closed = true;
	apart = it->proto->timeout(&it->ctx, &view) == PROTO_APART;
	it->ctx.closed = false;
	if (apart) {
		worker_book_apart(it, slot, TXN_LOST);
		return;
	}
	// A server that takes it never, or too late, has lost it.
	if (again && txn_since(now, s->due) < (int64_t)it->waits[s->wait]) {
		counts->asked_again++;
		if (wc->seat_count)
			txn_again(&it->txns, slot);
		else
			txn_to_stream(&it->txns, slot);
		return;
	}
	counts->lost_closed++;
	worker_book_lost(it, slot, now);
	txn_give(&it->txns, slot, TXN_LOST);
}

void worker_conn_lose(struct worker_conns *wc, uint32_t c, uint64_t now)
{
	struct worker_item *it = wc->it;
	struct conn *of = conn_at(wc, c);

	counts_of(wc, now)->closed_open += of->open > 0;
	if (wc->seat_count == 0 && of->open)
		slot_lose(wc, of->seat, wc->again, now);
	if (wc->seat_count == 0)
		return;
	for (uint32_t back = wc->seats[of->seat].waiting;
		of->open && (uint64_t)back * wc->seat_count <= it->txns.issued; back++) {
		uint32_t slot = txn_slot_of(&it->txns, seat_number(wc, of->seat, back));

		if (slot == TXN_NONE || wc->of_slot[slot] != c ||
			it->txns.slots[slot].state != TXN_FLYING)
			continue;
		slot_lose(wc, slot, wc->again, now);
	}
}

// Handles a connection that is closed, or on which the server sends no more.
static void conn_ended(struct worker_conns *wc, uint32_t c, uint32_t events, uint64_t now)
{
	struct conn_counters *counts = counts_of(wc, now);
	struct conn *of = conn_at(wc, c);
	uint32_t seat = of->seat;

	if (!(of->flags & CONN_SHUT))
		secure_lost(&wc->cs, c);
	counts->refused += (events & TCP_REFUSED) != 0;
	if (events & TCP_TIMED_OUT && !(of->flags & CONN_OPENED)) {
		counts->no_answer++;
	} else if (events & (TCP_BROKEN | TCP_TIMED_OUT)) {
		counts->reset += !(of->flags & CONN_TOLD);
	} else if (events & TCP_ENDED && !(of->flags & CONN_SHUT)) {
		counts->closed++;
		of->flags |= CONN_TOLD;
	}
	if (events & (TCP_ENDED | TCP_BROKEN) && !(of->flags & CONN_SHUT))
		counts->closed_after += of->asked - of->open;
	worker_conn_not_open(wc, of);
	worker_conn_leave(wc, c);
	worker_conn_lose(wc, c, now);
	if (wc->cs.https)
		http_forget(&wc->cs, c);
	if (events & TCP_ENDED)
		conn_close(wc, c);
	if (wc->seat_count && wc->seats[seat].waiting)
		worker_conn_seat(wc, seat, now);
}

// Ends a connection for a reason above TCP.
static void conn_give_up(struct worker_conns *wc, uint32_t c, uint64_t now)
{
	conn_ended(wc, c, 0, now);
	conn_close(wc, c);
}

void worker_conn_lost(struct worker_item *it, uint32_t slot)
{
	struct worker_conns *wc = it->conns;
	uint32_t c = wc->of_slot[slot];

	wc->of_slot[slot] = CONN_NONE;
	if (c == CONN_NONE && wc->seat_count) {
		wc->books.counts[it->txns.slots[slot].judged].pipeline_lost++;
		seat_skip(wc, it->txns.slots[slot].client);
	}
	if (c != CONN_NONE && secure_waits_for_us(&wc->cs, c))
		wc->cs.secure->counts->delayed++;
	if (c != CONN_NONE && it->keyless) {
		conn_cancel(&wc->cs, c, (uint32_t)it->txns.slots[slot].k);
		conn_touch(&wc->cs, c);
	}
	if (c != CONN_NONE)
		conn_answered(wc, c, clock_time(wc->w->clock));
}

// Handles a connection past its deadline: it is idle, or the server has not closed it.
static void conn_late(struct worker_conns *wc, uint32_t c, uint64_t now)
{
	struct conn *of = conn_at(wc, c);

	if (!(of->flags & CONN_OVER)) {
		conn_close(wc, c);
	} else if (of->tcp.state == TCP_FIN_WAIT_2) {
		counts_of(wc, now)->reset += !(of->flags & CONN_TOLD);
		tcp_abort(&wc->cs.host, &of->tcp);
	}
}

void worker_conn_expired(struct conns *cs, uint32_t c, uint32_t events)
{
	struct worker_conns *wc = cs->of;
	struct conn *of = conn_at(wc, c);
	uint64_t now = clock_time(wc->w->clock);
	bool waits = of->flags & CONN_LATE && of->open == 0;

	if (events & TCP_GONE)
		conn_ended(wc, c, events, now);
	else if (secure_times_out(cs, c))
		conn_give_up(wc, c, now);
	else if (waits && !tcp_before((uint32_t)cs->host.now, of->since))
		conn_late(wc, c, now);
	else if (waits)
		conn_wake(cs, c, of->since);
	else if (secure_is_shaking(cs, c))
		conn_wake(cs, c, secure_deadline(cs, c));
	conn_touch(cs, c);
}

uint32_t worker_conn_gone(struct conns *cs, uint32_t c)
{
	struct worker_conns *wc = cs->of;
	uint32_t row = cs->all[c].row;

	if (!(cs->all[c].flags & CONN_SHUT)) // aborted below its messages, without memory
		conn_ended(wc, c, 0, clock_time(wc->w->clock));
	wc->rows[(wc->row_first + wc->row_count++) & wc->row_mask] = row;
	return row;
}

// The silent messages that waited for the handshake have left: notes where they end.
APART void silent_left(struct worker_conns *wc, uint32_t c)
{
	const struct conn *of = conn_at(wc, c);
	const struct conn_seat *at = &wc->seats[of->seat];

	for (uint32_t n = wc->silent_at[of->seat]; n; n--) {
		uint32_t slot =
			txn_slot_of(&wc->it->txns, seat_number(wc, of->seat, at->waiting + n - 1));

		if (slot != TXN_NONE && wc->of_slot[slot] == c)
			wc->end_of[slot] = tcp_end(&of->tcp);
	}
}

// --- received ---

// Finds the place of the transaction that a message with this key answers, without seats.
static void stream_place(
	const struct worker_conns *wc, uint32_t c, uint32_t key, struct txn_place *at)
{
	const struct conn *of = &wc->cs.all[c];

	*at = (struct txn_place){.key = key};
	if (of->open)
		txn_place(&wc->it->txns, of->seat, at);
	at->key = key;
}

// Applies the server's limit for idle connections, sent in its reply.
static void conn_told_idle(struct worker_conns *wc, uint32_t c)
{
	uint64_t us = (uint64_t)wc->it->ctx.idle_ms * IDLE_US_OF_MS;

	if (us == 0) // RFC 7828 section 3.4: no more queries
		worker_conn_leave(wc, c);
	else if (wc->idle_us == 0 || us < wc->idle_us)
		wc->idle_us = us < UINT32_MAX / 2 ? (uint32_t)us : UINT32_MAX / 2;
}

// Handles the matched reply to a transaction in flight on this connection.
static void slot_answered(struct worker_conns *wc, uint32_t c, uint32_t slot, uint64_t now)
{
	struct conn *of = conn_at(wc, c);

	if (!(of->flags & CONN_HEARD)) {
		of->flags |= CONN_HEARD;
		if (now >= wc->it->pace.measure && !(of->flags & CONN_LATE))
			hist_add(&wc->books.first,
				(uint64_t)((uint32_t)(wc->came >> SINCE_SHIFT) - of->since)
					<< SINCE_SHIFT);
	}
	wc->of_slot[slot] = CONN_NONE;
	conn_answered(wc, c, now);
}

// Handles a transaction on this connection whose reply was judged. lost: the reply was too late.
static void slot_ended(struct worker_conns *wc, uint32_t c, uint32_t slot, bool lost, uint64_t now)
{
	if (wc->it->txns.slots[slot].state == TXN_FLYING)
		return;
	if (lost)
		worker_conn_lost(wc->it, slot);
	else
		slot_answered(wc, c, slot, now);
}

// Ends the transaction of a connection that the server accepted, where acceptance is the reply.
APART void connect_match(
	struct worker_conns *wc, uint32_t c, const struct rte_mbuf *m, uint64_t now)
{
	struct worker_item *it = wc->it;
	const struct conn *of = conn_at(wc, c);
	uint32_t back = wc->seats[of->seat].waiting, slot;
	struct replies r;

	if (of->open == 0) // its transaction timed out
		return;
	do
		slot = txn_slot_of(&it->txns, seat_number(wc, of->seat, back++));
	while (slot == TXN_NONE || wc->of_slot[slot] != c);
	replies_of_one(&r, (struct rte_mbuf *)(uintptr_t)m, wc->came, worker_late_to(wc->w, now));
	r.in[0] = (struct proto_message){.buf = wc->cs.message};
	txn_place(&it->txns, slot, &r.at[0]);
	it->ctx.stream = true;
	item_match(it, &r);
	it->ctx.stream = false;
	slot_ended(wc, c, slot, r.timed_out, now);
}

// Matches a complete message: it answers a transaction in flight on this connection, or none.
HOT void message_match(struct worker_conns *wc, uint32_t c, const struct rte_mbuf *m,
	const uint8_t *message, uint32_t len, uint64_t now)
{
	struct worker_item *it = wc->it;
	uint32_t slot = TXN_NONE;
	struct replies r;

	replies_of_one(&r, (struct rte_mbuf *)(uintptr_t)m, wc->came, worker_late_to(wc->w, now));
	r.in[0] = (struct proto_message){.buf = message, .len = len};
	r.at[0] = (struct txn_place){.client = conn_at(wc, c)->seat};
	if (!it->proto->key(message, len, &r.at[0].key)) {
		worker_book_malformed(it, NULL, message, len);
		worker_book(it, now >= it->pace.measure, EVIDENCE_MALFORMED, TXN_NONE, m, now);
		return;
	}
	if (wc->seat_count == 0)
		stream_place(wc, c, r.at[0].key, &r.at[0]);
	it->ctx.now_ms = worker_ms(wc->w, now);
	if (txn_find(&it->txns, &r.at[0], &slot) == TXN_MATCH &&
		it->txns.slots[slot].state == TXN_FLYING && wc->of_slot[slot] != c) {
		worker_book(it, now >= it->pace.measure, EVIDENCE_STRAY, TXN_NONE, m, now);
		return;
	}
	if (slot != TXN_NONE && it->txns.slots[slot].state != TXN_FLYING)
		slot = TXN_NONE;
	it->ctx.stream = true;
	it->ctx.idle_ms = UINT32_MAX;
	item_match(it, &r);
	it->ctx.stream = false;
	if (it->ctx.idle_ms != UINT32_MAX)
		conn_told_idle(wc, c);
	if (slot != TXN_NONE)
		slot_ended(wc, c, slot, r.timed_out, now);
}

// Finds the transaction of a stream. TXN_NONE: it is over.
static uint32_t stream_slot(const struct worker_conns *wc, uint32_t c, uint32_t tag)
{
	uint32_t slot = txn_slot_of(&wc->it->txns, txn_whole(&wc->it->txns, tag));

	return slot == TXN_NONE || wc->of_slot[slot] != c ? TXN_NONE : slot;
}

void worker_conn_leaving(struct worker_conns *wc, uint32_t c, uint64_t now)
{
	uint32_t tag, slot;

	worker_conn_leave(wc, c);
	while (conn_unheard(&wc->cs, c, &tag)) {
		slot = stream_slot(wc, c, tag);
		if (slot != TXN_NONE)
			slot_lose(wc, slot, true, now);
	}
	conn_go_on(wc, c, now);
}

// Judges the answer that came on the stream of a transaction.
static void stream_judge(struct worker_conns *wc, uint32_t slot, struct replies *r)
{
	struct worker_item *it = wc->it;
	uint32_t id;

	txn_place(&it->txns, slot, &r->at[0]);
	if (!it->proto->key(r->in[0].buf, r->in[0].len, &id))
		id = 0; // the protocol has a text for it
	*(wc->cs.quic ? &wc->cs.quic->counts->wrong_id : &wc->cs.https->counts->wrong_id) +=
		id != 0;
	it->ctx.now_ms = worker_ms(wc->w, r->now);
	it->ctx.stream = true;
	item_match(it, r);
	it->ctx.stream = false;
	if (it->txns.slots[slot].state == TXN_FLYING && !r->timed_out)
		worker_fail(it, slot, r, "no valid answer on its stream");
}

void worker_conn_stream(struct worker_conns *wc, uint32_t c, const struct rte_mbuf *m,
	const uint8_t *message, uint32_t len, uint64_t now)
{
	const struct conn_stream *s = &wc->cs.stream;
	struct worker_item *it = wc->it;
	struct replies r;
	uint32_t slot;

	if (s->event == STREAM_LEAVING) {
		worker_conn_leaving(wc, c, now);
		return;
	}
	slot = s->event == STREAM_LATE ? TXN_NONE : stream_slot(wc, c, s->tag);
	if (slot == TXN_NONE) {
		it->books.ledger[s->measured].late++;
		return;
	}
	if (s->event == STREAM_RESET) {
		slot_lose(wc, slot, s->may_repeat || wc->again, now);
		conn_go_on(wc, c, now);
		return;
	}
	replies_of_one(&r, (struct rte_mbuf *)(uintptr_t)m, wc->came, worker_late_to(wc->w, now));
	r.in[0] = (struct proto_message){.buf = message, .len = len};
	if (s->event == STREAM_MESSAGE)
		stream_judge(wc, slot, &r);
	else
		worker_fail(it, slot, &r, s->wrong);
	slot_ended(wc, c, slot, r.timed_out, now);
}

void worker_conn_is_open(struct worker_conns *wc, uint32_t c, uint64_t now)
{
	struct conn *of = conn_at(wc, c);
	uint32_t took = (uint32_t)(wc->came >> SINCE_SHIFT) - of->since;

	of->flags |= CONN_OPENED;
	counts_of(wc, now)->established++;
	wc->books.open += !(of->flags & CONN_SHUT);
	if (now >= wc->it->pace.measure && !(of->flags & CONN_LATE))
		hist_add(&wc->books.handshake, (uint64_t)took << SINCE_SHIFT);
}

static void conn_opened(struct worker_conns *wc, uint32_t c, uint64_t now)
{
	if (wc->cs.secure) {
		secure_begin(
			&wc->cs, c, wc->cs.secure->shared ? 0 : conn_at(wc, c)->seat, wc->came);
		conn_wake(&wc->cs, c, secure_deadline(&wc->cs, c));
	}
	worker_conn_is_open(wc, c, now);
}

uint32_t worker_conn_of_row(const struct worker_conns *wc, uint32_t row)
{
	uint32_t c = wc->cs.at[row & wc->cs.at_mask];

	while (c != CONN_NONE && wc->cs.all[c].row != row)
		c = wc->cs.all[c].chain;
	return c;
}

static void refuse(struct worker_conns *wc, uint32_t row, const struct tcp_segment *s)
{
	struct conn_head head;

	worker_conn_head(wc, row, &head);
	conns_refuse(&wc->cs, &wc->w->wire, &head, s);
}

// TLS of a connection after its messages were read: sees its end there, and that TCP's may have to
// wait. Returns the events that remain.
APART uint32_t secure_events(struct worker_conns *wc, uint32_t c, uint32_t events, uint64_t now)
{
	uint32_t flags = secure_flags(&wc->cs, c);
	bool is_shut = conn_at(wc, c)->flags & CONN_SHUT;

	if (events & TCP_ENDED && secure_holds_end(&wc->cs, c))
		return events & ~(uint32_t)TCP_ENDED;
	if (events & TCP_ENDED && !is_shut && flags & SECURE_OPEN && !secure_is_over(&wc->cs, c))
		wc->cs.secure->counts->no_close_notify++;
	if (events & (TCP_ENDED | TCP_GONE) || is_shut)
		return events;
	if (flags & SECURE_BROKEN)
		conn_give_up(wc, c, now);
	else if (flags & SECURE_CLOSED)
		return events | TCP_ENDED;
	return events;
}

// Matches the messages that came over TLS; `read` is for their capture.
APART void secured_match(
	struct worker_conns *wc, uint32_t c, const struct rte_mbuf *m, uint64_t now)
{
	struct conns *cs = &wc->cs;

	while (cs->all[c].tcp.state != TCP_CLOSED &&
		conn_message(cs, c, &wc->read, &wc->read_len)) {
		if (wc->it->keyless)
			worker_conn_stream(wc, c, m, wc->read, wc->read_len, now);
		else
			message_match(wc, c, m, wc->read, wc->read_len, now);
	}
	wc->read = NULL;
}

static inline void messages_match(
	struct worker_conns *wc, uint32_t c, const struct rte_mbuf *m, uint64_t now)
{
	struct conns *cs = &wc->cs;
	const uint8_t *message;
	uint32_t len;

	if (__builtin_expect(cs->secure != NULL, 0)) {
		secured_match(wc, c, m, now);
		return;
	}
	while (cs->all[c].tcp.state != TCP_CLOSED && conn_message(cs, c, &message, &len))
		message_match(wc, c, m, message, len, now);
}

static void conn_segment(struct worker_conns *wc, uint32_t c, const struct tcp_segment *s,
	const struct rte_mbuf *m, uint64_t now)
{
	struct conns *cs = &wc->cs;
	struct tcp *t = &cs->all[c].tcp;
	uint32_t events = tcp_input(&cs->host, t, s);

	if (events & TCP_STRANGE)
		refuse(wc, cs->all[c].row, s);
	if (events & TCP_OPENED)
		conn_opened(wc, c, now);
	if (events & TCP_OPENED && wc->connects)
		connect_match(wc, c, m, now);
	if (wc->silent && !wc->connects && wc->seat_count)
		silent_end(wc, c, now);
	if (events & TCP_DATA)
		messages_match(wc, c, m, now);
	if (events & TCP_DATA && t->state == TCP_CLOSED) {
		counts_of(wc, now)->no_memory++;
		events |= TCP_BROKEN;
	}
	if (__builtin_expect(cs->secure != NULL, 0))
		events = secure_events(wc, c, events, now);
	if (events & (TCP_ENDED | TCP_GONE))
		conn_ended(wc, c, events, now);
	conn_touch(cs, c);
}

// Reads the records behind the server's Finished: tickets, and answers to early data. They arrive
// when their keys do.
APART void read_rest(struct worker_conns *wc, uint32_t c, uint64_t now)
{
	uint32_t events = secure_flags(&wc->cs, c) & SECURE_ENDED ? TCP_ENDED : 0;
	struct tcp *t = &conn_at(wc, c)->tcp;

	if (!events && tcp_unread(&wc->cs.host, t) == 0)
		return;
	wc->came = now;
	secured_match(wc, c, NULL, now);
	if (t->state == TCP_CLOSED) {
		counts_of(wc, now)->no_memory++;
		events |= TCP_BROKEN;
	}
	events = secure_events(wc, c, events, now);
	if (events & (TCP_ENDED | TCP_GONE))
		conn_ended(wc, c, events, now);
	conn_touch(&wc->cs, c);
}

static void conn_shaken(struct conns *cs, uint32_t c, const struct crew_seat *seat, int how)
{
	struct worker_conns *wc = cs->of;
	uint64_t now = clock_time(wc->w->clock);

	if (how == SECURE_DONE && now >= wc->it->pace.measure) {
		struct hist *times = wc->books.tls_times;

		hist_add(&times[seat->facts->resumed ? TLS_RESUMED : TLS_FULL], now - seat->began);
		hist_add(&times[TLS_OWN], seat->ticks);
		hist_add(&times[TLS_QUEUED], seat->waited);
	}
	if (seat->waited > wc->late)
		cs->secure->counts->delayed += conn_at(wc, c)->open;
	if (how == SECURE_DONE && wc->silent)
		silent_left(wc, c);
	if (how == SECURE_DONE) {
		read_rest(wc, c, now);
		return;
	}
	counts_of(wc, now)->no_memory += how == SECURE_NO_MEMORY;
	if (how == SECURE_LOST)
		conn_ended(wc, c, TCP_ENDED, now);
	else
		conn_give_up(wc, c, now);
}

const struct conn_owner worker_conn_owner = {
	.head = worker_conn_head_of,
	.expired = worker_conn_expired,
	.gone = worker_conn_gone,
	.shaken = conn_shaken,
};

void worker_conn_rx(struct worker *w, struct worker_item *it, const struct txn_place *to,
	const struct rte_mbuf *m, const struct frame *f, uint64_t now, uint64_t came)
{
	struct worker_conns *wc = it->conns;
	uint32_t row = to->port * wc->client_count + to->client, c;
	struct tcp_segment s;

	if (f->src_port != it->server_port ||
		!addr_bytes_equal(f->src, it->server.bytes, f->addr_len)) {
		wire_other(&w->wire, FRAME_TCP, f);
		return;
	}
	if (!tcp_parse(f->payload, f->payload_len, &s)) {
		w->wire.counters.bad_frame++;
		return;
	}
	if (wc->behave && row >= wc->row_end) {
		worker_behave_rx(wc->behave, row, &s, now);
		return;
	}
	wc->cs.segments_in++;
	wc->came = came;
	worker_conn_clock(wc, now);
	c = worker_conn_of_row(wc, row);
	if (c == CONN_NONE)
		refuse(wc, row, &s);
	else
		conn_segment(wc, c, &s, m, now);
}

// --- the end of a run ---

// Drops the messages of a closed loop that wait at a seat: they were not due yet.
static void seat_drop(struct worker_conns *wc, uint32_t seat, uint64_t now)
{
	while (wc->seats[seat].waiting) {
		if (wc->silent)
			seat_count_silent(wc, seat, false);
		worker_drop(wc->it, seat_next(wc, seat), now);
	}
}

void worker_conn_end(struct worker_item *it, uint64_t now)
{
	struct worker_conns *wc = it->conns;

	if (wc->behave)
		worker_behave_end(wc->behave, now);
	for (uint32_t seat = 0; seat < wc->seat_count; seat++) {
		const struct conn_seat *at = &wc->seats[seat];

		if (!is_open_loop(wc))
			seat_drop(wc, seat, now);
		if (at->conn == CONN_NONE || at->waiting)
			continue;
		if (conn_at(wc, at->conn)->open == 0)
			conn_close(wc, at->conn);
		else
			worker_conn_leave(wc, at->conn);
	}
}

bool worker_conn_over(struct worker_item *it, uint64_t now)
{
	struct worker_conns *wc = it->conns;

	if (wc->quiet_at == 0)
		wc->quiet_at = now;
	return (wc->cs.used == 0 && (!wc->behave || wc->behave->cs.used == 0)) ||
	       txn_since(now, wc->quiet_at) > (int64_t)wc->patience;
}

void worker_conn_halt(struct worker *w, struct worker_item *it)
{
	struct conns *cs = &it->conns->cs;
	uint32_t tries = 0;

	for (uint32_t c = 0; c < cs->count && cs->used; c++) {
		if (cs->all[c].tcp.state == TCP_CLOSED)
			continue;
		it->conns->left += cs->all[c].tcp.state != TCP_TIME_WAIT &&
		                   cs->all[c].tcp.state != TCP_SYN_SENT;
		if (cs->quic)
			conn_shut(cs, c);
		else
			conn_abort(cs, c);
		cs->all[c].flags |= CONN_SHUT;
		conn_touch(cs, c);
	}
	while ((cs->ready_count || cs->out_count) && tries < HALT_TRIES)
		tries += conns_send(cs, &w->wire, &w->tx_no_mbuf) == 0;
	conns_halt(cs);
	if (it->conns->behave)
		conns_halt(&it->conns->behave->cs);
}
