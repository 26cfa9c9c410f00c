// SPDX-License-Identifier: BSD-3-Clause
// Rows of the load shapes, the rules between them, and their extremes. Path: cold. Management
// thread.
#include "engine/config/load.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define AT(type, member) .offset = offsetof(struct type, member)

#define RATE_MAX       1e9
#define MAX_RATE       10e6 // of rate: max on one worker
#define MAX_SLOTS      16e6 // limit of the automatic number
#define SLOTS_MORE_MAX 1024
#define SLOTS_MORE     256 // for bursts after a stall
#define SLOTS_SPARE    1.05
#define POISSON_SIGMA  6 // of the number that is due by chance

static const char *const arrivals_names[] = {"constant", "poisson", NULL};

static const struct field ramp_fields[] = {
	{"from", "rate at the start", FIELD_RATE, .load = true, AT(ramp_settings, from), .def = "0",
		.max = RATE_MAX},
	{"to", "rate at the end", FIELD_RATE, .required = true, .load = true, AT(ramp_settings, to),
		.min = 0.001, .max = RATE_MAX},
	{"over", "duration of the ramp", FIELD_DURATION, .required = true,
		AT(ramp_settings, over_ns), .min = 1e6, .max = 1e16},
	{"hold", "time at the end rate; auto: until the end of the run", FIELD_DURATION,
		AT(ramp_settings, hold_ns), .def = "auto", .word = "auto", .max = 1e16},
};

static const struct field_section ramp_section = {
	"ramp", "a rate that grows evenly", FIELD_ROWS(ramp_fields), sizeof(struct ramp_settings)};

static const struct field step_fields[] = {
	{"rate", "transactions per second; 0: a pause", FIELD_RATE, .required = true, .load = true,
		AT(load_step, rate), .max = RATE_MAX},
	{"for", "how long", FIELD_DURATION, .required = true, AT(load_step, for_ns), .min = 1e6,
		.max = 1e16},
};

static const struct field_section step_section = {
	"steps", "a rate for a time", FIELD_ROWS(step_fields), sizeof(struct load_step)};

static const struct field wave_fields[] = {
	{"mean", "rate on average", FIELD_RATE, .required = true, .load = true,
		AT(wave_settings, mean), .min = 0.001, .max = RATE_MAX},
	{"amplitude", "how far the rate rises above and falls below the mean", FIELD_RATE,
		.required = true, .load = true, AT(wave_settings, amplitude), .max = RATE_MAX},
	{"period", "duration of one wave; it starts at the mean and rises", FIELD_DURATION,
		.required = true, AT(wave_settings, period_ns), .min = 1e6, .max = 1e15},
};

static const struct field_section wave_section = {"wave", "a rate that rises and falls as a sine",
	FIELD_ROWS(wave_fields), sizeof(struct wave_settings)};

static const struct field burst_fields[] = {
	{"size", "transactions per burst, all due at once", FIELD_COUNT, .required = true,
		.load = true, AT(burst_settings, size), .min = 1, .max = 1e7},
	{"every", "time between two bursts", FIELD_DURATION, .required = true,
		AT(burst_settings, every_ns), .min = 1e4, .max = 1e15},
};

static const struct field_section burst_section = {"burst", "transactions back to back",
	FIELD_ROWS(burst_fields), sizeof(struct burst_settings)};

static const struct field storm_fields[] = {
	{"clients", "total number of transactions, each from a different client", FIELD_COUNT,
		.required = true, .load = true, AT(storm_settings, clients), .min = 1, .max = 1e9},
	{"within", "time over which they are spread evenly; 0s: all at once", FIELD_DURATION,
		.required = true, AT(storm_settings, within_ns), .max = 1e16},
};

static const struct field_section storm_section = {
	"storm", "everyone once", FIELD_ROWS(storm_fields), sizeof(struct storm_settings)};

static const struct field replay_fields[] = {
	{"file", "send times: seconds, one per line, or a packet file", FIELD_STRING,
		.required = true, .role = FIELD_INPUT, AT(replay_settings, file), .min = 1,
		.max = 4095},
	{"speed", "speed factor; 0.5: half as fast", FIELD_RATE, .load = true,
		AT(replay_settings, speed), .def = "1", .min = 1e-6, .max = 1e6},
	{"filter", "packets to use, as a tcpdump filter; default: all", FIELD_STRING,
		AT(replay_settings, filter), .min = 1, .max = 4095},
};

static const struct field_section replay_section = {
	"replay", "times from a file", FIELD_ROWS(replay_fields), sizeof(struct replay_settings)};

static const struct field load_fields[] = {
	{"rate", "open loop: transactions per second, or max", FIELD_RATE, .load = true,
		AT(load_settings, rate), .word = "max", .min = 0.001, .max = RATE_MAX},
	{"ramp", "open loop: a rate that grows evenly", FIELD_SECTION, .optional = true,
		AT(load_settings, ramp), .section = &ramp_section},
	{"steps", "open loop: one rate after the other", FIELD_SECTION, .list = true,
		AT(load_settings, steps), .section = &step_section},
	{"wave", "open loop: a rate that rises and falls as a sine", FIELD_SECTION,
		.optional = true, AT(load_settings, wave), .section = &wave_section},
	{"burst", "open loop: transactions back to back", FIELD_SECTION, .optional = true,
		AT(load_settings, burst), .section = &burst_section},
	{"storm", "open loop: each client once", FIELD_SECTION, .optional = true,
		AT(load_settings, storm), .section = &storm_section},
	{"replay", "open loop: times from a file", FIELD_SECTION, .optional = true,
		AT(load_settings, replay), .section = &replay_section},
	{"outstanding", "closed loop: transactions kept in flight", FIELD_COUNT, .load = true,
		AT(load_settings, outstanding), .min = 1, .max = 1e7},
	{"arrivals", "at even gaps, or at random with the same mean", FIELD_ENUM,
		AT(load_settings, arrivals), .names = arrivals_names, .def = "constant"},
	{"ramp_up", "closed loop: time until all are in flight", FIELD_DURATION,
		AT(load_settings, ramp_up_ns), .def = "0s", .max = 1e16},
	{"start_at", "start, relative to the start of the measured part; 0s: with the warm-up",
		FIELD_DURATION, AT(load_settings, start_at_ns), .def = "0s", .max = 1e16},
	{"stop_at", "end, relative to the start of the measured part", FIELD_DURATION,
		AT(load_settings, stop_at_ns), .def = "end", .word = "end", .min = 1, .max = 1e16},
	{"total", "measured transactions to send; 0: no limit", FIELD_COUNT,
		AT(load_settings, total), .def = "0"},
	{"max_outstanding", "stop the run when more are in flight; 0: no limit", FIELD_COUNT,
		AT(load_settings, max_outstanding), .def = "0"},
	{"slots", "maximum number of transactions in flight; auto: enough for the load",
		FIELD_COUNT, AT(load_settings, slots), .def = "auto", .word = "auto", .min = 1,
		.max = 1e9},
	{"catch_up",
		"constant rate: how much of a delay is made up for, at a higher rate, after all "
		"slots were in use; the rest is no longer due",
		FIELD_DURATION, AT(load_settings, catch_up_ns), .def = "all", .word = "all",
		.min = 1e3, .max = 1e16},
};

const struct field_section load_section = {"load", "offered rate, or transactions in flight",
	FIELD_ROWS(load_fields), sizeof(struct load_settings)};

bool load_is_own(const struct load_settings *l)
{
	return l->own.begun || l->own.after;
}

bool load_is_open(const struct load_settings *l)
{
	return l->outstanding == 0 && !isinf(l->rate);
}

const struct field_list *load_steps(const struct load_settings *l)
{
	return l->changes.count ? &l->changes : &l->steps;
}

bool load_skips_warmup(const struct load_settings *l)
{
	return l->start_at_ns > 0 || l->storm || l->replay;
}

bool load_is_work(const struct load_settings *l, bool total)
{
	return (l->total && total) || l->storm || l->replay;
}

// Stores at most `room` names of the shapes that are given, and returns the number of all that are.
static unsigned shapes_given(const struct load_settings *l, const char **names, unsigned room)
{
	const struct {
		const char *name;
		bool given;
	} all[] = {{"rate", l->rate != 0}, {"ramp", l->ramp}, {"steps", l->steps.count},
		{"wave", l->wave}, {"burst", l->burst}, {"storm", l->storm}, {"replay", l->replay},
		{"outstanding", l->outstanding}};
	unsigned n = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i].given && n < room)
			names[n] = all[i].name;
		n += all[i].given;
	}
	return n;
}

static bool check_one_shape(const struct load_settings *l, struct diag *d)
{
	const char *names[2];
	unsigned n = shapes_given(l, names, 2);

	if (load_is_own(l) && n)
		diag_error(d, l, names[0], "%s",
			l->own.after ? "not allowed with after: the followed item starts the "
				       "transactions"
				     : "not allowed with life: the clients start the transactions");
	else if (load_is_own(l))
		return true;
	else if (n == 0 && l->steps.items)
		diag_error(d, l, "steps", "has no step (like [{rate: 1k, for: 10s}])");
	else if (n == 0)
		diag_error(d, l, "",
			"missing one of rate, ramp, steps, wave, burst, storm, replay, outstanding "
			"(like rate: 20k)");
	else if (n > 1 && l->outstanding)
		diag_error(d, &l->outstanding, NULL,
			"closed loop and open loop at once (either %s or outstanding)", names[0]);
	else if (n > 1)
		diag_error(
			d, l, names[1], "two shapes at once (either %s or %s)", names[0], names[1]);
	return n == 1 && !load_is_own(l);
}

// Returns the length of the shape itself; 0: as long as the run, or unknown so far.
static uint64_t shape_length(const struct load_settings *l)
{
	const struct load_step *steps = l->steps.items;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < l->steps.count; i++)
		sum += steps[i].for_ns;
	if (l->ramp)
		sum = l->ramp->over_ns + (l->ramp->hold_ns == UINT64_MAX ? 0 : l->ramp->hold_ns);
	if (l->storm)
		sum = l->storm->within_ns;
	return sum;
}

static void check_times(const struct load_settings *l, uint64_t duration_ns, struct diag *d)
{
	uint64_t length = shape_length(l);
	const char *name = l->ramp ? "ramp" : l->storm ? "storm" : "steps";

	if (l->start_at_ns >= duration_ns)
		diag_error(d, &l->start_at_ns, NULL,
			"%g s is not before the end of the run (run.duration: %g s)",
			1e-9 * (double)l->start_at_ns, 1e-9 * (double)duration_ns);
	if (l->stop_at_ns == UINT64_MAX) {
		if (length > duration_ns - l->start_at_ns && l->start_at_ns < duration_ns)
			diag_error(d, l, name,
				"takes %g s, and the run ends after %g s (a longer run.duration, "
				"or "
				"stop_at to cut it)",
				1e-9 * (double)length,
				1e-9 * (double)(duration_ns - l->start_at_ns));
		return;
	}
	if (l->stop_at_ns > duration_ns)
		diag_error(d, &l->stop_at_ns, NULL,
			"%g s is after the end of the run (run.duration: %g s)",
			1e-9 * (double)l->stop_at_ns, 1e-9 * (double)duration_ns);
	else if (l->stop_at_ns <= l->start_at_ns)
		diag_error(d, &l->stop_at_ns, NULL, "not after start_at (%g s)",
			1e-9 * (double)l->start_at_ns);
}

static void check_shape(const struct load_settings *l, struct diag *d)
{
	const struct load_step *steps = l->steps.items;
	double most = 0;

	if (l->ramp && l->ramp->from >= l->ramp->to)
		diag_error(d, &l->ramp->from, NULL,
			"a ramp must rise: from (%g/s) must be below to (%g/s); steps may fall",
			l->ramp->from, l->ramp->to);
	for (uint32_t i = 0; i < l->steps.count; i++)
		most = fmax(most, steps[i].rate);
	if (l->steps.count && most == 0)
		diag_error(d, l, "steps", "has only pauses (add a rate above 0)");
	if (l->wave && l->wave->amplitude > l->wave->mean)
		diag_error(d, &l->wave->amplitude, NULL,
			"more than the mean: the rate would be below 0 (up to %g/s)",
			l->wave->mean);
}

static void check_arrivals(const struct load_settings *l, struct diag *d)
{
	bool rated = l->rate != 0 && !isinf(l->rate);

	if (l->arrivals == ARRIVALS_POISSON && !rated && !l->ramp && !l->steps.count && !l->wave)
		diag_error(d, &l->arrivals, NULL,
			"poisson needs a rate (with rate: 20k, ramp, steps or wave)");
	if (l->catch_up_ns && l->catch_up_ns != UINT64_MAX &&
		(!rated || l->arrivals == ARRIVALS_POISSON || l->stop_at_ns != UINT64_MAX))
		diag_error(d, &l->catch_up_ns, NULL,
			"is for a constant rate until the end (with rate: 20k)");
	if (l->ramp_up_ns && !l->outstanding)
		diag_error(d, &l->ramp_up_ns, NULL,
			"is for a closed loop only (with outstanding: 100)");
}

void load_check(const struct load_settings *l, uint64_t duration_ns, struct diag *d)
{
	if (!check_one_shape(l, d))
		return;
	check_shape(l, d);
	check_arrivals(l, d);
	check_times(l, duration_ns, d);
}

double load_peak(const struct load_settings *l)
{
	const struct load_step *steps = load_steps(l)->items;
	double peak = l->rate + l->more;

	if (l->own.after) // unknown for a closed loop: 0
		return isfinite(load_peak(l->own.after)) ? l->own.each * load_peak(l->own.after)
		                                         : 0;
	if (l->own.begun)
		return l->own.peak;
	for (uint32_t i = 0; i < load_steps(l)->count; i++)
		peak = fmax(peak, steps[i].rate);
	if (l->ramp)
		peak = l->ramp->to;
	if (l->wave)
		peak = l->wave->mean + l->wave->amplitude;
	if (l->burst)
		peak = (double)l->burst->size * 1e9 / (double)l->burst->every_ns;
	if (l->storm)
		peak = (double)l->storm->clients / fmax(1e-9 * (double)l->storm->within_ns, 1);
	return peak;
}

static double at_most(double a, double b)
{
	return a < b ? a : b;
}

// For rates that are unknown in advance: rate: max and closed loops.
static double begun_at_max(const struct load_settings *l, const struct load_span *span)
{
	double warmup_s = 1e-9 * (double)span->warmup_ns;
	double run_s = warmup_s + 1e-9 * (double)span->duration_ns;
	double need = MAX_RATE * at_most(1e-9 * (double)span->hold_ns, run_s);

	if (l->total)
		need = at_most(need, MAX_RATE * warmup_s + (double)l->total);
	return at_most(need, MAX_SLOTS) + SLOTS_MORE_MAX;
}

uint64_t load_begun(const struct load_settings *l, const struct load_span *span)
{
	double hold_s = 1e-9 * (double)span->hold_ns;
	double need = load_peak(l) * hold_s * SLOTS_SPARE;

	if (l->own.after)
		return l->own.at_once * (1 + span->hold_ns / l->own.every_ns) + SLOTS_MORE;
	if (!load_is_open(l))
		return (uint64_t)begun_at_max(l, span);
	if (l->arrivals == ARRIVALS_POISSON)
		need += POISSON_SIGMA * sqrt(need);
	if (l->burst)
		need += 2 * (double)l->burst->size;
	if (l->storm && 1e-9 * (double)l->storm->within_ns <= hold_s)
		need = (double)l->storm->clients;
	if (l->own.begun)
		need = at_most(need + POISSON_SIGMA * sqrt(need), (double)l->own.at_once);
	return (uint64_t)need + SLOTS_MORE;
}

static double ns_to_s(uint64_t ns)
{
	return 1e-9 * (double)ns;
}

static double ramp_due(const struct ramp_settings *r, double s)
{
	double over_s = ns_to_s(r->over_ns), at = at_most(s, over_s);

	return r->from * at + (r->to - r->from) * at * at / (2 * over_s) +
	       r->to * at_most(s - at, r->hold_ns == UINT64_MAX ? INFINITY : ns_to_s(r->hold_ns));
}

static double steps_due(const struct field_list *list, double s)
{
	const struct load_step *steps = list->items;
	double due = 0;

	for (uint32_t i = 0; i < list->count && s > 0; i++) {
		due += steps[i].rate * at_most(s, ns_to_s(steps[i].for_ns));
		s -= ns_to_s(steps[i].for_ns);
	}
	return due;
}

static double wave_due(const struct wave_settings *w, double s)
{
	double turns = 2 * M_PI / ns_to_s(w->period_ns);

	return w->mean * s + w->amplitude * (1 - cos(turns * s)) / turns;
}

// The rate of a shape before it begins.
static double first_rate(const struct load_settings *l)
{
	const struct load_step *steps = load_steps(l)->items;

	if (l->ramp)
		return l->ramp->from;
	if (l->wave)
		return l->wave->mean;
	return load_steps(l)->count ? steps[0].rate : 0;
}

// s: time from the start of the load; its shape begins after lead_s.
static double shape_due(const struct load_settings *l, double lead_s, double s)
{
	double shape_s = s > lead_s ? s - lead_s : 0, lead = first_rate(l) * at_most(s, lead_s);

	if (l->own.begun)
		return l->own.begun(l->own.settings, s);
	if (l->ramp)
		return lead + ramp_due(l->ramp, shape_s);
	if (load_steps(l)->count)
		return lead + steps_due(load_steps(l), shape_s);
	if (l->wave)
		return lead + wave_due(l->wave, shape_s);
	if (l->burst)
		return (double)l->burst->size * floor(s / ns_to_s(l->burst->every_ns) + 0.5);
	if (l->storm)
		return (double)l->storm->clients *
		       at_most(s / fmax(ns_to_s(l->storm->within_ns), 1e-9), 1);
	return (l->rate + l->more) * s;
}

double load_due(const struct load_settings *l, const struct load_span *span, double until_s)
{
	double warmup_s = ns_to_s(span->warmup_ns), end_s = warmup_s + ns_to_s(span->duration_ns);
	bool skips = load_skips_warmup(l);
	double start_s = skips ? warmup_s + ns_to_s(l->start_at_ns) : 0,
	       lead_s = skips ? 0 : warmup_s;
	double due, warm;

	if (l->own.after)
		return l->own.each * load_due(l->own.after, span, until_s);
	if (!load_is_open(l))
		return INFINITY;
	if (l->replay)
		return NAN;
	if (l->stop_at_ns != UINT64_MAX)
		end_s = at_most(end_s, warmup_s + ns_to_s(l->stop_at_ns));
	until_s = at_most(until_s, end_s);
	if (until_s <= start_s)
		return 0;
	due = shape_due(l, lead_s, until_s - start_s);
	warm = skips ? 0 : shape_due(l, lead_s, at_most(until_s, warmup_s));
	return l->total ? at_most(due, warm + (double)l->total) : due;
}

uint64_t load_whole(const struct load_settings *l, const struct load_span *span)
{
	double due = load_due(l, span, ns_to_s(span->warmup_ns + span->duration_ns));

	if (!isfinite(due))
		return UINT64_MAX;
	if (l->arrivals == ARRIVALS_POISSON)
		due += POISSON_SIGMA * sqrt(due);
	return (uint64_t)ceil(due);
}

uint64_t load_slots(const struct load_settings *l, const struct load_span *span)
{
	if (l->slots != UINT64_MAX)
		return l->slots;
	if (l->own.after)
		return l->own.at_once + SLOTS_MORE;
	return l->outstanding ? l->outstanding : load_begun(l, span);
}
