// SPDX-License-Identifier: BSD-3-Clause
// From the tree of a file to structs by rows: defaults first, then the values of the file, then
// missing keys. Not here: YAML (tree.c), single values (value.c). Path: cold. Management thread.
#include "conf/schema.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "conf/conf_internal.h"
#include "conf/value.h"

struct apply {
	struct arena *a;
	struct diag *d;
	struct conf_flaw **flaws; // NULL: they are not wanted
};

// A mapping being read; a missing key is reported at the place of the mapping around it.
struct scope {
	const struct field_section *section;
	const struct node *map;   // NULL: not in the file
	const struct node *place; // map, or the nearest mapping that is in the file
	const char *path;
	char *out;
	bool mute; // do not report missing keys: the mapping has a worse error
};

static void apply_section(struct apply *c, const struct scope *s);

static const char *path_join(struct apply *c, const char *path, const char *key)
{
	return path[0] ? arena_printf(c->a, "%s.%s", path, key) : key;
}

static void node_mark(struct apply *c, const struct node *n, const void *dst, size_t size)
{
	diag_mark(c->d, dst, size, n->file, n->line, n->col, node_path(n, c->a));
	if (n->quoted)
		diag_mark_quoted(c->d);
}

static size_t field_size(const struct field *f)
{
	return f->type == FIELD_SECTION ? f->section->size : value_size(f);
}

static void flaw_add(struct apply *c, const struct node *n, const char *path, const char *section)
{
	struct conf_flaw *flaw;

	if (!c->flaws)
		return;
	flaw = arena_zalloc(c->a, sizeof(*flaw));
	*flaw = (struct conf_flaw){*c->flaws, path, section[0] ? section : path, n};
	*c->flaws = flaw;
}

// A node whose value cannot be read.
static void flaw_add_node(struct apply *c, const struct node *n)
{
	const struct node *section = n->parent;

	while (section && section->kind != NODE_MAP)
		section = section->parent;
	flaw_add(c, n, node_path(n, c->a), section ? node_path(section, c->a) : "");
}

// Report a node of the wrong kind.
static void expect_error(struct apply *c, const struct node *n, const char *expected)
{
	flaw_add_node(c, n);
	if (node_is_empty(n))
		node_error(c->d, c->a, n, "has no value, expected %s", expected);
	else if (n->kind == NODE_SCALAR)
		node_error(c->d, c->a, n, "\"%s\" is not %s", text_shown(n->text, c->a), expected);
	else
		node_error(c->d, c->a, n, "is %s, expected %s",
			n->kind == NODE_LIST ? "a list" : "a mapping", expected);
}

// One scalar into dst, which is left as it is after an error.
static bool apply_value(struct apply *c, const struct field *f, const struct node *n, void *dst)
{
	const char *wrong;

	if (n->skip)
		return false;
	if (n->kind != NODE_SCALAR || node_is_empty(n)) {
		expect_error(c, n, value_allowed(f, c->a));
		return false;
	}
	wrong = value_parse(f, n->text, dst, c->a);
	if (wrong) {
		flaw_add_node(c, n);
		node_error(c->d, c->a, n, "%s", wrong);
	}
	return !wrong;
}

static const char section_expected[] = "a mapping (lines of \"key: value\")";

// A node that is to be a section: into zeroed out.
static void apply_map(
	struct apply *c, const struct field_section *section, const struct node *n, void *out)
{
	bool map = n->kind == NODE_MAP;
	bool wrong = n->skip || (!map && !node_is_empty(n));

	if (!n->skip && wrong)
		expect_error(c, n, section_expected);
	apply_section(c, &(struct scope){section, map && !wrong ? n : NULL, n, node_path(n, c->a),
				 out, wrong});
}

static void list_init(struct apply *c, const struct field *f, struct field_list *list, size_t room)
{
	// One more than needed, so that the items of an empty list have an address too.
	list->items = arena_zalloc(c->a, (room + 1) * field_size(f));
	list->count = 0;
}

static void apply_items(
	struct apply *c, const struct field *f, const struct node *n, struct field_list *list)
{
	const size_t size = field_size(f);

	list_init(c, f, list, n->count);
	for (const struct node *item = n->first; item; item = item->next) {
		char *dst = (char *)list->items + list->count * size;

		if (f->type == FIELD_SECTION) {
			apply_map(c, f->section, item, dst);
			list->count++;
		} else if (apply_value(c, f, item, dst)) {
			node_mark(c, item, dst, size);
			list->count++;
		}
	}
}

static const char *trimmed(struct apply *c, const char *text, size_t len)
{
	while (len > 0 && *text == ' ') {
		text++;
		len--;
	}
	while (len > 0 && text[len - 1] == ' ')
		len--;
	return arena_printf(c->a, "%.*s", (int)len, text);
}

// "a, b": NULL, or the error.
static const char *split_text(
	struct apply *c, const struct field *f, const char *text, struct field_list *list)
{
	const size_t size = field_size(f);
	size_t commas = 0;

	for (const char *p = text; *p; p++)
		commas += *p == ',';
	list_init(c, f, list, commas + 1);
	for (const char *p = text;;) {
		size_t len = strcspn(p, ",");
		const char *wrong = value_parse(
			f, trimmed(c, p, len), (char *)list->items + list->count * size, c->a);

		if (wrong)
			return wrong;
		list->count++;
		if (p[len] == 0)
			return NULL;
		p += len + 1;
	}
}

// A mapping in place of a list.
static void apply_lone(
	struct apply *c, const struct field *f, const struct node *n, struct field_list *list)
{
	list_init(c, f, list, 1);
	list->count = 1;
	apply_map(c, f->section, n, list->items);
}

// A scalar in place of a list.
static void apply_single(
	struct apply *c, const struct field *f, const struct node *n, struct field_list *list)
{
	const size_t size = field_size(f);
	struct field_list read = {0};
	const char *wrong = NULL;

	if (value_splits(f)) {
		wrong = split_text(c, f, n->text, &read);
	} else {
		list_init(c, f, &read, 1);
		wrong = value_parse(f, n->text, read.items, c->a);
		read.count = 1;
	}
	if (wrong) {
		flaw_add_node(c, n);
		node_error(c->d, c->a, n, "%s", wrong);
		return;
	}
	*list = read;
	for (uint32_t i = 0; i < list->count; i++)
		node_mark(c, n, (char *)list->items + i * size, size);
}

static void apply_list(
	struct apply *c, const struct field *f, const struct node *n, struct field_list *list)
{
	if (n->skip)
		return;
	node_mark(c, n, list, sizeof(*list));
	if (n->kind == NODE_LIST)
		apply_items(c, f, n, list);
	else if (n->kind == NODE_MAP && f->lone)
		apply_lone(c, f, n, list);
	else if (n->kind == NODE_SCALAR && !node_is_empty(n) && f->type != FIELD_SECTION)
		apply_single(c, f, n, list);
	else
		expect_error(c, n,
			f->type == FIELD_SECTION ? "a list (each item begins with \"- \")"
						 : "a list (like [a, b])");
}

static void *apply_pointer(
	struct apply *c, const struct field_section *section, const struct node *n, void **slot)
{
	*slot = arena_zalloc(c->a, section->size);
	node_mark(c, n, slot, sizeof(*slot));
	apply_map(c, section, n, *slot);
	return *slot;
}

static void default_set(struct apply *c, const struct field *f, void *dst)
{
	const char *wrong = NULL;

	if (!f->def || f->type == FIELD_SECTION || f->type == FIELD_CHOICES)
		return;
	if (f->list && f->def[0] == 0)
		return;
	wrong = f->list ? split_text(c, f, f->def, dst) : value_parse(f, f->def, dst, c->a);
	assert(!wrong && "the default of a row does not fit the row");
	(void)wrong;
}

static bool is_in_place(const struct field *f)
{
	return f->type == FIELD_SECTION && !f->list && !f->optional;
}

static void missing_error(struct apply *c, const struct scope *s, const struct field *f)
{
	const struct node *n = s->place;

	if (s->mute)
		return;
	flaw_add(c, n, path_join(c, s->path, f->name), s->path);
	flaw_add(c, n, node_path(n, c->a), "");
	diag_error_at(c->d, n->file, n->line, n->col, path_join(c, s->path, f->name),
		f->help ? "is missing (%s)" : "is missing", f->help);
}

static void apply_absent(struct apply *c, const struct scope *s, const struct field *f, char *dst)
{
	if (is_in_place(f))
		apply_section(c, &(struct scope){f->section, NULL, s->place,
					 path_join(c, s->path, f->name), dst, s->mute});
	else if (f->required)
		missing_error(c, s, f);
}

static void apply_present(struct apply *c, const struct field *f, const struct node *n, char *dst)
{
	if (f->list) {
		apply_list(c, f, n, (struct field_list *)dst);
	} else if (is_in_place(f)) {
		apply_map(c, f->section, n, dst);
	} else if (f->type == FIELD_SECTION) {
		apply_pointer(c, f->section, n, (void **)dst);
	} else {
		node_mark(c, n, dst, value_size(f));
		apply_value(c, f, n, dst);
	}
}

static void apply_choices(
	struct apply *c, const struct scope *s, const struct field *f, void ***slots)
{
	uint32_t count = f->choices->count();
	bool any = false;

	*slots = arena_zalloc(c->a, (count + 1) * sizeof(**slots));
	for (uint32_t i = 0; i < count; i++) {
		const struct field_section *choice = f->choices->section(i);
		const struct node *n = choice ? node_given(s->map, choice->name) : NULL;

		if (n)
			any = apply_pointer(c, choice, n, &(*slots)[i]);
	}
	if (f->required && !any)
		missing_error(c, s, f);
}

static void apply_field(struct apply *c, const struct scope *s, const struct field *f)
{
	char *dst = s->out + f->offset;
	const struct node *n;

	if (f->type == FIELD_CHOICES) {
		apply_choices(c, s, f, (void ***)dst);
		return;
	}
	n = node_given(s->map, f->name);
	default_set(c, f, dst);
	if (n)
		apply_present(c, f, n, dst);
	else
		apply_absent(c, s, f, dst);
}

static void check_keys(struct apply *c, const struct scope *s)
{
	for (const struct node *n = s->map->first; n; n = n->next) {
		const char *nearest;

		if (n->skip || names_has(s->section, n->key))
			continue;
		nearest = names_nearest(s->section, n->key);
		flaw_add(c, n, nearest ? path_join(c, s->path, nearest) : s->path, s->path);
		diag_error_at(c->d, n->file, n->key_line, n->key_col, s->path,
			"unknown key \"%s\" (%s)", text_shown(n->key, c->a),
			names_hint(s->section, n->key, c->a));
	}
}

static void apply_section(struct apply *c, const struct scope *s)
{
	const struct node *n = s->place;

	diag_mark_section(c->d, s->out, s->section->size, n->file, n->line, n->col, s->path);
	if (s->map)
		check_keys(c, s);
	for (uint32_t i = 0; i < s->section->count; i++)
		apply_field(c, s, &s->section->fields[i]);
}

int conf_apply(const struct conf_tree *t, const struct field_section *section, void *out,
	struct arena *a, struct diag *d)
{
	const unsigned before = diag_count(d);
	struct apply c = {a, d, NULL};

	apply_section(&c, &(struct scope){section, t->root, t->root, "", out, false});
	return t->flawed || diag_count(d) != before ? -EINVAL : 0;
}

static void mark_skipped(struct apply *c, const struct node *n)
{
	if (n->skip)
		flaw_add_node(c, n);
	for (const struct node *child = n->first; child; child = child->next)
		mark_skipped(c, child);
}

bool conf_mend(struct conf_tree *t, const struct field_section *section, struct arena *a,
	struct conf_flaw **flaws)
{
	struct conf_flaw *found = NULL;
	struct apply c = {a, NULL, &found};
	bool left = true;

	*flaws = NULL;
	t->flawed = false;
	mark_skipped(&c, t->root);
	do {
		while (left && found) {
			struct conf_flaw *flaw = found;

			found = flaw->next;
			flaw->next = *flaws;
			*flaws = flaw;
			left = flaw->node != t->root;
			if (left)
				node_remove(flaw->node);
		}
		c.d = diag_new();
		if (left)
			apply_section(&c, &(struct scope){section, t->root, t->root, "",
						  arena_zalloc(a, section->size), false});
		diag_free(c.d);
	} while (left && found);
	return left;
}

static struct node *node_copy(const struct node *n, struct node *parent, struct arena *a)
{
	struct node *out = node_add(parent, n->key, a), made = *n;

	made.parent = parent;
	made.first = made.last = made.next = NULL;
	made.count = 0;
	*out = made;
	for (const struct node *child = n->first; child; child = child->next)
		node_copy(child, out, a);
	return out;
}

struct conf_tree *conf_copy(const struct conf_tree *t, struct arena *a)
{
	struct conf_tree *copy = arena_zalloc(a, sizeof(*copy));

	*copy = (struct conf_tree){node_copy(t->root, NULL, a), t->flawed};
	return copy;
}

void conf_check_names(const struct field_list *l, size_t size, const char *what, struct diag *d)
{
	const char *items = l->items;

	for (uint32_t i = 1; i < l->count; i++) {
		const char *const *name = (const char *const *)(items + i * size);

		for (uint32_t k = 0; k < i && *name; k++) {
			const char *other = *(const char *const *)(items + k * size);

			if (other && strcmp(*name, other) == 0)
				diag_error(d, name, NULL,
					"is the name of an earlier %s too (names must differ)",
					what);
		}
	}
}

bool conf_has(const struct conf_tree *t, const char *key)
{
	return node_find(t->root, key) != NULL;
}
