// SPDX-License-Identifier: BSD-3-Clause
// The loop of a responder. Path: hot. The responder's own thread.
#pragma once

#include "engine/core/responder/responder_state.h"

extern const struct conn_owner responder_conn_owner;

// One pass over all of its queues: the number of requests, or any number above 0.
uint16_t responder_pass(struct responder *r);

// At the end: answers that would have left later are dropped.
void responder_halt(struct responder *r);

// One turn of the loop: a pass, and its account since *at, the tick that the turn before ended
// with. false: the phase is PHASE_STOP, and the responder has put everything away.
bool responder_turn(struct responder *r, uint64_t *at);

// Takes turns until the phase is PHASE_STOP. arg: struct responder. Returns 0.
int responder_loop(void *arg);
