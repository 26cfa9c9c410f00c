// SPDX-License-Identifier: BSD-3-Clause
// DPDK's environment (EAL): its arguments, its start and its end, and the privileges of its
// threads. Path: cold. Management thread.
#pragma once

#include <stdbool.h>

#include "io/host/cpus.h"
#include "io/port_state.h"

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

// Initialise EAL once per process, with the memory that the ports need. 0 or -errno with e. The
// calling thread is then bound to the management CPU. A second call, also after a failure, is
// -EALREADY.
int io_start(const struct host_settings *h, const struct lcore_plan *lcores,
	const struct port_settings *ports, unsigned count, struct io_error *e);
// With all ports open: workers and DPDK's own threads give up all capabilities; the calling thread
// keeps the ones needed for closing the ports and for the user's files and commands. 0 or -errno
// with e.
int io_drop_privileges(const struct port_settings *ports, unsigned count, struct io_error *e);

void io_stop(void);
