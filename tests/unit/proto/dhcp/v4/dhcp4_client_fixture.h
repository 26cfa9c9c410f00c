// SPDX-License-Identifier: BSD-3-Clause
// A DHCPv4 item in memory for tests: settings with their defaults, one worker, a transaction, and a
// server whose replies are valid by default. Path: tests only.
#pragma once

#include "proto/dhcp/dhcp.h"
#include "diag_text.h"

#include "base/bytes.h"
#include "net/csum.h"
#include "proto/dhcp/v4/dhcp4_usual.h"

#define SERVER_ID 0xc6120002u // 198.18.0.2
#define POOL      0xc6124000u // 198.18.64.0
#define RELAY     0xc6120040u // 198.18.0.64
#define NO_OPTION 0xffff      // instead of a length: leave the option out

// The contents of the server's next reply.
struct reply_plan {
	uint8_t op, type; // 0: none
	uint32_t xid_xor;
	uint8_t chaddr_xor;
	uint32_t yiaddr, server_id, lease_time, t1, t2; // 0: left out
	bool echo_id, echo_relay, rapid, no_end;
	const char *vendor_class, *file, *boot_file; // option 60, of the header, option 67
	uint32_t siaddr;
	uint8_t relay_xor, id_xor; // of the last byte echoed
	uint8_t id_first_xor;      // of the first byte of the client identifier
	uint8_t id_more;           // zeros behind it
	const char *message;
	uint32_t ciaddr;
	bool no_chaddr;
};

struct dhcp4_fixture {
	struct dhcp4_settings settings;
	struct dhcp4_relay_settings relay;
	struct dhcp_mix_settings mix;
	struct dhcp4_expect_settings expect;
	struct dhcp4_retransmit_settings retransmit;
	struct dhcp_fqdn_settings fqdn;
	struct dhcp4_option_settings options[9];
	struct addr_range relays[2], pool[3];
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
};

static inline struct addr v4(uint32_t address)
{
	struct addr a = {.len = 4};

	bytes_put_be32(a.bytes, address);
	return a;
}

static inline struct dhcp4_fixture *fixture_new(uint32_t clients)
{
	struct dhcp4_fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->settings.is.clients = clients;
	f->settings.is.mac[0] = 2;
	f->settings.htype = DHCP4_HTYPE_ETHERNET;
	f->settings.client_id = DHCP4_ID_MAC;
	f->settings.broadcast_flag = true;
	f->settings.pad = 300;
	f->parameters[0] = 1;
	f->parameters[1] = 3;
	f->settings.is.parameters = (struct field_list){f->parameters, 2};
	f->relays[0] = (struct addr_range){v4(RELAY), 4};
	f->relay.is.addresses = (struct field_list){f->relays, 1};
	f->relay.hops = 1;
	f->relay.is.port = 67;
	f->relay.is.source_port = true;
	f->expect.same_address = true;
	f->retransmit = (struct dhcp4_retransmit_settings){4000000000, 2, 1000000000, 4};
	f->fqdn.server_update = f->fqdn.wire = true;
	f->env = (struct proto_env){.seed = 1,
		.workers = 1,
		.clients = 1,
		.addr_len = 4,
		.server = v4(SERVER_ID),
		.server_port = 67,
		.rate = 1000};
	f->diag = diag_new();
	return f;
}

// Returns the client with a current lease on the address, or DHCP_NOBODY.
static inline uint32_t holder_of(struct dhcp4_fixture *f, uint32_t address)
{
	return dhcp_holders_find(
		&f->common->leases.holders, dhcp4_held(address), f->ctx.now_ms / 1000);
}

static inline struct dhcp4_fixture *fixture_relay(uint32_t clients)
{
	struct dhcp4_fixture *f = fixture_new(clients);

	f->settings.is.relay = &f->relay.is;
	return f;
}

static inline void fixture_pool(struct dhcp4_fixture *f)
{
	uint32_t n = 0;

	while (f->pool[n].count)
		n++;
	f->expect.pool = (struct field_list){f->pool, n};
	if (n)
		f->settings.expect = &f->expect;
}

static inline void fixture_send(struct dhcp4_fixture *f)
{
	memset(f->sent, 0xee, sizeof(f->sent));
	f->sent_len = proto_request(&dhcp4_proto, &f->ctx, &f->txn, f->sent, sizeof(f->sent));
	assert_true(f->sent_len > DHCP4_OPTIONS_AT);
	assert_int_equal(f->sent[f->sent_len], 0xee);
	assert_true(f->ctx.sum < 1ull << 48);
	assert_int_equal(csum_fold(f->ctx.sum), csum_fold(csum_add(0, f->sent, f->sent_len)));
}

// Returns the data of an option of the message sent, as a view; len NO_OPTION: not present.
static inline const uint8_t *option_sent(struct dhcp4_fixture *f, uint8_t code, uint32_t *len)
{
	uint32_t at = dhcp4_find_option(f->sent, f->sent_len, code);

	*len = at ? f->sent[at + 1] : NO_OPTION;
	return at ? f->sent + at + 2 : NULL;
}

static inline bool has_sent(struct dhcp4_fixture *f, uint8_t code)
{
	return dhcp4_find_option(f->sent, f->sent_len, code) != 0;
}

static inline void echo(struct dhcp4_fixture *f, struct writer *w, uint8_t code, uint8_t change)
{
	uint32_t len;
	const uint8_t *data = option_sent(f, code, &len);

	if (!data)
		return;
	dhcp4_write_option(w, code, data, len);
	w->at[-1] ^= change;
}

static inline void write_number(struct writer *w, uint8_t code, uint32_t value)
{
	if (value)
		dhcp4_write_option_be32(w, code, value);
}

// f->answer as bytes.
static inline void fixture_compose(struct dhcp4_fixture *f)
{
	const struct reply_plan *a = &f->answer;
	struct writer w = writer_of(f->reply, sizeof(f->reply));
	uint8_t *id;

	memset(f->reply, 0, sizeof(f->reply));
	write_space(&w, DHCP4_OPTIONS_AT);
	memcpy(f->reply, f->sent, DHCP4_HEADER_LEN);
	f->reply[DHCP4_AT_OP] = a->op;
	bytes_put_be32(f->reply + DHCP4_AT_XID, f->txn.key ^ a->xid_xor);
	bytes_put_be32(f->reply + DHCP4_AT_CIADDR, a->ciaddr);
	bytes_put_be32(f->reply + DHCP4_AT_YIADDR, a->yiaddr);
	bytes_put_be32(f->reply + DHCP4_AT_SIADDR, a->siaddr);
	if (a->file)
		memcpy(f->reply + DHCP4_AT_FILE, a->file, strlen(a->file));
	f->reply[DHCP4_AT_CHADDR + 5] ^= a->chaddr_xor;
	if (a->no_chaddr)
		memset(f->reply + DHCP4_AT_CHADDR, 0, 16);
	bytes_put_be32(f->reply + DHCP4_AT_COOKIE, DHCP4_COOKIE);
	if (a->type)
		dhcp4_write_option_u8(&w, DHCP4_OPT_TYPE, a->type);
	write_number(&w, DHCP4_OPT_SERVER_ID, a->server_id);
	write_number(&w, DHCP4_OPT_LEASE_TIME, a->lease_time);
	write_number(&w, DHCP4_OPT_T1, a->t1);
	write_number(&w, DHCP4_OPT_T2, a->t2);
	write_number(&w, 1, 0xffff0000);
	write_number(&w, 3, SERVER_ID);
	if (a->message)
		dhcp4_write_option(&w, DHCP4_OPT_MESSAGE, a->message, (uint32_t)strlen(a->message));
	if (a->vendor_class)
		dhcp4_write_option(&w, DHCP4_OPT_VENDOR_CLASS, a->vendor_class,
			(uint32_t)strlen(a->vendor_class));
	if (a->boot_file)
		dhcp4_write_option(
			&w, DHCP4_OPT_BOOT_FILE, a->boot_file, (uint32_t)strlen(a->boot_file));
	if (a->rapid)
		dhcp4_write_option(&w, DHCP4_OPT_RAPID_COMMIT, "", 0);
	id = w.at;
	if (a->echo_id)
		echo(f, &w, DHCP4_OPT_CLIENT_ID, a->id_xor);
	if (a->echo_id && w.at > id) {
		id[1] += a->id_more;
		id[2] ^= a->id_first_xor;
		write_space(&w, a->id_more);
	}
	if (a->echo_relay)
		echo(f, &w, DHCP4_OPT_RELAY_INFO, a->relay_xor);
	if (!a->no_end)
		write_u8(&w, DHCP4_OPT_END);
	f->reply_len = (uint32_t)(w.at - f->reply);
}

// Plans a valid reply of this type, to be changed or composed.
static inline void fixture_plan(struct dhcp4_fixture *f, enum dhcp4_type type)
{
	f->answer = (struct reply_plan){.op = DHCP4_REPLY_OP,
		.type = type,
		.yiaddr = POOL + f->txn.user,
		.server_id = SERVER_ID,
		.lease_time = 3600,
		.t1 = 1800,
		.t2 = 3150,
		.rapid = f->txn.step == DHCP4_STEP_RAPID && type == DHCP4_ACK,
		.echo_id = true,
		.echo_relay = true};
	if (type == DHCP4_NAK)
		f->answer = (struct reply_plan){.op = DHCP4_REPLY_OP,
			.type = type,
			.server_id = SERVER_ID,
			.echo_id = true,
			.echo_relay = true};
}

static inline uint32_t from_hex(const char *hex, uint8_t *out)
{
	uint32_t len = 0;
	unsigned byte;

	for (; *hex; hex += 2) {
		while (*hex == ' ')
			hex++;
		if (sscanf(hex, "%2x", &byte) != 1)
			break;
		out[len++] = (uint8_t)byte;
	}
	return len;
}

#define FIXTURE          struct dhcp4_fixture
#define VERB(name)       dhcp4_##name
#define KEY              0x1234abcd
#define FIRST_REPLY      DHCP4_OFFER
#define LAST_REPLY       DHCP4_ACK
#define fixture_four_way fixture_dora
#include "dhcp_client_fixture.h"

// Clients behind a relay with every kind of lease.
static inline FIXTURE *fixture_leasing(uint32_t clients)
{
	return fixture_relay(clients);
}
