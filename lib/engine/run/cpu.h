// SPDX-License-Identifier: BSD-3-Clause
// CPU time from the text of /proc/stat, of this box or of another, and figures from it.
// Path: cold. Any thread.
#pragma once

#include <stdbool.h>

#include "engine/result/result.h"

#define CPU_COLUMNS 8   // of /proc/stat, as proc(5) has them; guests are in user and nice
#define CPU_EACH    256 // CPUs looked at one by one

// In the kernel's ticks.
struct cpu_times {
	double all[CPU_COLUMNS]; // over all CPUs
	struct {
		double used, total;
	} each[CPU_EACH];
	unsigned cpus;
};

// false: this is no /proc/stat.
bool cpu_parse(const char *text, struct cpu_times *out);

// This box, now. false: there is no /proc/stat.
bool cpu_read(struct cpu_times *out);

// Shares of the CPUs' time between two readings. Used is all but idle, waiting for input and
// output, and stolen by the host of a virtual machine. NAN: no time has passed.
struct result_cpu_use cpu_use(const struct cpu_times *from, const struct cpu_times *to);

// netperf's service demand: microseconds of CPU for each of per_s transactions; NAN: there were
// none.
double cpu_demand_us(double used, unsigned cpus, double per_s);
