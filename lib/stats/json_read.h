// SPDX-License-Identifier: BSD-3-Clause
// Figures back from the JSON that stats_json made of them, by the same rows. The text came from
// somebody else: nothing in it is trusted. Path: cold. Management thread.
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

// out: zeroed, of the section's size. Members without a row are passed over. A count that is not
// there stays 0, a text NULL; another figure is unknown (NAN), like one that is null. 0, or -EINVAL
// with r->why.
int stats_read(struct stats_reader *r, const struct counter_section *section, const json_t *object,
	void *out);
