// SPDX-License-Identifier: BSD-3-Clause
// What others than a coordinator ask the agents of a fleet, too: who is there, and pieces of the
// files of a run. Path: cold. Main thread.
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "nats/bus.h"

// Connect as bus_open does. Returns 0 or an exit code; the reason was logged.
int fleet_ask_open(const struct bus_settings *s, struct bus **out);

// The facts of all agents that reply within half a second, in order of their names. The caller
// owns the list.
json_t *fleet_ask_all(struct bus *b);

struct fleet_ask {
	struct bus *bus;
	const char *agent, *run, *file;
	const volatile int *signals; // two of them end the questions; NULL: none does
	void (*tick)(void *ctx);     // before each question; NULL: nothing is to be done
	void *ctx;
};

// A piece of the file from that place on; the caller frees what is returned. It is asked again
// while the agent does not answer, up to 20 times. NULL: it does not, or it has no such file; a
// count of 0: there is no more.
char *fleet_ask_piece(const struct fleet_ask *q, uint64_t from, const char **octets, size_t *count);
