// SPDX-License-Identifier: BSD-3-Clause
// --set PATH=VALUE: replaces, adds or takes out one node of a parsed file. Not here: whether the
// key exists in the rows, which is found when the tree is applied. Path: cold. Management thread.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf/schema.h"
#include "conf/conf_internal.h"

struct setter {
	const char *label; // "--set PATH=VALUE"
	struct arena *a;
	struct diag *d;
};

// One step of the path: a name, or an index when name is NULL.
struct step {
	const char *name;
	unsigned long index;
};

static int set_refuse(const struct setter *s, const char *text)
{
	diag_error_at(s->d, s->label, 0, 0, NULL, "%s", text);
	return -EINVAL;
}

static int step_index(const struct setter *s, char **at, struct step *step)
{
	size_t digits = strspn(*at + 1, "0123456789");

	if (digits == 0 || digits > 9 || (*at)[1 + digits] != ']')
		return set_refuse(s, "an index is a number in brackets (like ports[0].mtu=1500)");
	step->name = NULL;
	step->index = strtoul(*at + 1, NULL, 10);
	*at += digits + 2;
	return 0;
}

// Take the next step off the path; *at is moved behind it and behind the dot that follows.
static int step_next(const struct setter *s, char **at, struct step *step)
{
	static const char malformed[] = "not a path (like traffic.queries.load.rate=50k)";
	size_t len = strcspn(*at, ".[");

	if (**at == '[') {
		if (step_index(s, at, step) != 0)
			return -EINVAL;
	} else {
		if (len == 0)
			return set_refuse(s, malformed);
		step->name = arena_printf(s->a, "%.*s", (int)len, *at);
		*at += len;
	}
	if (**at == '.') {
		++*at;
		return **at && **at != '[' ? 0 : set_refuse(s, malformed);
	}
	return **at == 0 || **at == '[' ? 0 : set_refuse(s, malformed);
}

static struct node *list_nth(const struct node *list, unsigned long index)
{
	struct node *n = list->first;

	while (n && index-- > 0)
		n = n->next;
	return n;
}

static const char *path_or_file(const struct node *n, struct arena *a)
{
	const char *path = node_path(n, a);

	return path[0] ? path : "the file";
}

static int refuse_item(const struct setter *s, const struct node *list, const struct step *step)
{
	const char *path = node_path(list, s->a);

	if (!step->name)
		return set_refuse(s, arena_printf(s->a, "%s has %u items, so there is no [%lu]",
					     path, list->count, step->index));
	return set_refuse(s, arena_printf(s->a, "%s has no item named \"%s\"", path,
				     text_shown(step->name, s->a)));
}

// The next step of the path needs a mapping, so an empty value becomes one.
static void make_map(const struct setter *s, struct node *n)
{
	n->kind = NODE_MAP;
	n->text = NULL;
	n->file = s->label;
	n->gone = false;
	n->line = n->col = n->key_line = n->key_col = 0;
}

// The child that the step names, made when it is a missing key of a mapping.
static struct node *step_into(const struct setter *s, struct node *n, const struct step *step)
{
	struct node *child;

	if (n->kind == NODE_LIST) {
		child = step->name ? node_find_item(n, step->name) : list_nth(n, step->index);
		if (!child)
			refuse_item(s, n, step);
		return child;
	}
	if (node_is_empty(n) && step->name)
		make_map(s, n);
	if (n->kind != NODE_MAP || !step->name) {
		set_refuse(s, arena_printf(s->a, "%s is not a %s", path_or_file(n, s->a),
				      step->name ? "mapping" : "list"));
		return NULL;
	}
	child = node_find(n, step->name);
	if (child)
		return child;
	child = node_add(n, step->name, s->a);
	child->text = "";
	child->file = s->label;
	return child;
}

// Give n the content of value, keeping its own place in the tree.
static void node_replace(struct node *n, const struct node *value)
{
	n->kind = value->kind;
	n->quoted = value->quoted;
	n->skip = value->skip;
	n->gone = false;
	n->problem = value->problem;
	n->text = value->text;
	n->file = value->file;
	n->line = n->col = n->key_line = n->key_col = 0;
	n->first = value->first;
	n->last = value->last;
	n->count = value->count;
	for (struct node *child = n->first; child; child = child->next)
		child->parent = n;
}

// "null", not in quotes: the setting is to be as if it had never been there.
static bool is_null(const struct node *value)
{
	return value->kind == NODE_SCALAR && !value->quoted && strcmp(value->text, "null") == 0;
}

static int set_node(const struct setter *s, struct node *n, const struct node *value)
{
	if (!is_null(value))
		node_replace(n, value);
	else if (!n->key)
		return set_refuse(s, "only a setting can be taken out, no item of a list");
	else
		n->gone = true;
	return 0;
}

static int set_path(
	const struct setter *s, struct conf_tree *t, char *path, const struct node *value)
{
	struct node *n = t->root;
	struct step step = {0};

	if (!path[0])
		return set_refuse(s, "no path before \"=\" (like traffic.queries.load.rate=50k)");
	while (*path) {
		if (step_next(s, &path, &step) != 0)
			return -EINVAL;
		n = step_into(s, n, &step);
		if (!n)
			return -EINVAL;
	}
	return set_node(s, n, value);
}

int conf_set(struct conf_tree *t, const char *assignment, struct arena *a, struct diag *d)
{
	struct setter s = {arena_printf(a, "--set %s", text_shown(assignment, a)), a, d};
	struct node empty = {.kind = NODE_SCALAR, .text = "", .file = s.label};
	const char *equals = strchr(assignment, '=');
	struct conf_tree *value;

	if (!equals)
		return set_refuse(&s, "no \"=\" in it (like traffic.queries.load.rate=50k)");
	value = tree_build(s.label, false, equals + 1, strlen(equals + 1), a, d);
	if (!value)
		return -EINVAL;
	if (set_path(&s, t, arena_printf(a, "%.*s", (int)(equals - assignment), assignment),
		    value->root ? value->root : &empty) != 0)
		return -EINVAL;
	if (!value->flawed)
		return 0;
	t->flawed = true;
	return -EINVAL;
}
