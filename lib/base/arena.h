// SPDX-License-Identifier: BSD-3-Clause
// Memory that lives as long as one configuration: allocate piece by piece, free all at once.
// Path: cold. One thread at a time.
#pragma once

#include <stddef.h>

struct arena;

struct arena *arena_new(void); // out of memory, as in all of arena: see arena_exhausted
void *arena_zalloc(struct arena *a, size_t size); // zeroed, 16-byte aligned
char *arena_strdup(struct arena *a, const char *text);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// The list with room for one more element: the list itself, or a copy if count is 0 or a power of
// two. list: NULL, or from this function, which must be called at every count.
void *arena_grow(struct arena *a, void *list, size_t count, size_t size);
void arena_free(struct arena *a); // NULL allowed

// Reports that memory without which the program cannot continue is exhausted. Calls the function
// set by arena_when_exhausted; aborts if none is set or if it returns.
_Noreturn void arena_exhausted(void);
void arena_when_exhausted(void (*then)(void)); // before there are threads
