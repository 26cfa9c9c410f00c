// SPDX-License-Identifier: BSD-3-Clause
// Signals of the user, and the end of a process that cannot end in order: out of memory, after a
// crash, or when a third signal has no effect. Path: cold. Main thread | the thread of the
// emergency exit.
#pragma once

#include <stdbool.h>

// From here on, SIGINT, SIGTERM and SIGHUP (not under nohup) are counted (base/interrupt.h), and
// each is answered on stderr at once.
//
// on_fatal_end undoes changes to the box and prints known results. It is called once: by the thread
// that ran out of memory (exit code 3), or by a dedicated thread: after a crash (6), and some
// seconds after the third signal if the process is still running (130). The main thread is halted
// then. A fourth signal ends the process without it.
//
// restore restores the terminal before on_fatal_end, on an exit without it, and when a shell
// stops the program (SIGTSTP). It is async-signal-safe.
void signals_catch(void (*on_fatal_end)(int code), void (*restore)(void));

// Has there been a SIGUSR1 since the last call?
bool signals_state_wanted(void);

// The main thread has dropped capabilities: the thread for on_fatal_end keeps the same set.
void signals_follow(void);

// The run is over and reported: from here on, the process ends without the emergency exit.
void signals_over(void);

// For a command that does not change the box: only counts SIGINT, SIGTERM and SIGHUP.
void signals_count(void);
