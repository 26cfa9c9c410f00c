// SPDX-License-Identifier: BSD-3-Clause
// Exchanges played between a protocol and its server: how many messages they have, and of which
// length. Path: cold. Test.
#include "../loaded.h"

#include "engine/tools/sample.h"

#define PORTS(more)                                                                                \
	"ports: [{name: lan, driver: af_packet, device: nosuch0, addresses: [198.18.0.1/24]" more  \
	"}]\n"
#define DNS "  - {name: q, server: 198.18.0.2, load: {rate: 1k}, " LOADED_DNS "}\n"
#define DHCP(more)                                                                                 \
	"  - {name: r, server: 198.18.0.2, load: {rate: 1k}, dhcp4: {clients: 5000, "              \
	"relay: {addresses: 198.18.0.64}" more "}}\n"

static struct sample samples[2];

static void sample(const char *text)
{
	struct loaded l = loaded_from(text);
	uint64_t input;
	struct counter_list shortages;

	memset(samples, 0, sizeof(samples));
	assert_int_equal(sample_items(l.config, l.a, l.d, samples, &input, &shortages), 0);
	loaded_free(&l);
}

static void a_query_is_one_message_and_one_answer(void **state)
{
	sample(PORTS("") "traffic:\n" DNS);
	assert_int_equal(samples[0].exchanges, SAMPLE_EXCHANGES);
	assert_int_equal(samples[0].messages, SAMPLE_EXCHANGES);
	assert_int_equal(samples[0].answers, SAMPLE_EXCHANGES);
	assert_int_equal(samples[0].assumed, 0);
	assert_int_equal(samples[0].cut, 0);
	// Headers of 42 octets, a question of 31, and 24 around the frame.
	assert_int_equal(samples[0].message_octets, SAMPLE_EXCHANGES * (42 + 31 + 24));
}

static void vlans_of_the_port_are_part_of_a_message(void **state)
{
	sample(PORTS(", vlans: [7]") "traffic:\n" DNS);
	assert_int_equal(samples[0].message_octets, SAMPLE_EXCHANGES * (46 + 31 + 24));
}

static void a_lease_is_two_messages_and_two_answers(void **state)
{
	sample(PORTS("") "traffic:\n" DNS DHCP(""));
	assert_int_equal(samples[0].messages, SAMPLE_EXCHANGES);
	assert_int_equal(samples[1].exchanges, SAMPLE_EXCHANGES);
	assert_int_equal(samples[1].messages, 2 * SAMPLE_EXCHANGES);
	assert_int_equal(samples[1].answers, 2 * SAMPLE_EXCHANGES);
	assert_int_equal(samples[1].assumed, 0);
	assert_int_equal(samples[1].cut, 0);
	assert_true(samples[1].memory > 0);
}

// The server has another pool: the first reply ends each exchange.
static void exchanges_that_fail_are_cut(void **state)
{
	sample(PORTS("") "traffic:\n" DHCP(", expect: {pool: 10.0.0.0/16}"));
	assert_int_equal(samples[0].exchanges, SAMPLE_EXCHANGES);
	assert_int_equal(samples[0].messages, SAMPLE_EXCHANGES);
	assert_int_equal(samples[0].cut, SAMPLE_EXCHANGES);
}

// Each server is sent a copy.
static void copies_to_further_servers_are_messages(void **state)
{
	sample(PORTS("") "traffic:\n" DHCP(", servers: [198.18.0.3, 198.18.0.4], spread: all"));
	assert_int_equal(samples[0].exchanges, SAMPLE_EXCHANGES);
	assert_int_equal(samples[0].messages, 3 * 2 * SAMPLE_EXCHANGES);
	assert_int_equal(samples[0].answers, 2 * SAMPLE_EXCHANGES);
}

// There are no more exchanges than clients to begin them.
static void clients_that_are_used_up_end_the_sample(void **state)
{
	sample(PORTS("") "traffic:\n"
			 "  - {name: r, server: 198.18.0.2, load: {rate: 10}, dhcp4: {clients: 7, "
			 "relay: {addresses: 198.18.0.64}}}\n");
	assert_true(samples[0].exchanges >= 7 && samples[0].exchanges < SAMPLE_EXCHANGES);
	assert_int_equal(samples[0].messages, 2 * samples[0].exchanges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_is_one_message_and_one_answer),
		cmocka_unit_test(vlans_of_the_port_are_part_of_a_message),
		cmocka_unit_test(a_lease_is_two_messages_and_two_answers),
		cmocka_unit_test(exchanges_that_fail_are_cut),
		cmocka_unit_test(copies_to_further_servers_are_messages),
		cmocka_unit_test(clients_that_are_used_up_end_the_sample),
	};

	return cmocka_run_group_tests_name("sample", tests, NULL, NULL);
}
