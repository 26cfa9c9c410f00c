// SPDX-License-Identifier: BSD-3-Clause
// SHA-256 of texts: the examples of FIPS 180-2, appendix B.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "crypt/digest.h"

static void the_examples_of_the_standard(void **state)
{
	static const struct {
		const char *text, *hex;
	} all[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
			"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	char hex[DIGEST_HEX];

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		memset(hex, 'x', sizeof(hex));
		digest_sha256_hex(all[i].text, strlen(all[i].text), hex);
		assert_string_equal(hex, all[i].hex);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_examples_of_the_standard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
