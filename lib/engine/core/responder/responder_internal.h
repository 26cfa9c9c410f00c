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

// A segment to an address of ours. p: who listens at its port; NULL: nobody, and it is refused.
void responder_segment(
	struct responder *r, struct responder_protocol *p, const struct frame *f, uint64_t now);

// Answers over connections that leave later are held with packets: the lowest bit tells them apart.
static inline bool responder_holds_message(const void *held)
{
	return (uintptr_t)held & 1;
}

// Such an answer is due. It is over then.
void responder_send_message(struct responder *r, void *held);
void responder_free_message(void *held);
// Further messages of answers of several messages: false: none was made.
bool responder_go_on(struct responder *r, uint64_t now);
// At the end: all connections are reset.
void responder_conns_halt(struct responder *r);
