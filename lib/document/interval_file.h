// SPDX-License-Identifier: BSD-3-Clause
// The intervals of a run on their way into its document: JSON lines, appended as each interval
// ends, to OUT.part beside the document OUT. Memory does not grow with the run, and a run that was
// killed has its intervals there. Path: cold. Main thread.
//
// run_events.h describes the lines.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#define INTERVAL_FILE_SUFFIX ".part"

struct interval_file {
	FILE *f;     // to append and to read; NULL: closed
	char *path;  // NULL: it has no name
	off_t size;  // of its whole lines
	int error;   // -errno of the first write that failed, after which there are no more
	bool filled; // it has a whole line
};

// document: the path of the future document; NULL, "-", a pipe or a device: the file has no name,
// and is gone with the process. Returns 0, or -errno, which was logged.
int interval_file_open(struct interval_file *p, const char *document);

// For struct run_events_follower: writes a line. If it cannot be written there, the file moves to
// where temporary files are, and has no name any more. After an error, which is logged once, the
// run continues without it.
void interval_file_line(void *ctx, const json_t *line);

// keep: the file stays, if it has a name.
void interval_file_close(struct interval_file *p, bool keep);

// For the last moments of a process: keeps the file if it is not empty, with a message about it.
void interval_file_leave(const struct interval_file *p);
