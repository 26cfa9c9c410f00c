// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of a run only. run.c brings a run up and down, run_course.c takes it through
// its phases, run_notes.c tells the user about it. Each calls only those named after it. Path:
// cold. Management thread.
#pragma once

#include "engine/plan/address_probe.h"
#include "engine/run/collect/collect.h"
#include "engine/run/around/cpu.h"
#include "engine/run/around/events.h"
#include "engine/run/around/evidence_log.h"
#include "engine/run/orders.h"
#include "engine/plan/plan.h"
#include "engine/run/around/peer.h"
#include "engine/run/around/probe.h"
#include "engine/run/run.h"
#include "engine/plan/steer_probe.h"
#include "engine/run/stop.h"
#include "engine/run/around/tally.h"
#include "engine/run/collect/timeline.h"
#include "engine/run/around/watch.h"

struct run {
	// run.c, for all
	const struct run_options *options;
	const struct config *config; // of this time; the ports are those of options->config
	struct diag *diag;           // of config
	struct arena *arena;         // of the results
	struct arena *work;          // of the plan
	struct inputs *inputs;       // files that all runs read
	const char *id;
	uint64_t number; // of the run, from 1
	bool ports_up;
	struct plan plan;
	struct result *result; // each file puts its part into it

	// run_course.c
	struct watch watch;
	struct probe *probe;   // NULL: none
	struct tally *tally;   // NULL: no counters of the server's
	struct events *events; // NULL: a responder alone
	struct orders orders;
	struct evidence_log *evidence; // NULL: none
	struct cpu_times cpu[2];       // at both ends of the measured part
	uint32_t cpu_read;             // how many of them are there
	struct cpu_users *users;       // before the first message
	uint64_t begun_at, begun_ns;   // tick of the start, and its Unix time as read then
	struct result_responder peer;  // with dut.control: before the first message

	bool heard;       // something was answered
	uint64_t refused; // times that a host said that nobody listens
	uint64_t asked;   // requests sent that have an answer
	double waited_s;  // since the first interval with one of them; below 0: reported
	struct collect_state collected;
	struct stop stop;
	struct timeline timeline;

	// run_notes.c
	struct result_tester_delay *tester_delay;
	struct result_steer_probe *steer_probes[PORT_MAX]; // NULL: not asked
	bool probed; // where the first packets came to was noted
	uint32_t moves_noted, moves_seen[PORT_MAX];
};

// With the tables built: find the server, send, judge; or answer until a signal comes. Returns as
// run_once.
int run_course(struct run *r);

// Notes and measurements made once, however often the run is repeated.
// Log what runs out before the run is over.
void run_warn_shortages(const struct plan *p);
void run_introduce(struct run *r);

// Probe which queue replies come to. Before the first run only.
void run_probe_steering(struct run *r);

// Whether steering works, by the first packets received. Once as well.
void run_note_home(struct run *r);

// Our addresses were asked for.
void run_note_addresses(const struct run *r, const struct address_probe *probe);

// Next hops that have another MAC since the last call; of many only the first.
void run_note_moves(struct run *r);

// The steering probe, into the ports of the result.
// Log items whose closed loop ran out of clients while it was measured.
void run_warn_starved(const struct run *r);
void run_report_steering(struct run *r);
