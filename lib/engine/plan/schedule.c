// SPDX-License-Identifier: BSD-3-Clause
// Shapes as pieces whose sum of sends has a closed form and an inverse; and pieces as segments.
// Path: cold. Management thread.
#include "engine/plan/schedule.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define NS      1e-9L
#define PIECES  8     // of a shape other than steps
#define TINY    1e-3L // sends: segments are not made shorter
#define NEWTON  60
#define TURN    6.283185307179586476925286766559L
#define ENDLESS INFINITY

// A part of a shape: the rate changes evenly between two values, or is a whole wave.
struct piece {
	long double time, length; // seconds
	long double before;       // sends
	long double from, to;     // per second
	long double swing;        // of a wave around `from`; 0: none
};

struct shape {
	struct piece *pieces;
	uint32_t count;
	long double time, sends; // of all pieces
};

struct builder {
	struct schedule *s;
	const struct schedule_base *base;
	uint32_t room;
};

static fixed to_fixed(long double x)
{
	long double whole = floorl(x);

	return (fixed)whole << 64 | (uint64_t)((x - whole) * 0x1p64L);
}

// Sends of a wave from its start.
static long double wave_sends(const struct piece *p, long double t)
{
	return p->from * t + p->swing * p->length / TURN * (1 - cosl(TURN * t / p->length));
}

static long double wave_rate(const struct piece *p, long double t)
{
	return p->from + p->swing * sinl(TURN * t / p->length);
}

// The time at which a wave reaches a number of sends, by Newton's method, or halving where it
// leaves the bounds.
static long double wave_time(const struct piece *p, long double sends)
{
	long double low = 0, high = p->length, t = p->length * sends / wave_sends(p, p->length);

	for (int i = 0; i < NEWTON && high - low > 1e-15L * p->length; i++) {
		long double off = wave_sends(p, t) - sends, rate = wave_rate(p, t), next;

		if (off > 0)
			high = t;
		else
			low = t;
		next = rate > 0 ? t - off / rate : low;
		if (fabsl(next - t) < 1e-15L * p->length)
			return next;
		t = next > low && next < high ? next : (low + high) / 2;
	}
	return t;
}

// Seconds at which the shape reaches a number of sends within a piece.
static long double piece_time(const struct piece *p, long double sends)
{
	long double n = sends - p->before, slope;

	if (n <= 0)
		return p->time;
	if (p->swing > 0)
		return p->time + wave_time(p, n);
	if (p->to == p->from)
		return p->time + n / p->from;
	slope = (p->to - p->from) / p->length;
	return p->time + 2 * n / (p->from + sqrtl(fmaxl(p->from * p->from + 2 * slope * n, 0)));
}

static long double piece_sends(const struct piece *p)
{
	if (p->swing > 0)
		return wave_sends(p, p->length);
	return isinf(p->length) ? (p->from > 0 ? INFINITY : 0) : p->length * (p->from + p->to) / 2;
}

// Appends a piece; a piece without length is left out.
static void add(struct shape *shape, struct piece p)
{
	if (p.length <= 0)
		return;
	p.time = shape->time;
	p.before = shape->sends;
	shape->pieces[shape->count++] = p;
	shape->time += p.length;
	shape->sends += piece_sends(&p);
}

static void add_rate(struct shape *shape, long double rate, long double length)
{
	add(shape, (struct piece){.length = length, .from = rate, .to = rate});
}

static int segment_add(struct builder *b, fixed at, fixed time, fixed gap)
{
	struct schedule *s = b->s;

	if (s->count == b->room) {
		uint32_t room = b->room ? 2 * b->room : 16;
		struct pace_segment *more = reallocarray(s->segments, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->segments = more;
		b->room = room;
	}
	s->segments[s->count++] = (struct pace_segment){at, time, gap};
	return 0;
}

// Deviation of the straight line between two places of a piece from the piece, in seconds.
static long double bow(const struct piece *p, long double from, long double to)
{
	long double begin = piece_time(p, from), end = piece_time(p, to), worst = 0;

	for (int i = 1; i < 4; i++) {
		long double at = piece_time(p, from + (to - from) * i / 4);

		worst = fmaxl(worst, fabsl(at - (begin + (end - begin) * i / 4)));
	}
	return worst;
}

// Adds a piece with a constant rate as one segment.
static int add_even(struct builder *b, const struct piece *p)
{
	return segment_add(b, to_fixed(p->before), to_fixed(p->time * b->base->hz),
		to_fixed(b->base->hz / p->from));
}

// Adds a segment between two places of a piece. The gap is slightly short, so that due times never
// decrease where the next segment begins.
static int add_line(struct builder *b, const struct piece *p, long double from, long double to)
{
	fixed at = to_fixed(from), time = to_fixed(piece_time(p, from) * b->base->hz);
	fixed end = to_fixed(piece_time(p, to) * b->base->hz);
	long double gap = (long double)(end - time) / (long double)(to_fixed(to) - at);

	return segment_add(b, at, time, to_fixed(gap * (1 - 0x1p-60L)));
}

// Adds a piece whose rate changes, as lines of the greatest length allowed.
static int add_bent(struct builder *b, const struct piece *p)
{
	long double at = p->before, end = p->before + piece_sends(p), step = end - at;
	int rc;

	do {
		step = fminl(2 * step, end - at);
		while (step > TINY && bow(p, at, at + step) > SCHEDULE_ERROR_NS * NS)
			step /= 2;
		rc = add_line(b, p, at, fminl(at + step, end));
		at += step;
	} while (rc == 0 && end - at > TINY);
	return rc;
}

static bool is_even(const struct piece *p)
{
	return p->from == p->to && p->swing == 0;
}

static int add_pieces(struct builder *b, const struct shape *shape)
{
	int rc = 0;

	for (uint32_t i = 0; i < shape->count && rc == 0; i++) {
		const struct piece *p = &shape->pieces[i];

		if (piece_sends(p) <= 0)
			continue;
		rc = is_even(p) ? add_even(b, p) : add_bent(b, p);
	}
	b->s->sends = isinf(shape->sends) ? FIXED_INFINITY : to_fixed(shape->sends);
	return rc;
}

static void shape_ramp(struct shape *shape, const struct ramp_settings *r, long double lead)
{
	bool for_ever = r->hold_ns == UINT64_MAX;

	add_rate(shape, r->from, lead);
	add(shape, (struct piece){
			   .length = NS * (long double)r->over_ns, .from = r->from, .to = r->to});
	add_rate(shape, r->to, for_ever ? ENDLESS : NS * (long double)r->hold_ns);
}

static void shape_steps(struct shape *shape, const struct field_list *list, long double lead)
{
	const struct load_step *steps = list->items;

	add_rate(shape, steps[0].rate, lead);
	for (uint32_t i = 0; i < list->count; i++)
		add_rate(shape, steps[i].rate, NS * (long double)steps[i].for_ns);
}

// The lead has the mean rate.
static void shape_wave(struct shape *shape, const struct wave_settings *w, long double lead)
{
	add_rate(shape, w->mean, lead);
	add(shape, (struct piece){.length = NS * (long double)w->period_ns,
			   .from = w->mean,
			   .to = w->mean,
			   .swing = w->amplitude});
}

// Makes the schedule repeat the last piece.
static void repeat(struct builder *b, const struct shape *shape)
{
	const struct piece *last = &shape->pieces[shape->count - 1];
	struct schedule *s = b->s;

	s->period_sends = to_fixed(piece_sends(last));
	s->period_time = to_fixed(last->length * b->base->hz);
	while (s->loop + 1 < s->count && s->segments[s->loop].at < to_fixed(last->before))
		s->loop++;
}

static int build_pieces(struct builder *b, const struct load_settings *l)
{
	long double lead = NS * (long double)b->base->lead_ns;
	struct shape shape = {
		calloc(load_steps(l)->count + PIECES, sizeof(*shape.pieces)), 0, 0, 0};
	int rc;

	if (!shape.pieces)
		return -ENOMEM;
	if (l->ramp)
		shape_ramp(&shape, l->ramp, lead);
	else if (load_steps(l)->count)
		shape_steps(&shape, load_steps(l), lead);
	else if (l->wave)
		shape_wave(&shape, l->wave, lead);
	else
		add_rate(&shape, l->rate + l->more, ENDLESS);
	rc = add_pieces(b, &shape);
	if (rc == 0 && l->wave)
		repeat(b, &shape);
	free(shape.pieces);
	return rc;
}

static int build_bursts(struct builder *b, const struct burst_settings *burst)
{
	recip_init(&b->s->burst, burst->size);
	b->s->order = PACE_BURSTS;
	return segment_add(b, 0, 0, to_fixed(NS * (long double)burst->every_ns * b->base->hz));
}

// The gap is a millisecond, the unit of protocols.
static int build_asked(struct builder *b)
{
	b->s->order = PACE_ASKED;
	return segment_add(b, 0, 0, to_fixed(b->base->hz / 1000));
}

static int build_storm(struct builder *b, const struct storm_settings *storm)
{
	long double length = NS * (long double)storm->within_ns;

	b->s->sends = (fixed)storm->clients << 64;
	return segment_add(b, 0, 0, to_fixed(length * b->base->hz / (long double)storm->clients));
}

static int build_table(struct builder *b, double speed)
{
	const struct schedule_base *base = b->base;
	uint64_t *table = reallocarray(NULL, base->times_count + 1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	for (uint64_t i = 0; i < base->times_count; i++)
		table[i] = (uint64_t)((long double)base->times_ns[i] * base->hz / (speed * 1e9L));
	b->s->order = PACE_TABLE;
	b->s->table = table;
	b->s->table_count = base->times_count;
	return 0;
}

static int build_logs(struct schedule *s)
{
	uint64_t *logs = reallocarray(NULL, PACE_LOGS + 1, sizeof(*logs));

	if (!logs)
		return -ENOMEM;
	for (unsigned i = 0; i <= PACE_LOGS; i++)
		logs[i] = (uint64_t)(log1pl(i / (long double)PACE_LOGS) * 0x1p64L);
	s->order = PACE_POISSON;
	s->logs = logs;
	return 0;
}

int schedule_build(
	struct schedule *s, const struct load_settings *l, const struct schedule_base *base)
{
	struct builder b = {s, base, 0};
	int rc;

	*s = (struct schedule){.sends = FIXED_INFINITY, .stop = PACE_NEVER, .seed = base->seed};
	if (l->stop_at_ns != UINT64_MAX)
		s->stop = (uint64_t)(1e-9 * base->hz *
				     (double)(base->lead_ns + l->stop_at_ns - l->start_at_ns));
	if (load_is_own(l))
		rc = build_asked(&b);
	else if (l->burst)
		rc = build_bursts(&b, l->burst);
	else if (l->storm)
		rc = build_storm(&b, l->storm);
	else if (l->replay)
		rc = build_table(&b, l->replay->speed);
	else
		rc = build_pieces(&b, l);
	if (rc == 0 && l->arrivals == ARRIVALS_POISSON)
		rc = build_logs(s);
	return rc;
}

void schedule_free(struct schedule *s)
{
	free(s->segments);
	free((void *)(uintptr_t)s->logs);
	free((void *)(uintptr_t)s->table);
	*s = (struct schedule){0};
}
