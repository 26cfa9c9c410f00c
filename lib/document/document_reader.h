// SPDX-License-Identifier: BSD-3-Clause
// A result read back: the document, and its intervals one after the other. The file may hold
// anything: a file that is no result is refused with a reason, and members can be missing or of
// another type. Path: cold. Main thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/hist.h"

#define READER_WINDOW 129 // the newest interval, and earlier ones in which requests were due

struct document_reader {
	const char *file; // its name in messages; the caller's
	json_t *document; // an object; without "intervals"
	// Its intervals: a list,
	json_t *intervals;
	size_t next;
	// or lines of a file (run_events.h), of which a few are read ahead.
	FILE *part;  // NULL: a list
	bool opened; // owned by the reader
	uint64_t run;
	bool ours; // the line that was read last belongs to that run
	struct {
		json_t *interval;
		uint64_t number;
	} window[READER_WINDOW];
	unsigned first, count;
	json_t *given; // by reader_next
	char *line;
	size_t line_room;
};

// Reads the document in file, or makes the document of a killed run from its part (running_sum.h).
// Returns 0, or -EINVAL with the reason logged. Call reader_close after 0 only.
int reader_open(struct document_reader *b, const char *file);

// Takes a document that the program has at hand; the reader owns it now.
void reader_take(struct document_reader *b, const char *name, json_t *document);
// Takes a result whose intervals are the lines of part (run_events.h) with that number of the run.
// The reader owns document; part stays the caller's.
void reader_of_run(struct document_reader *b, json_t *document, FILE *part, uint64_t run);

// Prints the document with all its intervals, a line each. Returns 0, or -errno.
int reader_print(struct document_reader *b, FILE *f);

// Like reader_print, into a file by document_write_by.
int reader_write(struct document_reader *b, const char *option, const char *path, bool is_private);

// Returns the next interval, an object, borrowed until the next call; NULL after the last one.
const json_t *reader_next(struct document_reader *b);

// Starts again with the first interval.
void reader_rewind(struct document_reader *b);

void reader_close(struct document_reader *b);

// Returns the ticks a second of the box that measured, the unit of histograms; 0: unknown.
double reader_tick_hz(const struct document_reader *b);

// Reads the "histogram" of a latency object, whose min, max and count the caller has: in ticks.
// Returns false if it has none, or it is damaged; h is empty then.
bool reader_histogram(const struct document_reader *b, const json_t *latency, struct hist *h);

// Is it the object of a distribution of times?
bool document_is_latency(const json_t *object);

// Returns the member at a dotted path ("latency.response.p99_ns"); NULL: none.
const json_t *document_at(const json_t *in, const char *path);
// Returns the number there; NAN: none, or null.
double document_number(const json_t *in, const char *path);
// Returns a figure that can be anything as a count: 0 up to 2^62.
uint64_t document_whole(double value);
// Returns the text there; "": none.
const char *document_text(const json_t *in, const char *path);
// Returns the member of the list whose text at path is this one; NULL: none.
json_t *document_named(const json_t *list, const char *path, const char *text);

// Computes "answered + failed * 100 / sent" from left to right. Missing members count as 0, and so
// does a share of 0.
double document_computed(const json_t *in, const char *expression);
// Prints the template (stats/text.h) with figures of the object: "{server}" is a text, and "{late +
// stray / sent:%.2f}" a number as in printf, %.0f without a format.
void document_fill(const json_t *in, const char *template, FILE *out);
