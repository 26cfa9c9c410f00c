// SPDX-License-Identifier: BSD-3-Clause
// Making and freeing the table of holders, and how its words are divided. Path: cold. Management
// thread.

#include "proto/dhcp/dhcp_holders.h"

#include <errno.h>
#include <stdlib.h>

#include "proto/dhcp/dhcp_ring.h"

#define LINES_BITS_MIN 5  // room for what several threads are about to take
#define LINES_BITS_MAX 29 // of the 30 bits of an address that choose its home
#define HOME_BITS      30
#define ADDRESS_BITS   32
#define AWAY_BITS      8

// Two thirds full at most.
static uint8_t lines_bits(uint64_t owners)
{
	uint8_t bits = LINES_BITS_MIN;

	while (bits < LINES_BITS_MAX && (uint64_t)DHCP_HOLDERS_LINE << bits < owners + owners / 2)
		bits++;
	return bits;
}

static uint8_t bits_of(uint64_t n)
{
	uint8_t bits = 0;

	for (; n; n >>= 1)
		bits++;
	return bits;
}

uint64_t dhcp_holders_memory(uint64_t owners)
{
	return (DHCP_HOLDERS_LINE * sizeof(uint64_t) + 1) << lines_bits(owners);
}

int dhcp_holders_init(struct dhcp_holders *h, uint64_t owners, bool several)
{
	uint8_t bits = lines_bits(owners);
	uint64_t lines = 1ull << bits;

	*h = (struct dhcp_holders){.several = several};
	if (owners >= DHCP_NOBODY || owners + owners / 2 > lines * DHCP_HOLDERS_LINE)
		return -ENOMEM;
	h->line_mask = (uint32_t)(lines - 1);
	h->furthest = lines - 1 < UINT8_MAX ? (uint32_t)(lines - 1) : UINT8_MAX;
	h->home_shift = HOME_BITS - bits;
	h->away_shift = ADDRESS_BITS - bits;
	h->owner_shift = h->away_shift + AWAY_BITS;
	h->until_shift = h->owner_shift + bits_of(owners);
	h->cells = dhcp_table_alloc(lines * DHCP_HOLDERS_LINE * sizeof(*h->cells));
	h->reach = dhcp_table_alloc(lines);
	if (h->cells && h->reach)
		return 0;
	dhcp_holders_free(h);
	return -ENOMEM;
}

void dhcp_holders_free(struct dhcp_holders *h)
{
	free(h->cells);
	free(h->reach);
	*h = (struct dhcp_holders){0};
}
