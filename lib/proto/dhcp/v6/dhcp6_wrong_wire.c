// SPDX-License-Identifier: BSD-3-Clause
// Edits of deliberately malformed DHCPv6 messages (DHCP6_WRONGS). The transaction ID and the
// enclosing relay messages are kept, so a reply arrives and is recognised. Path: hot. The worker
// that owns the message.

#include "proto/dhcp/v6/dhcp6_wrong.h"
#include "proto/dhcp/client/dhcp_wrong.h"

#define DUID_TOO_LONG 200

static const uint8_t short_address[12 + DHCP6_OPTION_LEN + 10] = {
	[3] = 1, [13] = DHCP6_OPT_IA_ADDRESS, [15] = 10};

// Replace the first option with this code by other bytes, or append them.
static void option_replace(
	uint8_t *m, struct writer *w, uint16_t code, const void *bytes, uint32_t len)
{
	uint32_t at = dhcp6_find_option(m, DHCP6_HEADER_LEN, (uint32_t)(w->at - m), code), old = 0;

	if (at)
		old = DHCP6_OPTION_LEN + bytes_be16(m + at + 2);
	dhcp_wrong_replace(w, at ? m + at : w->at, old, bytes, len);
}

static void option_change(
	uint8_t *m, struct writer *w, uint16_t code, uint16_t as, const void *data, uint16_t len)
{
	uint8_t option[DHCP6_OPTION_LEN + DUID_TOO_LONG];

	bytes_put_be16(option, as);
	bytes_put_be16(option + 2, len);
	memcpy(option + DHCP6_OPTION_LEN, data, len);
	option_replace(m, w, code, option, DHCP6_OPTION_LEN + len);
}

static void option_set(uint8_t *m, struct writer *w, uint16_t code, const void *data, uint16_t len)
{
	option_change(m, w, code, code, data, len);
}

// Replace the first IA by an IA_NA.
static void ia_set(uint8_t *m, struct writer *w, const void *data, uint16_t len)
{
	uint32_t all = (uint32_t)(w->at - m);
	bool prefix = !dhcp6_find_option(m, DHCP6_HEADER_LEN, all, DHCP6_OPT_IA_NA);

	option_change(m, w, prefix ? DHCP6_OPT_IA_PD : DHCP6_OPT_IA_NA, DHCP6_OPT_IA_NA, data, len);
}

// Set a DUID-EN.
static void duid_long(uint8_t *m, struct writer *w, uint64_t random)
{
	uint8_t duid[DUID_TOO_LONG] = {0, 2};

	memcpy(duid + 2, &random, sizeof(random));
	option_set(m, w, DHCP6_OPT_CLIENT_ID, duid, sizeof(duid));
}

void dhcp6_wrong_spoil(uint32_t kind, uint8_t *m, struct writer *w, uint64_t random)
{
	if (w->failed)
		return;
	switch (kind) {
		DHCP6_WRONGS(DHCP_WRONG_CASE)
	}
}
