// SPDX-License-Identifier: BSD-3-Clause
// Command lines: which options a command takes, where their values go, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <getopt.h>

#include "captured.h"
#include "line/options.h"

#define WORDS 12

static const struct command run = {"run", "FILE", "Run FILE",
	OPTION_SET | OPTION_JSON | OPTION_QUIET | OPTION_VERBOSE | OPTION_DRY_RUN |
		OPTION_SELF_CHECK};
static const struct command check = {"check", "FILE", "Check FILE", OPTION_SET | OPTION_DUMP};
static const struct command compare = {
	"compare", "RESULT.json...", "Compare", OPTION_FAIL_ON | OPTION_BASELINE | OPTION_QUIET};
static const struct command doctor = {"doctor", "[FILE]", "Look", OPTION_SET};
static const struct command bare = {"bare", NULL, "Nothing", 0};

struct line {
	const struct command *command;
	const char *words[WORDS];
	struct options options; // as parsed
};

static int parse(void *ctx)
{
	struct line *l = ctx;
	char *argv[WORDS + 2] = {(char *)l->command->name};
	int argc = 1;

	for (; l->words[argc - 1]; argc++)
		argv[argc] = (char *)l->words[argc - 1];
	optind = 0; // getopt_long begins anew
	return (int)options_parse(l->command, argc, argv, &l->options);
}

static enum options_outcome outcome_of(struct line *l)
{
	l->options.arena = arena_new();
	return (enum options_outcome)capture_output(parse, l);
}

static void each_option_has_a_place(void **state)
{
	struct line l = {&run, {"-s", "a=1", "f.yaml", "--set=b=2", "--json", "o.json", "-n",
				       "x.pcap", "-qv", "--self-check"}};
	struct line c = {&compare, {"a.json", "--fail-on", "p99:+5%", "b.json", "-f", "loss:+0%",
					   "--baseline", "c.json"}};
	struct line d = {&check, {"--dump", "--", "-f.yaml"}};

	assert_int_equal(outcome_of(&l), OPTIONS_GO);
	assert_string_equal(l.options.operand, "f.yaml");
	assert_int_equal(l.options.operand_count, 1);
	assert_int_equal(l.options.assignment_count, 2);
	assert_string_equal(l.options.assignments[0], "a=1");
	assert_string_equal(l.options.assignments[1], "b=2");
	assert_int_equal(l.options.margin_count, 0);
	assert_string_equal(l.options.json, "o.json");
	assert_string_equal(l.options.dry_run, "x.pcap");
	assert_true(l.options.quiet && l.options.verbose && l.options.self_check);
	assert_false(l.options.dump);
	arena_free(l.options.arena);

	assert_int_equal(outcome_of(&c), OPTIONS_GO);
	assert_string_equal(c.options.operand, "a.json");
	assert_int_equal(c.options.operand_count, 2);
	assert_string_equal(c.options.baseline, "c.json");
	assert_int_equal(c.options.margin_count, 2);
	assert_string_equal(c.options.margins[1], "loss:+0%");
	assert_false(c.options.quiet || c.options.verbose || c.options.self_check);
	assert_null(c.options.json);
	arena_free(c.options.arena);

	assert_int_equal(outcome_of(&d), OPTIONS_GO);
	assert_string_equal(d.options.operand, "-f.yaml");
	assert_true(d.options.dump);
	arena_free(d.options.arena);
}

static void operands_are_counted(void **state)
{
	struct line lines[] = {
		{&doctor, {NULL}},
		{&doctor, {"f.yaml"}},
		{&bare, {NULL}},
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(outcome_of(&lines[i]), OPTIONS_GO);
		assert_string_equal(captured, "");
		if (i == 1)
			assert_string_equal(lines[i].options.operand, "f.yaml");
		else
			assert_null(lines[i].options.operand);
		arena_free(lines[i].options.arena);
	}
}

static void a_wrong_line_is_refused_with_its_reason(void **state)
{
	static const struct {
		const struct command *command;
		const char *words[WORDS];
		const char *message;
	} cases[] = {
		{&run, {NULL}, "run: an argument is missing: FILE (see ddiperf run --help)"},
		{&run, {"a", "b"}, "one argument too many: b"},
		{&compare, {NULL}, "an argument is missing: RESULT.json..."},
		{&doctor, {"a", "b"}, "one argument too many: b"},
		{&bare, {"a"}, "one argument too many: a"},
		{&run, {"f", "--set"}, "this option needs an argument: --set"},
		{&run, {"f", "-j"}, "this option needs an argument: -j"},
		{&run, {"f", "--dump"}, "no such option: --dump"},
		{&run, {"f", "-d"}, "no such option: -d"},
		{&run, {"f", "-qd"}, "no such option: -d"},
		{&run, {"f", "--quiet=1"}, "no such option: --quiet=1"},
		{&check, {"f", "-q"}, "no such option: -q"},
		{&compare, {"f", "g", "-s", "a=1"}, "no such option: -s"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct line l = {.command = cases[i].command};

		memcpy(l.words, cases[i].words, sizeof(l.words));
		assert_int_equal(outcome_of(&l), OPTIONS_WRONG);
		assert_captured(cases[i].message);
		arena_free(l.options.arena);
	}
}

static void help_shows_the_options_of_the_command(void **state)
{
	struct line of_run = {&run, {"--help"}}, of_bare = {&bare, {"x", "-h"}};

	assert_int_equal(outcome_of(&of_run), OPTIONS_HELP_SHOWN);
	assert_captured("usage: ddiperf run [OPTION]... FILE\nRun FILE.\n\n");
	assert_captured("  -s, --set PATH=VALUE      override");
	assert_captured("  -c, --self-check    ");
	assert_captured("  -h, --help    ");
	assert_null(strstr(captured, "--dump"));
	assert_null(strstr(captured, "--fail-on"));
	arena_free(of_run.options.arena);
	assert_int_equal(outcome_of(&of_bare), OPTIONS_HELP_SHOWN);
	assert_captured("usage: ddiperf bare [OPTION]...\nNothing.\n\n  -h, --help");
	assert_null(strstr(captured, "--set"));
	arena_free(of_bare.options.arena);
}

static void the_command_line_is_quoted_for_a_shell(void **state)
{
	char *argv[] = {
		"./ddiperf", "run", "a b.yaml", "--set", "x=it's", "", "$HOME", "a=1,b:/@%_-+."};
	struct arena *a = arena_new();

	assert_string_equal(options_command_line(8, argv, a),
		"ddiperf run 'a b.yaml' --set 'x=it'\\''s' '' '$HOME' a=1,b:/@%_-+.");
	assert_string_equal(options_command_line(1, argv, a), "ddiperf");
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_option_has_a_place),
		cmocka_unit_test(operands_are_counted),
		cmocka_unit_test(a_wrong_line_is_refused_with_its_reason),
		cmocka_unit_test(help_shows_the_options_of_the_command),
		cmocka_unit_test(the_command_line_is_quoted_for_a_shell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
