// SPDX-License-Identifier: BSD-3-Clause
// From settings of QUIC to the tables of an item's connections. Path: cold. Management thread.
#pragma once

#include "engine/core/quic_channel.h"
#include "engine/plan/plan_state.h"

// Connections of a worker with so many seats, at most: open, and being closed.
uint32_t plan_quic_conns(uint32_t seats);
// Memory of the tables of so many connections and transactions.
uint64_t plan_quic_memory(
	const struct plan_item *i, uint32_t conns, uint32_t seats, uint64_t slots);
// Gives the connections of a worker their tables. Returns 0 or -ENOMEM.
int plan_quic_open(struct plan *p, const struct plan_item *i, uint32_t worker);
void plan_quic_close(struct conns *cs);
// Memory of these connections' QUIC; 0: they have none.
uint64_t plan_quic_bytes(const struct conns *cs);
// The tables of a worker of the responder, if it answers over QUIC. Returns 0 or -ENOMEM.
int plan_quic_serve(struct plan *p, struct responder *r, const struct port *port);
void plan_quic_serve_end(struct responder *r);
