// SPDX-License-Identifier: BSD-3-Clause
// The facts about the box: all present, complete, and judged. Its files, CPUs and capabilities are
// this test's.
#include "capabilities.h"
#include "ports.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/doctor/doctor.h"
#include "io/host/netif.h"
#include "io/pci/pci.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ALL                                                                                        \
	(NEED_CAP(CAP_NET_RAW) | NEED_CAP(CAP_NET_ADMIN) | NEED_CAP(CAP_SYS_ADMIN) |               \
		NEED_CAP(CAP_IPC_LOCK))
#define CLOCK    "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define GOVERNOR "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
#define ISOLATED "/sys/devices/system/cpu/isolated"
#define THP      "/sys/kernel/mm/transparent_hugepage/enabled"
#define HUGE_2M  "/sys/kernel/mm/hugepages/hugepages-2048kB"
#define HUGE_1G  "/sys/kernel/mm/hugepages/hugepages-1048576kB"

struct file {
	const char *path, *text;
};

static struct box {
	unsigned cpus;         // 0: not known
	const char *no_plugin; // a part of its name
	const struct file *files;
	unsigned file_count;
} box;

static struct doctor_report report;

static int fresh(void **state)
{
	box = (struct box){.cpus = 4};
	test_caps = ALL;
	return 0;
}

static int forget(void **state)
{
	doctor_free(&report);
	return 0;
}

static const char *text_of(const char *path)
{
	for (unsigned i = 0; i < box.file_count; i++)
		if (!strcmp(box.files[i].path, path))
			return box.files[i].text;
	return NULL;
}

FILE *fopen(const char *path, const char *mode)
{
	const char *text = text_of(path);
	FILE *f = text ? tmpfile() : NULL;

	if (f) {
		fputs(text, f);
		rewind(f);
	}
	return f;
}

int access(const char *path, int mode)
{
	if (strstr(path, "/librte_"))
		return box.no_plugin && strstr(path, box.no_plugin) ? -1 : 0;
	return text_of(path) ? 0 : -1;
}

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	memset(set, 0, size);
	for (unsigned i = 0; i < box.cpus; i++)
		CPU_SET_S(i, size, set);
	return box.cpus ? 0 : -1;
}

static const struct doctor_row *row_of(const char *group, const char *name)
{
	for (unsigned i = 0; i < report.count; i++)
		if (!strcmp(report.rows[i].group, group) && !strcmp(report.rows[i].name, name))
			return &report.rows[i];
	return NULL;
}

static void read_box(const struct file *files, unsigned count)
{
	forget(NULL);
	box.files = files;
	box.file_count = count;
	doctor_read(&report);
}

static void assert_row(const char *group, const char *name, enum doctor_status status,
	const char *text, const char *fix)
{
	const struct doctor_row *row = row_of(group, name);

	if (!text) {
		assert_null(row);
		return;
	}
	assert_non_null(row);
	assert_non_null(strstr(row->text, text));
	assert_int_equal(row->status, status);
	if (fix[0])
		assert_non_null(strstr(row->fix, fix));
	else
		assert_string_equal(row->fix, "");
}

static void every_driver_has_a_row(void **state)
{
	unsigned rows = 0;

	read_box(NULL, 0);
	for (unsigned i = 0; i < driver_count; i++)
		assert_non_null(row_of("drivers", drivers[i].name));
	assert_row("drivers", "DPDK", DOCTOR_OK, "DPDK", "");
	for (unsigned i = 0; i < report.count; i++)
		rows += !strcmp(report.rows[i].group, "drivers");
	assert_int_equal(rows, 1 + driver_count);
}

static void what_is_missing_comes_with_what_helps(void **state)
{
	box.no_plugin = "librte_";
	read_box(NULL, 0);
	for (unsigned i = 0; i < report.count; i++) {
		const struct doctor_row *row = &report.rows[i];

		assert_true(row->name[0] && row->text[0]);
		if (row->status == DOCTOR_MISSING)
			assert_true(row->fix[0]);
	}
}

static void cpus_should_be_three_and_isolated(void **state)
{
	static const struct {
		unsigned cpus;
		const char *isolated;
		enum doctor_status status;
		const char *text, *fix;
		enum doctor_status isolation;
		const char *which, *isolate;
	} cases[] = {
		{4, "2-3\n", DOCTOR_OK, "4 usable (A CPU)", "", DOCTOR_OK, "2-3", ""},
		{4, NULL, DOCTOR_OK, "4 usable", "", DOCTOR_WARN, "none: the kernel",
			"isolcpus=2-3 nohz_full=2-3"},
		{3, "", DOCTOR_OK, "3 usable", "", DOCTOR_WARN, "none",
			"isolcpus=2-2 nohz_full=2-2"},
		{2, "\n", DOCTOR_WARN, "2 usable", "exact timing", DOCTOR_WARN, "none", ""},
		{0, NULL, DOCTOR_WARN, "0 usable", "exact timing", DOCTOR_WARN, "none", ""},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct file files[] = {
			{"/proc/cpuinfo", "no colon\nprocessor\t: 0\nmodel name\t: A CPU\n"
					  "model name\t: Another\n"},
			{ISOLATED, cases[i].isolated}};

		box.cpus = cases[i].cpus;
		read_box(files, cases[i].isolated ? 2 : 1);
		assert_row("cpu", "CPUs", cases[i].status, cases[i].text, cases[i].fix);
		assert_row("cpu", "isolated CPUs", cases[i].isolation, cases[i].which,
			cases[i].isolate);
	}
	read_box(NULL, 0);
	assert_row("cpu", "CPUs", DOCTOR_WARN, "(unknown model)", "exact timing");
}

static void a_file_is_one_fact(void **state)
{
	static const struct {
		const char *path, *file; // NULL: there is none
		const char *group, *name;
		enum doctor_status status;
		const char *text, *fix; // NULL: no row
	} cases[] = {
#if defined(__x86_64__)
		{"/proc/cpuinfo", "flags : a constant_tsc nonstop_tsc b\n", "cpu", "TSC", DOCTOR_OK,
			"invariant", ""},
		{"/proc/cpuinfo", "flags : nonstop_tsc_x nonstop_tsc x constant_tsc\n", "cpu",
			"TSC", DOCTOR_OK, "invariant", ""},
		{"/proc/cpuinfo", "flags : constant_tsc_x nonstop_tsc\n", "cpu", "TSC", DOCTOR_WARN,
			"not known", ""},
		{"/proc/cpuinfo", "flags : a constant_tsc x_nonstop_tsc\n", "cpu", "TSC",
			DOCTOR_WARN, "not known", ""},
		{"/proc/cpuinfo", NULL, "cpu", "TSC", DOCTOR_WARN, "not known", ""},
#endif
		{CLOCK, "tsc\n", "cpu", "clock source", DOCTOR_OK, "tsc", ""},
		{CLOCK, "hpet\n", "cpu", "clock source", DOCTOR_WARN, "hpet", "echo tsc > /sys"},
		{CLOCK, "acpi_pm\n", "cpu", "clock source", DOCTOR_WARN, "acpi_pm", "echo tsc"},
		{CLOCK, NULL, "cpu", "clock source", DOCTOR_OK, "unknown", ""},
		{GOVERNOR, "performance\n", "cpu", "frequency governor", DOCTOR_OK, "performance",
			""},
		{GOVERNOR, "powersave\n", "cpu", "frequency governor", DOCTOR_WARN, "powersave",
			"echo performance"},
		{GOVERNOR, NULL, "cpu", "frequency governor", DOCTOR_OK, NULL, NULL},
		{THP, "always [madvise] never\n", "memory", "transparent hugepages", DOCTOR_OK,
			"always [madvise] never", ""},
		{THP, "always madvise [never]\n", "memory", "transparent hugepages", DOCTOR_WARN,
			"[never]", "echo madvise"},
		{THP, NULL, "memory", "transparent hugepages", DOCTOR_OK, "none", ""},
		{HUGE_2M, NULL, "memory", "hugepages", DOCTOR_WARN, "this kernel has none", ""},
		{"/dev/net/tun", NULL, "drivers", "tap", DOCTOR_OFF, "new kernel", "modprobe tun"},
		{"/dev/net/tun", "", "drivers", "tap", DOCTOR_OK, "new kernel", ""},
		{"/dev/vfio/vfio", NULL, "drivers", "pci", DOCTOR_WARN, "card", "ddiperf bind"},
		{"/dev/vfio/vfio", "", "drivers", "pci", DOCTOR_OK, "card", ""},
		{"/dev/vfio/vfio", NULL, "drivers", "af_packet", DOCTOR_OK, "interface", ""},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct file file = {cases[i].path, cases[i].file};

		read_box(&file, file.text ? 1 : 0);
		assert_row(cases[i].group, cases[i].name, cases[i].status, cases[i].text,
			cases[i].fix);
	}
}

static void hugepages_that_are_taken_need_more(void **state)
{
	static const struct {
		const char *total, *free; // of 2 MiB
		const char *total_1g;
		enum doctor_status status;
		const char *text, *fix;
		unsigned rows;
	} cases[] = {
		{"8", "3", "0", DOCTOR_OK, "3 of 8 free, 2048 KiB each", "", 1},
		{"8", "0", "0", DOCTOR_WARN, "0 of 8 free", "echo 520 > /proc/sys/vm/", 1},
		{"0", "0", "2", DOCTOR_WARN, "0 of 0 free", "echo 512 > /proc/sys/vm/", 2},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct file files[] = {{HUGE_2M, ""}, {HUGE_1G, ""},
			{HUGE_2M "/nr_hugepages", cases[i].total},
			{HUGE_2M "/free_hugepages", cases[i].free},
			{HUGE_1G "/nr_hugepages", cases[i].total_1g},
			{HUGE_1G "/free_hugepages", cases[i].total_1g}};
		unsigned rows = 0;

		read_box(files, COUNT(files));
		assert_row("memory", "hugepages", cases[i].status, cases[i].text, cases[i].fix);
		for (unsigned k = 0; k < report.count; k++)
			rows += !strcmp(report.rows[k].name, "hugepages");
		assert_int_equal(rows, cases[i].rows);
	}
}

static void missing_rights_and_plug_ins_are_told(void **state)
{
	const struct file tun = {"/dev/net/tun", ""};

	read_box(&tun, 1);
	assert_row(
		"privileges", "capabilities", DOCTOR_OK, "CAP_NET_RAW, CAP_NET_ADMIN, CAP_SYS", "");
	assert_row("drivers", "bus_vdev", DOCTOR_OK, NULL, NULL);
	test_caps = ALL & ~NEED_CAP(CAP_SYS_ADMIN);
	read_box(&tun, 1);
	assert_row("privileges", "capabilities", DOCTOR_WARN, "CAP_NET_RAW",
		"run as root, or for all");
	assert_row("drivers", "af_xdp", DOCTOR_OFF, "CAP_SYS_ADMIN missing: ",
		"`sudo setcap cap_net_raw,cap_net_admin,cap_sys_admin,cap_ipc_lock+ep ");
	assert_row("drivers", "af_packet", DOCTOR_OK,
		"needs CAP_NET_RAW, CAP_NET_ADMIN, CAP_IPC_LOCK", "");
	assert_row("drivers", "pcap", DOCTOR_OK, "needs CAP_NET_RAW, files none", "");
	test_caps = 0;
	read_box(&tun, 1);
	assert_row("drivers", "af_packet", DOCTOR_OFF, "CAP_NET_RAW, CAP_NET_ADMIN missing: ",
		"cap_net_raw,cap_net_admin,cap_ipc_lock+ep ");
	assert_row("drivers", "pcap", DOCTOR_OFF, "CAP_NET_RAW missing: ", "chmod 0750");
	assert_row("drivers", "ring", DOCTOR_OK, "in memory", "");
	assert_row("privileges", "capabilities", DOCTOR_WARN, "none: only socket, ring",
		"run as root");
	box.no_plugin = "net_tap";
	read_box(&tun, 1);
	assert_row(
		"drivers", "tap", DOCTOR_OFF, "not installed: ", "apt-get install librte-net-tap");
	assert_row("drivers", "null", DOCTOR_OK, "no wire", "");
	box.no_plugin = "bus_vdev";
	read_box(&tun, 1);
	assert_row("drivers", "bus_vdev", DOCTOR_MISSING, "librte_bus_vdev",
		"apt-get install librte-meta");
	assert_row("drivers", "mempool_ring", DOCTOR_OK, NULL, NULL);
}

static void interfaces_are_judged_for_use(void **state)
{
	static const struct {
		struct netif n;
		const char *address;
		enum doctor_status status;
		const char *text, *fix;
	} cases[] = {
		{{.flags = IFF_UP, .carrier = true, .mtu = 1500}, NULL, DOCTOR_OK,
			"up, 00:00:00:00:00:00, mtu 1500", ""},
		{{.flags = IFF_UP, .carrier = true, .driver = "ixgbe", .master = 2, .rx_queues = 4},
			NULL, DOCTOR_OK, ", driver ixgbe, in a bridge, 4 rx queues", ""},
		{{.flags = IFF_UP}, NULL, DOCTOR_WARN, "up, ", "no carrier"},
		{{.carrier = true}, NULL, DOCTOR_WARN, "down, ", "ip link set dev eth1 up"},
		{{.flags = IFF_UP, .carrier = true, .xdp_program = 7, .xdp_mode = "xdpdrv"}, NULL,
			DOCTOR_WARN, ", XDP program 7", "ip link set dev eth1 xdpdrv off"},
		{{.flags = IFF_UP, .carrier = true}, "10.0.0.1/8", DOCTOR_WARN, ", 10.0.0.1/8",
			"remove them"},
		{{.flags = IFF_UP, .carrier = true}, "fe80::1/64", DOCTOR_OK, "mtu 0", ""},
		{{.default_route = true}, "10.0.0.1/8", DOCTOR_WARN, ", default route, 10.0.0.1/8",
			"test on another interface"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct netif list[] = {cases[i].n, {.name = "lo", .flags = IFF_LOOPBACK}};
		const char *what;

		strcpy(list[0].name, "eth1");
		while (cases[i].address && list[0].addr_count < NETIF_ADDRS_MAX)
			assert_int_equal(addr_parse_prefix(cases[i].address,
						 &list[0].addrs[list[0].addr_count++], &what),
				0);
		forget(NULL);
		doctor_add_interfaces(&report, list, 2);
		assert_int_equal(report.count, 1);
		assert_row("interfaces", "eth1", cases[i].status, cases[i].text, cases[i].fix);
	}
}

static void an_interface_that_the_kernel_forwards_from_is_no_place_for_tests(void **state)
{
	static const char *const paths[] = {"/proc/sys/net/ipv4/conf/eth1/forwarding",
		"/proc/sys/net/ipv6/conf/eth1/forwarding",
		"/proc/sys/net/ipv4/conf/eth2/forwarding"};

	for (size_t i = 0; i < 2 * COUNT(paths); i++) {
		const struct file file = {paths[i / 2], i % 2 ? "1\n" : "0\n"};
		struct netif n = {.name = "eth1", .flags = IFF_UP, .carrier = true};
		bool warned = i % 2 && i / 2 < 2;
		char fix[160];

		snprintf(fix, sizeof(fix), "into other networks: echo 0 > %s", paths[i / 2]);
		forget(NULL);
		box.files = &file;
		box.file_count = 1;
		doctor_add_interfaces(&report, &n, 1);
		assert_row("interfaces", "eth1", warned ? DOCTOR_WARN : DOCTOR_OK, "up, ",
			warned ? fix : "");
	}
}

static void connections_that_the_kernel_tracks_are_told(void **state)
{
	struct file files[] = {{"/proc/sys/net/netfilter/nf_conntrack_count", "0\n"},
		{"/proc/sys/net/netfilter/nf_conntrack_max", "65536\n"}};

	read_box(files, 2);
	assert_row("kernel", "connection tracking", DOCTOR_OK, "0 of 65536 connections", "");
	files[0].text = "7\n";
	read_box(files, 2);
	assert_row("kernel", "connection tracking", DOCTOR_WARN,
		"7 of 65536 connections: packets of a test", "hook ingress device INTERFACE");
	read_box(NULL, 0);
	assert_null(row_of("kernel", "connection tracking"));
}

static void each_card_has_its_next_step(void **state)
{
	struct netif n = {.name = "eth1", .bus = "0000:01:00.0", .default_route = true};
	struct pci_card cards[] = {
		{.bdf = "0000:01:00.0",
			.id = "8086:10d3",
			.driver = "e1000e",
			.interfaces = "eth1"},
		{.bdf = "0000:02:00.0", .id = "8086:10d3", .driver = "vfio-pci", .group = "7"},
		{.bdf = "0000:03:00.0", .id = "15b3:1017", .driver = "mlx5_core", .group = "8"},
		{.bdf = "0000:04:00.0", .id = "8086:10d3", .group = "999999"},
	};
	const struct pci_box b = {"", &n, 1, cards, COUNT(cards)};

	doctor_add_cards(&report, &b);
	assert_int_equal(report.count, COUNT(cards));
	assert_row("cards", "0000:01:00.0", DOCTOR_WARN,
		"8086:10d3, driver e1000e, interface eth1, no IOMMU", "default route");
	assert_row("cards", "0000:02:00.0", DOCTOR_OK, "driver vfio-pci, IOMMU group 7",
		"`ddiperf bind --release 0000:02:00.0`");
	assert_row("cards", "0000:03:00.0", DOCTOR_OK, "driver mlx5_core", "needs no binding");
	assert_row(
		"cards", "0000:04:00.0", DOCTOR_WARN, "driver none", "`ddiperf bind 0000:04:00.0`");
}

static void the_loopback_is_not_offered(void **state)
{
	read_box(NULL, 0);
	assert_null(row_of("interfaces", "lo"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_driver_has_a_row, fresh, forget),
		cmocka_unit_test_setup_teardown(
			what_is_missing_comes_with_what_helps, fresh, forget),
		cmocka_unit_test_setup_teardown(cpus_should_be_three_and_isolated, fresh, forget),
		cmocka_unit_test_setup_teardown(a_file_is_one_fact, fresh, forget),
		cmocka_unit_test_setup_teardown(hugepages_that_are_taken_need_more, fresh, forget),
		cmocka_unit_test_setup_teardown(
			missing_rights_and_plug_ins_are_told, fresh, forget),
		cmocka_unit_test_setup_teardown(interfaces_are_judged_for_use, fresh, forget),
		cmocka_unit_test_setup_teardown(
			an_interface_that_the_kernel_forwards_from_is_no_place_for_tests, fresh,
			forget),
		cmocka_unit_test_setup_teardown(
			connections_that_the_kernel_tracks_are_told, fresh, forget),
		cmocka_unit_test_setup_teardown(each_card_has_its_next_step, fresh, forget),
		cmocka_unit_test_setup_teardown(the_loopback_is_not_offered, fresh, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
