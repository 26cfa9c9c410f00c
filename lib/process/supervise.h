// SPDX-License-Identifier: BSD-3-Clause
// A child process for the duration of a run: started with pipes, given orders (orders.h), ended by
// escalating signals, and reaped. Path: cold. Any thread, one at a time for each child.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/child.h"

#define SUPERVISE_PATIENCE_MS 10000 // before each further signal

struct supervised {
	pid_t pid;          // 0: not started, or ended
	int orders;         // connected to its standard input, -1: closed
	int events;         // connected to its standard output, -1: closed. Both are non-blocking
	unsigned signals;   // sent since supervise_end
	uint64_t signal_ms; // when the next one is due (clock_steady_ms); 0: not ending
};

// The pipes replace c->in and c->out. events: create a pipe for its output. 0, or -errno.
int supervise_start(struct supervised *s, const struct child *c, bool events);

// Send a line to its standard input. false: no room for the whole line now; a line longer than
// PIPE_BUF may have been sent in part.
bool supervise_order(const struct supervised *s, const char *line, size_t len);

// Ask it to end in order, by closing its standard input or by SIGINT. If it is still running after
// SUPERVISE_PATIENCE_MS, supervise_ended interrupts it twice more, and then kills it.
void supervise_end(struct supervised *s, bool by_signal);

// Returns true once, after it has ended. *code: its exit code; 128 + N: killed by signal N.
bool supervise_ended(struct supervised *s, int *code);

// Close the pipes.
void supervise_close(struct supervised *s);
