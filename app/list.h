// SPDX-License-Identifier: BSD-3-Clause
// Reference tables of the program itself: drivers, protocols, settings, counters, formats,
// selectors. Path: cold. Main thread.
#pragma once

#include <stdbool.h>

// Which settings: the ones most files need, all except the responder's own, or settings with this
// word in their path or help.
struct list_choice {
	bool all;
	const char *search; // NULL: none
};

enum list_outcome { LIST_DONE, LIST_EMPTY, LIST_NO_TABLE };

enum list_outcome list_table(const char *name, const struct list_choice *choice);
