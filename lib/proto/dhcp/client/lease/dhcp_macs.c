// SPDX-License-Identifier: BSD-3-Clause
// Hardware addresses as text, and files of them as tables by client. Path: cold. Management thread.

#include "proto/dhcp/client/lease/dhcp_macs.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "proto/dhcp/client/lease/dhcp_lines.h"
#include "proto/dhcp/client/lease/dhcp_table.h"

struct loading {
	const struct dhcp_macs_wanted *wanted;
	struct dhcp_rows rows; // size: from the first line
};

uint32_t dhcp_mac_read(const char *text, uint8_t out[DHCP_MAC_MAX])
{
	for (uint32_t n = 0; n < DHCP_MAC_MAX; n++, text += 3) {
		if (!isxdigit((unsigned char)text[0]) || !isxdigit((unsigned char)text[1]))
			return 0;
		out[n] = (uint8_t)strtoul((const char[]){text[0], text[1], '\0'}, NULL, 16);
		if (text[2] == '\0')
			return n + 1;
		if (text[2] != ':')
			return 0;
	}
	return 0;
}

const char *dhcp_mac_text(const uint8_t *mac, uint32_t len, char text[DHCP_MAC_TEXT])
{
	for (uint32_t i = 0; i < len; i++)
		sprintf(text + 3 * i, i + 1 < len ? "%02x:" : "%02x", mac[i]);
	return text;
}

static const char *mac_judge(const struct loading *l, const uint8_t *mac, uint32_t len)
{
	if (len == 0)
		return "not a MAC address (like 02:00:00:00:00:01)";
	if (l->wanted->six && len != 6)
		return "not an Ethernet address (6 bytes), as clients on a link have";
	if (l->wanted->stations && len == 6 && (mac[0] & 1))
		return "a group address: clients on a link are single stations (the first byte is "
		       "even)";
	if (l->rows.size && len != l->rows.size)
		return "not as long as those before";
	return NULL;
}

static int line_read(void *to, char *line, const char **what)
{
	uint8_t mac[DHCP_MAC_MAX];
	struct loading *l = to;
	uint32_t len = dhcp_mac_read(line, mac);

	*what = mac_judge(l, mac, len);
	if (*what)
		return -EINVAL;
	l->rows.size = len;
	if (!dhcp_rows_add(&l->rows, mac))
		return -ENOMEM;
	return l->rows.count == l->wanted->clients;
}

static int macs_sort(
	struct dhcp_macs *m, const struct dhcp_rows *rows, const void *where, struct diag *d)
{
	char text[DHCP_MAC_TEXT];
	const void *twice;

	m->sorted = dhcp_rows_sort(rows, &twice);
	if (!m->sorted)
		return -ENOMEM;
	if (twice)
		diag_error(d, where, NULL, "the file has %s twice",
			dhcp_mac_text(twice, m->len, text));
	return twice ? -EINVAL : 0;
}

// Build the table from the lines read, if ret is 0.
static int macs_end(
	struct dhcp_macs *m, const struct loading *l, int ret, const void *where, struct diag *d)
{
	*m = (struct dhcp_macs){
		.items = l->rows.items, .count = l->rows.count, .len = (uint32_t)l->rows.size};
	if (ret == 0 && m->count < l->wanted->clients && (!l->wanted->fewer || m->count == 0)) {
		diag_error(d, where, NULL, "the file has %u MAC addresses for %llu clients",
			m->count, (unsigned long long)l->wanted->clients);
		ret = -EINVAL;
	}
	if (ret == 0)
		ret = macs_sort(m, &l->rows, where, d);
	if (ret < 0) {
		dhcp_macs_free(m);
	} else if (!l->wanted->find) {
		free(m->sorted);
		m->sorted = NULL;
	}
	return ret;
}

int dhcp_macs_take(struct dhcp_macs *m, const struct pattern_table *t, uint32_t column,
	const struct dhcp_macs_wanted *wanted, const void *where, struct diag *d)
{
	struct loading l = {.wanted = wanted};
	char text[DHCP_MAC_TEXT + 1];
	const char *what;
	int ret = 0;

	for (uint64_t row = 0; row < t->rows && row < wanted->clients && ret >= 0; row++) {
		dhcp_table_text(t, row, column, text, sizeof(text));
		ret = line_read(&l, text, &what);
		if (ret == -EINVAL)
			diag_error(d, where, NULL, "client %llu has \"%s\" there: %s",
				(unsigned long long)row, text, what);
	}
	return macs_end(m, &l, ret < 0 ? ret : 0, where, d);
}

int dhcp_macs_load(struct dhcp_macs *m, const char *const *setting,
	const struct dhcp_macs_wanted *wanted, struct arena *a, struct diag *d)
{
	struct loading l = {.wanted = wanted};
	int ret = dhcp_lines_read(diag_path(d, setting, a), setting, line_read, &l, d);

	return macs_end(m, &l, ret, setting, d);
}

// Write the number-th address after `first`, 6 bytes.
static void mac_write(const uint8_t first[6], uint64_t number, uint8_t *to)
{
	uint64_t mac = (uint64_t)bytes_be16(first) << 32 | bytes_be32(first + 2);

	mac += number;
	bytes_put_be16(to, (uint16_t)(mac >> 32));
	bytes_put_be32(to + 2, (uint32_t)mac);
}

int dhcp_macs_share(struct dhcp_macs *m, const uint8_t first[6], uint32_t count,
	const struct dhcp_macs_wanted *wanted)
{
	uint64_t clients = wanted->clients;

	*m = (struct dhcp_macs){.items = malloc(6 * clients),
		.sorted = wanted->find ? malloc(6 * clients) : NULL,
		.count = (uint32_t)clients,
		.len = 6};
	if (!m->items || (wanted->find && !m->sorted)) {
		dhcp_macs_free(m);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < clients; i++) {
		mac_write(first, i % count, m->items + 6 * i);
		if (m->sorted)
			mac_write(first, i * count / clients, m->sorted + 6 * i);
	}
	return 0;
}

void dhcp_macs_free(struct dhcp_macs *m)
{
	free(m->items);
	free(m->sorted);
	*m = (struct dhcp_macs){0};
}
