// SPDX-License-Identifier: BSD-3-Clause
// Two results as ddiperf compare reads them, and its margins: texts up to a NUL each. The second is
// the history of the first, too. Any bytes end with an exit code of the command; a result compared
// with itself has not changed. Path: tests only.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "run/commands.h"
#include "compare/figures.h"

#define MARGINS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	int fd;
	char path[32];
} files[2];

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void setup(void)
{
	log_set_level(LOG_QUIET);
	require(freopen("/dev/null", "w", stdout) != NULL);
	stderr = stdout; // a sanitizer has the file descriptor
	for (int i = 0; i < 2; i++) {
		files[i].fd = memfd_create("fuzz", 0);
		snprintf(files[i].path, sizeof(files[i].path), "/proc/self/fd/%d", files[i].fd);
	}
}

static void fill(int i, const char *text)
{
	size_t len = strlen(text);

	require(files[i].fd >= 0 && ftruncate(files[i].fd, 0) == 0);
	require(pwrite(files[i].fd, text, len, 0) == (ssize_t)len);
}

static int compare(int a, int b, char **margins, unsigned count)
{
	struct options o = {.operands = (char *[]){files[a].path, files[b].path},
		.operand_count = 2,
		.margins = margins,
		.margin_count = count,
		.arena = arena_new()};
	int code = cmd_compare(&o);

	arena_free(o.arena);
	return code;
}

static int judge(int result, int history)
{
	char *operands[] = {files[result].path};
	struct options o = {.operand = operands[0],
		.operands = operands,
		.operand_count = 1,
		.history = files[history].path,
		.arena = arena_new()};
	int code = cmd_compare(&o);

	arena_free(o.arena);
	return code;
}

// What is the same in both has no difference that is a number.
static void check_same(int i)
{
	struct arena *a = arena_new();
	struct figures f;

	if (figures_load(files[i].path, a, &f) == 0)
		for (uint32_t n = 0; n < f.count; n++) {
			const struct figure *one = &f.list[n];
			struct figures_change c = figures_change(&f, &f, one->item, one->path);

			require(!(c.a < c.b) && !(c.a > c.b));
			require(figures_find(&f, one->item, one->path) != NULL);
		}
	arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 2 + MARGINS), *at = text, *margins[MARGINS];
	unsigned count = 0;
	int code;

	require(text != NULL);
	if (!files[0].path[0])
		setup();
	memcpy(text, data, size);
	fill(0, at);
	at += strlen(at) + 1;
	fill(1, at);
	for (at += strlen(at) + 1; count < MARGINS && at < text + size; at += strlen(at) + 1)
		margins[count++] = at;
	code = compare(0, 1, margins, count);
	require(code == EXIT_PASS || code == EXIT_FAIL || code == EXIT_NOISY ||
		code == EXIT_CONFIG || code == EXIT_INVALID || code == EXIT_ENVIRONMENT);
	code = compare(0, 0, NULL, 0);
	require(code != EXIT_FAIL);
	code = judge(0, 1);
	require(code == EXIT_PASS || code == EXIT_FAIL || code == EXIT_NOISY ||
		code == EXIT_CONFIG || code == EXIT_INVALID);
	check_same(0);
	check_same(1);
	free(text);
	return 0;
}
