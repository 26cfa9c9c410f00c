// SPDX-License-Identifier: BSD-3-Clause
// Files that a run is going to write, and lines of small ones. Path: cold. One thread at a time.
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

// The first line without its newline, cut to the room; "" if it cannot be read. Returns line.
const char *file_first_line(const char *path, char *line, size_t room);

// Can the path be written? 0 or -errno. The path is left unchanged: a file keeps its content, a
// link its missing target. Does not wait for the reader of a pipe. Errors such as a full disk show
// only when the file is written.
int file_check_writable(const char *path);

// Is the cause a shortage of the machine rather than a wrong path?
bool file_error_of_box(int err);

// Appends len octets to a file of `size` octets: on return, either all are on the disk or none. 0,
// or -errno.
int file_append(int fd, off_t size, const char *text, size_t len);

// A copy under a name that is not taken. 0, or -errno; then part of it may be there.
int file_copy(const char *from, const char *to);
// A folder with all those above it; the last one is the owner's alone. 0, also if it is there, or
// -errno.
int file_make_folders(const char *path);

// A file that replaces another atomically: a kill or a full disk at any moment leaves either the
// complete old or the complete new one. It is written next to its target, takes over its mode and
// owner, and reaches the disk before it is renamed. A pipe or a device is written to directly.
struct file_draft {
	FILE *f;      // to write into; its errors are kept, so a writer need not look for them
	int fd;       // below f
	int error;    // -errno of the first write that failed
	char *target; // links followed; NULL: a pipe or a device
	char *temp;   // its name until then
	struct file_draft *next; // list of open drafts
};

// 0 or -errno. The draft stays where it is until it is committed or abandoned, since f refers to
// it. -EACCES also for a file that this user may not write, although it could be replaced.
int file_draft_open(const char *path, struct file_draft *draft);
// Only the owner may read it, whatever the rights of the file that it replaces. Before the first
// byte.
void file_draft_make_private(const struct file_draft *draft);
// 0 or -errno; then the target is unchanged, unless only its folder could not be synchronised.
int file_draft_commit(struct file_draft *draft);
void file_draft_abandon(struct file_draft *draft); // the target is unchanged
// For a process that is about to die, even during any of these functions: removes all open drafts.
void file_drafts_remove(void);
// Would file_draft_open succeed? 0 or -errno. Leaves nothing behind.
int file_draft_check(const char *path);
