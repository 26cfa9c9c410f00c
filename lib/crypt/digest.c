// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Any thread.
#include "crypt/digest.h"

#include <nettle/base16.h>
#include <nettle/sha2.h>

void digest_sha256_hex(const void *bytes, size_t len, char hex[DIGEST_HEX])
{
	uint8_t sum[SHA256_DIGEST_SIZE];
	struct sha256_ctx hash;

	sha256_init(&hash);
	sha256_update(&hash, len, bytes);
	sha256_digest(&hash, sizeof(sum), sum);
	base16_encode_update(hex, sizeof(sum), sum);
	hex[DIGEST_HEX - 1] = '\0';
}
