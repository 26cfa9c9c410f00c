// SPDX-License-Identifier: BSD-3-Clause
// Memory of a fixed size for a library that wants malloc: pieces are cut from the front of it once,
// and later come from the list of free pieces of their size. Each operation takes constant time.
// When there is none, the caller fails; nothing grows. A share has the pieces of one user, so that
// none is lost when the library forgets some.
// Path: hot. The thread that owns it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_FINE    64u // sizes up to 4 KiB are multiples of 64,
#define POOL_MIDDLE  48u // up to 16 KiB of 256,
#define POOL_COARSE  20u // and larger ones are quarters of powers of two
#define POOL_CLASSES (POOL_FINE + POOL_MIDDLE + POOL_COARSE)
#define POOL_MOST    (1u << 19) // octets of a piece at most, its head included

struct pool_piece;

struct pool {
	uint8_t *front, *end;
	struct pool_piece *free[POOL_CLASSES];
	uint64_t used;    // octets in use, heads included
	uint64_t highest; // of them so far
	uint64_t failed;  // requests that found nothing
};

struct pool_share {
	struct pool *pool;
	struct pool_piece *first; // in use
};

void pool_init(struct pool *p, void *memory, size_t bytes);
// Aligned to 16. Returns NULL if there is no memory of this size.
void *pool_take(struct pool_share *s, size_t bytes);
void *pool_take_zeroed(struct pool_share *s, size_t bytes);
void *pool_resize(struct pool_share *s, void *at, size_t bytes);
void pool_give(struct pool_share *s, void *at); // NULL allowed
// Gives all pieces that are left. Returns their number.
uint32_t pool_clear(struct pool_share *s);
