// SPDX-License-Identifier: BSD-3-Clause
// The names that a foreign file may use: files below, and commands only where they are allowed.
#include "fixture.h"

static void confine(const char *text, bool commands, const char *wanted)
{
	struct fixture f;

	fixture_load(&f, text);
	assert_errors(&f, "");
	conf_confine(&sample_section, &f.s, commands, true, f.d);
	assert_errors(&f, wanted);
	fixture_end(&f);
}

#define ITEM(dns) "traffic:\n- {name: q, server: 1.2.3.4, dns: {" dns "}}\n"
#define OUTSIDE                                                                                    \
	"f.yaml:2:45: traffic.q.dns.queries: only files in the folder of the configuration are "   \
	"allowed here: a relative path without .. and comma\n"

static void files_below_are_allowed(void **state)
{
	confine(ITEM("queries: a.txt"), false, "");
	confine(ITEM("queries: a/..b/c..txt"), false, "");
	confine(ITEM(""), false, "");
}

static void other_files_are_refused(void **state)
{
	static const char *const paths[] = {
		"/etc/passwd", "../a", "..", "a/../../b", "a/..", "-", "unix:a", "\"a,b\""};
	char text[256];

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		snprintf(text, sizeof(text), ITEM("queries: %s"), paths[i]);
		confine(text, true, OUTSIDE);
	}
}

static void commands_need_leave(void **state)
{
	confine(ITEM("lines: [a, ls]"), true, "");
	confine(ITEM("lines: [ls]"), false,
		"f.yaml:2:44: traffic.q.dns.lines[0]: commands are not allowed here, as they would "
		"run with the rights of this program (leave it out, or start the server or agent "
		"with --allow-commands)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_below_are_allowed),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(commands_need_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
