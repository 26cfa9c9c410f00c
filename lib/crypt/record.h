// SPDX-License-Identifier: BSD-3-Clause
// Records of TLS 1.3 (RFC 8446 section 5) and of TLS 1.2 with AEAD (RFC 5246, 5288, 7905) after the
// handshake: one direction of a connection is a key, an IV and a sequence number. Knows nothing of
// handshakes; keys.h makes keys from secrets. Path: hot. The thread that owns the connection.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum record_suite {
	RECORD_AES_128_GCM,
	RECORD_AES_256_GCM,
	RECORD_CHACHA20_POLY1305,
	RECORD_SUITES
};

// Content types on the wire.
enum { RECORD_CHANGE_CIPHER = 20, RECORD_ALERT, RECORD_HANDSHAKE, RECORD_DATA };

// Alerts (RFC 8446 section 6): their numbers, in this order, and then all others.
#define RECORD_ALERT_ROWS(X)                                                                       \
	X(0, "close_notify")                                                                       \
	X(10, "unexpected_message")                                                                \
	X(20, "bad_record_mac")                                                                    \
	X(22, "record_overflow")                                                                   \
	X(40, "handshake_failure")                                                                 \
	X(42, "bad_certificate")                                                                   \
	X(43, "unsupported_certificate")                                                           \
	X(44, "certificate_revoked")                                                               \
	X(45, "certificate_expired")                                                               \
	X(46, "certificate_unknown")                                                               \
	X(47, "illegal_parameter")                                                                 \
	X(48, "unknown_ca")                                                                        \
	X(49, "access_denied")                                                                     \
	X(50, "decode_error")                                                                      \
	X(51, "decrypt_error")                                                                     \
	X(70, "protocol_version")                                                                  \
	X(71, "insufficient_security")                                                             \
	X(80, "internal_error")                                                                    \
	X(86, "inappropriate_fallback")                                                            \
	X(90, "user_canceled")                                                                     \
	X(100, "no_renegotiation")                                                                 \
	X(109, "missing_extension")                                                                \
	X(110, "unsupported_extension")                                                            \
	X(112, "unrecognized_name")                                                                \
	X(113, "bad_certificate_status_response")                                                  \
	X(115, "unknown_psk_identity")                                                             \
	X(116, "certificate_required")                                                             \
	X(120, "no_application_protocol")

#define RECORD_ALERTS 29

// The place of an alert among them, and the name of a place.
uint32_t record_alert_place(int alert);
const char *record_alert_name(uint32_t place);

enum record_error {
	RECORD_OK,
	RECORD_BAD_MAC,    // not sealed with this key at this place of the stream: bad_record_mac
	RECORD_OVERFLOW,   // longer than allowed: record_overflow
	RECORD_UNEXPECTED, // of another type, or without content: unexpected_message
};

#define RECORD_HEADER     5
#define RECORD_LEAD_MOST  13                                     // octets in front of the content
#define RECORD_TRAIL_MOST 17                                     // and behind it
#define RECORD_CONTENT    (1 << 14)                              // octets of content at most
#define RECORD_MOST       (RECORD_HEADER + RECORD_CONTENT + 256) // of a whole record

// One direction of a connection.
struct record_way {
	uint8_t key[32]; // 16 octets with AES-128
	uint8_t iv[12];  // TLS 1.2 with AES: the salt in 4 octets
	uint8_t suite;   // enum record_suite
	bool tls12;
	uint16_t flags; // the owner's, and unused here
	uint32_t id;    // of the key, never given again; 0: none
	uint32_t chain; // the owner's, too
	uint64_t seq;
};

// Expanded keys (384 octets each by gcm.h, else 4 to 5 KiB) of the ways that were used last, for
// one thread. Memory is the caller's: record_cache_bytes(entries), aligned to 64. entries: a power
// of two.
struct record_cache;
size_t record_cache_bytes(uint32_t entries);
struct record_cache *record_cache_init(void *memory, uint32_t entries);
uint64_t record_cache_expansions(const struct record_cache *c);

// Octets in front of the content of a sealed record.
static inline uint32_t record_lead(const struct record_way *w)
{
	return RECORD_HEADER + (w->tls12 && w->suite != RECORD_CHACHA20_POLY1305 ? 8 : 0);
}

// Seals `len` octets (0 to RECORD_CONTENT) at `at` + record_lead, in place, with RECORD_TRAIL_MOST
// octets of room behind them. Returns the length of the record, which begins at `at`.
uint32_t record_seal(
	struct record_cache *c, struct record_way *w, uint8_t type, uint8_t *at, uint32_t len);

// The length of the record whose first `len` octets are at `at`. Returns 0 if more octets are
// needed to know; UINT32_MAX if it is longer than RECORD_MOST.
uint32_t record_whole(const uint8_t *at, uint32_t len);

struct record_opened {
	uint8_t *content; // within the record
	uint32_t len;
	uint8_t type;
};

// Opens a whole record of `len` octets in place. An error ends the connection, and the octets
// of the record then mean nothing.
enum record_error record_open(struct record_cache *c, struct record_way *w, uint8_t *record,
	uint32_t len, struct record_opened *out);
