// SPDX-License-Identifier: BSD-3-Clause
// Histogram of ticks: log-linear, 128 buckets an octave, so under 0.79 % wide. One writer; merged
// by addition. min, max, count and sum are exact. Values above 2^42 ticks share the last bucket
// (max stays exact). Path: hot (the inline functions) | cold (the rest).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HIST_SUB_BITS 7
#define HIST_TOP_BITS 42
#define HIST_BUCKETS  ((HIST_TOP_BITS - HIST_SUB_BITS + 1) << HIST_SUB_BITS)

__extension__ typedef unsigned __int128 hist_sum;

struct hist {
	hist_sum sum; // of all values
	uint64_t count;
	uint64_t min; // of count > 0; ~0 when empty, so start with hist_clear
	uint64_t max;
	uint64_t bucket[HIST_BUCKETS];
};

static inline uint32_t hist_bucket(uint64_t value)
{
	uint32_t top = 63 - (uint32_t)__builtin_clzll(value | 1u << HIST_SUB_BITS);
	uint32_t shift = top - HIST_SUB_BITS;
	uint32_t bucket = (shift << HIST_SUB_BITS) + (uint32_t)(value >> shift);

	return bucket < HIST_BUCKETS ? bucket : HIST_BUCKETS - 1;
}

static inline void hist_add(struct hist *h, uint64_t value)
{
	h->bucket[hist_bucket(value)]++;
	h->count++;
	h->sum += value;
	// Both come true a few times in a run.
	if (__builtin_expect(value < h->min, 0))
		h->min = value;
	if (__builtin_expect(value > h->max, 0))
		h->max = value;
}

// Collects runs of equal values and counts each run at once.
struct hist_run {
	uint64_t value, times; // start with zero
};

static inline void hist_run_end(struct hist *h, const struct hist_run *r)
{
	if (r->times == 0)
		return;
	h->bucket[hist_bucket(r->value)] += r->times;
	h->count += r->times;
	h->sum += (hist_sum)r->value * r->times;
	h->min = r->value < h->min ? r->value : h->min;
	h->max = r->value > h->max ? r->value : h->max;
}

// hist_run_end is due at the end.
static inline void hist_run_add(struct hist *h, struct hist_run *r, uint64_t value)
{
	if (value != r->value) {
		hist_run_end(h, r);
		*r = (struct hist_run){value, 0};
	}
	r->times++;
}

// to: cleared, or an earlier copy of the same histogram. Only buckets between min and max are
// copied.
static inline void hist_copy(struct hist *to, const struct hist *from)
{
	uint32_t first, last;

	memcpy(to, from, offsetof(struct hist, bucket));
	if (from->count == 0)
		return;
	first = hist_bucket(from->min);
	last = hist_bucket(from->max);
	memcpy(to->bucket + first, from->bucket + first, (last + 1 - first) * sizeof(*to->bucket));
}

static inline void hist_clear(struct hist *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

void hist_merge(struct hist *to, const struct hist *from);
// to = now - before, for two readings of one histogram. min and max become the edges of the outer
// buckets, within min and max of now. to may be now or before.
void hist_difference(struct hist *to, const struct hist *now, const struct hist *before);

// The used buckets as text, "GAP:COUNT ...", where GAP is the distance from the previous bucket, or
// from 0. Like snprintf: writes at most room octets, and returns the full length. Empty: "".
size_t hist_print(const struct hist *h, char *buf, size_t room);

// The text of hist_print. min and max are the edges of the outer buckets, and each value counts as
// the middle of its bucket. Returns false for any other text; h is then undefined.
bool hist_read(struct hist *h, const char *text);

// Reads the next bucket of such a text, which must not be at its end, and its count, up to most.
// *bucket is the previous bucket, HIST_NONE at first. Returns false for any other text.
#define HIST_NONE UINT32_MAX
bool hist_next(const char **text, uint32_t *bucket, uint64_t *times, uint64_t most);

// Adds such a text of len octets, with a NUL behind it, to the buckets and the count of h only.
// Returns false for any other text, of which a part may have been added.
bool hist_add_text(struct hist *h, const char *text, size_t len);

// Lower edge and upper edge (exclusive) of a bucket; the last one has none, UINT64_MAX.
uint64_t hist_bucket_low(uint32_t bucket);
uint64_t hist_bucket_high(uint32_t bucket);

// The percentile: the smallest value that at least `share` (0..1) of all samples do not exceed.
// `above` more samples lie above all others (lost transactions). Returns the middle of its bucket,
// held within min..max; UINT64_MAX if the rank falls among the `above`; 0 without any sample.
uint64_t hist_percentile(const struct hist *h, double share, uint64_t above);
// Are there enough values above the percentile? The 99th percentile of 40 samples is just the
// longest one. A percentile up to the median needs one value.
bool hist_knows(double count, double share);
double hist_mean(const struct hist *h);   // 0 when empty
double hist_stddev(const struct hist *h); // of the sample (n-1), from bucket middles; 0 below two
