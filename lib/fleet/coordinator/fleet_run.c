// SPDX-License-Identifier: BSD-3-Clause
// The course of a run of a fleet, from the order to get ready to its result. Path: cold. Main
// thread.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/coordinator/fleet_internal.h"

#define GRACE_MS  30000 // over the time of a run and its drain
#define STOP_MS   10000 // for a run that was stopped without a drain
#define BEHIND    3     // intervals that a part may be behind,
#define BEHIND_MS 2000  // and this long at least

// urgency 0: the run has reached its purpose; 1 and 2: the number of interrupts.
static void stop_all(struct fleet *f, int urgency)
{
	if (f->told >= urgency)
		return;
	f->told = urgency;
	f->stop_ms = clock_steady_ms();
	fleet_tell_all(f, "stop", json_integer(urgency));
}

static bool has_ended(const struct fleet_part *p)
{
	return p->ended || p->over || *p->trouble;
}

// Returns the time that the slowest part may take: the run, its drain, and writing a result.
static uint64_t most_ms(const struct fleet *f)
{
	const struct run_settings *r = &f->now->run;
	uint64_t drain = r->drain_ns != UINT64_MAX ? r->drain_ns : 0, wait;

	for (uint32_t i = 0; r->drain_ns == UINT64_MAX && i < f->now->traffic.count; i++) {
		wait = ((const struct item_settings *)f->now->traffic.items)[i].facts.wait_ns;
		drain = 4 * wait > drain ? 4 * wait : drain;
	}
	return (r->warmup_ns + r->duration_ns + drain) / 1000000 + GRACE_MS;
}

// Finds parts that beat, but whose intervals do not come while other parts' intervals do.
static void find_stuck(struct fleet *f)
{
	const struct run_settings *r = &f->now->run;
	uint64_t allowed = BEHIND * r->interval_ns / 1000000, now = clock_steady_ms(), most = 0;
	// Afterwards, each part has its own drain.
	uint64_t whole = (r->warmup_ns + r->duration_ns) / r->interval_ns;

	allowed = allowed < BEHIND_MS ? BEHIND_MS : allowed;
	for (unsigned i = 0; i < f->count; i++)
		most = f->parts[i].number_last > most ? f->parts[i].number_last : most;
	most = most < whole ? most : whole;
	for (unsigned i = 0; i < f->count; i++) {
		struct fleet_part *p = &f->parts[i];

		if (has_ended(p) || p->number_last + BEHIND >= most ||
			now - p->interval_ms <= allowed || now - p->heard_ms > BEHIND_MS / 2)
			continue;
		fleet_part_trouble(p, EXIT_INVALID, "it is %llu intervals behind the others",
			(unsigned long long)(most - p->number_last));
	}
}

static bool is_to_end(const struct fleet *f)
{
	const struct run_hooks *h = &f->run->hooks;

	return f->stopped || fleet_troubled(f) || (h->enough && h->enough(h->ctx));
}

static void supervise(struct fleet *f)
{
	const struct run_hooks *h = &f->run->hooks;
	uint64_t until = clock_steady_ms() + most_ms(f);

	while (!fleet_are_all(f, has_ended) && clock_steady_ms() < until) {
		fleet_tick(f, FLEET_TICK_MS);
		if (h->tick)
			h->tick(h->ctx);
		fleet_pass_intervals(f);
		fleet_find_gone(f);
		find_stuck(f);
		if (*f->run->signals || is_to_end(f))
			stop_all(f, *f->run->signals > 2 ? 2 : *f->run->signals);
		if (f->told == 2 && clock_steady_ms() > f->stop_ms + STOP_MS)
			break;
	}
	fleet_find_gone(f);
	for (unsigned i = 0; i < f->count; i++)
		if (!has_ended(&f->parts[i]))
			fleet_part_trouble(&f->parts[i], EXIT_INVALID, "its run does not end");
	fleet_pass_intervals(f);
}

int fleet_once(
	void *ctx, const struct config *c, char *const *texts, unsigned count, struct result *out)
{
	struct fleet *f = ctx;
	struct arena *a = f->arena;
	int rc;

	memset(out, 0, sizeof(*out));
	f->number++;
	f->now = c;
	f->told = -1;
	free(f->stopped);
	f->stopped = NULL;
	stop_start(&f->stop, c, a);
	rc = fleet_begin(f, texts, count, a);
	if (rc) {
		if (fleet_troubled(f) || *f->run->signals)
			stop_all(f, 2);
		return rc;
	}
	supervise(f);
	fleet_check_clocks(f);
	return fleet_finish(f, a, out);
}

// Returns the middle of an interval that begins before `at` or soon after. The intervals of all
// parts end at the same times, except for their skew, so an order with that time holds from the
// same interval on.
static int64_t middle_of_interval(const struct fleet *f, int64_t at)
{
	const struct run_settings *r = &f->now->run;
	int64_t measure = f->start_ns + (int64_t)r->warmup_ns, every = (int64_t)r->interval_ns;
	int64_t from = at < measure ? f->start_ns : measure, middle;

	middle = at <= from ? from + every / 2 : from + (at - from) / every * every + every / 2;
	if (llabs(middle - measure) < every / 4) // the warm-up may end with a shorter one
		middle = measure + every / 2;
	return middle < at ? middle + every : middle;
}

const char *fleet_order(struct fleet *f, const char *order, uint64_t at_ns)
{
	int64_t at, wanted = at_ns < INT64_MAX / 2 ? (int64_t)at_ns : INT64_MAX / 2;

	if (f->number == 0)
		return "no packets flow now";
	at = fleet_clock_ns() + fleet_lead_ms(f) * INT64_C(1000000);
	wanted -= (int64_t)f->now->run.interval_ns / 2; // before the interval that begins then
	at = middle_of_interval(f, wanted > at ? wanted : at);
	for (unsigned i = 0; i < f->count; i++) {
		struct fleet_part *p = &f->parts[i];

		if (fleet_takes_orders(p))
			fleet_part_tell(p, json_pack("{s:s, s:I}", "order", order, "at_ns",
						   (json_int_t)(at + p->offset.ns)));
	}
	return fleet_troubled(f) ? fleet_troubled(f)->trouble : NULL;
}
