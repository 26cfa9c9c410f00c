// SPDX-License-Identifier: BSD-3-Clause
// Refusals before DPDK is started, and their advice.
#include "ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/host/netif.h"
#include "io/doctor/preflight.h"
#include "io/driver/driver.h"

static struct io_error e;

static struct netif interface_of(const char *name, uint32_t index)
{
	struct netif n = {.index = index, .flags = IFF_UP, .mtu = 1500};

	strcpy(n.name, name);
	return n;
}

static void set_address(struct netif *n, const char *text)
{
	const char *what;

	assert_int_equal(addr_parse_prefix(text, &n->addrs[n->addr_count++], &what), 0);
}

static int users(struct port_settings p, const struct netif *list, unsigned count)
{
	return preflight_users(&p, &list[0], list, count, &e);
}

static void an_interface_that_nobody_uses_is_free(void **state)
{
	struct netif list[] = {interface_of("eth1", 2), interface_of("eth0", 3)};

	list[1].default_route = true;
	set_address(&list[1], "10.0.0.1/8");
	set_address(&list[0], "fe80::1/64");
	assert_int_equal(users(port_of("p", "pcap", "eth1"), list, 2), 0);
}

static void the_default_route_is_refused(void **state)
{
	struct netif list[] = {interface_of("eth1", 2)};

	list[0].default_route = true;
	assert_int_equal(users(port_of("p", "pcap", "eth1"), list, 1), -EBUSY);
	assert_non_null(strstr(e.text, "port p (pcap, eth1): "));
	assert_non_null(strstr(e.text, "default route"));
	assert_non_null(strstr(e.text, "force: true"));
}

static void kernel_addresses_are_refused_with_the_command(void **state)
{
	struct netif list[] = {interface_of("eth1", 2)};

	set_address(&list[0], "fe80::1/64");
	set_address(&list[0], "2001:db8::1/64");
	assert_int_equal(users(port_of("p", "pcap", "eth1"), list, 1), -EADDRINUSE);
	assert_non_null(strstr(e.text, "`ip address del 2001:db8::1/64 dev eth1`"));
}

// Without its addresses the box does not work.
static void nobody_is_told_to_delete_an_address_of_lo(void **state)
{
	struct netif list[] = {interface_of("lo", 1)};

	list[0].flags |= IFF_LOOPBACK;
	set_address(&list[0], "::1/128");
	assert_int_equal(users(port_of("p", "pcap", "lo"), list, 1), -EADDRINUSE);
	assert_non_null(strstr(e.text, "has no ARP: use driver: socket"));
	assert_null(strstr(e.text, "del"));
}

static void an_address_that_both_have_is_named_first(void **state)
{
	struct netif list[] = {interface_of("eth1", 2)};
	struct port_settings p = port_of("p", "pcap", "eth1");
	struct addr_prefix own;
	const char *what;

	set_address(&list[0], "10.0.0.1/8");
	set_address(&list[0], "198.18.0.1/24");
	addr_parse_prefix("198.18.0.1/16", &own, &what);
	p.addresses = (struct field_list){&own, 1};
	assert_int_equal(users(p, list, 1), -EADDRINUSE);
	assert_non_null(strstr(e.text, "198.18.0.1/24 is an address of this port"));
}

static void bridges_above_and_vlans_on_it_count_too(void **state)
{
	struct netif list[] = {
		interface_of("eth1", 2), interface_of("br0", 3), interface_of("eth1.5", 4)};

	list[1].default_route = true;
	assert_int_equal(users(port_of("p", "pcap", "eth1"), list, 3), 0);
	list[0].master = 3;
	assert_int_equal(users(port_of("p", "pcap", "eth1"), list, 3), -EBUSY);
	assert_non_null(strstr(e.text, "br0 carries the default route"));
	list[0].master = 0;
	list[2].lower = 2;
	set_address(&list[2], "10.0.0.1/8");
	assert_int_equal(users(port_of("p", "pcap", "eth1"), list, 3), -EADDRINUSE);
	assert_non_null(strstr(e.text, "dev eth1.5"));
}

static void what_is_stacked_higher_counts_too(void **state)
{
	struct netif list[] = {interface_of("br0.5.7", 5), interface_of("br0.5", 4),
		interface_of("br0", 3), interface_of("eth1", 2), interface_of("eth2", 6)};

	list[3].master = list[4].master = 3;
	list[1].lower = 3;
	list[0].lower = 4;
	list[0].default_route = true;
	for (unsigned i = 0; i < 5; i++) {
		struct port_settings p = port_of("p", "pcap", list[i].name);

		assert_int_equal(preflight_users(&p, &list[i], list, 5, &e), -EBUSY);
	}
	list[0].default_route = false;
	set_address(&list[4], "10.0.0.1/8"); // beside it in the bridge, not above
	assert_int_equal(
		preflight_users(&(struct port_settings){.device = "eth1"}, &list[3], list, 5, &e),
		0);
}

// An interface of the switch is enslaved to its datapath; the host's address is on another port.
static void the_ports_of_a_switch_count_together(void **state)
{
	struct netif list[] = {interface_of("eth1", 2), interface_of("ovs-system", 3),
		interface_of("br-ex", 4), interface_of("eth2", 5)};

	strcpy(list[1].kind, "openvswitch");
	strcpy(list[2].kind, "openvswitch");
	list[0].master = 3;
	list[2].default_route = true;
	assert_int_equal(users(port_of("p", "pcap", "eth1"), list, 4), -EBUSY);
	list[0].master = 0;
	assert_int_equal(users(port_of("p", "pcap", "eth1"), list, 4), 0);
}

static void a_link_local_address_is_not_a_use(void **state)
{
	struct netif list[] = {interface_of("eth1", 2)};

	for (unsigned i = 0; i < NETIF_ADDRS_MAX; i++)
		set_address(&list[0], "fe80::1/64");
	assert_int_equal(users(port_of("p", "pcap", "eth1"), list, 1), 0);
}

static void the_route_of_a_card_names_the_interface_otherwise(void **state)
{
	struct netif list[] = {interface_of("eth1", 2), interface_of("br0", 3)};

	list[0].default_route = true;
	list[1].default_route = true;
	assert_int_equal(users(port_of("p", "pcap", "eth1"), list, 1), -EBUSY);
	assert_non_null(strstr(e.text, "the interface carries"));
	list[0].default_route = false;
	set_address(&list[0], "10.0.0.1/8");
	list[0].master = 3; // the first of several reasons
	assert_int_equal(users(port_of("p", "pcap", "eth1"), list, 2), -EADDRINUSE);
}

// "nonexistent0" is in the list, so that nothing of the box is changed.
static void an_interface_must_be_usable(void **state)
{
	static const struct {
		const char *driver, *kind;
		uint32_t flags, mtu, queues, program;
		bool force, default_route;
		int err;
		const char *text;
	} cases[] = {
		{"af_packet", "", IFF_UP, 1500, 0, 0, false, false, 0, ""},
		{"af_packet", "", IFF_BROADCAST, 1500, 0, 0, false, false, -ENETDOWN,
			"`ip link set dev nonexistent0 up`"},
		{"af_packet", "", IFF_UP, 1501, 0, 0, false, false, 0, ""},
		{"af_packet", "", IFF_UP, 1499, 0, 0, false, false, -EMSGSIZE, "above the 1499"},
		{"af_packet", "", IFF_UP, 1499, 0, 0, true, false, -EMSGSIZE, "mtu 1500`"},
		{"af_packet", "", IFF_UP, 1500, 0, 0, false, true, -EBUSY, "default route"},
		{"af_packet", "", IFF_UP, 1500, 0, 0, true, true, 0, ""},
		{"af_packet", "", IFF_UP, 1500, 4, 0, false, false, 0, ""},
		{"af_xdp", "", IFF_UP, 1500, 0, 0, false, false, 0, ""}, // not known
		{"af_xdp", "", IFF_UP, 1500, 1, 0, false, false, 0, ""},
		{"af_xdp", "", IFF_UP, 1500, 4, 0, false, false, -EINVAL,
			"has 4 receive queues and the port uses 1, "},
		{"af_xdp", "", IFF_UP, 1500, 4, 0, false, false, -EINVAL,
			"`ethtool -L nonexistent0 combined 1`, or cpus: with 4 CPUs"},
		{"af_xdp", "veth", IFF_UP, 1500, 4, 0, false, false, -EINVAL,
			"`ethtool -L nonexistent0 rx 1`"},
		{"af_xdp", "", IFF_UP, 1500, 4, 0, true, false, 0, ""},
		{"af_xdp", "", IFF_UP, 1500, 1, 7, false, false, -EBUSY,
			"(id 7) of another program"},
		{"af_xdp", "", IFF_UP, 1500, 1, 7, true, false, -EBUSY, "with force: true too"},
		{"af_packet", "", IFF_UP, 1500, 1, 7, true, false, 0, ""},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct port_settings p = port_of("p", cases[i].driver, "nonexistent0");
		struct netif n = interface_of("nonexistent0", 2);

		strcpy(n.kind, cases[i].kind);
		n.flags = cases[i].flags;
		n.mtu = cases[i].mtu;
		n.rx_queues = cases[i].queues;
		n.xdp_program = cases[i].program;
		n.xdp_mode = "xdpdrv";
		n.default_route = cases[i].default_route;
		p.force = cases[i].force;
		e.text[0] = '\0';
		assert_int_equal(preflight_interface(&p, &n, 1, &e), cases[i].err);
		assert_non_null(strstr(e.text, cases[i].text));
		if (!cases[i].err)
			assert_string_equal(e.text, "");
	}
}

static void only_names_that_fit_are_listed(void **state)
{
	struct port_settings p = port_of("p", "pcap", "nonexistent0");
	struct netif list[40];

	for (unsigned i = 0; i < 40; i++)
		list[i] = interface_of("interface-of-15", i + 1);
	assert_int_equal(preflight_interface(&p, list, 2, &e), -ENODEV);
	assert_non_null(strstr(e.text, "(there are: interface-of-15, interface-of-15)"));
	assert_int_equal(preflight_interface(&p, list, 0, &e), -ENODEV);
	assert_non_null(strstr(e.text, "(there are: )"));
	assert_int_equal(preflight_interface(&p, list, 40, &e), -ENODEV);
	assert_non_null(strstr(e.text, "...)"));
	for (unsigned i = 0; i < 13;
		i++) // 18 with 15 letters and 13 with 14: 512 with their commas
		list[i].name[14] = '\0';
	assert_int_equal(preflight_interface(&p, list, 31, &e), -ENODEV);
	assert_non_null(strstr(e.text, "-of-1...)"));
}

static void an_unknown_interface_lists_the_known(void **state)
{
	struct port_settings p = port_of("p", "pcap", "nonexistent0");

	assert_int_equal(preflight_device(&p, &e), -ENODEV);
	assert_non_null(strstr(e.text, "there are: "));
	assert_non_null(strstr(e.text, "lo"));
}

static void an_unknown_card_is_no_device(void **state)
{
	struct port_settings p = port_of("p", "pci", "ffff:ff:1f.7");

	assert_int_equal(preflight_device(&p, &e), -ENODEV);
	assert_non_null(strstr(e.text, "`ddiperf bind` lists them"));
}

static void packet_files_must_be_usable(void **state)
{
	struct port_settings p = port_of("p", "pcap", NULL);

	p.rx_file = "/nonexistent/in.pcap";
	assert_int_equal(preflight_device(&p, &e), -ENOENT);
	p.rx_file = "/dev/null";
	p.tx_file = "/nonexistent/out.pcap";
	assert_int_equal(preflight_device(&p, &e), -ENOENT);
	assert_non_null(strstr(e.text, "tx_file /nonexistent/out.pcap cannot be written: "));
	p.tx_file = "/dev/null";
	assert_int_equal(preflight_device(&p, &e), 0);
	p.tx_file = "/tmp/ddiperf-test-not-there.pcap";
	assert_int_equal(preflight_device(&p, &e), 0);
}

static void a_tap_does_not_take_over_an_interface(void **state)
{
	struct port_settings p = port_of("p", "tap", "lo");

	assert_int_equal(preflight_device(&p, &e), -EBUSY);
	for (int i = 0; i < 2; i++) {
		p.device = i ? "nonexistent0" : NULL;
		if (access("/dev/net/tun", R_OK | W_OK) == 0)
			assert_int_equal(preflight_device(&p, &e), 0);
		else
			assert_int_not_equal(preflight_device(&p, &e), -EBUSY);
	}
}

static void a_missing_backend_is_told_apart(void **state)
{
	struct port_settings p = port_of("p", "virtio_user", "/nonexistent/vhost");

	assert_int_equal(preflight_device(&p, &e), -ENODEV);
	assert_non_null(strstr(e.text, "backend"));
	p.device = "/dev/null";
	assert_int_equal(preflight_device(&p, &e), 0);
	p.device = "/dev/null/vhost";
	assert_int_equal(preflight_device(&p, &e), -ENOTDIR);
}

// A listener may not survive a connection that comes and goes at once.
static void looking_for_a_listener_does_not_connect(void **state)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct port_settings p;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "/tmp/ddiperf-test-%d.sock", (int)getpid());
	p = port_of("p", "memif", at.sun_path);
	assert_false(socket_is_served(at.sun_path));
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_true(socket_is_served(at.sun_path));
	assert_int_equal(preflight_device(&p, &e), 0);
	assert_int_equal(access(at.sun_path, F_OK), 0);
	assert_int_equal(accept(fd, NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN);
	close(fd);
	assert_false(socket_is_served(at.sun_path));
	assert_int_equal(preflight_device(&p, &e), 0);
	assert_int_equal(access(at.sun_path, F_OK), 0); // left by the dead: the run removes it
	unlink(at.sun_path);
}

static void a_file_is_not_taken_for_a_socket(void **state)
{
	struct port_settings p = port_of("p", "memif", "/proc/self/status");

	assert_int_equal(preflight_device(&p, &e), -EBUSY);
	p.device = "/nonexistent/dir/s";
	assert_int_equal(preflight_device(&p, &e), -ENOENT);
}

static void a_port_that_needs_nothing_starts(void **state)
{
	struct host_settings h = {.memory = MEMORY_PAGES, .memory_size = UINT64_MAX};
	struct port_settings p = port_of("p", "null", NULL);
	int err = port_preflight(&p, &h, &e);

	if (err == -ENOENT) // the plug-in is not installed here
		assert_non_null(strstr(e.text, "`apt-get install librte-"));
	else
		assert_int_equal(err, 0);
}

static void hugepages_that_are_not_there_are_asked_for(void **state)
{
	struct host_settings h = {.memory = MEMORY_HUGEPAGES, .memory_size = UINT64_MAX};
	struct port_settings p = port_of("p", "null", NULL);

	p.mbufs = 1 << 30; // more than any box has
	if (port_preflight(&p, &h, &e) == -ENOENT)
		skip();
	assert_int_equal(port_preflight(&p, &h, &e), -ENOMEM);
	assert_non_null(strstr(e.text, "> /proc/sys/vm/nr_hugepages`"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interface_that_nobody_uses_is_free),
		cmocka_unit_test(the_default_route_is_refused),
		cmocka_unit_test(kernel_addresses_are_refused_with_the_command),
		cmocka_unit_test(nobody_is_told_to_delete_an_address_of_lo),
		cmocka_unit_test(an_address_that_both_have_is_named_first),
		cmocka_unit_test(bridges_above_and_vlans_on_it_count_too),
		cmocka_unit_test(what_is_stacked_higher_counts_too),
		cmocka_unit_test(the_ports_of_a_switch_count_together),
		cmocka_unit_test(a_link_local_address_is_not_a_use),
		cmocka_unit_test(the_route_of_a_card_names_the_interface_otherwise),
		cmocka_unit_test(an_interface_must_be_usable),
		cmocka_unit_test(only_names_that_fit_are_listed),
		cmocka_unit_test(an_unknown_interface_lists_the_known),
		cmocka_unit_test(an_unknown_card_is_no_device),
		cmocka_unit_test(packet_files_must_be_usable),
		cmocka_unit_test(a_tap_does_not_take_over_an_interface),
		cmocka_unit_test(a_missing_backend_is_told_apart),
		cmocka_unit_test(looking_for_a_listener_does_not_connect),
		cmocka_unit_test(a_file_is_not_taken_for_a_socket),
		cmocka_unit_test(a_port_that_needs_nothing_starts),
		cmocka_unit_test(hugepages_that_are_not_there_are_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
