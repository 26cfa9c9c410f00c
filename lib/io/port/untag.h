// SPDX-License-Identifier: BSD-3-Clause
// Tags that a card takes off what it receives, unasked, as Linux' drivers of some cards set it up
// for their virtual functions. They are put back before anybody reads the packet, so that nothing
// else knows of it. Ports of other cards have no such step. Path: hot (undo) | cold (undo_on).
#pragma once

#include <stdint.h>

struct rte_mbuf;

// From now on untag_undo follows each burst of a configured queue. 0 or -errno. Management thread.
int untag_undo_on(uint16_t device, uint16_t queue);

// Of n received packets those whose tag is beside them have it inside again, as 802.1Q. The other
// arguments are those of DPDK's rte_rx_callback_fn. Returns n. The worker that owns the queue.
uint16_t untag_undo(uint16_t device, uint16_t queue, struct rte_mbuf **pkts, uint16_t n,
	uint16_t room, void *unused);
