// SPDX-License-Identifier: BSD-3-Clause
// The table of datagrams that are put together; fragments.h is the contract. A part of a datagram
// lies in a list of blocks, the parts of a datagram in the order of their offsets.
// Path: hot, but rare | cold (memory, init). One thread.
#include "net/fragments.h"

#define NONE            UINT16_MAX
#define MORE            0x2000 // fragments, in an IPv4 header
#define FRAGMENT_HEADER 8      // of IPv6
#define FRAGMENT_NEXT   44     // its number
#define AUTHENTICATION  51     // an extension header with its length in another unit

// Compared as bytes: no padding.
struct key {
	uint8_t src[16], dst[16];
	uint32_t id;
	uint16_t vlans[FRAME_MAX_VLANS];
	uint8_t vlan_count, addr_len;
	uint16_t protocol; // over IPv4
};

_Static_assert(sizeof(struct key) == 44, "a key has no padding");

struct fragments_datagram {
	struct key key;
	uint64_t since;
	uint32_t have;  // octets of all parts
	uint32_t reach; // end of the part that ends last
	uint32_t end;   // 0: the last part has not come
	uint16_t parts; // block of the first one
	uint16_t next;  // of the bucket, or free
	uint16_t older, newer;
	uint8_t ip; // offset of the IP header in the first part
	bool refused;
};

// The numbers of a part are in its first block.
struct fragments_block {
	uint32_t offset, len;
	uint32_t head;      // octets of the frame in front of the part at offset 0
	uint16_t next_part; // of the datagram
	uint16_t next;      // of the same part, or free
};

// A fragment as it came.
struct part {
	struct key key;
	uint32_t offset, len, head;
	bool more;
};

static size_t buckets_for(uint32_t datagrams)
{
	size_t n = 1;

	while (n < datagrams)
		n *= 2;
	return n;
}

size_t fragments_memory(const struct fragments_limits *l)
{
	return l->datagrams * sizeof(struct fragments_datagram) +
	       l->blocks * (sizeof(struct fragments_block) + FRAGMENTS_BLOCK) +
	       buckets_for(l->datagrams) * sizeof(uint16_t);
}

void fragments_init(struct fragments *t, const struct fragments_limits *l, void *memory)
{
	size_t buckets = buckets_for(l->datagrams);

	*t = (struct fragments){.datagrams = memory,
		.mask = (uint32_t)buckets - 1,
		.timeout = l->timeout,
		.free_datagram = l->datagrams ? 0 : NONE,
		.free_block = l->blocks ? 0 : NONE,
		.free_blocks = l->blocks,
		.oldest = NONE,
		.newest = NONE};
	t->blocks = (struct fragments_block *)(t->datagrams + l->datagrams);
	t->buckets = (uint16_t *)(t->blocks + l->blocks);
	t->bytes = (uint8_t *)(t->buckets + buckets);
	for (size_t i = 0; i < buckets; i++)
		t->buckets[i] = NONE;
	for (uint32_t i = 0; i < l->datagrams; i++)
		t->datagrams[i].next = i + 1u < l->datagrams ? (uint16_t)(i + 1) : NONE;
	for (uint32_t i = 0; i < l->blocks; i++)
		t->blocks[i].next = i + 1u < l->blocks ? (uint16_t)(i + 1) : NONE;
}

static uint16_t *bucket_of(struct fragments *t, const struct key *k)
{
	uint64_t hash = k->id + bytes_be32(k->src + k->addr_len - 4) * UINT64_C(0x9e3779b1) +
	                bytes_be32(k->dst + k->addr_len - 4) * UINT64_C(0x85ebca77);

	return &t->buckets[(hash * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & t->mask];
}

static struct fragments_datagram *datagram_find(struct fragments *t, const struct key *k)
{
	uint16_t i = *bucket_of(t, k);

	while (i != NONE && memcmp(&t->datagrams[i].key, k, sizeof(*k)) != 0)
		i = t->datagrams[i].next;
	return i == NONE ? NULL : &t->datagrams[i];
}

static void parts_free(struct fragments *t, struct fragments_datagram *d)
{
	while (d->parts != NONE) {
		uint16_t i = d->parts;

		d->parts = t->blocks[i].next_part;
		while (i != NONE) {
			uint16_t next = t->blocks[i].next;

			t->blocks[i].next = t->free_block;
			t->free_block = i;
			t->free_blocks++;
			i = next;
		}
	}
}

static void datagram_free(struct fragments *t, struct fragments_datagram *d)
{
	uint16_t i = (uint16_t)(d - t->datagrams), *at = bucket_of(t, &d->key);

	parts_free(t, d);
	while (*at != i)
		at = &t->datagrams[*at].next;
	*at = d->next;
	*(d->older == NONE ? &t->oldest : &t->datagrams[d->older].newer) = d->newer;
	*(d->newer == NONE ? &t->newest : &t->datagrams[d->newer].older) = d->older;
	d->next = t->free_datagram;
	t->free_datagram = i;
}

// A refused one was counted then.
static void datagram_give_up(struct fragments *t, struct fragments_datagram *d,
	enum fragments_reason why, struct fragments_counts count)
{
	count.lost[why] += !d->refused;
	datagram_free(t, d);
}

// Drops the parts that arrived and those still to come (RFC 5722): the entry stays until its
// timeout.
static void datagram_refuse(struct fragments *t, struct fragments_datagram *d,
	enum fragments_reason why, struct fragments_counts count)
{
	parts_free(t, d);
	d->refused = true;
	count.lost[why]++;
}

static struct fragments_datagram *datagram_begin(
	struct fragments *t, const struct key *k, uint64_t now, struct fragments_counts count)
{
	struct fragments_datagram *d;
	uint16_t i, *bucket;

	if (t->free_datagram == NONE)
		datagram_give_up(t, &t->datagrams[t->oldest], FRAGMENTS_EVICTED, count);
	i = t->free_datagram;
	d = &t->datagrams[i];
	t->free_datagram = d->next;
	bucket = bucket_of(t, k);
	*d = (struct fragments_datagram){.key = *k,
		.since = now,
		.parts = NONE,
		.next = *bucket,
		.older = t->newest,
		.newer = NONE};
	*bucket = i;
	*(t->newest == NONE ? &t->oldest : &t->datagrams[t->newest].newer) = i;
	t->newest = i;
	return d;
}

void fragments_expire(struct fragments *t, uint64_t now, struct fragments_counts count)
{
	while (t->oldest != NONE && (int64_t)(now - t->datagrams[t->oldest].since) > 0 &&
		now - t->datagrams[t->oldest].since > t->timeout)
		datagram_give_up(t, &t->datagrams[t->oldest], FRAGMENTS_INCOMPLETE, count);
}

void fragments_end(struct fragments *t, struct fragments_counts count)
{
	while (t->oldest != NONE)
		datagram_give_up(t, &t->datagrams[t->oldest], FRAGMENTS_INCOMPLETE, count);
}

static void part_read(const struct frame *f, struct part *p)
{
	*p = (struct part){.len = f->payload_len, .head = (uint32_t)(f->payload - f->eth)};
	memcpy(p->key.src, f->src, f->addr_len);
	memcpy(p->key.dst, f->dst, f->addr_len);
	memcpy(p->key.vlans, f->vlans, sizeof(p->key.vlans));
	p->key.vlan_count = f->vlan_count;
	p->key.addr_len = f->addr_len;
	if (f->addr_len == 4) {
		uint16_t flags = bytes_be16(f->ip + 6);

		p->key.id = bytes_be16(f->ip + 4);
		p->key.protocol = f->ip[9];
		p->offset = (flags & 0x1fffu) * 8;
		p->more = flags & MORE;
	} else {
		const uint8_t *header = f->payload - FRAGMENT_HEADER;

		p->key.id = bytes_be32(header + 4);
		p->offset = bytes_be16(header + 2) & 0xfff8u;
		p->more = header[3] & 1;
	}
}

// Are octets of a part, from the first one on, the same as these?
static bool part_equals(const struct fragments *t, uint16_t i, const uint8_t *data, uint32_t len)
{
	uint32_t skip = t->blocks[i].head;

	for (; i != NONE; i = t->blocks[i].next) {
		uint32_t n = FRAGMENTS_BLOCK;

		if (skip >= n) {
			skip -= n;
			continue;
		}
		n = n - skip < len ? n - skip : len;
		if (memcmp(t->bytes + (size_t)i * FRAGMENTS_BLOCK + skip, data, n) != 0)
			return false;
		skip = 0;
		data += n;
		len -= n;
	}
	return true;
}

// Copy octets of a part, headers in front of it included.
static void part_write(
	const struct fragments *t, uint16_t i, uint32_t skip, uint32_t len, uint8_t *out)
{
	for (; i != NONE && len; i = t->blocks[i].next) {
		uint32_t n = FRAGMENTS_BLOCK;

		if (skip >= n) {
			skip -= n;
			continue;
		}
		n = n - skip < len ? n - skip : len;
		memcpy(out, t->bytes + (size_t)i * FRAGMENTS_BLOCK + skip, n);
		skip = 0;
		out += n;
		len -= n;
	}
}

// Makes room for blocks of d by dropping the oldest other datagrams. Returns false if that is not
// enough.
static bool blocks_reserve(struct fragments *t, const struct fragments_datagram *d, uint32_t blocks,
	struct fragments_counts count)
{
	uint16_t i = t->oldest;

	while (t->free_blocks < blocks && i != NONE) {
		struct fragments_datagram *old = &t->datagrams[i];

		i = old->newer;
		if (old != d && old->parts != NONE)
			datagram_give_up(t, old, FRAGMENTS_EVICTED, count);
	}
	return t->free_blocks >= blocks;
}

// Keep a part behind another one (NONE: as the first one). There is room.
static void part_keep(struct fragments *t, struct fragments_datagram *d, const struct part *p,
	uint16_t behind, const uint8_t *data, uint32_t len)
{
	uint16_t *at = behind == NONE ? &d->parts : &t->blocks[behind].next_part;
	uint16_t first = t->free_block, i = first;

	while (true) {
		uint32_t n = len < FRAGMENTS_BLOCK ? len : FRAGMENTS_BLOCK;

		memcpy(t->bytes + (size_t)i * FRAGMENTS_BLOCK, data, n);
		t->free_blocks--;
		data += n;
		len -= n;
		if (len == 0)
			break;
		i = t->blocks[i].next;
	}
	t->free_block = t->blocks[i].next;
	t->blocks[i].next = NONE;
	t->blocks[first].offset = p->offset;
	t->blocks[first].len = p->len;
	t->blocks[first].head = p->offset == 0 ? p->head : 0;
	t->blocks[first].next_part = *at;
	*at = first;
	d->have += p->len;
}

// Does the end of the part fit the end of the datagram?
static bool end_agrees(const struct fragments_datagram *d, const struct part *p)
{
	uint32_t reach = p->offset + p->len;

	if (p->more)
		return d->end == 0 || reach < d->end;
	return (d->end == 0 || d->end == reach) && d->reach <= reach;
}

// Put a part into its place. FRAGMENTS_REASONS: it is there; otherwise the datagram is to be
// refused.
static enum fragments_reason part_place(struct fragments *t, struct fragments_datagram *d,
	const struct part *p, const struct frame *f, struct fragments_counts count)
{
	const struct fragments_block *b;
	uint32_t head = p->offset == 0 ? p->head : 0, reach = p->offset + p->len;
	uint16_t before = NONE, i = d->parts;

	if (p->len == 0 || (p->more && p->len % 8))
		return FRAGMENTS_BAD_LENGTH;
	if (reach > 65535)
		return FRAGMENTS_TOO_LONG;
	if (!end_agrees(d, p))
		return FRAGMENTS_BAD_END;
	for (; i != NONE && t->blocks[i].offset < p->offset; i = t->blocks[i].next_part)
		before = i;
	b = &t->blocks[i == NONE ? 0 : i];
	if (i != NONE && b->offset == p->offset && b->len == p->len &&
		part_equals(t, i, f->payload, p->len)) {
		++*count.duplicates;
		return FRAGMENTS_REASONS;
	}
	if (i != NONE && b->offset < reach)
		return FRAGMENTS_OVERLAP;
	if (before != NONE && t->blocks[before].offset + t->blocks[before].len > p->offset)
		return FRAGMENTS_OVERLAP;
	if (!blocks_reserve(t, d, (head + p->len + FRAGMENTS_BLOCK - 1) / FRAGMENTS_BLOCK, count))
		return FRAGMENTS_EVICTED;
	part_keep(t, d, p, before, f->payload - head, head + p->len);
	if (p->offset == 0)
		d->ip = (uint8_t)(f->ip - f->eth);
	if (!p->more)
		d->end = reach;
	d->reach = reach > d->reach ? reach : d->reach;
	return FRAGMENTS_REASONS;
}

// Take the fragment header out of the headers of an IPv6 packet: its place is at their end. Returns
// their length.
static uint32_t headers_join6(uint8_t *ip, uint32_t len, uint32_t data_len)
{
	uint32_t end = len - FRAGMENT_HEADER, at = FRAME_IPV6_LEN;
	uint8_t *next = ip + 6;

	// As frame_parse went: every header up to here is complete.
	while (at < end) {
		uint32_t unit = *next == AUTHENTICATION ? 4 : 8;
		uint32_t more = *next == FRAGMENT_NEXT ? 0 : ip[at + 1] * unit;

		next = ip + at;
		at += 8 + more;
	}
	*next = ip[end];
	bytes_put_be16(ip + 4, (uint16_t)(end - FRAME_IPV6_LEN + data_len));
	return end;
}

static uint32_t headers_join4(uint8_t *ip, uint32_t len, uint32_t data_len)
{
	uint16_t check;

	bytes_put_be16(ip + 2, (uint16_t)(len + data_len));
	bytes_put_be16(ip + 6, bytes_be16(ip + 6) & (uint16_t) ~(MORE | 0x1fff));
	memset(ip + 10, 0, 2);
	check = csum_fold(csum_add(0, ip, len));
	memcpy(ip + 10, &check, 2);
	return len;
}

// All parts are there. Returns the length of the frame; 0: the packet is too long.
static uint32_t datagram_join(struct fragments *t, const struct fragments_datagram *d, uint8_t *out)
{
	uint32_t head = t->blocks[d->parts].head, len;
	bool v4 = d->key.addr_len == 4;
	uint8_t *ip = out + d->ip;

	len = head - d->ip - (v4 ? 0 : FRAME_IPV6_LEN + FRAGMENT_HEADER);
	if (len + d->end > 65535)
		return 0;
	part_write(t, d->parts, 0, head, out);
	len = v4 ? headers_join4(ip, head - d->ip, d->end)
	         : headers_join6(ip, head - d->ip, d->end);
	for (uint16_t i = d->parts; i != NONE; i = t->blocks[i].next_part) {
		const struct fragments_block *b = &t->blocks[i];

		part_write(t, i, b->head, b->len, ip + len + b->offset);
	}
	return d->ip + len + d->end;
}

uint32_t fragments_take(struct fragments *t, const struct frame *f, uint64_t now, uint8_t *out,
	struct fragments_counts count)
{
	struct fragments_datagram *d;
	enum fragments_reason why;
	struct part p;
	uint32_t len;

	fragments_expire(t, now, count);
	part_read(f, &p);
	d = datagram_find(t, &p.key);
	if (!d)
		d = datagram_begin(t, &p.key, now, count);
	if (d->refused)
		return 0;
	why = part_place(t, d, &p, f, count);
	if (why != FRAGMENTS_REASONS) {
		datagram_refuse(t, d, why, count);
		return 0;
	}
	if (d->have != d->end)
		return 0;
	len = datagram_join(t, d, out);
	if (len == 0)
		datagram_refuse(t, d, FRAGMENTS_TOO_LONG, count);
	else
		datagram_free(t, d);
	return len;
}

uint32_t fragment_room(uint8_t addr_len, uint32_t mtu)
{
	return (mtu - (addr_len == 4 ? FRAME_IPV4_LEN : FRAME_IPV6_LEN + FRAGMENT_HEADER)) & ~7u;
}

uint32_t fragment_make(
	const struct frame *f, uint32_t id, uint32_t offset, uint32_t len, uint8_t *out)
{
	uint32_t head = (uint32_t)(f->l4 - f->eth);
	bool more = offset + len < FRAME_UDP_LEN + f->payload_len;
	uint8_t *ip = out + (f->ip - f->eth);
	uint16_t check;

	memcpy(out, f->eth, head);
	if (f->addr_len == 4) {
		bytes_put_be16(ip + 2, (uint16_t)(FRAME_IPV4_LEN + len));
		bytes_put_be16(ip + 4, (uint16_t)id);
		bytes_put_be16(ip + 6, (uint16_t)((more ? MORE : 0) | offset / 8));
		memset(ip + 10, 0, 2);
		check = csum_fold(csum_add(0, ip, FRAME_IPV4_LEN));
		memcpy(ip + 10, &check, 2);
	} else {
		bytes_put_be16(ip + 4, (uint16_t)(FRAGMENT_HEADER + len));
		out[head] = ip[6];
		ip[6] = FRAGMENT_NEXT;
		out[head + 1] = 0;
		bytes_put_be16(out + head + 2, (uint16_t)(offset | more));
		bytes_put_be32(out + head + 4, id);
		head += FRAGMENT_HEADER;
	}
	memcpy(out + head, f->l4 + offset, len);
	return head + len;
}
