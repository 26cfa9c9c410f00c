// SPDX-License-Identifier: BSD-3-Clause
// A file with the secret of a key, 00 to 0f, for the tests of a program. Path: tests only.
#pragma once

#include <stdlib.h>
#include <unistd.h>

static char secret_path[] = "/tmp/ddiperf-secret-XXXXXX";

static int secret_create(void **state)
{
	int fd = mkstemp(secret_path);
	ssize_t n = fd < 0 ? -1 : write(fd, "AAECAwQFBgcICQoLDA0ODw==\n", 25);

	close(fd);
	return n != 25;
}

static int secret_remove(void **state)
{
	return unlink(secret_path);
}
