// SPDX-License-Identifier: BSD-3-Clause
// One row per scalar type, indexed by enum field_type. For the files of conf/ only.
// Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/field.h"

// One value to parse, and its row.
struct value_input {
	const struct field *field;
	const char *text;
	struct arena *a;
	const char *what; // set on failure
};

struct value_type {
	const char *name;
	size_t size;
	bool splits; // "a, b" is a list of two
	bool is_text;
	int (*parse)(struct value_input *in, void *dst);
	// NULL when absent.
	const char *(*format)(const struct field *f, const void *src, struct arena *a);
	// The ends to be held against min and max, or NULL for no range.
	void (*ends)(const void *v, double ends[2]);
	// min or max as text.
	const char *(*limit)(double v, char *buf, size_t room);
	const char *json;    // its type in JSON, as JSON; NULL: any
	const char *pattern; // of its text, a regular expression; NULL: any
};

extern const struct value_type value_types[];

#define TYPE_SIZE_MAX sizeof(struct field_host) // the largest
