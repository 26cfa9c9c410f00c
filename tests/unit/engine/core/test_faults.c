// SPDX-License-Identifier: BSD-3-Clause
// The responder's faults without packets: which fault's turn it is, when replies are sent, how
// bytes are changed, and the rules of the settings. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/table.h"
#include "engine/config/config_load.h"
#include "lib/diag_text.h"

#define MS 1000000u

static const struct clock ns_clock = {.hz = 1e9}; // a tick is a nanosecond

static struct faults faults_with(const struct faults_settings *s)
{
	struct faults f = {0};

	assert_int_equal(faults_init(&f, s, &ns_clock, 1, 16), 0);
	return f;
}

static void every_nth_answer_has_its_turn_whatever_else_happens(void **state)
{
	struct fault_settings third = {.every = 3}, fifth = {.every = 5};
	struct faults_settings s = {.fault = {[FAULT_LOSS] = &fifth, [FAULT_TRUNCATE] = &third}};
	struct faults f = faults_with(&s);

	for (uint32_t n = 1; n <= 60; n++) {
		uint64_t turns = faults_draw(&f, UINT64_MAX);

		assert_int_equal(turns >> FAULT_LOSS & 1, n % 5 == 0);
		assert_int_equal(turns >> FAULT_TRUNCATE & 1, n % 3 == 0);
		assert_int_equal(turns & ~(1ull << FAULT_LOSS | 1ull << FAULT_TRUNCATE), 0);
	}
	faults_free(&f);
}

static void the_last_place_of_the_table_has_its_turn_too(void **state)
{
	struct fault_settings second = {.every = 2};
	struct faults_settings s = {.fault = {[FAULTS_MAX - 1] = &second}};
	struct faults f = faults_with(&s);

	for (uint32_t n = 1; n <= 10; n++)
		assert_int_equal(faults_draw(&f, UINT64_MAX) >> (FAULTS_MAX - 1), n % 2 == 0);
	faults_free(&f);
}

static void a_share_is_met_and_the_same_for_the_same_seed(void **state)
{
	struct fault_settings share = {.share = 0.01}, all = {.share = 1};
	struct faults_settings s = {.fault = {[FAULT_LOSS] = &share, [FAULT_REORDER] = &all}};
	struct faults f = faults_with(&s), same = faults_with(&s);
	uint32_t lost = 0;

	for (uint32_t n = 0; n < 100000; n++) {
		uint64_t turns = faults_draw(&f, UINT64_MAX);

		assert_int_equal(turns, faults_draw(&same, UINT64_MAX));
		assert_true(turns >> FAULT_REORDER & 1);
		lost += turns >> FAULT_LOSS & 1;
	}
	assert_in_range(lost, 880, 1120); // four standard deviations
	faults_free(&f);
	faults_free(&same);
}

static void capacity_without_a_queue_drops_what_comes_too_soon(void **state)
{
	struct capacity_settings c = {.rate = 1000};
	struct faults_settings s = {.capacity = &c};
	struct faults f = faults_with(&s);
	uint64_t leave;

	assert_true(faults_admit(&f, 5 * MS, &leave));
	assert_int_equal(leave, 5 * MS);
	assert_false(faults_admit(&f, 6 * MS - 1, &leave));
	assert_true(faults_admit(&f, 6 * MS, &leave));
	assert_int_equal(f.counts[FAULT_CAPACITY], 1);
	assert_int_equal(f.counts[FAULT_QUEUED], 0);
	faults_free(&f);
}

static void capacity_with_a_queue_makes_wait_up_to_its_length(void **state)
{
	struct capacity_settings c = {.rate = 1000, .queue = 3};
	struct faults_settings s = {.capacity = &c};
	struct faults f = faults_with(&s);
	uint64_t leave;

	for (uint32_t i = 0; i < 4; i++) {
		assert_true(faults_admit(&f, MS, &leave));
		assert_int_equal(leave, (1 + i) * MS);
	}
	assert_false(faults_admit(&f, MS, &leave));
	assert_true(faults_admit(&f, 2 * MS, &leave));
	assert_int_equal(leave, 5 * MS);
	assert_int_equal(f.counts[FAULT_QUEUED], 4);
	faults_free(&f);
}

// Requests arrive at twice the capacity: a drop that costs as much as half a reply leaves nothing.
static void dropped_requests_cost_capacity_as_well(void **state)
{
	static const struct {
		double cost, answered;
	} rows[] = {{0, 1000}, {0.1, 889}, {0.25, 667}, {0.5, 0}, {1, 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct capacity_settings c = {.rate = 1000, .queue = 5, .drop_cost = rows[i].cost};
		struct faults_settings s = {.capacity = &c};
		struct faults f = faults_with(&s);
		uint32_t n = 0;
		uint64_t leave;

		for (uint32_t k = 0; k < 2000; k++)
			n += faults_admit(&f, 5 * MS + k * MS / 2, &leave);
		assert_float_equal(n, rows[i].answered, 14);
		assert_true(faults_admit(&f, 1100 * MS, &leave)); // it recovers soon
		faults_free(&f);
	}
}

static void an_outage_drops_between_its_two_times_from_the_first_request(void **state)
{
	struct outage_settings o = {.off_at_ns = 10 * MS, .on_at_ns = 20 * MS};
	struct faults_settings s = {.outage = &o};
	struct faults f = faults_with(&s);
	uint64_t leave, start = 123 * MS;

	assert_true(faults_admit(&f, start, &leave));
	assert_true(faults_admit(&f, start + 10 * MS - 1, &leave));
	assert_false(faults_admit(&f, start + 10 * MS, &leave));
	assert_false(faults_admit(&f, start + 20 * MS - 1, &leave));
	assert_true(faults_admit(&f, start + 20 * MS, &leave));
	assert_int_equal(f.counts[FAULT_OUTAGE], 2);
	faults_free(&f);
}

static void in_a_stall_everything_waits_for_its_end(void **state)
{
	struct stall_settings stall = {.every_ns = 100 * MS, .for_ns = 30 * MS};
	struct faults_settings s = {.stall = &stall};
	struct faults f = faults_with(&s);
	uint64_t leave, start = 7 * MS;

	assert_true(faults_admit(&f, start, &leave));
	assert_int_equal(leave, start); // none at the origin
	for (uint64_t t = start; t < start + 350 * MS; t += 499999) {
		uint64_t into = (t - start) % (100 * MS);
		bool stalled = t - start >= 100 * MS && into < 30 * MS;

		assert_true(faults_admit(&f, t, &leave));
		assert_int_equal(leave, stalled ? t - into + 30 * MS : t);
	}
	faults_free(&f);
}

static uint64_t mean_delay(const struct delay_settings *delay, uint64_t *least, uint64_t *most)
{
	struct faults_settings s = {.delay = (struct delay_settings *)delay};
	struct faults f = faults_with(&s);
	uint64_t sum = 0, leave;

	*least = UINT64_MAX;
	*most = 0;
	for (uint32_t i = 0; i < 100000; i++) {
		assert_true(faults_admit(&f, MS, &leave));
		leave -= MS;
		sum += leave;
		*least = leave < *least ? leave : *least;
		*most = leave > *most ? leave : *most;
	}
	faults_free(&f);
	return sum / 100000;
}

static void delays_have_the_distribution_that_was_asked_for(void **state)
{
	struct uniform_settings uniform = {2 * MS, 4 * MS};
	struct two_point_settings two = {1 * MS, 101 * MS, 0.25};
	uint64_t least, most;

	assert_int_equal(
		mean_delay(&(struct delay_settings){.constant_ns = MS}, &least, &most), MS);
	assert_int_equal(least, most);
	assert_in_range(mean_delay(&(struct delay_settings){.uniform = &uniform}, &least, &most),
		2.98 * MS, 3.02 * MS);
	assert_in_range(least, 2 * MS, 2.001 * MS);
	assert_in_range(most, 3.999 * MS, 4 * MS);
	assert_in_range(
		mean_delay(&(struct delay_settings){.exponential_ns = 10 * MS}, &least, &most),
		9.8 * MS, 10.2 * MS);
	assert_in_range(most, 80 * MS, 120 * MS);
	assert_in_range(mean_delay(&(struct delay_settings){.two_point = &two}, &least, &most),
		25.4 * MS, 26.6 * MS);
	assert_int_equal(least, MS);
	assert_int_equal(most, 101 * MS);
}

static struct fault_answer answer_of(uint8_t *frame, uint32_t len)
{
	struct fault_answer a = {.data = frame, .len = len, .room = 64, .src_port = 53};

	a.t.len = 4;
	a.t.addr_len = 4;
	a.t.checksum_offload = true;
	memset(frame, 0xaa, 4 + len);
	return a;
}

static void each_fault_of_the_wire_changes_its_thing_and_nothing_else(void **state)
{
	uint8_t frame[128], whole[128];
	struct fault_answer a = answer_of(frame, 40);

	memcpy(whole, frame, 44);
	whole[4 + 20] ^= 1;
	assert_true(faults_spoil(FAULT_CORRUPT, NULL, &a, 0));
	assert_memory_equal(frame, whole, 44);
	assert_false(a.damaged);

	a = answer_of(frame, 40);
	assert_true(faults_spoil(FAULT_CORRUPT_CHECKSUM, NULL, &a, 0));
	assert_true(a.damaged && !a.t.checksum_offload);
	faults_flip(&a);
	assert_memory_equal(frame, whole, 44);

	a = answer_of(frame, 41);
	assert_true(faults_spoil(FAULT_TRUNCATE, NULL, &a, 0));
	assert_int_equal(a.len, 20);
	assert_true(faults_spoil(FAULT_WRONG_PORT, NULL, &a, 0));
	assert_int_equal(a.src_port, 52);
	assert_true(faults_spoil(FAULT_WRONG_ADDRESS, NULL, &a, 0));
	assert_memory_equal(a.src, "\0\0\0\x40", 4);
}

static void a_protocols_faults_stand_in_the_table_by_name(void **state)
{
	const struct proto_fault *rows[FAULTS_MAX];
	uint32_t found = 0;

	faults_of_protocol(protos[0]->server, rows);
	for (uint32_t i = 0; i < FAULTS_MAX; i++) {
		assert_true(rows[i] == NULL || i >= FAULT_OF_PROTOCOL);
		if (!rows[i])
			continue;
		assert_string_equal(rows[i]->name, faults_label(i));
		found++;
	}
	assert_true(found >= 6);
	assert_string_equal(faults_label(FAULTS_MAX - 1), "");
	assert_string_equal(faults_label(FAULT_LOSS), "loss");
}

static void every_fault_of_every_protocol_has_a_place(void **state)
{
	const struct proto_fault *rows[FAULTS_MAX];

	for (uint32_t k = 0; protos[k]; k++) {
		uint32_t found = 0, there = 0;

		if (!protos[k]->server)
			continue;
		faults_of_protocol(protos[k]->server, rows);
		for (const struct proto_fault *f = protos[k]->server->faults; f && f->name; f++)
			there++;
		for (uint32_t i = 0; i < FAULTS_MAX; i++)
			found += rows[i] != NULL;
		assert_int_equal(found, there);
	}
}

static void what_is_held_back_follows_from_rate_and_time(void **state)
{
	struct delay_settings delay = {.constant_ns = 100 * MS};
	struct capacity_settings capacity = {.rate = 1000, .queue = 500};
	struct faults_settings s = {.delay = &delay};

	assert_int_equal(faults_longest_ns(&s), 100 * MS);
	assert_int_equal(faults_held(&s, 1e6), 200000);
	s.capacity = &capacity;
	assert_int_equal(faults_longest_ns(&s), 600 * MS);
	assert_int_equal(faults_held(&s, 1e6), 201000);
}

static void expect(const char *faults, const char *part)
{
	struct arena *a = arena_new();
	struct diag *d = diag_new();
	char text[512], *out;

	snprintf(text, sizeof(text),
		"ports: [{name: dut, driver: \"null\", addresses: [198.18.0.2/24]}]\n"
		"responder: {port: dut, dns: {}, faults: {%s}}\n",
		faults);
	config_load_text("t.yaml", text, strlen(text), a, d);
	out = diag_text(d);
	if (part ? !strstr(out, part) : *out)
		fail_msg("%s: expected \"%s\" in:\n%s", faults, part ? part : "", out);
	free(out);
	diag_free(d);
	arena_free(a);
}

static void broken_settings_are_errors_at_their_place(void **state)
{
	expect("loss: {every: 7}, wrong_id: {share: 1%}, stall: {every: 1s, for: 1ms}", NULL);
	expect("loss: {}", "responder.faults.loss: exactly one of share and every");
	expect("loss: {every: 7, share: 1%}", "exactly one of share and every");
	expect("duplicate: {every: 21}, loss: {every: 7}",
		"never happens: all of its replies already have");
	expect("duplicate: {every: 7}, loss: {every: 21}", NULL);
	expect("wrong_ip: {every: 7}", "did you mean \"wrong_id\"?");
	expect("delay: {}", "exactly one of");
	expect("delay: {constant: 1ms, exponential: 1ms}", "exactly one of");
	expect("delay: {uniform: {min: 2ms, max: 1ms}}", "greater than max");
	expect("stall: {every: 1s, for: 1s}", "no shorter than every");
	expect("outage: {off_at: 1s, on_at: 1s}", "not after off_at");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_nth_answer_has_its_turn_whatever_else_happens),
		cmocka_unit_test(the_last_place_of_the_table_has_its_turn_too),
		cmocka_unit_test(a_share_is_met_and_the_same_for_the_same_seed),
		cmocka_unit_test(capacity_without_a_queue_drops_what_comes_too_soon),
		cmocka_unit_test(capacity_with_a_queue_makes_wait_up_to_its_length),
		cmocka_unit_test(dropped_requests_cost_capacity_as_well),
		cmocka_unit_test(an_outage_drops_between_its_two_times_from_the_first_request),
		cmocka_unit_test(in_a_stall_everything_waits_for_its_end),
		cmocka_unit_test(delays_have_the_distribution_that_was_asked_for),
		cmocka_unit_test(each_fault_of_the_wire_changes_its_thing_and_nothing_else),
		cmocka_unit_test(a_protocols_faults_stand_in_the_table_by_name),
		cmocka_unit_test(every_fault_of_every_protocol_has_a_place),
		cmocka_unit_test(what_is_held_back_follows_from_rate_and_time),
		cmocka_unit_test(broken_settings_are_errors_at_their_place),
	};

	return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
