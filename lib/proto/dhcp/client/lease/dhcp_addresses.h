// SPDX-License-Identifier: BSD-3-Clause
// Checks of addresses in settings, for clients and servers of both families: len is 4 or 16. Path:
// cold. Management thread.
#pragma once

#include "base/diag.h"
#include "base/field.h"

// Complaints name `where`. An address that is not given (len 0) is right.
bool dhcp_family_check(const struct addr *a, const void *where, uint32_t len, struct diag *d);
// A list of struct addr, with `most` of them at most; key as in diag_error.
bool dhcp_addresses_check(const struct field_list *list, const char *key, uint32_t len,
	uint32_t most, struct diag *d);
// Count the addresses of a list of struct addr_range; complain about those of the other family.
uint64_t dhcp_ranges_count(const struct field_list *list, uint32_t len, struct diag *d);
