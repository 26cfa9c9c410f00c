// SPDX-License-Identifier: BSD-3-Clause
// A file of DUIDs, one on each line as hex digits, to a table by client. Path: cold. Management
// thread.

#include <errno.h>
#include <stdlib.h>

#include "proto/dhcp/v6/dhcp6_plan.h"
#include "proto/dhcp/dhcp_lines.h"

struct loading {
	struct dhcp_rows rows;
	uint64_t wanted;
};

static int line_read(void *to, char *line, const char **what)
{
	struct dhcp6_duid_bytes one = {.len = 0};
	struct loading *l = to;
	int len = dhcp_hex_read(line, one.bytes, sizeof(one.bytes));

	one.len = len > 0 ? (uint8_t)len : 0;
	if (len == -EINVAL)
		*what = "not pairs of hex digits";
	else if (len == -ENOSPC)
		*what = "longer than 130 bytes";
	else if (len < DHCP6_DUID_MIN)
		*what = "shorter than 3 bytes";
	if (*what)
		return -EINVAL;
	if (!dhcp_rows_add(&l->rows, &one))
		return -ENOMEM;
	return l->rows.count == l->wanted;
}

static int check_unique(const struct dhcp_rows *all, const void *where, struct diag *d)
{
	const struct dhcp6_duid_bytes *twice;
	void *sorted = dhcp_rows_sort(all, (const void **)&twice);

	if (!sorted)
		return -ENOMEM;
	if (twice)
		diag_error(d, where, NULL, "the file has a DUID twice (%02x%02x%02x...)",
			twice->bytes[0], twice->bytes[1], twice->bytes[2]);
	free(sorted);
	return twice ? -EINVAL : 0;
}

int dhcp6_duids_load(struct dhcp6_plan *p, const struct dhcp6_settings *s, struct diag *d)
{
	struct loading l = {{.size = sizeof(struct dhcp6_duid_bytes)}, s->clients};
	int ret = dhcp_lines_read(
		diag_path(d, &s->duid_file, p->arena), &s->duid_file, line_read, &l, d);

	if (ret == 0 && l.rows.count < s->clients) {
		diag_error(d, &s->duid_file, NULL, "the file has %u DUIDs for %llu clients",
			l.rows.count, (unsigned long long)s->clients);
		ret = -EINVAL;
	}
	if (ret == 0)
		ret = check_unique(&l.rows, &s->duid_file, d);
	if (ret < 0)
		free(l.rows.items);
	else
		p->duids = l.rows.items;
	return ret;
}
