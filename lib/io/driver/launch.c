// SPDX-License-Identifier: BSD-3-Clause
// EAL's launch, and an additional flag at the end of a loop: EAL orders memory correctly, but
// ThreadSanitizer cannot see that. Path: cold. Management thread | the workers' threads, once.
#include "io/driver/launch.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#define BEGIN_MS 1000 // for a thread to begin, if it is unknown whether its launch succeeded

enum { IDLE, TOLD, RUNS };

static struct launched {
	int (*loop)(void *);
	void *arg;
	_Atomic int state;
} launched[RTE_MAX_LCORE];

static int run(void *arg)
{
	struct launched *l = arg;
	int rc;

	atomic_store_explicit(&l->state, RUNS, memory_order_relaxed);
	rc = l->loop(l->arg);
	atomic_store_explicit(&l->state, IDLE, memory_order_release);
	return rc;
}

// A worker without its thread would send nothing, which would look like the server's fault.
static void wait_for_begin(const struct launched *l)
{
	for (unsigned ms = 0; atomic_load(&l->state) == TOLD; ms++) {
		if (ms == BEGIN_MS)
			abort();
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
}

// EAL's number 0 is the management thread's.
void launch_loop(uint32_t worker, int (*loop)(void *), void *arg)
{
	struct launched *l = &launched[worker];

	l->loop = loop;
	l->arg = arg;
	atomic_store_explicit(&l->state, TOLD, memory_order_relaxed);
	if (rte_eal_remote_launch(run, l, worker + 1) < 0)
		wait_for_begin(l);
}

// EAL does not wait for a thread that did not acknowledge its launch.
static void wait_for_end(const struct launched *l)
{
	while (atomic_load_explicit(&l->state, memory_order_acquire) != IDLE)
		sched_yield();
}

void launch_wait(uint32_t worker)
{
	rte_eal_wait_lcore(worker + 1);
	wait_for_end(&launched[worker]);
}

void launch_wait_all(void)
{
	rte_eal_mp_wait_lcore();
	for (uint32_t i = 0; i < RTE_MAX_LCORE; i++)
		wait_for_end(&launched[i]);
}

int launch_thread(pthread_t *id, void *(*run_thread)(void *), void *arg)
{
	sigset_t all, old;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(id, NULL, run_thread, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return error;
}

void launch_join(pthread_t id)
{
	pthread_join(id, NULL);
}
