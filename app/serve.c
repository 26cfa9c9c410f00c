// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "serve.h"

#include <pthread.h>
#include <signal.h>

#include "io/privileges.h"

#define TIMEOUT_S 10 // of a connection that is silent

struct order {
	int fd;
	unsigned connections;
	MHD_AccessHandlerCallback answer;
	void *ctx;
	struct MHD_Daemon *daemon;
};

// The thread of libmicrohttpd inherits what this one has: no capability, and no signal.
static void *start_daemon(void *arg)
{
	struct order *o = arg;

	if (privileges_drop(false) < 0)
		return NULL;
	o->daemon = MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD, 0, NULL, NULL, o->answer, o->ctx,
		MHD_OPTION_LISTEN_SOCKET, o->fd, MHD_OPTION_CONNECTION_LIMIT, o->connections,
		MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S, MHD_OPTION_END);
	return NULL;
}

struct MHD_Daemon *serve_start(
	int fd, unsigned connections, MHD_AccessHandlerCallback answer, void *ctx)
{
	struct order o = {fd, connections, answer, ctx, NULL};
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, start_daemon, &o) == 0)
		pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return o.daemon;
}
