// SPDX-License-Identifier: BSD-3-Clause
// Query files in dnsperf's text format to wire form: one flat blob and offsets, all bad lines
// reported together. Not here: inline names and their patterns (dns_patterns.c). Path: cold.
// Management thread.

#include "proto/dns/dns_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/input.h"
#include "net/csum.h"

#define LISTED_LINES 10 // bad ones, before "and N more"

void dns_queries_free(struct dns_queries *q)
{
	free(q->blob);
	free(q->offsets);
	*q = (struct dns_queries){0};
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static size_t blanks_end(const char *line, size_t len, size_t at)
{
	while (at < len && is_blank(line[at]))
		at++;
	return at;
}

// An escaped blank belongs to the word.
static size_t word_end(const char *line, size_t len, size_t at)
{
	while (at < len && !is_blank(line[at]))
		at += line[at] == '\\' ? 2 : 1;
	return at < len ? at : len;
}

bool dns_line_split(const char *line, size_t len, struct dns_line *out, struct dns_text_error *e)
{
	size_t name, name_end, type, type_end, more;

	*out = (struct dns_line){0};
	if (len > 0 && line[len - 1] == '\r')
		len--;
	name = blanks_end(line, len, 0);
	if (name == len || line[name] == ';')
		return true;
	name_end = word_end(line, len, name);
	type = blanks_end(line, len, name_end);
	type_end = word_end(line, len, type);
	if (type == type_end) {
		e->reason = "no type after the name (like: www.example.com A)";
		e->at = name_end;
		return false;
	}
	more = blanks_end(line, len, type_end);
	if (more < len && line[more] != ';') {
		e->reason = "a third word (only a name and a type, or a comment after ;)";
		e->at = more;
		return false;
	}
	*out = (struct dns_line){line + name, line + type, name_end - name, type_end - type};
	return true;
}

// Room for one more query of the longest kind.
static bool loader_grow(struct dns_loader *l)
{
	struct dns_queries *q = l->to;
	void *p;

	if (l->blob_len + DNS_ENTRY_HEAD + DNS_QUESTION_MAX > l->blob_room) {
		l->blob_room = l->blob_room ? l->blob_room * 2 : 1 << 16;
		p = realloc(q->blob, l->blob_room);
		if (!p)
			return false;
		q->blob = p;
	}
	if (q->count + 2 > l->offsets_room) {
		l->offsets_room = l->offsets_room ? l->offsets_room * 2 : 1 << 10;
		p = realloc(q->offsets, (size_t)l->offsets_room * sizeof(*q->offsets));
		if (!p)
			return false;
		q->offsets = p;
		q->offsets[q->count] = (uint32_t)l->blob_len;
	}
	return true;
}

void dns_loader_add(struct dns_loader *l, const uint8_t *name, uint32_t len, uint16_t type,
	uint8_t random_at, uint8_t random_len)
{
	struct dns_queries *q = l->to;
	uint16_t sum, all = (uint16_t)(len + 4);
	uint8_t *p;

	if (l->failure)
		return;
	if (l->blob_len + DNS_ENTRY_HEAD + DNS_QUESTION_MAX > UINT32_MAX)
		l->failure = -EFBIG;
	else if (!loader_grow(l))
		l->failure = -ENOMEM;
	if (l->failure)
		return;
	p = q->blob + l->blob_len;
	*p++ = random_at;
	*p++ = random_len;
	p += sizeof(sum);
	memcpy(p, &all, sizeof(all));
	p += sizeof(all);
	memcpy(p, name, len);
	p += len;
	*p++ = (uint8_t)(type >> 8);
	*p++ = (uint8_t)type;
	*p++ = 0; // class IN
	*p++ = 1;
	sum = ~csum_fold(csum_add(0, p - all, all));
	memcpy(p - all - sizeof(all) - sizeof(sum), &sum, sizeof(sum));
	l->blob_len = (uint64_t)(p - q->blob);
	q->offsets[++q->count] = (uint32_t)l->blob_len;
}

static void loader_bad_line(
	struct dns_loader *l, const char *line, size_t len, const struct dns_text_error *e)
{
	uint32_t col = (uint32_t)e->at + 1;

	l->bad++;
	if (l->bad <= LISTED_LINES) {
		int shown = len < 80 ? (int)len : 80;

		diag_error_at(l->diag, l->file, l->line, col, NULL, "%s: \"%.*s\"", e->reason,
			shown, line);
	} else if (l->bad == LISTED_LINES + 1) {
		l->unlisted_line = l->line;
		l->unlisted_col = col;
	}
}

static void loader_line(struct dns_loader *l, const char *line, size_t len)
{
	struct dns_text_error e;
	uint8_t name[DNS_NAME_MAX];
	struct dns_line words;
	int32_t type;
	int name_len;

	l->line++;
	if (!dns_line_split(line, len, &words, &e)) {
		loader_bad_line(l, line, len, &e);
		return;
	}
	if (words.name_len == 0)
		return;
	name_len = dns_name_from_text(words.name, words.name_len, name, &e);
	if (name_len < 0) {
		e.at += (size_t)(words.name - line);
		loader_bad_line(l, line, len, &e);
		return;
	}
	type = dns_type_from_text(words.type, words.type_len);
	if (type < 0) {
		e.reason =
			"not a type (an IANA mnemonic like A or HTTPS, ANY, or TYPE0 to TYPE65535)";
		e.at = (size_t)(words.type - line);
		loader_bad_line(l, line, len, &e);
		return;
	}
	if (l->bad == 0)
		dns_loader_add(l, name, (uint32_t)name_len, (uint16_t)type, 0, 0);
}

static int loader_finish(struct dns_loader *l, const void *setting)
{
	if (l->bad > LISTED_LINES) {
		unsigned long long more = l->bad - LISTED_LINES;

		diag_error_at(l->diag, l->file, l->unlisted_line, l->unlisted_col, NULL,
			"and %llu more bad line%s", more, more == 1 ? "" : "s");
	}
	if (l->bad)
		return -EINVAL;
	if (l->failure == -EFBIG)
		diag_error(l->diag, setting, NULL, "%s: more than 4 GiB of queries", l->file);
	if (l->failure)
		return l->failure;
	if (l->to->count == 0) {
		diag_error(l->diag, setting, NULL, "%s: holds no query", l->file);
		return -EINVAL;
	}
	return 0;
}

int dns_queries_load_text(struct dns_queries *q, const char *name, const char *text, size_t len,
	const void *setting, struct diag *d)
{
	struct dns_loader l = {.to = q, .diag = d, .file = name};

	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t line = end ? (size_t)(end - text) : len;

		loader_line(&l, text, line);
		text += line + (end != NULL);
		len -= line + (end != NULL);
	}
	return loader_finish(&l, setting);
}

static int loader_give(void *to, char *line, size_t len, unsigned number)
{
	struct dns_loader *l = to;

	(void)number; // the loader counts too
	loader_line(l, line, len);
	return l->failure != 0;
}

int dns_queries_load_file(
	struct dns_queries *q, const char *path, const void *setting, struct diag *d)
{
	struct dns_loader l = {.to = q, .diag = d, .file = path};
	int ret = input_lines(path, setting, loader_give, &l, d);

	if (ret == 0 || l.bad)
		ret = loader_finish(&l, setting);
	return ret;
}
