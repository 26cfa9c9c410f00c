// SPDX-License-Identifier: BSD-3-Clause
// Reference tables of the program itself: drivers, protocols, settings, counters, formats,
// selectors. Path: cold. Main thread.
#pragma once

#include <stdbool.h>

// Print it. false: there is no such table.
bool list_table(const char *name);
void list_names(void (*name)(void *ctx, const char *name), void *ctx);
