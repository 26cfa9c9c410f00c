// SPDX-License-Identifier: BSD-3-Clause
// Allocates the table of fragments, and copies packets between one buffer and several.
// Path: hot, but rare | cold (new, free). The worker that owns the queue.
#include "engine/core/reassembly.h"

#include <stdlib.h>
#include <string.h>

#include "io/burst.h"

static struct fragments_limits limits_at(double hz)
{
	return (struct fragments_limits){.datagrams = REASSEMBLY_DATAGRAMS,
		.blocks = REASSEMBLY_BLOCKS,
		.timeout = (uint64_t)(hz * (REASSEMBLY_TIMEOUT_NS / 1e9))};
}

uint64_t reassembly_memory(void)
{
	const struct fragments_limits limits = limits_at(0);

	return sizeof(struct reassembly) + FRAGMENTS_FRAME_MAX + fragments_memory(&limits);
}

// Touches the memory, so that no page fault happens in the run.
struct reassembly *reassembly_new(const struct clock *clock)
{
	const struct fragments_limits limits = limits_at(clock->hz);
	size_t table = fragments_memory(&limits);
	struct reassembly *r = aligned_alloc(_Alignof(struct reassembly), sizeof(*r));
	uint8_t *memory = malloc(table + FRAGMENTS_FRAME_MAX);

	if (!r || !memory) {
		free(r);
		free(memory);
		return NULL;
	}
	memset(r, 0, sizeof(*r));
	memset(memory, 0, table + FRAGMENTS_FRAME_MAX);
	fragments_init(&r->table, &limits, memory);
	r->frame = memory + table;
	return r;
}

void reassembly_free(struct reassembly *r)
{
	if (r)
		free(r->table.datagrams);
	free(r);
}

void reassembly_set(struct reassembly *r, uint32_t len)
{
	r->packet.buf_addr = r->frame;
	r->packet.data_len = len < UINT16_MAX ? (uint16_t)len : UINT16_MAX;
	r->packet.pkt_len = len;
	r->packet.nb_segs = 1;
}

bool reassembly_copy(struct reassembly *r, const struct rte_mbuf *m)
{
	uint32_t len = 0;

	for (; m; m = m->next) {
		struct rte_mbuf *segment = (struct rte_mbuf *)(uintptr_t)m;

		if (m->data_len > FRAGMENTS_FRAME_MAX - len)
			return false;
		memcpy(r->frame + len, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
		len += m->data_len;
		burst_release(&segment, 1); // burst_free releases the first segment only
	}
	reassembly_set(r, len);
	return true;
}

struct rte_mbuf *reassembly_chain(const struct reassembly *r, struct rte_mempool *pool)
{
	struct rte_mbuf *head = NULL, **at = &head, *m;
	uint32_t done = 0;

	while (done < r->packet.pkt_len) {
		uint32_t left = r->packet.pkt_len - done, room;

		if (!burst_alloc(pool, &m, 1)) {
			if (head)
				burst_free(&head, 1);
			return NULL;
		}
		room = rte_pktmbuf_tailroom(m);
		m->data_len = (uint16_t)(left < room ? left : room);
		memcpy(rte_pktmbuf_mtod(m, uint8_t *), r->frame + done, m->data_len);
		done += m->data_len;
		*at = m;
		at = &m->next;
		head->nb_segs += m != head;
	}
	head->pkt_len = done;
	return head;
}
