// SPDX-License-Identifier: BSD-3-Clause
// Reads figures back from the JSON of stats_json, by the same rows. The text is untrusted.
// Path: cold. Management thread.
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "base/counter.h"

struct stats_reader {
	// The section of a COUNTER_CHOICE among the rows of `in` that has this name; NULL: none.
	const struct counter_section *(*choice)(const struct counter_section *in, const char *name);
	struct arena *arena; // for all that the figures point to
	const char *why;     // after an error: "traffic[2].sent: not a number from 0 on"
};

// out: zeroed, of the section's size. Members without a row are skipped. A missing count stays 0
// and a missing text NULL; any other missing figure is unknown (NAN), as is null. 0, or -EINVAL
// with r->why.
int stats_read(struct stats_reader *r, const struct counter_section *section, const json_t *object,
	void *out);
