// SPDX-License-Identifier: BSD-3-Clause
// CPU time from the text of /proc/stat, of this box or of another, and figures from it.
// Path: cold. Any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/result/result.h"

#define CPU_COLUMNS 8   // of /proc/stat, as proc(5) has them; guests are in user and nice
#define CPU_EACH    256 // CPUs examined one by one

// In the kernel's ticks.
struct cpu_times {
	double all[CPU_COLUMNS]; // over all CPUs
	struct {
		double used, total;
	} each[CPU_EACH];
	unsigned cpus;
};

// Returns false if this is not the text of /proc/stat.
bool cpu_parse(const char *text, struct cpu_times *out);

// Reads this box, now. Returns false without /proc/stat.
bool cpu_read(struct cpu_times *out);

#define CPU_USERS 2048 // processes examined

// The CPU time of each process, in the kernel's ticks.
struct cpu_users {
	struct cpu_user {
		int pid;
		char name[16]; // as the kernel has it, without control characters
		uint64_t ticks;
	} all[CPU_USERS];
	unsigned count;
	uint64_t at_ns; // CLOCK_MONOTONIC
};

// Parses a line of /proc/PID/stat. Returns false if it is malformed.
bool cpu_user_parse(const char *line, struct cpu_user *out);
// Reads all visible processes of this box, now.
void cpu_users_read(struct cpu_users *out);
// "cc1 (pid 12) 88 %, knotd (pid 9) 40 %": the processes with the most CPU time between two
// readings, at most three, and none below a twentieth of a CPU; self: left out. "": none.
void cpu_busiest(const struct cpu_users *from, const struct cpu_users *to, int self, char *text,
	size_t room);

// Returns the shares of the CPUs' time between two readings. Used is all but idle, waiting for
// input and output, and stolen by the host of a virtual machine. NAN: no time has passed.
struct result_cpu_use cpu_use(const struct cpu_times *from, const struct cpu_times *to);

// Returns netperf's service demand: microseconds of CPU for each of per_s transactions; NAN: no
// transactions.
double cpu_demand_us(double used, unsigned cpus, double per_s);
