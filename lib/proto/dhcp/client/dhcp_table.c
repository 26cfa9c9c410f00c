// SPDX-License-Identifier: BSD-3-Clause
// A file of clients to a table of fields. Path: cold. Management thread.

#include "proto/dhcp/client/dhcp_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dhcp/client/dhcp_lines.h"

#define BYTES_MAX UINT32_MAX

struct loading {
	struct dhcp_table *t;
	struct dhcp_rows ends; // uint32_t: the first offset, then the end of each field
	size_t len, room;      // of bytes
	uint32_t most;
};

static const uint32_t unread_longest[DHCP_TABLE_COLUMNS_MAX] = {
	[0 ... DHCP_TABLE_COLUMNS_MAX - 1] = 6};
const struct pattern_table dhcp_table_unread = {
	.columns = DHCP_TABLE_COLUMNS_MAX, .longest = unread_longest};

// The field at *line to its place in the same line, without quotes; its length. *line is behind its
// comma, or NULL after the last field. -EINVAL: its quotes are not right.
static int field_take(char **line, char **field)
{
	char *from = *line, *to = from;
	bool quoted = *from == '"';

	*field = to;
	for (from += quoted; *from && (quoted || *from != ','); from++) {
		if (quoted && *from == '"' && *++from != '"')
			break;
		*to++ = *from;
	}
	if (quoted && (from[-1] != '"' || (*from && *from != ',')))
		return -EINVAL;
	*line = *from ? from + 1 : NULL;
	return (int)(to - *field);
}

static int field_add(struct loading *l, uint32_t column, const char *field, uint32_t len)
{
	struct dhcp_table *t = l->t;
	uint32_t end = (uint32_t)(l->len + len);

	if (l->len + len > l->room) {
		size_t room = 2 * (l->len + len);
		void *bigger = room <= BYTES_MAX ? realloc(t->bytes, room) : NULL;

		if (!bigger)
			return -ENOMEM;
		t->bytes = bigger;
		l->room = room;
	}
	if (len)
		memcpy(t->bytes + l->len, field, len);
	l->len = end;
	if (len > t->longest[column])
		t->longest[column] = len;
	return dhcp_rows_add(&l->ends, &end) ? 0 : -ENOMEM;
}

static int line_read(void *to, char *line, const char **what)
{
	struct loading *l = to;
	uint32_t column = 0;
	char *field;

	for (; line && column < DHCP_TABLE_COLUMNS_MAX; column++) {
		int len = field_take(&line, &field), ret;

		*what = "a quote that does not end, or that is inside of a field";
		ret = len < 0 ? len : field_add(l, column, field, (uint32_t)len);
		if (ret < 0)
			return ret;
	}
	*what = "more than 64 columns";
	if (line)
		return -EINVAL;
	*what = "not as many columns as the first line has";
	if (l->t->is.rows && column != l->t->is.columns)
		return -EINVAL;
	l->t->is.columns = column;
	return ++l->t->is.rows == l->most;
}

int dhcp_table_load(struct dhcp_table *t, const char *const *setting, uint32_t most,
	struct arena *a, struct diag *d)
{
	struct loading l = {.t = t, .ends.size = sizeof(uint32_t), .most = most};
	int ret;

	*t = (struct dhcp_table){0};
	if (!dhcp_rows_add(&l.ends, &(uint32_t){0}))
		return -ENOMEM;
	ret = dhcp_lines_read(diag_path(d, setting, a), setting, line_read, &l, d);
	t->at = l.ends.items;
	if (ret == 0 && t->is.rows == 0) {
		diag_error(d, setting, NULL, "the file has no line");
		ret = -EINVAL;
	}
	if (ret < 0) {
		dhcp_table_free(t);
		return ret;
	}
	t->is.bytes = t->bytes;
	t->is.at = t->at;
	t->is.longest = t->longest;
	return 0;
}

void dhcp_table_free(struct dhcp_table *t)
{
	free(t->bytes);
	free(t->at);
	*t = (struct dhcp_table){0};
}

const char *dhcp_table_text(
	const struct pattern_table *t, uint64_t row, uint32_t column, char *text, uint32_t room)
{
	const uint32_t *at = t->at + row * t->columns + column;

	snprintf(text, room, "%.*s", (int)(at[1] - at[0]), (const char *)t->bytes + at[0]);
	return text;
}
