// SPDX-License-Identifier: BSD-3-Clause
// IP fragments: a table that puts them together again (RFC 791, RFC 8200 section 4.5), and the
// reverse. All memory is given at the start. Datagrams and octets are bounded, and a datagram that
// breaks a rule is refused as a whole (RFC 5722), so a sender of fragments can only harm other
// fragmented datagrams. Checks no checksum above IP. Knows no packet buffer and no port. Path: hot,
// but rare (take, expire, make) | cold (the rest). One thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/frame.h"

// A reassembled frame: tags, an IPv6 header, and the longest payload.
#define FRAGMENTS_FRAME_MAX (14 + 4 * FRAME_MAX_VLANS + FRAME_IPV6_LEN + 65535)

#define FRAGMENTS_BLOCK 2048 // octets; a fragment takes whole blocks

// Why a datagram was given up.
enum fragments_reason {
	FRAGMENTS_INCOMPLETE, // a part was missing for too long, or at the end
	FRAGMENTS_EVICTED,    // the oldest one when there was no room for a new one
	FRAGMENTS_OVERLAP,    // two parts have the same octets, and are not the same part
	FRAGMENTS_BAD_LENGTH, // an empty part, or one not of 8 n octets that is not the last
	FRAGMENTS_BAD_END,    // a part beyond the last one, or two last ones
	FRAGMENTS_TOO_LONG,   // a packet of more than 65 535 octets
	FRAGMENTS_REASONS,
};

struct fragments_limits {
	uint16_t datagrams; // at the same time; 1 to 32768
	uint16_t blocks;    // for all of them together; up to 65534
	uint64_t timeout;   // ticks from the first part that came on
};

// Where the caller counts.
struct fragments_counts {
	uint64_t *duplicates; // parts that were there already, octet for octet: ignored
	uint64_t *lost;       // [FRAGMENTS_REASONS], datagrams
};

struct fragments_datagram;
struct fragments_block;

struct fragments {
	struct fragments_datagram *datagrams;
	struct fragments_block *blocks;
	uint8_t *bytes;    // of the blocks
	uint16_t *buckets; // mask + 1
	uint32_t mask;
	uint64_t timeout;
	uint16_t free_datagram, free_block; // lists
	uint32_t free_blocks;               // number
	uint16_t oldest, newest;
};

// The memory that a table takes, and the table in that memory (aligned as by malloc, of any
// content). There is nothing to free.
size_t fragments_memory(const struct fragments_limits *l);
void fragments_init(struct fragments *t, const struct fragments_limits *l, void *memory);

// A FRAME_FRAGMENT received at tick `now`. If it completes its datagram, the whole frame is written
// to out[FRAGMENTS_FRAME_MAX], and the result is its length. Ethernet header, tags and IP header
// come from the first part, with correct lengths and IPv4 header checksum and no trace of the
// fragmentation. Otherwise 0.
uint32_t fragments_take(struct fragments *t, const struct frame *f, uint64_t now, uint8_t *out,
	struct fragments_counts count);

// Drops datagrams after their timeout. fragments_take does so, too.
void fragments_expire(struct fragments *t, uint64_t now, struct fragments_counts count);
// Give up all of them.
void fragments_end(struct fragments *t, struct fragments_counts count);

// Octets that a fragment carries behind an IP header without options: a multiple of 8. mtu >= 68.
uint32_t fragment_room(uint8_t addr_len, uint32_t mtu);
// Writes one fragment of a whole FRAME_UDP without options and extension headers: `len` octets of
// the IP payload from `offset` (a multiple of 8). id: 16 bits over IPv4. Returns the length of its
// frame, at most the headers plus 8 and len.
uint32_t fragment_make(
	const struct frame *f, uint32_t id, uint32_t offset, uint32_t len, uint8_t *out);
