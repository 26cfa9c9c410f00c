// SPDX-License-Identifier: BSD-3-Clause
// The continuations of a setting's path, by the rows and by the names of items in a file.
// Path: cold. Management thread.
#include <stdlib.h>
#include <string.h>

#include "conf/schema.h"
#include "conf/conf_internal.h"

struct completer {
	const char *path;
	conf_offer *offer;
	void *ctx;
	struct arena *a;
};

static void complete_in(const struct completer *c, const struct field_section *section,
	const struct node *n, const char *at);

// The part of the path that ends before at stays; text takes the place of the rest.
static void offer(const struct completer *c, const char *at, const char *text, const char *end,
	const char *help)
{
	if (strncmp(text, at, strlen(at)) == 0)
		c->offer(c->ctx,
			arena_printf(c->a, "%.*s%s%s", (int)(at - c->path), c->path, text, end),
			help ? help : "");
}

static void offer_values(const struct completer *c, const struct field *f, const char *at)
{
	const char *name;

	if (f->type == FIELD_BOOL) {
		offer(c, at, "true", "", f->help);
		offer(c, at, "false", "", f->help);
	}
	for (uint32_t i = 0; f->type == FIELD_ENUM && (name = field_name(f, i)); i++)
		offer(c, at, name, "", f->help);
	if (f->word)
		offer(c, at, f->word, "", f->help);
}

static const struct node *first_item(const struct node *map, const char *key)
{
	const struct node *list = node_find(map, key);

	return list && list->kind == NODE_LIST ? list->first : NULL;
}

static const char *name_of(const struct node *item)
{
	const struct node *name = node_find(item, "name");

	return name ? name->text : NULL;
}

// Items without names are completed by their numbers; without a file only the first is offered.
static void offer_list(
	const struct completer *c, const struct field *f, const struct node *map, const char *at)
{
	const struct node *item = first_item(map, f->name);
	const char *help = f->help ? f->help : f->section->help;

	if (name_of(item)) {
		offer(c, at, f->name, ".", help);
		return;
	}
	for (uint32_t i = 0; i == 0 || item; i++, item = item ? item->next : NULL)
		offer(c, at, arena_printf(c->a, "%s[%u]", f->name, i), ".", help);
}

static void offer_key(
	const struct completer *c, const struct field *f, const struct node *map, const char *at)
{
	const struct field_section *choice;

	for (uint32_t i = 0; f->type == FIELD_CHOICES && i < f->choices->count(); i++)
		if ((choice = f->choices->section(i)))
			offer(c, at, choice->name, ".", choice->help);
	if (f->type == FIELD_SECTION && f->list)
		offer_list(c, f, map, at);
	else if (f->type == FIELD_SECTION)
		offer(c, at, f->name, ".", f->help ? f->help : f->section->help);
	else if (f->type != FIELD_CHOICES)
		offer(c, at, f->name, "=", f->help);
}

// The item that "[2]" or ".name" stands for, up to end; NULL: not known.
static const struct node *find_item(const struct node *item, const char *at, const char *end)
{
	unsigned long index = strtoul(at + 1, NULL, 10);
	size_t len = (size_t)(end - at - 1);

	for (; item; item = item->next) {
		const char *name = name_of(item);

		if (*at == '[' ? index-- == 0
			       : name && strlen(name) == len && memcmp(name, at + 1, len) == 0)
			break;
	}
	return item;
}

// at: behind the key of the list, "[2].rest" or ".name.rest".
static void complete_item(
	const struct completer *c, const struct field *f, const struct node *item, const char *at)
{
	const char *end = strchr(at + 1, '.');

	if (end) {
		complete_in(c, f->section, find_item(item, at, end), end + 1);
		return;
	}
	for (; *at == '.' && item; item = item->next)
		if (name_of(item))
			offer(c, at + 1, name_of(item), ".", f->help ? f->help : f->section->help);
}

// end: behind the key, where a value, an item or a section begins.
static void complete_key(const struct completer *c, const struct field *f, const struct node *n,
	const char *at, const char *end)
{
	const char *key = arena_printf(c->a, "%.*s", (int)(end - at), at);
	const struct field_section *choice;

	for (uint32_t i = 0; f->type == FIELD_CHOICES && i < f->choices->count(); i++)
		if ((choice = f->choices->section(i)) && strcmp(choice->name, key) == 0 &&
			*end == '.')
			complete_in(c, choice, node_find(n, key), end + 1);
	if (f->type == FIELD_CHOICES || strcmp(f->name, key) != 0)
		return;
	if (f->type != FIELD_SECTION && *end == '=')
		offer_values(c, f, end + 1);
	else if (f->type == FIELD_SECTION && f->list && *end != '=')
		complete_item(c, f, first_item(n, key), end);
	else if (f->type == FIELD_SECTION && !f->list && *end == '.')
		complete_in(c, f->section, node_find(n, key), end + 1);
}

static void complete_in(const struct completer *c, const struct field_section *section,
	const struct node *n, const char *at)
{
	const char *end = at + strcspn(at, ".=[");

	for (uint32_t i = 0; i < section->count; i++) {
		if (*end)
			complete_key(c, &section->fields[i], n, at, end);
		else
			offer_key(c, &section->fields[i], n, at);
	}
}

void conf_complete(const struct field_section *section, const struct conf_tree *t,
	const char *assignment, conf_offer *offer_it, void *ctx)
{
	const struct completer c = {assignment, offer_it, ctx, arena_new()};

	complete_in(&c, section, t ? t->root : NULL, assignment);
	arena_free(c.a);
}
