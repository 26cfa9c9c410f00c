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

// Messages name settings as in a file; the user of a command line knows options instead. From now
// on the first phrase of each pair is replaced by the second, in the order of the pairs; {NULL,
// NULL} ends them. NULL turns this off. Call it before other threads log.
void log_set_words(const char *const (*pairs)[2]);
// Applies the same replacement to a text outside the log, cut to the room. Returns out.
const char *log_in_words(const char *text, char *out, size_t room);

// The text of the last error that this thread logged since the last call; "": none.
void log_take_error(char *text, size_t room);

void log_set_level(enum log_level level);
bool log_is_verbose(void);
