// SPDX-License-Identifier: BSD-3-Clause
// A value under its row: words that stand for a value, ranges, texts of errors.
// Not here: the types (types.c), lists, sections, places in a file. Path: cold. Management thread.
#include "conf/value.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "conf/conf_internal.h"
#include "conf/types.h"
#include "conf/units.h"

// Where a word stands for the largest value.
static bool word_is_u64(const struct field *f)
{
	return f->type == FIELD_COUNT || f->type == FIELD_DURATION || f->type == FIELD_SIZE;
}

size_t value_size(const struct field *f)
{
	return value_types[f->type].size;
}

const char *value_type_name(const struct field *f)
{
	return value_types[f->type].name;
}

bool value_splits(const struct field *f)
{
	return value_types[f->type].splits;
}

const char *value_allowed(const struct field *f, struct arena *a)
{
	_Alignas(16) char scratch[TYPE_SIZE_MAX];
	struct value_input in = {.field = f, .text = "?", .a = a, .what = "a text"};

	value_types[f->type].parse(&in, scratch);
	return f->word ? arena_printf(a, "%s or %s", in.what, f->word) : in.what;
}

static bool has_max(const struct field *f)
{
	return f->max >= f->min && isfinite(f->max);
}

static bool has_range(const struct field *f)
{
	return value_types[f->type].ends && (f->min != 0 || f->max != 0);
}

const char *value_range(const struct field *f, struct arena *a)
{
	char low[UNITS_TEXT_SIZE], high[UNITS_TEXT_SIZE];
	const struct value_type *type = &value_types[f->type];

	if (!has_range(f))
		return NULL;
	type->limit(f->min, low, sizeof(low));
	if (!has_max(f))
		return arena_printf(a, "at least %s", low);
	return arena_printf(a, "%s to %s", low, type->limit(f->max, high, sizeof(high)));
}

static bool value_in_range(const struct field *f, const void *v)
{
	double ends[2];

	if (!has_range(f))
		return true;
	value_types[f->type].ends(v, ends);
	return ends[0] >= f->min && (!has_max(f) || ends[1] <= f->max);
}

// The word that stands for "as much as there is".
static bool word_parse(const struct field *f, const char *text, void *dst)
{
	if (!f->word || strcasecmp(text, f->word) != 0)
		return false;
	if (word_is_u64(f))
		*(uint64_t *)dst = UINT64_MAX;
	else if (f->type == FIELD_RATE)
		*(double *)dst = INFINITY;
	else
		return false;
	return true;
}

const char *value_parse(const struct field *f, const char *text, void *dst, struct arena *a)
{
	_Alignas(16) char scratch[TYPE_SIZE_MAX] = {0};
	struct value_input in = {.field = f, .text = text, .a = a};
	bool length = f->type == FIELD_STRING || f->type == FIELD_HEX;

	if (word_parse(f, text, dst))
		return NULL;
	if (value_types[f->type].parse(&in, scratch) != 0)
		return arena_printf(a, "\"%s\" is not %s%s%s", text_shown(text, a), in.what,
			f->word ? " or " : "", f->word ? f->word : "");
	if (!value_in_range(f, scratch))
		return arena_printf(a, "\"%s\" is out of range (%s%s)", text_shown(text, a),
			value_range(f, a), length ? " long" : "");
	memcpy(dst, scratch, value_types[f->type].size);
	return NULL;
}

static bool value_is_word(const struct field *f, const void *src)
{
	if (!f->word)
		return false;
	if (word_is_u64(f))
		return *(const uint64_t *)src == UINT64_MAX;
	return f->type == FIELD_RATE && isinf(*(const double *)src);
}

// Zero that the row does not allow: the key was absent.
static bool value_is_absent(const struct field *f, const void *src)
{
	const char *bytes = src;

	for (size_t i = 0; i < value_types[f->type].size; i++) {
		if (bytes[i])
			return false;
	}
	return !f->def && f->type != FIELD_STRING && !value_in_range(f, src);
}

struct value_text value_format(const struct field *f, const void *src, bool plain, struct arena *a)
{
	char *buf;

	if (value_is_word(f, src))
		return (struct value_text){f->word, true};
	if (value_is_absent(f, src))
		return (struct value_text){NULL, true};
	if (plain && f->type == FIELD_COUNT)
		return (struct value_text){
			arena_printf(a, "%llu", (unsigned long long)*(const uint64_t *)src), false};
	if (plain && f->type == FIELD_RATE && isfinite(*(const double *)src)) {
		buf = arena_zalloc(a, UNITS_TEXT_SIZE);
		return (struct value_text){
			units_format_plain(*(const double *)src, buf, UNITS_TEXT_SIZE), false};
	}
	return (struct value_text){value_types[f->type].format(f, src, a),
		value_types[f->type].is_text || f->type == FIELD_COUNT || f->type == FIELD_RATE};
}
