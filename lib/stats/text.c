// SPDX-License-Identifier: BSD-3-Clause
// Numbers with the unit that fits, rows as indented lines, rows as a reference.
// Path: cold. Management thread.
#include "stats/text.h"

#include <math.h>
#include <string.h>

#include "stats/row.h"

#define NAME_WIDTH 26
#define PATH_WIDTH 46
#define PATH_SIZE  256

static const char *const ns_units[] = {"ns", "us", "ms", "s", NULL};
static const char *const s_units[] = {"s", NULL};
static const char *const per_s_units[] = {"/s", "k/s", "M/s", "G/s", NULL};

// Digits after the point for three that count; small values get more rather than becoming 0.
static int decimals(double v)
{
	v = fabs(v);
	if (v == 0 || v >= 99.95)
		return 0;
	if (v >= 9.995)
		return 1;
	if (v >= 0.1)
		return 2;
	return v < 1e-9 ? 9 : 1 - (int)floor(log10(v));
}

static void format_scaled(double v, const char *const *units, char *buf, size_t room)
{
	while (units[1] && fabs(v) >= 999.5) {
		v /= 1000;
		units++;
	}
	snprintf(buf, room, "%.*f %s", decimals(v), v, *units);
}

static void format_count(double v, char *buf, size_t room)
{
	char digits[32];
	size_t len, used = 0;

	if (fabs(v) >= 1e20) {
		snprintf(buf, room, "%.3g", v);
		return;
	}
	len = (size_t)snprintf(digits, sizeof(digits), "%.0f", v);
	for (size_t i = 0; i < len && used + 2 < room; i++) {
		buf[used++] = digits[i];
		if (digits[i] != '-' && i + 1 < len && (len - 1 - i) % 3 == 0)
			buf[used++] = ' ';
	}
	buf[used] = '\0';
}

const char *stats_format(double value, const char *unit, char *buf, size_t room)
{
	if (isnan(value))
		snprintf(buf, room, "-");
	else if (isinf(value))
		snprintf(buf, room, value > 0 ? "inf" : "-inf");
	else if (unit && strcmp(unit, "ns") == 0)
		format_scaled(value, ns_units, buf, room);
	else if (unit && strcmp(unit, "s") == 0)
		format_scaled(value, s_units, buf, room);
	else if (unit && strcmp(unit, "per_s") == 0)
		format_scaled(value, per_s_units, buf, room);
	else if (unit && strcmp(unit, "1") == 0)
		snprintf(buf, room, "%.*f %%", decimals(100 * value), 100 * value);
	else
		format_count(value, buf, room);
	return buf;
}

static bool any_row(const struct counter *r, const void *place)
{
	const struct counter_section *inside;
	const uint64_t *values = place;
	const void *data;

	switch (r->type) {
	case COUNTER_U64:
	case COUNTER_F64:
	case COUNTER_BOOL:
		return row_number(r, place) != 0;
	case COUNTER_STRING:
		return *(const char *const *)place != NULL;
	case COUNTER_ARRAY:
		for (uint32_t i = 0; i < r->length; i++)
			if (values[i])
				return true;
		return false;
	case COUNTER_LIST:
	case COUNTER_STRINGS:
		return ((const struct counter_list *)place)->count > 0;
	case COUNTER_SECTION:
	case COUNTER_CHOICE:
		inside = row_inside(r, place, &data);
		return inside && data && stats_any(inside, data);
	}
	return false;
}

bool stats_any(const struct counter_section *section, const void *data)
{
	for (uint32_t i = 0; i < section->count; i++)
		if (any_row(&section->rows[i], row_place(&section->rows[i], data)))
			return true;
	return false;
}

static void line(const char *name, const char *label, const char *value, unsigned indent, FILE *out)
{
	char full[128];

	snprintf(full, sizeof(full), "%s%s%s", name, label ? "." : "", label ? label : "");
	fprintf(out, "%*s%-*s  %s\n", (int)indent, "", NAME_WIDTH, full, value);
}

static void text_array(const struct counter *r, const uint64_t *values, unsigned indent, FILE *out)
{
	char buf[64];

	for (uint32_t i = 0; i < r->length; i++)
		if (values[i])
			line(r->name, r->label(i),
				stats_format((double)values[i], r->unit, buf, sizeof(buf)), indent,
				out);
}

static void text_list(
	const struct counter *r, const struct counter_list *list, unsigned indent, FILE *out)
{
	fprintf(out, "%*s%s\n", (int)indent, "", r->name);
	for (uint32_t i = 0; i < list->count; i++)
		stats_text(r->section, row_item(r, list, i), indent + 2, out);
}

static void text_strings(
	const struct counter *r, const struct counter_list *list, unsigned indent, FILE *out)
{
	const char *const *texts = list->items;

	for (uint32_t i = 0; i < list->count; i++)
		line(r->name, NULL, texts[i], indent, out);
}

static void text_row(const struct counter *r, const void *place, unsigned indent, FILE *out)
{
	const struct counter_section *inside;
	const void *data;
	char buf[64];

	switch (r->type) {
	case COUNTER_U64:
	case COUNTER_F64:
		line(r->name, NULL, stats_format(row_number(r, place), r->unit, buf, sizeof(buf)),
			indent, out);
		break;
	case COUNTER_BOOL:
		line(r->name, NULL, "yes", indent, out);
		break;
	case COUNTER_STRING:
		line(r->name, NULL, *(const char *const *)place, indent, out);
		break;
	case COUNTER_ARRAY:
		text_array(r, place, indent, out);
		break;
	case COUNTER_LIST:
		text_list(r, place, indent, out);
		break;
	case COUNTER_STRINGS:
		text_strings(r, place, indent, out);
		break;
	case COUNTER_SECTION:
	case COUNTER_CHOICE:
		inside = row_inside(r, place, &data);
		fprintf(out, "%*s%s\n", (int)indent, "",
			r->type == COUNTER_CHOICE ? inside->name : r->name);
		stats_text(inside, data, indent + 2, out);
		break;
	}
}

void stats_text(const struct counter_section *section, const void *data, unsigned indent, FILE *out)
{
	for (uint32_t i = 0; i < section->count; i++) {
		const struct counter *r = &section->rows[i];
		const void *place = row_place(r, data);

		if (any_row(r, place))
			text_row(r, place, indent, out);
	}
}

static bool has_names(const struct counter_section *section)
{
	for (uint32_t i = 0; i < section->count; i++)
		if (strcmp(section->rows[i].name, "name") == 0)
			return true;
	return false;
}

static void document_line(const char *path, const struct counter *r, FILE *out)
{
	fprintf(out, "%-*s  %-8s  %s", PATH_WIDTH, path, r->unit ? r->unit : "", r->help);
	for (uint32_t i = 0; r->type == COUNTER_ARRAY && i < r->length && i < 4; i++)
		fprintf(out, "%s%s", i ? ", " : " (LABEL: ", r->label(i));
	if (r->type == COUNTER_ARRAY && r->length)
		fputs(r->length > 4 ? ", ...)" : ")", out);
	fputc('\n', out);
}

void stats_document(const struct counter_section *section, const char *prefix, FILE *out)
{
	char path[PATH_SIZE];

	for (uint32_t i = 0; i < section->count; i++) {
		const struct counter *r = &section->rows[i];
		const char *tail = "";

		if (r->type == COUNTER_LIST)
			tail = has_names(r->section) ? ".NAME." : "[].";
		else if (r->type == COUNTER_SECTION)
			tail = ".";
		else if (r->type == COUNTER_ARRAY)
			tail = ".LABEL";
		snprintf(path, sizeof(path), "%s%s%s", prefix,
			r->type == COUNTER_CHOICE ? "*" : r->name, tail);
		if (r->type == COUNTER_LIST || r->type == COUNTER_SECTION)
			stats_document(r->section, path, out);
		else
			document_line(path, r, out);
	}
}
