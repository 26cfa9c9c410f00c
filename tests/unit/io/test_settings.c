// SPDX-License-Identifier: BSD-3-Clause
// The rules between the settings of ports.
#include "io/driver/settings.h"
#include "ports.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/diag.h"

static char *complaints;

static int forget(void **state)
{
	free(complaints);
	complaints = NULL;
	return 0;
}

// All complaints about the ports, as text.
static const char *checked(const struct port_settings *ports, unsigned count)
{
	struct diag *d = diag_new();
	size_t size;
	FILE *out;

	forget(NULL);
	out = open_memstream(&complaints, &size);
	port_check_all(ports, count, d);
	diag_print(d, out);
	fclose(out);
	diag_free(d);
	return complaints;
}

static const char *one(struct port_settings p)
{
	return checked(&p, 1);
}

static void sound_ports_pass(void **state)
{
	struct port_settings ports[] = {port_of("a", "ring", "b"), port_of("b", "ring", NULL),
		port_of("c", "null", NULL), port_of("d", "pcap", "veth0"),
		port_of("e", "pci", "01:00.0"), port_of("f", "memif", "/tmp/s"),
		port_of("g", "tap", NULL), port_of("h", "vdev", "net_null9")};

	assert_string_equal(checked(ports, sizeof(ports) / sizeof(ports[0])), "");
}

static void a_needed_device_is_asked_for(void **state)
{
	assert_non_null(strstr(one(port_of("a", "af_packet", NULL)), "device: is needed"));
	assert_non_null(strstr(one(port_of("a", "null", "eth0")), "is not used"));
	assert_non_null(strstr(one(port_of("a", "pci", "eth0")), "is not a PCI address"));
	assert_non_null(strstr(one(port_of("a", "pcap", "e,th0")), "must not contain"));
}

static void files_are_for_pcap_without_a_device(void **state)
{
	struct port_settings p = port_of("a", "pcap", NULL);

	assert_non_null(strstr(one(p), "rx_file or tx_file"));
	p.rx_file = "in.pcap";
	assert_string_equal(one(p), "");
	p.device = "veth0";
	assert_non_null(strstr(one(p), "without a device"));
	p.device = NULL;
	p.driver = driver_index("null");
	assert_non_null(strstr(one(p), "is for driver: pcap"));
}

static void only_pcap_has_files_and_only_without_a_device(void **state)
{
	static const struct {
		const char *driver, *device, *rx, *tx;
		bool misplaced, needed;
	} cases[] = {
		{"pcap", "veth0", NULL, NULL, false, false},
		{"pcap", "veth0", "in", NULL, true, false},
		{"pcap", "veth0", NULL, "out", true, false},
		{"pcap", NULL, "in", "out", false, false},
		{"pcap", NULL, NULL, "out", false, false},
		{"pcap", NULL, NULL, NULL, false, true},
		{"null", NULL, NULL, NULL, false, false},
		{"null", NULL, "in", NULL, true, false},
		{"null", NULL, NULL, "out", true, false},
		{"af_packet", "veth0", NULL, "out", true, false},
		{"af_packet", "veth0", "in", NULL, true, false},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct port_settings p = port_of("a", cases[i].driver, cases[i].device);

		p.rx_file = cases[i].rx;
		p.tx_file = cases[i].tx;
		assert_int_equal(!!strstr(one(p), "without a device"), cases[i].misplaced);
		assert_int_equal(!!strstr(complaints, "rx_file or tx_file"), cases[i].needed);
	}
}

static void a_file_name_is_checked_too(void **state)
{
	struct port_settings p = port_of("a", "pcap", NULL);

	p.tx_file = "a,b";
	assert_non_null(strstr(one(p), "must not contain"));
}

static void a_driver_has_so_many_queues(void **state)
{
	struct field_range cpus[] = {{1, 1}, {4, 5}};
	struct port_settings p = port_of("a", "pcap", "veth0");

	p.cpus = (struct field_list){cpus, 1};
	assert_string_equal(one(p), "");
	p.cpus.count = 2;
	assert_int_equal(port_queue_count(&p), 3);
	assert_non_null(strstr(one(p), "has 3 CPUs, driver: pcap has at most 1"));
}

static void absurd_cpu_ranges_stay_bounded(void **state)
{
	struct field_range cpus = {0, UINT32_MAX};
	struct port_settings p = port_of("a", "null", NULL);

	p.cpus = (struct field_list){&cpus, 1};
	assert_int_equal(port_queue_count(&p), PORT_MAX_QUEUES);
	assert_non_null(strstr(one(p), "at most"));
	p.cpus.count = 0;
	assert_int_equal(port_queue_count(&p), 1);
}

static void at_most_two_tags(void **state)
{
	uint64_t vlans[] = {1, 2, 3};
	struct port_settings p = port_of("a", "null", NULL);

	p.vlans = (struct field_list){vlans, 2};
	assert_string_equal(one(p), "");
	p.vlans.count = 3;
	assert_non_null(strstr(one(p), "more than two tags"));
}

static struct addr addr_of(const char *text)
{
	const char *what;
	struct addr a;

	assert_int_equal(addr_parse(text, &a, &what), 0);
	return a;
}

static void a_gateway_is_on_the_link_and_alone(void **state)
{
	struct addr gateways[] = {addr_of("198.18.0.254"), addr_of("fe80::1"), addr_of("10.0.0.1")};
	struct addr_prefix own = {.addr = addr_of("198.18.0.1"), .bits = 24};
	struct port_settings p = port_of("a", "null", NULL);

	p.addresses = (struct field_list){&own, 1};
	p.gateway = (struct field_list){gateways, 2};
	assert_string_equal(one(p), "");
	p.gateway.count = 3;
	assert_non_null(strstr(one(p), "second gateway"));
	assert_non_null(strstr(complaints, "in no prefix"));
	p.gateway = (struct field_list){&gateways[2], 1};
	assert_null(strstr(one(p), "second gateway"));
	assert_non_null(strstr(complaints, "in no prefix"));
	p.addresses.count = 0;
	p.gateway.items = &gateways[1]; // link-local
	assert_string_equal(one(p), "");
}

static void own_addresses_are_known(void **state)
{
	struct addr_prefix own[] = {{.addr = addr_of("198.18.0.1"), .bits = 24},
		{.addr = addr_of("2001:db8::1"), .bits = 64}};
	struct port_settings p = port_of("a", "null", NULL);
	struct addr first = addr_of("198.18.0.1"), second = addr_of("2001:db8::1");

	p.addresses = (struct field_list){own, 1};
	assert_true(port_has(&p, &first));
	assert_false(port_has(&p, &second));
	p.addresses.count = 2;
	assert_true(port_has(&p, &second));
}

static void ring_ports_come_in_pairs(void **state)
{
	struct port_settings ports[] = {
		port_of("a", "ring", "b"), port_of("b", "ring", NULL), port_of("c", "ring", "b")};

	assert_int_equal(port_ring_peer(ports, 2, 0), 1);
	assert_int_equal(port_ring_peer(ports, 2, 1), 0);
	assert_non_null(strstr(checked(ports, 3), "paired with another"));
	assert_non_null(strstr(checked(ports, 1), "names no other port"));
	ports[0].device = "a";
	assert_non_null(strstr(checked(ports, 1), "names no other port"));
	assert_int_equal(port_ring_peer(ports, 1, 0), -1);
	ports[0] = port_of("a", "ring", NULL);
	assert_non_null(strstr(checked(ports, 1), "device: names no other port"));
	assert_int_equal(port_ring_peer(ports, 2, 0), -1); // neither names the other
	ports[1] = port_of("b", "null", NULL);             // not a ring
	ports[0].device = "b";
	assert_int_equal(port_ring_peer(ports, 2, 0), -1);
	ports[1] = port_of(NULL, "ring", "a"); // its name is missing, which is another complaint
	assert_int_equal(port_ring_peer(ports, 2, 0), -1);
	ports[0].device = NULL;
	assert_int_equal(port_ring_peer(ports, 2, 0), 1);
	ports[1] = port_of("b", "ring", "a"); // both name another one
	ports[0].device = "c";
	assert_int_equal(port_ring_peer(ports, 2, 0), -1);
}

static void a_port_may_have_more_queues_than_cpus(void **state)
{
	struct field_range cpus = {1, 2};
	struct port_settings p = port_of("a", "ring", "b");

	p.queues = 4;
	assert_int_equal(port_queue_count(&p), 4);
	assert_int_equal(port_cpu_count(&p), 1);
	p.cpus = (struct field_list){&cpus, 1};
	p.queues = 1;
	assert_int_equal(port_queue_count(&p), 2);
	assert_int_equal(port_cpu_count(&p), 2);
}

static void names_and_devices_are_used_once(void **state)
{
	struct port_settings ports[] = {
		port_of("a", "pcap", "veth0"), port_of("a", "af_packet", "veth0")};

	assert_non_null(strstr(checked(ports, 2), "is the name of two ports"));
	assert_non_null(strstr(complaints, "is used by port a too"));
	ports[1] = port_of("b", "af_packet", "veth1");
	assert_string_equal(checked(ports, 2), "");
	ports[0] = port_of("a", "pci", "01:00.0");
	ports[1] = port_of("b", "pci", "01:00.0");
	assert_non_null(strstr(checked(ports, 2), "is used by port a too"));
	ports[0] = port_of("a", "vdev", "net_null1"); // nothing is known about it
	ports[1] = port_of("b", "vdev", "net_null1");
	assert_string_equal(checked(ports, 2), "");
	ports[0] = port_of(NULL, "pcap", NULL);
	ports[1] = port_of(NULL, "pcap", NULL);
	ports[0].rx_file = ports[1].rx_file = "in"; // may be read twice
	assert_string_equal(checked(ports, 2), "");
	ports[0].tx_file = "out";
	assert_string_equal(checked(ports, 2), "");
	ports[1].tx_file = "out";
	assert_non_null(strstr(checked(ports, 2), "is written by port"));
}

static void a_driver_that_was_not_read_is_left_alone(void **state)
{
	struct port_settings p = port_of("a", "null", NULL);

	p.driver = -1;
	assert_string_equal(one(p), "");
	p.driver = (int32_t)driver_count;
	p.vlans.count = 3;
	assert_string_equal(one(p), "");
	p.driver = 0; // the first of the table is one
	assert_non_null(strstr(one(p), "more than two tags"));
}

static void a_ring_beside_a_driver_that_was_not_read_waits(void **state)
{
	struct port_settings ports[] = {port_of("a", "ring", NULL), port_of("b", "null", NULL)};

	ports[1].driver = -1;
	assert_string_equal(checked(ports, 2), "");
	ports[1].driver = (int32_t)driver_count;
	assert_string_equal(checked(ports, 2), "");
	ports[1].driver = 0; // pci
	ports[1].device = "01:00.0";
	assert_non_null(strstr(checked(ports, 2), "names no other port"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_ports_pass),
		cmocka_unit_test(a_needed_device_is_asked_for),
		cmocka_unit_test(files_are_for_pcap_without_a_device),
		cmocka_unit_test(only_pcap_has_files_and_only_without_a_device),
		cmocka_unit_test(a_file_name_is_checked_too),
		cmocka_unit_test(a_driver_has_so_many_queues),
		cmocka_unit_test(absurd_cpu_ranges_stay_bounded),
		cmocka_unit_test(at_most_two_tags),
		cmocka_unit_test(a_gateway_is_on_the_link_and_alone),
		cmocka_unit_test(own_addresses_are_known),
		cmocka_unit_test(ring_ports_come_in_pairs),
		cmocka_unit_test(a_port_may_have_more_queues_than_cpus),
		cmocka_unit_test(names_and_devices_are_used_once),
		cmocka_unit_test(a_driver_that_was_not_read_is_left_alone),
		cmocka_unit_test(a_ring_beside_a_driver_that_was_not_read_waits),
	};

	return cmocka_run_group_tests(tests, NULL, forget);
}
