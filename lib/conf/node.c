// SPDX-License-Identifier: BSD-3-Clause
// Queries on a node: children by key or name, its path, an error at its place.
// Not here: YAML (tree.c). Path: cold. Management thread.
#include "conf/conf_internal.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 60

struct node *node_add(struct node *parent, const char *key, struct arena *a)
{
	struct node *n = arena_zalloc(a, sizeof(*n));

	n->parent = parent;
	n->key = key;
	if (!parent)
		return n;
	n->index = parent->count++;
	if (parent->last)
		parent->last->next = n;
	else
		parent->first = n;
	parent->last = n;
	return n;
}

void node_remove(const struct node *n)
{
	struct node *parent = n->parent, *before = NULL;
	struct node **at = parent ? &parent->first : NULL;

	while (at && *at && *at != n) {
		before = *at;
		at = &before->next;
	}
	if (!at || !*at)
		return;
	*at = n->next;
	if (parent->last == n)
		parent->last = before;
	parent->count--;
}

struct node *node_find(const struct node *map, const char *key)
{
	if (!map || map->kind != NODE_MAP)
		return NULL;
	for (struct node *n = map->first; n; n = n->next) {
		if (strcmp(n->key, key) == 0)
			return n;
	}
	return NULL;
}

struct node *node_given(const struct node *map, const char *key)
{
	struct node *n = node_find(map, key);

	return n && !n->gone ? n : NULL;
}

// The `name` of an item, or NULL.
static const char *item_name(const struct node *n)
{
	const struct node *name = node_find(n, "name");

	if (!name || name->kind != NODE_SCALAR || !name->text[0])
		return NULL;
	return name->text;
}

struct node *node_find_item(const struct node *list, const char *name)
{
	for (struct node *n = list->first; n; n = n->next) {
		const char *own = item_name(n);

		if (own && strcmp(own, name) == 0)
			return n;
	}
	return NULL;
}

bool node_is_empty(const struct node *n)
{
	if (n->kind != NODE_SCALAR || n->quoted)
		return false;
	return n->text[0] == 0 || strcmp(n->text, "~") == 0;
}

const char *node_path(const struct node *n, struct arena *a)
{
	const char *before, *name;

	if (!n->parent)
		return "";
	before = node_path(n->parent, a);
	name = n->key ? n->key : item_name(n);
	if (!name)
		return arena_printf(a, "%s[%u]", before, n->index);
	name = text_shown(name, a);
	return before[0] ? arena_printf(a, "%s.%s", before, name) : name;
}

const char *text_shown(const char *text, struct arena *a)
{
	size_t len = strlen(text);
	char *shown = arena_zalloc(a, SHOWN_MAX + 4);

	if (len > SHOWN_MAX) {
		len = SHOWN_MAX;
		// Not in the middle of a character.
		while (len > 0 && ((uint8_t)text[len] & 0xc0) == 0x80)
			len--;
		memcpy(shown + len, "...", 4);
	}
	for (size_t i = 0; i < len; i++)
		shown[i] = (uint8_t)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
	return shown;
}

void node_error(struct diag *d, struct arena *a, const struct node *n, const char *fmt, ...)
{
	// An empty value has no place of its own.
	bool at_key = n->key_line && (node_is_empty(n) || n->problem);
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		arena_exhausted();
	va_end(args);
	diag_error_at(d, n->file, at_key ? n->key_line : n->line, at_key ? n->key_col : n->col,
		node_path(n, a), "%s", text);
	free(text);
}
