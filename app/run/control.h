// SPDX-License-Identifier: BSD-3-Clause
// The counters of a responder for testers that know its token: responder.control. Path: cold. Main
// thread | the thread of libmicrohttpd, which waits until the main thread has produced the text.
#pragma once

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>

#include "engine/config/control.h"
#include "engine/result/result.h"

struct control {
	int fd;           // listening socket; -1: none
	const char *path; // of a Unix socket; NULL: none
	struct MHD_Daemon *daemon;
	char token[CONTROL_TOKEN_SIZE];
	pthread_mutex_t lock;
	pthread_cond_t told;
	bool asked; // under the lock, like the following
	bool over;
	char *text; // counters after the question; NULL: not yet
};

// s NULL: nothing to do. 0, or -errno, which was logged: nothing is open then.
int control_open(struct control *c, const struct control_settings *s);
// Is a request waiting for the counters?
bool control_is_asked(struct control *c);
// Answer it with these counters.
void control_tell(struct control *c, const struct result_responder *r);
void control_close(struct control *c);
