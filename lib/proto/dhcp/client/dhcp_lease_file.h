// SPDX-License-Identifier: BSD-3-Clause
// Leases in a file, from one run to the next: a CSV line for each address or prefix, "client,mac,
// address,server,expires". A client's lines follow the order of its requests. address is
// 198.18.64.0, 2001:db8::1 or 2001:db8:8000::/56; server is its identifier, an IPv4 address or a
// DUID as hex digits; expires is in seconds since 1970, or "never". The first line of a
// hand-written file may name its columns: address and any others. Path: cold. Management thread.
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "proto/dhcp/client/lease/dhcp_lines.h"
#include "proto/dhcp/client/lease/dhcp_macs.h"
#include "proto/dhcp/client/dhcp_settings.h"
#include "proto/proto.h"

#define DHCP_SERVER_ID_MAX 130 // bytes of a DUID

struct dhcp_server_id {
	uint8_t len;
	uint8_t bytes[DHCP_SERVER_ID_MAX];
};

struct dhcp_saved {
	uint32_t client;
	uint32_t line;   // of the file
	uint32_t left_s; // UINT32_MAX: forever
	uint16_t server; // index into servers
	uint8_t bits;    // prefix length; 0: an address
	uint8_t bytes[16];
};

struct dhcp_plan;
struct dhcp_worker;

// Leases loaded from a file: clients in order of expiry, each with all its leases, addresses first.
// Clients with expired leases are omitted.
struct dhcp_lease_file {
	struct dhcp_saved *items;
	uint32_t count;
	uint32_t clients; // highest client number, plus 1
	struct dhcp_server_id *servers;
	uint32_t server_count;
	const char *save;             // NULL: none
	struct dhcp_worker **workers; // workers whose leases are to be saved; NULL: already closed
	uint32_t worker_count;
};

// A client's lease, as written to the file.
struct dhcp_lease_held {
	uint32_t number; // of the client, unique in the whole run
	uint8_t bits;    // as in dhcp_saved
	uint8_t bytes[16];
	struct dhcp_server_id server;
	uint32_t expires_s; // of the run; UINT32_MAX: never
};

// Parser state for a file.
struct dhcp_lease_loading {
	const struct dhcp_plan *p;
	struct dhcp_rows leases, servers; // struct dhcp_saved, struct dhcp_server_id
	bool headed;                      // the first line names the columns
	uint8_t place[5], columns;        // of each column, from 1; 0: absent
	uint8_t (*seen)[2];               // number of lines per client: addresses, prefixes
	uint32_t line;
	uint64_t now; // Unix time
};

// A dhcp_line for struct dhcp_lease_loading: the lease must be valid and new.
int dhcp_lease_line(void *to, char *line, const char **what);
// Load the leases of an earlier run into the plan, and allocate space for the workers of this run.
// settings NULL: neither. 0, -EINVAL (in d) or -ENOMEM.
int dhcp_lease_file_load(struct dhcp_plan *p, const struct dhcp_leases_settings *settings,
	const struct proto_env *env, struct diag *d);
// Called before the worker is closed; the first call of an item saves all workers' leases if any
// got a reply. now_ms: since the start of the run. 0, or -errno if the file is incomplete (logged).
int dhcp_lease_file_close(const struct dhcp_worker *w, uint64_t now_ms);
void dhcp_lease_file_free(struct dhcp_lease_file *f);
