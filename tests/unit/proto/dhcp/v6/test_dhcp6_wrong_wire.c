// SPDX-License-Identifier: BSD-3-Clause
// DHCPv6 messages that are invalid on purpose: the mistake of each kind, and the judgement of the
// server's reaction. Path: tests only.

#include "proto/dhcp/dhcp.h"
#include "dhcp6_client_fixture.h"

#include "base/log.h"

static FIXTURE *fixture_wrong(struct dhcp_wrong_settings *wrong)
{
	FIXTURE *f = fixture_relay(1, 2);

	f->settings.is.wrong = wrong;
	return fixture_open(f);
}

// The relay messages are valid, and inside is the transaction ID.
static bool has_kept_xid(FIXTURE *f, uint32_t kind)
{
	uint32_t xid;

	return dhcp6_unwrap(f->sent, f->sent_len, &f->e) && f->e.levels == 2 &&
	       dhcp6_xid(f->sent, f->sent_len, DHCP6_RELAY_FORW, &xid) &&
	       xid == dhcp6_xid_of(&f->txn);
}

#define IF_CUT PROTO_STRAY // its transaction ID is inside of relay messages
#include "dhcp_wrong_tests.h"

// Makes a SOLICIT of this kind, and checks whether it can be parsed.
static FIXTURE *spoilt(enum dhcp6_wrong kind, bool readable)
{
	struct dhcp_wrong_settings wrong = only(kind);
	FIXTURE *f = fixture_wrong(&wrong);

	wrong_next(f);
	assert_true(dhcp6_unwrap(f->sent, f->sent_len, &f->e));
	assert_int_equal(dhcp6_parse(f->e.inner, f->e.inner_len, &f->m), readable);
	return f;
}

static uint32_t option_len(const FIXTURE *f, uint16_t code)
{
	uint32_t at = dhcp6_find_option(f->e.inner, DHCP6_HEADER_LEN, f->e.inner_len, code);

	assert_true(at);
	return bytes_be16(f->e.inner + at + 2);
}

static void each_kind_is_wrong_as_its_name_says(void **state)
{
	static const struct {
		uint8_t kind, code, len;
		bool readable;
	} lengths[] = {{DHCP6_WRONG_DUID_EMPTY, DHCP6_OPT_CLIENT_ID, 0, false},
		{DHCP6_WRONG_DUID_LONG, DHCP6_OPT_CLIENT_ID, 200, false},
		{DHCP6_WRONG_SERVER_ID, DHCP6_OPT_SERVER_ID, 10, true},
		{DHCP6_WRONG_IA, DHCP6_OPT_IA_NA, 4, false},
		{DHCP6_WRONG_IA_ADDRESS, DHCP6_OPT_IA_NA, 26, false},
		{DHCP6_WRONG_ELAPSED, DHCP6_OPT_ELAPSED_TIME, 1, false},
		{DHCP6_WRONG_ORO, DHCP6_OPT_ORO, 3, false}};
	FIXTURE *f;

	f = spoilt(DHCP6_WRONG_EMPTY, true);
	assert_int_equal(f->e.inner_len, DHCP6_HEADER_LEN);
	fixture_end(f);
	fixture_end(spoilt(DHCP6_WRONG_CUT, false));
	f = spoilt(DHCP6_WRONG_TYPE, true);
	assert_in_range(f->m.type, 200, 255);
	fixture_end(f);
	f = spoilt(DHCP6_WRONG_REPLY, true);
	assert_int_equal(f->m.type, DHCP6_REPLY);
	fixture_end(f);
	f = spoilt(DHCP6_WRONG_NO_CLIENT_ID, true);
	assert_null(f->m.client_id.data);
	fixture_end(f);
	for (uint32_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		f = spoilt(lengths[i].kind, lengths[i].readable);
		assert_int_equal(option_len(f, lengths[i].code), lengths[i].len);
		fixture_end(f);
	}
}

// Valid messages between them are still copied from an image, invalid ones are not.
static void images_are_of_right_messages_alone(void **state)
{
	struct dhcp_wrong_settings wrong = {.shares = {[DHCP6_WRONG_TYPE] = 0.5}};
	FIXTURE *f = fixture_relay(1, 1);

	f->settings.is.wrong = &wrong;
	fixture_open(f);
	for (uint32_t i = 0; i < 200; i++) {
		uint64_t before = f->n.wrong_sent[DHCP6_WRONG_TYPE];
		uint8_t type;

		assert_true(fixture_begin(f));
		f->sent_len =
			proto_request(&dhcp6_proto, &f->ctx, &f->txn, f->sent, sizeof(f->sent));
		assert_true(dhcp6_unwrap(f->sent, f->sent_len, &f->e));
		type = f->e.inner[0];
		assert_int_equal(type >= 200, f->n.wrong_sent[DHCP6_WRONG_TYPE] - before);
		assert_true(type >= 200 || type == DHCP6_SOLICIT);
		dhcp6_timeout(&f->ctx, &f->txn);
	}
	assert_true(worker_of(f)->images[DHCP6_STEP_SOLICIT].len > 0);
	fixture_end(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WRONG_TESTS,
		cmocka_unit_test(each_kind_is_wrong_as_its_name_says),
		cmocka_unit_test(images_are_of_right_messages_alone),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
