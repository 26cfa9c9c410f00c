// SPDX-License-Identifier: BSD-3-Clause
// Files of clients for tests of set-up. Path: tests only.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Makes a file with this text. Returns its path, valid until the next call. unlink() it.
static inline const char *file_of(const char *text)
{
	static char path[] = "/tmp/dhcp-setup-XXXXXX";
	int fd;

	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return path;
}

// Returns the text of a file; free() it.
static inline char *text_of(const char *path)
{
	char *text = calloc(1, 4096);
	FILE *f = fopen(path, "r");

	assert_non_null(text);
	assert_non_null(f);
	assert_true(fread(text, 1, 4095, f) > 0);
	fclose(f);
	return text;
}
