// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes reassembly in two ways. Raw: frames as they come, into a small table; whatever comes out
// can be parsed and is no fragment. Cut: parts of known datagrams in any order, cut anywhere,
// twice, overlapping, with other octets, over any time; a plain model of octets says what has to
// come out. Path: cold.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/fragments.h"

#define DATAGRAMS 4
#define LONGEST   4200
#define TIMEOUT   100
#define PARTS     (LONGEST / 8 + 1)
#define INPUT_MAX 2048 // more of it is more of the same

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

// What a datagram is known to be: the octets that came, and who wrote them.
struct model {
	uint8_t frame[LONGEST + 128];
	struct frame f;
	uint32_t len, total; // of the frame, and behind its IP header
	uint8_t came[LONGEST];
	uint8_t octets[LONGEST];
	uint32_t have;
	uint64_t since; // 0: not begun
	bool refused;
	uint32_t parts[PARTS][2], count;
};

static struct model models[DATAGRAMS];
static uint8_t out[FRAGMENTS_FRAME_MAX];
static uint64_t duplicates, lost[FRAGMENTS_REASONS];
static const struct fragments_counts counts = {&duplicates, lost};

static void require(bool holds)
{
	if (!holds)
		abort();
}

// A table that lasts for all inputs: at the end of each one nothing is left in it.
static struct fragments *table_of(struct fragments *t, uint16_t datagrams, uint16_t blocks)
{
	const struct fragments_limits limits = {datagrams, blocks, TIMEOUT};

	if (!t->blocks) {
		void *memory = malloc(fragments_memory(&limits));

		require(memory);
		fragments_init(t, &limits, memory);
	}
	require(t->free_blocks == blocks);
	return t;
}

static void model_forget(struct model *m)
{
	memset(m->came, 0, sizeof(m->came));
	m->have = m->count = 0;
	m->since = 0;
	m->refused = false;
}

static void model_make(struct model *m, uint32_t i, uint32_t payload)
{
	struct frame_path path = {.dst = {i % 2 ? 16 : 4, {198, 18, 0, 1}},
		.vlans = {7},
		.vlan_count = i == 3,
		.dst_port = 7};
	const uint8_t src[16] = {198, 18, 0, 2};
	static uint8_t pattern[LONGEST + DATAGRAMS];
	struct frame_template t;

	if (m->len && m->total == payload + FRAME_UDP_LEN) { // as of the last input
		model_forget(m);
		return;
	}
	for (uint32_t k = 0; !pattern[1] && k < sizeof(pattern); k++)
		pattern[k] = (uint8_t)(k * 31 + (k >> 8));
	memset(m, 0, sizeof(*m));
	frame_template_build(&t, &path);
	memcpy(m->frame + t.len, pattern + i, payload);
	m->len = frame_stamp(&t, m->frame, src, 53, (struct frame_payload){payload, 0});
	m->total = payload + FRAME_UDP_LEN;
	require(frame_parse(m->frame, m->len, &m->f) == FRAME_UDP);
}

// A part comes: is the datagram complete then?
static bool model_take(
	struct model *m, const uint8_t *octets, uint32_t at, uint32_t len, uint64_t now)
{
	bool last = at + len == m->total, any, same = false;

	if (m->since && now - m->since > TIMEOUT)
		model_forget(m);
	if (!m->since)
		m->since = now;
	if (m->refused)
		return false;
	any = memchr(m->came + at, 1, len) != NULL;
	for (uint32_t i = 0; i < m->count; i++)
		same |= m->parts[i][0] == at && m->parts[i][1] == len;
	if (len == 0 || (!last && len % 8) ||
		(any && !(same && memcmp(m->octets + at, octets, len) == 0))) {
		m->refused = true;
		return false;
	}
	if (any || m->count == PARTS)
		return false;
	m->parts[m->count][0] = at;
	m->parts[m->count++][1] = len;
	memset(m->came + at, 1, len);
	memcpy(m->octets + at, octets, len);
	m->have += len;
	return m->have == m->total;
}

static void check_whole(struct model *m, uint32_t len)
{
	uint32_t head = (uint32_t)(m->f.l4 - m->f.eth);
	struct frame f;

	require(len == m->len);
	frame_parse(out, len, &f);
	require(f.ip - f.eth == m->f.ip - m->f.eth && f.addr_len == m->f.addr_len);
	if (f.addr_len == 4) {
		require(csum_is_right(csum_wide(f.ip, 20)));
		memcpy(out + (f.ip - f.eth) + 4, m->f.ip + 4, 4);
		memcpy(out + (f.ip - f.eth) + 10, m->f.ip + 10, 2);
	}
	require(memcmp(out, m->frame, head) == 0);
	require(memcmp(out + head, m->octets, m->total) == 0);
	model_forget(m);
}

// Six octets a step: datagram and what happens to it, offset, length, time.
static void cut(const uint8_t *data, size_t size)
{
	static struct fragments table;
	struct fragments *t = table_of(&table, DATAGRAMS, DATAGRAMS * PARTS);
	uint64_t now = 1;

	for (uint32_t i = 0; i < DATAGRAMS; i++) {
		uint32_t payload = size ? data[0] * 16u : 0;

		model_make(&models[i], i, payload + i < LONGEST - 8 ? payload + i : LONGEST - 8);
		size -= size > 0;
		data += size > 0;
	}
	for (; size >= 6; size -= 6, data += 6) {
		struct model *m = &models[data[0] % DATAGRAMS];
		uint32_t at = bytes_be16(data + 1) * 8u % (m->total + 1) & ~7u;
		uint32_t len = bytes_be16(data + 3) % (m->total - at + 1);
		uint8_t *fragment = malloc(m->len + 8), *octets;
		enum frame_kind kind;
		struct frame f;
		uint32_t got;

		if (!(data[0] & 4)) // mostly as it is cut
			len = at + (len | 7) < m->total ? (len | 7) + 1 : m->total - at;
		len = at + len > m->total ? m->total - at : len;
		now += data[5];
		got = fragment_make(&m->f, data[0] % DATAGRAMS, at, len, fragment);
		octets = fragment + got - len;
		if (data[0] & 8 && len && (data[0] & 0x30) == 0)
			octets[len / 2] ^= 1;
		fragment = realloc(fragment, got);
		require(fragment);
		octets = fragment + got - len;
		kind = frame_parse(fragment, got, &f);
		if (kind == FRAME_FRAGMENT) { // not when it is all of the datagram
			bool whole = model_take(m, octets, at, len, now);

			got = fragments_take(t, &f, now, out, counts);
			require(whole == (got != 0));
			if (got)
				check_whole(m, got);
		}
		free(fragment);
	}
	fragments_end(t, counts);
	require(t->free_blocks == DATAGRAMS * PARTS);
}

// A length before each frame.
static void raw(const uint8_t *data, size_t size)
{
	static struct fragments table;
	struct fragments *t = table_of(&table, 2, 3);
	uint64_t now = 1;

	while (size > 2) {
		uint32_t len = bytes_be16(data), got;
		struct frame f;

		data += 2;
		size -= 2;
		len = len < size ? len : (uint32_t)size;
		now += len & 1;
		if (frame_parse(data, len, &f) == FRAME_FRAGMENT) {
			got = fragments_take(t, &f, now, out, counts);
			require(got <= sizeof(out));
			for (uint32_t i = 0; i < got; i++)
				sink ^= out[i];
			// A second fragment header inside the first makes one again.
			if (got && frame_parse(out, got, &f) == FRAME_FRAGMENT)
				require(f.addr_len == 16);
		}
		data += len;
		size -= len;
	}
	fragments_end(t, counts);
	require(t->free_blocks == 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	size = size < INPUT_MAX ? size : INPUT_MAX;
	if (data[0] & 1)
		cut(data + 1, size - 1);
	else
		raw(data + 1, size - 1);
	return 0;
}
