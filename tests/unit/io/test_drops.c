// SPDX-License-Identifier: BSD-3-Clause
// The kernel's drop counters against a packet socket that nobody reads. Needs root for the socket.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/drops.h"

#define SENT 2000

// On the loopback interface, with hardly any room. -1: this process may not.
static int packet_socket(void)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
		.sll_protocol = htons(3), // ETH_P_ALL
		.sll_ifindex = (int)if_nametoindex("lo")};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), room = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static void send_to_nobody(int count)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
	for (int i = 0; i < count; i++)
		sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to));
	close(fd);
}

static void what_a_full_socket_drops_is_counted_once(void **state)
{
	int fd = packet_socket();
	struct drops d;
	uint64_t dropped;
	bool known = false;

	(void)state;
	if (fd < 0)
		skip();
	send_to_nobody(SENT); // before: not counted
	drops_start(&d, "lo", 1);
	assert_int_equal(d.count, 1);
	assert_true(drops_read(&d, &known) < SENT); // others use the loopback too
	assert_true(known);
	send_to_nobody(SENT);
	dropped = drops_read(&d, &known);
	assert_true(dropped >= SENT);
	assert_true(drops_read(&d, &known) >= dropped);
	close(fd);
}

static void drops_are_unknown_without_the_sockets(void **state)
{
	struct drops d;
	bool known = true;

	(void)state;
	drops_start(&d, "lo", 1);
	assert_int_equal(drops_read(&d, &known), 0);
	assert_false(known);
	drops_start(&d, "no-such-device", 0);
	drops_read(&d, &known);
	assert_false(known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_full_socket_drops_is_counted_once),
		cmocka_unit_test(drops_are_unknown_without_the_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
