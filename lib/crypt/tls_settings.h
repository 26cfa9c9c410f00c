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

// Faults of a server's handshakes, each in a share of them, and at most one in each: the number of
// a fault, its name, and its help text. The first ones replace the handshake, or begin it later;
// the others are handshakes with settings of their own.
// clang-format off
#define TLS_FAULTS(X) \
	X(TLS_FAULT_SILENT, "silent", "handshakes that get no answer") \
	X(TLS_FAULT_RESET, "reset", "handshakes that are answered by a reset of the connection") \
	X(TLS_FAULT_ALERT, "alert", \
		"handshakes that are answered by a fatal alert, handshake_failure") \
	X(TLS_FAULT_SLOW, "slow", "handshakes that are answered after `slow_by`") \
	X(TLS_FAULT_NO_ALPN, "no_alpn", "handshakes that select no protocol") \
	X(TLS_FAULT_WRONG_ALPN, "wrong_alpn", \
		"handshakes that want another protocol: the alert no_application_protocol") \
	X(TLS_FAULT_HELLO_RETRY, "hello_retry", \
		"handshakes that ask for another group (HelloRetryRequest): the second one of `groups`") \
	X(TLS_FAULT_NO_TICKET, "no_ticket", "handshakes without a ticket") \
	X(TLS_FAULT_TICKET_REFUSED, "ticket_refused", \
		"handshakes that take no ticket: full ones, as if the key of tickets were new")
// clang-format on

#define TLS_FAULT_NUMBER(number, name, help) number,
enum tls_fault { TLS_FAULT_NONE, TLS_FAULTS(TLS_FAULT_NUMBER) TLS_FAULT_COUNT };
#define TLS_FAULT_OF_SETTINGS TLS_FAULT_NO_ALPN // the first one

const char *tls_fault_name(uint32_t fault); // "none" for TLS_FAULT_NONE

#define TLS_GROUPS 10 // their names, and "other"

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
	bool early; // messages as early data
};

struct tls_fault_settings {
	double shares[TLS_FAULT_COUNT];
	uint64_t slow_ns;
};

enum tls_defect { TLS_DEFECT_NONE, TLS_DEFECT_EXPIRED, TLS_DEFECT_NOT_YET, TLS_DEFECT_WRONG_NAME };

// The certificate that a server makes.
struct tls_made_settings {
	const char *name;
	int32_t kind;                    // enum certificate_kind
	int32_t defect;                  // enum tls_defect
	uint64_t padding;                // octets
	const char *issuer, *issuer_key; // files; NULL: it signs itself
};

// Settings of a server.
struct tls_server_settings {
	struct tls_common common;
	struct tls_made_settings *made;       // NULL: the defaults
	struct tls_fault_settings *handshake; // NULL: no faults
	uint64_t port;                        // 0: the protocol's
	const char *alpn;
	bool tickets;
	bool early; // accepted
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
// Writes the versions, ciphers and groups as priorities of GnuTLS, up to 511 octets. A server
// follows its own order.
#define TLS_PRIORITIES_SIZE 512
void tls_priorities(const struct tls_common *s, bool server, char *text);
// Returns the groups of s with the second one first. Its items are at `room`, which has space for
// all. Returns false if there is only one.
bool tls_second_group(const struct tls_common *s, int32_t room[TLS_GROUPS], struct field_list *out);
// The index of a group by GnuTLS's name, TLS_GROUPS - 1: it is not in the list.
uint32_t tls_group_index(const char *word);
const char *tls_group_name(uint32_t i); // "other" for that one
const char *tls_version_name(uint32_t i);
const char *tls_cipher_name(uint32_t i);
// Errors go to d.
void tls_check(const struct tls_settings *s, struct diag *d);
// Likewise of settings that QUIC lacks: it has no records.
void tls_check_quic(const struct tls_settings *s, struct diag *d);
void tls_server_check(const struct tls_server_settings *s, struct diag *d);
