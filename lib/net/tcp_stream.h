// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a TCP connection that wait, in blocks of a pool that connections share.
// Path: hot. The thread that owns the host.
#pragma once

#include "net/tcp_segment.h"
#include "net/tcp_state.h"

// memory: count blocks, owned by the caller.
void tcp_host_init(struct tcp_host *h, struct tcp_block *memory, uint32_t count);

// Appends to the stream of a connection that is open (tcp_is_open). Returns false without memory;
// nothing was appended then.
bool tcp_send(struct tcp_host *h, struct tcp *t, const uint8_t *bytes, uint32_t len);
// The bytes of a segment that tcp_output made.
void tcp_copy(
	const struct tcp_host *h, const struct tcp *t, const struct tcp_segment *s, uint8_t *to);
// Returns all blocks of the connection to the pool.
void tcp_drop(struct tcp_host *h, struct tcp *t);

// Keeps the last len bytes of h->view for later. Returns false without memory: as they were
// acknowledged, the connection must be aborted.
bool tcp_keep(struct tcp_host *h, struct tcp *t, uint32_t len);
// Bytes that may be read.
uint32_t tcp_unread(const struct tcp_host *h, const struct tcp *t);
// Copies up to len of the next bytes without consuming them. Returns their number.
uint32_t tcp_peek(const struct tcp_host *h, const struct tcp *t, uint8_t *to, uint32_t len);
// Consumes len bytes, at most tcp_unread.
void tcp_consume(struct tcp_host *h, struct tcp *t, uint32_t len);

// A chain: bytes in blocks of the pool that belong to no stream. TCP_NONE: an empty one.
// Appends bytes. Returns false without memory; nothing was appended then.
bool tcp_chain_add(struct tcp_host *h, uint32_t *chain, const uint8_t *bytes, uint32_t len);
uint32_t tcp_chain_len(const struct tcp_host *h, uint32_t chain);
// Copies up to len of the first bytes. Returns their number.
uint32_t tcp_chain_peek(const struct tcp_host *h, uint32_t chain, uint8_t *to, uint32_t len);
// Removes the first len bytes, at most tcp_chain_len.
void tcp_chain_consume(struct tcp_host *h, uint32_t *chain, uint32_t len);
void tcp_chain_drop(struct tcp_host *h, uint32_t *chain);
