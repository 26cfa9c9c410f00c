// SPDX-License-Identifier: BSD-3-Clause
// IP addresses as values: one type for both families, parse and format, ranges and prefixes.
// Not here: MAC resolution, sockets, ports. Path: hot (inline parts) | cold (text). Any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ADDR_TEXT_SIZE 96 // room for any address, range, prefix or MAC as text

// len is 4, 16, or 0 for "none"; the bytes after len are zero.
struct addr {
	uint8_t len;
	uint8_t bytes[16];
};

// Consecutive addresses. They never cross a 64-bit boundary of an IPv6 address (parse refuses).
struct addr_range {
	struct addr first;
	uint64_t count; // >= 1
};

struct addr_prefix {
	struct addr addr; // host bits kept
	uint8_t bits;
};

// All parsers: 0, or -EINVAL with *what set to the allowed form (static text, completes "is not
// ..."); text is not modified. A prefix read as a range stands for all of its addresses, up to
// 2^32; IPv6 ranges lie within one /64.
int addr_parse(const char *text, struct addr *out, const char **what);
int addr_parse_range(const char *text, struct addr_range *out, const char **what);
int addr_parse_prefix(const char *text, struct addr_prefix *out, const char **what);
int addr_parse_mac(const char *text, uint8_t out[6], const char **what);
// An address and port to listen on: 127.0.0.1:9464, [::1]:9464, or 9464 (of 127.0.0.1). Port 0
// means any free port.
int addr_parse_listen(const char *text, struct addr *out, uint16_t *port, const char **what);

// A server as users write it: an address or a name, with a port (HOST:PORT, [IPv6]:PORT,
// HOST#PORT), with "@" in front, with the link of an IPv6 address (%eth0). IPv4-mapped is IPv4.
struct addr_server {
	struct addr addr; // len 0 if host is a name
	char host[254];   // without port and link
	char link[16];    // "": none
	uint16_t port;    // 0: none
};
int addr_parse_server(const char *text, struct addr_server *out, const char **what);

// Write a NUL-terminated text and return buf. room >= ADDR_TEXT_SIZE. IPv6 as in RFC 5952.
const char *addr_format(const struct addr *a, char *buf, size_t room);
const char *addr_format_range(const struct addr_range *r, char *buf, size_t room);
const char *addr_format_prefix(const struct addr_prefix *p, char *buf, size_t room);
const char *addr_format_mac(const uint8_t mac[6], char *buf, size_t room);

bool addr_in_prefix(const struct addr *a, const struct addr_prefix *p);
bool addr_is_link_local(const struct addr *a);
bool addr_is_multicast(const struct addr *a);

// The link-local IPv6 address of a host with this MAC (RFC 4291 appendix A).
static inline void addr_link_local(const uint8_t mac[6], uint8_t out[16])
{
	const uint8_t address[16] = {
		0xfe, 0x80, [8] = mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};

	memcpy(out, address, 16);
}

// Both point at len bytes, len 4 or 16.
static inline bool addr_bytes_equal(const uint8_t *a, const uint8_t *b, uint8_t len)
{
	uint32_t a4, b4;

	if (len != 4)
		return memcmp(a, b, 16) == 0;
	memcpy(&a4, a, 4);
	memcpy(&b4, b, 4);
	return a4 == b4;
}

static inline bool addr_equal(const struct addr *a, const struct addr *b)
{
	return a->len == b->len && addr_bytes_equal(a->bytes, b->bytes, 16);
}

// The bytes of the n-th address of the range, n < count; 4 or 16 of out are written.
static inline void addr_nth_bytes(const struct addr_range *r, uint64_t n, uint8_t out[16])
{
	uint64_t low;
	uint32_t v4;

	if (r->first.len == 4) {
		memcpy(&v4, r->first.bytes, 4);
		v4 = __builtin_bswap32(__builtin_bswap32(v4) + (uint32_t)n);
		memcpy(out, &v4, 4);
		return;
	}
	memcpy(&low, r->first.bytes + 8, 8);
	low = __builtin_bswap64(__builtin_bswap64(low) + n);
	memcpy(out, r->first.bytes, 8);
	memcpy(out + 8, &low, 8);
}

// Like addr_nth_bytes, for a list of ranges; n is below the sum of their counts.
static inline void addr_list_nth_bytes(const struct addr_range *list, uint64_t n, uint8_t out[16])
{
	for (; n >= list->count; list++)
		n -= list->count;
	addr_nth_bytes(list, n, out);
}

// The n-th address of the range, n < count.
static inline struct addr addr_nth(const struct addr_range *r, uint64_t n)
{
	struct addr a = {.len = r->first.len};

	addr_nth_bytes(r, n, a.bytes);
	return a;
}

// Position of the address (len bytes) in the range, or UINT64_MAX when it is not in it.
static inline uint64_t addr_index(const struct addr_range *r, const uint8_t *bytes, uint8_t len)
{
	uint64_t first, low, n;

	if (len != r->first.len)
		return UINT64_MAX;
	if (len == 4) {
		uint32_t first4, low4;

		memcpy(&first4, r->first.bytes, 4);
		memcpy(&low4, bytes, 4);
		n = (uint32_t)(__builtin_bswap32(low4) - __builtin_bswap32(first4));
		return n < r->count ? n : UINT64_MAX;
	}
	if (memcmp(bytes, r->first.bytes, 8) != 0)
		return UINT64_MAX;
	memcpy(&first, r->first.bytes + 8, 8);
	memcpy(&low, bytes + 8, 8);
	n = __builtin_bswap64(low) - __builtin_bswap64(first);
	return n < r->count ? n : UINT64_MAX;
}
