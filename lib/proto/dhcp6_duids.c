// SPDX-License-Identifier: BSD-3-Clause
// A file of DUIDs, one on each line as hex digits, to a table by client. Path: cold. Management
// thread.

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dhcp6_plan.h"
#include "proto/dhcp_path.h"

#define LISTED_LINES 10 // bad ones
#define LINE_SIZE    1024

struct duids {
	struct dhcp6_duid_bytes *items;
	uint32_t count, room;
	uint32_t bad, unlisted; // lines; the number of the first that is not listed
};

static bool add(struct duids *all, const struct dhcp6_duid_bytes *one)
{
	if (all->count == all->room) {
		uint32_t room = all->room ? all->room * 2 : 1024;
		void *p = realloc(all->items, (size_t)room * sizeof(*all->items));

		if (!p)
			return false;
		all->items = p;
		all->room = room;
	}
	all->items[all->count++] = *one;
	return true;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 'a' ^ 'A';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Blanks and colons between bytes are skipped. NULL, or what is wrong.
static const char *line_read(const char *text, struct dhcp6_duid_bytes *out)
{
	uint32_t len = 0;

	for (; *text; text++) {
		if (*text == ':' || isspace((unsigned char)*text))
			continue;
		if (digit_of(text[0]) < 0 || digit_of(text[1]) < 0)
			return "not pairs of hex digits";
		if (len == DHCP6_DUID_MAX)
			return "longer than 130 bytes";
		out->bytes[len++] = (uint8_t)(digit_of(text[0]) << 4 | digit_of(text[1]));
		text++;
	}
	out->len = (uint8_t)len;
	return len < DHCP6_DUID_MIN ? "shorter than 3 bytes" : NULL;
}

static int file_read(struct duids *all, FILE *f, const char *path, uint32_t wanted, struct diag *d)
{
	struct dhcp6_duid_bytes one;
	char line[LINE_SIZE];
	const char *what;

	for (unsigned n = 1; all->count < wanted && fgets(line, sizeof(line), f); n++) {
		line[strcspn(line, "\r\n")] = '\0';
		if (line[strspn(line, " \t")] == '\0' || *line == '#')
			continue;
		memset(&one, 0, sizeof(one));
		what = line_read(line, &one);
		if (what && ++all->bad <= LISTED_LINES)
			diag_error_at(d, path, n, 1, NULL, "\"%.80s\" is %s", line, what);
		else if (what && all->bad == LISTED_LINES + 1)
			all->unlisted = n;
		else if (!what && !add(all, &one))
			return -ENOMEM;
	}
	if (all->unlisted)
		diag_error_at(d, path, all->unlisted, 1, NULL, "and %u more bad lines",
			all->bad - LISTED_LINES);
	return all->bad ? -EINVAL : 0;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct dhcp6_duid_bytes));
}

static int check_unique(const struct duids *all, const void *where, struct diag *d)
{
	struct dhcp6_duid_bytes *sorted = malloc((size_t)all->count * sizeof(*sorted));
	int ret = 0;

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, all->items, (size_t)all->count * sizeof(*sorted));
	qsort(sorted, all->count, sizeof(*sorted), compare);
	for (uint32_t i = 1; i < all->count && ret == 0; i++) {
		if (compare(&sorted[i - 1], &sorted[i]) != 0)
			continue;
		diag_error(d, where, NULL, "the file has a DUID twice (%02x%02x%02x...)",
			sorted[i].bytes[0], sorted[i].bytes[1], sorted[i].bytes[2]);
		ret = -EINVAL;
	}
	free(sorted);
	return ret;
}

static int duids_judge(const struct duids *all, const struct dhcp6_settings *s, struct diag *d)
{
	if (all->count == s->clients)
		return check_unique(all, &s->duid_file, d);
	diag_error(d, &s->duid_file, NULL, "the file has %u DUIDs for %llu clients", all->count,
		(unsigned long long)s->clients);
	return -EINVAL;
}

int dhcp6_duids_load(const struct dhcp6_settings *s, struct dhcp6_duid_bytes **out, struct diag *d)
{
	char *path = dhcp_path_of(&s->duid_file, d);
	FILE *f = path ? fopen(path, "r") : NULL;
	struct duids all = {0};
	int ret = -ENOMEM;

	if (f) {
		ret = file_read(&all, f, path, (uint32_t)s->clients, d);
		fclose(f);
	} else if (path) {
		diag_error(d, &s->duid_file, NULL, "%s: %s", path, strerror(errno));
		ret = -EINVAL;
	}
	if (ret == 0)
		ret = duids_judge(&all, s, d);
	free(path);
	if (ret < 0)
		free(all.items);
	else
		*out = all.items;
	return ret;
}
