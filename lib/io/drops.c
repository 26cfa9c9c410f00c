// SPDX-License-Identifier: BSD-3-Clause
// PACKET_STATISTICS of the sockets that DPDK opened. The interface's own count of drops is useless:
// it includes frames that the kernel did not need but these sockets received, for example tagged
// ones.
// Path: cold. Management thread.
#include "io/drops.h"

#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define FDS_MAX 65536

static bool is_receiver(int fd, unsigned index)
{
	struct sockaddr_ll at;
	socklen_t len = sizeof(at);

	memset(&at, 0, sizeof(at));
	if (getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		return false;
	return at.sll_family == AF_PACKET && at.sll_ifindex == (int)index && at.sll_protocol;
}

static void find_sockets(struct drops *d, const char *device)
{
	unsigned index = if_nametoindex(device);
	struct rlimit limit = {.rlim_cur = FDS_MAX};
	int last;

	getrlimit(RLIMIT_NOFILE, &limit);
	last = limit.rlim_cur < FDS_MAX ? (int)limit.rlim_cur : FDS_MAX;
	for (int fd = 0; index && fd < last && d->count < DROPS_SOCKETS_MAX; fd++)
		if (is_receiver(fd, index))
			d->sockets[d->count++] = fd;
}

// Reading sets the kernel's counters back to 0.
static void read_sockets(struct drops *d)
{
	for (unsigned i = 0; i < d->count; i++) {
		struct tpacket_stats stats = {0};
		socklen_t len = sizeof(stats);

		if (getsockopt(d->sockets[i], SOL_PACKET, PACKET_STATISTICS, &stats, &len) < 0)
			d->known = false;
		d->dropped += stats.tp_drops;
	}
}

void drops_start(struct drops *d, const char *device, unsigned queues)
{
	*d = (struct drops){.count = 0};
	find_sockets(d, device);
	d->known = d->count > 0 && d->count >= queues;
	read_sockets(d);
	d->dropped = 0;
}

uint64_t drops_read(struct drops *d, bool *known)
{
	read_sockets(d);
	*known = d->known;
	return d->dropped;
}
