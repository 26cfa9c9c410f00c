// SPDX-License-Identifier: BSD-3-Clause
// When a loop has something to do next, and whether and how long it sleeps until then.
// Path: cold. The loop's own thread, between two passes.
#include "engine/core/idle.h"

#include "base/clock.h"
#include "engine/core/responder.h"
#include "engine/core/worker_conn.h"
#include "engine/core/worker_internal.h"

#define LONGEST_NS 5000000   // told to end, it does not take longer
#define MOMENT_NS  1000000   // the same where others wait for it
#define BLIND_NS   50000     // where no packet wakes it
#define LEAST_NS   3000      // for less it is not worth it
#define SPIN_NS    50000     // after it had work
#define CROWDED_NS 300000000 // after others had its CPU
#define LEARNS     8         // timers

#define BUCKETS_SEEN 64 // of a wheel of deadlines

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

// A closed loop sends whenever it may: when it was answered, and while it is allowed more and more.
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

// Deadlines and segments of connections: at the latest, as only some buckets are looked at.
static uint64_t conns_due(const struct conns *cs, const struct clock *clock, uint64_t now)
{
	uint64_t bucket = (cs->host.now >> CONN_BUCKET_SHIFT) + 1;
	uint32_t turn = cs->turn;

	if (cs->ready_count || cs->out_first < cs->out_count)
		return now;
	if (cs->timed == 0)
		return UINT64_MAX;
	for (int i = 0; i < BUCKETS_SEEN && cs->buckets[turn % CONN_BUCKETS] == CONN_NONE; i++) {
		turn++;
		bucket++;
	}
	return cs->start + clock_ticks(clock, (bucket << CONN_BUCKET_SHIFT) * 1000) + 1;
}

// What an item does with its connections beside messages that are due.
static uint64_t item_conns_due(const struct worker_item *it, uint64_t now)
{
	const struct worker_conns *wc = it->conns;
	const struct clock *clock = wc->w->clock;
	const struct worker_behave *b = wc->behave;
	uint64_t due = conns_due(&wc->cs, clock, now), over = wc->quiet_at + wc->patience + 1;

	if (txn_first(&it->txns, it->txns.stream) != TXN_NONE)
		return now;
	if (b)
		due = earlier(due, conns_due(&b->cs, clock, now));
	if (b && !b->ended)
		due = earlier(due, b->next_at);
	if (wc->open_gap && !it->ended)
		due = earlier(due, wc->open_at);
	return wc->quiet_at && now < over ? earlier(due, over) : due;
}

// A protocol says what is due by now, to the millisecond; one begins with the tick after what a
// division that rounds down makes of it. A reply may have changed that since the last pass.
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
		return earlier(due, asked_due(w, it, now));
	if (it->ended)
		return due;
	paced = pace_due(&it->pace, now, it->txns.in_flight);
	if (paced <= now && it->txns.in_flight == it->txns.count)
		return due; // the next slot is free when a transaction ends
	return earlier(due, paced);
}

// All that a pass looks at has a time here, except packets that arrive.
uint64_t idle_due(const struct worker *w, uint64_t now)
{
	uint64_t due = earlier(w->next_publish, w->look_at), end = w->stop_at;
	bool waits = false;

	if (now >= end)
		end += w->times.grace;
	if (!w->all_ended && end > now)
		due = earlier(due, end);
	for (uint32_t i = 0; i < w->item_count; i++) {
		due = earlier(due, item_due(w, &w->items[i], now));
		waits = waits || w->items[i].txns.in_flight;
	}
	if (waits)
		due = earlier(
			due, w->next_expiry > w->expire_after ? w->next_expiry : w->expire_after);
	return due > now ? due : now;
}

uint64_t idle_responder_due(const struct responder *r, uint64_t now)
{
	uint64_t due = r->faults.active ? delay_due(&r->faults.delay) : UINT64_MAX;

	if (atomic_load_explicit(&r->asked, memory_order_relaxed) !=
			atomic_load_explicit(&r->told, memory_order_relaxed) ||
		(r->conns && r->conns->more_count))
		return now;
	if (r->swapped)
		due = earlier(due, r->swapped_at + r->patience + 1);
	return r->conns ? earlier(due, conns_due(&r->conns->cs, r->clock, now)) : due;
}

// Others had the CPU if a pass, or a timer, took longer than one does: for a while it leaves the
// CPU whenever it can, and gets it back the sooner. Returns `worked`.
static bool idle_look(struct idle *i, const struct clock *clock, uint64_t now, bool worked)
{
	if (i->turn_at && now - i->turn_at > i->stall)
		i->crowded_to = now + clock_ticks(clock, CROWDED_NS);
	i->turn_at = now;
	if (worked)
		i->active_at = now;
	return worked;
}

// How late timers are, in the mean of the last ones.
static void idle_learn(struct idle *i, const struct clock *clock, uint64_t late)
{
	if (late > i->stall)
		i->crowded_to = i->turn_at + clock_ticks(clock, CROWDED_NS);
	else
		i->late += late / LEARNS - i->late / LEARNS;
}

// Sleep from `now` until `due`, or not: the tick at which it woke up, or `now`. longest: ns.
static uint64_t idle_rest(
	struct idle *i, const struct clock *clock, uint64_t now, uint64_t due, uint64_t longest)
{
	bool crowded = !i->spins || now < i->crowded_to;
	uint64_t early = crowded ? 0 : i->late, ns, woke;

	if (!crowded && now - i->active_at < clock_ticks(clock, SPIN_NS))
		return now;
	if (due <= now + early)
		return now;
	ns = (uint64_t)clock_ns(clock, due - now - early);
	if (ns < LEAST_NS)
		return now;
	ns = ns < longest ? ns : longest;
	wait_for(&i->wait, ns);
	woke = clock_time(clock);
	i->turn_at = woke;
	if (woke - now > clock_ticks(clock, ns))
		idle_learn(i, clock, woke - now - clock_ticks(clock, ns));
	return woke;
}

// Where no packet wakes it, it looks for one often if one may come. Several workers of a port wait
// for each other's progress, and for packets that another one received, except with sockets, of
// which each has its own.
static uint64_t worker_longest(const struct worker *w)
{
	bool blind = w->idle.wait.count == 0 || (w->hand && !w->idle.wait.own);
	bool waits = w->hand != NULL;

	for (uint32_t i = 0; i < w->item_count; i++)
		waits = waits || w->items[i].txns.in_flight || w->items[i].conns;
	if (blind && waits)
		return BLIND_NS;
	return blind || w->hand ? MOMENT_NS : LONGEST_NS;
}

uint64_t idle_turn(struct worker *w, uint64_t now, bool worked)
{
	uint64_t due, until;

	if (idle_look(&w->idle, w->clock, now, worked))
		return now;
	due = idle_due(w, now);
	until = idle_rest(&w->idle, w->clock, now, due, worker_longest(w));
	until = earlier(due, until);
	if (now >= w->times.measure)
		w->slept += until - now;
	return until;
}

uint64_t idle_responder_turn(struct responder *r, uint64_t now, bool worked)
{
	uint64_t due, woke;

	if (idle_look(&r->idle, r->clock, now, worked))
		return now;
	due = idle_responder_due(r, now);
	woke = idle_rest(&r->idle, r->clock, now, due, r->idle.wait.count ? MOMENT_NS : BLIND_NS);
	return earlier(due, woke);
}
