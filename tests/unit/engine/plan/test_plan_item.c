// SPDX-License-Identifier: BSD-3-Clause
// The needs of an item on each of its workers: slots, keys, waits, counters of steps, and which
// settings are refused. Path: cold. Test.
#include "proto/table.h"
#include "../planned.h"

#include <unistd.h>

#define SECOND 1000000000ull
#define LAN(cpus, more)                                                                            \
	"ports:\n  - {name: lan, driver: af_packet, device: nosuch0, cpus: " cpus                  \
	", addresses: [198.18.0.1/24]" more "}\n"
#define DNS(more) "  - {name: q, server: 198.18.0.2, " more ", " LOADED_DNS "}\n"
#define DHCP(more)                                                                                 \
	"  - {name: r, server: 198.18.0.2, load: {rate: 1k}, dhcp4: {clients: 90, " more "}}\n"

static struct planned *planned(const char *head, const char *items)
{
	char text[2048];

	snprintf(text, sizeof(text), "%straffic:\n%s", head, items);
	return planned_build(text);
}

static void expect_slots(const char *head, const char *items, uint32_t count)
{
	struct planned *p = planned(head, items);

	for (uint32_t k = 0; k < p->plan.items[0].worker_count; k++)
		assert_int_equal(plan_run(&p->plan.items[0], k)->txns.count, count);
	planned_free(p);
}

// At 1000 per second and a timeout of 1 s, 3406 in all.
static void slots_are_divided_among_the_workers(void **state)
{
	expect_slots(LAN("1", ""), DNS("load: {rate: 1k}"), 1306);
	expect_slots(LAN("1-2", ""), DNS("load: {rate: 1k}"), 654);
	expect_slots(LAN("1-3", ""), DNS("load: {rate: 1k}"), 436);
	expect_slots(LAN("1-2", ""), DNS("load: {rate: 1k}, timeout: 2s"), 1179);
	expect_slots(LAN("1-2", ""), DNS("load: {rate: 1k, slots: 5000}"), 2501);
}

// At rate: max the size of a part is unknown.
static void without_a_rate_each_worker_has_all_slots(void **state)
{
	expect_slots(LAN("1-2", ""), DNS("load: {rate: max, slots: 5000}"), 5000);
	expect_slots(LAN("1-2", ""), DNS("load: {outstanding: 10, slots: 5000}"), 2501);
}

// One source port has 65536 keys for transactions.
static void there_are_no_more_slots_than_keys(void **state)
{
	expect_slots(LAN("1", ""),
		DNS("source: {ports: 5000}, load: {outstanding: 10, slots: 100000}"), 65536);
	expect_slots(LAN("1", ""),
		DNS("source: {ports: 5000-5001}, load: {outstanding: 10, slots: 100000}"), 100000);
}

// Plans an item that replays these times, from a file.
static struct planned *replayed(const char *times, const char *more)
{
	char path[] = "/tmp/ddiperf-replay-XXXXXX", items[256];
	int fd = mkstemp(path);
	struct planned *p;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, times, strlen(times)), (ssize_t)strlen(times));
	close(fd);
	snprintf(items, sizeof(items), DNS("load: {replay: {file: %s%s}}"), path, more);
	p = planned(LAN("1", ""), items);
	unlink(path);
	return p;
}

static void expect_replayed(const char *times, const char *more, uint32_t in_a_row)
{
	struct planned *p = replayed(times, more);

	// A sixteenth more than those in a row, and 256 as for every load.
	assert_int_equal(p->plan.items[0].run->txns.count, in_a_row + in_a_row / 16 + 256);
	planned_free(p);
}

// As many slots as sends while a slot is held: a timeout of 1 s, ends included.
static void a_replay_needs_what_is_sent_while_a_slot_is_held(void **state)
{
	char many[32 * 9 + 1] = "";

	expect_replayed("0\n0.3\n0.6\n1\n", "", 4);
	expect_replayed("0\n0.3\n0.6\n1.000000001\n", "", 3);
	expect_replayed("0\n0.3\n0.6\n1.000000001\n", ", speed: 2", 4);
	expect_replayed("0\n0.5\n0.75\n1.2\n", ", speed: 0.5", 2);
	expect_replayed("0\n7\n7\n7\n14\n", "", 3);
	for (int i = 0; i < 32; i++)
		strcat(many, "1.5\n");
	expect_replayed(many, "", 32);
	expect_replayed("5\n", ", speed: 2", 1);
}

static void keys_differ_between_items_and_workers_and_are_the_same_each_time(void **state)
{
	const char *const items = DNS("load: {rate: 1k}") "  - {name: s, server: 198.18.0.2, load: "
							  "{rate: 1k}, " LOADED_DNS "}\n";
	struct planned *two = planned(LAN("1-2", ""), items), *one = planned(LAN("1", ""), items);
	struct txn_place first, second, other, alone;

	txn_place_of(&plan_run(&two->plan.items[0], 0)->txns, 0, &first);
	txn_place_of(&plan_run(&two->plan.items[0], 1)->txns, 0, &second);
	txn_place_of(&plan_run(&two->plan.items[1], 0)->txns, 0, &other);
	assert_int_not_equal(first.key, second.key);
	assert_int_not_equal(first.key, other.key);
	assert_int_not_equal(two->plan.items[0].seed, two->plan.items[1].seed);
	assert_int_equal(two->plan.items[1].seed, one->plan.items[1].seed);
	txn_place_of(&one->plan.items[0].run->txns, 0, &alone);
	assert_int_equal(
		two->plan.items[0].run->txns.perm.mask, one->plan.items[0].run->txns.perm.mask);
	planned_free(two);
	planned_free(one);
}

static void a_key_rests_for_three_of_the_longest_wait(void **state)
{
	struct planned *p = planned(LAN("1", ""), DNS("load: {rate: 1k}, timeout: 300ms"));
	const struct worker_item *run = p->plan.items[0].run;

	assert_int_equal(run->waits[0], 300000000);
	assert_int_equal(run->txns.rest, 900000000);
	planned_free(p);
	p = planned(
		LAN("1", ""), DHCP("relay: {addresses: 198.18.0.64}, "
				   "retransmit: {initial: 4s, factor: 2, jitter: 0s, tries: 3}"));
	run = p->plan.items[0].run;
	assert_int_equal(run->waits[0], SECOND);
	assert_int_equal(run->txns.rest, 3 * 16 * SECOND);
	assert_int_equal(run->txns.waits, 1 + p->plan.items[0].layout.waits.count);
	planned_free(p);
}

static void exchanges_of_several_messages_have_books_of_their_steps(void **state)
{
	struct planned *p = planned(
		LAN("1", ""), DNS("load: {rate: 1k}") DHCP("relay: {addresses: 198.18.0.64}"));
	const struct worker_item *dns = p->plan.items[0].run, *dhcp = p->plan.items[1].run;

	assert_null(dns->steps);
	assert_null(dns->step_due);
	assert_non_null(dhcp->step_due);
	for (uint32_t i = 0; i < proto_steps(dhcp->proto); i++) {
		assert_int_equal(dhcp->steps[i].response.min, UINT64_MAX);
		assert_int_equal(dhcp->steps[i].service.min, UINT64_MAX);
	}
	planned_free(p);
}

// Data shared by all clients of a protocol is made once, and only if the protocol has any.
static void items_of_a_protocol_have_something_in_common(void **state)
{
	struct planned *p = planned(
		LAN("1-2", ""), DNS("load: {rate: 1k}") DHCP("relay: {addresses: 198.18.0.64}"));
	uint32_t made = 0;

	for (uint32_t k = 0; protos[k]; k++) {
		made += p->plan.common[k] != NULL;
		if (p->plan.common[k])
			assert_ptr_equal(protos[k], proto_find("dhcp4"));
	}
	assert_int_equal(made, 1);
	planned_free(p);
}

static void a_worker_begins_with_empty_books(void **state)
{
	struct planned *p = planned(LAN("1-2", ""), DNS("load: {rate: 1k}"));

	for (uint32_t k = 0; k < 2; k++) {
		const struct worker_item *run = plan_run(&p->plan.items[0], k);

		assert_int_equal(run->books.response.min, UINT64_MAX);
		assert_int_equal(run->books.service.min, UINT64_MAX);
		assert_int_equal(run->books.lag.min, UINT64_MAX);
		assert_non_null(run->banks[0]);
		assert_non_null(run->banks[1]);
		assert_ptr_not_equal(run->banks[0], run->banks[1]);
		assert_true(run->opened);
		assert_int_equal(run->server_port, 53);
		assert_int_equal(run->source_ranges, 1);
		assert_ptr_equal(run->ctx.shared, p->plan.items[0].shared);
	}
	planned_free(p);
}

static void expect_error(const char *head, const char *items, const char *part)
{
	char text[2048], *errors;
	struct loaded l;
	struct plan plan;
	int rc;

	snprintf(text, sizeof(text), "%straffic:\n%s", head, items);
	l = loaded_from(text);
	rc = plan_read_input(&plan, l.config, false, l.a, l.d);
	errors = diag_text(l.d);
	assert_int_equal(rc, part ? -EINVAL : 0);
	if (part ? !strstr(errors, part) : *errors)
		fail_msg("expected \"%s\" in:\n%s", part ? part : "", errors);
	free(errors);
	plan_free(&plan);
	loaded_free(&l);
}

static void a_frame_has_room_for_two_vlans(void **state)
{
#define TAGGED(list) "vlans: [{clients: 0-89, vlans: [" list "]}]"
	expect_error(LAN("1", ""), DHCP(TAGGED("7, 8")), NULL);
	expect_error(LAN("1", ", vlans: [100]"), DHCP(TAGGED("7")), NULL);
	expect_error(LAN("1", ", vlans: [100]"), DHCP(TAGGED("7, 8")),
		"1 VLANs of the port and 2 of clients (together up to 2)");
	expect_error(LAN("1", ", vlans: [100, 200]"), DHCP(TAGGED("7")), "2 VLANs of the port");
}

static void a_message_longer_than_the_mtu_is_refused(void **state)
{
#define NAMED(name, edns)                                                                          \
	"  - {name: q, server: 198.18.0.2, load: {rate: 1k}, dns: {names: [b A, " name " A], "     \
	"edns: {" edns "}}}\n"
#define LABEL   "a23456789012345678901234567890123456789012345678901234567890."
#define HEX     "00000000000000000000000000000000000000000000000000" // 25 octets
#define HEX_200 HEX HEX HEX HEX HEX HEX HEX HEX
	// Headers 28, message 12 + (62 + 4) + OPT 11 + 4 + 200 + cookie 12; from its server 32
	// more.
	const char *option = NAMED(LABEL, "options: [{code: 65001, hex: \"" HEX_200 "\"}]");

	expect_error(LAN("1", ", mtu: 576"), option, NULL);
	expect_error(LAN("1", ", mtu: 576"),
		NAMED(LABEL LABEL LABEL, "options: [{code: 65001, hex: \"" HEX_200 HEX_200 "\"}]"),
		"traffic.q: a message may get 615 bytes long, a packet of 643 with its headers: "
		"more than the mtu of port lan, 576");
	expect_error(LAN("1", ", mtu: 1028"), DHCP("pad: 1000"), NULL);
	expect_error(LAN("1", ", mtu: 1027"), DHCP("pad: 1000"),
		"traffic.r: a message may get 1000 bytes long, a packet of 1028");
}

// Replies have to be routed to the first address of a range and to the last.
static void relay_addresses_are_on_a_subnet_or_behind_a_gateway(void **state)
{
#define RELAYED(list) DHCP("relay: {addresses: [" list "]}")
	expect_error(LAN("1", ""), RELAYED("198.18.0.64-198.18.0.255"), NULL);
	expect_error(
		LAN("1", ""), RELAYED("198.18.0.64-198.18.1.0"), "not on a subnet of port lan");
	expect_error(LAN("1", ""), RELAYED("198.17.255.255-198.18.0.5"),
		"not on a subnet of port lan, and the port has no IPv4 gateway");
	expect_error(LAN("1", ""), RELAYED("198.18.0.64, 10.0.0.1"), "not on a subnet");
	expect_error(LAN("1", ", gateway: 198.18.0.254"), RELAYED("198.18.0.64-198.18.1.0"), NULL);
}

static void a_file_of_times_that_is_not_there_is_an_error(void **state)
{
	expect_error(LAN("1", ""), DNS("load: {replay: {file: /nosuch/file}}"), "/nosuch/file");
}

// The box answers for its own addresses on the port, and for none of the other parts'.
static void expect_owned(const struct planned *p, const char *const *texts, uint32_t count)
{
	const struct plan_item *i = &p->plan.items[0];
	const struct neigh_self *self = &i->worker->wire.self;
	const struct addr_range *owned = self->owned;
	char text[ADDR_TEXT_SIZE];

	assert_int_equal(self->owned_count, 1 + count); // the port's address is the first
	for (uint32_t n = 0; n < count; n++)
		assert_string_equal(addr_format_range(&owned[1 + n], text, sizeof(text)), texts[n]);
}

static void a_part_of_a_fleet_answers_for_its_own_addresses(void **state)
{
	static const char *const relays[] = {"198.18.0.65", "198.18.0.68"};
	static const char *const sources[] = {"198.18.0.12/31"};
	struct planned *p = planned(LAN("1", "") "fleet: {agents: 3, part: 2}\n",
		DHCP("relay: {addresses: [198.18.0.64-198.18.0.69]}"));

	expect_owned(p, relays, 2);
	planned_free(p);
	p = planned(LAN("1", "") "fleet: {agents: 3, part: 2}\n",
		DNS("load: {rate: 1k}, source: {addresses: [198.18.0.10-198.18.0.15]}"));
	expect_owned(p, sources, 1);
	planned_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_divided_among_the_workers),
		cmocka_unit_test(without_a_rate_each_worker_has_all_slots),
		cmocka_unit_test(there_are_no_more_slots_than_keys),
		cmocka_unit_test(a_replay_needs_what_is_sent_while_a_slot_is_held),
		cmocka_unit_test(keys_differ_between_items_and_workers_and_are_the_same_each_time),
		cmocka_unit_test(a_key_rests_for_three_of_the_longest_wait),
		cmocka_unit_test(exchanges_of_several_messages_have_books_of_their_steps),
		cmocka_unit_test(items_of_a_protocol_have_something_in_common),
		cmocka_unit_test(a_worker_begins_with_empty_books),
		cmocka_unit_test(a_message_longer_than_the_mtu_is_refused),
		cmocka_unit_test(a_frame_has_room_for_two_vlans),
		cmocka_unit_test(relay_addresses_are_on_a_subnet_or_behind_a_gateway),
		cmocka_unit_test(a_part_of_a_fleet_answers_for_its_own_addresses),
		cmocka_unit_test(a_file_of_times_that_is_not_there_is_an_error),
	};

	return cmocka_run_group_tests_name("plan_item", tests, NULL, NULL);
}
