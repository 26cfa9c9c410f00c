// SPDX-License-Identifier: BSD-3-Clause
// DHCP clients with a server that says anything, at any time: the input is a series of steps
// (begin, reply, timeout, time goes by) for a few clients. Whatever happens, every client is free,
// bound or busy, and a lease is one client's. The body for both families: a target gives its
// settings, its replies and a check of one client. Path: tests only.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/log.h"
#include "net/csum.h"
#include "proto/dhcp/client/dhcp_client.h"

#define CLIENTS     5
#define TXNS        4
#define STEPS_MAX   200
#define MESSAGE_MAX 1500

struct flight {
	struct proto_txn txn;
	bool begun;
	uint8_t sent[MESSAGE_MAX];
	uint32_t sent_len;
};

// A family under test.
struct fuzzed {
	const struct proto *proto;
	struct addr server;
	uint32_t exchanges, shortest; // message, in bytes
	uint32_t key_mask, tick_ms;
	bool summed; // messages come with their sum
	void *counters;
	const void *(*settings)(bool relay);
	// A reply to what the flight has sent, from the next bytes of the input.
	void (*compose)(const struct flight *f, struct reader *r, struct writer *w);
	// A client holds its leases, which have not run out.
	void (*check_leases)(const struct dhcp_worker *w, uint32_t client, uint32_t now_s);
};

static const struct fuzzed fuzzed;
static struct proto_ctx ctx;
static struct dhcp_common *common;
static struct flight flights[TXNS];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool right)
{
	if (!right)
		abort();
}

static void start(bool relay)
{
	struct proto_env env = {.seed = 1,
		.workers = 1,
		.addr_len = fuzzed.server.len,
		.server = fuzzed.server,
		.server_port = fuzzed.proto->default_port,
		.rate = 1};
	struct diag *d = diag_new();

	log_set_level(LOG_QUIET);
	ctx = (struct proto_ctx){.counters = fuzzed.counters};
	ctx.shared = fuzzed.proto->setup(fuzzed.settings(relay), &env, d);
	check(ctx.shared);
	common = dhcp_common_setup(&(void *){(void *)ctx.shared}, 1, 1);
	env.common = common;
	check(common && dhcp_open(&ctx, &env) == 0);
	diag_free(d);
	memset(flights, 0, sizeof(flights));
}

static void send(struct flight *f)
{
	const struct proto *p = fuzzed.proto;
	struct proto_flow flow;
	struct proto_layout layout;

	dhcp_layout(ctx.shared, &layout);
	p->router->flow(&ctx, &f->txn, &flow);
	check(flow.path < layout.paths.count);
	f->sent_len = p->request(&ctx, &f->txn, f->sent, sizeof(f->sent));
	check(f->sent_len >= fuzzed.shortest && f->txn.wait <= layout.waits.count);
	if (fuzzed.summed)
		check(csum_fold(ctx.sum) == csum_fold(csum_add(0, f->sent, f->sent_len)));
	if (f->txn.silent)
		f->txn.over = true;
}

static void begin(struct flight *f, uint8_t exchange)
{
	struct dhcp_plan *p = (struct dhcp_plan *)ctx.shared;
	static uint32_t key;

	if (f->begun && !f->txn.over)
		return;
	memset(p->course.mix.below, 0, sizeof(p->course.mix.below));
	p->course.mix.otherwise = exchange % fuzzed.exchanges;
	f->txn = (struct proto_txn){.key = ++key & fuzzed.key_mask};
	f->begun = fuzzed.proto->router->begin(&ctx, &f->txn);
	if (f->begun)
		send(f);
}

static void reply(struct flight *f, struct reader *r)
{
	uint8_t buf[MESSAGE_MAX], *exact;
	struct writer w = writer_of(buf, sizeof(buf));
	uint32_t len;

	if (!f->begun)
		return;
	fuzzed.compose(f, r, &w);
	len = (uint32_t)(w.at - buf);
	exact = malloc(len);
	check(exact);
	memcpy(exact, buf, len);
	switch (fuzzed.proto->reply(&ctx, &f->txn, exact, len)) {
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
	if (fuzzed.proto->timeout(&ctx, &f->txn) == PROTO_AGAIN)
		send(f);
	else
		f->txn.over = true;
}

static void check_clients(void)
{
	const struct dhcp_worker *w = ctx.own;
	const struct dhcp_ring *rings = w->work.clients.rings;
	uint32_t busy = 0, open = 0, now_s = ctx.now_ms / 1000;

	for (uint32_t i = 0; i < CLIENTS; i++) {
		const struct dhcp_client *k = dhcp_client_at(&w->work.clients, i);

		busy += k->state == DHCP_IS_BUSY;
		check(!k->holds || k->state != DHCP_IS_FREE);
		if (k->holds && !dhcp_client_expired(k, now_s))
			fuzzed.check_leases(w, i, now_s);
	}
	for (uint32_t i = 0; i < TXNS; i++)
		open += flights[i].begun && !flights[i].txn.over;
	check(busy == open);
	check(rings[0].count + rings[1].count + rings[2].count + busy == CLIENTS);
}

static void step(struct reader *r)
{
	uint8_t kind = read_u8(r);
	struct flight *f = &flights[kind >> 3 & (TXNS - 1)];

	switch (kind & 7) {
	case 0:
	case 1:
		begin(f, read_u8(r));
		break;
	case 2:
		timeout(f, kind >> 7);
		break;
	case 3:
		ctx.now_ms += read_u8(r) * fuzzed.tick_ms;
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
