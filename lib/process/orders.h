// SPDX-License-Identifier: BSD-3-Clause
// Orders to a run in progress on standard input, a JSON object a line: {"order": SETTING, "at_ns":
// N}. docs/fleet.md lists them. A line that does not begin with { is a setting alone. Path: cold.
// Main thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORDER_SIZE     512        // of a user's line, its end included
#define ORDER_SIZE_MAX (1u << 20) // of any

struct order_verb {
	const char *name; // of the member that makes a line this order
	// value: of that member. NULL: done; else the reason why not.
	const char *(*take)(void *ctx, const json_t *value, const json_t *line);
};

struct order_reader {
	bool wanted, over;
	size_t size;                    // that a line may have, its end included
	const struct order_verb *verbs; // the last one has no name
	void (*refused)(void *ctx, const char *line, const char *why);
	void *ctx;

	bool too_long; // the line that is being read
	char *line;
	size_t len, room;
};

// Take all orders whose lines have arrived, without waiting. The end of standard input counts as an
// interrupt, once.
void orders_read(struct order_reader *r);

// The setting of {"order": SETTING, "at_ns": N} and its time (Unix time in ns; 0: as soon as
// possible). NULL, or the reason why it is none.
const char *order_setting(
	const json_t *value, const json_t *line, const char **setting, uint64_t *at_ns);

// Wait for more, for at most so long, or until a signal.
void orders_wait(unsigned ms);

void orders_close(struct order_reader *r);
