// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "fleet/fleet_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "document/document.h"
#include "engine/result/result_read.h"
#include "engine/config/config_load.h"
#include "engine/config/criteria.h"
#include "engine/result/result_fold.h"
#include "engine/run/around/cpu.h"
#include "engine/run/judge/limit.h"
#include "engine/run/run.h"
#include "fleet/fleet_clock.h"
#include "stats/json.h"

struct part {
	struct document_reader *reader;
	struct result result;
	uint64_t number;
	double hz;
};

struct merging {
	struct part *parts; // in the order of their numbers
	unsigned count;
	uint64_t agents;
	struct arena *arena;
	struct counter_list reasons; // const char *
};

static bool refuse(const struct document_reader *b, const char *why)
{
	log_error("%s: %s", b->file, why);
	return false;
}

static void add_reason(struct counter_list *reasons, const char *text, struct arena *a)
{
	bool first;

	*(const char **)stats_fold_element(reasons, reasons->count, sizeof(text), a, &first) = text;
}

// --- the parts

static uint64_t part_of(const struct document_reader *b)
{
	double part = document_number(b->document, "config.fleet.part");

	return part > 0 && part <= FLEET_WORKERS_MAX ? (uint64_t)part : 0;
}

static int by_number(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

// Do they agree in the settings that parts have in common? Their ports may differ.
static bool is_same_run(const struct document_reader *a, const struct document_reader *b)
{
	static const char *const paths[] = {"run.version", "run.seed", "config.traffic",
		"config.criteria", "config.run.warmup", "config.run.duration",
		"config.run.interval", "config.fleet.agents", "config.fleet.weights"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const json_t *x = document_at(a->document, paths[i]);
		const json_t *y = document_at(b->document, paths[i]);

		if (x != y && !json_equal((json_t *)x, (json_t *)y)) {
			log_error("%s: its %s differs from that of %s", b->file, paths[i], a->file);
			return false;
		}
	}
	return true;
}

static bool read_part(struct part *p, struct arena *a)
{
	const json_t *document = p->reader->document;
	const char *why;

	if (!json_object_get(document, "config"))
		return refuse(p->reader, "has no configuration (output.config: true)");
	p->number = part_of(p->reader);
	if (p->number == 0)
		return refuse(p->reader, "is not a part of a fleet (fleet.part)");
	if (json_object_get(document, "search") || json_object_get(document, "confidence"))
		return refuse(p->reader, "is the result of several runs, which cannot be merged");
	if (result_read(&result_section, document, &p->result, a, &why) < 0)
		return refuse(p->reader, why);
	p->hz = reader_tick_hz(p->reader);
	return true;
}

static bool read_parts(struct merging *m, struct document_reader *readers)
{
	for (unsigned k = 0; k < m->count; k++) {
		m->parts[k].reader = &readers[k];
		if (!read_part(&m->parts[k], m->arena))
			return false;
	}
	qsort(m->parts, m->count, sizeof(*m->parts), by_number);
	for (unsigned k = 0; k < m->count; k++) {
		if (k && m->parts[k].number == m->parts[k - 1].number)
			return refuse(m->parts[k].reader, "is the same part as another file");
		if (!is_same_run(m->parts[0].reader, m->parts[k].reader))
			return false;
	}
	m->agents = (uint64_t)fmin(
		fmax(document_number(m->parts[0].reader->document, "config.fleet.agents"), 0),
		FLEET_WORKERS_MAX);
	return true;
}

static void find_missing(struct merging *m)
{
	unsigned k = 0;

	for (uint64_t number = 1; number <= m->agents; number++) {
		while (k < m->count && m->parts[k].number < number)
			k++;
		if (k == m->count || m->parts[k].number != number)
			add_reason(&m->reasons,
				arena_printf(m->arena, "part %llu of %llu is missing",
					(unsigned long long)number, (unsigned long long)m->agents),
				m->arena);
	}
}

// --- their sum

// Returns the configuration of the whole, whose servers have the addresses that the parts used.
static const struct config *config_of(
	const char *file, const json_t *config, const struct result *sum, struct arena *a)
{
	const struct result_item *items = sum->traffic.items;
	char *text = json_dumps(config, 0), **assignments;
	struct diag *d = diag_new();
	const struct config *c;
	unsigned count = 0;

	assignments = arena_zalloc(a, (sum->traffic.count + 1) * sizeof(*assignments));
	for (uint32_t i = 0; i < sum->traffic.count; i++)
		if (items[i].server_name && *items[i].server_name)
			assignments[count++] = arena_printf(a, "traffic.%s.server=%s",
				items[i].name, items[i].server ? items[i].server : "");
	c = config_load_text_assigned(arena_printf(a, "the configuration in %s", file),
		arena_strdup(a, text), assignments, count, a, d);
	free(text);
	diag_print(d, stderr);
	diag_free(d);
	return c;
}

// The CPU, capture and delay of a box stay in its part.
static void add_part(const struct result_fold *f, struct result *sum, struct part *p, bool first)
{
	const struct result given = {.traffic = p->result.traffic,
		.events = p->result.events,
		.ports = p->result.ports,
		.workers = p->result.workers,
		.responder = p->result.responder,
		.peer = p->result.peer};

	for (uint32_t i = 0; i < given.workers.count; i++)
		((struct result_worker *)given.workers.items)[i].part = p->number;
	result_fold(f, sum, &given, p->hz, first);
}

// Adds the next interval of a part. Returns false if it is malformed, which was logged.
static bool add_interval(const struct result_fold *f, struct result_interval *to, struct part *p,
	const json_t *line, bool first)
{
	struct arena *a = arena_new();
	struct result_interval one = {0};
	const char *why;
	bool read = result_read(&result_interval_section, line, &one, a, &why) == 0;

	if (read) {
		for (uint32_t i = 0; i < one.workers.count; i++)
			((struct result_interval_worker *)one.workers.items)[i].part = p->number;
		result_fold_interval(f, to, &one, p->hz, first);
	} else {
		log_error("%s: an interval: %s", p->reader->file, why);
	}
	arena_free(a);
	return read;
}

// Adds the intervals at one place of all parts. *more: there were any.
static bool add_place(struct merging *m, struct result *sum, uint32_t place, bool *more)
{
	const struct result_fold f = {FOLD_OVER_BOXES, m->arena, arena_new(), m->parts[0].hz};
	struct result_interval *to = NULL;
	bool good = true;

	for (unsigned k = 0; good && k < m->count; k++) {
		const json_t *line = reader_next(m->parts[k].reader);
		bool first = !to;

		if (line && first)
			to = stats_fold_element(
				&sum->intervals, place, sizeof(*to), m->arena, &first);
		good = !line || add_interval(&f, to, &m->parts[k], line, first);
	}
	*more = to != NULL;
	if (to && good)
		result_derive_interval(&f, to);
	arena_free(f.hists);
	return good;
}

static bool add_intervals(struct merging *m, struct result *sum)
{
	bool more = true, good = true;

	for (unsigned k = 0; k < m->count; k++)
		reader_rewind(m->parts[k].reader);
	for (uint32_t i = 0; more && good; i++)
		good = add_place(m, sum, i, &more);
	return good;
}

static uint64_t first_sent(const struct part *p)
{
	return p->result.run.first_sent_ns;
}

static struct result_run run_of(const struct merging *m, const char *command)
{
	struct result_run run = m->parts[0].result.run;

	for (unsigned k = 0; k < m->count; k++) {
		const struct result_run *part = &m->parts[k].result.run;

		if (run.first_sent_ns == 0) // of the first part that sent anything
			run.first_sent_ns = part->first_sent_ns;
		run.measured_s = fmax(run.measured_s, part->measured_s);
	}
	run.command = command;
	run.tester_delay = NULL;
	return run;
}

static double total_answered_per_s(const struct result *r)
{
	const struct result_item *items = r->traffic.items;
	double sum = 0;

	for (uint32_t i = 0; i < r->traffic.count; i++)
		sum += items[i].answered_per_s;
	return sum;
}

// The first part probes the server. Its CPU time is for the transactions of all.
static void set_dut(struct result *sum, const struct result *first, struct arena *a)
{
	struct result_dut *dut;

	if (!first->dut)
		return;
	dut = arena_zalloc(a, sizeof(*dut));
	*dut = *first->dut;
	dut->us_per_transaction =
		cpu_demand_us(dut->use.used, (unsigned)dut->cpus, total_answered_per_s(sum));
	sum->dut = dut;
}

// Only the first part runs a command.
static void set_commands(struct result *sum, const struct result *first)
{
	struct result_event *events = (struct result_event *)sum->events.items;
	const struct result_event *of = first->events.items;

	for (uint32_t i = 0; i < sum->events.count && i < first->events.count; i++) {
		if (!events[i].action || strcmp(events[i].action, "run") != 0)
			continue;
		events[i].took_s = of[i].took_s;
		events[i].exit_status = of[i].exit_status;
	}
}

static double loss(uint64_t of, uint64_t arrived)
{
	return of ? ((double)of - (double)arrived) / (double)of : 0;
}

// Computes the losses each way, which a part alone does not know.
static void set_peer_losses(struct result *sum)
{
	const struct result_item *items = sum->traffic.items;
	struct result_peer *peer = (struct result_peer *)sum->peer;
	bool whole = true;

	if (!peer)
		return;
	for (uint32_t i = 0; i < sum->traffic.count; i++)
		whole &= items[i].steps.count == 0;
	peer->loss_there = whole ? loss(peer->sent, peer->received) : NAN;
	peer->loss_back = whole ? loss(peer->answered, peer->replies) : NAN;
}

// --- its verdict

// The verdicts of the parts, counted.
struct verdicts {
	unsigned interrupted, invalid, of_load, of_others, unreachable, unanswered, broken;
	double disturbed, harmed; // the maxima
	enum limit limit;
	const struct result_verdict *stopped; // of a part that a rule has ended
};

static bool is(const char *text, const char *word)
{
	return text && strcmp(text, word) == 0;
}

static enum limit limit_read(const char *name)
{
	enum limit l = LIMIT_WIRE;

	while (l > LIMIT_NONE && !is(name, limit_name(l)))
		l--;
	return l;
}

// Sums hide a box without any reply, if others had replies.
static void find_unanswered(struct merging *m, const struct part *p, struct verdicts *v)
{
	const struct result_item *items = p->result.traffic.items;
	struct ledger all = {0};

	for (uint32_t i = 0; i < p->result.traffic.count; i++)
		counter_sum(&all, &items[i].ledger, sizeof(all));
	if (all.sent <= all.no_reply || all.answered + all.failed > 0)
		return;
	v->unanswered++;
	add_reason(&m->reasons,
		arena_printf(m->arena, "part %llu: none of its %llu requests was answered",
			(unsigned long long)p->number,
			(unsigned long long)(all.sent - all.no_reply)),
		m->arena);
}

static void add_verdict(struct merging *m, const struct part *p, struct verdicts *to)
{
	const struct result_verdict *v = &p->result.verdict;
	const char *const *reasons = v->reasons.items;
	enum limit limit = limit_read(v->limited_by);

	to->limit = limit > to->limit ? limit : to->limit;
	to->broken += v->exit_code == EXIT_INTERNAL;
	to->interrupted += is(v->status, "interrupted");
	to->unreachable += is(v->status, "unreachable");
	to->invalid += is(v->status, "invalid");
	to->of_load += is(v->invalid_by, "load");
	to->of_others += is(v->invalid_by, "disturbance");
	to->disturbed = fmax(to->disturbed, v->disturbed);
	to->harmed = fmax(to->harmed, v->harmed);
	if (v->stopped && *v->stopped)
		to->stopped = v;
	if (is(v->status, "pass") || is(v->status, "done") || is(v->status, "fail")) {
		find_unanswered(m, p, to);
		return;
	}
	for (uint32_t i = 0; i < v->reasons.count; i++)
		add_reason(&m->reasons,
			arena_printf(m->arena, "part %llu: %s", (unsigned long long)p->number,
				reasons[i]),
			m->arena);
}

static struct counter_list judge(const struct config *c, const struct result *sum, struct arena *a)
{
	const struct result_interval *intervals = sum->intervals.items;
	struct criteria k;

	criteria_start(&k, c, a);
	for (uint32_t i = 0; i < sum->intervals.count; i++)
		criteria_interval(&k, &intervals[i]);
	return criteria_judge(&k, sum, a);
}

static bool all_hold(struct merging *m, const struct counter_list *criteria)
{
	const struct result_criterion *c = criteria->items;
	bool hold = true;

	for (uint32_t i = 0; i < criteria->count; i++) {
		if (c[i].pass)
			continue;
		hold = false;
		add_reason(&m->reasons,
			arena_printf(m->arena, "criterion not met: %s", c[i].expression), m->arena);
	}
	return hold;
}

static void set_status(struct result_verdict *v, const char *status, int code)
{
	v->status = status;
	v->exit_code = (uint64_t)code;
}

static void reach_verdict(struct merging *m, const struct config *c, struct result *sum)
{
	unsigned absent;
	struct verdicts of = {0};
	struct result_verdict *v = &sum->verdict;
	bool whole, by_load, by_others;

	find_missing(m);
	absent = m->reasons.count;
	v->criteria = judge(c, sum, m->arena);
	for (unsigned k = 0; k < m->count; k++)
		add_verdict(m, &m->parts[k], &of);
	whole = of.invalid && !absent && !of.unreachable;
	by_load = whole && of.of_load == of.invalid;
	by_others = whole && !by_load && of.of_load + of.of_others == of.invalid;
	if (of.broken)
		set_status(v, "invalid", EXIT_INTERNAL);
	else if (of.interrupted)
		set_status(v, "interrupted", EXIT_INTERRUPTED);
	else if (of.unreachable == m->count + absent)
		set_status(v, "unreachable", EXIT_UNREACHABLE);
	else if (of.invalid || absent || of.unreachable)
		set_status(v, "invalid", EXIT_INVALID);
	else if (!all_hold(m, &v->criteria) || of.stopped)
		set_status(v, "fail", EXIT_FAIL);
	else if (of.unanswered)
		set_status(v, "invalid", EXIT_INVALID);
	else
		set_status(v, c->criteria.count || c->stop.count ? "pass" : "done", EXIT_PASS);
	v->limited_by = limit_name(of.limit);
	if (is(v->status, "invalid"))
		v->invalid_by = by_load ? "load" : by_others ? "disturbance" : "tester";
	v->disturbed = of.disturbed;
	v->harmed = of.harmed;
	v->reasons = m->reasons;
	v->stopped = of.stopped ? of.stopped->stopped : NULL;
	v->stopped_s = of.stopped ? of.stopped->stopped_s : 0;
}

static void put_first(struct counter_list *reasons, const char *text, struct arena *a)
{
	struct counter_list all = {0};

	add_reason(&all, arena_strdup(a, text), a);
	for (uint32_t i = 0; i < reasons->count; i++)
		add_reason(&all, ((const char *const *)reasons->items)[i], a);
	*reasons = all;
}

void fleet_result_invalidate(
	struct result_verdict *v, const char *reason, bool interrupted, struct arena *a)
{
	put_first(&v->reasons, reason, a);
	if (interrupted || v->exit_code == EXIT_INTERNAL)
		return;
	set_status(v, "invalid", EXIT_INVALID);
	v->invalid_by = "tester";
}

void fleet_result_stop(struct result_verdict *v, const char *rule, double at_s, struct arena *a)
{
	bool held = is(v->status, "pass") || is(v->status, "done");

	if (!rule && is(v->status, "done"))
		v->status = "pass";
	if (!rule)
		return;
	v->stopped = arena_strdup(a, rule);
	v->stopped_s = at_s;
	put_first(&v->reasons,
		arena_printf(
			a, "stopped %.3g s after the start of the measured part: %s", at_s, rule),
		a);
	if (held)
		set_status(v, "fail", EXIT_FAIL);
}

// --- all of it

// By the clocks of the boxes as they are, whose offsets are unknown here.
static json_t *fleet_of(const struct merging *m)
{
	json_t *out = json_pack("{s:I}", "agents", (json_int_t)m->agents);
	const struct fleet_offset none = {0};
	struct fleet_skew skew = {0};

	for (unsigned k = 0; k < m->count; k++)
		fleet_skew_add(&skew, (int64_t)first_sent(&m->parts[k]), &none);
	fleet_skew_put(&skew, false, out);
	return out;
}

static json_t *parts_of(const struct merging *m)
{
	json_t *list = json_array();

	for (unsigned k = 0; k < m->count; k++) {
		json_t *one = json_pack("{s:I}", "part", (json_int_t)m->parts[k].number);

		json_object_update(one, m->parts[k].reader->document);
		json_object_del(one, "schema");
		json_object_del(one, "config");
		json_array_append_new(list, one);
	}
	return list;
}

static void add_up(struct merging *m, struct result *sum)
{
	const struct result_fold f = {FOLD_OVER_BOXES, m->arena, arena_new(), m->parts[0].hz};

	for (unsigned k = 0; k < m->count; k++)
		add_part(&f, sum, &m->parts[k], k == 0);
	result_derive(&f, sum);
	arena_free(f.hists);
}

bool fleet_result_make(struct fleet_result *r, struct document_reader *readers, unsigned count,
	const char *command, struct arena *a)
{
	struct merging m = {arena_zalloc(a, (count + 1) * sizeof(*m.parts)), count, .arena = a};
	const struct config *c;
	const struct result *first;

	*r = (struct fleet_result){0};
	if (count > FLEET_PARTS) {
		log_error("%u parts are too many (up to %d)", count, FLEET_PARTS);
		return false;
	}
	if (!read_parts(&m, readers))
		return false;
	add_up(&m, &r->sum);
	if (!add_intervals(&m, &r->sum))
		return false;
	first = &m.parts[0].result;
	r->sum.schema = first->schema;
	r->sum.run = run_of(&m, command);
	r->sum.orders = first->orders;
	set_dut(&r->sum, first, a);
	set_commands(&r->sum, first);
	set_peer_losses(&r->sum);
	r->config = json_deep_copy(json_object_get(m.parts[0].reader->document, "config"));
	json_object_set_new(json_object_get(r->config, "fleet"), "part", json_integer(0));
	c = config_of(m.parts[0].reader->file, r->config, &r->sum, a);
	if (!c) {
		fleet_result_forget(r);
		return false;
	}
	reach_verdict(&m, c, &r->sum);
	r->fleet = fleet_of(&m);
	r->parts = parts_of(&m);
	return true;
}

void fleet_result_forget(struct fleet_result *r)
{
	json_decref(r->fleet);
	json_decref(r->config);
	json_decref(r->parts);
	*r = (struct fleet_result){0};
}

json_t *fleet_result_document(const struct fleet_result *r)
{
	struct result sum = r->sum;
	json_t *document, *intervals;

	sum.intervals = (struct counter_list){NULL, 0};
	document = document_result(&sum, NULL);
	json_object_set(document, "fleet", r->fleet);
	json_object_set(document, "config", r->config);
	json_object_set(document, "parts", r->parts);
	intervals = json_object_get(document, "intervals");
	for (uint32_t i = 0; i < r->sum.intervals.count; i++)
		json_array_append_new(intervals,
			stats_json(&result_interval_section,
				(const struct result_interval *)r->sum.intervals.items + i));
	return document;
}
