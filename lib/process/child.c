// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Any thread.
#include "process/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SELF    "/proc/self/exe"
#define STEP_MS 5

extern char **environ;

static void give_file(posix_spawn_file_actions_t *actions, int from, int to)
{
	if (from >= 0)
		posix_spawn_file_actions_adddup2(actions, from, to);
	else
		posix_spawn_file_actions_addopen(
			actions, to, "/dev/null", to == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
}

int child_start(const struct child *c, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, defaults;
	int rc;

	sigemptyset(&none);
	sigfillset(&defaults);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_init(&actions);
	give_file(&actions, c->in, STDIN_FILENO);
	give_file(&actions, c->out, STDOUT_FILENO);
	give_file(&actions, c->err, STDERR_FILENO);
	// Libraries open files without O_CLOEXEC: NATS' connection would outlive its agent.
	posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
	posix_spawn_file_actions_addchdir_np(&actions, c->folder);
	rc = posix_spawn(pid, SELF, &actions, &attributes, c->argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -rc;
}

int child_wait(pid_t pid, unsigned ms)
{
	unsigned waited = 0;
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		poll(NULL, 0, STEP_MS);
		waited += STEP_MS;
		if (waited < ms)
			continue;
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		return -ETIMEDOUT;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

int child_read(const struct child *c, enum child_output output, unsigned ms, int *file)
{
	struct child own = *c;
	pid_t pid;
	int rc;

	*file = memfd_create("output", MFD_CLOEXEC);
	if (*file < 0)
		return -errno;
	if (output != CHILD_ERR)
		own.out = *file;
	if (output != CHILD_OUT)
		own.err = *file;
	rc = child_start(&own, &pid);
	if (rc == 0)
		rc = child_wait(pid, ms);
	if (rc < 0)
		close(*file);
	else
		lseek(*file, 0, SEEK_SET);
	return rc;
}
