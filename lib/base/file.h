// SPDX-License-Identifier: BSD-3-Clause
// Files that a run is going to write. Path: cold. Any thread.
#pragma once

// Can it be written? 0 or -errno. What is there stays as it is: a file its content, a link its
// missing target; nobody waits for the reader of a pipe. The rest of such a thing as /dev/full
// shows only when it is written.
int file_check_writable(const char *path);
