// SPDX-License-Identifier: BSD-3-Clause
// The files that let a start clean up after a run that was killed.
#include "ports.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/state.h"

static char dir[64];

static int make_dir(void **state)
{
	strcpy(dir, "/tmp/ddiperf-state-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	state_leave_directory(dir);
	return access(dir, F_OK) < 0 ? 0 : -1; // a test leaves nothing behind
}

static struct state record_of(const char *interface)
{
	struct state s = {.index = 7,
		.flags = IFF_UP | IFF_PROMISC,
		.attaches_xdp = true,
		.xdp_before = 41,
		.xdp_ours = 42};

	strcpy(s.interface, interface);
	state_of_self(&s);
	return s;
}

// A process that was there and is no more.
static uint64_t dead_pid(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	return (uint64_t)child;
}

static void what_is_written_is_read_back(void **state)
{
	struct state s = record_of("eth1"), back;

	assert_int_equal(state_write(dir, &s), 0);
	assert_int_equal(state_read(dir, "eth1", s.netns, &back), 0);
	assert_memory_equal(&s, &back, sizeof(s));
	state_remove(dir, &s);
	assert_int_equal(state_read(dir, "eth1", s.netns, &back), -ENOENT);
}

static void an_interface_is_claimed_once(void **state)
{
	struct state s = record_of("eth1"), back;

	assert_int_equal(state_write(dir, &s), 0);
	s.xdp_ours = 43;
	assert_int_equal(state_write(dir, &s), -EEXIST);
	assert_int_equal(state_read(dir, "eth1", s.netns, &back), 0);
	assert_int_equal(back.xdp_ours, 42);
	assert_int_equal(state_rewrite(dir, &s), 0);
	assert_int_equal(state_read(dir, "eth1", s.netns, &back), 0);
	assert_int_equal(back.xdp_ours, 43);
	state_remove(dir, &s);
}

static void the_same_name_in_another_namespace_is_another_interface(void **state)
{
	struct state s = record_of("eth1"), other = s, back;

	other.netns++;
	assert_int_equal(state_write(dir, &s), 0);
	assert_int_equal(state_read(dir, "eth1", other.netns, &back), -ENOENT);
	assert_int_equal(state_write(dir, &other), 0);
	state_remove(dir, &other);
	assert_int_equal(state_read(dir, "eth1", s.netns, &back), 0);
	state_remove(dir, &s);
}

static void a_torn_or_foreign_file_is_not_believed(void **state)
{
	static const char *const texts[] = {"", "ddiperf-state", "ddiperf-state 1 eth1 5 7",
		"ddiperf-state 9 eth1 5 7 0 1 1 1 0 0\n", "garbage\n"};
	struct state back;
	char path[128];

	snprintf(path, sizeof(path), "%s/eth1@5", dir);
	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		fputs(texts[i], f);
		fclose(f);
		assert_int_equal(state_read(dir, "eth1", 5, &back), -EINVAL);
	}
	unlink(path);
}

static void the_living_are_told_from_the_dead(void **state)
{
	struct state s = record_of("eth1");

	assert_true(state_is_alive(&s));
	s.started++; // another process that got the same number
	assert_false(state_is_alive(&s));
	s.pid = dead_pid();
	assert_false(state_is_alive(&s));
}

static void litter_of_the_dead_is_swept(void **state)
{
	struct state s = record_of("gone0"), back;
	char path[128], deep[160];

	s.pid = dead_pid();
	snprintf(path, sizeof(path), "%s/eal-%llu", dir, (unsigned long long)s.pid);
	snprintf(deep, sizeof(deep), "%s/dpdk", path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mkdir(deep, 0700), 0);
	assert_int_equal(state_write(dir, &s), 0); // of an interface that is no more
	state_leave_directory(dir);
	assert_int_equal(access(dir, F_OK), -1);
	assert_int_equal(state_read(dir, "gone0", s.netns, &back), -ENOENT);
	assert_int_equal(mkdir(dir, 0700), 0);
}

static void what_the_living_have_stays(void **state)
{
	struct state s = record_of("gone0"), back;
	char path[128];

	snprintf(path, sizeof(path), "%s/eal-%d", dir, (int)getpid());
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(state_write(dir, &s), 0);
	state_leave_directory(dir);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(state_read(dir, "gone0", s.netns, &back), 0);
	state_remove(dir, &s);
	rmdir(path);
}

// What the dead left on an interface of another namespace can only be undone there.
static void another_namespace_is_left_to_its_own(void **state)
{
	struct state s = record_of("gone0"), back;

	s.pid = dead_pid();
	s.netns++;
	assert_int_equal(state_write(dir, &s), 0);
	state_leave_directory(dir);
	assert_int_equal(state_read(dir, "gone0", s.netns, &back), 0);
	state_remove(dir, &s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_written_is_read_back, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(an_interface_is_claimed_once, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(
			the_same_name_in_another_namespace_is_another_interface, make_dir,
			remove_dir),
		cmocka_unit_test_setup_teardown(
			a_torn_or_foreign_file_is_not_believed, make_dir, remove_dir),
		cmocka_unit_test(the_living_are_told_from_the_dead),
		cmocka_unit_test_setup_teardown(litter_of_the_dead_is_swept, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(what_the_living_have_stays, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(
			another_namespace_is_left_to_its_own, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
