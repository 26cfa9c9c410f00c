// SPDX-License-Identifier: BSD-3-Clause
// The leases that a client holds, and its server. The functions for struct proto are in
// dhcp6_plan.h. Path: hot. The worker that owns ctx.
#pragma once

#include "proto/dhcp/v6/dhcp6_plan.h"

// Give these leases, from the start of the run until until_s, to a client without leases. On
// conflict with another client's, gives none and returns false. Adds to *unwatched the leases
// without room in the table of holders, which the client holds nevertheless.
bool dhcp6_leases_hold(struct dhcp6_worker *w, uint32_t client, const struct dhcp_key *keys,
	uint32_t until_s, uint64_t *unwatched);
// Make this DUID's server the server of k; false: too many servers on the worker.
bool dhcp6_server_keep(
	struct dhcp6_worker *w, const struct dhcp6_bytes *id, struct dhcp6_client *k);
