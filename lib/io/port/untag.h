// SPDX-License-Identifier: BSD-3-Clause
// VLAN tags that a card strips from received packets unasked, because Linux drivers of some cards
// configure it for their virtual functions. They are restored before the packet is read, so that no
// other code is affected. Ports of other cards skip this step. Path: hot (undo) | cold (undo_on).
#pragma once

#include <stdint.h>

struct rte_mbuf;

// From now on untag_undo follows each burst of a configured queue. 0 or -errno. Management thread.
int untag_undo_on(uint16_t device, uint16_t queue);

// Puts the stripped tags of n received packets back into the frame, as 802.1Q. The other arguments
// are as in DPDK's rte_rx_callback_fn. Returns n. The worker that owns the queue.
uint16_t untag_undo(uint16_t device, uint16_t queue, struct rte_mbuf **pkts, uint16_t n,
	uint16_t room, void *unused);
