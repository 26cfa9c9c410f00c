// SPDX-License-Identifier: BSD-3-Clause
// A responder on another host for the duration of a test: started by a `ddiperf serve` there, for
// its counts and its host's CPU time. It ends on request, or soon after this program has died.
// Path: cold. Main thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/arena.h"
#include "engine/run/around/cpu.h"

struct far {
	struct addr_server at; // address of the serve
	const char *token;     // NULL: none
	struct arena *arena;
	char id[64]; // of the run there; "": none
	char file[32];
	struct cpu_times first, last;
	bool measured, again; // first and last are valid
	uint64_t looked_ms;
};

#define FAR_PORT "far" // name of the port in its file

// Start the responder of that file there, and wait until it answers. port: distinguishes the files
// of several near ends. 0, or -errno, which was logged: nothing is running there then.
int far_open(struct far *f, const char *yaml, uint16_t port);
// Read the CPU time of the host, the first time as the start. Also keeps the responder.
void far_measure(struct far *f);
// Keep the responder alive; call repeatedly.
void far_keep(struct far *f);
// End it. Returns its result, a new reference; NULL: none (logged).
json_t *far_close(struct far *f);
// CPU use between the first and the last reading, as `dut` of a result; NULL: unknown.
json_t *far_cpu(const struct far *f);
