// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Any thread.
#include "crypt/keys.h"

#include <assert.h>
#include <string.h>

#include <nettle/hkdf.h>
#include <nettle/hmac.h>

#include "base/bytes.h"

#define PREFIX     "tls13 "
#define LABEL_MOST 18

static const struct {
	const struct nettle_mac *mac;
	size_t key_len;
} suites[RECORD_SUITES] = {
	[RECORD_AES_128_GCM] = {&nettle_hmac_sha256, 16},
	[RECORD_AES_256_GCM] = {&nettle_hmac_sha384, 32},
	[RECORD_CHACHA20_POLY1305] = {&nettle_hmac_sha256, 32},
};

size_t keys_secret_len(enum record_suite suite)
{
	return suites[suite].mac->digest_size;
}

void keys_expand_label(
	enum record_suite suite, const uint8_t *secret, const char *label, uint8_t *out, size_t len)
{
	const struct nettle_mac *mac = suites[suite].mac;
	size_t label_len = strlen(label), n = 0;
	uint8_t info[2 + 1 + sizeof(PREFIX) - 1 + LABEL_MOST + 1];
	union {
		struct hmac_sha256_ctx sha256;
		struct hmac_sha384_ctx sha384;
	} ctx;

	assert(label_len <= LABEL_MOST && len <= UINT8_MAX);
	bytes_put_be16(info, (uint16_t)len);
	info[2] = (uint8_t)(sizeof(PREFIX) - 1 + label_len);
	n = 3;
	memcpy(info + n, PREFIX, sizeof(PREFIX) - 1);
	n += sizeof(PREFIX) - 1;
	memcpy(info + n, label, label_len);
	n += label_len;
	info[n++] = 0; // context
	mac->set_key(&ctx, secret);
	hkdf_expand(&ctx, mac->update, mac->digest, mac->digest_size, n, info, len, out);
}

void keys_way(struct record_way *w, enum record_suite suite, const uint8_t *secret, uint32_t id)
{
	*w = (struct record_way){.suite = (uint8_t)suite, .id = id};
	keys_expand_label(suite, secret, "key", w->key, suites[suite].key_len);
	keys_expand_label(suite, secret, "iv", w->iv, sizeof(w->iv));
}

void keys_next(enum record_suite suite, uint8_t *secret)
{
	uint8_t next[KEYS_SECRET_MOST];

	keys_expand_label(suite, secret, "traffic upd", next, keys_secret_len(suite));
	memcpy(secret, next, keys_secret_len(suite));
}
