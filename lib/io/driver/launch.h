// SPDX-License-Identifier: BSD-3-Clause
// Starting a loop on the CPU of a worker, or a thread beside the workers, and waiting for its end.
// Writes before the launch are visible to the loop; writes of the loop are visible after the wait.
// Path: cold. Management thread.
#pragma once

#include <pthread.h>
#include <stdint.h>

// Aborts if the thread does not begin.
// worker: index into lcore_plan.worker_cpus; nothing else runs there. The loop's return value is
// ignored.
void launch_loop(uint32_t worker, int (*loop)(void *), void *arg);

// Waits until the loop of this worker, or of any worker, has ended; returns at once without a loop.
void launch_wait(uint32_t worker);
void launch_wait_all(void);

// A thread that sleeps between short pieces of work. Signals go to the calling thread, which
// handles them. 0, or an error number.
int launch_thread(pthread_t *id, void *(*run)(void *), void *arg);
void launch_join(pthread_t id);
