// SPDX-License-Identifier: BSD-3-Clause
// The state of a run, which run.c brings up and down, run_course.c takes through its phases, and
// judge/run_notes.c reports on. Path: cold. Management thread.
#pragma once

#include "engine/plan/address_probe.h"
#include "engine/run/collect/collect_intervals.h"
#include "engine/run/around/cpu.h"
#include "engine/run/around/events.h"
#include "engine/run/around/evidence_log.h"
#include "engine/run/orders.h"
#include "engine/plan/plan_state.h"
#include "engine/run/around/peer.h"
#include "engine/run/around/probe.h"
#include "engine/plan/steer_probe.h"
#include "engine/run/around/tally.h"
#include "engine/run/collect/timeline.h"
#include "engine/run/around/watch.h"
#include "engine/run/run_options.h"

struct stop;

struct run {
	// run.c, for all
	const struct run_options *options;
	const struct config *config; // of this run; the ports are from options->config
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
	uint32_t cpu_read;             // number of these that were read
	struct cpu_users *users;       // before the first message
	uint64_t begun_at, begun_ns;   // tick of the start, and its Unix time as read then
	struct result_responder peer;  // with dut.control: before the first message

	bool heard;       // something was answered
	uint64_t refused; // refusals: nothing listens at the server's port
	uint64_t asked;   // requests sent that expect a reply
	double waited_s;  // since the first interval with such requests; below 0: reported
	struct collect_state collected;
	struct stop *stop;
	struct timeline timeline;

	// run_notes.c
	struct result_tester_delay *tester_delay;
	struct result_steer_probe *steer_probes[PORT_MAX]; // NULL: not probed
	bool probed; // the queues of the first packets were noted
	uint32_t moves_noted, moves_seen[PORT_MAX];
};
