// SPDX-License-Identifier: BSD-3-Clause
// A filled struct as YAML: sections in blocks, lists of values in one line, quotes where they are
// needed. Not here: the walk (visit.c). Path: cold. Management thread.
#include <assert.h>
#include <string.h>

#include "conf/schema.h"
#include "conf/conf_internal.h"

#define DEPTH_MAX 32

// An open container; its form is known only with its first child.
struct frame {
	bool is_list;
	bool is_flow; // list of values: [a, b]
	bool has_child;
	unsigned indent; // of its children
};

struct dumper {
	FILE *out;
	struct frame frames[DEPTH_MAX];
	unsigned depth; // frames[depth] is the innermost
	bool dash;      // "- " was written: the first key of the item stands on that line
};

static bool is_word(const char *text)
{
	static const char *const words[] = {
		"null", "true", "false", "yes", "no", "on", "off", "y", "n", NULL};

	for (unsigned i = 0; words[i]; i++) {
		if (strcasecmp(words[i], text) == 0)
			return true;
	}
	return false;
}

// So plain that no reader of YAML takes it for anything but text or the number that it is.
static bool is_plain(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_./%+-";

	return text[0] && text[strspn(text, letters)] == 0 && !strchr("%+-", text[0]) &&
	       !is_word(text) && strcmp(text, ".") != 0 && strcmp(text, "..") != 0;
}

// The code point at *at, which is moved behind it; 0: not UTF-8.
static unsigned utf8_next(const unsigned char **at)
{
	static const unsigned leads[][3] = {{0xe0, 0xc0, 1}, {0xf0, 0xe0, 2}, {0xf8, 0xf0, 3}};
	const unsigned char *p = *at;
	unsigned cp;

	*at = p + 1;
	if (p[0] < 0x80)
		return p[0];
	for (unsigned i = 0; i < 3; i++) {
		if ((p[0] & leads[i][0]) != leads[i][1])
			continue;
		cp = p[0] & ~leads[i][0];
		for (unsigned k = 1; k <= leads[i][2]; k++) {
			if ((p[k] & 0xc0) != 0x80)
				return 0;
			cp = cp << 6 | (p[k] & 0x3f);
		}
		*at = p + 1 + leads[i][2];
		return cp;
	}
	return 0;
}

// Line separators, the byte order mark and controls do not survive a reader of YAML as they are.
static bool is_literal(unsigned cp)
{
	if (cp < 0x7f)
		return cp >= ' ' && cp != '"' && cp != '\\';
	return cp > 0xa0 && cp != 0x2028 && cp != 0x2029 && cp < 0xd800;
}

static void quote(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text, *start;
	unsigned cp;

	fputc('"', out);
	while (*at) {
		start = at;
		cp = utf8_next(&at);
		if (is_literal(cp))
			fwrite(start, 1, (size_t)(at - start), out);
		else if (cp == '"' || cp == '\\')
			fprintf(out, "\\%c", (int)cp);
		else if (cp == '\n')
			fputs("\\n", out);
		else if (cp == 0)
			fputc('?', out);
		else
			fprintf(out, "\\U%08X", cp);
	}
	fputc('"', out);
}

static void scalar(FILE *out, const char *text, bool is_text)
{
	if (!is_text || is_plain(text))
		fputs(text, out);
	else
		quote(out, text);
}

// Up to where a child of the innermost container begins; key NULL in lists.
static void child_begin(struct dumper *d, const char *key)
{
	struct frame *f = &d->frames[d->depth];

	if (!f->has_child && d->depth > 0 && !d->dash)
		fputc('\n', d->out);
	f->has_child = true;
	if (!d->dash)
		fprintf(d->out, "%*s", (int)f->indent, "");
	d->dash = f->is_list;
	if (f->is_list)
		fputs("- ", d->out);
	else
		fprintf(d->out, "%s:", key);
}

static void dump_begin(void *ctx, const char *key, bool is_list)
{
	struct dumper *d = ctx;
	unsigned indent;

	child_begin(d, key);
	indent = d->frames[d->depth].indent + 2;
	assert(d->depth + 1 < DEPTH_MAX);
	d->frames[++d->depth] = (struct frame){.is_list = is_list, .indent = indent};
}

static void dump_end(void *ctx)
{
	struct dumper *d = ctx;
	const struct frame *f = &d->frames[d->depth--];

	if (f->is_flow)
		fputs("]\n", d->out);
	else if (!f->has_child)
		fprintf(d->out, "%s%s\n", d->dash ? "" : " ", f->is_list ? "[]" : "{}");
	d->dash = false;
}

static void dump_value(void *ctx, const char *key, const char *text, bool is_text)
{
	struct dumper *d = ctx;
	struct frame *f = &d->frames[d->depth];

	if (f->is_list) {
		fputs(f->has_child ? ", " : " [", d->out);
		f->is_flow = f->has_child = true;
		scalar(d->out, text, is_text);
		return;
	}
	child_begin(d, key);
	fputc(' ', d->out);
	scalar(d->out, text, is_text);
	fputc('\n', d->out);
}

void conf_dump(const struct field_section *section, const void *obj, FILE *out)
{
	struct dumper d = {.out = out};
	const struct conf_visitor v = {dump_begin, dump_end, dump_value, &d};

	visit_section(section, obj, false, &v);
	if (!d.frames[0].has_child)
		fputs("{}\n", out);
}
