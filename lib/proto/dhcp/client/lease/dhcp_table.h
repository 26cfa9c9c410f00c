// SPDX-License-Identifier: BSD-3-Clause
// A file of clients: a line of comma-separated fields for each (CSV). The fields lie one behind the
// other, with a table of their offsets. Path: cold. Management thread.
#pragma once

#include "base/diag.h"
#include "base/pattern.h"
#include "proto/dhcp/client/lease/dhcp_lines.h"
#include "proto/dhcp/client/lease/dhcp_macs.h"

#define DHCP_TABLE_COLUMNS_MAX 64

struct dhcp_table {
	struct pattern_table is; // columns 0: there is no file
	uint8_t *bytes;
	uint32_t *at;
	uint32_t longest[DHCP_TABLE_COLUMNS_MAX];
};

// Stands for a file that is not read yet: any column, of the length that a DUID has at least.
extern const struct pattern_table dhcp_table_unread;

// A table that grows field by field: the caller counts its rows and columns. begin and field: 0 or
// -ENOMEM; end, also after an error of theirs: ret, with nothing left to free if it is one.
struct dhcp_table_build {
	struct dhcp_table *t;
	struct dhcp_rows ends; // uint32_t: the first offset, then the end of each field
	size_t len, room;      // of bytes
};
int dhcp_table_begin(struct dhcp_table_build *l, struct dhcp_table *t);
int dhcp_table_field(struct dhcp_table_build *l, uint32_t column, const void *field, uint32_t len);
int dhcp_table_end(struct dhcp_table_build *l, int ret);

// Up to `most` lines of the file. A field in double quotes may have commas, and "" for one of them.
// 0, -EINVAL (in d) or -ENOMEM; then there is nothing to free.
int dhcp_table_load(struct dhcp_table *t, const char *const *setting, uint32_t most,
	struct arena *a, struct diag *d);
void dhcp_table_free(struct dhcp_table *t);
// A field as text, up to room - 1 characters of it.
const char *dhcp_table_text(
	const struct pattern_table *t, uint64_t row, uint32_t column, char *text, uint32_t room);
