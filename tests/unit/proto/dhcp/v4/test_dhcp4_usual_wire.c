// SPDX-License-Identifier: BSD-3-Clause
// A reply recognised as usual is judged like any other one: two workers get identical replies,
// valid ones and every small mistake, and one of them knows no layout. A usual message is written
// like any other one. Path: tests only.

#include "dhcp4_client_fixture.h"

#define FOUR_WAY     DHCP4_DORA
#define SERVER_OF(f) v4(SERVER_ID)
#define ENDS_OTHER   ends_src[3]
#include "dhcp_usual_tests.h"

// So that there are paths to servers.
static struct dhcp4_fixture *usual_some(struct dhcp4_fixture *f)
{
	f->mix.share[DHCP4_RENEW] = 0.5;
	return f;
}

static struct dhcp4_fixture *usual_new(uint32_t clients)
{
	return usual_some(fixture_new(clients));
}

static struct dhcp4_fixture *usual_relay(uint32_t clients)
{
	return usual_some(fixture_relay(clients));
}

static struct dhcp4_fixture *usual_pool(uint32_t clients)
{
	struct dhcp4_fixture *f = usual_new(clients);

	f->pool[0] = (struct addr_range){v4(POOL), 16};
	return f;
}

static struct dhcp4_fixture *usual_no_id(uint32_t clients)
{
	struct dhcp4_fixture *f = usual_new(clients);

	f->settings.client_id = DHCP4_ID_NONE;
	return f;
}

static const struct course courses[] = {
	{"OFFER", DHCP4_DORA, false, DHCP4_OFFER, usual_relay, true},
	{"ACK", DHCP4_DORA, true, DHCP4_ACK, usual_relay, true},
	{"OFFER on the link", DHCP4_DORA, false, DHCP4_OFFER, usual_new, true},
	{"ACK on the link", DHCP4_DORA, true, DHCP4_ACK, usual_pool, true},
	{"OFFER without identifier", DHCP4_DORA, false, DHCP4_OFFER, usual_no_id, false},
	{"last OFFER", DHCP_TWO_WAY, false, DHCP4_OFFER, usual_new, false},
	{"ACK of RENEW", DHCP4_RENEW, false, DHCP4_ACK, usual_relay, true},
	{"ACK of REBIND", DHCP4_REBIND, false, DHCP4_ACK, usual_new, true},
	{"ACK of REBOOT", DHCP4_REBOOT, false, DHCP4_ACK, usual_relay, false},
};

#define COURSES (sizeof(courses) / sizeof(courses[0]))

static const struct course *course_nth(uint32_t n)
{
	return n < COURSES ? &courses[n] : NULL;
}

static void forget(struct dhcp4_fixture *f)
{
	memset(&worker_of(f)->scratch.layouts, 0, sizeof(struct dhcp4_layouts));
}

static void assert_same_more(struct dhcp4_fixture *f, struct dhcp4_fixture *g)
{
	for (uint32_t i = 0; i < 2 * CLIENTS; i++)
		assert_int_equal(holder_of(f, POOL + i), holder_of(g, POOL + i));
}

static bool is_read(uint32_t at)
{
	return at <= DHCP4_AT_SNAME || at >= DHCP4_AT_COOKIE;
}

// The valid reply with something added or missing.
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
			assert_int_equal(heard(f, true), heard(g, false));
			assert_same(f, g);
			fixture_end(f);
			fixture_end(g);
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

// Parameters that no reply of the fixture has.
static uint64_t asked[12];
static uint32_t asked_count;

static struct dhcp4_fixture *usual_asking(uint32_t clients)
{
	struct dhcp4_fixture *f = usual_relay(clients);

	f->settings.is.parameters = (struct field_list){asked, asked_count};
	return f;
}

static void what_a_layout_lacks_is_counted_for_each_reply(void **state)
{
	static const uint32_t counts[] = {0, 1, 4, 8, 9, 12};
	const struct course ack = {"ACK", DHCP4_DORA, true, DHCP4_ACK, usual_asking, true};

	for (uint32_t i = 0; i < 12; i++)
		asked[i] = 100 + 13 * i; // in three words of the mask
	for (uint32_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		struct dhcp4_fixture *f;
		uint64_t sum = 0;

		asked_count = counts[k];
		f = course_begin(&ack);
		f->n = (struct dhcp_counters){0};
		for (uint32_t n = 0; n < 3; n++)
			assert_true(is_usual(f));
		assert_int_equal(f->n.parameters_missing, asked_count ? 3 : 0);
		for (uint32_t i = 0; i < asked_count; i++)
			assert_int_equal(f->n.missing[asked[i]], 3);
		for (uint32_t code = 0; code < DHCP_CODES; code++)
			sum += f->n.missing[code];
		assert_int_equal(sum, 3 * asked_count);
		fixture_end(f);
	}
}

// The plan as one without usual messages.
static struct dhcp4_fixture *none_usual(struct dhcp4_fixture *f)
{
	struct dhcp4_plan *p = (struct dhcp4_plan *)(uintptr_t)f->ctx.shared;

	for (uint32_t i = 0; i < DHCP4_STEPS; i++)
		p->templates[i].usual = false;
	return f;
}

static void a_usual_message_is_written_like_any_other(void **state)
{
	uint32_t usual = 0;

	for (uint32_t i = 0; i < COURSES; i++) {
		struct dhcp4_fixture *f = course_begin(&courses[i]);
		struct dhcp4_fixture *g = none_usual(course_begin(&courses[i]));
		const struct dhcp4_plan *p = f->ctx.shared;

		usual += p->templates[f->txn.step].usual;
		f->ctx.now_ms = g->ctx.now_ms += 3000;
		fixture_send(f);
		fixture_send(g);
		assert_int_not_equal(f->ctx.sum, 0);
		assert_int_equal(f->ctx.sum, g->ctx.sum);
		assert_int_equal(f->sent_len, g->sent_len);
		assert_memory_equal(f->sent, g->sent, f->sent_len);
		assert_same(f, g);
		fixture_end(f);
		fixture_end(g);
	}
	assert_int_equal(usual, COURSES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_right_reply_is_usual_when_one_came_before),
		cmocka_unit_test(each_mistake_is_judged_as_if_none_came_before),
		cmocka_unit_test(other_layouts_are_judged_as_without_a_known_one),
		cmocka_unit_test(a_usual_message_is_written_like_any_other),
		cmocka_unit_test(a_reply_that_ends_too_early_is_not_usual),
		cmocka_unit_test(a_reply_that_came_another_way_is_judged_as_if_none_came_before),
		cmocka_unit_test(what_a_plan_asks_for_beyond_the_usual_goes_the_long_way),
		cmocka_unit_test(what_a_layout_lacks_is_counted_for_each_reply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
