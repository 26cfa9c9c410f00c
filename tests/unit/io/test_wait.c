// SPDX-License-Identifier: BSD-3-Clause
// A sleep ends with its time or with a packet. Path: cold. Test.
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <rte_ethdev.h>

#include "io/driver/driver.h"
#include "io/port/wait.h"

#define LONG_NS 900000000ull

static uint64_t taken_ns(const struct wait *w, uint64_t ns)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	wait_for(w, ns);
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (uint64_t)((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec);
}

static void a_packet_ends_the_sleep(void **state)
{
	int pair[2];
	struct wait w = {.count = 1};
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	w.fds[0] = pair[0];
	assert_true(taken_ns(&w, 2000000) >= 2000000);
	assert_int_equal(send(pair[1], "x", 1, 0), 1);
	assert_true(taken_ns(&w, LONG_NS) < LONG_NS);
	assert_int_equal(recv(pair[0], &byte, 1, 0), 1);
	assert_true(taken_ns(&w, 1000000) >= 1000000);
	close(pair[0]);
	close(pair[1]);
}

static void without_a_socket_it_takes_its_time(void **state)
{
	assert_true(taken_ns(&(struct wait){.count = 0}, 50000) >= 50000);
}

static void timers_of_the_thread_are_exact_from_then_on(void **state)
{
	wait_prepare();
	assert_int_equal(prctl(PR_GET_TIMERSLACK), 1);
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
}

static void a_port_without_sockets_of_the_kernel_is_looked_at(void **state)
{
	struct port p = {.driver = &drivers[driver_count - 1], .queues = 1};
	struct wait w = wait_of(&p, 0);

	assert_int_equal(w.count, 0);
	assert_false(w.own);
	p.drops.count = 2; // another queue's, too: which is this one's is not known
	assert_int_equal(wait_of(&p, 0).count, 0);
	p.queues = 2;
	p.drops.sockets[1] = 7;
	w = wait_of(&p, 1);
	assert_int_equal(w.count, 1);
	assert_int_equal(w.fds[0], 7);
}

// Devices of a process with XDP sockets 10, 12 and 14, among others.
static const char *const names[] = {"net_af_xdp", "net_null", "net_af_xdp", "", "net_af_xdp"};
static rlim_t open_max = 100;

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_getrlimit64(int what, struct rlimit *limit);

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	assert_int_equal(name, SO_DOMAIN);
	*(int *)value = fd == 10 || fd == 12 || fd == 14 ? AF_XDP : AF_INET;
	return fd < 5 ? -1 : 0;
}

int __wrap_getrlimit64(int what, struct rlimit *limit)
{
	limit->rlim_cur = open_max;
	return 0;
}

uint64_t rte_eth_find_next_owned_by(uint16_t port_id, const uint64_t owner_id)
{
	return port_id < 5 ? port_id : RTE_MAX_ETHPORTS;
}

int rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
	info->driver_name = names[port_id];
	return port_id == 3 ? -ENODEV : 0;
}

static const struct driver *xdp_driver(void)
{
	const struct driver *d = drivers;

	while (!d->xdp)
		d++;
	return d;
}

static void xdp_sockets_are_in_the_order_of_their_devices(void **state)
{
	struct port p = {.driver = xdp_driver(), .queues = 2, .queue = {{4, 0}, {2, 0}}};

	assert_int_equal(wait_of(&p, 0).fds[0], 14);
	assert_int_equal(wait_of(&p, 1).fds[0], 12);
	p.queue[0].device = 0;
	assert_int_equal(wait_of(&p, 0).fds[0], 10);
	assert_int_equal(wait_of(&p, 0).count, 1);
	open_max = 12;
	assert_int_equal(wait_of(&p, 0).count, 1);
	assert_int_equal(wait_of(&p, 1).count, 0);
	open_max = 13;
	assert_int_equal(wait_of(&p, 1).count, 1);
	open_max = RLIM_INFINITY;
	assert_int_equal(wait_of(&p, 1).fds[0], 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_packet_ends_the_sleep),
		cmocka_unit_test(without_a_socket_it_takes_its_time),
		cmocka_unit_test(timers_of_the_thread_are_exact_from_then_on),
		cmocka_unit_test(a_port_without_sockets_of_the_kernel_is_looked_at),
		cmocka_unit_test(xdp_sockets_are_in_the_order_of_their_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
