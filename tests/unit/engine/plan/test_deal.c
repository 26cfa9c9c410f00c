// SPDX-License-Identifier: BSD-3-Clause
// The shares of the workers of a port: with a device that hashes, a source port belongs to the
// worker whose queue gets its replies, whatever the source address; otherwise ports are dealt in
// turn; and keys identify the workers. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/table.h"
#include "base/rand.h"
#include "engine/plan/deal.h"
#include "lib/test_port.h"

#define WORKERS 4
#define ITEMS   2

struct fixture {
	struct arena *a;
	struct config config;
	struct port_settings settings;
	struct port port;
	struct item_settings items[ITEMS];
	struct addr_range sources[2];
	struct field_range ports, own[ITEMS], cpus;
	const struct proto *proto; // NULL: the first of the table
	struct plan plan;
	struct plan_item plan_items[ITEMS];
	struct worker workers[WORKERS];
	struct worker_item runs[WORKERS][ITEMS];
	uint32_t first_worker[2];
	struct plan_hands hands;
};

static struct fixture f;

static int fresh(void **state)
{
	memset(&f, 0, sizeof(f));
	f.a = arena_new();
	f.settings.name = "lan";
	f.port.settings = &f.settings;
	f.port.steer.how = STEER_BLIND;
	f.ports = (struct field_range){1024, 65535};
	f.config.ports = (struct field_list){&f.settings, 1};
	f.plan = (struct plan){.config = &f.config,
		.clock.hz = 1e9,
		.ports = &f.port,
		.port_count = 1,
		.workers = f.workers,
		.worker_count = WORKERS,
		.first_worker = f.first_worker,
		.hands = &f.hands,
		.items = f.plan_items};
	return 0;
}

static int done(void **state)
{
	deal_free(&f.plan);
	arena_free(f.a);
	return 0;
}

static void add_item(const char *server, const char *first, uint64_t count)
{
	uint32_t n = f.plan.item_count++;
	struct item_settings *i = &f.items[n];
	const char *what;

	assert_int_equal(addr_parse(server, &i->server, &what), 0);
	assert_int_equal(addr_parse(first, &f.sources[n].first, &what), 0);
	f.sources[n].count = count;
	i->name = "q";
	i->server_port = 53;
	i->protocol = arena_zalloc(f.a, proto_count() * sizeof(*i->protocol));
	i->protocol[0] = i; // the first of the table, whatever its settings
	i->source.addresses = (struct field_list){&f.sources[n], 1};
	f.plan_items[n] = (struct plan_item){
		.settings = i, .port = &f.port, .place = n, .source_ports = {&f.ports, 1}};
}

static void deal(uint32_t workers)
{
	f.first_worker[1] = workers;
	f.cpus = (struct field_range){0, workers - 1};
	f.settings.cpus = (struct field_list){&f.cpus, 1};
	f.config.traffic = (struct field_list){f.items, f.plan.item_count};
	config_resolve(&f.config);
	for (uint32_t n = 0; n < f.plan.item_count; n++)
		f.items[n].facts.sources = f.items[n].source.addresses;
	for (uint32_t w = 0; w < workers; w++) {
		f.workers[w] = (struct worker){
			.number = w, .items = f.runs[w], .item_count = f.plan.item_count};
		for (uint32_t n = 0; n < f.plan.item_count; n++) {
			f.runs[w][n] = (struct worker_item){.proto = f.proto ? f.proto : protos[0]};
			f.plan_items[n].worker = f.workers;
			f.plan_items[n].worker_count = workers;
			f.plan_items[n].run = &f.runs[0][n];
		}
	}
	assert_int_equal(deal_port(&f.plan, &f.port, f.a), 0);
}

static void device(uint32_t key_len, uint32_t reta_size, uint32_t queues, bool sparse)
{
	const struct steer_facts facts = {.queues = queues};
	struct steer *s = &f.port.steer;
	struct rand r = {.state = 5};

	s->key_len = key_len;
	s->reta_size = reta_size;
	for (uint32_t i = 0; i < key_len; i++)
		s->key[i] = (uint8_t)rand_next(&r);
	if (sparse)
		steer_key_sparse(s->key, key_len);
	for (uint32_t i = 0; i < reta_size; i++)
		s->reta[i] = (uint16_t)(i % queues);
	steer_choose(s, &facts);
}

// Counts the replies to all flows of an item that reach the queue of the worker that asked, and
// all.
static void count_flows(const struct plan_item *i, uint64_t *home, uint64_t *all)
{
	const struct addr_range *r = i->settings->source.addresses.items;

	*home = *all = 0;
	for (uint32_t w = 0; w < i->worker_count; w++) {
		const struct worker_item *run = plan_run(i, w);

		for (uint32_t n = 0; n < run->txns.ports; n++)
			for (uint64_t k = 0; k < r->count; k++, ++*all) {
				struct addr source = addr_nth(r, k);
				struct steer_flow flow = {i->settings->server.bytes, source.bytes,
					source.len, 53, run->ports[n]};

				*home += steer_queue(&f.port.steer, &flow) == w;
			}
	}
}

// Each port of the range belongs to one worker of one item, which finds it by its index.
static void check_ports(void)
{
	uint32_t ports = 0;

	for (uint32_t w = 0; w < f.first_worker[1]; w++)
		for (uint32_t n = 0; n < f.plan.item_count; n++) {
			const struct worker_item *run = &f.runs[w][n];

			ports += run->txns.ports;
			assert_true(run->txns.ports > 0);
			for (uint32_t k = 0; k < run->txns.ports; k++) {
				struct port_entry e = f.workers[w].by_port[run->ports[k]];

				assert_int_equal(f.workers[w].home[run->ports[k]], w);
				assert_int_equal(e.item, n);
				assert_int_equal(e.index, k);
			}
		}
	assert_int_equal(ports, f.ports.last - f.ports.first + 1);
}

static void every_answer_comes_to_the_queue_of_the_worker_that_asked(void **state)
{
	const uint32_t key_lens[] = {40, 52}, reta_sizes[] = {64, 128, 256, 512};
	uint64_t home, all;

	for (size_t k = 0; k < 2; k++)
		for (size_t t = 0; t < 4; t++)
			for (uint32_t workers = 2; workers <= WORKERS; workers++) {
				done(state);
				fresh(state);
				add_item("198.18.0.2", "198.18.0.16", 5);
				add_item("2001:db8::1:2", "2001:db8::ffff", 3);
				device(key_lens[k], reta_sizes[t], workers, true);
				deal(workers);
				check_ports();
				for (uint32_t n = 0; n < ITEMS; n++) {
					count_flows(&f.plan_items[n], &home, &all);
					assert_true(all > 90000 && home == all);
				}
			}
}

static void with_any_key_one_source_address_is_enough_to_choose_ports(void **state)
{
	uint64_t home, all;

	add_item("198.18.0.2", "198.18.0.16", 1);
	device(40, 128, 4, false);
	deal(4);
	check_ports();
	count_flows(&f.plan_items[0], &home, &all);
	assert_true(all == 64512 && home == all);
}

static void rules_by_port_hold_for_every_address(void **state)
{
	uint64_t home, all;

	for (uint32_t workers = 2; workers <= WORKERS; workers++) {
		const struct steer_facts facts = {.queues = workers, .takes_rules = true};

		done(state);
		fresh(state);
		add_item("198.18.0.2", "198.18.0.16", 5);
		add_item("2001:db8::1:2", "2001:db8::ffff", 3);
		steer_choose(&f.port.steer, &facts);
		deal(workers);
		check_ports();
		for (uint32_t n = 0; n < ITEMS; n++) {
			count_flows(&f.plan_items[n], &home, &all);
			assert_true(all > 90000 && home == all);
		}
	}
}

static void where_the_address_matters_ports_are_dealt_in_turn(void **state)
{
	uint64_t home, all;

	add_item("198.18.0.2", "198.18.0.16", 5);
	device(40, 128, 4, false);
	deal(4);
	check_ports();
	count_flows(&f.plan_items[0], &home, &all);
	assert_true(home < all / 2);
	for (uint32_t k = 0; k < 64512; k++)
		assert_int_equal(f.workers[0].home[1024 + k], k % 4);
}

static void a_few_ports_that_all_hash_to_one_queue_are_dealt_in_turn(void **state)
{
	f.ports = (struct field_range){2048, 2051};
	add_item("198.18.0.2", "198.18.0.16", 1);
	device(40, 128, 4, true);
	memset(f.port.steer.reta, 0, sizeof(f.port.steer.reta));
	f.port.steer.reta[127] = 1;
	deal(4);
	check_ports();
}

static void an_item_keeps_ports_that_others_can_do_without(void **state)
{
	static const struct {
		struct field_range a, b;
		uint32_t of_a, of_b;
	} rows[] = {
		{{2000, 2009}, {2000, 2009}, 5, 5},
		{{2000, 2004}, {2000, 2009}, 5, 5},
		{{2000, 2009}, {2005, 2009}, 5, 5},
		{{2000, 2004}, {2004, 2009}, 5, 5},
		{{2000, 2003}, {2000, 2099}, 4, 96},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (uint32_t workers = 1; workers <= 2; workers++) {
			uint32_t counts[ITEMS] = {0};

			done(state);
			fresh(state);
			add_item("198.18.0.2", "198.18.0.16", 1);
			add_item("198.18.0.2", "198.18.0.16", 1);
			f.own[0] = rows[i].a;
			f.own[1] = rows[i].b;
			for (uint32_t n = 0; n < ITEMS; n++)
				f.plan_items[n].source_ports.items = &f.own[n];
			deal(workers);
			for (uint32_t w = 0; w < workers; w++)
				for (uint32_t n = 0; n < ITEMS; n++)
					counts[n] += f.runs[w][n].txns.ports;
			assert_int_equal(counts[0], rows[i].of_a);
			assert_int_equal(counts[1], rows[i].of_b);
		}
}

static void keys_tell_workers_and_items_apart(void **state)
{
	static const struct proto_router router;
	static const struct proto routed = {.key_bits = 20, .router = &router};

	add_item("198.18.0.2", "198.18.0.16", 1);
	add_item("198.18.0.3", "198.18.0.32", 1);
	f.proto = &routed;
	f.plan_items[0].source_ports.count = f.plan_items[1].source_ports.count = 0;
	deal(3);
	for (uint32_t w = 0; w < 3; w++)
		for (uint32_t n = 0; n < 2; n++) {
			const struct worker_item *run = &f.runs[w][n];
			uint64_t tag = (uint64_t)run->tag >> run->tag_shift;

			assert_int_equal(tag >> f.workers[w].tag_bits, w);
			assert_ptr_equal(f.workers[w].tagged[tag - f.workers[w].tag_first], run);
			assert_int_equal(run->txns.key_bits, routed.key_bits - 3);
		}
}

// Parts of a fleet with 2 workers of weight 2, and 1 of weight 1: like one box with 3 workers.
static void parts_have_the_ports_and_keys_of_one_box(void **state)
{
	static const struct proto_router router;
	static const struct proto routed = {.key_bits = 20, .router = &router};
	static uint64_t weights[] = {2, 1};
	static struct fleet_settings fleet = {.agents = 2, .weights = {weights, 2}};
	uint32_t ports[3], tags[3];
	uint16_t first[3];

	for (uint32_t way = 0; way < 2; way++) {
		add_item("198.18.0.2", "198.18.0.16", 1);
		f.items[0].source.addresses.count = 0; // the port's own
		f.proto = way ? &routed : NULL;
		f.plan_items[0].source_ports.count = !way;
		deal(3);
		for (uint32_t w = 0; w < 3; w++) {
			ports[w] = f.runs[w][0].txns.ports;
			first[w] = f.runs[w][0].ports[0];
			tags[w] = f.runs[w][0].tag;
		}
		f.config.fleet = &fleet;
		for (uint32_t w = 0; w < 3; w++) {
			fleet.part = w < 2 ? 1 : 2;
			deal(w < 2 ? 2 : 1);
			assert_int_equal(f.runs[w % 2][0].txns.ports, ports[w]);
			assert_int_equal(f.runs[w % 2][0].ports[0], first[w]);
			assert_int_equal(f.runs[w % 2][0].tag, tags[w]);
		}
		done(state);
		fresh(state);
	}
}

// Fills the four rings of two workers, one with more packets than are taken out at once.
static void packets_in_the_rings_of_an_ended_run_are_freed(void **state)
{
	static const uint32_t counts[] = {0, 1, 3 * HANDOFF_BURST + 1, 2};
	static struct test_port port;
	struct handoff_packet p;

	test_port_open(&port, 3);
	add_item("198.18.0.2", "198.18.0.16", 1);
	deal(2);
	assert_int_equal(f.hands.count, 2);
	for (uint32_t ring = 0; ring < 4; ring++)
		for (uint32_t i = 0; i < counts[ring]; i++) {
			p = (struct handoff_packet){.mbuf = rte_pktmbuf_alloc(&port.pool)};
			assert_int_equal(handoff_ring_put(&f.hands.rings[ring], &p, 1), 1);
		}
	assert_true(port.live > 0);
	deal_empty(&f.plan);
	assert_int_equal(port.live, 0);
	for (uint32_t ring = 0; ring < 4; ring++)
		assert_int_equal(handoff_ring_take(&f.hands.rings[ring], &p, 1), 0);
}

static void one_worker_has_no_rings(void **state)
{
	add_item("198.18.0.2", "198.18.0.16", 1);
	deal(1);
	assert_int_equal(f.hands.count, 0);
	assert_null(f.workers[0].hand);
	deal_empty(&f.plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			every_answer_comes_to_the_queue_of_the_worker_that_asked, fresh, done),
		cmocka_unit_test_setup_teardown(
			with_any_key_one_source_address_is_enough_to_choose_ports, fresh, done),
		cmocka_unit_test_setup_teardown(rules_by_port_hold_for_every_address, fresh, done),
		cmocka_unit_test_setup_teardown(
			where_the_address_matters_ports_are_dealt_in_turn, fresh, done),
		cmocka_unit_test_setup_teardown(
			a_few_ports_that_all_hash_to_one_queue_are_dealt_in_turn, fresh, done),
		cmocka_unit_test_setup_teardown(
			an_item_keeps_ports_that_others_can_do_without, fresh, done),
		cmocka_unit_test_setup_teardown(keys_tell_workers_and_items_apart, fresh, done),
		cmocka_unit_test_setup_teardown(
			parts_have_the_ports_and_keys_of_one_box, fresh, done),
		cmocka_unit_test_setup_teardown(
			packets_in_the_rings_of_an_ended_run_are_freed, fresh, done),
		cmocka_unit_test_setup_teardown(one_worker_has_no_rings, fresh, done),
	};

	return cmocka_run_group_tests_name("deal", tests, NULL, NULL);
}
