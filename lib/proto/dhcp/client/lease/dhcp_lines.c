// SPDX-License-Identifier: BSD-3-Clause
// Files line by line. Path: cold. Management thread.

#include "proto/dhcp/client/lease/dhcp_lines.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/input.h"

#define LISTED_LINES 10 // of bad lines
#define SHOWN_SIZE   81 // length shown of a bad line
#define ROOM_FIRST   1024

struct reading {
	const char *path;
	dhcp_line read;
	void *to;
	struct diag *d;
	unsigned bad, unlisted; // numbers of lines; first unlisted line
};

static int line_read(void *reading, char *text, size_t len, unsigned number)
{
	char *end = text + len, shown[SHOWN_SIZE];
	struct reading *r = reading;
	const char *what = NULL;
	int ret;

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*text))
		text++;
	if (*text == '\0' || *text == '#')
		return 0;
	snprintf(shown, sizeof(shown), "%s", text);
	ret = r->read(r->to, text, &what);
	if (ret != -EINVAL)
		return ret;
	if (++r->bad <= LISTED_LINES)
		diag_error_at(r->d, r->path, number, 1, NULL, "\"%s\": %s", shown, what);
	else if (!r->unlisted)
		r->unlisted = number;
	return 0;
}

int dhcp_lines_read(const char *path, const void *where, dhcp_line read, void *to, struct diag *d)
{
	struct reading r = {.path = path, .read = read, .to = to, .d = d};
	int ret = input_lines(path, where, line_read, &r, d);

	if (r.unlisted)
		diag_error_at(d, path, r.unlisted, 1, NULL, "and %u more bad line%s",
			r.bad - LISTED_LINES, r.bad == LISTED_LINES + 1 ? "" : "s");
	return ret == 0 && r.bad ? -EINVAL : ret;
}

int dhcp_hex_read(const char *text, uint8_t *out, uint32_t room)
{
	uint32_t len = 0;

	for (; *text; text++) {
		if (*text == ':' || isspace((unsigned char)*text))
			continue;
		if (!isxdigit((unsigned char)text[0]) || !isxdigit((unsigned char)text[1]))
			return -EINVAL;
		if (len == room)
			return -ENOSPC;
		out[len++] = (uint8_t)strtoul((const char[]){text[0], text[1], '\0'}, NULL, 16);
		text++;
	}
	return (int)len;
}

bool dhcp_rows_add(struct dhcp_rows *r, const void *item)
{
	if (r->count == r->room) {
		uint32_t room = r->room ? r->room * 2 : ROOM_FIRST;
		void *bigger = realloc(r->items, room * r->size);

		if (!bigger)
			return false;
		r->items = bigger;
		r->room = room;
	}
	memcpy((char *)r->items + r->count++ * r->size, item, r->size);
	return true;
}

static int compare(const void *a, const void *b, void *size)
{
	return memcmp(a, b, *(const size_t *)size);
}

void *dhcp_rows_sort(const struct dhcp_rows *r, const void **twice)
{
	size_t size = r->size, all = r->count * size;
	char *sorted = malloc(all + 1);

	*twice = NULL;
	if (!sorted)
		return NULL;
	if (all)
		memcpy(sorted, r->items, all);
	qsort_r(sorted, r->count, size, compare, &size);
	for (size_t at = size; at < all && !*twice; at += size)
		if (memcmp(sorted + at - size, sorted + at, size) == 0)
			*twice = sorted + at;
	return sorted;
}
