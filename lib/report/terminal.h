// SPDX-License-Identifier: BSD-3-Clause
// A view (view.h) that is drawn again in its place on the user's terminal, and the key q. The
// cursor stands on an empty line above it: output of others appears there, and the view moves down.
// There is one terminal. Path: cold. Main thread.
#pragma once

#include "report/view.h"

// From now on v is drawn on out, a terminal, when there is something to see. hint: meaning of the
// key. v and out stay the caller's; v follows the lines by itself, before the follower below.
void terminal_open(const struct view *v, FILE *out, const char *hint);

// It draws, looks for the key, which has the effect of one SIGINT, and closes.
struct run_events_follower terminal_follower(void);

// Take the view away and leave the terminal as it was found; it can be called again, without
// terminal_open too. Any thread, signal handlers too.
void terminal_restore(void);
