// SPDX-License-Identifier: BSD-3-Clause
// ddiperf as TOOL: the command line, output and exit codes of another tool. Each of its options is
// a row: it stands for a setting, or has a function, or is refused with a reason, or has no effect
// here, with a reason too. Path: cold. Main thread.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "line/front.h"
#include "line/options.h"

struct as_run;

// Ends that are no errors, of as_option.set.
enum as_outcome {
	AS_OPTIONS = -1, // print the options
	AS_DONE = -2,    // all was printed
};

struct as_option {
	char letter;          // '\0': only a name
	const char *name;     // long option; NULL: none
	const char *argument; // NULL: takes none; "[X]": may be left out, and follows at once
	const char *help;
	const char *path; // of the setting that the argument is the value of; NULL: none
	enum front_kind kind;
	// Offset of a member of the tool's struct; 0: none. Without an argument a bool, which
	// becomes true. With one: a double, if it is to be a number from least to most (0: it is
	// not), else a const char *.
	size_t place;
	double least, most;
	// Instead of storing it at place; as_run.row is this one. value: NULL without an argument.
	// 0, an exit code after an error, which was logged (as_refuse), or one of as_outcome.
	int (*set)(struct as_run *r, const char *value);
	const char *refused; // reason; NULL: it is taken
	const char
		*ignored; // reason why it changes nothing; a note says so; NULL: it has an effect
};

struct as_tool {
	const char *name;
	const char *operands;            // "[SERVER]", as as_run.operands; NULL: none
	const char *version;             // of the original whose options these are: "2.10.0"
	const struct as_option *options; // the row behind the last one has neither letter nor name
	const struct as_option *more;    // the same of those behind "--"; NULL: these are operands
	size_t size;                     // of the struct that begins with a struct as_run
	void (*begin)(struct as_run *r); // before the options are read; NULL: zeros will do
	int (*set)(
		struct as_run *r, const char *value); // of rows without one; NULL: by their place
	// All options were read: set the rest. 0, or an exit code after an error, which was logged.
	// It sets front.output, whose ctx is the struct. Its end returns the code of a run that
	// counts; that of one that says nothing about the server is error_code.
	int (*finish)(struct as_run *r);
	int error_code; // of a run without a result, and of a wrong command line
	int usage_code; // of a wrong command line, if that is another one; 0: it is not
};

// One command line of a tool. A tool's own struct begins with it.
struct as_run {
	const struct as_tool *tool;
	struct front front;
	const struct options *options; // ours: --dump, --json, --set, --quiet
	char **operands;
	unsigned operand_count;
	int argc; // as typed, from the tool's name on
	char **argv;
	struct arena *arena;
	const struct as_option *row;                                // whose set is called
	bool ended;                                                 // end was called
	int (*end)(void *ctx, struct document_reader *b, int code); // the tool's, of front.output
};

extern const struct as_tool front_netperf;

// The tool of that name; NULL: none. tools: NULL-terminated.
const struct as_tool *as_find(const struct as_tool *const *tools, const char *name);
// argv[0]: the tool's name. Returns the exit code. Options of ours may stand among the tool's:
// --dump, --json OUT, --set PATH=VALUE.
int as_run(const struct as_tool *t, int argc, char **argv, struct options *o);

// "dnsperf: TEXT", and the tool's exit code of a wrong command line.
int as_refuse(const struct as_run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// Refuses with the reason of the first row that is wrong. The row behind the last one has none.
struct as_check {
	bool wrong;
	const char *why;
};
int as_check(const struct as_run *r, const struct as_check *rows);
// A difference from the original that the user should know: "dnsperf: TEXT".
void as_note(const struct as_run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// The member at as_run.row's place.
static inline void *as_place(struct as_run *r)
{
	return (char *)r + r->row->place;
}
// as_option.set of -h: the list of options.
int as_show_options(struct as_run *r, const char *value);
// A setting that no option has set.
void as_default(struct as_run *r, const char *path, const char *value);
// A number of the command line within bounds: 0, or an exit code after an error, which was logged.
int as_number(const struct as_run *r, char letter, const char *text, double least, double most,
	double *out);
