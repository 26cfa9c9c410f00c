// SPDX-License-Identifier: BSD-3-Clause
// Access to one counter row, for all walks: its address, its number, its section.
// Only for lib/stats. Path: cold. Management thread.
#pragma once

#include "base/counter.h"

// data may be NULL: a section that is known and absent.
static inline const void *row_place(const struct counter *r, const void *data)
{
	return data ? (const char *)data + r->offset : NULL;
}

// The value of a COUNTER_U64, _F64 or _BOOL; 0 if place is NULL.
static inline double row_number(const struct counter *r, const void *place)
{
	if (!place)
		return 0;
	if (r->type == COUNTER_F64)
		return *(const double *)place;
	if (r->type == COUNTER_BOOL)
		return *(const bool *)place;
	return (double)*(const uint64_t *)place;
}

// The section inside a COUNTER_SECTION or COUNTER_CHOICE, NULL if unknown. *data is NULL if it is
// absent.
static inline const struct counter_section *row_inside(
	const struct counter *r, const void *place, const void **data)
{
	const struct counter_choice *choice = place;

	*data = NULL;
	if (r->type == COUNTER_CHOICE) {
		if (!choice)
			return NULL;
		*data = choice->data;
		return choice->section;
	}
	*data = r->optional && place ? *(const void *const *)place : place;
	return r->section;
}

// The k-th item of a COUNTER_LIST.
static inline const void *row_item(
	const struct counter *r, const struct counter_list *list, uint32_t k)
{
	return (const char *)list->items + k * r->section->size;
}
