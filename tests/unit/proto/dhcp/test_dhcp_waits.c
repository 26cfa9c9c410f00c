// SPDX-License-Identifier: BSD-3-Clause
// From back-offs to waits, for both families: RFC 2131 section 4.1 and RFC 8415 section 15.
// Path: tests only.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/dhcp/client/dhcp_waits.h"

#define S 1000000000ull

static const uint64_t *built(struct dhcp_waits *w, const struct dhcp_backoff *kinds, uint32_t steps,
	struct arena *a, struct field_list *out)
{
	*out = (struct field_list){NULL, 0};
	dhcp_waits_build(w, kinds, steps, a, out);
	return out->items;
}

static void without_a_back_off_there_is_one_try_and_no_wait(void **state)
{
	struct arena *a = arena_new();
	struct field_list out;
	struct dhcp_waits w;

	assert_null(built(&w, NULL, 3, a, &out));
	assert_int_equal(out.count, 0);
	assert_int_equal(w.count, 0);
	assert_int_equal(w.tries_ns, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(w.kinds[i].tries, 1);
	arena_free(a);
}

// 4 s, 8 s, 16 s, 32 s, 64 s, each a second more or less.
static void dhcpv4_waits_double_with_a_second_more_or_less(void **state)
{
	const struct dhcp_backoff b = {.first_ns = 4 * S, .jitter_ns = S, .factor = 2, .tries = 5};
	struct arena *a = arena_new();
	struct field_list out;
	struct dhcp_waits w;
	const uint64_t *waits = built(&w, &b, 1, a, &out);

	assert_int_equal(out.count, 5 * w.steps);
	for (uint32_t try = 0; try < 5; try++) {
		const uint64_t *of = waits + w.kinds[0].first[try];

		assert_int_equal(w.kinds[0].ns[try], (4 * S) << try);
		assert_int_equal(of[0], ((4 * S) << try) - S);
		assert_int_equal(of[w.steps - 1], ((4 * S) << try) + S);
		for (uint32_t i = 1; i < w.steps; i++)
			assert_true(of[i] > of[i - 1]);
	}
	arena_free(a);
}

// REQUEST: IRT 1 s, MRT 30 s, MRC 10; CONFIRM: IRT 1 s, MRT 4 s, MRD 10 s.
static void dhcpv6_waits_are_bounded_and_shared(void **state)
{
	const struct dhcp_backoff kinds[] = {
		{.first_ns = S, .longest_ns = 30 * S, .jitter = 0.1, .factor = 2, .tries = 10},
		{.first_ns = S,
			.longest_ns = 4 * S,
			.total_ns = 10 * S,
			.jitter = 0.1,
			.factor = 2,
			.tries = 16}};
	static const uint64_t request[] = {1, 2, 4, 8, 16, 30, 30, 30, 30, 30};
	static const uint64_t confirm[] = {1, 2, 4, 3};
	struct arena *a = arena_new();
	struct field_list out;
	struct dhcp_waits w;
	const uint64_t *waits = built(&w, kinds, 2, a, &out);

	assert_int_equal(w.kinds[0].tries, 10);
	assert_int_equal(w.kinds[1].tries, 4);
	assert_int_equal(w.count, 7); // the waits of REQUEST, and 3 s
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(w.kinds[0].ns[i], request[i] * S);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(w.kinds[1].ns[i], confirm[i] * S);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(w.kinds[0].first[i], w.kinds[1].first[i]);
	assert_int_equal(w.tries_ns, 199 * S + S / 10); // REQUEST: 181 s, and a tenth more
	assert_int_equal(waits[w.kinds[0].first[9]], 27 * S);
	assert_int_equal(waits[w.kinds[0].first[9] + w.steps - 1], 33 * S);
	arena_free(a);
}

static void waits_that_do_not_fit_are_not_laid_down(void **state)
{
	struct dhcp_backoff kinds[5];
	struct arena *a = arena_new();
	struct field_list out;
	struct dhcp_waits w;

	for (uint32_t i = 0; i < 5; i++)
		kinds[i] = (struct dhcp_backoff){.first_ns = S + i, .factor = 2, .tries = 16};
	assert_null(built(&w, kinds, 5, a, &out));
	assert_int_equal(w.count, 80);
	assert_non_null(built(&w, kinds, 4, a, &out));
	assert_int_equal(out.count, PROTO_MAX_WAITS);
	arena_free(a);
}

static void a_longest_wait_is_never_overrun_nor_overflown(void **state)
{
	const struct dhcp_backoff b = {.first_ns = 86400 * S, .factor = 10, .tries = 16};
	struct arena *a = arena_new();
	struct field_list out;
	struct dhcp_waits w;

	built(&w, &b, 1, a, &out);
	for (uint32_t i = 1; i < 16; i++)
		assert_true(w.kinds[0].ns[i] >= w.kinds[0].ns[i - 1]);
	arena_free(a);
}

static void tries_within_a_wait_are_counted(void **state)
{
	const struct dhcp_backoff b = {.first_ns = 40 * S, .factor = 2, .tries = 4};
	struct arena *a = arena_new();
	struct field_list out;
	struct dhcp_waits w;

	built(&w, &b, 1, a, &out);
	assert_int_equal(dhcp_waits_within(&w, 0, 10 * S), 1); // one wait there always is
	assert_int_equal(dhcp_waits_within(&w, 0, 79 * S), 1);
	assert_int_equal(dhcp_waits_within(&w, 0, 80 * S), 2);
	assert_int_equal(dhcp_waits_within(&w, 0, 319 * S), 3);
	assert_int_equal(dhcp_waits_within(&w, 0, 320 * S), 0);
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_back_off_there_is_one_try_and_no_wait),
		cmocka_unit_test(dhcpv4_waits_double_with_a_second_more_or_less),
		cmocka_unit_test(dhcpv6_waits_are_bounded_and_shared),
		cmocka_unit_test(waits_that_do_not_fit_are_not_laid_down),
		cmocka_unit_test(a_longest_wait_is_never_overrun_nor_overflown),
		cmocka_unit_test(tries_within_a_wait_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
