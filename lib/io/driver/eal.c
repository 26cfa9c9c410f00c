// SPDX-License-Identifier: BSD-3-Clause
// Starting and ending DPDK's environment: CPUs, memory mode, a runtime directory of its own that is
// removed again. Path: cold. Management thread.
#include "io/driver/eal.h"
#include "io/driver/driver.h"
#include "io/driver/memory.h"
#include "io/port_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_log.h>

#include "base/log.h"
#include "io/host/cpus.h"
#include "io/driver/explain.h"
#include "io/host/privileges.h"
#include "io/driver/state.h"

#define MIB           (UINT64_C(1) << 20)
#define MARGIN_MIB    96   // EAL's own tables, device structures, rings
#define FDS           24   // files that DPDK and a run open in addition to threads and ports
#define CPUS_TEXT     1024 // of a list of CPUs
#define FDS_OF_THREAD 4
#define FDS_OF_PORT   8
#define FDS_WANTED    1024
#define ALARM_MS      5000 // to wait for an alarm that is due at once

static struct {
	bool tried, running;
	struct eal_args args;
	char state_dir[256];
	char runtime_dir[300];
	struct cpus cpus; // of the process, before
} eal;

__attribute__((format(printf, 2, 3))) static int add_arg(struct eal_args *a, const char *fmt, ...)
{
	size_t room = sizeof(a->text) - a->used;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(a->text + a->used, room, fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= room || a->argc >= EAL_ARGS_MAX - 1)
		return -E2BIG;
	a->argv[a->argc++] = a->text + a->used;
	a->used += (size_t)len + 1;
	return 0;
}

// ",3@5", or with any CPU ",3@(0-3,8)".
static size_t put_lcore(
	char *text, size_t room, uint32_t lcore, uint32_t cpu, const cpu_set_t *allowed)
{
	char list[CPUS_TEXT];
	size_t used;

	if (cpu != LCORE_ANY_CPU)
		return (size_t)snprintf(text, room, "%s%u@%u", lcore ? "," : "", lcore, cpu);
	cpus_format(allowed, list, sizeof(list));
	for (char *c = list; (c = strchr(c, ' '));)
		memmove(c, c + 1, strlen(c));
	used = (size_t)snprintf(text, room, "%s%u@(%s)", lcore ? "," : "", lcore, list);
	return used < room ? used : room;
}

static int add_lcores(struct eal_args *a, const struct lcore_plan *lcores, const cpu_set_t *allowed)
{
	char text[sizeof(a->text)];
	size_t used = put_lcore(text, sizeof(text), 0, lcores->management_cpu, allowed);

	for (uint32_t i = 0; i < lcores->worker_count; i++)
		used += put_lcore(
			text + used, sizeof(text) - used, i + 1, lcores->worker_cpus[i], allowed);
	return used < sizeof(text) ? add_arg(a, "--lcores=%s", text) : -E2BIG;
}

static int add_memory(struct eal_args *a, uint64_t pages_mib)
{
	int err;

	if (!pages_mib)
		return add_arg(a, "--in-memory");
	err = add_arg(a, "--no-huge"); // refused together with --in-memory
	err = err ? err : add_arg(a, "--no-shconf");
	err = err ? err : add_arg(a, "-m");
	return err ? err : add_arg(a, "%" PRIu64, pages_mib);
}

// Only the cards that are named: DPDK would otherwise take all that it can.
static int add_devices(struct eal_args *a, const struct port_settings *ports, unsigned count)
{
	const char *why;
	char bdf[32];
	bool any = false;
	int err = 0;

	for (unsigned i = 0; !err && i < count; i++) {
		if (!port_is_pci(&ports[i]))
			continue;
		any = true;
		err = driver_of(&ports[i])->devargs(&ports[i], i, bdf, sizeof(bdf), &why);
		err = err ? err : add_arg(a, "-a");
		err = err ? err : add_arg(a, "%s", bdf);
	}
	if (any || err)
		return err;
	err = add_arg(a, "--no-pci");
	return err ? err : add_arg(a, "--iova-mode=va");
}

int eal_args_build(struct eal_args *a, const struct lcore_plan *lcores, const cpu_set_t *allowed,
	const struct port_settings *ports, unsigned count, uint64_t pages_mib, const char *prefix)
{
	int err;

	memset(a, 0, sizeof(*a));
	err = add_arg(a, "ddiperf");
	err = err ? err : add_arg(a, "--no-telemetry");
	err = err ? err : add_arg(a, "--file-prefix=%s", prefix);
	err = err ? err : add_arg(a, "--main-lcore=0");
	err = err ? err : add_lcores(a, lcores, allowed);
	err = err ? err : add_memory(a, pages_mib);
	return err ? err : add_devices(a, ports, count);
}

static int check_cpu(
	const cpu_set_t *allowed, uint32_t cpu, const char *setting, struct io_error *e)
{
	char list[256];

	if (cpu == LCORE_ANY_CPU || (cpu < CPUS_MAX && CPU_ISSET_S(cpu, CPUS_SET_LEN, allowed)))
		return 0;
	cpus_format(allowed, list, sizeof(list));
	return io_fail(e, -EINVAL, "CPU %u (%s) is not available to this process (available: %s)",
		cpu, setting, list);
}

static int check_cpus(const struct lcore_plan *lcores, const cpu_set_t *allowed, struct io_error *e)
{
	int err = check_cpu(allowed, lcores->management_cpu, "host.management_cpu", e);

	if (lcores->worker_count + 1 > RTE_MAX_LCORE)
		return io_fail(e, -EINVAL,
			"%u workers are too many for this DPDK (up to %u): use fewer CPUs in "
			"ports[].cpus",
			lcores->worker_count, RTE_MAX_LCORE - 1);
	for (uint32_t i = 0; !err && i < lcores->worker_count; i++)
		err = check_cpu(allowed, lcores->worker_cpus[i], "ports[].cpus", e);
	return err;
}

// Where a file descriptor is missing DPDK and libraries of the C library abort the process. The
// soft limit is raised as far as it may be.
static int check_descriptors(const struct lcore_plan *lcores, unsigned ports, struct io_error *e)
{
	unsigned need = FDS + FDS_OF_THREAD * (lcores->worker_count + 1) + FDS_OF_PORT * ports;
	struct rlimit limit = {0};
	int *fds = calloc(need, sizeof(*fds));
	unsigned count = 0;

	if (!fds)
		return io_fail(e, -ENOMEM, "out of memory");
	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < limit.rlim_max && limit.rlim_cur < FDS_WANTED) {
		limit.rlim_cur = limit.rlim_max < FDS_WANTED ? limit.rlim_max : FDS_WANTED;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	while (count < need && (fds[count] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
		count++;
	for (unsigned i = 0; i < count; i++)
		close(fds[i]);
	free(fds);
	if (count == need)
		return 0;
	return io_fail(e, -EMFILE,
		"this process can open %u more files, and a run needs %u (it may have %" PRIu64
		" open: `ulimit -n 1024`)",
		count, need, (uint64_t)limit.rlim_cur);
}

// Before EAL starts its own threads: they inherit it and stay off the workers' CPUs.
static int bind_to(uint32_t cpu, struct io_error *e)
{
	struct cpus one;

	if (cpu == LCORE_ANY_CPU)
		return 0;
	memset(&one, 0, sizeof(one));
	CPU_SET_S(cpu, CPUS_SET_LEN, &one.allowed.set);
	if (sched_setaffinity(0, CPUS_SET_LEN, &one.allowed.set) < 0)
		return io_fail(e, -errno, "CPU %u cannot be used: %s", cpu, strerror(errno));
	return 0;
}

static void restore_affinity(void)
{
	sched_setaffinity(0, CPUS_SET_LEN, &eal.cpus.given.set);
}

// *pages_mib: ordinary pages to take, 0: hugepages.
static int choose_memory(const struct host_settings *h, const struct port_settings *ports,
	unsigned count, uint64_t *pages_mib, struct io_error *e)
{
	uint64_t need = MARGIN_MIB * MIB, have = hugepages_free();
	bool matters = false; // NUMA nodes do not matter to sockets of the kernel

	for (unsigned i = 0; i < count; i++) {
		need += port_memory(&ports[i]);
		matters |= !driver_of(&ports[i])->sockets;
	}
	if (h->memory_size && h->memory_size != UINT64_MAX) {
		if (h->memory_size < need)
			return io_fail(e, -ENOMEM,
				"host.memory_size: %" PRIu64
				" MiB are too few, the ports need %" PRIu64
				" MiB (or set ports[].mbufs)",
				h->memory_size / MIB, need / MIB + 1);
		need = h->memory_size;
	}
	*pages_mib = 0;
	if (h->memory != MEMORY_PAGES && have >= need)
		return 0;
	if (h->memory == MEMORY_HUGEPAGES)
		return io_fail(e, -ENOMEM,
			"host.memory: hugepages: %" PRIu64 " MiB are needed and %" PRIu64
			" are free: `echo %" PRIu64
			" > /proc/sys/vm/nr_hugepages`, or host.memory: pages",
			need / MIB, have / MIB, hugepages_to_set(need));
	*pages_mib = need / MIB + 1;
	if (h->memory == MEMORY_AUTO && matters)
		log_note("packet memory takes ordinary pages, which are slower than hugepages ("
			 "`echo %" PRIu64 " > /proc/sys/vm/nr_hugepages`)",
			hugepages_to_set(need));
	return 0;
}

static void remove_runtime(void)
{
	state_remove_folder(eal.runtime_dir);
	state_leave_directory(eal.state_dir);
}

// EAL makes its directories in the folder named by systemd's variable, which it prefers for root,
// too. Another run that ends at this moment may remove the empty folder: try once more then.
static int make_runtime(struct io_error *e)
{
	for (unsigned tries = 0;; tries++) {
		int err = state_directory(eal.state_dir, sizeof(eal.state_dir));

		if (err)
			return io_fail(
				e, err, "%s cannot be used: %s", eal.state_dir, strerror(-err));
		snprintf(eal.runtime_dir, sizeof(eal.runtime_dir), "%s/eal-%d", eal.state_dir,
			(int)getpid());
		if (mkdir(eal.runtime_dir, 0700) == 0 || errno == EEXIST)
			return 0;
		if (errno != ENOENT || tries == 100)
			return io_fail(e, -errno, "%s cannot be made: %s", eal.runtime_dir,
				strerror(errno));
	}
}

static int init_in_runtime(void)
{
	const char *value = getenv("RUNTIME_DIRECTORY");
	char *before = value ? strdup(value) : NULL;
	int err;

	setenv("RUNTIME_DIRECTORY", eal.runtime_dir, 1);
	err = rte_eal_init(eal.args.argc, eal.args.argv) < 0 ? -rte_errno : 0;
	if (before)
		setenv("RUNTIME_DIRECTORY", before, 1);
	else
		unsetenv("RUNTIME_DIRECTORY");
	free(before);
	return err;
}

void eal_set_talkative(bool on)
{
	rte_log_set_global_level(on || log_is_verbose() ? RTE_LOG_INFO : RTE_LOG_CRIT);
}

static int init_captured(struct io_error *e)
{
	struct capture c;
	char *said;
	int err;

	rte_openlog_stream(stderr); // not to syslog
	capture_begin(&c);
	err = init_in_runtime();
	said = capture_end(&c);
	if (err)
		explain(e, NULL, err, said);
	free(said);
	eal_set_talkative(false);
	return err;
}

int io_start(const struct host_settings *h, const struct lcore_plan *lcores,
	const struct port_settings *ports, unsigned count, struct io_error *e)
{
	uint64_t pages_mib;
	char prefix[32];
	int err;

	if (eal.tried)
		return io_fail(e, -EALREADY, "DPDK can be started once in a process");
	err = cpus_read(&eal.cpus);
	if (err)
		return io_fail(
			e, err, "the CPUs of this process cannot be read: %s", strerror(-err));
	err = check_cpus(lcores, &eal.cpus.allowed.set, e);
	err = err ? err : check_descriptors(lcores, count, e);
	err = err ? err : choose_memory(h, ports, count, &pages_mib, e);
	if (err)
		return err;
	snprintf(prefix, sizeof(prefix), "ddiperf-%d", (int)getpid());
	err = eal_args_build(
		&eal.args, lcores, &eal.cpus.given.set, ports, count, pages_mib, prefix);
	if (err)
		io_fail(e, err, "too many ports or CPUs for the arguments of DPDK: use fewer");
	err = err ? err : make_runtime(e);
	err = err ? err : bind_to(lcores->management_cpu, e);
	if (!err) {
		eal.tried = true;
		err = init_captured(e);
	}
	eal.running = !err;
	if (err) {
		remove_runtime();
		restore_affinity();
	}
	return err;
}

// A thread of DPDK gives up its capabilities; all threads have to.
static struct {
	_Atomic unsigned done;
	_Atomic int err;
} dropped;

static void drop_own(void)
{
	int err = privileges_drop(false);

	if (err)
		dropped.err = err;
	dropped.done++;
}

static int drop_in_worker(void *unused)
{
	drop_own();
	return 0;
}

static void drop_in_alarm(void *unused)
{
	drop_own();
}

// Alarms run on the thread that waits for interrupts.
static int drop_in_interrupts(void)
{
	unsigned before = dropped.done;
	int err = rte_eal_alarm_set(1, drop_in_alarm, NULL);

	for (unsigned ms = 0; !err && dropped.done == before; ms++) {
		if (ms == ALARM_MS)
			return -ETIMEDOUT;
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	return err;
}

int io_drop_privileges(const struct port_settings *ports, unsigned count, struct io_error *e)
{
	uint64_t closing = 0;
	int err;

	for (unsigned i = 0; i < count; i++)
		if (!port_is_files(&ports[i]))
			closing |= driver_of(&ports[i])->closing;
	rte_eal_mp_remote_launch(drop_in_worker, NULL, SKIP_MAIN);
	rte_eal_mp_wait_lcore();
	if (dropped.done != rte_lcore_count() - 1)
		return io_fail(e, -EIO,
			"capabilities of threads cannot be given up: a thread does not respond");
	err = drop_in_interrupts();
	err = err ? err : dropped.err;
	err = err ? err : privileges_keep(closing);
	return err ? io_fail(e, err, "capabilities of threads cannot be given up: %s",
			     strerror(-err))
	           : 0;
}

void io_stop(void)
{
	struct capture c;

	if (!eal.running)
		return;
	eal.running = false;
	capture_begin(&c);
	rte_eal_cleanup();
	free(capture_end(&c));
	remove_runtime();
	restore_affinity();
}
