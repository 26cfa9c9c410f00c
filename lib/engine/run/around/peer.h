// SPDX-License-Identifier: BSD-3-Clause
// The counters of a responder in another process (dut.control), requested before the first message
// of a run and after its last, and the number of messages lost each way.
// Path: cold. Management thread.
#pragma once

#include "base/arena.h"
#include "engine/config/control.h"
#include "engine/plan/plan.h"
#include "engine/result/result.h"

// Sends an HTTP request on a connection that ends with its response, which becomes a text of less
// than `room` bytes. Returns 0, or -errno.
int peer_exchange(int fd, const char *request, char *answer, size_t room);

// Requests the counters now. Returns 0, or -errno, which was logged.
int peer_ask(const struct control_settings *s, struct arena *a, struct result_responder *out);

// Combines both sides after the run of the plan. now: the counters then. A part of a fleet has no
// losses: its responder counts the messages of all parts.
struct result_peer *peer_result(const struct plan *p, const struct result_responder *before,
	const struct result_responder *now, struct arena *a);
