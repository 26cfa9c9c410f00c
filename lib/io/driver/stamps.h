// SPDX-License-Identifier: BSD-3-Clause
// When received packets arrived, by the kernel's stamps: sockets say it with each datagram (driver
// socket), the packet ring beneath DPDK's af_packet has it in front of each frame, and libpcap
// hands it to DPDK's pcap driver. So a reply has its time however late the thread turns to it.
// Path: driver (stamps_rx) | cold (stamps_of). The thread that owns the queue.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/port_state.h"
#include "io/burst.h"

struct clock;

// Where a thread finds the stamps of its queue.
struct stamps {
	// ctlplane: wo before the launch, dataplane: ro
	bool known;
	int at;        // of the field of an mbuf that has the Unix time of its arrival
	uint64_t flag; // of mbufs that have one
	uint64_t unit; // of the field, ns
	// The packet ring of af_packet instead: NULL, or the head of its first frame.
	const uint8_t *ring;
	uint32_t frame, frames; // bytes from one to the next; number
	// dataplane: rw
	uint32_t next;       // frame of the ring, which the next packet comes from
	uint32_t missed;     // bursts in a row that came from elsewhere, or right after the look
	uint64_t tick, wall; // of the last reading of both clocks; 0: none
};

// known is false where nothing stamps packets. After the port's sockets were opened.
struct stamps stamps_of(const struct port *port, uint16_t queue);

// The field in which the driver of sockets leaves stamps, 0 while there is none. ns.
int stamps_field(uint64_t *flag);

// As burst_rx, of a queue whose stamps are known. *at: the tick after the burst was received. came:
// those at which its packets arrived, at most *at, and *at itself of one without a usable stamp.
uint16_t stamps_rx(struct stamps *s, const struct port_queue *from, struct rte_mbuf **pkts,
	uint16_t n, const struct clock *c, uint64_t *at, uint64_t *came);
