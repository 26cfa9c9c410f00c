// SPDX-License-Identifier: BSD-3-Clause
// The stepper, and the links. Path: tests only.
#include "engine/core/worker/worker_idle.h"
#include "engine/core/responder/responder_idle.h"
#include "world.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#include <time.h>

#include <rte_mbuf.h>

#include "engine/core/idle.h"
#include "engine/core/responder/responder.h"
#include "engine/core/worker/worker.h"
#include "io/driver/launch.h"
#include "machine.h"

#define LOOPS     (2 * WORLD_CPUS + 8)
#define REST_MOST 10000      // passes at one instant: a loop that never rests is a fault
#define VAIN_MOST 3          // turns without a packet: what expires is sent again in the next one
#define RETRY_NS  10000      // of a loop that has something to do and cannot
#define FILE_NS   1000000    // between two looks of a loop for packets that no link brings
#define LOOK_NS   1000000000 // a loop is given a turn as often, whatever it says is due

// A worker, a responder, or a thread that runs in turn with the others.
struct loop {
	bool used;
	struct worker *w;
	struct responder *r;
	struct thread *t;
	uint32_t number; // of the worker
	uint64_t at;     // tick with which its last turn ended
	uint64_t due;
	uint64_t busy;   // tick until which it is busy with the packets of its last turn
	uint32_t passes; // at this instant
	uint32_t phase;  // of the run, at its last turn
	uint32_t vain;   // turns in a row in which no packet moved, though something was due
};

// A thread that has the CPU only while the stepper waits for it.
struct thread {
	pthread_t id;
	void *(*run)(void *);
	void *arg;
	bool its_turn, ended;
	uint64_t due;
};

static struct world {
	struct world_settings settings;
	uint64_t now;
	struct loop loops[LOOPS];
	uint32_t loop_count; // those in use are among the first so many
	struct rand order;
	uint64_t ways; // made so far
	struct way_counts counts;
	bool in_turn;
	pthread_t main;
} world;

// --- settings ---

enum kind { KIND_SHARE, KIND_NUMBER, KIND_COUNT, KIND_TIME };

static const struct row {
	const char *key;
	enum kind kind;
	size_t at;
} rows[] = {
	{"seed", KIND_COUNT, offsetof(struct world_settings, seed)},
	{"delay", KIND_TIME, offsetof(struct world_settings, link.delay_ns)},
	{"jitter", KIND_TIME, offsetof(struct world_settings, link.jitter_ns)},
	{"loss", KIND_SHARE, offsetof(struct world_settings, link.loss)},
	{"duplicate", KIND_SHARE, offsetof(struct world_settings, link.duplicate)},
	{"reorder", KIND_SHARE, offsetof(struct world_settings, link.reorder)},
	{"corrupt", KIND_SHARE, offsetof(struct world_settings, link.corrupt)},
	{"rate", KIND_NUMBER, offsetof(struct world_settings, link.bits_per_s)},
	{"queue", KIND_COUNT, offsetof(struct world_settings, link.queue)},
	{"down_from", KIND_TIME, offsetof(struct world_settings, link.down_from)},
	{"down_to", KIND_TIME, offsetof(struct world_settings, link.down_to)},
	{"cost", KIND_TIME, offsetof(struct world_settings, cost_ns)},
	{"stamps", KIND_COUNT, offsetof(struct world_settings, stamps)},
	{"spread", KIND_COUNT, offsetof(struct world_settings, spread)},
};

// Without sign, and no other word for a number.
static bool is_number(const char *text)
{
	return (*text >= '0' && *text <= '9') || *text == '.';
}

static bool is_end(const char *text)
{
	return *text == ' ' || *text == '\0';
}

// "1.5ms" and the like, in ns. *end: behind it; the same as text if there is none.
static uint64_t time_parse(const char *text, char **end)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	double value = is_number(text) ? strtod(text, end) : 0;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t len = strlen(units[i].name);

		if (strncmp(*end, units[i].name, len) != 0)
			continue;
		*end += len;
		return (uint64_t)(value * units[i].ns + 0.5);
	}
	*end = (char *)(uintptr_t)text;
	return 0;
}

static bool row_parse(const struct row *r, const char *value, struct world_settings *out)
{
	char *end = NULL, *at = (char *)out + r->at;

	if (!is_number(value))
		return false;
	switch (r->kind) {
	case KIND_SHARE:
	case KIND_NUMBER:
		*(double *)at = strtod(value, &end);
		if (r->kind == KIND_SHARE && *(double *)at > 1)
			return false;
		break;
	case KIND_TIME:
		*(uint64_t *)at = time_parse(value, &end);
		break;
	case KIND_COUNT:
		*(uint64_t *)at = strtoull(value, &end, 10);
		break;
	}
	return end != value && is_end(end);
}

// "WORKER:FROM-TO"
static bool away_parse(const char *value, struct world_settings *out)
{
	struct world_away *a = &out->away[out->away_count];
	char *end;

	if (out->away_count == WORLD_AWAY || !is_number(value))
		return false;
	a->worker = (uint32_t)strtoul(value, &end, 10);
	if (*end++ != ':')
		return false;
	a->from = time_parse(end, &end);
	if (*end++ != '-')
		return false;
	a->to = time_parse(end, &end);
	out->away_count++;
	return a->to > a->from && is_end(end);
}

static bool setting_parse(const char *text, size_t key, struct world_settings *out)
{
	if (key == 4 && strncmp(text, "away", key) == 0)
		return away_parse(text + key + 1, out);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strlen(rows[i].key) == key && strncmp(text, rows[i].key, key) == 0)
			return row_parse(&rows[i], text + key + 1, out);
	return false;
}

const char *world_parse(const char *text, struct world_settings *out)
{
	static char why[200];

	*out = (struct world_settings){.seed = 1, .link.delay_ns = 1000, .cost_ns = 200};
	while (*(text += strspn(text, " "))) {
		size_t len = strcspn(text, " "), key = strcspn(text, "=");

		if (key >= len || !setting_parse(text, key, out))
			break;
		text += len;
	}
	if (*text == '\0')
		return NULL;
	snprintf(why, sizeof(why),
		"\"%.*s\" is not a setting, which is KEY=VALUE, such as delay=1ms, loss=0.01 or "
		"away=0:1s-1.2s",
		(int)strcspn(text, " "), text);
	return why;
}

static pthread_mutex_t baton = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t passed = PTHREAD_COND_INITIALIZER;
static __thread struct thread *self; // NULL: the main thread

static void fail(const char *what, const struct loop *l)
{
	fprintf(stderr, "stepped: %s (%s, worker %u, at %.9f s)\n", what,
		l->w   ? "tester"
		: l->r ? "responder"
		       : "thread",
		l->number, 1e-9 * (double)(world.now - WORLD_START));
	abort();
}

// --- links ---

struct arrival {
	uint64_t at;
	struct rte_mbuf *m;
};

struct way {
	struct arrival *list; // a ring, by time
	uint32_t mask, first, count;
	uint32_t arrived; // of them, that were seen to have arrived
	uint64_t free_at; // the wire
	uint64_t dropped;
	struct rand rand;
};

struct way *way_new(void)
{
	struct way *w = calloc(1, sizeof(*w));

	w->mask = 255;
	w->list = calloc(w->mask + 1, sizeof(*w->list));
	w->rand.state = rand_hash(world.settings.seed ^ (++world.ways << 32));
	return w;
}

static struct arrival *arrival_at(const struct way *w, uint32_t i)
{
	return &w->list[(w->first + i) & w->mask];
}

void way_free(struct way *w)
{
	for (uint32_t i = 0; i < w->count; i++)
		rte_pktmbuf_free(arrival_at(w, i)->m);
	free(w->list);
	free(w);
}

static void way_grow(struct way *w)
{
	struct arrival *list = calloc(2 * (w->mask + 1ull), sizeof(*list));

	for (uint32_t i = 0; i < w->count; i++)
		list[i] = *arrival_at(w, i);
	free(w->list);
	w->list = list;
	w->first = 0;
	w->mask = 2 * w->mask + 1;
}

static void way_put(struct way *w, struct rte_mbuf *m, uint64_t at)
{
	uint32_t i = w->count;

	if (w->count > w->mask)
		way_grow(w);
	w->count++;
	for (; i > 0 && arrival_at(w, i - 1)->at > at; i--)
		*arrival_at(w, i) = *arrival_at(w, i - 1);
	*arrival_at(w, i) = (struct arrival){at, m};
}

// From 0 to below 1.
static double rand_unit(struct rand *r)
{
	return (double)(rand_next(r) >> 11) * 0x1p-53;
}

// Does it happen to this packet? Each share has a number of its own, so that another share changes
// none of its draws.
static bool happens(struct way *w, double share)
{
	return rand_unit(&w->rand) < share;
}

static bool is_down(const struct link_settings *l)
{
	uint64_t since = world.now - WORLD_START;

	return since >= l->down_from && since < l->down_to;
}

void way_send(struct way *w, struct rte_mbuf *m)
{
	const struct link_settings *l = &world.settings.link;
	uint64_t at = world.now;
	bool lost = happens(w, l->loss), twice = happens(w, l->duplicate);
	bool corrupt = happens(w, l->corrupt), late = happens(w, l->reorder);
	double jitter = rand_unit(&w->rand);
	struct rte_mbuf *copy;

	world.counts.sent++;
	if (lost || is_down(l)) {
		world.counts.lost++;
		rte_pktmbuf_free(m);
		return;
	}
	if (l->bits_per_s > 0) {
		at = at > w->free_at ? at : w->free_at;
		at += (uint64_t)(8e9 * (m->pkt_len + 24.0) / l->bits_per_s);
		w->free_at = at;
	}
	at += l->delay_ns + (uint64_t)(jitter * (double)l->jitter_ns);
	if (late) {
		at += (uint64_t)(jitter * 10 * (double)l->delay_ns);
		world.counts.delayed++;
	}
	if (corrupt) {
		device_corrupt(m, rand_next(&w->rand));
		world.counts.corrupted++;
	}
	copy = twice ? device_copy(m) : NULL;
	way_put(w, m, at);
	if (copy) {
		way_put(w, copy, at);
		world.counts.duplicated++;
	}
}

// What finds the queue full when it arrives is dropped.
static void way_arrive(struct way *w)
{
	uint64_t most = world.settings.link.queue;

	for (uint32_t i = w->arrived; i < w->count && arrival_at(w, i)->at <= world.now; i++)
		w->arrived++;
	while (most && w->arrived > most) {
		struct rte_mbuf *m = arrival_at(w, --w->arrived)->m;

		for (uint32_t i = w->arrived; i + 1 < w->count; i++)
			*arrival_at(w, i) = *arrival_at(w, i + 1);
		w->count--;
		world.counts.dropped++;
		w->dropped++;
		rte_pktmbuf_free(m);
	}
}

uint16_t way_take(struct way *w, struct rte_mbuf **pkts, uint16_t n)
{
	way_arrive(w);
	n = n < w->arrived ? n : (uint16_t)w->arrived;
	for (uint16_t i = 0; i < n; i++)
		device_stamp(pkts[i] = arrival_at(w, i)->m, arrival_at(w, i)->at);
	w->first += n;
	w->count -= n;
	w->arrived -= n;
	return n;
}

uint64_t way_dropped(const struct way *w)
{
	return w->dropped;
}

uint64_t way_due(const struct way *w)
{
	return w->count ? arrival_at(w, 0)->at : UINT64_MAX;
}

const struct way_counts *world_counts(void)
{
	return &world.counts;
}

// --- turns ---

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t queue_due(const struct loop *l, uint16_t device, uint16_t queue)
{
	const struct way *w = device_way(device, queue);

	return w ? way_due(w) : l->at + FILE_NS;
}

// When the next packet for it arrives.
static uint64_t loop_arrival(const struct loop *l)
{
	uint64_t due = UINT64_MAX;

	if (l->w)
		return queue_due(l, l->w->wire.port, l->w->wire.queue);
	for (uint32_t q = l->r ? l->r->queue_first : 0; l->r && q < l->r->queue_end;
		q += l->r->queue_step)
		due = earlier(due, queue_due(l, l->r->queues[q].device, l->r->queues[q].number));
	return due;
}

// When it has anything else to do.
static uint64_t loop_due(const struct loop *l)
{
	uint64_t due;

	if (l->t)
		return l->t->due;
	due = l->w ? worker_due(l->w, world.now) : responder_due(l->r, world.now);
	return earlier(due, world.now + LOOK_NS);
}

// Everything that the loop has done so far, to see whether a turn did anything.
static uint64_t loop_work(const struct loop *l)
{
	if (l->t)
		return 0;
	if (l->r)
		return l->r->tx_given + l->r->counts.received;
	return l->w->tx_given + l->w->received;
}

static void thread_turn(struct thread *t)
{
	pthread_mutex_lock(&baton);
	t->its_turn = true;
	pthread_cond_broadcast(&passed);
	while (t->its_turn)
		pthread_cond_wait(&passed, &baton);
	pthread_mutex_unlock(&baton);
}

// A CPU that was elsewhere and has just come back: when it left. 0: it was there.
static uint64_t away_since(const struct loop *l)
{
	for (uint32_t i = 0; i < world.settings.away_count && !l->t; i++)
		if (world.settings.away[i].worker == l->number &&
			world.settings.away[i].to + WORLD_START == world.now)
			return world.settings.away[i].from + WORLD_START;
	return 0;
}

// The tick from which on it may have a turn that is due at `due`: later, if its CPU is elsewhere
// then; and earlier, if its CPU comes back before.
static uint64_t away_turn(const struct loop *l, uint64_t due)
{
	for (uint32_t i = 0; i < world.settings.away_count && !l->t; i++) {
		uint64_t from = world.settings.away[i].from + WORLD_START;
		uint64_t to = world.settings.away[i].to + WORLD_START;

		if (world.settings.away[i].worker == l->number && world.now < to && due >= from)
			return to;
	}
	return due;
}

// It may have handed packets to them, or may wait for them to have looked at what they got.
static void wake_siblings(const struct loop *l, uint64_t at)
{
	for (uint32_t i = 0; i < world.loop_count; i++) {
		struct loop *other = &world.loops[i];

		if (other->used && other->w && other->w->port == l->w->port)
			other->due = earlier(other->due, at);
	}
}

static uint32_t phase_of(const struct loop *l)
{
	return atomic_load_explicit(l->w ? l->w->phase : l->r->phase, memory_order_acquire);
}

static void loop_turn(struct loop *l)
{
	uint64_t before = loop_work(l), since = away_since(l), work;
	bool goes_on, waits;

	if (++l->passes > REST_MOST)
		fail("a loop never rests", l);
	l->at = since > l->at ? since : world.now;
	world.in_turn = true;
	if (l->t)
		thread_turn(l->t);
	if (!l->t)
		l->phase = phase_of(l);
	goes_on = l->t   ? !l->t->ended
	          : l->w ? worker_turn(l->w, &l->at)
	                 : responder_turn(l->r, &l->at);
	world.in_turn = false;
	l->used = goes_on || l->t; // a thread until it is joined
	l->due = goes_on ? loop_due(l) : UINT64_MAX;
	if (!goes_on || l->t)
		return;
	work = loop_work(l) - before;
	l->busy = world.now + work * world.settings.cost_ns;
	waits = work == 0 && l->due <= world.now && ++l->vain == VAIN_MOST;
	if (waits)
		l->due = world.now + RETRY_NS;
	if (work || l->due > world.now)
		l->vain = 0;
	if ((work || waits) && l->w && l->w->hand)
		wake_siblings(l, work ? world.now : l->due);
}

// When it has a turn next.
static uint64_t loop_next(const struct loop *l)
{
	uint64_t due = earlier(l->due, loop_arrival(l));

	due = due > l->busy ? due : l->busy;
	return due == UINT64_MAX ? due : away_turn(l, due > world.now ? due : world.now);
}

// Turns of all loops that have one at this instant, beginning with any of them.
static void take_turns(void)
{
	uint32_t count = world.loop_count;
	uint32_t at = (uint32_t)rand_scale(rand_next(&world.order), count + (count == 0));

	for (uint32_t i = 0; i < count; i++, at = at + 1 < count ? at + 1 : 0) {
		struct loop *l = &world.loops[at];

		if (l->used && loop_next(l) <= world.now)
			loop_turn(l);
	}
}

static uint64_t world_next(void)
{
	uint64_t next = UINT64_MAX;

	for (uint32_t i = 0; i < world.loop_count; i++)
		if (world.loops[i].used)
			next = earlier(next, loop_next(&world.loops[i]));
	return next;
}

static void jump(uint64_t to)
{
	if (to == world.now)
		return;
	world.now = to;
	for (uint32_t i = 0; i < world.loop_count; i++)
		world.loops[i].passes = 0;
}

static void run_until(uint64_t until)
{
	uint64_t next;

	while ((next = world_next()) <= until) {
		jump(next);
		take_turns();
	}
	jump(until);
}

// The caller may have changed what loops look at.
static void wake_all(void)
{
	for (uint32_t i = 0; i < world.loop_count; i++) {
		struct loop *l = &world.loops[i];

		if (!l->used || l->t)
			continue;
		l->due = phase_of(l) == l->phase ? earlier(l->due, loop_due(l)) : world.now;
	}
}

void world_wait(uint64_t ns)
{
	if (world.in_turn)
		return;
	wake_all();
	run_until(world.now + ns);
}

uint64_t world_now(void)
{
	return world.now;
}

const uint64_t *world_clock(void)
{
	return &world.now;
}

void world_reset(const struct world_settings *s)
{
	for (uint32_t i = 0; i < world.loop_count; i++)
		if (world.loops[i].used)
			fail("a loop is left of the world before", &world.loops[i]);
	memset(&world, 0, sizeof(world));
	world.settings = *s;
	world.now = WORLD_START;
	world.main = pthread_self();
	world.order.state = rand_hash(s->seed);
}

static struct loop *loop_new(void)
{
	for (uint32_t i = 0; i < LOOPS; i++)
		if (!world.loops[i].used) {
			world.loop_count = i < world.loop_count ? world.loop_count : i + 1;
			world.loops[i] =
				(struct loop){.used = true, .at = world.now, .due = world.now};
			return &world.loops[i];
		}
	fprintf(stderr, "stepped: too many workers and threads\n");
	abort();
}

// --- in the place of io/driver/launch.c ---

void __wrap_launch_loop(uint32_t worker, int (*loop)(void *), void *arg)
{
	struct loop *l = loop_new();

	l->number = worker;
	if (loop == worker_loop)
		l->w = arg;
	else if (loop == responder_loop)
		l->r = arg;
	else
		fail("no stepped turn is known of this loop", l);
	if (l->w)
		worker_begin(l->w);
}

static bool any_runs(uint32_t worker)
{
	for (uint32_t i = 0; i < world.loop_count; i++)
		if (world.loops[i].used && !world.loops[i].t &&
			(worker == UINT32_MAX || world.loops[i].number == worker))
			return true;
	return false;
}

void __wrap_launch_wait(uint32_t worker)
{
	while (any_runs(worker))
		world_wait(RETRY_NS);
}

void __wrap_launch_wait_all(void)
{
	__wrap_launch_wait(UINT32_MAX);
}

// --- threads ---

static void *thread_run(void *arg)
{
	struct thread *t = arg;
	void *result;

	self = t;
	pthread_mutex_lock(&baton);
	while (!t->its_turn)
		pthread_cond_wait(&passed, &baton);
	pthread_mutex_unlock(&baton);
	result = t->run(t->arg);
	pthread_mutex_lock(&baton);
	t->its_turn = false;
	t->ended = true;
	pthread_cond_broadcast(&passed);
	pthread_mutex_unlock(&baton);
	return result;
}

static void thread_sleep(uint64_t ns)
{
	pthread_mutex_lock(&baton);
	self->due = world.now + ns;
	self->its_turn = false;
	pthread_cond_broadcast(&passed);
	while (!self->its_turn)
		pthread_cond_wait(&passed, &baton);
	pthread_mutex_unlock(&baton);
}

int __wrap_launch_thread(pthread_t *id, void *(*run)(void *), void *arg)
{
	struct thread *t = calloc(1, sizeof(*t));
	struct loop *l = loop_new();
	int error;

	*t = (struct thread){.run = run, .arg = arg, .due = world.now};
	l->t = t;
	error = pthread_create(&t->id, NULL, thread_run, t);
	*id = t->id;
	if (error == 0)
		return 0;
	l->used = false;
	free(t);
	return error;
}

void __wrap_launch_join(pthread_t id)
{
	for (uint32_t i = 0; i < world.loop_count; i++) {
		struct loop *l = &world.loops[i];

		if (!l->used || !l->t || !pthread_equal(l->t->id, id))
			continue;
		while (!l->t->ended)
			world_wait(RETRY_NS);
		l->used = false;
		free(l->t);
		break;
	}
	pthread_join(id, NULL);
}

int __real_nanosleep(const struct timespec *, struct timespec *);
int __wrap_nanosleep(const struct timespec *, struct timespec *);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	uint64_t ns = (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;

	if (self)
		thread_sleep(ns);
	else if (pthread_equal(pthread_self(), world.main))
		world_wait(ns);
	else
		return __real_nanosleep(t, left);
	return 0;
}
