// SPDX-License-Identifier: BSD-3-Clause
// Queries from text to wire form: names and types (dns_names.c), query files (dns_queries.c),
// inline names with patterns (dns_patterns.c), and the choice among them by Zipf (dns_zipf.c).
// Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/field.h"

#define DNS_NAME_MAX      255 // octets of wire form, root included
#define DNS_QUESTION_MAX  (DNS_NAME_MAX + 4)
#define DNS_RANDOM_UNIQUE 12 // characters of {random:N} that come from the permutation, 5 bits each

struct dns_text_error {
	const char *reason; // static text
	size_t at;          // offset of the wrong character
};

// Wire form of a name in presentation form (RFC 1035 section 5.1, RFC 4343 section 2.1), absolute
// with or without final dot, case kept. wire has room for DNS_NAME_MAX bytes. Length, or -EINVAL
// with *e set.
int dns_name_from_text(const char *text, size_t len, uint8_t *wire, struct dns_text_error *e);

// IANA mnemonic in any case, ANY, or TYPEnnn (RFC 3597); -1: none of them.
int32_t dns_type_from_text(const char *text, size_t len);

// Per query in blob: offset of the random characters in the name and their number (0: none), one
// byte each; sum and length of the rest, 16 bits each in memory order, the sum folded; then QNAME,
// QTYPE, QCLASS.
#define DNS_ENTRY_HEAD 6

struct dns_queries {
	uint8_t *blob;
	uint32_t *offsets; // count + 1
	uint32_t count;
	uint32_t random_lens; // bit n: some query has n unique random characters
};

struct dns_loader {
	struct dns_queries *to;
	struct diag *diag;
	uint64_t blob_len, blob_room;
	uint32_t offsets_room;
	const char *file;
	uint32_t line;
	uint64_t bad;                         // lines
	uint32_t unlisted_line, unlisted_col; // the first bad one that is not listed
	int failure;                          // sticky: -ENOMEM, -EFBIG
};

// All loaders: 0, or -errno with the reasons in d. The queries are to be freed either way.
// A query file in dnsperf's format. setting: the memory that names it, for errors about the file as
// a whole.
int dns_queries_load_file(
	struct dns_queries *q, const char *path, const void *setting, struct diag *d);
// The same from memory; name stands for the file in errors.
int dns_queries_load_text(struct dns_queries *q, const char *name, const char *text, size_t len,
	const void *setting, struct diag *d);
// "name type" lines (const char *) with {0-999}, {000-999} and {random:N}.
int dns_queries_load_names(struct dns_queries *q, const struct field_list *names, struct diag *d);
void dns_queries_free(struct dns_queries *q);

// Append one query; an error is sticky in l->failure. name is copied, random_at and random_len as
// in the blob.
void dns_loader_add(struct dns_loader *l, const uint8_t *name, uint32_t len, uint16_t type,
	uint8_t random_at, uint8_t random_len);

// The words of "name type ...": true and both set, or false with *e set. Blank lines and comments:
// name_len 0.
struct dns_line {
	const char *name, *type;
	size_t name_len, type_len;
};
bool dns_line_split(const char *line, size_t len, struct dns_line *out, struct dns_text_error *e);

// Walker's alias table: column i keeps i for a fraction below keep, else gives other.
struct dns_alias {
	uint32_t keep; // of 2^32
	uint32_t other;
};

// Weights 1/rank^exponent; NULL: out of memory. free() it.
struct dns_alias *dns_zipf_build(uint32_t count, double exponent);
