// SPDX-License-Identifier: BSD-3-Clause
// Walks a result that was read back by the rows that made it. Members without a row are skipped,
// and so are histograms, which reader_histogram reads. Path: cold. Main thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/counter.h"
#include "document/document_reader.h"
#include "engine/config/config.h"

#define WALK_PATH   1024 // room for a path; members with longer ones are skipped
#define WALK_LABELS 12

// An item of a list on the way to a figure: item="queries", step="renew-ack", index="0".
struct walk_label {
	const char *name, *value;
	char index[24]; // where value of an item without a name is
};

struct walk {
	// A number, truth value, text or null of a row. label: of COUNTER_ARRAY, else NULL.
	void (*figure)(
		struct walk *w, const struct counter *row, const char *label, const json_t *value);
	// An object, before its figures. NULL: not wanted.
	void (*object)(struct walk *w, const struct counter_section *section, const json_t *object);
	void *ctx;
	// The place, for the two: "traffic.queries.dns.rcode.NOERROR", "traffic.dns.rcode". Of an
	// object both end in a dot, or are empty.
	char path[WALK_PATH];
	char name[WALK_PATH];
	struct walk_label labels[WALK_LABELS];
	unsigned label_count;
};

void walk_document(struct walk *w, const struct document_reader *b);
void walk_interval(struct walk *w, const json_t *interval);

// Return an object of path: value, in order of the rows; the caller owns it. texts: include texts.
json_t *walk_flat_document(const struct document_reader *b, bool texts);
json_t *walk_flat_interval(const json_t *interval);

// Returns an object of the document by its path ("traffic.queries.latency.response"); NULL: none.
const json_t *walk_object(const struct document_reader *b, const char *path);

// Is there a row for the path, although the result need not have the member? *is_count: a label of
// counters that the result has, so an absent one is 0.
bool walk_knows(const json_t *document, const char *path, bool *is_count);

// Likewise for an interval, which need not have the items of its lists: a step of an exchange comes
// later. Only the names of its traffic are complete.
bool walk_interval_knows(const json_t *interval, const char *path, bool *is_count);

// Returns a result (item: result_item_section) or an interval (result_interval_item_section) of
// such a run before anything was counted, with its traffic alone; the caller owns it.
json_t *walk_blank(const struct config *c, const struct counter_section *item);
// Can the result of the run have the figure? Like walk_interval_knows.
bool walk_may_know(const json_t *blank, const char *path);

// Formats a figure as everywhere: integers whole, others by 15 digits, null as nothing. A text has
// no line breaks or other control characters. room >= 32 for numbers; a longer text is cut.
const char *walk_text(const json_t *value, char *buf, size_t room);
