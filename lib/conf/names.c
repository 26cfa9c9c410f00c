// SPDX-License-Identifier: BSD-3-Clause
// Walks the names of a section's keys.
// Path: cold. Management thread.
#include "conf/conf_internal.h"

#include <string.h>

#include "base/nearest.h"

// The i-th key, choices counted one by one; NULL behind the last.
static const char *names_nth(const struct field_section *section, unsigned i)
{
	for (uint32_t row = 0; row < section->count; row++) {
		const struct field *f = &section->fields[row];

		if (f->type != FIELD_CHOICES) {
			if (i-- == 0)
				return f->name;
			continue;
		}
		for (uint32_t k = 0; k < f->choices->count(); k++) {
			const struct field_section *choice = f->choices->section(k);

			if (choice && i-- == 0)
				return choice->name;
		}
	}
	return NULL;
}

bool names_has(const struct field_section *section, const char *key)
{
	const char *name;

	for (unsigned i = 0; (name = names_nth(section, i)); i++) {
		if (strcmp(name, key) == 0)
			return true;
	}
	return false;
}

const char *names_nearest(const struct field_section *section, const char *key)
{
	struct nearest best = nearest_to(key);
	const char *name;

	for (unsigned i = 0; (name = names_nth(section, i)); i++)
		nearest_try(&best, name);
	return best.name;
}

const char *names_hint(const struct field_section *section, const char *key, struct arena *a)
{
	const char *name, *all = NULL, *nearest = names_nearest(section, key);

	if (nearest)
		return arena_printf(a, "did you mean \"%s\"?", nearest);
	for (unsigned i = 0; (name = names_nth(section, i)); i++)
		all = all ? arena_printf(a, "%s, %s", all, name) : name;
	return all ? arena_printf(a, "allowed: %s", all) : "no key is allowed here";
}
