// SPDX-License-Identifier: BSD-3-Clause
// A file of MAC addresses, one on each line, to a table by client. Path: cold. Management thread.

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dhcp4_plan.h"

#define LISTED_LINES 10 // bad ones
#define LINE_SIZE    256

struct macs {
	uint8_t (*items)[6];
	uint32_t count, room;
	uint32_t bad, unlisted; // lines; the number of the first that is not listed
};

// A path in a file is relative to the folder of that file. NULL: out of memory.
static char *path_of(const char *const *setting, const struct diag *d)
{
	const char *file = diag_file(d, setting);
	const char *slash = file ? strrchr(file, '/') : NULL;
	int folder = slash && (*setting)[0] != '/' ? (int)(slash - file) + 1 : 0;
	char *path;

	return asprintf(&path, "%.*s%s", folder, file ? file : "", *setting) < 0 ? NULL : path;
}

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

static bool add(struct macs *m, const uint8_t mac[6])
{
	if (m->count == m->room) {
		uint32_t room = m->room ? m->room * 2 : 1024;
		void *p = realloc(m->items, (size_t)room * sizeof(*m->items));

		if (!p)
			return false;
		m->items = p;
		m->room = room;
	}
	memcpy(m->items[m->count++], mac, 6);
	return true;
}

static const char *line_read(const char *text, uint8_t mac[6])
{
	const char *what;

	if (addr_parse_mac(text, mac, &what) < 0)
		return what;
	return mac[0] & 1 ? "an address of one station (the first byte is even)" : NULL;
}

static int file_read(struct macs *m, FILE *f, const char *path, uint32_t wanted, struct diag *d)
{
	char line[LINE_SIZE], *text;
	const char *what;
	uint8_t mac[6];

	for (unsigned n = 1; m->count < wanted && fgets(line, sizeof(line), f); n++) {
		text = trimmed(line);
		if (*text == '\0' || *text == '#')
			continue;
		what = line_read(text, mac);
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

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, 6);
}

static int check_unique(const struct macs *m, const void *where, struct diag *d)
{
	uint8_t(*sorted)[6] = malloc((size_t)m->count * 6);
	char text[ADDR_TEXT_SIZE];
	int ret = 0;

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, m->items, (size_t)m->count * 6);
	qsort(sorted, m->count, 6, compare);
	for (uint32_t i = 1; i < m->count && ret == 0; i++) {
		if (compare(sorted[i - 1], sorted[i]) != 0)
			continue;
		diag_error(d, where, NULL, "the file has %s twice",
			addr_format_mac(sorted[i], text, sizeof(text)));
		ret = -EINVAL;
	}
	free(sorted);
	return ret;
}

static int macs_judge(const struct macs *m, const struct dhcp4_settings *s, struct diag *d)
{
	if (m->count == s->clients)
		return check_unique(m, &s->mac_file, d);
	diag_error(d, &s->mac_file, NULL, "the file has %u MAC addresses for %llu clients",
		m->count, (unsigned long long)s->clients);
	return -EINVAL;
}

int dhcp4_macs_load(const struct dhcp4_settings *s, uint8_t (**out)[6], struct diag *d)
{
	char *path = path_of(&s->mac_file, d);
	FILE *f = path ? fopen(path, "r") : NULL;
	struct macs m = {0};
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
	if (ret < 0)
		free(m.items);
	else
		*out = m.items;
	return ret;
}
