// SPDX-License-Identifier: BSD-3-Clause
// Servers that the file gives by host name: their addresses, by the resolver of this machine.
// Fields are parsed without it, so that no parser waits or depends on the
// network. Path: cold. Management thread.
#pragma once

#include "engine/config/config.h"

// A name that was looked up.
struct host {
	const char *name;
	struct field_list addrs; // struct addr, in the resolver's order; empty: not found
};

// Give each server of an item that has a name the first address that its port reaches; c->hosts has
// all of them. before: the configuration that c was derived from, so that all runs of a series ask
// the same server; or NULL. ask: false for no look-up, then names are errors.
void hosts_resolve(
	struct config *c, const struct config *before, bool ask, struct arena *a, struct diag *d);
