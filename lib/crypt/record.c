// SPDX-License-Identifier: BSD-3-Clause
// Path: hot, but for record_cache_init. The thread that owns the connection.
#include "crypt/record.h"

#include <assert.h>
#include <string.h>

#include <nettle/chacha-poly1305.h>
#include <nettle/gcm.h>
#include <nettle/nettle-meta.h>

#include "base/bytes.h"
#include "crypt/gcm.h"

#define TAG      SHORT_GCM_TAG
#define NONCE    SHORT_GCM_NONCE
#define EXPLICIT 8      // octets of a nonce that TLS 1.2 with AES sends
#define VERSION  0x0303 // in the header of both versions

union expanded {
	struct chacha_poly1305_ctx chacha;
	struct short_gcm_key fast;
	struct gcm_aes128_ctx aes128; // from here on without fast
	struct gcm_aes256_ctx aes256;
};

struct record_cache {
	uint32_t mask;
	bool fast;      // AES-GCM by gcm.h
	uint32_t bytes; // of an entry
	uint64_t expansions;
	uint8_t *entries; // union expanded, as much of it as is used
	uint32_t ids[];   // of their ways
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

static size_t aligned(size_t n)
{
	return (n + 63) & ~(size_t)63;
}

// A short entry has only the cache lines that are used, so that many fit into a cache of the CPU.
static size_t entry_bytes(bool fast)
{
	size_t chacha = sizeof(struct chacha_poly1305_ctx), gcm = sizeof(struct short_gcm_key);

	return aligned(!fast ? sizeof(union expanded) : chacha > gcm ? chacha : gcm);
}

static size_t head_bytes(uint32_t entries)
{
	return aligned(sizeof(struct record_cache) + entries * sizeof(uint32_t));
}

size_t record_cache_bytes(uint32_t entries)
{
	return head_bytes(entries) + entries * entry_bytes(short_gcm_is_there());
}

struct record_cache *record_cache_init(void *memory, uint32_t entries)
{
	struct record_cache *c = memory;

	assert(entries && (entries & (entries - 1)) == 0);
	*c = (struct record_cache){.mask = entries - 1, .fast = short_gcm_is_there()};
	c->bytes = (uint32_t)entry_bytes(c->fast);
	c->entries = (uint8_t *)memory + head_bytes(entries);
	memset(c->ids, 0, entries * sizeof(*c->ids));
	return c;
}

uint64_t record_cache_expansions(const struct record_cache *c)
{
	return c->expansions;
}

static inline bool is_fast(const struct record_cache *c, const struct record_way *w)
{
	return c->fast && w->suite != RECORD_CHACHA20_POLY1305;
}

static inline union expanded *expanded_key(struct record_cache *c, const struct record_way *w)
{
	uint32_t i = w->id & c->mask;
	union expanded *e = (union expanded *)(c->entries + (size_t)i * c->bytes);

	if (c->ids[i] == w->id)
		return e;
	// Encryption and decryption of these suites expand a key in the same way.
	if (is_fast(c, w))
		short_gcm_expand(&e->fast, w->key, w->suite == RECORD_AES_256_GCM);
	else
		aeads[w->suite]->set_encrypt_key(e, w->key);
	c->ids[i] = w->id;
	c->expansions++;
	return e;
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
	memcpy(nonce, w->iv, NONCE - EXPLICIT);
	if (explicit)
		memcpy(nonce + NONCE - EXPLICIT, explicit, EXPLICIT);
	else
		bytes_put_be64(
			nonce + NONCE - EXPLICIT, bytes_be64(w->iv + NONCE - EXPLICIT) ^ w->seq);
}

// Encrypts or decrypts the content of a record, len octets behind `lead`, and writes the tag of its
// ciphertext, which may follow it.
static inline void apply(struct record_cache *c, const struct record_way *w, uint8_t *record,
	uint32_t lead, uint32_t len, bool seals, uint8_t *tag)
{
	const struct nettle_aead *aead = aeads[w->suite];
	union expanded *e = expanded_key(c, w);
	uint8_t nonce[NONCE], *content = record + lead;
	struct additional b;

	nonce_fill(nonce, w, lead > RECORD_HEADER ? record + RECORD_HEADER : NULL);
	additional_fill(&b, w, record, len);
	if (is_fast(c, w)) {
		if (seals)
			short_gcm_seal(&e->fast, nonce, b.octets, b.len, content, len, tag);
		else
			short_gcm_open(&e->fast, nonce, b.octets, b.len, content, len, tag);
		return;
	}
	aead->set_nonce(e, nonce);
	aead->update(e, b.len, b.octets);
	if (seals)
		aead->encrypt(e, len, content, content);
	else
		aead->decrypt(e, len, content, content);
	aead->digest(e, TAG, tag);
}

uint32_t record_seal(
	struct record_cache *c, struct record_way *w, uint8_t type, uint8_t *at, uint32_t len)
{
	uint32_t lead = record_lead(w), total;
	uint8_t *content = at + lead;

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
	apply(c, w, at, lead, len, true, content + len);
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

// In a time that does not depend on them.
static inline bool tags_equal(const uint8_t *a, const uint8_t *b)
{
	uint64_t x[2], y[2];

	memcpy(x, a, TAG);
	memcpy(y, b, TAG);
	return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
}

enum record_error record_open(struct record_cache *c, struct record_way *w, uint8_t *record,
	uint32_t len, struct record_opened *out)
{
	uint32_t lead = record_lead(w), left;
	uint8_t *content = record + lead, tag[TAG];

	if (len > RECORD_MOST)
		return RECORD_OVERFLOW;
	if (!w->tls12 && len && record[0] != RECORD_DATA)
		return RECORD_UNEXPECTED;
	if (len < lead + TAG)
		return RECORD_BAD_MAC;
	left = len - lead - TAG;
	apply(c, w, record, lead, left, false, tag);
	if (!tags_equal(tag, content + left))
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
