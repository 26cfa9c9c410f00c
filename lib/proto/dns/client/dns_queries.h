// SPDX-License-Identifier: BSD-3-Clause
// Queries in wire form, and their conversion from text: files and lines. Names and types are in
// dns_names.h, inline names with patterns in dns_patterns.h, whole messages in dns_wire_file.h.
// Path: cold. Management thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/field.h"
#include "base/left_out.h"
#include "net/timestamps.h"
#include "proto/dns/client/dns_names.h"

#define DNS_QUESTION_MAX  (DNS_NAME_MAX + 4)
#define DNS_RANDOM_UNIQUE 12 // characters of {random:N} from the permutation, 5 bits each
#define DNS_RANDOM_MAX    63 // characters of {random:N}

#define DNS_OPT_HEADER_LEN    11
#define DNS_OPTIONS_MAX       1024 // of all EDNS options of a query, without server cookie
#define DNS_LINE_OPTIONS_MAX  512  // of a line's options among them, including headers
#define DNS_OPT_MAX           (DNS_OPT_HEADER_LEN + DNS_OPTIONS_MAX)
#define DNS_OWN_OPT_MAX       (DNS_OPT_MAX + DNS_LINE_OPTIONS_MAX)
#define DNS_COOKIE_CLIENT_LEN 8

// An OPT record (RFC 6891). A client subnet is its first option, a cookie its last.
struct dns_opt {
	uint16_t len;       // 0: none
	uint16_t subnet_at; // of the option's data, to be drawn per query; 0: none
	uint16_t cookie_at; // of the client cookie; 0: none
	uint8_t bytes[DNS_OPT_MAX];
};

// Per query in blob: offset and number (0: none) of the random characters in the name, one byte
// each; sum and length of the question, 16 bits each in memory order; then QNAME, QTYPE, QCLASS,
// and the query's own OPT record, if any. The sum covers everything after it except the length,
// folded. DNS_OWN_SUBNET in the number: the OPT has its own client subnet.
#define DNS_ENTRY_HEAD 6
#define DNS_ENTRY_MAX  (DNS_ENTRY_HEAD + DNS_QUESTION_MAX + DNS_OWN_OPT_MAX)
#define DNS_OWN_SUBNET 0x80

// Head of a whole message (dns_queries.whole): offset after the header and number (0: none) of the
// random characters, length of the question that a reply repeats (0: not exactly one question), 16
// bits each in memory order; then the message, starting at its flags.
struct dns_whole {
	uint16_t random_at, random_len, question_len;
	uint16_t cut; // octets missing from the ID
};

struct dns_queries {
	uint8_t *blob;
	uint32_t *offsets; // count + 1
	uint32_t count;
	uint32_t random_lens;    // bit n: some query has n unique random characters
	bool own_opts;           // some query has its own OPT
	bool whole;              // all are whole messages
	bool shorts;             // some end within the header
	struct timestamps times; // capture times; none: not wanted
	char *used;              // "97 of 100 lines of f: ..."; NULL: the whole file
};

// Leaves out unusable lines, and update messages that contain one. bad NULL: silently.
struct dns_skip {
	void (*bad)(void *ctx, const char *line, size_t len, const struct dns_text_error *e);
	void *ctx;
};

// Options for reading a list of queries.
struct dns_form {
	uint16_t class;              // default class of lines
	bool two_words;              // ignore all words after the first two
	bool every_opt;              // queries without EDNS words also get opt
	bool transfers;              // a line is a zone, optionally with the serial of a copy
	const struct dns_skip *skip; // NULL: a bad line is an error
	const struct dns_opt *opt;   // base of the lines' own OPT records
};

struct dns_loader {
	struct dns_queries *to;
	const struct dns_form *form;
	struct diag *diag;
	uint64_t blob_len, blob_room;
	uint32_t offsets_room;
	const char *file;
	uint32_t line;
	uint64_t bad;                         // lines
	uint32_t unlisted_line, unlisted_col; // first bad one that is not listed
	int failure;                          // sticky: -ENOMEM, -EFBIG
	const struct dns_skip *skip;          // NULL: bad lines are errors
	struct left_out left_out;             // by reason
	uint32_t first_left_out;              // line
};

// All loaders: 0, or -errno with the reasons in d. The queries must be freed either way.
// Load a query file in dnsperf's format. setting: the memory of its name, for errors about the
// whole file.
int dns_queries_load_file(struct dns_queries *q, const struct dns_form *form, const char *path,
	const void *setting, struct diag *d);
// Likewise from memory; name stands for the file in errors.
int dns_queries_load_text(struct dns_queries *q, const struct dns_form *form, const char *name,
	const char *text, size_t len, const void *setting, struct diag *d);
void dns_queries_free(struct dns_queries *q);

// Left-out lines: count one, and at the end of the file sum them up in l->to->used. used: entries
// of the file.
void dns_loader_leave_out(
	struct dns_loader *l, const char *line, size_t len, const struct dns_text_error *e);
void dns_loader_sum_up(struct dns_loader *l, uint64_t used, const char *kind); // "lines"

// Append the option of a word, "+CODE=HEX", "+CODE:TEXT" or "+CODE", in wire format. Escapes in a
// text are as in names. Returns NULL, or the error.
const char *dns_option_read(struct writer *w, const char *text, size_t len);

// "name [class] type [E|D] [client subnet] [+option]...", and a comment after ; .
struct dns_line {
	const char *name;
	size_t name_len; // 0: a blank line or a comment
	uint16_t type, class;
	bool edns;        // has an OPT record, as implied by the next three
	bool dnssec_ok;   // D
	bool incremental; // for a transfer: changes since serial
	uint32_t serial;
	struct addr_prefix subnet; // addr.len 0: none
	uint16_t options_len;
	uint8_t options[DNS_LINE_OPTIONS_MAX]; // in wire format
};

// With form->transfers: "zone [serial]".
// Returns true, or false with *e set.
bool dns_line_parse(const struct dns_form *form, const char *line, size_t len, struct dns_line *out,
	struct dns_text_error *e);

// Append one query; errors are sticky in l->failure. name is in wire form and copied, random_at and
// random_len as in the blob.
void dns_loader_add(struct dns_loader *l, const struct dns_line *line, const uint8_t *name,
	uint32_t len, uint8_t random_at, uint8_t random_len);

// Append the question for a transfer: of the whole zone, or of its changes since line->serial.
void dns_loader_add_transfer(struct dns_loader *l, const struct dns_line *line, const uint8_t *name,
	uint32_t len, uint8_t random_at, uint8_t random_len);

// Append one message of len bytes, up to 65535, including its ID, which each transaction
// overwrites. random_at counts from the end of the header.
void dns_loader_add_message(struct dns_loader *l, const uint8_t *message, uint32_t len,
	uint16_t random_at, uint16_t random_len);
