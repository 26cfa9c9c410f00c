// SPDX-License-Identifier: BSD-3-Clause
// Walks a filled struct in order of its rows and calls the visitor once per value.
// Not here: how that is written (dump.c, and JSON outside of conf/). Path: cold. Management thread.
#include "conf/conf_internal.h"

#include "conf/value.h"

struct walk {
	const struct conf_visitor *v;
	bool plain;
	struct arena *a;
};

static void walk_section(struct walk *w, const struct field_section *section, const char *obj);

static void walk_map(
	struct walk *w, const char *key, const struct field_section *section, const void *obj)
{
	w->v->begin(w->v->ctx, key, false);
	walk_section(w, section, obj);
	w->v->end(w->v->ctx);
}

static void walk_value(struct walk *w, const struct field *f, const char *key, const void *src)
{
	struct value_text value = value_format(f, src, w->plain, w->a);

	if (value.text)
		w->v->value(w->v->ctx, key, value.text, value.is_text);
}

static void walk_list(struct walk *w, const struct field *f, const struct field_list *list)
{
	bool section = f->type == FIELD_SECTION;
	size_t size = section ? f->section->size : value_size(f);

	w->v->begin(w->v->ctx, f->name, true);
	for (uint32_t i = 0; i < list->count; i++) {
		const char *item = (const char *)list->items + i * size;

		if (section)
			walk_map(w, NULL, f->section, item);
		else
			walk_value(w, f, NULL, item);
	}
	w->v->end(w->v->ctx);
}

static void walk_choices(struct walk *w, const struct field *f, void *const *slots)
{
	for (uint32_t i = 0; i < f->choices->count(); i++) {
		const struct field_section *choice = f->choices->section(i);

		if (slots[i])
			walk_map(w, choice->name, choice, slots[i]);
	}
}

static void walk_field(struct walk *w, const struct field *f, const char *src)
{
	if (f->list)
		walk_list(w, f, (const struct field_list *)src);
	else if (f->type == FIELD_CHOICES)
		walk_choices(w, f, *(void *const *const *)src);
	else if (f->type != FIELD_SECTION)
		walk_value(w, f, f->name, src);
	else if (!f->optional)
		walk_map(w, f->name, f->section, src);
	else if (*(void *const *)src)
		walk_map(w, f->name, f->section, *(void *const *)src);
}

static void walk_section(struct walk *w, const struct field_section *section, const char *obj)
{
	for (uint32_t i = 0; i < section->count; i++)
		walk_field(w, &section->fields[i], obj + section->fields[i].offset);
}

void visit_section(const struct field_section *section, const void *obj, bool plain,
	const struct conf_visitor *v)
{
	struct walk w = {v, plain, arena_new()};

	walk_section(&w, section, obj);
	arena_free(w.a);
}

void conf_visit(const struct field_section *section, const void *obj, const struct conf_visitor *v)
{
	visit_section(section, obj, true, v);
}
