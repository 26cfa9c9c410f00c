// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of the responder: responder.c has its loop and UDP, responder_conn.c its
// connections. Path: hot. The responder's own thread.
#pragma once

#include "engine/core/responder/responder_state.h"

static inline void responder_count(_Atomic uint64_t *c, uint64_t n)
{
	atomic_store_explicit(
		c, atomic_load_explicit(c, memory_order_relaxed) + n, memory_order_relaxed);
}

// Handles a segment to an address of ours. p: the protocol at its port; NULL: none, it is refused.
void responder_segment(
	struct responder *r, struct responder_protocol *p, const struct frame *f, uint64_t now);

// Held-back replies over connections share the wheel with packets: the lowest bit marks them.
static inline bool responder_holds_message(const void *held)
{
	return (uintptr_t)held & 1;
}

// Sends a held-back reply that is due, and frees it.
void responder_send_message(struct responder *r, void *held);
void responder_free_message(void *held);
// Makes further messages of replies of several messages. Returns false if none was made.
bool responder_go_on(struct responder *r, uint64_t now);
// At the end: resets all connections.
void responder_conns_halt(struct responder *r);
