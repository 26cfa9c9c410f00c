// SPDX-License-Identifier: BSD-3-Clause
// Making and freeing the table of leases. Path: cold. Management thread.

#include "proto/dhcp/v6/dhcp6_leases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/dhcp/dhcp_ring.h"

uint64_t dhcp6_leases_memory(uint64_t count)
{
	return count * sizeof(struct dhcp6_words) + dhcp_holders_memory(count);
}

int dhcp6_leases_init(struct dhcp6_leases *l, uint64_t count, bool several)
{
	memset(l, 0, sizeof(*l));
	l->words = dhcp_table_alloc(count * sizeof(*l->words));
	if (!l->words || dhcp_holders_init(&l->holders, count, several) < 0) {
		free(l->words);
		return -ENOMEM;
	}
	l->holders.same = dhcp6_lease_is;
	l->holders.of = l;
	return 0;
}

void dhcp6_leases_free(struct dhcp6_leases *l)
{
	dhcp_holders_free(&l->holders);
	free(l->words);
}
