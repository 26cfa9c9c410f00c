// SPDX-License-Identifier: BSD-3-Clause
// One function per kind of row; the switch in fold_row is the whole mapping, as in json.c.
// Path: cold. Management thread.
#include "stats/fold.h"

#include <math.h>
#include <string.h>

#include "stats/row.h"

enum how { ADD, MOST, FIRST, NEWEST, UNKNOWN };

static enum how how_of(const struct stats_fold *f, const struct counter *r)
{
	if (counter_adds_up(r))
		return ADD;
	if (f->over == FOLD_OVER_TIME)
		return r->type == COUNTER_F64 && r->unit ? UNKNOWN : NEWEST;
	if (r->level || (r->unit && strcmp(r->unit, "per_s") == 0))
		return ADD;
	return r->type == COUNTER_F64 && r->unit ? MOST : FIRST;
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void fold_u64(enum how how, uint64_t *to, uint64_t from, bool first)
{
	if (first || how == NEWEST)
		*to = from;
	else if (how == ADD)
		*to = sum_of(*to, from);
}

// A figure that is not known in one place is not known of all.
static void fold_f64(enum how how, double *to, double from, bool first)
{
	if (how == UNKNOWN)
		*to = NAN;
	else if (first || how == NEWEST || (how == FIRST && isnan(*to)))
		*to = from;
	else if (how == ADD)
		*to += from;
	else if (how == MOST)
		*to = isnan(*to) || isnan(from) ? NAN : fmax(*to, from);
}

static void fold_bool(
	const struct stats_fold *f, const struct counter *r, bool *to, bool from, bool first)
{
	if (first || f->over == FOLD_OVER_TIME)
		*to = from;
	else
		*to = r->all ? *to && from : *to || from;
}

static void fold_string(const struct stats_fold *f, const char **to, const char *from)
{
	if (!from || (*to && (f->over == FOLD_OVER_BOXES || strcmp(*to, from) == 0)))
		return;
	*to = arena_strdup(f->arena, from);
}

static void fold_array(const struct counter *r, uint64_t *to, const uint64_t *from)
{
	for (uint32_t i = 0; i < r->length; i++)
		to[i] = sum_of(to[i], from[i]);
}

// Lists of a sum have room for a power of two.
void *stats_fold_element(
	struct counter_list *list, uint32_t i, size_t size, struct arena *a, bool *first)
{
	*first = i == list->count;
	if (*first)
		list->items = arena_grow(a, (void *)list->items, i, size);
	list->count += *first;
	return (char *)list->items + i * size;
}

static bool is_same(const struct counter_section *s, const void *a, const void *b)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct counter *r = &s->rows[i];
		const void *x = row_place(r, a), *y = row_place(r, b);

		if (!r->key)
			continue;
		if (r->type == COUNTER_STRING) {
			const char *p = *(const char *const *)x, *q = *(const char *const *)y;

			if (strcmp(p ? p : "", q ? q : "") != 0)
				return false;
		} else if (*(const uint64_t *)x != *(const uint64_t *)y) {
			return false;
		}
	}
	return true;
}

// The place of the same element; the list's end if it has none. Most lists have the same order.
static uint32_t place_of(const struct counter *r, const struct counter_list *list,
	const void *element, uint32_t likely)
{
	if (likely < list->count && is_same(r->section, row_item(r, list, likely), element))
		return likely;
	for (uint32_t i = 0; i < list->count; i++)
		if (is_same(r->section, row_item(r, list, i), element))
			return i;
	return list->count;
}

static bool has_key(const struct counter_section *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->rows[i].key)
			return true;
	return false;
}

static void fold_list(const struct stats_fold *f, const struct counter *r, struct counter_list *to,
	const struct counter_list *from)
{
	bool keyed = has_key(r->section), first;

	for (uint32_t i = 0; i < from->count; i++) {
		const void *element = row_item(r, from, i);
		uint32_t place = keyed ? place_of(r, to, element, i) : i;
		void *sum = stats_fold_element(to, place, r->section->size, f->arena, &first);

		stats_fold(f, r->section, sum, element, first);
	}
}

// Texts, each once.
static void fold_strings(
	const struct stats_fold *f, struct counter_list *to, const struct counter_list *from)
{
	const char *const *texts = from->items;
	bool first;

	for (uint32_t i = 0; i < from->count; i++) {
		const char *const *known = to->items;
		uint32_t k = 0;

		while (k < to->count && strcmp(known[k], texts[i]) != 0)
			k++;
		if (k == to->count)
			*(const char **)stats_fold_element(to, k, sizeof(*texts), f->arena,
				&first) = arena_strdup(f->arena, texts[i]);
	}
}

static void fold_section(
	const struct stats_fold *f, const struct counter *r, void *to, const void *from, bool first)
{
	const void *source;
	void **place = to;

	row_inside(r, from, &source);
	if (!source)
		return;
	if (r->optional) {
		first = !*place;
		if (first)
			*place = arena_zalloc(f->arena, r->section->size);
		to = *place;
	}
	stats_fold(f, r->section, to, source, first);
}

static void fold_choice(
	const struct stats_fold *f, struct counter_choice *to, const struct counter_choice *from)
{
	bool first = !to->data;

	if (!from->data || (!first && to->section != from->section))
		return;
	if (first)
		*to = (struct counter_choice){
			from->section, arena_zalloc(f->arena, from->section->size)};
	stats_fold(f, to->section, (void *)to->data, from->data, first);
}

static void fold_row(
	const struct stats_fold *f, const struct counter *r, void *to, const void *from, bool first)
{
	switch (r->type) {
	case COUNTER_U64:
		fold_u64(how_of(f, r), to, *(const uint64_t *)from, first);
		break;
	case COUNTER_F64:
		fold_f64(how_of(f, r), to, *(const double *)from, first);
		break;
	case COUNTER_BOOL:
		fold_bool(f, r, to, *(const bool *)from, first);
		break;
	case COUNTER_STRING:
		fold_string(f, to, *(const char *const *)from);
		break;
	case COUNTER_ARRAY:
		fold_array(r, to, from);
		break;
	case COUNTER_SECTION:
		fold_section(f, r, to, from, first);
		break;
	case COUNTER_LIST:
		fold_list(f, r, to, from);
		break;
	case COUNTER_STRINGS:
		fold_strings(f, to, from);
		break;
	case COUNTER_CHOICE:
		fold_choice(f, to, from);
		break;
	}
}

void stats_fold(const struct stats_fold *f, const struct counter_section *section, void *to,
	const void *from, bool first)
{
	for (const struct stats_fold_whole *w = f->whole; w && w->section; w++)
		if (w->section == section) {
			w->fold(f, to, from, first);
			return;
		}
	for (uint32_t i = 0; i < section->count; i++) {
		const struct counter *r = &section->rows[i];

		fold_row(f, r, (char *)to + r->offset, row_place(r, from), first);
	}
}
