// SPDX-License-Identifier: BSD-3-Clause
// The tester's loop: receive, send the transactions that are due, match replies, expire, publish a
// snapshot once an interval. Path: hot. The worker's own thread.
#include "engine/core/worker/worker.h"

#include "engine/core/wire.h"
#include "engine/core/worker/worker_idle.h"
#include "engine/core/worker/worker_conn.h"
#include "engine/core/worker/worker_internal.h"
#include "engine/core/worker/worker_servers.h"

#include <sched.h>
#include <string.h>

#include "engine/core/idle.h"
#include "io/burst.h"

#define EXPIRE_BURST 64
#define STOPPED      50 // stalls: longer than a time slice of another process
#define PUBLISH_HOLD 8  // passes by which a backlog of sends may delay a snapshot

// Expires the transactions of one queue that have waited for its timeout.
static void item_expire(struct worker *w, struct worker_item *it, uint32_t wait, uint64_t now)
{
	for (int i = 0; i < EXPIRE_BURST; i++) {
		uint32_t slot = txn_expired(&it->txns, wait, now, it->waits[wait]);

		if (slot == TXN_NONE)
			return;
		it->ctx.now_ms = worker_ms(w, now);
		if (item_time_out(it, slot, now) && it->conns)
			worker_conn_lost(it, slot);
	}
}

static void conn_books_copy(struct conn_books *to, const struct conn_books *from)
{
	memcpy(to, from, offsetof(struct conn_books, handshake));
	hist_copy(&to->handshake, &from->handshake);
	hist_copy(&to->first, &from->first);
	if (from->tls[0].begun + from->tls[1].begun == 0)
		return;
	for (int i = 0; i < TLS_TIMES; i++)
		hist_copy(&to->tls_times[i], &from->tls_times[i]);
}

static void item_copy_books(struct item_snapshot *to, const struct worker_item *it)
{
	to->pace = it->pace;
	if (it->ended)
		to->pace.left = it->left_over;
	to->ended_at = it->ended ? it->ended_at : UINT64_MAX;
	memcpy(&to->books, &it->books, offsetof(struct item_books, response));
	hist_copy(&to->books.response, &it->books.response);
	hist_copy(&to->books.service, &it->books.service);
	hist_copy(&to->books.lag, &it->books.lag);
	for (uint32_t n = 0, steps = proto_steps(it->proto); it->steps && n < steps; n++) {
		memcpy(&to->steps[n], &it->steps[n], offsetof(struct step_books, response));
		hist_copy(&to->steps[n].response, &it->steps[n].response);
		hist_copy(&to->steps[n].service, &it->steps[n].service);
	}
	if (it->conns && to->conns)
		conn_books_copy(to->conns, &it->conns->books);
	if (it->servers)
		memcpy(to->servers, it->servers->books, sizeof(to->servers));
	for (int bank = 0; bank < 2; bank++)
		memcpy(to->banks[bank], it->banks[bank], it->proto->counters->size);
}

#define COPY(member, help)       to->member = w->member;
#define COPY_PARTS(member, help) memcpy(to->member, w->member, sizeof(to->member));
#define COPY_HAND(member, help)  to->member = w->hand->member;

void worker_read(const struct worker *w, struct worker_snapshot *to)
{
	to->wire = w->wire.counters;
	QUEUE_COUNTERS(COPY)
	WORKER_COUNTERS(COPY, COPY, COPY_PARTS)
	PASS_COUNTERS(COPY, COPY, COUNTER_SKIP)
	if (w->hand) {
		HANDOFF_COUNTERS(COPY_HAND, COPY_HAND, COPY_HAND)
	}
}

// Applies a change of the rate by the user, between intervals: each interval has one rate.
static void item_obey(struct worker_item *it, uint64_t at)
{
	uint32_t number = atomic_load_explicit(&it->gap_number, memory_order_acquire);

	if (number == it->gap_taken ||
		at < atomic_load_explicit(&it->gap_at, memory_order_relaxed) ||
		!pace_change(
			&it->pace, atomic_load_explicit(&it->gap_asked, memory_order_relaxed), at))
		return;
	it->gap_taken = number;
	atomic_store_explicit(&it->gap_from, at, memory_order_relaxed);
}

// Drops the backlog of the warm-up, so that the measured part begins with messages of its own.
// Returns false if there is more.
static bool warmup_drop(struct worker *w)
{
	bool all = true;

	for (uint32_t i = 0; i < w->item_count; i++) {
		struct worker_item *it = &w->items[i];

		if (it->asks || it->pace.kind == PACE_OUTSTANDING)
			continue;
		it->books.ledger[0].due += pace_drop(&it->pace, w->times.measure);
		all = all && (it->pace.kind != PACE_RATE || it->pace.next >= w->times.measure);
	}
	return all;
}

static void worker_publish(struct worker *w, uint64_t at)
{
	uint64_t n = atomic_load_explicit(&w->published, memory_order_relaxed) + 1;
	struct worker_snapshot *s = &w->snapshots[w->filling];

	if (at == w->times.measure && !warmup_drop(w))
		return;

	for (uint32_t i = 0; i < w->item_count; i++) {
		item_copy_books(&s->items[i], &w->items[i]);
		w->items[i].interval_from = at;
		item_obey(&w->items[i], at);
		if (at > w->items[i].earlier_than)
			w->items[i].earlier_than = at;
	}
	s->at = at;
	s->number = n;
	worker_read(w, s);
	w->held = 0;
	w->next_publish += w->times.interval;
	w->filling = ~SNAPSHOT_NEW & atomic_exchange_explicit(&w->handed, w->filling | SNAPSHOT_NEW,
					     memory_order_acq_rel);
	atomic_store_explicit(&w->published, n, memory_order_release);
}

// Returns whether the item begins nothing more: sending has ended (by time or by the phase), or all
// is sent. Sends that were due before the end may still leave within the grace.
static bool item_over(const struct worker *w, const struct worker_item *it, uint64_t now)
{
	if (now >= w->stop_at + w->times.grace)
		return true;
	if (it->pending_first < it->pending_count)
		return false;
	if (it->pace.kind == PACE_OUTSTANDING && it->conns && it->conns->waiting &&
		now < w->stop_at)
		return false;
	if (pace_over(&it->pace, now))
		return true;
	return now >= w->stop_at &&
	       (it->pace.kind != PACE_RATE || !pace_ready(&it->pace, w->stop_at - 1, 0));
}

static void item_end(struct worker *w, struct worker_item *it, uint64_t now)
{
	uint64_t stop = w->stop_at < it->pace.stop ? w->stop_at : it->pace.stop;

	it->ended_at = now < stop ? now : stop;
	item_silence(it, it->ended_at);
	if (it->servers)
		servers_end(it, it->ended_at);
	it->answered_at = it->ended_at + INT64_MAX / 2;
	it->left_over = it->pace.left;
	if (it->asks)
		it->pace.waiting = it->proto->waiting(&it->ctx, worker_ms(w, it->ended_at));
	it->pace.left = 0;
	it->ended = true;
	worker_drop_pending(it, now);
	if (it->conns)
		worker_conn_end(it, now);
}

// Ends the items that have nothing more to send. The worker has finished when all have ended and no
// transaction is in flight.
static void worker_wind_down(struct worker *w, uint64_t now)
{
	bool finished = true;

	w->all_ended = true;
	for (uint32_t i = 0; i < w->item_count; i++) {
		struct worker_item *it = &w->items[i];

		if (!it->ended && item_over(w, it, now))
			item_end(w, it, now);
		w->all_ended = w->all_ended && it->ended;
		finished = it->ended && it->txns.in_flight == 0 &&
		           (!it->conns || worker_conn_over(it, now)) && finished;
	}
	if (finished && !atomic_load_explicit(&w->finished, memory_order_relaxed))
		atomic_store_explicit(&w->finished, true, memory_order_release);
}

static void worker_account(struct worker *w, uint64_t before, uint64_t now, bool worked)
{
	bool judged = before >= w->times.measure && before < w->stop_at && !w->all_ended;

	if (worked)
		w->busy[judged] += now - before;
	// A stop of this process may have stopped its peer too: outstanding replies get as much
	// extra time, counted while this worker runs.
	if (now - before > STOPPED * w->stall) {
		w->back_at = now;
		w->expire_after = w->expire_after > before ? w->expire_after + (now - before)
		                                           : now + STOPPED * w->stall;
	}
	if (!judged)
		return;
	hist_add(&w->passes, now - before);
	if (now - before > w->stall) {
		w->gaps_over_1ms++;
		w->stolen += now - before;
	}
}

enum item_kind item_kind_of(const struct worker_item *it)
{
	static const enum item_kind narrow[] = {ITEM_PLAIN, ITEM_CONNS, ITEM_ROUTED};
	unsigned has = (it->begin ? HAS_PICKS : 0) | (it->router ? HAS_ROUTER : 0) |
	               (it->conns ? HAS_CONNS : 0) |
	               (it->servers || it->any_port ? HAS_SERVERS : 0) |
	               (it->steps ? HAS_STEPS : 0) | (it->evidence ? HAS_EVIDENCE : 0) |
	               (it->followers ? HAS_FOLLOWERS : 0);

	for (unsigned i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++)
		if ((has & ~kind_features[narrow[i]]) == 0)
			return narrow[i];
	return ITEM_FULL;
}

void worker_item_ready(struct worker_item *it)
{
	bool one_source = it->source_ranges == 1 && it->sources[0].count == 1;

	it->kind = item_kind_of(it);
	it->way = it->stream || it->any_port   ? PLAIN_NONE
	          : it->router                 ? PLAIN_ROUTED
	          : one_source && !it->servers ? PLAIN_ONE
	                                       : PLAIN_SEVERAL;
	if (it->way == PLAIN_ROUTED)
		frame_mask_make(&it->plain, it->frames->addr_len, NULL, 0, NULL);
	else
		frame_mask_make(&it->plain, it->server.len, it->servers ? NULL : it->server.bytes,
			it->server_port, one_source ? it->sources[0].first.bytes : NULL);
}

void worker_begin(struct worker *w)
{
	w->stop_at = w->times.end;
	w->look_at = w->times.start + w->look_every;
	for (uint32_t i = 0; i < w->item_count; i++) {
		w->items[i].interval = w->times.interval;
		worker_item_ready(&w->items[i]);
	}
	w->next_publish = w->times.measure;
	while (w->next_publish > w->times.start + w->times.interval)
		w->next_publish -= w->times.interval;
}

// Returns the tick before which nothing in a queue expires; later sends are appended to it.
static uint64_t item_next_expiry(struct worker_item *it, uint32_t wait, uint64_t now)
{
	uint32_t first;

	if (!txn_settle(&it->txns))
		return now;
	first = txn_oldest(&it->txns, wait);
	return it->waits[wait] + (first == TXN_NONE ? now : it->txns.slots[first].time);
}

// Nearly always nothing has expired, which one comparison shows.
static void worker_expire(struct worker *w, uint64_t now)
{
	uint64_t next = UINT64_MAX, at;

	if (now < w->next_expiry)
		return;
	for (uint32_t i = 0; i < w->item_count; i++) {
		for (uint32_t wait = 0; wait < w->items[i].txns.waits; wait++) {
			item_expire(w, &w->items[i], wait, now);
			at = item_next_expiry(&w->items[i], wait, now);
			next = at < next ? at : next;
		}
	}
	w->next_expiry = next;
}

// Returns whether all packets received up to now were handled, so that transactions may expire: the
// queue ran empty, or more packets were taken from it since than it can hold.
static bool worker_is_caught_up(struct worker *w, uint16_t received)
{
	if (received == w->wire.burst && ++w->full_bursts < EXPIRE_AFTER_BURSTS)
		return false;
	w->full_bursts = 0;
	return true;
}

static uint16_t worker_send(struct worker *w, uint64_t until)
{
	uint16_t n = worker_tx(w, until);

	for (uint32_t i = 0; i < w->item_count; i++)
		if (w->items[i].conns)
			n += worker_conn_tx(w, &w->items[i], until);
	return n;
}

// Received packets are in no cache of this CPU yet: they are fetched while others are sent.
bool worker_pass(struct worker *w, uint64_t now)
{
	struct received r;
	uint64_t until = now < w->stop_at ? now : w->stop_at - 1;
	uint16_t received, sent;

	if (now >= w->look_at ||
		w->moved != atomic_load_explicit(&w->wire.neighbours->moved, memory_order_relaxed))
		worker_hops(w, now);
	if (until >= w->next_publish)
		until = w->next_publish - 1; // the next interval begins after its snapshot
	worker_rx(w, &r);
	received = r.count;
	sent = worker_send(w, until);
	if (r.count)
		worker_look(w, &r);
	if (w->hand)
		received = worker_exchange(w, received, now);
	if (now >= w->next_publish && (sent < w->wire.burst || ++w->held > PUBLISH_HOLD))
		worker_publish(w, w->next_publish);
	if (worker_is_caught_up(w, received) && now >= w->expire_after)
		worker_expire(w, w->hand ? w->hand->until : now);
	worker_wind_down(w, now);
	return received || sent;
}

// Releases everything in PHASE_STOP. An item that has ended may have built a further message since.
static void worker_halt(struct worker *w, uint64_t now)
{
	for (uint32_t i = 0; i < w->item_count; i++) {
		if (!w->items[i].ended)
			item_end(w, &w->items[i], now);
		worker_drop_pending(&w->items[i], now);
		if (w->items[i].conns)
			worker_conn_halt(w, &w->items[i]);
		if (w->items[i].follows)
			w->items[i].proto->follower->over(&w->items[i].ctx);
	}
	burst_free(w->spare, w->spare_count);
	w->spare_count = 0;
	wire_fragments_end(&w->wire);
}

bool worker_turn(struct worker *w, uint64_t *at)
{
	uint32_t phase = atomic_load_explicit(w->phase, memory_order_acquire);
	uint64_t now = *at, before;
	bool worked;

	if (phase == PHASE_STOP) {
		worker_halt(w, now);
		return false;
	}
	if (phase == PHASE_DRAIN && now < w->stop_at)
		w->stop_at = now;
	worked = worker_pass(w, now);
	if (w->yields && !worked)
		sched_yield();
	before = w->idle.sleeps ? worker_rest(w, now, worked) : now;
	*at = clock_time(w->clock);
	worker_account(w, before, *at, worked);
	return true;
}

int worker_loop(void *arg)
{
	struct worker *w = arg;
	uint64_t now = clock_time(w->clock);

	worker_begin(w);
	if (w->idle.sleeps)
		wait_prepare();
	while (worker_turn(w, &now))
		;
	return 0;
}
