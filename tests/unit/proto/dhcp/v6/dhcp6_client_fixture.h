// SPDX-License-Identifier: BSD-3-Clause
// A DHCPv6 item in memory for tests: settings with their defaults, one worker, a transaction, and a
// server whose replies are valid by default. Path: tests only.
#pragma once

#include "proto/dhcp/dhcp.h"
#include "diag_text.h"

#include "base/bytes.h"
#include "net/csum.h"
#include "proto/dhcp/v6/dhcp6_usual.h"

#define SERVER_DUID "\0\3\0\1\2\0\0\0\0\xfe"
#define OTHER_DUID  "\0\3\0\1\2\0\0\0\0\xfd"
#define DUID_LEN    10
#define NOTHING     0xffff // instead of a status: leave the option out

// The contents of the server's next reply.
struct reply_plan {
	uint8_t type;
	uint32_t xid_xor;
	const char *server; // DUID_LEN bytes; NULL: none
	bool no_client_id;
	uint8_t client_xor; // of the last byte
	uint16_t status, ia_status, lease_status;
	const char *message;
	uint32_t t1, t2, preferred, valid;
	uint32_t shift; // of the address and prefix that a client gets
	uint8_t bits;
	uint8_t host_bit; // in the last byte of prefixes
	uint32_t without; // bit per IA that is left out
	bool no_lease, twice, extra, rapid;
	uint8_t preference;
	const uint8_t *unicast;          // 16 bytes; NULL: left out
	uint32_t sol_max_rt, inf_max_rt; // 0: left out
	const char *key;                 // for RECONFIGUREs; NULL: left out
	uint64_t replay;                 // of that option
	uint64_t options;                // bit per option to be added, empty
	// of the relay messages
	uint8_t relay_type, hop_xor, link_xor, peer_xor, interface_xor;
	bool no_interface, fewer;
};

struct dhcp6_fixture {
	struct dhcp6_settings settings;
	struct dhcp6_relay_settings relay;
	struct dhcp_mix_settings mix;
	struct dhcp6_expect_settings expect;
	struct dhcp6_retransmit_settings retransmit;
	struct dhcp_fqdn_settings fqdn;
	struct dhcp6_vendor_settings vendor;
	struct dhcp6_option_settings options[9];
	struct addr_range relays[2];
	struct addr_prefix pool[1], prefixes[1];
	struct field_host servers[4];
	struct dhcp_vlan_settings vlans[3];
	struct dhcp_leases_settings leases;
	uint64_t parameters[4], vlan_ids[4];
	struct diag *diag;
	struct proto_env env;
	struct proto_ctx ctx;
	struct dhcp_common *common;
	struct proto_facts facts;
	struct dhcp_counters n;
	struct proto_txn txn;
	struct reply_plan answer;
	uint8_t sent[2048], reply[2048];
	uint32_t sent_len, reply_len;
	struct dhcp6_envelope e; // of the message sent
	struct dhcp6_message m;
};

static inline struct addr v6(const char *text)
{
	struct addr a;
	const char *what;

	assert_int_equal(addr_parse(text, &a, &what), 0);
	return a;
}

static inline struct addr_prefix prefix(const char *text)
{
	struct addr_prefix p;
	const char *what;

	assert_int_equal(addr_parse_prefix(text, &p, &what), 0);
	return p;
}

static inline struct dhcp6_fixture *fixture_new(uint32_t clients)
{
	struct dhcp6_fixture *f = calloc(1, sizeof(*f));
	struct dhcp6_tries_settings tries = {1000000000, 3600000000000, 0, 4};

	assert_non_null(f);
	f->settings.is.clients = clients;
	f->settings.is.mac[0] = 2;
	f->settings.addresses = f->settings.prefixes = 1;
	f->settings.iaid = 1;
	f->settings.enterprise = 32473;
	f->settings.is.decline_rest_ns = UINT64_MAX;
	f->parameters[0] = 23;
	f->settings.is.parameters = (struct field_list){f->parameters, 1};
	f->relays[0] = (struct addr_range){v6("2001:db8::100"), 4};
	f->relay.is.addresses = (struct field_list){f->relays, 1};
	f->relay.levels = 1;
	f->relay.is.port = 547;
	f->relay.is.source_port = true;
	f->expect.same_lease = true;
	f->retransmit = (struct dhcp6_retransmit_settings){
		0.1, tries, tries, tries, tries, tries, tries, tries, tries, tries};
	f->fqdn.server_update = true;
	f->env = (struct proto_env){.seed = 1,
		.workers = 1,
		.name = "clients",
		.addr_len = 16,
		.server = v6("2001:db8::2"),
		.server_port = 547,
		.rate = 1000};
	f->diag = diag_new();
	return f;
}

static inline struct dhcp6_fixture *fixture_relay(uint32_t clients, uint32_t levels)
{
	struct dhcp6_fixture *f = fixture_new(clients);

	f->settings.is.relay = &f->relay.is;
	f->relay.levels = levels;
	return f;
}

static inline void fixture_pool(struct dhcp6_fixture *f)
{
	f->expect.pool = (struct field_list){f->pool, f->pool[0].addr.len > 0};
	f->expect.prefixes = (struct field_list){f->prefixes, f->prefixes[0].addr.len > 0};
	if (f->expect.pool.count || f->expect.prefixes.count)
		f->settings.expect = &f->expect;
}

static inline void fixture_send(struct dhcp6_fixture *f)
{
	memset(f->sent, 0xee, sizeof(f->sent));
	f->ctx.sum = 0;
	f->sent_len = proto_request(&dhcp6_proto, &f->ctx, &f->txn, f->sent, sizeof(f->sent));
	assert_true(f->sent_len > DHCP6_HEADER_LEN);
	assert_int_equal(f->sent[f->sent_len], 0xee);
	if (f->ctx.sum) {
		assert_true(f->ctx.sum < 1ull << 48);
		assert_int_equal(
			csum_fold(f->ctx.sum), csum_fold(csum_add(0, f->sent, f->sent_len)));
	}
	assert_true(dhcp6_unwrap(f->sent, f->sent_len, &f->e));
	assert_true(dhcp6_parse(f->e.inner, f->e.inner_len, &f->m));
}

static inline void address_of(const struct dhcp6_fixture *f, uint32_t ia, uint8_t out[16])
{
	const uint8_t pool[16] = {0x20, 0x01, 0x0d, 0xb8, [7] = 1};
	uint32_t n = f->txn.user * 16 + ia + f->answer.shift + 1;

	memcpy(out, pool, 16);
	out[14] = (uint8_t)(n >> 8);
	out[15] = (uint8_t)n;
}

static inline void prefix_of(const struct dhcp6_fixture *f, uint32_t ia, uint8_t out[16])
{
	const uint8_t pool[16] = {0x20, 0x01, 0x0d, 0xb8, 0x80};
	uint32_t n = f->txn.user * 16 + ia + f->answer.shift;

	memcpy(out, pool, 16);
	out[5] = (uint8_t)(n >> 8);
	out[6] = (uint8_t)n;
	out[15] |= f->answer.host_bit;
}

static inline void compose_ia(
	struct dhcp6_fixture *f, const struct dhcp6_ia *ia, uint32_t i, struct writer *w)
{
	const struct reply_plan *a = &f->answer;
	uint8_t *begin = dhcp6_ia_begin(w, ia->type, ia->iaid, a->t1, a->t2), bytes[16];
	struct dhcp6_lease l = {
		bytes, a->preferred, a->valid, a->lease_status, a->bits ? a->bits : 56};

	if (l.status == NOTHING)
		l.status = DHCP6_STATUS_NONE;
	(ia->type == DHCP6_OPT_IA_PD ? prefix_of : address_of)(f, i, bytes);
	for (uint32_t n = a->no_lease ? 2 : 0; n < (a->twice ? 2 : 1); n++)
		dhcp6_write_lease(w, dhcp6_lease_code(ia->type), &l);
	if (a->ia_status != NOTHING)
		dhcp6_write_status(w, a->ia_status, a->message ? a->message : "");
	dhcp6_option_end(w, begin);
}

static inline void compose_ids(struct dhcp6_fixture *f, struct writer *w)
{
	const struct reply_plan *a = &f->answer;

	if (!a->no_client_id) {
		dhcp6_write_option(w, DHCP6_OPT_CLIENT_ID, f->m.client_id.data, f->m.client_id.len);
		w->at[-1] ^= a->client_xor;
	}
	if (a->server)
		dhcp6_write_option(w, DHCP6_OPT_SERVER_ID, a->server, DUID_LEN);
}

static inline void compose_message(struct dhcp6_fixture *f, struct writer *w)
{
	const struct reply_plan *a = &f->answer;
	struct dhcp6_ia extra = {.type = DHCP6_OPT_IA_NA, .iaid = 77};

	dhcp6_write_header(w, a->type, f->m.xid ^ a->xid_xor);
	compose_ids(f, w);
	if (a->status != NOTHING)
		dhcp6_write_status(w, a->status, a->message ? a->message : "");
	if (a->rapid)
		dhcp6_write_option(w, DHCP6_OPT_RAPID_COMMIT, "", 0);
	if (a->unicast)
		dhcp6_write_option(w, DHCP6_OPT_UNICAST, a->unicast, 16);
	if (a->preference)
		dhcp6_write_option_u8(w, DHCP6_OPT_PREFERENCE, a->preference);
	if (a->sol_max_rt)
		dhcp6_write_option_be32(w, DHCP6_OPT_SOL_MAX_RT, a->sol_max_rt);
	if (a->inf_max_rt)
		dhcp6_write_option_be32(w, DHCP6_OPT_INF_MAX_RT, a->inf_max_rt);
	if (a->key)
		dhcp6_rkap_write(w, DHCP6_RKAP_KEY, a->replay, (const uint8_t *)a->key);
	for (uint16_t code = 0; code < 64; code++)
		if (a->options >> code & 1)
			dhcp6_write_option(w, code, "", 0);
	for (uint32_t i = 0; i < f->m.ia_count; i++)
		if (!(a->without >> i & 1))
			compose_ia(f, &f->m.ias[i], i, w);
	if (a->extra)
		compose_ia(f, &extra, 9, w);
}

static inline void compose_relay(
	struct dhcp6_fixture *f, const struct dhcp6_relay *r, struct writer *w)
{
	const struct reply_plan *a = &f->answer;
	uint8_t link[16], peer[16];

	memcpy(link, r->link, 16);
	memcpy(peer, r->peer, 16);
	link[15] ^= a->link_xor;
	peer[15] ^= a->peer_xor;
	dhcp6_write_relay(w, a->relay_type, r->hop_count ^ a->hop_xor, link, peer);
	if (r->interface_id.data && !a->no_interface) {
		dhcp6_write_option(
			w, DHCP6_OPT_INTERFACE_ID, r->interface_id.data, r->interface_id.len);
		w->at[-1] ^= a->interface_xor;
	}
}

// f->answer as bytes.
static inline void fixture_compose(struct dhcp6_fixture *f)
{
	struct writer w = writer_of(f->reply, sizeof(f->reply));
	uint8_t *inside[DHCP6_LEVELS_MAX];
	uint32_t first = f->answer.fewer;

	for (uint32_t i = first; i < f->e.levels; i++) {
		compose_relay(f, &f->e.relays[i], &w);
		inside[i] = dhcp6_option_begin(&w, DHCP6_OPT_RELAY_MESSAGE);
	}
	compose_message(f, &w);
	for (uint32_t i = f->e.levels; i-- > first;)
		dhcp6_option_end(&w, inside[i]);
	assert_false(w.failed);
	f->reply_len = (uint32_t)(w.at - f->reply);
}

// Plans a valid reply of this type, to be changed or composed.
static inline void fixture_plan(struct dhcp6_fixture *f, enum dhcp6_type type)
{
	f->answer = (struct reply_plan){.type = type,
		.server = SERVER_DUID,
		.status = NOTHING,
		.ia_status = NOTHING,
		.lease_status = NOTHING,
		.t1 = 1000,
		.t2 = 2000,
		.preferred = 3000,
		.valid = 4000,
		.rapid = f->txn.step == DHCP6_STEP_RAPID && type == DHCP6_REPLY,
		.options = 1ull << 23,
		.relay_type = DHCP6_RELAY_REPL};
}

#define FIXTURE          struct dhcp6_fixture
#define VERB(name)       dhcp6_##name
#define KEY              0x123456
#define FIRST_REPLY      DHCP6_ADVERTISE
#define LAST_REPLY       DHCP6_REPLY
#define fixture_four_way fixture_sarr
#include "dhcp_client_fixture.h"

// Clients behind a relay with every kind of lease.
static inline FIXTURE *fixture_leasing(uint32_t clients)
{
	FIXTURE *f = fixture_relay(clients, 1);

	f->settings.lease = DHCP6_WANTS_BOTH;
	return f;
}
