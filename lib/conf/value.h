// SPDX-License-Identifier: BSD-3-Clause
// One scalar setting by its row: text to value, with range, and back. For the files of conf/ only.
// Not here: lists, sections, places in a file. Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/field.h"

// Size of the struct member, or of one item of a list.
size_t value_size(const struct field *f);
// The name of the type in the reference: "duration".
const char *value_type_name(const struct field *f);
// A list written as one text, "a, b", is split.
bool value_splits(const struct field *f);

// The allowed form, to complete "is not ...".
const char *value_allowed(const struct field *f, struct arena *a);
// "1 to 65535", "at least 1", or NULL when unlimited.
const char *value_range(const struct field *f, struct arena *a);

// NULL, or the error, with the text quoted; then *dst is unchanged. Memory of the arena.
const char *value_parse(const struct field *f, const char *text, void *dst, struct arena *a);

struct value_text {
	const char *text; // NULL if the key was absent
	bool is_text;     // not a number or a bool
};

// plain: counts and rates as bare numbers, for a program. Text of the arena or of *src.
struct value_text value_format(const struct field *f, const void *src, bool plain, struct arena *a);
