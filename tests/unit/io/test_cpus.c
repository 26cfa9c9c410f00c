// SPDX-License-Identifier: BSD-3-Clause
// The CPUs of the process, on boxes that the test makes of files. Path: cold. Test.
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/host/cpus.h"

FILE *__wrap_fopen64(const char *path, const char *mode);
int __wrap_glob64(const char *pattern, int flags, int (*error)(const char *, int), glob_t *out);
void __wrap_globfree64(glob_t *g);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);

static struct {
	const char *path, *text;
} files[16];
static uint64_t affinity;
static bool fails;

FILE *__wrap_fopen64(const char *path, const char *mode)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i].path && strcmp(files[i].path, path) == 0)
			return fmemopen((char *)files[i].text, strlen(files[i].text), "r");
	return NULL;
}

// The files that are threads' states.
int __wrap_glob64(const char *pattern, int flags, int (*error)(const char *, int), glob_t *out)
{
	out->gl_pathv = calloc(sizeof(files) / sizeof(files[0]), sizeof(char *));
	out->gl_pathc = 0;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i].path && fnmatch(pattern, files[i].path, 0) == 0)
			out->gl_pathv[out->gl_pathc++] = (char *)files[i].path;
	return 0;
}

void __wrap_globfree64(glob_t *g)
{
	free(g->gl_pathv);
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	errno = EINVAL;
	memset(set, 0, size);
	for (int cpu = 0; cpu < 64; cpu++)
		if (affinity >> cpu & 1)
			CPU_SET_S(cpu, size, set);
	return fails ? -1 : 0;
}

static void put(const char *path, const char *text)
{
	size_t i = 0;

	while (files[i].path && strcmp(files[i].path, path) != 0)
		i++;
	files[i].path = path;
	files[i].text = text;
}

static int fresh(void **state)
{
	memset(files, 0, sizeof(files));
	affinity = 0xff;
	fails = false;
	put("/sys/devices/system/cpu/online", "0-7\n");
	put("/sys/devices/system/cpu/isolated", "\n");
	return 0;
}

static void expect(const char *allowed, const char *isolated)
{
	struct cpus c;
	char text[64];

	assert_int_equal(cpus_read(&c), 0);
	cpus_format(&c.allowed.set, text, sizeof(text));
	assert_string_equal(text, allowed);
	cpus_format(&c.isolated.set, text, sizeof(text));
	assert_string_equal(text, isolated);
}

static void isolated_cpus_are_beside_the_affinity_that_linux_gives(void **state)
{
	struct cpus c;
	char text[64];

	expect("0-7", "");
	put("/sys/devices/system/cpu/isolated", "2-3,6\n");
	expect("0-7", "2-3, 6"); // they were given to it
	affinity = 0xb3;
	expect("0-7", "2-3, 6"); // nobody chose it
	assert_int_equal(cpus_read(&c), 0);
	cpus_format(&c.given.set, text, sizeof(text)); // where threads that are not bound stay
	assert_string_equal(text, "0-1, 4-5, 7");
	affinity = 0x33; // somebody chose it
	expect("0-1, 4-5", "");
	affinity = 0x0c;
	expect("2-3", "2-3");
}

static void a_machine_that_says_nothing_has_its_affinity(void **state)
{
	memset(files, 0, sizeof(files));
	expect("0-7", "");
	put("/sys/devices/system/cpu/isolated", "2-x\n");
	expect("0-7", "");
	fails = true;
	assert_int_equal(cpus_read(&(struct cpus){.quota = 0}), -EINVAL);
}

static double quota(void)
{
	struct cpus c;

	assert_int_equal(cpus_read(&c), 0);
	return c.quota;
}

static void the_least_quota_of_all_its_groups_holds(void **state)
{
	assert_true(isinf(quota()));
	put("/proc/self/cgroup", "0::/pod/box\n");
	assert_true(isinf(quota()));
	put("/sys/fs/cgroup/pod/box/cpu.max", "max 100000\n");
	assert_true(isinf(quota()));
	put("/sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
	assert_true(quota() == 1.5);
	put("/sys/fs/cgroup/pod/box/cpu.max", "50000 100000\n");
	assert_true(quota() == 0.5);
	put("/proc/self/cgroup", "4:cpu:/x\n0::/\n");
	assert_true(isinf(quota()));
	put("/sys/fs/cgroup/cpu.max", "20000 100000\n"); // of the root of a container
	assert_true(quota() == 0.2);
}

static void groups_of_version_1_have_a_quota_too(void **state)
{
	put("/proc/self/cgroup", "3:cpuset:/no\n2:cpu,cpuacct:/pod/box\n1:cpuacct:/no\n");
	assert_true(isinf(quota()));
	put("/sys/fs/cgroup/cpu/pod/box/cpu.cfs_quota_us", "-1\n");
	put("/sys/fs/cgroup/cpu/pod/box/cpu.cfs_period_us", "100000\n");
	assert_true(isinf(quota()));
	put("/sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us", "150000\n");
	assert_true(isinf(quota())); // without a period
	put("/sys/fs/cgroup/cpu/pod/cpu.cfs_period_us", "100000\n");
	assert_true(quota() == 1.5);
	put("/sys/fs/cgroup/cpu/pod/box/cpu.cfs_quota_us", "50000\n");
	assert_true(quota() == 0.5);
	put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "20000\n"); // of the root of a container
	put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
	assert_true(quota() == 0.2);
	put("/proc/self/cgroup", "4:cpu:/x\n0::/\n");
	put("/sys/fs/cgroup/cpu.max", "10000 100000\n"); // both versions
	assert_true(quota() == 0.1);
	put("/proc/self/cgroup", "4:cpuset,cpuacct:/cpu,x\nno line\n");
	assert_true(isinf(quota()));
}

// Free ones, where the threads have these states.
static void expect_free(const char *free)
{
	struct cpus c;
	char text[64];

	assert_int_equal(cpus_read(&c), 0);
	cpus_format(&c.free.set, text, sizeof(text));
	assert_string_equal(text, free);
	cpus_format(&c.isolated.set, text, sizeof(text));
	assert_string_equal(text, "2-5");
}

static void an_isolated_cpu_that_others_have_bound_a_thread_to_is_not_free(void **state)
{
	char own[128];

	put("/sys/devices/system/cpu/isolated", "2-5\n");
	expect_free("2-5");
	put("/proc/7/task/8/status", "Name:\tlcore-worker-1\nTgid:\t7\nVmSize:\t 9 kB\n"
				     "Cpus_allowed_list:\t3\n");
	expect_free("2, 4-5");
	put("/proc/9/task/9/status", // may run anywhere
		"Tgid:\t9\nVmSize:\t 9 kB\nCpus_allowed_list:\t2-5\n");
	put("/proc/10/task/10/status", "Tgid:\t10\nCpus_allowed_list:\t4\n"); // of the kernel
	snprintf(own, sizeof(own), "Tgid:\t%d\nVmSize:\t 9 kB\nCpus_allowed_list:\t5\n",
		(int)getpid());
	put("/proc/11/task/12/status", own);
	expect_free("2, 4-5");
}

static void sets_are_named_by_their_ends(void **state)
{
	struct cpus c;
	char text[8];

	memset(&c, 0, sizeof(c));
	for (int cpu = 0; cpu < 8; cpu += 2)
		CPU_SET_S(cpu, CPUS_SET_LEN, &c.allowed.set);
	cpus_format(&c.allowed.set, text, sizeof(text)); // as much as has room
	assert_string_equal(text, "0, 2, 4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			isolated_cpus_are_beside_the_affinity_that_linux_gives, fresh),
		cmocka_unit_test_setup(a_machine_that_says_nothing_has_its_affinity, fresh),
		cmocka_unit_test_setup(the_least_quota_of_all_its_groups_holds, fresh),
		cmocka_unit_test_setup(groups_of_version_1_have_a_quota_too, fresh),
		cmocka_unit_test_setup(
			an_isolated_cpu_that_others_have_bound_a_thread_to_is_not_free, fresh),
		cmocka_unit_test_setup(sets_are_named_by_their_ends, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
