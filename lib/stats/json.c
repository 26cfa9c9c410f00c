// SPDX-License-Identifier: BSD-3-Clause
// One function per kind of row that is not a single value; the switch in row_json is the whole
// mapping. Path: cold. Management thread.
#include "stats/json.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/row.h"

static json_t *u64_json(uint64_t n)
{
	return n > INT64_MAX ? json_real((double)n) : json_integer((json_int_t)n);
}

// Command lines and file names need not be UTF-8, JSON must be.
static json_t *string_json(const char *text)
{
	json_t *s = json_string(text);
	char *copy;

	if (s)
		return s;
	copy = strdup(text);
	if (!copy)
		return json_null();
	for (char *c = copy; *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	s = json_string(copy);
	free(copy);
	return s;
}

static json_t *array_json(const struct counter *r, const uint64_t *values)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < r->length; i++) {
		if (values[i] == 0)
			continue;
		assert(!json_object_get(
			o, r->label(i))); // two places of one label: one would be lost
		json_object_set_new(o, r->label(i), u64_json(values[i]));
	}
	return o;
}

static json_t *list_json(const struct counter *r, const struct counter_list *list)
{
	json_t *a = json_array();

	for (uint32_t i = 0; i < list->count; i++)
		json_array_append_new(a, stats_json(r->section, row_item(r, list, i)));
	return a;
}

static json_t *strings_json(const struct counter_list *list)
{
	const char *const *texts = list->items;
	json_t *a = json_array();

	for (uint32_t i = 0; i < list->count; i++)
		json_array_append_new(a, string_json(texts[i]));
	return a;
}

json_t *stats_number(const char *name, double x)
{
	size_t len = strlen(name);

	if (!isfinite(x))
		return json_null();
	if (len > 3 && strcmp(name + len - 3, "_ns") == 0 && fabs(x) < 0x1p62)
		return json_integer((json_int_t)llround(x));
	return json_real(x);
}

// NULL: left out.
static json_t *row_json(const struct counter *r, const void *place)
{
	const struct counter_section *section;
	const void *data;
	const char *text;

	switch (r->type) {
	case COUNTER_U64:
		if (r->optional && *(const uint64_t *)place == 0)
			return NULL;
		return u64_json(*(const uint64_t *)place);
	case COUNTER_F64:
		return stats_number(r->name, *(const double *)place);
	case COUNTER_BOOL:
		return json_boolean(*(const bool *)place);
	case COUNTER_STRING:
		text = *(const char *const *)place;
		return text ? string_json(text) : NULL;
	case COUNTER_ARRAY:
		return array_json(r, place);
	case COUNTER_LIST:
		if (r->optional && ((const struct counter_list *)place)->count == 0)
			return NULL;
		return list_json(r, place);
	case COUNTER_STRINGS:
		return strings_json(place);
	case COUNTER_SECTION:
	case COUNTER_CHOICE:
		section = row_inside(r, place, &data);
		return section && data ? stats_json(section, data) : NULL;
	}
	return NULL;
}

json_t *stats_json(const struct counter_section *section, const void *data)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < section->count; i++) {
		const struct counter *r = &section->rows[i];
		const void *place = row_place(r, data);
		json_t *v = row_json(r, place);
		const char *name = r->name;

		if (r->type == COUNTER_CHOICE && v)
			name = ((const struct counter_choice *)place)->section->name;
		if (v)
			json_object_set_new(o, name, v);
	}
	return o;
}
