// SPDX-License-Identifier: BSD-3-Clause
// DHCP clients of either family: the compiled plan of an item, the state of its workers, and the
// facts and steps that a family adds to both. The course of an exchange is in dhcp_course.h;
// messages belong to the family. Path: cold (the functions) | hot (the inline ones). Any thread.
#pragma once

#include "base/arena.h"
#include "proto/dhcp/client/dhcp_lease_file.h"
#include "proto/dhcp/client/lease/dhcp_leases.h"
#include "proto/dhcp/client/lease/dhcp_macs.h"
#include "proto/dhcp/client/dhcp_peers.h"
#include "proto/dhcp/client/dhcp_settings.h"
#include "proto/dhcp/client/lease/dhcp_table.h"
#include "proto/dhcp/client/dhcp_templates.h"
#include "proto/dhcp/client/dhcp_work.h"

// Steps with the same number in both families; the families' own steps follow.
enum dhcp_step { DHCP_STEP_FIRST, DHCP_STEP_REQUEST, DHCP_STEP_RAPID, DHCP_STEP_OTHERS };

// Flags of a message kind that both families share; the families' own flags are below these.
enum dhcp_has {
	DHCP_ASKS_ABOUT = 1 << 13,  // a query about leases, which stay unchanged
	DHCP_MAKES_LEASE = 1 << 14, // if the reply completes the exchange
	DHCP_IS_SILENT = 1 << 15,   // gets no reply
};

struct dhcp_message_kind {
	uint8_t type;
	uint16_t has;      // enum dhcp_has and the family's
	uint16_t answered; // bit per message type that is a valid reply
	uint16_t again; // bit per message type that replied to an earlier message of the exchange
	uint8_t usual;  // type of its usual reply; 0: none
};

// VLANs of ranges of clients.
struct dhcp_vlans {
	const struct dhcp_vlan_settings *sets;
	struct recip *by_inner; // by set: number of inner VLANs, for sets with a VLAN per client
	uint32_t count;
	bool vary;        // some set has a VLAN per client
	uint16_t *places; // by client number: its set, from 1; 0: none. NULL: all 0
};

// The waiting time that clients pretend. on: whether they do.
struct dhcp_pretend {
	bool on, grow;
	uint16_t from;
	uint64_t after_ms, for_ms;
};

// Deliberately malformed messages: below[kind] of 2^32, ascending; a draw picks the first above.
struct dhcp_wrong {
	uint16_t steps; // steps that may be wrong, a bit each; 0: none
	uint64_t below[DHCP_WRONG_COUNT];
};

// First member of a family's plan. ctlplane: wo, dataplane: ro
struct dhcp_plan {
	const struct dhcp_family *family;
	struct dhcp_course course;
	struct dhcp_life_plan life; // course.life, if there is one
	uint32_t clients;
	uint32_t most;  // upper bound of the number of clients
	bool automatic; // the number of clients was computed
	double uses;    // clients that an exchange uses up on average
	uint8_t mac_len;
	uint8_t mac_shift;           // shift of the client number in first_mac
	uint64_t mac;                // of client 0 as a number, for Ethernet MACs without a file
	unsigned __int128 first_mac; // of client 0, first byte uppermost; without a file
	bool stations;               // MACs must be Ethernet unicast addresses
	struct dhcp_macs macs; // from a file or shared; otherwise computed from the client's number
	bool shared_macs;      // several clients share a MAC
	struct dhcp_key *own;  // lease that each client must get, all 0: any; NULL: none
	struct dhcp_varying_list expected; // options of replies
	struct dhcp_table table;           // from a client file or a capture
	struct timestamps times;           // capture time of each client; empty: not wanted
	char *used;                        // "97 of 100 packets of f: ..."; NULL: all
	uint32_t addresses, prefixes;      // leased per client, in this order
	uint32_t stride;                   // their sum
	struct recip by_stride;
	bool names_server; // messages about leases carry the server's identifier
	bool same_lease;   // an extended lease must keep its addresses and prefixes
	struct dhcp_varying_list options;
	struct dhcp_varying fqdn; // code 0: none
	uint8_t fqdn_flags;
	uint64_t parameters[4]; // bit per requested parameter
	struct dhcp_pretend pretend;
	struct dhcp_wrong wrong;
	const struct dhcp_varying *raw[PROTO_MAX_STEPS]; // raw messages by step; NULL: as usual

	const uint8_t *relays; // addr_len bytes each; NULL: clients on a link
	const uint8_t *from;   // common source address; NULL: each relay uses its own
	uint32_t relay_count;
	struct recip by_relay; // relay_count
	uint16_t relay_port;
	uint16_t server_port;
	uint32_t server_count;
	uint8_t servers[DHCP_SERVERS_MAX][16]; // server addresses, the item's first
	uint32_t path_stride;                  // number of paths per VLAN set
	struct dhcp_vlans vlans;
	uint32_t longest;   // length of the longest message
	size_t secret_size; // bytes that a family keeps per client besides its record
	// By worker, if open, for clients that servers may call; NULL: servers call no clients.
	const struct dhcp_turns **turns;
	uint32_t workers;
	struct dhcp_peers *peers; // dataplane: rw
	struct proto_layout layout;
	struct dhcp_lease_file leases;
	struct arena *arena;
	const char *name; // of the item
	struct dhcp_common *common;
	uint32_t owner; // number of client 0's first lease, unique among all items
};

// Shared by all items: created with the first, freed with the last.
struct dhcp_common {
	struct dhcp_leases leases; // if open
	bool open;
	uint64_t lease_count;
	uint32_t users;                 // plans not torn down yet
	const struct dhcp_plan **plans; // ordered by owner
	uint32_t count;
};

#define DHCP_UNLIKE_SHOWN 32

// Replies whose option differs from the expected one, and details of the first.
struct dhcp_unlike {
	uint64_t count;
	uint32_t client;
	uint8_t len;  // bytes kept, up to DHCP_UNLIKE_SHOWN
	bool missing; // the reply lacks the option
	uint8_t bytes[DHCP_UNLIKE_SHOWN];
};

// First member of a family's worker: ctx->own. Used by one thread.
struct dhcp_worker {
	struct dhcp_work work; // owner: number of the item's first lease
	const struct dhcp_plan *plan;
	struct dhcp_common *common;
	void *secrets; // by client, secret_size bytes each; NULL: none
	bool heard;    // a reply arrived or is overdue, or none was expected
	struct dhcp_unlike unlike[DHCP_EXPECTED_MAX]; // by place in plan.expected
};

struct dhcp_captured_client;

struct dhcp_family {
	const char *name; // of the protocol
	uint8_t addr_len;
	uint16_t client_port, server_port;
	uint8_t steps, exchanges;
	// Exchanges whose replies go to clients behind relays, and exchanges in which relays send
	// from the client port; 0: none.
	uint8_t answered, asks;
	const struct dhcp_message_kind *kinds; // by step
	uint16_t spared;                       // flags of kinds that are never made wrong
	uint16_t has_server;                   // flag of kinds that carry a server DUID
	uint16_t wrong_more;                   // maximum bytes by which a wrong message is longer
	const struct dhcp_start *starts;       // by exchange
	const char *const *exchange_names;
	struct dhcp_life_exchanges life;
	size_t plan_size, worker_size, client_size;
	const char *fqdn_rfc;
	const char *more_clients[2]; // how to get more clients; [1]: if clients already start over
	const char *more_bound;      // how to get more clients that hold leases
	// Name of a status in refusals; NULL: refusals carry none.
	const char *(*status_name)(uint32_t status);

	// Can this exchange, which normally needs a lease, do without one? NULL: never.
	bool (*needs_none)(const struct dhcp_settings *s, uint32_t exchange);
	// Family-specific rules. exchange_check: for an exchange that the item uses.
	void (*check)(const struct dhcp_settings *s, struct diag *d);
	void (*exchange_check)(const struct dhcp_settings *s, uint32_t exchange, struct diag *d);
	// Are messages of clients behind relays sent from the leased address? NULL: no.
	bool (*unicasts)(const struct dhcp_settings *s);

	// Addresses, or prefixes, that a client requests.
	uint64_t (*each)(const struct dhcp_settings *s, bool prefixes);
	// Number of clients distinguishable without a file, and number of clients served by the
	// addresses and prefixes of `expect`. The settings may be invalid.
	uint64_t (*identities)(const struct dhcp_settings *s);
	uint64_t (*accepted)(const struct dhcp_settings *s);

	// First part of a plan: everything that determines message lengths.
	void (*plan_identity)(struct dhcp_plan *p, const struct dhcp_settings *s);
	// Everything else that is independent of messages.
	void (*plan_rest)(
		struct dhcp_plan *p, const struct dhcp_settings *s, const struct proto_env *env);
	// Retransmission of a step according to the setting `retransmit`.
	struct dhcp_backoff (*backoff)(const struct dhcp_settings *s, uint32_t step);
	// Writes up to 1 + DHCP_SERVERS_MAX destinations for clients without VLANs; their number.
	uint32_t (*paths)(struct dhcp_plan *p, const struct dhcp_settings *s,
		const struct proto_env *env, struct addr *to);
	// Build the templates of all message kinds in the plan. 0, or -EINVAL (in d).
	int (*templates)(struct dhcp_plan *p, const struct dhcp_settings *s, struct diag *d);
	// The client of a message to or from the server. NULL, or why the message is unusable.
	const char *(*captured)(const struct dhcp_settings *s, const uint8_t *buf, uint32_t len,
		struct dhcp_captured_client *out);
	// Loads files other than MACs and leases; NULL: none. 0, -EINVAL (in d) or -ENOMEM.
	int (*load)(struct dhcp_plan *p, const struct dhcp_settings *s, struct diag *d);
	void (*unload)(struct dhcp_plan *p); // NULL: nothing to free

	// Does a server see these clients of two items as the same client?
	bool (*same)(const struct dhcp_plan *p, uint32_t ours, const struct dhcp_plan *q,
		uint32_t theirs);
	// Gives the client its saved leases; false: another client has one, or the worker has seen
	// too many servers.
	bool (*lease_load)(struct dhcp_worker *w, uint32_t client, const struct dhcp_saved *saved);
	// The nth lease of a client that holds leases.
	void (*lease_save)(const struct dhcp_worker *w, uint32_t client, uint32_t nth,
		struct dhcp_lease_held *out);
};

// dhcp_client.c, for struct proto
void dhcp_terms(struct dhcp_settings *s, struct proto_terms *out);
// Finish a set-up: facts, and the place among all items. false: no memory.
bool dhcp_facts(struct dhcp_plan *p, const struct proto_env *env, struct proto_facts *facts);
// Drop one plan's reference; c may be NULL.
void dhcp_common_leave(struct dhcp_common *c);
bool dhcp_peer(const void *shared, const void *counters, uint32_t i, struct proto_peer *out);
int dhcp_open(struct proto_ctx *ctx, const struct proto_env *env);
int dhcp_close(struct proto_ctx *ctx);
uint64_t dhcp_due(struct proto_ctx *ctx);
uint64_t dhcp_waiting(struct proto_ctx *ctx, uint64_t until_ms);

// The verbs of a family for struct proto and struct dhcp_family.
#define DHCP_VERBS_DECLARED(family)                                                                \
	/* Why the server's address may not be missing; NULL: it may. */                           \
	const char *family##_no_server(const void *settings);                                      \
	int family##_templates(                                                                    \
		struct dhcp_plan *p, const struct dhcp_settings *s, struct diag *d);               \
	uint32_t family##_begin(struct proto_ctx *ctx, struct proto_txn *t, uint32_t n);           \
	void family##_request(struct proto_ctx *ctx, struct proto_txn *const *t,                   \
		struct proto_flow *flow, struct proto_out *out, uint32_t n, uint32_t room);        \
	bool family##_key(const uint8_t *buf, uint32_t len, uint32_t *key);                        \
	uint32_t family##_reply(struct proto_ctx *ctx, struct proto_txn *const *t,                 \
		const struct proto_message *in, enum proto_verdict *verdicts, uint32_t n);         \
	const char *family##_captured(const struct dhcp_settings *s, const uint8_t *buf,           \
		uint32_t len, struct dhcp_captured_client *out);                                   \
	const char *family##_reason(struct proto_ctx *ctx, const struct proto_txn *t,              \
		const uint8_t *buf, uint32_t len);                                                 \
	enum proto_verdict family##_timeout(struct proto_ctx *ctx, struct proto_txn *t);           \
	bool family##_gives_up(const struct proto_ctx *ctx, const struct proto_txn *t);            \
	bool family##_owns(                                                                        \
		struct proto_ctx *ctx, const uint8_t *addr, uint8_t addr_len, uint8_t mac[6]);     \
	bool family##_happened(                                                                    \
		struct proto_ctx *ctx, const struct proto_txn *t, struct proto_event *out);        \
	void family##_name(const struct proto_ctx *ctx, uint32_t client, struct writer *w);        \
	void family##_identity(                                                                    \
		const struct proto_ctx *ctx, uint32_t client, struct proto_identity *out);

// dhcp_client.c: search the servers after the first.
uint32_t dhcp_server_search(const struct dhcp_plan *p, const uint8_t *addr, uint8_t len);

// Source address of a relay's messages.
static inline const uint8_t *dhcp_source_of(const struct dhcp_plan *p, const uint8_t *relay)
{
	return p->from ? p->from : relay;
}

// Is a reply for the relay? Servers reply to the address in the message, or to the sender's.
static inline bool dhcp_is_to_relay(
	const struct dhcp_plan *p, const uint8_t *dst, const uint8_t *relay, uint8_t len)
{
	return addr_bytes_equal(dst, relay, len) ||
	       (p->from && addr_bytes_equal(dst, p->from, len));
}

// The worker that plays this client; UINT32_MAX: no worker of this process.
static inline uint32_t dhcp_worker_of(const struct dhcp_plan *p, uint32_t number)
{
	for (uint32_t i = 0; i < p->workers; i++)
		if (p->turns[i] && dhcp_turns_find(p->turns[i], number) != UINT32_MAX)
			return i;
	return UINT32_MAX;
}

// The index of the server with this address, usually the first; server_count: unknown.
static inline uint32_t dhcp_server_of(const struct dhcp_plan *p, const uint8_t *addr, uint8_t len)
{
	return addr_bytes_equal(p->servers[0], addr, len) ? 0 : dhcp_server_search(p, addr, len);
}

static inline bool dhcp_is_server(const struct dhcp_plan *p, const uint8_t *addr, uint8_t len)
{
	return addr_bytes_equal(p->servers[0], addr, len) ||
	       dhcp_server_search(p, addr, len) < p->server_count;
}

// Does a client whose message is sent now pretend to have waited?
static inline bool dhcp_pretends(const struct dhcp_pretend *p, uint64_t now_ms)
{
	return p->on && now_ms >= p->after_ms && now_ms - p->after_ms < p->for_ms;
}

// The pretended time in units of unit_ms.
static inline uint16_t dhcp_pretended(
	const struct dhcp_pretend *p, uint64_t now_ms, uint32_t unit_ms)
{
	uint64_t value = p->from + (p->grow ? (now_ms - p->after_ms) / unit_ms : 0);

	return value < UINT16_MAX ? (uint16_t)value : UINT16_MAX;
}

static inline uint32_t dhcp_vlans_place(const struct dhcp_vlans *v, uint32_t number)
{
	return v->places ? v->places[number] : 0;
}

// The common case has a constant length for the compiler.
static inline void dhcp_mac_copy(const struct dhcp_plan *p, const uint8_t *from, uint8_t *to)
{
	if (p->mac_len == 6)
		memcpy(to, from, 6);
	else
		memcpy(to, from, p->mac_len);
}

// The hardware address of a client, padded with zeros after mac_len bytes.
static inline void dhcp_mac_of(
	const struct dhcp_plan *p, uint32_t number, uint8_t out[DHCP_MAC_MAX])
{
	uint64_t halves[2] = {0};

	if (p->macs.items) {
		memset(out, 0, DHCP_MAC_MAX);
		dhcp_mac_copy(p, p->macs.items + (size_t)number * p->mac_len, out);
		return;
	}
	if (p->mac_len <= 8) { // all in the upper half
		halves[0] =
			(uint64_t)(p->first_mac >> 64) + ((uint64_t)number << (p->mac_shift & 63));
	} else {
		unsigned __int128 v = p->first_mac + ((unsigned __int128)number << p->mac_shift);

		halves[0] = (uint64_t)(v >> 64);
		halves[1] = (uint64_t)v;
	}
	halves[0] = __builtin_bswap64(halves[0]);
	halves[1] = __builtin_bswap64(halves[1]);
	memcpy(out, halves, DHCP_MAC_MAX);
}

// An Ethernet MAC as a number, and as bytes.
static inline uint64_t dhcp_mac_number(const struct dhcp_plan *p, uint32_t number)
{
	const uint8_t *macs = p->macs.items;

	if (macs) {
		macs += 6 * (size_t)number;
		return (uint64_t)bytes_be32(macs) << 16 | bytes_be16(macs + 4);
	}
	return (p->mac + number) & 0xffffffffffff;
}

static inline void dhcp_mac_write(const struct dhcp_plan *p, uint32_t number, uint8_t mac[6])
{
	uint64_t v = __builtin_bswap64((p->mac + number) << 16);

	memcpy(mac, p->macs.items ? p->macs.items + 6 * (size_t)number : (const uint8_t *)&v, 6);
}

// The number that selects a client's relay: the client's own, until it moves.
static inline uint32_t dhcp_relay_number(
	const struct dhcp_worker *w, uint32_t client, uint32_t number)
{
	const uint16_t *moved = w->work.life.relays;

	return moved ? moved[client] : number;
}

// The client's private VLANs, 0: absent. Returns false, with zeros, if it uses its path's VLANs.
static inline bool dhcp_vlans_own(const struct dhcp_vlans *v, uint32_t number, uint16_t out[2])
{
	const struct dhcp_vlan_settings *set;
	uint32_t place, nth, turn;

	out[0] = out[1] = 0;
	place = v->vary ? v->places[number] : 0;
	if (place == 0 || v->sets[place - 1].outer.last == 0)
		return false;
	set = &v->sets[place - 1];
	nth = number - set->clients.first;
	turn = (uint32_t)recip_div(&v->by_inner[place - 1], nth);
	out[0] = (uint16_t)(set->outer.first + turn);
	if (set->inner.last)
		out[1] = (uint16_t)(set->inner.first +
				    (nth - turn * (uint32_t)v->by_inner[place - 1].divisor));
	return true;
}

// The path to the item's first destination on the VLANs of a client.
static inline const struct proto_path *dhcp_path_of(const struct dhcp_plan *p, uint32_t number)
{
	const struct proto_path *paths = p->layout.paths.items;

	return paths + dhcp_vlans_place(&p->vlans, number) * p->path_stride;
}

static __attribute__((noinline)) void dhcp_flow_vlans(
	const struct dhcp_plan *p, uint32_t number, struct proto_flow *out)
{
	out->path = dhcp_vlans_place(&p->vlans, number) * p->path_stride;
	dhcp_vlans_own(&p->vlans, number, out->vlans);
}

// Write the VLANs and the MAC of a client into the flow of its message, and the first of the paths
// on these VLANs.
static inline void dhcp_flow_begin(
	const struct dhcp_plan *p, uint32_t number, struct proto_flow *out)
{
	out->path = 0;
	out->vlans[0] = out->vlans[1] = 0;
	if (p->vlans.places)
		dhcp_flow_vlans(p, number, out);
	out->own_mac = !p->relays;
	if (out->own_mac)
		dhcp_mac_write(p, number, out->mac);
}

// The VLANs of a client, 0: absent.
static inline struct pattern_vlans dhcp_vlans_of(const struct dhcp_plan *p, uint32_t number)
{
	uint16_t own[2];

	if (!p->vlans.places)
		return (struct pattern_vlans){0};
	if (!dhcp_vlans_own(&p->vlans, number, own))
		memcpy(own, dhcp_path_of(p, number)->vlans, sizeof(own));
	return (struct pattern_vlans){own[0], own[1]};
}

static __attribute__((noinline)) bool dhcp_vlans_are_ours(
	const struct dhcp_plan *p, uint32_t number, const struct proto_ends *e)
{
	struct pattern_vlans ours = dhcp_vlans_of(p, number);

	if (e->vlan_count != dhcp_path_of(p, number)->vlan_count)
		return false;
	return (e->vlan_count < 1 || e->vlans[0] == ours.outer) &&
	       (e->vlan_count < 2 || e->vlans[1] == ours.inner);
}

// Did the message arrive on the VLANs of this client?
static inline bool dhcp_vlan_is_ours(
	const struct dhcp_plan *p, uint32_t number, const struct proto_ends *e)
{
	return p->vlans.places ? dhcp_vlans_are_ours(p, number, e) : e->vlan_count == 0;
}

// Is the client's nth lease a prefix?
static inline bool dhcp_is_prefix(const struct dhcp_plan *p, uint32_t nth)
{
	return nth >= p->addresses;
}

// The first of a client's leases, by the client's number in the run and by its index.
static inline uint32_t dhcp_lease_by(const struct dhcp_plan *p, uint32_t number)
{
	return p->owner + number * p->stride;
}

static inline uint32_t dhcp_lease_of(
	const struct dhcp_plan *p, const struct dhcp_worker *w, uint32_t client)
{
	return dhcp_lease_by(p, dhcp_work_number(&w->work, client));
}

// The item that owns a lease.
static inline const struct dhcp_plan *dhcp_plan_of(const struct dhcp_common *c, uint32_t lease)
{
	uint32_t i = 0;

	while (i + 1 < c->count && c->plans[i + 1]->owner <= lease)
		i++;
	return c->plans[i];
}

// The client that owns a lease of this item.
static inline uint32_t dhcp_number_of(const struct dhcp_plan *p, uint32_t lease)
{
	return (uint32_t)recip_div(&p->by_stride, lease - p->owner);
}

// Does a server see the holders of two leases as one client? In an item only if they share a MAC.
static inline bool dhcp_same_client(const struct dhcp_common *c, uint32_t lease, uint32_t other)
{
	const struct dhcp_plan *p = dhcp_plan_of(c, lease), *q = dhcp_plan_of(c, other);

	return (p != q || p->shared_macs) &&
	       p->family->same(p, dhcp_number_of(p, lease), q, dhcp_number_of(q, other));
}
