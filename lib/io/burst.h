// SPDX-License-Identifier: BSD-3-Clause
// Bursts of packets in and out of one queue: the only calls into a driver on the hot path. Thin on
// purpose. Path: hot. The worker that owns the queue.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "io/handover.h"

#define BURST_MAX   64
#define BURST_AHEAD 5   // packets that are asked for early
#define BURST_OWNED 384 // bytes of each

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

// Ask for a line that is going to be written: a plain prefetch brings a copy only, and what another
// CPU has of it is taken away with the first store.
static inline void burst_own(const void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

// The header and the first bytes of an mbuf.
static inline void burst_own_mbuf(const struct rte_mbuf *m)
{
	burst_own(m);
	burst_own(burst_data_guess(m));
	burst_own(burst_data_guess(m) + 64);
}

// All that was received in it; the header is there.
static inline void burst_own_data(const struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t len = m->data_len < BURST_OWNED ? m->data_len : BURST_OWNED;

	for (uint32_t at = 0; at < len; at += 64)
		burst_own(data + at);
}

// A burst was received: ask for the first packets of it. Some time before they are looked at, if
// there is anything else to do. They are owned, as their mbufs are freed and filled again soon.
static inline void burst_ask(struct rte_mbuf **pkts, uint16_t n)
{
	for (uint16_t k = 0; k < BURST_AHEAD && k < n; k++)
		burst_own_mbuf(pkts[k]);
	for (uint16_t k = BURST_AHEAD; k < 2 * BURST_AHEAD && k < n; k++)
		burst_own(pkts[k]);
}

// Before packet i of it is looked at: ask for those that come a few places on, as more at a time
// than a CPU can wait for would make it wait here.
static inline void burst_ask_next(struct rte_mbuf **pkts, uint16_t n, uint16_t i)
{
	if (i + 2 * BURST_AHEAD < n)
		burst_own(pkts[i + 2 * BURST_AHEAD]);
	if (i + BURST_AHEAD < n)
		burst_own_data(pkts[i + BURST_AHEAD]);
}

// n mbufs, or false and none. They were last in the hands of the driver or of another CPU, and are
// to be reset before they are used.
static inline bool burst_take(struct rte_mempool *pool, struct rte_mbuf **pkts, uint16_t n)
{
	if (rte_mempool_get_bulk(pool, (void **)pkts, n) != 0)
		return false;
	handover_take(pkts, n);
	return true;
}

static inline void burst_reset(struct rte_mbuf *m)
{
	m->data_off = RTE_PKTMBUF_HEADROOM;
	m->ol_flags = 0;
}

// n fresh mbufs, or false and none.
static inline bool burst_alloc(struct rte_mempool *pool, struct rte_mbuf **pkts, uint16_t n)
{
	if (!burst_take(pool, pkts, n))
		return false;
	for (uint16_t i = 0; i < n; i++)
		burst_reset(pkts[i]);
	return true;
}

// One buffer, one owner: nothing is to be looked up before it goes back to its pool. What is
// chained would say so in nb_segs, so the second line of the header stays where it is.
static inline bool burst_is_plain(const struct rte_mbuf *m, const struct rte_mempool *pool)
{
	return m->pool == pool && m->nb_segs == 1 && rte_mbuf_refcnt_read(m) == 1 &&
	       RTE_MBUF_DIRECT(m);
}

static inline void burst_free(struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t plain = 0;

	handover_give(pkts, n);
	while (plain < n && burst_is_plain(pkts[plain], pkts[0]->pool))
		plain++;
	if (plain)
		rte_mempool_put_bulk(pkts[0]->pool, (void *const *)pkts, plain);
	if (plain < n)
		rte_pktmbuf_free_bulk(pkts + plain, n - plain);
}
