// SPDX-License-Identifier: BSD-3-Clause
// Files with an item on each line (hardware addresses, DUIDs, leases): each line goes to a
// function, whose complaint gets file and line. Empty lines and comments (#) are skipped. Path:
// cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

// Takes a line without blanks at its ends, which it may change. 0; 1: read no further line;
// -ENOMEM; -EINVAL: *what is the reason.
typedef int (*dhcp_line)(void *to, char *line, const char **what);

// 0, -EINVAL (in d; where is the setting that names the file) or -ENOMEM.
int dhcp_lines_read(const char *path, const void *where, dhcp_line read, void *to, struct diag *d);

// Pairs of hex digits with blanks and colons between them: number of bytes. -EINVAL: other text;
// -ENOSPC: more than room.
int dhcp_hex_read(const char *text, uint8_t *out, uint32_t room);

// A table that grows with the lines; free() its items.
struct dhcp_rows {
	void *items;
	size_t size; // of one
	uint32_t count, room;
};

// A sorted copy, to be freed, or NULL: out of memory. *twice is an item that is there twice, or
// NULL.
void *dhcp_rows_sort(const struct dhcp_rows *r, const void **twice);
// false: out of memory.
bool dhcp_rows_add(struct dhcp_rows *r, const void *item);
