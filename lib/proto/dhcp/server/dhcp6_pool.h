// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv6 responder's addresses, or its prefixes, and who has them: leases as in dhcp_pool.h,
// found by what they are on the wire. An address is a prefix of 128 bits. Knows no message. Path:
// cold (made in dhcp6_answer.c) | hot (the rest). The responder's thread.
#pragma once

#include "proto/dhcp/server/dhcp_pool.h"

#define DHCP6_RANGES_MAX 64

typedef unsigned __int128 dhcp6_number; // an address in host order

struct dhcp6_range {
	dhcp6_number first;
	uint32_t count;
	uint32_t lease; // of the first one
};

struct dhcp6_pool {
	struct dhcp_pool leases; // records of struct dhcp_lease alone
	const struct dhcp6_range *ranges;
	uint32_t range_count;
	uint8_t bits; // 1 to 128: length of all of them
};

dhcp6_number dhcp6_pool_number(const uint8_t *address);
void dhcp6_pool_bytes(dhcp6_number n, uint8_t *address);

// The lease with this address and length, or NULL.
struct dhcp_lease *dhcp6_pool_at(const struct dhcp6_pool *p, const uint8_t *address, uint8_t bits);
// What it hands out, 16 bytes.
void dhcp6_pool_address(const struct dhcp6_pool *p, const struct dhcp_lease *l, uint8_t *address);
