// SPDX-License-Identifier: BSD-3-Clause
// The interface as the packet driver for libpcap opens it. Needs root for the loopback's packets.
#include "ports.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "io/port/pcap_ring.h"

#define ALL_OF_IT 262144

static char why[PCAP_ERRBUF_SIZE];

// A loopback that no other program sends on. Without the privilege, the system's.
static int alone(void **state)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd, status;

	if (unshare(CLONE_NEWNET) < 0)
		return 0;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	status = ioctl(fd, SIOCSIFFLAGS, &lo);
	close(fd);
	return status;
}

static pcap_t *open_loopback(void)
{
	pcap_t *p = pcap_open_live("lo", ALL_OF_IT, 0, -1, why);

	if (!p && (geteuid() != 0 || unit_emulated()))
		skip();
	if (!p)
		fail_msg("%s", why);
	assert_int_equal(pcap_setnonblock(p, 1, why), 0);
	return p;
}

// Each is seen going out and coming in, and perhaps the error that answers it too.
static void send_to_nobody(int count, long gap_ns)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
	struct timespec gap = {.tv_nsec = gap_ns};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
	for (int i = 0; i < count; i++) {
		sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to));
		if (gap_ns)
			nanosleep(&gap, NULL);
	}
	close(fd);
}

static void a_plug_in_finds_this_way_of_opening_and_not_that_of_the_library(void **state)
{
	assert_ptr_equal(dlsym(RTLD_DEFAULT, "pcap_open_live"), (void *)pcap_open_live);
}

static void a_pause_loses_nothing(void **state)
{
	pcap_t *p = open_loopback();
	struct pcap_stat stat;

	send_to_nobody(30, 4000000); // few, for many ticks of the kernel
	send_to_nobody(1500, 0);
	assert_int_equal(pcap_stats(p, &stat), 0);
	pcap_close(p);
	assert_true(stat.ps_recv >= 3000);
	assert_int_equal(stat.ps_drop, 0);
}

static void a_packet_is_there_at_once(void **state)
{
	pcap_t *p = open_loopback();
	struct pcap_pkthdr head;

	send_to_nobody(1, 0);
	assert_non_null(pcap_next(p, &head));
	pcap_close(p);
}

static int snapshot_for(struct port_settings s)
{
	pcap_t *p;
	int length;

	pcap_ring_for(&s);
	p = open_loopback();
	length = pcap_snapshot(p);
	pcap_close(p);
	return length;
}

static void the_longest_frame_of_the_port_is_seen_whole(void **state)
{
	struct port_settings s = port_of("lan", "pcap", "lo");

	assert_in_range(snapshot_for(s), 1522, 2048);
	s.mtu = 9000;
	assert_int_equal(snapshot_for(s), 9022);
	s.mtu = 1500;
	assert_in_range(snapshot_for(s), 1522, 2048);
}

static void an_error_names_the_interface(void **state)
{
	assert_null(pcap_open_live("nonexistent0", ALL_OF_IT, 0, -1, why));
	assert_non_null(strstr(why, "nonexistent0: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plug_in_finds_this_way_of_opening_and_not_that_of_the_library),
		cmocka_unit_test(a_pause_loses_nothing),
		cmocka_unit_test(a_packet_is_there_at_once),
		cmocka_unit_test(the_longest_frame_of_the_port_is_seen_whole),
		cmocka_unit_test(an_error_names_the_interface),
	};

	return cmocka_run_group_tests(tests, alone, NULL);
}
