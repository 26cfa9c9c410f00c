// SPDX-License-Identifier: BSD-3-Clause
// Notes to the user about a run besides its figures: plan, shortages, steering. Path: cold.
// Management thread.
#pragma once

struct address_probe;
struct plan;
struct run;
struct run_options;

// Passes a line of up to 511 octets to hooks.note, if it is set.
__attribute__((format(printf, 2, 3))) void run_note(
	const struct run_options *o, const char *fmt, ...);

// Logs shortages: stocks that run out before the run is over.
void run_warn_shortages(const struct plan *p);
// Logs items whose closed loop ran out of clients in the measured part.
void run_warn_starved(const struct run *r);

// Notes the plan, and the delay that the tester adds.
void run_introduce(struct run *r);
// Notes that our addresses were probed.
void run_note_addresses(const struct run *r, const struct address_probe *probe);
// Notes next hops with another MAC since the last call; of many only the first.
void run_note_moves(struct run *r);

// Probes which queue replies reach. Before the first run only.
void run_probe_steering(struct run *r);
// Notes whether steering works, by the first packets received; once, however often the run repeats.
void run_note_home(struct run *r);
// Puts the steering probe into the ports of the result.
void run_report_steering(struct run *r);
