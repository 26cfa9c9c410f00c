// SPDX-License-Identifier: BSD-3-Clause
// Runs a fuzz target once over every file given, or in a directory given, so that any compiler's
// build replays the corpora as unit tests. Does not fuzz, and does not descend. Path: cold.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INPUT_MAX (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int fail(const char *path)
{
	perror(path);
	return -1;
}

// The input lies in a block of its own size, so that a sanitizer sees a read beyond it.
static int replay_file(const char *path)
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
	LLVMFuzzerTestOneInput(input, len);
	free(input);
	return 1;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int replay_directory(const char *path)
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
			count = replay_file(file) < 0 ? -1 : count + 1;
	}
	free(entries);
	return count;
}

int main(int argc, char **argv)
{
	int total = 0;

	for (int i = 1; i < argc; i++) {
		struct stat st;
		int count;

		if (stat(argv[i], &st) != 0)
			count = fail(argv[i]);
		else
			count = S_ISDIR(st.st_mode) ? replay_directory(argv[i])
			                            : replay_file(argv[i]);
		if (count < 0)
			return EXIT_FAILURE;
		total += count;
	}
	printf("%d inputs replayed\n", total);
	return total > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
