// SPDX-License-Identifier: BSD-3-Clause
// Rows and JSON side by side. Nothing in the JSON is trusted: values that are not of the row's type
// are skipped. Path: cold. Main thread.
#include "format/format_walk.h"

#include <stdio.h>
#include <string.h>

#include "proto/table.h"
#include "base/arena.h"
#include "engine/result/result.h"
#include "proto/proto.h"
#include "stats/json.h"

// Names of the labels that distinguish the items of a list.
static const char *label_name(const char *list)
{
	static const struct {
		const char *list, *label;
	} names[] = {{"traffic", "item"}, {"ports", "port"}, {"steps", "step"}, {"marks", "mark"},
		{"percentiles", "percentile"}, {"figures", "figure"}, {"protocols", "protocol"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(list, names[i].list) == 0)
			return names[i].label;
	return list;
}

// Returns the section of a protocol's own counters: key is its name.
static const struct counter_section *choice_section(
	const struct counter_section *of, const char *key)
{
	bool answered = strcmp(of->name, "protocols") == 0; // of the responder

	for (unsigned i = 0; protos[i]; i++) {
		const struct counter_section *s = protos[i]->counters;

		if (answered)
			s = protos[i]->server ? protos[i]->server->counters : NULL;
		if (s && strcmp(s->name, key) == 0)
			return s;
	}
	return NULL;
}

struct mark {
	size_t path, name;
	unsigned labels;
};

static struct mark here(const struct walk *w)
{
	return (struct mark){strlen(w->path), strlen(w->name), w->label_count};
}

static void back_to(struct walk *w, struct mark m)
{
	w->path[m.path] = w->name[m.name] = '\0';
	w->label_count = m.labels;
}

// Appends to both. Returns false without room.
static bool go(struct walk *w, const char *path, const char *name, const char *end)
{
	size_t p = strlen(w->path), n = strlen(w->name);

	return snprintf(w->path + p, WALK_PATH - p, "%s%s", path, end) < (int)(WALK_PATH - p) &&
	       snprintf(w->name + n, WALK_PATH - n, "%s%s", name, *name ? end : "") <
	               (int)(WALK_PATH - n);
}

static void walk_section(struct walk *w, const struct counter_section *s, const json_t *object);

static bool is_value(const struct counter *r, const json_t *v)
{
	switch (r->type) {
	case COUNTER_U64:
	case COUNTER_F64:
		return json_is_number(v) || json_is_null(v);
	case COUNTER_BOOL:
		return json_is_boolean(v);
	case COUNTER_STRING:
		return json_is_string(v);
	case COUNTER_ARRAY:
	case COUNTER_SECTION:
	case COUNTER_LIST:
	case COUNTER_STRINGS:
	case COUNTER_CHOICE:
		return false;
	}
	return false;
}

static bool is_histogram(const struct counter *r)
{
	return r->type == COUNTER_STRING && strcmp(r->name, "histogram") == 0;
}

static void figure_at(struct walk *w, const struct counter *r, const char *label, const json_t *v)
{
	if (w->figure)
		w->figure(w, r, label, v);
}

static void walk_array(struct walk *w, const struct counter *r, const json_t *object)
{
	struct mark m = here(w);
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
	{
		if (json_is_number(value) && go(w, ".", "", "") && go(w, key, "", ""))
			figure_at(w, r, key, value);
		back_to(w, m);
	}
}

static void walk_strings(struct walk *w, const struct counter *r, const json_t *list)
{
	struct mark m = here(w);
	char index[24];
	json_t *value;
	size_t i;

	json_array_foreach(list, i, value)
	{
		snprintf(index, sizeof(index), "[%zu]", i);
		if (json_is_string(value) && go(w, index, "", ""))
			figure_at(w, r, NULL, value);
		back_to(w, m);
	}
}

static bool add_label(struct walk *w, const char *name, const char *value)
{
	for (unsigned i = 0; i < w->label_count; i++)
		if (strcmp(w->labels[i].name, name) == 0)
			return true; // the outer one stays
	if (w->label_count == WALK_LABELS)
		return false;
	w->labels[w->label_count++] = (struct walk_label){.name = name, .value = value};
	return true;
}

// An item without a name gets its index in the list and its texts as labels.
static bool label_by_index(struct walk *w, const struct counter *r, const json_t *one, size_t at)
{
	struct walk_label *l;

	if (!add_label(w, "index", ""))
		return false;
	l = &w->labels[w->label_count - 1];
	snprintf(l->index, sizeof(l->index), "%zu", at);
	l->value = l->index;
	for (uint32_t i = 0; i < r->section->count; i++) {
		const struct counter *inner = &r->section->rows[i];
		const char *text = json_string_value(json_object_get(one, inner->name));

		if (inner->type == COUNTER_STRING && text && !is_histogram(inner))
			add_label(w, inner->name, text);
	}
	return true;
}

static bool go_item(struct walk *w, const struct counter *r, const json_t *one, size_t at)
{
	const char *name = json_string_value(json_object_get(one, "name"));
	char index[24];

	snprintf(index, sizeof(index), "[%zu]", at);
	if (name && *name)
		return go(w, ".", "", "") && go(w, name, "", "") &&
		       add_label(w, label_name(r->name), name) && go(w, ".", ".", "");
	return go(w, index, "", "") && label_by_index(w, r, one, at) && go(w, ".", ".", "");
}

static void walk_list(struct walk *w, const struct counter *r, const json_t *list)
{
	struct mark m = here(w);
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		if (json_is_object(one) && go_item(w, r, one, i))
			walk_section(w, r->section, one);
		back_to(w, m);
	}
}

static void walk_row(struct walk *w, const struct counter *r, const json_t *v)
{
	if (is_value(r, v) && !is_histogram(r))
		figure_at(w, r, NULL, v);
	else if (r->type == COUNTER_ARRAY && json_is_object(v))
		walk_array(w, r, v);
	else if (r->type == COUNTER_STRINGS)
		walk_strings(w, r, v);
	else if (r->type == COUNTER_LIST)
		walk_list(w, r, v);
	else if (r->type == COUNTER_SECTION && json_is_object(v) && go(w, ".", ".", ""))
		walk_section(w, r->section, v);
}

// A choice is a member under its own name, which no row has.
static void walk_choice(struct walk *w, const struct counter_section *of, const json_t *object)
{
	struct mark m = here(w);
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
	{
		const struct counter_section *s =
			json_is_object(value) ? choice_section(of, key) : NULL;

		if (s && go(w, key, key, "."))
			walk_section(w, s, value);
		back_to(w, m);
	}
}

static void walk_section(struct walk *w, const struct counter_section *s, const json_t *object)
{
	struct mark m = here(w);

	if (w->object)
		w->object(w, s, object);
	for (uint32_t i = 0; i < s->count; i++) {
		const struct counter *r = &s->rows[i];
		const json_t *v = json_object_get(object, r->name);

		if (r->type == COUNTER_CHOICE)
			walk_choice(w, s, object);
		else if (v && go(w, r->name, r->name, ""))
			walk_row(w, r, v);
		back_to(w, m);
	}
}

void walk_document(struct walk *w, const struct document_reader *b)
{
	back_to(w, (struct mark){0});
	walk_section(w, &result_section, b->document);
}

static const struct counter_section *interval_section(void)
{
	for (uint32_t i = 0; i < result_section.count; i++)
		if (strcmp(result_section.rows[i].name, "intervals") == 0)
			return result_section.rows[i].section;
	return NULL;
}

void walk_interval(struct walk *w, const json_t *interval)
{
	back_to(w, (struct mark){0});
	walk_section(w, interval_section(), interval);
}

struct flat {
	json_t *to;
	bool texts;
};

static void put_flat(
	struct walk *w, const struct counter *row, const char *label, const json_t *value)
{
	struct flat *f = w->ctx;

	if ((f->texts || !json_is_string(value)) && !json_object_get(f->to, w->path))
		json_object_set(f->to, w->path, (json_t *)value);
}

json_t *walk_flat_document(const struct document_reader *b, bool texts)
{
	struct flat f = {json_object(), texts};
	struct walk w = {.figure = put_flat, .ctx = &f};

	walk_document(&w, b);
	return f.to;
}

json_t *walk_flat_interval(const json_t *interval)
{
	struct flat f = {json_object(), false};
	struct walk w = {.figure = put_flat, .ctx = &f};

	walk_interval(&w, interval);
	return f.to;
}

struct wanted {
	const char *path;
	const json_t *found;
};

static void find_object(struct walk *w, const struct counter_section *section, const json_t *object)
{
	struct wanted *of = w->ctx;
	size_t len = strlen(of->path);

	if (!of->found && strncmp(w->path, of->path, len) == 0 && strcmp(w->path + len, ".") == 0)
		of->found = object;
}

const json_t *walk_object(const struct document_reader *b, const char *path)
{
	struct wanted of = {path, NULL};
	struct walk w = {.object = find_object, .ctx = &of};

	walk_document(&w, b);
	return of.found;
}

// Returns the rest of path after the name and a dot, "" at its end; NULL: it starts otherwise.
static const char *after(const char *path, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(path, name, len) != 0 || (path[len] && path[len] != '.' && path[len] != '['))
		return NULL;
	return path + len + (path[len] == '.');
}

// The paths allowed. any_name: items of lists need not exist yet, as steps of an exchange that come
// later.
struct knowing {
	bool any_name;
	bool is_count; // found: a label of counters that the object has
};

static bool section_knows(
	const struct counter_section *s, const json_t *object, const char *path, struct knowing *k);

// Is the item in the list, or may it come later? Names may have dots: addresses of servers.
static bool list_knows(
	const struct counter *r, const json_t *list, const char *path, struct knowing *k)
{
	bool named = false; // by the file: other names are wrong
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		const char *name = json_string_value(json_object_get(one, "name"));
		const char *rest = name ? after(path, name) : NULL;

		if (rest && section_knows(r->section, one, rest, k))
			return true;
		named |= name && strcmp(r->name, "traffic") == 0;
	}
	while (k->any_name && !named && (path = strpbrk(path, ".]"))) {
		path += 1 + (path[0] == ']' && path[1] == '.');
		if (section_knows(r->section, NULL, path, k))
			return true;
	}
	return false;
}

static bool row_knows(
	const struct counter *r, const json_t *value, const char *path, struct knowing *k)
{
	switch (r->type) {
	case COUNTER_U64:
	case COUNTER_F64:
	case COUNTER_BOOL:
	case COUNTER_STRING:
		k->is_count = false;
		return !*path;
	case COUNTER_ARRAY:
		k->is_count = value;
		for (uint32_t i = 0; i < r->length; i++)
			if (strcmp(path, r->label(i)) == 0)
				return true;
		return false;
	case COUNTER_SECTION:
		return section_knows(r->section, value, path, k);
	case COUNTER_LIST:
		return list_knows(r, value, path, k);
	case COUNTER_STRINGS:
	case COUNTER_CHOICE:
		return false;
	}
	return false;
}

static bool choice_knows(
	const struct counter_section *of, const json_t *object, const char *path, struct knowing *k)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
	{
		const char *rest = after(path, key);
		const struct counter_section *s = rest && *rest ? choice_section(of, key) : NULL;

		if (s && section_knows(s, value, rest, k))
			return true;
	}
	return false;
}

static bool section_knows(
	const struct counter_section *s, const json_t *object, const char *path, struct knowing *k)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct counter *r = &s->rows[i];
		const char *rest = after(path, r->name);

		if (r->type == COUNTER_CHOICE
				? choice_knows(s, object, path, k)
				: rest && row_knows(r, json_object_get(object, r->name), rest, k))
			return true;
	}
	return false;
}

bool walk_knows(const json_t *document, const char *path, bool *is_count)
{
	struct knowing k = {0};
	bool known = section_knows(&result_section, document, path, &k);

	*is_count = k.is_count;
	return known;
}

bool walk_may_know(const json_t *blank, const char *path)
{
	return section_knows(&result_section, blank, path, &(struct knowing){.any_name = true});
}

bool walk_interval_knows(const json_t *interval, const char *path, bool *is_count)
{
	struct knowing k = {.any_name = true};
	bool known = section_knows(interval_section(), interval, path, &k);

	*is_count = k.is_count;
	return known;
}

static json_t *blank_item(
	const struct item_settings *i, const struct counter_section *s, struct arena *a)
{
	const struct counter_section *own = i->facts.proto->counters;
	char *item = arena_zalloc(a, s->size);

	for (uint32_t n = 0; n < s->count; n++) {
		void *place = item + s->rows[n].offset;

		if (strcmp(s->rows[n].name, "name") == 0)
			*(const char **)place = i->name;
		if (s->rows[n].type == COUNTER_CHOICE && own)
			*(struct counter_choice *)place =
				(struct counter_choice){own, arena_zalloc(a, own->size)};
	}
	return stats_json(s, item);
}

json_t *walk_blank(const struct config *c, const struct counter_section *item)
{
	const struct item_settings *items = c->traffic.items;
	struct arena *a = arena_new();
	json_t *list = json_array();

	for (uint32_t i = 0; i < c->traffic.count; i++)
		json_array_append_new(list, blank_item(&items[i], item, a));
	arena_free(a);
	return json_pack("{s:o}", "traffic", list);
}

const char *walk_text(const json_t *value, char *buf, size_t room)
{
	buf[0] = '\0';
	if (json_is_integer(value))
		snprintf(buf, room, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		snprintf(buf, room, "%.15g", json_real_value(value));
	else if (json_is_boolean(value))
		snprintf(buf, room, "%s", json_is_true(value) ? "true" : "false");
	else if (json_is_string(value))
		snprintf(buf, room, "%s", json_string_value(value));
	for (char *c = buf; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = ' ';
	return buf;
}
