// SPDX-License-Identifier: BSD-3-Clause
// Path: hot. The thread that owns it.
#include "quic/pool.h"

#include <string.h>

// In front of each piece.
struct pool_piece {
	uint32_t class;
	uint32_t bytes;                 // of the piece, this head included
	struct pool_piece *next, *prev; // of the share, or free ones
	uint64_t unused;
};

_Static_assert(sizeof(struct pool_piece) == 32, "memory behind it is aligned");

// The class of a size, and the size of its pieces.
static uint32_t class_of(size_t bytes, uint32_t *size)
{
	uint32_t n = (uint32_t)(bytes + 63) & ~63u, shift, quarter;

	if (n <= 64 * POOL_FINE) {
		*size = n;
		return n / 64 - 1;
	}
	if (n <= 256 * (16 + POOL_MIDDLE)) {
		*size = (n + 255) & ~255u;
		return POOL_FINE + *size / 256 - 17;
	}
	shift = 29 - (uint32_t)__builtin_clz(n - 1); // of a quarter of the power of two below
	quarter = (n - 1) >> shift;                  // 4 to 7 whole ones, and a part
	*size = (quarter + 1) << shift;
	return POOL_FINE + POOL_MIDDLE + (shift - 12) * 4 + (quarter - 4);
}

void pool_init(struct pool *p, void *memory, size_t bytes)
{
	memset(p, 0, sizeof(*p));
	p->front = memory;
	p->end = p->front + bytes;
}

// A larger piece, when there is none of the size: pieces freed by other sizes are not lost.
static struct pool_piece *larger(struct pool *p, uint32_t class)
{
	struct pool_piece *piece;

	for (uint32_t i = class + 1; i < POOL_CLASSES; i++) {
		piece = p->free[i];
		if (!piece)
			continue;
		p->free[i] = piece->next;
		return piece;
	}
	return NULL;
}

void *pool_take(struct pool_share *s, size_t bytes)
{
	struct pool *p = s->pool;
	struct pool_piece *piece;
	uint32_t size, class;

	if (bytes > POOL_MOST - sizeof(*piece)) {
		p->failed++;
		return NULL;
	}
	class = class_of(bytes + sizeof(*piece), &size);
	piece = p->free[class];
	if (piece) {
		p->free[class] = piece->next;
	} else if ((size_t)(p->end - p->front) >= size) {
		piece = (struct pool_piece *)p->front;
		p->front += size;
		piece->class = class;
		piece->bytes = size;
	} else {
		piece = larger(p, class);
		if (!piece) {
			p->failed++;
			return NULL;
		}
	}
	p->used += piece->bytes;
	if (p->used > p->highest)
		p->highest = p->used;
	piece->prev = NULL;
	piece->next = s->first;
	if (s->first)
		s->first->prev = piece;
	s->first = piece;
	return piece + 1;
}

void *pool_take_zeroed(struct pool_share *s, size_t bytes)
{
	void *at = pool_take(s, bytes);

	return at ? memset(at, 0, bytes) : NULL;
}

void pool_give(struct pool_share *s, void *at)
{
	struct pool *p = s->pool;
	struct pool_piece *piece = at;

	if (!at)
		return;
	piece--;
	if (piece->prev)
		piece->prev->next = piece->next;
	else
		s->first = piece->next;
	if (piece->next)
		piece->next->prev = piece->prev;
	p->used -= piece->bytes;
	piece->next = p->free[piece->class];
	p->free[piece->class] = piece;
}

uint32_t pool_clear(struct pool_share *s)
{
	uint32_t count = 0;

	for (; s->first; count++)
		pool_give(s, s->first + 1);
	return count;
}

void *pool_resize(struct pool_share *s, void *at, size_t bytes)
{
	const struct pool_piece *piece = at;
	size_t room = at ? piece[-1].bytes - sizeof(*piece) : 0;
	void *grown;

	if (at && bytes <= room)
		return at;
	grown = pool_take(s, bytes);
	if (grown && at) {
		memcpy(grown, at, room);
		pool_give(s, at);
	}
	return grown;
}
