// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "merge/merge.h"

#include <math.h>
#include <string.h>

#include "document/document_reader.h"
#include "document/distribution.h"
#include "stats/json.h"

#define PART      "part" // of a worker: the number of its box
#define DEPTH_MAX 32     // of objects; deeper ones are left out

static json_t *merge_members(
	struct merge *m, const struct counter_section *s, json_t *const *parts, uint64_t above);

// NULL: the section has no such row, as of what a protocol counts, where everything is a count.
static const struct counter *row_of(const struct counter_section *s, const char *name)
{
	for (uint32_t i = 0; s && i < s->count; i++)
		if (strcmp(s->rows[i].name, name) == 0)
			return &s->rows[i];
	return NULL;
}

static double number_or_0(const json_t *in, const char *name)
{
	return json_number_value(json_object_get(in, name)); // 0 of anything else
}

// --- distributions ---

#define HZ_SAME 1e-4 // far less than half a bucket

// A bucket in other ticks: where its middle is then.
static uint32_t bucket_scaled(uint32_t bucket, double scale)
{
	uint64_t low = hist_bucket_low(bucket), high = hist_bucket_high(bucket) - 1;

	if (bucket + 1 == HIST_BUCKETS)
		return bucket;
	return hist_bucket(document_whole(((double)low + (double)(high - low) / 2) * scale + 0.5));
}

// Of a box whose clock is not known, it is none.
static bool is_hz_of(const struct merge *m, unsigned k, double hz)
{
	return m->hz[k] > 0 && fabs(m->hz[k] / hz - 1) < HZ_SAME;
}

// false: one of them is not there, or damaged. of: parts in it are added to h, and leave it.
static bool add_same_clocks(
	struct merge *m, json_t *const *parts, double hz, bool *of, struct hist *h)
{
	for (unsigned k = 0; k < m->count; k++) {
		const json_t *text;

		if (!of[k] || !is_hz_of(m, k, hz))
			continue;
		of[k] = false;
		text = json_object_get(parts[k], "histogram");
		if (!json_is_string(text) ||
			!hist_add_text(h, json_string_value(text), json_string_length(text)))
			return false;
	}
	return true;
}

// false: too many.
static bool add_scaled(struct hist *h, const struct hist *from, double scale)
{
	if (from->count > UINT64_MAX - h->count)
		return false;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++)
		if (from->bucket[i])
			h->bucket[bucket_scaled(i, scale)] += from->bucket[i];
	h->count += from->count;
	return true;
}

// The histograms of all parts in ticks of the first; those of boxes with one clock together. false:
// one of them is not there.
static bool add_histograms(struct merge *m, json_t *const *parts)
{
	bool left[MERGE_PARTS];

	hist_clear(&m->sum);
	for (unsigned k = 0; k < m->count; k++)
		left[k] = number_or_0(parts[k], "count") != 0;
	if (!add_same_clocks(m, parts, m->hz[0], left, &m->sum))
		return false;
	for (unsigned k = 0; k < m->count; k++) {
		if (!left[k])
			continue;
		hist_clear(&m->clock);
		if (!add_same_clocks(m, parts, m->hz[k], left, &m->clock) || left[k] ||
			!(m->hz[0] > 0) || !add_scaled(&m->sum, &m->clock, m->hz[0] / m->hz[k]))
			return false;
	}
	return true;
}

// The exact ends, which percentiles do not leave.
static void set_ends(const struct merge *m, struct hist *h, const json_t *sum)
{
	double ticks = m->hz[0] * 1e-9;

	h->min = document_whole(number_or_0(sum, "min_ns") * ticks + 0.5);
	h->max = document_whole(number_or_0(sum, "max_ns") * ticks + 0.5);
}

static json_t *merge_distribution(struct merge *m, json_t *const *parts, uint64_t above)
{
	json_t *sum = json_object(), *percentiles = NULL;
	struct distribution d = {0};

	for (unsigned k = 0; k < m->count; k++) {
		distribution_add(&d, parts[k]);
		if (!percentiles)
			percentiles = json_object_get(parts[k], "percentiles");
	}
	distribution_put(&d, sum);
	if (percentiles)
		json_object_set_new(sum, "percentiles", json_deep_copy(percentiles));
	if (!add_histograms(m, parts)) {
		json_object_del(sum, "percentiles");
		return sum;
	}
	if (m->sum.count)
		set_ends(m, &m->sum, sum);
	distribution_finish(sum, &m->sum, above, m->hz[0]);
	return sum;
}

// --- lists ---

static const char *name_of(const json_t *one)
{
	const char *name = json_string_value(json_object_get(one, "name"));

	return name ? name : "";
}

static bool is_known(const json_t *list, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach((json_t *)list, i, one) if (strcmp(name_of(one), name) == 0) return true;
	return false;
}

static json_t *named(const json_t *list, const char *name)
{
	json_t *one;
	size_t i;

	json_array_foreach((json_t *)list, i, one) if (strcmp(name_of(one), name) == 0) return one;
	return NULL;
}

// The elements of that name; each list most likely has it at i, as the one of `from` does. seen:
// elements of each list that were found in their likely place.
static void find_named(const struct merge *m, json_t *const *lists, unsigned from, size_t i,
	size_t *seen, json_t **same)
{
	const char *name = name_of(json_array_get(lists[from], i));

	for (unsigned k = 0; k < m->count; k++) {
		json_t *likely = json_array_get(lists[k], i);
		bool found = likely && (k == from || strcmp(name_of(likely), name) == 0);

		seen[k] += found;
		same[k] = found ? likely : named(lists[k], name);
	}
}

// Objects with the same name are one.
static json_t *merge_named(struct merge *m, const struct counter_section *s, json_t *const *lists)
{
	json_t *sum = json_array(), *one, *same[MERGE_PARTS];
	size_t seen[MERGE_PARTS] = {0}, i;

	for (unsigned from = 0; from < m->count; from++) {
		if (from && seen[from] >= json_array_size(lists[from]))
			continue;
		json_array_foreach(lists[from], i, one)
		{
			if (from && is_known(sum, name_of(one)))
				continue;
			find_named(m, lists, from, i, seen, same);
			json_array_append_new(sum, merge_members(m, s, same, 0));
		}
	}
	return sum;
}

// One list behind the other.
static json_t *merge_in_turn(struct merge *m, json_t *const *lists)
{
	json_t *sum = json_array(), *one;
	size_t i;

	for (unsigned k = 0; k < m->count; k++)
		json_array_foreach(lists[k], i, one)
		{
			json_t *copy = json_copy(one);

			json_object_set_new(copy, PART, json_integer((json_int_t)m->part[k]));
			json_array_append_new(sum, copy);
		}
	return sum;
}

// Texts, each once.
static json_t *merge_texts(struct merge *m, json_t *const *lists)
{
	json_t *sum = json_array(), *one, *known;
	size_t i, n;

	for (unsigned k = 0; k < m->count; k++)
		json_array_foreach(lists[k], i, one)
		{
			bool any = false;

			json_array_foreach(sum, n, known) any |= json_equal(known, one);
			if (!any)
				json_array_append(sum, one);
		}
	return sum;
}

json_t *merge_lists(struct merge *m, const struct counter_section *s, json_t *const *lists)
{
	json_t *sum = json_array(), *at[MERGE_PARTS];
	bool any = true;

	for (size_t i = 0;; i++) {
		any = false;
		for (unsigned k = 0; k < m->count; k++) {
			at[k] = json_array_get(lists[k], i);
			any |= at[k] != NULL;
		}
		if (!any)
			return sum;
		json_array_append_new(sum, merge_members(m, s, at, 0));
	}
}

static json_t *merge_list(struct merge *m, const char *name, const struct counter *r,
	json_t *const *lists, const json_t *first)
{
	const json_t *one = json_array_get(first, 0);

	for (unsigned k = 0; !one && k < m->count; k++)
		one = json_array_get(lists[k], 0);
	if (json_is_string(one))
		return merge_texts(m, lists);
	if (strcmp(name, "workers") == 0)
		return merge_in_turn(m, lists);
	return merge_named(m, r ? r->section : NULL, lists);
}

// --- single values ---

enum merge_how { MERGE_SUM, MERGE_MOST, MERGE_FIRST };

// Counts, rates and levels are added. The longest of several times is that of all, and the highest
// of several shares. Settings are the same in all parts.
static enum merge_how how_of(const struct counter *r)
{
	if (!r || counter_adds_up(r) || r->level || r->type == COUNTER_ARRAY)
		return MERGE_SUM;
	if (r->type != COUNTER_F64 || !r->unit)
		return MERGE_FIRST;
	return strcmp(r->unit, "per_s") == 0 ? MERGE_SUM : MERGE_MOST;
}

// null: the figure of a part is not known, or above all; so is that of the sum.
static json_t *merge_numbers(const struct merge *m, enum merge_how how, json_t *const *values)
{
	json_int_t whole = 0;
	double sum = 0, most = -INFINITY;
	bool reals = false;

	for (unsigned k = 0; k < m->count; k++) {
		double value = 0;

		if (!values[k])
			continue;
		if (json_is_null(values[k]))
			return json_null();
		if (json_is_integer(values[k])) {
			json_int_t n = json_integer_value(values[k]);

			reals |= __builtin_add_overflow(whole, n, &whole);
			value = (double)n;
		} else if (json_is_real(values[k])) {
			value = json_real_value(values[k]);
			reals = true;
		}
		sum += value;
		most = value > most ? value : most;
	}
	if (how == MERGE_MOST)
		return reals ? json_real(most) : json_integer((json_int_t)document_whole(most));
	return !reals ? json_integer(whole) : isfinite(sum) ? json_real(sum) : json_null();
}

// What all parts know is known; any other fact holds if it does for one of them.
static json_t *merge_facts(const struct merge *m, const char *name, json_t *const *values)
{
	static const char known[] = "_known";
	size_t len = strlen(name), tail = sizeof(known) - 1;
	bool all = len > tail && strcmp(name + len - tail, known) == 0, out = all;

	for (unsigned k = 0; k < m->count; k++)
		if (values[k])
			out = all ? out && json_is_true(values[k]) : out || json_is_true(values[k]);
	return json_boolean(out);
}

static json_t *merge_values(struct merge *m, const struct counter *r, const char *name,
	json_t *const *values, uint64_t above)
{
	json_t *first = NULL;

	for (unsigned k = 0; k < m->count && !first; k++)
		first = values[k];
	if (json_is_object(first) && distribution_is(first))
		return merge_distribution(m, values, strcmp(name, "response") == 0 ? above : 0);
	if (json_is_object(first))
		return merge_members(m, r ? r->section : NULL, values, above);
	if (json_is_array(first))
		return merge_list(m, name, r, values, first);
	if (json_is_boolean(first))
		return merge_facts(m, name, values);
	if (json_is_string(first) || how_of(r) == MERGE_FIRST)
		return json_incref(first);
	return merge_numbers(m, how_of(r), values);
}

// --- figures that follow from others ---

// Shares of what was sent, or has ended in an interval.
static void set_loss(json_t *sum)
{
	bool whole = json_object_get(sum, "unsent") != NULL;
	double lost = number_or_0(sum, "lost");
	double of = whole ? number_or_0(sum, "sent") - number_or_0(sum, "no_reply")
	                  : number_or_0(sum, "answered") + number_or_0(sum, "failed") + lost;

	json_object_set_new(sum, "loss", json_real(of > 0 ? lost / of : 0));
}

// The mean of replies by the time of their requests (by_due).
static void set_mean(const struct merge *m, json_t *sum, json_t *const *parts)
{
	double all = 0, time = 0;

	for (unsigned k = 0; k < m->count; k++) {
		double n = number_or_0(parts[k], "answered") + number_or_0(parts[k], "failed");

		all += n;
		time += n * number_or_0(parts[k], "mean_ns");
	}
	json_object_set_new(sum, "mean_ns", stats_number("mean_ns", time / all));
}

static void derive(const struct merge *m, json_t *sum, json_t *const *parts)
{
	static const char *const figures[] = {"p50_ns", "p99_ns", "max_ns"};
	const json_t *response = document_at(sum, "latency.response");

	if (json_object_get(sum, "loss"))
		set_loss(sum);
	if (json_object_get(sum, "mean_ns") && json_object_get(sum, "answered"))
		set_mean(m, sum, parts);
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		if (response && json_object_get(sum, figures[i])) // of an interval
			json_object_set(sum, figures[i], json_object_get(response, figures[i]));
}

// A member of the object: the one at *at, if it has that name, as it does where all parts have the
// same members.
static json_t *member_of(json_t *object, void **at, const char *name)
{
	json_t *value;

	if (!*at || strcmp(json_object_iter_key(*at), name) != 0)
		return json_object_get(object, name);
	value = json_object_iter_value(*at);
	*at = json_object_iter_next(object, *at);
	// The next one is looked at when those of all other parts were: memory has time until then.
	if (*at) {
		__builtin_prefetch(json_object_iter_value(*at));
		__builtin_prefetch(json_object_iter_next(object, *at));
	}
	return value;
}

// The members that part `from` has and sum has not. seen: members of each part that sum has.
static void merge_new(struct merge *m, const struct counter_section *s, json_t *const *parts,
	unsigned from, uint64_t above, size_t *seen, json_t *sum)
{
	json_t *values[MERGE_PARTS], *value;
	void *at[MERGE_PARTS];
	const char *name;

	for (unsigned k = 0; k < m->count; k++)
		at[k] = json_object_iter(parts[k]);
	json_object_foreach(parts[from], name, value)
	{
		if (from && json_object_get(sum, name))
			continue;
		for (unsigned k = 0; k < m->count; k++) {
			values[k] = member_of(parts[k], &at[k], name);
			seen[k] += values[k] != NULL;
		}
		json_object_set_new(
			sum, name, merge_values(m, row_of(s, name), name, values, above));
	}
}

// Members that some parts have come behind those of the first.
static json_t *merge_members(
	struct merge *m, const struct counter_section *s, json_t *const *parts, uint64_t above)
{
	json_t *sum = json_object();
	size_t seen[MERGE_PARTS] = {0};

	for (unsigned k = 0; row_of(s, "latency") && k < m->count; k++)
		above += document_whole(number_or_0(parts[k], "lost"));
	m->depth++;
	for (unsigned from = 0; from < m->count && m->depth <= DEPTH_MAX; from++)
		if (seen[from] < json_object_size(parts[from]))
			merge_new(m, s, parts, from, above, seen, sum);
	m->depth--;
	derive(m, sum, parts);
	return sum;
}

json_t *merge_objects(struct merge *m, const struct counter_section *s, json_t *const *parts)
{
	return merge_members(m, s, parts, 0);
}
