// SPDX-License-Identifier: BSD-3-Clause
// Runs one file of a test program, or each in a process of its own, so that a crash in one is
// reported with its name and the others still run. Path: cold. Test.
#define UNIT_RUNNER
#include "unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

char **unit_args;
static struct unit *units;

void unit_add(struct unit *unit)
{
	unit->next = units;
	units = unit;
}

int unit_emulated(void)
{
	return getenv("MESON_EXE_WRAPPER") != NULL;
}

// test_NAME.c or fuzz_NAME.c?
static bool is_named(const struct unit *unit, const char *name)
{
	const char *stem = strchr(strrchr(unit->file, '/'), '_') + 1;
	size_t len = strlen(name);

	return strncmp(stem, name, len) == 0 && strcmp(stem + len, ".c") == 0;
}

static bool passes_apart(const struct unit *unit)
{
	int status = -1;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0)
		exit(unit->run());
	waitpid(child, &status, 0);
	if (status != 0)
		printf("failed: %s, %s %d\n", unit->file,
			WIFEXITED(status) ? "exit code" : "signal",
			WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	return status == 0;
}

int main(int argc, char **argv)
{
	bool passed = true;

	unit_args = argv + (argc > 1 ? 2 : 1);
	if (argc == 1) {
		for (const struct unit *unit = units; unit; unit = unit->next)
			passed &= passes_apart(unit);
		return passed ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	for (const struct unit *unit = units; unit; unit = unit->next)
		if (is_named(unit, argv[1]))
			return unit->run();
	fprintf(stderr, "%s: no file of the name %s\n", argv[0], argv[1]);
	return EXIT_FAILURE;
}
