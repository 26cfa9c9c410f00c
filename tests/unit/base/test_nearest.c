// SPDX-License-Identifier: BSD-3-Clause
// Suggestions: the distances at which a name is near, the first of equals, and abbreviations.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/nearest.h"

#define LONG_40 "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"

static void a_name_is_suggested_when_it_is_near(void **state)
{
	static const struct {
		const char *wanted, *names[4], *suggested; // NULL: none
		unsigned distance;
	} cases[] = {
		{"server", {"sender", "server"}, "server", 0},
		{"serve", {"server"}, "server", 0}, // abbreviated
		{"se", {"timeout", "server"}, "server", 0},
		{"s", {"server"}, NULL, 0},           // too short for that
		{"sever", {"server"}, "server", 1},   // one letter lost
		{"sserver", {"server"}, "server", 1}, // one too many
		{"zerver", {"server"}, "server", 1},  // one wrong, the first
		{"servez", {"server"}, "server", 1},  // one wrong, the last
		{"esrver", {"server"}, "server", 1},  // two swapped, the first
		{"servre", {"server"}, "server", 1},  // two swapped, the last
		{"ba", {"ab"}, "ab", 1},
		{"xyz", {"abc"}, NULL, 0},
		{"xbz", {"abc"}, NULL, 0},     // 2 of 3
		{"xbc", {"abc"}, "abc", 1},    // 1 of 3
		{"xycd", {"abcd"}, "abcd", 2}, // 2 of 4
		{"xyzd", {"abcd"}, NULL, 0},   // 3 of 4
		{"xyc", {"b"}, NULL, 0},       // every letter of the name is wrong
		{"xy", {"x"}, NULL, 0},
		{"rate", {"late", "gate"}, "late", 1}, // the first of equals
		{"rate", {"lane", "gate"}, "gate", 1}, // the nearer one
		{LONG_40 LONG_40 "x", {LONG_40 LONG_40}, NULL, 0},
		{LONG_40 LONG_40, {LONG_40 LONG_40 "x"}, NULL, 0},
		{"x" LONG_40 "12345678901234567890123456789012345678",
			{LONG_40 "12345678901234567890123456789012345678z"},
			LONG_40 "12345678901234567890123456789012345678z", 2},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nearest n = nearest_to(cases[i].wanted);

		for (const char *const *name = cases[i].names; *name; name++)
			nearest_try(&n, *name);
		if (!cases[i].suggested) {
			if (n.name)
				fail_msg("%s is near %s", cases[i].wanted, n.name);
			continue;
		}
		assert_non_null(n.name);
		assert_string_equal(n.name, cases[i].suggested);
		assert_int_equal(n.distance, cases[i].distance);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_suggested_when_it_is_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
