// SPDX-License-Identifier: BSD-3-Clause
// A view (view.h) that is drawn again in its place on the user's terminal, and the key q. The
// cursor stands on an empty line above it: output of others appears there, and the view moves down.
// There is one terminal. Path: cold. Main thread.
#pragma once

#include "report/view.h"

// From now on draws v on out, a terminal, when it has something to show. hint: meaning of the key.
// v and out stay the caller's; v follows the lines by itself, before the follower below.
void terminal_open(const struct view *v, FILE *out, const char *hint);

// Draws, looks for the key, which has the effect of one SIGINT, and closes.
struct run_events_follower terminal_follower(void);

// Clears the view and restores the terminal. May be called again, and without terminal_open. Any
// thread, signal handlers too.
void terminal_restore(void);
