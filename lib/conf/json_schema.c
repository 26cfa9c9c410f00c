// SPDX-License-Identifier: BSD-3-Clause
// The settings as a JSON Schema (draft 2020-12) for editors, from the same rows that read them.
// It knows types and ranges of bare numbers; rules about several settings are not in it.
// Path: cold. Management thread.
#include <jansson.h>
#include <math.h>

#include "conf/schema.h"
#include "conf/types.h"
#include "conf/value.h"

#define SECTIONS_MAX 256

struct schema {
	const struct field_section *sections[SECTIONS_MAX]; // each is written once
	uint32_t count;
	json_t *definitions;
	struct arena *a;
};

static json_t *reference_to(struct schema *s, const struct field_section *section);

static void put_bounds(json_t *out, const struct field *f)
{
	bool text = f->type == FIELD_STRING;

	if (f->min == 0 && f->max == 0)
		return;
	json_object_set_new(out, text ? "minLength" : "minimum", json_integer((json_int_t)f->min));
	if (f->max >= f->min && f->max < 1e15)
		json_object_set_new(
			out, text ? "maxLength" : "maximum", json_integer((json_int_t)f->max));
}

static json_t *enum_schema(const struct field *f)
{
	json_t *names = json_array();
	const char *name;

	for (uint32_t i = 0; (name = field_name(f, i)); i++)
		json_array_append_new(names, json_string(name));
	return json_pack("{s:o}", "enum", names);
}

static json_t *scalar_schema(const struct field *f)
{
	const struct value_type *type = &value_types[f->type];
	json_t *out;

	if (f->type == FIELD_ENUM)
		return enum_schema(f);
	out = json_object();
	if (type->json)
		json_object_set_new(out, "type", json_loads(type->json, JSON_DECODE_ANY, NULL));
	if (type->pattern)
		json_object_set_new(out, "pattern", json_string(type->pattern));
	if (type->ends && (f->type == FIELD_STRING || !type->is_text))
		put_bounds(out, f);
	return out;
}

static json_t *array_of(const json_t *item)
{
	return json_pack("{s:s, s:O}", "type", "array", "items", item);
}

// A setting that is null is absent.
static json_t *value_schema(const struct field *f)
{
	json_t *item = scalar_schema(f), *any = json_array();

	if (f->word)
		item = json_pack("{s:[o, {s:s}]}", "anyOf", item, "const", f->word);
	if (f->list)
		json_array_append_new(any, array_of(item));
	if (f->list && value_splits(f))
		json_array_append_new(
			any, json_pack("{s:s, s:s}", "type", "string", "pattern", ","));
	json_array_append_new(any, item);
	json_array_append_new(any, json_pack("{s:s}", "type", "null"));
	return json_pack("{s:o}", "anyOf", any);
}

static json_t *section_schema(struct schema *s, const struct field *f)
{
	json_t *one = reference_to(s, f->section), *any = json_array();

	if (f->list)
		json_array_append_new(any, array_of(one));
	if (!f->list || f->lone)
		json_array_append(any, one);
	json_decref(one);
	json_array_append_new(any, json_pack("{s:s}", "type", "null"));
	return json_pack("{s:o}", "anyOf", any);
}

static void put_choices(struct schema *s, const struct field *f, json_t *properties)
{
	for (uint32_t i = 0; i < f->choices->count(); i++) {
		const struct field_section *choice = f->choices->section(i);

		if (choice)
			json_object_set_new(properties, choice->name,
				json_pack("{s:[o, {s:s}]}", "anyOf", reference_to(s, choice),
					"type", "null"));
	}
}

static void put_field(struct schema *s, const struct field *f, json_t *properties, json_t *required)
{
	const char *range = f->type == FIELD_SECTION ? NULL : value_range(f, s->a);
	const char *help = f->help ? f->help : f->type == FIELD_SECTION ? f->section->help : "";
	json_t *one = f->type == FIELD_SECTION ? section_schema(s, f) : value_schema(f);

	json_object_set_new(one, "description",
		json_sprintf(
			"%s%s%s%s", help, range ? " (" : "", range ? range : "", range ? ")" : ""));
	if (f->def)
		json_object_set_new(one, "default", json_string(f->def));
	json_object_set_new(properties, f->name, one);
	if (f->required)
		json_array_append_new(required, json_string(f->name));
}

static json_t *mapping_schema(struct schema *s, const struct field_section *section)
{
	json_t *properties = json_object(), *required = json_array();

	for (uint32_t i = 0; i < section->count; i++) {
		const struct field *f = &section->fields[i];

		if (f->type == FIELD_CHOICES)
			put_choices(s, f, properties);
		else
			put_field(s, f, properties, required);
	}
	return json_pack("{s:s, s:b, s:o, s:o}", "type", "object", "additionalProperties", 0,
		"required", required, "properties", properties);
}

// A number distinguishes sections of the same name.
static json_t *reference_to(struct schema *s, const struct field_section *section)
{
	const char *name;
	uint32_t i = 0;

	while (i < s->count && s->sections[i] != section)
		i++;
	name = arena_printf(s->a, "%s.%u", section->name, i);
	if (i == s->count) {
		if (s->count == SECTIONS_MAX)
			return json_object(); // anything
		s->sections[s->count++] = section;
		json_object_set_new(s->definitions, name, mapping_schema(s, section));
	}
	return json_pack("{s:s}", "$ref", arena_printf(s->a, "#/$defs/%s", name));
}

void conf_json_schema(const struct field_section *section, const char *title, FILE *out)
{
	struct schema s = {.definitions = json_object(), .a = arena_new()};
	json_t *all = json_pack("{s:s, s:s}", "$schema",
		"https://json-schema.org/draft/2020-12/schema", "title", title);
	json_t *top = mapping_schema(&s, section);

	json_object_update(all, top);
	json_decref(top);
	json_object_set_new(all, "$defs", s.definitions);
	json_dumpf(all, out, JSON_INDENT(1));
	fputc('\n', out);
	json_decref(all);
	arena_free(s.a);
}
