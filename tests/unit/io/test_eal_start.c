// SPDX-License-Identifier: BSD-3-Clause
// DPDK's environment starts once, where CPUs, files and memory suffice, and leaves nothing behind.
// DPDK and the box are the test's. Path: cold. Test.
#include "ports.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_log.h>

#include "io/driver/driver.h"
#include "io/driver/eal.h"
#include "io/driver/explain.h"
#include "io/driver/memory.h"
#include "io/host/privileges.h"

#define MIB (UINT64_C(1) << 20)

static struct {
	char dir[64];
	uint64_t free; // hugepages
	struct rlimit files;
	int open_max;                     // files
	int opened, init_rc, affinity_rc; // init_rc: 0, or an error number
	unsigned bound, inits, cleanups, lcores, threads, pauses;
	cpu_set_t set; // of the last affinity
	bool alarm_comes;
	int dropped, kept;     // results
	uint64_t capabilities; // kept
	char args[512], runtime[128];
	rte_eal_alarm_callback alarm;
	struct io_error e;
	unsigned looked, vanishes; // directories that were made, and how many of them are gone
	const char *more;          // behind its name
} x;

int __wrap_rte_eal_init(int argc, char **argv);
int __wrap_rte_eal_cleanup(void);
int __wrap_rte_eal_alarm_set(uint64_t us, rte_eal_alarm_callback cb, void *arg);
int __wrap_rte_eal_mp_remote_launch(
	lcore_function_t *f, void *arg, enum rte_rmt_call_main_t call_main);
void __wrap_rte_eal_mp_wait_lcore(void);
unsigned __wrap_rte_lcore_count(void);
uint64_t __wrap_hugepages_free(void);
int __wrap_cpus_read(struct cpus *out);
int __wrap_state_directory(char *dir, size_t room);
void __wrap_state_leave_directory(const char *dir);
int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);
int __wrap_getrlimit64(int what, struct rlimit *limit);
int __wrap_setrlimit64(int what, const struct rlimit *limit);
int __wrap_fcntl64(int fd, int command, ...);
int __wrap_privileges_drop(bool all);
int __wrap_privileges_keep(uint64_t capabilities);
int __wrap_nanosleep(const struct timespec *t, struct timespec *rest);

int __wrap_rte_eal_init(int argc, char **argv)
{
	struct stat st;

	x.inits++;
	snprintf(x.runtime, sizeof(x.runtime), "%s", getenv("RUNTIME_DIRECTORY"));
	assert_int_equal(stat(x.runtime, &st), 0);
	x.args[0] = '\0';
	for (int i = 0; i < argc; i++)
		snprintf(x.args + strlen(x.args), sizeof(x.args) - strlen(x.args), "%s ", argv[i]);
	fprintf(stderr, "EAL: said\n");
	rte_errno = x.init_rc;
	return x.init_rc ? -1 : 0;
}

int __wrap_rte_eal_cleanup(void)
{
	x.cleanups++;
	return 0;
}

int __wrap_rte_eal_alarm_set(uint64_t us, rte_eal_alarm_callback cb, void *arg)
{
	x.alarm = cb;
	return 0;
}

int __wrap_rte_eal_mp_remote_launch(
	lcore_function_t *f, void *arg, enum rte_rmt_call_main_t call_main)
{
	assert_int_equal(call_main, SKIP_MAIN);
	for (unsigned i = 0; i < x.threads; i++)
		f(arg);
	return 0;
}

void __wrap_rte_eal_mp_wait_lcore(void)
{
}

unsigned __wrap_rte_lcore_count(void)
{
	return x.lcores;
}

uint64_t __wrap_hugepages_free(void)
{
	return x.free;
}

int __wrap_cpus_read(struct cpus *out)
{
	memset(out, 0, sizeof(*out));
	for (int cpu = 0; cpu < 4; cpu++)
		CPU_SET_S(cpu, CPUS_SET_LEN, &out->given.set);
	for (int cpu = 0; cpu < 5; cpu++)
		CPU_SET_S(cpu, CPUS_SET_LEN, &out->allowed.set);
	return 0;
}

int __wrap_state_directory(char *dir, size_t room)
{
	// Another run removes it at first.
	snprintf(dir, room, "%s%s", x.dir, x.looked++ < x.vanishes ? "/gone" : x.more);
	return 0;
}

void __wrap_state_leave_directory(const char *dir)
{
	assert_int_equal(strncmp(dir, x.dir, strlen(x.dir)), 0);
}

int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	x.bound++;
	x.set = *set;
	errno = EINVAL;
	return x.affinity_rc;
}

int __wrap_getrlimit64(int what, struct rlimit *limit)
{
	*limit = x.files;
	return 0;
}

int __wrap_setrlimit64(int what, const struct rlimit *limit)
{
	x.files = *limit;
	return 0;
}

int __wrap_fcntl64(int fd, int command, ...)
{
	assert_int_equal(command, F_DUPFD_CLOEXEC);
	return x.opened < x.open_max ? 1000 + x.opened++ : -1;
}

int __wrap_privileges_drop(bool all)
{
	assert_false(all);
	return x.dropped;
}

int __wrap_privileges_keep(uint64_t capabilities)
{
	x.capabilities = capabilities;
	return x.kept;
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *rest)
{
	if (++x.pauses == 3 && x.alarm_comes)
		x.alarm(NULL);
	return 0;
}

// --- tests

static const struct host_settings plain = {.memory_size = UINT64_MAX};
static const struct lcore_plan two = {.management_cpu = 1, .worker_cpus = {4}, .worker_count = 1};

static int begin(void **state)
{
	memset(&x, 0, sizeof(x));
	x.files = (struct rlimit){4096, 4096};
	x.open_max = 1 << 20;
	x.lcores = 3;
	x.threads = 2;
	x.alarm_comes = true;
	x.more = "";
	strcpy(x.dir, "/tmp/ddiperf-test-XXXXXX");
	assert_non_null(mkdtemp(x.dir));
	return 0;
}

// Nothing is left in the folder.
static int end(void **state)
{
	return rmdir(x.dir);
}

static int start(const struct host_settings *h, const struct lcore_plan *lcores)
{
	const struct port_settings p = port_of("a", "af_packet", "eth0");

	return io_start(h, lcores, &p, 1, &x.e);
}

static void assert_refused(
	const struct host_settings *h, const struct lcore_plan *lcores, int err, const char *why)
{
	assert_int_equal(start(h, lcores), err);
	if (!strstr(x.e.text, why))
		fail_msg("\"%s\" is not in: %s", why, x.e.text);
	assert_int_equal(x.inits, 0);
}

static void cpus_of_others_are_refused(void **state)
{
	struct lcore_plan p = two;
	char text[100];

	p.management_cpu = 5;
	assert_refused(&plain, &p, -EINVAL,
		"CPU 5 (host.management_cpu) is not available to this process (available: 0-4)");
	p.management_cpu = LCORE_ANY_CPU;
	p.worker_cpus[0] = CPUS_MAX;
	assert_refused(&plain, &p, -EINVAL, "CPU 4096 (ports[].cpus) is not available");
	p.worker_count = 0; // without its worker, it fails later
	x.open_max = 0;
	assert_refused(&plain, &p, -EMFILE, "more files");
	p.worker_count = 2;
	p.worker_cpus[0] = LCORE_ANY_CPU;
	p.worker_cpus[1] = 9;
	assert_refused(&plain, &p, -EINVAL, "CPU 9 (ports[].cpus) is not available");
	memset(p.worker_cpus, 0xff, sizeof(p.worker_cpus)); // any
	p.worker_count = RTE_MAX_LCORE;
	snprintf(text, sizeof(text), "%u workers are too many for this DPDK (up to %u)",
		RTE_MAX_LCORE, RTE_MAX_LCORE - 1);
	assert_refused(&plain, &p, -EINVAL, text);
	p.worker_count--;
	assert_refused(&plain, &p, -EMFILE, "more files");
}

// 24 of a run, 4 of each thread, 8 of the port.
static void files_are_counted_first(void **state)
{
	struct host_settings h = {.memory = MEMORY_HUGEPAGES, .memory_size = UINT64_MAX};

	x.open_max = 24 + 4 * 2 + 8 - 1;
	x.files = (struct rlimit){100, 512};
	assert_refused(&plain, &two, -EMFILE,
		"this process can open 39 more files, and a run needs 40 (it may have 512 open");
	x.files = (struct rlimit){100, 1 << 20};
	x.opened = 0;
	assert_refused(&plain, &two, -EMFILE, "(it may have 1024 open");
	x.files = (struct rlimit){2000, 1 << 20};
	x.opened = 0;
	assert_refused(&plain, &two, -EMFILE, "(it may have 2000 open");
	x.open_max++;
	x.opened = 0;
	assert_refused(&h, &two, -ENOMEM, "host.memory: hugepages: ");
}

static void memory_must_suffice(void **state)
{
	const struct port_settings p = port_of("a", "af_packet", "eth0");
	uint64_t need = 96 * MIB + port_memory(&p);
	struct host_settings h = {.memory_size = need - 1};
	char text[200];

	snprintf(text, sizeof(text), "MiB are too few, the ports need %u MiB",
		(unsigned)(need / MIB) + 1);
	assert_refused(&h, &two, -ENOMEM, text);
	h = (struct host_settings){.memory = MEMORY_HUGEPAGES, .memory_size = need + 1};
	x.free = need;
	snprintf(text, sizeof(text),
		"hugepages: %u MiB are needed and %u are free: ", (unsigned)(need / MIB),
		(unsigned)(need / MIB));
	assert_refused(&h, &two, -ENOMEM, text);
	x.affinity_rc = -1; // fails later
	h.memory_size = need;
	assert_refused(&h, &two, -EINVAL, "CPU 1 cannot be used: Invalid argument");
	h.memory_size = 0; // automatic
	assert_refused(&h, &two, -EINVAL, "CPU 1 cannot be used: Invalid argument");
}

static void ordinary_pages_are_noted_where_they_matter(void **state)
{
	static const struct {
		const char *driver;
		int32_t memory;
		bool noted;
	} rows[] = {{"af_packet", MEMORY_AUTO, true}, {"af_packet", MEMORY_PAGES, false},
		{"socket", MEMORY_AUTO, false}};

	x.affinity_rc = -1; // it ends there
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct host_settings h = {
			.memory = rows[i].memory, .memory_size = UINT64_MAX};
		const struct port_settings p = port_of("a", rows[i].driver, "eth0");
		struct capture c;
		char *said;

		capture_begin(&c);
		assert_int_equal(io_start(&h, &two, &p, 1, &x.e), -EINVAL);
		said = capture_end(&c);
		assert_int_equal(
			strstr(said, "packet memory takes ordinary pages") != NULL, rows[i].noted);
		free(said);
	}
}

static void a_folder_is_made_again(void **state)
{
	char path[100];

	x.affinity_rc = -1;
	x.vanishes = 100;
	assert_refused(&plain, &two, -EINVAL, "CPU 1 cannot be used");
	assert_int_equal(x.looked, 101);
	x.looked = 0;
	x.vanishes = 101;
	assert_refused(&plain, &two, -ENOENT, "cannot be made: No such file or directory");
	snprintf(path, sizeof(path), "%s/file", x.dir);
	fclose(fopen(path, "w"));
	x.more = "/file";
	x.looked = x.vanishes = 0;
	assert_refused(&plain, &two, -ENOTDIR, "cannot be made: Not a directory");
	assert_int_equal(x.looked, 1);
	unlink(path);
}

static void a_start_that_fails_leaves_nothing(void **state)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		x.init_rc = ENOMEM;
		_exit(start(&plain, &two) == -ENOMEM && x.inits == 1 && x.bound == 2 &&
					rmdir(x.dir) == 0 && start(&plain, &two) == -EALREADY
				? 0
				: 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(mkdir(x.dir, 0700), 0);
}

static void dpdk_starts_once_and_ends(void **state)
{
	const struct host_settings h = {.memory = MEMORY_PAGES, .memory_size = 200 * MIB};
	char name[128];

	io_stop();
	assert_int_equal(x.cleanups, 0);
	setenv("RUNTIME_DIRECTORY", "/run/before", 1);
	x.free = 1 << 30;
	snprintf(name, sizeof(name), "%s/eal-%d", x.dir, (int)getpid());
	assert_int_equal(mkdir(name, 0700), 0); // of an earlier process of this number
	assert_int_equal(start(&h, &two), 0);
	assert_int_equal(rte_log_get_global_level(), RTE_LOG_CRIT);
	eal_set_talkative(true);
	assert_int_equal(rte_log_get_global_level(), RTE_LOG_INFO);
	assert_string_equal(x.runtime, name);
	assert_string_equal(getenv("RUNTIME_DIRECTORY"), "/run/before");
	assert_non_null(strstr(x.args, "--lcores=0@1,1@4 "));
	assert_non_null(strstr(x.args, "-m 201 ")); // and so no hugepages
	assert_int_equal(x.bound, 1);
	assert_int_equal(CPU_COUNT(&x.set), 1);
	assert_true(CPU_ISSET(1, &x.set));
	assert_int_equal(start(&h, &two), -EALREADY);
	assert_int_equal(x.inits, 1);
	io_stop();
	assert_int_equal(x.cleanups, 1);
	assert_int_equal(CPU_COUNT(&x.set), 4); // as it was
	assert_int_equal(access(name, F_OK), -1);
	io_stop();
	assert_int_equal(x.cleanups, 1);
}

static int drop(void)
{
	const struct port_settings ports[] = {
		port_of("a", "ring", "b"), port_of("b", "af_xdp", "eth0")};

	return io_drop_privileges(ports, 2, &x.e);
}

// In order: the count of threads that have done so is kept.
static void all_threads_give_up_their_capabilities(void **state)
{
	x.threads = 1;
	assert_int_equal(drop(), -EIO);
	assert_non_null(strstr(x.e.text, "a thread does not respond"));
	x.lcores = 4; // the one before counts too
	x.threads = 2;
	assert_int_equal(drop(), 0);
	assert_int_equal(x.pauses, 3);
	assert_int_equal(x.capabilities, drivers[driver_index("af_xdp")].closing);
	x.lcores = 7;
	x.alarm_comes = false;
	assert_int_equal(drop(), -ETIMEDOUT);
	assert_int_equal(x.pauses, 5003);
	x.lcores = 9;
	x.pauses = 0;
	x.alarm_comes = true;
	x.kept = -EPERM;
	assert_int_equal(drop(), -EPERM);
	assert_non_null(strstr(x.e.text, "cannot be given up: Operation not permitted"));
	x.lcores = 12;
	x.pauses = x.kept = 0;
	x.dropped = -EACCES;
	assert_int_equal(drop(), -EACCES);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(cpus_of_others_are_refused),
		TEST(files_are_counted_first),
		TEST(memory_must_suffice),
		TEST(ordinary_pages_are_noted_where_they_matter),
		TEST(a_folder_is_made_again),
		TEST(a_start_that_fails_leaves_nothing),
		TEST(dpdk_starts_once_and_ends),
		TEST(all_threads_give_up_their_capabilities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
