// SPDX-License-Identifier: BSD-3-Clause
// One figure in two results, A and B: by how much it changed, and whether noise explains that. Not
// here: what is printed of it (compare_table.c), how much is allowed (cmd_compare.c). Path: cold.
// Main thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "figures.h"

// B minus A.
struct change {
	double a, b; // means where there are repeats
	double half; // of the interval of the difference; NAN: a single run
};

// What is only in one of the two is 0 in the other, where that has the item at all.
struct change change_at(
	const struct figures *from, const struct figures *to, const char *item, const char *path);

// The noise of repeats explains it. Of single runs nothing is known: false.
bool change_is_noise(const struct change *c);

// All return buf. unit: of figures_unit.
const char *change_value_text(double v, const char *unit, char *buf, size_t room);
// "+5.2 %" of A, or points of a share.
const char *change_difference_text(double a, double b, const char *unit, char *buf, size_t room);
