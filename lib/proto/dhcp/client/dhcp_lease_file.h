// SPDX-License-Identifier: BSD-3-Clause
// Leases in a file, from one run to the next: a CSV line for each address or prefix, "client,mac,
// address,server,expires". A client's lines are in the order of what it asks for; address is
// 198.18.64.0, 2001:db8::1 or 2001:db8:8000::/56; server the identifier that it said, an IPv4
// address or a DUID as hex digits; expires in seconds since 1970, or "never". In a file by hand the
// first line may name its columns: address, and what else is known. Path: cold. Management thread.
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
	uint32_t left_s; // UINT32_MAX: for ever
	uint16_t server; // index into servers
	uint8_t bits;    // length of a prefix; 0: an address
	uint8_t bytes[16];
};

struct dhcp_plan;
struct dhcp_worker;

// Leases loaded from a file: clients in the order that their leases expire, each with all its
// leases, addresses first. A client whose leases have expired is left out.
struct dhcp_lease_file {
	struct dhcp_saved *items;
	uint32_t count;
	uint32_t clients; // highest number of a client, and 1
	struct dhcp_server_id *servers;
	uint32_t server_count;
	const char *save;             // NULL: none
	struct dhcp_worker **workers; // whose leases are to be saved; NULL: the worker is closed
	uint32_t worker_count;
};

// A lease of a client, for the file.
struct dhcp_lease_held {
	uint32_t number; // of the client in the whole run
	uint8_t bits;    // as in dhcp_saved
	uint8_t bytes[16];
	struct dhcp_server_id server;
	uint32_t expires_s; // of the run; UINT32_MAX: never
};

// The lines of a file, as they are read.
struct dhcp_lease_loading {
	const struct dhcp_plan *p;
	struct dhcp_rows leases, servers; // struct dhcp_saved, struct dhcp_server_id
	bool headed;                      // the first line names the columns:
	uint8_t place[5], columns;        // of each, from 1; 0: there is none
	uint8_t (*seen)[2];               // lines of each client: addresses, prefixes
	uint32_t line;
	uint64_t now; // since 1970
};

// A dhcp_line for struct dhcp_lease_loading: the lease must be possible and new.
int dhcp_lease_line(void *to, char *line, const char **what);
// The leases of an earlier run into the plan, and room for the workers of this one. settings NULL:
// neither. 0, -EINVAL (in d) or -ENOMEM.
int dhcp_lease_file_load(struct dhcp_plan *p, const struct dhcp_leases_settings *settings,
	const struct proto_env *env, struct diag *d);
// The worker is about to be closed. The first of an item saves the leases of all, when any has
// heard of a server. now_ms: of the run. 0, or -errno when not all could be written (logged).
int dhcp_lease_file_close(const struct dhcp_worker *w, uint64_t now_ms);
void dhcp_lease_file_free(struct dhcp_lease_file *f);
