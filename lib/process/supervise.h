// SPDX-License-Identifier: BSD-3-Clause
// A child process for the length of a run: started with pipes, sent orders (orders.h), ended by
// signals that escalate, and reaped. Path: cold. Any thread, one at a time for each child.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/child.h"

#define SUPERVISE_PATIENCE_MS 10000 // before each further signal

struct supervised {
	pid_t pid;          // 0: not started, or it has ended
	int orders;         // writes to its standard input, -1: closed
	int events;         // reads its standard output, -1: closed. Neither blocks
	unsigned signals;   // sent since supervise_end
	uint64_t signal_ms; // when the next one is due (clock_steady_ms); 0: it may run
};

// The pipes replace c->in and c->out. events: there is one for its output. 0, or -errno.
int supervise_start(struct supervised *s, const struct child *c, bool events);

// A line for its standard input. false: there is no room for all of it now; of a line longer than
// PIPE_BUF a part may have gone.
bool supervise_order(const struct supervised *s, const char *line, size_t len);

// It is to end in order, by the end of its standard input or by SIGINT. If it is still there after
// SUPERVISE_PATIENCE_MS, supervise_ended interrupts it twice more, and then kills it.
void supervise_end(struct supervised *s, bool by_signal);

// true, once: it has ended. *code: its exit code; 128 + N: signal N killed it.
bool supervise_ended(struct supervised *s, int *code);

// Close the pipes.
void supervise_close(struct supervised *s);
