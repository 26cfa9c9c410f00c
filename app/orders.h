// SPDX-License-Identifier: BSD-3-Clause
// Orders of the user on standard input, a line each: run --orders. Path: cold. Main thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ORDER_SIZE 512

struct order_reader {
	bool wanted, over;
	bool too_long; // the line that is being read
	char line[ORDER_SIZE];
	size_t len;
};

// The next whole line that has come, without waiting; NULL: none. At its end standard input counts
// as an interrupt, once.
const char *orders_next(struct order_reader *r);
