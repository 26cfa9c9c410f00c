// SPDX-License-Identifier: BSD-3-Clause
// Inside io: the arguments of DPDK's environment. io_start and io_stop (io/port.h) make the calls.
// Path: cold. Management thread.
#pragma once

#include <stdbool.h>

#include "io/cpus.h"
#include "io/port.h"

#define EAL_ARGS_MAX (32 + 2 * PORT_MAX)

// The arguments of rte_eal_init, and the text they point to: EAL keeps pointers to it as long as it
// runs.
struct eal_args {
	int argc;
	char *argv[EAL_ARGS_MAX];
	size_t used;
	char text[8192];
};

// pages_mib 0: hugepages. prefix: name of this run among other users of DPDK. 0, or -E2BIG.
int eal_args_build(struct eal_args *a, const struct lcore_plan *lcores, const cpu_set_t *allowed,
	const struct port_settings *ports, unsigned count, uint64_t pages_mib, const char *prefix);

// While ports start, DPDK logs all that may explain a failure (into a capture). At other times it
// logs next to nothing: errors of drivers during a run are in their counters.
void eal_set_talkative(bool on);
