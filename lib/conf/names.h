// SPDX-License-Identifier: BSD-3-Clause
// The keys that a section allows, and the nearest one to a misspelt key. For the files of conf/
// only. Path: cold. Management thread.
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/field.h"

// Keys of choices stand beside the others.
bool names_has(const struct field_section *section, const char *key);

// "did you mean "queries"?", or "allowed: a, b, c" when nothing is near.
const char *names_hint(const struct field_section *section, const char *key, struct arena *a);
