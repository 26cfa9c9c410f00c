// SPDX-License-Identifier: BSD-3-Clause
// Lines of key=value, as probes print them and as they do not; and a probe whose command, clock and
// waits are played by the test. Path: cold. Test.
#include <errno.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <math.h>
#include <pthread.h>

#include <cmocka.h>

#include "engine/run/around/command.h"
#include "engine/run/around/probe.h"

// cmocka's own check treats NaN as equal.
#define assert_near(value, wanted, off) assert_true(fabs((value) - (wanted)) <= (off))

static struct probe_pair pairs[PROBE_PAIRS_MAX];
static const char *why;

static void pairs_are_read_and_the_rest_is_passed_over(void **state)
{
	assert_int_equal(probe_parse_pairs("qps=17\nhello\ncache.hits=1.5e3 of all\n=4\nx=\n"
					   "y=z\nneg=-2\ninf=inf\nnan=nan\nlast=9",
				 pairs, &why),
		4);
	assert_string_equal(pairs[0].name, "qps");
	assert_near(pairs[0].value, 17, 0);
	assert_string_equal(pairs[1].name, "cache.hits");
	assert_near(pairs[1].value, 1500, 0);
	assert_string_equal(pairs[2].name, "neg");
	assert_near(pairs[2].value, -2, 0);
	assert_string_equal(pairs[3].name, "last");
}

// A number on the next line does not belong to this line.
static void a_value_ends_with_its_line(void **state)
{
	assert_int_equal(probe_parse_pairs("a=\n5\nb=1", pairs, &why), 1);
	assert_string_equal(pairs[0].name, "b");
}

static void pairs_without_room_are_no_figures(void **state)
{
	char text[PROBE_PAIRS_MAX * 8 + 64] = "", line[32];
	char name[PROBE_NAME_SIZE + 8];

	for (int i = 0; i < PROBE_PAIRS_MAX; i++) {
		snprintf(line, sizeof(line), "k%d=%d\n", i % 10, i);
		strcat(text, line);
	}
	strcat(text, "hello\n=4\n");
	assert_int_equal(probe_parse_pairs(text, pairs, &why), PROBE_PAIRS_MAX);
	strcat(text, "one=1");
	assert_int_equal(probe_parse_pairs(text, pairs, &why), 0);
	assert_string_equal(why, "more than 64 figures");
	memset(name, 'a', sizeof(name));
	strcpy(name + PROBE_NAME_SIZE, "=1");
	assert_int_equal(probe_parse_pairs(name, pairs, &why), 0);
	assert_string_equal(why, "a name of 64 characters or more");
	strcpy(name + PROBE_NAME_SIZE - 1, "=1");
	assert_int_equal(probe_parse_pairs(name, pairs, &why), 1);
	assert_int_equal(probe_parse_pairs("", pairs, &why), 0);
}

// Nothing beyond the end of a text is read.
static void nothing_behind_the_text_is_read(void **state)
{
	char *text = strdup("a=1\nhello");

	assert_int_equal(probe_parse_pairs(text, pairs, &why), 1);
	free(text);
}

// --- the thread, and its findings ---

#define ASKED_MAX 256
#define SECOND    1000000000ull

// A run of the command.
struct asked {
	int rc;
	const char *out;
	uint64_t took_ns;
};

static struct {
	const struct asked *script; // the last one is asked when the probe is stopped
	uint32_t length, count;
	uint64_t now_ns;
	uint64_t wake_ns[ASKED_MAX]; // of each wait
	uint32_t waits;
	uint64_t tick[ASKED_MAX]; // at the end of each run of the command, before its sample
	sem_t idle;               // nothing but the last one is left
	int create;
	char logged[256];
} played;

static struct arena *arena;
static struct result_item items[2];
static struct result_interval intervals[2];
static struct result result;

int __wrap_command_run(const struct command_run *c);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_pthread_cond_timedwait(
	pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until);
int __real_pthread_create(
	pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __wrap_pthread_create(
	pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
void __wrap_log_warning(const char *fmt, ...);
void __wrap_log_error(const char *fmt, ...);

// A tick of its own, though other CPUs count tens of nanoseconds.
static uint64_t next_tick(void)
{
	uint64_t before = clock_now(), tick = before;

	while (tick == before)
		tick = clock_now();
	return tick;
}

int __wrap_command_run(const struct command_run *c)
{
	const struct asked *a = &played.script[played.count];

	assert_true(played.count < played.length);
	assert_string_equal(c->text, "figures");
	assert_int_equal(c->timeout_ns, 5);
	snprintf(c->out, c->room, "%s", a->out);
	played.now_ns += a->took_ns;
	played.tick[played.count++] = next_tick();
	next_tick();
	return a->rc;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	t->tv_sec = (time_t)(played.now_ns / SECOND);
	t->tv_nsec = (long)(played.now_ns % SECOND);
	return 0;
}

int __wrap_pthread_cond_timedwait(
	pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
	uint64_t wake = (uint64_t)until->tv_sec * SECOND + (uint64_t)until->tv_nsec;

	assert_in_range(until->tv_nsec, 0, SECOND - 1);
	played.wake_ns[played.waits++] = wake;
	if (played.count + 1 < played.length) {
		played.now_ns = wake;
		return ETIMEDOUT;
	}
	sem_post(&played.idle);
	return pthread_cond_wait(c, m);
}

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	return played.create ? played.create : __real_pthread_create(t, attr, run, arg);
}

void __wrap_log_warning(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(played.logged, sizeof(played.logged), fmt, args);
	va_end(args);
}

void __wrap_log_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(played.logged, sizeof(played.logged), fmt, args);
	va_end(args);
}

static int setup(void **state)
{
	memset(&played, 0, sizeof(played));
	sem_init(&played.idle, 0, 0);
	played.now_ns = 7 * SECOND - 1;
	arena = arena_new();
	items[0] = items[1] = (struct result_item){.answered_per_s = 500};
	memset(intervals, 0, sizeof(intervals));
	result = (struct result){.traffic = {items, 2}, .intervals = {intervals, 2}};
	return 0;
}

static int teardown(void **state)
{
	arena_free(arena);
	return 0;
}

// Plays all of the script, one step per second. The measured part has the samples from `from` on
// and before `to`: two intervals, the first with one sample.
static const struct result_dut *play(enum probe_format format, const struct asked *script,
	uint32_t length, uint32_t from, uint32_t to)
{
	const struct probe_settings s = {.command = "figures", .format = format, .timeout_ns = 5};
	const uint64_t *tick = played.tick;
	struct probe_span measured;
	struct probe *p;

	played.script = script;
	played.length = length;
	p = probe_start(&s, SECOND);
	assert_non_null(p);
	sem_wait(&played.idle);
	measured = (struct probe_span){tick[from], tick[to]};
	probe_take(p, &measured, tick[from], arena); // of the warm-up
	intervals[0].dut = probe_take(p, &measured, tick[from + 1], arena);
	intervals[1].dut = probe_take(p, &measured, tick[to], arena);
	assert_null(probe_take(p, &measured, tick[to], arena));
	probe_stop(p, &measured, arena, &result);
	assert_int_equal(played.count, length);
	return result.dut;
}

static void assert_figure(struct counter_list l, uint32_t n, const char *name, double value)
{
	const struct result_dut_figure *f = &((const struct result_dut_figure *)l.items)[n];

	assert_true(n < l.count);
	assert_string_equal(f->name, name);
	assert_near(f->value, value, 1e-9);
}

static void pairs_are_kept_from_each_interval_and_from_the_end(void **state)
{
	static const struct asked script[] = {{0, "a=1", 0}, {0, "a=2\nb=5", 0}, {0, "a=3", 0},
		{0, "a=4", 0}, {0, "a=9", 0}, {0, "a=10\nb=11", 0}};
	const struct result_dut *d = play(PROBE_PAIRS, script, 6, 1, 4);

	assert_string_equal(d->command, "figures");
	assert_string_equal(d->format, probe_formats[PROBE_PAIRS]);
	assert_int_equal(d->samples, 6);
	assert_int_equal(d->failures, 0);
	assert_int_equal(d->figures.count, 2);
	assert_figure(d->figures, 0, "a", 10);
	assert_figure(d->figures, 1, "b", 11);
	assert_int_equal(intervals[0].dut->figures.count, 2);
	assert_figure(intervals[0].dut->figures, 1, "b", 5);
	assert_figure(intervals[1].dut->figures, 0, "a", 4); // the newest
	assert_true(isnan(d->use.used) && isnan(d->us_per_transaction));
	assert_string_equal(played.logged, "");
}

#define STAT(busy, idle) "cpu  " busy " 0 0 " idle " 0 0 0 0\ncpu0 \ncpu1 \n"

// Busy shares of 25 %, 50 %, 75 % and 100 % between the samples.
static const struct asked stat[] = {{0, STAT("0", "0"), 0}, {0, STAT("25", "75"), 0},
	{0, STAT("75", "125"), 0}, {0, STAT("150", "150"), 0}, {0, STAT("250", "150"), 0},
	{0, STAT("250", "950"), 0}};

static void the_use_of_cpus_is_that_of_the_measured_part(void **state)
{
	const struct result_dut *d = play(PROBE_PROC_STAT, stat, 6, 1, 4);

	assert_string_equal(d->format, probe_formats[PROBE_PROC_STAT]);
	assert_int_equal(d->cpus, 2);
	assert_near(d->use.used, 125. / 200, 1e-9); // between the samples 1 and 3
	assert_near(d->us_per_transaction, 125. / 200 * 2 * 1e6 / 1000, 1e-6);
	assert_int_equal(d->figures.count, 0);
	assert_int_equal(intervals[0].dut->figures.count, 1);
	assert_figure(intervals[0].dut->figures, 0, "used", 0.25);
	assert_figure(intervals[1].dut->figures, 0, "used", 0.75);
}

static void the_first_sample_has_none_before_it(void **state)
{
	play(PROBE_PROC_STAT, stat, 6, 0, 4);
	assert_null(intervals[0].dut);
	assert_non_null(intervals[1].dut);
}

// One of five commands failed, and two printed nothing useful. The first of these is reported.
static void commands_that_fail_are_counted(void **state)
{
	static const struct {
		enum probe_format format;
		struct asked script[5];
		const char *logged;
	} rows[] = {
		{PROBE_PAIRS,
			{{0, "a=1", 0}, {7, "a=2", 0}, {0, "none", 0}, {0, "", 0}, {0, "a=3", 0}},
			"dut.probe: 3 of 5 times no figures: exit status 7"},
		{PROBE_PAIRS,
			{{0, "none", 0}, {7, "a=2", 0}, {0, "a=1", 0}, {0, "", 0}, {0, "a=3", 0}},
			"dut.probe: 3 of 5 times no figures: no key=value with a number in it"},
		{PROBE_PROC_STAT,
			{{0, "a=1", 0}, {-EINTR, "", 0}, {0, STAT("0", "5"), 0}, {0, "", 0},
				{0, STAT("5", "5"), 0}},
			"dut.probe: 3 of 5 times no figures: not the text of /proc/stat"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct result_dut *d = play(rows[i].format, rows[i].script, 5, 1, 3);

		assert_int_equal(d->samples, 2);
		assert_int_equal(d->failures, 3);
		assert_string_equal(played.logged, rows[i].logged);
		teardown(state);
		setup(state);
	}
}

static void without_samples_nothing_is_known(void **state)
{
	static const struct asked script[] = {
		{1, "", 0}, {1, "", 0}, {1, "", 0}, {1, "", 0}, {1, "", 0}};

	for (enum probe_format f = PROBE_PROC_STAT;; f = PROBE_PAIRS) {
		const struct result_dut *d = play(f, script, 5, 0, 3);

		assert_true(isnan(d->use.used) && isnan(d->us_per_transaction));
		assert_int_equal(d->cpus, 0);
		assert_int_equal(d->figures.count, 0);
		assert_null(intervals[0].dut);
		teardown(state);
		setup(state);
		if (f == PROBE_PAIRS)
			break;
	}
}

static void all_samples_are_kept_however_many_there_are(void **state)
{
	static struct asked script[200];
	const struct result_dut *d;

	for (uint32_t i = 0; i < 200; i++)
		script[i].out = i < 3 ? "a=1" : "a=7";
	d = play(PROBE_PAIRS, script, 200, 2, 198);
	assert_int_equal(d->samples, 200);
	assert_figure(intervals[0].dut->figures, 0, "a", 1);
	assert_figure(d->figures, 0, "a", 7);
}

// At whole seconds from the start, however long a command takes; seconds that have passed are
// skipped.
static void it_asks_at_the_seconds_of_the_run(void **state)
{
	static const struct asked script[] = {{0, "a=1", 0}, {0, "a=1", SECOND - 1},
		{0, "a=1", SECOND}, {0, "a=1", 5 * SECOND / 2}, {0, "a=1", 0}, {0, "a=1", 0}};
	static const uint64_t wake[] = {8, 9, 11, 14, 15};

	play(PROBE_PAIRS, script, 6, 0, 3);
	assert_int_equal(played.waits, 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_true(played.wake_ns[i] == wake[i] * SECOND - 1);
}

static void a_thread_that_cannot_be_had_is_told(void **state)
{
	const struct probe_settings s = {.command = "figures"};

	played.create = EAGAIN;
	assert_null(probe_start(&s, SECOND));
	assert_string_equal(played.logged, "dut.probe: Resource temporarily unavailable");
	probe_stop(NULL, NULL, arena, &result);
	assert_null(result.dut);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_are_read_and_the_rest_is_passed_over),
		cmocka_unit_test(a_value_ends_with_its_line),
		cmocka_unit_test(pairs_without_room_are_no_figures),
		cmocka_unit_test(nothing_behind_the_text_is_read),
		TEST(pairs_are_kept_from_each_interval_and_from_the_end),
		TEST(the_use_of_cpus_is_that_of_the_measured_part),
		TEST(the_first_sample_has_none_before_it),
		TEST(commands_that_fail_are_counted),
		TEST(without_samples_nothing_is_known),
		TEST(all_samples_are_kept_however_many_there_are),
		TEST(it_asks_at_the_seconds_of_the_run),
		TEST(a_thread_that_cannot_be_had_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
