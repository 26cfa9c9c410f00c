// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a TCP connection that wait, in blocks of a pool that connections share.
// Path: hot. The thread that owns the host.
#pragma once

#include "net/tcp_segment.h"
#include "net/tcp_state.h"

// memory: count blocks, the caller's.
void tcp_host_init(struct tcp_host *h, struct tcp_block *memory, uint32_t count);

// Append to the stream of a connection for which tcp_is_open. false: no memory; nothing was
// appended.
bool tcp_send(struct tcp_host *h, struct tcp *t, const uint8_t *bytes, uint32_t len);
// The bytes of a segment that tcp_output made.
void tcp_copy(
	const struct tcp_host *h, const struct tcp *t, const struct tcp_segment *s, uint8_t *to);
// Give back all that is held.
void tcp_drop(struct tcp_host *h, struct tcp *t);

// Keep the last len bytes of h->view for later. false: no memory; they were acknowledged, so that
// the connection has to be aborted.
bool tcp_keep(struct tcp_host *h, struct tcp *t, uint32_t len);
// Bytes that may be read.
uint32_t tcp_unread(const struct tcp_host *h, const struct tcp *t);
// Copy the next bytes without consuming them: as many as there are, up to len.
uint32_t tcp_peek(const struct tcp_host *h, const struct tcp *t, uint8_t *to, uint32_t len);
// Consume bytes that were read: len is at most tcp_unread.
void tcp_consume(struct tcp_host *h, struct tcp *t, uint32_t len);
