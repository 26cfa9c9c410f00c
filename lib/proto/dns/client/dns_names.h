// SPDX-License-Identifier: BSD-3-Clause
// DNS names and numbers in presentation form: domain names, types, classes and escapes from text,
// questions back to text, and labels of counters. Path: cold. Any thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DNS_NAME_MAX 255 // octets of wire form, including the root

struct dns_text_error {
	const char *reason; // static text
	size_t at;          // offset of the invalid character
};

// Wire form of a name in presentation form (RFC 1035 section 5.1, RFC 4343 section 2.1), absolute
// with or without final dot, case kept. wire has room for DNS_NAME_MAX bytes. Returns the length,
// or -EINVAL with *e set.
int dns_name_from_text(const char *text, size_t len, uint8_t *wire, struct dns_text_error *e);

// The octet for the escape at text[*at] (a backslash), or -1. Moves *at to the escape's last
// character.
int dns_escape_value(const char *text, size_t len, size_t *at);

// IANA mnemonic in any case, ANY, or TYPEnnn (RFC 3597); -1: none of these.
int32_t dns_type_from_text(const char *text, size_t len);

// The question of a message as a line of a query file, "www.example.com A", without its class. text
// has room for DNS_LINE_MAX. 0, or -EINVAL if the message has no question.
#define DNS_LINE_MAX (4 * DNS_NAME_MAX + 16)
int dns_question_text(const uint8_t *message, uint32_t len, char *text);

// IN, CH, HS, NONE or ANY in any case, or CLASSnnn (RFC 3597); -1: none of these.
int32_t dns_class_from_text(const char *text, size_t len);

extern const char *const dns_rcode_names[];       // 0..23, NULL-terminated
extern const char *const dns_plain_rcode_names[]; // without extended ones, NULL-terminated

// Names of values in counters
const char *dns_rcode_label(uint32_t i);
const char *dns_size_label(uint32_t i);
const char *dns_type_bucket_label(uint32_t i);
const char *dns_ede_label(uint32_t i);
const char *dns_tsig_error_label(uint32_t i);
