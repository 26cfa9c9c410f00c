// SPDX-License-Identifier: BSD-3-Clause
// The claim on an interface, and the files that let a start clean up after a killed run.
#include "ports.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/host/netif.h"
#include "io/driver/state.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char dir[64];
static uint32_t here, gone; // indexes of an interface and of none, which no other process claims
static struct io_error e;

// The user, the folder of files and the interface, as the functions under test find them.
static struct {
	uid_t user, owner;
	unsigned vanishes; // so many times before it can be looked at
	const char
		*left; // the folder, empty, which another run removes while the interface is read
	int mkdir_error;
	struct netif now;
	int read_error, detach_error, promiscuous_error, up_error;
	int read_fails; // so many times with -ENOBUFS
	unsigned detached, promiscuous_set, up_set;
} fake;

uid_t geteuid(void)
{
	return fake.user;
}

// Nothing is made in /run.
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

char *if_indextoname(unsigned index, char name[IFNAMSIZ])
{
	return index == here ? strcpy(name, "eth1") : NULL;
}

int netif_read(const char *name, struct netif *out)
{
	if (fake.read_fails) {
		fake.read_fails--;
		return -ENOBUFS;
	}
	if (fake.left)
		rmdir(fake.left);
	*out = fake.now;
	snprintf(out->name, sizeof(out->name), "%s", name);
	return fake.read_error;
}

int netif_detach_xdp(const char *name, uint32_t program)
{
	assert_int_equal(program, fake.now.xdp_program);
	fake.detached++;
	return fake.detach_error;
}

int netif_set_promiscuous(const char *name, bool on)
{
	fake.promiscuous_set += on ? 100 : 1;
	return fake.promiscuous_error;
}

int netif_set_up(const char *name, bool on)
{
	fake.up_set += on ? 100 : 1;
	return fake.up_error;
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
	struct state s = {
		.index = here, .flags = IFF_UP | IFF_PROMISC, .promiscuous = true, .xdp_ours = 42};

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
	assert_int_equal(state_read(dir, here, s.netns, &back), 0);
	assert_memory_equal(&s, &back, sizeof(s));
	s.xdp_ours = 43; // in its place
	assert_int_equal(state_write(dir, &s), 0);
	assert_int_equal(state_read(dir, here, s.netns, &back), 0);
	assert_memory_equal(&s, &back, sizeof(s));
	state_remove(dir, &s);
	assert_int_equal(state_read(dir, here, s.netns, &back), -ENOENT);
}

static void the_same_index_in_another_namespace_is_another_interface(void **state)
{
	struct state s = record_of("eth1"), other = s, back;

	other.netns++;
	assert_int_equal(state_write(dir, &s), 0);
	assert_int_equal(state_read(dir, here, other.netns, &back), -ENOENT);
	assert_int_equal(state_write(dir, &other), 0);
	state_remove(dir, &other);
	assert_int_equal(state_read(dir, here, s.netns, &back), 0);
	state_remove(dir, &s);
}

static void a_torn_or_foreign_file_is_not_believed(void **state)
{
	static const char *const texts[] = {"", "ddiperf-state", "ddiperf-state 2 eth1 5 7",
		"ddiperf-state 1 eth1 5 7 0 1 1 1 0 0\n", "garbage\n"};
	struct state back;
	char path[128];

	snprintf(path, sizeof(path), "%s/7@5", dir);
	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		fputs(texts[i], f);
		fclose(f);
		assert_int_equal(state_read(dir, 7, 5, &back), -EINVAL);
	}
	unlink(path);
}

static void litter_of_the_dead_is_swept(void **state)
{
	struct state s = record_of("gone0"), back;
	char path[128], deep[160];

	s.index = gone;
	s.pid = dead_pid();
	snprintf(path, sizeof(path), "%s/eal-%llu", dir, (unsigned long long)s.pid);
	snprintf(deep, sizeof(deep), "%s/dpdk", path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mkdir(deep, 0700), 0);
	assert_int_equal(state_write(dir, &s), 0); // of an interface that is no more
	state_leave_directory(dir);
	assert_int_equal(access(dir, F_OK), -1);
	assert_int_equal(state_read(dir, s.index, s.netns, &back), -ENOENT);
	assert_int_equal(mkdir(dir, 0700), 0);
}

static int claim_of(uint32_t index)
{
	const struct port_settings p = port_of("p", "af_packet", "eth1");

	fake.now.index = index;
	return state_begin(&p, &e);
}

static void a_kernel_short_of_memory_is_asked_again_at_the_end(void **state)
{
	struct port_settings p = port_of("p", "af_packet", "eth1");
	int claim = claim_of(here);

	assert_in_range(claim, 3, 1000);
	fake.read_fails = 1;
	state_end(&p, claim); // remove_dir looks for its remains
}

// Under the name of an interface that is no more.
static void what_the_living_have_stays(void **state)
{
	struct port_settings p = port_of("p", "af_packet", "eth1");
	struct state s = record_of("gone0"), back;
	char path[192], own[128];
	int claim = claim_of(gone);

	assert_in_range(claim, 3, 1000);
	assert_int_equal(state_directory(own, sizeof(own)), 0);
	snprintf(path, sizeof(path), "%s/eal-%d", own, (int)getpid());
	assert_int_equal(mkdir(path, 0700), 0);
	state_leave_directory(own);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(state_read(own, gone, s.netns, &back), 0);
	rmdir(path);
	state_end(&p, claim);
	assert_int_equal(access(own, F_OK), -1);
}

// Changes of a dead run on an interface of another namespace can only be undone there.
static void another_namespace_is_left_to_its_own(void **state)
{
	struct state s = record_of("gone0"), back;

	s.index = gone;
	s.pid = dead_pid();
	s.netns++;
	assert_int_equal(state_write(dir, &s), 0);
	state_leave_directory(dir);
	assert_int_equal(state_read(dir, s.index, s.netns, &back), 0);
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
	assert_int_equal(state_directory(path, sizeof(path)), -ENOTDIR);
	unlink(file);
}

static void a_state_says_where_and_when_it_was_written(void **state)
{
	unsigned boot;
	struct stat st;
	struct state s;
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%8x-", &boot), 1);
	fclose(f);
	state_of_self(&s);
	assert_int_equal(s.pid, getpid());
	assert_int_equal(s.boot, boot);
	assert_int_equal(stat("/proc/self/ns/net", &st), 0);
	assert_int_equal(s.netns, st.st_ino);
}

static void a_file_that_cannot_be_written_is_an_error(void **state)
{
	const struct rlimit none = {0, RLIM_INFINITY};
	struct state s = record_of("eth1"), back;
	struct rlimit before;
	int full;

	getrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &none);
	full = state_write(dir, &s);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(full, -EFBIG);
	assert_int_equal(state_read(dir, here, s.netns, &back), -ENOENT);
	assert_int_equal(state_write("/nonexistent", &s), -ENOENT);
	assert_int_equal(state_write(dir, &s), 0); // the draft is in nobody's way
	s.xdp_ours = 77;
	assert_int_equal(state_write(dir, &s), 0);
	assert_int_equal(state_read(dir, here, s.netns, &back), 0);
	assert_memory_equal(&s, &back, sizeof(s));
	state_remove(dir, &s);
}

static void a_write_that_fails_leaves_no_draft(void **state)
{
	struct state s = record_of("eth1");
	char path[128];

	snprintf(path, sizeof(path), "%s/%u@%llu", dir, here, (unsigned long long)s.netns);
	assert_int_equal(mkdir(path, 0700), 0); // no file can replace it
	assert_int_equal(state_write(dir, &s), -EISDIR);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(dir), 0); // nothing else is in it
}

static void drafts_and_interfaces_are_swept_as_they_are(void **state)
{
	const struct {
		bool draft;
		bool dead, gone, earlier_start, stays;
	} cases[] = {
		{true, false, false, false, true}, {true, true, false, false, false},
		{false, true, false, false, true}, // its changes are still to be undone
		{false, true, true, false, false},
		{false, true, false, true, false}, // the box has undone them
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct state s = record_of("lo");
		char path[128];

		s.index = cases[i].gone ? gone : here;
		s.boot ^= cases[i].earlier_start;
		s.pid = cases[i].dead ? dead_pid() : s.pid;
		snprintf(path, sizeof(path), "%s/draft-%llu", dir, (unsigned long long)s.pid);
		if (cases[i].draft)
			close(open(path, O_CREAT | O_WRONLY, 0600));
		else
			snprintf(path, sizeof(path), "%s/%u@%llu", dir, s.index,
				(unsigned long long)s.netns);
		if (!cases[i].draft)
			assert_int_equal(state_write(dir, &s), 0);
		state_leave_directory(dir);
		assert_int_equal(access(path, F_OK) == 0, cases[i].stays);
		unlink(path);
		mkdir(dir, 0700);
	}
}

// The folder that state_directory chooses, inside the test's folder.
static const char *own_directory(void)
{
	static char path[128];

	assert_int_equal(state_directory(path, sizeof(path)), 0);
	return path;
}

static void a_process_without_descriptors_leaves_no_empty_directory(void **state)
{
	struct rlimit before;
	const char *own = own_directory();

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, before.rlim_max});
	state_leave_directory(own);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(access(own, F_OK), -1);
}

// Only if an event changed it, at each of the ends; the next run may begin with the link down.
static void a_link_is_as_it_was_before(void **state)
{
	static const struct {
		bool link;
		uint32_t flags, now;
		unsigned up_set;
	} cases[] = {
		{true, IFF_UP, 0, 100},
		{true, IFF_UP, IFF_UP, 0},
		{true, 0, IFF_UP, 1},
		{false, IFF_UP, 0, 0},
	};
	struct port_settings p = port_of("p", "af_packet", "eth1");

	for (size_t i = 0; i < 4 * COUNT(cases); i++) {
		const size_t c = i % COUNT(cases), end = i / COUNT(cases);
		struct state s = record_of("eth1");
		const char *own = own_directory();
		int claim = 0;

		s.flags = cases[c].flags;
		s.promiscuous = false;
		s.xdp_ours = 0;
		s.pid = end == 0 ? dead_pid() : s.pid;
		fake = (typeof(fake)){
			.user = 1000, .owner = 1000, .now = {.index = here, .flags = cases[c].now}};
		assert_int_equal(state_write(own, &s), 0);
		assert_false(state_sets_up(&fake.now));
		if (cases[c].link && end) {
			assert_int_equal(state_link(&p), 0);
		} else {
			s.link = cases[c].link;
			assert_int_equal(state_write(own, &s), 0);
		}
		assert_int_equal(state_sets_up(&fake.now), cases[c].link && cases[c].flags);
		if (end == 0)
			claim = state_begin(&p, &e);
		else if (end == 1)
			state_end(&p, dup(0));
		else if (end == 2)
			state_end_own();
		else
			assert_int_equal(state_link_end(&p), 0);
		assert_int_equal(fake.up_set, cases[c].up_set);
		assert_true(claim >= 0);
		if (claim > 0)
			close(claim);
		state_remove(own, &s);
		rmdir(own);
	}
}

// At the start of the next run and at the end of the run that made them.
static void changes_of_the_dead_are_undone(void **state)
{
	static const struct {
		uint32_t flags, ours; // in the file
		bool promiscuous;
		uint32_t flags_now, program;
		int detach_error, promiscuous_error;
		unsigned detached, promiscuous_set;
		int err;
	} cases[] = {
		{IFF_UP, 9, false, IFF_UP, 0, 0, 0, 0, 0, 0},
		{IFF_UP, 9, false, IFF_UP, 9, 0, 0, 1, 0, 0},
		{IFF_UP, 9, false, IFF_UP, 8, 0, 0, 0, 0, 0}, // others put it there since
		{IFF_UP, 0, false, IFF_UP, 9, 0, 0, 0, 0, 0}, // or that one
		{IFF_UP, 0, true, IFF_UP | IFF_PROMISC, 0, 0, 0, 0, 1, 0},
		{IFF_UP, 0, false, IFF_UP | IFF_PROMISC, 0, 0, 0, 0, 0, 0}, // set by others
		{IFF_PROMISC, 0, false, IFF_UP, 0, 0, 0, 0, 100, 0},
		{IFF_UP, 9, true, IFF_PROMISC, 9, 0, 0, 1, 1, 0},
		{IFF_UP, 9, true, IFF_PROMISC, 9, -EBUSY, 0, 1, 0, -EBUSY},
		{IFF_UP, 0, true, IFF_PROMISC, 0, 0, -EPERM, 0, 1, -EPERM},
	};
	struct port_settings p = port_of("p", "af_packet", "eth1");

	p.force = true; // over others' programs
	for (size_t i = 0; i < 2 * COUNT(cases); i++) {
		const bool at_end = i >= COUNT(cases);
		const size_t c = i % COUNT(cases);
		struct state s = record_of("eth1"), back;
		const char *own = own_directory();
		unsigned tries;
		int claim;

		s.flags = cases[c].flags;
		s.xdp_ours = cases[c].ours;
		s.promiscuous = cases[c].promiscuous;
		s.pid = at_end ? s.pid : dead_pid();
		assert_int_equal(state_write(own, &s), 0);
		fake = (typeof(fake)){.user = 1000,
			.owner = 1000,
			.now = {.index = here,
				.flags = cases[c].flags_now,
				.xdp_program = cases[c].program},
			.detach_error = cases[c].detach_error,
			.promiscuous_error = cases[c].promiscuous_error};
		if (at_end) {
			state_end(&p, dup(0));
			assert_int_equal(
				state_read(own, here, s.netns, &back), cases[c].err ? 0 : -ENOENT);
			assert_int_equal(access(own, F_OK), cases[c].err ? 0 : -1);
		} else {
			claim = state_begin(&p, &e);
			assert_int_equal(claim < 0 ? claim : 0, cases[c].err);
			assert_int_equal(state_read(own, here, s.netns, &back), 0);
			assert_int_equal(back.pid, cases[c].err ? s.pid : (uint64_t)getpid());
			if (claim > 0)
				close(claim);
		}
		// The end tries twice.
		tries = at_end && cases[c].err ? 2 : 1;
		assert_int_equal(fake.detached, tries * cases[c].detached);
		assert_int_equal(fake.promiscuous_set, tries * cases[c].promiscuous_set);
		state_remove(own, &s);
		rmdir(own);
	}
}

// Indexes and ids begin anew with each start of the box.
static void a_state_of_an_earlier_start_is_not_undone(void **state)
{
	struct port_settings p = port_of("p", "af_packet", "eth1");
	struct state s = record_of("eth1");
	int claim;

	s.boot++;
	assert_int_equal(state_write(own_directory(), &s), 0);
	fake.now = (struct netif){.index = here, .xdp_program = 42, .xdp_mode = "xdpdrv"};
	assert_int_equal(state_look(&p, &fake.now, &e), -EBUSY);
	p.force = true;
	claim = state_begin(&p, &e);
	assert_in_range(claim, 3, 1000);
	assert_int_equal(fake.detached + fake.promiscuous_set, 0);
	state_end(&p, claim);
}

// Also when it is called by another user, whose files are elsewhere.
static void an_interface_in_use_is_refused(void **state)
{
	struct port_settings p = port_of("p", "af_packet", "eth1");
	struct netif *n = &fake.now;
	char text[64], other[128];
	int claim;

	*n = (struct netif){.index = here};
	assert_int_equal(state_look(&p, n, &e), 0);
	claim = state_begin(&p, &e);
	assert_in_range(claim, 3, 1000);
	snprintf(text, sizeof(text), "in use by process %d of", (int)getpid());
	for (int look = 0; look < 2; look++) {
		e.text[0] = '\0';
		assert_int_equal(look ? state_look(&p, n, &e) : state_begin(&p, &e), -EBUSY);
		assert_non_null(strstr(e.text, text));
	}
	unsetenv("XDG_RUNTIME_DIR");
	fake.user = fake.owner = 999998;
	for (int look = 0; look < 2; look++) {
		e.text[0] = '\0';
		assert_int_equal(look ? state_look(&p, n, &e) : state_begin(&p, &e), -EBUSY);
		assert_non_null(strstr(e.text, "in use by another run"));
	}
	assert_int_equal(state_directory(other, sizeof(other)), 0);
	rmdir(other);
	setenv("XDG_RUNTIME_DIR", dir, 1);
	fake.user = fake.owner = 1000;
	n->index = here + 1; // another interface
	assert_int_equal(state_look(&p, n, &e), 0);
	n->index = here;
	state_end(&p, claim);
	assert_int_equal(state_look(&p, n, &e), 0);
}

static void a_look_makes_no_folder_and_removes_no_file(void **state)
{
	struct port_settings p = port_of("p", "af_xdp", "eth1");
	struct state s = record_of("eth1"), back;
	struct netif *n = &fake.now;
	char own[128];

	*n = (struct netif){.index = here, .flags = IFF_PROMISC};
	strcpy(own, own_directory());
	rmdir(own);
	assert_int_equal(state_look(&p, n, &e), 0);
	assert_int_equal(access(own, F_OK), -1);
	mkdir(own, 0700);
	s.pid = dead_pid();
	assert_int_equal(state_write(own, &s), 0);
	n->xdp_program = s.xdp_ours; // that the run detaches
	assert_int_equal(state_look(&p, n, &e), 0);
	n->xdp_program++;
	n->xdp_mode = "xdpgeneric";
	assert_int_equal(state_look(&p, n, &e), -EBUSY);
	assert_int_equal(state_read(own, here, s.netns, &back), 0);
	assert_memory_equal(&s, &back, sizeof(s));
	assert_int_equal(fake.detached + fake.promiscuous_set, 0);
	n->xdp_program = s.xdp_ours;
	fake.owner = 1; // the folder of another user proves nothing
	assert_int_equal(state_look(&p, n, &e), -EBUSY);
	fake.owner = 1000;
	state_remove(own, &s);
	rmdir(own);
}

static void a_foreign_program_stays(void **state)
{
	static const struct {
		const char *driver;
		bool force;
		int err;
		const char *text;
	} cases[] = {
		{"af_packet", false, -EBUSY, "`ip link set dev eth1 xdpdrv off`, or force: true"},
		{"af_packet", true, 0, ""},
		{"pcap", true, 0, ""},
		{"af_xdp", false, -EBUSY, "`ip link set dev eth1 xdpdrv off`"},
		{"af_xdp", true, -EBUSY, "`bpftool net attach xdpdrv pinned"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct port_settings p = port_of("p", cases[i].driver, "eth1");
		int claim;

		p.force = cases[i].force;
		fake.now = (struct netif){.index = here, .xdp_program = 6, .xdp_mode = "xdpdrv"};
		e.text[0] = '\0';
		assert_int_equal(state_look(&p, &fake.now, &e), cases[i].err);
		assert_non_null(strstr(e.text, cases[i].text));
		claim = state_begin(&p, &e); // came between the two
		assert_int_equal(claim < 0 ? claim : 0, cases[i].err);
		if (claim > 0)
			state_end(&p, claim);
		assert_int_equal(fake.detached, 0);
		rmdir(own_directory());
	}
}

static void a_start_writes_the_interface_as_it_was(void **state)
{
	static const char *const drivers_of[] = {"af_packet", "af_xdp"};

	for (int xdp = 0; xdp < 2; xdp++) {
		struct port_settings p = port_of("p", drivers_of[xdp], "eth1");
		const char *own = own_directory();
		struct state self, s;
		int claim;

		p.promiscuous = xdp;
		state_of_self(&self);
		fake.now = (struct netif){.index = here, .flags = IFF_UP};
		state_attached(&p); // without a file there is nothing to note
		fake.read_error = -ENODEV;
		assert_int_equal(state_begin(&p, &e), -ENODEV);
		fake.read_error = 0;
		claim = state_begin(&p, &e);
		assert_in_range(claim, 3, 1000);
		assert_int_equal(state_read(own, here, self.netns, &s), 0);
		assert_int_equal(s.index, here);
		assert_int_equal(s.flags, IFF_UP);
		assert_int_equal(s.promiscuous, xdp);
		assert_int_equal(s.xdp_ours, 0);
		assert_int_equal(s.pid, getpid());
		assert_int_equal(s.boot, self.boot);
		fake.now.xdp_program = 4;
		fake.read_error = -ENODEV;
		state_attached(&p);
		assert_int_equal(state_read(own, here, self.netns, &s), 0);
		assert_int_equal(s.xdp_ours, 0);
		fake.read_error = 0;
		state_attached(&p);
		assert_int_equal(state_read(own, here, self.netns, &s), 0);
		assert_int_equal(s.xdp_ours, xdp ? 4 : 0);
		s.pid = 1; // the file of another process is not this one's to end
		assert_int_equal(state_write(own, &s), 0);
		state_end(&p, claim);
		assert_int_equal(fake.detached, 0);
		assert_int_equal(state_read(own, here, self.netns, &s), 0);
		state_remove(own, &s);
		rmdir(own);
	}
}

static void a_folder_that_another_run_removes_is_made_again(void **state)
{
	struct port_settings p = port_of("p", "af_packet", "eth1");
	int claim;

	fake.now = (struct netif){.index = here};
	fake.left = own_directory();
	claim = state_begin(&p, &e);
	assert_in_range(claim, 3, 1000);
	fake.left = NULL;
	state_end(&p, claim);
}

static void a_folder_that_cannot_be_made_is_an_error(void **state)
{
	struct port_settings p = port_of("p", "af_xdp", "eth1");

	fake.mkdir_error = EACCES;
	assert_int_equal(state_begin(&p, &e), -EACCES);
	state_end(&p, dup(0));
	state_attached(&p);
}

// Each of many claims, gives back, or dies with its claim: nobody else's file is there meanwhile.
static void one_of_many_has_the_interface(void **state)
{
	enum { PROCESSES = 6, TURNS = 60 };
	struct shared {
		_Atomic unsigned holders, turns, faults;
	} *all =
		mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct port_settings p = port_of("p", "af_packet", "eth1");
	int status;

	fake.now = (struct netif){.index = here};
	for (unsigned i = 0; i < PROCESSES; i++) {
		if (fork() != 0)
			continue;
		while (all->turns < TURNS) {
			struct state self, s;
			int claim;

			if (fork() != 0) {
				wait(&status);
				continue;
			}
			claim = state_begin(&p, &e);
			if (claim < 0)
				_exit(0);
			state_of_self(&self);
			all->faults += all->holders++ != 0;
			sched_yield();
			all->faults += state_read(own_directory(), here, self.netns, &s) != 0 ||
			               s.pid != self.pid;
			all->holders--;
			if (all->turns++ % 2)
				state_end(&p, claim);
			_exit(0);
		}
		_exit(0);
	}
	while (wait(&status) > 0)
		;
	assert_true(all->turns >= TURNS);
	assert_int_equal(all->faults, 0);
	munmap(all, sizeof(*all));
	state_end(&p, state_begin(&p, &e));
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_FOLDER(the_directory_is_that_of_the_user),
		IN_A_FOLDER(a_directory_that_is_not_ours_is_refused),
		cmocka_unit_test(a_state_says_where_and_when_it_was_written),
		IN_A_FOLDER(a_file_that_cannot_be_written_is_an_error),
		IN_A_FOLDER(a_write_that_fails_leaves_no_draft),
		IN_A_FOLDER(drafts_and_interfaces_are_swept_as_they_are),
		IN_A_FOLDER(a_link_is_as_it_was_before),
		IN_A_FOLDER(changes_of_the_dead_are_undone),
		IN_A_FOLDER(a_state_of_an_earlier_start_is_not_undone),
		IN_A_FOLDER(an_interface_in_use_is_refused),
		IN_A_FOLDER(a_look_makes_no_folder_and_removes_no_file),
		IN_A_FOLDER(a_foreign_program_stays),
		IN_A_FOLDER(a_start_writes_the_interface_as_it_was),
		IN_A_FOLDER(a_folder_that_another_run_removes_is_made_again),
		IN_A_FOLDER(a_folder_that_cannot_be_made_is_an_error),
		IN_A_FOLDER(one_of_many_has_the_interface),
		IN_A_FOLDER(what_is_written_is_read_back),
		IN_A_FOLDER(the_same_index_in_another_namespace_is_another_interface),
		IN_A_FOLDER(a_torn_or_foreign_file_is_not_believed),
		IN_A_FOLDER(litter_of_the_dead_is_swept),
		IN_A_FOLDER(a_kernel_short_of_memory_is_asked_again_at_the_end),
		IN_A_FOLDER(a_process_without_descriptors_leaves_no_empty_directory),
		IN_A_FOLDER(what_the_living_have_stays),
		IN_A_FOLDER(another_namespace_is_left_to_its_own),
	};

	here = 0x40000000u + (uint32_t)getpid();
	gone = here + 0x10000000u;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
