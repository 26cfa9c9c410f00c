// SPDX-License-Identifier: BSD-3-Clause
// Guesses of the intended key.
#include "fixture.h"

#include "conf/conf_internal.h"

static void assert_hint(const char *key, const char *wanted)
{
	struct arena *a = arena_new();

	assert_string_equal(names_hint(&sample_item_section, key, a), wanted);
	arena_free(a);
}

static void keys_of_choices_are_keys(void **state)
{
	assert_true(names_has(&sample_item_section, "server"));
	assert_true(names_has(&sample_item_section, "dns"));
	assert_true(names_has(&sample_item_section, "dhcp4"));
	assert_false(names_has(&sample_item_section, "dhcp"));
	assert_false(names_has(&sample_item_section, ""));
}

static void one_slip_of_the_finger_is_near(void **state)
{
	assert_hint("sever", "did you mean \"server\"?");
	assert_hint("sserver", "did you mean \"server\"?");
	assert_hint("zerver", "did you mean \"server\"?");
	assert_hint("esrver", "did you mean \"server\"?");
	assert_hint("laod", "did you mean \"load\"?");
	assert_hint("dhcp6", "did you mean \"dhcp4\"?");
	assert_hint("tiemotu", "did you mean \"timeout\"?");
}

static void what_is_far_lists_all(void **state)
{
	static const char all[] =
		"allowed: name, server, ports, sources, timeout, loss, load, dns, dhcp4";
	char longest[100];

	memset(longest, 's', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	assert_hint("colour", all);
	assert_hint("x", all);
	assert_hint("", all);
	assert_hint(longest, all);
}

static void a_section_without_keys_says_so(void **state)
{
	const struct field_section none = {.name = "none"};
	struct arena *a = arena_new();

	assert_string_equal(names_hint(&none, "x", a), "no key is allowed here");
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_choices_are_keys),
		cmocka_unit_test(one_slip_of_the_finger_is_near),
		cmocka_unit_test(what_is_far_lists_all),
		cmocka_unit_test(a_section_without_keys_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
