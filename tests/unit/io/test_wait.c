// SPDX-License-Identifier: BSD-3-Clause
// A sleep ends with its time or with a packet. Path: cold. Test.
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_packet_ends_the_sleep),
		cmocka_unit_test(without_a_socket_it_takes_its_time),
		cmocka_unit_test(timers_of_the_thread_are_exact_from_then_on),
		cmocka_unit_test(a_port_without_sockets_of_the_kernel_is_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
