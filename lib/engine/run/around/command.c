// SPDX-License-Identifier: BSD-3-Clause
// posix_spawn, a pipe, and a deadline. The command has a process group of its own, so an interrupt
// from the terminal is for the tester alone. Path: cold. Management thread | the probe's thread.
#include "engine/run/around/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS 5000000ull // between two checks for its end

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static size_t count_of(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

// Does the list contain a setting of the same name?
static bool is_set(char *const *list, const char *setting)
{
	size_t len = strcspn(setting, "=") + 1;

	for (; list && *list; list++)
		if (strncmp(*list, setting, len) == 0)
			return true;
	return false;
}

// Returns the environment with `more` added; the caller frees the array.
static char **environment_with(char *const *more)
{
	char **out = calloc(count_of(environ) + count_of(more) + 1, sizeof(*out));
	size_t n = 0;

	for (size_t i = 0; out && environ[i]; i++)
		if (!is_set(more, environ[i]))
			out[n++] = environ[i];
	for (size_t i = 0; out && more && more[i]; i++)
		out[n++] = more[i];
	return out;
}

static int spawn(const struct command_run *c, int to, pid_t *child)
{
	char *const argv[] = {"sh", "-c", (char *)c->text, NULL};
	char **env = environment_with(c->more_env);
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t all, none;
	int rc;

	if (!env)
		return -ENOMEM;
	sigfillset(&all);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, to, 1);
	posix_spawn_file_actions_addclosefrom_np(&files, 3);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setsigmask(&attributes, &none);
	rc = posix_spawn(child, "/bin/sh", &files, &attributes, argv, env);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	free(env);
	return -rc;
}

// A command that runs.
struct running {
	const struct command_run *command;
	pid_t child;
	uint64_t deadline;
	int sent; // signal, 0: none yet
};

// Sends the signal that is asked for, if any. Returns 0 or -ETIMEDOUT.
static int look_up(struct running *r)
{
	const struct command_run *c = r->command;
	int number = c->interrupt ? c->interrupt(c->ctx) : 0;

	if (number && number != r->sent)
		kill(-r->child, number);
	r->sent = number ? number : r->sent;
	return now_ns() >= r->deadline ? -ETIMEDOUT : 0;
}

// Reads all that it prints, until it closes its output. Returns 0, -E2BIG or -ETIMEDOUT.
static int read_all(struct running *r, int from)
{
	const struct command_run *c = r->command;
	size_t len = 0;
	int rc = 0;

	while ((rc = look_up(r)) == 0) {
		struct pollfd p = {.fd = from, .events = POLLIN};
		ssize_t n;

		if (poll(&p, 1, POLL_NS / 1000000) <= 0)
			continue;
		n = read(from, c->out + len, c->room - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
		if (len == c->room - 1)
			return -E2BIG;
	}
	c->out[len] = '\0';
	return rc;
}

static int wait_for(struct running *r, int *status)
{
	int rc = 0;

	while (waitpid(r->child, status, WNOHANG) == 0) {
		rc = look_up(r);
		if (rc < 0)
			return rc;
		nanosleep(&(struct timespec){0, POLL_NS}, NULL);
	}
	return 0;
}

static int command_finish(struct running *r, int rc)
{
	int status = 0;

	if (rc == 0)
		rc = wait_for(r, &status);
	if (rc < 0) {
		kill(-r->child, SIGKILL);
		waitpid(r->child, &status, 0);
	}
	if (r->sent)
		return -ECANCELED;
	if (rc < 0)
		return rc;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

int command_run(const struct command_run *c)
{
	struct running r = {.command = c, .deadline = now_ns() + c->timeout_ns};
	int ends[2] = {-1, -1}, rc;

	if (c->out && pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	rc = spawn(c, c->out ? ends[1] : STDERR_FILENO, &r.child);
	if (c->out)
		close(ends[1]);
	if (rc == 0) {
		rc = c->out ? read_all(&r, ends[0]) : 0;
		rc = command_finish(&r, rc);
	}
	if (c->out)
		close(ends[0]);
	return rc;
}

const char *command_outcome(const struct command_run *c, int rc, char *buf, size_t room)
{
	if (rc >= 0)
		snprintf(buf, room, "exit status %d", rc);
	else if (rc == -ETIMEDOUT)
		snprintf(buf, room, "no end after %g s", 1e-9 * (double)c->timeout_ns);
	else if (rc == -ECANCELED)
		snprintf(buf, room, "interrupted");
	else if (rc == -EINTR)
		snprintf(buf, room, "killed by a signal");
	else if (rc == -E2BIG)
		snprintf(buf, room, "it prints more than %zu octets", c->room - 1);
	else
		snprintf(buf, room, "%s", strerror(-rc));
	return buf;
}
