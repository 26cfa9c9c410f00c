// SPDX-License-Identifier: BSD-3-Clause
// The one clock: CPU ticks on the hot path, calibrated against CLOCK_MONOTONIC_RAW, nanoseconds in
// reports. DPDK's own figure is rounded to 10 MHz in 22.11, up to 0.2 % wrong, and is not used.
// Path: hot (clock_now, clock_time) | cold (the rest). Any thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct clock {
	double hz;           // ticks per second
	uint64_t anchor_tsc; // a pair of simultaneous readings
	uint64_t anchor_ns;  // CLOCK_MONOTONIC_RAW
	const uint64_t
		*set; // the tick at which a test's clock stands; NULL: the CPU's counter is read
};

static inline uint64_t clock_now(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc(); // x86intrin.h is a megabyte to parse
#elif defined(__aarch64__)
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#else
#error "no tick counter known for this CPU"
#endif
}

// The tick of a clock that was passed as a parameter, so that a test can set it.
static inline uint64_t clock_time(const struct clock *c)
{
	return __builtin_expect(c->set != NULL, 0) ? *c->set : clock_now();
}

// Measure for about `ms` milliseconds; error below 10 ppm from 20 ms on.
void clock_calibrate(struct clock *c, unsigned ms);
// Measure again over all the time since the anchor: a long run ends with an error below 1 ppm.
void clock_refine(struct clock *c);

// CLOCK_MONOTONIC in milliseconds, for code that waits. A system call.
uint64_t clock_steady_ms(void);

// Unix time of a tick, which may be in the future, in nanoseconds. A test's clock has its own time
// only.
uint64_t clock_wall_ns(const struct clock *c, uint64_t tick);
// The tick of a Unix time.
uint64_t clock_wall_tick(const struct clock *c, uint64_t wall_ns);
// A tick, and the Unix time a moment before it: some 30 ns, at most 2 us unless the CPU is taken
// away in all of three tries. No system call where the kernel's clock needs none.
void clock_pair(const struct clock *c, uint64_t *tick, uint64_t *wall_ns);

static inline uint64_t clock_ticks(const struct clock *c, uint64_t ns)
{
	return (uint64_t)((double)ns * c->hz / 1e9);
}

static inline double clock_ns(const struct clock *c, uint64_t ticks)
{
	return (double)ticks * 1e9 / c->hz;
}

// Milliseconds of a number of ticks without dividing; scale: of clock_ms_scale.
static inline uint64_t clock_ms(uint64_t ticks, uint64_t scale)
{
	return (uint64_t)(((unsigned __int128)ticks * scale) >> 64);
}

static inline uint64_t clock_ms_scale(const struct clock *c)
{
	return (uint64_t)(18446744073709551616.0 * 1000 / c->hz);
}

// Like clock_ms, in microseconds.
static inline uint64_t clock_us(uint64_t ticks, uint64_t scale)
{
	return clock_ms(ticks, scale);
}

static inline uint64_t clock_us_scale(const struct clock *c)
{
	return (uint64_t)(18446744073709551616.0 * 1e6 / c->hz);
}
