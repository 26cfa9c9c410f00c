// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of conf/ only: the nodes of a parsed file, the keys of a section, and the
// walk over a filled struct. Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/diag.h"
#include "conf/schema.h"

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAP };

struct node {
	struct node *parent;
	struct node *first, *last; // children
	struct node *next;         // of the same parent
	unsigned count;            // of children
	unsigned index;            // among the items of a list
	enum node_kind kind;
	bool quoted; // scalar that stood in quotes
	bool skip;   // already reported: not to be read
	bool gone;   // removed by null: only its key is checked
	const char *key;
	unsigned key_line, key_col;
	const char *text; // of a scalar, else NULL
	const char *problem;
	const char *file;
	unsigned line, col; // 0: not in a file
};

struct conf_tree {
	struct node *root;
	bool flawed; // has errors that leave the rest readable
};

// Parse YAML of any kind; name as in errors. With in_file false the nodes have no line. NULL root:
// no node at all. NULL after an error that leaves no tree (in d).
struct conf_tree *tree_build(const char *name, bool in_file, const char *text, size_t len,
	struct arena *a, struct diag *d);

// A child that is linked in at the end; key for mappings, else NULL.
struct node *node_add(struct node *parent, const char *key, struct arena *a);

// Takes a node out of its parent's children; does nothing for the root, or if it is out already.
void node_remove(const struct node *n);

// NULL if the key is absent, or if map is NULL or not a mapping.
struct node *node_find(const struct node *map, const char *key);
// Like node_find, but also finds a removed node (gone).
struct node *node_given(const struct node *map, const char *key);

// The item of a list that has this `name`, or NULL.
struct node *node_find_item(const struct node *list, const char *name);

// Is the value empty? "key:" or "key: ~".
bool node_is_empty(const struct node *n);

// "traffic.queries.load", "ports[0]"; "" for the root.
const char *node_path(const struct node *n, struct arena *a);

// Text of the user as part of a message: printable, and cut when long.
const char *text_shown(const char *text, struct arena *a);

// Reports an error at the place of the node, under its path.
void node_error(struct diag *d, struct arena *a, const struct node *n, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

// Keys of choices stand beside the others.
bool names_has(const struct field_section *section, const char *key);

// The known key that this one resembles, or NULL.
const char *names_nearest(const struct field_section *section, const char *key);

// "did you mean "queries"?", or "allowed: a, b, c" when nothing is near.
const char *names_hint(const struct field_section *section, const char *key, struct arena *a);

// The one walk over a filled struct by its rows, behind conf_visit and conf_dump. plain: counts and
// rates as bare numbers, for a program.
void visit_section(const struct field_section *section, const void *obj, bool plain,
	const struct conf_visitor *v);
