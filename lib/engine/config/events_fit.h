// SPDX-License-Identifier: BSD-3-Clause
// The rules of events, their names and commands, and the rates that they change. Path: cold.
// Management thread.
#pragma once

#include "engine/config/config.h"

// Give them names and commands, and the items their changes of rate. Errors go to d.
void events_fit(const struct config *c, struct arena *a, struct diag *d);

// The item of "traffic.NAME.load.rate=RATE", and that rate; NULL: the text is no such.
struct item_settings *events_item_of_set(const struct config *c, const char *set, double *rate);
