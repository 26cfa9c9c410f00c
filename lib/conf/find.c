// SPDX-License-Identifier: BSD-3-Clause
// One setting by its path, in the rows and in the structs that they filled. Path: cold. Management
// thread.
#include <stdlib.h>
#include <string.h>

#include "conf/conf_internal.h"
#include "conf/schema.h"

struct finder {
	struct arena *a;
	const char **what;
};

static const struct field *find_in(const struct finder *f, const struct field_section *section,
	const void *obj, const char *path, const void **place);

static const struct field *refuse(const struct finder *f, const char *text)
{
	*f->what = text;
	return NULL;
}

static const struct field *unknown_key(
	const struct finder *f, const struct field_section *section, const char *key)
{
	return refuse(f,
		arena_printf(f->a, "there is no \"%s\" (%s)", key, names_hint(section, key, f->a)));
}

// The name of an item of a list of sections, by its row.
static const char *item_name(const struct field_section *section, const void *item)
{
	for (uint32_t i = 0; i < section->count; i++)
		if (section->fields[i].type == FIELD_STRING &&
			strcmp(section->fields[i].name, "name") == 0)
			return *(const char *const *)((const char *)item +
						      section->fields[i].offset);
	return NULL;
}

static const void *item_at(const struct field *row, const struct field_list *list, uint32_t i)
{
	return (const char *)list->items + i * row->section->size;
}

// "[2].rest" or "name.rest"; the text after the item goes to *rest.
static const void *find_item(
	const struct field *row, const struct field_list *list, const char *path, const char **rest)
{
	size_t len = strcspn(path, ".[");
	unsigned long index;
	char *end;

	for (uint32_t i = 0; len && i < list->count; i++) {
		const char *name = item_name(row->section, item_at(row, list, i));

		*rest = path + len;
		if (name && strlen(name) == len && strncmp(name, path, len) == 0)
			return item_at(row, list, i);
	}
	if (path[0] != '[')
		return NULL;
	index = strtoul(path + 1, &end, 10);
	if (end == path + 1 || *end != ']' || index >= list->count)
		return NULL;
	*rest = end + 1;
	return item_at(row, list, (uint32_t)index);
}

static const char *after_dot(const char *rest)
{
	return *rest == '.' ? rest + 1 : rest;
}

static const struct field *find_in_list(const struct finder *f, const struct field *row,
	const struct field_list *list, const char *path, const void **place)
{
	const char *names = NULL, *rest = "";
	const void *item = list ? find_item(row, list, path, &rest) : NULL;

	if (item)
		return find_in(f, row->section, item, after_dot(rest), place);
	for (uint32_t i = 0; list && i < list->count; i++) {
		const char *name = item_name(row->section, item_at(row, list, i));

		if (name)
			names = names ? arena_printf(f->a, "%s, %s", names, name) : name;
	}
	return refuse(f, arena_printf(f->a, "%s has no item \"%.*s\" (there are: %s)", row->name,
				 (int)strcspn(path, "."), path, names ? names : "none"));
}

static const struct field *find_choice(const struct finder *f, const struct field *row,
	const void *at, const char *path, const void **place)
{
	size_t len = strcspn(path, ".[");

	for (uint32_t i = 0; i < row->choices->count(); i++) {
		const struct field_section *choice = row->choices->section(i);

		if (choice && strlen(choice->name) == len && strncmp(choice->name, path, len) == 0)
			return find_in(f, choice, at ? (*(void *const *const *)at)[i] : NULL,
				after_dot(path + len), place);
	}
	return NULL;
}

// The row of the first key of the path is at `at`; rest is the text after the key.
static const struct field *find_below(const struct finder *f, const struct field *row,
	const void *at, const char *rest, const void **place)
{
	if (row->type == FIELD_SECTION && row->list)
		return find_in_list(f, row, at, after_dot(rest), place);
	if (row->type == FIELD_SECTION)
		return find_in(f, row->section, row->optional && at ? *(void *const *)at : at,
			after_dot(rest), place);
	if (*rest)
		return refuse(f, arena_printf(f->a, "\"%s\" has nothing inside", row->name));
	*place = at;
	return row;
}

static const struct field *find_in(const struct finder *f, const struct field_section *section,
	const void *obj, const char *path, const void **place)
{
	size_t len = strcspn(path, ".[");
	const char *key = arena_printf(f->a, "%.*s", (int)len, path);

	if (len == 0)
		return refuse(f, "a section, not a value in it");
	for (uint32_t i = 0; i < section->count; i++) {
		const struct field *row = &section->fields[i], *found;
		const void *at = obj ? (const char *)obj + row->offset : NULL;

		*f->what = NULL;
		if (row->type != FIELD_CHOICES && strcmp(row->name, key) == 0)
			return find_below(f, row, at, path + len, place);
		found = row->type == FIELD_CHOICES ? find_choice(f, row, at, path, place) : NULL;
		if (found || *f->what)
			return found;
	}
	return unknown_key(f, section, key);
}

const struct field *conf_find(const struct field_section *section, const void *obj,
	const char *path, const void **place, struct arena *a, const char **what)
{
	const struct finder f = {a, what};

	*place = NULL;
	return find_in(&f, section, obj, path, place);
}
