// SPDX-License-Identifier: BSD-3-Clause
// Memory in chunks that are freed together; a large block gets a chunk of its own.
// Path: cold. One thread at a time.
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define CHUNK_ROOM (32u << 10)
#define LARGE      (CHUNK_ROOM / 8)

struct chunk {
	struct chunk *next;
	size_t used;
	size_t room;
	_Alignas(16) char data[];
};

struct arena {
	struct chunk *first; // the one being filled
};

static void (*when_exhausted)(void);

void arena_when_exhausted(void (*then)(void))
{
	when_exhausted = then;
}

void arena_exhausted(void)
{
	log_error("out of memory");
	if (when_exhausted)
		when_exhausted();
	abort();
}

static void *checked(void *p)
{
	if (!p)
		arena_exhausted();
	return p;
}

struct arena *arena_new(void)
{
	return checked(calloc(1, sizeof(struct arena)));
}

static struct chunk *chunk_new(size_t room)
{
	struct chunk *c;

	if (room > SIZE_MAX - sizeof(*c))
		checked(NULL);
	c = checked(calloc(1, sizeof(*c) + room));
	c->room = room;
	return c;
}

static void *arena_large(struct arena *a, size_t size)
{
	struct chunk *c = chunk_new(size);

	c->used = size;
	if (!a->first) {
		a->first = c;
		return c->data;
	}
	// Behind the first, which may still have room.
	c->next = a->first->next;
	a->first->next = c;
	return c->data;
}

void *arena_zalloc(struct arena *a, size_t size)
{
	struct chunk *c = a->first;
	void *p;

	if (size >= LARGE)
		return arena_large(a, size);
	size = size ? (size + 15) & ~(size_t)15 : 16;
	if (!c || c->room - c->used < size) {
		c = chunk_new(CHUNK_ROOM);
		c->next = a->first;
		a->first = c;
	}
	p = c->data + c->used;
	c->used += size;
	return p;
}

char *arena_strdup(struct arena *a, const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(arena_zalloc(a, size), text, size);
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	char *text = NULL, *copy;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		checked(NULL);
	va_end(args);
	copy = arena_strdup(a, text);
	free(text);
	return copy;
}

void *arena_grow(struct arena *a, void *list, size_t count, size_t size)
{
	void *more;

	if (count & (count - 1))
		return list;
	more = arena_zalloc(a, (count ? 2 * count : 1) * size);
	return count ? memcpy(more, list, count * size) : more;
}

void arena_free(struct arena *a)
{
	struct chunk *c, *next;

	if (!a)
		return;
	for (c = a->first; c; c = next) {
		next = c->next;
		free(c);
	}
	free(a);
}
