// SPDX-License-Identifier: BSD-3-Clause
// The reconfiguration key authentication protocol (RFC 8415 section 20.4) as bytes: the
// authentication option with a key or MAC, the MAC of a message, and the reasons to reject a
// RECONFIGURE. Independent of clients. Path: hot. Any thread.
#pragma once

#include "proto/dhcp/v6/dhcp6_message.h"

#define DHCP6_RKAP_LEN      28 // of the option's data
#define DHCP6_RKAP_VALUE    16 // of a key, and of a MAC
#define DHCP6_RKAP_VALUE_AT 12 // in the option's data

enum dhcp6_rkap_type { DHCP6_RKAP_KEY = 1, DHCP6_RKAP_MAC = 2 };

// Labels of the reasons to reject a RECONFIGURE, in the order of the checks.
// clang-format off
#define DHCP6_BAD_REASONS(X) \
	X(DHCP6_BAD_WAY, "way") \
	X(DHCP6_BAD_CLIENT, "client") \
	X(DHCP6_BAD_KEY, "key") \
	X(DHCP6_BAD_SERVER, "server") \
	X(DHCP6_BAD_MESSAGE, "message") \
	X(DHCP6_BAD_AUTHENTICATION, "authentication") \
	X(DHCP6_BAD_MAC, "mac") \
	X(DHCP6_BAD_REPLAY, "replay")
// clang-format on

#define DHCP6_BAD_NUMBER(number, name) number,
enum dhcp6_bad { DHCP6_BAD_REASONS(DHCP6_BAD_NUMBER) DHCP6_BADS };

const char *dhcp6_bad_label(uint32_t i);

struct dhcp6_rkap {
	uint64_t replay;      // increases with each message of a server
	const uint8_t *value; // DHCP6_RKAP_VALUE bytes
};

// Read the data of an authentication option. false: other than this protocol with HMAC-MD5, RDM 0
// and a value of this type.
bool dhcp6_rkap_read(
	const struct dhcp6_bytes *auth, enum dhcp6_rkap_type type, struct dhcp6_rkap *r);
// Write the option with code and length.
void dhcp6_rkap_write(struct writer *w, enum dhcp6_rkap_type type, uint64_t replay,
	const uint8_t value[DHCP6_RKAP_VALUE]);
// The MAC of a message without its relay messages; the MAC field is at mac_at.
void dhcp6_rkap_mac(const uint8_t key[DHCP6_RKAP_VALUE], const uint8_t *message, uint32_t len,
	uint32_t mac_at, uint8_t out[DHCP6_RKAP_VALUE]);
