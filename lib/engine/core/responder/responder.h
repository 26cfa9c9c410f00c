// SPDX-License-Identifier: BSD-3-Clause
// The loop of a responder. Path: hot. The responder's own thread.
#pragma once

#include "engine/core/responder/responder_state.h"

extern const struct conn_owner responder_conn_owner;
extern const struct conn_owner responder_quic_owner;

// Makes one pass over all of its queues. Returns a number above 0 if there was anything to do.
uint16_t responder_pass(struct responder *r);

// At the end: drops the replies that are held back, and resets all connections.
void responder_halt(struct responder *r);

// Makes one turn of the loop: a pass, and its account since *at, the end of the previous turn.
// Returns false if the phase is PHASE_STOP; the responder has then released everything.
bool responder_turn(struct responder *r, uint64_t *at);

// Takes turns until the phase is PHASE_STOP. arg: struct responder. Returns 0.
int responder_loop(void *arg);
