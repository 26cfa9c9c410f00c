// SPDX-License-Identifier: BSD-3-Clause
// Finds out when a worker has something to do next.
// Path: cold. The worker's own thread, between two passes.
#include "engine/core/worker/worker_idle.h"

#include "base/clock.h"
#include "engine/core/idle.h"
#include "engine/core/worker/worker_conn.h"
#include "engine/core/worker/worker_internal.h"
#include "engine/core/worker/worker_tx.h"

// A closed loop sends whenever it may: after a reply, and while its limit grows.
static uint64_t pace_due(const struct pace *p, uint64_t now, uint64_t in_flight)
{
	uint64_t allowed;

	if (p->left == 0)
		return PACE_NEVER;
	if (p->kind == PACE_RATE || p->next > now)
		return p->next;
	if (now < p->stop && pace_ready(p, now, in_flight))
		return now;
	if (p->kind == PACE_MAX || now - p->next >= p->ramp_up)
		return p->stop > now ? p->stop : PACE_NEVER;
	allowed = pace_allowed(p, now);
	return p->next + (uint64_t)(((fixed)allowed << 64) / p->ramp_scale) + 1;
}

// Returns when an item has to handle its connections, apart from messages that are due.
static uint64_t item_conns_due(const struct worker_item *it, uint64_t now)
{
	const struct worker_conns *wc = it->conns;
	const struct clock *clock = wc->w->clock;
	const struct worker_behave *b = wc->behave;
	uint64_t due = idle_conns_due(&wc->cs, clock, now), over = wc->quiet_at + wc->patience + 1;

	if (txn_first(&it->txns, it->txns.stream) != TXN_NONE)
		return now;
	if (b)
		due = idle_earlier(due, idle_conns_due(&b->cs, clock, now));
	if (b && !b->ended)
		due = idle_earlier(due, b->next_at);
	if (wc->open_gap && !it->ended)
		due = idle_earlier(due, wc->open_at);
	return wc->quiet_at && now < over ? idle_earlier(due, over) : due;
}

// Returns when the protocol has its next transaction. It knows only whether one is due by now, to
// the millisecond; if not, it is asked again one tick into the next, as the conversion rounds down.
// A reply may have changed that since the last pass.
static uint64_t asked_due(const struct worker *w, struct worker_item *it, uint64_t now)
{
	struct pace next = it->pace;

	it->ctx.now_ms = worker_ms(w, now);
	worker_ask(it);
	if (it->pace.next != PACE_LATER)
		return pace_due(&it->pace, now, it->txns.in_flight);
	pace_ask(&next, it->ctx.now_ms + 1);
	return next.next + (next.next != PACE_NEVER);
}

static uint64_t item_due(const struct worker *w, struct worker_item *it, uint64_t now)
{
	uint64_t due = it->conns ? item_conns_due(it, now) : UINT64_MAX, paced;

	if (it->pending_first < it->pending_count ||
		txn_first(&it->txns, it->txns.again) != TXN_NONE)
		return now;
	if (it->asks && !it->ended)
		return idle_earlier(due, asked_due(w, it, now));
	if (it->ended)
		return due;
	paced = pace_due(&it->pace, now, it->txns.in_flight);
	if (paced <= now && it->txns.in_flight == it->txns.count)
		return due; // the next slot is free when a transaction ends
	return idle_earlier(due, paced);
}

// Covers all work of a pass except arriving packets.
uint64_t worker_due(const struct worker *w, uint64_t now)
{
	uint64_t due = idle_earlier(w->next_publish, w->look_at), end = w->stop_at;
	bool waits = false;

	if (now >= end)
		end += w->times.grace;
	if (!w->all_ended && end > now)
		due = idle_earlier(due, end);
	for (uint32_t i = 0; i < w->item_count; i++) {
		due = idle_earlier(due, item_due(w, &w->items[i], now));
		waits = waits || w->items[i].txns.in_flight;
	}
	if (waits)
		due = idle_earlier(
			due, w->next_expiry > w->expire_after ? w->next_expiry : w->expire_after);
	return due > now ? due : now;
}

// If no packet can wake it, the worker looks for packets often while some may come. Several workers
// of a port wait for each other's progress, and for packets that another one received, except with
// sockets, as each has its own.
static uint64_t worker_longest(const struct worker *w)
{
	bool blind = w->idle.wait.count == 0 || (w->hand && !w->idle.wait.own);
	bool waits = w->hand != NULL;

	for (uint32_t i = 0; i < w->item_count; i++)
		waits = waits || w->items[i].txns.in_flight || w->items[i].conns;
	if (blind && waits)
		return IDLE_BLIND_NS;
	return blind || w->hand ? IDLE_MOMENT_NS : IDLE_LONGEST_NS;
}

uint64_t worker_rest(struct worker *w, uint64_t now, bool worked)
{
	uint64_t due, until;

	if (idle_look(&w->idle, w->clock, now, worked))
		return now;
	due = worker_due(w, now);
	until = idle_rest(&w->idle, w->clock, now, due, worker_longest(w));
	until = idle_earlier(due, until);
	if (now >= w->times.measure)
		w->slept += until - now;
	return until;
}
