// SPDX-License-Identifier: BSD-3-Clause
// Protection of packets and headers by the vectors of RFC 9001 appendix A.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "quic/quic.h"
#include "quic/seal.h"
#include "unit/crypt/crypt_text.h"

static struct pool pool;
static struct pool_share share = {&pool, NULL};
static _Alignas(64) uint8_t memory[1 << 16];

static void is_hex(const uint8_t *octets, const char *hex)
{
	uint8_t expected[64];

	assert_memory_equal(octets, expected, from_hex(hex, expected));
}

static void initial_keys_are_those_of_the_rfc(void **state)
{
	uint8_t dcid[8], client[32], server[32], sample[16], mask[16];
	struct seal_keys k;

	(void)state;
	pool_init(&pool, memory, sizeof(memory));
	from_hex("8394c8f03e515708", dcid);
	seal_initial(QUIC_V1, dcid, sizeof(dcid), client, server);
	is_hex(client, "c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea");
	is_hex(server, "3c199828fd139efd216c155ad844cc81fb82fa8d7446fa7d78be803acdda951b");
	assert_true(seal_keys_make(&share, &k, RECORD_AES_128_GCM, QUIC_V1, client, true));
	is_hex(k.iv, "fa044b2f42a3fd3b46fb255c");
	from_hex("d1b1c98dd7689fb8ec11d242b123dc9b", sample);
	assert_int_equal(seal_mask(mask, NULL, &k.header, sample), 0);
	is_hex(mask, "437b9aec36");
	seal_keys_free(&share, &k);
	assert_int_equal(pool.used, 0);
}

static void a_packet_of_chacha_is_that_of_the_rfc(void **state)
{
	static const char *const packet = "655e5cd55c41f69080575d7999c25a5bfb";
	uint8_t secret[32], header[4], nonce[12], sample[16], mask[16], out[32] = {1};
	struct seal_keys k;

	(void)state;
	pool_init(&pool, memory, sizeof(memory));
	from_hex("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b", secret);
	from_hex("4200bff4", header);
	from_hex("e0459b3474bdd0e46d417eb0", nonce);
	from_hex("5e5cd55c41f69080575d7999c25a5bfb", sample);
	assert_true(seal_keys_make(&share, &k, RECORD_CHACHA20_POLY1305, QUIC_V1, secret, true));
	is_hex(k.iv, "e0459b3474bdd0e44a41c144");
	assert_int_equal(seal_packet(out, NULL, &k.packet, out, 1, nonce, 12, header, 4), 0);
	is_hex(out, packet);
	assert_int_equal(seal_mask(mask, NULL, &k.header, sample), 0);
	is_hex(mask, "aefefe7d03");
	assert_int_equal(seal_open(out, NULL, &k.packet, out, 17, nonce, 12, header, 4), 0);
	assert_int_equal(out[0], 1);
	header[0] ^= 1;
	from_hex(packet, out);
	assert_int_equal(
		seal_open(out, NULL, &k.packet, out, 17, nonce, 12, header, 4), NGTCP2_ERR_DECRYPT);
	assert_int_equal(
		seal_open(out, NULL, &k.packet, out, 15, nonce, 12, header, 4), NGTCP2_ERR_DECRYPT);
	seal_next(RECORD_CHACHA20_POLY1305, QUIC_V1, secret);
	is_hex(secret, "1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9");
	pool_clear(&share);
}

static void a_pool_gives_all_back(void **state)
{
	uint8_t *pieces[64];
	uint32_t n = 0;

	(void)state;
	pool_init(&pool, memory, sizeof(memory));
	for (uint32_t round = 0; round < 3; round++) {
		for (n = 0; n < 64; n++) {
			pieces[n] = pool_take(&share, 1 + n * n % 900);
			if (!pieces[n])
				break;
			assert_int_equal((uintptr_t)pieces[n] % 16, 0);
			memset(pieces[n], (int)n, 1 + n * n % 900);
		}
		assert_int_equal(n, 64);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(pieces[i][i * i % 900], i);
		for (uint32_t i = round; i < n; i += 2)
			pool_give(&share, pieces[i]);
		assert_int_equal(pool_clear(&share), 32 + (round > 1));
		assert_int_equal(pool.used, 0);
	}
	assert_null(pool_take(&share, sizeof(memory)));
	assert_null(pool_take(&share, SIZE_MAX));
	assert_int_equal(pool.failed, 2);
	// A piece grows with its octets.
	pieces[0] = pool_take(&share, 10);
	memcpy(pieces[0], "0123456789", 10);
	pieces[0] = pool_resize(&share, pieces[0], 5000);
	assert_memory_equal(pieces[0], "0123456789", 10);
	assert_int_equal(pool_clear(&share), 1);
	// When the front is used up, larger free pieces serve.
	while (pool_take(&share, 4000))
		;
	pool_clear(&share);
	assert_non_null(pool_take(&share, 3000));
	pool_clear(&share);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(initial_keys_are_those_of_the_rfc),
		cmocka_unit_test(a_packet_of_chacha_is_that_of_the_rfc),
		cmocka_unit_test(a_pool_gives_all_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
