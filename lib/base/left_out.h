// SPDX-License-Identifier: BSD-3-Clause
// Counts the entries of a file that cannot be used by their reason, and sums them up in one line.
// Path: cold. Management thread.
#pragma once

#include <stdint.h>

#define LEFT_OUT_MAX 24 // reasons

struct left_out {
	const char *what[LEFT_OUT_MAX]; // static texts; the part before " (" counts
	uint64_t count[LEFT_OUT_MAX];
	uint64_t all;
};

void left_out_add(struct left_out *l, const char *what);

// "97 of 100 lines of f; left out: 2 not a type, 1 an empty label (first: line 7)": used entries,
// which are of this kind ("lines"); first: line number, 0: none. The file's folder is not shown. To
// be freed; NULL: nothing was left out.
char *left_out_text(const struct left_out *l, uint64_t used, const char *kind, const char *file,
	uint32_t first);
