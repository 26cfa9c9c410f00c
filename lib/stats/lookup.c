// SPDX-License-Identifier: BSD-3-Clause
// Walks a dotted path down the rows. Names of list items and labels may hold dots themselves.
// Path: cold. Management thread.
#include "stats/lookup.h"

#include <errno.h>
#include <string.h>

#include "stats/row.h"

// The rest of path after the name: "" at its end, NULL if path does not start with the name.
static const char *after(const char *path, const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || strncmp(path, name, len) != 0)
		return NULL;
	if (path[len] == '\0')
		return path + len;
	return path[len] == '.' && path[len + 1] ? path + len + 1 : NULL;
}

static int lookup_label(
	const struct counter *r, const uint64_t *values, const char *label, struct stats_value *out)
{
	for (uint32_t i = 0; i < r->length; i++) {
		if (strcmp(label, r->label(i)) != 0)
			continue;
		*out = (struct stats_value){values ? (double)values[i] : 0, r->unit};
		return 0;
	}
	return -ENOENT;
}

static const char *item_name(const struct counter_section *section, const void *item)
{
	for (uint32_t i = 0; i < section->count; i++) {
		const struct counter *r = &section->rows[i];

		if (r->type == COUNTER_STRING && strcmp(r->name, "name") == 0)
			return *(const char *const *)row_place(r, item);
	}
	return NULL;
}

static int lookup_list(const struct counter *r, const struct counter_list *list, const char *path,
	struct stats_value *out)
{
	for (uint32_t i = 0; list && i < list->count; i++) {
		const void *item = row_item(r, list, i);
		const char *name = item_name(r->section, item);
		const char *rest = name ? after(path, name) : NULL;

		if (rest && stats_lookup(r->section, item, rest, out) == 0)
			return 0;
	}
	return -ENOENT;
}

static int lookup_row(
	const struct counter *r, const void *place, const char *rest, struct stats_value *out)
{
	const struct counter_section *inside;
	const void *data;

	switch (r->type) {
	case COUNTER_U64:
	case COUNTER_F64:
	case COUNTER_BOOL:
		if (*rest)
			return -ENOENT;
		*out = (struct stats_value){row_number(r, place), r->unit, r->gauge};
		return 0;
	case COUNTER_ARRAY:
		return lookup_label(r, place, rest, out);
	case COUNTER_LIST:
		return lookup_list(r, place, rest, out);
	case COUNTER_SECTION:
	case COUNTER_CHOICE:
		inside = row_inside(r, place, &data);
		return inside ? stats_lookup(inside, data, rest, out) : -ENOENT;
	case COUNTER_STRING:
	case COUNTER_STRINGS:
		return -ENOENT;
	}
	return -ENOENT;
}

static const char *row_name(const struct counter *r, const void *place)
{
	const struct counter_choice *choice = place;

	if (r->type != COUNTER_CHOICE)
		return r->name;
	return choice && choice->section ? choice->section->name : "";
}

int stats_lookup(const struct counter_section *section, const void *data, const char *path,
	struct stats_value *out)
{
	for (uint32_t i = 0; i < section->count; i++) {
		const struct counter *r = &section->rows[i];
		const void *place = row_place(r, data);
		const char *rest = after(path, row_name(r, place));

		if (rest && lookup_row(r, place, rest, out) == 0)
			return 0;
	}
	return -ENOENT;
}

static void paths_of_row(
	const struct counter *r, const void *place, const char *path, const struct stats_paths *to)
{
	const struct counter_list *list = place;
	const struct counter_section *inside;
	const void *data;

	switch (r->type) {
	case COUNTER_U64:
	case COUNTER_F64:
	case COUNTER_BOOL:
		to->each(to->ctx, path);
		return;
	case COUNTER_ARRAY:
		for (uint32_t i = 0; i < r->length; i++)
			to->each(to->ctx, arena_printf(to->a, "%s.%s", path, r->label(i)));
		return;
	case COUNTER_LIST:
		for (uint32_t i = 0; list && i < list->count; i++) {
			const void *item = row_item(r, list, i);
			const char *name = item_name(r->section, item);

			if (name)
				stats_paths(r->section, item,
					arena_printf(to->a, "%s.%s.", path, name), to);
		}
		return;
	case COUNTER_SECTION:
	case COUNTER_CHOICE:
		inside = row_inside(r, place, &data);
		if (inside)
			stats_paths(inside, data, arena_printf(to->a, "%s.", path), to);
		return;
	case COUNTER_STRING:
	case COUNTER_STRINGS:
		return;
	}
}

void stats_paths(const struct counter_section *section, const void *data, const char *prefix,
	const struct stats_paths *to)
{
	for (uint32_t i = 0; i < section->count; i++) {
		const struct counter *r = &section->rows[i];
		const void *place = row_place(r, data);
		const char *name = row_name(r, place);

		if (name[0])
			paths_of_row(r, place, arena_printf(to->a, "%s%s", prefix, name), to);
	}
}
