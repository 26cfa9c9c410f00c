// SPDX-License-Identifier: BSD-3-Clause
// Keys and MACs of RECONFIGUREs: the authentication option, and the HMAC-MD5 of a message.
// Path: hot. Any thread.

#include "proto/dhcp/v6/dhcp6_rkap.h"

#include <nettle/hmac.h>

#define PROTOCOL  3 // reconfiguration key
#define ALGORITHM 1 // HMAC-MD5
#define RDM       0 // replay detection by an increasing number

const char *dhcp6_bad_label(uint32_t i)
{
#define LABEL(number, name) name,
	static const char *const labels[] = {DHCP6_BAD_REASONS(LABEL)};
#undef LABEL

	return labels[i];
}

bool dhcp6_rkap_read(
	const struct dhcp6_bytes *auth, enum dhcp6_rkap_type type, struct dhcp6_rkap *r)
{
	const uint8_t *a = auth->data;

	if (!a || auth->len != DHCP6_RKAP_LEN || a[0] != PROTOCOL || a[1] != ALGORITHM ||
		a[2] != RDM || a[11] != type)
		return false;
	*r = (struct dhcp6_rkap){bytes_be64(a + 3), a + DHCP6_RKAP_VALUE_AT};
	return true;
}

void dhcp6_rkap_write(struct writer *w, enum dhcp6_rkap_type type, uint64_t replay,
	const uint8_t value[DHCP6_RKAP_VALUE])
{
	uint8_t *option = dhcp6_option_begin(w, DHCP6_OPT_AUTH);

	write_u8(w, PROTOCOL);
	write_u8(w, ALGORITHM);
	write_u8(w, RDM);
	write_be32(w, (uint32_t)(replay >> 32));
	write_be32(w, (uint32_t)replay);
	write_u8(w, (uint8_t)type);
	write_bytes(w, value, DHCP6_RKAP_VALUE);
	dhcp6_option_end(w, option);
}

// The MAC field itself counts as zeros (RFC 8415 section 20.4.2).
void dhcp6_rkap_mac(const uint8_t key[DHCP6_RKAP_VALUE], const uint8_t *message, uint32_t len,
	uint32_t mac_at, uint8_t out[DHCP6_RKAP_VALUE])
{
	static const uint8_t nothing[DHCP6_RKAP_VALUE];
	uint32_t behind = mac_at + DHCP6_RKAP_VALUE;
	struct hmac_md5_ctx hmac;

	hmac_md5_set_key(&hmac, DHCP6_RKAP_VALUE, key);
	hmac_md5_update(&hmac, mac_at, message);
	hmac_md5_update(&hmac, DHCP6_RKAP_VALUE, nothing);
	hmac_md5_update(&hmac, len - behind, message + behind);
	hmac_md5_digest(&hmac, DHCP6_RKAP_VALUE, out);
}
