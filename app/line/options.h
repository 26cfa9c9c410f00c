// SPDX-License-Identifier: BSD-3-Clause
// Options as rows: one table for the options of several commands, and a command's own options,
// which stand for settings of a file. Parsing and --help use the rows. Path: cold. Main thread.
#pragma once

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/arena.h"
#include "nats/bus.h"
#include "line/front.h"

enum option_bit {
	OPTION_SET = 1 << 0,
	OPTION_JSON = 1 << 1,
	OPTION_QUIET = 1 << 2,
	OPTION_VERBOSE = 1 << 3,
	OPTION_DUMP = 1 << 4,
	OPTION_DRY_RUN = 1 << 5,
	OPTION_SELF_CHECK = 1 << 6,
	OPTION_FAIL_ON = 1 << 7,
	OPTION_HELP = 1 << 8, // accepted by every command
	OPTION_FORMAT = 1 << 9,
	OPTION_OUTPUT = 1 << 10,
	OPTION_SELECT = 1 << 11,
	OPTION_BRIEF = 1 << 12,
	OPTION_BASELINE = 1 << 13,
	OPTION_HISTORY = 1 << 14, // of compare
	OPTION_CONFIDENCE = 1 << 15,
	OPTION_APPEND = 1 << 16, // histories for report
	OPTION_INTERVALS = 1 << 17,
	OPTION_SCHEMA = 1 << 18, // all options of list alone
	OPTION_FILE = 1 << 19,
	OPTION_FORCE = 1 << 20,
	OPTION_USER = 1 << 21,
	OPTION_CONFINED = 1 << 24,
	OPTION_COMMANDS = 1 << 25,
	OPTION_ORDERS = 1 << 26,
	OPTION_LED = 1 << 28,
	OPTION_SERVE = 1 << 27,  // all options of serve alone
	OPTION_FLEET = 1 << 22,  // a run on a fleet
	OPTION_NATS = 1 << 23,   // our identity for NATS
	OPTION_AGENT = 1 << 29,  // all options of agent alone
	OPTION_AGENTS = 1 << 30, // for commands that ask the agents of a fleet
};

// An option of one command that stands for a setting.
struct own_option {
	char letter; // '\0': none. Takes precedence over the common table
	const char *name;
	const char *argument; // NULL: takes none; "[=X]": optional
	const char *path;     // of the setting, as in --set
	const char *value;    // of the setting if the option is given without an argument
	enum front_kind kind;
	const char *help;
};

struct given_option {
	const struct own_option *row;
	const char *value;
};

struct command;
struct as_tool;

// The tables of the program, for commands that list them.
struct program {
	const struct command *commands;
	unsigned command_count;
	const struct as_tool *const *tools; // NULL-terminated
};

struct options {
	const char *operand; // the file, or the table to list; NULL if omitted
	char **operands;     // all of them
	unsigned operand_count;
	char **assignments; // of --set
	unsigned assignment_count;
	char **margins; // of --fail-on
	unsigned margin_count;
	struct given_option *given; // own options, in command-line order
	unsigned given_count;
	const char *json;                     // NULL: none; "-": standard output
	const char *html;                     // NULL: none; page to write
	const char *dry_run;                  // NULL: none; file to write
	const char *format, *output, *select; // of report; NULL: not given
	const char *units;                    // of report; NULL: not given
	const char *append;                   // of report; NULL: not given
	const char *intervals;                // format of each; NULL: a table
	const char *baseline;                 // of compare; NULL: the first operand
	const char *history;                  // of compare and report; NULL: not given
	const char *confidence;               // of compare; NULL: not given
	const char *search;                   // of list; NULL: not given
	const char *user;                     // of bind; NULL: root alone
	const char *listen, *dir, *token;     // of serve; NULL: not given
	const char *host;                     // of serve; NULL: not given
	const char *tls_cert, *tls_key;       // of serve; NULL: not given
	const char *tls_clients;              // of serve; NULL: not given
	const char *nats, *name, *labels;     // of agent; NULL: not given. labels: of run too
	const char *fleet, *agents;           // of run, fleet: of others too; NULL: not given
	const char *creds, *ca, *cert, *key;  // for NATS; NULL: not given
	bool quiet, verbose, dump, self_check, brief, schema, force, all, release;
	bool confined, commands, orders, led, local_users;
	const char *command_line;  // as typed, for the result
	const struct front *front; // settings from a command line; NULL: the operand is a file
	const struct program *program;
	struct arena *arena; // lives as long as the command
};

struct command {
	const char *name;
	const char *operand; // "FILE", "[FILE]": optional, "FILE...": any number; NULL: none
	const char *help;    // one line, no full stop
	unsigned options;    // OPTION_* that it accepts
	int (*run)(const struct options *o); // returns the exit code
	const struct own_option *own;        // terminated by a row without name; NULL: none
	const char *more_help;               // examples; NULL: none
	bool prints;                         // only prints: a closed output ends it, by SIGPIPE
	bool hidden;                         // not in the list of --help
};

enum options_outcome { OPTIONS_GO, OPTIONS_HELP_SHOWN, OPTIONS_WRONG };

// argv[0] is the command's name; o is zeroed except for arena and command_line. Errors are logged.
enum options_outcome options_parse(
	const struct command *c, int argc, char **argv, struct options *o);

void options_help(const struct command *c, FILE *out);

// For a shell: the long names of all options of the command. The name, as in --help, of the
// argument that word expects as the next word, and the path of its setting if it only sets that;
// NULL: none.
void options_offer(const struct command *c, void (*offer)(const char *name, const char *help));
const char *options_argument(const struct command *c, const char *word, const char **path);

// The NATS server of --fleet, with the credentials and certificates of the command line. name: of
// this client. Strings are borrowed from o.
struct bus_settings options_bus(const struct options *o, const char *name);

// Arguments of getopt_long. A letter that is already present keeps its value.
#define OPTION_TABLE_MAX 128
struct option_table {
	char letters[3 * OPTION_TABLE_MAX + 2]; // ":" initially
	int values[256];                        // by letter
	struct option longs[OPTION_TABLE_MAX];  // zero-terminated
	unsigned count;
};

struct option_error {
	const char *reason, *word; // "no such option: ", "--name=value"
	const char *nearest;       // nearest known name; NULL: none is near
};

// argument: as for getopt_long. name NULL: none. value: above 255.
void option_table_add(
	struct option_table *t, char letter, const char *name, int argument, int value);
// The value of the next option, whose argument is optarg; -1: no more; 0: error.
int option_table_next(const struct option_table *t, int argc, char **argv, struct arena *a,
	struct option_error *e);

// Quote a word for a shell.
const char *options_quote(const char *word, struct arena *a);
// "ddiperf run x.yaml ...", quoted for a shell.
const char *options_command_line(int argc, char **argv, struct arena *a);
