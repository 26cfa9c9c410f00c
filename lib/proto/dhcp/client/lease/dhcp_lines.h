// SPDX-License-Identifier: BSD-3-Clause
// Files with an item on each line (hardware addresses, DUIDs, leases): each line is passed to a
// function, whose error is reported with file and line. Empty lines and comments (#) are skipped.
// Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

// Parses a line, trimmed of blanks, which it may modify. 0; 1: stop reading; -ENOMEM; -EINVAL:
// *what is the reason.
typedef int (*dhcp_line)(void *to, char *line, const char **what);

// 0, -EINVAL (in d; where: the setting that names the file) or -ENOMEM.
int dhcp_lines_read(const char *path, const void *where, dhcp_line read, void *to, struct diag *d);

// Reads pairs of hex digits separated by blanks and colons: number of bytes. -EINVAL: other text;
// -ENOSPC: more than room.
int dhcp_hex_read(const char *text, uint8_t *out, uint32_t room);

// A growing table of parsed lines; free() its items.
struct dhcp_rows {
	void *items;
	size_t size; // of one item
	uint32_t count, room;
};

// Returns a sorted copy, to be freed, or NULL: out of memory. *twice: a duplicate item, or NULL.
void *dhcp_rows_sort(const struct dhcp_rows *r, const void **twice);
// false: out of memory.
bool dhcp_rows_add(struct dhcp_rows *r, const void *item);
