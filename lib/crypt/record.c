// SPDX-License-Identifier: BSD-3-Clause
// Path: hot, but for record_cache_init. The thread that owns the connection.
#include "crypt/record.h"

#include <assert.h>
#include <string.h>

#include <nettle/chacha-poly1305.h>
#include <nettle/gcm.h>
#include <nettle/memops.h>
#include <nettle/nettle-meta.h>

#include "base/bytes.h"

#define TAG      16
#define NONCE    12
#define EXPLICIT 8      // octets of a nonce that TLS 1.2 with AES sends
#define VERSION  0x0303 // in the header of both versions

struct expanded {
	uint32_t id; // of the way
	union {
		struct gcm_aes128_ctx aes128;
		struct gcm_aes256_ctx aes256;
		struct chacha_poly1305_ctx chacha;
	} ctx;
} __attribute__((aligned(64)));

struct record_cache {
	uint32_t mask;
	uint64_t expansions;
	struct expanded entries[];
};

static const struct nettle_aead *const aeads[RECORD_SUITES] = {
	[RECORD_AES_128_GCM] = &nettle_gcm_aes128,
	[RECORD_AES_256_GCM] = &nettle_gcm_aes256,
	[RECORD_CHACHA20_POLY1305] = &nettle_chacha_poly1305,
};

#define ALERT_NUMBER(number, name) number,
#define ALERT_NAME(number, name)   name,

static const uint8_t alert_numbers[] = {RECORD_ALERT_ROWS(ALERT_NUMBER)};
static const char *const alert_names[] = {RECORD_ALERT_ROWS(ALERT_NAME) "other"};

_Static_assert(sizeof(alert_numbers) + 1 == RECORD_ALERTS, "the header counts them");

uint32_t record_alert_place(int alert)
{
	uint32_t i = 0;

	while (i < RECORD_ALERTS - 1 && alert_numbers[i] != alert)
		i++;
	return i;
}

const char *record_alert_name(uint32_t place)
{
	return alert_names[place];
}

size_t record_cache_bytes(uint32_t entries)
{
	return sizeof(struct record_cache) + entries * sizeof(struct expanded);
}

struct record_cache *record_cache_init(void *memory, uint32_t entries)
{
	struct record_cache *c = memory;

	assert(entries && (entries & (entries - 1)) == 0);
	c->mask = entries - 1;
	c->expansions = 0;
	for (uint32_t i = 0; i < entries; i++)
		c->entries[i].id = 0;
	return c;
}

uint64_t record_cache_expansions(const struct record_cache *c)
{
	return c->expansions;
}

static inline void *expanded_key(struct record_cache *c, const struct record_way *w)
{
	struct expanded *e = &c->entries[w->id & c->mask];

	if (e->id != w->id) {
		// Encryption and decryption of these suites expand a key in the same way.
		aeads[w->suite]->set_encrypt_key(&e->ctx, w->key);
		e->id = w->id;
		c->expansions++;
	}
	return &e->ctx;
}

// Additional data of the AEAD: the header; in TLS 1.2 also the sequence number, and the length of
// the content.
struct additional {
	uint8_t octets[13];
	uint32_t len;
};

static inline void additional_fill(
	struct additional *b, const struct record_way *w, const uint8_t *header, uint32_t content)
{
	if (!w->tls12) {
		memcpy(b->octets, header, RECORD_HEADER);
		b->len = RECORD_HEADER;
		return;
	}
	bytes_put_be64(b->octets, w->seq);
	memcpy(b->octets + 8, header, 3);
	bytes_put_be16(b->octets + 11, (uint16_t)content);
	b->len = sizeof(b->octets);
}

// The nonce of the record; explicit: its octets in the record, or NULL.
static inline void nonce_fill(uint8_t *nonce, const struct record_way *w, const uint8_t *explicit)
{
	memcpy(nonce, w->iv, NONCE);
	if (explicit)
		memcpy(nonce + NONCE - EXPLICIT, explicit, EXPLICIT);
	else
		bytes_put_be64(nonce + NONCE - 8, bytes_be64(nonce + NONCE - 8) ^ w->seq);
}

// Begins a record: the context with its nonce and additional data.
static inline void *begin(struct record_cache *c, const struct record_way *w, const uint8_t *record,
	uint32_t lead, uint32_t content)
{
	void *ctx = expanded_key(c, w);
	uint8_t nonce[NONCE];
	struct additional b;

	nonce_fill(nonce, w, lead > RECORD_HEADER ? record + RECORD_HEADER : NULL);
	additional_fill(&b, w, record, content);
	aeads[w->suite]->set_nonce(ctx, nonce);
	aeads[w->suite]->update(ctx, b.len, b.octets);
	return ctx;
}

uint32_t record_seal(
	struct record_cache *c, struct record_way *w, uint8_t type, uint8_t *at, uint32_t len)
{
	const struct nettle_aead *aead = aeads[w->suite];
	uint32_t lead = record_lead(w), total;
	uint8_t *content = at + lead;
	void *ctx;

	if (lead > RECORD_HEADER)
		bytes_put_be64(at + RECORD_HEADER, w->seq);
	if (!w->tls12) {
		content[len++] = type;
		type = RECORD_DATA;
	}
	total = lead + len + TAG;
	at[0] = type;
	bytes_put_be16(at + 1, VERSION);
	bytes_put_be16(at + 3, (uint16_t)(total - RECORD_HEADER));
	ctx = begin(c, w, at, lead, len);
	aead->encrypt(ctx, len, content, content);
	aead->digest(ctx, TAG, content + len);
	w->seq++;
	return total;
}

uint32_t record_whole(const uint8_t *at, uint32_t len)
{
	uint32_t whole;

	if (len < RECORD_HEADER)
		return 0;
	whole = RECORD_HEADER + bytes_be16(at + 3);
	return whole <= RECORD_MOST ? whole : UINT32_MAX;
}

enum record_error record_open(struct record_cache *c, struct record_way *w, uint8_t *record,
	uint32_t len, struct record_opened *out)
{
	const struct nettle_aead *aead = aeads[w->suite];
	uint32_t lead = record_lead(w), left;
	uint8_t *content = record + lead, tag[TAG];
	void *ctx;

	if (len > RECORD_MOST)
		return RECORD_OVERFLOW;
	if (!w->tls12 && len && record[0] != RECORD_DATA)
		return RECORD_UNEXPECTED;
	if (len < lead + TAG)
		return RECORD_BAD_MAC;
	left = len - lead - TAG;
	ctx = begin(c, w, record, lead, left);
	aead->decrypt(ctx, left, content, content);
	aead->digest(ctx, TAG, tag);
	if (!memeql_sec(tag, content + left, TAG))
		return RECORD_BAD_MAC;
	w->seq++;
	out->type = record[0];
	if (!w->tls12) {
		// Zeros behind the type are padding.
		while (left && content[left - 1] == 0)
			left--;
		if (left == 0)
			return RECORD_UNEXPECTED;
		out->type = content[--left];
	}
	out->content = content;
	out->len = left;
	return left <= RECORD_CONTENT ? RECORD_OK : RECORD_OVERFLOW;
}
