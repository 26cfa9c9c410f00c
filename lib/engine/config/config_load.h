// SPDX-License-Identifier: BSD-3-Clause
// From a file to a checked configuration. Path: cold. Management thread.
#pragma once

#include "engine/config/config.h"

// Read the file, apply the --set assignments, check everything. NULL after errors, which are all in
// d. The result lives in a.
const struct config *config_load(const char *file, char *const *assignments, unsigned count,
	struct arena *a, struct diag *d);

// The configuration that c becomes with more --set assignments. NULL after errors, which are in d.
// Names of servers stand for the addresses that they have in c.
const struct config *config_derive(const struct config *c, char *const *assignments, unsigned count,
	struct arena *a, struct diag *d);

// After config_resolve, and with the addresses of all servers: the facts of items that need them.
void config_complete(const struct config *c, struct arena *a);

// Both from memory; name stands for the file in errors. The first one, for fuzzing, looks up no
// names of servers: they are errors.
const struct config *config_load_text(
	const char *name, const char *text, size_t len, struct arena *a, struct diag *d);
const struct config *config_load_text_assigned(const char *name, const char *text,
	char *const *assignments, unsigned count, struct arena *a, struct diag *d);
