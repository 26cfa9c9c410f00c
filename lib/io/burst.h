// SPDX-License-Identifier: BSD-3-Clause
// Bursts of packets in and out of one queue, and their buffers: the only calls into a driver or a
// pool on the hot path. A port is a number in DPDK's table of drivers, so a test gives its own (see
// tests/lib/test_port.h). Path: hot. The worker that owns the queue.
#pragma once

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "io/port_state.h"

#if defined(__SANITIZE_THREAD__)
#define BURST_TELLS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BURST_TELLS 1
#endif
#endif

#ifdef BURST_TELLS
#include <sanitizer/tsan_interface.h>
#endif

#define BURST_AHEAD 5 // packets whose cache lines are fetched early

// Rings and pools of DPDK order mbufs between CPUs, which ThreadSanitizer cannot see: the next
// owner of an mbuf sees all writes of the last one. Called before mbufs go to a driver, pool or
// ring. Nothing in any other build.
static inline void burst_release(struct rte_mbuf **pkts, uint16_t n)
{
#ifdef BURST_TELLS
	for (uint16_t i = 0; i < n; i++)
		__tsan_release(pkts[i]);
#endif
}

// The counterpart of burst_release, for mbufs that came from there.
static inline void burst_acquire(struct rte_mbuf **pkts, uint16_t n)
{
#ifdef BURST_TELLS
	for (uint16_t i = 0; i < n; i++)
		__tsan_acquire(pkts[i]);
#endif
}

static inline uint16_t burst_rx(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	n = rte_eth_rx_burst(port, queue, pkts, n);
	burst_acquire(pkts, n);
	return n;
}

static inline uint16_t burst_tx(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	burst_release(pkts, n);
	return rte_eth_tx_burst(port, queue, pkts, n);
}

// Fetch a cache line that is going to be written. A plain prefetch brings a shared copy, and the
// first store then waits until other CPUs have given up theirs.
static inline void burst_own(const void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

// The first bytes of an mbuf's data, which begins there in our pools: no look at its header.
static inline void burst_own_data(const struct rte_mbuf *m)
{
	const uint8_t *data = (const uint8_t *)(m + 1) + RTE_PKTMBUF_HEADROOM;

	burst_own(data);
	burst_own(data + 64);
}

static inline void burst_own_mbuf(const struct rte_mbuf *m)
{
	burst_own(m);
	burst_own_data(m);
}

// A burst was received: fetch its first packets, best some time before they are looked at. Owned,
// because their mbufs are freed and filled again soon.
static inline void burst_ask(struct rte_mbuf **pkts, uint16_t n)
{
	for (uint16_t k = 0; k < BURST_AHEAD && k < n; k++)
		burst_own_mbuf(pkts[k]);
	for (uint16_t k = BURST_AHEAD; k < 2 * BURST_AHEAD && k < n; k++)
		burst_own(pkts[k]);
}

// Before packet i of it is looked at: fetch those a few places on. A CPU waits when more lines are
// on their way than it can track, so they are not fetched all at once.
static inline void burst_ask_next(struct rte_mbuf **pkts, uint16_t n, uint16_t i)
{
	const struct rte_mbuf *m;
	const uint8_t *data;

	if (i + 2 * BURST_AHEAD < n)
		burst_own(pkts[i + 2 * BURST_AHEAD]);
	if (i + BURST_AHEAD >= n)
		return;
	m = pkts[i + BURST_AHEAD]; // its header is in the cache
	burst_own_data(m);
	if (__builtin_expect(m->data_len <= 128, 1))
		return;
	data = rte_pktmbuf_mtod(m, const uint8_t *);
	burst_own(data + 128);
	burst_own(data + 192);
	if (m->data_len <= 256)
		return;
	burst_own(data + 256);
	burst_own(data + 320);
}

// Take n mbufs from the pool, or none and false. Their last user was a driver or another CPU: reset
// each before use.
static inline bool burst_take(struct rte_mempool *pool, struct rte_mbuf **pkts, uint16_t n)
{
	if (rte_mempool_get_bulk(pool, (void **)pkts, n) != 0)
		return false;
	burst_acquire(pkts, n);
	return true;
}

static inline void burst_reset(struct rte_mbuf *m)
{
	m->data_off = RTE_PKTMBUF_HEADROOM;
	m->ol_flags = 0;
}

// Take n mbufs, ready for use, or none and false.
static inline bool burst_alloc(struct rte_mempool *pool, struct rte_mbuf **pkts, uint16_t n)
{
	if (!burst_take(pool, pkts, n))
		return false;
	for (uint16_t i = 0; i < n; i++)
		burst_reset(pkts[i]);
	return true;
}

// Give mbufs back to their pools. Those with one segment and one owner go back at once, without a
// look at the second cache line of the header.
static inline void burst_free(struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t plain = 0;

	burst_release(pkts, n);
	while (plain < n && pkts[plain]->pool == pkts[0]->pool && pkts[plain]->nb_segs == 1 &&
		rte_mbuf_refcnt_read(pkts[plain]) == 1 && RTE_MBUF_DIRECT(pkts[plain]))
		plain++;
	if (plain)
		rte_mempool_put_bulk(pkts[0]->pool, (void *const *)pkts, plain);
	if (plain < n)
		rte_pktmbuf_free_bulk(pkts + plain, n - plain);
}
