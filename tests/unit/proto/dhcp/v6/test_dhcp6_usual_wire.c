// SPDX-License-Identifier: BSD-3-Clause
// A reply recognised as usual is judged like any other one, and a copied request equals the one
// that would be written: two workers do the same, and one of them recognises no message.
// Path: tests only.

#include "dhcp6_client_fixture.h"

#define FOUR_WAY     DHCP6_SARR
#define SERVER_OF(f) f->env.server
#define ENDS_OTHER   ends_dst[7]
#include "dhcp_usual_tests.h"

// A plan whose messages are usual.
static struct dhcp6_fixture *usual_new(uint32_t clients)
{
	return fixture_new(clients);
}

static struct dhcp6_fixture *usual_relay(uint32_t clients)
{
	return fixture_relay(clients, 1);
}

static struct dhcp6_fixture *usual_link(uint32_t clients)
{
	struct dhcp6_fixture *f = fixture_relay(clients, 1);

	f->relay.link = v6("2001:db8:5::1");
	f->settings.duid = DHCP6_DUID_LLT;
	f->pool[0] = prefix("2001:db8:0:1::/64");
	f->settings.is.retransmit = &f->retransmit;
	f->retransmit.solicit.irt_ns = f->retransmit.information.irt_ns = 100000000000;
	return f;
}

static struct dhcp6_fixture *usual_odd(uint32_t clients)
{
	struct dhcp6_fixture *f = fixture_relay(clients, 1);

	f->settings.duid = DHCP6_DUID_HEX;
	f->settings.duid_hex = "000200000901{mac}"; // the places are at other offsets
	f->parameters[1] = 24;
	f->settings.is.parameters.count = 2;
	return f;
}

static const struct course courses[] = {
	{"ADVERTISE", DHCP6_SARR, false, DHCP6_ADVERTISE, usual_relay, true},
	{"REPLY", DHCP6_SARR, true, DHCP6_REPLY, usual_relay, true},
	{"ADVERTISE on the link", DHCP6_SARR, false, DHCP6_ADVERTISE, usual_new, true},
	{"REPLY on the link", DHCP6_SARR, true, DHCP6_REPLY, usual_new, true},
	{"ADVERTISE for a link", DHCP6_SARR, false, DHCP6_ADVERTISE, usual_link, true},
	{"REPLY for a link", DHCP6_SARR, true, DHCP6_REPLY, usual_link, false},
	{"last ADVERTISE", DHCP_TWO_WAY, false, DHCP6_ADVERTISE, usual_odd, false},
	{"REPLY to RENEW", DHCP6_RENEWS, false, DHCP6_REPLY, usual_relay, true},
	{"REPLY to REBIND", DHCP6_REBINDS, false, DHCP6_REPLY, usual_odd, false},
};

#define COURSES (sizeof(courses) / sizeof(courses[0]))

static const struct course *course_nth(uint32_t n)
{
	return n < COURSES ? &courses[n] : NULL;
}

static void forget(struct dhcp6_fixture *f)
{
	memset(worker_of(f)->usual, 0, sizeof(worker_of(f)->usual));
	memset(worker_of(f)->usual_of, 0, sizeof(worker_of(f)->usual_of));
	memset(worker_of(f)->images, 0, sizeof(worker_of(f)->images));
}

static void assert_same_more(struct dhcp6_fixture *f, struct dhcp6_fixture *g)
{
	const struct dhcp_leases *l = &f->common->leases, *m = &g->common->leases;

	assert_int_equal(worker_of(f)->server_count, worker_of(g)->server_count);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		struct dhcp_key a, b;

		dhcp_lease_get(l, i, &a);
		dhcp_lease_get(m, i, &b);
		assert_memory_equal(a.bytes, b.bytes, sizeof(a.bytes));
		assert_int_equal(dhcp_leases_find(l, a.bytes, 0), dhcp_leases_find(m, a.bytes, 0));
	}
}

static bool is_read(uint32_t at)
{
	return true;
}

// The valid reply with something added or missing.
static void answer_change(struct dhcp6_fixture *f, uint32_t how)
{
	struct reply_plan *a = &f->answer;

	a->server = how == 1 ? OTHER_DUID : how == 2 ? NULL : SERVER_DUID;
	a->status = how == 3 ? DHCP6_SUCCESS : NOTHING;
	a->twice = how == 4;
	a->extra = how == 5;
	a->rapid = how == 6;
	a->preference = how == 7 ? 255 : 0;
	a->sol_max_rt = how == 8 ? 70 : 0;
	a->inf_max_rt = how == 9 ? 70 : 0;
	a->options = how == 10 ? 0 : a->options;
	a->valid = how == 11 ? 5000 : a->valid;
	a->without = how == 12;
	fixture_compose(f);
	if (how == 4 || how == 5) // the last address: it is no place of a usual reply
		memset(f->reply + f->reply_len - 24, 0x11, 16);
}

// Data learned from one client is valid for the next one, too.
static void other_replies_are_judged_as_if_none_came_before(void **state)
{
	for (uint32_t i = 0; i < COURSES; i++) {
		for (uint32_t how = 0; how <= 12; how++) {
			struct dhcp6_fixture *f = course_begin(&courses[i]);
			struct dhcp6_fixture *g = course_begin(&courses[i]);

			for (uint32_t n = 0; n < 2; n++) {
				if (n) { // the first one was learnt by f alone
					fixture_only(f, DHCP6_SARR);
					fixture_only(g, DHCP6_SARR);
					f->ctx.ends = g->ctx.ends = NULL;
					fixture_next(f);
					fixture_next(g);
					fixture_plan(f, DHCP6_ADVERTISE);
					fixture_plan(g, DHCP6_ADVERTISE);
				} else {
					forget(f);
				}
				answer_change(f, how);
				answer_change(g, how);
				forget(g);
				assert_int_equal(heard(f, true), heard(g, false));
				assert_same(f, g);
			}
			fixture_end(f);
			fixture_end(g);
		}
	}
}

// The message of a client, from a worker that has written others before and from one that has not.
static void assert_sends_same(struct dhcp6_fixture *f, struct dhcp6_fixture *g)
{
	bool known = worker_of(f)->images[f->txn.step].len;

	forget(g);
	fixture_send(f);
	fixture_send(g);
	assert_int_equal(f->ctx.sum != 0, known);
	assert_int_equal(f->sent_len, g->sent_len);
	assert_memory_equal(f->sent, g->sent, f->sent_len);
	assert_memory_equal(&f->n, &g->n, sizeof(f->n));
	assert_int_equal(f->txn.wait, g->txn.wait);
}

static void begin(struct dhcp6_fixture *f, uint32_t exchange)
{
	fixture_only(f, exchange);
	assert_true(fixture_begin(f));
	f->txn.key = KEY + (uint32_t)f->txn.seq;
}

static void a_copied_message_is_the_one_that_would_be_written(void **state)
{
	struct dhcp6_fixture *(*const makes[])(uint32_t) = {
		usual_new, usual_relay, usual_link, usual_odd};

	for (uint32_t i = 0; i < sizeof(makes) / sizeof(makes[0]); i++) {
		for (uint32_t exchange = 0; exchange < DHCP6_LEASEQUERIES; exchange++) { // the last
			bool bound = dhcp6_starts[exchange].from == DHCP_IS_BOUND;
			struct dhcp6_fixture *f = makes[i](4), *g = makes[i](4);

			fixture_open(f);
			fixture_open(g);
			for (uint32_t n = 0; n < 4 && bound; n++) {
				fixture_only(f, DHCP6_SARR);
				fixture_only(g, DHCP6_SARR);
				fixture_four_way(f);
				fixture_four_way(g);
			}
			for (uint32_t n = 0; n < 4; n++) {
				begin(f, exchange);
				begin(g, exchange);
				for (uint32_t tries = 0; tries < 3; tries++) {
					f->txn.tries = g->txn.tries = (uint8_t)tries;
					assert_sends_same(f, g);
					f->ctx.now_ms = g->ctx.now_ms += 10 + n;
				}
				if (n)
					assert_true(f->ctx.sum != 0);
			}
			fixture_end(f);
			fixture_end(g);
		}
	}
}

static void the_message_to_a_server_names_this_one(void **state)
{
	struct dhcp6_fixture *f = usual_relay(4), *g = usual_relay(4);

	fixture_open(f);
	fixture_open(g);
	for (uint32_t n = 0; n < 4; n++) {
		begin(f, DHCP6_SARR);
		begin(g, DHCP6_SARR);
		assert_sends_same(f, g);
		ANSWER(f, DHCP6_ADVERTISE, PROTO_AGAIN,
			a->server = n & 1 ? OTHER_DUID : SERVER_DUID);
		ANSWER(g, DHCP6_ADVERTISE, PROTO_AGAIN,
			a->server = n & 1 ? OTHER_DUID : SERVER_DUID);
		forget(g);
		fixture_send(f);
		fixture_send(g);
		assert_int_equal(f->ctx.sum != 0, n == 2);
		assert_memory_equal(f->sent, g->sent, f->sent_len);
		ANSWER(f, DHCP6_REPLY, PROTO_DONE, a->server = n & 1 ? OTHER_DUID : SERVER_DUID);
		ANSWER(g, DHCP6_REPLY, PROTO_DONE, a->server = n & 1 ? OTHER_DUID : SERVER_DUID);
		assert_same(f, g);
	}
	fixture_end(f);
	fixture_end(g);
}

static void a_reply_of_another_server_than_the_one_asked_fails(void **state)
{
	struct dhcp6_fixture *f = fixture_open(usual_relay(4));

	fixture_four_way(f);
	fixture_next(f);
	ANSWER(f, DHCP6_ADVERTISE, PROTO_AGAIN, a->server = OTHER_DUID);
	fixture_send(f);
	fixture_plan(f, DHCP6_REPLY);
	fixture_compose(f);
	assert_false(is_usual(f));
	assert_int_equal(heard(f, true), PROTO_FAIL);
	assert_int_equal(f->n.server_id_changed, 1);
	fixture_end(f);
}

// A feature of the plan beyond the usual.
static void plan_change(struct dhcp6_fixture *f, uint32_t how)
{
	switch (how) {
	case 0:
		return;
	case 1:
		f->settings.lease = DHCP6_WANTS_BOTH;
		return;
	case 2:
		f->settings.addresses = 2;
		return;
	case 3:
		f->relay.interface_id = "p{client}";
		return;
	case 4:
		f->relay.client_mac = true;
		return;
	case 5:
		f->relay.levels = 2;
		return;
	case 6:
		f->settings.duid = DHCP6_DUID_UUID;
		return;
	case 7:
		f->fqdn.name = "c{client}";
		return;
	case 8:
		f->settings.advertise = DHCP6_TAKES_BEST;
		return;
	default:
		f->options[0] = (struct dhcp6_option_settings){
			.code = 99, .in = DHCP6_IN_IA_NA, .value.text = "c{client}"};
		return;
	}
}

static void what_a_plan_has_beyond_the_usual_goes_the_long_way(void **state)
{
	for (uint32_t i = 0; i < 10; i++) {
		struct dhcp6_fixture *f = fixture_relay(CLIENTS, 1);

		plan_change(f, i);
		fixture_open(f);
		assert_int_equal(((const struct dhcp6_plan *)f->ctx.shared)->usual, i == 0);
		fixture_end(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_right_reply_is_usual_when_one_came_before),
		cmocka_unit_test(each_mistake_is_judged_as_if_none_came_before),
		cmocka_unit_test(other_replies_are_judged_as_if_none_came_before),
		cmocka_unit_test(a_copied_message_is_the_one_that_would_be_written),
		cmocka_unit_test(the_message_to_a_server_names_this_one),
		cmocka_unit_test(a_reply_of_another_server_than_the_one_asked_fails),
		cmocka_unit_test(a_reply_that_ends_too_early_is_not_usual),
		cmocka_unit_test(a_reply_that_came_another_way_is_judged_as_if_none_came_before),
		cmocka_unit_test(what_a_plan_has_beyond_the_usual_goes_the_long_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
