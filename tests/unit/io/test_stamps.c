// SPDX-License-Identifier: BSD-3-Clause
// Stamps of packets become ticks, whatever their unit. The clock of the tests stands still; a tick
// is a nanosecond, and so is the Unix time. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/if_packet.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <rte_mbuf_dyn.h>

#include "base/clock.h"
#include "io/burst.h"
#include "io/driver/driver.h"
#include "io/driver/stamps.h"
#include "lib/test_port.h"

#define AT     (sizeof(struct rte_mbuf) - sizeof(uint64_t))
#define FLAG   RTE_MBUF_F_FIRST_FREE
#define FRAME  64
#define FRAMES 8
#define NOW    5000000000ull

static struct test_port port;
static uint64_t now;
static const struct clock standing = {.hz = 1e9, .set = &now};

static struct rte_mbuf *arrive(bool stamped, uint64_t stamp)
{
	struct rte_mbuf *m;

	test_port_receive(&port, "packet", 6);
	m = port.received[port.received_count - 1];
	if (stamped) {
		m->ol_flags |= FLAG;
		*RTE_MBUF_DYNFIELD(m, AT, uint64_t *) = stamp;
	}
	return m;
}

// Ticks of up to n packets of one burst. Returns their number.
static uint16_t take(struct stamps *s, uint64_t *came, uint16_t n)
{
	const struct port_queue from = {port.number, 0};
	struct rte_mbuf *pkts[BURST_MAX];
	uint64_t at = 0;
	uint16_t got = stamps_rx(s, &from, pkts, n, &standing, &at, came);

	if (got)
		assert_int_equal(at, now);
	burst_free(pkts, got);
	return got;
}

static int fresh(void **state)
{
	test_port_open(&port, 0);
	now = NOW;
	return 0;
}

static void a_stamp_is_an_age_and_an_age_is_a_tick(void **state)
{
	struct stamps s = {.known = true, .at = AT, .flag = FLAG, .unit = 1};
	uint64_t came[BURST_MAX];

	arrive(true, NOW - 7000);
	arrive(true, NOW);
	arrive(false, NOW - 7000);
	arrive(true, NOW + 1); // nothing comes from the future
	arrive(true, 0);
	assert_int_equal(take(&s, came, 8), 5);
	assert_int_equal(came[0], NOW - 7000);
	for (int i = 1; i < 5; i++)
		assert_int_equal(came[i], NOW);
	assert_int_equal(take(&s, came, 8), 0);
}

static void a_microsecond_is_taken_in_its_middle(void **state)
{
	struct stamps s = {.known = true, .at = AT, .flag = FLAG, .unit = 1000};
	uint64_t came[BURST_MAX];

	arrive(true, NOW / 1000 - 3);
	assert_int_equal(take(&s, came, 8), 1);
	assert_int_equal(came[0], NOW - 2500);
}

static void stamps_from_before_the_clock_was_set_are_not_used(void **state)
{
	struct stamps s = {.known = true, .at = AT, .flag = FLAG, .unit = 1};
	const int64_t steps[] = {-1000000000, -21000, 21000, 1000000000};
	uint64_t came[BURST_MAX];

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		arrive(true, now - 10);
		take(&s, came, 8);
		assert_int_equal(came[0], now - 10);
		s.wall -= (uint64_t)steps[i];
		now += 100;
		arrive(true, now - 10);
		take(&s, came, 8);
		assert_int_equal(came[0], now);
	}
	// It may be slowed down or hurried by a part in a thousand, and be read a little late.
	arrive(true, now - 10);
	take(&s, came, 8);
	s.wall += 20900000; // in 20 s
	now += 20000000000;
	arrive(true, now - 10);
	take(&s, came, 8);
	assert_int_equal(came[0], now);
	s.wall += 19000000;
	now += 20000000000;
	arrive(true, now - 10);
	take(&s, came, 8);
	assert_int_equal(came[0], now - 10);
}

// --- a packet ring ---

static _Alignas(8) uint8_t ring[FRAMES][FRAME];
static uint32_t filled, taken; // frames that the kernel filled, and that the driver took

static void fill(uint64_t stamp)
{
	struct tpacket2_hdr *h = (void *)ring[filled++ % FRAMES];

	h->tp_sec = (uint32_t)(stamp / 1000000000);
	h->tp_nsec = (uint32_t)(stamp % 1000000000);
	h->tp_status = TP_STATUS_USER;
	arrive(false, 0);
}

// The driver takes all packets, at most `most`.
static uint32_t most;

static void driver_takes(struct test_port *p)
{
	for (uint32_t i = 0; i < most && taken < filled; i++)
		((struct tpacket2_hdr *)ring[taken++ % FRAMES])->tp_status = TP_STATUS_KERNEL;
}

static struct stamps ring_stamps(void)
{
	memset(ring, 0, sizeof(ring));
	filled = taken = 0;
	most = BURST_MAX;
	port.poll = driver_takes;
	return (struct stamps){
		.known = true, .ring = ring[0], .frame = FRAME, .frames = FRAMES, .unit = 1};
}

static void a_ring_has_a_stamp_in_front_of_each_frame(void **state)
{
	struct stamps s = ring_stamps();
	uint64_t came[BURST_MAX];

	for (uint32_t round = 0; round < 5; round++) { // and begins again at its end
		for (uint32_t i = 0; i < 3; i++)
			fill(now - 100 + i);
		most = 2;
		assert_int_equal(take(&s, came, 2), 2);
		assert_int_equal(came[0], now - 100);
		assert_int_equal(came[1], now - 99);
		most = BURST_MAX;
		assert_int_equal(take(&s, came, 8), 1);
		assert_int_equal(came[0], now - 98);
		now += 1000;
	}
}

static void a_ring_that_others_have_read_from_is_found_again(void **state)
{
	struct stamps s = ring_stamps();
	uint64_t came[BURST_MAX];
	struct rte_mbuf *pkts[BURST_MAX];

	for (uint32_t before = 1; before < FRAMES; before++) {
		unsigned blind = 0;

		for (uint32_t i = 0; i < before; i++)
			fill(now - 1);
		burst_free(
			pkts, burst_rx(port.number, 0, pkts, FRAMES)); // without a look at stamps
		for (int i = 0; i < 8; i++) {
			now += 1000;
			fill(now - 100);
			assert_int_equal(take(&s, came, 8), 1);
			assert_true(came[0] == now || came[0] == now - 100);
			blind += came[0] == now;
		}
		assert_int_equal(blind, 4);
		assert_int_equal(came[0], now - 100);
	}
}

static void a_frame_that_came_after_the_look_came_now(void **state)
{
	struct stamps s = ring_stamps();
	uint64_t came[BURST_MAX];

	fill(now - 100);
	arrive(false, 0); // its frame was not full yet
	assert_int_equal(take(&s, came, 8), 2);
	assert_int_equal(came[0], now - 100);
	assert_int_equal(came[1], now);
}

static int32_t driver_named(const char *name)
{
	for (unsigned i = 0; i < driver_count; i++)
		if (strcmp(drivers[i].name, name) == 0)
			return (int32_t)i;
	return -1;
}

static void a_port_has_stamps_where_its_driver_and_its_kernel_make_them(void **state)
{
	static const struct {
		const char *driver;
		enum driver_stamps stamps;
	} rows[] = {{"pci", STAMPS_NONE}, {"af_xdp", STAMPS_NONE}, {"af_packet", STAMPS_RING},
		{"pcap", STAMPS_US}, {"socket", STAMPS_NS}, {"vdev", STAMPS_NONE}};
	struct port_settings p = {.device = "lo"};
	struct port of = {.settings = &p, .queues = 1};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		of.driver = &drivers[driver_named(rows[i].driver)];
		assert_int_equal(of.driver->stamps, rows[i].stamps);
		p.driver = driver_named(rows[i].driver);
		if (rows[i].stamps == STAMPS_NONE || rows[i].stamps == STAMPS_RING)
			assert_false(stamps_of(&of, 0).known); // no socket is known
	}
	p.driver = driver_named("pcap");
	of.driver = &drivers[p.driver];
	p.device = NULL;
	p.rx_file = "replies.pcap"; // times of another day
	assert_false(stamps_of(&of, 0).known);
	p.driver = driver_named("socket");
	of.driver = &drivers[p.driver];
	p.answers = true;
	assert_false(stamps_of(&of, 0).known);
}

// The memory map of a process with rings of the sockets with inodes 7 and 8.
static char maps[] = "00400000-00452000 r-xp 00000000 08:02 8  /usr/bin/ddiperf\n"
		     "7f0000001000-7f0000002000 rw-s 00000000 00:08 7  socket:[7]\n"
		     "7f0000003000-7f0000004000 rw-s 00000000 00:08 8  socket:[8]\n"
		     "7f0000005000-7f0000006000 rw-s 00000000 00:08 8  socket:[8]\n";
static bool map_lacks;

FILE *__wrap_fopen64(const char *path, const char *mode);
int __wrap_fstat64(int fd, struct stat *st);

FILE *__wrap_fopen64(const char *path, const char *mode)
{
	assert_string_equal(path, "/proc/self/maps");
	return map_lacks ? NULL : fmemopen(maps, strlen(maps), "r");
}

int __wrap_fstat64(int fd, struct stat *st)
{
	st->st_ino = (ino_t)fd;
	return fd < 9 ? 0 : -1;
}

static void a_ring_is_where_the_map_has_its_socket(void **state)
{
	struct port_settings p = {.driver = driver_named("af_packet"), .device = "eth0"};
	struct port of = {.settings = &p,
		.driver = &drivers[p.driver],
		.queues = 2,
		.drops = {.count = 2, .sockets = {8, 7}}};
	struct stamps s = stamps_of(&of, 0);

	assert_true(s.known);
	assert_int_equal((uintptr_t)s.ring, 0x7f0000003000);
	assert_true(s.frame > 0 && s.frames > 0);
	assert_int_equal((uintptr_t)stamps_of(&of, 1).ring, 0x7f0000001000);
	of.drops.sockets[0] = 6; // has none
	assert_false(stamps_of(&of, 0).known);
	of.drops.sockets[0] = 9; // is no file
	assert_false(stamps_of(&of, 0).known);
	map_lacks = true;
	assert_false(stamps_of(&of, 1).known);
	map_lacks = false;
	of.drops.count = 1; // whose it is, is not known
	assert_false(stamps_of(&of, 1).known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_stamp_is_an_age_and_an_age_is_a_tick, fresh),
		cmocka_unit_test_setup(a_microsecond_is_taken_in_its_middle, fresh),
		cmocka_unit_test_setup(stamps_from_before_the_clock_was_set_are_not_used, fresh),
		cmocka_unit_test_setup(a_ring_has_a_stamp_in_front_of_each_frame, fresh),
		cmocka_unit_test_setup(a_ring_that_others_have_read_from_is_found_again, fresh),
		cmocka_unit_test_setup(a_frame_that_came_after_the_look_came_now, fresh),
		cmocka_unit_test(a_port_has_stamps_where_its_driver_and_its_kernel_make_them),
		cmocka_unit_test(a_ring_is_where_the_map_has_its_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
