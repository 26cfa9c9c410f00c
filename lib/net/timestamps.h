// SPDX-License-Identifier: BSD-3-Clause
// When the packets of a file were seen. Path: cold. Management thread.
#pragma once

#include <stdint.h>

#include "base/arena.h"

struct timestamps {
	uint64_t *ns; // since the epoch, in the order of the file
	uint64_t count, room;
};

// The times of all packets that pass the filter (tcpdump's language; NULL: all). Closes fd, which
// is at the beginning of the file. 0, or -EINVAL with *why: static or arena text, lives as long as
// a.
int timestamps_read(
	struct timestamps *t, int fd, const char *filter, struct arena *a, const char **why);
// One more; 0 or -ENOMEM.
int timestamps_add(struct timestamps *t, uint64_t ns);
void timestamps_free(struct timestamps *t);
