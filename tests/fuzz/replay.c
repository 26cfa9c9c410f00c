// SPDX-License-Identifier: BSD-3-Clause
// Runs a fuzz target once over every file given, or in a directory given, so that any compiler's
// build replays the corpora as unit tests. Does not fuzz, and does not descend. Path: cold.
#define UNIT_RUNNER
#include "replay.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INPUT_MAX (1 << 20)

static int fail(const char *path)
{
	perror(path);
	return -1;
}

// The input lies in a block of its own size, so that a sanitizer sees a read beyond it.
static int replay_file(replay_target *target, const char *path)
{
	uint8_t *data = malloc(INPUT_MAX), *input;
	FILE *in = fopen(path, "rb");
	size_t len;

	if (!data || !in)
		return fail(path);
	len = fread(data, 1, INPUT_MAX, in);
	if (ferror(in))
		return fail(path);
	fclose(in);
	input = realloc(data, len ? len : 1);
	if (!input)
		return fail(path);
	target(input, len);
	free(input);
	return 1;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int replay_directory(replay_target *target, const char *path)
{
	struct dirent **entries;
	int n = scandir(path, &entries, is_visible, alphasort), count = 0;

	if (n < 0)
		return fail(path);
	for (int i = 0; i < n; i++) {
		char file[4096];

		snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
		free(entries[i]);
		if (count >= 0)
			count = replay_file(target, file) < 0 ? -1 : count + 1;
	}
	free(entries);
	return count;
}

int replay(replay_target *target)
{
	int total = 0;

	for (char **path = unit_args; *path; path++) {
		struct stat st;
		int count;

		if (stat(*path, &st) != 0)
			count = fail(*path);
		else
			count = S_ISDIR(st.st_mode) ? replay_directory(target, *path)
			                            : replay_file(target, *path);
		if (count < 0)
			return EXIT_FAILURE;
		total += count;
	}
	printf("%d inputs replayed\n", total);
	return total > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
