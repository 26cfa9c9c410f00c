// SPDX-License-Identifier: BSD-3-Clause
// Queries from text to wire form: names and types (dns_names.c), query files (dns_queries.c),
// inline names with patterns (dns_patterns.c), and the choice among them by Zipf (dns_zipf.c).
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

#define DNS_NAME_MAX      255 // octets of wire form, root included
#define DNS_QUESTION_MAX  (DNS_NAME_MAX + 4)
#define DNS_RANDOM_UNIQUE 12 // characters of {random:N} that come from the permutation, 5 bits each
#define DNS_RANDOM_MAX    63 // characters of {random:N}

#define DNS_OPT_HEADER_LEN    11
#define DNS_OPTIONS_MAX       1024 // of all EDNS options of a query, without the server cookie
#define DNS_LINE_OPTIONS_MAX  512  // of those of a line among them, headers included
#define DNS_OPT_MAX           (DNS_OPT_HEADER_LEN + DNS_OPTIONS_MAX)
#define DNS_OWN_OPT_MAX       (DNS_OPT_MAX + DNS_LINE_OPTIONS_MAX)
#define DNS_COOKIE_CLIENT_LEN 8

struct dns_text_error {
	const char *reason; // static text
	size_t at;          // offset of the wrong character
};

// Wire form of a name in presentation form (RFC 1035 section 5.1, RFC 4343 section 2.1), absolute
// with or without final dot, case kept. wire has room for DNS_NAME_MAX bytes. Length, or -EINVAL
// with *e set.
int dns_name_from_text(const char *text, size_t len, uint8_t *wire, struct dns_text_error *e);

// The octet that the escape at text[*at] (a backslash) stands for, *at moved to its last character;
// or -1.
int dns_escape_value(const char *text, size_t len, size_t *at);

// IANA mnemonic in any case, ANY, or TYPEnnn (RFC 3597); -1: none of them.
int32_t dns_type_from_text(const char *text, size_t len);

// The question of a message as the line of a query file, "www.example.com A", without its class.
// text has room for DNS_LINE_MAX. 0, or -EINVAL when the message has none.
#define DNS_LINE_MAX (4 * DNS_NAME_MAX + 16)
int dns_question_text(const uint8_t *message, uint32_t len, char *text);

// IN, CH, HS, NONE or ANY in any case, or CLASSnnn (RFC 3597); -1: none of them.
int32_t dns_class_from_text(const char *text, size_t len);

// An OPT record (RFC 6891). A client subnet is its first option, a cookie its last one.
struct dns_opt {
	uint16_t len;       // 0: none
	uint16_t subnet_at; // of the option's data, to be drawn per query; 0: none
	uint16_t cookie_at; // of the client cookie; 0: none
	uint8_t bytes[DNS_OPT_MAX];
};

// Per query in blob: offset of the random characters in the name and their number (0: none), one
// byte each; sum and length of the question, 16 bits each in memory order; then QNAME, QTYPE,
// QCLASS, and the query's own OPT record, if it has one. The sum is that of all that follows it but
// the length, folded. The number also has DNS_OWN_SUBNET: the OPT has a client subnet of its own.
#define DNS_ENTRY_HEAD 6
#define DNS_ENTRY_MAX  (DNS_ENTRY_HEAD + DNS_QUESTION_MAX + DNS_OWN_OPT_MAX)
#define DNS_OWN_SUBNET 0x80

// Of whole messages (dns_queries.whole): offset of the random characters behind the header and
// their number (0: none), length of the question that a reply repeats (0: that is not one
// question), 16 bits each in memory order; then the message from its flags on.
struct dns_whole {
	uint16_t random_at, random_len, question_len;
	uint16_t cut; // octets of the ID that the message does not have
};

struct dns_queries {
	uint8_t *blob;
	uint32_t *offsets; // count + 1
	uint32_t count;
	uint32_t random_lens;    // bit n: some query has n unique random characters
	bool own_opts;           // some query has an OPT of its own
	bool whole;              // all are whole messages
	bool shorts;             // some of them end within the header
	struct timestamps times; // when each was captured; none: not wanted
	char *used;              // "97 of 100 lines of f: ..."; NULL: all of the file
};

// Lines that cannot be used are left out, and an update message with one of them. bad NULL: without
// a word.
struct dns_skip {
	void (*bad)(void *ctx, const char *line, size_t len, const struct dns_text_error *e);
	void *ctx;
};

// How a list of queries is read.
struct dns_form {
	uint16_t class;              // of lines that name none
	bool two_words;              // ignore all words after the first two
	bool every_opt;              // queries without words for EDNS have opt too
	bool transfers;              // lines are a zone, and the serial of a copy if there is one
	const struct dns_skip *skip; // NULL: a bad line is an error
	const struct dns_opt *opt;   // what the lines' own OPT records are made of
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
	uint32_t unlisted_line, unlisted_col; // the first bad one that is not listed
	int failure;                          // sticky: -ENOMEM, -EFBIG
	const struct dns_skip *skip;          // NULL: bad lines are errors
	struct left_out left_out;             // by what it is
	uint32_t first_left_out;              // line
};

// All loaders: 0, or -errno with the reasons in d. The queries are to be freed either way.
// A query file in dnsperf's format. setting: the memory that names it, for errors about the file as
// a whole.
int dns_queries_load_file(struct dns_queries *q, const struct dns_form *form, const char *path,
	const void *setting, struct diag *d);
// The same from memory; name stands for the file in errors.
int dns_queries_load_text(struct dns_queries *q, const struct dns_form *form, const char *name,
	const char *text, size_t len, const void *setting, struct diag *d);
// Lines (const char *) with {0-999}, {000-999} and {random:N} in their names.
int dns_queries_load_names(struct dns_queries *q, const struct dns_form *form,
	const struct field_list *names, struct diag *d);
// What is taken out of a file of whole messages.
struct dns_wire_form {
	uint16_t ports[2];           // of servers in a capture, over UDP; 0: none
	bool stream;                 // they go over connections
	bool times;                  // of captured ones are wanted
	const struct dns_skip *skip; // told of messages that cannot be sent; NULL: nobody is
};

// A capture, or messages behind their lengths. What cannot be sent is left out. referee: gets the
// answers; NULL: not wanted.
struct dns_referee;
int dns_queries_load_wire(struct dns_queries *q, struct dns_referee *referee,
	const struct dns_wire_form *form, const char *path, const void *setting, struct arena *a,
	struct diag *d);
void dns_queries_free(struct dns_queries *q);

// Left-out lines: count one, and at the end of the file sum them up in l->to->used. used: entries
// of the file.
void dns_loader_leave_out(
	struct dns_loader *l, const char *line, size_t len, const struct dns_text_error *e);
void dns_loader_sum_up(struct dns_loader *l, uint64_t used, const char *kind); // "lines"

// Append the option of a word, "+CODE=HEX", "+CODE:TEXT" or "+CODE", as on the wire. In a text are
// escapes as in names. NULL, or the error.
const char *dns_option_read(struct writer *w, const char *text, size_t len);

// "name [class] type [E|D] [client subnet] [+option]...", and a comment after ; .
struct dns_line {
	const char *name;
	size_t name_len; // 0: a blank line or a comment
	uint16_t type, class;
	bool edns;        // an OPT record, as one of the next three needs it too
	bool dnssec_ok;   // D
	bool incremental; // of a transfer: since serial
	uint32_t serial;
	struct addr_prefix subnet; // addr.len 0: none
	uint16_t options_len;
	uint8_t options[DNS_LINE_OPTIONS_MAX]; // as on the wire
};

// Of form->transfers: "zone [serial]".
// true, or false with *e set.
bool dns_line_parse(const struct dns_form *form, const char *line, size_t len, struct dns_line *out,
	struct dns_text_error *e);

// Append one query; an error is sticky in l->failure. name is in wire form and copied, random_at
// and random_len as in the blob.
void dns_loader_add(struct dns_loader *l, const struct dns_line *line, const uint8_t *name,
	uint32_t len, uint8_t random_at, uint8_t random_len);

// Append the question for a transfer: all of the zone, or its changes since line->serial.
void dns_loader_add_transfer(struct dns_loader *l, const struct dns_line *line, const uint8_t *name,
	uint32_t len, uint8_t random_at, uint8_t random_len);

// Append one message of len bytes, up to 65535, from its ID on, which each transaction writes over.
// random_at counts from the end of the header.
void dns_loader_add_message(struct dns_loader *l, const uint8_t *message, uint32_t len,
	uint16_t random_at, uint16_t random_len);

// Walker's alias table: column i keeps i for a fraction below keep, else gives other.
struct dns_alias {
	uint32_t keep; // of 2^32
	uint32_t other;
};

// Weights 1/rank^exponent; NULL: out of memory. free() it.
struct dns_alias *dns_zipf_build(uint32_t count, double exponent);
