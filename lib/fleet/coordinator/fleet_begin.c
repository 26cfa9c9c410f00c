// SPDX-License-Identifier: BSD-3-Clause
// All parts get ready, their clocks are measured, and they begin at one time. Path: cold. Main
// thread.
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/result/result_read.h"
#include "engine/run/judge/run_notes.h"
#include "fleet/coordinator/fleet_internal.h"

#define READY_MS    120000 // tables are built, servers found
#define BEGIN_MS    5000   // for all to report that they have begun
#define EXCHANGES   20     // with each agent, for its clock
#define EXCHANGE_MS 200    // for all replies, at most
#define PAUSE_MS    5      // between two exchanges
#define NOTED       5      // parts that have a line each when the run begins

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

void fleet_check_clocks(struct fleet *f)
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

// Notes a line each, or one for all; the result has each.
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

// The first part provides the description of a run at its begin.
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

int fleet_begin(struct fleet *f, char *const *texts, unsigned count, struct arena *a)
{
	const struct fleet_part *troubled;

	for (unsigned i = 0; i < f->count; i++)
		fleet_part_begin(&f->parts[i]);
	fleet_tell_all(f, "once", talk_texts(texts, count));
	if (fleet_wait(f, is_ready, READY_MS, "it is not ready")) {
		unsigned lead;

		measure_clocks(f);
		lead = fleet_lead_ms(f);
		start_all(f, lead);
		fleet_wait(f, has_started, lead + BEGIN_MS, "it has not begun");
	}
	troubled = fleet_troubled(f);
	if (troubled)
		return troubled->trouble_code;
	return *f->run->signals ? EXIT_INTERRUPTED : show_begin(f, a);
}
