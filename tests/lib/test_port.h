// SPDX-License-Identifier: BSD-3-Clause
// A port of a test: a row of DPDK's table of drivers and a pool with operations of its own, so the
// packet path runs as it is, without EAL. Packets lie in heap blocks of their exact size: a
// sanitizer sees an access beyond. Path: tests only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#define TEST_PORT_HOLDS 256 // received packets that wait at most

// How a mempool without EAL gets its buffers: from functions of its owner.
struct test_pool {
	void *owner;
	uint32_t *left; // buffers that it still gives
	struct rte_mbuf *(*make)(void *owner);
	void (*take_back)(void *owner, struct rte_mbuf *m);
};

// Both must last as long as the mempool is used.
void test_pool_open(struct rte_mempool *mp, struct test_pool *p);

struct test_port {
	// The test's to set, any time; test_port_open sets them to "no limit" and NULL.
	uint32_t buffers; // that the pool still gives
	uint32_t takes;   // packets of a burst that the device takes at most
	bool pooled;      // received packets lie in buffers like the pool's, as on a ring port
	void (*poll)(struct test_port *p);
	void (*sent)(struct test_port *p, uint16_t queue, const struct rte_mbuf *m);
	// The test's to read.
	uint32_t live;  // mbufs that nobody has freed
	uint32_t count; // packets sent
	uint32_t bursts;
	// Waits to be received.
	struct rte_mbuf *received[TEST_PORT_HOLDS];
	uint32_t received_count;
	uint16_t number;
	struct rte_mempool pool;
	struct test_pool buffers_of;
};

// Open as ethdev `number` with any number of queues, all of which receive the same packets. The
// packets of an earlier port of that number are freed.
void test_port_open(struct test_port *p, uint16_t number);

// A packet of len bytes arrives.
void test_port_receive(struct test_port *p, const void *data, uint32_t len);
