// SPDX-License-Identifier: BSD-3-Clause
// Leases in a file, from one run to the next: a CSV line for each address or prefix, "client,mac,
// address,server,expires". A client's lines are in the order of what it asks for; address is
// 198.18.64.0, 2001:db8::1 or 2001:db8:8000::/56; server the identifier that it said, an IPv4
// address or a DUID as hex digits; expires in seconds since 1970, or "never". Knows no table of
// clients. Path: cold. Management thread.
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "proto/dhcp/dhcp_macs.h"
#include "proto/dhcp/dhcp_settings.h"

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

// Whose leases they are.
struct dhcp_lease_clients {
	const void *plan;
	uint32_t count;
	uint32_t addresses, prefixes; // that each has
	uint8_t prefix_max;           // length
	uint8_t addr_len;
	uint8_t mac_len;
	void (*mac)(const void *plan, uint32_t client, uint8_t out[DHCP_MAC_MAX]);
};

// Loaded from a file: the clients in the order that their leases run out, each with all that it
// has, addresses first. A client whose leases have run out is left out.
struct dhcp_lease_file {
	struct dhcp_saved *items;
	uint32_t count;
	struct dhcp_server_id *servers;
	uint32_t server_count;
	const char *save; // NULL: none
	struct dhcp_lease_worker *workers;
	uint32_t worker_count;
};

// What a client holds.
struct dhcp_lease_held {
	uint32_t number; // of the client in the whole run
	uint8_t bits;    // as in dhcp_saved
	uint8_t bytes[16];
	struct dhcp_server_id server;
	uint32_t expires_s; // of the run; UINT32_MAX: never
};

// A worker whose clients' leases are to be saved.
struct dhcp_lease_worker {
	const void *own;   // NULL: it is closed, or holds nothing to be saved
	const bool *heard; // a server has said something, or should have
	uint32_t clients;
	// The nth lease of a client; false: it has no such, or it has run out by now_s.
	bool (*lease)(const void *own, uint32_t client, uint32_t nth, uint32_t now_s,
		struct dhcp_lease_held *out);
};

// The leases of an earlier run, and where those of this one go. 0, -EINVAL (in d) or -ENOMEM.
int dhcp_lease_file_load(struct dhcp_lease_file *f, const struct dhcp_leases_settings *s,
	const struct dhcp_lease_clients *of, struct diag *d);
// Room for what so many workers hold.
void dhcp_lease_file_workers(struct dhcp_lease_file *f, uint32_t workers, struct arena *a);
// own is about to be closed. The first of an item saves what all of them hold, when any has heard.
// now_ms: of the run. 0, or -errno when not all could be written (logged).
int dhcp_lease_file_close(const struct dhcp_lease_file *f, const struct dhcp_lease_clients *of,
	const void *own, uint32_t now_ms);
void dhcp_lease_file_free(struct dhcp_lease_file *f);
