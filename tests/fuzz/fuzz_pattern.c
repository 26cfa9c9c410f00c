// SPDX-License-Identifier: BSD-3-Clause
// Templates from anyone: what compiles must write no more than it says, into a block of that size;
// what does not must say why. The first byte chooses the kind, the number of clients and
// the family of addresses. Path: tests only.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t longest[16] = {
	255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

static const struct pattern_values values = {
	.seed = 1,
	.mac = (const uint8_t[]){255, 255, 255, 255, 255, 255},
	.relay = longest,
	.address = longest,
	.places = (const struct pattern_bytes[]){{longest, 4}, {longest, 2}},
};

static uint32_t write_client(const struct pattern *p, uint64_t client, uint8_t *out, uint32_t room)
{
	struct pattern_values v = values;
	struct writer w = writer_of(out, room);

	v.client = client;
	v.seed = client;
	pattern_write(p, &v, &w);
	return w.failed ? UINT32_MAX : (uint32_t)(w.at - out);
}

// The last client has the longest texts; with one byte less they do not fit.
static void check_lengths(const struct pattern *p, uint64_t clients)
{
	uint8_t *out = malloc(p->max_len + 1), *first = malloc(p->max_len + 1);
	uint8_t *small = malloc(p->max_len ? p->max_len : 1);

	if (!out || !first || !small)
		abort();
	if (write_client(p, 0, first, p->max_len) > p->max_len)
		abort();
	if (write_client(p, clients - 1, out, p->max_len) != p->max_len)
		abort();
	if (p->max_len && write_client(p, clients - 1, small, p->max_len - 1) != UINT32_MAX)
		abort();
	if (p->fixed && memcmp(first, out, p->max_len) != 0)
		abort();
	free(small);
	free(first);
	free(out);
}

static void check_pieces(const struct pattern *p)
{
	bool fixed = true, relay = false;

	for (uint32_t i = 0; i < p->count; i++) {
		fixed &= p->pieces[i].kind == PATTERN_LITERAL;
		relay |= p->pieces[i].kind == PATTERN_RELAY;
	}
	if (p->fixed != fixed || p->relay != relay)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t clients[] = {1, 2, 10, 11, 1000, 10000000, 1ull << 32, UINT64_MAX};
	enum pattern_kind kind;
	struct arena *a;
	struct pattern p;
	static const struct pattern_place places[] = {{"xid", 4}, {"server", 2}, {NULL, 0}};
	struct pattern_clients count = {.mac_len = 6, .places = places};
	char what[64], *text;

	if (size < 1)
		return 0;
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	kind = data[0] & 1 ? PATTERN_HEX : PATTERN_TEXT;
	count.count = clients[(data[0] >> 1) % (sizeof(clients) / sizeof(clients[0]))];
	count.addr_len = data[0] & 0x80 ? 16 : 4;
	a = arena_new();
	memset(what, 0, sizeof(what));
	if (pattern_compile(&p, kind, text, &count, a, what, sizeof(what)) == 0) {
		if (what[0])
			abort();
		check_pieces(&p);
		check_lengths(&p, count.count);
	} else if (!what[0] || !memchr(what, 0, sizeof(what))) {
		abort();
	}
	arena_free(a);
	free(text);
	return 0;
}
