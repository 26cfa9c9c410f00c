// SPDX-License-Identifier: BSD-3-Clause
// User-defined contents of messages of DHCPv6 clients: the hop count of relays, options of chosen
// messages, the time that clients claim to have waited, a refusal among offers, and whole messages.
// Path: tests only.

#include "proto/dhcp/dhcp.h"
#include "one_message.h"
#include "dhcp6_client_fixture.h"

static bool has_sent(const struct dhcp6_fixture *f, uint16_t code)
{
	return dhcp6_has(&f->m, code);
}

static void relays_count_hops_from_the_number_given(void **state)
{
	struct dhcp6_fixture *f = fixture_relay(1, 2);

	f->relay.hop_count = 30;
	fixture_start(f);
	assert_int_equal(f->e.relays[0].hop_count, 31);
	assert_int_equal(f->e.relays[1].hop_count, 30);
	assert_int_equal(fixture_answer(f, DHCP6_ADVERTISE), PROTO_AGAIN);
	fixture_end(f);
}

// Options 60, common to all clients, and 61, one for each client, in these messages.
static struct dhcp6_fixture *placed(const int32_t *steps, uint32_t count)
{
	struct dhcp6_fixture *f = fixture_relay(2, 1);
	struct field_list messages = {(void *)(uintptr_t)steps, count};

	f->options[0] = (struct dhcp6_option_settings){
		.code = 60, .value = {.text = "name", .messages = messages}};
	f->options[1] = (struct dhcp6_option_settings){
		.code = 61, .value = {.text = "class-{client}", .messages = messages}};
	return fixture_open(f);
}

static void options_are_in_the_messages_that_are_named(void **state)
{
	static const int32_t all[] = {DHCP6_STEP_SOLICIT, DHCP6_STEP_REQUEST, DHCP6_STEP_RAPID,
		DHCP6_STEP_RENEW, DHCP6_STEP_REBIND, DHCP6_STEP_RELEASE, DHCP6_STEP_DECLINE,
		DHCP6_STEP_CONFIRM, DHCP6_STEP_INFORMATION, DHCP6_STEP_LEASEQUERY};

	for (uint32_t named = 0; named < sizeof(all) / sizeof(all[0]); named++)
		for (uint32_t exchange = 0; exchange < DHCP6_EXCHANGES; exchange++) {
			struct dhcp6_fixture *f = placed(&all[named], 1);
			uint32_t step = dhcp6_starts[exchange].step;

			if (dhcp6_starts[exchange].from == DHCP_IS_BOUND)
				fixture_sarr(f);
			fixture_only(f, exchange);
			fixture_next(f);
			assert_int_equal(has_sent(f, 60), step == (uint32_t)all[named]);
			assert_int_equal(has_sent(f, 61), step == (uint32_t)all[named]);
			fixture_end(f);
		}
}

static void options_that_name_no_message_are_in_the_usual_ones(void **state)
{
	struct dhcp6_fixture *f = placed(NULL, 0);

	fixture_next(f);
	assert_true(has_sent(f, 60) && has_sent(f, 61));
	fixture_requesting(f);
	assert_true(has_sent(f, 60) && has_sent(f, 61));
	assert_int_equal(fixture_answer(f, DHCP6_REPLY), PROTO_DONE);
	fixture_only(f, DHCP6_RELEASES);
	fixture_next(f);
	assert_false(has_sent(f, 60) || has_sent(f, 61));
	fixture_end(f);
}

// In hundredths of a second, also in the first message.
static uint16_t elapsed_at(struct dhcp6_fixture *f, uint64_t now_ms)
{
	f->ctx.now_ms = now_ms;
	fixture_next(f);
	return bytes_be16(f->e.inner + DHCP6_AT_ELAPSED);
}

static void clients_pretend_to_have_waited_for_a_time_of_the_run(void **state)
{
	struct dhcp_pretend_settings s = {
		.from = 100, .grow = true, .after_ns = 5000000000, .for_ns = 3000000000};
	struct dhcp6_fixture *f = fixture_relay(20, 1);

	f->settings.is.pretend = &s;
	fixture_open(f);
	for (uint32_t copied = 0; copied < 2; copied++) { // from an image of the message
		assert_int_equal(elapsed_at(f, 4999), 0);
		assert_int_equal(elapsed_at(f, 5000), 100);
		assert_int_equal(elapsed_at(f, 7990), 399);
		assert_int_equal(elapsed_at(f, 8000), 0);
	}
	fixture_end(f);
}

// One server has no address, the next one has.
static void a_refusal_does_not_end_the_choice_of_the_best(void **state)
{
	struct dhcp6_fixture *f = fixture_relay(1, 1);

	f->settings.advertise = DHCP6_TAKES_BEST;
	f->settings.is.retransmit = &f->retransmit;
	fixture_start(f);
	ANSWER(f, DHCP6_ADVERTISE, PROTO_KEPT, a->status = DHCP6_NO_ADDRS_AVAIL);
	ANSWER(f, DHCP6_ADVERTISE, PROTO_KEPT, a->status = DHCP6_NO_ADDRS_AVAIL);
	assert_int_equal(f->n.refused, 2);
	assert_int_equal(f->n.attempt[0], 0);
	ANSWER(f, DHCP6_ADVERTISE, PROTO_KEPT, a->preference = 7);
	assert_int_equal(f->n.attempt[0], 1);
	ANSWER(f, DHCP6_ADVERTISE, PROTO_DUPLICATE, a->status = DHCP6_NO_ADDRS_AVAIL);
	assert_int_equal(dhcp6_timeout(&f->ctx, &f->txn), PROTO_AGAIN);
	fixture_send(f);
	assert_int_equal(f->m.type, DHCP6_REQUEST);
	assert_int_equal(fixture_answer(f, DHCP6_REPLY), PROTO_DONE);
	fixture_end(f);
	// If there are only refusals, the SOLICIT is sent again, and then the first reply counts.
	f = fixture_relay(1, 1);
	f->settings.advertise = DHCP6_TAKES_BEST;
	f->settings.is.retransmit = &f->retransmit;
	fixture_start(f);
	ANSWER(f, DHCP6_ADVERTISE, PROTO_KEPT, a->status = DHCP6_NO_ADDRS_AVAIL);
	assert_int_equal(dhcp6_timeout(&f->ctx, &f->txn), PROTO_AGAIN);
	fixture_send(f);
	assert_int_equal(f->m.type, DHCP6_SOLICIT);
	ANSWER(f, DHCP6_ADVERTISE, PROTO_FAIL, a->status = DHCP6_NO_ADDRS_AVAIL);
	fixture_end(f);
}

// The client's part; relay messages are around it as usual.
static void messages_can_be_given_as_a_whole(void **state)
{
	static const struct dhcp_raw_settings raw[] = {
		{DHCP6_STEP_SOLICIT, "01{xid} 00080002{elapsed} 0001000a{duid} "
				     "0003000c000000010000000000000000"},
		{DHCP6_STEP_REQUEST,
			"03{xid} 00080002{elapsed} 0001000a{duid} 0002000a{server} "
			"000300280000000100000000000000000005 0018{address}0000000000000000"}};
	struct dhcp_pretend_settings pretend = {.from = 0x1234};
	struct dhcp6_fixture *f = fixture_relay(3, 2);

	f->settings.is.raw = (struct field_list){(void *)(uintptr_t)raw, 2};
	f->settings.is.pretend = &pretend;
	fixture_open(f);
	fixture_next(f);
	fixture_next(f);
	assert_int_equal(f->e.levels, 2);
	assert_int_equal(f->m.type, DHCP6_SOLICIT);
	assert_int_equal(f->m.xid, dhcp6_xid_of(&f->txn));
	assert_int_equal(f->m.elapsed, 0x1234);
	assert_int_equal(f->m.client_id.data[9], 1);
	assert_int_equal(f->m.ia_count, 1);
	fixture_requesting(f);
	assert_int_equal(f->m.type, DHCP6_REQUEST);
	assert_memory_equal(f->m.server_id.data, SERVER_DUID, DUID_LEN);
	assert_int_equal(f->m.ias[0].lease_count, 1);
	assert_int_equal(fixture_answer(f, DHCP6_REPLY), PROTO_DONE);
	assert_int_equal(f->n.leases, 1);
	fixture_end(f);
}

static const uint8_t server[16] = {0x20, 1, 0x0d, 0xb8, [15] = 2};

static struct dhcp6_fixture *told(void)
{
	struct dhcp6_fixture *f = fixture_new(3);

	f->settings.unicast = true;
	return fixture_open(f);
}

// Returns the path of the current message: 0 leads to all servers, 1 to the server's address.
static uint32_t path_of(struct dhcp6_fixture *f)
{
	struct proto_flow flow;

	flow_one(&dhcp6_proto, &f->ctx, &f->txn, &flow);
	return flow.path;
}

static void a_server_that_tells_its_address_is_asked_there(void **state)
{
	struct dhcp6_fixture *f = told();

	for (uint32_t n = 0; n < 3; n++) { // the last ones from the template of the first
		fixture_only(f, DHCP6_SARR);
		fixture_next(f);
		assert_int_equal(path_of(f), 0);
		ANSWER(f, DHCP6_ADVERTISE, PROTO_AGAIN, a->unicast = server);
		fixture_send(f);
		assert_int_equal(path_of(f), 1);
		ANSWER(f, DHCP6_REPLY, PROTO_DONE, a->unicast = server);
	}
	fixture_only(f, DHCP6_RENEWS);
	fixture_next(f);
	assert_int_equal(path_of(f), 1);
	ANSWER(f, DHCP6_REPLY, PROTO_DONE, a->unicast = server);
	fixture_only(f, DHCP6_REBINDS);
	fixture_next(f);
	assert_int_equal(path_of(f), 0);
	assert_int_equal(f->n.unicast, 4);
	fixture_end(f);
}

static void a_message_that_was_for_all_is_sent_to_all(void **state)
{
	static const uint8_t other[16] = {0x20, 1, 0x0d, 0xb8, [15] = 3};
	struct dhcp6_fixture *f = told();

	fixture_next(f);
	ANSWER(f, DHCP6_ADVERTISE, PROTO_AGAIN, a->unicast = server);
	fixture_send(f);
	ANSWER(f, DHCP6_REPLY, PROTO_AGAIN, a->status = DHCP6_USE_MULTICAST, a->without = 1);
	assert_int_equal(f->txn.step, DHCP6_STEP_REQUEST);
	fixture_send(f);
	assert_int_equal(path_of(f), 0);
	ANSWER(f, DHCP6_REPLY, PROTO_FAIL, a->status = DHCP6_USE_MULTICAST, a->without = 1);
	assert_int_equal(f->n.multicast_again, 1);
	fixture_next(f);
	ANSWER(f, DHCP6_ADVERTISE, PROTO_AGAIN, a->unicast = other);
	assert_int_equal(path_of(f), 0);
	assert_int_equal(f->n.unicast_elsewhere, 1);
	fixture_end(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(relays_count_hops_from_the_number_given),
		cmocka_unit_test(options_are_in_the_messages_that_are_named),
		cmocka_unit_test(options_that_name_no_message_are_in_the_usual_ones),
		cmocka_unit_test(clients_pretend_to_have_waited_for_a_time_of_the_run),
		cmocka_unit_test(a_refusal_does_not_end_the_choice_of_the_best),
		cmocka_unit_test(messages_can_be_given_as_a_whole),
		cmocka_unit_test(a_server_that_tells_its_address_is_asked_there),
		cmocka_unit_test(a_message_that_was_for_all_is_sent_to_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
