// SPDX-License-Identifier: BSD-3-Clause
// Automatic sizes of queues and pools.
#include "ports.h"

#include "io/handoff.h"
#include "io/driver/driver.h"
#include "io/driver/memory.h"

static void settings_win_over_automatic_sizes(void **state)
{
	struct port_settings p = port_of("a", "null", NULL);

	assert_int_equal(port_rx_descriptors(&p), driver_of(&p)->descriptors);
	p.rx_descriptors = 256;
	p.tx_descriptors = 0;
	assert_int_equal(port_rx_descriptors(&p), 256);
	assert_int_equal(port_tx_descriptors(&p), driver_of(&p)->descriptors);
	p.mbufs = 5000;
	assert_int_equal(port_rx_mbufs(&p), 5000);
}

static void automatic_sizes_are_the_documented_ones(void **state)
{
	struct port_settings p = port_of("a", "null", NULL);

	assert_int_equal(port_rx_mbufs(&p), 4095);
	p.held = 77;
	assert_int_equal(port_tx_mbufs(&p), 4095 + 77);
	p.queues = 3;
	assert_int_equal(port_rx_mbufs(&p), 4095 + 2 * (HANDOFF_RING + 512));
	p.rx_descriptors = 513; // twice that and 1 024 is just above a power of two
	assert_int_equal(port_rx_mbufs(&p), 4095 + 2 * (HANDOFF_RING + 512));
	p.rx_descriptors = 512;
	assert_int_equal(port_rx_mbufs(&p), 2047 + 2 * (HANDOFF_RING + 512));
}

static void an_mbuf_that_a_card_reads_takes_a_page(void **state)
{
	struct port_settings dense = port_of("a", "null", NULL), card = port_of("a", "pci", "x");

	dense.mbufs = card.mbufs = 1 << 20;
	assert_in_range(port_memory(&dense) >> 21, 2048 + 128, 2600);
	assert_in_range(port_memory(&card) >> 21, 4096 + 16, 4200);
}

// A pool that its queues can hold all of would run dry.
static void automatic_pools_are_larger_than_their_queues(void **state)
{
	for (unsigned i = 0; i < driver_count; i++) {
		struct port_settings p = port_of("a", drivers[i].name, "x");

		assert_in_range(port_rx_mbufs(&p), 2 * port_rx_descriptors(&p) + 512, 1 << 20);
		p.rx_descriptors = 32768;
		assert_in_range(port_rx_mbufs(&p), 65536 + 512, 1 << 20);
	}
}

static void an_mbuf_holds_a_whole_packet(void **state)
{
	for (unsigned i = 0; i < driver_count; i++) {
		struct port_settings p = port_of("a", drivers[i].name, "x");

		for (p.mtu = 576; p.mtu <= 9600; p.mtu += 8)
			assert_in_range(port_data_room(&p), PORT_HEADROOM + p.mtu + 26, UINT16_MAX);
	}
}

static void an_xdp_mbuf_stays_within_a_page(void **state)
{
	struct port_settings p = port_of("a", "af_xdp", "x");

	p.mtu = PORT_XDP_MTU; // with Ethernet and two tags; the kernel's room, the mbuf and its
	                      // pool's
	assert_in_range(port_data_room(&p), 128 + 256 + 22 + PORT_XDP_MTU, 4096 - 128 - 64);
}

static void memory_grows_with_queues(void **state)
{
	struct field_range cpus = {0, 3};
	struct port_settings p = port_of("a", "null", NULL);
	uint64_t single = port_memory(&p);

	assert_in_range(single, 4096 * 2048, 64 << 20);
	p.cpus = (struct field_list){&cpus, 1};
	assert_in_range(port_memory(&p), 3 * single, 6 * single);
}

static void the_hugepage_command_covers_the_need(void **state)
{
	assert_in_range(hugepages_to_set(hugepages_free() + (64 << 20)), 32, UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_win_over_automatic_sizes),
		cmocka_unit_test(automatic_sizes_are_the_documented_ones),
		cmocka_unit_test(an_mbuf_that_a_card_reads_takes_a_page),
		cmocka_unit_test(automatic_pools_are_larger_than_their_queues),
		cmocka_unit_test(an_mbuf_holds_a_whole_packet),
		cmocka_unit_test(an_xdp_mbuf_stays_within_a_page),
		cmocka_unit_test(memory_grows_with_queues),
		cmocka_unit_test(the_hugepage_command_covers_the_need),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
