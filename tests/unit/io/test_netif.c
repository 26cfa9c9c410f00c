// SPDX-License-Identifier: BSD-3-Clause
// Facts about kernel interfaces, on the one that every namespace has.
#include "ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/netif.h"

static void the_loopback_is_known(void **state)
{
	struct netif n;

	assert_int_equal(netif_read("lo", &n), 0);
	assert_string_equal(n.name, "lo");
	assert_int_equal(n.index, if_nametoindex("lo"));
	assert_true(n.flags & IFF_LOOPBACK);
	assert_false(n.default_route);
	assert_int_equal(n.xdp_program, 0);
	assert_int_equal(n.speed_bps, 0);
	assert_in_range(n.mtu, 1500, 65536);
}

static void its_addresses_have_their_prefix(void **state)
{
	struct netif n;

	assert_int_equal(netif_read("lo", &n), 0);
	for (unsigned i = 0; i < n.addr_count && i < NETIF_ADDRS_MAX; i++) {
		char text[ADDR_TEXT_SIZE];

		addr_format_prefix(&n.addrs[i], text, sizeof(text));
		if (!strcmp(text, "127.0.0.1/8"))
			return;
	}
	if (n.flags & IFF_UP)
		fail_msg("lo is up and has no 127.0.0.1/8");
	skip();
}

// The text of a file below /sys/class/net; empty if the file cannot be read.
static const char *sysfs(const char *name, const char *file)
{
	static char text[64];
	char path[256];
	FILE *f;

	text[0] = '\0';
	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", name, file);
	f = fopen(path, "r");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static void every_interface_is_as_sysfs_shows_it(void **state)
{
	struct netif *list;
	unsigned count, compared = 0;

	assert_int_equal(netif_list(&list, &count), 0);
	for (unsigned i = 0; i < count; i++) {
		const uint8_t *m = list[i].mac;
		char mac[18], name[IFNAMSIZ + 1];

		if (atoi(sysfs(list[i].name, "ifindex")) != (int)list[i].index)
			continue; // sysfs is that of another namespace
		compared++;
		assert_string_equal(if_indextoname(list[i].index, name), list[i].name);
		assert_int_equal(atoi(sysfs(list[i].name, "mtu")), list[i].mtu);
		snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3],
			m[4], m[5]);
		if (strlen(sysfs(list[i].name, "address")) == 17)
			assert_string_equal(sysfs(list[i].name, "address"), mac);
		else
			assert_string_equal(mac, "00:00:00:00:00:00");
	}
	free(list);
	if (compared == 0)
		skip();
}

static void an_unknown_interface_is_no_device(void **state)
{
	struct netif n;

	assert_int_equal(netif_read("nonexistent0", &n), -ENODEV);
	assert_int_equal(netif_detach_xdp("nonexistent0"), 0);
	assert_int_equal(netif_open_multicast("nonexistent0"), -ENODEV);
}

static void the_list_has_every_index_once(void **state)
{
	struct netif *list;
	unsigned count;

	assert_int_equal(netif_list(&list, &count), 0);
	assert_non_null(netif_find(list, count, "lo"));
	assert_null(netif_find(list, count, ""));
	for (unsigned i = 0; i < count; i++)
		for (unsigned j = 0; j < i; j++)
			assert_int_not_equal(list[i].index, list[j].index);
	free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_loopback_is_known),
		cmocka_unit_test(its_addresses_have_their_prefix),
		cmocka_unit_test(every_interface_is_as_sysfs_shows_it),
		cmocka_unit_test(an_unknown_interface_is_no_device),
		cmocka_unit_test(the_list_has_every_index_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
