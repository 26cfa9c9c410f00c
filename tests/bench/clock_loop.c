// SPDX-License-Identifier: BSD-3-Clause
// The jitter of a box, without a tester: a loop that only reads the clock until the next send of a
// schedule would be due. How late it notices is how late the best sender could be. Prints JSON.
// usage: clock_loop CPU RATE SECONDS
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hist.h"

static struct hist lag;

static int stay_on(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

static void watch(const struct clock *clock, double rate, double seconds)
{
	double gap = clock->hz / rate;
	uint64_t start = clock_now(), count = (uint64_t)(rate * seconds);

	for (uint64_t i = 0; i < count; i++) {
		uint64_t due = start + (uint64_t)(((double)i + 0.5) * gap), now;

		do
			now = clock_now();
		while (now < due);
		hist_add(&lag, now - due);
	}
}

static double percentile(const struct clock *clock, double share)
{
	return clock_ns(clock, hist_percentile(&lag, share, 0));
}

int main(int argc, char **argv)
{
	struct clock clock;

	if (argc != 4 || stay_on(atoi(argv[1])) < 0) {
		fprintf(stderr, "usage: clock_loop CPU RATE SECONDS\n");
		return 2;
	}
	hist_clear(&lag);
	clock_calibrate(&clock, 30);
	watch(&clock, atof(argv[2]), atof(argv[3]));
	printf("{\"count\": %" PRIu64
	       ", \"p50_ns\": %.0f, \"p99_ns\": %.0f, \"p999_ns\": %.0f, \"max_ns\": %.0f}\n",
		lag.count, percentile(&clock, 0.5), percentile(&clock, 0.99),
		percentile(&clock, 0.999), clock_ns(&clock, lag.max));
	return 0;
}
