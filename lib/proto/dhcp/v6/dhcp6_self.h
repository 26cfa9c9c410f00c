// SPDX-License-Identifier: BSD-3-Clause
// Who sends a message or gets a reply: what the hot files of the client side share. Path: hot. The
// worker that owns it.
#pragma once

#include <string.h>

#include "proto/dhcp/client/dhcp_course.h"
#include "proto/dhcp/v6/dhcp6_plan.h"

struct dhcp6_self {
	const struct dhcp6_plan *p;
	struct dhcp6_worker *w;
	struct dhcp6_client *client;
	struct dhcp_key keys[DHCP6_IAS_MAX]; // of its leases
	uint32_t lease;                      // the first of them
	const uint8_t *relay;                // 16 bytes, of the outermost one; NULL: none
	const uint8_t *address;              // the first that the exchange is about, or ::
	uint64_t seed;                       // of {random}
	uint32_t number;                     // in the whole run
	uint32_t index;                      // of the worker's
	uint8_t mac[6];
	uint8_t duid_len;
	uint8_t duid[DHCP6_DUID_MAX];
};

// What one relay writes into its message.
struct dhcp6_hop {
	uint8_t hop_count;
	const uint8_t *link;
	uint8_t peer[16];
};

static inline void dhcp6_mac(const struct dhcp6_plan *p, uint32_t number, uint8_t mac[6])
{
	uint64_t v = __builtin_bswap64((p->mac + number) << 16);

	if (p->is.macs.items)
		memcpy(mac, p->is.macs.items + 6ull * number, 6);
	else
		memcpy(mac, &v, 6);
}

static inline void dhcp6_mac_of(
	const struct dhcp_plan *p, uint32_t number, uint8_t out[DHCP_MAC_MAX])
{
	dhcp6_mac((const struct dhcp6_plan *)p, number, out);
}

// RFC 4291 appendix A.
static inline void dhcp6_link_local(const uint8_t mac[6], uint8_t out[16])
{
	const uint8_t address[16] = {
		0xfe, 0x80, [8] = mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};

	memcpy(out, address, 16);
}

// The transaction id: the second message of an exchange has one of its own (RFC 8415 section 16.1).
static inline uint32_t dhcp6_xid_of(const struct proto_txn *t)
{
	return t->key << 1 | (t->step == DHCP6_STEP_REQUEST);
}

// dhcp6_wire.c: the client, which has none, holds these leases until until_s, or none of them:
// false, with the first that another client holds in *clash.
bool dhcp6_leases_hold(struct dhcp6_worker *w, uint32_t client, const struct dhcp_key *keys,
	uint32_t until_s, uint32_t now_s, struct dhcp_clash *clash);
// k talks to the server with this DUID; false: it would be one too many for the worker.
bool dhcp6_server_keep(
	struct dhcp6_worker *w, const struct dhcp6_bytes *id, struct dhcp6_client *k);

// dhcp6_request_wire.c
void dhcp6_self_find(const struct proto_ctx *ctx, uint32_t client, struct dhcp6_self *s);
void dhcp6_hop_find(const struct dhcp6_self *s, uint32_t level, struct dhcp6_hop *h);
void dhcp6_varying_write(
	const struct dhcp6_self *s, const struct dhcp_varying *v, struct writer *w);

// The leases that a server gave.
struct dhcp6_given {
	struct dhcp_key keys[DHCP6_IAS_MAX];
	uint32_t valid_s; // the shortest
};

// A reply at hand.
struct dhcp6_heard {
	struct dhcp_heard is;
	struct dhcp6_self self;
	struct dhcp6_envelope envelope;
	struct dhcp6_message m;
	struct dhcp6_given given;
};

// dhcp6_checks_wire.c: as struct dhcp_messages has them
bool dhcp6_way_is_ours(
	const struct dhcp_heard *h, const struct proto_ends *e, const struct proto_txn *t);
enum proto_verdict dhcp6_ours(
	const struct dhcp_heard *h, const struct proto_ctx *ctx, const struct proto_txn *t);
enum dhcp_judgement dhcp6_judge(
	struct dhcp_heard *h, const struct proto_ctx *ctx, const struct proto_txn *t);
