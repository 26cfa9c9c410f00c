// SPDX-License-Identifier: BSD-3-Clause
// The ports of a configuration, by which runs are told apart that may not run together. Path:
// cold. Any thread.
#pragma once

#include <jansson.h>

// An array of "DRIVER DEVICE", with the --set among the arguments applied; empty: not known. The
// caller owns it.
json_t *runs_ports_of(const char *file, const char *const *arguments, unsigned count);

// One that is in both; NULL: none.
const char *runs_ports_shared(const json_t *a, const json_t *b);
