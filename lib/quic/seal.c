// SPDX-License-Identifier: BSD-3-Clause
// Path: hot (seal_packet, seal_open, seal_mask) | cold (the rest). The thread that owns the
// connection.
#include "quic/seal.h"

#include <string.h>

#include <nettle/aes.h>
#include <nettle/chacha-poly1305.h>
#include <nettle/chacha.h>
#include <nettle/gcm.h>
#include <nettle/hkdf.h>
#include <nettle/hmac.h>
#include <nettle/nettle-meta.h>

#include "base/bytes.h"
#include "crypt/gcm.h"
#include "quic/compat.h"

#define INITIAL_SECRET 32

static const uint8_t salt_1[] = "\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad"
				"\xcc\xbb\x7f\x0a";
static const uint8_t salt_2[] = QUIC_V2_SALT;

struct packet_key {
	uint8_t suite; // enum record_suite
	bool fast;     // by gcm.h
	union {
		struct chacha_poly1305_ctx chacha;
		struct short_gcm_key gcm;
		struct gcm_aes128_ctx aes128; // without fast
		struct gcm_aes256_ctx aes256;
	};
};

struct header_key {
	uint8_t suite;
	union {
		struct aes128_ctx aes128;
		struct aes256_ctx aes256;
		struct chacha_ctx chacha;
	};
};

static const struct nettle_aead *const aeads[RECORD_SUITES] = {
	[RECORD_AES_128_GCM] = &nettle_gcm_aes128,
	[RECORD_AES_256_GCM] = &nettle_gcm_aes256,
	[RECORD_CHACHA20_POLY1305] = &nettle_chacha_poly1305,
};

// --- packets

static inline void by_library(const struct packet_key *key, bool seals, uint8_t *at, size_t len,
	const uint8_t *nonce, const uint8_t *aad, size_t aad_len, uint8_t *tag)
{
	const struct nettle_aead *aead = aeads[key->suite];
	void *ctx = (void *)&key->chacha;

	aead->set_nonce(ctx, nonce);
	aead->update(ctx, aad_len, aad);
	if (seals)
		aead->encrypt(ctx, len, at, at);
	else
		aead->decrypt(ctx, len, at, at);
	aead->digest(ctx, SEAL_TAG, tag);
}

int seal_packet(uint8_t *dest, const ngtcp2_crypto_aead *aead, const ngtcp2_crypto_aead_ctx *ctx,
	const uint8_t *plaintext, size_t len, const uint8_t *nonce, size_t nonce_len,
	const uint8_t *aad, size_t aad_len)
{
	struct packet_key *key = ctx->native_handle;

	(void)aead;
	(void)nonce_len; // SEAL_IV
	if (dest != plaintext && len)
		memmove(dest, plaintext, len);
	if (key->fast)
		short_gcm_seal(
			&key->gcm, nonce, aad, (uint32_t)aad_len, dest, (uint32_t)len, dest + len);
	else
		by_library(key, true, dest, len, nonce, aad, aad_len, dest + len);
	return 0;
}

int seal_open(uint8_t *dest, const ngtcp2_crypto_aead *aead, const ngtcp2_crypto_aead_ctx *ctx,
	const uint8_t *ciphertext, size_t len, const uint8_t *nonce, size_t nonce_len,
	const uint8_t *aad, size_t aad_len)
{
	struct packet_key *key = ctx->native_handle;
	uint64_t x[2], y[2];
	uint8_t tag[SEAL_TAG];

	(void)aead;
	(void)nonce_len;
	if (len < SEAL_TAG)
		return NGTCP2_ERR_DECRYPT;
	len -= SEAL_TAG;
	if (dest != ciphertext && len)
		memmove(dest, ciphertext, len);
	if (key->fast)
		short_gcm_open(&key->gcm, nonce, aad, (uint32_t)aad_len, dest, (uint32_t)len, tag);
	else
		by_library(key, false, dest, len, nonce, aad, aad_len, tag);
	memcpy(x, tag, SEAL_TAG);
	memcpy(y, ciphertext + len, SEAL_TAG);
	return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0 ? 0 : NGTCP2_ERR_DECRYPT;
}

int seal_mask(uint8_t *dest, const ngtcp2_crypto_cipher *hp, const ngtcp2_crypto_cipher_ctx *ctx,
	const uint8_t *sample)
{
	static const uint8_t zeros[NGTCP2_HP_MASKLEN];
	struct header_key *key = ctx->native_handle;
	uint8_t block[AES_BLOCK_SIZE];

	(void)hp;
	switch (key->suite) {
	case RECORD_AES_128_GCM:
		aes128_encrypt(&key->aes128, sizeof(block), block, sample);
		break;
	case RECORD_AES_256_GCM:
		aes256_encrypt(&key->aes256, sizeof(block), block, sample);
		break;
	default:
		// The counter is the first word of the sample (RFC 9001 section 5.4.4).
		chacha_set_nonce96(&key->chacha, sample + 4);
		chacha_set_counter32(&key->chacha, sample);
		chacha_crypt32(&key->chacha, sizeof(zeros), block, zeros);
	}
	memcpy(dest, block, NGTCP2_HP_MASKLEN);
	return 0;
}

// --- contexts

// A handle is not NULL: ngtcp2 asks for that.
static void *number_of(enum record_suite suite)
{
	return (void *)(uintptr_t)(suite + 1);
}

ngtcp2_crypto_ctx seal_context(enum record_suite suite)
{
	bool chacha = suite == RECORD_CHACHA20_POLY1305;

	// Limits of RFC 9001 section 6.6.
	return (ngtcp2_crypto_ctx){.aead = {number_of(suite), SEAL_TAG},
		.md = {number_of(suite)},
		.hp = {number_of(suite)},
		.max_encryption = chacha ? 1ull << 62 : 1ull << 23,
		.max_decryption_failure = chacha ? 1ull << 36 : 1ull << 52};
}

enum record_suite seal_suite(const ngtcp2_crypto_ctx *ctx)
{
	return (enum record_suite)((uintptr_t)ctx->aead.native_handle - 1);
}

// --- keys

bool seal_key_make(struct pool_share *p, ngtcp2_crypto_aead_ctx *out, enum record_suite suite,
	const uint8_t *key)
{
	bool fast = suite != RECORD_CHACHA20_POLY1305 && short_gcm_is_there();
	size_t room = fast                                ? sizeof(struct short_gcm_key)
	              : suite == RECORD_CHACHA20_POLY1305 ? sizeof(struct chacha_poly1305_ctx)
	                                                  : sizeof(struct gcm_aes256_ctx);
	struct packet_key *k = pool_take(p, offsetof(struct packet_key, gcm) + room);

	out->native_handle = k;
	if (!k)
		return false;
	k->suite = (uint8_t)suite;
	k->fast = fast;
	if (fast)
		short_gcm_expand(&k->gcm, key, suite == RECORD_AES_256_GCM);
	else
		aeads[suite]->set_encrypt_key(&k->chacha, key); // for decryption, too
	return true;
}

static bool header_key_make(struct pool_share *p, ngtcp2_crypto_cipher_ctx *out,
	enum record_suite suite, const uint8_t *key)
{
	struct header_key *k = pool_take(p, sizeof(*k));

	out->native_handle = k;
	if (!k)
		return false;
	k->suite = (uint8_t)suite;
	if (suite == RECORD_AES_128_GCM)
		aes128_set_encrypt_key(&k->aes128, key);
	else if (suite == RECORD_AES_256_GCM)
		aes256_set_encrypt_key(&k->aes256, key);
	else
		chacha_set_key(&k->chacha, key);
	return true;
}

bool seal_keys_make(struct pool_share *p, struct seal_keys *out, enum record_suite suite,
	uint32_t version, const uint8_t *secret, bool header)
{
	static const char *const labels[2][3] = {
		{"quic key", "quic iv", "quic hp"}, {"quicv2 key", "quicv2 iv", "quicv2 hp"}};
	const char *const *label = labels[version == QUIC_V2];
	size_t len = suite == RECORD_AES_128_GCM ? 16 : 32;
	uint8_t key[32];

	out->packet.native_handle = out->header.native_handle = NULL;
	keys_expand_label(suite, secret, label[1], out->iv, SEAL_IV);
	keys_expand_label(suite, secret, label[0], key, len);
	if (!seal_key_make(p, &out->packet, suite, key))
		return false;
	if (!header)
		return true;
	keys_expand_label(suite, secret, label[2], key, len);
	if (header_key_make(p, &out->header, suite, key))
		return true;
	seal_keys_free(p, out);
	return false;
}

void seal_keys_free(struct pool_share *p, struct seal_keys *k)
{
	pool_give(p, k->packet.native_handle);
	pool_give(p, k->header.native_handle);
	k->packet.native_handle = k->header.native_handle = NULL;
}

void seal_initial(uint32_t version, const uint8_t *dcid, size_t dcid_len, uint8_t client[32],
	uint8_t server[32])
{
	struct hmac_sha256_ctx ctx;
	uint8_t secret[INITIAL_SECRET];

	hmac_sha256_set_key(&ctx, sizeof(salt_1) - 1, version == QUIC_V2 ? salt_2 : salt_1);
	hkdf_extract(&ctx, (nettle_hash_update_func *)hmac_sha256_update,
		(nettle_hash_digest_func *)hmac_sha256_digest, sizeof(secret), dcid_len, dcid,
		secret);
	keys_expand_label(RECORD_AES_128_GCM, secret, "client in", client, INITIAL_SECRET);
	keys_expand_label(RECORD_AES_128_GCM, secret, "server in", server, INITIAL_SECRET);
}

void seal_next(enum record_suite suite, uint32_t version, uint8_t *secret)
{
	uint8_t next[KEYS_SECRET_MOST];

	keys_expand_label(suite, secret, version == QUIC_V2 ? "quicv2 ku" : "quic ku", next,
		keys_secret_len(suite));
	memcpy(secret, next, keys_secret_len(suite));
}

const uint8_t *seal_retry_key(uint32_t version)
{
	return (const uint8_t *)(version == QUIC_V2 ? QUIC_V2_RETRY : NGTCP2_RETRY_KEY_V1);
}
