// SPDX-License-Identifier: BSD-3-Clause
// Internet checksum (RFC 1071): 64-bit words with end-around carry. Sums are of the bytes as they
// lie in memory, whatever the host's order, and folded only at the end. Path: hot. Any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// A 16-bit number as it lies on the wire: to be stored by memcpy, or added to a sum.
static inline uint16_t csum_be16(uint16_t host)
{
	uint8_t wire[2] = {(uint8_t)(host >> 8), (uint8_t)host};
	uint16_t v;

	memcpy(&v, wire, 2);
	return v;
}

#if defined(__x86_64__)
// Add 64 bytes. In assembly, as compilers emit no add with carry here.
static inline uint64_t csum_64(uint64_t sum, const uint8_t *p)
{
	__asm__("addq 0(%[p]), %[sum]\n\t"
		"adcq 8(%[p]), %[sum]\n\t"
		"adcq 16(%[p]), %[sum]\n\t"
		"adcq 24(%[p]), %[sum]\n\t"
		"adcq 32(%[p]), %[sum]\n\t"
		"adcq 40(%[p]), %[sum]\n\t"
		"adcq 48(%[p]), %[sum]\n\t"
		"adcq 56(%[p]), %[sum]\n\t"
		"adcq $0, %[sum]"
		: [sum] "+r"(sum)
		: [p] "r"(p), "m"(*(const uint8_t(*)[64])p)
		: "cc");
	return sum;
}

// Add 32 bytes.
static inline uint64_t csum_32(uint64_t sum, const uint8_t *p)
{
	__asm__("addq 0(%[p]), %[sum]\n\t"
		"adcq 8(%[p]), %[sum]\n\t"
		"adcq 16(%[p]), %[sum]\n\t"
		"adcq 24(%[p]), %[sum]\n\t"
		"adcq $0, %[sum]"
		: [sum] "+r"(sum)
		: [p] "r"(p), "m"(*(const uint8_t(*)[32])p)
		: "cc");
	return sum;
}
#endif

// The 64-bit sum of 8 bytes or more, and of a number below 2^32. By words, not by vectors: the
// bytes were mostly just written in small pieces, and the wider a load, the longer it waits for all
// of them.
static inline uint64_t csum_wide_from(uint64_t start, const uint8_t *p, size_t len)
{
	uint64_t sum, word;

	// The last 1 to 8 bytes, padded with zero, from the last 8. Only whole words are before
	// them.
	memcpy(&sum, p + len - 8, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	sum >>= -8 * len & 63;
#else
	sum <<= -8 * len & 63;
#endif
	sum += start;
	sum += sum < start;
	len--;
#if defined(__x86_64__)
	for (; len >= 64; len -= 64, p += 64)
		sum = csum_64(sum, p);
	if (len & 32) {
		sum = csum_32(sum, p);
		p += 32;
	}
	if (len & 16) {
		__asm__("addq 0(%[p]), %[sum]\n\t"
			"adcq 8(%[p]), %[sum]\n\t"
			"adcq $0, %[sum]"
			: [sum] "+r"(sum)
			: [p] "r"(p), "m"(*(const uint8_t(*)[16])p)
			: "cc");
		p += 16;
	}
	len &= 8; // one word at most
#endif
	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, 8);
		sum += word;
		sum += sum < word;
	}
	return sum;
}

static inline uint64_t csum_wide(const uint8_t *p, size_t len)
{
	return csum_wide_from(0, p, len);
}

// Add len bytes, an odd last one padded with zero, to a running sum. Exact for any len < 2^32.
static inline uint64_t csum_add(uint64_t sum, const void *data, size_t len)
{
	const uint8_t *p = (const uint8_t *)data;
	uint32_t w32;
	uint16_t w16;

	if (len >= 8) {
		uint64_t wide = csum_wide(p, len);

		return sum + (wide & 0xffffffff) + (wide >> 32);
	}
	if (len & 4) {
		memcpy(&w32, p, 4);
		sum += w32;
		p += 4;
	}
	if (len & 2) {
		memcpy(&w16, p, 2);
		sum += w16;
		p += 2;
	}
	return len & 1 ? sum + csum_be16((uint16_t)(*p << 8)) : sum;
}

// The one's complement of the folded sum, in memory order: store it as it is. The upper half of a
// number added to itself with its halves swapped is their sum with end-around carry.
static inline uint16_t csum_fold32(uint32_t sum)
{
	return (uint16_t) ~((sum + (sum << 16 | sum >> 16)) >> 16);
}

static inline uint16_t csum_fold(uint64_t sum)
{
	return csum_fold32((uint32_t)((sum + (sum << 32 | sum >> 32)) >> 32));
}

// The sum in 16 bits, without the complement: to be added to others.
static inline uint16_t csum_16(uint64_t sum)
{
	return (uint16_t)~csum_fold(sum);
}

// Is the sum of a message with its checksum, not all of it zero, correct? Then it is a multiple of
// 65535. The inverse of 65535 modulo 2^64 is known, and only multiples become small when multiplied
// by it.
static inline bool csum_is_right(uint64_t sum)
{
	return sum * 0xfffefffefffeffffu <= 0x0001000100010001u;
}

// The pseudo-header (RFC 768, RFC 8200 section 8.1) of a message of len bytes up to 65535. src and
// dst have addr_len bytes.
static inline uint64_t csum_pseudo(
	const uint8_t *src, const uint8_t *dst, uint8_t addr_len, uint8_t protocol, uint32_t len)
{
	uint64_t sum = (uint64_t)csum_be16(protocol) + csum_be16((uint16_t)len);

	if (addr_len == 4)
		return csum_add(csum_add(sum, src, 4), dst, 4);
	return csum_add(csum_add(sum, src, 16), dst, 16);
}
