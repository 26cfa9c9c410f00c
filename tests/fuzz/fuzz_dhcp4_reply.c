// SPDX-License-Identifier: BSD-3-Clause
// DHCPv4 clients with a server that says anything, at any time: the input is a series of steps
// (begin, reply, timeout, time goes by) for a few clients. Whatever happens, every client is free,
// bound or busy, and an address is one client's. Path: tests only.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "net/csum.h"
#include "proto/dhcp/v4/dhcp4_self.h"

#define CLIENTS     5
#define TXNS        4
#define STEPS_MAX   200
#define MESSAGE_MAX 1500
#define POOL        0x0a000000u
#define SERVER_ID   0x0a0000feu

enum content { HAS_SERVER_ID = 1, HAS_TIMES = 2, HAS_ECHO = 4, HAS_RAPID = 8, HAS_RAW = 16 };

struct flight {
	struct proto_txn txn;
	bool begun;
	uint8_t sent[MESSAGE_MAX];
	uint32_t sent_len;
};

static struct proto_ctx ctx;
static struct dhcp_common *common;
static struct dhcp4_counters counters;
static struct flight flights[TXNS];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool right)
{
	if (!right)
		abort();
}

static void start(bool relay)
{
	static uint64_t parameters[] = {1, 3};
	static struct addr_range relays = {{4, {10, 1, 0, 1}}, 2};
	static struct dhcp4_relay_settings relay_settings = {
		.is.addresses = {&relays, 1}, .hops = 1, .is.port = 67, .circuit_id = "p{client}"};
	static struct dhcp4_retransmit_settings retransmit = {4000000000, 2, 1000000000, 2};
	static struct dhcp_mix_settings mix = {.share[DHCP4_RENEW] = 0.5}; // paths to servers
	const struct dhcp4_settings s = {.is.clients = CLIENTS,
		.is.mix = &mix,
		.is.mac = {2},
		.htype = DHCP4_HTYPE_ETHERNET,
		.client_id = DHCP4_ID_DUID,
		.is.relay = relay ? &relay_settings.is : NULL,
		.is.parameters = {parameters, 2},
		.is.retransmit = &retransmit,
		.is.decline_rest_ns = UINT64_MAX,
		.pad = 300};
	struct proto_env env = {.seed = 1,
		.workers = 1,
		.addr_len = 4,
		.server = {4, {10, 0, 0, 254}},
		.server_port = 67,
		.rate = 1};
	struct diag *d = diag_new();

	log_set_level(LOG_QUIET);
	ctx = (struct proto_ctx){.counters = &counters};
	ctx.shared = dhcp4_setup(&s, &env, d);
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
	dhcp4_flow(&ctx, &f->txn, &flow);
	check(flow.path < layout.paths.count);
	f->sent_len = dhcp4_request(&ctx, &f->txn, f->sent, sizeof(f->sent));
	check(f->sent_len >= 300 && f->txn.wait <= layout.waits.count);
	check(csum_fold(f->txn.sum) == csum_fold(csum_add(0, f->sent, f->sent_len)));
	if (f->txn.silent)
		f->txn.over = true;
}

static void begin(struct flight *f, uint8_t exchange)
{
	struct dhcp4_plan *p = (struct dhcp4_plan *)ctx.shared;
	static uint32_t key;

	if (f->begun && !f->txn.over)
		return;
	memset(p->is.course.mix.below, 0, sizeof(p->is.course.mix.below));
	p->is.course.mix.otherwise = (enum dhcp4_exchange)(exchange % DHCP4_EXCHANGES);
	f->txn = (struct proto_txn){.key = ++key};
	f->begun = dhcp4_begin(&ctx, &f->txn);
	if (f->begun)
		send(f);
}

static void echo(const struct flight *f, struct writer *w, uint8_t code)
{
	uint32_t at = dhcp4_find_option(f->sent, f->sent_len, code);

	if (at)
		write_bytes(w, f->sent + at, f->sent[at + 1] + 2u);
}

static void compose(const struct flight *f, struct reader *r, struct writer *w)
{
	uint8_t type = read_u8(r), has = read_u8(r), address = read_u8(r);
	uint8_t *h = write_space(w, DHCP4_OPTIONS_AT);

	memcpy(h, f->sent, DHCP4_OPTIONS_AT);
	h[DHCP4_AT_OP] = DHCP4_REPLY_OP;
	dhcp4_put32(h + DHCP4_AT_YIADDR, address ? POOL + address % 8 : 0);
	dhcp4_write_option_u8(w, DHCP4_OPT_TYPE, type % 16);
	if (has & HAS_SERVER_ID)
		dhcp4_write_option_be32(w, DHCP4_OPT_SERVER_ID, SERVER_ID);
	if (has & HAS_TIMES)
		dhcp4_write_option_be32(w, DHCP4_OPT_LEASE_TIME, address * 100u);
	if (has & HAS_ECHO)
		echo(f, w, DHCP4_OPT_CLIENT_ID);
	if (has & HAS_RAPID)
		dhcp4_write_option(w, DHCP4_OPT_RAPID_COMMIT, "", 0);
	if (has & HAS_ECHO)
		echo(f, w, DHCP4_OPT_RELAY_INFO);
	if (has & HAS_RAW) {
		uint8_t len = read_u8(r);
		const uint8_t *raw = read_bytes(r, len);

		if (raw)
			write_bytes(w, raw, len);
	}
	write_u8(w, DHCP4_OPT_END);
}

static void reply(struct flight *f, struct reader *r)
{
	uint8_t buf[MESSAGE_MAX], *exact;
	struct writer w = writer_of(buf, sizeof(buf));
	size_t len;

	if (!f->begun)
		return;
	compose(f, r, &w);
	len = (size_t)(w.at - buf);
	exact = malloc(len);
	check(exact);
	memcpy(exact, buf, len);
	switch (dhcp4_reply(&ctx, &f->txn, exact, (uint32_t)len)) {
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
	if (dhcp4_timeout(&ctx, &f->txn) == PROTO_AGAIN)
		send(f);
	else
		f->txn.over = true;
}

static void check_clients(void)
{
	const struct dhcp4_worker *w = ctx.own;
	const struct dhcp_ring *rings = w->is.work.clients.rings;
	uint32_t busy = 0, open = 0, now_s = ctx.now_ms / 1000;

	for (uint32_t i = 0; i < CLIENTS; i++) {
		const struct dhcp4_client *k = dhcp4_client_at(w, i);

		busy += k->head.state == DHCP_IS_BUSY;
		check(k->head.holds == (k->address != 0));
		check(!k->address || dhcp_client_expired(&k->head, now_s) ||
			dhcp_holders_find(&common->leases.holders, dhcp4_held(k->address), now_s) ==
				i);
		check(!k->address || k->head.state != DHCP_IS_FREE);
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
		ctx.now_ms += read_u8(r) * 100000u;
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
