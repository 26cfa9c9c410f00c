// SPDX-License-Identifier: BSD-3-Clause
// Errors of a configuration and the map from memory back to the line that filled it.
// Path: cold. One thread at a time.
#include "base/diag.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

struct place {
	const char *file; // from diag.files, or NULL
	unsigned line;
	unsigned col;
	const char *path;
};

struct mark {
	uintptr_t at;
	size_t size;
	bool section;
	bool quoted;
	struct place place;
};

struct message {
	struct place place;
	unsigned file_index;
	unsigned number; // in order of arrival, keeps the sort stable
	const char *text;
	bool of_box;
};

#define KEPT_MAX 1000 // errors of one configuration; further ones are only counted

struct diag {
	struct arena *texts;
	const char **files; // in order of first use
	unsigned files_count;
	struct mark *marks;
	size_t marks_count, marks_room;
	struct message *messages;
	size_t messages_count, messages_room;
	unsigned dropped;
	struct inputs *inputs;
	const char *printed; // errors of this file go to the function print; NULL: none do
	diag_printer *print;
	const void *print_ctx;
};

static void *grow(void *items, size_t count, size_t *room, size_t size)
{
	void *bigger;

	if (count < *room)
		return items;
	*room = *room ? *room * 2 : 16;
	bigger = reallocarray(items, *room, size);
	if (!bigger)
		arena_exhausted();
	return bigger;
}

struct diag *diag_new(void)
{
	struct arena *texts = arena_new();
	struct diag *d = calloc(1, sizeof(*d));

	if (!d)
		arena_exhausted();
	d->texts = texts;
	return d;
}

void diag_free(struct diag *d)
{
	if (!d)
		return;
	arena_free(d->texts);
	free(d->files);
	free(d->marks);
	free(d->messages);
	free(d);
}

// Index of the file, remembered when new.
static unsigned file_index(struct diag *d, const char *file)
{
	size_t room = d->files_count;

	for (unsigned i = 0; i < d->files_count; i++) {
		if (d->files[i] == file || strcmp(d->files[i], file) == 0)
			return i;
	}
	d->files = grow(d->files, d->files_count, &room, sizeof(*d->files));
	d->files[d->files_count] = arena_strdup(d->texts, file);
	return d->files_count++;
}

static struct mark *mark_add(struct diag *d, const char *file, const char *path)
{
	struct mark *m;

	d->marks = grow(d->marks, d->marks_count, &d->marks_room, sizeof(*d->marks));
	m = &d->marks[d->marks_count++];
	*m = (struct mark){0};
	if (file) {
		unsigned index = file_index(d, file);

		m->place.file = d->files[index];
	}
	if (path)
		m->place.path = arena_strdup(d->texts, path);
	return m;
}

void diag_mark(struct diag *d, const void *dst, size_t size, const char *file, unsigned line,
	unsigned col, const char *path)
{
	struct mark *m = mark_add(d, file, path);

	m->at = (uintptr_t)dst;
	m->size = size;
	m->place.line = line;
	m->place.col = col;
}

void diag_mark_section(struct diag *d, const void *dst, size_t size, const char *file,
	unsigned line, unsigned col, const char *path)
{
	diag_mark(d, dst, size, file, line, col, path);
	d->marks[d->marks_count - 1].section = true;
}

void diag_mark_quoted(struct diag *d)
{
	d->marks[d->marks_count - 1].quoted = true;
}

// The smallest mark that covers dst; of equal ones the last, since members are marked after their
// struct.
static const struct mark *mark_find(const struct diag *d, const void *dst, bool section)
{
	uintptr_t at = (uintptr_t)dst;
	const struct mark *best = NULL;

	for (size_t i = 0; i < d->marks_count; i++) {
		const struct mark *m = &d->marks[i];

		if (section && !m->section)
			continue;
		if (at - m->at < m->size && (!best || m->size <= best->size))
			best = m;
	}
	return best;
}

// The mark of this path within the memory of another.
static const struct mark *mark_inside(const struct diag *d, const struct mark *of, const char *path)
{
	for (size_t i = 0; i < d->marks_count; i++) {
		const struct mark *m = &d->marks[i];

		if (m->at - of->at < of->size && m->place.path && strcmp(m->place.path, path) == 0)
			return m;
	}
	return NULL;
}

static bool place_equal(const struct place *a, const struct place *b)
{
	if (a->file != b->file || a->line != b->line || a->col != b->col)
		return false;
	if (!a->path || !b->path)
		return a->path == b->path;
	return strcmp(a->path, b->path) == 0;
}

// Text is from the arena of d; the same error at the same place is kept once.
static void message_add(struct diag *d, struct place place, unsigned file, const char *text)
{
	struct message *m;

	for (size_t i = 0; i < d->messages_count; i++) {
		if (place_equal(&d->messages[i].place, &place) &&
			strcmp(d->messages[i].text, text) == 0)
			return;
	}
	if (d->messages_count == KEPT_MAX) {
		d->dropped++;
		return;
	}
	d->messages = grow(d->messages, d->messages_count, &d->messages_room, sizeof(*m));
	m = &d->messages[d->messages_count];
	*m = (struct message){place, file, (unsigned)d->messages_count, text, false};
	d->messages_count++;
}

static const char *text_of(struct diag *d, const char *fmt, va_list args)
{
	char *text = NULL;
	const char *copy;

	if (vasprintf(&text, fmt, args) < 0)
		arena_exhausted();
	copy = arena_strdup(d->texts, text);
	free(text);
	return copy;
}

static void diag_add(struct diag *d, struct place place, const char *text)
{
	unsigned file = 0; // errors without a file come first

	if (place.file) {
		file = file_index(d, place.file);
		place.file = d->files[file++];
	}
	if (place.path)
		place.path = arena_strdup(d->texts, place.path);
	message_add(d, place, file, text);
}

// Where the key of the section around dst is, or would be.
static struct place place_of_key(struct diag *d, const void *dst, const char *key)
{
	const struct mark *section = mark_find(d, dst, true), *own;
	struct place place = {0};

	if (!section)
		section = mark_find(d, dst, false);
	if (section)
		place = section->place;
	if (!key[0])
		return place;
	if (place.path && place.path[0])
		place.path = arena_printf(d->texts, "%s.%s", place.path, key);
	else
		place.path = key;
	own = section ? mark_inside(d, section, place.path) : NULL;
	return own ? own->place : place;
}

void diag_error(struct diag *d, const void *dst, const char *key, const char *fmt, ...)
{
	const struct mark *m = mark_find(d, dst, false);
	struct place place = m ? m->place : (struct place){0};
	va_list args;

	if (key)
		place = place_of_key(d, dst, key);
	va_start(args, fmt);
	diag_add(d, place, text_of(d, fmt, args));
	va_end(args);
}

void diag_error_in(struct diag *d, const void *dst, size_t n, const char *fmt, ...)
{
	const struct mark *m = mark_find(d, dst, false);
	struct place place = m ? m->place : (struct place){0};
	va_list args;

	if (place.line)
		place.col += (unsigned)n + m->quoted;
	va_start(args, fmt);
	diag_add(d, place, text_of(d, fmt, args));
	va_end(args);
}

void diag_error_at(struct diag *d, const char *file, unsigned line, unsigned col, const char *path,
	const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	diag_add(d, (struct place){file, line, col, path}, text_of(d, fmt, args));
	va_end(args);
}

void diag_of_box(struct diag *d)
{
	if (d->messages_count)
		d->messages[d->messages_count - 1].of_box = true;
}

bool diag_all_of_box(const struct diag *d)
{
	for (size_t i = 0; i < d->messages_count; i++)
		if (!d->messages[i].of_box)
			return false;
	return d->messages_count && !d->dropped;
}

unsigned diag_count(const struct diag *d)
{
	return (unsigned)d->messages_count + d->dropped;
}

void diag_take(struct diag *d, const struct diag *from, diag_wanted *wanted, const void *ctx)
{
	for (size_t i = 0; i < from->messages_count; i++) {
		const struct message *m = &from->messages[i];
		size_t before;

		if (!wanted(ctx, m->place.path ? m->place.path : ""))
			continue;
		before = d->messages_count;
		diag_add(d, m->place, arena_strdup(d->texts, m->text));
		if (m->of_box && d->messages_count > before)
			diag_of_box(d);
	}
}

static int message_compare(const void *a, const void *b)
{
	const struct message *l = a, *r = b;

	if (l->file_index != r->file_index)
		return l->file_index < r->file_index ? -1 : 1;
	if (l->place.line != r->place.line)
		return l->place.line < r->place.line ? -1 : 1;
	if (l->place.col != r->place.col)
		return l->place.col < r->place.col ? -1 : 1;
	return l->number < r->number ? -1 : l->number > r->number;
}

static void message_print(const struct message *m, FILE *out)
{
	if (m->place.file)
		fprintf(out, "%s:", m->place.file);
	if (m->place.file && m->place.line)
		fprintf(out, "%u:%u:", m->place.line, m->place.col);
	if (m->place.file)
		fputc(' ', out);
	if (m->place.path && m->place.path[0])
		fprintf(out, "%s: ", m->place.path);
	fprintf(out, "%s\n", m->text);
}

void diag_set_printer(struct diag *d, const char *file, diag_printer *print, const void *ctx)
{
	d->printed = file;
	d->print = print;
	d->print_ctx = ctx;
}

void diag_print(const struct diag *d, FILE *out)
{
	struct message *sorted = calloc(d->messages_count + 1, sizeof(*sorted));

	if (!sorted)
		arena_exhausted();
	if (d->messages_count)
		memcpy(sorted, d->messages, d->messages_count * sizeof(*sorted));
	qsort(sorted, d->messages_count, sizeof(*sorted), message_compare);
	for (size_t i = 0; i < d->messages_count; i++) {
		const struct message *m = &sorted[i];

		if (d->printed && m->place.file && strcmp(m->place.file, d->printed) == 0)
			d->print(d->print_ctx, m->place.path, m->text, out);
		else
			message_print(m, out);
	}
	free(sorted);
	if (d->dropped)
		fprintf(out, "and %u more errors\n", d->dropped);
}

void diag_mark_as(struct diag *d, const void *dst, size_t size, const void *like)
{
	const struct mark *of = mark_find(d, like, false);
	struct place place = of ? of->place : (struct place){0};

	if (of)
		diag_mark(d, dst, size, place.file, place.line, place.col, place.path);
}

const char *diag_file(const struct diag *d, const void *dst)
{
	const struct mark *m = mark_find(d, dst, false);

	return m && m->place.line ? m->place.file : NULL;
}

const char *diag_setting(const struct diag *d, const void *dst)
{
	const struct mark *m = mark_find(d, dst, false);

	return m && m->place.path ? m->place.path : "";
}

void diag_set_inputs(struct diag *d, struct inputs *in)
{
	d->inputs = in;
}

struct inputs *diag_inputs(const struct diag *d)
{
	return d->inputs;
}

const char *diag_path(const struct diag *d, const char *const *setting, struct arena *a)
{
	const char *file = diag_file(d, setting);
	// A pipe, as of a shell's <(...), is in no folder that the user knows.
	bool pipe = file && (strncmp(file, "/dev/", 5) == 0 || strncmp(file, "/proc/", 6) == 0);
	bool near = (*setting)[0] != '/' && strcmp(*setting, "-") != 0 && !pipe;
	const char *slash = file && near ? strrchr(file, '/') : NULL;
	int folder = slash ? (int)(slash - file) + 1 : 0;

	return arena_printf(a, "%.*s%s", folder, folder ? file : "", *setting);
}
