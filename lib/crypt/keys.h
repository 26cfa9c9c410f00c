// SPDX-License-Identifier: BSD-3-Clause
// Keys from secrets by the key schedule of TLS 1.3 (RFC 8446 section 7), which QUIC uses as well
// (RFC 9001 section 5.1). Path: cold. Any thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "crypt/record.h"

#define KEYS_SECRET_MOST 48

// Octets of a secret with this suite: the length of its hash.
size_t keys_secret_len(enum record_suite suite);

// HKDF-Expand-Label with an empty context. label: without "tls13 ", up to 18 octets. len: up to
// 255.
void keys_expand_label(enum record_suite suite, const uint8_t *secret, const char *label,
	uint8_t *out, size_t len);

// The key, IV and first sequence number of a traffic secret. id: of the new key, see record.h.
void keys_way(struct record_way *w, enum record_suite suite, const uint8_t *secret, uint32_t id);

// Replaces a traffic secret by the next one, after a KeyUpdate.
void keys_next(enum record_suite suite, uint8_t *secret);
