// SPDX-License-Identifier: BSD-3-Clause
// A file of clients: a line of comma-separated fields per client (CSV). Fields are stored
// consecutively, with a table of their offsets. Path: cold. Management thread.
#pragma once

#include "base/diag.h"
#include "base/pattern.h"
#include "proto/dhcp/client/lease/dhcp_lines.h"
#include "proto/dhcp/client/lease/dhcp_macs.h"

#define DHCP_TABLE_COLUMNS_MAX 64

struct dhcp_table {
	struct pattern_table is; // columns 0: no file
	uint8_t *bytes;
	uint32_t *at;
	uint32_t longest[DHCP_TABLE_COLUMNS_MAX];
};

// Placeholder for a file not read yet: accepts any column, with fields of the minimum DUID length.
extern const struct pattern_table dhcp_table_unread;

// A table built field by field; the caller counts rows and columns. begin and field: 0 or -ENOMEM.
// end, also called after their errors: returns ret, and frees everything if that is an error.
struct dhcp_table_build {
	struct dhcp_table *t;
	struct dhcp_rows ends; // uint32_t: the first offset, then the end of each field
	size_t len, room;      // in bytes
};
int dhcp_table_begin(struct dhcp_table_build *l, struct dhcp_table *t);
int dhcp_table_field(struct dhcp_table_build *l, uint32_t column, const void *field, uint32_t len);
int dhcp_table_end(struct dhcp_table_build *l, int ret);

// Loads up to `most` lines. A field in double quotes may contain commas, and "" for a quote. 0,
// -EINVAL (in d) or -ENOMEM; on errors nothing needs freeing.
int dhcp_table_load(struct dhcp_table *t, const char *const *setting, uint32_t most,
	struct arena *a, struct diag *d);
void dhcp_table_free(struct dhcp_table *t);
// A field as text, truncated to room - 1 characters.
const char *dhcp_table_text(
	const struct pattern_table *t, uint64_t row, uint32_t column, char *text, uint32_t room);
