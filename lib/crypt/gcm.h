// SPDX-License-Identifier: BSD-3-Clause
// AES-GCM (NIST SP 800-38D) for short messages, by the AES and carry-less multiplication
// instructions of x86-64: a key takes 384 octets and some 35 ns to expand, rather than 4 KiB, so
// that connections may be many. Other CPUs use the library (record.c).
// Path: hot. Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SHORT_GCM_TAG    16
#define SHORT_GCM_NONCE  12
#define SHORT_GCM_POWERS 8

struct short_gcm_key {
	_Alignas(16) uint32_t rounds;
	uint32_t powers;                     // computed so far, as messages need them
	uint8_t power[SHORT_GCM_POWERS][16]; // of the hash key, from the first on
	uint8_t round[15][16];               // 11 of AES-128
};

// Has the CPU the instructions? The other functions must not be called otherwise.
bool short_gcm_is_there(void);
void short_gcm_expand(struct short_gcm_key *k, const uint8_t *key, bool aes256);
// Encrypts or decrypts len octets in place, and writes the tag of the ciphertext.
void short_gcm_seal(struct short_gcm_key *k, const uint8_t *nonce, const uint8_t *aad,
	uint32_t aad_len, uint8_t *content, uint32_t len, uint8_t *tag);
void short_gcm_open(struct short_gcm_key *k, const uint8_t *nonce, const uint8_t *aad,
	uint32_t aad_len, uint8_t *content, uint32_t len, uint8_t *tag);
