// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "http/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/config/control.h"
#include "io/host/privileges.h"

#define TIMEOUT_S 10 // of a connection that is silent
#define BACKLOG   16

struct place {
	struct sockaddr_storage addr;
	socklen_t len;
};

static struct place place_of(const struct addr *a, uint16_t port)
{
	struct place p = {
		.len = a->len == 4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)};
	struct sockaddr_in *v4 = (struct sockaddr_in *)&p.addr;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&p.addr;

	if (a->len == 4) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, a->bytes, 4);
	} else {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		memcpy(&v6->sin6_addr, a->bytes, 16);
	}
	return p;
}

// Both families have the port at the same place.
static void describe(const struct addr *a, const struct place *p, struct serve_place *out)
{
	static const uint8_t one[16] = {[15] = 1};
	unsigned port = ntohs(((const struct sockaddr_in *)&p->addr)->sin_port);
	bool v6 = a->len == 16;
	char text[ADDR_TEXT_SIZE];

	addr_format(a, text, sizeof(text));
	snprintf(out->text, sizeof(out->text), "%s%s%s:%u", v6 ? "[" : "", text, v6 ? "]" : "",
		port);
	out->local = v6 ? memcmp(a->bytes, one, 16) == 0 : a->bytes[0] == 127;
}

// A socket file that no process listens on any more.
static void remove_left_over(const struct sockaddr_un *name, socklen_t len)
{
	struct stat st;
	int fd;

	// A file that is not a socket refuses connections, too.
	if (lstat(name->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)name, len) < 0 && errno == ECONNREFUSED)
		unlink(name->sun_path);
	close(fd);
}

int serve_bind(const struct sockaddr_storage *addr, socklen_t len)
{
	int fd = socket(addr->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), rc = 0;
	mode_t before;

	if (fd < 0)
		return -errno;
	if (addr->ss_family == AF_UNIX)
		remove_left_over((const struct sockaddr_un *)addr, len);
	else
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	before = umask(0177);
	if (bind(fd, (const struct sockaddr *)addr, len) < 0)
		rc = -errno;
	umask(before);
	if (rc == 0 && listen(fd, BACKLOG) < 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

static int listen_unix(const char *text, struct serve_place *out)
{
	struct control_place p;
	const char *what;
	int rc = control_place(text, &p, &what);

	if (rc < 0)
		return rc;
	out->fd = serve_bind(&p.addr, p.len);
	out->local = out->own = true;
	snprintf(out->text, sizeof(out->text), "%s", text);
	return out->fd < 0 ? out->fd : 0;
}

int serve_listen(const char *text, struct serve_place *out)
{
	struct place p;
	const char *what;
	struct addr a;
	uint16_t port;
	int rc;

	*out = (struct serve_place){.fd = -1};
	if (strncmp(text, SERVE_UNIX, strlen(SERVE_UNIX)) == 0)
		return listen_unix(text, out);
	rc = addr_parse_listen(text, &a, &port, &what);
	if (rc < 0)
		return rc;
	p = place_of(&a, port);
	out->fd = serve_bind(&p.addr, p.len);
	if (out->fd < 0)
		return out->fd;
	if (getsockname(out->fd, (struct sockaddr *)&p.addr, &p.len) < 0) {
		rc = -errno;
		close(out->fd);
		return rc;
	}
	describe(&a, &p, out);
	return 0;
}

struct order {
	const struct serve_daemon *settings;
	struct MHD_Daemon *daemon;
};

// The threads of libmicrohttpd inherit from this one that it has no capability and takes no signal.
static void *start_daemon(void *arg)
{
	struct order *o = arg;
	const struct serve_daemon *d = o->settings;
	unsigned flags = d->threads ? MHD_USE_THREAD_PER_CONNECTION |
	                                      MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL
	                            : MHD_USE_AUTO_INTERNAL_THREAD;
	struct serve_tls *t = d->tls;
	struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, t ? t->cert : NULL},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, t ? t->key : NULL},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, SERVE_TLS_VERSIONS},
		{t && t->clients ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0,
			t ? t->clients : NULL},
		{MHD_OPTION_END, 0, NULL}};

	if (privileges_drop(false) < 0)
		return NULL;
	if (t)
		flags |= MHD_USE_TLS;
	else
		tls[0].option = MHD_OPTION_END;
	o->daemon = MHD_start_daemon(flags, 0, NULL, NULL, d->answer, d->ctx, MHD_OPTION_ARRAY, tls,
		MHD_OPTION_NOTIFY_CONNECTION, d->connected, d->ctx, MHD_OPTION_LISTEN_SOCKET, d->fd,
		MHD_OPTION_CONNECTION_LIMIT, d->connections, MHD_OPTION_CONNECTION_TIMEOUT,
		TIMEOUT_S, MHD_OPTION_NOTIFY_COMPLETED, d->completed, d->ctx, MHD_OPTION_END);
	return NULL;
}

struct MHD_Daemon *serve_start(const struct serve_daemon *d)
{
	struct order o = {d, NULL};
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, start_daemon, &o) == 0)
		pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return o.daemon;
}
