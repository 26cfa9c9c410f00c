// SPDX-License-Identifier: BSD-3-Clause
// Records from anyone, and our own with one octet changed. The first octet says suite, version and
// where to change it. Path: tests only.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "crypt/record.h"

#define LEN_MAX 2048

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool right)
{
	if (!right)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct record_cache *cache;
	struct record_way way = {.key = {1}, .iv = {2}, .id = 1}, reader;
	struct record_opened out;
	uint32_t len = (uint32_t)size - 1, whole, at;
	uint8_t *record;

	if (size < 1 || size > LEN_MAX)
		return 0;
	if (!cache)
		cache = record_cache_init(
			aligned_alloc(64, (record_cache_bytes(1) + 63) & ~(size_t)63), 1);
	way.suite = data[0] % RECORD_SUITES;
	way.tls12 = data[0] >> 7;
	way.id = data[0] + 1u;
	reader = way;
	record = malloc(len + RECORD_LEAD_MOST + RECORD_TRAIL_MOST);
	require(record);
	// As it came: never longer than said, nor one of ours.
	memcpy(record, data + 1, len);
	whole = record_whole(record, len);
	require(whole == 0 || whole >= RECORD_HEADER);
	if (record_open(cache, &reader, record, len, &out) == RECORD_OK)
		require(out.content >= record && out.content + out.len <= record + len);
	// What is sealed can be opened, by its reader alone, and once.
	reader = way;
	memcpy(record + record_lead(&way), data + 1, len);
	whole = record_seal(cache, &way, RECORD_DATA, record, len);
	require(whole <= len + RECORD_LEAD_MOST + RECORD_TRAIL_MOST &&
		record_whole(record, whole) == whole);
	at = RECORD_HEADER + data[0] % (whole - RECORD_HEADER);
	if (len && data[1] & 1) {
		record[at] ^= 1;
		require(record_open(cache, &reader, record, whole, &out) == RECORD_BAD_MAC);
	} else {
		require(record_open(cache, &reader, record, whole, &out) == RECORD_OK);
		require(out.type == RECORD_DATA && out.len == len &&
			memcmp(out.content, data + 1, len) == 0);
	}
	free(record);
	return 0;
}
