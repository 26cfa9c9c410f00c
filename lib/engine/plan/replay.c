// SPDX-License-Identifier: BSD-3-Clause
// Text is read line by line; packets from libpcap may be slightly out of order, and are sorted.
// Path: cold. Management thread.
#include "engine/plan/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/input.h"
#include "net/packet_file.h"

#define LISTED 10 // bad lines

struct replay_lines {
	struct timestamps *t;
	const char *path;
	struct diag *d;
	unsigned bad;
};

static bool is_end(char c)
{
	return c == '\0' || c == '#' || c == ';' || c == '\n' || c == '\r' || c == ' ' || c == '\t';
}

// Parses "12.345", to the nanosecond. Returns false for another form.
static bool replay_seconds(const char *text, uint64_t *ns)
{
	uint64_t whole = 0, part = 0, unit = 1000000000;
	const char *p = text;

	for (; *p >= '0' && *p <= '9' && whole < 10000000000; p++)
		whole = 10 * whole + (uint64_t)(*p - '0');
	if (p == text)
		return false;
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9'; p++) {
			unit /= 10;
			part += unit * (uint64_t)(*p - '0');
		}
	*ns = whole * 1000000000 + part;
	return is_end(*p) && whole < 10000000000;
}

static int replay_line(void *reader, char *line, size_t len, unsigned number)
{
	struct replay_lines *r = reader;
	const char *text = line + strspn(line, " \t");
	const struct timestamps *t = r->t;
	unsigned col = (unsigned)(text - line) + 1;
	uint64_t ns;

	(void)len; // NUL-terminated
	if (is_end(*text))
		return 0;
	if (!replay_seconds(text, &ns)) {
		if (r->bad++ < LISTED)
			diag_error_at(r->d, r->path, number, col, NULL,
				"\"%.*s\" is not a time in seconds (like 12.345)",
				(int)strcspn(text, "\r\n"), text);
		return 0;
	}
	if (t->count && ns < t->ns[t->count - 1]) {
		if (r->bad++ < LISTED)
			diag_error_at(r->d, r->path, number, col, NULL,
				"goes back in time (each line is at or after the one before)");
		return 0;
	}
	return timestamps_add(r->t, ns);
}

static int read_text(struct replay_lines *r, const struct replay_settings *settings)
{
	int rc = input_lines(r->path, &settings->file, replay_line, r, r->d);

	if (r->bad > LISTED)
		diag_error(r->d, &settings->file, NULL, "and %u more bad lines", r->bad - LISTED);
	return rc || r->bad == 0 ? rc : -EINVAL;
}

static int replay_compare(const void *a, const void *b)
{
	const uint64_t *l = a, *r = b;

	return *l < *r ? -1 : *l > *r;
}

// Sorts the times and makes them start at 0.
static void replay_order(struct timestamps *t)
{
	qsort(t->ns, t->count, sizeof(*t->ns), replay_compare);
	for (uint64_t i = t->count; i-- > 0;)
		t->ns[i] -= t->ns[0];
}

int replay_take(struct timestamps *t, const struct timestamps *from)
{
	int rc = 0;

	timestamps_free(t);
	for (uint64_t k = 0; k < from->count && rc == 0; k++)
		rc = timestamps_add(t, from->ns[k]);
	if (rc == 0)
		replay_order(t);
	return rc;
}

static int read_packets(
	struct replay_lines *r, int fd, const struct replay_settings *settings, struct arena *a)
{
	const char *why = NULL;
	int rc = timestamps_read(r->t, fd, settings->filter, a, &why);

	if (rc == -EINVAL)
		diag_error(r->d, &settings->file, NULL, "%s: %s", r->path, why);
	return rc;
}

int replay_read(struct timestamps *t, const struct replay_settings *settings, struct arena *a,
	struct diag *d)
{
	struct replay_lines r = {t, diag_path(d, &settings->file, a), d, 0};
	int fd = input_open(r.path, &settings->file, d), rc;
	bool packets;

	if (fd < 0)
		return -EINVAL;
	packets = packet_file_is(fd);
	if (packets) {
		rc = read_packets(&r, fd, settings, a);
	} else {
		close(fd);
		rc = read_text(&r, settings);
	}
	if (rc)
		return rc;
	if (!packets && settings->filter)
		diag_error(d, &settings->filter, NULL,
			"is for files of packets, and %s is text (leave it out)", r.path);
	if (t->count == 0)
		diag_error(d, &settings->file, NULL,
			"%s: no time in it (one in seconds on each line)", r.path);
	if (t->count)
		replay_order(t);
	return diag_count(d) ? -EINVAL : 0;
}
