// SPDX-License-Identifier: BSD-3-Clause
// Diagnostics of the control side, on stderr, one line each: "ddiperf: text". Never called on the
// hot path. Path: cold. Any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));  // not with --quiet
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2))); // only with --verbose

enum log_level { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE };

// The text of the last error that this thread logged since the last call; "": none.
void log_take_error(char *text, size_t room);

void log_set_level(enum log_level level);
bool log_is_verbose(void);
