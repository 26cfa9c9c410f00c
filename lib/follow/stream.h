// SPDX-License-Identifier: BSD-3-Clause
// The lines of a run (run_events.h) as they come: to a file, or to all readers of a Unix socket,
// who join and leave as they like. A slow reader is dropped, so it never holds up the run.
// Path: cold. Main thread.
#pragma once

#include "follow/run_events.h"

#define STREAM_UNIX "unix:"

struct stream;

// Where the lines go: a file that is emptied, "-" for standard output, or unix:PATH, a socket to
// listen on. A socket that a dead process has left there is replaced. option names it in messages;
// NULL: the caller reports errors. is_private: only the owner may read. *incomplete becomes
// true when a line could not be written into a file; NULL: nobody asks. 0, or -errno.
int stream_open(
	const char *option, const char *to, bool is_private, bool *incomplete, struct stream **out);

// It owns the stream; its close ends it, and removes the socket.
struct run_events_follower stream_follower(struct stream *s);
