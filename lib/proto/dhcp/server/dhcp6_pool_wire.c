// SPDX-License-Identifier: BSD-3-Clause
// From the number of a lease to its address or prefix and back. Path: hot. The responder's thread.

#include "proto/dhcp/server/dhcp6_pool.h"

#include <string.h>

dhcp6_number dhcp6_pool_number(const uint8_t *address)
{
	uint64_t high, low;

	memcpy(&high, address, 8);
	memcpy(&low, address + 8, 8);
	return (dhcp6_number)__builtin_bswap64(high) << 64 | __builtin_bswap64(low);
}

void dhcp6_pool_bytes(dhcp6_number n, uint8_t *address)
{
	uint64_t high = __builtin_bswap64((uint64_t)(n >> 64));
	uint64_t low = __builtin_bswap64((uint64_t)n);

	memcpy(address, &high, 8);
	memcpy(address + 8, &low, 8);
}

struct dhcp_lease *dhcp6_pool_at(const struct dhcp6_pool *p, const uint8_t *address, uint8_t bits)
{
	dhcp6_number n = dhcp6_pool_number(address), step = (dhcp6_number)1 << (128 - p->bits);

	if (bits != p->bits)
		return NULL;
	for (uint32_t i = 0; i < p->range_count; i++) {
		const struct dhcp6_range *r = &p->ranges[i];
		dhcp6_number distance = n - r->first;

		if ((distance & (step - 1)) == 0 && distance >> (128 - p->bits) < r->count)
			return dhcp_pool_record(
				&p->leases, r->lease + (uint32_t)(distance >> (128 - p->bits)));
	}
	return NULL;
}

void dhcp6_pool_address(const struct dhcp6_pool *p, const struct dhcp_lease *l, uint8_t *address)
{
	const struct dhcp6_range *r = p->ranges;

	while (l->place - r->lease >= r->count)
		r++;
	dhcp6_pool_bytes(
		r->first + ((dhcp6_number)(l->place - r->lease) << (128 - p->bits)), address);
}
