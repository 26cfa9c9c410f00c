// SPDX-License-Identifier: BSD-3-Clause
// Texts with patterns: {0-999} and {000-999} count, {random:N} stands for characters that are drawn
// per message. Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/dns/client/dns_queries.h"

#define DNS_PARTS_MAX    128
#define DNS_EXPANDED_MAX 100000000 // texts per text with patterns

enum dns_part_kind { DNS_PART_TEXT, DNS_PART_NUMBER, DNS_PART_RANDOM };

struct dns_part {
	enum dns_part_kind kind;
	const char *text;
	size_t len; // of text; for a random part, the number of characters
	uint32_t first, last, value;
	int width;                   // of a number, including leading zeros
	const struct dns_part *same; // shares this part's value; NULL: its own
};

struct dns_pattern {
	struct dns_part parts[DNS_PARTS_MAX];
	uint32_t count;
	uint32_t random_len; // 0: none
};

// A name has at most one {random:N}. A message has one value for all, and for numbers of equal
// text.
enum dns_pattern_of { DNS_PATTERN_NAME, DNS_PATTERN_MESSAGE };

// Returns NULL, or the error. p keeps pointers into itself and into text.
const char *dns_pattern_parse(
	struct dns_pattern *p, enum dns_pattern_of of, const char *text, size_t len);

// Number of texts, up to about DNS_EXPANDED_MAX + 1.
uint64_t dns_pattern_count(const struct dns_pattern *p);

// Write the current text, with `random` for each random character; returns its length, or 0 if it
// does not fit. *random_at: offset of the last random part.
size_t dns_pattern_text(
	const struct dns_pattern *p, char random, char *out, size_t room, size_t *random_at);

// The last number counts fastest. false: all texts are done.
bool dns_pattern_next(struct dns_pattern *p);

// Load lines (const char *) with {0-999}, {000-999} and {random:N} in their names, like
// dns_queries_load_file.
int dns_queries_load_names(struct dns_queries *q, const struct dns_form *form,
	const struct field_list *names, struct diag *d);
