// SPDX-License-Identifier: BSD-3-Clause
// A step behind the driver's own receiving, in DPDK's list of those. Not here: which cards need it
// (port_configure.c). Path: hot (undo) | cold (undo_on). The worker that owns the queue; management
// thread.
#include "io/port/untag.h"

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

uint16_t untag_undo(uint16_t device, uint16_t queue, struct rte_mbuf **pkts, uint16_t n,
	uint16_t room, void *unused)
{
	for (uint16_t i = 0; i < n; i++)
		if (pkts[i]->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED)
			rte_vlan_insert(&pkts[i]); // fails for a packet without a whole header
	return n;
}

int untag_undo_on(uint16_t device, uint16_t queue)
{
	return rte_eth_add_rx_callback(device, queue, untag_undo, NULL) ? 0 : -rte_errno;
}
