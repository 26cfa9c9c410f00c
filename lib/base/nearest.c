// SPDX-License-Identifier: BSD-3-Clause
// Distance of words by dynamic programming over three rows. Path: cold. Any thread.
#include "base/nearest.h"

#include <string.h>
#include <sys/param.h>

#define NAME_MAX_LEN 80 // a longer name is near no other

// Letters to insert, drop, change or swap with the neighbour. Both at most NAME_MAX_LEN long.
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
			row[k] = last[k - 1] + (a[i - 1] != b[k - 1]);
			row[k] = MIN(row[k], MIN(last[k], row[k - 1]) + 1);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				row[k] = MIN(row[k], before[k - 2] + 1);
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
	const size_t wanted = strlen(n->wanted), len = strlen(name);
	unsigned d;

	if (len > NAME_MAX_LEN || wanted > NAME_MAX_LEN)
		return;
	d = wanted >= 2 && strncmp(name, n->wanted, wanted) == 0 ? 0 : distance_of(n->wanted, name);
	if (d >= n->distance || d >= len)
		return;
	n->distance = d;
	n->name = name;
}

bool word_is_among(const char *word, const char *words)
{
	size_t len = strlen(word);
	const char *at = words;

	while (len && !strchr(word, ' ') && (at = strstr(at, word))) {
		if ((at == words || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
		at += len;
	}
	return false;
}
