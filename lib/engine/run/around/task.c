// SPDX-License-Identifier: BSD-3-Clause
// A shell command in a thread of its own, so nothing waits for it. Path: cold. Management thread |
// the task's thread.
#include "engine/run/around/task.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "engine/run/around/command.h"
#include "io/driver/launch.h"
#include "io/host/privileges.h"

struct task {
	pthread_t thread;
	const struct clock *clock;
	struct command_run command;
	_Atomic bool over;
	struct task_end end; // the thread's until it is over
};

static int is_cut(void *ctx)
{
	return interrupt_count > 1 ? SIGKILL : 0;
}

static void *task_loop(void *arg)
{
	struct task *t = arg;

	privileges_drop(true);
	t->end.rc = command_run(&t->command);
	t->end.ended = clock_time(t->clock);
	command_outcome(&t->command, t->end.rc, t->end.outcome, sizeof(t->end.outcome));
	atomic_store_explicit(&t->over, true, memory_order_release);
	return NULL;
}

struct task *task_start(const struct clock *c, const char *what, const char *text, char *out,
	size_t room, uint64_t timeout_ns)
{
	struct task *t = calloc(1, sizeof(*t));
	int rc;

	if (!t) {
		log_error("%s: not enough memory", what);
		return NULL;
	}
	t->clock = c;
	t->command = (struct command_run){.text = text,
		.out = out,
		.room = room,
		.timeout_ns = timeout_ns,
		.interrupt = is_cut};
	t->end.began = clock_time(c);
	rc = launch_thread(&t->thread, task_loop, t);
	if (rc == 0)
		return t;
	log_error("%s: %s", what, strerror(rc));
	free(t);
	return NULL;
}

bool task_is_over(const struct task *t)
{
	return atomic_load_explicit(&t->over, memory_order_acquire);
}

void task_end(struct task *t, struct task_end *out)
{
	launch_join(t->thread);
	*out = t->end;
	free(t);
}
