// SPDX-License-Identifier: BSD-3-Clause
// RECONFIGUREs (RFC 8415 sections 18.2.11 and 20.4): the authentication option and the MAC as
// bytes, the key in a reply, each reason to discard a message, and the exchange after a valid one.
// Path: tests only.

#include "dhcp6_client_fixture.h"

#include "proto/dhcp/v6/dhcp6_reconfigure.h"

#define SECRET "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20"
#define RELAY  "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\1\0"

static void the_option_is_laid_out_as_the_rfc_has_it(void **state)
{
	static const uint8_t right[] = "\0\x0b\0\x1c\3\1\0\1\2\3\4\5\6\7\10\2" SECRET;
	uint8_t buf[32], broken[DHCP6_RKAP_LEN];
	struct writer w = writer_of(buf, sizeof(buf));
	struct dhcp6_bytes data = {buf + 4, DHCP6_RKAP_LEN};
	struct dhcp6_rkap r;

	dhcp6_rkap_write(&w, DHCP6_RKAP_MAC, 0x0102030405060708, (const uint8_t *)SECRET);
	assert_false(w.failed);
	assert_int_equal(w.at - buf, sizeof(buf));
	assert_memory_equal(buf, right, sizeof(buf));
	assert_true(dhcp6_rkap_read(&data, DHCP6_RKAP_MAC, &r));
	assert_true(r.replay == 0x0102030405060708 && r.value == buf + 16);
	assert_false(dhcp6_rkap_read(&data, DHCP6_RKAP_KEY, &r));
	for (uint32_t i = 0; i < 3; i++) {
		memcpy(broken, buf + 4, sizeof(broken));
		broken[i] ^= 1;
		data.data = broken;
		assert_false(dhcp6_rkap_read(&data, DHCP6_RKAP_MAC, &r));
	}
	data = (struct dhcp6_bytes){buf + 4, DHCP6_RKAP_LEN - 1};
	assert_false(dhcp6_rkap_read(&data, DHCP6_RKAP_MAC, &r));
	data = (struct dhcp6_bytes){0};
	assert_false(dhcp6_rkap_read(&data, DHCP6_RKAP_MAC, &r));
}

// Computed by another implementation.
static void the_mac_is_of_the_message_without_itself(void **state)
{
	static const uint8_t right[] = "\xc1"
				       "\x93"
				       "\x12"
				       "\x0c"
				       "\xdd"
				       "\x32"
				       "\x64"
				       "\x42"
				       "\x64"
				       "\x16"
				       "\x16"
				       "\x24"
				       "\x53"
				       "\xb3"
				       "\x94"
				       "\xcb";
	uint8_t m[] = "\12\0\0\0\0\1\0\12\0\3\0\1\2\0\0\0\0\0\0\2\0\12\0\3\0\1\2\0\0\0\0\xfe"
		      "\0\x13\0\1\5\0\x0b\0\x1c\3\1\0\0\0\0\0\0\0\0\10\2"
		      "what stands here";
	uint8_t mac[16];

	dhcp6_rkap_mac((const uint8_t *)SECRET, m, sizeof(m) - 1, sizeof(m) - 17, mac);
	assert_memory_equal(mac, right, sizeof(mac));
}

static struct dhcp_life_settings life;

// An item whose client 0 has a lease and that key; the last number was 7.
static struct dhcp6_fixture *keyed_as(bool relayed, bool lenient)
{
	struct dhcp6_fixture *f = relayed ? fixture_relay(2, 2) : fixture_new(2);

	life = (struct dhcp_life_settings){.speed = 1, .t1_ns = 1000000000000, .away_ns = 1000000};
	f->settings.is.life = &life;
	f->settings.reconfigure = lenient ? DHCP6_LENIENT : DHCP6_ACCEPTS;
	fixture_open(f);
	f->ctx.now_ms = 10;
	fixture_next(f);
	assert_true(dhcp6_has(&f->m, DHCP6_OPT_RECONFIGURE_ACCEPT));
	ANSWER(f, DHCP6_ADVERTISE, PROTO_AGAIN, (void)a);
	fixture_send(f);
	assert_true(dhcp6_has(&f->m, DHCP6_OPT_RECONFIGURE_ACCEPT));
	ANSWER(f, DHCP6_REPLY, PROTO_DONE, (a->key = SECRET, a->replay = 7));
	return f;
}

static struct dhcp6_fixture *keyed(bool relayed)
{
	return keyed_as(relayed, false);
}

// A RECONFIGURE, valid except for `what`. 0 or NULL: valid.
struct called {
	uint8_t asks;
	uint64_t replay; // 0: 8
	uint8_t mac_xor, client_xor, link_xor;
	const char *server;
	bool no_auth, no_message;
	uint16_t src_port, dst_port;
};

static void compose_called(struct dhcp6_fixture *f, const struct called *c, struct writer *w)
{
	uint8_t *message = w->at, mac[16] = {0};
	uint32_t len;

	dhcp6_write_header(w, DHCP6_RECONFIGURE, 0);
	dhcp6_write_option(w, DHCP6_OPT_CLIENT_ID, f->m.client_id.data, f->m.client_id.len);
	w->at[-1] ^= c->client_xor;
	dhcp6_write_option(w, DHCP6_OPT_SERVER_ID, c->server ? c->server : SERVER_DUID, DUID_LEN);
	if (!c->no_message)
		dhcp6_write_option_u8(
			w, DHCP6_OPT_RECONFIGURE_MESSAGE, c->asks ? c->asks : DHCP6_RENEW);
	if (c->no_auth)
		return;
	dhcp6_rkap_write(w, DHCP6_RKAP_MAC, c->replay ? c->replay : 8, mac);
	len = (uint32_t)(w->at - message);
	dhcp6_rkap_mac((const uint8_t *)SECRET, message, len, len - 16, w->at - 16);
	w->at[-1] ^= c->mac_xor;
}

// Through the relays of the last message, or to the client on the link.
static bool hears(struct dhcp6_fixture *f, const struct called *c)
{
	struct writer w = writer_of(f->reply, sizeof(f->reply));
	uint8_t *inside[DHCP6_LEVELS_MAX], own[16], link[16], mac[6], *exact;
	struct proto_ends ends = {.src = f->env.server.bytes,
		.dst = f->e.levels ? (const uint8_t *)RELAY : own,
		.addr_len = 16,
		.src_port = c->src_port ? c->src_port : DHCP6_SERVER_PORT,
		.dst_port = f->e.levels ? DHCP6_SERVER_PORT : DHCP6_CLIENT_PORT};
	struct proto_message in = {.ends = &ends};
	uint32_t worker = 99, key;
	bool taken;

	if (c->dst_port)
		ends.dst_port = c->dst_port;
	dhcp_mac_write(f->ctx.shared, 0, mac);
	addr_link_local(mac, own);
	for (uint32_t i = 0; i < f->e.levels; i++) {
		memcpy(link, f->e.relays[i].link, 16);
		link[15] ^= c->link_xor;
		dhcp6_write_relay(
			&w, DHCP6_RELAY_REPL, f->e.relays[i].hop_count, link, f->e.relays[i].peer);
		inside[i] = dhcp6_option_begin(&w, DHCP6_OPT_RELAY_MESSAGE);
	}
	compose_called(f, c, &w);
	for (uint32_t i = f->e.levels; i-- > 0;)
		dhcp6_option_end(&w, inside[i]);
	in.len = (uint32_t)(w.at - f->reply);
	exact = malloc(in.len);
	memcpy(exact, f->reply, in.len);
	in.buf = exact;
	assert_false(dhcp6_key(in.buf, in.len, &key));
	taken = dhcp6_unasked(&f->ctx, &in, &worker);
	free(exact);
	assert_int_equal(worker, taken ? 0 : 99);
	return taken;
}

static uint64_t obeyed(const struct dhcp6_fixture *f)
{
	return f->n.reconfigured[DHCP6_RENEW] + f->n.reconfigured[DHCP6_REBIND] +
	       f->n.reconfigured[DHCP6_INFORMATION];
}

static void a_client_does_what_its_server_calls_for(void **state)
{
	static const struct {
		uint8_t asks, step;
	} kinds[] = {{DHCP6_RENEW, DHCP6_STEP_RENEW}, {DHCP6_REBIND, DHCP6_STEP_REBIND},
		{DHCP6_INFORMATION, DHCP6_STEP_INFORMATION}};

	for (uint32_t i = 0; i < 6; i++) {
		struct dhcp6_fixture *f = keyed(i & 1);
		const struct called c = {.asks = kinds[i / 2].asks};

		f->ctx.now_ms = 100;
		assert_true(hears(f, &c));
		assert_int_equal(f->n.reconfigured[c.asks], 1);
		assert_int_equal(obeyed(f), 1);
		assert_int_equal(f->n.received[DHCP6_RECONFIGURE], 1);
		fixture_next(f);
		assert_int_equal(f->txn.user, 0);
		assert_int_equal(f->txn.step, kinds[i / 2].step);
		assert_int_equal(f->m.type, c.asks);
		assert_true(dhcp6_has(&f->m, DHCP6_OPT_RECONFIGURE_ACCEPT));
		// Meanwhile it ignores other ones.
		assert_true(hears(f, &(struct called){.replay = 9}));
		assert_int_equal(f->n.reconfigure_busy, 1);
		ANSWER(f, DHCP6_REPLY, PROTO_DONE, (void)a);
		assert_true(client_of(f, 0)->head.holds);
		// The message is repeated.
		assert_true(hears(f, &c));
		assert_int_equal(f->n.reconfigure_bad[DHCP6_BAD_REPLAY], 1);
		assert_true(hears(f, &(struct called){.replay = 9}));
		assert_int_equal(obeyed(f), 2);
		fixture_end(f);
	}
}

static void bad_ones_have_a_reason_each(void **state)
{
	static const struct {
		struct called what;
		enum dhcp6_bad why;
	} cases[] = {
		{{.dst_port = 546}, DHCP6_BAD_WAY},
		{{.link_xor = 1}, DHCP6_BAD_WAY},
		{{.client_xor = 1}, DHCP6_BAD_CLIENT},
		{{.server = OTHER_DUID}, DHCP6_BAD_SERVER},
		{{.asks = DHCP6_SOLICIT}, DHCP6_BAD_MESSAGE},
		{{.no_message = true}, DHCP6_BAD_MESSAGE},
		{{.no_auth = true}, DHCP6_BAD_AUTHENTICATION},
		{{.mac_xor = 1}, DHCP6_BAD_MAC},
		{{.replay = 7}, DHCP6_BAD_REPLAY},
		{{.replay = 1}, DHCP6_BAD_REPLAY},
	};

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dhcp6_fixture *f = keyed(true);
		uint64_t bad = 0;

		assert_true(hears(f, &cases[i].what));
		assert_int_equal(f->n.reconfigure_bad[cases[i].why], 1);
		for (uint32_t k = 0; k < DHCP6_BADS; k++)
			bad += f->n.reconfigure_bad[k];
		assert_true(bad == 1 && obeyed(f) == 0);
		assert_int_equal(client_of(f, 0)->head.state, DHCP_IS_BOUND);
		// Nothing was changed: a valid one is obeyed, whatever its source port.
		assert_true(hears(f, &(struct called){.src_port = 546}));
		assert_int_equal(obeyed(f), 1);
		fixture_end(f);
	}
}

// Dibbler gives each message the number 0.
static void lenient_clients_obey_an_old_number(void **state)
{
	struct dhcp6_fixture *f = keyed_as(true, true);

	assert_true(hears(f, &(struct called){.replay = 1, .mac_xor = 1}));
	assert_int_equal(f->n.reconfigure_bad[DHCP6_BAD_MAC], 1);
	assert_true(hears(f, &(struct called){.replay = 1}));
	assert_int_equal(obeyed(f), 1);
	fixture_end(f);
}

static void without_key_or_lease_or_client_none_is_obeyed(void **state)
{
	struct dhcp6_fixture *f = keyed(true);
	struct dhcp6_client *k = client_of(f, 0);

	k->keyed = 0;
	assert_true(hears(f, &(struct called){0}));
	k->keyed = 1;
	k->head.holds = false;
	assert_true(hears(f, &(struct called){0}));
	assert_int_equal(f->n.reconfigure_bad[DHCP6_BAD_KEY], 2);
	k->head.holds = true;
	// For another item, or for no client.
	((struct dhcp6_plan *)f->ctx.shared)->is.mac += 1000;
	assert_false(hears(f, &(struct called){0}));
	((struct dhcp6_plan *)f->ctx.shared)->is.mac -= 1000;
	worker_of(f)->is.secrets = (free(worker_of(f)->is.secrets), NULL);
	assert_false(hears(f, &(struct called){0}));
	fixture_end(f);
}

static void a_key_is_of_the_server_that_gave_it(void **state)
{
	struct dhcp6_fixture *f = keyed(false);

	assert_true(hears(f, &(struct called){.asks = DHCP6_REBIND}));
	fixture_next(f);
	ANSWER(f, DHCP6_REPLY, PROTO_DONE, a->server = OTHER_DUID);
	assert_true(hears(f, &(struct called){.server = OTHER_DUID, .replay = 9}));
	assert_int_equal(f->n.reconfigure_bad[DHCP6_BAD_KEY], 1);
	fixture_end(f);
}

static void the_setting_needs_a_life_and_plain_macs(void **state)
{
	struct dhcp6_fixture *f = fixture_new(2);

	f->settings.reconfigure = DHCP6_ACCEPTS;
	fixture_check(f);
	assert_int_equal(diag_count(f->diag), 1);
	life = (struct dhcp_life_settings){.speed = 1, .t1_ns = 1000000000000};
	f->settings.is.life = &life;
	f->settings.is.mac_count = 1;
	fixture_check(f);
	assert_int_equal(diag_count(f->diag), 2);
	f->settings.is.mac_count = 0;
	fixture_check(f);
	assert_int_equal(diag_count(f->diag), 2);
	fixture_end(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_option_is_laid_out_as_the_rfc_has_it),
		cmocka_unit_test(the_mac_is_of_the_message_without_itself),
		cmocka_unit_test(a_client_does_what_its_server_calls_for),
		cmocka_unit_test(bad_ones_have_a_reason_each),
		cmocka_unit_test(lenient_clients_obey_an_old_number),
		cmocka_unit_test(without_key_or_lease_or_client_none_is_obeyed),
		cmocka_unit_test(a_key_is_of_the_server_that_gave_it),
		cmocka_unit_test(the_setting_needs_a_life_and_plain_macs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
