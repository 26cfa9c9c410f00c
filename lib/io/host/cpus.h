// SPDX-License-Identifier: BSD-3-Clause
// The CPUs that this process may use: its affinity, those that the kernel keeps free of other work
// (isolcpus=), and the share of them that its control group has. Path: cold. Management thread.
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
	} given, allowed, isolated, // the affinity as it is; with what it may be; of that, isolated
		free;               // of those, without the ones that others have bound threads to
	double quota;               // CPUs' worth of time (cgroups 1 and 2); INFINITY: no limit
};

// 0, or -errno. Linux leaves isolated CPUs out of the affinity that a process begins with: they are
// allowed unless somebody else chose the affinity (taskset, a cpuset).
int cpus_read(struct cpus *out);

// "0-3, 8": the CPUs of the set.
void cpus_format(const cpu_set_t *set, char *buf, size_t room);
