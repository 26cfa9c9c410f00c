// SPDX-License-Identifier: BSD-3-Clause
// The public key of a NATS seed, with the example of the NATS documentation. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "nats/bus_nkey.h"

#define SEED   "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
#define PUBLIC "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"

static void assert_public(const char *text)
{
	char key[BUS_NKEY_SIZE] = "";

	assert_int_equal(bus_nkey_public(text, key), 0);
	assert_string_equal(key, PUBLIC);
}

static void assert_no_seed(const char *text)
{
	char key[BUS_NKEY_SIZE] = "none";

	assert_true(bus_nkey_public(text, key) < 0);
	assert_string_equal(key, "none");
}

static void a_seed_has_its_public_key(void **state)
{
	assert_public(SEED);
	assert_public(SEED "\n");
	assert_public(" \t" SEED " # comment");
	assert_public(
		"-----BEGIN USER NKEY SEED-----\r\n" SEED "\r\n------END USER NKEY SEED------\n");
}

static void no_other_line_is_a_seed(void **state)
{
	char text[] = SEED;

	assert_no_seed("");
	assert_no_seed("\n");
	assert_no_seed(PUBLIC);
	assert_no_seed("S" SEED);
	assert_no_seed(SEED "A");
	text[strlen(text) - 1] = '\0';
	assert_no_seed(text);
}

static void any_wrong_character_is_noticed(void **state)
{
	for (size_t i = 0; i < strlen(SEED); i++) {
		char text[] = SEED;

		text[i] = text[i] == 'A' ? 'B' : 'A';
		assert_no_seed(text);
		text[i] = '1';
		assert_no_seed(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_seed_has_its_public_key),
		cmocka_unit_test(no_other_line_is_a_seed),
		cmocka_unit_test(any_wrong_character_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
