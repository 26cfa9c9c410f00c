// SPDX-License-Identifier: BSD-3-Clause
// Losses moved back to the time of their sends, and the place where the goals break for good.
// Path: cold. Any thread.
#include "engine/series/search_ramp.h"

#include <math.h>
#include <stddef.h>

#define FOR_GOOD   3   // intervals in a row: fewer are a bad moment
#define BEYOND     1.5 // times the load at which the last goal broke: enough to see a collapse
#define BEHIND_MIN 64  // transactions that may wait for their turn at the end of an interval
#define ROUNDING_S 1e-4

// --- from intervals to trials ---

// Transactions lost until t_s, spread evenly within each interval.
static double lost_until(const struct ramp *r, double t_s)
{
	double sum = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		const struct ramp_interval *at = &r->intervals[i];
		double left = at->t_s - t_s;

		if (left > 0)
			return sum + at->lost * fmax(0, 1 - left / at->length_s);
		sum += at->lost;
	}
	return sum;
}

static double length_s(const struct search_settings *s)
{
	return 1e-9 * (double)s->trial_ns * (double)s->steps;
}

static double load_at(const struct search_settings *s, double t_s)
{
	double load = s->from + (s->to - s->from) * fmin(t_s / length_s(s), 1);

	return load >= 100 ? round(load) : round(1000 * load) / 1000;
}

static struct search_trial trial_of(
	const struct ramp *r, const struct ramp_interval *i, uint32_t run, double behind)
{
	double from = i->t_s - i->length_s + r->timeout_s, to = i->t_s + r->timeout_s;
	double lost = lost_until(r, to) - lost_until(r, from);
	double asked = fmax(i->asked, 1), rate = i->due / i->length_s;

	return (struct search_trial){.run = run,
		.load = load_at(r->settings, i->t_s - i->length_s / 2),
		.length_ns = (uint64_t)(1e9 * i->length_s),
		.loss = fmin(lost / asked, 1),
		.failed = fmin(i->failed / asked, 1),
		.latency_ns = {i->p50_ns, NAN, NAN, i->p99_ns, NAN},
		.answered_per_s = i->answered / i->length_s,
		.invalid = behind > BEHIND_MIN + rate * r->late_s};
}

// A ramp that ended early has an incomplete interval at its end, which does not count.
static uint32_t whole_intervals(const struct ramp *r)
{
	uint32_t n = r->count;

	while (n > 0 && r->intervals[n - 1].due <= 0)
		n--;
	return n > 0 && r->cut ? n - 1 : n;
}

uint32_t ramp_trials(const struct ramp *r, uint32_t run, struct search_trial *out)
{
	uint32_t whole = whole_intervals(r), n = 0;
	double known_s = r->count ? r->intervals[r->count - 1].t_s - r->timeout_s : 0;
	double behind = 0;

	for (uint32_t i = 0; i < whole; i++) {
		const struct ramp_interval *at = &r->intervals[i];

		if (!r->over && at->t_s > known_s + ROUNDING_S)
			break;
		behind += at->due - at->sent;
		if (at->asked > 0)
			out[n++] = trial_of(r, at, run, behind);
	}
	return n;
}

// --- from trials to the answer ---

// Returns the trials of the last ramp, and their number in *count.
static const struct search_trial *last_ramp(const struct search *s, uint32_t *count)
{
	uint32_t from = s->count;

	while (from > 0 && s->trials[from - 1].run == s->trials[s->count - 1].run)
		from--;
	*count = s->count - from;
	return s->trials + from;
}

// Do this trial and the two after it miss the goal, so that it is broken for good? *tester: because
// of the tester.
static bool breaks(const struct search *s, const struct search_goal *g,
	const struct search_trial *at, uint32_t left, bool *tester)
{
	uint32_t n = left < FOR_GOOD ? left : FOR_GOOD;

	bool invalid = false;

	for (uint32_t i = 0; i < n; i++) {
		if (!at[i].invalid && search_met(g, &at[i]))
			return false;
		invalid |= at[i].invalid;
	}
	if (n < FOR_GOOD && s->going)
		return false;
	*tester = invalid;
	return true;
}

// The answered rate around this trial, at most the offered rate: a queue that empties after a bad
// moment is no capacity of the server.
static double rate_at(const struct search_trial *trials, uint32_t count, uint32_t i)
{
	uint32_t from = i > 0 ? i - 1 : 0, to = i + 1 < count ? i + 1 : i, n = 0;
	double sum = 0;

	for (uint32_t k = from; k <= to; k++) {
		sum += trials[k].invalid ? 0 : fmin(trials[k].answered_per_s, trials[k].load);
		n += !trials[k].invalid;
	}
	return sum / n;
}

struct search_answer ramp_answer(const struct search *s, const struct search_goal *g)
{
	struct search_answer out = {NAN, s->cut_at > 0 ? s->cut_at : INFINITY, NAN, false};
	uint32_t count;
	const struct search_trial *trials = last_ramp(s, &count);

	for (uint32_t i = 0; i < count; i++) {
		const struct search_trial *t = &trials[i];

		if (breaks(s, g, t, count - i, &out.tester)) {
			out.upper = t->load;
			break;
		}
		if (t->invalid || !search_met(g, t))
			continue;
		out.load = t->load;
		out.throughput =
			fmax(isnan(out.throughput) ? 0 : out.throughput, rate_at(trials, count, i));
	}
	return out;
}

// Was the tester too weak, for at least one goal?
static bool is_invalid(const struct search *s)
{
	bool any = false;

	for (uint32_t i = 0; i < s->settings->goals.count; i++)
		any |= ramp_answer(s, search_goal_of(s, i)).tester;
	return any;
}

bool search_enough(const struct search *s)
{
	double highest = 0;
	uint32_t count;
	const struct search_trial *trials = last_ramp(s, &count);

	for (uint32_t i = 0; i < s->settings->goals.count; i++) {
		struct search_answer a = ramp_answer(s, search_goal_of(s, i));

		if (a.tester)
			return true;
		highest = fmax(highest, a.upper);
	}
	return count > 0 && trials[count - 1].load >= BEYOND * highest;
}

struct search_step ramp_next(const struct search *s)
{
	uint32_t runs = s->count ? s->trials[s->count - 1].run + 1 : 0;
	bool again = runs == 0 || (runs < s->settings->attempts && is_invalid(s));

	return (struct search_step){.done = !again,
		.ramp = true,
		.load = s->settings->to,
		.length_ns = s->settings->trial_ns * s->settings->steps};
}
