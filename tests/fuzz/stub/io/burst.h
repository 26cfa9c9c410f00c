// SPDX-License-Identifier: BSD-3-Clause
// In the place of lib/io/burst.h: packets from and to the fuzz target instead of a driver, in
// blocks of their own, so that a sanitizer sees a read or write beyond. Needs no EAL. Path: tests
// only.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#define BURST_MAX   64
#define BURST_AHEAD 5

// Of the port: what it has received and is to be fetched, how many buffers there are to send, and
// how many of the packets it takes.
struct stub_port {
	struct rte_mbuf *received[BURST_MAX];
	uint16_t received_count;
	uint32_t buffers;
	uint32_t takes;
	uint32_t live;      // buffers that nobody has freed
	void (*poll)(void); // before something is received; NULL: nothing
};

extern struct stub_port stub;

// Look at what is sent.
void stub_sent(const struct rte_mbuf *m);

static inline struct rte_mbuf *stub_mbuf(uint32_t headroom, uint32_t room)
{
	struct rte_mbuf *m = aligned_alloc(_Alignof(struct rte_mbuf), sizeof(*m));

	if (!m)
		abort();
	memset(m, 0, sizeof(*m));
	m->buf_addr = malloc(headroom + room + !room);
	if (!m->buf_addr)
		abort();
	m->data_off = (uint16_t)headroom;
	m->buf_len = (uint16_t)(headroom + room);
	stub.live++;
	return m;
}

static inline void stub_receive(const uint8_t *data, uint32_t len)
{
	struct rte_mbuf *m = stub_mbuf(0, len);

	memcpy(m->buf_addr, data, len);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	stub.received[stub.received_count++] = m;
}

static inline void burst_free(struct rte_mbuf **pkts, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		free(pkts[i]->buf_addr);
		free(pkts[i]);
	}
	stub.live -= n;
}

static inline uint16_t burst_rx(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	if (stub.poll)
		stub.poll();
	n = n < stub.received_count ? n : stub.received_count;
	memcpy(pkts, stub.received, n * sizeof(*pkts));
	stub.received_count -= n;
	memmove(stub.received, stub.received + n, stub.received_count * sizeof(*pkts));
	return n;
}

static inline uint16_t burst_tx(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	n = n < stub.takes ? n : (uint16_t)stub.takes;
	for (uint16_t i = 0; i < n; i++)
		stub_sent(pkts[i]);
	burst_free(pkts, n);
	return n;
}

static inline bool burst_take(struct rte_mempool *pool, struct rte_mbuf **pkts, uint16_t n)
{
	if (stub.buffers < n)
		return false;
	stub.buffers -= n;
	for (uint16_t i = 0; i < n; i++)
		pkts[i] = stub_mbuf(RTE_PKTMBUF_HEADROOM, RTE_MBUF_DEFAULT_DATAROOM);
	return true;
}

static inline bool burst_alloc(struct rte_mempool *pool, struct rte_mbuf **pkts, uint16_t n)
{
	return burst_take(pool, pkts, n);
}

static inline void burst_reset(struct rte_mbuf *m)
{
}

static inline void burst_own_mbuf(const struct rte_mbuf *m)
{
}

static inline void burst_ask(struct rte_mbuf **pkts, uint16_t n)
{
}

static inline void burst_ask_next(struct rte_mbuf **pkts, uint16_t n, uint16_t i)
{
}
