// SPDX-License-Identifier: BSD-3-Clause
// Arrival times of received packets by the kernel's stamps: sockets give one with each datagram
// (driver socket), the packet ring beneath DPDK's af_packet holds it in front of each frame, and
// libpcap passes it to DPDK's pcap driver. So a reply keeps its time however late the thread reads
// it. Path: driver (stamps_rx) | cold (stamps_of). The thread that owns the queue.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/port_state.h"

struct clock;

// Location of the stamps of a thread's queue.
struct stamps {
	// ctlplane: wo before the launch, dataplane: ro
	bool known;
	int at;        // offset of the mbuf field with the Unix time of arrival
	uint64_t flag; // of mbufs that have one
	uint64_t unit; // of the field, ns
	// The packet ring of af_packet instead: NULL, or the head of its first frame.
	const uint8_t *ring;
	uint32_t frame, frames; // bytes from one to the next; number
	// dataplane: rw
	uint32_t next;       // frame of the ring, which the next packet comes from
	uint32_t missed;     // bursts in a row that came from elsewhere, or right after a search
	uint64_t tick, wall; // of the last reading of both clocks; 0: none
};

// known is false where nothing stamps packets. After the port's sockets were opened.
struct stamps stamps_of(const struct port *port, uint16_t queue);

// The mbuf field for the stamps of the driver of sockets, in ns; 0 until it is registered.
int stamps_field(uint64_t *flag);

// Like burst_rx, for a queue with stamps. *at: the tick after the burst was received. came: the
// ticks at which its packets arrived, at most *at, and *at for a packet without a usable stamp.
uint16_t stamps_rx(struct stamps *s, const struct port_queue *from, struct rte_mbuf **pkts,
	uint16_t n, const struct clock *c, uint64_t *at, uint64_t *came);
