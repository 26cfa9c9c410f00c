// SPDX-License-Identifier: BSD-3-Clause
// Memory that lives as long as one configuration: allocate piece by piece, free all at once.
// Path: cold. One thread at a time.
#pragma once

#include <stddef.h>

struct arena;

struct arena *arena_new(void);                    // aborts when out of memory, as all of arena does
void *arena_zalloc(struct arena *a, size_t size); // zeroed, 16-byte aligned
char *arena_strdup(struct arena *a, const char *text);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void arena_free(struct arena *a); // NULL allowed
