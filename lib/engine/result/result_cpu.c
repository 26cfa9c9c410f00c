// SPDX-License-Identifier: BSD-3-Clause
// The rows of CPU time. Path: cold. Management thread.
#include "engine/result/result_cpu.h"

#define AT(of, member) .offset = offsetof(struct of, member)

static const struct counter cpu_rows[] = {
	{"method", "how it was measured: proc_stat", NULL, COUNTER_STRING, AT(result_cpu, method)},
	{"cpus", "CPUs of the box", NULL, COUNTER_U64, AT(result_cpu, cpus)},
	{"used", "share of all CPUs in use, polling workers and everything else on the box", "1",
		COUNTER_F64, AT(result_cpu, used)},
	{"us_per_transaction", "service demand: CPU time of the box over what was answered", "us",
		COUNTER_F64, AT(result_cpu, us_per_transaction)},
};
const struct counter_section result_cpu_section = {"cpu", "the tester's box in the measured part",
	COUNTER_ROWS(cpu_rows), sizeof(struct result_cpu)};

static const struct counter figure_rows[] = {
	{"name", "name of the figure", NULL, COUNTER_STRING, AT(result_dut_figure, name)},
	{"value", "what the server's side said", NULL, COUNTER_F64, AT(result_dut_figure, value)},
};
static const struct counter_section figure_section = {"figures",
	"a figure that the server's side said", COUNTER_ROWS(figure_rows),
	sizeof(struct result_dut_figure)};

static const struct counter interval_rows[] = {
	{"figures", "figures of the newest sample in the interval", NULL, COUNTER_LIST,
		AT(result_dut_interval, figures), .section = &figure_section},
};
const struct counter_section result_dut_interval_section = {"dut",
	"what the server's side said in an interval", COUNTER_ROWS(interval_rows),
	sizeof(struct result_dut_interval)};

static const struct counter dut_rows[] = {
	{"command", "the probe", NULL, COUNTER_STRING, AT(result_dut, command)},
	{"format", "proc_stat or pairs", NULL, COUNTER_STRING, AT(result_dut, format)},
	{"samples", "times that the probe gave figures", NULL, COUNTER_U64,
		AT(result_dut, samples)},
	{"failures", "times that it did not", NULL, COUNTER_U64, AT(result_dut, failures)},
	{"cpus", "CPUs of the server's box; 0: not known", NULL, COUNTER_U64, AT(result_dut, cpus)},
	{"used", "share of all its CPUs in use in the measured part; null: not known", "1",
		COUNTER_F64, AT(result_dut, used)},
	{"us_per_transaction", "service demand: its CPU time over what was answered", "us",
		COUNTER_F64, AT(result_dut, us_per_transaction)},
	{"figures", "the last ones of a probe that prints pairs", NULL, COUNTER_LIST,
		AT(result_dut, figures), .section = &figure_section},
};
const struct counter_section result_dut_section = {
	"dut", "the machine under test", COUNTER_ROWS(dut_rows), sizeof(struct result_dut)};
