// SPDX-License-Identifier: BSD-3-Clause
// One function per kind of row that is not a single value; the switch in read_row is the whole
// mapping, as in json.c. Path: cold. Management thread.
#include "stats/json_read.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "stats/row.h"

#define U64_END 18446744073709551616.0 // 2^64

static int wrong(struct stats_reader *r, const char *why)
{
	r->why = why;
	return -EINVAL;
}

// In a list: its element k.
static int inside_element(struct stats_reader *r, uint32_t k, int rc)
{
	if (rc < 0)
		r->why = arena_printf(r->arena, "[%u]%s%s", k, r->why[0] == ':' ? "" : ".", r->why);
	return rc;
}

static int inside_member(struct stats_reader *r, const char *name, int rc)
{
	if (rc < 0)
		r->why = arena_printf(r->arena, "%s%s%s", name,
			r->why[0] == ':' || r->why[0] == '[' ? "" : ".", r->why);
	return rc;
}

// Numbers beyond the integers of JSON were written as reals.
static int read_u64(struct stats_reader *r, const json_t *v, uint64_t *out)
{
	double x = json_real_value(v);

	if (json_is_integer(v) && json_integer_value(v) >= 0)
		*out = (uint64_t)json_integer_value(v);
	else if (json_is_real(v) && x >= 0 && x < U64_END)
		*out = (uint64_t)x;
	else if (json_is_real(v) && x == U64_END)
		*out = UINT64_MAX;
	else
		return wrong(r, ": not a number from 0 on");
	return 0;
}

static int read_f64(struct stats_reader *r, const json_t *v, double *out)
{
	if (!json_is_number(v) && !json_is_null(v))
		return wrong(r, ": not a number or null");
	*out = json_is_null(v) ? NAN : json_number_value(v);
	return 0;
}

static int read_string(struct stats_reader *r, const json_t *v, const char **out)
{
	if (!json_is_string(v))
		return wrong(r, ": not a text");
	*out = arena_strdup(r->arena, json_string_value(v));
	return 0;
}

// Into the first place of its label: in two the sum would be wrong.
static int read_array(
	struct stats_reader *r, const struct counter *row, const json_t *v, uint64_t *out)
{
	const char *name;
	json_t *value;
	int rc = 0;

	if (!json_is_object(v))
		return wrong(r, ": not an object");
	json_object_foreach((json_t *)v, name, value)
	{
		uint32_t i = 0;

		while (i < row->length && strcmp(row->label(i), name) != 0)
			i++;
		if (i < row->length)
			rc = inside_member(r, name, read_u64(r, value, &out[i]));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_list(struct stats_reader *r, const struct counter *row, const json_t *v,
	struct counter_list *out)
{
	uint32_t count = (uint32_t)json_array_size(v);
	char *items;
	int rc = 0;

	if (!json_is_array(v))
		return wrong(r, ": not a list");
	items = arena_zalloc(r->arena, (count + 1) * row->section->size);
	for (uint32_t k = 0; k < count && rc == 0; k++)
		rc = inside_element(r, k,
			stats_read(r, row->section, json_array_get(v, k),
				items + k * row->section->size));
	*out = (struct counter_list){items, count};
	return rc;
}

static int read_strings(struct stats_reader *r, const json_t *v, struct counter_list *out)
{
	uint32_t count = (uint32_t)json_array_size(v);
	const char **texts;
	int rc = 0;

	if (!json_is_array(v))
		return wrong(r, ": not a list");
	texts = arena_zalloc(r->arena, (count + 1) * sizeof(*texts));
	for (uint32_t k = 0; k < count && rc == 0; k++)
		rc = inside_element(r, k, read_string(r, json_array_get(v, k), &texts[k]));
	*out = (struct counter_list){texts, count};
	return rc;
}

static int read_section(
	struct stats_reader *r, const struct counter *row, const json_t *v, void *place)
{
	void *data = place;

	if (row->optional)
		data = *(void **)place = arena_zalloc(r->arena, row->section->size);
	return stats_read(r, row->section, v, data);
}

static int read_row(struct stats_reader *r, const struct counter *row, const json_t *v, void *place)
{
	switch (row->type) {
	case COUNTER_U64:
		return read_u64(r, v, place);
	case COUNTER_F64:
		return read_f64(r, v, place);
	case COUNTER_BOOL:
		*(bool *)place = json_is_true(v);
		return json_is_boolean(v) ? 0 : wrong(r, ": not true or false");
	case COUNTER_STRING:
		return read_string(r, v, place);
	case COUNTER_ARRAY:
		return read_array(r, row, v, place);
	case COUNTER_SECTION:
		return read_section(r, row, v, place);
	case COUNTER_LIST:
		return read_list(r, row, v, place);
	case COUNTER_STRINGS:
		return read_strings(r, v, place);
	case COUNTER_CHOICE:
		break; // by its own name
	}
	return 0;
}

// The member that has the name of a choice.
static int read_choice(struct stats_reader *r, const struct counter_section *in,
	const json_t *object, struct counter_choice *out)
{
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)object, name, v)
	{
		const struct counter_section *section = r->choice(in, name);
		void *data;

		if (!section)
			continue;
		data = arena_zalloc(r->arena, section->size);
		*out = (struct counter_choice){section, data};
		return inside_member(r, name, stats_read(r, section, v, data));
	}
	return 0;
}

// A figure that is not there is unknown.
static void read_absent(const struct counter_section *section, void *out)
{
	for (uint32_t i = 0; i < section->count; i++) {
		const struct counter *row = &section->rows[i];
		void *place = (char *)out + row->offset;

		if (row->type == COUNTER_F64)
			*(double *)place = NAN;
		else if (row->type == COUNTER_SECTION && !row->optional)
			read_absent(row->section, place);
	}
}

int stats_read(struct stats_reader *r, const struct counter_section *section, const json_t *object,
	void *out)
{
	int rc = 0;

	if (!json_is_object(object))
		return wrong(r, ": not an object");
	read_absent(section, out);
	for (uint32_t i = 0; i < section->count && rc == 0; i++) {
		const struct counter *row = &section->rows[i];
		void *place = (char *)out + row->offset;
		const json_t *v = json_object_get(object, row->name);

		if (row->type == COUNTER_CHOICE)
			rc = read_choice(r, section, object, place);
		else if (v)
			rc = inside_member(r, row->name, read_row(r, row, v, place));
	}
	return rc;
}
