// SPDX-License-Identifier: BSD-3-Clause
// EAL's launch, and a flag of our own at the end of a loop: EAL orders memory correctly, but
// ThreadSanitizer cannot see that. Path: cold. Management thread | the workers' threads,
// once.
#include "io/launch.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include <rte_launch.h>
#include <rte_lcore.h>

static struct launched {
	int (*loop)(void *);
	void *arg;
	_Atomic bool ended;
} launched[RTE_MAX_LCORE];

static int run(void *arg)
{
	struct launched *l = arg;
	int rc = l->loop(l->arg);

	atomic_store_explicit(&l->ended, true, memory_order_release);
	return rc;
}

// It runs already if only its answer was not heard.
static int launch_again(struct launched *l, uint32_t worker)
{
	int err = rte_eal_remote_launch(run, l, worker + 1);

	return err == -EBUSY ? 0 : err;
}

// EAL's number 0 is the management thread's.
void launch_loop(uint32_t worker, int (*loop)(void *), void *arg)
{
	struct launched *l = &launched[worker];

	l->loop = loop;
	l->arg = arg;
	atomic_store_explicit(&l->ended, false, memory_order_relaxed);
	// Without its thread a worker would send nothing, and that would be the server's fault.
	if (rte_eal_remote_launch(run, l, worker + 1) < 0 && launch_again(l, worker) < 0)
		abort();
}

void launch_wait(uint32_t worker)
{
	rte_eal_wait_lcore(worker + 1);
	atomic_load_explicit(&launched[worker].ended, memory_order_acquire);
}

void launch_wait_all(void)
{
	rte_eal_mp_wait_lcore();
	for (uint32_t i = 0; i < RTE_MAX_LCORE; i++)
		atomic_load_explicit(&launched[i].ended, memory_order_acquire);
}
