// SPDX-License-Identifier: BSD-3-Clause
// How busy the machines were: the tester's, and the server's as far as it says so. Path: cold.
// Management thread.
#pragma once

#include <stdint.h>

#include "base/counter.h"

// The tester's box in the measured part.
struct result_cpu {
	const char *method;
	uint64_t cpus;
	double used; // of all CPUs, by everything that ran on the box
	double us_per_transaction;
};

struct result_dut_figure {
	const char *name;
	double value;
};

// In an interval.
struct result_dut_interval {
	struct counter_list figures; // struct result_dut_figure
};

struct result_dut {
	const char *command, *format;
	uint64_t samples, failures;
	uint64_t cpus;
	double used, us_per_transaction; // NAN: not known
	struct counter_list figures;     // struct result_dut_figure: the last ones of pairs
};

extern const struct counter_section result_cpu_section;
extern const struct counter_section result_dut_section;
extern const struct counter_section result_dut_interval_section;
