// SPDX-License-Identifier: BSD-3-Clause
// The reference of all settings, one line each, from the same rows that read them.
// Path: cold. Management thread.
#include "conf/schema.h"
#include "conf/value.h"

#define DEPTH_MAX 16 // a section that holds itself ends here

struct document {
	FILE *out;
	conf_wanted *wanted;
	void *ctx;
	struct arena *a;
};

static void document_section(const struct document *doc, const struct field_section *section,
	const char *path, unsigned depth);

static const char *path_join(
	const struct document *doc, const char *path, const char *key, bool list)
{
	return arena_printf(doc->a, "%s%s%s%s", path, path[0] ? "." : "", key, list ? "[]" : "");
}

static void line(const struct document *doc, const char *path, const char *about, const char *help)
{
	if (!doc->wanted || doc->wanted(doc->ctx, path, help ? help : ""))
		fprintf(doc->out, "%-40s  %s%s%s\n", path, about, help ? ": " : "",
			help ? help : "");
}

static const char *type_text(const struct document *doc, const struct field *f)
{
	const char *names = "", *name;

	if (f->type != FIELD_ENUM)
		return value_type_name(f);
	for (uint32_t i = 0; (name = field_name(f, i)); i++)
		names = arena_printf(doc->a, "%s%s%s", names, i ? " | " : "", name);
	return names;
}

// "duration (1ms to 1h) or auto, default 10s"
static const char *value_about(const struct document *doc, const struct field *f)
{
	const char *range = value_range(f, doc->a);

	return arena_printf(doc->a, "%s%s%s%s%s%s%s%s%s%s", f->list ? "list of " : "",
		type_text(doc, f), range ? " (" : "", range ? range : "", range ? ")" : "",
		f->word ? " or " : "", f->word ? f->word : "", f->required ? ", required" : "",
		f->def ? ", default " : "", f->def ? f->def : "");
}

static const char *section_about(const struct field *f)
{
	if (f->list)
		return f->required ? "list of sections, required" : "list of sections";
	if (f->required)
		return "section, required";
	return f->optional ? "section, optional" : "section";
}

static void document_choices(
	const struct document *doc, const struct field *f, const char *path, unsigned depth)
{
	for (uint32_t i = 0; i < f->choices->count(); i++) {
		const struct field_section *s = f->choices->section(i);
		const char *own = s ? path_join(doc, path, s->name, false) : NULL;

		if (!s)
			continue;
		line(doc, own, "section, a choice", s->help);
		document_section(doc, s, own, depth + 1);
	}
}

static void document_field(
	const struct document *doc, const struct field *f, const char *path, unsigned depth)
{
	const char *own;

	if (f->type == FIELD_CHOICES) {
		document_choices(doc, f, path, depth);
		return;
	}
	if (f->type != FIELD_SECTION) {
		line(doc, path_join(doc, path, f->name, false), value_about(doc, f), f->help);
		return;
	}
	own = path_join(doc, path, f->name, f->list);
	line(doc, own, section_about(f), f->help ? f->help : f->section->help);
	document_section(doc, f->section, own, depth + 1);
}

static void document_section(const struct document *doc, const struct field_section *section,
	const char *path, unsigned depth)
{
	if (depth == DEPTH_MAX)
		return;
	for (uint32_t i = 0; i < section->count; i++)
		document_field(doc, &section->fields[i], path, depth);
}

void conf_document(const struct field_section *section, conf_wanted *wanted, void *ctx, FILE *out)
{
	struct document doc = {out, wanted, ctx, arena_new()};

	document_section(&doc, section, "", 0);
	arena_free(doc.a);
}
