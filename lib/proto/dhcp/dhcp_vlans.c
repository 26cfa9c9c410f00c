// SPDX-License-Identifier: BSD-3-Clause
// Ranges of clients to a place of each client. Path: cold. Management thread.

#include "proto/dhcp/dhcp_vlans.h"

#include <errno.h>

#include "proto/dhcp/dhcp_ring.h"

#define RANGES_MAX 1024

static bool overlap(const struct field_range *a, const struct field_range *b)
{
	return a->first <= b->last && b->first <= a->last;
}

void dhcp_vlans_check(const struct field_list *vlans, struct diag *d)
{
	const struct dhcp_vlan_settings *v = vlans->items;

	if (vlans->count > RANGES_MAX)
		diag_error(d, vlans, "vlans", "%u ranges (up to %u)", vlans->count, RANGES_MAX);
	for (uint32_t i = 0; i < vlans->count && i < RANGES_MAX; i++) {
		if (v[i].vlans.count < 1 || v[i].vlans.count > 2)
			diag_error(d, &v[i], "vlans", "%u VLANs (1 or 2)", v[i].vlans.count);
		for (uint32_t k = 0; k < i; k++)
			if (overlap(&v[i].clients, &v[k].clients))
				diag_error(d, &v[i], "clients", "clients are in two ranges");
	}
}

int dhcp_vlans_make(struct dhcp_vlans *v, const struct field_list *vlans, uint64_t clients)
{
	*v = (struct dhcp_vlans){.sets = vlans->items, .count = vlans->count};
	if (v->count == 0)
		return 0;
	v->places = dhcp_table_alloc(clients * sizeof(*v->places));
	if (!v->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->count; i++) {
		const struct field_range *r = &v->sets[i].clients;

		for (uint64_t k = r->first; k <= r->last && k < clients; k++)
			v->places[k] = (uint16_t)(i + 1);
	}
	return 0;
}

void dhcp_vlans_set(const struct dhcp_vlan_settings *v, struct proto_path *path)
{
	const uint64_t *vlans = v->vlans.items;

	path->vlan_count = (uint8_t)v->vlans.count;
	for (uint32_t i = 0; i < path->vlan_count; i++)
		path->vlans[i] = (uint16_t)vlans[i];
}
