// SPDX-License-Identifier: BSD-3-Clause
// Every DHCPv4 fault on every kind of real reply: it changes the field of its name and no other,
// and leaves other replies as they are. Path: tests only.

#include "dhcp4_server_fixture.h"

enum kind { OFFER, ACK, RENEWED, RAPID, INFORMED, NAK, ACTIVE, KINDS };

struct bed {
	struct server *v;
	uint8_t answers[KINDS][400];
	uint32_t lens[KINDS];
	uint8_t buf[400];
	struct dhcp4_message before, after;
	struct dhcp4_scratch scratch[2];
};

#define CLIENT                                                                                     \
	.client = 1, .giaddr = RELAY, .relay_info = RELAY_INFO, .relay_info_len = 10,              \
	.client_id = CLIENT_ID, .client_id_len = 15, .parameters = true

static void keep(struct bed *b, enum kind kind, struct said c, uint8_t type)
{
	assert_int_equal(say(b->v, c), type);
	memcpy(b->answers[kind], b->v->out, b->v->len);
	b->lens[kind] = b->v->len;
	assert_true(b->v->len <= 400);
}

static struct bed *bed_new(void)
{
	struct dhcp4_answers_settings s = server_settings();
	struct bed *b = calloc(1, sizeof(*b));

	s.common.domain = NULL;
	s.common.rapid = true;
	b->v = server_of(&s);
	keep(b, OFFER, (struct said){CLIENT, .type = DHCP4_DISCOVER}, DHCP4_OFFER);
	keep(b, RAPID, (struct said){CLIENT, .type = DHCP4_DISCOVER, .rapid = true}, DHCP4_ACK);
	keep(b, ACK,
		(struct said){
			CLIENT, .type = DHCP4_REQUEST, .requested = POOL, .server_id = SERVER},
		DHCP4_ACK);
	keep(b, RENEWED, (struct said){CLIENT, .type = DHCP4_REQUEST, .ciaddr = POOL}, DHCP4_ACK);
	keep(b, INFORMED, (struct said){CLIENT, .type = DHCP4_INFORM, .ciaddr = POOL}, DHCP4_ACK);
	keep(b, NAK, (struct said){CLIENT, .type = DHCP4_REQUEST, .ciaddr = 5}, DHCP4_NAK);
	keep(b, ACTIVE, (struct said){CLIENT, .type = DHCP4_LEASEQUERY, .ciaddr = POOL},
		DHCP4_LEASEACTIVE);
	return b;
}

static void bed_end(struct bed *b)
{
	server_end(b->v);
	free(b);
}

// Is the fault possible? Then the reply is still well formed and of the same length.
static bool apply(struct bed *b, const char *name, enum kind kind, uint64_t random)
{
	uint32_t len, whole = b->lens[kind];

	memcpy(b->buf, b->answers[kind], sizeof(b->buf));
	dhcp4_parse(b->answers[kind], whole, &b->scratch[0], &b->before);
	len = fault_named(name)->apply(b->buf, whole, sizeof(b->buf), random);
	if (len == 0) {
		assert_memory_equal(b->buf, b->answers[kind], sizeof(b->buf));
		return false;
	}
	assert_int_equal(len, whole);
	assert_true(dhcp4_parse(b->buf, len, &b->scratch[1], &b->after));
	assert_true(b->after.has_end);
	return true;
}

// Checks that the fixed header differs in no more than the len bytes at `at`.
static void assert_same_header_but(const struct bed *b, uint32_t at, uint32_t len)
{
	uint8_t copy[DHCP4_OPTIONS_AT];

	memcpy(copy, b->buf, sizeof(copy));
	memcpy(copy + at, b->before.chaddr - DHCP4_AT_CHADDR + at, len);
	assert_memory_equal(copy, b->before.chaddr - DHCP4_AT_CHADDR, sizeof(copy));
}

static void assert_only_lost(const struct bed *b, uint8_t code)
{
	for (uint32_t i = 0; i < 256; i++)
		assert_int_equal(dhcp4_has(&b->after, (uint8_t)i),
			i != code && dhcp4_has(&b->before, (uint8_t)i));
	if (code != DHCP4_OPT_RELAY_INFO) {
		assert_int_equal(b->after.relay_info_len, b->before.relay_info_len);
		assert_memory_equal(
			b->after.relay_info, b->before.relay_info, b->before.relay_info_len);
	}
}

static void each_fault_is_possible_where_its_name_says(void **state)
{
	static const struct {
		const char *name;
		uint32_t kinds;
	} table[] = {
		{"nak", 1 << ACK | 1 << RENEWED},
		{"wrong_xid", (1 << ACTIVE) - 1},
		{"wrong_chaddr", (1 << ACTIVE) - 1},
		{"other_address", 1 << ACK | 1 << RENEWED},
		{"no_server_id", (1 << ACTIVE) - 1},
		{"no_lease_time", 1 << OFFER | 1 << ACK | 1 << RENEWED | 1 << RAPID},
		{"relay_info_missing", (1 << ACTIVE) - 1},
		{"relay_info_changed", (1 << ACTIVE) - 1},
		{"unsolicited", (1 << ACTIVE) - 1},
	};
	struct bed *b = bed_new();

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		for (uint32_t kind = 0; kind < KINDS; kind++)
			if (apply(b, table[i].name, kind, i) != (table[i].kinds >> kind & 1))
				fail_msg("%s of kind %u", table[i].name, kind);
	bed_end(b);
}

static void a_nak_has_only_what_a_nak_may_have(void **state)
{
	struct bed *b = bed_new();

	for (uint32_t i = 0; i < 2; i++) {
		assert_true(apply(b, "nak", i ? RENEWED : ACK, 0));
		assert_int_equal(b->after.type, DHCP4_NAK);
		assert_int_equal(b->after.yiaddr, 0);
		assert_int_equal(b->after.ciaddr, 0);
		assert_int_equal(b->after.flags, DHCP4_BROADCAST);
		assert_int_equal(b->after.server_id, SERVER);
		assert_int_equal(b->after.client_id_len, 15);
		assert_memory_equal(b->after.client_id, CLIENT_ID, 15);
		assert_int_equal(b->after.relay_info_len, 10);
		assert_memory_equal(b->after.relay_info, RELAY_INFO, 10);
		for (uint32_t code = 0; code < 256; code++)
			assert_int_equal(dhcp4_has(&b->after, (uint8_t)code),
				code == 53 || code == 54 || code == 61 || code == 82);
	}
	bed_end(b);
}

static void wrong_numbers_are_never_the_right_ones(void **state)
{
	static const uint64_t randoms[] = {0, 1, UINT64_MAX, 1ull << 63, 0x123456789abcdef0};
	struct bed *b = bed_new();

	for (size_t i = 0; i < sizeof(randoms) / sizeof(randoms[0]); i++)
		for (uint32_t kind = 0; kind < ACTIVE; kind++) {
			assert_true(apply(b, "wrong_xid", kind, randoms[i]));
			assert_int_not_equal(b->after.xid, XID);
			assert_same_header_but(b, DHCP4_AT_XID, 4);
			assert_only_lost(b, 0);
			assert_true(apply(b, "wrong_chaddr", kind, randoms[i]));
			assert_memory_not_equal(b->after.chaddr, b->before.chaddr, 6);
			assert_same_header_but(b, DHCP4_AT_CHADDR, 6);
			assert_only_lost(b, 0);
			assert_true(apply(b, "relay_info_changed", kind, randoms[i]));
			assert_int_equal(b->after.relay_info_len, 10);
			assert_memory_equal(b->after.relay_info, RELAY_INFO, 2);
			assert_int_not_equal(b->after.relay_info[2], RELAY_INFO[2]);
			assert_memory_equal(b->after.relay_info + 3, &RELAY_INFO[3], 7);
			assert_same_header_but(b, 0, 0);
		}
	bed_end(b);
}

static void another_address_is_neither_the_right_one_nor_none(void **state)
{
	struct bed *b = bed_new();

	assert_true(apply(b, "other_address", ACK, 0));
	assert_int_not_equal(b->after.yiaddr, POOL);
	assert_same_header_but(b, DHCP4_AT_YIADDR, 4);
	assert_only_lost(b, 0);
	memset(b->answers[ACK] + DHCP4_AT_YIADDR, 0, 3);
	b->answers[ACK][DHCP4_AT_YIADDR + 3] = 1;
	assert_true(apply(b, "other_address", ACK, 0));
	assert_int_not_equal(b->after.yiaddr, 0);
	assert_int_not_equal(b->after.yiaddr, 1);
	bed_end(b);
}

static void an_option_that_is_left_out_is_the_only_change(void **state)
{
	static const struct {
		const char *name;
		uint8_t code;
	} table[] = {
		{"no_server_id", DHCP4_OPT_SERVER_ID},
		{"no_lease_time", DHCP4_OPT_LEASE_TIME},
		{"relay_info_missing", DHCP4_OPT_RELAY_INFO},
	};
	struct bed *b = bed_new();

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		for (uint32_t kind = 0; kind < ACTIVE; kind++) {
			if (!apply(b, table[i].name, kind, 0))
				continue;
			assert_same_header_but(b, 0, 0);
			assert_only_lost(b, table[i].code);
		}
	bed_end(b);
}

static void every_piece_of_a_split_option_is_left_out(void **state)
{
	static const uint8_t long_info[300] = {1, 200, [202] = 2, 96};
	uint8_t buf[700] = {0};
	struct writer w = writer_of(buf, sizeof(buf));
	uint32_t len;

	write_space(&w, DHCP4_OPTIONS_AT);
	buf[0] = DHCP4_REPLY_OP;
	dhcp4_write_option_u8(&w, DHCP4_OPT_TYPE, DHCP4_OFFER);
	dhcp4_write_option(&w, DHCP4_OPT_RELAY_INFO, long_info, sizeof(long_info));
	write_u8(&w, DHCP4_OPT_END);
	len = (uint32_t)(w.at - buf);
	assert_int_equal(fault_named("relay_info_missing")->apply(buf, len, sizeof(buf), 0), len);
	assert_int_equal(dhcp4_find_option(buf, len, DHCP4_OPT_RELAY_INFO), 0);
	assert_int_equal(dhcp4_find_option(buf, len, DHCP4_OPT_END), 243);
}

static void an_unsolicited_reply_has_another_xid_and_client(void **state)
{
	struct bed *b = bed_new();

	assert_true(fault_named("unsolicited")->extra);
	assert_true(apply(b, "unsolicited", OFFER, 9));
	assert_int_not_equal(b->after.xid, XID);
	assert_memory_not_equal(b->after.chaddr, b->before.chaddr, 6);
	bed_end(b);
}

static void what_is_not_there_cannot_be_spoiled(void **state)
{
	struct server *v = server_new();
	uint8_t buf[300];
	uint32_t info;

	assert_int_equal(SAY(v, DISCOVER, 0, .no_hardware = true), DHCP4_OFFER);
	memcpy(buf, v->out, 300);
	assert_int_equal(fault_named("wrong_chaddr")->apply(buf, 300, 300, 1), 0);
	assert_int_equal(fault_named("relay_info_missing")->apply(buf, 300, 300, 1), 0);
	assert_int_equal(fault_named("relay_info_changed")->apply(buf, 300, 300, 1), 0);
	assert_memory_equal(buf, v->out, 300);
	// A sub-option without data has no bytes to change.
	SAY(v, DISCOVER, 1, .relay_info = "\x13\0", .relay_info_len = 2);
	memcpy(buf, v->out, 300);
	assert_int_equal(fault_named("relay_info_changed")->apply(buf, 300, 300, 1), 0);
	SAY(v, DISCOVER, 1, .relay_info = "\x13\0\1\1\0", .relay_info_len = 5);
	memcpy(buf, v->out, 300);
	assert_int_equal(fault_named("relay_info_changed")->apply(buf, 300, 300, 1), 300);
	info = dhcp4_find_option(buf, 300, DHCP4_OPT_RELAY_INFO) + 2;
	assert_memory_equal(buf + info, "\x13\0\1\1", 4);
	assert_int_not_equal(buf[info + 4], 0);
	server_end(v);
}

static void garbage_and_cut_answers_do_no_harm(void **state)
{
	struct bed *b = bed_new();
	struct rand r = {.state = 5};

	for (const struct proto_fault *f = dhcp4_faults; f->name; f++)
		for (uint32_t kind = 0; kind < KINDS; kind++)
			for (uint32_t cut = 0; cut <= b->lens[kind]; cut++) {
				uint8_t *exact = malloc(cut + 1);
				uint32_t len;

				memcpy(exact, b->answers[kind], cut);
				if (cut > 243)
					exact[240 + rand_scale(rand_next(&r), cut - 240)] =
						(uint8_t)rand_next(&r);
				len = f->apply(exact, cut, cut, cut);
				assert_true(len <= cut || len == UINT32_MAX); // or nothing is sent
				free(exact);
			}
	bed_end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fault_is_possible_where_its_name_says),
		cmocka_unit_test(a_nak_has_only_what_a_nak_may_have),
		cmocka_unit_test(wrong_numbers_are_never_the_right_ones),
		cmocka_unit_test(another_address_is_neither_the_right_one_nor_none),
		cmocka_unit_test(an_option_that_is_left_out_is_the_only_change),
		cmocka_unit_test(every_piece_of_a_split_option_is_left_out),
		cmocka_unit_test(an_unsolicited_reply_has_another_xid_and_client),
		cmocka_unit_test(what_is_not_there_cannot_be_spoiled),
		cmocka_unit_test(garbage_and_cut_answers_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
