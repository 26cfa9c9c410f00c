// SPDX-License-Identifier: BSD-3-Clause
// Figures of a histogram: edges, percentiles, mean, deviation; merging and difference.
// Path: cold. Any thread, on a histogram without a writer.
#include "base/hist.h"

#include <endian.h>
#include <float.h>
#include <math.h>

void hist_merge(struct hist *to, const struct hist *from)
{
	to->count += from->count;
	to->sum += from->sum;
	to->min = from->min < to->min ? from->min : to->min;
	to->max = from->max > to->max ? from->max : to->max;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

// min and max were not kept for the time between the readings: the edges of the outer buckets are.
static void hist_edges(struct hist *h, uint64_t min, uint64_t max)
{
	uint32_t low = 0, high = HIST_BUCKETS - 1;

	h->min = UINT64_MAX;
	h->max = 0;
	if (h->count == 0)
		return;
	while (low < high && h->bucket[low] == 0)
		low++;
	while (high > low && h->bucket[high] == 0)
		high--;
	h->min = hist_bucket_low(low) > min ? hist_bucket_low(low) : min;
	h->max = hist_bucket_high(high) - 1 < max ? hist_bucket_high(high) - 1 : max;
}

void hist_difference(struct hist *to, const struct hist *now, const struct hist *before)
{
	uint64_t min = now->min, max = now->max;

	to->count = now->count - before->count;
	to->sum = now->sum - before->sum;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++)
		to->bucket[i] = now->bucket[i] - before->bucket[i];
	hist_edges(to, min, max);
}

#define TOKEN_MAX 48 // " GAP:COUNT"

// Backwards, to before `end`: its begin.
static char *number_before(char *end, uint64_t n)
{
	do
		*--end = (char)('0' + n % 10);
	while ((n /= 10));
	return end;
}

// Avoids snprintf, because an interval has about a thousand.
size_t hist_print(const struct hist *h, char *buf, size_t room)
{
	char token[TOKEN_MAX], *const end = token + TOKEN_MAX, *from;
	uint32_t last = 0;
	size_t len = 0;

	if (room)
		buf[0] = '\0';
	for (uint32_t i = 0; h->count && i < HIST_BUCKETS; i++) {
		size_t size, fits;

		if (h->bucket[i] == 0)
			continue;
		from = number_before(end, h->bucket[i]);
		*--from = ':';
		from = number_before(from, i - last);
		if (len)
			*--from = ' ';
		size = (size_t)(end - from);
		fits = len + 1 < room ? room - 1 - len : 0;
		fits = fits < size ? fits : size;
		if (fits) {
			memcpy(buf + len, from, fits);
			buf[len + fits] = '\0';
		}
		len += size;
		last = i;
	}
	return len;
}

uint64_t hist_bucket_low(uint32_t bucket)
{
	uint32_t shift;

	if (bucket < 1u << HIST_SUB_BITS)
		return bucket;
	shift = (bucket >> HIST_SUB_BITS) - 1;
	return ((uint64_t)(bucket & ((1u << HIST_SUB_BITS) - 1)) + (1u << HIST_SUB_BITS)) << shift;
}

uint64_t hist_bucket_high(uint32_t bucket)
{
	return bucket + 1 < HIST_BUCKETS ? hist_bucket_low(bucket + 1) : UINT64_MAX;
}

static uint64_t hist_middle(const struct hist *h, uint32_t bucket)
{
	uint64_t low = hist_bucket_low(bucket);
	uint64_t value = low + (hist_bucket_high(bucket) - 1 - low) / 2;

	value = value < h->min ? h->min : value;
	return value > h->max ? h->max : value;
}

#define NUMBER_SAFE 18 // digits that any number may have

// Reads digits and advances *text past them. Returns false if there are none, or if the number is
// above max.
static bool read_number(const char **text, uint64_t max, uint64_t *out)
{
	const char *from = *text;

	for (*out = 0; **text >= '0' && **text <= '9'; (*text)++) {
		uint64_t digit = (uint64_t)(**text - '0');

		if (*text - from >= NUMBER_SAFE && *out > (UINT64_MAX - digit) / 10)
			return false;
		*out = 10 * *out + digit;
	}
	return *text != from && *out <= max;
}

bool hist_next(const char **text, uint32_t *bucket, uint64_t *times, uint64_t most)
{
	bool first = *bucket == HIST_NONE;
	uint32_t from = first ? 0 : *bucket;
	uint64_t gap;

	if (!read_number(text, HIST_BUCKETS - 1 - from, &gap) || *(*text)++ != ':' ||
		!read_number(text, most, times) || *times == 0 || (gap == 0 && !first))
		return false;
	*bucket = from + (uint32_t)gap;
	if (**text == ' ' && (*text)[1])
		++*text;
	else if (**text)
		return false;
	return true;
}

// Tests 64 octets at a time: one bit for each octet that is not a digit.
static uint64_t others_of(const char *text)
{
	uint64_t mask = 0;

	for (unsigned i = 0; i < 8; i++) {
		uint64_t v;

		memcpy(&v, text + 8 * i, sizeof(v));
		v = le64toh(v) ^ 0x3030303030303030; // digits are 0 to 9 now
		// Sets the highest bit of each octet that is 10 or more, without a carry into the
		// next.
		v = ((v & 0x7f7f7f7f7f7f7f7f) + 0x7676767676767676) | v;
		v = (v >> 7) & 0x0101010101010101;
		mask |= (v * 0x0102040810204080) >> 56 << (8 * i);
	}
	return mask;
}

// The value of 1 to 7 digits in 8 octets.
static inline uint64_t number_of(const char *text, size_t digits)
{
	uint64_t v;

	if (digits == 1)
		return (uint64_t)(*text - '0');
	memcpy(&v, text, sizeof(v));
	v = (le64toh(v) ^ 0x3030303030303030) << (64 - 8 * digits); // zeros come before
	v = v * 10 + (v >> 8);
	return ((v & 0x000000ff000000ff) * 0x000f424000000064 +
		       ((v >> 16) & 0x000000ff000000ff) * 0x0000271000000001) >>
	       32;
}

#define BLOCK      64
#define DIGITS_MAX 7
#define TEXT_LEFT  (BLOCK + 8) // octets of the text read at once

// Adds buckets while they have the usual form: a gap, few digits, and another bucket after them.
// text and bucket refer to the last bucket added, then to the next.
static const char *add_usual(struct hist *h, const char *text, const char *end, uint32_t *bucket)
{
	const char *block = text, *from = text;
	uint64_t gap = 0, value;

	for (; end - block >= TEXT_LEFT; block += BLOCK)
		for (uint64_t mask = others_of(block); mask; mask &= mask - 1) {
			const char *at = block + __builtin_ctzll(mask);
			size_t digits = (size_t)(at - from);

			if (digits == 0 || digits > DIGITS_MAX || *at != (gap ? ' ' : ':'))
				return text;
			value = number_of(from, digits);
			from = at + 1;
			if (value == 0)
				return text;
			if (gap == 0) {
				gap = value;
				continue;
			}
			if (*bucket + gap >= HIST_BUCKETS || value > UINT64_MAX - h->count)
				return text;
			*bucket += (uint32_t)gap;
			h->bucket[*bucket] += value;
			h->count += value;
			text = from;
			gap = 0;
		}
	return text;
}

bool hist_add_text(struct hist *h, const char *text, size_t len)
{
	const char *const end = text + len;
	uint32_t bucket = HIST_NONE;
	uint64_t times;

	while (text < end) {
		if (!hist_next(&text, &bucket, &times, UINT64_MAX - h->count))
			return false;
		h->bucket[bucket] += times;
		h->count += times;
		text = add_usual(h, text, end, &bucket);
	}
	return true;
}

bool hist_read(struct hist *h, const char *text)
{
	uint32_t bucket = HIST_NONE;
	uint64_t times;

	hist_clear(h);
	while (*text) {
		if (!hist_next(&text, &bucket, &times, UINT64_MAX - h->count))
			return false;
		h->bucket[bucket] = times;
		if (h->count == 0)
			h->min = hist_bucket_low(bucket);
		h->max = hist_bucket_high(bucket) - 1;
		h->count += times;
		h->sum += (hist_sum)hist_middle(h, bucket) * times;
	}
	return true;
}

// share * total, rounded up, except for binary rounding: 0.07 * 100 is slightly above 7.
static uint64_t hist_rank(double share, uint64_t total)
{
	double rank = share * (double)total;

	rank = ceil(rank - rank * 4 * DBL_EPSILON);
	if (!(rank >= 1))
		return 1;
	return rank >= (double)total ? total : (uint64_t)rank;
}

uint64_t hist_percentile(const struct hist *h, double share, uint64_t above)
{
	uint64_t total = h->count + above, rank, seen = 0;

	if (total == 0)
		return 0;
	rank = hist_rank(share, total);
	if (rank > h->count)
		return UINT64_MAX;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			return hist_middle(h, i);
	}
	return h->max;
}

bool hist_knows(double count, double share)
{
	return share <= 0.5 || count * (1 - share) > 1 - 1e-6;
}

double hist_mean(const struct hist *h)
{
	if (h->count == 0)
		return 0;
	return (double)h->sum / (double)h->count;
}

double hist_stddev(const struct hist *h)
{
	double n = 0, mean = 0, squares = 0;

	if (h->count < 2)
		return 0;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		double weight = (double)h->bucket[i], delta;

		if (h->bucket[i] == 0)
			continue;
		delta = (double)hist_middle(h, i) - mean;
		n += weight;
		mean += delta * weight / n;
		squares += delta * delta * weight * (n - weight) / n;
	}
	return n > 1 ? sqrt(squares / (n - 1)) : 0;
}
