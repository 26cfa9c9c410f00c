// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "nats/bus_nkey.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <string.h>

#define SEED_TEXT   58 // characters
#define SEED_SIZE   36 // octets: two of prefix, 32, two of CRC
#define PUBLIC_SIZE 35 // prefix, key, CRC: 1 + 32 + 2 octets
#define PREFIX_USER (20 << 3)
#define BASE32      "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// CRC-16/XMODEM
static uint16_t crc16(const uint8_t *bytes, size_t len)
{
	uint16_t crc = 0;

	for (size_t i = 0; i < len; i++) {
		crc ^= (uint16_t)(bytes[i] << 8);
		for (unsigned bit = 0; bit < 8; bit++)
			crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
	}
	return crc;
}

// RFC 4648, section 6, without padding. 0, or -EINVAL.
static int base32_decode(const char *text, uint8_t *out, size_t len)
{
	uint32_t bits = 0;
	unsigned have = 0;

	while (len > 0) {
		const char *at = *text ? strchr(BASE32, *text++) : NULL;

		if (!at)
			return -EINVAL;
		bits = bits << 5 | (uint32_t)(at - BASE32);
		have += 5;
		if (have >= 8) {
			have -= 8;
			*out++ = (uint8_t)(bits >> have);
			len--;
		}
	}
	return 0;
}

// len is a multiple of 5.
static void base32_encode(const uint8_t *bytes, size_t len, char *text)
{
	uint64_t bits;

	for (; len > 0; len -= 5) {
		bits = 0;
		for (unsigned i = 0; i < 5; i++)
			bits = bits << 8 | *bytes++;
		for (unsigned i = 0; i < 8; i++)
			*text++ = BASE32[bits >> (35 - 5 * i) & 31];
	}
	*text = 0;
}

// The line that is a seed; NULL: none.
static const char *find_seed(const char *text)
{
	for (; text; text = strchr(text, '\n')) {
		text += strspn(text, " \t\r\n");
		if (strncmp(text, "SU", 2) == 0 && strspn(text, BASE32) == SEED_TEXT)
			return text;
	}
	return NULL;
}

static int derive(const uint8_t seed[32], uint8_t key[32])
{
	EVP_PKEY *pair = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, 32);
	size_t len = 32;
	int rc = pair && EVP_PKEY_get_raw_public_key(pair, key, &len) == 1 ? 0 : -EINVAL;

	EVP_PKEY_free(pair);
	return rc;
}

int bus_nkey_public(const char *text, char key[BUS_NKEY_SIZE])
{
	const char *line = find_seed(text);
	uint8_t seed[SEED_SIZE], public[PUBLIC_SIZE] = {PREFIX_USER};
	uint16_t crc;
	int rc;

	if (!line || base32_decode(line, seed, sizeof(seed)) < 0)
		return -EINVAL;
	crc = crc16(seed, 34);
	rc = (crc & 255) == seed[34] && crc >> 8 == seed[35] ? derive(seed + 2, public + 1)
	                                                     : -EINVAL;
	OPENSSL_cleanse(seed, sizeof(seed));
	if (rc < 0)
		return rc;
	crc = crc16(public, 33);
	public[33] = (uint8_t)crc;
	public[34] = (uint8_t)(crc >> 8);
	base32_encode(public, sizeof(public), key);
	return 0;
}
