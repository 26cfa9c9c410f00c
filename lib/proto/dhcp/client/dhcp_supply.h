// SPDX-License-Identifier: BSD-3-Clause
// The number of an item's clients, and how long clients and addresses last. Path: cold. Management
// thread.
#pragma once

#include "proto/dhcp/client/dhcp_client.h"

// Exchanges per second that the rates of a mix add to the load; 0: the mix has shares.
double dhcp_extra(const struct dhcp_settings *s);

// The shares of a mix, or NULL.
static inline const double *dhcp_shares(const struct dhcp_settings *s)
{
	if (!s->mix)
		return NULL;
	return dhcp_extra(s) > 0 ? s->mix->part : s->mix->share;
}

// For struct proto.
void dhcp_fit(const struct dhcp_family *f, struct dhcp_settings *s, const struct proto_work *w);
void dhcp_stocks(const struct dhcp_plan *p, struct proto_stock *out);
// Clients that an exchange uses up on average, unless they start over.
double dhcp_uses(const struct dhcp_family *f, const struct dhcp_settings *s);
// Addresses, or prefixes, that an exchange uses up on average.
double dhcp_leases_used(const struct dhcp_family *f, const struct dhcp_settings *s, bool prefixes);
// Number of clients limited by distinguishable identities and by the program.
uint64_t dhcp_most(const struct dhcp_family *f, const struct dhcp_settings *s);
// Number of addresses in the list; UINT64_MAX: the list is empty.
uint64_t dhcp_room(const struct field_list *ranges);
