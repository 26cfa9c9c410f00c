// SPDX-License-Identifier: BSD-3-Clause
// The management thread's view of clocks and links during a run, at ticks that the test chooses and
// on ports that it plays. Path: cold. Test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/run/around/watch.h"

#define HZ      2.5e9
#define PORTS   2
#define SECOND  1000000000ull
#define MEASURE 1000
#define END     (MEASURE + (uint64_t)HZ)

static struct fixture {
	bool up[PORTS];
	struct port_counters counters[PORTS];
	struct worker worker;
	struct plan_item item;
	struct port ports[PORTS];
	struct plan plan;
	struct watch w;
	struct result_port results[PORTS];
	struct result result;
} f;

bool __wrap_port_link_up(const struct port *p);
void __wrap_port_read_counters(struct port *p, struct port_counters *out);

bool __wrap_port_link_up(const struct port *p)
{
	return f.up[p - f.ports];
}

void __wrap_port_read_counters(struct port *p, struct port_counters *out)
{
	*out = f.counters[p - f.ports];
}

static int fresh(void **state)
{
	memset(&f, 0, sizeof(f));
	f.up[0] = f.up[1] = true;
	f.worker.times = (struct run_times){.start = 0, .measure = MEASURE, .end = END};
	f.item.worker = &f.worker;
	f.ports[0].link_bps = 1000000000;
	f.ports[1].link_bps = 100000000;
	f.plan = (struct plan){.clock.hz = HZ,
		.ports = f.ports,
		.port_count = PORTS,
		.items = &f.item,
		.item_count = 1,
		.phase = PHASE_MEASURE};
	f.result.ports = (struct counter_list){f.results, PORTS};
	return 0;
}

static void report(void)
{
	watch_report(&f.w, &f.plan, &f.result);
}

static void clocks_that_run_alike_do_not_disagree(void **state)
{
	const struct watch_reading a = {1000, 5000, 900},
				   b = {1000 + (uint64_t)HZ, 1000005000, 1000000900};

	assert_true(watch_clock_error(HZ, &a, &b) == 0);
	assert_true(watch_clock_error(HZ, &a, &a) == 0);
}

static void a_jump_of_any_of_the_clocks_is_seen_in_either_direction(void **state)
{
	const struct watch_reading a = {10000000000, 5000, 900};
	const int64_t jumps[] = {2000000, -2000000, 3000000000, -3000000000};

	for (size_t i = 0; i < 4; i++) {
		double jump = (double)(jumps[i] < 0 ? -jumps[i] : jumps[i]);

		for (int which = 0; which < 3; which++) {
			struct watch_reading b = {a.tick + (uint64_t)HZ, 1000005000, 1000000900};
			double error;

			b.tick += which == 0 ? (uint64_t)(jumps[i] * 5 / 2) : 0;
			b.raw_ns += which == 1 ? (uint64_t)jumps[i] : 0;
			b.mono_ns += which == 2 ? (uint64_t)jumps[i] : 0;
			error = watch_clock_error(HZ, &a, &b);
			assert_true(error > 0.98 * jump && error <= jump);
		}
	}
}

static void a_clock_that_is_slewed_by_ntp_is_within_the_bound(void **state)
{
	const struct watch_reading a = {0, 0, 0}, b = {(uint64_t)HZ, 1000000000, 1000500000};

	assert_true(watch_clock_error(HZ, &a, &b) / 1e9 < 0.001);
}

// The kernel's clock advanced by 5 s since that reading, and the ticks did not.
static void a_jump_is_found_at_the_end_however_far_back_it_was(void **state)
{
	watch_start(&f.w, &f.plan);
	f.w.first.mono_ns -= 5 * SECOND;
	watch_end(&f.w, &f.plan);
	report();
	assert_true(f.result.run.host.clock_jump_ns > 4e9);
	assert_true(f.result.run.host.clock_deviation > 0.8);
	assert_true(f.result.run.host.clock_deviation < 1.2);
}

static void clocks_are_compared_once_a_second(void **state)
{
	uint64_t before;

	watch_start(&f.w, &f.plan);
	f.w.last.mono_ns -= SECOND / 4;
	before = f.w.last.mono_ns;
	watch_tick(&f.w, &f.plan, 1);
	assert_int_equal(f.w.last.mono_ns, before);
	f.w.last.mono_ns -= SECOND;
	watch_tick(&f.w, &f.plan, 1);
	assert_true(f.w.last.mono_ns > before);
	assert_true(f.w.jump_ns > 1e9 && f.w.deviation > 0.8);
}

static void each_time_that_a_link_goes_down_is_counted_and_timed(void **state)
{
	watch_start(&f.w, &f.plan);
	watch_tick(&f.w, &f.plan, 1000);
	f.up[1] = false;
	watch_tick(&f.w, &f.plan, 2000);
	watch_tick(&f.w, &f.plan, 3000);
	f.up[1] = true;
	watch_tick(&f.w, &f.plan, 4500);
	watch_tick(&f.w, &f.plan, 5500);
	f.up[1] = false;
	watch_tick(&f.w, &f.plan, 6500);
	f.up[1] = true;
	watch_tick(&f.w, &f.plan, 7500);
	watch_end(&f.w, &f.plan);
	report();
	assert_int_equal(f.results[0].link_downs, 0);
	assert_true(f.results[0].link_down_s == 0);
	assert_int_equal(f.results[1].link_downs, 2);
	assert_float_equal(f.results[1].link_down_s, 3500 / HZ, 1e-12);
}

static void a_link_that_is_down_at_the_end_was_down_until_then(void **state)
{
	uint64_t before = clock_now();

	watch_start(&f.w, &f.plan);
	f.up[0] = false;
	watch_tick(&f.w, &f.plan, before);
	watch_end(&f.w, &f.plan);
	report();
	assert_int_equal(f.results[0].link_downs, 1);
	assert_true(f.w.links[0].ticks > 0 && f.w.links[0].ticks <= clock_now() - before);
	assert_int_equal(f.w.links[1].ticks, 0);
}

// A device that never reports its link as up is not queried.
static void a_link_that_was_never_up_does_not_go_down(void **state)
{
	f.up[0] = false;
	watch_start(&f.w, &f.plan);
	watch_tick(&f.w, &f.plan, 1000);
	watch_end(&f.w, &f.plan);
	report();
	assert_int_equal(f.results[0].link_downs, 0);
	assert_true(f.results[0].link_down_s == 0);
}

static void count(uint32_t port, uint64_t bytes, uint64_t packets)
{
	f.counters[port] = (struct port_counters){.tx_bytes = bytes, .tx_packets = packets};
}

// 10 000 packets of 60 octets and 24 around them in 1 s.
static void the_link_is_used_by_what_was_sent_in_the_measured_part(void **state)
{
	watch_start(&f.w, &f.plan);
	count(1, 777, 7);
	watch_tick(&f.w, &f.plan, MEASURE - 1);
	assert_false(f.w.began);
	count(1, 1000, 10);
	watch_tick(&f.w, &f.plan, MEASURE);
	assert_true(f.w.began);
	count(1, 99999, 99);
	watch_tick(&f.w, &f.plan, END - 1);
	assert_false(f.w.ended);
	count(1, 601000, 10010);
	watch_tick(&f.w, &f.plan, END);
	count(1, 999999999, 999999);
	watch_tick(&f.w, &f.plan, END + 1);
	watch_end(&f.w, &f.plan);
	report();
	assert_float_equal(f.results[1].link_used, 8 * 84 * 10000 / 1e8, 1e-9);
	assert_true(f.results[0].link_used == 0); // this device counts no octets
	assert_int_equal(f.results[1].link_bps, 100000000);
}

static void the_measured_part_ends_early_with_the_drain(void **state)
{
	watch_start(&f.w, &f.plan);
	watch_tick(&f.w, &f.plan, MEASURE);
	f.plan.phase = PHASE_DRAIN;
	count(0, 1000000, 1000);
	watch_tick(&f.w, &f.plan, MEASURE + (uint64_t)HZ / 2);
	count(0, 5000000, 5000);
	watch_end(&f.w, &f.plan);
	report();
	assert_float_equal(f.results[0].link_used, 8 * 1024000 / 0.5e9, 1e-9);
}

static void a_run_that_ends_before_its_time_is_read_at_its_end(void **state)
{
	watch_start(&f.w, &f.plan);
	watch_tick(&f.w, &f.plan, MEASURE);
	count(0, 1000000, 1000);
	watch_end(&f.w, &f.plan);
	assert_int_equal(f.w.to[0].bytes, 1000000);
}

static void nothing_is_said_of_a_link_without_a_speed_or_a_measured_part(void **state)
{
	watch_start(&f.w, &f.plan);
	count(0, 1000000, 1000);
	watch_end(&f.w, &f.plan);
	report();
	assert_true(f.results[0].link_used == 0);
	fresh(state);
	f.ports[0].link_bps = 0;
	watch_start(&f.w, &f.plan);
	watch_tick(&f.w, &f.plan, MEASURE);
	count(0, 1000000, 1000);
	watch_tick(&f.w, &f.plan, END);
	report();
	assert_true(f.results[0].link_used == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_that_run_alike_do_not_disagree),
		cmocka_unit_test(a_jump_of_any_of_the_clocks_is_seen_in_either_direction),
		cmocka_unit_test(a_clock_that_is_slewed_by_ntp_is_within_the_bound),
		cmocka_unit_test_setup(a_jump_is_found_at_the_end_however_far_back_it_was, fresh),
		cmocka_unit_test_setup(clocks_are_compared_once_a_second, fresh),
		cmocka_unit_test_setup(each_time_that_a_link_goes_down_is_counted_and_timed, fresh),
		cmocka_unit_test_setup(a_link_that_is_down_at_the_end_was_down_until_then, fresh),
		cmocka_unit_test_setup(a_link_that_was_never_up_does_not_go_down, fresh),
		cmocka_unit_test_setup(
			the_link_is_used_by_what_was_sent_in_the_measured_part, fresh),
		cmocka_unit_test_setup(the_measured_part_ends_early_with_the_drain, fresh),
		cmocka_unit_test_setup(a_run_that_ends_before_its_time_is_read_at_its_end, fresh),
		cmocka_unit_test_setup(
			nothing_is_said_of_a_link_without_a_speed_or_a_measured_part, fresh),
	};

	return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
