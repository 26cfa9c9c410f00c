// SPDX-License-Identifier: BSD-3-Clause
// CPU time from the text of /proc/stat, of this box or of another, and figures from it.
// Path: cold. Any thread.
#pragma once

#include <stdbool.h>

struct cpu_times {
	double busy, total; // in the kernel's ticks, over all CPUs
	unsigned cpus;
};

// false: this is no /proc/stat. Busy is all but idle and waiting for input and output.
bool cpu_parse(const char *text, struct cpu_times *out);

// This box, now. false: there is no /proc/stat.
bool cpu_read(struct cpu_times *out);

// Share of all CPUs that was busy between two readings; NAN: no time has passed.
double cpu_used(const struct cpu_times *from, const struct cpu_times *to);

// netperf's service demand: microseconds of CPU for each of per_s transactions; NAN: there were
// none.
double cpu_demand_us(double used, unsigned cpus, double per_s);
