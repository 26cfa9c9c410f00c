// SPDX-License-Identifier: BSD-3-Clause
// Suggests the name that a user probably meant. Path: cold. Any thread.
#pragma once

#include <stdbool.h>

struct nearest {
	const char *wanted;
	const char *name;  // the nearest so far; NULL: none is near
	unsigned distance; // of name: letters to insert, drop, change or swap with the neighbour;
	                   // 0: abbreviated
};

// A third of the letters may differ.
struct nearest nearest_to(const char *wanted);

// Is it among the words, which are separated by blanks?
bool word_is_among(const char *word, const char *words);

// The name stays the caller's.
void nearest_try(struct nearest *n, const char *name);
