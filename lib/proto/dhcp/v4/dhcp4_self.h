// SPDX-License-Identifier: BSD-3-Clause
// Who sends a message or gets a reply: what the hot files of the client side share. Path: hot. The
// worker that owns it.
#pragma once

#include <string.h>

#include "proto/dhcp/client/dhcp_course.h"
#include "proto/dhcp/v4/dhcp4_plan.h"

struct dhcp4_self {
	const struct dhcp4_plan *p;
	struct dhcp4_client *client;
	uint64_t seed;                    // of {random}
	uint32_t number;                  // in the whole run
	uint8_t chaddr[DHCP4_CHADDR_LEN]; // zeros behind its bytes
	uint8_t relay[4];                 // as on the wire
	uint8_t address[4];               // that the exchange is about
};

// Mostly Ethernet's, whose length the compiler is to know.
static inline void dhcp4_chaddr_copy(const struct dhcp4_plan *p, const uint8_t *from, uint8_t *to)
{
	if (p->is.mac_len == 6)
		memcpy(to, from, 6);
	else
		memcpy(to, from, p->is.mac_len);
}

static inline void dhcp4_chaddr(
	const struct dhcp4_plan *p, uint32_t number, uint8_t out[DHCP4_CHADDR_LEN])
{
	uint64_t halves[2] = {0};

	if (p->is.macs.items) {
		memset(out, 0, DHCP4_CHADDR_LEN);
		dhcp4_chaddr_copy(p, p->is.macs.items + (size_t)number * p->is.mac_len, out);
		return;
	}
	if (p->is.mac_len <= 8) { // all in the upper half
		halves[0] =
			(uint64_t)(p->chaddr >> 64) + ((uint64_t)number << (p->chaddr_shift & 63));
	} else {
		unsigned __int128 v = p->chaddr + ((unsigned __int128)number << p->chaddr_shift);

		halves[0] = (uint64_t)(v >> 64);
		halves[1] = (uint64_t)v;
	}
	halves[0] = __builtin_bswap64(halves[0]);
	halves[1] = __builtin_bswap64(halves[1]);
	memcpy(out, halves, DHCP4_CHADDR_LEN);
}

static inline void dhcp4_mac_of(
	const struct dhcp_plan *p, uint32_t number, uint8_t out[DHCP_MAC_MAX])
{
	dhcp4_chaddr((const struct dhcp4_plan *)p, number, out);
}

// It holds no address any more; nothing happens when it holds none.
static inline void dhcp4_lease_drop(struct dhcp4_worker *w, uint32_t client)
{
	struct dhcp4_client *k = dhcp4_client_at(w, client);

	if (k->address)
		dhcp_holders_drop(&w->is.common->leases.holders, dhcp4_held(k->address),
			dhcp4_owner(w, client));
	k->address = 0;
	k->head.holds = false;
}

// The client holds address (not 0) until then, and no other one any more. DHCP_NOBODY, or the
// owner that has a running lease on it: then nothing changes. With a client that is the same one
// for a server it holds the address together.
static inline uint32_t dhcp4_lease_hold(
	struct dhcp4_worker *w, uint32_t client, uint32_t address, uint32_t until_s, uint32_t now_s)
{
	struct dhcp4_client *k = dhcp4_client_at(w, client);
	uint32_t owner = dhcp4_owner(w, client);
	uint32_t other = dhcp_holders_hold(
		&w->is.common->leases.holders, dhcp4_held(address), owner, until_s, now_s);

	if (other != DHCP_NOBODY && !dhcp_same_client(w->is.common, owner, other))
		return other;
	if (k->address != address)
		dhcp4_lease_drop(w, client);
	k->address = address;
	k->head.holds = true;
	k->head.expires_s = until_s;
	return DHCP_NOBODY;
}

static inline uint32_t dhcp4_relay_of(
	const struct dhcp4_plan *p, const struct dhcp4_worker *w, uint32_t client)
{
	return dhcp4_get32(p->is.relays + 4 * (size_t)dhcp_work_relay(&w->is.work, client));
}

static inline void dhcp4_self_find(
	const struct proto_ctx *ctx, uint32_t client, struct dhcp4_self *s)
{
	const struct dhcp4_plan *p = ctx->shared;
	struct dhcp4_worker *w = ctx->own;

	s->p = p;
	s->client = dhcp4_client_at(w, client);
	s->number = dhcp_work_number(&w->is.work, client);
	dhcp4_chaddr(p, s->number, s->chaddr);
	dhcp4_put32(s->relay, p->is.relays ? dhcp4_relay_of(p, w, client) : 0);
	dhcp4_put32(s->address, s->client->offered);
	s->seed = w->is.work.random_salt + s->number;
}

// dhcp4_request_wire.c
// Data of options 61 and 82, as sent.
void dhcp4_client_id_write(const struct dhcp4_self *s, struct writer *w);
void dhcp4_relay_info_write(const struct dhcp4_self *s, struct writer *w);

// A reply at hand.
struct dhcp4_heard {
	struct dhcp_heard is;
	struct dhcp4_self self;
	struct dhcp4_message m;
};
