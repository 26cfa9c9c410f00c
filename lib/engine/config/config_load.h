// SPDX-License-Identifier: BSD-3-Clause
// From a file to a checked configuration. Path: cold. Management thread.
#pragma once

#include "engine/config/config.h"

// Reads the file, applies the --set assignments and checks the result, which lives in a. NULL after
// errors, all of which are in d.
const struct config *config_load(const char *file, char *const *assignments, unsigned count,
	struct arena *a, struct diag *d);

// Returns c with further --set assignments applied, or NULL after errors, which are in d. Names of
// servers keep the addresses that they have in c.
const struct config *config_derive(const struct config *c, char *const *assignments, unsigned count,
	struct arena *a, struct diag *d);

// After config_resolve, with all server addresses known: fills the facts that need them.
void config_complete(const struct config *c, struct arena *a);

// Both load from memory; name stands for the file in errors. The first, for fuzzing, does not look
// up names of servers: they are errors.
const struct config *config_load_text(
	const char *name, const char *text, size_t len, struct arena *a, struct diag *d);
const struct config *config_load_text_assigned(const char *name, const char *text,
	char *const *assignments, unsigned count, struct arena *a, struct diag *d);
