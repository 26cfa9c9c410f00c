// SPDX-License-Identifier: BSD-3-Clause
// Internet checksum (RFC 1071): 32-bit words into a 64-bit sum. Sums are of the bytes as they lie
// in memory, whatever the host's order, and folded only at the end. Path: hot. Any thread.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Add len bytes, an odd last one padded with zero, to a running sum. Exact for any len < 2^32.
static inline uint64_t csum_add(uint64_t sum, const void *data, size_t len)
{
	const uint8_t *p = (const uint8_t *)data;
	uint32_t w32;
	uint16_t w16;

	// Word by word on purpose: the bytes were mostly just written in small pieces, and a vector
	// load over several of them waits until all have left the store buffer.
	for (; len >= 4; len -= 4, p += 4) {
		memcpy(&w32, p, 4);
		sum += w32;
		__asm__("" : "+r"(sum));
	}
	if (len >= 2) {
		memcpy(&w16, p, 2);
		sum += w16;
		p += 2;
		len -= 2;
	}
	if (len) {
		w16 = 0;
		memcpy(&w16, p, 1);
		sum += w16;
	}
	return sum;
}

// The one's complement of the folded sum, in memory order: store it as it is.
static inline uint16_t csum_fold(uint64_t sum)
{
	sum = (sum & 0xffffffffu) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

// A 16-bit number as it lies on the wire: to be stored by memcpy, or added to a sum.
static inline uint16_t csum_be16(uint16_t host)
{
	uint8_t wire[2] = {(uint8_t)(host >> 8), (uint8_t)host};
	uint16_t v;

	memcpy(&v, wire, 2);
	return v;
}

// The pseudo-header (RFC 768, RFC 8200 section 8.1) of a message of len bytes up to 65535. src and
// dst have addr_len bytes.
static inline uint64_t csum_pseudo(
	const uint8_t *src, const uint8_t *dst, uint8_t addr_len, uint8_t protocol, uint32_t len)
{
	uint64_t sum = (uint64_t)csum_be16(protocol) + csum_be16((uint16_t)len);

	return csum_add(csum_add(sum, src, addr_len), dst, addr_len);
}
