// SPDX-License-Identifier: BSD-3-Clause
// Checks of addresses in settings, for clients and servers of both families: len is 4 or 16.
// Path: cold. Management thread.
#pragma once

#include "base/diag.h"
#include "base/field.h"

// Errors name `where`. An unset address (len 0) is valid.
bool dhcp_family_check(const struct addr *a, const void *where, uint32_t len, struct diag *d);
// Check a list of struct addr with at most `most` entries; key as in diag_error.
bool dhcp_addresses_check(const struct field_list *list, const char *key, uint32_t len,
	uint32_t most, struct diag *d);
// Count the addresses of a list of struct addr_range; report any of the other family.
uint64_t dhcp_ranges_count(const struct field_list *list, uint32_t len, struct diag *d);
