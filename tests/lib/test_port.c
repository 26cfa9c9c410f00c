// SPDX-License-Identifier: BSD-3-Clause
// The driver's and the pool's side of a test port. Path: tests only.
#include "test_port.h"

#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mempool.h>

#define QUEUES 16

// What the driver finds behind a queue.
struct test_queue {
	struct test_port *port;
	uint16_t number;
};

// A packet in the list of its port, so that a port opened anew frees those of the old one.
struct test_mbuf {
	struct rte_mbuf m;
	struct test_mbuf *next, **link;
};

static struct test_mbuf *lists[RTE_MAX_ETHPORTS];
static struct test_queue queues[RTE_MAX_ETHPORTS][QUEUES];
static void *queue_data[RTE_MAX_ETHPORTS][QUEUES];
static void *no_callbacks[QUEUES];

static struct rte_mbuf *mbuf_new(struct test_port *p, uint16_t headroom, uint32_t room)
{
	struct test_mbuf *t = aligned_alloc(_Alignof(struct test_mbuf), sizeof(*t));
	struct rte_mbuf *m = &t->m;

	if (!t)
		abort();
	memset(t, 0, sizeof(*t));
	t->link = &lists[p->number];
	t->next = *t->link;
	if (t->next)
		t->next->link = &t->next;
	*t->link = t;
	m->buf_addr = malloc(headroom + room + !room);
	if (!m->buf_addr)
		abort();
	m->data_off = headroom;
	m->buf_len = (uint16_t)(headroom + room);
	m->pool = &p->pool;
	m->nb_segs = 1;
	rte_mbuf_refcnt_set(m, 1);
	p->live++;
	return m;
}

static void mbuf_free(struct rte_mbuf *m)
{
	struct test_mbuf *t = (struct test_mbuf *)m;

	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	free(m->buf_addr);
	free(t);
}

static struct rte_mbuf *mbuf_make(void *port)
{
	return mbuf_new(port, RTE_PKTMBUF_HEADROOM, RTE_MBUF_DEFAULT_DATAROOM);
}

static void mbuf_take_back(void *port, struct rte_mbuf *m)
{
	((struct test_port *)port)->live--;
	mbuf_free(m);
}

static int pool_get(struct rte_mempool *mp, void **objects, unsigned n)
{
	struct test_pool *p = mp->pool_data;

	if (*p->left < n)
		return -ENOBUFS;
	*p->left -= n;
	for (unsigned i = 0; i < n; i++)
		objects[i] = p->make(p->owner);
	return 0;
}

static int pool_put(struct rte_mempool *mp, void *const *objects, unsigned n)
{
	struct test_pool *p = mp->pool_data;

	for (unsigned i = 0; i < n; i++)
		p->take_back(p->owner, objects[i]);
	return 0;
}

static unsigned pool_count(const struct rte_mempool *mp)
{
	return *((struct test_pool *)mp->pool_data)->left;
}

static int pool_alloc(struct rte_mempool *mp)
{
	return 0;
}

void test_pool_open(struct rte_mempool *mp, struct test_pool *p)
{
	static const struct rte_mempool_ops operations = {.name = "test",
		.alloc = pool_alloc,
		.enqueue = pool_put,
		.dequeue = pool_get,
		.get_count = pool_count};
	static int index = -1;

	if (index < 0)
		index = rte_mempool_register_ops(&operations);
	mp->ops_index = index;
	mp->pool_data = p;
}

static uint16_t receive(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct test_port *p = ((struct test_queue *)queue)->port;

	if (p->poll)
		p->poll(p);
	n = n < p->received_count ? n : (uint16_t)p->received_count;
	memcpy(pkts, p->received, n * sizeof(*pkts));
	p->received_count -= n;
	memmove(p->received, p->received + n, p->received_count * sizeof(*pkts));
	return n;
}

static uint16_t transmit(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct test_queue *q = queue;
	struct test_port *p = q->port;

	n = n < p->takes ? n : (uint16_t)p->takes;
	for (uint16_t i = 0; i < n && p->sent; i++)
		p->sent(p, q->number, pkts[i]);
	p->count += n;
	p->bursts++;
	rte_pktmbuf_free_bulk(pkts, n);
	return n;
}

void test_port_open(struct test_port *p, uint16_t number)
{
	struct rte_eth_fp_ops *row = &rte_eth_fp_ops[number];

	while (lists[number])
		mbuf_free(&lists[number]->m);
	memset(p, 0, sizeof(*p));
	p->number = number;
	p->buffers = p->takes = UINT32_MAX;
	p->buffers_of = (struct test_pool){p, &p->buffers, mbuf_make, mbuf_take_back};
	test_pool_open(&p->pool, &p->buffers_of);
	for (uint16_t i = 0; i < QUEUES; i++) {
		queues[number][i] = (struct test_queue){p, i};
		queue_data[number][i] = &queues[number][i];
	}
	row->rx_pkt_burst = receive;
	row->tx_pkt_burst = transmit;
	row->rxq = row->txq = (struct rte_ethdev_qdata){queue_data[number], no_callbacks};
}

void test_port_receive(struct test_port *p, const void *data, uint32_t len)
{
	struct rte_mbuf *m;

	if (p->received_count == TEST_PORT_HOLDS)
		abort();
	m = p->pooled ? mbuf_new(p, RTE_PKTMBUF_HEADROOM, RTE_MBUF_DEFAULT_DATAROOM)
	              : mbuf_new(p, 0, len);
	memcpy(rte_pktmbuf_mtod(m, void *), data, len);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	p->received[p->received_count++] = m;
}
