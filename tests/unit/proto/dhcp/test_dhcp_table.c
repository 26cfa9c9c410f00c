// SPDX-License-Identifier: BSD-3-Clause
// Files of clients: fields by line and column, and the errors for invalid lines. Path: tests only.

#include "v4/dhcp4_client_fixture.h"

#include "dhcp_file_fixture.h"

static FIXTURE *fixture_file(uint32_t clients, const char *text)
{
	FIXTURE *f = fixture_relay(clients);

	f->settings.is.client_file = file_of(text);
	return f;
}

static void close_file(FIXTURE *f)
{
	unlink(f->settings.is.client_file);
	fixture_end(f);
}

// Option 12 of the next client.
static void assert_name(FIXTURE *f, const char *name)
{
	const uint8_t *data;
	uint32_t len;

	fixture_next(f);
	data = option_sent(f, 12, &len);
	assert_int_equal(len, strlen(name));
	assert_memory_equal(data, name, len);
}

static void each_client_has_its_line(void **state)
{
	FIXTURE *f = fixture_file(3, "# mac,id,name\n02:00:00:00:00:09,0a0b,one\n\n"
				     "02:00:00:00:00:07,,\"two, \"\"quoted\"\"\"\r\n"
				     "02:00:00:00:00:05,ff:00:11,three\n");
	const uint8_t *id;
	uint32_t len;

	f->settings.is.mac_column = 1;
	f->settings.client_id = DHCP4_ID_HEX;
	f->settings.client_id_hex = "01{file:2}";
	f->relay.circuit_id = "{file:3}";
	f->options[0] = (struct dhcp4_option_settings){.code = "12", .value.text = "{file:3}"};
	fixture_open(f);
	assert_name(f, "one");
	assert_int_equal(f->sent[DHCP4_AT_CHADDR + 5], 9);
	id = option_sent(f, DHCP4_OPT_CLIENT_ID, &len);
	assert_int_equal(len, 3);
	assert_memory_equal(id, "\1\12\13", 3);
	assert_int_equal(fixture_answer(f, DHCP4_OFFER), PROTO_AGAIN); // 61 and 82 come back
	assert_name(f, "two, \"quoted\"");
	assert_int_equal(f->sent[DHCP4_AT_CHADDR + 5], 7);
	assert_name(f, "three");
	option_sent(f, DHCP4_OPT_CLIENT_ID, &len);
	assert_int_equal(len, 4);
	close_file(f);
}

static void wrong_lines_are_told(void **state)
{
	static const char *const bad[][2] = {{"a,b\nc\n", ":2:1: \"c\": not as many columns"},
		{"\"a\n", ":1:1: \"\"a\": a quote that does not end"}, {"\"a\"b,c\n", "a quote"},
		{"# nothing\n", "the file has no line"},
		{"a,b\n", "the file has 1 lines for 2 clients"}};

	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		FIXTURE *f = fixture_file(2, bad[i][0]);
		const char *path = f->settings.is.client_file;

		assert_not_set_up(f, bad[i][1]);
		unlink(path);
	}
}

static void wrong_columns_are_told(void **state)
{
	FIXTURE *f = fixture_file(1, "xy,b\n");

	f->settings.is.mac_column = 1;
	assert_not_set_up(f, "client 0 has \"xy\" there: not a MAC address");
	f = fixture_file(1, "xy,b\n");
	f->settings.is.mac_column = 3;
	assert_not_set_up(f, "the file has 2 columns");
	f = fixture_file(1, "xy,b\n");
	f->options[0] = (struct dhcp4_option_settings){.code = "12", .value.hex = "{file:1}"};
	assert_not_set_up(f, "the field of client 0 is not pairs of hex digits");
	f = fixture_file(1, "xy,b\n");
	f->fqdn.name = "{file:1}..";
	assert_not_set_up(f, "a label of a name");
}

// Without reading the file.
static void settings_that_do_not_fit_are_refused(void **state)
{
	REFUSED(fixture_relay(1), "needs a client_file", f->settings.is.mac_column = 1);
	REFUSED(fixture_relay(1), "conflicts with", f->settings.is.mac_column = 1,
		f->settings.is.mac_file = "macs");
	REFUSED(fixture_relay(1), "{file:1} needs a client_file", f->relay.circuit_id = "{file:1}");
	REFUSED(fixture_relay(1), "needs client_id_hex", f->settings.client_id = DHCP4_ID_HEX);
}

// An automatic number of clients is limited to the number of lines.
static void lines_bound_an_automatic_number(void **state)
{
	FIXTURE *f = fixture_file(1, "a\nb\nc\n");

	f->settings.is.clients = UINT64_MAX;
	f->settings.is.automatic = 100;
	fixture_open(f);
	assert_int_equal(worker_of(f)->is.plan->clients, 3);
	close_file(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_client_has_its_line),
		cmocka_unit_test(wrong_lines_are_told),
		cmocka_unit_test(wrong_columns_are_told),
		cmocka_unit_test(settings_that_do_not_fit_are_refused),
		cmocka_unit_test(lines_bound_an_automatic_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
