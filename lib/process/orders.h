// SPDX-License-Identifier: BSD-3-Clause
// Orders of the user on standard input, a line each: run --orders. Path: cold. Main thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ORDER_SIZE     512        // of an order of a user
#define ORDER_SIZE_MAX (1u << 20) // of any

struct order_reader {
	bool wanted, over;
	bool too_long; // the line that is being read
	size_t size;   // that a line may have, its end included
	char *line;
	size_t len, room;
};

// The next whole line that has come, without waiting; NULL: none. At its end standard input counts
// as an interrupt, once.
const char *orders_next(struct order_reader *r);

// Wait for more, for at most so long, or until a signal.
void orders_wait(unsigned ms);

void orders_close(struct order_reader *r);
