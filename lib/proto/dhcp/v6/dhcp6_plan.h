// SPDX-License-Identifier: BSD-3-Clause
// What the client side of DHCPv6 works from: the kinds of messages, the compiled plan of an item
// and what a worker keeps. Not for anyone outside lib/proto, tests and fuzzers. Path: cold
// (set-up) | hot (the rest).
#pragma once

#include "base/arena.h"
#include "proto/dhcp/v6/dhcp6_leases.h"
#include "proto/dhcp/v6/dhcp6_message.h"
#include "proto/dhcp/v6/dhcp6_settings.h"
#include "proto/dhcp/dhcp_lease_file.h"
#include "proto/dhcp/dhcp_macs.h"
#include "proto/dhcp/dhcp_templates.h"
#include "proto/dhcp/dhcp_vlans.h"
#include "proto/dhcp/dhcp_work.h"
#include "proto/proto.h"

#define DHCP6_MESSAGE_MAX  1400 // of a message that we send, relay messages included
#define DHCP6_TEMPLATE_MAX 1024
#define DHCP6_KEY_BITS     23 // of the 24 of a transaction id; the last one is the step's

enum dhcp6_step {
	DHCP6_STEP_SOLICIT,
	DHCP6_STEP_REQUEST,
	DHCP6_STEP_RAPID,
	DHCP6_STEP_RENEW,
	DHCP6_STEP_REBIND,
	DHCP6_STEP_RELEASE,
	DHCP6_STEP_DECLINE,
	DHCP6_STEP_CONFIRM,
	DHCP6_STEP_INFORMATION,
	DHCP6_STEPS,
};

// What a message has (RFC 8415 sections 16 and 18.2).
enum dhcp6_has {
	DHCP6_HAS_SERVER_ID = 1 << 0,
	DHCP6_HAS_ADDRESSES = 1 << 1, // IA_NAs
	DHCP6_HAS_PREFIXES = 1 << 2,  // IA_PDs
	DHCP6_HAS_LEASES = 1 << 3,    // in the IAs; otherwise hints at most
	DHCP6_HAS_PARAMETERS = 1 << 4,
	DHCP6_HAS_OPTIONS = 1 << 5, // those of the user
	DHCP6_HAS_RAPID = 1 << 6,
	DHCP6_MAKES_LEASE = 1 << 7, // when the answer is a REPLY
	DHCP6_ENDS_LEASE = 1 << 8,  // when it begins
	DHCP6_ASKS_ONE = 1 << 9,    // only the server that is named in it answers
};

struct dhcp6_message_kind {
	uint8_t type;
	uint16_t has;      // enum dhcp6_has
	uint16_t answered; // bit per message type that fits
	uint16_t again;    // bit per message type that answered an earlier message of the exchange
};

extern const struct dhcp6_message_kind dhcp6_kinds[DHCP6_STEPS];

extern const struct dhcp_start dhcp6_starts[DHCP6_EXCHANGES];

// What it holds, or was advertised at most, are its leases (dhcp6_leases.h).
struct dhcp6_client {
	struct dhcp_client head;
	uint8_t chosen; // index of the server DUID that it talks to
	uint8_t kept;   // preference of the ADVERTISE at hand + 1; 0: there is none
	// How many waits become longer until they are those that a server told; 0: it told none.
	uint8_t sol_waits, inf_waits;
};

_Static_assert(sizeof(struct dhcp6_client) == 16, "a power of two");

// What a message begins with: the same for all clients but for transaction id and elapsed time.
struct dhcp6_template {
	uint16_t len;
	uint16_t room; // that the whole message may need, relay messages included
	uint8_t bytes[DHCP6_TEMPLATE_MAX];
};

struct dhcp6_prefix {
	uint8_t bytes[16], mask[16];
};

struct dhcp6_prefix_list {
	struct dhcp6_prefix *items;
	uint32_t count; // 0: any
};

struct dhcp6_ia_plan {
	uint16_t code;
	uint32_t iaid;
};

struct dhcp6_duid_bytes {
	uint8_t len;
	uint8_t bytes[DHCP6_DUID_MAX];
};

struct dhcp6_plan {
	struct dhcp6_template templates[DHCP6_STEPS];
	struct dhcp_course course;
	uint32_t clients;
	uint64_t mac;          // of client 0, as a number
	struct dhcp_macs macs; // of a file; without: mac + number
	enum dhcp6_duid duid_kind;
	struct dhcp_varying duid;
	struct dhcp6_duid_bytes *duids; // of a file, by client; NULL: as follows
	uint8_t duid_mac_at;   // where the MAC stands in it, at the end; 0: it is written as a
	                       // pattern
	uint8_t duid_head[16]; // what stands in front
	uint32_t addresses, prefixes; // of a client, in this order
	uint32_t stride;              // their sum
	struct recip by_stride;
	struct dhcp6_ia_plan ias[DHCP6_IAS_MAX];
	uint8_t prefix_hint; // 0: none
	struct dhcp_varying_list options, ia_na, ia_pd, relay_options;
	struct dhcp_varying fqdn; // code 0: none
	uint8_t fqdn_flags;

	const uint8_t (*relays)[16]; // NULL: clients on the link
	uint32_t relay_count;
	uint8_t levels;
	bool ldra, own_link; // link: the relay's own address
	uint8_t link[16];
	uint16_t relay_port;
	bool source_port; // option 135
	bool client_mac;  // option 79
	bool unicast;     // to servers whose addresses are known

	uint8_t servers[DHCP_SERVERS_MAX][16]; // the item's first
	uint32_t server_count;
	uint16_t server_port;
	bool takes_best;    // of the ADVERTISEs within the first wait
	uint8_t accept_len; // of a server DUID; 0: any
	uint8_t accept[DHCP6_DUID_MAX];
	uint64_t parameters[4]; // bits: asked for
	struct dhcp_vlans vlans;
	struct dhcp_lease_file leases;
	struct dhcp6_prefix_list pool, delegated;
	uint8_t prefix_length; // 0: any
	bool same_lease;
	struct proto_layout layout;
	struct arena *arena;
	const char *name; // of the item
	uint32_t owner;   // number of the first lease of client 0 among those of all items
};

// Of all items together.
struct dhcp6_common {
	struct dhcp6_leases leases;
	const struct dhcp6_plan **plans; // by their owners
	uint32_t count;
};

// ctx->own. One thread.
struct dhcp6_worker {
	struct dhcp_work work; // owner: the item's first lease
	const struct dhcp6_plan *plan;
	struct dhcp6_common *common;
	bool heard;                                        // a reply has come or should have
	struct dhcp6_duid_bytes servers[DHCP_SERVERS_MAX]; // as they were met
	uint32_t server_count;
};

static inline struct dhcp6_client *dhcp6_client_at(const struct dhcp6_worker *w, uint32_t client)
{
	return (struct dhcp6_client *)w->work.clients.items + client;
}

// dhcp6_check.c
void dhcp6_check(const void *settings, struct diag *d);
void dhcp6_check_server(const void *settings, const struct addr *server, struct diag *d);
// How many addresses, or prefixes, the clients hold at a time, at most.
uint64_t dhcp6_leases_wanted(const struct dhcp6_settings *s, bool prefixes);
// The shares of a mix, or NULL.
const double *dhcp6_shares(const struct dhcp6_settings *s);
// Are messages sent to addresses of servers?
bool dhcp6_is_unicast(const struct dhcp6_settings *s);

// dhcp6_setup.c
// A plan that knows its leases only; NULL: out of memory.
struct dhcp6_plan *dhcp6_plan_new(const struct dhcp6_settings *s);
void *dhcp6_setup(const void *settings, const struct proto_env *env, struct diag *d);
void dhcp6_teardown(void *shared);
void dhcp6_layout(const void *shared, struct proto_layout *out);

// dhcp6_open.c
void *dhcp6_common_setup(void *const *shared, uint32_t count, uint32_t threads);
void dhcp6_common_teardown(void *common);
uint64_t dhcp6_memory(const void *shared, const struct proto_env *env);
int dhcp6_open(struct proto_ctx *ctx, const struct proto_env *env);
int dhcp6_close(struct proto_ctx *ctx);

// dhcp6_templates.c: the bytes of every kind of message into the plan, options as patterns. 0, or
// -EINVAL (in d).
int dhcp6_build(struct dhcp6_plan *p, const struct dhcp6_settings *s, struct diag *d);

// dhcp6_duids.c: the file of DUIDs, one for each client, into the plan; free() p->duids. 0, -EINVAL
// (in d) or -ENOMEM.
int dhcp6_duids_load(struct dhcp6_plan *p, const struct dhcp6_settings *s, struct diag *d);

// dhcp6_lease_file.c
struct dhcp_lease_clients dhcp6_lease_clients(const struct dhcp6_plan *p);
// Loaded leases become those of the worker's clients, and what they hold at the end can be saved.
void dhcp6_leases_open(struct dhcp6_worker *w, const struct dhcp6_plan *p);

// dhcp6_waits.c: waits into the plan; s NULL: one try of everything. Returns how many different
// waits there are: with more than PROTO_MAX_WAITS the plan is of no use.
uint32_t dhcp6_build_waits(struct dhcp6_plan *p, const struct dhcp6_retransmit_settings *s);

// dhcp6_request_wire.c
uint32_t dhcp6_request(struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t room);
void dhcp6_flow(struct proto_ctx *ctx, const struct proto_txn *t, struct proto_flow *out);

// dhcp6_wire.c
bool dhcp6_begin(struct proto_ctx *ctx, struct proto_txn *t);
bool dhcp6_owns(struct proto_ctx *ctx, const uint8_t *addr, uint8_t addr_len, uint8_t mac[6]);
bool dhcp6_key(const uint8_t *buf, uint32_t len, uint32_t *key);
enum proto_verdict dhcp6_reply(
	struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len);
enum proto_verdict dhcp6_timeout(struct proto_ctx *ctx, struct proto_txn *t);
