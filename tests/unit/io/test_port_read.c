// SPDX-License-Identifier: BSD-3-Clause
// Counters of a port are the sum of its devices since the run began; its link is up and as fast as
// the file, the kernel or the device says. The devices are this test's.
#include "ports.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <rte_ethdev.h>

#include "io/netif.h"

static uint64_t unit; // the counters of device n are multiples of unit << 8 * n
static bool link_up;

int rte_eth_stats_get(uint16_t device, struct rte_eth_stats *s)
{
	uint64_t n = device < 4 ? unit << (8 * device) : 0;

	*s = (struct rte_eth_stats){.ipackets = n,
		.opackets = 2 * n,
		.ibytes = 3 * n,
		.obytes = 4 * n,
		.imissed = 5 * n,
		.rx_nombuf = 6 * n,
		.oerrors = 7 * n};
	return device < 4 ? 0 : -ENODEV;
}

int rte_eth_link_get_nowait(uint16_t device, struct rte_eth_link *l)
{
	*l = (struct rte_eth_link){.link_status = link_up, .link_speed = 25000};
	return device < 4 ? 0 : -ENODEV;
}

static void assert_counters(struct port *p, uint64_t n)
{
	struct port_counters c;

	port_read_counters(p, &c);
	assert_int_equal(c.rx_packets, n);
	assert_int_equal(c.tx_packets, 2 * n);
	assert_int_equal(c.rx_bytes, 3 * n);
	assert_int_equal(c.tx_bytes, 4 * n);
	assert_int_equal(c.rx_missed, 5 * n);
	assert_int_equal(c.rx_no_mbuf, 6 * n);
	assert_int_equal(c.tx_errors, 7 * n);
	assert_int_equal(c.rx_missed_known, p->driver->counts_missed);
}

static void counters_are_the_sum_since_the_run_began(void **state)
{
	const struct port_settings s = port_of("p", "ring", NULL);
	struct port p = {
		.settings = &s, .driver = driver_of(&s), .devices = {0, 2, 9}, .device_count = 3};

	unit = 1;
	assert_counters(&p, 0x10001); // device 9 tells nothing
	port_renew(&p);
	assert_counters(&p, 0);
	unit = 7;
	assert_counters(&p, 6 * 0x10001);
	p.device_count = 1;
	p.before = (struct port_counters){0};
	assert_counters(&p, 7);
}

static void the_link_of_a_device_is_as_it_reports(void **state)
{
	const struct port_settings s = port_of("p", "ring", NULL);
	struct port p = {.settings = &s, .driver = driver_of(&s), .device_count = 1};

	link_up = true;
	assert_true(port_link_up(&p));
	link_up = false;
	assert_false(port_link_up(&p));
	link_up = true;
	p.devices[0] = 9;
	assert_false(port_link_up(&p));
}

static void a_speed_comes_from_the_file_or_the_kernel(void **state)
{
	static const struct {
		double link_speed; // INFINITY: auto
		uint64_t expected;
	} cases[] = {{1e10, 10000000000}, {1e6, 1000000}, {INFINITY, 0}, {0, 0}};
	struct netif *list;
	unsigned count;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct port_settings ring = port_of("p", "ring", NULL);
		struct port_settings lo = port_of("p", "af_packet", "lo");

		ring.link_speed = lo.link_speed = cases[i].link_speed;
		assert_int_equal(port_link_expected(&ring), cases[i].expected);
		assert_int_equal(port_link_expected(&lo), cases[i].expected);
	}
	assert_int_equal(netif_list(&list, &count), 0);
	for (unsigned i = 0; i < count; i++) {
		struct port_settings p = port_of("p", "af_packet", list[i].name);
		struct netif n;

		p.link_speed = INFINITY;
		if (netif_read(list[i].name, &n) == 0)
			assert_int_equal(port_link_expected(&p), n.speed_bps);
	}
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_are_the_sum_since_the_run_began),
		cmocka_unit_test(the_link_of_a_device_is_as_it_reports),
		cmocka_unit_test(a_speed_comes_from_the_file_or_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
