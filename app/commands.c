// SPDX-License-Identifier: BSD-3-Clause
// The tables of commands and tools, and the dispatch to the command that the user named.
// Path: cold. Main thread.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/nearest.h"
#include "run/commands.h"
#include "front/front_as.h"
#include "front/front_line.h"
#include "front/perfdhcp/front_perfdhcp.h"
#include "front/front_queries.h"

#define COMMON (OPTION_SET | OPTION_QUIET | OPTION_VERBOSE)

#define LINE                                                                                       \
	(COMMON | OPTION_JSON | OPTION_DRY_RUN | OPTION_SELF_CHECK | OPTION_BRIEF |                \
		OPTION_INTERVALS | OPTION_FILE)

#define EXAMPLE(line) "example:\n  " line "\n"

static const struct command commands[] = {
	{"dns", "SERVER [NAME TYPE]...", "Load a DNS server, without a file", LINE, cmd_dns,
		line_dns_options, line_dns_help},
	{"dhcp", "[SERVER]", "Load a DHCPv4 server, without a file", LINE, cmd_dhcp,
		line_dhcp_options, line_dhcp_help},
	{"dhcp6", "[SERVER]", "Load a DHCPv6 server, without a file", LINE, cmd_dhcp6,
		line_dhcp6_options, line_dhcp6_help},
	{"run", "FILE", "Run the test in FILE and judge its result",
		COMMON | OPTION_JSON | OPTION_DRY_RUN | OPTION_SELF_CHECK | OPTION_BRIEF |
			OPTION_INTERVALS | OPTION_CONFINED | OPTION_COMMANDS | OPTION_ORDERS |
			OPTION_FLEET | OPTION_NATS | OPTION_LED,
		cmd_run, NULL,
		EXAMPLE("ddiperf run dns-steady.yaml --set traffic.queries.load.rate=5k --json "
			"result.json")},
	{"campaign", "FILE",
		"Run the campaign in FILE: lists of settings and servers, repeats, one table",
		COMMON | OPTION_DUMP | OPTION_CONFINED | OPTION_COMMANDS | OPTION_ORDERS,
		cmd_campaign, NULL,
		EXAMPLE("ddiperf campaign campaign-lease-operations.yaml --set repeats=1")},
	{"check", "FILE", "Validate FILE and the files that it names; send nothing",
		OPTION_SET | OPTION_DUMP | OPTION_CONFINED | OPTION_COMMANDS, cmd_check, NULL,
		EXAMPLE("ddiperf check dns-steady.yaml --set run.duration=1m --dump"),
		.prints = true},
	{"plan", "FILE", "Forecast the demand of FILE on link, CPUs and memory; open no port",
		OPTION_SET | OPTION_JSON, cmd_plan, NULL,
		EXAMPLE("ddiperf plan dns-steady.yaml --set traffic.queries.load.rate=1M"),
		.prints = true},
	{"respond", "FILE", "Run the built-in responder of FILE as a server",
		COMMON | OPTION_JSON | OPTION_CONFINED, cmd_respond, respond_options,
		EXAMPLE("ddiperf respond dns-respond.yaml")},
	{"serve", NULL, "Serve a page and an HTTP interface to start, follow and keep runs",
		OPTION_SERVE | OPTION_NATS | OPTION_COMMANDS | OPTION_VERBOSE, cmd_serve, NULL,
		EXAMPLE("ddiperf serve --listen 127.0.0.1:8080 --dir runs")},
	{"agent", NULL, "Connect to a NATS server and run parts of a fleet's tests",
		OPTION_AGENT | OPTION_NATS | OPTION_COMMANDS | OPTION_VERBOSE, cmd_agent, NULL,
		EXAMPLE("ddiperf agent --nats nats://127.0.0.1:4222 --name a --labels rack=1")},
	{"watch", "[RUN]", "Show a run in progress; RUN is its id or process, if there are several",
		OPTION_INTERVALS, cmd_watch, NULL, EXAMPLE("ddiperf watch"), .prints = true},
	{"compare", "RESULT.json...",
		"Print the changes from the first result to others and judge them",
		OPTION_FAIL_ON | OPTION_BASELINE | OPTION_HISTORY | OPTION_CONFIDENCE |
			OPTION_QUIET,
		cmd_compare, NULL,
		EXAMPLE("ddiperf compare before.json after.json --fail-on p99:+5%"),
		.prints = true},
	{"merge", "RESULT.json...",
		"Merge the results of all parts of a fleet into one, and judge it",
		OPTION_JSON | OPTION_AGENTS | OPTION_NATS, cmd_merge, NULL,
		"With --fleet, RESULT.json is the result of a run that lost agents: its parts\n"
		"come from the agents, which kept them.\n\n"
		"examples:\n  ddiperf merge part1.json part2.json --json result.json\n"
		"  ddiperf merge --fleet nats://127.0.0.1:4222 result.json --json whole.json\n",
		.prints = true},
	{"report", "RESULT.json...", "Print a result: report, page, figures, table or file",
		OPTION_FORMAT | OPTION_OUTPUT | OPTION_SELECT | OPTION_BRIEF | OPTION_APPEND,
		cmd_report, NULL, EXAMPLE("ddiperf report result.json -o page.html"),
		.prints = true},
	{"doctor", "[FILE]", "Check what this machine can do and how to fix what is missing",
		OPTION_SET, cmd_doctor, NULL, EXAMPLE("ddiperf doctor dns-steady.yaml"),
		.prints = true},
	{"bind", "[CARD]...", "Give network cards to DPDK, or back; without CARD: list them",
		OPTION_FORCE | OPTION_USER, cmd_bind, NULL,
		"examples:\n  ddiperf bind 0000:01:00.0\n"
		"  ddiperf bind --release 0000:01:00.0\n"},
	{"unbind", "CARD...", "Give network cards back to the kernel, as bind --release", 0,
		cmd_unbind, NULL, EXAMPLE("ddiperf unbind 0000:01:00.0"), .hidden = true},
	{"list", "drivers|protocols|settings|responder|campaign|counters|formats|selectors|agents",
		"Print a reference table, or the agents of a fleet",
		OPTION_SCHEMA | OPTION_JSON | OPTION_AGENTS | OPTION_NATS, cmd_list, NULL,
		"examples:\n  ddiperf list settings --search timeout\n"
		"  ddiperf list agents --fleet nats://127.0.0.1:4222\n",
		.prints = true},
	{"complete", "[WORD]...", "Print shell completions of a command line", 0, cmd_complete,
		NULL, EXAMPLE("ddiperf complete -- run --j"), .prints = true, .hidden = true},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct as_tool *const tools[] = {&front_dnsperf, &front_kxdpgun, &front_netperf,
	&front_perfdhcp, &front_resperf, &front_resperf_report, NULL};

static const struct program program = {commands, COMMANDS, tools};

static void print_help(FILE *out)
{
	fputs("usage: ddiperf COMMAND [OPTION]... [FILE]\n"
	      "Load-test DNS, DHCP and NTP servers and account for every transaction.\n\n",
		out);
	for (size_t i = 0; i < COMMANDS; i++)
		if (!commands[i].hidden)
			fprintf(out, "  %-8s  %s\n", commands[i].name, commands[i].help);
	fputs("  as        Act as dnsperf, resperf, perfdhcp, kxdpgun or netperf: options and "
	      "output\n"
	      "\n  ddiperf COMMAND --help   the options of a command\n"
	      "  ddiperf --version        the version\n"
	      "  man ddiperf              exit codes, examples; man ddiperf.yaml: settings\n",
		out);
}

// For a user who has not read --help.
static void print_first_lines(FILE *out)
{
	static const char *const first[] = {"dns", "dhcp", "run", "report", "doctor"};

	fputs("usage: ddiperf COMMAND [OPTION]... [FILE]\n\n"
	      "  ddiperf dns 127.0.0.1 www.example.com A     load a DNS server, print a report\n"
	      "  ddiperf dhcp 192.0.2.1 --find-max           how many leases a second?\n"
	      "  ddiperf run test.yaml --html page.html      a test from a file, its page\n\n",
		out);
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		for (size_t k = 0; k < COMMANDS; k++)
			if (strcmp(commands[k].name, first[i]) == 0)
				fprintf(out, "  %-8s  %s\n", first[i], commands[k].help);
	fputs("\n  ddiperf --help           all commands\n"
	      "  ddiperf COMMAND --help   the options of a command\n",
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
	struct options o = {.arena = arena_new(), .program = &program};
	int code = EXIT_CONFIG;

	o.command_line = options_command_line(argc, argv, o.arena);
	switch (options_parse(c, argc - 1, argv + 1, &o)) {
	case OPTIONS_GO:
		log_set_level(o.verbose ? LOG_VERBOSE : o.quiet ? LOG_QUIET : LOG_NORMAL);
		if (c->prints && !o.fleet)
			signal(SIGPIPE, SIG_DFL);
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

static void print_help_of_as(const char *names)
{
	printf("usage: ddiperf as TOOL [OPTION]...\n"
	       "Act as another tool, with its options, output and exit codes.\n\n"
	       "TOOL is one of: %s. A link ddiperf-TOOL does the same.\n\n"
	       "      --options         print the options of TOOL: honoured, refused with the "
	       "reason, or without effect\n"
	       "      --dump            send nothing; print the equivalent file\n"
	       "      --json OUT        write the result as JSON\n"
	       "      --set PATH=VALUE  override a setting\n\n"
	       "examples:\n"
	       "  ddiperf as dnsperf -s 127.0.0.1 -d queries.txt -l 10 -Q 500\n"
	       "  ddiperf as perfdhcp -4 -r 100 -R 30 -p 60 127.0.0.1 --dump >test.yaml\n",
		names);
}

// argv: "ddiperf", "as", TOOL, and the tool's options.
static int run_as(int argc, char **argv)
{
	const char *word = argc > 2 ? argv[2] : "";
	const struct as_tool *t = argc > 2 ? as_find(tools, argv[2]) : NULL;
	struct options o = {.arena = arena_new(), .program = &program};
	const char *names = "";
	int code = EXIT_CONFIG;

	for (unsigned i = 0; tools[i]; i++)
		names = arena_printf(o.arena, "%s%s%s", names, i ? ", " : "", tools[i]->name);
	if (t) {
		code = as_run(t, argc - 2, argv + 2, &o);
	} else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
		print_help_of_as(names);
		code = EXIT_PASS;
	} else {
		log_error("as: %s%s (one of: %s)",
			*word ? "ddiperf cannot act as " : "the name of a tool is missing", word,
			names);
	}
	arena_free(o.arena);
	return code;
}

// Dispatch by the name of a link: ddiperf-dnsperf. false: other name; otherwise sets *code.
static bool run_by_link(int argc, char **argv, int *code)
{
	const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
	static const char prefix[] = "ddiperf-";
	char **words;

	if (strncmp(name, prefix, strlen(prefix)) != 0 || !as_find(tools, name + strlen(prefix)))
		return false;
	words = calloc((size_t)argc + 3, sizeof(*words));
	if (!words)
		arena_exhausted();
	words[0] = argv[0];
	words[1] = "as";
	words[2] = (char *)name + strlen(prefix);
	memcpy(words + 3, argv + 1, (size_t)argc * sizeof(*words));
	*code = commands_run(argc + 2, words);
	free(words);
	return true;
}

int commands_run(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	int code;

	if (strcmp(word, "as") == 0)
		return run_as(argc, argv);
	if (argc > 0 && run_by_link(argc, argv, &code))
		return code;
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
	print_first_lines(stderr);
	return EXIT_CONFIG;
}
