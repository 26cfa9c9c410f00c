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

// The head of each buffer of a held-back reply.
struct held {
	struct rte_mbuf *next;
	uint32_t conn, number; // of the connection among all accepted
	uint32_t len;          // of the bytes that follow here
	uint32_t stream;       // of HTTP/2, or the tag of QUIC
	bool quic;
};

// As it is in the wheel of replies that are held back.
static inline void *responder_as_held(struct rte_mbuf *m)
{
	return (void *)((uintptr_t)m | 1);
}

// Copies a reply into buffers, each with this head. Returns NULL without a buffer.
struct rte_mbuf *responder_hold(
	struct responder *r, const uint8_t *from, uint32_t len, const struct held *head);
// Applies the first fault whose turn it is and that is possible to a reply at `data`, which has
// room for CONN_MESSAGE_MAX - CONN_LENGTH. If it adds a message, that is at r->conns->request,
// *extra bytes long. Returns the length of the reply.
uint32_t responder_spoil_message(struct responder *r, const struct responder_protocol *p,
	uint8_t *data, uint32_t len, uint32_t *extra);

// Returns the number of our address that a packet is for; UINT32_MAX: none.
uint32_t responder_own(const struct responder *r, const struct frame *f);
// Writes it.
void responder_own_address(const struct responder *r, uint64_t own, uint8_t *address);
// Returns the index of the headers for the peer's MAC, VLANs and family, which are added if they
// are new. CONN_WAYS: there are too many.
uint32_t responder_way(
	struct responder_ways *ways, const struct wire *w, const struct frame *f, bool tcp);
// Notes both ends of a new connection, from its first packet. own, way: from these functions.
void responder_ends(struct conn *of, const struct frame *f, uint32_t own, uint32_t way);
// The place of a connection among others.
uint32_t responder_place(const uint8_t *peer, uint8_t addr_len, uint16_t peer_port, uint32_t own);

// Handles a datagram for the port of QUIC.
void responder_quic_datagram(struct responder *r, const struct frame *f, uint64_t now);
void responder_quic_send(struct responder *r, const struct held *head, uint32_t len);
// Work of a pass. Returns the number of packets sent.
uint16_t responder_quic_pass(struct responder *r);
void responder_quic_halt(struct responder *r);

// Held-back replies over connections share the wheel with packets: the lowest bit marks them.
static inline bool responder_holds_message(const void *held)
{
	return (uintptr_t)held & 1;
}

// Sends a held-back reply of len bytes at conns.message.
void responder_conn_send(struct responder *r, const struct held *head, uint32_t len);
void responder_free_message(void *held);
// Makes further messages of replies of several messages. Returns false if none was made.
bool responder_go_on(struct responder *r, uint64_t now);
// At the end: resets all connections.
void responder_conns_halt(struct responder *r);
