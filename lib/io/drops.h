// SPDX-License-Identifier: BSD-3-Clause
// Packets for an af_packet port that the kernel dropped. The driver has no counter, but its sockets
// belong to this process, and the kernel counts for each. Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DROPS_SOCKETS_MAX 16

struct drops {
	int sockets[DROPS_SOCKETS_MAX]; // borrowed from the driver
	unsigned count;
	uint64_t dropped; // no room in their rings
	bool known;
};

// With the port open and before traffic: find its sockets (at least `queues`, else drops stay
// unknown) and count from here.
void drops_start(struct drops *d, const char *device, unsigned queues);

// Packets dropped since drops_start. Sets *known to false if only a part of them, or none, is
// known.
uint64_t drops_read(struct drops *d, bool *known);
