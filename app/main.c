// SPDX-License-Identifier: BSD-3-Clause
// The table of commands, and the call of the one that the user named.
// Path: cold. Main thread.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/nearest.h"
#include "commands.h"

#define COMMON (OPTION_SET | OPTION_QUIET | OPTION_VERBOSE)

static const struct command commands[] = {
	{"run", "FILE", "Run the test in FILE and judge its result",
		COMMON | OPTION_JSON | OPTION_DRY_RUN | OPTION_SELF_CHECK | OPTION_BRIEF |
			OPTION_INTERVALS,
		cmd_run},
	{"check", "FILE", "Validate FILE and the files that it names; send nothing",
		OPTION_SET | OPTION_DUMP, cmd_check},
	{"plan", "FILE", "Forecast the demand of FILE on link, CPUs and memory; open no port",
		OPTION_SET | OPTION_JSON, cmd_plan},
	{"respond", "FILE", "Run the built-in responder as a server, as FILE says",
		COMMON | OPTION_JSON, cmd_respond},
	{"watch", "[RUN]",
		"Show a run that goes on; RUN is its id or process, if there are several",
		OPTION_INTERVALS, cmd_watch},
	{"compare", "RESULT.json...",
		"Print the changes from the first result to others and judge them",
		OPTION_FAIL_ON | OPTION_BASELINE | OPTION_HISTORY | OPTION_CONFIDENCE |
			OPTION_QUIET,
		cmd_compare},
	{"report", "RESULT.json...", "Print results in another format: figures, table or file",
		OPTION_FORMAT | OPTION_OUTPUT | OPTION_SELECT | OPTION_BRIEF | OPTION_APPEND |
			OPTION_HISTORY,
		cmd_report},
	{"doctor", "[FILE]", "Print the abilities of this box, missing parts and their fixes",
		OPTION_SET, cmd_doctor},
	{"list", "drivers|protocols|settings|counters|formats|selectors", "Print a reference table",
		OPTION_SCHEMA, cmd_list},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *out)
{
	fputs("usage: ddiperf COMMAND [OPTION]... [FILE]\n"
	      "Load-test DNS, DHCP and NTP servers and account for every transaction.\n\n",
		out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-8s  %s\n", commands[i].name, commands[i].help);
	fputs("\n  ddiperf COMMAND --help   the options of a command\n"
	      "  ddiperf --version        the version\n"
	      "  man ddiperf              exit codes, the file format, examples\n",
		out);
}

static int refuse_command(const char *word)
{
	struct nearest nearest = nearest_to(word);
	const char *dot = strrchr(word, '.');

	for (size_t i = 0; i < COMMANDS; i++)
		nearest_try(&nearest, commands[i].name);
	if (nearest.name)
		log_error("no such command: %s (did you mean %s?)", word, nearest.name);
	else if (dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0))
		log_error("no such command: %s (did you mean ddiperf run %s?)", word, word);
	else
		log_error("no such command: %s (see ddiperf --help)", word);
	return EXIT_CONFIG;
}

static int run_command(const struct command *c, int argc, char **argv)
{
	struct options o = {.arena = arena_new()};
	int code = EXIT_CONFIG;

	o.command_line = options_command_line(argc, argv, o.arena);
	switch (options_parse(c, argc - 1, argv + 1, &o)) {
	case OPTIONS_GO:
		log_set_level(o.verbose ? LOG_VERBOSE : o.quiet ? LOG_QUIET : LOG_NORMAL);
		code = c->run(&o);
		break;
	case OPTIONS_HELP_SHOWN:
		code = EXIT_PASS;
		break;
	case OPTIONS_WRONG:
		break;
	}
	arena_free(o.arena);
	return code;
}

static int dispatch(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		return printf("ddiperf %s\n", DDIPERF_VERSION) < 0 ? EXIT_ENVIRONMENT : EXIT_PASS;
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
		print_help(stdout);
		return EXIT_PASS;
	}
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(word, commands[i].name) == 0)
			return run_command(&commands[i], argc, argv);
	if (*word)
		return refuse_command(word);
	print_help(stderr);
	return EXIT_CONFIG;
}

// If the caller closed a standard file, the next file to be opened would get its number, and the
// report would go into that file. /dev/null takes its place, opened in the wrong direction, so that
// its use still fails.
static void reserve_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static void on_no_memory(void)
{
	_exit(EXIT_ENVIRONMENT);
}

// For JSON: its functions would leave out what they have no memory for.
static void *json_memory(size_t size)
{
	void *p = malloc(size);

	if (!p && size)
		arena_exhausted();
	return p;
}

int main(int argc, char **argv)
{
	int code;

	arena_when_exhausted(on_no_memory);
	json_set_alloc_funcs(json_memory, free);
	reserve_standard_files();
	signal(SIGPIPE, SIG_IGN); // a reader that goes away must not leave a port open
	signal(SIGXFSZ, SIG_IGN); // nor must a limit of file size
	code = dispatch(argc, argv);
	if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_PASS) {
		log_error("standard output: a write failed, so the output is incomplete");
		code = EXIT_ENVIRONMENT;
	}
	return code;
}
