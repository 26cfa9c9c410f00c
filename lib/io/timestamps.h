// SPDX-License-Identifier: BSD-3-Clause
// When the packets of a file were seen. Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct timestamps {
	uint64_t *ns; // since the epoch, in the order of the file
	uint64_t count, room;
};

// Does the file at path begin like one of packets (pcap or pcapng)?
bool timestamps_is_packet_file(const char *path);

// Of every packet that the filter (tcpdump's language; NULL: all) lets through. 0, or -EINVAL with
// *why: static or arena text, lives as long as a.
int timestamps_read(struct timestamps *t, const char *path, const char *filter, struct arena *a,
	const char **why);
// One more; 0 or -ENOMEM.
int timestamps_add(struct timestamps *t, uint64_t ns);
void timestamps_free(struct timestamps *t);
