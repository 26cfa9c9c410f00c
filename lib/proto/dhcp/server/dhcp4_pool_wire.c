// SPDX-License-Identifier: BSD-3-Clause
// What DHCPv4 leases have beside their state: an address of a range, and a client that has hardware
// and perhaps a client-id. Path: hot. The responder's thread.

#include "proto/dhcp/server/dhcp4_pool.h"

#include <string.h>

enum salt { SALT_CLIENT_ID = 1, SALT_HARDWARE };

static uint64_t hardware_hash(
	const struct dhcp4_pool *p, uint8_t htype, const uint8_t *chaddr, uint8_t hlen)
{
	uint64_t seed = p->leases.seed + SALT_HARDWARE + ((uint64_t)htype << 8);

	return dhcp_pool_hash(seed, chaddr, hlen);
}

uint64_t dhcp4_pool_identity(const struct dhcp4_pool *p, const struct dhcp4_asker *a)
{
	uint64_t seed = p->leases.seed + SALT_CLIENT_ID;

	if (a->client_id_len)
		return dhcp_pool_hash(seed, a->client_id, a->client_id_len);
	return hardware_hash(p, a->htype, a->chaddr, a->hlen);
}

static struct dhcp4_lease *lease_of(const struct dhcp4_pool *p, uint32_t i)
{
	return (struct dhcp4_lease *)dhcp_pool_record(&p->leases, i);
}

uint32_t dhcp4_pool_address(const struct dhcp4_pool *p, const struct dhcp4_lease *l)
{
	const struct dhcp4_range *r = p->ranges;

	while (l->lease.place - r->lease >= r->count)
		r++;
	return r->first + (l->lease.place - r->lease);
}

void dhcp4_pool_clear(struct dhcp4_pool *p)
{
	memset(p->by_hardware, 0xff, ((size_t)p->leases.mask + 1) * sizeof(*p->by_hardware));
	dhcp_pool_clear(&p->leases);
}

struct dhcp4_lease *dhcp4_pool_of_identity(const struct dhcp4_pool *p, uint64_t identity)
{
	return (struct dhcp4_lease *)dhcp_pool_of_identity(&p->leases, identity);
}

struct dhcp4_lease *dhcp4_pool_of_hardware(
	const struct dhcp4_pool *p, uint8_t htype, const uint8_t *chaddr, uint8_t hlen)
{
	uint64_t hash = hardware_hash(p, htype, chaddr, hlen);
	struct dhcp4_lease *plain = dhcp4_pool_of_identity(p, hash);

	if (plain)
		return plain;
	for (uint32_t i = p->by_hardware[hash & p->leases.mask]; i != DHCP_NO_LEASE;
		i = lease_of(p, i)->same_hardware) {
		struct dhcp4_lease *l = lease_of(p, i);

		if (l->htype == htype && l->hlen == hlen && memcmp(l->bytes, chaddr, hlen) == 0)
			return l;
	}
	return NULL;
}

struct dhcp4_lease *dhcp4_pool_at(const struct dhcp4_pool *p, uint32_t address)
{
	for (uint32_t i = 0; i < p->range_count; i++) {
		const struct dhcp4_range *r = &p->ranges[i];

		if (address - r->first < r->count)
			return lease_of(p, r->lease + (address - r->first));
	}
	return NULL;
}

struct dhcp4_lease *dhcp4_pool_oldest(const struct dhcp4_pool *p, uint32_t now_s)
{
	return (struct dhcp4_lease *)dhcp_pool_oldest(&p->leases, now_s);
}

static uint32_t *hardware_bucket(const struct dhcp4_pool *p, const struct dhcp4_lease *l)
{
	return &p->by_hardware[hardware_hash(p, l->htype, l->bytes, l->hlen) & p->leases.mask];
}

static void unchain_hardware(struct dhcp4_pool *p, struct dhcp4_lease *l)
{
	uint32_t i = dhcp_pool_index(&p->leases, &l->lease);
	uint32_t *at;

	if (l->client_id_len == 0)
		return;
	at = hardware_bucket(p, l);
	while (*at != i)
		at = &lease_of(p, *at)->same_hardware;
	*at = l->same_hardware;
	l->client_id_len = 0;
}

static void chain_hardware(struct dhcp4_pool *p, struct dhcp4_lease *l)
{
	uint32_t *bucket = hardware_bucket(p, l);

	l->same_hardware = *bucket;
	*bucket = dhcp_pool_index(&p->leases, &l->lease);
}

void dhcp4_pool_give(
	struct dhcp4_pool *p, struct dhcp4_lease *l, const struct dhcp4_asker *a, uint32_t now_s)
{
	unchain_hardware(p, l);
	l->htype = a->htype;
	l->hlen = a->hlen;
	memcpy(l->bytes, a->chaddr, a->hlen);
	dhcp_pool_give(&p->leases, &l->lease, a->identity, now_s);
	if (a->client_id_len == 0)
		return;
	chain_hardware(p, l);
	l->client_id_len = DHCP4_ID_NOT_KEPT;
	if (a->client_id_len > DHCP4_IDENTITY_MAX - a->hlen)
		return;
	l->client_id_len = (uint8_t)a->client_id_len;
	memcpy(l->bytes + a->hlen, a->client_id, a->client_id_len);
}

void dhcp4_pool_free(struct dhcp4_pool *p, struct dhcp4_lease *l, uint32_t now_s)
{
	if (dhcp_pool_is_shared(&p->leases, &l->lease))
		unchain_hardware(p, l);
	dhcp_pool_free(&p->leases, &l->lease, now_s);
}

void dhcp4_pool_rest(struct dhcp4_pool *p, struct dhcp4_lease *l, uint32_t now_s)
{
	unchain_hardware(p, l);
	dhcp_pool_rest(&p->leases, &l->lease, now_s);
}
