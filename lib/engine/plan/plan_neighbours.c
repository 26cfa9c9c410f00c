// SPDX-License-Identifier: BSD-3-Clause
// The next hops of a plan: for each path of an item, and for each port without duplicates. Not
// here: their MACs (resolve.c). Path: cold. Management thread.
#include "engine/plan/plan_internal.h"

bool plan_group_mac(const struct addr *hop, uint8_t mac[6])
{
	static const uint8_t everybody[16] = {0xff, 0xff, 0xff, 0xff};

	if (hop->len == 4 && addr_bytes_equal(hop->bytes, everybody, 4)) {
		memset(mac, 0xff, 6);
		return true;
	}
	if (!addr_is_multicast(hop))
		return false;
	if (hop->len == 4) { // RFC 1112 section 6.4
		memcpy(mac, (const uint8_t[3]){0x01, 0x00, 0x5e}, 3);
		memcpy(mac + 3, hop->bytes + 1, 3);
		mac[3] &= 0x7f;
	} else { // RFC 2464 section 7
		mac[0] = mac[1] = 0x33;
		memcpy(mac + 2, hop->bytes + 12, 4);
	}
	return true;
}

static struct addr next_hop_of(const struct plan_item *i, const struct addr *dst)
{
	const struct port_settings *port = i->port->settings;
	const struct addr_prefix *own = port->addresses.items;
	const struct addr *gw = port->gateway.items;
	uint8_t group[6];

	if (plan_group_mac(dst, group))
		return *dst;
	for (uint32_t n = 0; n < port->addresses.count; n++)
		if (addr_in_prefix(dst, &own[n]))
			return *dst;
	for (uint32_t n = 0; n < port->gateway.count; n++)
		if (gw[n].len == dst->len)
			return gw[n];
	return *dst;
}

struct frame_vlans plan_vlans(const struct plan_item *i, uint32_t path)
{
	const struct proto_path *p = &i->paths[path];
	struct frame_vlans out = {.count = i->port->vlan_count};

	memcpy(out.ids, i->port->vlans, sizeof(out.ids));
	for (uint8_t n = 0; n < p->vlan_count && out.count < FRAME_MAX_VLANS; n++)
		out.ids[out.count++] = p->vlans[n];
	return out;
}

void plan_next_hops(struct plan_item *i, struct arena *a)
{
	i->path_count = i->layout.paths.count;
	i->paths = i->layout.paths.items;
	i->next_hops = arena_zalloc(a, i->path_count * sizeof(*i->next_hops));
	for (uint32_t n = 0; n < i->path_count; n++)
		i->next_hops[n] = next_hop_of(i, &i->paths[n].dst);
}

// The port's own address in the subnet of the next hop. A link-local gateway may be in none: then
// the port's first address of the family, or the item's first source address.
static struct addr asking_address(const struct plan_item *i, const struct addr *hop)
{
	const struct port_settings *s = i->port->settings;
	const struct addr_prefix *own = s->addresses.items;
	struct addr best = {0};

	for (uint32_t n = 0; n < s->addresses.count; n++) {
		if (own[n].addr.len != hop->len)
			continue;
		if (addr_in_prefix(hop, &own[n]))
			return own[n].addr;
		if (best.len == 0)
			best = own[n].addr;
	}
	return best.len || i->run->source_ranges == 0 ? best : i->run->sources[0].first;
}

// Returns the index of a path's next hop in the port's list, to which it is added if it is new.
static uint32_t hop_of(struct neighbours *n, const struct plan_item *i, uint32_t path)
{
	const struct addr *addr = &i->next_hops[path];
	struct frame_vlans vlans = plan_vlans(i, path);
	uint8_t group[6];

	if (plan_group_mac(addr, group) || i->port->sockets)
		return HOP_NONE;
	for (uint32_t k = 0; k < n->count; k++) {
		const struct next_hop *h = &n->hops[k];

		if (addr_equal(&h->addr, addr) && h->vlans.count == vlans.count &&
			memcmp(h->vlans.ids, vlans.ids, sizeof(vlans.ids)) == 0)
			return k;
	}
	n->hops[n->count] =
		(struct next_hop){.addr = *addr, .from = asking_address(i, addr), .vlans = vlans};
	return n->count++;
}

static void item_hops(struct plan_item *i, struct neighbours *n, struct arena *a)
{
	uint32_t *hops = arena_zalloc(a, i->path_count * sizeof(*hops));

	for (uint32_t path = 0; path < i->path_count; path++)
		hops[path] = hop_of(n, i, path);
	for (uint32_t k = 0; k < i->worker_count; k++) {
		plan_run(i, k)->hops = hops;
		plan_run(i, k)->path_count = i->path_count;
	}
}

void plan_neighbours(struct plan *p, struct arena *a)
{
	uint8_t(*macs)[6] = arena_zalloc(a, p->port_count * sizeof(*macs));
	uint32_t paths = 0;

	for (uint32_t i = 0; i < p->port_count; i++)
		memcpy(macs[i], p->ports[i].mac, sizeof(macs[i]));
	p->neighbours = arena_zalloc(a, p->port_count * sizeof(*p->neighbours));
	for (uint32_t i = 0; i < p->item_count; i++)
		paths += p->items[i].path_count;
	for (uint32_t i = 0; i < p->port_count; i++)
		p->neighbours[i] = (struct neighbours){
			.hops = arena_zalloc(a, (paths + 1) * sizeof(struct next_hop)),
			.macs = (const uint8_t(*)[6])macs,
			.mac_count = p->port_count};
	for (uint32_t i = 0; i < p->item_count; i++)
		item_hops(&p->items[i], &p->neighbours[p->items[i].worker->port], a);
	for (uint32_t i = 0; i < p->worker_count; i++)
		p->workers[i].wire.neighbours = &p->neighbours[p->workers[i].port];
}
