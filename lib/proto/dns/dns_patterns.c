// SPDX-License-Identifier: BSD-3-Clause
// Inline names with patterns to wire form: {0-999} counts (leading zeros kept), {random:N} leaves
// room for characters that are drawn per query. Not here: drawing them (dns_request_wire.c). Path:
// cold. Management thread.

#include "proto/dns/dns_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define PARTS_MAX    128
#define EXPANDED_MAX 100000000 // names of one line
#define TEXT_MAX     (4 * DNS_NAME_MAX + 4)
#define PATTERN_TEXT "not a pattern ({0-999}, {000-999} or {random:12}; a brace itself is \\{)"

enum part_kind { PART_TEXT, PART_NUMBER, PART_RANDOM };

struct part {
	enum part_kind kind;
	const char *text; // PART_TEXT
	size_t len;       // PART_TEXT, PART_RANDOM
	uint32_t first, last, value;
	int width; // of PART_NUMBER, leading zeros included
};

struct name_pattern {
	struct part parts[PARTS_MAX];
	uint32_t count;
	uint32_t random_len; // 0: none
};

// The number of digits at text, which are in *n; 0: none, or more than nine.
static size_t number_read(const char *text, size_t len, uint32_t *n)
{
	size_t i;

	*n = 0;
	for (i = 0; i < len && text[i] >= '0' && text[i] <= '9'; i++) {
		if (i == 9)
			return 0;
		*n = *n * 10 + (uint32_t)(text[i] - '0');
	}
	return i;
}

static bool range_part_parse(struct part *p, const char *text, size_t len)
{
	size_t first_len = number_read(text, len, &p->first);
	size_t last_len;

	if (first_len == 0 || first_len == len || text[first_len] != '-')
		return false;
	last_len = number_read(text + first_len + 1, len - first_len - 1, &p->last);
	if (last_len == 0 || first_len + 1 + last_len != len || p->first > p->last)
		return false;
	p->kind = PART_NUMBER;
	p->value = p->first;
	p->width = text[0] == '0' ? (int)first_len : 1;
	return true;
}

static bool random_part_parse(struct part *p, const char *text, size_t len)
{
	static const char word[] = "random:";
	uint32_t n;

	if (len < sizeof(word) || memcmp(text, word, sizeof(word) - 1) != 0)
		return false;
	text += sizeof(word) - 1;
	len -= sizeof(word) - 1;
	if (number_read(text, len, &n) != len || n < 1 || n > DNS_RANDOM_MAX)
		return false;
	p->kind = PART_RANDOM;
	p->len = n;
	return true;
}

// Up to the next brace; an escaped one is text.
static size_t text_end(const char *text, size_t len, size_t at)
{
	while (at < len && text[at] != '{')
		at += text[at] == '\\' ? 2 : 1;
	return at < len ? at : len;
}

// NULL, or the error.
static const char *name_pattern_parse(struct name_pattern *p, const char *text, size_t len)
{
	size_t at = 0, end;

	*p = (struct name_pattern){0};
	while (at < len) {
		struct part *part = &p->parts[p->count++];

		if (p->count == PARTS_MAX)
			return "too many patterns";
		end = text_end(text, len, at);
		if (end > at) {
			*part = (struct part){
				.kind = PART_TEXT, .text = text + at, .len = end - at};
			at = end;
			continue;
		}
		while (end < len && text[end] != '}')
			end++;
		if (end == len)
			return "an open brace without its end (a brace itself is \\{)";
		at++;
		if (!range_part_parse(part, text + at, end - at) &&
			!random_part_parse(part, text + at, end - at))
			return PATTERN_TEXT;
		if (part->kind == PART_RANDOM && p->random_len)
			return "only one {random:N} can be in a name";
		if (part->kind == PART_RANDOM)
			p->random_len = (uint32_t)part->len;
		at = end + 1;
	}
	return NULL;
}

static uint64_t name_pattern_count(const struct name_pattern *p)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < p->count && n <= EXPANDED_MAX; i++)
		if (p->parts[i].kind == PART_NUMBER)
			n *= (uint64_t)p->parts[i].last - p->parts[i].first + 1;
	return n;
}

// The current name as text, with "a" for each random character; its length, or 0 if it is longer
// than any name. *random_at: place of the first random character.
static size_t name_pattern_text(const struct name_pattern *p, char *out, size_t *random_at)
{
	size_t at = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct part *part = &p->parts[i];
		size_t len = part->kind == PART_NUMBER ? 10 : part->len;

		if (len + 1 > TEXT_MAX - at)
			return 0;
		switch (part->kind) {
		case PART_TEXT:
			memcpy(out + at, part->text, len);
			break;
		case PART_NUMBER:
			len = (size_t)snprintf(
				out + at, TEXT_MAX - at, "%0*u", part->width, part->value);
			break;
		case PART_RANDOM:
			memset(out + at, 'a', len);
			*random_at = at;
			break;
		}
		at += len;
	}
	return at;
}

// The last pattern counts fastest. false: all names were made.
static bool name_pattern_next(struct name_pattern *p)
{
	for (uint32_t i = p->count; i-- > 0;) {
		struct part *part = &p->parts[i];

		if (part->kind != PART_NUMBER)
			continue;
		if (part->value++ < part->last)
			return true;
		part->value = part->first;
	}
	return false;
}

// Compile the current name. NULL, or the error.
static const char *name_pattern_add(
	struct dns_loader *l, const struct name_pattern *p, const struct dns_line *words)
{
	struct dns_text_error e = {0};
	uint8_t name[DNS_NAME_MAX];
	char text[TEXT_MAX];
	size_t random_at = 0;
	size_t len = name_pattern_text(p, text, &random_at);
	int before = 2, name_len;

	if (len == 0)
		return "the name is longer than 255 octets";
	// In wire form the characters stand before the last octet but one of the name that ends
	// with the first.
	if (p->random_len)
		before = dns_name_from_text(text, random_at + 1, name, &e);
	name_len = dns_name_from_text(text, len, name, &e);
	if (before < 0 || name_len < 0)
		return e.reason;
	(l->form->transfers ? dns_loader_add_transfer : dns_loader_add)(
		l, words, name, (uint32_t)name_len, (uint8_t)(before - 2), (uint8_t)p->random_len);
	return NULL;
}

// NULL, or the error.
static const char *line_load(struct dns_loader *l, const char *line)
{
	struct dns_text_error e = {0};
	struct dns_line words;
	struct name_pattern p;
	const char *error;

	if (!dns_line_parse(l->form, line, strlen(line), &words, &e))
		return e.reason;
	if (words.name_len == 0)
		return "no name (like: www.example.com A)";
	error = name_pattern_parse(&p, words.name, words.name_len);
	if (error)
		return error;
	if (name_pattern_count(&p) > EXPANDED_MAX)
		return "more than 100 million names";
	do
		error = name_pattern_add(l, &p, &words);
	while (!error && !l->failure && name_pattern_next(&p));
	if (error || !p.random_len)
		return error;
	if (p.random_len < DNS_RANDOM_UNIQUE)
		log_note("\"%s\": {random:%u} gives %llu different names, then they repeat", line,
			p.random_len, 1ull << (5 * p.random_len));
	l->to->random_lens |=
		1u << (p.random_len < DNS_RANDOM_UNIQUE ? p.random_len : DNS_RANDOM_UNIQUE);
	return NULL;
}

int dns_queries_load_names(struct dns_queries *q, const struct dns_form *form,
	const struct field_list *names, struct diag *d)
{
	struct dns_loader l = {.to = q, .form = form, .diag = d};
	const char *const *lines = names->items;
	int ret = 0;

	for (uint32_t i = 0; i < names->count && !l.failure; i++) {
		const char *error = line_load(&l, lines[i]);

		if (!error)
			continue;
		diag_error(d, &lines[i], NULL, "\"%s\": %s", lines[i], error);
		ret = -EINVAL;
	}
	if (l.failure == -EFBIG)
		diag_error(d, names, NULL, "more than 4 GiB of queries");
	return l.failure ? l.failure : ret;
}
