// SPDX-License-Identifier: BSD-3-Clause
// The rules of events, their names and commands, and the rates that they change. Path: cold.
// Management thread.
#pragma once

#include "engine/config/config.h"

// Gives events their names and commands, and items the changes of their rate. Errors go to d.
void events_fit(const struct config *c, struct arena *a, struct diag *d);

// Parses "traffic.NAME.load.rate=RATE" into the item and its rate; NULL: another text.
struct item_settings *events_item_of_set(const struct config *c, const char *set, double *rate);
