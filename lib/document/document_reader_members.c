// SPDX-License-Identifier: BSD-3-Clause
// Members of a result that was read back, which can be missing or of another type. Path: cold. Main
// thread.
#include <math.h>
#include <string.h>

#include "document/document_reader.h"

#define NAME 64 // of a member

double reader_tick_hz(const struct document_reader *b)
{
	double hz = document_number(b->document, "run.host.tsc_hz");

	return hz > 0 ? hz : 0;
}

uint64_t document_whole(double value)
{
	return value >= 0x1p62 ? 1ull << 62 : value > 0 ? (uint64_t)value : 0;
}

// Returns the nearest number of ticks, within the range of a histogram.
static uint64_t ticks(double ns, double hz)
{
	return document_whole(round(ns * 1e-9 * hz));
}

bool reader_histogram(const struct document_reader *b, const json_t *latency, struct hist *h)
{
	double hz = reader_tick_hz(b), min = document_number(latency, "min_ns");
	double max = document_number(latency, "max_ns"), mean = document_number(latency, "mean_ns");
	const char *text = document_text(latency, "histogram");

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

bool document_is_latency(const json_t *object)
{
	return json_object_get(object, "stddev_ns") != NULL;
}

const json_t *document_at(const json_t *in, const char *path)
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

double document_number(const json_t *in, const char *path)
{
	const json_t *value = document_at(in, path);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *document_text(const json_t *in, const char *path)
{
	const char *text = json_string_value(document_at(in, path));

	return text ? text : "";
}
