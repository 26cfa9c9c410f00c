// SPDX-License-Identifier: BSD-3-Clause
// A responder on another host for the time of a test: a `ddiperf serve` there is asked to start it,
// for its counts and for the CPU time of its host. It ends when it is told to, or soon after this
// program has died. Path: cold. Main thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/arena.h"
#include "engine/run/around/cpu.h"

struct far {
	struct addr_server at; // of the serve
	const char *token;     // NULL: none
	struct arena *arena;
	char id[64]; // of the run there; "": none
	char file[32];
	struct cpu_times first, last;
	bool measured, again; // first and last are known
	uint64_t looked_ms;
};

#define FAR_PORT "far" // name of the port in its file

// Start the responder of that file there, and wait until it answers. port: tells files of several
// near ends apart. 0, or -errno, which was logged: nothing runs there then.
int far_open(struct far *f, const char *yaml, uint16_t port);
// The CPU time of the host; the first reading is that of the begin. The responder is kept.
void far_measure(struct far *f);
// The responder is kept; to be called again and again.
void far_keep(struct far *f);
// End it. Its result, a new reference; NULL: there is none (logged).
json_t *far_close(struct far *f);
// Use of the CPUs between the first and the last reading, as `dut` of a result; NULL: not known.
json_t *far_cpu(const struct far *f);
