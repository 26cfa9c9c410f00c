// SPDX-License-Identifier: BSD-3-Clause
// Copy a message, write values into the copy and return their contribution to its byte sum
// (csum_add of net/csum.h). The bytes must be zero beforehand. Path: hot. Any thread.
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

#define DHCP_COPY_LEAST 32

// Copy len bytes, 32 or more, without a call.
static inline void dhcp_copy(uint8_t *to, const uint8_t *from, size_t len)
{
	const size_t step = DHCP_COPY_LEAST;

#pragma GCC unroll 1
	for (size_t at = 0; at < len - step; at += step)
		memcpy(to + at, from + at, step);
	memcpy(to + len - step, from + len - step, step);
}

// Contribution of a byte sum that starts at this offset.
static inline uint64_t dhcp_sum_at(uint64_t sum, uint32_t at)
{
	return sum << (at & 1) * 8;
}

// Sum of the bytes of a word in memory order, each added once.
static inline uint64_t dhcp_sum64(uint64_t word, uint32_t at)
{
	return dhcp_sum_at((word & 0xffffffff) + (word >> 32), at);
}

static inline uint64_t dhcp_patch32(uint8_t *buf, uint32_t at, uint32_t value)
{
	uint32_t wire;

	bytes_put_be32(buf + at, value);
	memcpy(&wire, buf + at, 4);
	return dhcp_sum_at(wire, at);
}

static inline uint64_t dhcp_patch16(uint8_t *buf, uint32_t at, uint16_t value)
{
	uint16_t wire;

	bytes_put_be16(buf + at, value);
	memcpy(&wire, buf + at, 2);
	return dhcp_sum_at(wire, at);
}

// A 64-bit number.
static inline uint64_t dhcp_patch64(uint8_t *buf, uint32_t at, uint64_t value)
{
	uint64_t wire;

	bytes_put_be64((uint8_t *)&wire, value);
	memcpy(buf + at, &wire, 8);
	return dhcp_sum64(wire, at);
}

// The lower 48 bits: an Ethernet MAC.
static inline uint64_t dhcp_patch48(uint8_t *buf, uint32_t at, uint64_t value)
{
	uint64_t wire;

	bytes_put_be64((uint8_t *)&wire, value << 16);
	memcpy(buf + at, &wire, 6);
	return dhcp_sum64(wire, at);
}

// A 16-byte address.
static inline uint64_t dhcp_patch_address(uint8_t *buf, uint32_t at, const uint8_t *address)
{
	uint64_t words[2];

	memcpy(words, address, 16);
	memcpy(buf + at, words, 16);
	return dhcp_sum64(words[0], at) + dhcp_sum64(words[1], at);
}
