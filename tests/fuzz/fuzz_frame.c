// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes what reads raw frames: frame_parse, every byte of its view, then neigh_answer, neigh_claim
// and neigh_advert. Messages with an ICMP checksum are tried a second time with it put right, or
// little would get past it. Path: cold.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/csum.h"
#include "net/frame.h"
#include "net/neigh.h"

#define ROOM 2048

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

// Whom the seeds ask, and on which VLANs.
static const struct addr_range owned[] = {
	{{4, {198, 18, 0, 2}}, 4},
	{{16, {0x20, 0x01, 0x0d, 0xb8, [15] = 2}}, 4},
};
static const struct neigh_advert router = {NEIGH_MANAGED, 64, 1800, 1,
	{{{{16, {0x20, 0x01, 0x0d, 0xb8}}, 64}, true, true, 86400, 14400}}};
static const struct neigh_self selves[] = {
	{{2, 0, 0, 0, 0, 2}, {0}, 0, owned, 2, .router = &router},
	{{2, 0, 0, 0, 0, 2}, {100}, 1, owned, 2},
	{{2, 0, 0, 0, 0, 2}, {200, 300}, 2, owned, 2},
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void touch(const uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		sink ^= p[i];
}

static void touch_view(enum frame_kind kind, const struct frame *f)
{
	require(f->vlan_count <= FRAME_MAX_VLANS);
	require(f->addr_len == 0 || f->addr_len == 4 || f->addr_len == 16);
	touch(f->payload, f->payload_len);
	if (f->addr_len) {
		touch(f->ip, f->addr_len == 4 ? 20 : 40);
		touch(f->src, f->addr_len);
		touch(f->dst, f->addr_len);
	}
	if (kind != FRAME_BAD)
		touch(f->eth, 14);
	if (kind == FRAME_UDP) {
		touch(f->l4, 8 + f->payload_len);
		sink ^= frame_checksum_ok(f);
	}
}

// Whatever is answered is a frame that can be read back, and never calls for an answer from
// ourselves.
static void check_answer(const struct neigh_self *self, const uint8_t *answer, uint32_t len)
{
	uint8_t again[ROOM];
	enum frame_kind kind;
	struct frame f;

	kind = frame_parse(answer, len, &f);
	require(kind != FRAME_BAD);
	touch_view(kind, &f);
	require(neigh_answer(self, kind, &f, again, sizeof(again)) == 0);
}

static void use(const uint8_t *data, uint32_t len)
{
	static const uint32_t rooms[] = {0, 13, 41, 60, 85, 100, ROOM};
	struct neigh_advert advert;
	struct neigh_claim claim;
	struct frame f, plain;
	enum frame_kind kind = frame_parse(data, len, &f);

	touch_view(kind, &f);
	if (frame_parse_plain(data, len, &plain)) {
		require(frame_plain_checksum_ok(data, frame_plain_len(data, len, plain.addr_len),
				plain.addr_len) == frame_checksum_ok(&f));
		require(kind == FRAME_UDP && plain.l4 == f.l4);
		require(plain.payload == f.payload && plain.payload_len == f.payload_len);
	}
	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]) * 3; i++) {
		const struct neigh_self *self = &selves[i % 3];
		uint8_t *out = malloc(rooms[i / 3] + 1);
		uint32_t written = neigh_answer(self, kind, &f, out, rooms[i / 3]);

		require(written <= rooms[i / 3]);
		if (written)
			check_answer(self, out, written);
		free(out);
	}
	if (neigh_claim(kind, &f, &claim)) {
		require(claim.addr.len == (kind == FRAME_ARP ? 4 : 16));
		require(!(claim.mac[0] & 1) && !(claim.probe && claim.overrides));
		touch(claim.addr.bytes, sizeof(claim.addr.bytes));
		touch(claim.mac, sizeof(claim.mac));
	}
	if (neigh_advert(kind, &f, &advert)) {
		require(advert.prefix_count <= NEIGH_PREFIXES_MAX);
		for (uint8_t i = 0; i < advert.prefix_count; i++)
			require(advert.prefixes[i].prefix.bits <= 128);
		touch((const uint8_t *)advert.prefixes, sizeof(advert.prefixes));
	}
}

// In a copy, so that the view of the second try is one of bytes that we may change.
static void mend_icmp(uint8_t *copy, uint32_t len)
{
	struct frame f;
	enum frame_kind kind = frame_parse(copy, len, &f);
	uint8_t *message = copy + (f.payload ? f.payload - copy : 0);
	uint64_t sum = 0;
	uint16_t check;

	if (kind != FRAME_ND && kind != FRAME_ECHO)
		return;
	memset(message + 2, 0, 2);
	if (f.addr_len == 16)
		sum = csum_pseudo(f.src, f.dst, 16, FRAME_PROTOCOL_ICMPV6, f.payload_len);
	check = csum_fold(csum_add(sum, message, f.payload_len));
	memcpy(message + 2, &check, 2);
	use(copy, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (size > UINT16_MAX)
		return 0;
	use(data, (uint32_t)size);
	copy = malloc(size + !size);
	require(copy);
	memcpy(copy, data, size);
	mend_icmp(copy, (uint32_t)size);
	free(copy);
	return 0;
}
