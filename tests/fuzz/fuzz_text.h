// SPDX-License-Identifier: BSD-3-Clause
// The input of a target behind its first byte, as a text. Path: tests only.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// size >= 1. In a block of exactly its size; free() it. NULL: no memory.
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size);

	if (!text)
		return NULL;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	return text;
}
