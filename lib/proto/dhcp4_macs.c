// SPDX-License-Identifier: BSD-3-Clause
// Hardware addresses as text, and a file of them, one on each line, to a table by client. Path:
// cold. Management thread.

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dhcp4_self.h"
#include "proto/dhcp_path.h"

#define LISTED_LINES 10 // bad ones
#define LINE_SIZE    256

struct macs {
	uint8_t *items;     // len bytes each
	uint32_t len;       // of the first line's
	bool six, stations; // only Ethernet's length is right; no groups
	uint32_t count, room;
	uint32_t bad, unlisted; // lines; the number of the first that is not listed
};

// Without blanks at both ends.
static char *trimmed(char *line)
{
	char *end = line + strlen(line);

	while (end > line && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*line))
		line++;
	return line;
}

uint32_t dhcp4_chaddr_read(const char *text, uint8_t out[DHCP4_CHADDR_LEN])
{
	for (uint32_t n = 0; n < DHCP4_CHADDR_LEN; n++, text += 3) {
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

static char *format(const uint8_t *bytes, uint32_t len, char text[DHCP4_CHADDR_TEXT])
{
	for (uint32_t i = 0; i < len; i++)
		sprintf(text + 3 * i, i + 1 < len ? "%02x:" : "%02x", bytes[i]);
	return text;
}

const char *dhcp4_chaddr_text(
	const struct dhcp4_plan *p, uint32_t number, char text[DHCP4_CHADDR_TEXT])
{
	uint8_t chaddr[DHCP4_CHADDR_LEN];

	dhcp4_chaddr(p, number, chaddr);
	return format(chaddr, p->chaddr_len, text);
}

static bool add(struct macs *m, const uint8_t *mac)
{
	if (m->count == m->room) {
		uint32_t room = m->room ? m->room * 2 : 1024;
		void *p = realloc(m->items, (size_t)room * m->len);

		if (!p)
			return false;
		m->items = p;
		m->room = room;
	}
	memcpy(m->items + (size_t)m->count++ * m->len, mac, m->len);
	return true;
}

// NULL: it is right.
static const char *line_read(struct macs *m, const char *text, uint8_t mac[DHCP4_CHADDR_LEN])
{
	uint32_t len = dhcp4_chaddr_read(text, mac);

	if (len == 0)
		return "a MAC address (like 02:00:00:00:00:01)";
	if (m->six && len != 6)
		return "an Ethernet address, as clients that broadcast have";
	if (m->stations && len == 6 && (mac[0] & 1))
		return "an address of one station (the first byte is even)";
	if (m->len && len != m->len)
		return "as long as those before";
	m->len = len;
	return NULL;
}

static int file_read(struct macs *m, FILE *f, const char *path, uint32_t wanted, struct diag *d)
{
	char line[LINE_SIZE], *text;
	const char *what;
	uint8_t mac[DHCP4_CHADDR_LEN];

	for (unsigned n = 1; m->count < wanted && fgets(line, sizeof(line), f); n++) {
		text = trimmed(line);
		if (*text == '\0' || *text == '#')
			continue;
		what = line_read(m, text, mac);
		if (what && ++m->bad <= LISTED_LINES)
			diag_error_at(d, path, n, 1, NULL, "\"%s\" is not %s", text, what);
		else if (what && m->bad == LISTED_LINES + 1)
			m->unlisted = n;
		else if (!what && !add(m, mac))
			return -ENOMEM;
	}
	if (m->unlisted)
		diag_error_at(d, path, m->unlisted, 1, NULL, "and %u more bad lines",
			m->bad - LISTED_LINES);
	return m->bad ? -EINVAL : 0;
}

static int compare(const void *a, const void *b, void *len)
{
	return memcmp(a, b, *(const uint32_t *)len);
}

static int check_unique(struct macs *m, const void *where, struct diag *d)
{
	size_t len = m->len, size = m->count * len;
	uint8_t *sorted = malloc(size);
	char text[DHCP4_CHADDR_TEXT];
	int ret = 0;

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, m->items, size);
	qsort_r(sorted, m->count, len, compare, &m->len);
	for (size_t at = len; at < size && ret == 0; at += len) {
		if (memcmp(sorted + at - len, sorted + at, len) != 0)
			continue;
		diag_error(
			d, where, NULL, "the file has %s twice", format(sorted + at, m->len, text));
		ret = -EINVAL;
	}
	free(sorted);
	return ret;
}

static int macs_judge(struct macs *m, const struct dhcp4_settings *s, struct diag *d)
{
	if (m->count == s->clients)
		return check_unique(m, &s->mac_file, d);
	diag_error(d, &s->mac_file, NULL, "the file has %u MAC addresses for %llu clients",
		m->count, (unsigned long long)s->clients);
	return -EINVAL;
}

int dhcp4_macs_load(struct dhcp4_plan *p, const struct dhcp4_settings *s, struct diag *d)
{
	char *path = dhcp_path_of(&s->mac_file, d);
	FILE *f = path ? fopen(path, "r") : NULL;
	struct macs m = {.six = !s->relay,
		.stations = s->htype == DHCP4_HTYPE_ETHERNET || s->htype == DHCP4_HTYPE_IEEE802};
	int ret = -ENOMEM;

	if (f) {
		ret = file_read(&m, f, path, (uint32_t)s->clients, d);
		fclose(f);
	} else if (path) {
		diag_error(d, &s->mac_file, NULL, "%s: %s", path, strerror(errno));
		ret = -EINVAL;
	}
	if (ret == 0)
		ret = macs_judge(&m, s, d);
	free(path);
	if (ret < 0) {
		free(m.items);
		return ret;
	}
	p->macs = m.items;
	p->chaddr_len = (uint8_t)m.len;
	return 0;
}
