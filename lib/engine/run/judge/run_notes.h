// SPDX-License-Identifier: BSD-3-Clause
// Notes to the user about a run besides its figures: its plan, what runs out, steering. Path: cold.
// Management thread.
#pragma once

struct address_probe;
struct plan;
struct run;
struct run_options;

// A line of up to 511 octets for hooks.note, if there is one.
__attribute__((format(printf, 2, 3))) void run_note(
	const struct run_options *o, const char *fmt, ...);

// Log what runs out before the run is over.
void run_warn_shortages(const struct plan *p);
// Log items whose closed loop ran out of clients while it was measured.
void run_warn_starved(const struct run *r);

// The plan, and the delay that the tester adds.
void run_introduce(struct run *r);
// Our addresses were asked for.
void run_note_addresses(const struct run *r, const struct address_probe *probe);
// Next hops that have another MAC since the last call; of many only the first.
void run_note_moves(struct run *r);

// Probe which queue replies come to. Before the first run only.
void run_probe_steering(struct run *r);
// Whether steering works, by the first packets received; once, however often the run is repeated.
void run_note_home(struct run *r);
// The steering probe, into the ports of the result.
void run_report_steering(struct run *r);
