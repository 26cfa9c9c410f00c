// SPDX-License-Identifier: BSD-3-Clause
// Key files of TSIG: of BIND, of Knot, or a lone secret. dns_tsig.c prepares the keys. Path: cold.
// Management thread.
#pragma once

#include "proto/dns/client/dns_tsig.h"

// A key as read from a file.
struct dns_tsig_secret {
	char name[4 * DNS_NAME_MAX + 1];
	const struct dns_tsig_algorithm *algorithm; // NULL: not in the file
	uint16_t len;
	uint8_t bytes[DNS_TSIG_SECRET_MAX];
};

// Parse a key from the text of a file: of BIND, of Knot, or a base64 secret. name: selects one of
// several keys, and names a lone secret; NULL: there must be one key. false: *reason is the reason,
// which never quotes the text.
bool dns_tsig_file_parse(const char *text, size_t len, const char *name,
	struct dns_tsig_secret *out, const char **reason);
