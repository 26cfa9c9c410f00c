// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "front/front_as.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "run/commands.h"

#define OURS 0x1000 // value of our own options; the others have their index + ROW
#define ROW  0x100

enum our_option { OUR_DUMP, OUR_JSON, OUR_SET, OUR_OPTIONS };

const struct as_tool *as_find(const struct as_tool *const *tools, const char *name)
{
	for (; *tools; tools++)
		if (strcmp((*tools)->name, name) == 0)
			return *tools;
	return NULL;
}

static void say(
	void (*log)(const char *fmt, ...), const struct as_run *r, const char *fmt, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, args);
	log("%s: %s", r->tool->name, text);
}

static int usage_code(const struct as_tool *t)
{
	return t->usage_code ? t->usage_code : t->error_code;
}

int as_refuse(const struct as_run *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(log_error, r, fmt, args);
	va_end(args);
	return usage_code(r->tool);
}

int as_check(const struct as_run *r, const struct as_check *rows)
{
	while (rows->why && !rows->wrong)
		rows++;
	return rows->why ? as_refuse(r, "%s", rows->why) : 0;
}

void as_note(const struct as_run *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(log_note, r, fmt, args);
	va_end(args);
}

void as_default(struct as_run *r, const char *path, const char *value)
{
	if (!front_get(&r->front, path))
		front_set(&r->front, NULL, path, value);
}

int as_number(const struct as_run *r, char letter, const char *text, double least, double most,
	double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || *end || !(*out >= least && *out <= most))
		return as_refuse(
			r, "-%c %s: not a number from %g to %g", letter, text, least, most);
	return 0;
}

// The option as shown in messages.
static const char *name_of(const struct as_run *r, const struct as_option *row)
{
	return row->letter ? arena_printf(r->arena, "-%c", row->letter)
	                   : arena_printf(r->arena, "--%s", row->name);
}

static int take_option(struct as_run *r, const struct as_option *row, const char *value)
{
	const char *name = name_of(r, row);
	const char *typed =
		arena_printf(r->arena, "%s%s%s", name, value ? " " : "", value ? value : "");

	if (row->refused)
		return as_refuse(r, "%s: %s", name, row->refused);
	if (row->ignored)
		as_note(r, "%s has no effect: %s", name, row->ignored);
	if (row->path && value && front_is_no_port(row->path, value))
		return as_refuse(r, "%s 0: no server has port 0", name);
	if (row->path && value)
		front_take(&r->front, row->kind, typed, row->path, value);
	r->row = row;
	if (row->set || r->tool->set)
		return row->set ? row->set(r, value) : r->tool->set(r, value);
	if (row->most > 0)
		return as_number(r, row->letter, value, row->least, row->most, as_place(r));
	if (row->place && row->argument)
		*(const char **)as_place(r) = value;
	else if (row->place)
		*(bool *)as_place(r) = true;
	return 0;
}

static int take_ours(struct options *o, enum our_option which)
{
	switch (which) {
	case OUR_DUMP:
		o->dump = true;
		break;
	case OUR_JSON:
		o->json = optarg;
		break;
	case OUR_SET:
		o->assignments[o->assignment_count++] = optarg;
		break;
	case OUR_OPTIONS:
		return AS_OPTIONS;
	}
	return 0;
}

static void print_rows(const struct as_option *row, const char *in_front, FILE *out)
{
	for (; row->letter || row->name; row++) {
		char text[64];

		snprintf(text, sizeof(text), "%s%s%.1s%s%s%s%s%s", in_front, row->letter ? "-" : "",
			row->letter ? &row->letter : "", row->letter && row->name ? ", " : "",
			row->name ? "--" : "", row->name ? row->name : "", row->argument ? " " : "",
			row->argument ? row->argument : "");
		fprintf(out, "  %-24s %s%s\n", text,
			row->refused   ? "refused: "
			: row->ignored ? "no effect: "
				       : "",
			row->refused   ? row->refused
			: row->ignored ? row->ignored
				       : row->help);
	}
}

static void print_options(const struct as_tool *t, FILE *out)
{
	fprintf(out, "%s %s: options, including those refused or without effect\n", t->name,
		t->version);
	print_rows(t->options, "", out);
	if (t->more)
		print_rows(t->more, "-- ", out);
	fputs("options of ddiperf:\n"
	      "  --dump                   print the equivalent file\n"
	      "  --json OUT               write the result as JSON\n"
	      "  --set PATH=VALUE         override a setting\n",
		out);
}

static void build_table(const struct as_option *rows, struct option_table *t)
{
	static const char *const ours[] = {[OUR_DUMP] = "dump",
		[OUR_JSON] = "json",
		[OUR_SET] = "set",
		[OUR_OPTIONS] = "options"};

	*t = (struct option_table){.letters = ":"};
	for (int i = 0; rows[i].letter || rows[i].name; i++)
		option_table_add(t, rows[i].letter, rows[i].name,
			!rows[i].argument            ? no_argument
			: rows[i].argument[0] == '[' ? optional_argument
						     : required_argument,
			ROW + i);
	for (int i = 0; i <= OUR_OPTIONS; i++)
		option_table_add(t, '\0', ours[i],
			i == OUR_JSON || i == OUR_SET ? required_argument : no_argument, OURS + i);
	option_table_add(t, '\0', "help", no_argument, OURS + OUR_OPTIONS);
}

int as_show_options(struct as_run *r, const char *value)
{
	return AS_OPTIONS;
}

// rows: for the words after argv[optind].
static int parse(struct as_run *r, const struct as_option *rows, struct options *o)
{
	struct option_table t;
	struct option_error e;
	int value = 0, err = 0;

	build_table(rows, &t);
	while (!err && (value = option_table_next(&t, r->argc, r->argv, r->arena, &e)) > 0)
		err = value < OURS ? take_option(r, &rows[value - ROW], optarg)
		                   : take_ours(o, value - OURS);
	r->operands = r->argv + optind;
	r->operand_count = (unsigned)(r->argc - optind);
	if (err || value != 0)
		return err;
	return e.nearest ? as_refuse(r, "%s%s (did you mean --%s?)", e.reason, e.word, e.nearest)
	                 : as_refuse(r, "%s%s", e.reason, e.word);
}

// The words after "--" are a separate command line.
static int parse_more(struct as_run *r, struct options *o)
{
	int argc = r->argc, before = argc - (int)r->operand_count - 1, err;
	char **argv = r->argv;

	if (r->operand_count == 0 || before < 1 || strcmp(argv[before], "--") != 0)
		return 0;
	r->argv += before;
	r->argc -= before;
	optind = 0;
	err = parse(r, r->tool->more, o);
	r->argv = argv;
	r->argc = argc;
	return err;
}

// Scripts for the original must not take an invalid run for a measurement.
static int on_end(void *ctx, struct document_reader *b, int code)
{
	struct as_run *r = ctx;
	int theirs;

	r->ended = true;
	theirs = r->end(ctx, b, code);
	if (code != EXIT_INVALID && code != EXIT_INTERNAL)
		return theirs;
	as_note(r, "this run is invalid, so none of its figures can be trusted: exit code %d",
		r->tool->error_code);
	return r->tool->error_code;
}

static int run(struct as_run *r, const struct options *o)
{
	int code = r->tool->finish(r);

	if (code == EXIT_CONFIG || code == EXIT_ENVIRONMENT) // ours, as of a server's address
		return code == EXIT_CONFIG ? usage_code(r->tool) : r->tool->error_code;
	if (code)
		return code == AS_DONE ? EXIT_PASS : code;
	r->end = r->front.output.end;
	r->front.output.end = on_end;
	log_set_words(r->front.words);
	code = cmd_run_front(&r->front, o);
	if (code == EXIT_CONFIG && !r->ended)
		return usage_code(r->tool);
	return code && !r->ended ? r->tool->error_code : code;
}

int as_run(const struct as_tool *t, int argc, char **argv, struct options *o)
{
	struct as_run *r = arena_zalloc(o->arena, t->size);
	int code;

	*r = (struct as_run){
		.tool = t, .options = o, .argc = argc, .argv = argv, .arena = o->arena};
	o->assignments = arena_zalloc(o->arena, (size_t)argc * sizeof(*o->assignments));
	front_init(&r->front, t->name, o->arena);
	if (t->begin)
		t->begin(r);
	code = parse(r, t->options, o);
	if (code == 0 && t->more)
		code = parse_more(r, o);
	// Only now: an option may have wiped a secret.
	o->command_line = arena_printf(o->arena, "ddiperf as %s%s", t->name,
		options_command_line(argc, argv, o->arena) + strlen("ddiperf"));
	if (code == AS_OPTIONS)
		print_options(t, stdout);
	if (code < 0)
		code = EXIT_PASS;
	else if (code == 0)
		code = run(r, o);
	front_free(&r->front);
	return code;
}
