// SPDX-License-Identifier: BSD-3-Clause
// Hashes of texts, which identify configurations. Path: cold. Any thread.
#pragma once

#include <stddef.h>

#define DIGEST_HEX 65 // characters of a SHA-256 in hexadecimal, with its zero

void digest_sha256_hex(const void *bytes, size_t len, char hex[DIGEST_HEX]);
