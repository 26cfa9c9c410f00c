// SPDX-License-Identifier: BSD-3-Clause
// Ranges of clients that are on VLANs of their own: which one a client is in, and whether a message
// came on its VLANs. Path: hot (the inline ones) | cold. Any thread.
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "proto/dhcp/dhcp_settings.h"
#include "proto/proto.h"

struct dhcp_vlans {
	const struct dhcp_vlan_settings *sets;
	uint32_t count;
	uint16_t *places; // by number of the client: its set, counted from 1; 0: none. NULL: all 0
};

void dhcp_vlans_check(const struct field_list *vlans, struct diag *d);
// 0 or -ENOMEM; free() its places.
int dhcp_vlans_make(struct dhcp_vlans *v, const struct field_list *vlans, uint64_t clients);
void dhcp_vlans_set(const struct dhcp_vlan_settings *v, struct proto_path *path);

static inline uint32_t dhcp_vlans_place(const struct dhcp_vlans *v, uint32_t number)
{
	return v->places ? v->places[number] : 0;
}

// Did it come on the VLANs of this path?
static inline bool dhcp_vlans_match(const struct proto_path *path, const struct proto_ends *e)
{
	if (e->vlan_count != path->vlan_count)
		return false;
	for (uint8_t i = 0; i < e->vlan_count; i++)
		if (e->vlans[i] != path->vlans[i])
			return false;
	return true;
}
