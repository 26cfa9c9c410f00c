// SPDX-License-Identifier: BSD-3-Clause
// Checks of addresses in settings. Path: cold. Management thread.

#include "proto/dhcp/client/lease/dhcp_addresses.h"

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
