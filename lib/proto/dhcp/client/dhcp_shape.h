// SPDX-License-Identifier: BSD-3-Clause
// The bytes that similar messages have in common, to recognise them without parsing: given bytes
// must equal the first message's, and the bytes between them are arbitrary. Independent of message
// formats. Path: hot. One thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define DHCP_SHAPE_BLOCK 16
#define DHCP_SHAPE_MAX   256 // bytes

typedef uint64_t dhcp_shape_words __attribute__((vector_size(DHCP_SHAPE_BLOCK)));

struct dhcp_shape_block {
	dhcp_shape_words mask, bytes; // bytes: zero where the mask is
};

// The last block covers the last bytes and may overlap the block before it, so that nothing beyond
// len is read.
struct dhcp_shape {
	uint32_t len, at; // at: of the last block
	struct dhcp_shape_block last;
	struct dhcp_shape_block blocks[DHCP_SHAPE_MAX / DHCP_SHAPE_BLOCK];
};

static inline dhcp_shape_words dhcp_shape_load(const uint8_t *p)
{
	dhcp_shape_words words;

	memcpy(&words, p, sizeof(words));
	return words;
}

// Make a shape from len bytes; bytes with a nonzero mask must match. false: unsupported len.
static inline bool dhcp_shape_make(
	struct dhcp_shape *s, const uint8_t *bytes, const uint8_t *mask, uint32_t len)
{
	if (len < DHCP_SHAPE_BLOCK || len > DHCP_SHAPE_MAX)
		return false;
	s->len = len;
	s->at = len - DHCP_SHAPE_BLOCK;
	for (uint32_t at = 0; at < s->at; at += DHCP_SHAPE_BLOCK) {
		struct dhcp_shape_block *b = &s->blocks[at / DHCP_SHAPE_BLOCK];

		b->mask = dhcp_shape_load(mask + at);
		b->bytes = dhcp_shape_load(bytes + at) & b->mask;
	}
	s->last.mask = dhcp_shape_load(mask + s->at);
	s->last.bytes = dhcp_shape_load(bytes + s->at) & s->last.mask;
	return true;
}

static inline dhcp_shape_words dhcp_shape_differs(
	const struct dhcp_shape_block *b, const uint8_t *p)
{
	return (dhcp_shape_load(p) & b->mask) ^ b->bytes;
}

// Do the bytes, s->len or more, match this shape?
static inline bool dhcp_shape_fits(const struct dhcp_shape *s, const uint8_t *p)
{
	dhcp_shape_words differs = dhcp_shape_differs(&s->last, p + s->at);
	const struct dhcp_shape_block *b = s->blocks;

	for (const uint8_t *end = p + s->at; p < end; p += DHCP_SHAPE_BLOCK)
		differs |= dhcp_shape_differs(b++, p);
	return (differs[0] | differs[1]) == 0;
}
