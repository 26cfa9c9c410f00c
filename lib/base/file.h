// SPDX-License-Identifier: BSD-3-Clause
// Files that a run is going to write. Path: cold. Any thread.
#pragma once

// Can the path be written? 0 or -errno. The path is left unchanged: a file keeps its content, a
// link its missing target. Does not wait for the reader of a pipe. Errors like those of /dev/full
// show only when the file is written.
int file_check_writable(const char *path);
