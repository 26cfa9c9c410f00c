// SPDX-License-Identifier: BSD-3-Clause
// Clients from captured messages: which messages are a client's, and which options are its own.
// Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "proto/dhcp/client/dhcp_captured.h"
#include "proto/dhcp/v4/dhcp4_plan.h"

static uint8_t packet[4096];
static uint32_t len;
static struct dhcp4_settings settings;
static struct dhcp_captured_client client;

static void add(uint8_t code, uint8_t size, uint8_t first)
{
	packet[len++] = code;
	packet[len++] = size;
	for (uint8_t i = 0; i < size; i++)
		packet[len++] = (uint8_t)(first + i);
}

static void start(uint8_t type)
{
	memset(packet, 0, sizeof(packet));
	packet[DHCP4_AT_OP] = 1;
	packet[DHCP4_AT_HTYPE] = 1;
	packet[DHCP4_AT_HLEN] = 6;
	memcpy(packet + DHCP4_AT_CHADDR, "\x02\0\0\0\0\x07", 6);
	bytes_put_be32(packet + DHCP4_AT_COOKIE, DHCP4_COOKIE);
	len = DHCP4_OPTIONS_AT;
	add(DHCP4_OPT_TYPE, 1, type);
}

static const char *take(void)
{
	packet[len++] = DHCP4_OPT_END;
	memset(&client, 0, sizeof(client));
	return dhcp4_captured((const struct dhcp_settings *)&settings, packet, len, &client);
}

static void assert_options(const void *bytes, uint32_t count)
{
	assert_int_equal(client.options.len, count);
	assert_memory_equal(client.options.bytes, bytes, count);
}

static void an_option_that_is_too_long_in_pieces_is_refused(void **state)
{
	start(DHCP4_DISCOVER);
	for (uint8_t i = 0; i < 5; i++)
		add(224, 254, i);
	assert_string_equal(take(), "with more than 1024 octets of options");
}

static void only_messages_of_clients_are_taken(void **state)
{
	static const uint8_t types[] = {DHCP4_DISCOVER, DHCP4_REQUEST, DHCP4_INFORM};

	for (size_t i = 0; i < sizeof(types); i++) {
		start(types[i]);
		assert_null(take());
		assert_true(client.has_mac);
		assert_memory_equal(client.mac, "\x02\0\0\0\0\x07", 6);
		assert_int_equal(client.id.len, 0);
		assert_int_equal(client.options.len, 0);
	}
	start(DHCP4_RELEASE);
	assert_string_equal(take(), "other messages");
	start(DHCP4_DISCOVER);
	packet[DHCP4_AT_OP] = 2;
	assert_string_equal(take(), "replies of servers");
	start(DHCP4_DISCOVER);
	packet[DHCP4_AT_HTYPE] = 6;
	assert_string_equal(take(), "hardware addresses that are not Ethernet's");
	start(DHCP4_DISCOVER);
	packet[DHCP4_AT_HLEN] = 8;
	assert_string_equal(take(), "hardware addresses that are not Ethernet's");
	start(DHCP4_DISCOVER);
	packet[DHCP4_AT_COOKIE] = 0;
	assert_string_equal(take(), "messages that do not parse");
}

// All but those that are a message's or a relay's; padding and the order are no matter.
static void a_client_has_its_own_options(void **state)
{
	start(DHCP4_DISCOVER);
	packet[len++] = DHCP4_OPT_PAD;
	packet[len++] = DHCP4_OPT_PAD;
	add(60, 2, 'a');
	add(DHCP4_OPT_CLIENT_ID, 3, 7);
	add(DHCP4_OPT_REQUESTED_ADDRESS, 4, 10);
	add(DHCP4_OPT_RELAY_INFO, 3, 1);
	packet[len - 2] = 1; // a suboption of one octet
	add(12, 3, 'x');
	packet[len++] = DHCP4_OPT_PAD;
	add(55, 2, 1);
	assert_null(take());
	assert_options("\x3c\x02"
		       "ab"
		       "\x0c\x03xyz"
		       "\x37\x02\x01\x02",
		13);
	assert_int_equal(client.id.len, 3);
	assert_memory_equal(client.id.bytes, "\x07\x08\x09", 3);
}

static void a_lease_time_is_the_clients_unless_it_is_set(void **state)
{
	start(DHCP4_DISCOVER);
	add(DHCP4_OPT_LEASE_TIME, 4, 0);
	assert_null(take());
	assert_options("\x33\x04\0\x01\x02\x03", 6);
	settings.lease_time_ns = 1;
	start(DHCP4_DISCOVER);
	add(DHCP4_OPT_LEASE_TIME, 4, 0);
	add(12, 1, 'x');
	assert_null(take());
	assert_options("\x0c\x01x", 3);
	settings.lease_time_ns = 0;
}

// An option in pieces is one, and an option in the field of the file name is another.
static void options_are_joined_and_found_in_fields(void **state)
{
	start(DHCP4_DISCOVER);
	add(60, 2, 'a');
	add(12, 1, 'x');
	add(60, 2, 'c');
	add(DHCP4_OPT_OVERLOAD, 1, 1);
	memcpy(packet + DHCP4_AT_FILE,
		"\x0f\x02"
		"ok\xff",
		5);
	assert_null(take());
	assert_options("\x3c\x04"
		       "abcd"
		       "\x0c\x01x"
		       "\x0f\x02ok",
		13);
}

static void too_many_options_are_told(void **state)
{
	start(DHCP4_DISCOVER);
	for (uint8_t code = 224; code < 228; code++)
		add(code, 254, 0);
	assert_null(take());
	assert_int_equal(client.options.len, 4 * 256);
	start(DHCP4_DISCOVER);
	for (uint8_t code = 224; code < 228; code++)
		add(code, 254, 0);
	add(228, 0, 0);
	assert_string_equal(take(), "with more than 1024 octets of options");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_option_that_is_too_long_in_pieces_is_refused),
		cmocka_unit_test(only_messages_of_clients_are_taken),
		cmocka_unit_test(a_client_has_its_own_options),
		cmocka_unit_test(a_lease_time_is_the_clients_unless_it_is_set),
		cmocka_unit_test(options_are_joined_and_found_in_fields),
		cmocka_unit_test(too_many_options_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
