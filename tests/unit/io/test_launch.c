// SPDX-License-Identifier: BSD-3-Clause
// Worker n runs on lcore n + 1, with its own loop and argument. EAL's calls are this test's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "io/driver/launch.h"

#define WORKERS 4

static lcore_function_t *launched[RTE_MAX_LCORE];
static void *argument[RTE_MAX_LCORE];
static unsigned waited[RTE_MAX_LCORE], waited_for_all;

int rte_eal_remote_launch(lcore_function_t *f, void *arg, unsigned lcore)
{
	launched[lcore] = f;
	argument[lcore] = arg;
	return 0;
}

int rte_eal_wait_lcore(unsigned lcore)
{
	return (int)++waited[lcore];
}

void rte_eal_mp_wait_lcore(void)
{
	waited_for_all++;
}

static int count_up(void *arg)
{
	return (int)++*(uint32_t *)arg;
}

static void each_worker_has_its_lcore_and_loop(void **state)
{
	uint32_t counts[WORKERS] = {0};

	for (uint32_t i = 0; i < WORKERS; i++)
		launch_loop(i, count_up, &counts[i]);
	assert_null(launched[0]); // the management thread's
	assert_null(launched[WORKERS + 1]);
	for (uint32_t i = 0; i < WORKERS; i++) {
		assert_int_equal(launched[i + 1](argument[i + 1]), 1);
		for (uint32_t k = 0; k < WORKERS; k++)
			assert_int_equal(counts[k], k <= i);
	}
	launch_wait(2);
	for (uint32_t i = 0; i <= WORKERS; i++)
		assert_int_equal(waited[i], i == 3);
	assert_int_equal(waited_for_all, 0);
	launch_wait_all();
	assert_int_equal(waited_for_all, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_worker_has_its_lcore_and_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
