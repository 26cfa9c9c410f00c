// SPDX-License-Identifier: BSD-3-Clause
// The rows of responder.faults, the rules between them, and the gates and delays of struct faults
// that follow from them. Path: cold. Management thread.
#include "engine/config/faults_settings.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "engine/core/pages.h"

#define DEBT_MAX         16 // replies' worth of work that dropped requests can leave behind
#define AT(type, member) .offset = offsetof(struct type, member)
#define SECTION(name, help, rows, type)                                                            \
	static const struct field_section name##_section = {                                       \
		#name, help, FIELD_ROWS(rows), sizeof(struct type)}

static const struct field gate_fields[] = {
	{"share", "share of the replies, at random", FIELD_PERCENT, AT(fault_settings, share),
		.min = 1e-9, .max = 1},
	{"every", "the N-th reply, the 2N-th and so on", FIELD_COUNT, AT(fault_settings, every),
		.min = 1, .max = 1e15},
};
SECTION(fault, "how often", gate_fields, fault_settings);

static const struct field uniform_fields[] = {
	{"min", "least delay", FIELD_DURATION, AT(uniform_settings, min_ns), .def = "0s",
		.max = 6e11},
	{"max", "greatest delay", FIELD_DURATION, .required = true, AT(uniform_settings, max_ns),
		.max = 6e11},
};
SECTION(uniform, "uniformly distributed delay", uniform_fields, uniform_settings);

static const struct field two_point_fields[] = {
	{"first", "the one delay", FIELD_DURATION, AT(two_point_settings, first_ns), .def = "0s",
		.max = 6e11},
	{"second", "the other delay", FIELD_DURATION, .required = true,
		AT(two_point_settings, second_ns), .max = 6e11},
	{"share_of_second", "share of the replies with the second delay", FIELD_PERCENT,
		.required = true, AT(two_point_settings, share_of_second), .max = 1},
};
SECTION(two_point, "one of two delays", two_point_fields, two_point_settings);

static const struct field delay_fields[] = {
	{"constant", "the same delay for all", FIELD_DURATION, AT(delay_settings, constant_ns),
		.min = 1, .max = 6e11},
	{"uniform", "uniformly distributed delay", FIELD_SECTION, .optional = true,
		AT(delay_settings, uniform), .section = &uniform_section},
	{"exponential", "mean of exponentially distributed delays", FIELD_DURATION,
		AT(delay_settings, exponential_ns), .min = 1, .max = 6e10},
	{"two_point", "one of two delays", FIELD_SECTION, .optional = true,
		AT(delay_settings, two_point), .section = &two_point_section},
};
SECTION(delay, "delay replies (exactly one kind)", delay_fields, delay_settings);

static const struct field capacity_fields[] = {
	{"rate", "replies per second", FIELD_RATE, .required = true, AT(capacity_settings, rate),
		.min = 1, .max = 1e9},
	{"queue", "maximum number of queued replies; further requests are dropped", FIELD_COUNT,
		AT(capacity_settings, queue), .def = "0", .max = 1e7},
	{"drop_cost",
		"share of a reply's work that a dropped request costs: a server that collapses",
		FIELD_PERCENT, AT(capacity_settings, drop_cost), .def = "0%", .max = 1},
};
SECTION(capacity, "limit of replies per second", capacity_fields, capacity_settings);

static const struct field stall_fields[] = {
	{"every", "time from one stall to the next, and from the first request to the first stall",
		FIELD_DURATION, .required = true, AT(stall_settings, every_ns), .min = 1e6,
		.max = 1e16},
	{"for", "length of a stall; replies leave at its end", FIELD_DURATION, .required = true,
		AT(stall_settings, for_ns), .min = 1e3, .max = 6e11},
};
SECTION(stall, "recurring stalls, during which no reply leaves", stall_fields, stall_settings);

static const struct field outage_fields[] = {
	{"off_at", "time from the first request on", FIELD_DURATION, .required = true,
		AT(outage_settings, off_at_ns), .max = 1e16},
	{"on_at", "time from the first request on", FIELD_DURATION, .required = true,
		AT(outage_settings, on_at_ns), .min = 1, .max = 1e16},
};
SECTION(outage, "drop requests between two times", outage_fields, outage_settings);

#define OWN_SECTIONS 4
static struct field faults_fields[OWN_SECTIONS + FAULTS_MAX] = {
	{"outage", "drop requests between two times", FIELD_SECTION, .optional = true,
		AT(faults_settings, outage), .section = &outage_section},
	{"capacity", "limit of replies per second", FIELD_SECTION, .optional = true,
		AT(faults_settings, capacity), .section = &capacity_section},
	{"stall", "recurring stalls, during which no reply leaves", FIELD_SECTION, .optional = true,
		AT(faults_settings, stall), .section = &stall_section},
	{"delay", "replies leave later", FIELD_SECTION, .optional = true,
		AT(faults_settings, delay), .section = &delay_section},
};

struct field_section faults_section = {
	.name = "faults",
	.help = "faults of the responder's replies",
	.fields = faults_fields,
	.size = sizeof(struct faults_settings),
};

static void fill_fields(void)
{
	uint32_t i = FAULT_LOSS;

	for (; i < FAULTS_MAX && *faults_label(i); i++)
		faults_fields[OWN_SECTIONS + i - FAULT_LOSS] = (struct field){
			.name = faults_label(i),
			.help = faults_help(i),
			.type = FIELD_SECTION,
			.optional = true,
			.offset = offsetof(struct faults_settings, fault) + i * sizeof(void *),
			.section = &fault_section,
		};
	faults_section.count = OWN_SECTIONS + i - FAULT_LOSS;
}

// Only once, because other threads may be reading the table.
void faults_settings_prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fill_fields);
}

static void check_delay(const struct delay_settings *s, struct diag *d)
{
	int kinds = (s->constant_ns > 0) + (s->uniform != NULL) + (s->exponential_ns > 0) +
	            (s->two_point != NULL);

	if (kinds != 1)
		diag_error(d, s, "",
			"exactly one of constant, uniform, exponential and two_point (found %d)",
			kinds);
	if (s->uniform && s->uniform->min_ns > s->uniform->max_ns)
		diag_error(d, &s->uniform->min_ns, NULL, "greater than max");
}

// Turns are counted in steps of `every`: if it is a multiple of an earlier fault's, that fault
// takes all of them.
static void check_never(const struct faults_settings *s, uint32_t fault, struct diag *d)
{
	uint64_t every = s->fault[fault]->every;

	for (uint32_t i = 0; i < fault && every; i++)
		if (s->fault[i] && s->fault[i]->every && every % s->fault[i]->every == 0) {
			diag_error(d, &s->fault[fault]->every, NULL,
				"never happens: all of its replies already have the fault %s "
				"(every: %llu), and a reply has one fault only; try %llu",
				faults_label(i), (unsigned long long)s->fault[i]->every,
				(unsigned long long)every + 1);
			return;
		}
}

void faults_check(const struct faults_settings *s, struct diag *d)
{
	for (uint32_t i = 0; i < FAULTS_MAX; i++) {
		if (!s->fault[i])
			continue;
		if ((s->fault[i]->share > 0) == (s->fault[i]->every > 0))
			diag_error(d, s->fault[i], "",
				"exactly one of share and every is needed (like share: 1%%, or "
				"every: 100)");
		check_never(s, i, d);
	}
	if (s->delay)
		check_delay(s->delay, d);
	if (s->stall && s->stall->for_ns >= s->stall->every_ns)
		diag_error(d, &s->stall->for_ns, NULL, "no shorter than every");
	if (s->outage && s->outage->on_at_ns <= s->outage->off_at_ns)
		diag_error(d, &s->outage->on_at_ns, NULL, "not after off_at");
}

// Returns the longest delay; of the exponential kind, the longest that its quantiles contain.
static double longest_delay_ns(const struct delay_settings *s)
{
	if (!s)
		return 0;
	if (s->uniform)
		return (double)s->uniform->max_ns;
	if (s->two_point)
		return fmax((double)s->two_point->first_ns, (double)s->two_point->second_ns);
	return s->exponential_ns ? log(2.0 * FAULTS_QUANTILES) * (double)s->exponential_ns
	                         : (double)s->constant_ns;
}

static double queue_ns(const struct capacity_settings *s)
{
	return s ? 1e9 * (double)s->queue / s->rate : 0;
}

uint64_t faults_longest_ns(const struct faults_settings *s)
{
	return (uint64_t)(longest_delay_ns(s->delay) + queue_ns(s->capacity) +
			  (s->stall ? (double)s->stall->for_ns : 0));
}

uint64_t faults_held(const struct faults_settings *s, double rate)
{
	bool tail = s->delay && s->delay->exponential_ns;
	double delay_ns =
		tail ? 2.0 * (double)s->delay->exponential_ns : longest_delay_ns(s->delay);
	double stall_ns = s->stall ? (double)s->stall->for_ns : 0;

	// Duplicates and other extra messages are held as well.
	return (uint64_t)(2.0 * 1e-9 * rate * (delay_ns + stall_ns)) +
	       (s->capacity ? 2 * s->capacity->queue : 0);
}

static uint64_t share_of_64(double share)
{
	double n = share * 18446744073709551616.0;

	return n >= 18446744073709551615.0 ? UINT64_MAX : (uint64_t)n;
}

void faults_set_share(struct faults *f, uint32_t fault, double share)
{
	atomic_store_explicit(&f->gates[fault].below, share_of_64(share), memory_order_relaxed);
}

// Returns the middle of each of FAULTS_QUANTILES equally likely parts of the distribution.
static uint64_t *make_quantiles(double mean)
{
	uint64_t *q = pages_alloc(FAULTS_QUANTILES * sizeof(*q));

	for (uint32_t i = 0; q && i < FAULTS_QUANTILES; i++)
		q[i] = (uint64_t)(-log(1 - (i + 0.5) / FAULTS_QUANTILES) * mean);
	return q;
}

static int init_delay(struct faults *f, const struct delay_settings *s, const struct clock *c)
{
	f->first = clock_ticks(c, s->constant_ns);
	if (s->uniform) {
		f->kind = DELAY_BY_SPAN;
		f->first = clock_ticks(c, s->uniform->min_ns);
		f->span = clock_ticks(c, s->uniform->max_ns) - f->first;
	} else if (s->two_point) {
		f->kind = DELAY_BY_CHOICE;
		f->first = clock_ticks(c, s->two_point->first_ns);
		f->second = clock_ticks(c, s->two_point->second_ns);
		f->second_below = share_of_64(s->two_point->share_of_second);
	} else if (s->exponential_ns) {
		f->kind = DELAY_BY_QUANTILE;
		f->quantile = make_quantiles((double)clock_ticks(c, s->exponential_ns));
		return f->quantile ? 0 : -ENOMEM;
	}
	return 0;
}

static void init_gates(struct faults *f, const struct faults_settings *s)
{
	for (uint32_t i = 0; i < FAULTS_MAX; i++) {
		if (!s->fault[i])
			continue;
		f->on |= 1ull << i;
		f->gates[i] = (struct fault_gate){.below = share_of_64(s->fault[i]->share),
			.every = s->fault[i]->every,
			.left = s->fault[i]->every};
	}
}

int faults_init(struct faults *f, const struct faults_settings *s, const struct clock *c,
	uint64_t seed, uint32_t packets)
{
	int rc = 0;

	if (!s)
		return 0;
	f->active = true;
	f->rand.state = rand_hash(seed);
	init_gates(f, s);
	if (s->capacity) {
		f->gap = (uint64_t)fmax(1, c->hz / s->capacity->rate);
		f->max_wait = s->capacity->queue * f->gap;
		f->drop_gap = (uint64_t)(s->capacity->drop_cost * (double)f->gap);
		f->max_debt = f->max_wait + DEBT_MAX * f->gap;
	}
	if (s->stall) {
		recip_init(&f->stall_every, clock_ticks(c, s->stall->every_ns));
		f->stall_for = clock_ticks(c, s->stall->for_ns);
	}
	if (s->outage) {
		f->off_at = clock_ticks(c, s->outage->off_at_ns);
		f->on_at = clock_ticks(c, s->outage->on_at_ns);
	}
	if (s->delay)
		rc = init_delay(f, s->delay, c);
	if (rc == 0)
		rc = delay_init(&f->delay, packets, clock_ticks(c, faults_longest_ns(s)), c->hz);
	return rc;
}
