// SPDX-License-Identifier: BSD-3-Clause
// The box as the start of a run finds it: cards and their kernel drivers, capabilities, locked
// memory, hugepages, CPUs. Its files, its limits and the start of EAL are this test's.
#include "capabilities.h"
#include "ports.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#include "base/log.h"
#include "io/doctor/preflight.h"
#include "io/driver/eal.h"
#include "io/driver/memory.h"
#include "io/host/netif.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MIB      (UINT64_C(1) << 20)
#define CARD     "/sys/bus/pci/devices/0000:01:00.0"
#define HUGE     "/sys/kernel/mm/hugepages/hugepages-"
#define GROUPS   "/sys/fs/cgroup"

static struct io_error e;

static struct box {
	struct rlimit lock;
	bool no_limit;
	rlim_t lock_now; // as it was set
	bool card, group_open, no_plugin;
	const char *kernel_driver, *group; // targets of links, NULL: none
	const char *interface;             // of the card
	const char *meminfo;
	bool limited; // by its control group and the one above
	bool no_huge;
	unsigned total_2m, free_2m, free_1g;
	int eal; // result of rte_eal_init
	bool no_affinity, no_binding;
	int folder_error; // of the folder for EAL, as often as:
	unsigned folder_errors;
	unsigned long cpus[4096 / 64]; // that the process may use
} box;

static const struct {
	const char *path, *text;
} control[] = {
	{"/proc/self/cgroup", "4:memory:/old\n0::/outer/inner\n"},
	{GROUPS "/outer/inner/memory.max", "max\n"},
	{GROUPS "/outer/inner/memory.current", "7\n"},
	{GROUPS "/outer/memory.max", "5000\n"},
	{GROUPS "/outer/memory.current", "4000\n"},
	{GROUPS "/outer/memory.stat", "anon 1\ninactive_file 100\n"},
	{GROUPS "/memory.max", "9000\n"},
	{GROUPS "/memory.current", "50\n"},
	{GROUPS "/memory.stat", "inactive_file 60\n"},
};

// The observations of a child process.
static struct seen {
	int err, again;
	char text[1024], arguments[4096], folder[512], said[512];
	bool restored, removed, bound, quiet;
	unsigned cleanups;
} * seen;

static int fresh(void **state)
{
	box = (struct box){.card = true, .cpus = {2}};
	test_caps = UINT64_MAX;
	e.text[0] = '\0';
	return 0;
}

int access(const char *path, int mode)
{
	bool ok = false;

	if (!strncmp(path, "/dev/vfio/", 10))
		ok = box.group_open && !strcmp(path, "/dev/vfio/12") && mode == (R_OK | W_OK);
	else if (!strcmp(path, CARD))
		ok = box.card;
	else if (!strncmp(path, HUGE, strlen(HUGE)))
		ok = !box.no_huge && (strstr(path, "-2048kB") || strstr(path, "-1048576kB"));
	else if (strstr(path, "/librte_"))
		ok = !box.no_plugin;
	errno = ok ? 0 : EACCES;
	return ok ? 0 : -1;
}

ssize_t readlink(const char *path, char *buf, size_t room)
{
	const char *to = NULL;

	if (!strcmp(path, CARD "/driver"))
		to = box.kernel_driver;
	else if (!strcmp(path, CARD "/iommu_group"))
		to = box.group;
	else if (!strcmp(path, "/proc/self/exe"))
		to = "/usr/bin/ddiperf";
	errno = ENOENT;
	if (!to)
		return -1;
	memcpy(buf, to, strlen(to));
	return (ssize_t)strlen(to);
}

// In glibc 2.40 and later, clang calls this instead, with -D_FORTIFY_SOURCE.
ssize_t __readlink_chk(const char *path, char *buf, size_t room, size_t size);
ssize_t __readlink_chk(const char *path, char *buf, size_t room, size_t size)
{
	return readlink(path, buf, room);
}

static FILE *file_of(const char *text)
{
	FILE *f = tmpfile();

	fputs(text, f);
	rewind(f);
	return f;
}

FILE *fopen(const char *path, const char *mode)
{
	char text[32] = "";

	errno = ENOENT;
	if (!strcmp(path, "/proc/meminfo"))
		return box.meminfo ? file_of(box.meminfo) : NULL;
	for (size_t i = 0; box.limited && i < COUNT(control); i++)
		if (!strcmp(path, control[i].path))
			return file_of(control[i].text);
	if (!strcmp(path, CARD "/class"))
		return file_of("0x020000\n");
	if (!strcmp(path, HUGE "2048kB/nr_hugepages"))
		snprintf(text, sizeof(text), "%u\n", box.total_2m);
	else if (!strcmp(path, HUGE "2048kB/free_hugepages"))
		snprintf(text, sizeof(text), "%u\n", box.free_2m);
	else if (!strcmp(path, HUGE "1048576kB/free_hugepages"))
		snprintf(text, sizeof(text), "%u\n", box.free_1g);
	return text[0] ? file_of(text) : NULL;
}

static bool listed;

DIR *opendir(const char *path)
{
	if (!box.card || strcmp(path, "/sys/bus/pci/devices"))
		return NULL;
	listed = false;
	return (DIR *)&listed;
}

struct dirent *readdir(DIR *d)
{
	static struct dirent entry;

	if (listed)
		return NULL;
	listed = true;
	strcpy(entry.d_name, "0000:01:00.0");
	return &entry;
}

int closedir(DIR *d)
{
	return 0;
}

// Answers for the only interface that a card of this box has.
int ioctl(int fd, unsigned long call, ...)
{
	struct ethtool_drvinfo *d;
	struct ifreq *r;
	va_list args;

	va_start(args, call);
	r = va_arg(args, struct ifreq *);
	va_end(args);
	d = call == SIOCETHTOOL ? (void *)r->ifr_data : NULL;
	errno = EOPNOTSUPP;
	if (!d || d->cmd != ETHTOOL_GDRVINFO || !box.interface ||
		strcmp(r->ifr_name, box.interface))
		return -1;
	strcpy(d->bus_info, "0000:01:00.0");
	return 0;
}

int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
	if (resource == RLIMIT_NOFILE)
		return prlimit(0, resource, NULL, limit);
	*limit = box.lock;
	return box.no_limit ? -1 : 0;
}

int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	if (resource == RLIMIT_NOFILE)
		return prlimit(0, resource, limit, NULL);
	box.lock_now = limit->rlim_cur;
	return 0;
}

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	errno = EINVAL;
	memcpy(set, box.cpus, size < sizeof(box.cpus) ? size : sizeof(box.cpus));
	return box.no_affinity ? -1 : 0;
}

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	errno = EPERM;
	if (box.no_binding)
		return -1;
	memcpy(box.cpus, set, size < sizeof(box.cpus) ? size : sizeof(box.cpus));
	return 0;
}

static bool one_cpu(unsigned cpu)
{
	const cpu_set_t *set = (const cpu_set_t *)box.cpus;

	return CPU_COUNT_S(sizeof(box.cpus), set) == 1 && CPU_ISSET_S(cpu, sizeof(box.cpus), set);
}

int rte_eal_init(int argc, char **argv)
{
	size_t used = 0;

	for (int i = 0; i < argc; i++)
		used += (size_t)snprintf(
			seen->arguments + used, sizeof(seen->arguments) - used, "%s ", argv[i]);
	snprintf(seen->folder, sizeof(seen->folder), "%s", getenv("RUNTIME_DIRECTORY"));
	seen->bound = one_cpu((unsigned)atoi(strstr(seen->arguments, "--lcores=0@") + 11));
	rte_errno = box.eal ? -box.eal : EIO;
	rte_log_set_global_level(RTE_LOG_DEBUG);
	return box.eal ? -1 : 0;
}

int rte_eal_cleanup(void)
{
	seen->cleanups++;
	return 0;
}

// A sanitizer makes the folder of its log before its own memory is there.
__attribute__((no_sanitize("address", "undefined"))) int mkdir(const char *path, mode_t mode)
{
	int done;

	if (box.folder_errors && strstr(path, "/eal-")) {
		box.folder_errors--;
		errno = box.folder_error;
		return -1;
	}
	done = mkdirat(AT_FDCWD, path, mode);
	errno = done < 0 ? errno : ENOSPC;
	return done;
}

static void a_card_must_be_free_for_dpdk(void **state)
{
	static const struct {
		bool card;
		const char *driver, *group;
		bool open;
		int err;
		const char *text;
	} cases[] = {
		{false, "../vfio-pci", NULL, false, -ENODEV, "no such network card"},
		{true, NULL, NULL, false, -EBUSY, "its kernel driver is none, "},
		{true, "../../drivers/ixgbe", NULL, false, -EBUSY, "its kernel driver is ixgbe, "},
		{true, "../igb_uio", "../12", false, 0, ""},
		{true, "../uio_pci_generic", "../12", false, 0, ""},
		{true, "../vfio-pci", NULL, false, 0, ""},
		{true, "../vfio-pci", "../groups/12", true, 0, ""},
		{true, "../vfio-pci", "../groups/13", true, -EPERM, "/dev/vfio/13"},
		{true, "../vfio-pci", "../groups/12", false, -EPERM, "sudo chown"},
	};
	struct port_settings p = port_of("p", "pci", "01:00.0");

	for (size_t i = 0; i < COUNT(cases); i++) {
		fresh(state);
		box.card = cases[i].card;
		box.kernel_driver = cases[i].driver;
		box.group = cases[i].group;
		box.group_open = cases[i].open;
		assert_int_equal(preflight_device(&p, &e), cases[i].err);
		assert_non_null(strstr(e.text, cases[i].text));
	}
}

static void a_card_that_the_kernel_shares_must_not_be_the_hosts(void **state)
{
	struct port_settings p = port_of("p", "pci", "01:00.0");
	struct port_settings as_interface = port_of("p", "pci", "lo");
	struct netif *list;
	unsigned count;
	int expected;

	assert_int_equal(netif_list(&list, &count), 0);
	expected = preflight_users(&as_interface, netif_find(list, count, "lo"), list, count, &e);
	free(list);
	box.kernel_driver = "../mlx5_core";
	box.interface = "lo";
	assert_int_equal(preflight_device(&p, &e), expected);
	p.force = true;
	assert_int_equal(preflight_device(&p, &e), 0);
	p.force = false;
	box.interface = NULL;
	assert_int_equal(preflight_device(&p, &e), 0);
}

static int preflight(const struct port_settings *p)
{
	const struct host_settings h = {.memory = MEMORY_PAGES, .memory_size = UINT64_MAX};

	return port_preflight(p, &h, &e);
}

// An interface that does not exist is -ENODEV, once all checks before it have passed.
static void missing_capabilities_come_with_the_command(void **state)
{
	static const struct {
		const char *driver;
		uint64_t caps;
		int err;
		const char *text;
	} cases[] = {
		{"af_packet",
			NEED_CAP(CAP_NET_RAW) | NEED_CAP(CAP_NET_ADMIN) | NEED_CAP(CAP_IPC_LOCK),
			-ENODEV, ""},
		{"af_packet", NEED_CAP(CAP_NET_RAW), -EPERM,
			"CAP_NET_ADMIN missing: run as root, or `sudo setcap "
			"cap_net_raw,cap_net_admin,cap_ipc_lock+ep /usr/bin/ddiperf` (after `chgrp "
			"GROUP` and `chmod 0750`"},
		{"pcap", 0, -EPERM,
			"CAP_NET_RAW missing: run as root, or `sudo setcap cap_net_raw+ep "},
		{"af_xdp", 0, -EPERM,
			"`sudo setcap cap_net_raw,cap_net_admin,cap_sys_admin,cap_ipc_lock+ep "},
	};
	struct port_settings p = port_of("p", "pcap", NULL);

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct port_settings q = port_of("p", cases[i].driver, "nonexistent0");

		test_caps = cases[i].caps;
		assert_int_equal(preflight(&q), cases[i].err);
		assert_non_null(strstr(e.text, cases[i].text));
	}
	test_caps = 0;
	assert_int_equal(preflight(&p), 0); // files need none
	box.no_plugin = true;
	assert_int_equal(preflight(&p), -ENOENT);
	assert_non_null(strstr(e.text, "`apt-get install librte-"));
	p = port_of("p", "vdev", "net_x"); // without a plug-in of its own
	assert_int_equal(preflight(&p), -ENOENT);
	assert_non_null(strstr(e.text, "librte-meta-mempool"));
}

static void packet_memory_must_be_locked(void **state)
{
	const uint64_t all_but = ~NEED_CAP(CAP_IPC_LOCK);
	struct port_settings p = port_of("p", "af_xdp", "nonexistent0");
	const uint64_t need = port_memory(&p);
	const struct {
		const char *driver;
		uint64_t caps;
		rlim_t limit;
		bool unknown;
		int err;
		rlim_t set;
	} cases[] = {
		{"af_xdp", all_but, need, false, -ENODEV, need},
		{"af_xdp", all_but, need - 1, false, -EPERM, need - 1},
		{"af_xdp", all_but, RLIM_INFINITY, false, -ENODEV, RLIM_INFINITY},
		{"af_xdp", all_but, 1, true, -ENODEV, 0},
		{"af_xdp", UINT64_MAX, 1, false, -ENODEV, 0},
		{"af_packet", all_but, 34 << 20, false, -ENODEV, 34 << 20},
		{"af_packet", all_but, (34 << 20) - 1, false, -EPERM, (34 << 20) - 1},
		{"pcap", all_but, 1, false, -ENODEV, 0},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		fresh(state);
		p = port_of("p", cases[i].driver, "nonexistent0");
		test_caps = cases[i].caps;
		box.lock = (struct rlimit){5, cases[i].limit};
		box.no_limit = cases[i].unknown;
		assert_int_equal(preflight(&p), cases[i].err);
		assert_int_equal(box.lock_now, cases[i].set);
		if (cases[i].err == -EPERM)
			assert_non_null(strstr(e.text, "ulimit -l unlimited"));
	}
}

static void hugepages_must_suffice_where_they_are_wanted(void **state)
{
	struct host_settings h = {.memory = MEMORY_HUGEPAGES, .memory_size = UINT64_MAX};
	struct port_settings p = port_of("p", "null", NULL);
	unsigned pages = (unsigned)((port_memory(&p) + 2 * MIB - 1) / (2 * MIB));

	box.free_2m = pages;
	assert_int_equal(port_preflight(&p, &h, &e), 0);
	box.free_2m = pages - 1;
	assert_int_equal(port_preflight(&p, &h, &e), -ENOMEM);
	assert_non_null(strstr(e.text, ", or host.memory: pages"));
	h.memory = MEMORY_AUTO;
	assert_int_equal(port_preflight(&p, &h, &e), 0);
}

static void figures_of_memory_are_the_kernels(void **state)
{
	struct hugepages pages[HUGEPAGE_SIZES_MAX];
	uint64_t have;

	assert_int_equal(memory_available(), 0);
	box.meminfo = "MemTotal: 9 kB\nMemAvailable:    1234 kB\nMemAvailable: 7 kB\n";
	assert_int_equal(memory_available(), 1234 * 1024);
	box.limited = true;
	assert_int_equal(memory_available(), 5000 - (4000 - 100));
	box.total_2m = 10;
	box.free_2m = 3;
	box.free_1g = 2;
	assert_int_equal(hugepages_read(pages), 2);
	assert_int_equal(pages[0].size, 2 * MIB);
	assert_int_equal(pages[0].total, 10);
	assert_int_equal(pages[0].free, 3);
	assert_int_equal(pages[1].size, 1024 * MIB);
	assert_int_equal(pages[1].total, 0); // cannot be read
	have = hugepages_free();
	assert_int_equal(have, 6 * MIB + 2048 * MIB);
	assert_int_equal(hugepages_to_set(0), 10);
	assert_int_equal(hugepages_to_set(have), 10);
	assert_int_equal(hugepages_to_set(have + 1), 11);
	assert_int_equal(hugepages_to_set(have + 2 * MIB), 11);
	assert_int_equal(hugepages_to_set(have + 2 * MIB + 1), 12);
	box.no_huge = true;
	assert_int_equal(hugepages_read(pages), 0);
	assert_int_equal(hugepages_to_set(2 * MIB), 1);
}

// In a child: DPDK can be started once in a process, and binds it to a CPU.
static void start(const struct host_settings *h, uint32_t management, uint32_t worker, uint32_t n)
{
	struct lcore_plan lcores = {.management_cpu = management, .worker_count = n};
	struct port_settings p = port_of("p", "null", NULL);
	const struct box before = box;
	pid_t child;

	for (uint32_t i = 0; i < n && i < COUNT(lcores.worker_cpus); i++)
		lcores.worker_cpus[i] = worker;
	memset(seen, 0, sizeof(*seen));
	child = fork();
	if (child == 0) {
		int output = memfd_create("stderr", 0);

		dup2(output, STDERR_FILENO);
		setenv("RUNTIME_DIRECTORY", "mine", 1);
		seen->err = io_start(h, &lcores, &p, 1, &e);
		seen->quiet = rte_log_get_global_level() == RTE_LOG_CRIT;
		io_stop();
		io_stop(); // there is nothing more to end
		snprintf(seen->text, sizeof(seen->text), "%s", e.text);
		seen->again = io_start(h, &lcores, &p, 1, &e);
		seen->restored = !memcmp(box.cpus, before.cpus, sizeof(box.cpus)) &&
		                 !strcmp(getenv("RUNTIME_DIRECTORY"), "mine");
		assert_true(pread(output, seen->said, sizeof(seen->said) - 1, 0) >= 0);
		seen->removed = faccessat(AT_FDCWD, seen->folder, F_OK, 0) < 0;
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(seen->restored);
}

static void the_memory_of_a_run_is_as_the_file_says(void **state)
{
	const uint64_t gib = 1024 * MIB;
	static const struct {
		int32_t memory;
		unsigned size_mib; // 0: automatic
		unsigned free_2m;
		int err;
		const char *arguments, *text;
		bool noted;
	} cases[] = {
		{MEMORY_HUGEPAGES, 1024, 512, 0, "--in-memory ", ""},
		{MEMORY_HUGEPAGES, 1024, 511, -ENOMEM, "", "1024 MiB are needed and 1022 are free"},
		{MEMORY_AUTO, 1024, 512, 0, "--in-memory ", ""},
		{MEMORY_AUTO, 1024, 511, 0, "-m 1025 ", "", true},
		{MEMORY_PAGES, 1024, 512, 0, "-m 1025 ", ""},
		{MEMORY_PAGES, 100, 0, -ENOMEM, "", "100 MiB are too few, the ports need "},
	};
	struct port_settings p = port_of("p", "null", NULL);
	struct host_settings h = {.memory = MEMORY_PAGES, .memory_size = 0};
	char expected[32];

	for (size_t i = 0; i < COUNT(cases); i++) {
		box.free_2m = cases[i].free_2m;
		h = (struct host_settings){
			.memory = cases[i].memory, .memory_size = gib / 1024 * cases[i].size_mib};
		start(&h, 1, 1, 1);
		assert_int_equal(seen->err, cases[i].err);
		assert_int_equal(seen->again, cases[i].err ? cases[i].err : -EALREADY);
		assert_non_null(strstr(seen->arguments, cases[i].arguments));
		assert_non_null(strstr(seen->text, cases[i].text));
		assert_int_equal(!!strstr(seen->said, "slower than hugepages"), cases[i].noted);
	}
	snprintf(expected, sizeof(expected), "-m %u ",
		(unsigned)((port_memory(&p) + 96 * MIB) / MIB + 1));
	for (int i = 0; i < 3; i++) {
		const uint64_t sizes[] = {0, UINT64_MAX, port_memory(&p) + 96 * MIB};

		h = (struct host_settings){.memory = MEMORY_PAGES, .memory_size = sizes[i]};
		start(&h, 1, 1, 1);
		assert_int_equal(seen->err, 0);
		assert_non_null(strstr(seen->arguments, expected));
	}
	h.memory_size--;
	start(&h, 1, 1, 1);
	assert_int_equal(seen->err, -ENOMEM);
	snprintf(expected, sizeof(expected), "the ports need %u MiB",
		(unsigned)(port_memory(&p) / MIB + 97));
	assert_non_null(strstr(seen->text, expected));
}

static void eal_has_a_folder_as_long_as_it_runs(void **state)
{
	const struct host_settings h = {.memory = MEMORY_PAGES};

	start(&h, 1, 1, 1);
	assert_non_null(strstr(seen->folder, "/eal-"));
	assert_true(seen->removed);
	assert_true(seen->bound);
	assert_true(seen->quiet);
	assert_int_equal(seen->cleanups, 1);
	box.eal = -EPERM;
	start(&h, 1, 1, 1);
	assert_true(seen->err < 0);
	assert_int_equal(seen->again, -EALREADY);
	assert_true(seen->removed);
	assert_int_equal(seen->cleanups, 0);
}

static void the_folder_of_eal_is_made_again_when_it_vanishes(void **state)
{
	static const struct {
		int error;
		unsigned times;
		int err;
	} cases[] = {
		{ENOENT, 3, 0},
		{ENOENT, 1000, -ENOENT},
		{EACCES, 1, -EACCES},
		{EEXIST, 1, 0},
	};
	const struct host_settings h = {.memory = MEMORY_PAGES};

	for (size_t i = 0; i < COUNT(cases); i++) {
		box.folder_error = cases[i].error;
		box.folder_errors = cases[i].times;
		start(&h, 1, 1, 1);
		assert_int_equal(seen->err, cases[i].err);
		assert_int_equal(!!strstr(seen->text, "cannot be made: "), cases[i].err != 0);
	}
}

static void dpdk_talks_while_ports_start_or_on_demand(void **state)
{
	eal_set_talkative(true);
	assert_int_equal(rte_log_get_global_level(), RTE_LOG_INFO);
	eal_set_talkative(false);
	assert_int_equal(rte_log_get_global_level(), RTE_LOG_CRIT);
	log_set_level(LOG_VERBOSE);
	eal_set_talkative(false);
	assert_int_equal(rte_log_get_global_level(), RTE_LOG_INFO);
	log_set_level(LOG_NORMAL);
}

static void cpus_must_be_the_processes_own(void **state)
{
	const struct host_settings h = {.memory = MEMORY_PAGES};
	char most[32];

	start(&h, 4095, 1, 1);
	assert_int_equal(seen->err, -EINVAL);
	assert_non_null(strstr(seen->text, "CPU 4095 (host.management_cpu)"));
	assert_non_null(strstr(seen->text, "(available: 1)"));
	start(&h, 1, 2, 1);
	assert_int_equal(seen->err, -EINVAL);
	start(&h, 1, 4096, 1);
	assert_int_equal(seen->err, -EINVAL);
	assert_non_null(strstr(seen->text, "CPU 4096 (ports[].cpus)"));
	start(&h, 1, 1, RTE_MAX_LCORE);
	assert_int_equal(seen->err, -EINVAL);
	assert_non_null(strstr(seen->text, "too many for this DPDK (up to "));
	snprintf(most, sizeof(most), "(up to %d)", RTE_MAX_LCORE - 1);
	assert_non_null(strstr(seen->text, most));
	memset(box.cpus, 0xff, sizeof(box.cpus));
	start(&h, 4095, 4095, 1);
	assert_int_equal(seen->err, 0);
	assert_true(seen->bound);
	start(&h, 1, 1, RTE_MAX_LCORE - 1);
	assert_int_equal(seen->err, 0);
	box.no_binding = true;
	start(&h, 7, 7, 1);
	assert_int_equal(seen->err, -EPERM);
	assert_non_null(strstr(seen->text, "CPU 7 cannot be used"));
	box.no_affinity = true;
	start(&h, 7, 7, 1);
	assert_int_equal(seen->err, -EINVAL);
	assert_non_null(strstr(seen->text, "cannot be read"));
}

static void a_run_without_files_to_open_is_refused(void **state)
{
	const struct host_settings h = {.memory = MEMORY_PAGES};
	pid_t child = fork();
	int status;

	if (child == 0) { // a hard limit cannot be undone
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){16, 16});
		start(&h, 1, 1, 1);
		_exit(seen->err == -EMFILE && strstr(seen->text, "`ulimit -n 1024`") ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	child = fork();
	if (child == 0) { // the soft one is raised
		struct rlimit limit;

		getrlimit(RLIMIT_NOFILE, &limit);
		limit.rlim_cur = 16;
		setrlimit(RLIMIT_NOFILE, &limit);
		start(&h, 1, 1, 1);
		_exit(seen->err ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void cpus_are_listed_as_ranges(void **state)
{
	static const struct {
		unsigned long first, last; // of the words
		const char *text;
	} cases[] = {
		{0, 0, "(available: )"},
		{1, 0, "(available: 0)"},
		{0x10f, 0, "(available: 0-3, 8)"},
		{6, 1ul << 63, "(available: 1-2, 4095)"},
		{5, 3ul << 62, "(available: 0, 2, 4094-4095)"},
	};
	const struct host_settings h = {.memory = MEMORY_PAGES};

	for (size_t i = 0; i < COUNT(cases); i++) {
		fresh(state);
		box.cpus[0] = cases[i].first;
		box.cpus[COUNT(box.cpus) - 1] = cases[i].last;
		start(&h, 64, 64, 1);
		assert_int_equal(seen->err, -EINVAL);
		assert_non_null(strstr(seen->text, cases[i].text));
	}
	memset(box.cpus, 0x55, sizeof(box.cpus)); // longer than its place
	start(&h, 1, 1, 1);
	assert_int_equal(seen->err, -EINVAL);
	assert_non_null(strstr(seen->text, "(available: 0, 2, 4, "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_card_must_be_free_for_dpdk, fresh),
		cmocka_unit_test_setup(a_card_that_the_kernel_shares_must_not_be_the_hosts, fresh),
		cmocka_unit_test_setup(missing_capabilities_come_with_the_command, fresh),
		cmocka_unit_test_setup(packet_memory_must_be_locked, fresh),
		cmocka_unit_test_setup(hugepages_must_suffice_where_they_are_wanted, fresh),
		cmocka_unit_test_setup(figures_of_memory_are_the_kernels, fresh),
		cmocka_unit_test_setup(the_memory_of_a_run_is_as_the_file_says, fresh),
		cmocka_unit_test_setup(eal_has_a_folder_as_long_as_it_runs, fresh),
		cmocka_unit_test_setup(the_folder_of_eal_is_made_again_when_it_vanishes, fresh),
		cmocka_unit_test_setup(dpdk_talks_while_ports_start_or_on_demand, fresh),
		cmocka_unit_test_setup(cpus_must_be_the_processes_own, fresh),
		cmocka_unit_test_setup(a_run_without_files_to_open_is_refused, fresh),
		cmocka_unit_test_setup(cpus_are_listed_as_ranges, fresh),
	};

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return seen == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
