// SPDX-License-Identifier: BSD-3-Clause
// Walks the names of a section's keys, and measures how far a mistyped one is from each.
// Path: cold. Management thread.
#include "conf/names.h"

#include <string.h>

#define KEY_MAX 40 // longer ones are near nothing

// The i-th key, choices counted one by one; NULL behind the last.
static const char *names_nth(const struct field_section *section, unsigned i)
{
	for (uint32_t row = 0; row < section->count; row++) {
		const struct field *f = &section->fields[row];

		if (f->type != FIELD_CHOICES) {
			if (i-- == 0)
				return f->name;
			continue;
		}
		for (unsigned k = 0; f->choices[k]; k++) {
			if (i-- == 0)
				return f->choices[k]->name;
		}
	}
	return NULL;
}

bool names_has(const struct field_section *section, const char *key)
{
	const char *name;

	for (unsigned i = 0; (name = names_nth(section, i)); i++) {
		if (strcmp(name, key) == 0)
			return true;
	}
	return false;
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	a = b < a ? b : a;
	return c < a ? c : a;
}

// Letters to insert, drop, change, or swap with the neighbour. Both at most KEY_MAX long.
static unsigned distance(const char *a, const char *b)
{
	unsigned rows[3][KEY_MAX + 1], *before = rows[0], *last = rows[1], *row = rows[2], *swap;
	const unsigned len = (unsigned)strlen(b);

	for (unsigned k = 0; k <= len; k++)
		last[k] = k;
	for (unsigned i = 1; a[i - 1]; i++) {
		row[0] = i;
		for (unsigned k = 1; k <= len; k++) {
			row[k] = least(
				last[k] + 1, row[k - 1] + 1, last[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				row[k] = least(row[k], before[k - 2] + 1, row[k]);
		}
		swap = before;
		before = last;
		last = row;
		row = swap;
	}
	return last[len];
}

static const char *names_nearest(const struct field_section *section, const char *key)
{
	// A third of the letters may be wrong.
	unsigned best = ((unsigned)strlen(key) + 2) / 3 + 1;
	const char *name, *nearest = NULL;

	if (strlen(key) > KEY_MAX)
		return NULL;
	for (unsigned i = 0; (name = names_nth(section, i)); i++) {
		unsigned d = strlen(name) > KEY_MAX ? best : distance(key, name);

		if (d < best && d < strlen(name)) {
			best = d;
			nearest = name;
		}
	}
	return nearest;
}

const char *names_hint(const struct field_section *section, const char *key, struct arena *a)
{
	const char *name, *all = NULL, *nearest = names_nearest(section, key);

	if (nearest)
		return arena_printf(a, "did you mean \"%s\"?", nearest);
	for (unsigned i = 0; (name = names_nth(section, i)); i++)
		all = all ? arena_printf(a, "%s, %s", all, name) : name;
	return all ? arena_printf(a, "allowed: %s", all) : "no key is allowed here";
}
