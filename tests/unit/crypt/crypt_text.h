// SPDX-License-Identifier: BSD-3-Clause
// What tests of records share. Path: tests only.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "crypt/record.h"

// Returns the number of octets.
static inline uint32_t from_hex(const char *hex, uint8_t *to)
{
	uint32_t len = (uint32_t)strlen(hex) / 2;

	for (uint32_t i = 0; i < len; i++) {
		char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};

		to[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return len;
}

// The caller frees it.
static inline struct record_cache *cache_of(uint32_t entries)
{
	size_t len = (record_cache_bytes(entries) + 63) & ~(size_t)63;
	void *memory = aligned_alloc(64, len);

	if (!memory)
		abort();
	return record_cache_init(memory, entries);
}
