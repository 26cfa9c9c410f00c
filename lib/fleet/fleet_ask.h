// SPDX-License-Identifier: BSD-3-Clause
// Requests to the agents of a fleet, not only by a coordinator: for the agents present, and for
// pieces of the files of a run. Path: cold. Main thread.
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "nats/bus.h"

// Connects like bus_open. Returns 0, or an exit code with the reason logged.
int fleet_ask_open(const struct bus_settings *s, struct bus **out);

// Returns the facts of all agents that reply within half a second, in order of their names. The
// caller owns the list.
json_t *fleet_ask_all(struct bus *b);

struct fleet_ask {
	struct bus *bus;
	const char *agent, *run, *file;
	const volatile int *signals; // two of them end the requests; NULL: none
	void (*tick)(void *ctx);     // before each request; NULL: none
	void *ctx;
};

// Returns a message with a piece of the file from that place on; the caller frees it. The request
// is repeated while the agent does not reply, up to 20 times. NULL: no reply, or no such file; a
// count of 0: the end of the file.
char *fleet_ask_piece(const struct fleet_ask *q, uint64_t from, const char **octets, size_t *count);
