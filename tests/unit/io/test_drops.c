// SPDX-License-Identifier: BSD-3-Clause
// The kernel's drop counters, of a packet socket that is never read. Needs root for the socket.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/drops.h"

#define SENT 2000
#define FDS  100

// The descriptors of a process that the test plays.
static struct {
	bool on;
	int family[FDS], interface[FDS];
	uint16_t protocol[FDS];
	unsigned drops[FDS];
	rlim_t limit;
	int failing; // descriptor whose counters cannot be read
	int highest; // that was looked at
} fake;

static int fresh(void **state)
{
	memset(&fake, 0, sizeof(fake));
	fake.on = true;
	fake.limit = FDS;
	fake.failing = -1;
	return 0;
}

static int real_one(void **state)
{
	fake.on = false;
	return 0;
}

static void receiver(int fd, int interface, unsigned drops)
{
	fake.family[fd] = AF_PACKET;
	fake.interface[fd] = interface;
	fake.protocol[fd] = htons(3);
	fake.drops[fd] = drops;
}

int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
	int (*real)(__rlimit_resource_t, struct rlimit *) =
		(int (*)(__rlimit_resource_t, struct rlimit *))dlsym(RTLD_NEXT, "getrlimit");

	if (!fake.on)
		return real(resource, limit);
	limit->rlim_cur = fake.limit;
	return 0;
}

int getsockname(int fd, struct sockaddr *at, socklen_t *len)
{
	int (*real)(int, struct sockaddr *, socklen_t *) =
		(int (*)(int, struct sockaddr *, socklen_t *))dlsym(RTLD_NEXT, "getsockname");
	struct sockaddr_ll *packet = (struct sockaddr_ll *)at;

	if (!fake.on)
		return real(fd, at, len);
	assert_in_range(fd, 0, 1 << 20);
	fake.highest = fd > fake.highest ? fd : fake.highest;
	if (fd >= FDS || !fake.family[fd])
		return -1;
	packet->sll_family = (uint16_t)fake.family[fd];
	packet->sll_ifindex = fake.interface[fd];
	packet->sll_protocol = fake.protocol[fd];
	return 0;
}

int getsockopt(int fd, int level, int option, void *value, socklen_t *len)
{
	int (*real)(int, int, int, void *, socklen_t *) =
		(int (*)(int, int, int, void *, socklen_t *))dlsym(RTLD_NEXT, "getsockopt");

	if (!fake.on)
		return real(fd, level, option, value, len);
	if (fd == fake.failing)
		return -1;
	((struct tpacket_stats *)value)->tp_drops = fake.drops[fd];
	return 0;
}

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
	if (fd < 0 || unit_emulated())
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

static void the_receivers_of_the_interface_are_found(void **state)
{
	const int lo = (int)if_nametoindex("lo");
	struct drops d;
	bool known;

	receiver(0, lo, 5);
	receiver(3, lo + 1, 7);
	receiver(4, lo, 7);
	fake.protocol[4] = 0; // sends only
	receiver(5, lo, 7);
	fake.family[5] = AF_INET;
	receiver(FDS - 1, lo, 2);
	drops_start(&d, "lo", 2);
	assert_int_equal(d.count, 2);
	assert_int_equal(d.sockets[0], 0);
	assert_int_equal(d.sockets[1], FDS - 1);
	assert_int_equal(drops_read(&d, &known), 7); // since the start
	assert_true(known);
	assert_int_equal(drops_read(&d, &known), 14);
	fake.failing = FDS - 1;
	assert_int_equal(drops_read(&d, &known), 19);
	assert_false(known);
	drops_start(&d, "lo", 3); // only two were found
	assert_int_equal(d.count, 2);
	fake.failing = -1;
	drops_read(&d, &known);
	assert_false(known);
}

static void only_descriptors_within_the_limits_are_looked_at(void **state)
{
	const int lo = (int)if_nametoindex("lo");
	struct drops d;

	drops_start(&d, "lo", 1);
	assert_int_equal(fake.highest, FDS - 1);
	fake.limit = RLIM_INFINITY;
	drops_start(&d, "lo", 1);
	assert_int_equal(fake.highest, 65535);
	for (int fd = 0; fd < FDS; fd++)
		receiver(fd, lo, 1);
	drops_start(&d, "lo", 1);
	assert_int_equal(d.count, DROPS_SOCKETS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_a_full_socket_drops_is_counted_once, real_one),
		cmocka_unit_test_setup(drops_are_unknown_without_the_sockets, real_one),
		cmocka_unit_test_setup(the_receivers_of_the_interface_are_found, fresh),
		cmocka_unit_test_setup(only_descriptors_within_the_limits_are_looked_at, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
