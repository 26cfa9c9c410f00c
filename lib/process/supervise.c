// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Any thread.
#include "process/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int supervise_start(struct supervised *s, const struct child *c, bool events)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1};
	struct child piped = *c;
	int rc = pipe2(in, O_CLOEXEC) < 0 || (events && pipe2(out, O_CLOEXEC) < 0) ? -errno : 0;

	*s = (struct supervised){.orders = in[1], .events = out[0]};
	piped.in = in[0];
	piped.out = events ? out[1] : c->out;
	if (rc == 0)
		rc = child_start(&piped, &s->pid);
	close_end(&in[0]);
	close_end(&out[1]);
	if (rc < 0) {
		s->pid = 0;
		supervise_close(s);
		return rc;
	}
	fcntl(s->orders, F_SETFL, O_NONBLOCK);
	if (events)
		fcntl(s->events, F_SETFL, O_NONBLOCK);
	return 0;
}

bool supervise_order(const struct supervised *s, const char *line, size_t len)
{
	return s->orders >= 0 && write(s->orders, line, len) == (ssize_t)len;
}

void supervise_end(struct supervised *s, bool by_signal)
{
	if (by_signal && s->pid)
		kill(s->pid, SIGINT);
	else
		close_end(&s->orders);
	if (!s->signal_ms)
		s->signal_ms = clock_steady_ms() + SUPERVISE_PATIENCE_MS;
}

static void escalate(struct supervised *s)
{
	static const int signals[] = {SIGINT, SIGINT, SIGKILL};

	if (!s->signal_ms || clock_steady_ms() < s->signal_ms || s->signals == 3)
		return;
	kill(s->pid, signals[s->signals++]);
	s->signal_ms = clock_steady_ms() + SUPERVISE_PATIENCE_MS;
}

bool supervise_ended(struct supervised *s, int *code)
{
	int status;

	if (!s->pid)
		return false;
	if (waitpid(s->pid, &status, WNOHANG) != s->pid) {
		escalate(s);
		return false;
	}
	s->pid = 0; // no more signals are sent to it
	*code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return true;
}

void supervise_close(struct supervised *s)
{
	close_end(&s->orders);
	close_end(&s->events);
}
