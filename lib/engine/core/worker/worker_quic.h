// SPDX-License-Identifier: BSD-3-Clause
// Connections of QUIC of an item, beside worker_conn.h, which has the seats and the outcomes of
// messages. Path: hot. The worker's own thread.
#pragma once

#include "engine/core/worker/worker_conn.h"

extern const struct conn_owner worker_quic_owner;

// For worker_conns.open.
bool worker_quic_open(struct worker_conns *wc, uint32_t c, uint64_t now);
// As worker_conn_rx, for a datagram.
void worker_quic_rx(struct worker *w, struct worker_item *it, const struct txn_place *to,
	const struct rte_mbuf *m, const struct frame *f, uint64_t now, uint64_t came);
