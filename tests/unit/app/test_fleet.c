// SPDX-License-Identifier: BSD-3-Clause
// The messages between a coordinator and its agents: clocks, pieces of files, names, labels.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fleet/fleet_clock.h"
#include "fleet/fleet_talk.h"
#include "fleet/agent_files.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

// An exchange with a clock that is ahead by so much; the ways there and back take so long.
static void exchange(struct fleet_clock *c, int64_t ahead, int64_t there, int64_t back)
{
	int64_t asked = 1000000000 + (int64_t)c->count * MS;
	const struct fleet_clock_told told = {asked, asked + there + ahead, -1};

	fleet_clock_add(c, &told, asked + there + back);
}

static void the_shortest_exchange_gives_the_offset(void **state)
{
	struct fleet_clock c;
	struct fleet_offset o;

	fleet_clock_start(&c);
	exchange(&c, 5 * MS, 900 * US, 100 * US);
	exchange(&c, 5 * MS, 40 * US, 40 * US);
	exchange(&c, 5 * MS, 100 * US, 3000 * US);
	o = fleet_clock_offset(&c, -1);
	assert_int_equal(c.count, 3);
	assert_int_equal(o.ns, 5 * MS);
	assert_int_equal(o.within_ns, 40 * US);
	assert_string_equal(o.source, "nats");
}

// However unequal the ways are, the truth is within half of the delay.
static void an_offset_is_right_within_its_bound(void **state)
{
	for (int64_t there = 0; there <= 1000; there += 100) {
		struct fleet_clock c;
		struct fleet_offset o;

		fleet_clock_start(&c);
		exchange(&c, -7 * MS, there * US, (1000 - there) * US);
		o = fleet_clock_offset(&c, -1);
		assert_int_equal(o.within_ns, 500 * US);
		assert_true(llabs(o.ns + 7 * MS) <= o.within_ns);
	}
}

static json_t *skew_put(const struct fleet_skew *s, bool known)
{
	json_t *fleet = json_object();

	fleet_skew_put(s, known, fleet);
	return fleet;
}

static json_int_t integer_of(const json_t *fleet, const char *name)
{
	const json_t *one = json_object_get(fleet, name);

	assert_true(json_is_integer(one));
	return json_integer_value(one);
}

// Clocks are hours apart, and the clock of a part that sent nothing is the least known.
static void first_sends_are_apart_by_one_clock(void **state)
{
	static const struct {
		int64_t sent_ns;
		struct fleet_offset clock;
	} parts[] = {{1800000000 * S, {0, 40 * US, "nats"}}, {0, {5 * MS, 900 * MS, "nats"}},
		{1800007200 * S + 250 * US, {7200 * S - 50 * US, 70 * US, "nats"}},
		{1799996400 * S + 100 * US, {-3600 * S, 20 * US, "kernel"}}};
	struct fleet_skew s = {0};
	json_t *fleet;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		fleet_skew_add(&s, parts[i].sent_ns, &parts[i].clock);
	fleet = skew_put(&s, true);
	assert_int_equal(integer_of(fleet, "start_skew_ns"), 300 * US);
	assert_int_equal(integer_of(fleet, "start_skew_within_ns"), 110 * US);
	json_decref(fleet);
	fleet = skew_put(&s, false);
	assert_int_equal(integer_of(fleet, "start_skew_ns"), 300 * US);
	assert_true(json_is_null(json_object_get(fleet, "start_skew_within_ns")));
	json_decref(fleet);
}

static void one_part_that_sends_is_not_apart_from_any(void **state)
{
	const struct fleet_offset clock = {0, 40 * US, "nats"};
	struct fleet_skew s = {0};
	json_t *fleet;

	fleet_skew_add(&s, 1000 * MS, &clock);
	fleet_skew_add(&s, 0, &clock);
	fleet = skew_put(&s, true);
	assert_true(json_is_null(json_object_get(fleet, "start_skew_ns")));
	assert_true(json_is_null(json_object_get(fleet, "start_skew_within_ns")));
	json_decref(fleet);
}

static void only_exit_codes_of_ours_are_believed(void **state)
{
	static const struct {
		const char *stated;
		int code;
	} rows[] = {{"1", 1}, {"6", 6}, {"130", 130}, {"0", 3}, {"7", 3}, {"256", 3}, {"-1", 3},
		{"true", 3}, {"\"2\"", 3}, {"4294967297", 3}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *stated = json_loads(rows[i].stated, JSON_DECODE_ANY, NULL);

		assert_int_equal(talk_code(stated), rows[i].code);
		json_decref(stated);
	}
}

static void kept_clocks_count_if_they_are_known_better(void **state)
{
	struct fleet_clock c;

	fleet_clock_start(&c);
	exchange(&c, 20 * US, 500 * US, 500 * US);
	c.error_ns = 30 * US;
	assert_string_equal(fleet_clock_offset(&c, 10 * US).source, "kernel");
	assert_int_equal(fleet_clock_offset(&c, 10 * US).ns, 0);
	assert_int_equal(fleet_clock_offset(&c, 10 * US).within_ns, 40 * US);
	// Our clock is not synchronised, or its stated error exceeds the exchange's.
	assert_string_equal(fleet_clock_offset(&c, -1).source, "nats");
	assert_string_equal(fleet_clock_offset(&c, 480 * US).source, "nats");
	// Both clocks claim to agree, and the exchange contradicts.
	fleet_clock_start(&c);
	exchange(&c, 5 * MS, 500 * US, 500 * US);
	c.error_ns = 30 * US;
	assert_string_equal(fleet_clock_offset(&c, 10 * US).source, "nats");
	assert_int_equal(fleet_clock_offset(&c, 10 * US).ns, 5 * MS);
}

static void a_slow_exchange_makes_the_lead_longer(void **state)
{
	struct fleet_clock c;

	fleet_clock_start(&c);
	exchange(&c, 0, 40 * US, 40 * US);
	exchange(&c, 0, 100 * MS, 20 * MS);
	exchange(&c, 0, 40 * US, 40 * US);
	assert_int_equal(c.slowest_ns, 120 * MS);
	assert_int_equal(fleet_clock_lead_ms(2, 80 * US), 510);
	assert_int_equal(fleet_clock_lead_ms(2, c.slowest_ns), 1110);
	assert_int_equal(fleet_clock_lead_ms(1, 2000 * MS), 10000);
}

static void an_exchange_over_a_jump_of_our_clock_is_left_out(void **state)
{
	struct fleet_clock c;

	fleet_clock_start(&c);
	exchange(&c, 0, 10, -20);
	assert_int_equal(c.count, 0);
}

static void a_clock_is_told_and_read(void **state)
{
	static const char *const wrong[] = {"", "1", "1 2", "1 2 x", "1 2 3 4", "1 2 -2", "0 2 3",
		"1 -2 3", "1 2 3x", "a b c", "1 1 9223372036854775807"};
	char text[FLEET_CLOCK_TEXT];
	struct fleet_clock_told told;
	int64_t before = fleet_clock_ns();
	size_t len = fleet_clock_tell(text, "77");

	assert_int_equal(len, strlen(text));
	assert_true(fleet_clock_read(text, &told));
	assert_int_equal(told.asked_ns, 77);
	assert_true(told.ns >= before && told.ns <= fleet_clock_ns());
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(fleet_clock_read(wrong[i], &told));
}

static void a_piece_comes_as_it_went(void **state)
{
	static const char octets[] = "12\n\0x";
	static const char *const wrong[] = {
		"", "\n", "x\n", "1", "-1\nx", "1 \nx", "1234567890123456789\nx"};
	char message[sizeof(octets) + 32];
	size_t size = talk_put_piece(message, 1234567890123, octets, sizeof(octets)), count;
	const char *got;
	uint64_t from;

	assert_true(talk_get_piece(message, size, &from, &got, &count));
	assert_int_equal(from, 1234567890123);
	assert_int_equal(count, sizeof(octets));
	assert_memory_equal(got, octets, sizeof(octets));
	assert_true(talk_get_piece("0\n", 2, &from, &got, &count) && count == 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(talk_get_piece(wrong[i], strlen(wrong[i]), &from, &got, &count));
}

static void names_and_labels_are_words(void **state)
{
	static const char *const wrong[] = {"", "a.b", "a b", "*", ">", "../x", "a/b", "ä",
		"0123456789012345678901234567890123456789012345678901234567890123"};

	assert_true(talk_is_name("Rack-1_a"));
	assert_false(talk_is_name(NULL));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(talk_is_name(wrong[i]));
	assert_true(talk_has_labels("", NULL));
	assert_true(talk_has_labels("rack=1,site=a", "site=a"));
	assert_true(talk_has_labels("rack=1,site=a", "site=a,rack=1"));
	assert_false(talk_has_labels("rack=1,site=a", "rack=11"));
	assert_false(talk_has_labels("rack=11", "rack=1"));
	assert_false(talk_has_labels("", "rack=1"));
}

static const char *names_of(unsigned count, char *buf, size_t room)
{
	json_t *names = json_array();

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(names, json_sprintf("n%u", i));
	talk_names(names, buf, room);
	json_decref(names);
	return buf;
}

static void many_names_are_a_few_and_a_number(void **state)
{
	char text[64], cut[8];

	assert_string_equal(names_of(0, text, sizeof(text)), "");
	assert_string_equal(names_of(1, text, sizeof(text)), "n0");
	assert_string_equal(names_of(2, text, sizeof(text)), "n0 and n1");
	assert_string_equal(names_of(5, text, sizeof(text)), "n0, n1, n2, n3 and n4");
	assert_string_equal(names_of(6, text, sizeof(text)), "n0, n1, n2, n3 and 2 more");
	assert_string_equal(names_of(100, text, sizeof(text)), "n0, n1, n2, n3 and 96 more");
	assert_string_equal(names_of(100, cut, sizeof(cut)), "n0, n1,");
}

static void only_results_and_events_are_for_others(void **state)
{
	static const char *const right[] = {
		"events.jsonl", "run-1.json", "run-123456789.json", "run-1.json.part"};
	static const char *const wrong[] = {"", ".", "..", "log.txt", "test.yaml",
		"events.jsonl.part", "run-.json", "run-1.json.part.part", "run-1x.json",
		"run-1.jsonx", "run--1.json", "run-1234567890.json", "/run-1.json", "a/run-1.json",
		"run-1/../x.json", "run-1.json/"};

	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		assert_true(agent_files_is_file(right[i]));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(agent_files_is_file(wrong[i]));
}

static void a_file_has_a_size_and_a_hash(void **state)
{
	// FIPS 180-4, examples: one block, and one million times "a".
	static const char *const hashes[] = {
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		"cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"};
	FILE *f = tmpfile();
	char hash[AGENT_FILES_HASH];
	uint64_t size;

	assert_non_null(f);
	fputs("abc", f);
	assert_int_equal(fflush(f), 0);
	assert_int_equal(agent_files_hash(fileno(f), &size, hash), 0);
	assert_int_equal(size, 3);
	assert_string_equal(hash, hashes[0]);
	assert_true(agent_files_is_hash(hash));
	rewind(f);
	for (unsigned i = 0; i < 1000000; i++)
		putc('a', f);
	assert_int_equal(fflush(f), 0);
	assert_int_equal(agent_files_hash(fileno(f), &size, hash), 0);
	assert_int_equal(size, 1000000);
	assert_string_equal(hash, hashes[1]);
	fclose(f);
	assert_false(agent_files_is_hash("ba7816"));
	hash[3] = 'A';
	assert_false(agent_files_is_hash(hash));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_shortest_exchange_gives_the_offset),
		cmocka_unit_test(an_offset_is_right_within_its_bound),
		cmocka_unit_test(first_sends_are_apart_by_one_clock),
		cmocka_unit_test(one_part_that_sends_is_not_apart_from_any),
		cmocka_unit_test(only_exit_codes_of_ours_are_believed),
		cmocka_unit_test(kept_clocks_count_if_they_are_known_better),
		cmocka_unit_test(a_slow_exchange_makes_the_lead_longer),
		cmocka_unit_test(an_exchange_over_a_jump_of_our_clock_is_left_out),
		cmocka_unit_test(a_clock_is_told_and_read),
		cmocka_unit_test(a_piece_comes_as_it_went),
		cmocka_unit_test(names_and_labels_are_words),
		cmocka_unit_test(many_names_are_a_few_and_a_number),
		cmocka_unit_test(only_results_and_events_are_for_others),
		cmocka_unit_test(a_file_has_a_size_and_a_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
