// SPDX-License-Identifier: BSD-3-Clause
// Times of packets, in a list that grows. Path: cold. Management thread.
#include "net/timestamps.h"

#include <errno.h>
#include <stdlib.h>

#include "net/packet_file.h"

int timestamps_add(struct timestamps *t, uint64_t ns)
{
	if (t->count == t->room) {
		uint64_t room = t->room ? 2 * t->room : 1 << 12;
		uint64_t *more = reallocarray(t->ns, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		t->ns = more;
		t->room = room;
	}
	t->ns[t->count++] = ns;
	return 0;
}

void timestamps_free(struct timestamps *t)
{
	free(t->ns);
	*t = (struct timestamps){0};
}

static int packet_add(void *to, const struct packet *p)
{
	return timestamps_add(to, p->ns);
}

int timestamps_read(
	struct timestamps *t, int fd, const char *filter, struct arena *a, const char **why)
{
	return packet_file_each(fd, filter, packet_add, t, a, why);
}
