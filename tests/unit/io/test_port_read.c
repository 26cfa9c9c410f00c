// SPDX-License-Identifier: BSD-3-Clause
// Counters of a port are the sum of its devices since the run began; the state and speed of its
// link come from the file, the kernel or the device. The devices are this test's.
#include "ports.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "io/driver/explain.h"
#include "io/host/netif.h"
#include "io/driver/driver.h"
#include "io/port/port_read.h"
#include "io/port/port_internal.h"
#include "lib/test_port.h"

static uint64_t unit; // the counters of device n are multiples of unit << 8 * n
static bool link_up;
static unsigned slept_us, up_after_us;

int usleep(useconds_t us)
{
	slept_us += us;
	link_up |= slept_us == up_after_us;
	return 0;
}

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

int rte_eth_dev_info_get(uint16_t device, struct rte_eth_dev_info *info)
{
	info->driver_name = "mlx5_pci";
	return device < 4 ? 0 : -ENODEV;
}

const char *rte_dev_name(const struct rte_device *device)
{
	return "0000:01:00.0";
}

static int read_rc;
static const char *interface_driver, *interface_kind;

int __wrap_netif_read(const char *name, struct netif *out);
int __real_netif_read(const char *name, struct netif *out);

int __wrap_netif_read(const char *name, struct netif *out)
{
	if (!interface_driver)
		return __real_netif_read(name, out);
	*out = (struct netif){.index = 1};
	strcpy(out->driver, interface_driver);
	strcpy(out->kind, interface_kind);
	return read_rc;
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
	assert_counters(&p, 0x10001); // device 9 reports nothing
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

static unsigned polls;
static bool endless;

static void polled(struct test_port *t)
{
	polls++;
	if (endless)
		test_port_receive(t, "x", 1);
}

static void packets_of_the_run_before_are_dropped(void **state)
{
	const struct port_settings s = port_of("p", "ring", NULL);
	struct port p = {.settings = &s,
		.driver = driver_of(&s),
		.device_count = 1,
		.queue = {{0, 0}, {0, 1}},
		.queues = 2};
	struct test_port t;

	test_port_open(&t, 0);
	t.poll = polled;
	for (int i = 0; i < 2 * 64 + 3; i++)
		test_port_receive(&t, "x", 1);
	port_renew(&p);
	assert_int_equal(t.live, 0);
	assert_int_equal(polls, 4 + 1); // until nothing comes, on each queue
	polls = 0;
	endless = true;
	p.queues = 1;
	port_renew(&p);
	assert_int_equal(t.live, 0);
	assert_int_equal(polls, 10000);
}

static void links_are_waited_for_and_complained_about(void **state)
{
	static const struct {
		bool up;
		unsigned up_after_us, slept_us;
		bool offload, offloaded;
		const char *said; // "": nothing
	} cases[] = {
		{true, 0, 0, false, false, ""},
		{true, 0, 0, true, true, ""},
		{true, 0, 0, false, true, ""},
		{true, 0, 0, true, false, "port p: checksum_offload has no effect"},
		{false, 30000, 30000, false, false, ""},
		{false, 1, 2000000, false, false, "port p: no link after 2 s"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct port_settings s = port_of("p", "ring", NULL);
		struct port p = {.settings = &s,
			.driver = driver_of(&s),
			.device_count = 1,
			.checksum_offload = cases[i].offloaded};
		struct capture c;
		char *said;

		s.checksum_offload = cases[i].offload;
		link_up = cases[i].up;
		up_after_us = cases[i].up_after_us;
		slept_us = 0;
		capture_begin(&c);
		port_wait_for_links(&p, 1);
		said = capture_end(&c);
		assert_int_equal(slept_us, cases[i].slept_us);
		assert_non_null(strstr(said, cases[i].said));
		assert_int_equal(said[0] == '\0', cases[i].said[0] == '\0');
		free(said);
	}
}

static void a_card_has_the_name_of_its_driver(void **state)
{
	struct port_settings s = port_of("p", "af_packet", "eth0");
	struct port p = {.settings = &s, .driver = driver_of(&s), .device_count = 1};
	char text[64] = "";

	interface_driver = "ixgbe";
	interface_kind = "vlan";
	assert_true(port_nic(&p, text, sizeof(text)));
	assert_string_equal(text, "ixgbe");
	interface_driver = "";
	assert_true(port_nic(&p, text, sizeof(text)));
	assert_string_equal(text, "vlan");
	interface_kind = "";
	assert_false(port_nic(&p, text, sizeof(text)));
	interface_driver = "ixgbe";
	read_rc = -ENODEV;
	assert_false(port_nic(&p, text, sizeof(text)));
	interface_driver = NULL;
	s = port_of("p", "pci", "01:00.0");
	assert_true(port_nic(&p, text, sizeof(text)));
	assert_string_equal(text, "mlx5_pci 0000:01:00.0");
	p.devices[0] = 9;
	assert_false(port_nic(&p, text, sizeof(text)));
	p.devices[0] = 0;
	p.device_count = 0;
	assert_false(port_nic(&p, text, sizeof(text)));
	p.device_count = 1;
	s = port_of("p", "ring", NULL);
	assert_false(port_nic(&p, text, sizeof(text)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_are_the_sum_since_the_run_began),
		cmocka_unit_test(the_link_of_a_device_is_as_it_reports),
		cmocka_unit_test(packets_of_the_run_before_are_dropped),
		cmocka_unit_test(links_are_waited_for_and_complained_about),
		cmocka_unit_test(a_speed_comes_from_the_file_or_the_kernel),
		cmocka_unit_test(a_card_has_the_name_of_its_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
