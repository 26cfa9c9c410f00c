// SPDX-License-Identifier: BSD-3-Clause
// A file as ddiperf report reads it: a result, or the lines that a run has left which was killed.
// Any bytes end with a refusal or with a document and its intervals, twice the same. Path: tests
// only.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "document/document_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int fd;
static char path[32];
static FILE *nowhere;

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void setup(void)
{
	log_set_level(LOG_QUIET);
	nowhere = fopen("/dev/null", "w");
	require(nowhere != NULL);
	stderr = nowhere; // a sanitizer has the file descriptor
	fd = memfd_create("fuzz", 0);
	require(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned first = 0, again = 0;
	struct document_reader b;

	if (!nowhere)
		setup();
	require(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	if (reader_open(&b, path) < 0)
		return 0;
	while (reader_next(&b))
		first++;
	reader_print(&b, nowhere);
	reader_rewind(&b);
	while (reader_next(&b))
		again++;
	require(first == again);
	reader_close(&b);
	return 0;
}
