// SPDX-License-Identifier: BSD-3-Clause
// The agents of a fleet, by their own facts, which a thread of its own, without a capability and
// without a signal, requests on NATS again and again. An agent that does not reply is silent, and
// is forgotten later. Path: cold. Main thread (open, close) | any thread (list).
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "nats/bus.h"

struct agent_list;

// s must live as long as the list. Returns 0, or -errno, which was logged (bus_open).
int agent_list_open(const struct bus_settings *s, struct agent_list **out);
// An array of {name, labels, version, host, cpus, run, coordinator, box, clock (host_facts.h),
// state, reply_ms, silent_s}; the caller owns it. up: the server of NATS is connected.
json_t *agent_list_list(struct agent_list *r, bool *up);
void agent_list_close(struct agent_list *r); // NULL: nothing to do
