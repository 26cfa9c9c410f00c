// SPDX-License-Identifier: BSD-3-Clause
// Clients of DHCPv4 leases: hashes of their identifiers, and an index by hardware address.
// Path: hot. The responder's thread.

#include "proto/dhcp/server/dhcp4_pool.h"

#include <string.h>

enum salt { SALT_CLIENT_ID = 1, SALT_HARDWARE };

static uint64_t hardware_hash(
	const struct dhcp_pool *p, uint8_t htype, const uint8_t *chaddr, uint8_t hlen)
{
	return dhcp_pool_hash(p->seed + SALT_HARDWARE + ((uint64_t)htype << 8), chaddr, hlen);
}

uint64_t dhcp4_pool_identity(const struct dhcp_pool *p, const struct dhcp4_identity *c)
{
	if (c->client_id_len)
		return dhcp_pool_hash(p->seed + SALT_CLIENT_ID, c->client_id, c->client_id_len);
	return hardware_hash(p, c->htype, c->chaddr, c->hlen);
}

static struct dhcp4_lease *lease_of(const struct dhcp_pool *p, uint32_t i)
{
	return (struct dhcp4_lease *)dhcp_pool_record(p, i);
}

struct dhcp4_lease *dhcp4_pool_of_hardware(
	const struct dhcp_pool *p, uint8_t htype, const uint8_t *chaddr, uint8_t hlen)
{
	uint64_t hash = hardware_hash(p, htype, chaddr, hlen);
	struct dhcp_lease *plain = dhcp_pool_of_identity(p, hash);

	if (plain)
		return (struct dhcp4_lease *)plain;
	for (uint32_t i = p->by_hardware[hash & p->mask]; i != DHCP_NO_LEASE;
		i = lease_of(p, i)->same_hardware) {
		struct dhcp4_lease *l = lease_of(p, i);

		if (l->htype == htype && l->hlen == hlen && memcmp(l->bytes, chaddr, hlen) == 0)
			return l;
	}
	return NULL;
}

static uint32_t *hardware_bucket(const struct dhcp_pool *p, const struct dhcp4_lease *l)
{
	return &p->by_hardware[hardware_hash(p, l->htype, l->bytes, l->hlen) & p->mask];
}

void dhcp4_pool_keep(struct dhcp_pool *p, struct dhcp_lease *lease, const void *client)
{
	struct dhcp4_lease *l = (struct dhcp4_lease *)lease;
	const struct dhcp4_identity *c = client;
	uint32_t *bucket, i = dhcp_pool_index(p, lease);

	l->htype = c->htype;
	l->hlen = c->hlen;
	memcpy(l->bytes, c->chaddr, c->hlen);
	if (c->client_id_len == 0)
		return;
	bucket = hardware_bucket(p, l);
	l->same_hardware = *bucket;
	lease->before = i;
	if (*bucket != DHCP_NO_LEASE)
		dhcp_pool_record(p, *bucket)->before = i;
	*bucket = i;
	l->client_id_len = DHCP4_ID_NOT_KEPT;
	if (c->client_id_len > DHCP4_IDENTITY_MAX - c->hlen)
		return;
	l->client_id_len = (uint8_t)c->client_id_len;
	memcpy(l->bytes + c->hlen, c->client_id, c->client_id_len);
}

void dhcp4_pool_forget(struct dhcp_pool *p, struct dhcp_lease *lease)
{
	struct dhcp4_lease *l = (struct dhcp4_lease *)lease;
	bool first = lease->before == dhcp_pool_index(p, lease);
	uint32_t next = l->same_hardware;

	if (l->client_id_len == 0)
		return;
	if (first)
		*hardware_bucket(p, l) = next;
	else
		lease_of(p, lease->before)->same_hardware = next;
	if (next != DHCP_NO_LEASE)
		dhcp_pool_record(p, next)->before = first ? next : lease->before;
	l->client_id_len = 0;
}
