// SPDX-License-Identifier: BSD-3-Clause
// Counter mode with eight blocks at a time. The hash is computed as POLYVAL with a transformed key
// (RFC 8452 appendix A): bits are in the CPU's order, and the reduction takes two multiplications.
// Path: hot | cold (short_gcm_is_there). Any thread.
#include "crypt/gcm.h"

#include <string.h>

#if defined(__x86_64__)

#include <emmintrin.h>
#include <smmintrin.h>
#include <tmmintrin.h>
#include <wmmintrin.h>

#define FAST   __attribute__((target("aes,pclmul,ssse3,sse4.1")))
#define INLINE static inline __attribute__((always_inline, target("aes,pclmul,ssse3,sse4.1")))

#define WIDTH 8 // blocks encrypted at a time

typedef __m128i block;

INLINE block load(const void *from)
{
	return _mm_loadu_si128(from);
}

INLINE void store(void *to, block b)
{
	_mm_storeu_si128(to, b);
}

INLINE block reversed(block b)
{
	return _mm_shuffle_epi8(
		b, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

bool short_gcm_is_there(void)
{
	return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul") &&
	       __builtin_cpu_supports("sse4.1");
}

// --- the hash

struct product {
	block low, middle, high;
};

INLINE void multiply(struct product *sum, block a, block b)
{
	sum->low = _mm_xor_si128(sum->low, _mm_clmulepi64_si128(a, b, 0x00));
	sum->high = _mm_xor_si128(sum->high, _mm_clmulepi64_si128(a, b, 0x11));
	sum->middle = _mm_xor_si128(sum->middle, _mm_clmulepi64_si128(a, b, 0x01));
	sum->middle = _mm_xor_si128(sum->middle, _mm_clmulepi64_si128(a, b, 0x10));
}

// Modulo x^128 + x^127 + x^126 + x^121 + 1, and divided by x^128.
INLINE block reduced(const struct product *p)
{
	const block poly = _mm_set_epi64x((long long)0xc200000000000000, 1);
	block low = _mm_xor_si128(p->low, _mm_slli_si128(p->middle, 8));
	block high = _mm_xor_si128(p->high, _mm_srli_si128(p->middle, 8));

	for (int i = 0; i < 2; i++)
		low = _mm_xor_si128(
			_mm_clmulepi64_si128(low, poly, 0x10), _mm_shuffle_epi32(low, 78));
	return _mm_xor_si128(low, high);
}

INLINE block times(block a, block b)
{
	struct product p = {_mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128()};

	multiply(&p, a, b);
	return reduced(&p);
}

// A message whose number of blocks is known is multiplied by falling powers of the key, so that as
// many blocks as there are powers take one reduction.
struct hash {
	const struct short_gcm_key *key;
	struct product sum;
	block y;
	uint32_t left; // blocks up to the next reduction
};

// Computes the powers that `count` blocks take.
INLINE void powers_for(struct short_gcm_key *k, uint32_t count)
{
	for (count = count < SHORT_GCM_POWERS ? count : SHORT_GCM_POWERS; k->powers < count;) {
		uint32_t half = (k->powers + 1) / 2; // a short way: the second half at once

		store(k->power[k->powers],
			times(load(k->power[half - 1]), load(k->power[k->powers - half])));
		k->powers++;
	}
}

INLINE struct hash hash_of(struct short_gcm_key *k, uint32_t count)
{
	const block zero = _mm_setzero_si128();

	powers_for(k, count);
	return (struct hash){k, {zero, zero, zero}, zero, (count - 1) % SHORT_GCM_POWERS + 1};
}

INLINE void hash_add(struct hash *h, block b)
{
	multiply(&h->sum, _mm_xor_si128(h->y, reversed(b)), load(h->key->power[--h->left]));
	h->y = _mm_setzero_si128();
	if (h->left)
		return;
	h->y = reduced(&h->sum);
	h->sum = (struct product){_mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128()};
	h->left = SHORT_GCM_POWERS;
}

// --- a part of a block: no call of memcpy, and stores as wide as the loads that follow

INLINE block load_part(const uint8_t *at, uint32_t len)
{
	uint64_t words[2] = {0, 0}, *to = &words[len >> 3];
	uint32_t four, shift = 0;
	uint16_t two;

	if (len & 8) {
		memcpy(&words[0], at, 8);
		at += 8;
	}
	if (len & 4) {
		memcpy(&four, at, 4);
		*to = four;
		at += 4;
		shift = 32;
	}
	if (len & 2) {
		memcpy(&two, at, 2);
		*to |= (uint64_t)two << shift;
		at += 2;
		shift += 16;
	}
	if (len & 1)
		*to |= (uint64_t)*at << shift;
	return _mm_set_epi64x((long long)words[1], (long long)words[0]);
}

INLINE void store_part(uint8_t *at, block b, uint32_t len)
{
	uint64_t word = (uint64_t)_mm_cvtsi128_si64(b);

	if (len & 8) {
		memcpy(at, &word, 8);
		word = (uint64_t)_mm_extract_epi64(b, 1);
		at += 8;
	}
	if (len & 4) {
		memcpy(at, &word, 4);
		word >>= 32;
		at += 4;
	}
	if (len & 2) {
		memcpy(at, &word, 2);
		word >>= 16;
		at += 2;
	}
	if (len & 1)
		*at = (uint8_t)word;
}

// Zeros behind the first len octets.
INLINE block only(block b, uint32_t len)
{
	static const uint8_t mask[32] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

	return _mm_and_si128(b, load(mask + 16 - len));
}

// --- the cipher

// Encrypts the counters from `counter` on.
INLINE void keystream(
	const struct short_gcm_key *k, block nonce, uint32_t counter, block *out, int count)
{
	block key = load(k->round[0]);

	for (int i = 0; i < count; i++)
		out[i] = _mm_xor_si128(
			_mm_insert_epi32(nonce, (int)__builtin_bswap32(counter + (uint32_t)i), 3),
			key);
	for (uint32_t r = 1; r < k->rounds; r++) {
		key = load(k->round[r]);
		for (int i = 0; i < count; i++)
			out[i] = _mm_aesenc_si128(out[i], key);
	}
	key = load(k->round[k->rounds]);
	for (int i = 0; i < count; i++)
		out[i] = _mm_aesenclast_si128(out[i], key);
}

// Encrypts or decrypts octets, and adds the ciphertext to the hash. sealing: all ones; of open: 0.
INLINE void mix(struct hash *h, uint8_t *at, uint32_t len, const block *stream, block sealing)
{
	block in;

	for (; len >= 16; at += 16, len -= 16, stream++) {
		in = load(at);
		hash_add(h, _mm_xor_si128(in, _mm_and_si128(*stream, sealing)));
		store(at, _mm_xor_si128(in, *stream));
	}
	if (len == 0)
		return;
	in = load_part(at, len);
	hash_add(h, only(_mm_xor_si128(in, _mm_and_si128(*stream, sealing)), len));
	store_part(at, _mm_xor_si128(in, *stream), len);
}

// Encrypts or decrypts all octets, and adds the ciphertext to the hash. Returns the block that
// hides the tag.
INLINE block with_keystream(
	struct hash *h, const uint8_t *nonce, uint8_t *at, uint32_t len, block sealing)
{
	block stream[WIDTH], first, mask;
	uint32_t counter = 1, n, head;
	uint64_t rest;

	memcpy(&head, nonce, sizeof(head));
	memcpy(&rest, nonce + sizeof(head), sizeof(rest));
	first = _mm_set_epi64x((long long)(rest >> 32), (long long)(rest << 32 | head));
	if (len <= 16 * (WIDTH / 2 - 1))
		keystream(h->key, first, counter, stream, WIDTH / 2);
	else
		keystream(h->key, first, counter, stream, WIDTH);
	mask = stream[0];
	for (uint32_t skip = 1;; skip = 0) {
		n = 16 * (WIDTH - skip);
		n = len < n ? len : n;
		mix(h, at, n, stream + skip, sealing);
		at += n;
		len -= n;
		if (len == 0)
			return mask;
		counter += WIDTH;
		keystream(h->key, first, counter, stream, WIDTH);
	}
}

// One copy for both directions: the code takes a share of the CPU's cache of instructions.
static FAST __attribute__((noinline)) void apply(struct short_gcm_key *k, const uint8_t *nonce,
	const uint8_t *aad, uint32_t aad_len, uint8_t *content, uint32_t len, uint8_t *tag,
	bool seals)
{
	struct hash h = hash_of(k, (aad_len + 15) / 16 + (len + 15) / 16 + 1);
	block sizes = _mm_set_epi64x((long long)aad_len * 8, (long long)len * 8), mask;

	for (uint32_t left = aad_len; left; aad += 16, left -= left < 16 ? left : 16)
		hash_add(&h, left < 16 ? load_part(aad, left) : load(aad));
	mask = with_keystream(&h, nonce, content, len, _mm_set1_epi32(seals ? -1 : 0));
	hash_add(&h, reversed(sizes));
	store(tag, _mm_xor_si128(mask, reversed(h.y)));
}

FAST void short_gcm_seal(struct short_gcm_key *k, const uint8_t *nonce, const uint8_t *aad,
	uint32_t aad_len, uint8_t *content, uint32_t len, uint8_t *tag)
{
	apply(k, nonce, aad, aad_len, content, len, tag, true);
}

FAST void short_gcm_open(struct short_gcm_key *k, const uint8_t *nonce, const uint8_t *aad,
	uint32_t aad_len, uint8_t *content, uint32_t len, uint8_t *tag)
{
	apply(k, nonce, aad, aad_len, content, len, tag, false);
}

// --- keys

// The next round key: the one before, summed up, and the substituted last word of `from`.
INLINE block next_round(block key, block from, int rcon, bool rotates)
{
	const block word = rotates ? _mm_set1_epi32(0x0c0f0e0d) : _mm_set1_epi32(0x0f0e0d0c);

	// All columns are alike, so that the shift of rows changes nothing.
	from = _mm_aesenclast_si128(_mm_shuffle_epi8(from, word), _mm_set1_epi32(rcon));
	key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
	key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
	return _mm_xor_si128(key, from);
}

#define EVEN(key, from, rcon) next_round(key, from, rcon, true)
#define ODD(key, from)        next_round(key, from, 0, false)

INLINE void expand_128(struct short_gcm_key *k, block key)
{
	store(k->round[0], key);
	store(k->round[1], key = EVEN(key, key, 0x01));
	store(k->round[2], key = EVEN(key, key, 0x02));
	store(k->round[3], key = EVEN(key, key, 0x04));
	store(k->round[4], key = EVEN(key, key, 0x08));
	store(k->round[5], key = EVEN(key, key, 0x10));
	store(k->round[6], key = EVEN(key, key, 0x20));
	store(k->round[7], key = EVEN(key, key, 0x40));
	store(k->round[8], key = EVEN(key, key, 0x80));
	store(k->round[9], key = EVEN(key, key, 0x1b));
	store(k->round[10], EVEN(key, key, 0x36));
	k->rounds = 10;
}

INLINE void expand_256(struct short_gcm_key *k, block a, block b)
{
	store(k->round[0], a);
	store(k->round[1], b);
	store(k->round[2], a = EVEN(a, b, 0x01));
	store(k->round[3], b = ODD(b, a));
	store(k->round[4], a = EVEN(a, b, 0x02));
	store(k->round[5], b = ODD(b, a));
	store(k->round[6], a = EVEN(a, b, 0x04));
	store(k->round[7], b = ODD(b, a));
	store(k->round[8], a = EVEN(a, b, 0x08));
	store(k->round[9], b = ODD(b, a));
	store(k->round[10], a = EVEN(a, b, 0x10));
	store(k->round[11], b = ODD(b, a));
	store(k->round[12], a = EVEN(a, b, 0x20));
	store(k->round[13], b = ODD(b, a));
	store(k->round[14], EVEN(a, b, 0x40));
	k->rounds = 14;
}

// The hash key, multiplied by x.
INLINE block hash_key(const struct short_gcm_key *k)
{
	block h = load(k->round[0]), carry;

	for (uint32_t r = 1; r < k->rounds; r++)
		h = _mm_aesenc_si128(h, load(k->round[r]));
	h = reversed(_mm_aesenclast_si128(h, load(k->round[k->rounds])));
	carry = _mm_srai_epi32(
		_mm_shuffle_epi32(h, 0xff), 31); // all ones, if the highest bit is set
	h = _mm_or_si128(_mm_slli_epi64(h, 1), _mm_slli_si128(_mm_srli_epi64(h, 63), 8));
	return _mm_xor_si128(
		h, _mm_and_si128(carry, _mm_set_epi64x((long long)0xc200000000000000, 1)));
}

FAST void short_gcm_expand(struct short_gcm_key *k, const uint8_t *key, bool aes256)
{
	if (aes256)
		expand_256(k, load(key), load(key + 16));
	else
		expand_128(k, load(key));
	store(k->power[0], hash_key(k));
	k->powers = 1;
}

#else

bool short_gcm_is_there(void)
{
	return false;
}

void short_gcm_expand(struct short_gcm_key *k, const uint8_t *key, bool aes256)
{
	(void)k;
	(void)key;
	(void)aes256;
}

void short_gcm_seal(struct short_gcm_key *k, const uint8_t *nonce, const uint8_t *aad,
	uint32_t aad_len, uint8_t *content, uint32_t len, uint8_t *tag)
{
	(void)k;
	(void)nonce;
	(void)aad;
	(void)aad_len;
	(void)content;
	(void)len;
	(void)tag;
}

void short_gcm_open(struct short_gcm_key *k, const uint8_t *nonce, const uint8_t *aad,
	uint32_t aad_len, uint8_t *content, uint32_t len, uint8_t *tag)
{
	short_gcm_seal(k, nonce, aad, aad_len, content, len, tag);
}

#endif
