// SPDX-License-Identifier: BSD-3-Clause
// A reply recognised as usual is judged like any other one: two workers get identical replies,
// valid ones and every small mistake, and one of them recognises none. The body for both families,
// over the fixture of a family. Path: tests only.
// The family defines before:
//   FOUR_WAY: the exchange that teaches the replies
//   SERVER_OF(f): address that replies come from
//   ENDS_OTHER: an octet of ends_src or ends_dst that is read, besides the last of ends_dst
// and after it the functions declared first.
#pragma once

#include "proto/dhcp/dhcp.h"
#include "one_message.h"

#define CLIENTS 3

// A message that a client gets a reply to, and the course up to it.
struct course {
	const char *name;
	uint32_t exchange;
	bool second; // the reply to the message after the first reply
	enum VERB(type) type;
	FIXTURE *(*make)(uint32_t clients);
	bool ends; // it is known how replies come
};

// Returns the n-th course; NULL: there are no more.
static const struct course *course_nth(uint32_t n);
// Makes the worker forget all usual replies.
static void forget(FIXTURE *f);
// Checks the rest of the state of two workers for equality.
static void assert_same_more(FIXTURE *f, FIXTURE *g);
// Is this octet of a reply read at all?
static bool is_read(uint32_t at);

static struct proto_ends ends;
static uint8_t ends_src[16], ends_dst[16];

// Sets the ends of a reply: a client without an address is reached by broadcast.
static void ends_set(const FIXTURE *f)
{
	static const uint8_t nobody[16];
	const struct VERB(plan) *p = f->ctx.shared;
	const struct addr server = SERVER_OF(f);
	struct proto_flow flow;

	flow_one(&VERB(proto), (struct proto_ctx *)&f->ctx, &f->txn, &flow);
	memcpy(ends_src, server.bytes, server.len);
	memcpy(ends_dst, flow.src, server.len);
	if (memcmp(ends_dst, nobody, server.len) == 0)
		memset(ends_dst, 0xff, server.len);
	ends = (struct proto_ends){.src = ends_src,
		.dst = ends_dst,
		.addr_len = server.len,
		.src_port = p->is.server_port,
		.dst_port = flow.src_port};
}

// Makes a course up to a valid reply, which is composed. Client 0 has taught the replies.
static FIXTURE *course_begin(const struct course *c)
{
	FIXTURE *f = c->make(CLIENTS);

	fixture_open(f);
	fixture_only(f, FOUR_WAY);
	fixture_four_way(f);
	fixture_only(f, c->exchange);
	fixture_next(f);
	if (c->second)
		fixture_requesting(f);
	if (c->ends)
		ends_set(f);
	f->ctx.ends = c->ends ? &ends : NULL;
	fixture_plan(f, c->type);
	fixture_compose(f);
	return f;
}

static bool is_usual(FIXTURE *f)
{
	struct proto_message in = {.buf = f->reply, .len = f->reply_len, .ends = f->ctx.ends};
	struct VERB(heard) h;
	bool usual = VERB(is_usual)(&f->ctx, &f->txn, &in, &h.is);
	const struct dhcp_counters once = f->n;
	uint8_t *frame;

	if (!in.ends || in.ends->vlan_count)
		return usual;
	in = plain_message(in.ends, f->reply, f->reply_len, &frame);
	assert_int_equal(VERB(is_usual)(&f->ctx, &f->txn, &in, &h.is), usual);
	f->n = once; // of the first call
	free(frame);
	return usual;
}

// plain: in a plain frame, if it is known how the reply came.
static enum proto_verdict heard(FIXTURE *f, bool plain)
{
	const struct proto *p = &VERB(proto);
	uint8_t *exact = malloc(f->reply_len);
	enum proto_verdict v;

	assert_non_null(exact);
	memcpy(exact, f->reply, f->reply_len);
	v = plain ? judge_plain(p, &f->ctx, &f->txn, exact, f->reply_len)
	          : judge_one(p, &f->ctx, &f->txn, exact, f->reply_len);
	free(exact);
	return v;
}

static void assert_same(FIXTURE *f, FIXTURE *g)
{
	assert_memory_equal(&f->n, &g->n, sizeof(f->n));
	assert_int_equal(f->txn.step, g->txn.step);
	assert_int_equal(f->txn.tries, g->txn.tries);
	assert_memory_equal(
		client_of(f, 0), client_of(g, 0), CLIENTS * sizeof(struct VERB(client)));
	assert_int_equal(worker_of(f)->is.heard, worker_of(g)->is.heard);
	assert_same_more(f, g);
}

// The reply, with one byte changed, to a worker that knows it as usual and to one that does not.
static void mistake_try(const struct course *c, uint32_t at, uint8_t change)
{
	FIXTURE *f = course_begin(c), *g = course_begin(c);
	enum proto_verdict v, w;

	f->reply[at] ^= change;
	g->reply[at] ^= change;
	v = heard(f, true);
	forget(g);
	w = heard(g, false);
	if (v != w)
		print_error("%s: byte %u ^ %u: %d, not %d\n", c->name, at, change, v, w);
	assert_int_equal(v, w);
	assert_same(f, g);
	fixture_end(f);
	fixture_end(g);
}

static void a_right_reply_is_usual_when_one_came_before(void **state)
{
	const struct course *c;

	for (uint32_t i = 0; (c = course_nth(i)); i++) {
		FIXTURE *f = course_begin(c);

		if (!is_usual(f))
			print_error("%s\n", c->name);
		assert_true(is_usual(f));
		forget(f);
		assert_false(is_usual(f));
		fixture_end(f);
	}
}

static void each_mistake_is_judged_as_if_none_came_before(void **state)
{
	static const uint8_t changes[] = {0x00, 0x01, 0x07, 0x80, 0xff};
	const struct course *c;

	for (uint32_t i = 0; (c = course_nth(i)); i++) {
		FIXTURE *f = course_begin(c);
		uint32_t len = f->reply_len;

		fixture_end(f);
		for (uint32_t at = 0; at < len; at++)
			for (uint32_t k = 0; k < sizeof(changes) && is_read(at); k++)
				mistake_try(c, at, changes[k]);
	}
}

static void a_reply_that_ends_too_early_is_not_usual(void **state)
{
	FIXTURE *f = course_begin(course_nth(0));
	uint32_t len = f->reply_len;

	for (f->reply_len = len - 1; f->reply_len > 0; f->reply_len--)
		assert_false(is_usual(f));
	f->reply_len = len;
	assert_true(is_usual(f));
	fixture_end(f);
}

// Each way in which the ends of a reply can be wrong.
static void ends_spoil(uint32_t how)
{
	static const uint16_t vlans[] = {7};

	switch (how) {
	case 0:
		ENDS_OTHER ^= 1;
		return;
	case 1:
		ends_dst[ends.addr_len - 1] ^= 1;
		return;
	case 2:
		ends.src_port++;
		return;
	case 3:
		ends.dst_port ^= 1;
		return;
	case 4:
		ends.vlans = vlans;
		ends.vlan_count = 1;
		return;
	default:
		ends.addr_len ^= 4 ^ 16;
		return;
	}
}

static void a_reply_that_came_another_way_is_judged_as_if_none_came_before(void **state)
{
	for (uint32_t i = 0; i < 4; i++) {
		for (uint32_t how = 0; how < 6; how++) {
			const struct course *c = course_nth(i);
			FIXTURE *f = course_begin(c), *g = course_begin(c);

			assert_true(is_usual(f));
			ends_spoil(how);
			forget(g);
			assert_true(how == 0 || !is_usual(f));
			assert_int_equal(heard(f, true), heard(g, false));
			assert_same(f, g);
			if (how == 2) // the port alone does not matter
				assert_int_equal(f->n.other_source, 1);
			fixture_end(f);
			fixture_end(g);
		}
	}
}
