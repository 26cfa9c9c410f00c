// SPDX-License-Identifier: BSD-3-Clause
// The result of all parts: their sum, how far apart they were, and the orders that they took.
// Path: cold. Main thread.
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "document/document_reader.h"
#include "fleet/coordinator/fleet_internal.h"

static json_t *member_of(const struct fleet_part *p, int64_t first)
{
	return json_pack("{s:s, s:I, s:s, s:s, s:I, s:I, s:s, s:I}", "name", p->name, "part",
		(json_int_t)p->number, "host", document_text(p->facts, "host"), "labels",
		document_text(p->facts, "labels"), "clock_offset_ns", (json_int_t)p->offset.ns,
		"clock_within_ns", (json_int_t)p->offset.within_ns, "clock_source",
		p->offset.source ? p->offset.source : "", "began_ns",
		(json_int_t)(p->started ? p->started_ns - p->offset.ns - first : 0));
}

// Returns the members of the fleet, and how far apart they began by the coordinator's clock. A skew
// that is not known well enough is as bad as a large skew. reasons: against the run, of the fleet
// alone and not of a part.
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

// The n-th order: the time from which it holds by our clock, and the spread over the parts. NULL:
// no part has it.
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

int fleet_finish(struct fleet *f, struct arena *a, struct result *out)
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
		if (json_integer_value(from) > 0) // better than the planned time
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
