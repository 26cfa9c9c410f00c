// SPDX-License-Identifier: BSD-3-Clause
// Members of a result that was read back, which can be missing or of another type. Path: cold. Main
// thread.
#include <math.h>
#include <string.h>

#include "document/book.h"

#define NAME 64 // of a member

double book_tick_hz(const struct book *b)
{
	double hz = book_number(b->document, "run.host.tsc_hz");

	return hz > 0 ? hz : 0;
}

uint64_t book_whole(double value)
{
	return value >= 0x1p62 ? 1ull << 62 : value > 0 ? (uint64_t)value : 0;
}

// The nearest number of ticks, within what a histogram can hold.
static uint64_t ticks(double ns, double hz)
{
	return book_whole(round(ns * 1e-9 * hz));
}

bool book_histogram(const struct book *b, const json_t *latency, struct hist *h)
{
	double hz = book_tick_hz(b), min = book_number(latency, "min_ns");
	double max = book_number(latency, "max_ns"), mean = book_number(latency, "mean_ns");
	const char *text = book_text(latency, "histogram");

	if (!*text || hz == 0 || !hist_read(h, text)) {
		hist_clear(h);
		return false;
	}
	if (min >= 0)
		h->min = ticks(min, hz);
	if (max >= 0)
		h->max = ticks(max, hz);
	if (mean >= 0)
		h->sum = (hist_sum)fmin(mean * 1e-9 * hz * (double)h->count, 0x1p126);
	return true;
}

const json_t *book_at(const json_t *in, const char *path)
{
	char name[NAME];
	size_t len;

	while (in && *path) {
		len = strcspn(path, ".");
		if (len >= sizeof(name))
			return NULL;
		memcpy(name, path, len);
		name[len] = '\0';
		in = json_object_get(in, name);
		path += len + (path[len] == '.');
	}
	return in;
}

double book_number(const json_t *in, const char *path)
{
	const json_t *value = book_at(in, path);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *book_text(const json_t *in, const char *path)
{
	const char *text = json_string_value(book_at(in, path));

	return text ? text : "";
}
