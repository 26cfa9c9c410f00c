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

// The last block covers the last bytes and may overlap the block before it, so that nothing beyond
// len is read. bytes: zero where the mask is.
struct dhcp_shape {
	uint32_t len, at; // at: of the last block
	dhcp_shape_words last_mask, last;
	dhcp_shape_words masks[DHCP_SHAPE_MAX / DHCP_SHAPE_BLOCK];
	dhcp_shape_words bytes[DHCP_SHAPE_MAX / DHCP_SHAPE_BLOCK];
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
		uint32_t i = at / DHCP_SHAPE_BLOCK;

		s->masks[i] = dhcp_shape_load(mask + at);
		s->bytes[i] = dhcp_shape_load(bytes + at) & s->masks[i];
	}
	s->last_mask = dhcp_shape_load(mask + s->at);
	s->last = dhcp_shape_load(bytes + s->at) & s->last_mask;
	return true;
}

// Do the bytes, s->len or more, match this shape? One index for all three, in a loop that is not
// unrolled, takes the fewest instructions: there are two to eight blocks.
static inline bool dhcp_shape_fits(const struct dhcp_shape *s, const uint8_t *p)
{
	const uint8_t *masks = (const uint8_t *)s->masks, *bytes = (const uint8_t *)s->bytes;
	dhcp_shape_words differs = (dhcp_shape_load(p + s->at) & s->last_mask) ^ s->last;

#pragma GCC unroll 1
	for (size_t at = 0; at < s->at; at += DHCP_SHAPE_BLOCK)
		differs |= (dhcp_shape_load(p + at) & *(const dhcp_shape_words *)(masks + at)) ^
		           *(const dhcp_shape_words *)(bytes + at);
	return (differs[0] | differs[1]) == 0;
}
