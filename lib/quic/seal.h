// SPDX-License-Identifier: BSD-3-Clause
// Protection of QUIC packets and their headers (RFC 9001 section 5) for ngtcp2, by crypt/gcm.h and
// nettle in place of its helper on GnuTLS, which allocates memory for each key and packet. Keys are
// pieces of a pool; ngtcp2 passes them as handles.
// Path: hot (seal_packet, seal_open, seal_mask) | cold (keys from secrets). The thread that owns
// the connection.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ngtcp2/ngtcp2.h>

#include "crypt/keys.h"
#include "crypt/record.h"
#include "quic/pool.h"

#define SEAL_IV  12
#define SEAL_TAG 16

// The callbacks encrypt, decrypt and hp_mask of ngtcp2.
int seal_packet(uint8_t *dest, const ngtcp2_crypto_aead *aead, const ngtcp2_crypto_aead_ctx *ctx,
	const uint8_t *plaintext, size_t len, const uint8_t *nonce, size_t nonce_len,
	const uint8_t *aad, size_t aad_len);
int seal_open(uint8_t *dest, const ngtcp2_crypto_aead *aead, const ngtcp2_crypto_aead_ctx *ctx,
	const uint8_t *ciphertext, size_t len, const uint8_t *nonce, size_t nonce_len,
	const uint8_t *aad, size_t aad_len);
int seal_mask(uint8_t *dest, const ngtcp2_crypto_cipher *hp, const ngtcp2_crypto_cipher_ctx *ctx,
	const uint8_t *sample);

// The context of a suite, in ngtcp2's terms.
ngtcp2_crypto_ctx seal_context(enum record_suite suite);
enum record_suite seal_suite(const ngtcp2_crypto_ctx *ctx);

// The keys of one direction: handles in a pool, freed by pool_give. `header` is NULL after a key
// update, which leaves that key as it is.
struct seal_keys {
	ngtcp2_crypto_aead_ctx packet;
	ngtcp2_crypto_cipher_ctx header;
	uint8_t iv[SEAL_IV];
};

// Derives keys from a traffic secret. version: of QUIC. Returns false without memory.
bool seal_keys_make(struct pool_share *p, struct seal_keys *out, enum record_suite suite,
	uint32_t version, const uint8_t *secret, bool header);
// The key of packets alone.
bool seal_key_make(struct pool_share *p, ngtcp2_crypto_aead_ctx *out, enum record_suite suite,
	const uint8_t *key);
void seal_keys_free(struct pool_share *p, struct seal_keys *k);
// The secrets of Initial packets (RFC 9001 section 5.2).
void seal_initial(uint32_t version, const uint8_t *dcid, size_t dcid_len, uint8_t client[32],
	uint8_t server[32]);
// Replaces a secret by the next one (RFC 9001 section 6.1).
void seal_next(enum record_suite suite, uint32_t version, uint8_t *secret);
// The key of the tag of Retry packets (RFC 9001 section 5.8).
const uint8_t *seal_retry_key(uint32_t version);
