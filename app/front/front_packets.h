// SPDX-License-Identifier: BSD-3-Clause
// The packets of a run, for a tool that prints something per packet: output.capture into a file in
// memory, read after the run. Path: cold. Main thread.
#pragma once

#include "front/front_as.h"
#include "net/frame.h"

#define FRONT_PACKETS_MOST "1M" // transactions

struct front_packet {
	struct frame frame;  // UDP over IPv4 or IPv6
	uint64_t at_ns;      // since the epoch
	const char *comment; // "ITEM: OUTCOME: ...", of comment_len bytes
	uint32_t comment_len;
};

// Configure a capture of packets with these outcomes ("[answered, lost]") to *fd, -1 with --dump.
// option: as typed, for messages. 0, or an exit code after an error, which was logged.
int front_packets_begin(struct as_run *r, const char *option, const char *when, int *fd);
// Calls each() with every packet in order of time; closes fd. Returns the size of the file, in
// which a packet has at least FRONT_PACKET_MIN bytes.
size_t front_packets_each(int fd, void (*each)(void *ctx, const struct front_packet *p), void *ctx);

#define FRONT_PACKET_MIN 28
