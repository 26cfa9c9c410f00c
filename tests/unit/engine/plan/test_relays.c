// SPDX-License-Identifier: BSD-3-Clause
// Relays on a card with several queues: each worker plays the clients whose replies reach its
// queue, as far as all workers can play the same number. The card's hash is computed. Path: cold.
// Test.
#include "../planned.h"

#include "engine/plan/deal.h"
#include "engine/plan/plan_supply.h"
#include "lib/one_message.h"

#define CLIENTS 2112 // whole rounds of all numbers of relays
#define V4      "198.18.0.2"
#define V6      "2001:db8::2"

enum card { OUR_KEY, ITS_KEY, BY_PORT };

struct given {
	const char *cpus, *server, *relays;
	const char *more;   // of the clients
	const char *beside; // another item
	enum card card;
};

static void steer_as(struct port *port, enum card card)
{
	const struct port_settings *s = port->settings;
	const struct steer_facts by_port = {.queues = port->queues, .takes_rules = true};
	struct steer *out = &port->steer;
	uint8_t key[40] = {0};

	*out = (struct steer){.key_len = sizeof(key), .reta_size = 128};
	for (uint32_t i = 0; i < out->reta_size; i++)
		out->reta[i] = (uint16_t)(i % port->queues);
	if (s->has_ports || s->relays.count == 0)
		steer_key_sparse(key, sizeof(key));
	steer_key_addresses(key, sizeof(key), &s->relays, port->queues);
	memcpy(out->key, key, sizeof(key));
	for (uint32_t i = 0; i < sizeof(key) && card == ITS_KEY; i++)
		out->key[i] = (uint8_t)rand_hash(i);
	if (card == BY_PORT)
		steer_choose(out, &by_port);
	else
		steer_choose(out, &(struct steer_facts){.queues = port->queues, .key = key});
}

static struct planned *relayed(const struct given *g)
{
	char text[4096];
	struct planned *p;

	snprintf(text, sizeof(text),
		"ports:\n  - {name: lan, driver: af_packet, device: nosuch0, cpus: %s, addresses: "
		"[198.18.0.1/16, \"2001:db8::1/32\"]}\n"
		"traffic:\n  - {name: r, server: \"%s\", load: {rate: 192}, %s: {clients: %d, "
		"relay: {addresses: [%s]}%s}}\n%s",
		g->cpus, g->server, strchr(g->server, ':') ? "dhcp6" : "dhcp4", CLIENTS, g->relays,
		g->more ? g->more : "", g->beside ? g->beside : "");
	p = planned_start(text, false);
	steer_as(p->plan.ports, g->card);
	assert_int_equal(plan_build(&p->plan, p->l.a), 0);
	return p;
}

// Begins an exchange of every client of a worker. Returns the replies that reach its queue.
static uint32_t play(const struct plan_item *i, uint32_t worker, uint32_t *all)
{
	struct worker_item *run = plan_run(i, worker);
	const struct steer *s = &i->port->steer;
	uint32_t home = 0;

	run->ctx.counters = run->shadow;
	for (*all = 0;; ++*all) {
		struct proto_txn t = {.seq = *all};
		struct proto_flow flow = {0};
		struct steer_flow reply = {i->settings->server.bytes, flow.src,
			i->settings->server.len, run->server_port, 0};

		if (run->proto->begin(&run->ctx, &t, 1) == 0)
			return home;
		flow_one(run->proto, &run->ctx, &t, &flow);
		reply.dst_port = flow.src_port;
		home += !steer_is_known(s) || steer_queue(s, &reply) == worker;
	}
}

// The share of replies that reach the right worker.
static double home_of(const struct planned *p)
{
	const struct plan_item *i = p->plan.items;
	uint32_t home = 0, all;

	for (uint32_t w = 0; w < i->worker_count; w++) {
		home += play(i, w, &all);
		assert_int_equal(all, CLIENTS / i->worker_count);
	}
	return (double)home / CLIENTS;
}

static void expect_home(struct given g, double least, double most)
{
	struct planned *p = relayed(&g);
	const struct plan_item *i = p->plan.items;
	double home = home_of(p), told = deal_balance(i, i->worker_count).home;

	if (home < least || home > most || (i->homes && home != told))
		fail_msg("%s on cpus %s: %g, told %g", g.relays, g.cpus, home, told);
	planned_free(p);
}

#define EXACTLY(home) home - 1e-9, home + 1e-9

static void relays_in_any_order_are_dealt_evenly_by_a_key_of_ours(void **state)
{
	static const char *const v4[] = {"198.18.0.64/30", "198.18.0.64/26",
		"198.18.0.65/32, 198.18.0.66/31, 198.18.0.68/32",
		"198.18.1.1, 198.18.2.1, 198.18.3.1, 198.18.4.1"};
	static const char *const v6[] = {"\"2001:db8::40/126\"", "\"2001:db8::40/122\"",
		"\"2001:db8:1::1\", \"2001:db8:2::1\", \"2001:db8:3::1\", \"2001:db8:4::1\""};

	for (size_t i = 0; i < 4; i++) {
		expect_home((struct given){"1", V4, v4[i]}, EXACTLY(1));
		expect_home((struct given){"1-2", V4, v4[i]}, EXACTLY(1));
		expect_home((struct given){"1-4", V4, v4[i]}, EXACTLY(1));
	}
	for (size_t i = 0; i < 3; i++) {
		expect_home((struct given){"1", V6, v6[i]}, EXACTLY(1));
		expect_home((struct given){"1-2", V6, v6[i]}, EXACTLY(1));
		expect_home((struct given){"1-4", V6, v6[i]}, EXACTLY(1));
	}
	expect_home((struct given){"1-3", V4, "198.18.0.64-198.18.0.69"}, EXACTLY(1));
	expect_home((struct given){"1-2", V4, v4[1], ", servers: [198.18.0.3]"}, EXACTLY(1));
}

static void a_card_that_keeps_its_key_is_taken_as_it_is(void **state)
{
	expect_home((struct given){"1-2", V4, "198.18.0.64/26", .card = ITS_KEY}, 0.8, 1);
	expect_home((struct given){"1-4", V4, "198.18.0.64/26", .card = ITS_KEY}, 0.7, 1);
	expect_home((struct given){"1-4", V6, "\"2001:db8::40/122\"", .card = ITS_KEY}, 0.7, 1);
	// The hash depends on the server.
	expect_home((struct given){"1-2", V4, "198.18.0.64/26", ", servers: [198.18.0.3]",
			    .card = ITS_KEY},
		0, 0.9);
}

static void too_few_relays_are_shared_and_told(void **state)
{
	static const struct {
		struct given g;
		double home;
		const char *told;
	} rows[] = {
		{{"1-2", V4, "198.18.0.64"}, 1.0 / 2, "50 % of its replies"},
		{{"1-4", V4, "198.18.0.64"}, 1.0 / 4, "at least 3 more"},
		{{"1-4", V6, "\"2001:db8::40\""}, 1.0 / 4, "at least 3 more"},
		{{"1-2", V4, "198.18.0.64-198.18.0.66"}, 5.0 / 6, "at least 1 more"},
		{{"1-4", V4, "198.18.0.64-198.18.0.66"}, 3.0 / 4, "at least 1 more"},
		{{"1-4", V6, "\"2001:db8::40-2001:db8::42\""}, 3.0 / 4, "to 4 workers"},
		{{"1-2", V4, "198.18.0.64/26", .card = BY_PORT}, 1.0 / 2, "rules go by port"},
		{{"1-2", V4, "198.18.0.64-198.18.0.74"}, 21.0 / 22, NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct planned *p = relayed(&rows[i].g);
		struct counter_list told = plan_shortages(&p->plan, p->l.a);

		expect_home(rows[i].g, EXACTLY(rows[i].home));
		assert_int_equal(told.count, rows[i].told != NULL);
		if (rows[i].told)
			assert_non_null(strstr(((const char *const *)told.items)[0], rows[i].told));
		planned_free(p);
	}
}

#define DNS(more) "  - {name: q, server: 198.18.0.2, load: {rate: 1}, " LOADED_DNS more "}\n"

static uint64_t ports_at_home(const struct plan_item *i, uint64_t *all)
{
	const struct addr source = {4, {198, 18, 0, 1}};
	uint64_t home = *all = 0;

	for (uint32_t w = 0; w < i->worker_count; w++)
		for (uint32_t n = 0; n < plan_run(i, w)->txns.ports; n++, ++*all) {
			struct steer_flow f = {i->settings->server.bytes, source.bytes, 4, 53,
				plan_run(i, w)->ports[n]};

			home += steer_queue(&i->port->steer, &f) == w;
		}
	return home;
}

static void source_ports_and_relays_share_a_port(void **state)
{
	struct given g = {"1-4", V4, "198.18.0.64/26", .beside = DNS("")};
	struct planned *p = relayed(&g);
	uint64_t all, home = ports_at_home(&p->plan.items[1], &all);

	assert_true(all > 60000 && home == all);
	planned_free(p);
	expect_home(g, EXACTLY(1));
	// Ports matter only if no address decides.
	g.beside = DNS(", source: {addresses: [198.18.0.16/30]}");
	p = relayed(&g);
	home = ports_at_home(&p->plan.items[1], &all);
	assert_true(all > 60000 && home == all);
	planned_free(p);
	expect_home(g, EXACTLY(0.25));
}

static void an_unknown_server_has_an_unknown_hash(void **state)
{
	struct given g = {"1-2", V6, "\"2001:db8::40/122\"", ", to: servers"};
	struct planned *p = relayed(&g);

	assert_null(p->plan.items[0].homes);
	planned_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(relays_in_any_order_are_dealt_evenly_by_a_key_of_ours),
		cmocka_unit_test(a_card_that_keeps_its_key_is_taken_as_it_is),
		cmocka_unit_test(too_few_relays_are_shared_and_told),
		cmocka_unit_test(source_ports_and_relays_share_a_port),
		cmocka_unit_test(an_unknown_server_has_an_unknown_hash),
	};

	return cmocka_run_group_tests_name("relays", tests, NULL, NULL);
}
