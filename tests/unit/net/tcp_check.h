// SPDX-License-Identifier: BSD-3-Clause
// The invariants of a TCP connection, whatever was received: for unit tests and fuzzing.
#pragma once

#include <stddef.h>

#include "net/tcp.h"

// Blocks of a list, which are in order and do not overlap. UINT32_MAX: they do.
static inline uint32_t tcp_check_list(const struct tcp_host *h, uint32_t list)
{
	uint32_t count = 0;

	for (uint32_t b = list; b != TCP_NONE; b = h->blocks[b].next) {
		const struct tcp_block *of = &h->blocks[b];
		uint32_t next = of->next;

		if (++count > h->used || of->start + of->len > TCP_BLOCK_BYTES)
			return UINT32_MAX;
		if (next != TCP_NONE && tcp_before(h->blocks[next].seq, of->seq + of->len))
			return UINT32_MAX;
	}
	return count;
}

// The only connection of a host has all used blocks. Returns the broken invariant, or NULL.
static inline const char *tcp_check(const struct tcp_host *h, const struct tcp *t)
{
	uint32_t sent = tcp_check_list(h, t->tx_head), received = tcp_check_list(h, t->rx_head);

	if (sent == UINT32_MAX || received == UINT32_MAX)
		return "blocks of a list overlap";
	if (sent + received != h->used)
		return "blocks that are used are not those of the lists";
	if ((t->tx_head == TCP_NONE) != (t->tx_tail == TCP_NONE))
		return "a list has a head and no tail";
	if (t->state == TCP_CLOSED)
		return h->used ? "a closed connection holds blocks" : NULL;
	if (tcp_before(t->nxt, t->una) || tcp_before(t->max, t->nxt))
		return "una <= nxt <= max does not hold";
	if (t->state != TCP_SYN_SENT && tcp_before(t->edge, t->rcv))
		return "the window ends before it begins";
	if (t->max - t->una > t->queued + 1)
		return "more was sent than there is";
	return NULL;
}
