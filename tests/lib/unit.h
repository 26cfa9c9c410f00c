// SPDX-License-Identifier: BSD-3-Clause
// Makes many test files one program, which links in the time of one: main() of a file becomes a
// function of that file alone, and main() of unit.c calls it by the file's name. The compiler
// includes this in front of each file (tests/meson.build). A file that defines a function of the
// libraries would define it for all, so it is a program of its own.
// Path: cold. Test.
#pragma once

struct unit {
	const char *file;
	int (*run)(void);
	struct unit *next;
};

// The words behind the file's name; NULL ends them.
extern char **unit_args;

void unit_add(struct unit *unit);
// Does qemu-user run this program, for another CPU? It lacks ptrace and what sockets say of losses.
int unit_emulated(void);

#ifndef UNIT_RUNNER
static int unit_main(void);

__attribute__((constructor)) static void unit_add_this_file(void)
{
	static struct unit unit = {__BASE_FILE__, unit_main, 0};

	unit_add(&unit);
}

#define main unit_main
#endif
