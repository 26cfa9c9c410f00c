// SPDX-License-Identifier: BSD-3-Clause
// Walks a schedule of more than one constant rate, and counts its due sends.
// Path: hot (pace_turn) | cold (pace_start, pace_start_closed, pace_drop, pace_backlog). The worker
// that owns it | management thread, on copies.
#include "engine/core/pace.h"

#define LN2        0xb17217f7d1cf79abu // x 2^64
#define DRAWN_MOST 65536               // per call of pace_drop: less than a millisecond

// Returns the ticks from the start of the segments to position `at` in segment g.
static fixed segment_time(const struct pace_segment *g, fixed at)
{
	fixed time;

	return __builtin_add_overflow(g->time, fixed_mul(at - g->at, g->gap), &time)
	               ? FIXED_INFINITY
	               : time;
}

static uint64_t tick_of(const struct pace *p, fixed time)
{
	uint64_t tick = (uint64_t)(time >> 64);

	return tick < p->stop ? tick : PACE_NEVER;
}

// Returns the tick of position p->at, which never decreases.
static uint64_t find_next(struct pace *p)
{
	const struct schedule *s = p->schedule;

	while (p->at >= s->sends) {
		if (s->period_sends == 0)
			return PACE_NEVER;
		p->at -= s->period_sends;
		p->base += s->period_time;
		p->segment = s->segments + s->loop;
	}
	while (p->segment + 1 < s->segments + s->count && p->at >= p->segment[1].at)
		p->segment++;
	return tick_of(p, p->base + segment_time(p->segment, p->at));
}

// Returns -ln of a uniform number: the exponent counts halvings, a table has the logarithm of the
// mantissa. The error is below 2^-22.
static fixed exponential(struct pace *p)
{
	uint64_t bits = rand_next(&p->rand) | 1;
	unsigned zeros = (unsigned)__builtin_clzll(bits);
	uint64_t mantissa = bits << zeros << 1; // after the point, without the leading 1
	const uint64_t *ln = p->schedule->logs + (mantissa >> (64 - PACE_LOG_BITS));
	uint64_t inside = mantissa << PACE_LOG_BITS;

	return (fixed)(zeros + 1) * LN2 - ln[0] - (((fixed)(ln[1] - ln[0]) * inside) >> 64);
}

static fixed burst_at(const struct schedule *s, uint64_t index)
{
	return ((fixed)recip_div(&s->burst, index) << 64) + FIXED_HALF;
}

static uint64_t table_next(const struct pace *p, uint64_t index)
{
	const struct schedule *s = p->schedule;

	return index < s->table_count ? tick_of(p, p->base + ((fixed)s->table[index] << 64))
	                              : PACE_NEVER;
}

void pace_turn(struct pace *p)
{
	switch (p->schedule->order) {
	case PACE_EVEN:
		p->at += (fixed)p->of << 64;
		break;
	case PACE_POISSON:
		for (uint32_t i = 0; i < p->of; i++)
			p->at += exponential(p);
		break;
	case PACE_BURSTS:
		p->index += p->of;
		p->at = burst_at(p->schedule, p->index);
		break;
	case PACE_TABLE:
		p->index += p->of;
		p->next = table_next(p, p->index);
		return;
	case PACE_ASKED:
		p->next = PACE_LATER;
		return;
	}
	p->next = find_next(p);
}

// A steady schedule needs no pace_turn: pace_pop adds the gap.
static void start_steady(struct pace *p, const struct schedule *s, uint32_t place)
{
	fixed gap = s->segments[0].gap;
	fixed first = p->base + gap * place + gap / 2;

	p->steady = true;
	p->next = (uint64_t)(first >> 64);
	p->next_frac = (uint64_t)first;
	p->gap = (uint64_t)((gap * p->of) >> 64);
	p->gap_frac = (uint64_t)(gap * p->of);
}

bool pace_change(struct pace *p, uint64_t gap, uint64_t at)
{
	fixed one = (fixed)gap << (64 - PACE_ASKED_BITS);
	fixed first = ((fixed)at << 64) + one * p->index + one / 2;

	if (p->next < at)
		return false;
	if (p->next == PACE_NEVER)
		return true;
	p->next = (uint64_t)(first >> 64);
	p->next_frac = (uint64_t)first;
	p->gap = (uint64_t)((one * p->of) >> 64);
	p->gap_frac = (uint64_t)(one * p->of);
	return true;
}

void pace_start(struct pace *p, const struct schedule *s, uint64_t start, struct pace_share share)
{
	bool endless = s->sends == FIXED_INFINITY && s->stop == PACE_NEVER;

	*p = (struct pace){.kind = PACE_RATE,
		.of = share.of,
		.busy = share.of,
		.stop = s->stop == PACE_NEVER ? PACE_NEVER : start + s->stop,
		.behind = p->behind,
		.left = p->left,
		.measure = p->measure,
		.schedule = s,
		.segment = s->segments,
		.base = (fixed)start << 64,
		.index = share.place,
		.rand = {s->seed}};
	if (s->order == PACE_ASKED) {
		p->gap = (uint64_t)(s->segments[0].gap >> 64);
		p->gap_frac = (uint64_t)s->segments[0].gap;
		p->next = PACE_LATER;
		return;
	}
	if (s->order == PACE_TABLE) {
		p->next = table_next(p, p->index);
		return;
	}
	if (s->order == PACE_EVEN && s->count == 1 && endless) {
		start_steady(p, s, share.place);
		return;
	}
	p->at = ((fixed)share.place << 64) + FIXED_HALF;
	if (s->order == PACE_BURSTS)
		p->at = burst_at(s, p->index);
	if (s->order == PACE_POISSON)
		p->at = 0;
	for (uint32_t i = 0; s->order == PACE_POISSON && i <= share.place; i++)
		p->at += exponential(p);
	p->next = find_next(p);
}

static uint64_t part_of(uint64_t all, uint64_t place, uint64_t of)
{
	return all / of + (place < all % of);
}

void pace_start_closed(struct pace *p, const struct pace_closed *c, struct pace_share share)
{
	uint64_t own = part_of(c->outstanding, share.place, share.of);
	bool few = c->outstanding && c->outstanding < share.of;

	*p = (struct pace){.kind = c->outstanding ? PACE_OUTSTANDING : PACE_MAX,
		.of = share.of,
		.busy = few ? (uint32_t)c->outstanding : share.of,
		.next = c->start,
		.stop = c->stop,
		.outstanding = own,
		.left = p->left,
		.measure = p->measure};
	if (own < 2 || own > c->ramp_up)
		return;
	p->ramp_up = c->ramp_up;
	p->ramp_scale = (uint64_t)(((fixed)(own - 1) << 64) / c->ramp_up);
}

static const struct pace_segment *segment_of(const struct schedule *s, fixed at)
{
	uint32_t low = 0, high = s->count - 1;

	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (at >= s->segments[middle].at)
			low = middle;
		else
			high = middle - 1;
	}
	return &s->segments[low];
}

// Returns the due tick of the n-th of this worker's sends, 0 being the next one; like find_next.
static uint64_t nth_next(const struct pace *p, uint64_t n)
{
	const struct schedule *s = p->schedule;
	fixed at = p->at + ((fixed)n * p->of << 64), periods, later = 0;

	if (s->order == PACE_BURSTS)
		at = burst_at(s, p->index + n * p->of);
	if (at >= s->sends && s->period_sends == 0)
		return PACE_NEVER;
	if (at >= s->sends) {
		periods = 1 + (at - s->sends) / s->period_sends;
		at -= periods * s->period_sends;
		if (__builtin_mul_overflow(periods, s->period_time, &later))
			return PACE_NEVER;
	}
	at = segment_time(segment_of(s, at), at);
	if (__builtin_add_overflow(at, later, &at) || __builtin_add_overflow(at, p->base, &at))
		return PACE_NEVER;
	return tick_of(p, at);
}

static uint64_t backlog_steady(const struct pace *p, uint64_t until)
{
	fixed gap = (fixed)p->gap << 64 | p->gap_frac;
	fixed time = ((fixed)(until - p->next) << 64) - p->next_frac;

	return 1 + (uint64_t)((time - 1) / gap);
}

// Random gaps can only be drawn one after the other.
static uint64_t backlog_drawn(const struct pace *p, uint64_t until)
{
	struct pace copy = *p;
	uint64_t n = 0;

	for (; copy.next < until && n < p->left; n++)
		pace_turn(&copy);
	return n;
}

static uint64_t nth_due(const struct pace *p, uint64_t n)
{
	return p->schedule->order == PACE_TABLE ? table_next(p, p->index + n * p->of)
	                                        : nth_next(p, n);
}

// Due ticks never decrease, so a binary search finds the first one from `until` on.
static uint64_t backlog_found(const struct pace *p, uint64_t until)
{
	uint64_t low = 0, high = 1;

	while (high < p->left && nth_due(p, high) < until) {
		low = high;
		high *= 2;
	}
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (nth_due(p, middle) < until)
			low = middle;
		else
			high = middle;
	}
	return high;
}

uint64_t pace_backlog(const struct pace *p, uint64_t until)
{
	uint64_t n;

	if (p->kind != PACE_RATE || p->next >= until)
		return p->waiting;
	if (p->steady)
		n = backlog_steady(p, until);
	else if (p->schedule->order == PACE_ASKED)
		n = p->waiting;
	else if (p->schedule->order == PACE_POISSON)
		n = backlog_drawn(p, until);
	else
		n = backlog_found(p, until);
	return n < p->left ? n : p->left;
}

uint64_t pace_missed(const struct pace *p, uint64_t until)
{
	struct pace whole = *p;
	uint64_t early, n;

	if (p->kind != PACE_RATE || p->next >= p->measure)
		return pace_backlog(p, until);
	whole.left = UINT64_MAX;
	n = pace_backlog(&whole, until);
	whole.waiting = 0;
	early = pace_backlog(&whole, p->measure < until ? p->measure : until);
	return n - early < p->left ? n - early : p->left;
}

uint64_t pace_drop(struct pace *p, uint64_t until)
{
	struct pace whole = *p;
	uint64_t n = 0;

	if (p->kind != PACE_RATE || p->next >= until)
		return 0;
	if (!p->steady && p->schedule->order == PACE_POISSON) {
		for (; n < DRAWN_MOST && p->next < until; n++)
			pace_turn(p);
		return n;
	}
	whole.left = UINT64_MAX;
	n = pace_backlog(&whole, until);
	if (p->steady) {
		fixed next = ((fixed)p->next << 64) + p->next_frac;

		next += (((fixed)p->gap << 64) + p->gap_frac) * n;
		p->next = (uint64_t)(next >> 64);
		p->next_frac = (uint64_t)next;
		return n;
	}
	p->at += (fixed)(n - 1) * p->of << 64; // PACE_EVEN
	p->index += (n - 1) * p->of;           // PACE_BURSTS, PACE_TABLE
	pace_turn(p);
	return n;
}

// Returns the number of sends of the whole schedule that are due before `until`.
static uint64_t sends_before(const struct pace *p, uint64_t start, uint64_t until)
{
	struct pace whole = {.left = UINT64_MAX};

	pace_start(&whole, p->schedule, start, (struct pace_share){0, 1});
	return pace_backlog(&whole, until);
}

void pace_share_total(struct pace *p, uint64_t start, uint64_t total, struct pace_share share)
{
	uint64_t place = share.place;

	p->left = total;
	if (p->kind == PACE_RATE && total != UINT64_MAX) // after the sends of the warm-up
		place = (place + p->of - sends_before(p, start, p->measure) % p->of) % p->of;
	if (total != UINT64_MAX)
		p->left = part_of(total, place, p->busy);
	if (p->kind == PACE_OUTSTANDING && p->outstanding == 0)
		p->left = 0;
}
