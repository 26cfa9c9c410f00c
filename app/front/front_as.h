// SPDX-License-Identifier: BSD-3-Clause
// ddiperf as TOOL: the command line, output and exit codes of another tool. Each of its options is
// a row: it maps to a setting, or has a function, or is refused with a reason, or is ignored with a
// reason. Path: cold. Main thread.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "line/front.h"
#include "line/options.h"

struct as_run;

// Outcomes of as_option.set that are not errors.
enum as_outcome {
	AS_OPTIONS = -1, // print the options
	AS_DONE = -2,    // everything has been printed
};

struct as_option {
	char letter;          // '\0': long name only
	const char *name;     // long option; NULL: none
	const char *argument; // NULL: takes none; "[X]": optional, and attached to the option
	const char *help;
	const char *path; // path of the setting that takes the argument; NULL: none
	enum front_kind kind;
	// Offset of a member of the tool's struct; 0: none. Without an argument, a bool to set to
	// true. With an argument, a double if a number from least to most is expected (0: it is
	// not), otherwise a const char *.
	size_t place;
	double least, most;
	// Called instead of storing the value at place; as_run.row is this row. value: NULL without
	// an argument. 0, an exit code after an error, which was logged (as_refuse), or enum
	// as_outcome.
	int (*set)(struct as_run *r, const char *value);
	const char *refused; // reason; NULL: accepted
	const char *ignored; // why it has no effect, shown in a note; NULL: it has an effect
};

struct as_tool {
	const char *name;
	const char *operands;            // "[SERVER]", as as_run.operands; NULL: none
	const char *version;             // of the original with these options: "2.10.0"
	const struct as_option *options; // terminated by a row without letter and name
	const struct as_option *more;    // likewise for words after "--"; NULL: they are operands
	size_t size;                     // of the struct that begins with struct as_run
	void (*begin)(struct as_run *r); // before options are read; NULL: zeros suffice
	int (*set)(struct as_run *r, const char *value); // for rows without `set`; NULL: by place
	// Called after all options: sets the rest. 0, or an exit code after an error, which was
	// logged. Sets front.output, whose ctx is the struct. Its `end` returns the exit code if
	// the run is valid; an invalid run exits with error_code.
	int (*finish)(struct as_run *r);
	int error_code; // for a run without a result, and for a wrong command line
	int usage_code; // for a wrong command line, if different; 0: it is not
};

// One command line of a tool; first member of the tool's struct.
struct as_run {
	const struct as_tool *tool;
	struct front front;
	const struct options *options; // ours: --dump, --json, --set, --quiet
	char **operands;
	unsigned operand_count;
	int argc; // as typed, starting at the tool's name
	char **argv;
	struct arena *arena;
	const struct as_option *row;                                // row whose set is called
	bool ended;                                                 // end has been called
	int (*end)(void *ctx, struct document_reader *b, int code); // the tool's, from front.output
};

extern const struct as_tool front_netperf;

// Find the tool; NULL: none. tools: NULL-terminated.
const struct as_tool *as_find(const struct as_tool *const *tools, const char *name);
// argv[0]: the tool's name. Returns the exit code. Our own options may appear among the tool's:
// --dump, --json OUT, --set PATH=VALUE.
int as_run(const struct as_tool *t, int argc, char **argv, struct options *o);

// Logs "dnsperf: TEXT" and returns the tool's exit code for a wrong command line.
int as_refuse(const struct as_run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// Refuse with the reason of the first row that is wrong. Terminated by a row without reason.
struct as_check {
	bool wrong;
	const char *why;
};
int as_check(const struct as_run *r, const struct as_check *rows);
// Note a difference from the original: "dnsperf: TEXT".
void as_note(const struct as_run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// The struct member at as_run.row's place.
static inline void *as_place(struct as_run *r)
{
	return (char *)r + r->row->place;
}
// as_option.set of -h: lists the options.
int as_show_options(struct as_run *r, const char *value);
// Set a setting that no option has set.
void as_default(struct as_run *r, const char *path, const char *value);
// Parse a number within bounds: 0, or an exit code after an error, which was logged.
int as_number(const struct as_run *r, char letter, const char *text, double least, double most,
	double *out);
