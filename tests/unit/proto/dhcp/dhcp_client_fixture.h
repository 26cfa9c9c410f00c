// SPDX-License-Identifier: BSD-3-Clause
// The life of a fixture of DHCP clients: the body for both families, which first define FIXTURE,
// VERB, KEY, FIRST_REPLY, LAST_REPLY, fixture_pool, fixture_send, fixture_plan and fixture_compose.
// Path: tests only.
#pragma once

#include "proto/dhcp/dhcp.h"
#include "one_message.h"
#include "proto/dhcp/client/dhcp_client_setup.h"

static inline struct VERB(worker) * worker_of(FIXTURE *f)
{
	return f->ctx.own;
}

static inline struct VERB(client) * client_of(FIXTURE *f, uint32_t client)
{
	return VERB(client_at)(worker_of(f), client);
}

static inline uint32_t held_by(FIXTURE *f, uint32_t client)
{
	return client_of(f, client)->head.holds;
}

// Adds the sections and lists that the test has filled to the settings.
static inline void fixture_link(FIXTURE *f)
{
	struct dhcp_settings *s = &f->settings.is;

	if (f->leases.save || f->leases.load)
		s->leases = &f->leases;
	if (f->fqdn.name)
		s->fqdn = &f->fqdn;
	for (uint32_t i = 0; i < DHCP_MIX_MAX; i++)
		if (f->mix.share[i] > 0)
			s->mix = &f->mix;
	s->servers = s->vlans = s->options = (struct field_list){0};
	while (f->servers[s->servers.count].addr.len)
		s->servers.count++;
	while (f->vlans[s->vlans.count].vlans.count)
		s->vlans.count++;
	while (f->options[s->options.count].code)
		s->options.count++;
	s->servers.items = f->servers;
	s->vlans.items = f->vlans;
	s->options.items = f->options;
	fixture_pool(f);
}

static inline void fixture_check(FIXTURE *f)
{
	fixture_link(f);
	dhcp_check(&VERB(family), &f->settings.is, f->diag);
}

static inline void fixture_setup(FIXTURE *f)
{
	fixture_link(f);
	f->facts = (struct proto_facts){0};
	f->env.common = f->env.common ? f->env.common : (void **)&f->common;
	f->ctx.shared = VERB(proto).setup(&f->settings, &f->env, &f->facts, f->diag);
	if (!f->ctx.shared)
		diag_print(f->diag, stderr);
	assert_non_null(f->ctx.shared);
	f->ctx.counters = &f->n;
}

static inline FIXTURE *fixture_open(FIXTURE *f)
{
	fixture_setup(f);
	f->env.threads = f->env.workers;
	assert_int_equal(dhcp_open(&f->ctx, &f->env), 0);
	return f;
}

// Makes two items of one run; the first one must be ended last.
static inline void fixture_open_both(FIXTURE *f, FIXTURE *g)
{
	f->env.name = "first";
	g->env.name = "second";
	fixture_setup(f);
	g->env.common = f->env.common;
	fixture_setup(g);
	f->env.threads = g->env.threads = 1;
	assert_int_equal(dhcp_open(&f->ctx, &f->env), 0);
	assert_int_equal(dhcp_open(&g->ctx, &g->env), 0);
}

static inline void fixture_end(FIXTURE *f)
{
	if (f->ctx.shared) {
		dhcp_close(&f->ctx);
		dhcp_teardown((void *)f->ctx.shared);
	}
	diag_free(f->diag);
	free(f);
}

// Makes clients begin only this exchange from now on, whatever the settings are.
static inline void fixture_only(FIXTURE *f, uint32_t exchange)
{
	struct dhcp_plan *p = (struct dhcp_plan *)f->ctx.shared;

	memset(p->course.mix.below, 0, sizeof(p->course.mix.below));
	p->course.mix.otherwise = exchange;
}

// Begins the next transaction. Returns false if no client can begin one.
static inline bool fixture_begin(FIXTURE *f)
{
	uint64_t seq = f->txn.seq + 1;

	f->txn = (struct proto_txn){.seq = seq};
	if (VERB(begin)(&f->ctx, &f->txn, 1) == 0)
		return false;
	f->txn.key = KEY;
	return true;
}

// Begins the next transaction and makes its first message.
static inline void fixture_next(FIXTURE *f)
{
	assert_true(fixture_begin(f));
	fixture_send(f);
}

static inline FIXTURE *fixture_start(FIXTURE *f)
{
	fixture_open(f);
	fixture_next(f);
	return f;
}

// Judges the reply in a heap block of exactly its size, so the sanitizer sees every read beyond it.
static inline enum proto_verdict fixture_verdict(FIXTURE *f)
{
	uint8_t *exact;
	enum proto_verdict v;

	fixture_compose(f);
	exact = malloc(f->reply_len);
	assert_non_null(exact);
	memcpy(exact, f->reply, f->reply_len);
	v = judge_one(&VERB(proto), &f->ctx, &f->txn, exact, f->reply_len);
	free(exact);
	return v;
}

static inline enum proto_verdict fixture_answer(FIXTURE *f, enum VERB(type) type)
{
	fixture_plan(f, type);
	return fixture_verdict(f);
}

// Checks the verdict on a reply of this type, valid except for the changes to the reply_plan `a`.
#define ANSWER(f, type, verdict, ...)                                                              \
	do {                                                                                       \
		struct reply_plan *a = &(f)->answer;                                               \
                                                                                                   \
		fixture_plan(f, type);                                                             \
		__VA_ARGS__;                                                                       \
		assert_int_equal(fixture_verdict(f), verdict);                                     \
	} while (0)

// Receives the first reply, and makes the message after it.
static inline void fixture_requesting(FIXTURE *f)
{
	assert_int_equal(fixture_answer(f, FIRST_REPLY), PROTO_AGAIN);
	fixture_send(f);
}

// Makes one exchange of four messages; the client is f->txn.user.
static inline void fixture_four_way(FIXTURE *f)
{
	fixture_next(f);
	fixture_requesting(f);
	assert_int_equal(fixture_answer(f, LAST_REPLY), PROTO_DONE);
}

// Begins this exchange with a client that has a lease, and makes its message.
static inline void fixture_bound(FIXTURE *f, uint32_t exchange)
{
	fixture_four_way(f);
	fixture_only(f, exchange);
	fixture_next(f);
}

// A client that declines its lease rests for rest_ms: no exchange begins before. The setting is
// decline_rest_ns, UINT64_MAX: auto. end: the end of the DECLINE; NULL: it has no reply.
static inline void assert_rests(uint32_t declines, bool retransmit, uint64_t decline_rest_ns,
	uint32_t rest_ms, void (*end)(FIXTURE *f))
{
	FIXTURE *f = fixture_new(1);

	f->settings.is.retransmit = retransmit ? &f->retransmit : NULL;
	f->settings.is.decline_rest_ns = decline_rest_ns;
	fixture_open(f);
	f->ctx.now_ms = 5000;
	fixture_bound(f, declines);
	if (end)
		end(f);
	fixture_only(f, DHCP_FOUR_WAY);
	f->ctx.now_ms += rest_ms - 1;
	assert_int_equal(fixture_begin(f), rest_ms == 0);
	assert_int_equal(f->n.no_free_client, rest_ms != 0);
	f->ctx.now_ms++;
	assert_int_equal(fixture_begin(f), rest_ms != 0);
	fixture_end(f);
}

static inline void assert_refused(FIXTURE *f, const char *why)
{
	fixture_check(f);
	assert_diag_has(f->diag, why);
	fixture_end(f);
}

// Checks that settings of fixture `make` with these changes are refused.
#define REFUSED(make, why, ...)                                                                    \
	do {                                                                                       \
		FIXTURE *f = make;                                                                 \
                                                                                                   \
		__VA_ARGS__;                                                                       \
		assert_refused(f, why);                                                            \
	} while (0)

static inline void assert_right(FIXTURE *f)
{
	fixture_check(f);
	assert_int_equal(diag_count(f->diag), 0);
	fixture_end(f);
}

static inline void assert_not_set_up(FIXTURE *f, const char *why)
{
	fixture_link(f);
	assert_null(dhcp_setup(&VERB(family), &f->settings.is, &f->env, f->diag));
	assert_diag_has(f->diag, why);
	fixture_end(f);
}
