// SPDX-License-Identifier: BSD-3-Clause
// Interrupts by the user (SIGINT, SIGTERM, SIGHUP) so far, counted by the signal handler of app and
// checked by everything that takes long: the first ends the run in order, the second at once.
// Path: cold. Management thread.
#pragma once

#include <signal.h>

extern volatile sig_atomic_t interrupt_count;

// For command_run: the first interrupt asks a command to end, the second kills it. before: an int,
// interrupt_count at its start. Returns the signal to send; 0: none.
int interrupt_escalate(void *before);
