// SPDX-License-Identifier: BSD-3-Clause
// The table of options, getopt_long driven by it, and the help text made from it.
// Path: cold. Main thread.
#include "options.h"

#include <getopt.h>
#include <string.h>

#include "base/log.h"

static const struct option_row {
	enum option_bit bit;
	char letter;
	const char *name;
	const char *argument; // NULL: takes none
	const char *help;
} rows[] = {
	{OPTION_SET, 's', "set", "PATH=VALUE", "override a setting of the file; may be repeated"},
	{OPTION_JSON, 'j', "json", "OUT", "write the result as JSON to OUT; -: standard output"},
	{OPTION_DRY_RUN, 'n', "dry-run", "PCAP",
		"open no port; write the first packets of each item to PCAP"},
	{OPTION_SELF_CHECK, 'c', "self-check", NULL,
		"open no port; measure the head-room of this box for FILE"},
	{OPTION_DUMP, 'd', "dump", NULL, "print the effective settings, defaults included"},
	{OPTION_QUIET, 'q', "quiet", NULL, "print the last line only"},
	{OPTION_VERBOSE, 'v', "verbose", NULL, "print each internal step to standard error"},
	{OPTION_FAIL_ON, 'f', "fail-on", "MARGIN",
		"fail if a result is worse than the baseline by more than this, like p99:+5% or "
		"rate:-2%; may be repeated"},
	{OPTION_BASELINE, 'B', "baseline", "RESULT",
		"take differences from this result; default: the first one"},
	{OPTION_FORMAT, 'F', "format", "NAME",
		"format of the report (ddiperf list formats); default: by the suffix of OUT, or "
		"keyval"},
	{OPTION_OUTPUT, 'o', "output", "OUT", "write to OUT; default: standard output"},
	{OPTION_SELECT, 'S', "select", "FIGURES",
		"figures of keyval or csv: A,B;C, a file of such lines, all, or ? to list them"},
	{OPTION_BRIEF, 'b', "brief", NULL,
		"print one figure only: answered per second, or the answer of a search"},
	{OPTION_HISTORY, 'H', "history", "FILE",
		"compare: fail if the result is worse than the last ten runs of this history; "
		"report: show their trend on the page"},
	{OPTION_CONFIDENCE, 'C', "confidence", "PERCENT",
		"confidence of that, for all figures together; default: 99%"},
	{OPTION_APPEND, 'a', "append", "FILE",
		"append a line for each result to this history; a run is there once"},
	{OPTION_INTERVALS, 'i', "interval-format", "TEXT",
		"print TEXT for each interval, like '{t_s} {traffic.queries.p99_ns}', or json"},
	{OPTION_SCHEMA, 'J', "schema", NULL, "print the settings as a JSON Schema, for editors"},
	{OPTION_HELP, 'h', "help", NULL, "print this help"},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static bool is_taken(const struct command *c, const struct option_row *r)
{
	return r->bit == OPTION_HELP || c->options & r->bit;
}

void options_help(const struct command *c, FILE *out)
{
	char name[64];

	fprintf(out, "usage: ddiperf %s [OPTION]...%s%s\n%s.\n\n", c->name, c->operand ? " " : "",
		c->operand ? c->operand : "", c->help);
	for (size_t i = 0; i < ROWS; i++) {
		if (!is_taken(c, &rows[i]))
			continue;
		snprintf(name, sizeof(name), "--%s%s%s", rows[i].name, rows[i].argument ? " " : "",
			rows[i].argument ? rows[i].argument : "");
		fprintf(out, "  -%c, %-20s  %s\n", rows[i].letter, name, rows[i].help);
	}
}

// The rows as arguments of getopt_long; a leading ":" makes it silent.
static void build_tables(const struct command *c, char *letters, struct option *longs)
{
	*letters++ = ':';
	for (size_t i = 0; i < ROWS; i++) {
		if (!is_taken(c, &rows[i]))
			continue;
		*letters++ = rows[i].letter;
		if (rows[i].argument)
			*letters++ = ':';
		*longs++ = (struct option){rows[i].name,
			rows[i].argument ? required_argument : no_argument, NULL, rows[i].letter};
	}
	*letters = '\0';
	*longs = (struct option){0};
}

static void store_option(struct options *o, int letter)
{
	switch (letter) {
	case 's':
		o->assignments[o->assignment_count++] = optarg;
		break;
	case 'f':
		o->margins[o->margin_count++] = optarg;
		break;
	case 'j':
		o->json = optarg;
		break;
	case 'n':
		o->dry_run = optarg;
		break;
	case 'c':
		o->self_check = true;
		break;
	case 'd':
		o->dump = true;
		break;
	case 'q':
		o->quiet = true;
		break;
	case 'v':
		o->verbose = true;
		break;
	case 'F':
		o->format = optarg;
		break;
	case 'o':
		o->output = optarg;
		break;
	case 'S':
		o->select = optarg;
		break;
	case 'B':
		o->baseline = optarg;
		break;
	case 'H':
		o->history = optarg;
		break;
	case 'C':
		o->confidence = optarg;
		break;
	case 'a':
		o->append = optarg;
		break;
	case 'i':
		o->intervals = optarg;
		break;
	case 'J':
		o->schema = true;
		break;
	case 'b':
		o->brief = true;
		break;
	}
}

static enum options_outcome refuse(const struct command *c, const char *reason, const char *text)
{
	log_error("%s: %s%s (see ddiperf %s --help)", c->name, reason, text, c->name);
	return OPTIONS_WRONG;
}

static enum options_outcome parse_operands(
	const struct command *c, int count, char **texts, struct options *o)
{
	bool many = c->operand && strstr(c->operand, "...");
	int room = c->operand ? 1 : 0;

	if (count > room && !many)
		return refuse(c, "one argument too many: ", texts[count - 1]);
	if (count < room && c->operand[0] != '[')
		return refuse(c, "an argument is missing: ", c->operand);
	o->operand = count ? texts[0] : NULL;
	o->operands = texts;
	o->operand_count = (unsigned)count;
	return OPTIONS_GO;
}

enum options_outcome options_parse(
	const struct command *c, int argc, char **argv, struct options *o)
{
	char letters[2 * ROWS + 2], unknown[] = "-?";
	struct option longs[ROWS + 1];
	int letter;

	build_tables(c, letters, longs);
	o->assignments = arena_zalloc(o->arena, (size_t)argc * sizeof(*o->assignments));
	o->margins = arena_zalloc(o->arena, (size_t)argc * sizeof(*o->margins));
	opterr = 0;
	while ((letter = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (letter == ':')
			return refuse(c, "this option needs an argument: ", argv[optind - 1]);
		if (letter == '?') { // optopt: an unknown letter, which may stand among others
			unknown[1] = (char)optopt;
			return refuse(c, "no such option: ",
				optopt && !strchr(letters, optopt) ? unknown : argv[optind - 1]);
		}
		if (letter == 'h') {
			options_help(c, stdout);
			return OPTIONS_HELP_SHOWN;
		}
		store_option(o, letter);
	}
	return parse_operands(c, argc - optind, argv + optind, o);
}

static const char *quote_word(const char *word, struct arena *a)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-+=:,./%@";
	char *out, *to;

	if (*word && word[strspn(word, plain)] == '\0')
		return word;
	to = out = arena_zalloc(a, 4 * strlen(word) + 3);
	*to++ = '\'';
	for (; *word; word++) {
		if (*word == '\'')
			to = stpcpy(to, "'\\'");
		*to++ = *word;
	}
	*to = '\'';
	return out;
}

const char *options_command_line(int argc, char **argv, struct arena *a)
{
	const char *line = "ddiperf";

	for (int i = 1; i < argc; i++)
		line = arena_printf(a, "%s %s", line, quote_word(argv[i], a));
	return line;
}
