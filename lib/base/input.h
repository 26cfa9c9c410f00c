// SPDX-License-Identifier: BSD-3-Clause
// Files that runs read: regular files, pipes and FIFOs, which are read to their end at once, or "-"
// for standard input, which serves one setting. A series of runs keeps each open, so all of its
// runs read the same bytes, even if another file takes the name. Compressed files are refused.
// Path: cold. One thread at a time.
#pragma once

#include <stddef.h>

#include "base/diag.h"

#define INPUT_LINE_MAX     (1 << 20)   // octets of a line
#define INPUT_STANDARD_MAX (1LL << 30) // octets of a stream: memory holds it

struct inputs; // the files of a series

struct inputs *inputs_new(void);     // NULL: no memory
void inputs_free(struct inputs *in); // NULL allowed

// The file from its beginning: a descriptor to be closed, or -1 (the error is in d, about the
// setting that names the file). In a series (diag_set_inputs) an error too if its content has
// changed since.
int input_open(const char *path, const void *setting, struct diag *d);

// The file in messages.
const char *input_name(const char *path);

// Takes a line without its newline, terminated by NUL; may change it. Returns 0, 1 to stop reading,
// or -errno.
typedef int (*input_line)(void *to, char *line, size_t len, unsigned number);

// Passes each line of the file to a function; skips a byte order mark before the first. 0, -EINVAL
// (in d), -ENOMEM, or the function's -errno. Errors: as for input_open, a line longer than
// INPUT_LINE_MAX, a NUL in it, and a file that changes meanwhile.
int input_lines(const char *path, const void *setting, input_line each, void *to, struct diag *d);
// Like input_lines, but the function decides about NUL octets in a line; INPUT_NUL is the text of
// the error.
int input_octet_lines(
	const char *path, const void *setting, input_line each, void *to, struct diag *d);
#define INPUT_NUL "holds a NUL octet: not a text"
