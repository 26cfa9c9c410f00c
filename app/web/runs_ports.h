// SPDX-License-Identifier: BSD-3-Clause
// The kind of a file, and the ports of its runs, used to detect runs that must not overlap.
// Path: cold. Any thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>

// Is it the file of a campaign, not of a run?
bool runs_is_campaign(const char *file);

// An array of "DRIVER DEVICE", with each --set in the arguments applied; empty: unknown. The caller
// owns it. Of a campaign all ports of all runs.
json_t *runs_ports_of(const char *file, const char *const *arguments, unsigned count);

// A port that is in both; NULL: none.
const char *runs_ports_shared(const json_t *a, const json_t *b);
