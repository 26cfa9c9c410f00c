// SPDX-License-Identifier: BSD-3-Clause
// Compiles inline names with patterns to wire form: {0-999} counts (keeping leading zeros),
// {random:N} reserves characters that are drawn per query by dns_request_wire.c. Path: cold.
// Management thread.

#include "proto/dns/client/dns_patterns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "proto/dns/client/dns_internal.h"

#define TEXT_MAX     (4 * DNS_NAME_MAX + 4)
#define PATTERN_TEXT "not a pattern ({0-999}, {000-999} or {random:12}; a brace itself is \\{)"

// Reads a number into *n and returns its digits; 0: none, or more than nine.
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

static bool range_part_parse(struct dns_part *p, const char *text, size_t len)
{
	size_t first_len = number_read(text, len, &p->first);
	size_t last_len;

	if (first_len == 0 || first_len == len || text[first_len] != '-')
		return false;
	last_len = number_read(text + first_len + 1, len - first_len - 1, &p->last);
	if (last_len == 0 || first_len + 1 + last_len != len || p->first > p->last)
		return false;
	p->kind = DNS_PART_NUMBER;
	p->text = text;
	p->len = len;
	p->value = p->first;
	p->width = text[0] == '0' ? (int)first_len : 1;
	return true;
}

static bool random_part_parse(struct dns_part *p, const char *text, size_t len)
{
	static const char word[] = "random:";
	uint32_t n;

	if (len < sizeof(word) || memcmp(text, word, sizeof(word) - 1) != 0)
		return false;
	text += sizeof(word) - 1;
	len -= sizeof(word) - 1;
	if (number_read(text, len, &n) != len || n < 1 || n > DNS_RANDOM_MAX)
		return false;
	p->kind = DNS_PART_RANDOM;
	p->len = n;
	return true;
}

// Up to the next brace; an escaped brace is text.
static size_t text_end(const char *text, size_t len, size_t at)
{
	while (at < len && text[at] != '{')
		at += text[at] == '\\' ? 2 : 1;
	return at < len ? at : len;
}

// An earlier number with identical text; NULL: none.
static const struct dns_part *same_number(
	const struct dns_pattern *p, const struct dns_part *number)
{
	for (const struct dns_part *part = p->parts; part < number; part++)
		if (part->kind == DNS_PART_NUMBER && !part->same && part->len == number->len &&
			memcmp(part->text, number->text, number->len) == 0)
			return part;
	return NULL;
}

const char *dns_pattern_parse(
	struct dns_pattern *p, enum dns_pattern_of of, const char *text, size_t len)
{
	size_t at = 0, end;

	*p = (struct dns_pattern){0};
	while (at < len) {
		struct dns_part *part = &p->parts[p->count++];

		if (p->count == DNS_PARTS_MAX)
			return "too many patterns";
		end = text_end(text, len, at);
		if (end > at) {
			*part = (struct dns_part){
				.kind = DNS_PART_TEXT, .text = text + at, .len = end - at};
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
		if (part->kind == DNS_PART_RANDOM && p->random_len && of == DNS_PATTERN_NAME)
			return "only one {random:N} can be in a name";
		if (part->kind == DNS_PART_RANDOM && p->random_len && p->random_len != part->len)
			return "each {random:N} of a message has the same N";
		if (part->kind == DNS_PART_NUMBER && of == DNS_PATTERN_MESSAGE)
			part->same = same_number(p, part);
		if (part->kind == DNS_PART_RANDOM)
			p->random_len = (uint32_t)part->len;
		at = end + 1;
	}
	return NULL;
}

uint64_t dns_pattern_count(const struct dns_pattern *p)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < p->count && n <= DNS_EXPANDED_MAX; i++)
		if (p->parts[i].kind == DNS_PART_NUMBER && !p->parts[i].same)
			n *= (uint64_t)p->parts[i].last - p->parts[i].first + 1;
	return n;
}

size_t dns_pattern_text(
	const struct dns_pattern *p, char random, char *out, size_t room, size_t *random_at)
{
	size_t at = 0;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct dns_part *part = &p->parts[i];
		size_t len = part->kind == DNS_PART_NUMBER ? 10 : part->len;

		if (len + 1 > room - at)
			return 0;
		switch (part->kind) {
		case DNS_PART_TEXT:
			memcpy(out + at, part->text, len);
			break;
		case DNS_PART_NUMBER:
			len = (size_t)snprintf(out + at, room - at, "%0*u", part->width,
				part->same ? part->same->value : part->value);
			break;
		case DNS_PART_RANDOM:
			memset(out + at, random, len);
			*random_at = at;
			break;
		}
		at += len;
	}
	return at;
}

bool dns_pattern_next(struct dns_pattern *p)
{
	for (uint32_t i = p->count; i-- > 0;) {
		struct dns_part *part = &p->parts[i];

		if (part->kind != DNS_PART_NUMBER || part->same)
			continue;
		if (part->value++ < part->last)
			return true;
		part->value = part->first;
	}
	return false;
}

// Compile the current name. Returns NULL, or the error.
static const char *name_pattern_add(
	struct dns_loader *l, const struct dns_pattern *p, const struct dns_line *words)
{
	struct dns_text_error e = {0};
	uint8_t name[DNS_NAME_MAX];
	char text[TEXT_MAX];
	size_t random_at = 0;
	size_t len = dns_pattern_text(p, 'a', text, sizeof(text), &random_at);
	int before = 2, name_len;

	if (len == 0)
		return "the name is longer than 255 octets";
	// In wire form, the characters precede the second-to-last octet of the name that ends with
	// the first of them.
	if (p->random_len)
		before = dns_name_from_text(text, random_at + 1, name, &e);
	name_len = dns_name_from_text(text, len, name, &e);
	if (before < 0 || name_len < 0)
		return e.reason;
	(l->form->transfers ? dns_loader_add_transfer : dns_loader_add)(
		l, words, name, (uint32_t)name_len, (uint8_t)(before - 2), (uint8_t)p->random_len);
	return NULL;
}

// Returns NULL, or the error.
static const char *line_load(struct dns_loader *l, const char *line)
{
	struct dns_text_error e = {0};
	struct dns_line words;
	struct dns_pattern p;
	const char *error;

	if (!dns_line_parse(l->form, line, strlen(line), &words, &e))
		return e.reason;
	if (words.name_len == 0)
		return "no name (like: www.example.com A)";
	error = dns_pattern_parse(&p, DNS_PATTERN_NAME, words.name, words.name_len);
	if (error)
		return error;
	if (dns_pattern_count(&p) > DNS_EXPANDED_MAX)
		return "more than 100 million names";
	do
		error = name_pattern_add(l, &p, &words);
	while (!error && !l->failure && dns_pattern_next(&p));
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
