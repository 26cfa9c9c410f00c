// SPDX-License-Identifier: BSD-3-Clause
// Which of several names somebody probably meant. Path: cold. Any thread.
#pragma once

struct nearest {
	const char *wanted;
	const char *name;  // the best so far, NULL: none is near
	unsigned distance; // letters to insert, drop, change, or swap with the neighbour
};

// A third of the letters may be wrong.
struct nearest nearest_to(const char *wanted);

// The name stays the caller's.
void nearest_try(struct nearest *n, const char *name);
