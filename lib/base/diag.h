// SPDX-License-Identifier: BSD-3-Clause
// The errors of one configuration: collected, each with file:line:col and path, printed all at
// once. The reader of a value marks its memory with its place in the file. So a later check names
// the variable, and the user sees the line. Path: cold. One thread at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct diag;

struct diag *diag_new(void);
void diag_free(struct diag *d); // NULL allowed

// The size bytes at dst were read from file:line:col, the setting called path. Texts are copied.
// Mark a struct before its members: of marks of one size the last one counts.
void diag_mark(struct diag *d, const void *dst, size_t size, const char *file, unsigned line,
	unsigned col, const char *path);
// Like diag_mark, for the struct of a section, which has keys.
void diag_mark_section(struct diag *d, const void *dst, size_t size, const char *file,
	unsigned line, unsigned col, const char *path);

// "file:line:col: path: text". dst is a struct or a member of it; key chooses the part:
//   NULL   the innermost marked memory around dst (for a struct its first member, if in the file)
//   ""     the section around dst
//   a key  this key of the section around dst, at its own line if it was in the file
void diag_error(struct diag *d, const void *dst, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

// Errors about the size bytes at dst are reported at the place of `like`.
void diag_mark_as(struct diag *d, const void *dst, size_t size, const void *like);

// The text of the last mark stands in quotes in the file, and begins behind one.
void diag_mark_quoted(struct diag *d);

// An error at the n-th character of the text at dst, which must be on one line and without escapes.
void diag_error_in(struct diag *d, const void *dst, size_t n, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

// Like diag_error, at a given place. With path NULL no path is printed, with line 0 neither line
// nor column.
void diag_error_at(struct diag *d, const char *file, unsigned line, unsigned col, const char *path,
	const char *fmt, ...) __attribute__((format(printf, 6, 7)));

// Marks the last error as the machine's fault rather than the file's: for example a name that the
// resolver does not know.
void diag_of_box(struct diag *d);
// Are there errors, and are all of them the machine's fault?
bool diag_all_of_box(const struct diag *d);

// Number of different errors: an error that was added twice counts once.
unsigned diag_count(const struct diag *d);

// All errors, in order of file (first use), line and column; one per line.
void diag_print(const struct diag *d, FILE *out);

// Adds to d the errors of another diag whose path is wanted; "" is the path of the file as a whole.
typedef bool diag_wanted(const void *ctx, const char *path);
void diag_take(struct diag *d, const struct diag *from, diag_wanted *wanted, const void *ctx);

// From now on diag_print calls this function for the errors of one file. path may be NULL.
typedef void diag_printer(const void *ctx, const char *path, const char *text, FILE *out);
void diag_set_printer(struct diag *d, const char *file, diag_printer *print, const void *ctx);

// The file in which the memory at dst was set: paths in a file are relative to it. NULL: not in a
// file (marked with line 0, from the command line), so relative to the working directory.
const char *diag_file(const struct diag *d, const void *dst);

// The path of the setting at dst, like "traffic.queries.server"; "": not known.
const char *diag_setting(const struct diag *d, const void *dst);

// Input files that are kept open from one run to the next (base/input.h): NULL at first. The diag
// only hands them on.
struct inputs;
void diag_set_inputs(struct diag *d, struct inputs *in);
struct inputs *diag_inputs(const struct diag *d);

// The file that a setting names: relative to the folder of the file that the setting is in. "-" is
// standard input.
struct arena;
const char *diag_path(const struct diag *d, const char *const *setting, struct arena *a);
