// SPDX-License-Identifier: BSD-3-Clause
// Orders to a run in progress on standard input, one JSON object per line: {"order": SETTING,
// "at_ns": N}. docs/fleet.md lists them. A line that does not begin with { is just a setting.
// Path: cold. Main thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORDER_SIZE     512        // of a user's line, including its end
#define ORDER_SIZE_MAX (1u << 20) // of any line

struct order_verb {
	const char *name; // name of the member that identifies this order
	// value: of that member. Returns NULL, or the reason for refusing.
	const char *(*take)(void *ctx, const json_t *value, const json_t *line);
};

struct order_reader {
	bool wanted, over;
	size_t size;                    // maximum line length, including its end
	const struct order_verb *verbs; // terminated by a row without name
	void (*refused)(void *ctx, const char *line, const char *why);
	void *ctx;

	bool too_long; // applies to the current line
	char *line;
	size_t len, room;
};

// Process all orders whose lines have arrived, without waiting. The end of standard input counts as
// an interrupt, once.
void orders_read(struct order_reader *r);

// Parse {"order": SETTING, "at_ns": N} into the setting and its time (Unix time in ns; 0: as soon
// as possible). Returns NULL, or why it is invalid.
const char *order_setting(
	const json_t *value, const json_t *line, const char **setting, uint64_t *at_ns);

// {"stop": 1} (wait for replies) and {"stop": 2} (at once) count as interrupts.
const char *order_stop(void *ctx, const json_t *value, const json_t *line);

// Wait for more, for at most ms, or until a signal.
void orders_wait(unsigned ms);

void orders_close(struct order_reader *r);
