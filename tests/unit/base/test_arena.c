// SPDX-License-Identifier: BSD-3-Clause
// Memory that is freed at once: zeroed, aligned, never shared between two allocations.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static void memory_is_zero_aligned_and_disjoint(void **state)
{
	struct arena *a = arena_new();
	unsigned char *p[400];

	for (size_t i = 0; i < 400; i++) {
		size_t size = i * 37 % 9000;

		p[i] = arena_zalloc(a, size);
		assert_int_equal((uintptr_t)p[i] % 16, 0);
		for (size_t k = 0; k < size; k++)
			assert_int_equal(p[i][k], 0);
		memset(p[i], (int)(i & 0xff), size);
	}
	for (size_t i = 0; i < 400; i++) {
		for (size_t k = 0; k < i * 37 % 9000; k++)
			assert_int_equal(p[i][k], i & 0xff);
	}
	arena_free(a);
}

static void a_large_piece_first_or_later_is_kept(void **state)
{
	struct arena *a = arena_new();
	char *large = arena_zalloc(a, 1u << 20), *small = arena_zalloc(a, 8), *other;

	memset(large, 'x', 1u << 20);
	memset(small, 'y', 8);
	other = arena_zalloc(a, 1u << 20);
	assert_int_equal(other[0], 0);
	assert_int_equal(small[7], 'y');
	assert_int_equal(large[(1u << 20) - 1], 'x');
	arena_free(a);
}

static void texts_are_copied_whole(void **state)
{
	struct arena *a = arena_new();
	char text[6000];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	assert_string_equal(arena_strdup(a, text), text);
	assert_string_equal(arena_strdup(a, ""), "");
	assert_string_equal(arena_printf(a, "%s.%d", "list", 7), "list.7");
	assert_int_equal(strlen(arena_printf(a, "%s%s", text, text)), 2 * strlen(text));
	arena_free(a);
}

static void freeing_nothing_is_allowed(void **state)
{
	arena_free(NULL);
	arena_free(arena_new());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zero_aligned_and_disjoint),
		cmocka_unit_test(a_large_piece_first_or_later_is_kept),
		cmocka_unit_test(texts_are_copied_whole),
		cmocka_unit_test(freeing_nothing_is_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
