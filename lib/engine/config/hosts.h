// SPDX-License-Identifier: BSD-3-Clause
// Servers that the file gives by host name, and their addresses from the resolver of this machine.
// Fields are parsed without it, so that no parser waits for the network or depends on it.
// Path: cold. Management thread.
#pragma once

#include "engine/config/config.h"

// A name that was looked up.
struct host {
	const char *name;
	struct field_list addrs; // struct addr, in the resolver's order; empty: not found
};

// Gives each server with a name the first address that the item's port reaches; c->hosts gets all
// addresses. before: the configuration that c was derived from, whose addresses are kept so that a
// series uses one server; or NULL. ask: false for no look-up: names are errors then.
void hosts_resolve(
	struct config *c, const struct config *before, bool ask, struct arena *a, struct diag *d);
