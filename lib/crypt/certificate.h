// SPDX-License-Identifier: BSD-3-Clause
// Certificates that are made rather than read: of a responder without files, and of tests. Signed
// by themselves, or by an authority that was made before. Path: cold. Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum certificate_kind { CERTIFICATE_P256, CERTIFICATE_RSA_2048 };

struct certificate {
	char *certificate, *key; // PEM
};

struct certificate_wanted {
	const char *name; // DNS name of the subject
	enum certificate_kind kind;
	int64_t from_s, until_s; // of validity, from now; both 0: from an hour ago for a year
	bool authority;          // may sign others
	const struct certificate *signer; // NULL: itself
	uint32_t padding;                 // octets without meaning in an extension
};

// Returns 0, or -1 if it cannot be made: *wrong is then the reason, in static memory.
int certificate_make(
	const struct certificate_wanted *wanted, struct certificate *out, const char **wrong);
// The SHA-256 of the public key (SubjectPublicKeyInfo), 32 octets. Returns 0, or -1 if the
// certificate cannot be read.
int certificate_pin(const struct certificate *c, uint8_t *pin);
void certificate_free(struct certificate *c);
