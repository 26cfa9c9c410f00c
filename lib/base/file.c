// SPDX-License-Identifier: BSD-3-Clause
// Tests a path by opening it. Path: cold. Any thread.
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

int file_check_writable(const char *path)
{
	bool is_new = access(path, F_OK) < 0;
	int fd = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
	char target[PATH_MAX];

	if (fd < 0)
		return -errno;
	close(fd);
	if (is_new && realpath(path, target))
		unlink(target); // and not a link to it
	return 0;
}
