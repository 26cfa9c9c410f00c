// SPDX-License-Identifier: BSD-3-Clause
// AES-GCM by instructions of the CPU: a vector of the standard, and the library's result for every
// length up to some blocks, both key lengths and all additional data.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <nettle/gcm.h>

#include "base/rand.h"
#include "crypt/gcm.h"

#define MOST 700

static void need_instructions(void)
{
	if (!short_gcm_is_there())
		skip();
}

// NIST SP 800-38D: test case 3 of the submission.
static void a_vector_of_the_standard(void **state)
{
	static const uint8_t key[16] = {0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65, 0x73, 0x1c, 0x6d, 0x6a,
		0x8f, 0x94, 0x67, 0x30, 0x83, 0x08},
			     nonce[12] = {0xca, 0xfe, 0xba, 0xbe, 0xfa, 0xce, 0xdb, 0xad, 0xde,
				     0xca, 0xf8, 0x88},
			     tag[16] = {0x4d, 0x5c, 0x2a, 0xf3, 0x27, 0xcd, 0x64, 0xa6, 0x2c, 0xf3,
				     0x5a, 0xbd, 0x2b, 0xa6, 0xfa, 0xb4};
	uint8_t text[64] = {0xd9, 0x31, 0x32, 0x25, 0xf8, 0x84, 0x06, 0xe5, 0xa5, 0x59, 0x09, 0xc5,
		0xaf, 0xf5, 0x26, 0x9a, 0x86, 0xa7, 0xa9, 0x53, 0x15, 0x34, 0xf7, 0xda, 0x2e, 0x4c,
		0x30, 0x3d, 0x8a, 0x31, 0x8a, 0x72, 0x1c, 0x3c, 0x0c, 0x95, 0x95, 0x68, 0x09, 0x53,
		0x2f, 0xcf, 0x0e, 0x24, 0x49, 0xa6, 0xb5, 0x25, 0xb1, 0x6a, 0xed, 0xf5, 0xaa, 0x0d,
		0xe6, 0x57, 0xba, 0x63, 0x7b, 0x39, 0x1a, 0xaf, 0xd2, 0x55};
	struct short_gcm_key k;
	uint8_t out[16];

	(void)state;
	need_instructions();
	short_gcm_expand(&k, key, false);
	short_gcm_seal(&k, nonce, NULL, 0, text, sizeof(text), out);
	assert_memory_equal(out, tag, sizeof(tag));
}

static void sealed_by_library(bool aes256, const uint8_t *key, const uint8_t *nonce,
	const uint8_t *aad, uint32_t aad_len, uint8_t *text, uint32_t len, uint8_t *tag)
{
	struct gcm_aes128_ctx small;
	struct gcm_aes256_ctx large;

	if (aes256) {
		gcm_aes256_set_key(&large, key);
		gcm_aes256_set_iv(&large, SHORT_GCM_NONCE, nonce);
		gcm_aes256_update(&large, aad_len, aad);
		gcm_aes256_encrypt(&large, len, text, text);
		gcm_aes256_digest(&large, SHORT_GCM_TAG, tag);
		return;
	}
	gcm_aes128_set_key(&small, key);
	gcm_aes128_set_iv(&small, SHORT_GCM_NONCE, nonce);
	gcm_aes128_update(&small, aad_len, aad);
	gcm_aes128_encrypt(&small, len, text, text);
	gcm_aes128_digest(&small, SHORT_GCM_TAG, tag);
}

static void the_library_agrees(void **state)
{
	uint64_t seed = 1;

	(void)state;
	need_instructions();
	for (uint32_t len = 0; len < MOST; len++)
		for (int aes256 = 0; aes256 < 2; aes256++) {
			uint8_t random[32 + 12 + 16 + MOST], ours[MOST], theirs[MOST], tags[2][16];
			const uint8_t *nonce = random + 32, *aad = nonce + 12, *text = aad + 16;
			struct short_gcm_key k;

			for (size_t i = 0; i < sizeof(random); i++)
				random[i] = (uint8_t)(seed = rand_hash(seed + i));
			memcpy(ours, text, MOST);
			memcpy(theirs, text, MOST);
			short_gcm_expand(&k, random, aes256);
			short_gcm_seal(&k, nonce, aad, len % 17, ours, len, tags[0]);
			sealed_by_library(
				aes256, random, nonce, aad, len % 17, theirs, len, tags[1]);
			assert_memory_equal(ours, theirs, MOST); // what is behind it, too
			assert_memory_equal(tags[0], tags[1], 16);
			short_gcm_open(&k, nonce, aad, len % 17, ours, len, tags[1]);
			assert_memory_equal(ours, text, MOST);
			assert_memory_equal(tags[0], tags[1], 16);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vector_of_the_standard),
		cmocka_unit_test(the_library_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
