// SPDX-License-Identifier: BSD-3-Clause
// What set-up checks and makes in both families. Path: cold. Management thread.

#include "proto/dhcp/dhcp_setup.h"

#include <string.h>

#include "proto/dhcp/dhcp_ring.h"

#define MAC_BITS   48
#define RELAYS_MAX 1048576

bool dhcp_family_check(const struct addr *a, const void *where, uint32_t len, struct diag *d)
{
	if (a->len == 0 || a->len == len)
		return true;
	diag_error(d, where, NULL, "not an %s address", len == 4 ? "IPv4" : "IPv6");
	return false;
}

bool dhcp_addresses_check(
	const struct field_list *list, const char *key, uint32_t len, uint32_t most, struct diag *d)
{
	const struct addr *a = list->items;

	if (list->count > most) {
		diag_error(d, list, key, "too many (up to %u)", most);
		return false;
	}
	for (uint32_t i = 0; i < list->count; i++)
		if (!dhcp_family_check(&a[i], &a[i], len, d))
			return false;
	return true;
}

uint64_t dhcp_ranges_count(const struct field_list *list, uint32_t len, struct diag *d)
{
	const struct addr_range *r = list->items;
	uint64_t count = 0;

	for (uint32_t i = 0; i < list->count; i++)
		if (dhcp_family_check(&r[i].first, &r[i], len, d))
			count += r[i].count;
	return count;
}

void dhcp_mac_check(const uint8_t mac[6], uint64_t clients, struct diag *d)
{
	uint64_t first = 0, last;

	for (int i = 0; i < 6; i++)
		first = first << 8 | mac[i];
	last = first + clients - 1;
	if ((first >> 40 & 1) || (last >> 40 & 1) || last >> MAC_BITS)
		diag_error(d, mac, NULL, "%s (the first byte is even)",
			first >> 40 & 1 ? "a group address" : "runs into group addresses");
}

void dhcp_servers_check(const struct field_list *servers, uint32_t len, struct diag *d)
{
	const struct addr *a = servers->items;

	for (uint32_t i = 0; i < servers->count; i++)
		dhcp_family_check(&a[i], &a[i], len, d);
	if (servers->count >= DHCP_SERVERS_MAX)
		diag_error(d, servers, "servers", "%u servers (up to %u)", servers->count,
			DHCP_SERVERS_MAX - 1);
}

void dhcp_unleased(const void *settings, const char *exchange, const char *maker, struct diag *d)
{
	diag_error(d, settings, "exchange",
		"%s needs clients that hold a lease (with a share of %s or rapid: mix: {%s: 50%%}, "
		"or leases: {load: FILE})",
		exchange, maker, maker);
}

bool dhcp_clients_check(const uint64_t *clients, const struct proto_env *env, struct diag *d)
{
	if (*clients >= env->workers)
		return true;
	diag_error(d, clients, NULL, "%llu clients for %u CPUs (at least one for each)",
		(unsigned long long)*clients, env->workers);
	return false;
}

void dhcp_parameters_mark(uint64_t bits[4], const struct field_list *codes)
{
	const uint64_t *code = codes->items;

	for (uint32_t i = 0; i < codes->count; i++)
		if (code[i] < 256)
			bits[code[i] >> 6] |= 1ull << (code[i] & 63);
}

void dhcp_paths_make(struct proto_layout *layout, const struct dhcp_vlans *v, const struct addr *to,
	uint32_t count, struct arena *a)
{
	uint32_t all = (1 + v->count) * count;
	struct proto_path *paths = arena_zalloc(a, all * sizeof(*paths));

	for (uint32_t i = 0; i < all; i++) {
		paths[i].dst = to[i % count];
		if (i >= count)
			dhcp_vlans_set(&v->sets[i / count - 1], &paths[i]);
	}
	layout->paths = (struct field_list){paths, all};
}

void dhcp_relays_check(const struct field_list *relays, uint32_t len, struct diag *d)
{
	uint64_t count = dhcp_ranges_count(relays, len, d);

	if (relays->count == 0)
		diag_error(d, relays, "addresses", "no address");
	if (count > RELAYS_MAX)
		diag_error(d, relays, "addresses", "%llu relays (up to %u)",
			(unsigned long long)count, RELAYS_MAX);
}

void *dhcp_relays_make(
	const struct field_list *relays, uint32_t len, struct arena *a, uint32_t *count)
{
	const struct addr_range *r = relays->items;
	uint64_t all = 0;
	uint8_t *bytes;

	for (uint32_t i = 0; i < relays->count; i++)
		all += r[i].count;
	bytes = arena_zalloc(a, all * len);
	*count = 0;
	for (uint32_t i = 0; i < relays->count; i++)
		for (uint64_t k = 0; k < r[i].count; k++)
			addr_nth_bytes(&r[i], k, bytes + (size_t)len * (*count)++);
	return bytes;
}
