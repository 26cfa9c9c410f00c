// SPDX-License-Identifier: BSD-3-Clause
// The process around a command: its standard files, its memory, and write signals.
// Path: cold. Main thread.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/log.h"
#include "run/commands.h"

// If the caller closed a standard file, the next file opened would get its number, and the report
// would be written into that file. Opens /dev/null instead, in the wrong direction, so that using
// the standard file still fails.
static void reserve_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static void on_no_memory(void)
{
	_exit(EXIT_ENVIRONMENT);
}

// For JSON, whose functions would silently omit data when out of memory.
static void *json_memory(size_t size)
{
	void *p = malloc(size);

	if (!p && size)
		arena_exhausted();
	return p;
}

int main(int argc, char **argv)
{
	int code;

	arena_when_exhausted(on_no_memory);
	json_set_alloc_funcs(json_memory, free);
	reserve_standard_files();
	signal(SIGPIPE, SIG_IGN); // a closed reader must not leave a port open
	signal(SIGXFSZ, SIG_IGN); // nor may a file size limit
	code = commands_run(argc, argv);
	if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_PASS) {
		log_error("standard output: a write failed, so the output is incomplete");
		code = EXIT_ENVIRONMENT;
	}
	return code;
}
