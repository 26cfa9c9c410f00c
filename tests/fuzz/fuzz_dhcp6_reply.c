// SPDX-License-Identifier: BSD-3-Clause
// DHCPv6 clients and any server (fuzz_dhcp_reply.h). Path: tests only.

#include "proto/dhcp/dhcp.h"
#include "proto/dhcp/v6/dhcp6_reconfigure.h"

#include "fuzz_dhcp_reply.h"

enum content {
	HAS_SERVER_ID = 1,
	HAS_STATUS = 2,
	HAS_RAPID = 4,
	HAS_RAW = 8,
	IS_BARE = 16,
	HAS_KEY = 32,
};

enum call { IS_WRONG = 1, IS_MALFORMED = 2, IS_ELSEWHERE = 4 };

static const void *settings(bool relay, bool usual, bool living)
{
#define TRIES                                                                                      \
	{                                                                                          \
		.irt_ns = 1000000000, .mrc = 2                                                     \
	}
	static uint64_t parameters[] = {23};
	static struct addr_range relays = {{16, {0x20, 1, 0xd, 0xb8, [15] = 1}}, 2};
	static struct dhcp6_relay_settings relay_settings = {
		.is.addresses = {&relays, 1}, .is.port = 547};
	static struct dhcp6_retransmit_settings retransmit = {
		0.1, TRIES, TRIES, TRIES, TRIES, TRIES, TRIES, TRIES, TRIES, TRIES};
	static struct dhcp_wrong_settings wrong = {// which can be read
		.shares = {[DHCP6_WRONG_TYPE] = 0.05,
			[DHCP6_WRONG_SERVER_ID] = 0.05,
			[DHCP6_WRONG_REPLY] = 0.05}};
	static struct dhcp_life_settings life = {
		.speed = 1, .t1_ns = 1000000000000, .away_ns = 1000000000, .retry_ns = 1000000000};
	static struct dhcp6_settings s = {.is.clients = CLIENTS,
		.is.mac = {2},
		.is.parameters = {parameters, 1},
		.is.retransmit = &retransmit,
		.is.decline_rest_ns = 300000000000,
		.addresses = 1};

	s.is.life = living ? &life : NULL;
	s.reconfigure = living ? DHCP6_ACCEPTS : DHCP6_UNCALLED;
	relay_settings.levels = usual ? 1 : 3;
	relay_settings.interface_id = usual ? NULL : "p{client}";
	s.is.wrong = usual ? NULL : &wrong;
	s.lease = usual ? DHCP6_WANTS_ADDRESSES : DHCP6_WANTS_BOTH;
	s.prefixes = usual ? 1 : 2;
	s.is.relay = relay ? &relay_settings.is : NULL;
	s.advertise = relay && !usual ? DHCP6_TAKES_BEST : DHCP6_TAKES_FIRST;
	return &s;
}

static void compose_ia(const struct dhcp6_ia *ia, struct reader *r, struct writer *w)
{
	uint8_t number = read_u8(r), bits = read_u8(r), valid = read_u8(r);
	uint8_t address[16] = {0x20, 1, 0xd, 0xb8, [6] = number & 7}, *begin;
	const struct dhcp6_lease l = {address, valid / 2u * 100, valid * 100u, DHCP6_STATUS_NONE,
		bits & 0x80 ? 48 + bits % 24 : 56};

	begin = dhcp6_ia_begin(w, ia->type, ia->iaid, valid, valid);
	if (number)
		dhcp6_write_lease(w, dhcp6_lease_code(ia->type), &l);
	dhcp6_option_end(w, begin);
}

static void compose_inner(const struct dhcp6_message *asked, struct reader *r, struct writer *w)
{
	uint8_t type = read_u8(r) % 16, has = read_u8(r);
	uint8_t server[4] = {0, 4, 1, read_u8(r)};

	dhcp6_write_header(w, type, asked->xid);
	dhcp6_write_option(w, DHCP6_OPT_CLIENT_ID, asked->client_id.data, asked->client_id.len);
	if (has & HAS_SERVER_ID)
		dhcp6_write_option(w, DHCP6_OPT_SERVER_ID, server, sizeof(server));
	if (has & HAS_STATUS)
		dhcp6_write_status(w, read_u8(r) % 9, "no");
	if (has & HAS_RAPID)
		dhcp6_write_option(w, DHCP6_OPT_RAPID_COMMIT, "", 0);
	if (has & HAS_KEY) {
		uint8_t key[DHCP6_RKAP_VALUE] = {read_u8(r)};

		dhcp6_rkap_write(w, DHCP6_RKAP_KEY, read_u8(r), key);
	}
	for (uint32_t i = 0; i < asked->ia_count && !(has & IS_BARE); i++)
		compose_ia(&asked->ias[i], r, w);
	if (has & HAS_RAW) {
		uint8_t len = read_u8(r);
		const uint8_t *raw = read_bytes(r, len);

		if (raw)
			write_bytes(w, raw, len);
	}
}

// A RECONFIGURE, with a right MAC of the client's key unless it is to be wrong.
static void compose_call(const struct side *d, const struct flight *f,
	const struct dhcp6_message *asked, struct reader *r, struct writer *w)
{
	const struct dhcp_worker *own = d->ctx.own;
	const struct dhcp6_secret *secrets = own->secrets;
	uint8_t asks = read_u8(r), how = read_u8(r), *message = w->at;
	uint8_t server[4] = {0, 4, 1, read_u8(r)}, mac[DHCP6_RKAP_VALUE] = {0};
	uint32_t len;

	dhcp6_write_header(w, DHCP6_RECONFIGURE, 0);
	dhcp6_write_option(w, DHCP6_OPT_CLIENT_ID, asked->client_id.data, asked->client_id.len);
	dhcp6_write_option(w, DHCP6_OPT_SERVER_ID, server, sizeof(server));
	dhcp6_write_option_u8(w, DHCP6_OPT_RECONFIGURE_MESSAGE, asks);
	if (how & IS_MALFORMED) {
		uint8_t raw_len = read_u8(r);
		const uint8_t *raw = read_bytes(r, raw_len);

		if (raw)
			write_bytes(w, raw, raw_len);
	}
	dhcp6_rkap_write(w, DHCP6_RKAP_MAC, read_u8(r), mac);
	len = (uint32_t)(w->at - message);
	dhcp6_rkap_mac(secrets[f->txn.user].key, message, len, len - sizeof(mac), mac);
	memcpy(w->at - sizeof(mac), mac, sizeof(mac));
	w->at[-1] ^= how & IS_WRONG;
	message[DHCP6_HEADER_LEN + DHCP6_OPTION_LEN] ^= how & IS_ELSEWHERE;
}

// With the relay messages of what the flight has sent.
static void compose_around(
	const struct side *d, const struct flight *f, struct reader *r, struct writer *w)
{
	uint8_t *inside[DHCP6_LEVELS_MAX];
	struct dhcp6_envelope e;
	struct dhcp6_message asked;

	check(dhcp6_unwrap(f->sent, f->sent_len, &e));
	check(dhcp6_parse(e.inner, e.inner_len, &asked));
	for (uint32_t i = 0; i < e.levels; i++) {
		const struct dhcp6_relay *l = &e.relays[i];

		dhcp6_write_relay(w, DHCP6_RELAY_REPL, l->hop_count, l->link, l->peer);
		if (l->interface_id.data)
			dhcp6_write_option(w, DHCP6_OPT_INTERFACE_ID, l->interface_id.data,
				l->interface_id.len);
		inside[i] = dhcp6_option_begin(w, DHCP6_OPT_RELAY_MESSAGE);
	}
	if (d)
		compose_call(d, f, &asked, r, w);
	else
		compose_inner(&asked, r, w);
	for (uint32_t i = e.levels; i-- > 0;)
		dhcp6_option_end(w, inside[i]);
}

static void compose(const struct flight *f, struct reader *r, struct writer *w)
{
	compose_around(NULL, f, r, w);
}

static void call(struct side *d, const struct flight *f, struct reader *r)
{
	uint8_t buf[MESSAGE_MAX], mac[6], own[16], *exact;
	const struct dhcp6_plan *p = d->ctx.shared;
	struct writer w = writer_of(buf, sizeof(buf));
	struct proto_ends ends = {.src = p->is.servers[0], .addr_len = 16, .dst = own};
	struct proto_message in = {.ends = &ends};
	uint32_t worker = 0, key;

	compose_around(d, f, r, &w);
	in.len = (uint32_t)(w.at - buf);
	exact = malloc(in.len);
	check(exact);
	memcpy(exact, buf, in.len);
	in.buf = exact;
	ends.src_port = DHCP6_SERVER_PORT;
	ends.dst_port = p->is.relays ? DHCP6_SERVER_PORT : DHCP6_CLIENT_PORT;
	dhcp_mac_write(&p->is, f->txn.user, mac);
	addr_link_local(mac, own);
	if (p->is.relays)
		ends.dst = dhcp6_relay_of(p, f->txn.user);
	check(!dhcp6_key(in.buf, in.len, &key));
	if (dhcp6_unasked(&d->ctx, &in, &worker))
		check(worker == 0);
	free(exact);
}

static void check_leases(const struct dhcp_worker *w, uint32_t client, uint32_t now_s)
{
	for (uint32_t i = 0; i < w->plan->addresses; i++) {
		uint32_t lease = dhcp_lease_of(w->plan, w, client) + i;
		struct dhcp_key key;

		dhcp_lease_get(&w->common->leases, lease, &key);
		check(dhcp_leases_find(&w->common->leases, key.bytes, now_s) == lease);
	}
}

static void forget(struct dhcp_worker *w)
{
	struct dhcp6_worker *k = (struct dhcp6_worker *)w;

	memset(k->usual, 0, sizeof(k->usual));
	memset(k->images, 0, sizeof(k->images));
}

static const struct fuzzed fuzzed = {
	.proto = &dhcp6_proto,
	.server = {16, {0x20, 1, 0xd, 0xb8, [15] = 254}},
	.exchanges = DHCP6_EXCHANGES,
	.shortest = DHCP6_HEADER_LEN + 1,
	.key_mask = 0x7fffff,
	.tick_ms = 10000,
	.counters_size = sizeof(struct dhcp_counters),
	.settings = settings,
	.compose = compose,
	.call = call,
	.check_leases = check_leases,
	.forget = forget,
};
