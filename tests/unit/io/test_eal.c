// SPDX-License-Identifier: BSD-3-Clause
// The arguments that DPDK is started with.
#include "ports.h"

#include <errno.h>
#include <stdio.h>

#include "io/driver/eal.h"

static struct eal_args a;
static const struct lcore_plan plan = {
	.management_cpu = 3, .worker_cpus = {5, 5, 6}, .worker_count = 3};

static struct cpus cpus;

static bool has(const char *arg)
{
	for (int i = 0; i < a.argc; i++)
		if (!strcmp(a.argv[i], arg))
			return true;
	return false;
}

static void workers_may_share_a_cpu(void **state)
{
	struct port_settings p = port_of("a", "null", NULL);

	assert_int_equal(eal_args_build(&a, &plan, &cpus.allowed.set, &p, 1, 100, "x"), 0);
	assert_true(has("--lcores=0@3,1@5,2@5,3@6"));
	assert_true(has("--main-lcore=0"));
}

static void a_worker_may_run_on_any_cpu_of_the_process(void **state)
{
	const struct lcore_plan any = {.management_cpu = LCORE_ANY_CPU,
		.worker_cpus = {LCORE_ANY_CPU, 5},
		.worker_count = 2};
	struct port_settings p = port_of("a", "null", NULL);

	for (int cpu = 0; cpu < 9; cpu++)
		if (cpu != 4)
			CPU_SET_S(cpu, CPUS_SET_LEN, &cpus.allowed.set);
	assert_int_equal(eal_args_build(&a, &any, &cpus.allowed.set, &p, 1, 100, "x"), 0);
	assert_true(has("--lcores=0@(0-3,5-8),1@(0-3,5-8),2@5"));
}

// EAL 22.11 rejects --in-memory together with --no-huge.
static void the_memory_modes_do_not_mix(void **state)
{
	struct port_settings p = port_of("a", "null", NULL);

	assert_int_equal(eal_args_build(&a, &plan, &cpus.allowed.set, &p, 1, 123, "x"), 0);
	assert_true(has("--no-huge") && has("--no-shconf") && has("-m") && has("123"));
	assert_false(has("--in-memory"));
	assert_int_equal(eal_args_build(&a, &plan, &cpus.allowed.set, &p, 1, 0, "x"), 0);
	assert_true(has("--in-memory"));
	assert_false(has("--no-huge") || has("--no-shconf") || has("-m"));
}

static void only_named_cards_are_taken(void **state)
{
	struct port_settings ports[] = {port_of("a", "null", NULL), port_of("b", "pci", "01:00.0")};

	assert_int_equal(eal_args_build(&a, &plan, &cpus.allowed.set, ports, 1, 0, "x"), 0);
	assert_true(has("--no-pci"));
	assert_int_equal(eal_args_build(&a, &plan, &cpus.allowed.set, ports, 2, 0, "x"), 0);
	assert_true(has("-a") && has("0000:01:00.0"));
	assert_false(has("--no-pci"));
	assert_int_equal(eal_args_build(&a, &plan, &cpus.allowed.set, ports + 1, 1, 0, "x"), 0);
	assert_false(has("--iova-mode=va"));
	ports[1].device = "nonsense";
	assert_int_equal(eal_args_build(&a, &plan, &cpus.allowed.set, ports, 2, 0, "x"), -EINVAL);
}

static void the_largest_plan_fits(void **state)
{
	struct lcore_plan most = {
		.management_cpu = 4095, .worker_count = PORT_MAX * PORT_MAX_QUEUES};
	struct port_settings ports[PORT_MAX];

	for (unsigned i = 0; i < most.worker_count; i++)
		most.worker_cpus[i] = 4000 + i % 95;
	for (unsigned i = 0; i < PORT_MAX; i++)
		ports[i] = port_of("a", "pci", "01:00.0");
	assert_int_equal(eal_args_build(&a, &most, &cpus.allowed.set, ports, PORT_MAX, 99, "x"), 0);
	assert_null(a.argv[a.argc]);
}

// Accepted arguments are complete.
static void arguments_that_do_not_fit_are_refused(void **state)
{
	static struct port_settings ports[EAL_ARGS_MAX];
	static char prefix[sizeof(a.text)];
	struct port_settings p = port_of("a", "null", NULL);
	unsigned fits = 0;

	for (size_t len = 0; len < sizeof(prefix) - 1; len++) {
		prefix[len] = 'x';
		if (eal_args_build(&a, &plan, &cpus.allowed.set, &p, 1, 0, prefix) < 0)
			break;
		assert_true(has("--iova-mode=va"));
		assert_in_range(a.used, len, sizeof(a.text));
	}
	assert_int_equal(eal_args_build(&a, &plan, &cpus.allowed.set, &p, 1, 0, prefix), -E2BIG);
	assert_in_range(strlen(prefix), sizeof(a.text) - 200, sizeof(a.text));
	for (unsigned i = 0; i < EAL_ARGS_MAX; i++)
		ports[i] = port_of("a", "pci", "01:00.0");
	while (fits < EAL_ARGS_MAX &&
		eal_args_build(&a, &plan, &cpus.allowed.set, ports, fits, 0, "x") == 0)
		fits++;
	assert_int_equal(eal_args_build(&a, &plan, &cpus.allowed.set, ports, fits, 0, "x"), -E2BIG);
	assert_int_equal(a.argc, EAL_ARGS_MAX - 1); // the last stays NULL
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers_may_share_a_cpu),
		cmocka_unit_test(a_worker_may_run_on_any_cpu_of_the_process),
		cmocka_unit_test(the_memory_modes_do_not_mix),
		cmocka_unit_test(only_named_cards_are_taken),
		cmocka_unit_test(the_largest_plan_fits),
		cmocka_unit_test(arguments_that_do_not_fit_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
