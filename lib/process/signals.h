// SPDX-License-Identifier: BSD-3-Clause
// Signals of the user, and the end of a process that cannot end in order: without memory, after a
// crash, or when nothing heeds a third signal. Path: cold. Main thread | the thread of the last
// words.
#pragma once

#include <stdbool.h>

// From here on SIGINT, SIGTERM and SIGHUP (not under nohup) are counted (base/interrupt.h), and
// each is answered on stderr at once.
//
// last_words undoes changes to the box and prints what is known. It is called once: by the thread
// that got no memory (exit code 3), or by a thread of its own: after a crash (6), and some seconds
// after the third signal if the process is still there (130). The main thread does nothing any
// more. A fourth signal ends the process without last words.
//
// restore leaves the terminal as it was, before the last words, without them, and when a shell
// stops the program (SIGTSTP). It is safe in a signal handler.
void signals_catch(void (*last_words)(int code), void (*restore)(void));

// Was there a SIGUSR1 since the last call?
bool signals_state_wanted(void);

// The main thread has given up capabilities: the thread of the last words keeps the same ones.
void signals_follow(void);

// The run is over and was reported: from here on the process ends without last words.
void signals_over(void);

// For a command that leaves the box as it is: SIGINT, SIGTERM and SIGHUP are counted, no more.
void signals_count(void);
