// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "merge/merge_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/config/config_load.h"
#include "engine/result/result.h"
#include "engine/run/around/cpu.h"
#include "document/distribution.h"
#include "fleet/fleet_clock.h"
#include "merge/merge.h"
#include "merge/merge_verdict.h"

struct merging {
	struct merge merge;
	struct document_reader *readers[MERGE_PARTS]; // in the order of their parts
	json_t *at[MERGE_PARTS];                      // members of the same name
	unsigned count;
	uint64_t agents;
	struct arena *arena;
};

static bool refuse(const struct document_reader *b, const char *why)
{
	log_error("%s: %s", b->file, why);
	return false;
}

static uint64_t part_of(const struct document_reader *b)
{
	double part = document_number(b->document, "config.fleet.part");

	return part > 0 && part <= FLEET_WORKERS_MAX ? (uint64_t)part : 0;
}

static int by_part(const void *a, const void *b)
{
	uint64_t x = part_of(*(struct document_reader *const *)a),
		 y = part_of(*(struct document_reader *const *)b);

	return x < y ? -1 : x > y;
}

// What parts have in common; their ports may differ.
static bool is_same_run(const struct document_reader *a, const struct document_reader *b)
{
	static const char *const paths[] = {"run.version", "run.seed", "config.traffic",
		"config.criteria", "config.run.warmup", "config.run.duration",
		"config.run.interval", "config.fleet.agents", "config.fleet.weights"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const json_t *x = document_at(a->document, paths[i]);
		const json_t *y = document_at(b->document, paths[i]);

		if (x != y && !json_equal((json_t *)x, (json_t *)y)) {
			log_error("%s: its %s is not that of %s", b->file, paths[i], a->file);
			return false;
		}
	}
	return true;
}

static bool check_part(const struct document_reader *b)
{
	if (!json_object_get(b->document, "config"))
		return refuse(b, "has no configuration (output.config: true)");
	if (part_of(b) == 0)
		return refuse(b, "is no part of a fleet (fleet.part)");
	if (json_object_get(b->document, "search") || json_object_get(b->document, "confidence"))
		return refuse(b, "is of several runs, which are not merged");
	return true;
}

static bool check_parts(struct merging *m)
{
	for (unsigned k = 0; k < m->count; k++)
		if (!check_part(m->readers[k]))
			return false;
	qsort(m->readers, m->count, sizeof(struct document_reader *), by_part);
	for (unsigned k = 0; k < m->count; k++) {
		if (k && part_of(m->readers[k]) == part_of(m->readers[k - 1]))
			return refuse(m->readers[k], "is a part that another file is too");
		if (!is_same_run(m->readers[0], m->readers[k]))
			return false;
		m->merge.part[k] = part_of(m->readers[k]);
		m->merge.hz[k] = reader_tick_hz(m->readers[k]);
	}
	m->agents = (uint64_t)fmin(
		fmax(document_number(m->readers[0]->document, "config.fleet.agents"), 0),
		FLEET_WORKERS_MAX);
	return true;
}

// The reason for each part that is not there.
static json_t *missing_of(const struct merging *m)
{
	json_t *reasons = json_array();

	for (uint64_t part = 1; part <= m->agents; part++) {
		unsigned k = 0;

		while (k < m->count && m->merge.part[k] != part)
			k++;
		if (k == m->count)
			json_array_append_new(reasons,
				json_string(arena_printf(m->arena, "part %llu of %llu is missing",
					(unsigned long long)part, (unsigned long long)m->agents)));
	}
	return reasons;
}

// The configuration of the whole, whose servers have the addresses that the parts asked.
static const struct config *config_of(
	const char *file, const json_t *config, const json_t *sum, struct arena *a)
{
	const json_t *items = json_object_get(sum, "traffic"), *item;
	char *text = json_dumps(config, 0), **assignments;
	struct diag *d = diag_new();
	const struct config *c;
	unsigned count = 0;
	size_t i;

	assignments = arena_zalloc(a, (json_array_size(items) + 1) * sizeof(*assignments));
	json_array_foreach((json_t *)items, i, item) if (*document_text(item, "server_name"))
		assignments[count++] = arena_printf(a, "traffic.%s.server=%s",
			document_text(item, "name"), document_text(item, "server"));
	c = config_load_text_assigned(arena_printf(a, "the configuration in %s", file),
		arena_strdup(a, text), assignments, count, a, d);
	free(text);
	diag_print(d, stderr);
	diag_free(d);
	return c;
}

static json_int_t first_sent_ns(const struct merging *m, unsigned k)
{
	return json_integer_value(document_at(m->readers[k]->document, "run.first_sent_ns"));
}

// By the clocks of the boxes as they are, whose offsets are not known here.
static json_t *fleet_of(const struct merging *m)
{
	json_t *out = json_pack("{s:I}", "agents", (json_int_t)m->agents);
	const struct fleet_offset none = {0};
	struct fleet_skew skew = {0};

	for (unsigned k = 0; k < m->count; k++)
		fleet_skew_add(&skew, first_sent_ns(m, k), &none);
	fleet_skew_put(&skew, false, out);
	return out;
}

static json_t *run_of(struct merging *m, const char *command)
{
	json_t *run = json_copy(json_object_get(m->readers[0]->document, "run"));
	json_int_t sent_ns = 0; // of the first part that sent anything
	double measured_s = 0;

	for (unsigned k = 0; k < m->count && sent_ns == 0; k++)
		sent_ns = first_sent_ns(m, k);
	json_object_set_new(run, "first_sent_ns", json_integer(sent_ns));
	for (unsigned k = 0; k < m->count; k++)
		measured_s = fmax(
			measured_s, document_number(m->readers[k]->document, "run.measured_s"));
	json_object_set_new(run, "measured_s", json_real(measured_s));
	json_object_set_new(run, "command", json_string(command));
	json_object_del(run, "tester_delay");
	return run;
}

static json_t *number_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

// The first part asks the server. Its CPU time is for the transactions of all.
static void put_dut(const json_t *first, json_t *sum)
{
	json_t *dut = json_copy(json_object_get(first, "dut"));

	if (!dut)
		return;
	json_object_set_new(dut, "us_per_transaction",
		number_or_null(cpu_demand_us(document_number(dut, "used"),
			(unsigned)document_number(dut, "cpus"),
			merge_total(json_object_get(sum, "traffic"), "answered_per_s"))));
	json_object_set_new(sum, "dut", dut);
}

// Of a command that only the first part has run.
static void set_commands(const json_t *first, json_t *sum)
{
	static const char *const figures[] = {"took_s", "exit_status"};
	json_t *events = json_object_get(sum, "events"), *event, *value;
	size_t i;

	json_array_foreach(events, i, event)
	{
		const json_t *one = json_array_get(json_object_get(first, "events"), i);

		for (size_t k = 0; k < sizeof(figures) / sizeof(figures[0]); k++) {
			value = json_object_get(one, figures[k]);
			if (value && strcmp(document_text(event, "action"), "run") == 0)
				json_object_set(event, figures[k], value);
		}
	}
}

static double loss(double of, double arrived)
{
	return of > 0 ? (of - arrived) / of : 0;
}

// What was lost each way, as a part alone does not know.
static void set_peer_losses(json_t *sum)
{
	json_t *peer = json_object_get(sum, "peer"), *item;
	bool whole = true;
	size_t i;

	if (!peer)
		return;
	json_array_foreach(json_object_get(sum, "traffic"), i, item) whole &=
		json_array_size(json_object_get(item, "steps")) == 0;
	json_object_set_new(peer, "loss_there",
		number_or_null(whole ? loss(document_number(peer, "sent"),
					       document_number(peer, "received"))
				     : NAN));
	json_object_set_new(peer, "loss_back",
		number_or_null(whole ? loss(document_number(peer, "answered"),
					       document_number(peer, "replies"))
				     : NAN));
}

static const struct counter *row_of(const char *name)
{
	const struct counter *r = result_section.rows;

	while (strcmp(r->name, name) != 0)
		r++;
	return r;
}

static void merge_member(struct merging *m, json_t *sum, const char *name)
{
	json_t *parent[MERGE_PARTS], *one, *value;

	for (unsigned k = 0; k < m->count; k++) {
		value = json_object_get(m->readers[k]->document, name);
		parent[k] = value ? json_pack("{s:O}", name, value) : NULL;
	}
	one = merge_objects(&m->merge, &result_section, parent);
	if (json_object_get(one, name))
		json_object_set(sum, name, json_object_get(one, name));
	json_decref(one);
	for (unsigned k = 0; k < m->count; k++)
		json_decref(parent[k]);
}

static void merge_intervals(struct merging *m, json_t *sum)
{
	json_t *lists[MERGE_PARTS];
	const json_t *one;

	for (unsigned k = 0; k < m->count; k++) {
		lists[k] = json_array();
		reader_rewind(m->readers[k]);
		while ((one = reader_next(m->readers[k])))
			json_array_append(lists[k], (json_t *)one);
	}
	json_object_set_new(
		sum, "intervals", merge_lists(&m->merge, row_of("intervals")->section, lists));
	for (unsigned k = 0; k < m->count; k++)
		json_decref(lists[k]);
}

static json_t *parts_of(const struct merging *m)
{
	json_t *list = json_array();

	for (unsigned k = 0; k < m->count; k++) {
		json_t *one = json_pack("{s:I}", "part", (json_int_t)m->merge.part[k]);

		json_object_update(one, m->readers[k]->document);
		json_object_del(one, "schema");
		json_object_del(one, "config");
		json_array_append_new(list, one);
	}
	return list;
}

// The CPU, capture and delay of a box stay in its part.
static json_t *merge_all(struct merging *m, const char *command)
{
	static const char *const members[] = {
		"traffic", "events", "ports", "workers", "responder", "peer"};
	json_t *sum = json_object(), *documents[MERGE_PARTS], *config, *missing, *verdict;
	const json_t *first = m->readers[0]->document;
	const struct config *c;

	json_object_set(sum, "schema", json_object_get(first, "schema"));
	json_object_set_new(sum, "run", run_of(m, command));
	json_object_set_new(sum, "verdict", json_null()); // its place
	json_object_set_new(sum, "fleet", fleet_of(m));
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		merge_member(m, sum, members[i]);
	put_dut(first, sum);
	set_commands(first, sum);
	set_peer_losses(sum);
	json_object_set_new(sum, "repeats", json_array());
	config = json_deep_copy(json_object_get(first, "config"));
	json_object_set_new(json_object_get(config, "fleet"), "part", json_integer(0));
	json_object_set_new(sum, "config", config);
	json_object_set_new(sum, "parts", parts_of(m));
	merge_intervals(m, sum);
	c = config_of(m->readers[0]->file, config, sum, m->arena);
	if (!c) {
		json_decref(sum);
		return NULL;
	}
	for (unsigned k = 0; k < m->count; k++)
		documents[k] = m->readers[k]->document;
	missing = missing_of(m);
	verdict = merge_verdict(c, sum, documents, m->merge.part, m->count, missing, m->arena);
	json_object_set_new(sum, "verdict", verdict);
	json_decref(missing);
	distribution_blank(json_object_get(sum, "traffic"), 0);
	return sum;
}

json_t *merge_results(
	struct document_reader *readers, unsigned count, const char *command, struct arena *a)
{
	struct merging *m = arena_zalloc(a, sizeof(*m));

	if (count > MERGE_PARTS) {
		log_error("%u parts are too many (up to %d)", count, MERGE_PARTS);
		return NULL;
	}
	m->arena = a;
	m->count = m->merge.count = count;
	for (unsigned k = 0; k < count; k++)
		m->readers[k] = &readers[k];
	return check_parts(m) ? merge_all(m, command) : NULL;
}
