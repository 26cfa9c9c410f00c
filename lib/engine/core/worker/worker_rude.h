// SPDX-License-Identifier: BSD-3-Clause
// Misbehaving clients (worker_behave.h) after a complete handshake of TLS: they send frames of
// HTTP/2, and keep no state of it. They read the first settings of the server; its further records
// are not opened. The frames of a turn are one record, and a pass has RUDE_TURNS turns, so that no
// number of them delays the load. Path: hot. The worker's own thread.
#pragma once

#include "engine/core/worker/worker_behave.h"

#define RUDE_TURNS 8

// The framing of received octets: all that came.
uint32_t worker_rude_framed(const uint8_t *bytes, uint32_t len);
// The handshake is done.
void worker_rude_begin(struct worker_behave *b, uint32_t c);
// Octets came after it.
void worker_rude_hear(struct worker_behave *b, uint32_t c);
// Sends the frames that are due, and sets `since` to the next turn; 0: there is none.
void worker_rude_turn(struct worker_behave *b, uint32_t c);
