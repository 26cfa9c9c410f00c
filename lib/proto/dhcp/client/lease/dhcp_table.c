// SPDX-License-Identifier: BSD-3-Clause
// Reads a file of clients into a table of fields. Path: cold. Management thread.

#include "proto/dhcp/client/lease/dhcp_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX UINT32_MAX

struct loading {
	struct dhcp_table_build build;
	uint32_t most;
};

static const uint32_t unread_longest[DHCP_TABLE_COLUMNS_MAX] = {
	[0 ... DHCP_TABLE_COLUMNS_MAX - 1] = 6};
const struct pattern_table dhcp_table_unread = {
	.columns = DHCP_TABLE_COLUMNS_MAX, .longest = unread_longest};

// Unquotes the field at *line in place and returns its length. Moves *line past the comma, or to
// NULL after the last field. -EINVAL: invalid quotes.
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

int dhcp_table_begin(struct dhcp_table_build *l, struct dhcp_table *t)
{
	*t = (struct dhcp_table){0};
	*l = (struct dhcp_table_build){.t = t, .ends.size = sizeof(uint32_t)};
	return dhcp_rows_add(&l->ends, &(uint32_t){0}) ? 0 : -ENOMEM;
}

int dhcp_table_field(struct dhcp_table_build *l, uint32_t column, const void *field, uint32_t len)
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

int dhcp_table_end(struct dhcp_table_build *l, int ret)
{
	struct dhcp_table *t = l->t;

	t->at = l->ends.items;
	if (ret < 0) {
		dhcp_table_free(t);
		return ret;
	}
	t->is.bytes = t->bytes;
	t->is.at = t->at;
	t->is.longest = t->longest;
	return 0;
}

static int line_read(void *to, char *line, const char **what)
{
	struct loading *l = to;
	struct pattern_table *is = &l->build.t->is;
	uint32_t column = 0;
	char *field;

	for (; line && column < DHCP_TABLE_COLUMNS_MAX; column++) {
		int len = field_take(&line, &field), ret;

		*what = "a quote that does not end, or that is inside of a field";
		ret = len < 0 ? len : dhcp_table_field(&l->build, column, field, (uint32_t)len);
		if (ret < 0)
			return ret;
	}
	*what = "more than 64 columns";
	if (line)
		return -EINVAL;
	*what = "not as many columns as the first line has";
	if (is->rows && column != is->columns)
		return -EINVAL;
	is->columns = column;
	return ++is->rows == l->most;
}

int dhcp_table_load(struct dhcp_table *t, const char *const *setting, uint32_t most,
	struct arena *a, struct diag *d)
{
	struct loading l = {.most = most};
	int ret = dhcp_table_begin(&l.build, t);

	if (ret == 0)
		ret = dhcp_lines_read(diag_path(d, setting, a), setting, line_read, &l, d);
	if (ret == 0 && t->is.rows == 0) {
		diag_error(d, setting, NULL, "the file has no line");
		ret = -EINVAL;
	}
	return dhcp_table_end(&l.build, ret);
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
