// SPDX-License-Identifier: BSD-3-Clause
// The files that let a start clean up after a run that was killed.
#include "ports.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/netif.h"
#include "io/state.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char dir[64];
static struct io_error e;

// The user, the folder of files and the interface, as the functions under test find them.
static struct {
	uid_t user, owner;
	unsigned vanishes; // so many times before it can be looked at
	int mkdir_error;
	struct netif now;
	int read_error, detach_error, promiscuous_error;
	unsigned detached, promiscuous_set;
} fake;

uid_t geteuid(void)
{
	return fake.user;
}

// What would be in /run is not made.
int mkdir(const char *path, mode_t mode)
{
	int done = fake.mkdir_error ? -1 : 0;

	if (!done && strncmp(path, "/run", 4) != 0)
		return mkdirat(AT_FDCWD, path, mode);
	errno = fake.mkdir_error ? fake.mkdir_error : ENOSPC;
	return done;
}

int lstat(const char *path, struct stat *st)
{
	const char *real = strncmp(path, "/run", 4) ? path : "/tmp";

	errno = ENOENT;
	if (fake.vanishes) {
		fake.vanishes--;
		return -1;
	}
	if (fstatat(AT_FDCWD, real, st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	st->st_uid = fake.owner;
	return 0;
}

int netif_read(const char *name, struct netif *out)
{
	*out = fake.now;
	snprintf(out->name, sizeof(out->name), "%s", name);
	return fake.read_error;
}

int netif_detach_xdp(const char *name)
{
	fake.detached++;
	return fake.detach_error;
}

int netif_set_promiscuous(const char *name, bool on)
{
	fake.promiscuous_set += on ? 100 : 1;
	return fake.promiscuous_error;
}

static int make_dir(void **state)
{
	memset(&fake, 0, sizeof(fake));
	fake.user = fake.owner = 1000;
	strcpy(dir, "/tmp/ddiperf-state-XXXXXX");
	return mkdtemp(dir) && setenv("XDG_RUNTIME_DIR", dir, 1) == 0 ? 0 : -1;
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

static void the_directory_is_that_of_the_user(void **state)
{
	static const struct {
		uid_t user;
		const char *runtime, *expected;
	} cases[] = {
		{0, "/tmp", "/run/ddiperf"},
		{1000, "/tmp", "/tmp/ddiperf"},
		{999999, "/nonexistent", "/tmp/ddiperf-999999"},
		{999999, NULL, "/tmp/ddiperf-999999"},
	};
	char path[64];

	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t len = strlen(cases[i].expected);

		fake.user = fake.owner = cases[i].user;
		if (cases[i].runtime)
			setenv("XDG_RUNTIME_DIR", cases[i].runtime, 1);
		else
			unsetenv("XDG_RUNTIME_DIR");
		assert_int_equal(state_directory(path, len), -ENAMETOOLONG);
		assert_int_equal(state_directory(path, len + 1), 0);
		assert_string_equal(path, cases[i].expected);
		rmdir(path);
	}
}

static void a_directory_that_is_not_ours_is_refused(void **state)
{
	char path[128], file[128];

	assert_int_equal(state_directory(path, sizeof(path)), 0);
	assert_int_equal(state_directory(path, sizeof(path)), 0); // it is there
	fake.owner = 1;
	assert_int_equal(state_directory(path, sizeof(path)), -EPERM);
	fake.owner = fake.user;
	fake.vanishes = 3;
	assert_int_equal(state_directory(path, sizeof(path)), 0);
	fake.vanishes = 1000;
	assert_int_equal(state_directory(path, sizeof(path)), -ENOENT);
	assert_int_equal(fake.vanishes, 1000 - 101);
	fake.vanishes = 0;
	fake.mkdir_error = EACCES;
	assert_int_equal(state_directory(path, sizeof(path)), -EACCES);
	rmdir(path);
	fake.mkdir_error = EEXIST;
	strcpy(file, path);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(state_directory(path, sizeof(path)), -EPERM);
	unlink(file);
}

// Field 22 of the line, behind a name that looks like more fields.
static void the_start_of_a_process_is_the_kernels_figure(void **state)
{
	char line[1024], *at;
	unsigned long long started = 0;
	struct stat st;
	struct state s;
	FILE *f;

	prctl(PR_SET_NAME, "a) 1 2 (b", 0, 0, 0);
	f = fopen("/proc/self/stat", "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	at = strrchr(line, ')') + 2;
	assert_int_equal(sscanf(at,
				 "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u "
				 "%*d %*d %*d %*d %llu",
				 &started),
		1);
	state_of_self(&s);
	assert_int_equal(s.started, started);
	assert_int_equal(s.pid, getpid());
	assert_int_equal(stat("/proc/self/ns/net", &st), 0);
	assert_int_equal(s.netns, st.st_ino);
}

static void a_file_that_cannot_be_written_is_an_error(void **state)
{
	const struct rlimit none = {0, RLIM_INFINITY};
	struct state s = record_of("eth1"), back;
	struct rlimit before;
	int full, again;

	getrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &none);
	full = state_write(dir, &s);
	again = state_rewrite(dir, &s);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(full, -EFBIG);
	assert_int_equal(again, -EFBIG);
	assert_int_equal(state_read(dir, "eth1", s.netns, &back), -ENOENT);
	assert_int_equal(state_write("/nonexistent", &s), -ENOENT);
	assert_int_equal(state_rewrite("/nonexistent", &s), -ENOENT);
	assert_int_equal(state_write(dir, &s), 0); // the draft is in nobody's way
	s.xdp_ours = 77;
	assert_int_equal(state_rewrite(dir, &s), 0);
	assert_int_equal(state_read(dir, "eth1", s.netns, &back), 0);
	assert_memory_equal(&s, &back, sizeof(s));
	state_remove(dir, &s);
}

static void a_rewrite_that_fails_leaves_no_draft(void **state)
{
	struct state s = record_of("eth1");
	char path[128];

	snprintf(path, sizeof(path), "%s/eth1@%llu", dir, (unsigned long long)s.netns);
	assert_int_equal(mkdir(path, 0700), 0); // no file can replace it
	assert_int_equal(state_rewrite(dir, &s), -EISDIR);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(dir), 0); // nothing else is in it
}

static void drafts_and_interfaces_are_swept_as_they_are(void **state)
{
	const uint32_t loopback = if_nametoindex("lo");
	const struct {
		const char *name; // of a draft
		bool dead, another_index, stays;
	} cases[] = {
		{"draft-", false, false, true},
		{"draft-", true, false, false},
		{NULL, true, false, true}, // its changes are still to be undone
		{NULL, true, true, false},
		{NULL, false, true, true},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct state s = record_of("lo");
		char path[128];

		s.index = loopback + cases[i].another_index;
		s.pid = cases[i].dead ? dead_pid() : s.pid;
		snprintf(path, sizeof(path), "%s/draft-%llu", dir, (unsigned long long)s.pid);
		if (cases[i].name)
			close(open(path, O_CREAT | O_WRONLY, 0600));
		else
			snprintf(
				path, sizeof(path), "%s/lo@%llu", dir, (unsigned long long)s.netns);
		if (!cases[i].name)
			assert_int_equal(state_write(dir, &s), 0);
		state_leave_directory(dir);
		assert_int_equal(access(path, F_OK) == 0, cases[i].stays);
		unlink(path);
		mkdir(dir, 0700);
	}
}

// The folder that state_directory chooses, inside that of the test.
static const char *own_directory(void)
{
	static char path[128];

	assert_int_equal(state_directory(path, sizeof(path)), 0);
	return path;
}

static void changes_of_the_dead_are_undone(void **state)
{
	static const struct {
		bool attaches;
		uint32_t flags, before; // in the file: 7
		uint32_t index, flags_now, program;
		int read_error, detach_error, promiscuous_error;
		unsigned detached, promiscuous;
		int err;
		bool cleaned;
	} cases[] = {
		{true, IFF_UP, 0, 7, IFF_UP, 0, 0, 0, 0, 0, 0, 0, false},
		{true, IFF_UP, 0, 7, IFF_UP, 9, 0, 0, 0, 1, 0, 0, true},
		{false, IFF_UP, 0, 7, IFF_UP, 9, 0, 0, 0, 0, 0, 0, false},
		{true, IFF_UP, 9, 7, IFF_UP, 9, 0, 0, 0, 0, 0, 0, false},
		{true, IFF_UP, 8, 7, IFF_UP, 9, 0, 0, 0, 1, 0, 0, true},
		{true, IFF_UP, 0, 8, IFF_PROMISC, 9, 0, 0, 0, 0, 0, 0, false}, // another one
		{true, IFF_UP, 0, 7, IFF_PROMISC, 9, -ENODEV, 0, 0, 0, 0, 0, false},
		{false, IFF_UP, 0, 7, IFF_UP | IFF_PROMISC, 0, 0, 0, 0, 0, 1, 0, true},
		{false, IFF_PROMISC, 0, 7, IFF_UP, 0, 0, 0, 0, 0, 100, 0, true},
		{true, IFF_UP, 0, 7, IFF_PROMISC, 9, 0, 0, 0, 1, 1, 0, true},
		{true, IFF_UP, 0, 7, IFF_PROMISC, 9, 0, -EBUSY, 0, 1, 0, -EBUSY, false},
		{true, IFF_UP, 0, 7, IFF_PROMISC, 0, 0, 0, -EPERM, 0, 1, -EPERM, false},
	};
	struct port_settings p = port_of("p", "af_packet", "eth1");

	for (size_t i = 0; i < 2 * COUNT(cases); i++) {
		const bool at_end = i >= COUNT(cases); // of the run that made them
		const size_t c = i % COUNT(cases);
		struct state s = record_of("eth1"), back;
		const char *own = own_directory();
		bool cleaned = true;

		s.attaches_xdp = cases[c].attaches;
		s.xdp_before = cases[c].before;
		s.flags = cases[c].flags;
		s.pid = at_end ? s.pid : dead_pid();
		assert_int_equal(state_write(own, &s), 0);
		fake.now = (struct netif){.index = cases[c].index,
			.flags = cases[c].flags_now,
			.xdp_program = cases[c].program};
		fake.read_error = cases[c].read_error;
		fake.detach_error = cases[c].detach_error;
		fake.promiscuous_error = cases[c].promiscuous_error;
		fake.detached = fake.promiscuous_set = 0;
		if (at_end) {
			state_end(&p);
		} else {
			assert_int_equal(state_recover(&p, &cleaned, &e), cases[c].err);
			assert_int_equal(cleaned, cases[c].cleaned);
		}
		assert_int_equal(fake.detached, cases[c].detached);
		assert_int_equal(fake.promiscuous_set, cases[c].promiscuous);
		assert_int_equal(
			state_read(own, "eth1", s.netns, &back), cases[c].err ? 0 : -ENOENT);
		assert_int_equal(access(own, F_OK), cases[c].err ? 0 : -1);
		state_remove(own, &s);
		rmdir(own);
	}
}

static void an_interface_in_use_is_not_recovered(void **state)
{
	struct port_settings p = port_of("p", "af_packet", "eth1");
	struct state s = record_of("eth1");
	bool cleaned = true;
	char text[64];

	assert_int_equal(state_recover(&p, NULL, &e), 0); // there is no file
	assert_int_equal(state_write(own_directory(), &s), 0);
	assert_int_equal(state_recover(&p, &cleaned, &e), -EBUSY);
	assert_false(cleaned);
	snprintf(text, sizeof(text), "in use by process %d of", (int)getpid());
	assert_non_null(strstr(e.text, text));
	s.pid = 1; // the file of another process is not this one's to end
	assert_int_equal(state_rewrite(own_directory(), &s), 0);
	fake.now = (struct netif){.index = s.index};
	state_end(&p);
	assert_int_equal(fake.promiscuous_set, 0);
	state_remove(own_directory(), &s);
	rmdir(own_directory());
	fake.mkdir_error = EACCES;
	assert_int_equal(state_recover(&p, NULL, &e), -EACCES);
	assert_int_equal(state_begin(&p, &e), -EACCES);
	state_end(&p);
	state_attached(&p);
}

static void a_start_writes_the_interface_as_it_was(void **state)
{
	static const char *const drivers_of[] = {"af_packet", "af_xdp"};

	for (int xdp = 0; xdp < 2; xdp++) {
		struct port_settings p = port_of("p", drivers_of[xdp], "eth1");
		const char *own = own_directory();
		struct state self, s;

		state_of_self(&self);
		state_attached(&p); // without a file there is nothing to note
		fake.now = (struct netif){.index = 5, .flags = IFF_UP, .xdp_program = 3};
		fake.read_error = -ENODEV;
		assert_int_equal(state_begin(&p, &e), -ENODEV);
		fake.read_error = 0;
		assert_int_equal(state_begin(&p, &e), 0);
		assert_int_equal(state_read(own, "eth1", self.netns, &s), 0);
		assert_int_equal(s.index, 5);
		assert_int_equal(s.flags, IFF_UP);
		assert_int_equal(s.xdp_before, 3);
		assert_int_equal(s.xdp_ours, 0);
		assert_int_equal(s.attaches_xdp, xdp);
		assert_int_equal(s.pid, getpid());
		assert_int_equal(s.started, self.started);
		assert_int_equal(state_begin(&p, &e), -EBUSY);
		assert_non_null(strstr(e.text, "by another run"));
		fake.now.xdp_program = 4;
		fake.read_error = -ENODEV;
		state_attached(&p);
		assert_int_equal(state_read(own, "eth1", self.netns, &s), 0);
		assert_int_equal(s.xdp_ours, 0);
		fake.read_error = 0;
		state_attached(&p);
		assert_int_equal(state_read(own, "eth1", self.netns, &s), 0);
		assert_int_equal(s.xdp_ours, xdp ? 4 : 0);
		state_remove(own, &s);
		rmdir(own);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_directory_is_that_of_the_user, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(
			a_directory_that_is_not_ours_is_refused, make_dir, remove_dir),
		cmocka_unit_test(the_start_of_a_process_is_the_kernels_figure),
		cmocka_unit_test_setup_teardown(
			a_file_that_cannot_be_written_is_an_error, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(
			a_rewrite_that_fails_leaves_no_draft, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(
			drafts_and_interfaces_are_swept_as_they_are, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(
			changes_of_the_dead_are_undone, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(
			an_interface_in_use_is_not_recovered, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(
			a_start_writes_the_interface_as_it_was, make_dir, remove_dir),
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
