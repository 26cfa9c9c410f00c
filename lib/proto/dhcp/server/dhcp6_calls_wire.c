// SPDX-License-Identifier: BSD-3-Clause
// RECONFIGUREs of the server, valid and invalid ones, and their keys (RFC 8415 sections 18.3.11 and
// 20.4). Path: hot. The responder's thread.

#include "proto/dhcp/server/dhcp6_calls.h"
#include "base/rand.h"
#include "proto/dhcp/v6/dhcp6_rkap.h"

void dhcp6_relays_begin(
	struct writer *w, const struct dhcp6_envelope *e, uint8_t *begins[DHCP6_LEVELS_MAX])
{
	for (uint32_t i = 0; i < e->levels; i++) {
		const struct dhcp6_relay *r = &e->relays[i];

		dhcp6_write_relay(w, DHCP6_RELAY_REPL, r->hop_count, r->link, r->peer);
		dhcp6_echo(w, DHCP6_OPT_INTERFACE_ID, &r->interface_id);
		dhcp6_echo(w, DHCP6_OPT_RELAY_PORT, &r->port);
		begins[i] = dhcp6_option_begin(w, DHCP6_OPT_RELAY_MESSAGE);
	}
}

// All workers derive the same key for a client.
static void key_make(const struct dhcp6_answers *a, uint64_t duid, uint8_t key[DHCP6_RKAP_VALUE])
{
	bytes_put_be64(key, rand_hash(duid ^ a->common.seed));
	bytes_put_be64(key + 8, rand_hash(~duid ^ a->common.seed));
}

void dhcp6_accept_write(struct proto_ctx *ctx, const struct dhcp6_message *m, uint64_t duid,
	bool gives, struct writer *w)
{
	const struct dhcp6_answers *a = ctx->shared;
	struct dhcp6_server *s = ctx->own;
	uint8_t key[DHCP6_RKAP_VALUE];

	if (!a->common.after_ns || !dhcp6_has(m, DHCP6_OPT_RECONFIGURE_ACCEPT) ||
		!m->client_id.data)
		return;
	dhcp6_write_option(w, DHCP6_OPT_RECONFIGURE_ACCEPT, NULL, 0);
	if (!gives)
		return;
	key_make(a, duid, key);
	dhcp6_rkap_write(w, DHCP6_RKAP_KEY, ++s->replay, key);
	ctx->more = m->type != DHCP6_INFORMATION;
}

// The error in the next RECONFIGURE; DHCP6_BADS: none.
static enum dhcp6_bad bad_choose(struct proto_ctx *ctx)
{
	static const enum dhcp6_bad kinds[] = {DHCP6_BAD_CLIENT, DHCP6_BAD_SERVER,
		DHCP6_BAD_MESSAGE, DHCP6_BAD_AUTHENTICATION, DHCP6_BAD_MAC, DHCP6_BAD_REPLAY};
	const struct dhcp6_answers *a = ctx->shared;
	struct dhcp_answer_counters *n = ctx->counters;
	struct dhcp6_server *s = ctx->own;
	enum dhcp6_bad bad;

	n->reconfigures++;
	if (a->bad_every == 0 || ++s->until_bad < a->bad_every)
		return DHCP6_BADS;
	s->until_bad = 0;
	bad = kinds[s->bad++ % (sizeof(kinds) / sizeof(kinds[0]))];
	n->reconfigure_bad[bad]++;
	return bad;
}

static void duid_write(struct writer *w, uint16_t code, const void *duid, uint32_t len, bool spoilt)
{
	dhcp6_write_option(w, code, duid, len);
	if (!w->failed)
		w->at[-1] ^= spoilt;
}

static void message_write(struct proto_ctx *ctx, const struct dhcp6_bytes *client,
	enum dhcp6_bad bad, struct writer *w)
{
	const struct dhcp6_answers *a = ctx->shared;
	uint64_t duid = dhcp_pool_hash(a->common.seed, client->data, client->len);
	uint8_t key[DHCP6_RKAP_VALUE], mac[DHCP6_RKAP_VALUE] = {0}, *message = w->at;
	struct dhcp6_server *s = ctx->own;
	uint32_t len;

	dhcp6_write_header(w, DHCP6_RECONFIGURE, 0);
	duid_write(w, DHCP6_OPT_CLIENT_ID, client->data, client->len, bad == DHCP6_BAD_CLIENT);
	duid_write(w, DHCP6_OPT_SERVER_ID, a->server_id, a->server_id_len, bad == DHCP6_BAD_SERVER);
	dhcp6_write_option_u8(w, DHCP6_OPT_RECONFIGURE_MESSAGE,
		bad == DHCP6_BAD_MESSAGE ? DHCP6_SOLICIT : a->call);
	if (bad == DHCP6_BAD_AUTHENTICATION)
		return;
	dhcp6_rkap_write(w, DHCP6_RKAP_MAC, bad == DHCP6_BAD_REPLAY ? 0 : ++s->replay, mac);
	if (w->failed)
		return;
	len = (uint32_t)(w->at - message);
	key_make(a, duid, key);
	dhcp6_rkap_mac(key, message, len, len - sizeof(mac), w->at - sizeof(mac));
	w->at[-1] ^= bad == DHCP6_BAD_MAC;
}

// The request has been answered, so it is well formed.
uint32_t dhcp6_reconfigure_write(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	struct writer w = writer_of(out, room);
	uint8_t *begins[DHCP6_LEVELS_MAX];
	struct dhcp6_envelope e;
	struct dhcp6_message m;

	ctx->more = 0;
	if (!dhcp6_unwrap(buf, len, &e) || !dhcp6_parse(e.inner, e.inner_len, &m))
		return 0;
	dhcp6_relays_begin(&w, &e, begins);
	message_write(ctx, &m.client_id, bad_choose(ctx), &w);
	for (uint32_t i = e.levels; i-- > 0;)
		dhcp6_option_end(&w, begins[i]);
	return w.failed ? 0 : (uint32_t)(w.at - out);
}
