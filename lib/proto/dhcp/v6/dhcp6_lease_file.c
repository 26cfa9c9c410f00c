// SPDX-License-Identifier: BSD-3-Clause
// Leases of a file to clients of DHCPv6, and what they hold back to one. Path: cold. Management
// thread.

#include <string.h>

#include "base/log.h"
#include "proto/dhcp/v6/dhcp6_self.h"

static void mac_of(const void *plan, uint32_t client, uint8_t out[DHCP_MAC_MAX])
{
	dhcp6_mac(plan, client, out);
}

struct dhcp_lease_clients dhcp6_lease_clients(const struct dhcp6_plan *p)
{
	return (struct dhcp_lease_clients){.plan = p,
		.count = p->clients,
		.addresses = p->addresses,
		.prefixes = p->prefixes,
		.prefix_max = DHCP6_PREFIX_MAX,
		.addr_len = 16,
		.mac_len = 6,
		.mac = mac_of};
}

static bool lease_of(
	const void *own, uint32_t client, uint32_t nth, uint32_t now_s, struct dhcp_lease_held *out)
{
	const struct dhcp6_worker *w = own;
	const struct dhcp6_client *k = dhcp6_client_at(w, client);
	const struct dhcp6_plan *p = w->plan;
	const struct dhcp6_duid_bytes *server = &w->servers[k->chosen];
	struct dhcp6_key key;

	if (nth >= p->stride || !k->head.holds || dhcp_client_expired(&k->head, now_s))
		return false;
	*out = (struct dhcp_lease_held){
		.number = dhcp_work_number(&w->work, client), .expires_s = k->head.expires_s};
	dhcp6_lease_get(&w->common->leases, dhcp6_lease_of(p, w, client) + nth, &key);
	if (dhcp6_is_prefix(p, nth))
		out->bits = dhcp6_key_split(&key, out->bytes);
	else
		memcpy(out->bytes, key.bytes, sizeof(out->bytes));
	out->server.len = server->len;
	memcpy(out->server.bytes, server->bytes, server->len);
	return true;
}

// All of a client, the first of them in the table being `first`; false: another client has one.
static bool leases_hold(struct dhcp6_worker *w, const struct dhcp6_plan *p, uint32_t first,
	const struct dhcp_saved *saved)
{
	struct dhcp6_leases *l = &w->common->leases;
	struct dhcp6_key key;

	for (uint32_t i = 0; i < p->stride; i++) {
		bool prefix = dhcp6_is_prefix(p, i);
		uint32_t other;

		memcpy(key.bytes, saved[i].bytes, sizeof(key.bytes));
		if (prefix)
			dhcp6_key_prefix(&key, saved[i].bytes, saved[i].bits);
		dhcp6_lease_set(l, first + i, &key);
		other = dhcp6_lease_hold(l, first + i, &key, prefix, saved[i].left_s, 0);
		if (other == DHCP_NOBODY || dhcp6_same_client(w->common, first + i, other))
			continue;
		while (i-- > 0)
			dhcp6_lease_drop(l, first + i);
		return false;
	}
	return true;
}

static bool client_bind(
	struct dhcp6_worker *w, const struct dhcp6_plan *p, const struct dhcp_saved *saved)
{
	const struct dhcp_server_id *id = &p->leases.servers[saved->server];
	const struct dhcp6_bytes duid = {.data = id->bytes, .len = id->len};
	uint32_t client = saved->client / w->work.workers;
	struct dhcp6_client *k = dhcp6_client_at(w, client);

	if (!dhcp6_server_keep(w, &duid, k) ||
		!leases_hold(w, p, dhcp6_lease_of(p, w, client), saved))
		return false;
	k->head.holds = true;
	k->head.expires_s = saved->left_s;
	dhcp_clients_bind(&w->work.clients, client);
	return true;
}

void dhcp6_leases_open(struct dhcp6_worker *w, const struct dhcp6_plan *p)
{
	uint32_t taken = 0;

	for (uint32_t i = 0; i < p->leases.count; i += p->stride)
		if (p->leases.items[i].client % w->work.workers == w->work.worker)
			taken += !client_bind(w, p, &p->leases.items[i]);
	if (taken)
		log_warning("%s: leases of %u clients are left out: other clients have them, or "
			    "they are of more than %d servers",
			p->name, taken, DHCP_SERVERS_MAX);
	if (p->leases.count)
		dhcp_clients_settle(&w->work.clients);
	if (p->leases.save && !w->work.dry) // a dry run has nothing to save
		p->leases.workers[w->work.worker] =
			(struct dhcp_lease_worker){w, &w->heard, w->work.clients.count, lease_of};
}
