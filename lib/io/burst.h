// SPDX-License-Identifier: BSD-3-Clause
// Bursts of packets in and out of one queue: the only calls into a driver on the hot path. Thin on
// purpose. Path: hot. The worker that owns the queue.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "io/handover.h"

#define BURST_MAX 64

static inline uint16_t burst_rx(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	n = rte_eth_rx_burst(port, queue, pkts, n);
	handover_take(pkts, n);
	return n;
}

static inline uint16_t burst_tx(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	handover_give(pkts, n);
	return rte_eth_tx_burst(port, queue, pkts, n);
}

// Where the data of an mbuf of our pools begins, without looking into it: good enough for a
// prefetch.
static inline const uint8_t *burst_data_guess(const struct rte_mbuf *m)
{
	return (const uint8_t *)(m + 1) + RTE_PKTMBUF_HEADROOM;
}

// n fresh mbufs, or false and none. They were last in the hands of the driver or of another CPU:
// all are asked for before the first is touched.
static inline bool burst_alloc(struct rte_mempool *pool, struct rte_mbuf **pkts, uint16_t n)
{
	if (rte_mempool_get_bulk(pool, (void **)pkts, n) != 0)
		return false;
	handover_take(pkts, n);
	for (uint16_t i = 0; i < n; i++) {
		__builtin_prefetch(pkts[i], 1);
		__builtin_prefetch(burst_data_guess(pkts[i]), 1);
		__builtin_prefetch(burst_data_guess(pkts[i]) + 64, 1);
	}
	for (uint16_t i = 0; i < n; i++) {
		pkts[i]->data_off = RTE_PKTMBUF_HEADROOM;
		pkts[i]->ol_flags = 0;
	}
	return true;
}

// Ask for the headers and the first bytes of received mbufs before any is looked at.
static inline void burst_prefetch(struct rte_mbuf **pkts, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		__builtin_prefetch(pkts[i]);
		__builtin_prefetch(burst_data_guess(pkts[i]));
		__builtin_prefetch(burst_data_guess(pkts[i]) + 64);
	}
}

static inline void burst_free(struct rte_mbuf **pkts, uint16_t n)
{
	handover_give(pkts, n);
	rte_pktmbuf_free_bulk(pkts, n);
}
