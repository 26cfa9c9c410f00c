// SPDX-License-Identifier: BSD-3-Clause
// Signals of the user, and the end of a process that cannot end in order: out of memory, after a
// crash, or when a third signal has no effect. Path: cold. Main thread | the thread of the last
// words.
#pragma once

#include <stdbool.h>

// From here on, SIGINT, SIGTERM and SIGHUP (not under nohup) are counted (base/interrupt.h), and
// each is answered on stderr at once.
//
// last_words undoes changes to the box and prints known results. It is called once: by the thread
// that ran out of memory (exit code 3), or by a dedicated thread: after a crash (6), and some
// seconds after the third signal if the process is still running (130). The main thread is halted
// then. A fourth signal ends the process without last words.
//
// restore restores the terminal before the last words, on an exit without them, and when a shell
// stops the program (SIGTSTP). It is async-signal-safe.
void signals_catch(void (*last_words)(int code), void (*restore)(void));

// Has there been a SIGUSR1 since the last call?
bool signals_state_wanted(void);

// The main thread has dropped capabilities: the thread for the last words keeps the same set.
void signals_follow(void);

// The run is over and reported: from here on, the process ends without last words.
void signals_over(void);

// For a command that does not change the box: only counts SIGINT, SIGTERM and SIGHUP.
void signals_count(void);
