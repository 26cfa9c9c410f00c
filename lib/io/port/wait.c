// SPDX-License-Identifier: BSD-3-Clause
// ppoll on the sockets beneath a queue. Path: cold. The thread that sleeps; wait_of: management
// thread.
#include "io/port/wait.h"

#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "io/driver/driver.h"
#include "io/sockets/sockets.h"

#define SLICE_NS 100000 // the shortest turn that Linux takes, from 6.12 on
#define FDS_MAX  65536

// The argument of sched_setattr, missing from the C library.
struct sched_attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

// The n-th XDP socket of the process, or -1.
static int xdp_socket(unsigned n)
{
	struct rlimit limit = {.rlim_cur = FDS_MAX};
	int last;

	getrlimit(RLIMIT_NOFILE, &limit);
	last = limit.rlim_cur < FDS_MAX ? (int)limit.rlim_cur : FDS_MAX;
	for (int fd = 0; fd < last; fd++) {
		int domain = 0;
		socklen_t len = sizeof(domain);

		if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_XDP &&
			n-- == 0)
			return fd;
	}
	return -1;
}

// Its devices have one queue and one socket each, and are opened in the order of their numbers.
static int xdp_socket_of(uint16_t device)
{
	struct rte_eth_dev_info info;
	unsigned before = 0;
	uint16_t id;

	RTE_ETH_FOREACH_DEV(id)
	before += id < device && rte_eth_dev_info_get(id, &info) == 0 &&
	          strcmp(info.driver_name, "net_af_xdp") == 0;
	return xdp_socket(before);
}

struct wait wait_of(const struct port *port, uint16_t queue)
{
	struct wait w = {.own = port->sockets != NULL};
	int fd = -1;

	if (port->sockets)
		w.count = sockets_wait(port->sockets, queue, w.fds, WAIT_FDS);
	else if (port->drops.count && port->drops.count == port->queues)
		fd = port->drops.sockets[queue];
	else if (port->driver->xdp)
		fd = xdp_socket_of(port->queue[queue].device);
	if (fd >= 0)
		w.fds[w.count++] = fd;
	return w;
}

void wait_prepare(void)
{
	struct sched_attributes a = {.size = sizeof(a)};

	prctl(PR_SET_TIMERSLACK, 1);
	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) < 0 || a.policy != SCHED_OTHER)
		return;
	a.runtime = SLICE_NS;
	syscall(SYS_sched_setattr, 0, &a, 0);
}

void wait_for(const struct wait *w, uint64_t ns)
{
	struct pollfd fds[WAIT_FDS];

	for (uint32_t i = 0; i < w->count; i++)
		fds[i] = (struct pollfd){.fd = w->fds[i], .events = POLLIN};
	ppoll(fds, w->count, &(struct timespec){.tv_nsec = (long)ns}, NULL);
}
