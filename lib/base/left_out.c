// SPDX-License-Identifier: BSD-3-Clause
// Entries of a file that cannot be used. Path: cold. Management thread.

#include "base/left_out.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"

void left_out_add(struct left_out *l, const char *what)
{
	uint32_t i = 0;

	while (i < LEFT_OUT_MAX - 1 && l->what[i] && strcmp(l->what[i], what) != 0)
		i++;
	if (!l->what[i])
		l->what[i] = i < LEFT_OUT_MAX - 1 ? what : "other";
	l->count[i]++;
	l->all++;
}

char *left_out_text(
	const struct left_out *l, uint64_t used, const char *kind, const char *file, uint32_t first)
{
	const char *folder;
	char *text = NULL;
	size_t len;
	FILE *out;

	if (l->all == 0)
		return NULL;
	folder = strrchr(file, '/');
	out = open_memstream(&text, &len);
	if (!out)
		arena_exhausted();
	fprintf(out, "%llu of %llu %s of %s; left out: ", (unsigned long long)used,
		(unsigned long long)(used + l->all), kind, folder ? folder + 1 : file);
	for (uint32_t i = 0; i < LEFT_OUT_MAX && l->what[i]; i++) {
		const char *more = strstr(l->what[i], " (");

		fprintf(out, "%s%llu %.*s", i ? ", " : "", (unsigned long long)l->count[i],
			(int)(more ? (size_t)(more - l->what[i]) : strlen(l->what[i])), l->what[i]);
	}
	if (first)
		fprintf(out, " (first: line %u)", first);
	fclose(out);
	return text;
}
