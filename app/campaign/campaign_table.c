// SPDX-License-Identifier: BSD-3-Clause
// Means with confidence intervals, as rows for each point and value. Path: cold. Main thread.
#include "campaign/campaign_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/page.h"

#define CELL 96

// --- values

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

// One figure of a repeat; NAN: none.
static double repeat_value(const struct campaign_journal *j, uint32_t cell, uint32_t column,
	uint32_t operation, uint32_t repeat)
{
	const struct campaign *c = j->campaign;
	const struct campaign_run *r;
	double sum = 0;
	uint32_t count = 0;

	if (operation != TABLE_AVERAGE) {
		r = journal_find(j, cell, repeat, operation);
		return r ? r->values[column] : NAN;
	}
	for (uint32_t i = 0; i < c->operation_count; i++)
		if (campaign_operation_of(c, &c->cells[cell], i)) {
			sum += repeat_value(j, cell, column, i, repeat);
			count++;
		}
	return sum / count;
}

static bool has_operation(const struct campaign *c, uint32_t cell, uint32_t operation)
{
	return operation == TABLE_AVERAGE || campaign_operation_of(c, &c->cells[cell], operation);
}

struct campaign_value table_value(
	const struct campaign_journal *j, uint32_t cell, uint32_t column, uint32_t operation)
{
	const struct campaign_settings *s = &j->campaign->settings;
	struct campaign_value out = {.has = has_operation(j->campaign, cell, operation)};
	double *values = arena_zalloc(j->arena, s->repeats * sizeof(*values));
	uint32_t trim;

	for (uint32_t i = 0; out.has && i < s->repeats; i++) {
		const struct campaign_run *r =
			operation == TABLE_AVERAGE ? NULL : journal_find(j, cell, i, operation);
		double value = repeat_value(j, cell, column, operation, i);

		if (isfinite(value))
			values[out.of++] = value;
		out.failed |= r && r->failed;
	}
	out.known = out.of > 0;
	qsort(values, out.of, sizeof(*values), by_value);
	trim = out.of > 2 * s->trim ? (uint32_t)s->trim : 0;
	if (out.known) {
		out.spread = spread_of(values + trim, out.of - 2 * trim, s->confidence);
		// No mean of such values lies there.
		if (values[0] >= 0 && out.spread.low < 0)
			out.spread.low = 0;
	}
	return out;
}

// For people times are in ms and losses in percent.
struct shown_unit {
	const char *name;
	double per; // of this unit in 1 of the result's
};

static struct shown_unit unit_of(const struct campaign_column *c)
{
	size_t len = strlen(c->figure);
	bool loss = strcmp(c->figure, "loss") == 0 ||
	            (len > 5 && strcmp(c->figure + len - 5, ".loss") == 0);

	if (c->per)
		return (struct shown_unit){"", 1};
	if (len > 3 && strcmp(c->figure + len - 3, "_ns") == 0)
		return (struct shown_unit){", ms", 1e-6};
	return loss ? (struct shown_unit){", %", 100} : (struct shown_unit){"", 1};
}

static const char *title_of(const struct campaign_column *c, struct arena *a)
{
	return arena_printf(a, "%s%s", c->name, unit_of(c).name);
}

// Why a repeat has no values; NULL: there are, or it was not tried, or is not over.
static const char *why_of(const struct campaign_table *t, uint32_t cell, uint32_t repeat)
{
	return t->why ? t->why[cell * t->journal->campaign->settings.repeats + repeat] : NULL;
}

struct campaign_state table_state(const struct campaign_table *t)
{
	const struct campaign_journal *j = t->journal;
	const struct campaign *c = j->campaign;
	struct campaign_state out = {0};

	for (uint32_t cell = 0; cell < c->cell_count; cell++)
		for (uint32_t repeat = 0; repeat < c->settings.repeats; repeat++) {
			bool has = journal_has(j, cell, repeat);
			bool missing = !has && why_of(t, cell, repeat);

			out.done += has;
			out.missing += missing;
			out.invalid += missing && journal_attempts(j, cell, repeat).invalid;
			for (uint32_t i = 0; has && i < c->operation_count; i++) {
				const struct campaign_run *r = journal_find(j, cell, repeat, i);

				out.failed += r && r->failed;
			}
		}
	return out;
}

// --- text

// "21 524", "17.3", "0.0042"
static const char *number(double v, char *buf, size_t room)
{
	double size = fabs(v);
	char digits[48];
	size_t len, to = 0;

	if (size < 999.5) {
		snprintf(buf, room, size >= 99.95 ? "%.0f" : size >= 9.995 ? "%.1f" : "%.3g", v);
		return buf;
	}
	snprintf(digits, sizeof(digits), "%.0f", v);
	len = strlen(digits);
	for (size_t i = 0; i < len && to + 2 < room; i++) {
		if (i && (len - i) % 3 == 0 && digits[i - 1] != '-')
			buf[to++] = ' ';
		buf[to++] = digits[i];
	}
	buf[to] = '\0';
	return buf;
}

static const char *missing_text(const struct campaign_table *t, uint32_t cell)
{
	const struct campaign_settings *s = &t->journal->campaign->settings;

	for (uint32_t i = 0; i < s->repeats; i++) {
		if (journal_attempts(t->journal, cell, i).invalid)
			return "INVALID";
		if (why_of(t, cell, i))
			return "failed";
	}
	return "not run";
}

static const char *value_text(
	const struct campaign_table *t, uint32_t cell, uint32_t column, uint32_t operation)
{
	const struct campaign_settings *s = &t->journal->campaign->settings;
	struct campaign_value v = table_value(t->journal, cell, column, operation);
	struct arena *a = t->journal->arena;
	char mean[CELL], other[CELL];
	double per = unit_of(&t->journal->campaign->columns[column]).per;
	double half = per * (v.spread.high - v.spread.mean);
	const char *text;

	if (!v.has)
		return "–";
	if (!v.known)
		return journal_has(t->journal, cell, 0) ? "–" : missing_text(t, cell);
	text = arena_strdup(a, number(per * v.spread.mean, mean, sizeof(mean)));
	if (v.spread.count > 1 && v.spread.low == 0 && half > per * v.spread.mean)
		text = arena_printf(
			a, "%s (0 to %s)", text, number(per * v.spread.high, other, sizeof(other)));
	else if (v.spread.count > 1)
		text = arena_printf(a, "%s ± %s", text, number(half, other, sizeof(other)));
	if (v.of < s->repeats)
		text = arena_printf(
			a, "%s (%u of %llu)", text, v.of, (unsigned long long)s->repeats);
	return v.failed ? arena_printf(a, "%s !", text) : text;
}

// --- the grid

struct grid {
	const struct campaign_table *t;
	const char **cells; // rows x columns, the first row is the heading
	uint32_t rows, columns;
	uint32_t left; // text columns
};

static uint32_t values_of(const struct campaign *c)
{
	return c->operation_count + (c->settings.average && c->operation_count > 1);
}

static uint32_t operation_at(const struct campaign *c, uint32_t i)
{
	return i < c->operation_count ? i : TABLE_AVERAGE;
}

static const char *operation_name(const struct campaign *c, uint32_t i)
{
	return i < c->operation_count ? c->operations[i] : "average";
}

static struct grid grid_new(const struct campaign_table *t, uint32_t values)
{
	const struct campaign *c = t->journal->campaign;
	struct grid g = {.t = t, .rows = c->cell_count + 1, .left = 1 + c->settings.vary.count};

	g.columns = g.left + values;
	g.cells = arena_zalloc(t->journal->arena, g.rows * g.columns * sizeof(*g.cells));
	g.cells[0] = "point";
	for (uint32_t i = 0; i < c->settings.vary.count; i++)
		g.cells[1 + i] = c->vary[i].name;
	for (uint32_t row = 1; row < g.rows; row++) {
		const struct campaign_cell *cell = &c->cells[row - 1];

		g.cells[row * g.columns] = cell->point->name;
		for (uint32_t i = 0; i < c->settings.vary.count; i++)
			g.cells[row * g.columns + 1 + i] = cell->values[i];
	}
	return g;
}

static void grid_fill(
	struct grid *g, uint32_t at, const char *title, uint32_t column, uint32_t operation)
{
	g->cells[g->left + at] = title;
	for (uint32_t row = 1; row < g->rows; row++)
		g->cells[row * g->columns + g->left + at] =
			value_text(g->t, row - 1, column, operation);
}

// Number of UTF-8 characters.
static int width_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += (*text & 0xC0) != 0x80;
	return n;
}

static void put_row(const struct grid *g, uint32_t row, const int *widths, bool bars, FILE *out)
{
	for (uint32_t i = 0; i < g->columns; i++) {
		const char *text = g->cells[row * g->columns + i];
		int pad = widths[i] - width_of(text);

		fputs(bars ? "| " : i ? "  " : "", out);
		fprintf(out, "%*s%s%*s", i < g->left ? 0 : pad, "", text, i < g->left ? pad : 0,
			"");
		fputs(bars ? " " : "", out);
	}
	fputs(bars ? "|\n" : "\n", out);
}

static void grid_put(const struct grid *g, enum table_form form, FILE *out)
{
	int *widths = arena_zalloc(g->t->journal->arena, g->columns * sizeof(*widths));
	bool bars = form == TABLE_MARKDOWN;

	for (uint32_t i = 0; i < g->rows * g->columns; i++) {
		int width = width_of(g->cells[i]);

		if (width > widths[i % g->columns])
			widths[i % g->columns] = width;
	}
	put_row(g, 0, widths, bars, out);
	for (uint32_t i = 0; bars && i < g->columns; i++)
		fputs(i < g->left ? "|---" : "|---:", out);
	fputs(bars ? "|\n" : "", out);
	for (uint32_t row = 1; row < g->rows; row++)
		put_row(g, row, widths, bars, out);
}

// Texts about criteria that were not met, and each repeat that was tried and has no values.
static json_t *notes_json(const struct campaign_table *t)
{
	const struct campaign_journal *j = t->journal;
	const struct campaign *c = j->campaign;
	struct campaign_state state = table_state(t);
	json_t *out = json_array();

	if (state.failed)
		json_array_append_new(
			out, json_sprintf("!: in %u runs a criterion was not met", state.failed));
	for (uint32_t cell = 0; cell < c->cell_count; cell++)
		for (uint32_t repeat = 0; repeat < c->settings.repeats; repeat++) {
			struct campaign_attempts n = journal_attempts(j, cell, repeat);
			const char *why = why_of(t, cell, repeat);

			if (journal_has(j, cell, repeat) || (!why && !n.invalid))
				continue;
			if (n.invalid)
				why = arena_printf(j->arena, "INVALID %u time%s: %s", n.invalid,
					n.invalid == 1 ? "" : "s", n.reason);
			json_array_append_new(
				out, json_sprintf("%s, repeat %u: no values: %s",
					     campaign_cell_name(c, &c->cells[cell], j->arena),
					     repeat + 1, why));
		}
	return out;
}

static void put_notes(const struct campaign_table *t, FILE *out)
{
	json_t *notes = notes_json(t), *one;
	size_t i;

	fputs(json_array_size(notes) ? "\n" : "", out);
	json_array_foreach(notes, i, one) fprintf(out, "- %s\n", json_string_value(one));
	json_decref(notes);
}

static const char *caption(const struct campaign *c, struct arena *a)
{
	const struct campaign_settings *s = &c->settings;
	char trim[64] = "";

	if (s->trim)
		snprintf(trim, sizeof(trim), " without the %llu lowest and highest",
			(unsigned long long)s->trim);
	return s->repeats == 1 ? "1 repeat"
	                       : arena_printf(a, "mean of %llu repeats%s, %g %% confidence",
					 (unsigned long long)s->repeats, trim, 100 * s->confidence);
}

void table_put(const struct campaign_table *t, enum table_form form, FILE *out)
{
	const struct campaign *c = t->journal->campaign;
	uint32_t values = values_of(c), columns = c->settings.columns.count;
	bool one = values == 1; // then there is one column per figure
	struct arena *a = t->journal->arena;
	const char *note = caption(c, a);

	for (uint32_t i = 0; i < (one ? 1 : columns); i++) {
		struct grid g = grid_new(t, one ? columns : values);

		for (uint32_t k = 0; k < (one ? columns : values); k++)
			if (one)
				grid_fill(&g, k, title_of(&c->columns[k], a), k, 0);
			else
				grid_fill(&g, k, operation_name(c, k), i, operation_at(c, k));
		fprintf(out, "%s%s (%s)\n\n", i ? "\n" : "",
			one ? c->settings.name : title_of(&c->columns[i], a), note);
		grid_put(&g, form, out);
	}
	put_notes(t, out);
}

void table_put_repeat(const struct campaign_journal *j, uint32_t cell, uint32_t repeat, FILE *out)
{
	const struct campaign *c = j->campaign;
	char text[CELL];

	fprintf(out, "%s, repeat %u:", campaign_cell_name(c, &c->cells[cell], j->arena),
		repeat + 1);
	for (uint32_t i = 0; i < c->operation_count; i++) {
		const struct campaign_run *r = journal_find(j, cell, repeat, i);

		for (uint32_t k = 0; r && k < c->settings.columns.count; k++)
			if (isfinite(r->values[k]))
				fprintf(out, "  %s %s %s", c->operations[i], c->columns[k].name,
					number(r->values[k], text, sizeof(text)));
	}
	fputc('\n', out);
	fflush(out);
}

// --- machine-readable formats

static void put_csv_text(const char *text, FILE *out)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputs("\",", out);
}

static void put_csv_row(
	const struct campaign_table *t, uint32_t cell, uint32_t column, uint32_t i, FILE *out)
{
	const struct campaign *c = t->journal->campaign;
	struct campaign_value v = table_value(t->journal, cell, column, operation_at(c, i));
	const struct spread *s = &v.spread;

	if (!v.has)
		return;
	put_csv_text(c->cells[cell].point->name, out);
	for (uint32_t k = 0; k < c->settings.vary.count; k++)
		put_csv_text(c->cells[cell].values[k], out);
	put_csv_text(operation_name(c, i), out);
	put_csv_text(c->columns[column].name, out);
	fprintf(out, "%u,%u,", v.of, v.known ? s->count : 0);
	if (!v.known)
		fputs(",,,,", out);
	else if (s->count > 1)
		fprintf(out, "%.15g,%.15g,%.15g,%.15g,%.15g", s->mean, s->low, s->high, s->min,
			s->max);
	else
		fprintf(out, "%.15g,,,%.15g,%.15g", s->mean, s->min, s->max);
	fprintf(out, ",%s\r\n", v.known ? "" : missing_text(t, cell));
}

void table_put_csv(const struct campaign_table *t, FILE *out)
{
	const struct campaign *c = t->journal->campaign;

	fputs("point,", out);
	for (uint32_t i = 0; i < c->settings.vary.count; i++)
		put_csv_text(c->vary[i].name, out);
	fputs("operation,figure,repeats,kept,mean,low,high,min,max,missing\r\n", out);
	for (uint32_t cell = 0; cell < c->cell_count; cell++)
		for (uint32_t column = 0; column < c->settings.columns.count; column++)
			for (uint32_t i = 0; i < values_of(c); i++)
				put_csv_row(t, cell, column, i, out);
}

static json_t *value_json(
	const struct campaign_table *t, uint32_t cell, uint32_t column, uint32_t operation)
{
	struct campaign_value v = table_value(t->journal, cell, column, operation);
	json_t *out = json_pack("{s:s}", "text", value_text(t, cell, column, operation));
	double per = unit_of(&t->journal->campaign->columns[column]).per;

	if (v.known)
		json_object_set_new(out, "mean", json_real(per * v.spread.mean));
	if (v.known && v.spread.count > 1) {
		json_object_set_new(out, "low", json_real(per * v.spread.low));
		json_object_set_new(out, "high", json_real(per * v.spread.high));
	}
	return out;
}

static json_t *row_json(const struct campaign_table *t, uint32_t cell)
{
	const struct campaign *c = t->journal->campaign;
	json_t *values = json_array(), *figures = json_array();
	int done = 0;

	for (uint32_t i = 0; i < c->settings.repeats; i++)
		done += journal_has(t->journal, cell, i);
	for (uint32_t i = 0; i < c->settings.vary.count; i++)
		json_array_append_new(values, json_string(c->cells[cell].values[i]));
	for (uint32_t column = 0; column < c->settings.columns.count; column++) {
		json_t *one = json_array();

		for (uint32_t i = 0; i < values_of(c); i++)
			json_array_append_new(one, value_json(t, cell, column, operation_at(c, i)));
		json_array_append_new(figures, one);
	}
	return json_pack("{s:s, s:o, s:i, s:o}", "point", c->cells[cell].point->name, "values",
		values, "done", done, "figures", figures);
}

json_t *table_json(const struct campaign_table *t)
{
	const struct campaign *c = t->journal->campaign;
	struct campaign_state state = table_state(t);
	json_t *rows = json_array(), *vary = json_array(), *operations = json_array(),
	       *columns = json_array(), *out;

	for (uint32_t i = 0; i < c->cell_count; i++)
		json_array_append_new(rows, row_json(t, i));
	for (uint32_t i = 0; i < c->settings.vary.count; i++)
		json_array_append_new(vary, json_string(c->vary[i].name));
	for (uint32_t i = 0; i < values_of(c); i++)
		json_array_append_new(operations, json_string(operation_name(c, i)));
	for (uint32_t i = 0; i < c->settings.columns.count; i++)
		json_array_append_new(
			columns, json_string(title_of(&c->columns[i], t->journal->arena)));
	out = json_pack("{s:s, s:s, s:s?, s:O?, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "name",
		c->settings.name, "note", caption(c, t->journal->arena), "verdict", t->verdict,
		"running", t->running, "done", (int)state.done, "of",
		(int)(c->cell_count * c->settings.repeats), "notes", notes_json(t), "vary", vary,
		"operations", operations, "columns", columns, "rows", rows);
	if (t->code >= 0)
		json_object_set_new(out, "exit_code", json_integer(t->code));
	return out;
}

int table_put_page(const struct campaign_table *t, FILE *out)
{
	json_t *data = json_pack("{s:[], s:o}", "results", "campaign", table_json(t));

	page_put(data, out);
	json_decref(data);
	return ferror(out) ? -EIO : 0;
}
