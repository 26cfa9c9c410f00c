// SPDX-License-Identifier: BSD-3-Clause
// A reply that is known as usual is judged like any other one: two workers get the same replies,
// right ones and every small mistake, and one of them knows no layout. Path: tests only.

#include "dhcp4_client_fixture.h"

#define CLIENTS 3

// One message that a client gets a reply to, and how.
struct course {
	const char *name;
	uint32_t exchange;
	bool second; // the reply to the message after the OFFER
	enum dhcp4_type type;
	struct dhcp4_fixture *(*make)(uint32_t clients);
	bool ends; // it is known how replies come
	void (*change)(struct dhcp4_fixture *f);
};

static void no_client_id(struct dhcp4_fixture *f)
{
	f->settings.client_id = DHCP4_ID_NONE;
}

static void with_pool(struct dhcp4_fixture *f)
{
	f->pool[0] = (struct addr_range){v4(POOL), 16};
}

static const struct course courses[] = {
	{"OFFER", DHCP4_DORA, false, DHCP4_OFFER, fixture_relay, true, NULL},
	{"ACK", DHCP4_DORA, true, DHCP4_ACK, fixture_relay, true, NULL},
	{"OFFER on the link", DHCP4_DORA, false, DHCP4_OFFER, fixture_new, true, NULL},
	{"ACK on the link", DHCP4_DORA, true, DHCP4_ACK, fixture_new, true, with_pool},
	{"OFFER without identifier", DHCP4_DORA, false, DHCP4_OFFER, fixture_new, false,
		no_client_id},
	{"last OFFER", DHCP_TWO_WAY, false, DHCP4_OFFER, fixture_new, false, NULL},
	{"ACK of RENEW", DHCP4_RENEW, false, DHCP4_ACK, fixture_relay, true, NULL},
	{"ACK of REBIND", DHCP4_REBIND, false, DHCP4_ACK, fixture_new, true, NULL},
	{"ACK of REBOOT", DHCP4_REBOOT, false, DHCP4_ACK, fixture_relay, false, NULL},
};

#define COURSES (sizeof(courses) / sizeof(courses[0]))

static struct proto_ends ends;
static uint8_t ends_src[4], ends_dst[4];

// As the reply to the last message comes.
static void ends_set(const struct dhcp4_fixture *f)
{
	const struct dhcp4_plan *p = f->ctx.shared;
	struct proto_flow flow;

	dhcp4_flow((struct proto_ctx *)&f->ctx, &f->txn, &flow);
	memcpy(ends_src, v4(SERVER_ID).bytes, 4);
	memcpy(ends_dst, flow.src, 4);
	if (bytes_be32(ends_dst) == 0)
		memset(ends_dst, 0xff, 4);
	ends = (struct proto_ends){.src = ends_src,
		.dst = ends_dst,
		.addr_len = 4,
		.src_port = p->is.server_port,
		.dst_port = flow.src_port};
}

// Up to a right reply to the course's message, which is composed. Client 0 has taught the layout.
static struct dhcp4_fixture *course_begin(const struct course *c)
{
	struct dhcp4_fixture *f = c->make(CLIENTS);

	if (c->change)
		c->change(f);
	f->mix.share[DHCP4_RENEW] = 0.5; // so that there are paths to servers
	fixture_open(f);
	fixture_only(f, DHCP4_DORA);
	fixture_four_way(f);
	if (dhcp4_starts[c->exchange].from == DHCP_IS_FREE) {
		fixture_only(f, c->exchange);
		fixture_next(f);
		if (c->second)
			fixture_requesting(f);
	} else {
		fixture_only(f, c->exchange);
		fixture_next(f);
	}
	if (c->ends)
		ends_set(f);
	f->ctx.ends = c->ends ? &ends : NULL;
	fixture_plan(f, c->type);
	fixture_compose(f);
	return f;
}

static void forget(struct dhcp4_fixture *f)
{
	memset(&worker_of(f)->scratch.layouts, 0, sizeof(struct dhcp4_layouts));
}

static bool is_usual(struct dhcp4_fixture *f)
{
	struct dhcp4_heard h;

	return dhcp4_is_usual(&f->ctx, &f->txn, f->reply, f->reply_len, &h.is);
}

static enum proto_verdict heard(struct dhcp4_fixture *f)
{
	uint8_t *exact = malloc(f->reply_len);
	enum proto_verdict v;

	assert_non_null(exact);
	memcpy(exact, f->reply, f->reply_len);
	v = dhcp4_reply(&f->ctx, &f->txn, exact, f->reply_len);
	free(exact);
	return v;
}

static void assert_same(struct dhcp4_fixture *f, struct dhcp4_fixture *g)
{
	assert_memory_equal(&f->n, &g->n, sizeof(f->n));
	assert_int_equal(f->txn.step, g->txn.step);
	assert_int_equal(f->txn.tries, g->txn.tries);
	assert_memory_equal(
		client_of(f, 0), client_of(g, 0), CLIENTS * sizeof(struct dhcp4_client));
	assert_int_equal(worker_of(f)->is.heard, worker_of(g)->is.heard);
	for (uint32_t i = 0; i < 2 * CLIENTS; i++)
		assert_int_equal(holder_of(f, POOL + i), holder_of(g, POOL + i));
}

// The reply, with one byte changed, to a worker that knows its layout and to one that does not.
static void mistake_try(const struct course *c, uint32_t at, uint8_t change)
{
	struct dhcp4_fixture *f = course_begin(c), *g = course_begin(c);
	enum proto_verdict v, w;

	f->reply[at] ^= change;
	g->reply[at] ^= change;
	v = heard(f);
	forget(g);
	w = heard(g);
	if (v != w)
		print_error("%s: byte %u ^ %u: %d, not %d\n", c->name, at, change, v, w);
	assert_int_equal(v, w);
	assert_same(f, g);
	fixture_end(f);
	fixture_end(g);
}

static void a_right_reply_is_usual_when_its_layout_is_known(void **state)
{
	for (uint32_t i = 0; i < COURSES; i++) {
		struct dhcp4_fixture *f = course_begin(&courses[i]);

		if (!is_usual(f))
			print_error("%s\n", courses[i].name);
		assert_true(is_usual(f));
		forget(f);
		assert_false(is_usual(f));
		fixture_end(f);
	}
}

static void each_mistake_is_judged_as_without_a_known_layout(void **state)
{
	static const uint8_t changes[] = {0x00, 0x01, 0x07, 0x80, 0xff};

	for (uint32_t i = 0; i < COURSES; i++) {
		struct dhcp4_fixture *f = course_begin(&courses[i]);
		uint32_t len = f->reply_len;

		fixture_end(f);
		for (uint32_t at = 0; at < len; at++) {
			if (at > DHCP4_AT_SNAME && at < DHCP4_AT_COOKIE) // nobody looks at it
				continue;
			for (uint32_t k = 0; k < sizeof(changes); k++)
				mistake_try(&courses[i], at, changes[k]);
		}
	}
}

// The right reply with something else in it, or without something.
static void answer_change(struct dhcp4_fixture *f, uint32_t how)
{
	struct reply_plan *a = &f->answer;
	uint32_t at;

	a->server_id = how == 1 ? 0 : a->server_id;
	a->lease_time = how == 2 ? 0 : a->lease_time;
	a->t1 = how == 3 ? 0 : a->t1;
	a->t2 = how == 4 ? 0 : a->t2;
	a->echo_id = how != 5;
	a->id_more = how == 6;
	a->rapid = how == 7;
	a->message = how == 8 ? "hello" : NULL;
	a->no_end = how == 9;
	fixture_compose(f);
	at = dhcp4_find_option(f->reply, f->reply_len, DHCP4_OPT_SERVER_ID);
	if (how == 10)
		memset(f->reply + at + 2, 0, 4);
}

static void other_layouts_are_judged_as_without_a_known_one(void **state)
{
	for (uint32_t i = 0; i < COURSES; i++) {
		for (uint32_t how = 0; how <= 10; how++) {
			struct dhcp4_fixture *f = course_begin(&courses[i]);
			struct dhcp4_fixture *g = course_begin(&courses[i]);
			struct dhcp4_message m;

			answer_change(f, how);
			answer_change(g, how);
			forget(f);
			assert_true(
				dhcp4_parse(f->reply, f->reply_len, &worker_of(f)->scratch, &m));
			forget(g);
			assert_int_equal(heard(f), heard(g));
			assert_same(f, g);
			fixture_end(f);
			fixture_end(g);
		}
	}
}

static void a_reply_that_ends_too_early_is_not_usual(void **state)
{
	struct dhcp4_fixture *f = course_begin(&courses[0]);
	uint32_t len = f->reply_len;

	for (f->reply_len = len - 1; f->reply_len > 0; f->reply_len--)
		assert_false(is_usual(f));
	f->reply_len = len;
	assert_true(is_usual(f));
	fixture_end(f);
}

// Each way that a reply can come wrong.
static void ends_spoil(uint32_t how)
{
	static const uint16_t vlans[] = {7};

	switch (how) {
	case 0:
		ends_src[3] ^= 1;
		return;
	case 1:
		ends_dst[3] ^= 1;
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
		ends.addr_len = 16;
		return;
	}
}

static void a_reply_that_came_wrong_is_not_usual(void **state)
{
	for (uint32_t i = 0; i < 4; i++) {
		for (uint32_t how = 0; how < 6; how++) {
			struct dhcp4_fixture *f = course_begin(&courses[i]);

			assert_true(is_usual(f));
			ends_spoil(how);
			assert_false(is_usual(f));
			fixture_end(f);
		}
	}
}

static void what_a_plan_asks_for_beyond_the_usual_goes_the_long_way(void **state)
{
	for (uint32_t i = 0; i < 4; i++) {
		struct dhcp4_fixture *f = fixture_relay(CLIENTS);

		if (i == 0)
			f->settings.client_id = DHCP4_ID_DUID;
		if (i == 1)
			f->settings.accept = v4(SERVER_ID);
		if (i == 2)
			f->relay.circuit_id = "p{client}";
		fixture_open(f);
		fixture_four_way(f);
		fixture_next(f);
		fixture_plan(f, DHCP4_OFFER);
		fixture_compose(f);
		assert_int_equal(is_usual(f), i == 3);
		fixture_end(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_right_reply_is_usual_when_its_layout_is_known),
		cmocka_unit_test(each_mistake_is_judged_as_without_a_known_layout),
		cmocka_unit_test(other_layouts_are_judged_as_without_a_known_one),
		cmocka_unit_test(a_reply_that_ends_too_early_is_not_usual),
		cmocka_unit_test(a_reply_that_came_wrong_is_not_usual),
		cmocka_unit_test(what_a_plan_asks_for_beyond_the_usual_goes_the_long_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
