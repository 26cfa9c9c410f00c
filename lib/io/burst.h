// SPDX-License-Identifier: BSD-3-Clause
// Bursts of packets in and out of one queue: the only calls into a driver on the hot path. Thin on
// purpose. Path: hot. The worker that owns the queue.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#define BURST_MAX 64

static inline uint16_t burst_rx(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	return rte_eth_rx_burst(port, queue, pkts, n);
}

static inline uint16_t burst_tx(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	return rte_eth_tx_burst(port, queue, pkts, n);
}

// n fresh mbufs, or false and none.
static inline bool burst_alloc(struct rte_mempool *pool, struct rte_mbuf **pkts, uint16_t n)
{
	return rte_pktmbuf_alloc_bulk(pool, pkts, n) == 0;
}

static inline void burst_free(struct rte_mbuf **pkts, uint16_t n)
{
	rte_pktmbuf_free_bulk(pkts, n);
}
