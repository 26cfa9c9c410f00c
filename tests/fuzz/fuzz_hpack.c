// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the reader of header blocks: a table of any size reads blocks of any octets, one after the
// other, until one is wrong. What it keeps stays within the size that was allowed. Path: cold.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/hpack.h"

#define BLOCKS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

static void require(bool holds)
{
	if (!holds)
		abort();
}

// Touches all that a field says.
static void use(const struct hpack_field *f, bool texts)
{
	uint8_t sum = 0;

	require(f->name <= HPACK_PATH);
	require(f->name != HPACK_STATUS || f->code <= 999);
	require(f->name != HPACK_METHOD || f->code <= HPACK_POST);
	if (f->name != HPACK_PATH || !texts)
		return;
	require(f->len <= HPACK_TEXT);
	for (uint32_t i = 0; i < f->len; i++)
		sum += f->text[i];
	sink = sum;
}

static void check(const struct hpack *h)
{
	uint32_t size = 0;

	require(h->size <= h->most && h->most <= h->limit && h->count <= h->mask + 1u);
	for (uint32_t i = 0; i < h->count; i++)
		size += h->entries[(h->first + i) & h->mask].size;
	require(size == h->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t scratch[2 * HPACK_TEXT];
	uint32_t limit, blocks = 0;
	struct hpack *h;
	int got = 0;
	bool texts;

	if (size < 3)
		return 0;
	limit = (uint32_t)((data[0] << 8 | data[1]) % (HPACK_TABLE + 1));
	texts = data[2] & 1;
	data += 3;
	size -= 3;
	h = malloc(hpack_bytes(limit, texts)); // the sanitizer watches its end
	require(h != NULL);
	hpack_init(h, limit, texts);
	while (size && got == 0 && blocks++ < BLOCKS) {
		size_t len = 1 + (data[0] < size ? data[0] : size - 1);
		struct hpack_block b = {.table = h,
			.at = data + 1,
			.end = data + len,
			.media = "application/dns-message",
			.media_len = 23,
			.scratch = scratch};
		struct hpack_field f;

		while ((got = hpack_next(&b, &f)) == 1)
			use(&f, texts);
		require(b.at <= b.end && (got != 0 || b.at == b.end));
		check(h);
		data += len;
		size -= len;
	}
	free(h);
	return 0;
}
