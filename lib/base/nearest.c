// SPDX-License-Identifier: BSD-3-Clause
// Distance of words by dynamic programming over three rows. Path: cold. Any thread.
#include "base/nearest.h"

#include <string.h>

#define NAME_MAX_LEN 80 // longer ones are near nothing

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	a = b < a ? b : a;
	return c < a ? c : a;
}

// Letters to insert, drop, change, or swap with the neighbour. Both at most NAME_MAX_LEN long.
static unsigned distance_of(const char *a, const char *b)
{
	unsigned rows[3][NAME_MAX_LEN + 1], *before = rows[0], *last = rows[1], *row = rows[2],
					    *swap;
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

struct nearest nearest_to(const char *wanted)
{
	return (struct nearest){wanted, NULL, ((unsigned)strlen(wanted) + 2) / 3 + 1};
}

void nearest_try(struct nearest *n, const char *name)
{
	unsigned d;

	if (strlen(name) > NAME_MAX_LEN || strlen(n->wanted) > NAME_MAX_LEN)
		return;
	d = distance_of(n->wanted, name);
	if (d >= n->distance || d >= strlen(name))
		return;
	n->distance = d;
	n->name = name;
}
