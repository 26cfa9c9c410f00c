// SPDX-License-Identifier: BSD-3-Clause
// Numbers with the unit that fits, rows as indented lines, rows as a reference.
// Path: cold. Management thread.
#include "stats/text.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/hist.h"
#include "stats/lookup.h"
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

const char *stats_time(double ns, bool any, char *buf, size_t room)
{
	if (isinf(ns))
		snprintf(buf, room, "lost");
	else
		stats_format(any ? ns : NAN, "ns", buf, room);
	return buf;
}

const char *stats_shown_text(const char *fmt, ...)
{
	static char said[16][64];
	static unsigned turn;
	char *buf = said[turn++ % 16];
	va_list args;

	va_start(args, fmt);
	vsnprintf(buf, sizeof(said[0]), fmt, args);
	va_end(args);
	return buf;
}

const char *stats_shown(double value, const char *unit)
{
	char buf[32];

	return stats_shown_text("%s", stats_format(value, unit, buf, sizeof(buf)));
}

const char *stats_shown_time(double ns, bool any)
{
	return isinf(ns) ? "lost" : stats_shown(any ? ns : NAN, "ns");
}

const char *stats_shown_rate(double per_s)
{
	const char *text = stats_shown(per_s, "per_s");
	size_t len = strcspn(text, "/");

	return stats_shown_text("%.*s", (int)(len && text[len - 1] == ' ' ? len - 1 : len), text);
}

// --- templates

static bool fill_until(
	const struct stats_template *t, const char *text, const char *end, FILE *out);

static void fill_optional(
	const struct stats_template *t, const char *text, const char *end, FILE *out)
{
	char *part = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&part, &len);
	bool wanted = f && fill_until(t, text, end, f);

	if (f && fclose(f) == 0 && wanted)
		fputs(part, out);
	free(part);
}

static bool fill_until(const struct stats_template *t, const char *text, const char *end, FILE *out)
{
	bool all = true, wanted = true, decided = false, is;
	char name[PATH_SIZE];

	while (text < end) {
		size_t len = strcspn(text, *text == '<' ? ">" : *text == '{' ? "}" : "<{");

		len = len < (size_t)(end - text) ? len : (size_t)(end - text);
		if (*text == '<') {
			fill_optional(t, text + 1, text + len, out);
		} else if (*text == '{') {
			snprintf(name, sizeof(name), "%.*s", (int)len - 1, text + 1);
			is = t->figure(t->ctx, name, out);
			all &= is;
			if (name[0] == '?' || name[0] == '!') {
				wanted &= is;
				decided = true;
			}
		} else {
			fwrite(text, 1, len--, out);
		}
		text += len + 1;
	}
	return decided ? wanted : all;
}

void stats_fill(const struct stats_template *t, const char *template, FILE *out)
{
	fill_until(t, template, template + strlen(template), out);
}

// The row of that type at a path of sections, and its place; NULL: there is none.
static const struct counter *row_at(
	struct stats_figures in, const char *path, enum counter_type type, const void **place)
{
	for (uint32_t i = 0; in.data && i < in.section->count; i++) {
		const struct counter *r = &in.section->rows[i];
		size_t len = strlen(r->name);
		const void *data;

		if (strncmp(r->name, path, len) != 0)
			continue;
		*place = row_place(r, in.data);
		if (r->type == type && !path[len])
			return r;
		if (r->type == COUNTER_SECTION && path[len] == '.' && row_inside(r, *place, &data))
			return row_at((struct stats_figures){r->section, data}, path + len + 1,
				type, place);
	}
	return NULL;
}

// Are there enough values for it? path: of a time in a distribution, or elsewhere.
static bool is_known(const struct stats_figures *in, const char *path)
{
	const char *dot = strrchr(path, '.'), *name = dot ? dot + 1 : path;
	double share = strtod(name + 1, NULL);
	char count[PATH_SIZE];
	struct stats_value n;

	snprintf(count, sizeof(count), "%.*scount", (int)(name - path), path);
	if (stats_lookup(in->section, in->data, count, &n) < 0)
		return true;
	while (share >= 1)
		share /= 10;
	return n.value > 0 && (name[0] != 'p' || share <= 0.5 || hist_knows(n.value, share));
}

static bool print_figure(void *ctx, const char *name, FILE *out)
{
	const struct stats_figures *in = ctx;
	const char *spec = strchr(name, ':'), *shown;
	struct stats_value v = {.value = NAN};
	char path[PATH_SIZE], buf[PATH_SIZE];
	const void *place;
	bool is;

	snprintf(path, sizeof(path), "%.*s", (int)strcspn(name, ":"), name + !isalpha(*name));
	shown = row_at(*in, path, COUNTER_STRING, &place) ? *(const char *const *)place : NULL;
	is = shown != NULL;
	if (!shown && stats_lookup(in->section, in->data, path, &v) == 0) {
		is = v.value != 0 && !isnan(v.value);
		shown = buf;
		if (spec && spec[1] == '%')
			snprintf(buf, sizeof(buf), spec + 1, v.value);
		else if (v.unit && strcmp(v.unit, "ns") == 0)
			stats_time(v.value, is_known(in, path), buf, sizeof(buf));
		else
			stats_format(v.value, v.unit, buf, sizeof(buf));
	}
	if (isalpha(*name))
		fprintf(out, "%*s", spec && spec[1] != '%' ? atoi(spec + 1) : 0,
			shown ? shown : "-");
	return is != (*name == '!');
}

void stats_print(struct stats_figures in, const char *template, FILE *out)
{
	stats_fill(&(struct stats_template){print_figure, &in}, template, out);
}

struct stats_figures stats_inside(struct stats_figures in, const char *path)
{
	struct stats_figures out = {NULL, NULL};
	const void *place;
	const struct counter *r = row_at(in, path, COUNTER_SECTION, &place);

	if (r)
		out.section = row_inside(r, place, &out.data);
	return out;
}

struct stats_figures stats_element(struct stats_figures in, const char *path, uint32_t i)
{
	const void *place;
	const struct counter *r = row_at(in, path, COUNTER_LIST, &place);
	const struct counter_list *list = r ? place : NULL;

	return list && i < list->count ? (struct stats_figures){r->section, row_item(r, list, i)}
	                               : (struct stats_figures){NULL, NULL};
}

void stats_print_list(struct stats_figures in, const char *path, const char *template, FILE *out)
{
	struct stats_figures one;

	for (uint32_t i = 0; (one = stats_element(in, path, i)).data; i++)
		stats_print(one, template, out);
}

// --- reference

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
