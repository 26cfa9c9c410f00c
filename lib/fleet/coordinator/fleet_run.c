// SPDX-License-Identifier: BSD-3-Clause
// A run of a fleet: all parts get ready, begin at one time, and end; their intervals are added up
// as they come, and their results at the end. Path: cold. Main thread.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "document/document_reader.h"
#include "engine/result/result_read.h"
#include "fleet/coordinator/fleet_internal.h"
#include "engine/result/result_fold.h"
#include "fleet/fleet_result.h"
#include "follow/run_events.h"

#define READY_MS    120000 // tables are built, servers found
#define BEGIN_MS    5000   // for all to say that they have begun
#define EXCHANGES   20     // with each agent, for its clock
#define EXCHANGE_MS 200    // for all replies, at most
#define PAUSE_MS    5      // between two exchanges
#define GRACE_MS    30000  // over the time of a run and its drain
#define STOP_MS     10000  // for a run that was stopped without a drain
#define TICK_MS     20
#define BEHIND      3    // intervals that a part may be behind,
#define BEHIND_MS   2000 // and so long at least
#define NOTED       5    // parts that have a line each when the run begins

struct fleet_part *fleet_troubled(const struct fleet *f)
{
	for (unsigned i = 0; i < f->count; i++)
		if (*f->parts[i].trouble)
			return &f->parts[i];
	return NULL;
}

static bool are_all(const struct fleet *f, bool (*is_so_far)(const struct fleet_part *p))
{
	for (unsigned i = 0; i < f->count; i++)
		if (!is_so_far(&f->parts[i]))
			return false;
	return true;
}

// The others end at once, too.
static void find_gone(struct fleet *f)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->parts[i].over && !f->parts[i].ended)
			fleet_part_trouble(
				&f->parts[i], EXIT_INVALID, "its process has ended before the run");
}

bool fleet_wait(struct fleet *f, bool (*is_so_far)(const struct fleet_part *p), unsigned ms,
	const char *what)
{
	const struct run_hooks *h = &f->run->hooks;
	uint64_t until = clock_steady_ms() + ms;

	while (!are_all(f, is_so_far) && !fleet_troubled(f) && !*f->run->signals &&
		clock_steady_ms() < until) {
		fleet_tick(f, TICK_MS);
		find_gone(f);
		if (h->tick)
			h->tick(h->ctx);
	}
	for (unsigned i = 0; i < f->count && clock_steady_ms() >= until; i++)
		if (!is_so_far(&f->parts[i]))
			fleet_part_trouble(
				&f->parts[i], EXIT_INVALID, "%s after %u s", what, ms / 1000);
	return are_all(f, is_so_far);
}

// --- begin

static bool have_all_told(const struct fleet *f, unsigned times)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->parts[i].clock.count < times && !*f->parts[i].trouble)
			return false;
	return true;
}

static void exchange_times(struct fleet *f)
{
	uint64_t until;

	for (unsigned i = 0; i < f->count; i++)
		fleet_clock_start(&f->parts[i].clock);
	for (unsigned n = 1; n <= EXCHANGES; n++) {
		until = clock_steady_ms() + EXCHANGE_MS;
		for (unsigned i = 0; i < f->count; i++)
			fleet_part_ask_clock(&f->parts[i]);
		do
			fleet_tick(f, PAUSE_MS);
		while (!have_all_told(f, n) && clock_steady_ms() < until);
	}
}

static void measure_clocks(struct fleet *f)
{
	int64_t own = fleet_clock_error();

	exchange_times(f);
	for (unsigned i = 0; i < f->count; i++) {
		struct fleet_part *p = &f->parts[i];

		if (p->clock.count == 0)
			fleet_part_trouble(p, EXIT_INVALID, "it does not report its clock");
		else
			p->offset = fleet_clock_offset(&p->clock, own);
	}
}

// Was a clock set, or did it run away, while the run was in progress?
static void check_clocks(struct fleet *f)
{
	int64_t most = (int64_t)f->config->validity.fleet_skew_ns;

	exchange_times(f);
	for (unsigned i = 0; i < f->count; i++) {
		struct fleet_part *p = &f->parts[i];
		int64_t moved = llabs(p->clock.offset_ns - p->offset.ns);

		if (p->clock.count && moved > most + p->clock.delay_ns / 2 + p->offset.within_ns)
			fleet_part_trouble(p, EXIT_INVALID,
				"its clock moved by %.3f ms while the run was in progress",
				1e-6 * (double)moved);
	}
}

static bool is_ready(const struct fleet_part *p)
{
	return p->ready;
}

static bool has_started(const struct fleet_part *p)
{
	return p->started && p->begin;
}

static bool takes_orders(const struct fleet_part *p)
{
	return p->claimed && !p->over && !p->ended && !*p->trouble;
}

static void tell_all(struct fleet *f, const char *member, json_t *value)
{
	for (unsigned i = 0; i < f->count; i++) {
		struct fleet_part *p = &f->parts[i];

		if (takes_orders(p))
			fleet_part_tell(p, json_pack("{s:O}", member, value));
	}
	json_decref(value);
}

static unsigned lead_ms(const struct fleet *f)
{
	int64_t slowest = 0;

	for (unsigned i = 0; i < f->count; i++)
		if (f->parts[i].clock.slowest_ns > slowest)
			slowest = f->parts[i].clock.slowest_ns;
	return fleet_clock_lead_ms(f->count, slowest);
}

static void start_all(struct fleet *f, unsigned lead)
{
	f->start_ns = fleet_clock_ns() + lead * INT64_C(1000000);
	for (unsigned i = 0; i < f->count; i++) {
		struct fleet_part *p = &f->parts[i];

		fleet_part_tell(
			p, json_pack("{s:I}", "start", (json_int_t)(f->start_ns + p->offset.ns)));
	}
}

static void note_part(const struct fleet *f, const struct fleet_part *p)
{
	run_note(f->run,
		"agent %s: part %llu of %u; its clock is %+.3f ms off, known within %.3f ms",
		p->name, (unsigned long long)p->number, f->count, 1e-6 * (double)p->offset.ns,
		1e-6 * (double)p->offset.within_ns);
}

// A line each, or one of all; the result has each.
static void note_parts(const struct fleet *f)
{
	int64_t most = 0, within = 0;
	json_t *names = json_array();
	char text[TALK_NAMES];

	for (unsigned i = 0; i < f->count; i++) {
		const struct fleet_part *p = &f->parts[i];

		json_array_append_new(names, json_string(p->name));
		most = llabs(p->offset.ns) > most ? llabs(p->offset.ns) : most;
		within = p->offset.within_ns > within ? p->offset.within_ns : within;
	}
	for (unsigned i = 0; i < f->count && f->count <= NOTED; i++)
		note_part(f, &f->parts[i]);
	if (f->count > NOTED)
		run_note(f->run,
			"agents %s: parts 1 to %u; their clocks are up to %.3f ms off, known "
			"within %.3f ms",
			talk_names(names, text, sizeof(text)), f->count, 1e-6 * (double)most,
			1e-6 * (double)within);
	json_decref(names);
}

// The description of a run, when it begins, is that of the first part.
static int show_begin(struct fleet *f, struct arena *a)
{
	const struct run_hooks *h = &f->run->hooks;
	struct result begun = {0};
	const char *why;

	if (result_read(&result_section, f->parts[0].begin, &begun, a, &why) < 0) {
		log_error("agent %s: its description of the run: %s", f->parts[0].name, why);
		return EXIT_INTERNAL;
	}
	begun.number = f->number;
	begun.run.command = f->run->command;
	if (f->number == 1)
		note_parts(f);
	if (h->begin)
		h->begin(h->ctx, &begun, f->now);
	return 0;
}

static int begin(struct fleet *f, char *const *texts, unsigned count, struct arena *a)
{
	const struct fleet_part *troubled;

	for (unsigned i = 0; i < f->count; i++)
		fleet_part_begin(&f->parts[i]);
	tell_all(f, "once", talk_texts(texts, count));
	if (fleet_wait(f, is_ready, READY_MS, "it is not ready")) {
		unsigned lead;

		measure_clocks(f);
		lead = lead_ms(f);
		start_all(f, lead);
		fleet_wait(f, has_started, lead + BEGIN_MS, "it has not begun");
	}
	troubled = fleet_troubled(f);
	if (troubled)
		return troubled->trouble_code;
	return *f->run->signals ? EXIT_INTERRUPTED : show_begin(f, a);
}

// --- intervals

static const json_t *first_interval(const struct fleet_part *p)
{
	return json_array_get(p->intervals, 0);
}

static bool is_last(const json_t *interval)
{
	return json_is_true(json_object_get(interval, LINE_LAST));
}

static uint64_t number_of(const json_t *interval)
{
	return (uint64_t)json_integer_value(json_object_get(interval, LINE_NUMBER));
}

// The next interval of all parts together: of each its own next one, and more of a part whose
// intervals were shorter. false: some have not come yet.
static bool next_group(struct fleet *f, uint64_t *number, bool *last)
{
	*number = 0;
	*last = true;
	for (unsigned i = 0; i < f->count; i++) {
		const json_t *one = first_interval(&f->parts[i]);

		if (!one && !*f->parts[i].trouble && !f->parts[i].ended)
			return false;
		if (!one || is_last(one))
			continue;
		*last = false;
		*number = number_of(one) > *number ? number_of(one) : *number;
	}
	for (unsigned i = 0; i < f->count; i++)
		if (!*last && f->parts[i].number_last < *number && !*f->parts[i].trouble &&
			!f->parts[i].ended)
			return false;
	return true;
}

// The next interval of a part; NULL: it is not of this group.
static json_t *take_interval(struct fleet_part *p, uint64_t number, bool last)
{
	json_t *one = json_array_get(p->intervals, 0);

	if (!one || is_last(one) != last || (!last && number_of(one) > number))
		return NULL;
	json_incref(one);
	json_array_remove(p->intervals, 0);
	return one;
}

static bool add_interval(const struct result_fold *to, const struct fleet_part *p,
	const json_t *one, struct result_interval *sum, bool *warmup, bool first)
{
	struct result_interval i = {0};
	const char *why;

	if (result_read_line(one, &i, warmup, to->arena, &why) < 0) {
		log_error("agent %s: an interval: %s", p->name, why);
		return false;
	}
	for (uint32_t n = 0; n < i.workers.count; n++)
		((struct result_interval_worker *)i.workers.items)[n].part = p->number;
	result_fold_interval(to, sum, &i, p->hz, first);
	return true;
}

// false: none of them can be read.
static bool add_group(struct fleet *f, uint64_t number, bool last, const struct result_fold *to,
	struct result_interval *sum, bool *warmup)
{
	bool first = true;
	json_t *one;

	for (unsigned i = 0; i < f->count; i++)
		while ((one = take_interval(&f->parts[i], number, last))) {
			bool this_warmup;

			if (add_interval(to, &f->parts[i], one, sum, first ? warmup : &this_warmup,
				    first))
				first = false;
			json_decref(one);
		}
	return !first;
}

static void judge_interval(struct fleet *f, const struct result_interval *i, struct arena *a)
{
	const char *rule = f->stopped ? NULL : stop_check(&f->stop, i, a, &f->stopped_value);

	if (!rule)
		return;
	f->stopped = strdup(rule);
	f->stopped_s = i->t_s;
}

static void show_interval(
	struct fleet *f, const struct result_interval *i, bool warmup, struct arena *a)
{
	const struct run_hooks *h = &f->run->hooks;

	if (!warmup && h->kept)
		h->kept(h->ctx, i);
	if (!warmup && !i->last)
		judge_interval(f, i, a);
	if (!i->last && h->interval)
		h->interval(h->ctx, i, warmup);
}

// Ticks a second of the sums: of the first part that has begun.
static double hz_of(const struct fleet *f)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->parts[i].hz > 0)
			return f->parts[i].hz;
	return 0;
}

static void pass_intervals(struct fleet *f)
{
	uint64_t number;
	bool last, more = true;

	while (more && next_group(f, &number, &last)) {
		struct arena *a = arena_new();
		const struct result_fold to = {FOLD_OVER_BOXES, a, a, hz_of(f)};
		struct result_interval sum = {0};
		bool warmup = false;

		more = add_group(f, number, last, &to, &sum, &warmup);
		if (more) {
			result_derive_interval(&to, &sum);
			show_interval(f, &sum, warmup, a);
		}
		arena_free(a);
	}
}

// --- until all have ended

// 0: its purpose is reached; 1 and 2: as many interrupts.
static void stop_all(struct fleet *f, int urgency)
{
	if (f->told >= urgency)
		return;
	f->told = urgency;
	f->stop_ms = clock_steady_ms();
	tell_all(f, "stop", json_integer(urgency));
}

static bool has_ended(const struct fleet_part *p)
{
	return p->ended || p->over || *p->trouble;
}

// The time that the slowest may take: the run, its drain, and what it takes to write a result.
static uint64_t most_ms(const struct fleet *f)
{
	const struct run_settings *r = &f->now->run;
	uint64_t drain = r->drain_ns != UINT64_MAX ? r->drain_ns : 0, wait;

	for (uint32_t i = 0; r->drain_ns == UINT64_MAX && i < f->now->traffic.count; i++) {
		wait = config_wait_ns((const struct item_settings *)f->now->traffic.items + i);
		drain = 4 * wait > drain ? 4 * wait : drain;
	}
	return (r->warmup_ns + r->duration_ns + drain) / 1000000 + GRACE_MS;
}

// A part that beats, but whose intervals do not come while those of others do.
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

	while (!are_all(f, has_ended) && clock_steady_ms() < until) {
		fleet_tick(f, TICK_MS);
		if (h->tick)
			h->tick(h->ctx);
		pass_intervals(f);
		find_gone(f);
		find_stuck(f);
		if (*f->run->signals || is_to_end(f))
			stop_all(f, *f->run->signals > 2 ? 2 : *f->run->signals);
		if (f->told == 2 && clock_steady_ms() > f->stop_ms + STOP_MS)
			break;
	}
	find_gone(f);
	for (unsigned i = 0; i < f->count; i++)
		if (!has_ended(&f->parts[i]))
			fleet_part_trouble(&f->parts[i], EXIT_INVALID, "its run does not end");
	pass_intervals(f);
}

// --- the result

static json_t *member_of(const struct fleet_part *p, int64_t first)
{
	return json_pack("{s:s, s:I, s:s, s:s, s:I, s:I, s:s, s:I}", "name", p->name, "part",
		(json_int_t)p->number, "host", document_text(p->facts, "host"), "labels",
		document_text(p->facts, "labels"), "clock_offset_ns", (json_int_t)p->offset.ns,
		"clock_within_ns", (json_int_t)p->offset.within_ns, "clock_source",
		p->offset.source ? p->offset.source : "", "began_ns",
		(json_int_t)(p->started ? p->started_ns - p->offset.ns - first : 0));
}

// The members of the fleet, and how far apart they began by the coordinator's clock. A skew that is
// not known well enough is as bad as one that is too large. reasons: of the fleet alone, not of a
// part, against the run.
static json_t *fleet_of(const struct fleet *f, json_t *reasons)
{
	const double most = (double)f->config->validity.fleet_skew_ns;
	int64_t first = INT64_MAX, last = INT64_MIN, within = 0;
	json_t *members = json_array(), *out;
	struct fleet_skew skew = {0};
	char text[160];

	for (unsigned i = 0; i < f->count; i++) {
		const struct fleet_part *p = &f->parts[i];
		int64_t at = p->started_ns - p->offset.ns;

		fleet_skew_add(&skew, p->sent_ns, &p->offset);
		if (!p->started)
			continue;
		first = at < first ? at : first;
		last = at > last ? at : last;
		within = p->offset.within_ns > within ? p->offset.within_ns : within;
	}
	for (unsigned i = 0; i < f->count; i++)
		json_array_append_new(members, member_of(&f->parts[i], first));
	if (last > first && (double)(last - first) > most) {
		snprintf(text, sizeof(text),
			"the agents began %.3f ms apart (validity.fleet_skew: %.3f ms)",
			1e-6 * (double)(last - first), 1e-6 * most);
		json_array_append_new(reasons, json_string(text));
	} else if (f->count > 1 && (double)within > most) {
		snprintf(text, sizeof(text),
			"the clocks of the agents are known within %.3f ms only "
			"(validity.fleet_skew: %.3f ms)",
			1e-6 * (double)within, 1e-6 * most);
		json_array_append_new(reasons, json_string(text));
	}
	for (unsigned i = 0; i < f->count; i++)
		if (*f->parts[i].trouble)
			json_array_append_new(reasons, json_string(f->parts[i].trouble));
	out = json_pack("{s:i, s:I, s:o, s:O}", "agents", (int)f->count, "skew_within_ns",
		(json_int_t)within, "members", members, "reasons", reasons);
	fleet_skew_put(&skew, true, out);
	return out;
}

static const struct fleet_part *part_of(const struct fleet *f, const json_t *part)
{
	for (unsigned i = 0; i < f->count; i++)
		if ((json_int_t)f->parts[i].number ==
			json_integer_value(json_object_get(part, "part")))
			return &f->parts[i];
	return NULL;
}

// The n-th order: since when it holds by our clock, and how far apart the parts were. NULL: none
// has one.
static json_t *order_of(const struct fleet *f, const json_t *parts, size_t n)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	const json_t *part, *set = NULL;
	json_t *out;
	unsigned held = 0;
	size_t i;

	json_array_foreach((json_t *)parts, i, part)
	{
		const json_t *order = json_array_get(json_object_get(part, "orders"), n);
		const struct fleet_part *p = part_of(f, part);
		int64_t at = json_integer_value(json_object_get(order, "from_ns"));

		set = set ? set : json_object_get(order, "set");
		if (!p || at == 0)
			continue;
		at -= p->offset.ns;
		first = at < first ? at : first;
		last = at > last ? at : last;
		held++;
	}
	if (!set)
		return NULL;
	out = json_pack("{s:O, s:i}", "set", set, "parts", held);
	if (held) {
		json_object_set_new(out, "from_ns", json_integer(first));
		json_object_set_new(out, "spread_ns", json_integer(last - first));
	}
	return out;
}

static json_t *orders_of(const struct fleet *f, const json_t *parts)
{
	json_t *list = json_array(), *one;

	while ((one = order_of(f, parts, json_array_size(list))))
		json_array_append_new(list, one);
	return list;
}

// "fleet" and "parts" are no part of struct result: fleet_complete puts them into the document.
static void keep_document(struct fleet *f, const struct fleet_result *r)
{
	char key[24];

	snprintf(key, sizeof(key), "%llu", (unsigned long long)f->number);
	json_object_set_new(
		f->documents, key, json_pack("{s:O, s:O}", "fleet", r->fleet, "parts", r->parts));
}

static int judge(struct fleet *f, struct document_reader *readers, unsigned count, struct arena *a,
	struct result *out)
{
	struct result_verdict *v = &out->verdict;
	json_t *reasons, *one;
	struct fleet_result r;
	size_t i;

	out->number = f->number;
	if (!fleet_result_make(&r, readers, count, f->run->command, a))
		return EXIT_INTERNAL;
	reasons = json_array();
	json_decref(r.fleet);
	r.fleet = fleet_of(f, reasons);
	json_object_set_new(r.fleet, "orders", orders_of(f, r.parts));
	*out = r.sum;
	json_array_foreach(reasons, i, one)
		fleet_result_invalidate(v, json_string_value(one), *f->run->signals != 0, a);
	if (f->now->stop.count || f->stopped)
		fleet_result_stop(v, f->stopped, f->stopped_s, a);
	v->stopped_value = f->stopped_value;
	keep_document(f, &r);
	out->number = f->number;
	out->intervals = (struct counter_list){NULL, 0}; // they were handed out
	json_decref(reasons);
	fleet_result_forget(&r);
	return (int)v->exit_code;
}

static int finish(struct fleet *f, struct arena *a, struct result *out)
{
	struct document_reader *readers = arena_zalloc(a, f->count * sizeof(*readers));
	unsigned count = 0;
	int rc;

	for (unsigned i = 0; i < f->count; i++) {
		struct fleet_part *p = &f->parts[i];
		const json_t *from;

		if (fleet_part_book(p, &readers[count]) < 0)
			continue;
		p->sent_ns = json_integer_value(
			document_at(readers[count].document, "run.first_sent_ns"));
		from = document_at(readers[count++].document, "run.measured_from_ns");
		if (json_integer_value(from) > 0) // better than what it planned
			p->started_ns = json_integer_value(from) - (int64_t)f->now->run.warmup_ns;
	}
	if (count == 0) {
		const struct fleet_part *troubled = fleet_troubled(f);

		log_error("no agent has a result");
		return troubled ? troubled->trouble_code : EXIT_INVALID;
	}
	rc = judge(f, readers, count, a, out);
	while (count)
		reader_close(&readers[--count]);
	return rc;
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
	rc = begin(f, texts, count, a);
	if (rc) {
		if (fleet_troubled(f) || *f->run->signals)
			stop_all(f, 2);
		return rc;
	}
	supervise(f);
	check_clocks(f);
	return finish(f, a, out);
}

// In the middle of an interval that begins before `at` or soon after: the intervals of all parts
// end at the same times, but for their skew, so an order with that time holds from the same
// interval on.
static int64_t middle_of_interval(const struct fleet *f, int64_t at)
{
	const struct run_settings *r = &f->now->run;
	int64_t measure = f->start_ns + (int64_t)r->warmup_ns, every = (int64_t)r->interval_ns;
	int64_t from = at < measure ? f->start_ns : measure, middle;

	middle = at <= from ? from + every / 2 : from + (at - from) / every * every + every / 2;
	if (llabs(middle - measure) < every / 4) // the last one of the warm-up may be shorter
		middle = measure + every / 2;
	return middle < at ? middle + every : middle;
}

const char *fleet_order(struct fleet *f, const char *order, uint64_t at_ns)
{
	int64_t at, wanted = at_ns < INT64_MAX / 2 ? (int64_t)at_ns : INT64_MAX / 2;

	if (f->number == 0)
		return "no packets flow now";
	at = fleet_clock_ns() + lead_ms(f) * INT64_C(1000000);
	wanted -= (int64_t)f->now->run.interval_ns / 2; // before the interval that begins then
	at = middle_of_interval(f, wanted > at ? wanted : at);
	for (unsigned i = 0; i < f->count; i++) {
		struct fleet_part *p = &f->parts[i];

		if (takes_orders(p))
			fleet_part_tell(p, json_pack("{s:s, s:I}", "order", order, "at_ns",
						   (json_int_t)(at + p->offset.ns)));
	}
	return fleet_troubled(f) ? fleet_troubled(f)->trouble : NULL;
}
