// SPDX-License-Identifier: BSD-3-Clause
// The ports of a configuration, used to detect runs that must not overlap. Path: cold. Any thread.
#pragma once

#include <jansson.h>

// An array of "DRIVER DEVICE", with each --set in the arguments applied; empty: unknown. The caller
// owns it.
json_t *runs_ports_of(const char *file, const char *const *arguments, unsigned count);

// A port that is in both; NULL: none.
const char *runs_ports_shared(const json_t *a, const json_t *b);
