// SPDX-License-Identifier: BSD-3-Clause
// DHCP clients with a server that says anything, at any time: the input is a series of steps
// (begin, reply, timeout, time goes by) for a few clients. Whatever happens, every client is free,
// bound or busy, and a lease is one client's. Two workers get the same input, and one of them
// forgets what it knows of earlier messages before each step, has no short way to write one, and
// does not get replies in plain frames: both do the same. The body for both families: a target
// gives its settings, its replies and a check of one client. Path: tests only.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/one_message.h"
#include "base/bytes.h"
#include "base/log.h"
#include "net/csum.h"
#include "proto/dhcp/client/dhcp_client_setup.h"

#define CLIENTS     5
#define TXNS        4
#define STEPS_MAX   200
#define MESSAGE_MAX 1500

struct flight {
	struct proto_txn txn;
	struct proto_flow flow; // of the last message
	bool begun;
	uint8_t sent[MESSAGE_MAX];
	uint32_t sent_len;
};

struct side;

// A family under test.
struct fuzzed {
	const struct proto *proto;
	struct addr server;
	uint32_t exchanges, shortest; // message, in bytes
	uint32_t key_mask, tick_ms;
	bool summed; // messages come with their sum
	size_t counters_size;
	const void *(*settings)(bool relay, bool usual, bool living);
	// A reply to what the flight has sent, from the next bytes of the input.
	void (*compose)(const struct flight *f, struct reader *r, struct writer *w);
	// The server calls on the client of the flight. NULL: no server does.
	void (*call)(struct side *d, const struct flight *f, struct reader *r);
	// A client holds its leases, which have not run out.
	void (*check_leases)(const struct dhcp_worker *w, uint32_t client, uint32_t now_s);
	// The worker forgets which messages it has seen.
	void (*forget)(struct dhcp_worker *w);
	// Messages are written the long way. NULL: those of a worker that has forgotten are.
	void (*slow)(struct dhcp_plan *p);
};

#define COUNTERS_MAX 8192

struct side {
	struct proto_ctx ctx;
	void *common;
	struct flight flights[TXNS];
	bool slow; // the worker that forgets
	uint8_t counters[COUNTERS_MAX] __attribute__((aligned(8)));
};

static const struct fuzzed fuzzed;
static struct side sides[2];
static uint32_t last_key;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool right)
{
	if (!right)
		abort();
}

static void start(struct side *d, bool slow, bool relay, bool usual, bool living)
{
	struct proto_env env = {.seed = 1,
		.workers = 1,
		.addr_len = fuzzed.server.len,
		.server = fuzzed.server,
		.server_port = fuzzed.proto->ports->plain,
		.rate = 1,
		.threads = 1,
		.common = &d->common};
	struct diag *diag = diag_new();
	struct proto_facts facts = {0};

	log_set_level(LOG_QUIET);
	memset(d, 0, sizeof(*d));
	d->ctx.counters = d->counters;
	d->ctx.shared = fuzzed.proto->setup(
		fuzzed.settings(relay, usual, living && fuzzed.call), &env, &facts, diag);
	check(d->ctx.shared && fuzzed.counters_size <= sizeof(d->counters));
	check(dhcp_open(&d->ctx, &env) == 0);
	diag_free(diag);
	d->slow = slow;
	if (slow && fuzzed.slow)
		fuzzed.slow((struct dhcp_plan *)d->ctx.shared);
}

static void send(struct side *d, struct flight *f)
{
	const struct proto *p = fuzzed.proto;
	const struct proto_layout layout = ((const struct dhcp_plan *)d->ctx.shared)->layout;
	struct proto_txn *txn = &f->txn;
	struct proto_out out = {.buf = f->sent};

	p->request(&d->ctx, &txn, &f->flow, &out, 1, sizeof(f->sent));
	check(f->flow.path < layout.paths.count);
	d->ctx.sum = out.sum;
	f->sent_len = out.len;
	check(f->sent_len >= fuzzed.shortest && f->txn.wait <= layout.waits.count);
	if (d->ctx.sum ||
		(fuzzed.summed && !((const struct dhcp_plan *)d->ctx.shared)->wrong.steps))
		check(csum_fold(d->ctx.sum) == csum_fold(csum_add(0, f->sent, f->sent_len)));
	if (f->txn.silent)
		f->txn.over = true;
}

static void begin(struct side *d, struct flight *f, uint8_t exchange)
{
	struct dhcp_plan *p = (struct dhcp_plan *)d->ctx.shared;

	if (f->begun && !f->txn.over)
		return;
	memset(p->course.mix.below, 0, sizeof(p->course.mix.below));
	// The last one, lease queries, is a relay's.
	p->course.mix.otherwise = exchange % (fuzzed.exchanges - !p->relays);
	last_key++;
	f->txn = (struct proto_txn){.seq = last_key, .key = last_key & fuzzed.key_mask};
	f->begun = fuzzed.proto->begin(&d->ctx, &f->txn, 1) == 1;
	if (f->begun)
		send(d, f);
}

enum way { WAY_UNKNOWN, WAY_RIGHT, WAY_OTHER_ADDRESS, WAY_OTHER_PORT };

// The verdict on a reply that came this way: in a plain frame, or not.
static enum proto_verdict judge(
	struct side *d, struct flight *f, enum way way, const uint8_t *buf, uint32_t len)
{
	struct proto_ends ends = {.src = fuzzed.server.bytes,
		.addr_len = fuzzed.server.len,
		.src_port = fuzzed.proto->ports->plain,
		.dst_port = f->flow.src_port};
	enum proto_verdict verdict;
	uint8_t to[16];

	memcpy(to, f->flow.src, sizeof(to));
	if (((const struct dhcp_plan *)d->ctx.shared)->relays == NULL && ends.addr_len == 4)
		memset(to, 0xff, 4);
	to[ends.addr_len - 1] ^= way == WAY_OTHER_ADDRESS;
	ends.dst_port ^= way == WAY_OTHER_PORT;
	ends.dst = to;
	d->ctx.ends = way == WAY_UNKNOWN ? NULL : &ends;
	verdict = d->slow ? judge_one(fuzzed.proto, &d->ctx, &f->txn, buf, len)
	                  : judge_plain(fuzzed.proto, &d->ctx, &f->txn, buf, len);
	d->ctx.ends = NULL;
	proto_notes_clear(&d->ctx);
	return verdict;
}

static void reply(struct side *d, struct flight *f, enum way way, struct reader *r)
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
	switch (judge(d, f, way, exact, len)) {
	case PROTO_AGAIN:
		check(!f->txn.over);
		send(d, f);
		break;
	case PROTO_DONE:
	case PROTO_FAIL:
	case PROTO_APART:
		f->txn.over = true;
		break;
	case PROTO_STRAY:
	case PROTO_MALFORMED:
	case PROTO_KEPT:
	case PROTO_DUPLICATE:
		break;
	case PROTO_STREAM:
		check(false);
	}
	free(exact);
}

static void timeout(struct side *d, struct flight *f, bool over)
{
	if (!f->begun || f->txn.over)
		return;
	f->txn.over = over;
	if (fuzzed.proto->timeout(&d->ctx, &f->txn) == PROTO_AGAIN)
		send(d, f);
	else
		f->txn.over = true;
}

static void check_clients(const struct side *d)
{
	const struct dhcp_worker *w = d->ctx.own;
	const struct dhcp_ring *rings = w->work.clients.rings;
	uint32_t busy = 0, open = 0, called = 0, now_s = d->ctx.now_ms / 1000;

	for (uint32_t i = 0; i < CLIENTS; i++) {
		const struct dhcp_client *k = dhcp_client_at(&w->work.clients, i);

		busy += k->state == DHCP_IS_BUSY;
		check(!k->holds || k->state != DHCP_IS_FREE);
		if (k->holds && !dhcp_client_expired(k, now_s))
			fuzzed.check_leases(w, i, now_s);
	}
	for (uint32_t i = 0; i < TXNS; i++)
		open += d->flights[i].begun && !d->flights[i].txn.over;
	for (uint32_t i = w->work.life.of ? w->work.life.called_first : DHCP_NOBODY;
		i != DHCP_NOBODY; i = w->work.life.of[i].next)
		called++;
	check(busy == open + called);
	check(w->work.life.of ||
		rings[0].count + rings[1].count + rings[2].count + busy == CLIENTS);
}

// Both sides have come to the same.
static void check_same(void)
{
	const struct side *a = &sides[0], *b = &sides[1];
	const struct dhcp_worker *v = a->ctx.own, *w = b->ctx.own;

	check(memcmp(a->counters, b->counters, sizeof(a->counters)) == 0);
	for (uint32_t i = 0; i < TXNS; i++) {
		const struct flight *f = &a->flights[i], *g = &b->flights[i];

		check(f->txn.step == g->txn.step && f->txn.tries == g->txn.tries &&
			f->txn.over == g->txn.over && f->sent_len == g->sent_len &&
			memcmp(f->sent, g->sent, f->sent_len) == 0);
	}
	check(memcmp(v->work.clients.items, w->work.clients.items,
		      (size_t)CLIENTS << v->work.clients.shift) == 0);
	check(memcmp(v->common->leases.holders.cells, w->common->leases.holders.cells,
		      (v->common->leases.holders.line_mask + 1ull) * DHCP_HOLDERS_LINE * 8) == 0);
}

static void step(struct side *d, struct reader *r)
{
	uint8_t kind = read_u8(r);
	struct flight *f = &d->flights[kind >> 3 & (TXNS - 1)];
	enum way way = kind >> 5 & 3;

	switch (kind & 7) {
	case 0:
	case 1:
		begin(d, f, read_u8(r));
		break;
	case 2:
		timeout(d, f, kind >> 7);
		break;
	case 3:
		d->ctx.now_ms += read_u8(r) * fuzzed.tick_ms;
		break;
	case 7:
		if (((const struct dhcp_worker *)d->ctx.own)->work.life.of) {
			if (f->begun)
				fuzzed.call(d, f, r);
			break;
		}
		reply(d, f, way, r);
		break;
	default:
		reply(d, f, way, r);
		break;
	}
	check_clients(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r = reader_of(data, size), again;

	for (uint32_t i = 0; i < 2; i++)
		start(&sides[i], i == 1, size & 1, size & 2, (size & 12) == 12);
	last_key = 0;
	for (int i = 0; i < STEPS_MAX && reader_left(&r) > 0; i++) {
		uint32_t key = last_key;

		again = r;
		step(&sides[0], &r);
		last_key = key;
		fuzzed.forget(sides[1].ctx.own);
		step(&sides[1], &again);
		check_same();
	}
	for (uint32_t i = 0; i < 2; i++) {
		dhcp_close(&sides[i].ctx);
		dhcp_teardown((void *)sides[i].ctx.shared);
	}
	return 0;
}
