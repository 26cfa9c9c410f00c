// SPDX-License-Identifier: BSD-3-Clause
// Without a card: the hash of the chosen ports selects the intended queue, for both families, keys
// of both lengths and tables of every size, for all source addresses. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rand.h"
#include "io/steer.h"

#define FLOWS 2000

static const uint32_t key_lens[] = {40, 52};
static const uint32_t reta_sizes[] = {64, 128, 256, 512};

// The method for a device that accepts no rules.
static enum steer_how chosen(const struct steer *reported, uint32_t queues)
{
	uint8_t key[STEER_KEY_MAX];
	const struct steer_facts facts = {.queues = queues, .key = key};
	struct steer s = *reported;

	steer_key_sparse(key, s.key_len);

	steer_choose(&s, &facts);
	return s.how;
}

static struct steer steer_of(uint32_t key_len, uint32_t reta_size, uint32_t queues)
{
	struct steer s = {.key_len = key_len, .reta_size = reta_size};

	steer_key_sparse(s.key, key_len);
	for (uint32_t i = 0; i < reta_size; i++)
		s.reta[i] = (uint16_t)(i % queues);
	s.how = chosen(&s, queues);
	assert_int_equal(s.how, STEER_SPARSE);
	return s;
}

// The bits of the port's low byte in reverse order, for which the key is made.
static uint32_t reversed(uint32_t port)
{
	uint32_t out = 0;

	for (int i = 0; i < 8; i++)
		out |= (port >> i & 1) << (7 - i);
	return out;
}

// Toeplitz from its definition, a bit at a time.
static uint32_t slow_hash(const uint8_t *key, const uint8_t *input, uint32_t len)
{
	uint32_t hash = 0;

	for (uint32_t bit = 0; bit < 8 * len; bit++) {
		uint32_t window = 0;

		for (uint32_t k = bit; k < bit + 32; k++)
			window = window << 1 | (key[k / 8] >> (7 - k % 8) & 1);
		if (input[bit / 8] >> (7 - bit % 8) & 1)
			hash ^= window;
	}
	return hash;
}

static uint32_t slow_place(const struct steer *s, const struct steer_flow *f)
{
	uint8_t input[36];
	uint32_t len = f->addr_len;

	memcpy(input, f->src, len);
	memcpy(input + len, f->dst, len);
	input[2 * len] = (uint8_t)(f->src_port >> 8);
	input[2 * len + 1] = (uint8_t)f->src_port;
	input[2 * len + 2] = (uint8_t)(f->dst_port >> 8);
	input[2 * len + 3] = (uint8_t)f->dst_port;
	len = 2 * len + ((f->tcp ? s->portless_tcp : s->portless)[len == 16] ? 0 : 4);
	return slow_hash(s->key, input, len) & (s->reta_size - 1);
}

static struct steer_flow random_flow(struct rand *r, uint8_t addrs[32], uint8_t addr_len)
{
	for (int i = 0; i < 32; i++)
		addrs[i] = (uint8_t)rand_next(r);
	return (struct steer_flow){.src = addrs,
		.dst = addrs + 16,
		.addr_len = addr_len,
		.src_port = (uint16_t)rand_next(r),
		.dst_port = (uint16_t)rand_next(r)};
}

static void flows_have_the_place_that_the_definition_of_the_hash_gives(void **state)
{
	struct rand r = {.state = 7};
	uint8_t addrs[32];

	for (size_t k = 0; k < 2; k++)
		for (size_t t = 0; t < 4; t++) {
			struct steer s = steer_of(key_lens[k], reta_sizes[t], 4);

			for (uint32_t i = 0; i < s.key_len; i++)
				s.key[i] = (uint8_t)rand_next(&r);
			for (int i = 0; i < 200; i++) {
				struct steer_flow f = random_flow(&r, addrs, i & 1 ? 16 : 4);

				s.portless[0] = i & 2;
				s.portless[1] = i & 4;
				s.portless_tcp[0] = i & 8;
				s.portless_tcp[1] = i & 16;
				f.tcp = i & 32;
				assert_int_equal(steer_place(&s, &f), slow_place(&s, &f));
			}
		}
}

static void with_the_sparse_key_the_queue_is_a_function_of_the_port(void **state)
{
	struct rand r = {.state = 1};
	uint8_t addrs[32], server[16] = {0x20, 1, 0xd, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

	for (size_t k = 0; k < 2; k++)
		for (size_t t = 0; t < 4; t++)
			for (int i = 0; i < FLOWS; i++) {
				struct steer s = steer_of(key_lens[k], reta_sizes[t], 4);
				struct steer_flow f = random_flow(&r, addrs, i & 1 ? 16 : 4);
				struct steer_flow first = f;
				uint8_t zero[16] = {0};
				uint32_t want = reversed(f.dst_port & 0xff);

				f.src = first.src = server;
				first.dst = zero;
				first.src_port = f.src_port;
				assert_int_equal(steer_queue(&s, &f), steer_queue(&s, &first));
				if (f.addr_len == 4 && s.reta_size <= 256)
					assert_int_equal(
						steer_place(&s, &f), want & (s.reta_size - 1));
			}
}

static void the_ports_of_a_range_are_spread_over_all_queues(void **state)
{
	const uint32_t queues[] = {2, 3, 4, 8, 16};
	uint8_t addrs[32] = {198, 18, 0, 2};

	for (size_t q = 0; q < sizeof(queues) / sizeof(queues[0]); q++)
		for (size_t t = 0; t < 8; t++) {
			struct steer s = steer_of(40, reta_sizes[t / 2], queues[q]);
			uint8_t len = t & 1 ? 16 : 4;
			uint32_t count[16] = {0};

			for (uint32_t port = 1024; port < 65536; port++) {
				struct steer_flow f = {addrs, addrs + 16, len, 53, (uint16_t)port};

				count[steer_queue(&s, &f)]++;
			}
			for (uint32_t i = 0; i < queues[q]; i++)
				assert_in_range(
					count[i], 64512 / queues[q] / 2, 2 * 64512 / queues[q]);
		}
}

// Checks a port's relays, with and without source ports besides.
static void relays_spread(const struct addr_range *relays, uint32_t count, uint32_t queues)
{
	const struct field_list list = {(void *)relays, count};
	const uint8_t src[16] = {10, 1, 2, 3};

	for (uint32_t ports = 0; ports < 2; ports++)
		for (size_t t = 0; t < 4; t++) {
			struct steer s = steer_of(40, reta_sizes[t], queues);
			struct steer_flow f = {src, relays->first.bytes, relays->first.len, 53, 0};
			uint32_t place = 0, some = 0;

			if (!ports)
				memset(s.key, 0, sizeof(s.key));
			steer_key_addresses(s.key, s.key_len, &list, queues);
			assert_true(steer_is_even(&s, &list, queues));
			for (uint32_t port = 1024; port < 2048; port++) {
				f.dst_port = (uint16_t)port;
				some += place != steer_place(&s, &f);
				place = steer_place(&s, &f);
			}
			assert_true(ports ? some > 200 : some <= 1);
		}
}

static void a_bit_of_the_key_spreads_the_addresses_of_relays(void **state)
{
	const uint32_t queues[] = {2, 4, 8, 16};
	struct addr_range each[64];

	for (size_t q = 0; q < sizeof(queues) / sizeof(queues[0]); q++)
		for (uint8_t first = 0; first < 70; first += 23) {
			const struct addr_range v4 = {{4, {198, 18, 0, first}}, 64};
			const struct addr_range v6 = {{16, {0x20, 1, [15] = first}}, 64};

			relays_spread(&v4, 1, queues[q]);
			relays_spread(&v6, 1, queues[q]);
			for (uint8_t i = 0; i < 64; i++)
				each[i] = (struct addr_range){{4, {10, 1, first + i, 1}}, 1};
			relays_spread(each, 64, queues[q]);
			for (uint8_t i = 0; i < 64; i++)
				each[i] = (struct addr_range){
					{16, {0x20, 1, [6] = first + i, [15] = 1}}, 1};
			relays_spread(each, 64, queues[q]);
		}
}

static void addresses_in_one_queue_are_not_even(void **state)
{
	const struct addr_range relays[] = {{{4, {198, 18, 0, 64}}, 1}, {{4, {198, 18, 0, 64}}, 1}};
	const struct field_list list = {(void *)relays, 2}, none = {NULL, 0};
	struct steer s = steer_of(40, 128, 2);
	uint8_t key[40];

	memcpy(key, s.key, sizeof(key));
	steer_key_addresses(s.key, s.key_len, &none, 2);
	assert_memory_equal(s.key, key, sizeof(key));
	steer_key_addresses(s.key, s.key_len, &list, 2);
	assert_false(steer_is_even(&s, &list, 2));
}

static void what_a_device_without_a_hash_reports_is_not_believed(void **state)
{
	struct steer s = steer_of(40, 128, 4), none = {0};

	assert_int_equal(chosen(&none, 4), STEER_BLIND);
	memset(s.key, 0, sizeof(s.key)); // net_null has a table, and no key
	assert_int_equal(chosen(&s, 4), STEER_BLIND);
	s = steer_of(40, 128, 4);
	memset(s.reta, 0, sizeof(s.reta)); // everything to the first queue
	assert_int_equal(chosen(&s, 4), STEER_BLIND);
	s = steer_of(40, 128, 4);
	s.reta[5] = 4; // a queue that is not ours
	assert_int_equal(chosen(&s, 4), STEER_BLIND);
	s = steer_of(40, 128, 4);
	s.key_len = 0;
	assert_int_equal(chosen(&s, 4), STEER_BLIND);
	s = steer_of(40, 128, 4);
	s.key_len = 39;
	assert_int_equal(chosen(&s, 4), STEER_BLIND);
	s = steer_of(40, 128, 4);
	s.reta_size = 0;
	assert_int_equal(chosen(&s, 4), STEER_BLIND);
	s = steer_of(40, 128, 4);
	s.reta_size = 100;
	assert_int_equal(chosen(&s, 4), STEER_BLIND);
}

enum hash { NO_HASH, OUR_KEY, ITS_KEY };

static struct steer reported(enum hash hash, uint32_t queues)
{
	struct steer s = {.key_len = 52, .reta_size = 128};

	if (hash == NO_HASH)
		return (struct steer){0};
	steer_key_sparse(s.key, s.key_len);
	s.key[1] = hash == ITS_KEY ? 0x6d : 0;
	for (uint32_t i = 0; i < s.reta_size; i++)
		s.reta[i] = (uint16_t)(i % queues);
	return s;
}

static void the_plan_is_the_best_that_the_device_allows(void **state)
{
	static const struct {
		struct steer_facts facts;
		enum hash hash;
		enum steer_how how;
	} rows[] = {
		{{.queues = 1}, NO_HASH, STEER_ALONE},
		{{.queues = 1, .takes_rules = true}, OUR_KEY, STEER_ALONE},
		{{.queues = 4, .pairs = true}, NO_HASH, STEER_PAIR},
		{{.queues = 4, .pairs = true, .takes_rules = true}, ITS_KEY, STEER_PAIR},
		{{.queues = 4, .takes_rules = true}, NO_HASH, STEER_RULES},
		{{.queues = 4, .takes_rules = true}, OUR_KEY, STEER_RULES},
		{{.queues = 4, .takes_rules = true, .by_address = true}, OUR_KEY, STEER_ADDRESS},
		{{.queues = 4, .by_address = true}, OUR_KEY, STEER_SPARSE},
		{{.queues = 4}, OUR_KEY, STEER_SPARSE},
		{{.queues = 4}, ITS_KEY, STEER_HASHED},
		{{.queues = 4}, NO_HASH, STEER_BLIND},
		{{.queues = 4, .by_address = true}, NO_HASH, STEER_BLIND},
		{{.queues = 3}, ITS_KEY, STEER_HASHED},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct steer s = reported(rows[i].hash, rows[i].facts.queues);
		struct steer_facts facts = rows[i].facts;
		uint8_t key[STEER_KEY_MAX];

		steer_key_sparse(key, s.key_len);
		facts.key = key;
		steer_choose(&s, &facts);
		if (s.how != rows[i].how)
			fail_msg("row %zu: %s", i, steer_name(s.how));
		assert_true(strlen(steer_text(s.how)) > 5);
		assert_int_equal(steer_is_known(&s),
			s.how == STEER_RULES || s.how == STEER_SPARSE || s.how == STEER_HASHED);
	}
}

static void by_rules_the_lowest_bits_of_the_port_are_the_place(void **state)
{
	uint8_t addrs[32] = {198, 18, 0, 2};

	for (uint32_t queues = 2; queues <= 16; queues++) {
		const struct steer_facts facts = {.queues = queues, .takes_rules = true};
		struct steer s = reported(ITS_KEY, queues);
		uint32_t size = steer_rules_size(queues);

		steer_choose(&s, &facts);
		assert_true(size >= queues && (size & (size - 1)) == 0);
		for (uint32_t port = 1024; port < 1200; port++) {
			struct steer_flow f = {addrs, addrs + 16, 4, 53, (uint16_t)port};

			assert_int_equal(steer_queue(&s, &f), port % size % queues);
		}
	}
}

static void who_says_where_answers_go_is_held_to_it(void **state)
{
	struct steer s = {0};

	for (int how = STEER_ALONE; how <= STEER_BLIND; how++) {
		bool says = how != STEER_ALONE && how != STEER_PAIR && how != STEER_BLIND;

		s.how = (enum steer_how)how;
		assert_int_equal(steer_is_belied(&s, 0.25), says);
		assert_false(steer_is_belied(&s, 1));
		assert_false(steer_is_belied(&s, 0.9));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_have_the_place_that_the_definition_of_the_hash_gives),
		cmocka_unit_test(with_the_sparse_key_the_queue_is_a_function_of_the_port),
		cmocka_unit_test(the_ports_of_a_range_are_spread_over_all_queues),
		cmocka_unit_test(a_bit_of_the_key_spreads_the_addresses_of_relays),
		cmocka_unit_test(addresses_in_one_queue_are_not_even),
		cmocka_unit_test(what_a_device_without_a_hash_reports_is_not_believed),
		cmocka_unit_test(who_says_where_answers_go_is_held_to_it),
		cmocka_unit_test(the_plan_is_the_best_that_the_device_allows),
		cmocka_unit_test(by_rules_the_lowest_bits_of_the_port_are_the_place),
	};

	return cmocka_run_group_tests_name("steer", tests, NULL, NULL);
}
