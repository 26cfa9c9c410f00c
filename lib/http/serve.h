// SPDX-License-Identifier: BSD-3-Clause
// Threads of libmicrohttpd's that answer at a socket, without a capability and without a signal.
// Path: cold. Main thread.
#pragma once

#include <microhttpd.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "http/serve_tls.h"

struct serve_daemon {
	int fd; // listens
	unsigned connections;
	bool threads; // one for each connection, so that an answer may wait; else one for all
	struct serve_tls *tls; // NULL: the connection is not encrypted. Lives as long
	MHD_AccessHandlerCallback answer;
	MHD_RequestCompletedCallback completed; // NULL: none
	MHD_NotifyConnectionCallback connected; // NULL: so, too. With TLS it calls serve_tls_demand
	void *ctx;
};

// NULL: no thread to answer. MHD_stop_daemon closes the socket, too.
struct MHD_Daemon *serve_start(const struct serve_daemon *d);

struct serve_place {
	int fd;     // listens
	bool local; // only this host reaches it
	bool own;   // only this user (and root) reaches it: a Unix socket
	// "127.0.0.1:8080", with the port that the kernel chose; "unix:PATH"
	char text[128];
};

#define SERVE_UNIX "unix:"

// Listen at `text` (addr_parse_listen, or SERVE_UNIX and a path). 0, or -errno: nothing is open
// then.
int serve_listen(const char *text, struct serve_place *out);
// A listening socket, or -errno. A Unix socket is accessible to its owner only, and replaces a file
// that no process listens on any more.
int serve_bind(const struct sockaddr_storage *addr, socklen_t len);
