// SPDX-License-Identifier: BSD-3-Clause
// sched_getaffinity, /sys/devices/system/cpu and the control groups of this process, from its own
// one to the root. Path: cold. Management thread.
#include "io/host/cpus.h"

#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define ISOLATED   "/sys/devices/system/cpu/isolated"
#define ONLINE     "/sys/devices/system/cpu/online"
#define GROUPS     "/sys/fs/cgroup"
#define OLD_GROUPS "/cpu" // below it, of version 1
#define THREADS    "/proc/[0-9]*/task/[0-9]*/status"

// "0-3,8", as the kernel writes it.
static void read_set(const char *path, cpu_set_t *out)
{
	char line[4096], *at = line, *end;

	CPU_ZERO_S(CPUS_SET_LEN, out);
	file_first_line(path, line, sizeof(line));
	for (;; at = end + 1) {
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (end == at)
			return;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < CPUS_MAX; first++)
			CPU_SET_S(first, CPUS_SET_LEN, out);
		if (*end != ',')
			return;
	}
}

// The number at the start of a file of a control group; NAN without one, as in "max".
static double group_number(const char *group, const char *file, double *second)
{
	char path[4096 + sizeof(GROUPS OLD_GROUPS) + 32], line[128];
	double first = NAN;

	snprintf(path, sizeof(path), GROUPS "%s%s", group, file);
	if (sscanf(file_first_line(path, line, sizeof(line)), "%lf %lf", &first, second) < 1)
		return NAN;
	return first;
}

// CPUs' worth of time. Version 2 has "50000 100000" or "max 100000" in one file, version 1 the
// numbers in one each, and -1 for no limit.
static double group_quota(const char *group, bool old)
{
	double period = NAN, none;
	double quota = group_number(group, old ? "/cpu.cfs_quota_us" : "/cpu.max", &period);

	if (old)
		period = group_number(group, "/cpu.cfs_period_us", &none);
	return quota > 0 && period > 0 ? quota / period : INFINITY;
}

// The lowest quota of the group and of all groups around it. Modifies the path.
static double least_quota(char *group, bool old)
{
	size_t root = old ? strlen(OLD_GROUPS) : 0;
	double least = INFINITY;

	for (char *end = group; end; *end = '\0') {
		least = fmin(least, group_quota(group, old));
		end = strrchr(group + root, '/');
		if (!end)
			break;
	}
	return least;
}

// "0::/pod/box" of version 2, "4:cpu,cpuacct:/pod/box" of version 1; both may occur.
static double read_quota(void)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[4096], group[4096 + sizeof(OLD_GROUPS)];
	double least = INFINITY;

	while (f && fgets(line, sizeof(line), f)) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
		bool old;

		if (!path)
			continue;
		*names = *path = ',';
		path[1 + strcspn(path + 1, "\n")] = '\0';
		old = strstr(names, ",cpu,") && strstr(names, ",cpu,") < path;
		if (!old && names + 1 != path)
			continue; // of other controllers
		snprintf(group, sizeof(group), "%s%s", old ? OLD_GROUPS : "", path + 1);
		least = fmin(least, least_quota(group, old));
	}
	if (f)
		fclose(f);
	return least;
}

// The CPU in this status file if it is the only CPU of another process's thread, otherwise -1.
// Kernel threads, which have no memory, are bound to each CPU.
static int bound_to(const char *path)
{
	unsigned long own = (unsigned long)getpid(), of = own, cpu = 0;
	FILE *f = fopen(path, "re");
	bool has_memory = false;
	char line[4096], rest;
	int found = -1;

	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "Tgid: %lu", &of);
		has_memory = has_memory || strncmp(line, "VmSize:", 7) == 0;
		if (sscanf(line, "Cpus_allowed_list: %lu %c", &cpu, &rest) == 1 && cpu < CPUS_MAX)
			found = (int)cpu;
	}
	if (f)
		fclose(f);
	return has_memory && of != own ? found : -1;
}

// Isolated CPUs to which a thread is bound are in use by another run or program.
static void leave_out_used(cpu_set_t *isolated)
{
	glob_t g;

	if (CPU_COUNT_S(CPUS_SET_LEN, isolated) == 0 || glob(THREADS, GLOB_NOSORT, NULL, &g) != 0)
		return;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		int cpu = bound_to(g.gl_pathv[i]);

		if (cpu >= 0)
			CPU_CLR_S(cpu, CPUS_SET_LEN, isolated);
	}
	globfree(&g);
}

int cpus_read(struct cpus *out)
{
	cpu_set_t *allowed = &out->allowed.set, *isolated = &out->isolated.set;
	struct cpus all;

	memset(out, 0, sizeof(*out));
	memset(&all, 0, sizeof(all));
	if (sched_getaffinity(0, CPUS_SET_LEN, allowed) < 0)
		return -errno;
	out->given = out->allowed;
	read_set(ISOLATED, isolated);
	read_set(ONLINE, &all.allowed.set);
	CPU_XOR_S(CPUS_SET_LEN, &all.allowed.set, &all.allowed.set, isolated);
	if (CPU_EQUAL_S(CPUS_SET_LEN, &all.allowed.set, allowed))
		CPU_OR_S(CPUS_SET_LEN, allowed, allowed, isolated);
	CPU_AND_S(CPUS_SET_LEN, isolated, isolated, allowed);
	out->free = out->isolated;
	leave_out_used(&out->free.set);
	out->quota = read_quota();
	return 0;
}

void cpus_format(const cpu_set_t *set, char *buf, size_t room)
{
	size_t used = 0;

	buf[0] = '\0';
	for (int i = 0; i < CPUS_MAX && used < room; i++) {
		int first = i;

		if (!CPU_ISSET_S(i, CPUS_SET_LEN, set))
			continue;
		while (i + 1 < CPUS_MAX && CPU_ISSET_S(i + 1, CPUS_SET_LEN, set))
			i++;
		used += (size_t)snprintf(buf + used, room - used, first == i ? "%s%d" : "%s%d-%d",
			used ? ", " : "", first, i);
	}
}
