// SPDX-License-Identifier: BSD-3-Clause
// From YAML text to nodes that know their line: a plain subset of YAML, without anchors, aliases
// and tags. Not here: the meaning of keys. Path: cold. Management thread.
#include "conf/conf_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/arena.h"
#include "conf/schema.h"

#define DEPTH_MAX 32
#define KEYS_MAX  200         // of one mapping, keeps the search for doubles short
#define FILE_MAX  (16u << 20) // bytes

struct builder {
	yaml_parser_t parser;
	const char *name;
	bool in_file;
	struct arena *a;
	struct diag *d;
	struct conf_tree *tree;
	struct node *open; // the container being filled
	const char *key;   // seen, its value is to come
	unsigned key_line, key_col;
	unsigned depth;
	unsigned documents;
	bool done;
};

static void builder_fail(struct builder *b, yaml_mark_t mark, const char *text)
{
	unsigned line = b->in_file ? (unsigned)mark.line + 1 : 0;

	diag_error_at(b->d, b->name, line, line ? (unsigned)mark.column + 1 : 0, NULL, "%s", text);
}

static void node_complain(struct builder *b, struct node *n, const char *problem)
{
	n->problem = problem;
	n->skip = true;
	b->tree->flawed = true;
}

static struct node *builder_attach(struct builder *b, yaml_mark_t mark)
{
	const struct node *earlier = b->key ? node_find(b->open, b->key) : NULL;
	struct node *n;

	n = node_add(b->open, b->key, b->a);
	n->file = b->name;
	if (b->key) {
		n->key_line = b->key_line;
		n->key_col = b->key_col;
	}
	if (b->in_file) {
		n->line = (unsigned)mark.line + 1;
		n->col = (unsigned)mark.column + 1;
	}
	if (earlier && b->in_file)
		node_complain(b, n,
			arena_printf(b->a, "is given twice (first in line %u)", earlier->key_line));
	else if (earlier)
		node_complain(b, n, "is given twice");
	if (!b->open)
		b->tree->root = n;
	b->key = NULL;
	return n;
}

static int builder_key(struct builder *b, const yaml_event_t *e)
{
	const char *text = (const char *)e->data.scalar.value;

	if (strlen(text) != e->data.scalar.length || !text[0]) {
		builder_fail(b, e->start_mark, "a key is missing before \":\"");
		return -EINVAL;
	}
	if (e->data.scalar.anchor || e->data.scalar.tag) {
		builder_fail(b, e->start_mark, "a key with an anchor or a tag is not supported");
		return -EINVAL;
	}
	if (b->open->count == KEYS_MAX) {
		builder_fail(b, e->start_mark, "more than 200 keys in one mapping");
		return -EINVAL;
	}
	b->key = arena_strdup(b->a, text);
	b->key_line = b->in_file ? (unsigned)e->start_mark.line + 1 : 0;
	b->key_col = b->in_file ? (unsigned)e->start_mark.column + 1 : 0;
	return 0;
}

static void builder_marks(struct builder *b, struct node *n, const void *anchor, const void *tag)
{
	if (n->problem)
		return;
	if (tag)
		node_complain(b, n, "has a tag (\"!...\"), which is not supported");
	else if (anchor)
		node_complain(b, n, "has an anchor (\"&...\"), which is not supported");
	// The value under an anchor is read as if the anchor were not there.
	if (anchor && !tag)
		n->skip = false;
}

static int builder_scalar(struct builder *b, const yaml_event_t *e)
{
	const char *text = (const char *)e->data.scalar.value;
	struct node *n;

	if (b->open && b->open->kind == NODE_MAP && !b->key)
		return builder_key(b, e);
	n = builder_attach(b, e->start_mark);
	n->text = arena_strdup(b->a, text);
	n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	builder_marks(b, n, e->data.scalar.anchor, e->data.scalar.tag);
	if (strlen(text) != e->data.scalar.length && !n->problem)
		node_complain(b, n, "has a NUL character in it");
	return 0;
}

static int builder_open(struct builder *b, const yaml_event_t *e, enum node_kind kind)
{
	bool map = kind == NODE_MAP;
	struct node *n;

	if (b->open && b->open->kind == NODE_MAP && !b->key) {
		builder_fail(b, e->start_mark, "a key must be a plain word");
		return -EINVAL;
	}
	if (b->depth == DEPTH_MAX) {
		builder_fail(b, e->start_mark, "nested deeper than 32 levels");
		return -EINVAL;
	}
	n = builder_attach(b, e->start_mark);
	n->kind = kind;
	builder_marks(b, n, map ? e->data.mapping_start.anchor : e->data.sequence_start.anchor,
		map ? e->data.mapping_start.tag : e->data.sequence_start.tag);
	b->open = n;
	b->depth++;
	return 0;
}

static int builder_alias(struct builder *b, const yaml_event_t *e)
{
	struct node *n;

	if (b->open && b->open->kind == NODE_MAP && !b->key) {
		builder_fail(b, e->start_mark, "a key must be a plain word");
		return -EINVAL;
	}
	n = builder_attach(b, e->start_mark);
	n->text = "";
	if (!n->problem)
		node_complain(b, n, "is an alias (\"*...\"), which is not supported");
	return 0;
}

static int builder_event(struct builder *b, const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (b->documents++ == 0)
			return 0;
		builder_fail(b, e->start_mark, "a second document (\"---\") is not supported");
		return -EINVAL;
	case YAML_SCALAR_EVENT:
		return builder_scalar(b, e);
	case YAML_ALIAS_EVENT:
		return builder_alias(b, e);
	case YAML_SEQUENCE_START_EVENT:
		return builder_open(b, e, NODE_LIST);
	case YAML_MAPPING_START_EVENT:
		return builder_open(b, e, NODE_MAP);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		b->open = b->open->parent;
		b->depth--;
		return 0;
	case YAML_STREAM_END_EVENT:
		b->done = true;
		return 0;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	}
	return 0;
}

// Errors of the reader (bad UTF-8) come with an offset only.
static yaml_mark_t offset_mark(const char *text, size_t len, size_t offset)
{
	yaml_mark_t mark = {0};

	for (size_t i = 0; i < offset && i < len; i++) {
		mark.column++;
		if (text[i] == '\n') {
			mark.line++;
			mark.column = 0;
		}
	}
	return mark;
}

static void builder_syntax(struct builder *b, const char *text, size_t len)
{
	const yaml_parser_t *p = &b->parser;
	yaml_mark_t mark = p->problem_mark;

	if (p->error == YAML_MEMORY_ERROR)
		arena_exhausted();
	if (p->error == YAML_READER_ERROR)
		mark = offset_mark(text, len, p->problem_offset);
	builder_fail(b, mark, arena_printf(b->a, "not YAML: %s", p->problem ? p->problem : "?"));
}

static int builder_run(struct builder *b, const char *text, size_t len)
{
	yaml_event_t event;
	int rc;

	while (!b->done) {
		if (!yaml_parser_parse(&b->parser, &event)) {
			builder_syntax(b, text, len);
			return -EINVAL;
		}
		rc = builder_event(b, &event);
		yaml_event_delete(&event);
		if (rc != 0)
			return rc;
	}
	return 0;
}

// Only now: the path of an item has its name, which may come after the error.
static void tree_report(const struct node *n, struct arena *a, struct diag *d)
{
	if (n->problem)
		node_error(d, a, n, "%s", n->problem);
	for (const struct node *child = n->first; child; child = child->next)
		tree_report(child, a, d);
}

struct conf_tree *tree_build(const char *name, bool in_file, const char *text, size_t len,
	struct arena *a, struct diag *d)
{
	struct builder b = {.name = arena_strdup(a, name), .in_file = in_file, .a = a, .d = d};
	int rc;

	b.tree = arena_zalloc(a, sizeof(*b.tree));
	if (!yaml_parser_initialize(&b.parser))
		arena_exhausted();
	yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, len);
	rc = builder_run(&b, text, len);
	yaml_parser_delete(&b.parser);
	if (b.tree->root)
		tree_report(b.tree->root, a, d);
	return rc == 0 ? b.tree : NULL;
}

struct conf_tree *conf_parse_text(
	const char *name, const char *text, size_t len, struct arena *a, struct diag *d)
{
	struct conf_tree *t = tree_build(name, true, text, len, a, d);

	if (!t)
		return NULL;
	if (!t->root || node_is_empty(t->root)) {
		diag_error_at(
			d, name, 1, 1, NULL, "nothing in this file (keys and values expected)");
		return NULL;
	}
	if (t->root->kind != NODE_MAP) {
		diag_error_at(d, name, t->root->line, t->root->col, NULL,
			"not a mapping (lines of \"key: value\" expected)");
		return NULL;
	}
	return t;
}

// All of the stream in memory of malloc; NULL with errno: it cannot be read.
static char *stream_read(FILE *in, size_t *len)
{
	size_t room = 64u << 10;
	char *text = malloc(room), *bigger;

	*len = 0;
	while (text) {
		*len += fread(text + *len, 1, room - *len, in);
		if (*len < room)
			break;
		if (room >= FILE_MAX) {
			free(text);
			errno = EFBIG;
			return NULL;
		}
		room *= 2;
		bigger = realloc(text, room);
		if (!bigger)
			free(text);
		text = bigger;
	}
	if (!text)
		arena_exhausted();
	if (ferror(in)) {
		free(text);
		return NULL;
	}
	return text;
}

struct conf_tree *conf_parse_file(const char *path, struct arena *a, struct diag *d)
{
	bool standard = strcmp(path, "-") == 0;
	FILE *in = standard ? stdin : fopen(path, "re");
	struct conf_tree *t;
	char *text = NULL;
	size_t len = 0;
	int error;

	if (in)
		text = stream_read(in, &len);
	error = errno;
	if (in && !standard)
		fclose(in);
	if (!text) {
		diag_error_at(d, path, 0, 0, NULL, "cannot read it: %s", strerror(error));
		return NULL;
	}
	t = conf_parse_text(path, text, len, a, d);
	free(text);
	return t;
}
