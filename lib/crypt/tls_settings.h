// SPDX-License-Identifier: BSD-3-Clause
// The settings of TLS as rows: of the clients of an item, and of a server. The names of versions,
// ciphers and groups are also the names in results. Path: cold. Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/field.h"
#include "crypt/record.h"

enum tls_verify {
	TLS_VERIFY_NONE,
	TLS_VERIFY_CHAIN, // up to an authority, and the name
	TLS_VERIFY_PIN    // of the public key (RFC 7858 section 4.2)
};
enum tls_resume {
	TLS_RESUME_NONE,
	TLS_RESUME_LAST, // all connections share the newest ticket
	TLS_RESUME_EACH  // each seat has its own, used once
};
enum tls_records { TLS_RECORDS_MESSAGE, TLS_RECORDS_BURST };
enum tls_version { TLS_1_3, TLS_1_2, TLS_VERSIONS };

#define TLS_PIN_LEN  32u // octets of a SHA-256
#define TLS_PINS     8u
#define TLS_NAME_MAX 253

#define TLS_HANDSHAKES_MOST 60000u // at a time

extern const char *const tls_version_names[];
extern const char *const tls_cipher_names[]; // by enum record_suite
extern const char *const tls_group_names[];

// The settings that both ends have. Empty lists: their defaults.
struct tls_common {
	struct field_list versions; // int32_t: enum tls_version
	struct field_list ciphers;  // int32_t: enum record_suite
	struct field_list groups;   // int32_t: index into tls_group_names
	const char *certificate;    // file; NULL: a client has none, a server makes one
	const char *key;
};

struct tls_settings {
	struct tls_common common;
	const char *name;       // of the server, for SNI and its certificate; NULL: none
	int32_t verify;         // enum tls_verify
	const char *ca;         // file; NULL: the system's
	struct field_list pins; // const char *: base64
	const char *alpn;       // "none": none; NULL: the protocol's
	int32_t resume;         // enum tls_resume
	int32_t records;        // enum tls_records
	uint64_t handshakes;    // at a time, of a worker
	uint64_t timeout_ns;    // of a handshake
	bool close_notify;
};

// Settings of a server.
struct tls_server_settings {
	struct tls_common common;
	uint64_t port; // 0: the protocol's
	const char *alpn;
	bool tickets;
	bool close_notify;
	uint64_t handshakes;
};

extern const struct field_section tls_section;
extern const struct field_section tls_server_section;

// s, or the defaults of its rows if it is NULL.
const struct tls_settings *tls_settings_or(const struct tls_settings *s);

const struct tls_server_settings *tls_server_settings_or(const struct tls_server_settings *s);

// Decodes a pin. Returns false if it is not the base64 of 32 octets.
bool tls_pin(const char *text, uint8_t *pin);
// Is the cipher offered, or accepted?
bool tls_has_cipher(const struct tls_common *s, enum record_suite cipher);
// Writes the versions, ciphers and groups as priorities of GnuTLS, up to 511 octets.
#define TLS_PRIORITIES_SIZE 512
void tls_priorities(const struct tls_common *s, char *text);
// The index of a group by GnuTLS's name, TLS_GROUPS - 1: it is not in the list.
uint32_t tls_group_index(const char *word);
const char *tls_group_name(uint32_t i); // "other" for that one
const char *tls_version_name(uint32_t i);
const char *tls_cipher_name(uint32_t i);
#define TLS_GROUPS 10
// Errors go to d.
void tls_check(const struct tls_settings *s, struct diag *d);
void tls_server_check(const struct tls_server_settings *s, struct diag *d);
