// SPDX-License-Identifier: BSD-3-Clause
// The CPUs that this process may use: its affinity, the CPUs that the kernel keeps free of other
// work (isolcpus=), and the quota of its control group. Path: cold. Management thread.
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define CPUS_MAX     4096
#define CPUS_SET_LEN CPU_ALLOC_SIZE(CPUS_MAX)

struct cpus {
	union {
		cpu_set_t set; // of CPUS_SET_LEN bytes
		unsigned char room[CPUS_MAX / 8];
	} given, allowed,
		isolated, // affinity; permitted CPUs; isolated permitted CPUs
		free;     // isolated CPUs without threads of other processes
	double quota;     // CPUs' worth of time (cgroups 1 and 2); INFINITY: no limit
};

// 0, or -errno. Linux leaves isolated CPUs out of the initial affinity of a process: they are
// allowed unless the affinity was set explicitly (taskset, a cpuset).
int cpus_read(struct cpus *out);

// "0-3, 8": the CPUs of the set.
void cpus_format(const cpu_set_t *set, char *buf, size_t room);
