// SPDX-License-Identifier: BSD-3-Clause
// How a run is made, and its exit codes. Path: cold. Management thread.
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "engine/config/config.h"
#include "engine/result/result.h"

enum exit_code {
	EXIT_PASS = 0,
	EXIT_FAIL = 1,        // a criterion failed
	EXIT_CONFIG = 2,      // usage or configuration
	EXIT_ENVIRONMENT = 3, // memory, NIC, privilege
	EXIT_UNREACHABLE = 4, // no ARP or ND reply, or no reply at all
	EXIT_INVALID = 5,     // because of the tester
	EXIT_INTERNAL = 6,
	EXIT_NOISY = 7, // compare: the noise hides the difference to be judged
	EXIT_INTERRUPTED = 130,
};

// Callbacks to show the run while it is running; each may be NULL.
struct run_hooks {
	// A fact about the plan ("port lan: worker on CPU 1, 61 440 transaction slots"), one line.
	void (*note)(void *ctx, const char *text);
	// A trial of a search is about to begin: its value and length, no verdict and NAN for the
	// rest. Or it has ended, with its figures. answer: highest value known to meet the goal
	// (NAN: none yet), upper: lowest known to miss it (INFINITY: none yet). number: from 1.
	void (*trial)(void *ctx, const struct result_trial *t, uint32_t number, double answer,
		double upper);
	// A run begins; a series has several. r: its description and number, nothing else yet. c:
	// its settings.
	void (*begin)(void *ctx, const struct result *r, const struct config *c);
	// Each interval of the measured part, as it belongs to the result of that run, and at last
	// the rest after it. *i and all that it points to is gone afterwards.
	void (*kept)(void *ctx, const struct result_interval *i);
	// An interval ended. warmup: t_s is from the start of the warm-up and nothing is judged;
	// latencies are 0.
	void (*interval)(void *ctx, const struct result_interval *i, bool warmup);
	// Likewise for a responder without traffic of its own.
	void (*responder)(void *ctx, double t_s, const struct result_responder *total);
	// Are the responder's counters asked for? Then `told` gets them, with its protocols', as of
	// now. *total and all that it points to is gone afterwards.
	bool (*asked)(void *ctx);
	void (*told)(void *ctx, const struct result_responder *total);
	// Some 50 times a second while the workers run, and between the runs of a series.
	void (*tick)(void *ctx);
	// All is ready, and nothing was sent. Waits for the time at which the schedule begins: Unix
	// time of this box in nanoseconds, ahead by as much as the caller likes. false: the run
	// ends here. NULL: it begins at once. A past time ends the run too (EXIT_INVALID, logged),
	// so no schedule begins late.
	bool (*start)(void *ctx, uint64_t *wall_ns);
	// The workers wait for the start, at the time that this box takes for it.
	void (*started)(void *ctx, uint64_t wall_ns);
	// Has the run reached its purpose? Then sending ends.
	bool (*enough)(void *ctx);
	void *ctx;
};

struct run_options;

// Replaces run_open, run_once and run_close for runs that are made elsewhere: no port is opened
// here. Each returns as these do. o lives until `close`, and its hooks, which `once` calls itself,
// may differ from run to run.
struct run_elsewhere {
	int (*open)(void *ctx, const struct run_options *o, struct arena *a);
	// c: o->config with the settings in texts (as --set has them), and the settings of all runs
	// before.
	int (*once)(void *ctx, const struct config *c, char *const *texts, unsigned count,
		struct result *out);
	int (*close)(void *ctx);
	void *ctx;
};

struct run_options {
	const struct config *config;
	struct diag *diag; // of the configuration: where each setting came from
	bool respond_only; // play the responder until a signal; traffic items are not started
	const char *command, *version;
	const char *id; // of the run; NULL: a new one
	struct run_hooks hooks;
	const struct run_elsewhere *elsewhere; // NULL: here
	const volatile sig_atomic_t
		*signals; // how many interrupts so far: 1 drains, 2 stops at once
};
