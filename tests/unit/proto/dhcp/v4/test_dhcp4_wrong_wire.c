// SPDX-License-Identifier: BSD-3-Clause
// DHCPv4 messages that are invalid on purpose: the mistake of each kind, and the judgement of the
// server's reaction. Path: tests only.

#include "dhcp4_client_fixture.h"

#include "base/log.h"

static FIXTURE *fixture_wrong(struct dhcp_wrong_settings *wrong)
{
	FIXTURE *f = fixture_relay(1);

	f->relay.circuit_id = "port {client}";
	f->settings.is.wrong = wrong;
	return fixture_open(f);
}

// Does the message have its transaction ID, and giaddr if it is long enough?
static bool has_kept_xid(const FIXTURE *f, uint32_t kind)
{
	return bytes_be32(f->sent + DHCP4_AT_XID) == KEY &&
	       (kind == DHCP4_WRONG_HEADER || bytes_be32(f->sent + DHCP4_AT_GIADDR) == RELAY);
}

#define IF_CUT PROTO_MALFORMED
#include "dhcp_wrong_tests.h"

// Makes a DISCOVER of this kind, and checks whether it can be parsed.
static FIXTURE *spoilt(enum dhcp4_wrong kind, struct dhcp4_message *m, bool readable)
{
	static struct dhcp4_scratch scratch;
	struct dhcp_wrong_settings wrong = only(kind);
	FIXTURE *f = fixture_wrong(&wrong);

	memset(&scratch, 0, sizeof(scratch));
	wrong_next(f);
	assert_int_equal(dhcp4_parse(f->sent, f->sent_len, &scratch, m), readable);
	return f;
}

static void each_kind_is_wrong_as_its_name_says(void **state)
{
	struct dhcp4_message m;
	FIXTURE *f;

	f = spoilt(DHCP4_WRONG_HEADER, &m, false);
	assert_in_range(f->sent_len, 8, DHCP4_HEADER_LEN - 1);
	fixture_end(f);
	fixture_end(spoilt(DHCP4_WRONG_COOKIE, &m, false));
	f = spoilt(DHCP4_WRONG_END, &m, true);
	assert_false(m.has_end);
	fixture_end(f);
	f = spoilt(DHCP4_WRONG_CUT, &m, false);
	assert_memory_equal(f->sent + f->sent_len - 5, "\14\377cut", 5);
	fixture_end(f);
	f = spoilt(DHCP4_WRONG_LENGTH, &m, false);
	assert_memory_equal(f->sent + DHCP4_OPTIONS_AT, "\x35\0", 2);
	fixture_end(f);
	f = spoilt(DHCP4_WRONG_TYPE, &m, true);
	assert_in_range(m.type, 200, 255);
	fixture_end(f);
	f = spoilt(DHCP4_WRONG_NO_TYPE, &m, true);
	assert_false(dhcp4_has(&m, DHCP4_OPT_TYPE));
	fixture_end(f);
	f = spoilt(DHCP4_WRONG_HLEN, &m, true);
	assert_int_equal(m.hlen, 255);
	fixture_end(f);
	f = spoilt(DHCP4_WRONG_NOBODY, &m, true);
	assert_true(m.hlen == 0 && !m.client_id && m.chaddr[0] == 0);
	fixture_end(f);
	f = spoilt(DHCP4_WRONG_OVERLOAD, &m, false);
	assert_memory_equal(f->sent + DHCP4_AT_FILE, "\64\1\3", 3);
	assert_memory_equal(f->sent + DHCP4_AT_SNAME, "\64\1\3", 3);
	fixture_end(f);
	f = spoilt(DHCP4_WRONG_CLIENT_ID, &m, true);
	assert_true(m.client_id && m.client_id_len == 0);
	fixture_end(f);
	f = spoilt(DHCP4_WRONG_RELAY_INFO, &m, true);
	assert_true(m.relay_info_len == 4 && m.relay_info[1] == 255);
	fixture_end(f);
	f = spoilt(DHCP4_WRONG_REPLY, &m, true);
	assert_int_equal(m.op, DHCP4_REPLY_OP);
	fixture_end(f);
}

static void a_release_is_never_wrong(void **state)
{
	struct dhcp_wrong_settings wrong = only(DHCP4_WRONG_TYPE);
	FIXTURE *f = fixture_new(1);

	f->settings.is.wrong = &wrong;
	f->mix.share[DHCP4_RELEASES] = 0.5;
	fixture_open(f);
	((struct dhcp_plan *)f->ctx.shared)->wrong.steps &= ~(1u << DHCP4_STEP_DISCOVER);
	fixture_only(f, DHCP4_DORA);
	fixture_bound(f, DHCP4_RELEASES);
	assert_int_equal(f->n.released, 1);
	assert_int_equal(f->n.wrong_sent[DHCP4_WRONG_TYPE], 0);
	assert_int_equal(f->sent[DHCP4_OPTIONS_AT + 2], DHCP4_RELEASE);
	fixture_end(f);
}

// The client still holds its lease.
static void a_wrong_renewal_changes_nothing(void **state)
{
	struct dhcp_wrong_settings wrong = only(DHCP4_WRONG_HLEN);
	FIXTURE *f = fixture_relay(1);

	f->settings.is.wrong = &wrong;
	fixture_open(f);
	((struct dhcp_plan *)f->ctx.shared)->wrong.steps = 1u << DHCP4_STEP_RENEW;
	fixture_dora(f);
	fixture_only(f, DHCP4_RENEW);
	for (uint32_t i = 0; i < 2; i++) {
		wrong_next(f);
		assert_int_equal(dhcp4_timeout(&f->ctx, &f->txn), PROTO_APART);
		assert_true(held_by(f, 0));
	}
	fixture_end(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WRONG_TESTS,
		cmocka_unit_test(each_kind_is_wrong_as_its_name_says),
		cmocka_unit_test(a_release_is_never_wrong),
		cmocka_unit_test(a_wrong_renewal_changes_nothing),
	};

	log_set_level(LOG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
