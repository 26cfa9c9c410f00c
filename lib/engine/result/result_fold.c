// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Management thread.
#include "engine/result/result_fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NS_MOST 0x1p62

struct folding {
	const struct result_fold *to;
	double scale; // ticks of the sum per tick of the addend; 0: unknown
};

// --- distributions

#define SCALE_SAME 1e-4 // far less than half a bucket

// Returns the bucket of its middle, in other ticks.
static uint32_t bucket_scaled(uint32_t bucket, double scale)
{
	double low = (double)hist_bucket_low(bucket), high;

	if (bucket + 1 == HIST_BUCKETS || fabs(scale - 1) < SCALE_SAME)
		return bucket;
	high = (double)(hist_bucket_high(bucket) - 1);
	return hist_bucket((uint64_t)fmin((low + (high - low) / 2) * scale + 0.5, NS_MOST));
}

// Returns false if the text is malformed, or the counts do not fit.
static bool add_histogram(struct hist *to, const char *text, double scale)
{
	uint32_t bucket = HIST_NONE;
	uint64_t times;

	if (fabs(scale - 1) < SCALE_SAME)
		return hist_add_text(to, text, strlen(text));
	while (*text) {
		if (!hist_next(&text, &bucket, &times, UINT64_MAX - to->count))
			return false;
		to->bucket[bucket_scaled(bucket, scale)] += times;
		to->count += times;
	}
	return true;
}

// A part without a histogram, or with unknown ticks, leaves the sum without a histogram.
static void fold_histogram(const struct folding *g, struct latency *to, const struct latency *from)
{
	bool known = from->histogram && g->scale > 0 && isfinite(g->scale);

	if (to->count == 0 && known) {
		to->hist = arena_zalloc(g->to->hists, sizeof(*to->hist));
		hist_clear(to->hist);
	}
	if (!known || !to->hist || !add_histogram(to->hist, from->histogram, g->scale))
		to->hist = NULL;
}

static void fold_moments(struct latency *to, const struct latency *from)
{
	double n = (double)to->count, m = (double)from->count, all = n + m;
	double delta = from->mean_ns - to->mean_ns;
	double squares = fmax(m - 1, 0) * from->stddev_ns * from->stddev_ns;

	if (to->count == 0) {
		to->mean_ns = from->mean_ns;
		to->stddev_ns = from->stddev_ns;
		to->min_ns = from->min_ns;
		to->max_ns = from->max_ns;
		return;
	}
	squares += fmax(n - 1, 0) * to->stddev_ns * to->stddev_ns + delta * delta * n * m / all;
	to->mean_ns += delta * m / all;
	to->stddev_ns = sqrt(squares / (all - 1));
	to->min_ns = fmin(to->min_ns, from->min_ns);
	to->max_ns = fmax(to->max_ns, from->max_ns);
}

static void forget_percentiles(struct latency *l)
{
	struct result_percentile *chosen = (struct result_percentile *)l->percentiles.items;

	l->histogram = NULL;
	l->p50_ns = l->p90_ns = l->p99_ns = l->p999_ns = l->p9999_ns = NAN;
	for (uint32_t i = 0; i < l->percentiles.count; i++)
		chosen[i].value_ns = NAN;
}

// Copies all but the sums: the percentiles of a single part are also the sum's.
static void copy_latency(struct latency *to, const struct latency *from, struct arena *a)
{
	struct result_percentile *chosen =
		arena_zalloc(a, (from->percentiles.count + 1) * sizeof(*chosen));

	*to = *from;
	to->count = 0;
	to->hist = NULL;
	to->histogram = from->histogram ? arena_strdup(a, from->histogram) : NULL;
	to->percentiles.items = chosen;
	for (uint32_t i = 0; i < from->percentiles.count; i++) {
		chosen[i] = ((const struct result_percentile *)from->percentiles.items)[i];
		chosen[i].name = arena_strdup(a, chosen[i].name ? chosen[i].name : "");
	}
	if (from->count)
		return;
	to->min_ns = to->mean_ns = to->stddev_ns = to->max_ns = NAN;
	forget_percentiles(to);
}

static void fold_latency(const struct stats_fold *f, void *sum, const void *one, bool first)
{
	const struct folding *g = f->ctx;
	struct latency *to = sum;
	const struct latency *from = one;

	if (first)
		copy_latency(to, from, f->arena);
	else if (from->count)
		forget_percentiles(to);
	if (from->count == 0)
		return;
	fold_histogram(g, to, from);
	fold_moments(to, from);
	to->count = from->count > UINT64_MAX - to->count ? UINT64_MAX : to->count + from->count;
}

// The mean of all replies.
static void fold_by_due(const struct stats_fold *f, void *sum, const void *one, bool first)
{
	struct result_by_due *to = sum;
	const struct result_by_due *from = one;
	double n = (double)(to->answered + to->failed), m = (double)(from->answered + from->failed);

	if (n == 0)
		to->mean_ns = m > 0 ? from->mean_ns : NAN;
	else if (m > 0)
		to->mean_ns = (n * to->mean_ns + m * from->mean_ns) / (n + m);
	to->answered += from->answered;
	to->failed += from->failed;
}

static const struct stats_fold_whole whole[] = {
	{&latency_section, fold_latency}, {&by_due_section, fold_by_due}, {NULL, NULL}};

static struct stats_fold fold_of(const struct result_fold *f, struct folding *g, double from_hz)
{
	*g = (struct folding){f, from_hz > 0 ? f->hz / from_hz : 0};
	return (struct stats_fold){f->over, f->arena, whole, g};
}

void result_fold(const struct result_fold *f, struct result *to, const struct result *from,
	double from_hz, bool first)
{
	struct folding g;
	struct stats_fold all = fold_of(f, &g, from_hz);

	stats_fold(&all, &result_section, to, from, first);
}

// --- replies to requests of earlier intervals, by how many snapshots ago these were due

static void add_earlier(struct result_interval_item *to, const struct result_earlier *from,
	uint64_t more, struct arena *a)
{
	struct result_earlier *list = (struct result_earlier *)to->earlier;
	uint32_t i = 0;

	while (i < to->earlier_count && list[i].back != from->back + more)
		i++;
	if (i == to->earlier_count) {
		struct counter_list earlier = {list, i};
		bool first;

		((struct result_earlier *)stats_fold_element(&earlier, i, sizeof(*list), a, &first))
			->back = from->back + more;
		to->earlier = list = (struct result_earlier *)earlier.items;
		to->earlier_count = earlier.count;
	}
	list[i].answered += from->answered;
	list[i].failed += from->failed;
	list[i].time_ns += from->time_ns;
}

static struct result_interval_item *item_named(
	const struct result_interval *in, const char *name, uint32_t likely)
{
	struct result_interval_item *items = (struct result_interval_item *)in->traffic.items;

	if (strcmp(items[likely].name, name) == 0)
		return &items[likely];
	for (uint32_t i = 0; i < in->traffic.count; i++)
		if (strcmp(items[i].name, name) == 0)
			return &items[i];
	return NULL;
}

// The sum gets the number of the latest interval.
static void fold_earlier(
	const struct result_fold *f, struct result_interval *to, const struct result_interval *from)
{
	struct result_interval_item *sums = (struct result_interval_item *)to->traffic.items;
	const struct result_interval_item *items = from->traffic.items;
	uint64_t number = from->number > to->number ? from->number : to->number;

	for (uint32_t i = 0; i < to->traffic.count; i++)
		for (uint32_t k = 0; k < sums[i].earlier_count; k++)
			((struct result_earlier *)sums[i].earlier)[k].back += number - to->number;
	to->number = number;
	for (uint32_t i = 0; i < from->traffic.count; i++)
		for (uint32_t k = 0; k < items[i].earlier_count; k++)
			add_earlier(item_named(to, items[i].name, i), &items[i].earlier[k],
				number - from->number, f->arena);
}

void result_fold_interval(const struct result_fold *f, struct result_interval *to,
	const struct result_interval *from, double from_hz, bool first)
{
	struct folding g;
	struct stats_fold all = fold_of(f, &g, from_hz);

	if (first) {
		to->number = from->number;
		to->last = from->last;
	}
	stats_fold(&all, &result_interval_section, to, from, first);
	fold_earlier(f, to, from);
}

// --- figures derived from the sums

static double percentile(
	const struct hist *h, double share, uint64_t above, double hz, bool rounded)
{
	uint64_t ticks = hist_percentile(h, share, above);
	double ns = (double)ticks * 1e9 / hz;

	if (h->count == 0 && above == 0)
		return NAN;
	return ticks == UINT64_MAX ? INFINITY : rounded ? round(ns) : ns;
}

// Returns the share that a name of output.percentiles stands for: "p95", "p99999", "p05", "p100".
static double share_of(const char *name)
{
	size_t digits = name ? strspn(name + (*name == 'p'), "0123456789") : 0;

	if (name && strcmp(name, "p100") == 0)
		return 1;
	return digits ? strtod(name + 1, NULL) / pow(10, (double)digits) : NAN;
}

void result_percentiles(
	struct latency *l, const struct hist *h, uint64_t above, double hz, bool rounded)
{
	struct result_percentile *chosen = (struct result_percentile *)l->percentiles.items;

	l->p50_ns = percentile(h, 0.5, above, hz, rounded);
	l->p90_ns = percentile(h, 0.9, above, hz, rounded);
	l->p99_ns = percentile(h, 0.99, above, hz, rounded);
	l->p999_ns = percentile(h, 0.999, above, hz, rounded);
	l->p9999_ns = percentile(h, 0.9999, above, hz, rounded);
	for (uint32_t i = 0; i < l->percentiles.count; i++)
		chosen[i].value_ns = percentile(h, share_of(chosen[i].name), above, hz, rounded);
}

const char *result_histogram(const struct hist *h, struct arena *a)
{
	size_t len = hist_print(h, NULL, 0);
	char *text = len ? arena_zalloc(a, len + 1) : NULL;

	hist_print(h, text, len ? len + 1 : 0);
	return text;
}

static uint64_t ticks_of(double ns, double hz)
{
	return ns > 0 ? (uint64_t)fmin(ns * 1e-9 * hz + 0.5, NS_MOST) : 0;
}

// above: lost transactions, which rank above all values.
static void derive_latency(const struct result_fold *f, struct latency *l, uint64_t above)
{
	struct hist none, *h = l->hist ? l->hist : &none;

	if (!l->hist && (l->count || !above))
		return;
	if (!l->hist)
		hist_clear(&none);
	if (h->count) { // the exact ends, which percentiles do not exceed
		h->min = ticks_of(l->min_ns, f->hz);
		h->max = ticks_of(l->max_ns, f->hz);
	}
	result_percentiles(l, h, above, f->hz, true);
	if (h->count)
		l->histogram = result_histogram(h, f->arena);
}

static void derive_steps(const struct result_fold *f, struct counter_list *list)
{
	struct result_step *steps = (struct result_step *)list->items;

	for (uint32_t i = 0; i < list->count; i++) {
		derive_latency(f, &steps[i].latency.response, steps[i].lost);
		derive_latency(f, &steps[i].latency.service, 0);
	}
}

static double share(double part, double of)
{
	return of > 0 ? part / of : 0;
}

static void derive_interval_item(const struct result_fold *f, struct result_interval_item *i)
{
	struct result_interval_connections *c =
		(struct result_interval_connections *)i->connections;

	i->loss = share((double)i->lost, (double)(i->answered + i->failed + i->lost));
	derive_latency(f, &i->latency.response, i->lost);
	derive_latency(f, &i->latency.service, 0);
	derive_latency(f, &i->send_lag, 0);
	derive_steps(f, &i->steps);
	if (c) {
		derive_latency(f, &c->handshake, 0);
		derive_latency(f, &c->first_answer, 0);
	}
	i->p50_ns = i->latency.response.p50_ns;
	i->p99_ns = i->latency.response.p99_ns;
	i->max_ns = i->latency.response.max_ns;
}

void result_derive_interval(const struct result_fold *f, struct result_interval *sum)
{
	struct result_interval_item *items = (struct result_interval_item *)sum->traffic.items;

	for (uint32_t i = 0; i < sum->traffic.count; i++)
		derive_interval_item(f, &items[i]);
}

void result_derive_rates(struct result_interval *sum)
{
	struct result_interval_item *i = (struct result_interval_item *)sum->traffic.items;

	for (uint32_t n = 0; n < sum->traffic.count; n++, i++) {
		i->due_per_s = share((double)i->due, sum->t_s);
		i->sent_per_s = share((double)i->sent, sum->t_s);
		i->answered_per_s = share((double)i->answered, sum->t_s);
		i->loss = share((double)i->lost, (double)i->sent - (double)i->no_reply);
	}
}

static void derive_item(const struct result_fold *f, struct result_item *i)
{
	struct result_connections *c = (struct result_connections *)i->connections;
	struct result_mark *marks = (struct result_mark *)i->marks.items;

	i->loss =
		share((double)i->ledger.lost, (double)i->ledger.sent - (double)i->ledger.no_reply);
	derive_latency(f, &i->latency.response, i->ledger.lost);
	derive_latency(f, &i->latency.service, 0);
	derive_latency(f, &i->send_lag, 0);
	derive_steps(f, &i->steps);
	for (uint32_t n = 0; n < i->marks.count; n++)
		derive_latency(f, &marks[n].latency, 0);
	if (c) {
		derive_latency(f, &c->handshake, 0);
		derive_latency(f, &c->first_answer, 0);
	}
}

void result_derive(const struct result_fold *f, struct result *sum)
{
	struct result_item *items = (struct result_item *)sum->traffic.items;
	struct result_event *events = (struct result_event *)sum->events.items;

	for (uint32_t i = 0; i < sum->traffic.count; i++)
		derive_item(f, &items[i]);
	for (uint32_t i = 0; i < sum->events.count; i++) {
		struct result_event_item *of = (struct result_event_item *)events[i].traffic.items;

		for (uint32_t n = 0; n < events[i].traffic.count; n++)
			derive_latency(f, &of[n].waited, 0);
	}
}
