// SPDX-License-Identifier: BSD-3-Clause
// Leases of a file to clients of DHCPv4, and what they hold back to one. Path: cold. Management
// thread.

#include <string.h>

#include "base/log.h"
#include "proto/dhcp/v4/dhcp4_self.h"

static void mac_of(const void *plan, uint32_t client, uint8_t out[DHCP_MAC_MAX])
{
	dhcp4_chaddr(plan, client, out);
}

struct dhcp_lease_clients dhcp4_lease_clients(const struct dhcp4_plan *p)
{
	return (struct dhcp_lease_clients){.plan = p,
		.count = p->clients,
		.addresses = 1,
		.addr_len = 4,
		.mac_len = p->chaddr_len,
		.mac = mac_of};
}

static bool lease_of(
	const void *own, uint32_t client, uint32_t nth, uint32_t now_s, struct dhcp_lease_held *out)
{
	const struct dhcp4_worker *w = own;
	const struct dhcp4_client *k = dhcp4_client_at(w, client);

	if (nth > 0 || !k->head.holds || dhcp_client_expired(&k->head, now_s))
		return false;
	*out = (struct dhcp_lease_held){.number = dhcp_work_number(&w->work, client),
		.server = {.len = 4},
		.expires_s = k->head.expires_s};
	dhcp4_put32(out->bytes, k->address);
	dhcp4_put32(out->server.bytes, k->server_id);
	return true;
}

// false: a client of another item has the address.
static bool lease_take(
	struct dhcp4_worker *w, const struct dhcp4_plan *p, const struct dhcp_saved *lease)
{
	uint32_t client = lease->client / w->work.workers, address = dhcp4_get32(lease->bytes);
	struct dhcp4_client *k = dhcp4_client_at(w, client);

	if (dhcp4_lease_hold(w, client, address, lease->left_s, 0) != DHCP_NOBODY)
		return false;
	k->server_id = dhcp4_get32(p->leases.servers[lease->server].bytes);
	for (uint32_t n = 0; n < p->server_count; n++)
		if (p->servers[n] == k->server_id)
			k->head.server = (uint8_t)n;
	dhcp_clients_bind(&w->work.clients, client);
	return true;
}

void dhcp4_leases_open(struct dhcp4_worker *w, const struct dhcp4_plan *p)
{
	uint32_t taken = 0;

	for (uint32_t i = 0; i < p->leases.count; i++)
		if (p->leases.items[i].client % w->work.workers == w->work.worker)
			taken += !lease_take(w, p, &p->leases.items[i]);
	if (taken)
		log_warning("%s: %u leases are left out: clients of another item have them",
			p->name, taken);
	if (p->leases.count)
		dhcp_clients_settle(&w->work.clients);
	if (p->leases.save && !w->work.dry) // a dry run has nothing to save
		p->leases.workers[w->work.worker] =
			(struct dhcp_lease_worker){w, &w->heard, w->work.clients.count, lease_of};
}
