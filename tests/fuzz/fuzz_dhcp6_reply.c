// SPDX-License-Identifier: BSD-3-Clause
// DHCPv6 clients with a server that says anything, at any time: the input is a series of steps
// (begin, reply, timeout, time goes by) for a few clients. Whatever happens, every client is free,
// bound or busy, and a lease is one client's. Path: tests only.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proto/dhcp/v6/dhcp6_self.h"

#define CLIENTS     5
#define TXNS        4
#define STEPS_MAX   200
#define MESSAGE_MAX 1500

enum content { HAS_SERVER_ID = 1, HAS_STATUS = 2, HAS_RAPID = 4, HAS_RAW = 8, IS_BARE = 16 };

struct flight {
	struct proto_txn txn;
	bool begun;
	uint8_t sent[MESSAGE_MAX];
	uint32_t sent_len;
};

static struct proto_ctx ctx;
static struct dhcp_common *common;
static struct dhcp6_counters counters;
static struct flight flights[TXNS];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool right)
{
	if (!right)
		abort();
}

static void start(bool relay)
{
	static uint64_t parameters[] = {23};
	static struct addr_range relays = {{16, {0x20, 1, 0xd, 0xb8, [15] = 1}}, 2};
	static struct dhcp6_relay_settings relay_settings = {.is.addresses = {&relays, 1},
		.levels = 3,
		.is.port = 547,
		.interface_id = "p{client}"};
	const struct dhcp6_tries_settings tries = {.irt_ns = 1000000000, .mrc = 2};
	struct dhcp6_retransmit_settings retransmit = {
		0.1, tries, tries, tries, tries, tries, tries, tries, tries};
	const struct dhcp6_settings s = {.is.clients = CLIENTS,
		.is.mac = {2},
		.lease = DHCP6_WANTS_BOTH,
		.addresses = 1,
		.prefixes = 2,
		.is.relay = relay ? &relay_settings.is : NULL,
		.is.parameters = {parameters, 1},
		.advertise = relay ? DHCP6_TAKES_BEST : DHCP6_TAKES_FIRST,
		.is.decline_rest_ns = 300000000000,
		.is.retransmit = &retransmit};
	struct proto_env env = {.seed = 1,
		.workers = 1,
		.addr_len = 16,
		.server = {16, {0x20, 1, 0xd, 0xb8, [15] = 254}},
		.server_port = 547,
		.rate = 1};
	struct diag *d = diag_new();

	log_set_level(LOG_QUIET);
	ctx = (struct proto_ctx){.counters = &counters};
	ctx.shared = dhcp6_setup(&s, &env, d);
	check(ctx.shared);
	common = dhcp_common_setup(&(void *){(void *)ctx.shared}, 1, 1);
	env.common = common;
	check(common && dhcp_open(&ctx, &env) == 0);
	diag_free(d);
	memset(flights, 0, sizeof(flights));
}

static void send(struct flight *f)
{
	struct proto_flow flow;
	struct proto_layout layout;

	dhcp_layout(ctx.shared, &layout);
	dhcp6_flow(&ctx, &f->txn, &flow);
	check(flow.path < layout.paths.count);
	f->sent_len = dhcp6_request(&ctx, &f->txn, f->sent, sizeof(f->sent));
	check(f->sent_len > DHCP6_HEADER_LEN && f->txn.wait <= layout.waits.count);
}

static void begin(struct flight *f, uint8_t exchange)
{
	struct dhcp6_plan *p = (struct dhcp6_plan *)ctx.shared;
	static uint32_t key;

	if (f->begun && !f->txn.over)
		return;
	memset(p->is.course.mix.below, 0, sizeof(p->is.course.mix.below));
	p->is.course.mix.otherwise = (enum dhcp6_exchange)(exchange % DHCP6_EXCHANGES);
	f->txn = (struct proto_txn){.key = ++key & 0x7fffff};
	f->begun = dhcp6_begin(&ctx, &f->txn);
	if (f->begun)
		send(f);
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
	for (uint32_t i = 0; i < asked->ia_count && !(has & IS_BARE); i++)
		compose_ia(&asked->ias[i], r, w);
	if (has & HAS_RAW) {
		uint8_t len = read_u8(r);
		const uint8_t *raw = read_bytes(r, len);

		if (raw)
			write_bytes(w, raw, len);
	}
}

static uint32_t compose(const struct flight *f, struct reader *r, uint8_t *buf)
{
	struct writer w = writer_of(buf, MESSAGE_MAX);
	uint8_t *inside[DHCP6_LEVELS_MAX];
	struct dhcp6_envelope e;
	struct dhcp6_message asked;

	check(dhcp6_unwrap(f->sent, f->sent_len, &e));
	check(dhcp6_parse(e.inner, e.inner_len, &asked));
	for (uint32_t i = 0; i < e.levels; i++) {
		const struct dhcp6_relay *l = &e.relays[i];

		dhcp6_write_relay(&w, DHCP6_RELAY_REPL, l->hop_count, l->link, l->peer);
		if (l->interface_id.data)
			dhcp6_write_option(&w, DHCP6_OPT_INTERFACE_ID, l->interface_id.data,
				l->interface_id.len);
		inside[i] = dhcp6_option_begin(&w, DHCP6_OPT_RELAY_MESSAGE);
	}
	compose_inner(&asked, r, &w);
	for (uint32_t i = e.levels; i-- > 0;)
		dhcp6_option_end(&w, inside[i]);
	return (uint32_t)(w.at - buf);
}

static void reply(struct flight *f, struct reader *r)
{
	uint8_t buf[MESSAGE_MAX], *exact;
	uint32_t len;

	if (!f->begun)
		return;
	len = compose(f, r, buf);
	exact = malloc(len);
	check(exact);
	memcpy(exact, buf, len);
	switch (dhcp6_reply(&ctx, &f->txn, exact, len)) {
	case PROTO_AGAIN:
		check(!f->txn.over);
		send(f);
		break;
	case PROTO_DONE:
	case PROTO_FAIL:
		f->txn.over = true;
		break;
	case PROTO_STRAY:
	case PROTO_MALFORMED:
	case PROTO_KEPT:
	case PROTO_DUPLICATE:
		break;
	}
	free(exact);
}

static void timeout(struct flight *f, bool over)
{
	if (!f->begun || f->txn.over)
		return;
	f->txn.over = over;
	if (dhcp6_timeout(&ctx, &f->txn) == PROTO_AGAIN)
		send(f);
	else
		f->txn.over = true;
}

static void check_leases(const struct dhcp6_worker *w, uint32_t client, uint32_t now_s)
{
	const struct dhcp6_plan *p = ctx.shared;
	const struct dhcp_client *k = dhcp_client_at(&w->is.work.clients, client);

	if (!k->holds || dhcp_client_expired(k, now_s))
		return;
	for (uint32_t i = 0; i < p->is.addresses; i++) {
		uint32_t lease = dhcp_lease_of(&p->is, &w->is, client) + i;
		struct dhcp_key key;

		dhcp_lease_get(&common->leases, lease, &key);
		check(dhcp_leases_find(&common->leases, key.bytes, now_s) == lease);
	}
}

static void check_clients(void)
{
	const struct dhcp6_worker *w = ctx.own;
	const struct dhcp_ring *rings = w->is.work.clients.rings;
	uint32_t busy = 0, open = 0, now_s = ctx.now_ms / 1000;

	for (uint32_t i = 0; i < CLIENTS; i++) {
		const struct dhcp_client *k = dhcp_client_at(&w->is.work.clients, i);

		busy += k->state == DHCP_IS_BUSY;
		check(!k->holds || k->state != DHCP_IS_FREE);
		check_leases(w, i, now_s);
	}
	for (uint32_t i = 0; i < TXNS; i++)
		open += flights[i].begun && !flights[i].txn.over;
	check(busy == open);
	check(rings[0].count + rings[1].count + rings[2].count + busy == CLIENTS);
}

static void step(struct reader *r)
{
	uint8_t what = read_u8(r);
	struct flight *f = &flights[what >> 3 & (TXNS - 1)];

	switch (what & 7) {
	case 0:
	case 1:
		begin(f, read_u8(r));
		break;
	case 2:
		timeout(f, what >> 7);
		break;
	case 3:
		ctx.now_ms += read_u8(r) * 10000u;
		break;
	default:
		reply(f, r);
		break;
	}
	check_clients();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r = reader_of(data, size);

	start(size & 1);
	for (int i = 0; i < STEPS_MAX && reader_left(&r) > 0; i++)
		step(&r);
	dhcp_close(&ctx);
	dhcp_common_teardown(common);
	dhcp_teardown((void *)ctx.shared);
	return 0;
}
