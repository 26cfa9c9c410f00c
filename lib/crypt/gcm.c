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
#define GROUP 4 // blocks hashed with one reduction

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

// Adds whole blocks of octets, and a last part of one.
INLINE block hashed(const struct short_gcm_key *k, block y, const uint8_t *at, uint32_t len)
{
	uint8_t last[16] = {0};

	for (; len >= 16 * GROUP; at += 16 * GROUP, len -= 16 * GROUP) {
		struct product p = {_mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128()};

		multiply(&p, _mm_xor_si128(y, reversed(load(at))), load(k->power[GROUP - 1]));
		for (int i = 1; i < GROUP; i++)
			multiply(&p, reversed(load(at + 16 * i)), load(k->power[GROUP - 1 - i]));
		y = reduced(&p);
	}
	for (; len >= 16; at += 16, len -= 16)
		y = times(_mm_xor_si128(y, reversed(load(at))), load(k->power[0]));
	if (len == 0)
		return y;
	memcpy(last, at, len);
	return times(_mm_xor_si128(y, reversed(load(last))), load(k->power[0]));
}

INLINE block tag_of(const struct short_gcm_key *k, const uint8_t *aad, uint32_t aad_len,
	const uint8_t *cipher, uint32_t len)
{
	block y = hashed(k, _mm_setzero_si128(), aad, aad_len);

	y = hashed(k, y, cipher, len);
	y = _mm_xor_si128(y, _mm_set_epi64x((long long)aad_len * 8, (long long)len * 8));
	return reversed(times(y, load(k->power[0])));
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

// XORs len octets with a keystream of at least as many.
INLINE void mix(uint8_t *at, uint32_t len, const block *stream)
{
	uint8_t part[16], pad[16];

	for (; len >= 16; at += 16, len -= 16)
		store(at, _mm_xor_si128(load(at), *stream++));
	if (len == 0)
		return;
	store(pad, *stream);
	memcpy(part, at, len);
	store(part, _mm_xor_si128(load(part), load(pad)));
	memcpy(at, part, len);
}

// Encrypts or decrypts all octets. Returns the block that hides the tag.
INLINE block with_keystream(
	const struct short_gcm_key *k, const uint8_t *nonce, uint8_t *at, uint32_t len)
{
	block stream[WIDTH], first, mask;
	uint32_t counter = WIDTH, n;
	uint8_t octets[16] = {0};

	memcpy(octets, nonce, SHORT_GCM_NONCE);
	first = load(octets);
	if (len <= 16 * (WIDTH / 2 - 1)) {
		keystream(k, first, 1, stream, WIDTH / 2);
		mix(at, len, stream + 1);
		return stream[0];
	}
	keystream(k, first, 1, stream, WIDTH);
	mask = stream[0];
	n = len < 16 * (WIDTH - 1) ? len : 16 * (WIDTH - 1);
	mix(at, n, stream + 1);
	for (at += n, len -= n; len; at += n, len -= n, counter += WIDTH) {
		keystream(k, first, counter + 1, stream, WIDTH);
		n = len < 16 * WIDTH ? len : 16 * WIDTH;
		mix(at, n, stream);
	}
	return mask;
}

FAST void short_gcm_seal(const struct short_gcm_key *k, const uint8_t *nonce, const uint8_t *aad,
	uint32_t aad_len, uint8_t *content, uint32_t len, uint8_t *tag)
{
	block mask = with_keystream(k, nonce, content, len);

	store(tag, _mm_xor_si128(mask, tag_of(k, aad, aad_len, content, len)));
}

FAST void short_gcm_open(const struct short_gcm_key *k, const uint8_t *nonce, const uint8_t *aad,
	uint32_t aad_len, uint8_t *content, uint32_t len, uint8_t *tag)
{
	block hash = tag_of(k, aad, aad_len, content, len);

	store(tag, _mm_xor_si128(with_keystream(k, nonce, content, len), hash));
}

// --- keys

INLINE block spread(block key, block assist)
{
	key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
	key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
	return _mm_xor_si128(key, assist);
}

#define EVEN(key, from, rcon)                                                                      \
	spread(key, _mm_shuffle_epi32(_mm_aeskeygenassist_si128(from, rcon), 0xff))
#define ODD(key, from) spread(key, _mm_shuffle_epi32(_mm_aeskeygenassist_si128(from, 0), 0xaa))

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
	block h, power;

	if (aes256)
		expand_256(k, load(key), load(key + 16));
	else
		expand_128(k, load(key));
	h = power = hash_key(k);
	store(k->power[0], h);
	for (int i = 1; i < GROUP; i++)
		store(k->power[i], power = times(power, h));
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

void short_gcm_seal(const struct short_gcm_key *k, const uint8_t *nonce, const uint8_t *aad,
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

void short_gcm_open(const struct short_gcm_key *k, const uint8_t *nonce, const uint8_t *aad,
	uint32_t aad_len, uint8_t *content, uint32_t len, uint8_t *tag)
{
	short_gcm_seal(k, nonce, aad, aad_len, content, len, tag);
}

#endif
