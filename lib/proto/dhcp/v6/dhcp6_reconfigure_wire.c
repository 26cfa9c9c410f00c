// SPDX-License-Identifier: BSD-3-Clause
// RECONFIGUREs (RFC 8415 section 18.2.11): the addressed client, authentication, and the exchange
// that the client begins. Also the keys for them from servers. Path: hot. The worker that owns ctx.

#include "proto/dhcp/v6/dhcp6_reconfigure.h"
#include "proto/dhcp/v6/dhcp6_checks.h"
#include "proto/dhcp/v6/dhcp6_request.h"
#include "proto/dhcp/v6/dhcp6_rkap.h"

void dhcp6_key_keep(const struct dhcp6_heard *h, uint32_t client)
{
	struct dhcp6_secret *secrets = h->self.w->is.secrets;
	struct dhcp6_rkap given;

	if (!secrets || !dhcp6_rkap_read(&h->m.auth, DHCP6_RKAP_KEY, &given))
		return;
	memcpy(secrets[client].key, given.value, sizeof(secrets[client].key));
	secrets[client].replay = given.replay;
	h->self.client->keyed = 1;
}

// The number of the client with this address, link-local or leased; UINT32_MAX: none.
static uint32_t number_of(const struct proto_ctx *ctx, const uint8_t address[16])
{
	const struct dhcp6_plan *p = ctx->shared;
	const struct dhcp6_worker *w = ctx->own;
	uint64_t leases = (uint64_t)p->is.clients * p->is.stride, number;
	uint32_t lease;
	uint8_t mac[6];

	if (dhcp6_link_local_mac(address, mac)) {
		number = ((uint64_t)bytes_be16(mac) << 32 | bytes_be32(mac + 2)) - p->is.mac;
		return number < p->is.clients ? (uint32_t)number : UINT32_MAX;
	}
	lease = dhcp_leases_find(&w->is.common->leases, address, dhcp_now_s(ctx));
	if (lease == DHCP_NOBODY || (uint64_t)lease - p->is.owner >= leases)
		return UINT32_MAX;
	return dhcp_number_of(&p->is, lease);
}

// The exchange that a RECONFIGURE requests; DHCP6_EXCHANGES: none.
static uint8_t asked_for(const struct dhcp6_message *m)
{
	switch (m->reconfigure) {
	case DHCP6_RENEW:
		return DHCP6_RENEWS;
	case DHCP6_REBIND:
		return DHCP6_REBINDS;
	case DHCP6_INFORMATION:
		return DHCP6_INFORMS;
	}
	return DHCP6_EXCHANGES;
}

static bool way_is_ours(const struct dhcp6_heard *h, const struct proto_ends *e)
{
	const struct dhcp6_self *s = &h->self;
	const struct dhcp_plan *p = &s->p->is;

	if (e->addr_len != 16 || !dhcp_vlan_is_ours(p, h->is.number, e))
		return false;
	if (!p->relays) // the client was found by its address
		return e->dst_port == DHCP6_CLIENT_PORT;
	return addr_bytes_equal(e->dst, s->relay, 16) &&
	       (e->dst_port == p->relay_port || e->dst_port == DHCP6_SERVER_PORT);
}

// Does it have a MAC by the client's key, and a new number?
static enum dhcp6_bad authentic(const struct dhcp6_heard *h, struct dhcp6_secret *secret)
{
	uint8_t mac[DHCP6_RKAP_VALUE];
	struct dhcp6_rkap said;

	if (!dhcp6_rkap_read(&h->m.auth, DHCP6_RKAP_MAC, &said))
		return DHCP6_BAD_AUTHENTICATION;
	dhcp6_rkap_mac(secret->key, h->envelope.inner, h->envelope.inner_len,
		(uint32_t)(said.value - h->envelope.inner), mac);
	if (memcmp(mac, said.value, sizeof(mac)) != 0)
		return DHCP6_BAD_MAC;
	if (said.replay <= secret->replay && !h->self.p->lenient)
		return DHCP6_BAD_REPLAY;
	secret->replay = said.replay;
	return DHCP6_BADS;
}

// RFC 8415 section 16.11. DHCP6_BADS: valid.
static enum dhcp6_bad judge(
	const struct dhcp6_heard *h, const struct proto_ends *ends, struct dhcp6_secret *secret)
{
	const struct dhcp6_self *s = &h->self;
	const struct dhcp6_duid_bytes *server = &s->w->servers[s->client->chosen];
	const struct proto_txn none = {.step = DHCP6_STEP_RENEW};
	struct dhcp_counters aside = {0};

	if ((ends && !way_is_ours(h, ends)) ||
		!dhcp6_envelope_is_ours(s, &aside, &none, &h->envelope))
		return DHCP6_BAD_WAY;
	if (!dhcp6_bytes_are(&h->m.client_id, s->duid, s->duid_len))
		return DHCP6_BAD_CLIENT;
	if (!s->client->head.holds || !s->client->keyed)
		return DHCP6_BAD_KEY;
	if (!dhcp6_bytes_are(&h->m.server_id, server->bytes, server->len))
		return DHCP6_BAD_SERVER;
	if (asked_for(&h->m) == DHCP6_EXCHANGES)
		return DHCP6_BAD_MESSAGE;
	return authentic(h, secret);
}

bool dhcp6_unasked(struct proto_ctx *ctx, const struct proto_message *message, uint32_t *worker)
{
	const struct dhcp6_plan *p = ctx->shared;
	struct dhcp_counters *n = ctx->counters;
	struct dhcp6_worker *w = ctx->own;
	struct dhcp6_secret *secrets = w->is.secrets;
	struct proto_ends room;
	const struct proto_ends *ends = proto_ends_of(message, &room);
	struct dhcp6_heard h;
	enum dhcp6_bad bad;
	uint32_t client;

	if (!secrets || !dhcp6_unwrap(message->buf, message->len, &h.envelope) ||
		!dhcp6_parse(h.envelope.inner, h.envelope.inner_len, &h.m) ||
		h.m.type != DHCP6_RECONFIGURE || !(h.envelope.levels || ends))
		return false;
	h.is.number = number_of(
		ctx, h.envelope.levels ? h.envelope.relays[h.envelope.levels - 1].peer : ends->dst);
	if (h.is.number == UINT32_MAX)
		return false;
	*worker = dhcp_worker_of(&p->is, h.is.number);
	client = dhcp_turns_find(&w->is.work.turns, h.is.number);
	if (client == UINT32_MAX)
		return true;
	dhcp6_self_find(ctx, client, &h.self);
	n->received[DHCP6_RECONFIGURE]++;
	n->reply_bytes += message->len;
	if (h.self.client->head.state == DHCP_IS_BUSY) {
		n->reconfigure_busy++;
		return true;
	}
	bad = judge(&h, ends, &secrets[client]);
	if (bad != DHCP6_BADS) {
		n->reconfigure_bad[bad]++;
		return true;
	}
	n->reconfigured[h.m.reconfigure]++;
	dhcp_life_call(&w->is.work.life, client, &h.self.client->head, asked_for(&h.m));
	return true;
}
