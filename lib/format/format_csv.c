// SPDX-License-Identifier: BSD-3-Clause
// Tables as in RFC 4180: a row for each interval, or with --select a row for each result.
// Path: cold. Main thread.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "format/format_select.h"
#include "format/format_walk.h"
#include "format/format_writers.h"

#define COLUMNS_MAX 100000
#define CELL        64 // room for a number

static void put_cell(FILE *out, const char *text, bool first)
{
	if (!first)
		fputc(',', out);
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void end_row(FILE *out)
{
	fputs("\r\n", out);
}

// --- the intervals ---

// Adds the columns of an interval, by path: whether an interval without it has a 0 there. A counter
// with labels is in the result only where it is not 0.
static void add_columns(json_t *columns, const json_t *flat)
{
	const char *path;
	json_t *value;

	json_object_foreach((json_t *)flat, path, value) if (!json_object_get(columns, path))
		json_object_set_new(columns, path, json_boolean(json_is_integer(value)));
}

static json_t *read_columns(struct document_reader *b)
{
	json_t *columns = json_object();
	const json_t *interval;

	reader_rewind(b);
	while ((interval = reader_next(b)) && json_object_size(columns) < COLUMNS_MAX) {
		json_t *flat = walk_flat_interval(interval);

		add_columns(columns, flat);
		json_decref(flat);
	}
	return columns;
}

static void put_interval(FILE *out, json_t *columns, const json_t *interval)
{
	json_t *flat = walk_flat_interval(interval), *counted;
	bool first = true;
	char cell[CELL];
	const char *path;

	json_object_foreach(columns, path, counted)
	{
		const json_t *value = json_object_get(flat, path);

		put_cell(out,
			value || json_is_false(counted) ? walk_text(value, cell, sizeof(cell))
							: "0",
			first);
		first = false;
	}
	end_row(out);
	json_decref(flat);
}

static int write_intervals(struct document_reader *b, FILE *out)
{
	json_t *columns = read_columns(b), *counted;
	const json_t *interval;
	bool first = true;
	const char *path;

	if (json_object_size(columns) == 0) {
		log_error("%s: no intervals in this result (--select FIGURE,... gives a table "
			  "without)",
			b->file);
		json_decref(columns);
		return -EINVAL;
	}
	json_object_foreach(columns, path, counted)
	{
		put_cell(out, path, first);
		first = false;
	}
	end_row(out);
	reader_rewind(b);
	while ((interval = reader_next(b)))
		put_interval(out, columns, interval);
	json_decref(columns);
	return 0;
}

// --- chosen figures ---

static void put_block(FILE *out, const struct chosen_block *block, bool names)
{
	for (uint32_t i = 0; i < block->count; i++)
		put_cell(out, names ? block->list[i].name : block->list[i].text, i == 0);
	end_row(out);
}

// Writes a header, and a row for each result. Patterns may match other paths in another result, so
// the header is repeated if it differs.
static bool same_names(const struct chosen_block *a, const struct chosen_block *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (strcmp(a->list[i].name, b->list[i].name) != 0)
			return false;
	return true;
}

static int write_chosen(const struct format_input *in, FILE *out)
{
	struct arena *a = arena_new();
	struct choice *of = arena_zalloc(a, in->count * sizeof(*of));
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < in->count; i++)
		rc = select_figures(in->readers[i], in->select, in->units, a, &of[i]);
	for (uint32_t k = 0; rc == 0 && k < of[0].count; k++)
		for (unsigned i = 0; i < in->count && k < of[i].count; i++) {
			const struct chosen_block *block = &of[i].blocks[k];

			if (i == 0 || !same_names(block, &of[i - 1].blocks[k]))
				put_block(out, block, true);
			put_block(out, block, false);
		}
	arena_free(a);
	return rc;
}

int csv_write(const struct format_input *in, FILE *out)
{
	if (in->select)
		return write_chosen(in, out);
	if (in->count == 1)
		return write_intervals(in->readers[0], out);
	log_error("csv: the intervals of one result only (several need --select FIGURE,...)");
	return -EINVAL;
}
