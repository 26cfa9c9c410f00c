// SPDX-License-Identifier: BSD-3-Clause
// The sleep of a thread that owns queues, until a packet comes or a time is reached. Kernel sockets
// wake it: the sockets of driver socket, and the sockets that DPDK's af_packet, pcap and af_xdp
// opened, which offer no interrupt themselves. For other drivers it sleeps for short times.
// Path: cold. wait_of: management thread. The rest: the thread that sleeps.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/port_state.h"

#define WAIT_FDS 4 // of a queue

struct wait {
	int fds[WAIT_FDS]; // borrowed; readable when a packet waits
	uint32_t count;    // 0: no packet ends the sleep
	bool own;          // no other queue receives packets for this one
};

// The descriptors that wake a thread that owns `queue` of the port. To be called after the port's
// sockets were assigned.
struct wait wait_of(const struct port *port, uint16_t queue);

// Once, in the thread that sleeps: exact timers, and a short turn on a shared CPU, which it gets
// sooner for that.
void wait_prepare(void);

// Sleep for `ns` (below a second), or until a packet waits or a signal comes.
void wait_for(const struct wait *w, uint64_t ns);
