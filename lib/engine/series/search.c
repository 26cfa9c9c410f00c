// SPDX-License-Identifier: BSD-3-Clause
// The verdict on a load from its trials, the bounds that follow, and the next load. Everything is
// computed anew from the list of trials: a later trial that contradicts an earlier one moves the
// bounds by itself. Path: cold. Any thread.
#include "engine/series/search.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "engine/series/search_ramp.h"

#define TRIALS_MAX 1000
#define SPOILT     3   // trials
#define GUESSES    200 // trials that are guessed, at most
#define COLLAPSE   0.9 // of the peak: less is a collapse
#define KNEE       3.0 // times the lowest p99 so far
#define KNEE_LOADS 3   // needed before a knee
#define PHASES_MAX 16  // of mlr: halvings of the length
#define RISE       4   // from the lowest value up

enum bound { BOUND_UNKNOWN, BOUND_OPEN, BOUND_LOWER, BOUND_UPPER, BOUND_TESTER };

// Rules for a load: the length of a full trial, and the total length needed.
struct target {
	const struct search_goal *goal;
	uint64_t length_ns;
	double sum_s, exceed, width;
};

struct bounds {
	double lower, lower2; // best and second best; 0: none
	double upper, upper2; // INFINITY: none
	double open;          // measured, not decided; 0: none
	bool tester;          // upper is the limit of the tester
	bool undecided;       // its last trial there was disturbed
};

static double seconds(uint64_t ns)
{
	return 1e-9 * (double)ns;
}

// The smallest step that the setting allows and a person can read.
static double unit_of(const struct search *s, double load)
{
	return s->whole || load >= 100 ? 1 : 0.001;
}

static double tidy(const struct search *s, double load)
{
	double unit = unit_of(s, load);

	load = round(load / unit) * unit;
	return fmin(fmax(load, s->settings->from), s->settings->to);
}

struct sums {
	double good, bad;             // seconds of full length
	double short_good, short_bad; // seconds below
	uint64_t invalid;             // the number of the last ones in a row
	bool undecided;               // of the last invalid trial
	uint32_t trials;
};

static struct sums trials_sum_up(const struct search *s, const struct target *t, double load)
{
	struct sums out = {0};

	for (uint32_t i = 0; i < s->count; i++) {
		const struct search_trial *one = &s->trials[i];
		bool full = one->length_ns >= t->length_ns, met;
		double *to;

		if (one->load != load)
			continue;
		out.invalid = search_void(t->goal, one) ? out.invalid + 1 : 0;
		out.undecided = out.invalid && one->undecided;
		if (out.invalid)
			continue;
		met = search_met(t->goal, one);
		to = full ? (met ? &out.good : &out.bad) : met ? &out.short_good : &out.short_bad;
		*to += seconds(one->length_ns);
		out.trials += full;
	}
	return out;
}

// Returns the length of the longest valid trial at a load; 0: none.
static uint64_t longest_at(const struct search *s, double load)
{
	uint64_t longest = 0;

	for (uint32_t i = 0; i < s->count; i++)
		if (s->trials[i].load == load && !s->trials[i].invalid &&
			s->trials[i].length_ns > longest)
			longest = s->trials[i].length_ns;
	return longest;
}

// The longest trials at a load decide, and a good trial outweighs bad ones, because a server has
// bad moments, too.
static struct sums sum_up_longest(const struct search *s, const struct target *t, double load)
{
	struct target longest = {.goal = t->goal, .length_ns = longest_at(s, load)};

	return trials_sum_up(s, &longest, load);
}

static enum bound bisect_classify(const struct search *s, const struct target *t, double load)
{
	struct sums m = sum_up_longest(s, t, load);

	if (m.invalid >= s->settings->attempts)
		return BOUND_TESTER;
	if (m.good > 0)
		return BOUND_LOWER;
	return m.trials ? BOUND_UPPER : BOUND_UNKNOWN;
}

// RFC 9971: a load is decided when the remaining trials can no longer change it. Short trials count
// only against it, as far as they outweigh the good ones.
static enum bound mlr_classify(const struct search *s, const struct target *t, double load)
{
	struct sums m = trials_sum_up(s, t, load);
	double excess = fmax(0, m.short_bad - m.short_good * t->exceed / (1 - t->exceed));
	double bad = m.bad + excess, whole = fmax(t->sum_s, m.good + bad);

	if (bad > whole * t->exceed * (1 + 1e-9))
		return BOUND_UPPER;
	if (whole - m.good <= whole * (t->exceed + 1e-9))
		return BOUND_LOWER;
	if (m.invalid >= s->settings->attempts)
		return BOUND_TESTER;
	return m.trials ? BOUND_OPEN : BOUND_UNKNOWN;
}

static enum bound load_classify(const struct search *s, const struct target *t, double load)
{
	return s->settings->method == SEARCH_MLR ? mlr_classify(s, t, load)
	                                         : bisect_classify(s, t, load);
}

static void add_upper(struct bounds *b, double load, bool tester)
{
	if (load < b->upper) {
		b->upper2 = b->upper;
		b->upper = load;
		b->tester = tester;
	} else if (load > b->upper && load < b->upper2) {
		b->upper2 = load;
	}
}

static void add_lower(struct bounds *b, double load)
{
	if (load > b->lower) {
		b->lower2 = b->lower;
		b->lower = load;
	} else if (load < b->lower && load > b->lower2) {
		b->lower2 = load;
	}
}

// Returns the lowest load that failed, and the highest load below it that passed, so that results
// beyond the server's peak do not mislead.
static struct bounds bounds_of(const struct search *s, const struct target *t)
{
	struct bounds b = {.upper = INFINITY, .upper2 = INFINITY};

	for (uint32_t i = 0; i < s->count; i++) {
		enum bound is = load_classify(s, t, s->trials[i].load);

		if (is == BOUND_UPPER || is == BOUND_TESTER)
			add_upper(&b, s->trials[i].load, is == BOUND_TESTER);
	}
	b.undecided = b.tester && trials_sum_up(s, t, b.upper).undecided;
	for (uint32_t i = 0; i < s->count; i++) {
		double load = s->trials[i].load;
		enum bound is = load < b.upper ? load_classify(s, t, load) : BOUND_UNKNOWN;

		if (is == BOUND_LOWER)
			add_lower(&b, load);
		if (is == BOUND_OPEN && load > b.open)
			b.open = load;
	}
	return b;
}

// Returns the middle of the bounds: the geometric one if they are far apart.
static double bounds_middle(const struct search *s, const struct bounds *b)
{
	bool far = b->upper > 2 * b->lower;

	return tidy(s, far ? sqrt(b->lower * b->upper) : (b->lower + b->upper) / 2);
}

static bool bounds_inside(const struct bounds *b, double load)
{
	return load > b->lower && load < b->upper;
}

// Is there nothing left to find between the bounds, or outside them?
static bool bounds_settled(const struct search *s, const struct bounds *b, double width)
{
	if (b->upper <= s->settings->from || b->lower >= s->settings->to)
		return true;
	return b->lower > 0 && b->upper < INFINITY &&
	       (b->upper - b->lower <= width * b->upper || !bounds_inside(b, bounds_middle(s, b)));
}

// The next load as long as none has failed.
static double bounds_beyond(const struct search *s, const struct bounds *b)
{
	if (s->settings->start == SEARCH_HIGHEST)
		return s->settings->to;
	return b->lower == 0 ? s->settings->from : tidy(s, RISE * b->lower);
}

// --- bisect ---

static struct target bisect_target(const struct search *s, const struct search_goal *g)
{
	return (struct target){g, s->settings->trial_ns, seconds(s->settings->trial_ns), 0,
		g->width > 0 ? g->width : s->settings->width};
}

// Has the load above the answer failed often enough? Only that load needs verification: a wrong
// failure before it costs a few more trials (loss verification, ETSI GS NFV-TST 009).
static bool verified(const struct search *s, const struct target *t, const struct bounds *b)
{
	return b->upper == INFINITY || b->tester ||
	       sum_up_longest(s, t, b->upper).trials > s->settings->verify;
}

// Returns false if there is nothing left to do for this goal.
static bool bisect_next(
	const struct search *s, const struct search_goal *g, struct search_step *out)
{
	struct target t = bisect_target(s, g);
	struct bounds b = bounds_of(s, &t);

	out->length_ns = s->settings->trial_ns;
	if (bounds_settled(s, &b, t.width)) {
		bool verify = !verified(s, &t, &b);

		out->load = verify ? b.upper : b.lower;
		out->length_ns = verify ? longest_at(s, b.upper) : s->settings->final_ns;
		return verify || (b.lower > 0 && longest_at(s, b.lower) < s->settings->final_ns);
	}
	if (b.upper == INFINITY)
		out->load = bounds_beyond(s, &b);
	else if (b.lower == 0)
		out->load = s->settings->from;
	else
		out->load = bounds_middle(s, &b);
	return true;
}

// --- mlr ---

// Returns the number of lengths, each half of the one before, from the full to the shortest.
static uint32_t mlr_phases(const struct search *s)
{
	uint32_t n = 1;

	for (uint64_t ns = s->settings->final_ns; ns > s->settings->trial_ns && n < PHASES_MAX;
		ns /= 2)
		n++;
	return n;
}

// From short trials and a wide answer to long ones and a narrow answer.
static struct target mlr_target(
	const struct search *s, const struct search_goal *g, uint32_t phase, uint32_t phases)
{
	uint32_t before = phases - 1 - phase;
	uint64_t length = s->settings->final_ns >> before;
	double width = g->width > 0 ? g->width : s->settings->width;
	struct target t = {.goal = g, .exceed = g->exceed, .width = ldexp(width, (int)before)};

	t.length_ns = length > s->settings->trial_ns ? length : s->settings->trial_ns;
	t.sum_s =
		seconds(before || s->settings->sum_ns < length ? t.length_ns : s->settings->sum_ns);
	t.width = fmin(t.width, 0.5);
	return t;
}

// Returns the highest answered rate at a load; -1: no valid trial.
static double best_at(const struct search *s, double load)
{
	double best = -1;

	for (uint32_t i = 0; i < s->count; i++)
		if (s->trials[i].load == load && !s->trials[i].invalid)
			best = fmax(best, s->trials[i].answered_per_s);
	return best;
}

// The answered rate at a load above the server's capacity.
static double answered_at(const struct search *s, double load)
{
	return tidy(s, fmax(0, best_at(s, load)));
}

static double below(const struct search *s, const struct target *t, const struct bounds *b,
	const struct bounds *coarse)
{
	double gap = fmax(t->width * b->upper, unit_of(s, b->upper)), hint;

	if (coarse->lower > 0 && coarse->lower < b->upper)
		return coarse->lower;
	hint = answered_at(s, b->upper);
	if (b->upper2 == INFINITY && hint < b->upper - gap)
		return hint;
	if (b->upper2 < INFINITY)
		gap = fmax(gap, 2 * (b->upper2 - b->upper));
	return tidy(s, b->upper - gap);
}

static double above(const struct search *s, const struct target *t, const struct bounds *b,
	const struct bounds *coarse)
{
	double gap = fmax(t->width * b->lower, unit_of(s, b->lower));

	if (b->lower == 0 && coarse->lower > 0)
		return coarse->lower;
	if (b->lower == 0)
		return coarse->upper <= s->settings->from ? s->settings->from : bounds_beyond(s, b);
	if (coarse->upper > b->lower && coarse->upper < INFINITY && !coarse->tester)
		return coarse->upper;
	if (coarse->upper == INFINITY && s->settings->start == SEARCH_LOWEST)
		return bounds_beyond(s, b);
	if (b->lower2 > 0)
		gap = fmax(gap, 2 * (b->lower - b->lower2));
	return tidy(s, b->lower + gap);
}

static double mlr_load(const struct search *s, const struct target *t, const struct bounds *b,
	const struct bounds *coarse)
{
	if (b->open > b->lower)
		return b->open;
	if (b->upper == INFINITY)
		return above(s, t, b, coarse);
	if (b->lower == 0)
		return below(s, t, b, coarse);
	if (bounds_inside(b, coarse->lower))
		return coarse->lower;
	return bounds_inside(b, coarse->upper) ? coarse->upper : bounds_middle(s, b);
}

static bool mlr_next(const struct search *s, const struct search_goal *g, struct search_step *out)
{
	struct bounds coarse = {.upper = INFINITY};
	uint32_t phases = mlr_phases(s);

	for (uint32_t phase = 0; phase < phases; phase++) {
		struct target t = mlr_target(s, g, phase, phases);
		struct bounds b = bounds_of(s, &t);

		if (!bounds_settled(s, &b, t.width)) {
			out->load = mlr_load(s, &t, &b, &coarse);
			out->length_ns = t.length_ns;
			return true;
		}
		coarse = b;
	}
	return false;
}

// --- all methods ---

struct search_step search_next(const struct search *s)
{
	static bool (*const next[])(const struct search *, const struct search_goal *,
		struct search_step *) = {[SEARCH_BISECT] = bisect_next, [SEARCH_MLR] = mlr_next};
	struct search_step step = {0};

	if (s->settings->method == SEARCH_RAMP)
		return ramp_next(s);
	for (uint32_t i = 0; i < s->settings->goals.count && s->count < TRIALS_MAX; i++)
		if (next[s->settings->method](s, search_goal_of(s, i), &step))
			return step;
	return (struct search_step){.done = true};
}

static struct target final_target(const struct search *s, const struct search_goal *g)
{
	uint32_t phases = mlr_phases(s);

	return s->settings->method == SEARCH_MLR ? mlr_target(s, g, phases - 1, phases)
	                                         : bisect_target(s, g);
}

static int by_loss(const void *a, const void *b)
{
	const struct search_trial *const *x = a, *const *y = b;
	double l = (*x)->loss + (*x)->failed, m = (*y)->loss + (*y)->failed;

	return (l > m) - (l < m);
}

// The rate of the trial at the exceed ratio's quantile of losses, each trial weighing its length.
static double conditional_throughput(const struct search *s, const struct target *t, double load)
{
	const struct search_trial **at = calloc(s->count + 1, sizeof(*at));
	double whole = t->sum_s, left, out = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; at && i < s->count; i++)
		if (s->trials[i].load == load && !s->trials[i].invalid &&
			s->trials[i].length_ns >= t->length_ns)
			at[n++] = &s->trials[i];
	if (n)
		qsort(at, n, sizeof(*at), by_loss);
	left = whole * (1 - t->exceed);
	for (uint32_t i = 0; i < n; i++) {
		out = at[i]->answered_per_s;
		left -= seconds(at[i]->length_ns);
		if (left <= 1e-9)
			break;
	}
	free(at);
	return out;
}

struct search_answer search_answer(const struct search *s, uint32_t goal)
{
	const struct search_goal *g = search_goal_of(s, goal);
	struct target t = final_target(s, g);
	struct bounds b;

	if (s->settings->method == SEARCH_RAMP)
		return ramp_answer(s, g);
	b = bounds_of(s, &t);
	if (b.lower == 0)
		return (struct search_answer){NAN, b.upper, NAN, b.tester, b.undecided};
	return (struct search_answer){
		b.lower, b.upper, conditional_throughput(s, &t, b.lower), b.tester, b.undecided};
}

bool search_is_spoilt(const struct search *s)
{
	const struct search_goal *g = search_goal_of(s, 0);
	double highest = 0, lowest = INFINITY;
	uint32_t tried = 0; // at the lowest

	if (s->settings->method == SEARCH_RAMP || s->count < SPOILT)
		return false;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct search_trial *t = &s->trials[i];

		if (!search_void(g, t) || !t->crowded)
			return false;
		highest = fmax(highest, t->load);
		tried = t->load < lowest ? 1 : tried + (t->load == lowest);
		lowest = fmin(lowest, t->load);
	}
	return tried >= s->settings->attempts &&
	       (2 * lowest <= highest || lowest <= s->settings->from);
}

// Computes the cost of continuing, with trials that turn out as if the answer were in the middle.
double search_left_s(const struct search *s)
{
	struct search_answer now = search_answer(s, 0);
	double lower = isnan(now.load) ? s->settings->from : now.load;
	double upper = fmin(now.upper, s->settings->to), middle = (lower + upper) / 2, left = 0;
	struct search guess = *s;
	struct search_trial *trials;
	struct search_step step;

	if (s->settings->method == SEARCH_RAMP || !(upper >= lower))
		return NAN;
	if (now.upper == INFINITY && s->settings->start == SEARCH_LOWEST)
		middle = fmin(middle, RISE * lower);
	trials = calloc(s->count + GUESSES, sizeof(*trials));
	if (!trials)
		return NAN;
	for (uint32_t i = 0; i < s->count; i++)
		trials[i] = s->trials[i];
	guess.trials = trials;
	for (step = search_next(&guess); !step.done; step = search_next(&guess)) {
		bool met = step.load <= middle;

		if (guess.count == s->count + GUESSES) {
			left = NAN;
			break;
		}
		trials[guess.count++] = (struct search_trial){.load = step.load,
			.length_ns = step.length_ns,
			.loss = met ? 0 : 1,
			.answered_per_s = fmin(step.load, middle)};
		left += seconds(step.length_ns + s->settings->warmup_ns + s->settings->settle_ns);
	}
	free(trials);
	return left;
}

static int by_load(const void *a, const void *b)
{
	const struct search_trial *x = a, *y = b;

	return (x->load > y->load) - (x->load < y->load);
}

// Returns the lowest p99 of the valid trials at the load of sorted[*i], and moves *i to the next
// load; NAN: no valid trial.
static double p99_at(const struct search_trial *sorted, uint32_t count, uint32_t *i)
{
	double load = sorted[*i].load, least = NAN;

	for (; *i < count && sorted[*i].load == load; ++*i)
		if (!sorted[*i].invalid)
			least = fmin(least, sorted[*i].latency_ns[GOAL_P99]);
	return least;
}

// Scans upwards for the lowest p99 so far, and for the last load that kept near it.
static double find_knee(const struct search_trial *sorted, uint32_t count)
{
	double least = INFINITY, last = NAN, from = NAN;
	uint32_t seen = 0;

	for (uint32_t i = 0; i < count;) {
		double load = sorted[i].load, p99 = p99_at(sorted, count, &i);

		if (isnan(p99))
			continue;
		if (seen >= KNEE_LOADS && p99 > KNEE * least) {
			from = isnan(from) ? last : from;
			continue;
		}
		from = NAN;
		last = load;
		seen++;
		least = fmin(least, p99);
	}
	return from;
}

// Scans downwards as long as it is a collapse. A single bad moment below does not count.
static void find_collapse(
	const struct search *s, const struct search_trial *sorted, struct search_shape *out)
{
	for (uint32_t i = s->count; i-- > 0 && sorted[i].load > out->peak_load;) {
		double best = best_at(s, sorted[i].load);

		if (best < 0)
			continue;
		if (best >= COLLAPSE * out->peak_per_s)
			return;
		out->collapse_load = sorted[i].load;
		out->collapse_per_s = best;
	}
}

struct search_shape search_shape(const struct search *s)
{
	struct search_shape out = {NAN, 0, NAN, NAN, NAN};
	struct search_trial *sorted = calloc(s->count + 1, sizeof(*sorted));

	for (uint32_t i = 0; sorted && i < s->count; i++) {
		sorted[i] = s->trials[i];
		if (!sorted[i].invalid && sorted[i].answered_per_s > out.peak_per_s) {
			out.peak_load = sorted[i].load;
			out.peak_per_s = sorted[i].answered_per_s;
		}
	}
	if (!sorted)
		return out;
	qsort(sorted, s->count, sizeof(*sorted), by_load);
	find_collapse(s, sorted, &out);
	out.knee = find_knee(sorted, s->count);
	free(sorted);
	return out;
}
