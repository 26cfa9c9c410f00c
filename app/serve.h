// SPDX-License-Identifier: BSD-3-Clause
// A thread of libmicrohttpd's that answers at a socket, without a capability and without a signal.
// Path: cold. Main thread.
#pragma once

#include <microhttpd.h>

// NULL: nobody can answer. MHD_stop_daemon closes the socket, too.
struct MHD_Daemon *serve_start(
	int fd, unsigned connections, MHD_AccessHandlerCallback answer, void *ctx);
