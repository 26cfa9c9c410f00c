// SPDX-License-Identifier: BSD-3-Clause
// The driver table and the arguments that each driver gets.
#include "io/driver/settings.h"
#include "ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char args[8192];

static const char *devargs(struct port_settings p, unsigned index)
{
	const char *why = NULL;

	assert_int_equal(driver_of(&p)->devargs(&p, index, args, sizeof(args), &why), 0);
	return args;
}

static int refused(struct port_settings p, size_t room)
{
	const char *why = NULL;
	int err = driver_of(&p)->devargs(&p, 0, args, room, &why);

	assert_non_null(why);
	return err;
}

static void the_setting_takes_its_names_from_the_rows(void **state)
{
	const struct field *f = port_section.fields;

	while (strcmp(f->name, "driver") != 0)
		f++;
	for (unsigned i = 0; i < driver_count; i++)
		assert_ptr_equal(field_name(f, i), drivers[i].name);
	assert_null(field_name(f, driver_count));
}

static void every_row_can_be_shown_and_used(void **state)
{
	for (unsigned i = 0; i < driver_count; i++) {
		assert_non_null(drivers[i].help);
		assert_non_null(drivers[i].device_help);
		assert_non_null(drivers[i].package);
		assert_in_range(drivers[i].burst, 1, 64);
		assert_in_range(drivers[i].max_queues, 1, PORT_MAX_QUEUES);
		assert_in_range(drivers[i].descriptors, 64, 32768);
	}
}

static void pci_addresses_get_their_domain(void **state)
{
	assert_string_equal(devargs(port_of("p", "pci", "01:00.1"), 0), "0000:01:00.1");
	assert_string_equal(devargs(port_of("p", "pci", "0001:3b:1f.0"), 0), "0001:3b:1f.0");
	assert_int_equal(refused(port_of("p", "pci", "eth0"), 100), -EINVAL);
	assert_int_equal(refused(port_of("p", "pci", "01:00.1x"), 100), -EINVAL);
	assert_int_equal(refused(port_of("p", "pci", "0000:01:00.1x"), 100), -EINVAL);
	assert_int_equal(refused(port_of("p", "pci", ""), 100), -EINVAL);
}

static void kernel_interfaces_get_one_queue_per_cpu(void **state)
{
	struct field_range cpus = {2, 4};
	struct port_settings p = port_of("p", "af_xdp", "eth1");

	p.cpus = (struct field_list){&cpus, 1};
	assert_string_equal(
		devargs(p, 3), "net_af_xdp3,iface=eth1,start_queue=0,queue_count=1,busy_budget=0");
	assert_string_equal(devargs(p, 3 + 2 * PORT_MAX),
		"net_af_xdp35,iface=eth1,start_queue=2,queue_count=1,busy_budget=0");
	p.driver = driver_index("af_packet");
	assert_non_null(strstr(devargs(p, 0), "iface=eth1,qpairs=3,"));
}

static void packet_rings_hold_frames_of_the_mtu(void **state)
{
	struct port_settings p = port_of("p", "af_packet", "eth1");

	assert_non_null(strstr(devargs(p, 0), "framesz=4352,blocksz=69632,framecnt=4096"));
	p.mtu = 9000;
	assert_non_null(strstr(devargs(p, 0), "framesz=12288,blocksz=12288,framecnt=1024"));
}

static void frames_are_rounded_up_to_what_holds_them(void **state)
{
	static const struct {
		const char *driver;
		unsigned mtu, room; // with the headroom
	} cases[] = {
		{"pcap", 1952, 2048 + 128},
		{"pcap", 1953, 4096 + 128},
		{"af_packet", 576, 4352 + 128}, // the kernel puts fragments together
		{"af_packet", 4255, 4352 + 128},
		{"af_packet", 4257, 8192 + 128},
		{"pci", 1952, 2048 + 128},
		{"pci", 1953, 4096 + 128},
		{"pci", 9000, 16384 + 128},
		{"af_xdp", 1770, 2048 + 128}, // 256 of them are the kernel's
		{"af_xdp", 1771, 2112 + 128},
		{"af_xdp", 1834, 2112 + 128},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct port_settings p = port_of("p", cases[i].driver, "eth1");

		p.mtu = cases[i].mtu;
		assert_int_equal(port_data_room(&p), cases[i].room);
	}
}

// rx_iface would also return the packets that the port itself sends.
static void pcap_opens_an_interface_once(void **state)
{
	assert_string_equal(
		devargs(port_of("p", "pcap", "veth0"), 0), "net_pcap0,iface=veth0,phy_mac=1");
	assert_int_equal(drivers[driver_index("pcap")].max_queues, 1);
}

static void pcap_takes_one_file_or_both(void **state)
{
	struct port_settings p = port_of("p", "pcap", NULL);

	p.rx_file = "in.pcap";
	assert_string_equal(devargs(p, 1), "net_pcap1,rx_pcap=in.pcap");
	p.tx_file = "out.pcap";
	assert_string_equal(devargs(p, 1), "net_pcap1,rx_pcap=in.pcap,tx_pcap=out.pcap");
	p.rx_file = NULL;
	assert_string_equal(devargs(p, 1), "net_pcap1,tx_pcap=out.pcap");
}

static void null_receives_nothing(void **state)
{
	assert_string_equal(devargs(port_of("p", "null", NULL), 2), "net_null2,no-rx=1");
}

static void memif_sides_differ_in_role_and_mac(void **state)
{
	char server[8192];

	snprintf(server, sizeof(server), "%s", devargs(port_of("p", "memif", "server:/x/s"), 0));
	assert_non_null(strstr(server, "role=server,id=0,socket=/x/s,socket-abstract=no"));
	devargs(port_of("p", "memif", "client:/x/s"), 0);
	assert_non_null(strstr(args, "role=client,id=0,socket=/x/s,"));
	assert_string_not_equal(strstr(server, "mac="), strstr(args, "mac="));
}

static void a_memif_path_without_a_listener_is_served(void **state)
{
	assert_non_null(strstr(devargs(port_of("p", "memif", "/nonexistent/s"), 0), "role=server"));
}

// A socket of this type with a listener, or without one where it has none.
static int served(const char *path, int type)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	strcpy(at.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	if (type == SOCK_SEQPACKET)
		assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void a_socket_tells_whether_a_process_listens(void **state)
{
	char folder[] = "/tmp/ddiperf-driver-XXXXXX", path[109];
	int fd;

	assert_non_null(mkdtemp(folder));
	memset(path, 'x', sizeof(path));
	path[108] = '\0';
	assert_int_equal(socket_try(path), -ENAMETOOLONG);
	path[107] = '\0';
	assert_int_equal(socket_try(path), -ENOENT);
	snprintf(path, sizeof(path), "%s/s", folder);
	fd = served(path, SOCK_SEQPACKET);
	assert_int_equal(socket_try(path), -EPROTOTYPE);
	assert_non_null(strstr(devargs(port_of("p", "memif", path), 0), "role=client"));
	close(fd);
	assert_int_equal(socket_try(path), -ECONNREFUSED);
	unlink(path);
	fd = served(path, SOCK_DGRAM);
	errno = EIO;
	assert_int_equal(socket_try(path), 0);
	close(fd);
	unlink(path);
	rmdir(folder);
}

static void the_side_is_no_part_of_the_path(void **state)
{
	assert_string_equal(socket_path("server:/x/s"), "/x/s");
	assert_string_equal(socket_path("client:/x/s"), "/x/s");
	assert_string_equal(socket_path("/x/server:s"), "/x/server:s");
}

static void raw_devargs_stay_as_they_are(void **state)
{
	assert_string_equal(devargs(port_of("p", "vdev", "net_vhost0,iface=/tmp/s"), 0),
		"net_vhost0,iface=/tmp/s");
	assert_string_equal(devargs(port_of("p", "vdev", "eth_x"), 0), "eth_x");
	assert_int_equal(refused(port_of("p", "vdev", "eth0"), 100), -EINVAL);
}

static void text_cannot_smuggle_arguments(void **state)
{
	static const char *const live[] = {
		"af_xdp", "af_packet", "pcap", "tap", "virtio_user", "memif"};
	struct port_settings p = port_of("p", "pcap", NULL);

	for (unsigned i = 0; i < sizeof(live) / sizeof(live[0]); i++)
		assert_int_equal(refused(port_of("p", live[i], "a,iface=eth0"), 500), -EINVAL);
	p.rx_file = "a[b]";
	assert_int_equal(refused(p, 500), -EINVAL);
}

static void long_text_is_refused_and_never_overruns(void **state)
{
	memset(args, 'x', sizeof(args));
	assert_int_equal(refused(port_of("p", "pcap", "veth0"), 16), -ENAMETOOLONG);
	assert_int_equal(args[16], 'x');
	assert_int_equal(refused(port_of("p", "tap", "veth0"), 30), -ENAMETOOLONG);
	assert_int_equal(args[31], 'x');
	for (size_t room = 1; room <= sizeof("net_pcap0,iface=veth0,phy_mac=1"); room++) {
		struct port_settings p = port_of("p", "pcap", "veth0");
		const char *why;

		assert_int_equal(driver_of(&p)->devargs(&p, 0, args, room, &why) == 0,
			room == sizeof("net_pcap0,iface=veth0,phy_mac=1"));
	}
}

static void drivers_on_a_kernel_interface_are_told(void **state)
{
	struct port_settings p = port_of("p", "pcap", "veth0");

	assert_true(port_on_kernel_interface(&p));
	p.device = NULL; // files
	assert_false(port_on_kernel_interface(&p));
	p = port_of("p", "tap", "tap0");
	assert_false(port_on_kernel_interface(&p));
	assert_false(port_is_pci(&p));
}

static void own_macs_are_local_unicast_stable_and_distinct(void **state)
{
	struct port_settings a = port_of("a", "ring", "b"), b = port_of("b", "ring", "a");
	uint8_t mac[6], again[6], other[6];

	port_own_mac(&a, 0, NULL, mac);
	port_own_mac(&a, 0, NULL, again);
	assert_memory_equal(mac, again, 6);
	assert_int_equal(mac[0] & 3, 2);
	port_own_mac(&b, 1, NULL, other);
	assert_memory_not_equal(mac, other, 6);
	port_own_mac(&b, 0, NULL, other);
	assert_memory_not_equal(mac, other, 6);
}

static void an_unknown_plug_in_is_not_installed(void **state)
{
	char path[256];

	assert_int_equal(driver_plugin("net_nonsense", path, sizeof(path)), -ENOENT);
	assert_non_null(strstr(path, "/librte_net_nonsense.so."));
	assert_int_equal(driver_plugin("net_nonsense", path, strlen(path)), -ENAMETOOLONG);
	assert_int_equal(driver_plugin("net_nonsense", path, strlen(path) + 2), -ENOENT);
}

static void devargs_name_the_interfaces_of_a_row(void **state)
{
	static const struct {
		const char *driver, *devargs;
		const char *row, *interfaces[3];
	} cases[] = {
		{"vdev", "net_af_packet0,iface=eth1", "af_packet", {"eth1"}},
		{"vdev", "net_af_packet0,qpairs=2,iface=eth1,framesz=2048", "af_packet", {"eth1"}},
		{"vdev", "eth_af_packet7,iface=eth1", "af_packet", {"eth1"}},
		{"vdev", "net_af_xdp,iface=eth2,start_queue=1", "af_xdp", {"eth2"}},
		{"vdev", "net_pcap0,rx_iface=eth1,tx_iface=eth2", "pcap", {"eth1", "eth2"}},
		{"vdev", "net_pcap0,rx_pcap=a,tx_pcap=b", NULL, {NULL}},
		{"vdev", "net_vhost0,iface=/tmp/sock", NULL, {NULL}},
		{"vdev", "net_af_packet0", NULL, {NULL}},
		{"vdev", "net_af_packet0,", NULL, {NULL}},
		{"vdev", "net_af_packet0,iface", NULL, {NULL}},
		{"vdev", "net", NULL, {NULL}},
		{"af_packet", "net_af_packet0,iface=eth1", NULL, {NULL}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct port_settings p = port_of("p", cases[i].driver, cases[i].devargs), as;
		char name[16];
		unsigned n = 0;

		p.mtu = 1234;
		for (; cases[i].interfaces[n]; n++) {
			assert_true(port_of_devargs(&p, n, &as, name, sizeof(name)));
			assert_string_equal(driver_of(&as)->name, cases[i].row);
			assert_string_equal(as.device, cases[i].interfaces[n]);
			assert_int_equal(as.mtu, 1234);
		}
		assert_false(port_of_devargs(&p, n, &as, name, sizeof(name)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_setting_takes_its_names_from_the_rows),
		cmocka_unit_test(every_row_can_be_shown_and_used),
		cmocka_unit_test(pci_addresses_get_their_domain),
		cmocka_unit_test(kernel_interfaces_get_one_queue_per_cpu),
		cmocka_unit_test(packet_rings_hold_frames_of_the_mtu),
		cmocka_unit_test(frames_are_rounded_up_to_what_holds_them),
		cmocka_unit_test(pcap_opens_an_interface_once),
		cmocka_unit_test(pcap_takes_one_file_or_both),
		cmocka_unit_test(null_receives_nothing),
		cmocka_unit_test(memif_sides_differ_in_role_and_mac),
		cmocka_unit_test(a_memif_path_without_a_listener_is_served),
		cmocka_unit_test(a_socket_tells_whether_a_process_listens),
		cmocka_unit_test(the_side_is_no_part_of_the_path),
		cmocka_unit_test(raw_devargs_stay_as_they_are),
		cmocka_unit_test(text_cannot_smuggle_arguments),
		cmocka_unit_test(long_text_is_refused_and_never_overruns),
		cmocka_unit_test(drivers_on_a_kernel_interface_are_told),
		cmocka_unit_test(own_macs_are_local_unicast_stable_and_distinct),
		cmocka_unit_test(an_unknown_plug_in_is_not_installed),
		cmocka_unit_test(devargs_name_the_interfaces_of_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
