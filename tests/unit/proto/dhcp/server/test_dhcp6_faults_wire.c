// SPDX-License-Identifier: BSD-3-Clause
// Every DHCPv6 fault changes the field of its name and no other, at any number of relays, and
// leaves the reply well formed. Path: tests only.

#include <stdio.h>

#include "dhcp6_server_fixture.h"

// Replies to corrupt: client 1 has two addresses and a prefix.
struct sample {
	const char *name;
	uint8_t bytes[1024];
	uint32_t len;
};

enum { ADVERTISED, REPLIED, RAPID, RENEWED, RELEASED, CONFIRMED, INFORMED, SAMPLES };

static struct sample samples[DHCP6_LEVELS_MAX + 1][SAMPLES];

static struct dhcp6_message was, is;
static struct dhcp6_envelope was_in, is_in;

static void keep(struct server *v, struct sample *s, const char *name)
{
	s->name = name;
	s->len = v->len;
	assert_true(v->len > 0 && v->len <= sizeof(s->bytes));
	memcpy(s->bytes, v->out, v->len);
}

static void samples_at(uint8_t levels)
{
	struct dhcp6_answers_settings settings = server_settings();
	struct server *v;
	struct sample *s = samples[levels];

	settings.common.rapid = true;
	v = server_of(&settings);
	SAY(v, SOLICIT, 1, .nas = 2, .pds = 1, .levels = levels);
	keep(v, &s[ADVERTISED], "ADVERTISE");
	SAY(v, REQUEST, 1, .nas = 2, .pds = 1, .levels = levels, .to_us = true);
	keep(v, &s[REPLIED], "REPLY to REQUEST");
	SAY(v, RENEW, 1, .nas = 2, .pds = 1, .levels = levels, .to_us = true);
	keep(v, &s[RENEWED], "REPLY to RENEW");
	SAY(v, SOLICIT, 1, .nas = 2, .pds = 1, .levels = levels, .rapid = true);
	keep(v, &s[RAPID], "REPLY to SOLICIT");
	SAY(v, CONFIRM, 1, .nas = 1, .levels = levels, .address = test_pool.first.bytes);
	keep(v, &s[CONFIRMED], "REPLY to CONFIRM");
	SAY(v, INFORMATION, 1, .no_client_id = true, .levels = levels);
	keep(v, &s[INFORMED], "REPLY to INFORMATION-REQUEST");
	SAY(v, RELEASE, 1, .nas = 1, .levels = levels, .to_us = true,
		.address = test_pool.first.bytes);
	keep(v, &s[RELEASED], "REPLY to RELEASE");
	server_end(v);
}

static int samples_make(void **state)
{
	for (uint8_t levels = 0; levels <= DHCP6_LEVELS_MAX; levels++)
		samples_at(levels);
	return 0;
}

static uint8_t *spoiled_bytes;

// Corrupts a copy in a block of exactly the room, and parses both. Returns 0 if not possible.
static uint32_t spoil(const char *name, const struct sample *s, uint64_t random)
{
	uint32_t room = s->len + 6, len;

	free(spoiled_bytes);
	spoiled_bytes = malloc(room);
	memcpy(spoiled_bytes, s->bytes, s->len);
	len = fault_named(name)->apply(spoiled_bytes, s->len, room, random);
	if (len == 0)
		assert_memory_equal(spoiled_bytes, s->bytes, s->len);
	if (len == 0 || len == PROTO_NO_ANSWER)
		return len;
	assert_true(len <= room);
	assert_true(dhcp6_unwrap(s->bytes, s->len, &was_in));
	assert_true(dhcp6_parse(was_in.inner, was_in.inner_len, &was));
	assert_true(dhcp6_unwrap(spoiled_bytes, len, &is_in));
	assert_true(dhcp6_parse(is_in.inner, is_in.inner_len, &is));
	assert_int_equal(is_in.levels, was_in.levels);
	return len;
}

// The samples that allow a fault, a bit each; identical at any number of levels.
static uint32_t possible(const char *name)
{
	uint32_t all = UINT32_MAX;

	for (uint32_t levels = 0; levels <= DHCP6_LEVELS_MAX; levels++) {
		uint32_t now = 0;

		for (uint32_t i = 0; i < SAMPLES; i++)
			now |= (uint32_t)(spoil(name, &samples[levels][i], 5) > 0) << i;
		if (levels)
			assert_int_equal(now, all);
		all = now;
	}
	return all;
}

#define WITH(n)       (1u << (n))
#define LEASE_REPLIES (WITH(REPLIED) | WITH(RAPID) | WITH(RENEWED))
#define LEASES        (WITH(ADVERTISED) | LEASE_REPLIES)
#define ALL           (WITH(SAMPLES) - 1)

static void each_fault_is_possible_where_it_belongs(void **state)
{
	assert_int_equal(possible("no_advertise"), WITH(ADVERTISED));
	assert_int_equal(possible("no_addrs_avail"), LEASES);
	assert_int_equal(possible("no_prefix_avail"), LEASES);
	assert_int_equal(possible("no_binding"), LEASE_REPLIES);
	assert_int_equal(possible("not_on_link"), LEASE_REPLIES);
	assert_int_equal(possible("unspec_fail"), LEASES);
	assert_int_equal(possible("use_multicast"), LEASE_REPLIES);
	assert_int_equal(possible("lease_status"), LEASES);
	assert_int_equal(possible("missing_ia"), LEASES);
	assert_int_equal(possible("other_address"), WITH(REPLIED) | WITH(RENEWED));
	assert_int_equal(possible("prefix_overlap"), LEASES);
	assert_int_equal(possible("wrong_lifetimes"), LEASES);
	assert_int_equal(possible("wrong_times"), LEASES);
	assert_int_equal(possible("wrong_xid"), ALL);
	assert_int_equal(possible("wrong_duid"), ALL & ~WITH(INFORMED));
	assert_int_equal(possible("no_client_id"), ALL & ~WITH(INFORMED));
	assert_int_equal(possible("no_server_id"), ALL);
	assert_int_equal(possible("no_rapid_commit"), WITH(RAPID));
	assert_int_equal(possible("unsolicited"), ALL);
}

static void faults_of_relays_need_a_relay(void **state)
{
	static const char *const names[] = {
		"interface_id_missing", "interface_id_changed", "wrong_relay"};

	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(spoil(names[i], &samples[0][ADVERTISED], 5), 0);
		for (uint32_t levels = 1; levels <= DHCP6_LEVELS_MAX; levels++)
			assert_true(spoil(names[i], &samples[levels][ADVERTISED], 5) > 0);
	}
}

// Truncated messages, and messages other than ADVERTISE and REPLY, stay unchanged.
static void what_is_not_ours_stays_as_it_is(void **state)
{
	struct sample s = samples[2][REPLIED];

	for (const struct proto_fault *f = dhcp6_faults; f->name; f++)
		for (uint32_t cut = 0; cut < samples[2][REPLIED].len; cut++) {
			s.len = cut;
			assert_int_equal(spoil(f->name, &s, cut), 0);
		}
	s = samples[0][REPLIED];
	s.bytes[0] = DHCP6_SOLICIT;
	for (const struct proto_fault *f = dhcp6_faults; f->name; f++)
		assert_int_equal(spoil(f->name, &s, 1), 0);
}

static void a_reply_without_options_has_a_transaction_id(void **state)
{
	struct sample s = samples[0][REPLIED];

	s.len = DHCP6_HEADER_LEN;
	assert_int_equal(spoil("wrong_xid", &s, 1), DHCP6_HEADER_LEN);
	assert_int_not_equal(is.xid, was.xid);
	assert_int_equal(spoil("no_server_id", &s, 1), 0);
}

static const struct sample *reply(uint32_t levels)
{
	return &samples[levels][REPLIED];
}

static void statuses_stand_where_the_lease_was(void **state)
{
	static const struct {
		const char *name;
		uint32_t ia;
		uint16_t status;
	} rows[] = {
		{"no_addrs_avail", 0, DHCP6_NO_ADDRS_AVAIL},
		{"no_prefix_avail", 2, DHCP6_NO_PREFIX_AVAIL},
		{"no_binding", 0, DHCP6_NO_BINDING},
		{"not_on_link", 0, DHCP6_NOT_ON_LINK},
	};

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (uint32_t levels = 0; levels < 3; levels++) {
			assert_true(spoil(rows[i].name, reply(levels), 1) > 0);
			assert_int_equal(is.ia_count, 3);
			for (uint32_t k = 0; k < 3; k++) {
				bool hit = k == rows[i].ia;

				assert_int_equal(is.ias[k].iaid, was.ias[k].iaid);
				assert_int_equal(is.ias[k].lease_count, !hit);
				assert_int_equal(is.ias[k].t1_s, hit ? 0 : was.ias[k].t1_s);
				assert_int_equal(
					is.ias[k].status, hit ? rows[i].status : DHCP6_STATUS_NONE);
			}
			assert_int_equal(is.status, DHCP6_STATUS_NONE);
		}
}

static void a_status_of_the_message_stands_instead_of_all_ias(void **state)
{
	assert_true(spoil("unspec_fail", reply(2), 1) > 0);
	assert_int_equal(is.ia_count, 0);
	assert_int_equal(is.status, DHCP6_UNSPEC_FAIL);
	assert_non_null(is.client_id.data);
	assert_non_null(is.server_id.data);
	assert_true(spoil("use_multicast", reply(0), 1) > 0);
	assert_int_equal(is.ia_count, 0);
	assert_int_equal(is.status, DHCP6_USE_MULTICAST);
}

static void a_status_within_a_lease_leaves_the_lease(void **state)
{
	assert_true(spoil("lease_status", reply(1), 1) > 0);
	assert_int_equal(is.ia_count, 3);
	assert_int_equal(is.ias[0].leases[0].status, DHCP6_UNSPEC_FAIL);
	assert_int_equal(is.ias[0].status, DHCP6_STATUS_NONE);
	assert_memory_equal(is.ias[0].leases[0].address, was.ias[0].leases[0].address, 16);
	assert_int_equal(is.ias[1].leases[0].status, DHCP6_STATUS_NONE);
}

static void a_status_within_a_lease_needs_room(void **state)
{
	const struct sample *s = reply(1);
	uint8_t copy[1024];

	memcpy(copy, s->bytes, s->len);
	assert_int_equal(fault_named("lease_status")->apply(copy, s->len, s->len + 5, 1), 0);
	assert_memory_equal(copy, s->bytes, s->len);
}

static void one_ia_is_missing(void **state)
{
	assert_true(spoil("missing_ia", reply(8), 1) > 0);
	assert_int_equal(is.ia_count, 2);
	assert_int_equal(is.ias[0].iaid, was.ias[1].iaid);
	assert_int_equal(is.ias[1].type, DHCP6_OPT_IA_PD);
}

static void another_address_is_not_the_one_that_was_advertised(void **state)
{
	assert_true(spoil("other_address", reply(0), 1) == reply(0)->len);
	assert_memory_not_equal(is.ias[0].leases[0].address, was.ias[0].leases[0].address, 16);
	assert_memory_equal(is.ias[1].leases[0].address, was.ias[1].leases[0].address, 16);
}

static void a_prefix_that_overlaps_contains_its_neighbour(void **state)
{
	uint8_t neighbour[16];
	struct sample s = *reply(1);
	uint8_t *prefix;

	assert_true(spoil("prefix_overlap", &s, 1) > 0);
	prefix = (uint8_t *)was.ias[2].leases[0].address;
	memcpy(neighbour, prefix, 16);
	for (uint8_t last = 0; last < 4; last++) {
		prefix[6] = last; // a /56
		assert_true(spoil("prefix_overlap", &s, 1) > 0);
		assert_int_equal(is.ias[2].leases[0].bits, 55);
		neighbour[6] = last & 0xfe;
		assert_memory_equal(is.ias[2].leases[0].address, neighbour, 16);
	}
}

static void lifetimes_and_times_are_out_of_order(void **state)
{
	assert_true(spoil("wrong_lifetimes", reply(0), 1) > 0);
	assert_true(is.ias[0].leases[0].preferred_s > is.ias[0].leases[0].valid_s);
	assert_int_equal(is.ias[0].leases[0].valid_s, was.ias[0].leases[0].valid_s);
	assert_true(spoil("wrong_times", reply(0), 1) > 0);
	assert_true(is.ias[0].t1_s > is.ias[0].t2_s);
	assert_int_equal(is.ias[0].t2_s, was.ias[0].t2_s);
}

static void times_of_0_are_in_no_order(void **state)
{
	struct dhcp6_answers_settings s = server_settings();
	struct sample sample;
	struct server *v;

	s.common.t1_ns = s.common.t2_ns = 0;
	v = server_of(&s);
	SAY(v, SOLICIT, 1, .nas = 1);
	keep(v, &sample, "ADVERTISE");
	assert_int_equal(spoil("wrong_times", &sample, 1), 0);
	server_end(v);
}

static void a_lease_that_is_withdrawn_is_none(void **state)
{
	static const uint8_t elsewhere[16] = {0x20, 1, 0x0d, 0xb8, 0xff};
	struct server *v = server_new();
	struct sample sample;

	SAY(v, REBIND, 1, .nas = 1, .pds = 1, .address = elsewhere, .prefix = elsewhere);
	assert_int_equal(v->m.ias[0].lease_count, 1);
	assert_int_equal(v->m.ias[1].lease_count, 1);
	keep(v, &sample, "REPLY to REBIND");
	assert_int_equal(spoil("no_addrs_avail", &sample, 1), 0);
	assert_int_equal(spoil("no_prefix_avail", &sample, 1), 0);
	assert_int_equal(spoil("missing_ia", &sample, 1), 0);
	server_end(v);
}

static void identifiers_are_wrong_or_missing(void **state)
{
	for (uint64_t random = 0; random < 100; random++) {
		uint64_t bits = random * 0x0123456789abcdefu;

		assert_true(spoil("wrong_xid", reply(1), bits) > 0);
		assert_int_not_equal(is.xid, was.xid);
		assert_true(spoil("wrong_duid", reply(1), bits) > 0);
		assert_int_equal(is.client_id.len, was.client_id.len);
		assert_memory_not_equal(is.client_id.data, was.client_id.data, 10);
		assert_int_equal(is.xid, was.xid);
		assert_true(spoil("unsolicited", reply(1), bits) > 0);
		assert_int_not_equal(is.xid, was.xid);
		assert_memory_not_equal(is.client_id.data, was.client_id.data, 10);
	}
	assert_true(spoil("no_client_id", reply(2), 1) > 0);
	assert_null(is.client_id.data);
	assert_int_equal(is.ia_count, 3);
	assert_true(spoil("no_server_id", reply(2), 1) > 0);
	assert_null(is.server_id.data);
	assert_non_null(is.client_id.data);
	assert_true(spoil("no_rapid_commit", &samples[1][RAPID], 1) > 0);
	assert_false(dhcp6_has(&is, DHCP6_OPT_RAPID_COMMIT));
}

// Counts the relay messages that differ in their interface-id, and in their header.
static void count_differences(uint32_t *ids, uint32_t *headers)
{
	*ids = *headers = 0;
	for (uint32_t i = 0; i < is_in.levels; i++) {
		const struct dhcp6_relay *a = &was_in.relays[i], *b = &is_in.relays[i];

		*ids += !b->interface_id.data ||
		        memcmp(a->interface_id.data, b->interface_id.data, 4) != 0;
		*headers += a->hop_count != b->hop_count || memcmp(a->link, b->link, 16) != 0 ||
		            memcmp(a->peer, b->peer, 16) != 0;
	}
}

static void one_relay_at_any_level_is_not_as_it_was(void **state)
{
	uint32_t ids, headers, hit = 0;

	for (uint64_t random = 0; random < 64; random++) {
		uint64_t bits = random << 58;

		assert_true(spoil("interface_id_missing", reply(8), bits) > 0);
		count_differences(&ids, &headers);
		assert_int_equal(ids, 1);
		assert_int_equal(headers, 0);
		for (uint32_t i = 0; i < 8; i++)
			hit |= (uint32_t)!is_in.relays[i].interface_id.data << i;
		assert_int_equal(is.ia_count, 3);
		assert_true(spoil("interface_id_changed", reply(8), bits) > 0);
		count_differences(&ids, &headers);
		assert_int_equal(ids, 1);
		assert_int_equal(headers, 0);
		assert_true(spoil("wrong_relay", reply(8), bits) > 0);
		count_differences(&ids, &headers);
		assert_int_equal(ids, 0);
		assert_int_equal(headers, 1);
	}
	assert_int_equal(hit, 0xff);
}

static void the_only_interface_id_is_found_at_its_level(void **state)
{
	struct server *v = server_new();
	struct sample sample;

	SAY(v, SOLICIT, 1, .nas = 1, .levels = 5, .one_interface_id = true);
	keep(v, &sample, "ADVERTISE");
	for (uint64_t random = 0; random < 64; random++) {
		assert_true(spoil("interface_id_missing", &sample, random << 58) > 0);
		assert_null(is_in.relays[0].interface_id.data);
		assert_int_equal(is.ia_count, 1);
		assert_true(spoil("interface_id_changed", &sample, random << 58) > 0);
	}
	server_end(v);
}

static int release(void **state)
{
	free(spoiled_bytes);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fault_is_possible_where_it_belongs),
		cmocka_unit_test(faults_of_relays_need_a_relay),
		cmocka_unit_test(what_is_not_ours_stays_as_it_is),
		cmocka_unit_test(a_reply_without_options_has_a_transaction_id),
		cmocka_unit_test(statuses_stand_where_the_lease_was),
		cmocka_unit_test(a_status_of_the_message_stands_instead_of_all_ias),
		cmocka_unit_test(a_status_within_a_lease_leaves_the_lease),
		cmocka_unit_test(a_status_within_a_lease_needs_room),
		cmocka_unit_test(one_ia_is_missing),
		cmocka_unit_test(another_address_is_not_the_one_that_was_advertised),
		cmocka_unit_test(a_prefix_that_overlaps_contains_its_neighbour),
		cmocka_unit_test(lifetimes_and_times_are_out_of_order),
		cmocka_unit_test(times_of_0_are_in_no_order),
		cmocka_unit_test(a_lease_that_is_withdrawn_is_none),
		cmocka_unit_test(identifiers_are_wrong_or_missing),
		cmocka_unit_test(one_relay_at_any_level_is_not_as_it_was),
		cmocka_unit_test(the_only_interface_id_is_found_at_its_level),
	};

	return cmocka_run_group_tests(tests, samples_make, release);
}
