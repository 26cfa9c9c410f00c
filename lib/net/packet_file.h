// SPDX-License-Identifier: BSD-3-Clause
// Packets of a file (pcap or pcapng), by libpcap. Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "net/frame.h"

struct packet {
	uint64_t ns;          // since the epoch
	const uint8_t *frame; // from its Ethernet header on, which is made if the file has another;
	                      // NULL: the link is neither Ethernet, raw IP nor Linux cooked
	uint32_t len;         // captured bytes
	bool cut;             // the packet was longer
	const char *link;     // name of the link, static
};

// Takes a packet; its frame lives until it returns. 0, or -errno, which ends the reading.
typedef int (*packet_give)(void *to, const struct packet *p);

// As frame_parse; FRAME_OTHER without a frame.
enum frame_kind packet_parse(const struct packet *p, struct frame *f);
// The kind of a parsed packet in words, to explain why it was skipped: "fragments", "VXLAN". Static
// text.
const char *packet_kind(const struct packet *p, enum frame_kind kind, const struct frame *f);

// Does the file begin like a packet capture? The offset of the descriptor is unchanged.
bool packet_file_is(int fd);

// Each packet that the filter (tcpdump's language; NULL: all) lets through to give. Closes fd,
// which is at the begin of the file. 0, the -errno of give, -EINTR, or -EINVAL with *why: static or
// arena text, lives as long as a. A file that ends within a packet, as of a program that was
// killed, is read up to there: 0, with *why.
int packet_file_each(
	int fd, const char *filter, packet_give give, void *to, struct arena *a, const char **why);
