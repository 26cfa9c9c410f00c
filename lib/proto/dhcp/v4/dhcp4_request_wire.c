// SPDX-License-Identifier: BSD-3-Clause
// The messages of clients and their destinations: a template of their kind, the values of the
// client, options from patterns. Not here: the templates (dhcp4_templates.c). Path: hot. The worker
// that owns ctx.

#include <string.h>

#include "base/bytes.h"
#include "net/csum.h"
#include "proto/dhcp/client/dhcp_patch.h"
#include "proto/dhcp/v4/dhcp4_plan.h"

#define MS_PER_S 1000

#define BIT(type) (1u << (type))
#define OFFERS    BIT(DHCP4_OFFER)
#define ACKS      BIT(DHCP4_ACK)
#define DECIDES   (BIT(DHCP4_ACK) | BIT(DHCP4_NAK))

// Options of every message that makes a lease.
#define FULL                                                                                       \
	(DHCP4_HAS_OPTIONS | DHCP4_HAS_PARAMETERS | DHCP4_HAS_CHADDR | DHCP4_HAS_SECS |            \
		DHCP4_HAS_TIME)

const struct dhcp_message_kind dhcp4_kinds[DHCP4_STEPS] = {
	[DHCP4_STEP_DISCOVER] = {DHCP4_DISCOVER, FULL | DHCP4_HAS_WISH, OFFERS, 0, DHCP4_OFFER},
	[DHCP4_STEP_REQUEST] = {DHCP4_REQUEST,
		FULL | DHCP4_HAS_REQUESTED | DHCP4_HAS_SERVER_ID | DHCP_MAKES_LEASE, DECIDES,
		OFFERS, DHCP4_ACK},
	[DHCP4_STEP_RAPID] = {DHCP4_DISCOVER,
		FULL | DHCP4_HAS_WISH | DHCP4_HAS_RAPID | DHCP_MAKES_LEASE, OFFERS | ACKS, 0},
	[DHCP4_STEP_RENEW] = {DHCP4_REQUEST,
		FULL | DHCP4_HAS_CIADDR | DHCP4_IS_UNICAST | DHCP_MAKES_LEASE, DECIDES, 0,
		DHCP4_ACK},
	[DHCP4_STEP_REBIND] = {DHCP4_REQUEST, FULL | DHCP4_HAS_CIADDR | DHCP_MAKES_LEASE, DECIDES,
		0, DHCP4_ACK},
	[DHCP4_STEP_REBOOT] = {DHCP4_REQUEST, FULL | DHCP4_HAS_REQUESTED | DHCP_MAKES_LEASE,
		DECIDES, 0, DHCP4_ACK},
	[DHCP4_STEP_INFORM] = {DHCP4_INFORM,
		(FULL & ~DHCP4_HAS_TIME) | DHCP4_HAS_CIADDR | DHCP4_IS_UNICAST, ACKS, 0},
	[DHCP4_STEP_RELEASE] = {DHCP4_RELEASE,
		DHCP4_HAS_CIADDR | DHCP4_HAS_SERVER_ID | DHCP4_HAS_CHADDR | DHCP4_IS_UNICAST |
			DHCP_IS_SILENT,
		0, 0},
	[DHCP4_STEP_DECLINE] = {DHCP4_DECLINE,
		DHCP4_HAS_REQUESTED | DHCP4_HAS_SERVER_ID | DHCP4_HAS_CHADDR | DHCP_IS_SILENT, 0,
		0},
	[DHCP4_STEP_LEASEQUERY] = {DHCP4_LEASEQUERY, DHCP4_HAS_CIADDR | DHCP4_HAS_PARAMETERS,
		BIT(DHCP4_LEASEUNASSIGNED) | BIT(DHCP4_LEASEUNKNOWN) | BIT(DHCP4_LEASEACTIVE), 0},
};

const struct dhcp_start dhcp4_starts[DHCP4_EXCHANGES] = {
	[DHCP4_DORA] = {DHCP4_STEP_DISCOVER, DHCP_IS_FREE},
	[DHCP_TWO_WAY] = {DHCP4_STEP_DISCOVER, DHCP_IS_FREE},
	[DHCP_RAPID] = {DHCP4_STEP_RAPID, DHCP_IS_FREE},
	[DHCP4_INFORMS] = {DHCP4_STEP_INFORM, DHCP_IS_BOUND},
	[DHCP4_RENEW] = {DHCP4_STEP_RENEW, DHCP_IS_BOUND},
	[DHCP4_REBIND] = {DHCP4_STEP_REBIND, DHCP_IS_BOUND},
	[DHCP4_REBOOT] = {DHCP4_STEP_REBOOT, DHCP_IS_BOUND},
	[DHCP4_RELEASES] = {DHCP4_STEP_RELEASE, DHCP_IS_BOUND},
	[DHCP4_DECLINES] = {DHCP4_STEP_DECLINE, DHCP_IS_BOUND},
	[DHCP4_LEASEQUERIES] = {DHCP4_STEP_LEASEQUERY, DHCP_IS_BOUND},
};

static inline struct pattern_values values_of(const struct dhcp4_self *s)
{
	return (struct pattern_values){.client = s->number,
		.seed = s->seed,
		.mac = s->chaddr,
		.relay = s->relay,
		.address = s->address};
}

static inline void chaddr_write(const struct dhcp4_self *s, struct writer *w)
{
	uint8_t *to = write_space(w, s->p->is.mac_len);

	if (to)
		dhcp4_chaddr_copy(s->p, s->chaddr, to);
}

void dhcp4_client_id_write(const struct dhcp4_self *s, struct writer *w)
{
	const struct pattern_values values = values_of(s);

	switch (s->p->client_id) {
	case DHCP4_ID_NONE:
		return;
	case DHCP4_ID_MAC:
		write_u8(w, s->p->htype);
		chaddr_write(s, w);
		return;
	case DHCP4_ID_DUID: // RFC 4361: IAID 1 and a DUID-LL
		write_bytes(w, "\xff\0\0\0\1\0\3", 7);
		write_be16(w, s->p->htype);
		chaddr_write(s, w);
		return;
	case DHCP4_ID_TEXT:
		write_u8(w, 0);
		dhcp_varying_write(&values, &s->p->id_text, w);
		return;
	}
}

void dhcp4_relay_info_write(const struct dhcp4_self *s, struct writer *w)
{
	const struct pattern_values values = values_of(s);

	write_bytes(w, s->p->relay_info, s->p->relay_info_len);
	dhcp_varying_options(&values, &s->p->relay_subs, false, w);
}

static inline uint16_t secs_of(
	const struct proto_ctx *ctx, struct dhcp4_client *k, const struct proto_txn *t)
{
	uint32_t secs = (ctx->now_ms - k->head.began_ms) / MS_PER_S;

	if (t->step == DHCP4_STEP_REQUEST) // as in the DISCOVER
		return k->secs;
	secs = secs < UINT16_MAX ? secs : UINT16_MAX;
	if (t->step == DHCP4_STEP_DISCOVER || t->step == DHCP4_STEP_RAPID)
		k->secs = (uint16_t)secs;
	return (uint16_t)secs;
}

// Into the field of the header and into the client identifier. Mostly the first half of the field
// alone: nothing but zeros is behind.
static inline uint64_t chaddr_patch(
	const struct dhcp4_plan *p, uint32_t number, const struct dhcp4_template *m, uint8_t *buf)
{
	uint8_t chaddr[DHCP4_CHADDR_LEN];
	uint32_t len = p->is.mac_len <= 8 ? 8 : DHCP4_CHADDR_LEN;
	uint64_t sum;

	dhcp4_chaddr(p, number, chaddr);
	sum = len == 8 ? csum_add(0, chaddr, 8) : csum_add(0, chaddr, DHCP4_CHADDR_LEN);
	if (m->id_at)
		dhcp4_chaddr_copy(p, chaddr, buf + m->id_at);
	if (p->hlen && len == 8)
		memcpy(buf + DHCP4_AT_CHADDR, chaddr, 8);
	else if (p->hlen)
		memcpy(buf + DHCP4_AT_CHADDR, chaddr, DHCP4_CHADDR_LEN);
	return (p->hlen ? sum : 0) + (m->id_at ? dhcp_sum_at(sum, m->id_at) : 0);
}

static inline uint64_t secs_patch(const struct proto_ctx *ctx, struct dhcp4_client *k,
	const struct proto_txn *t, uint8_t *buf)
{
	return dhcp_patch16(buf, DHCP4_AT_SECS, secs_of(ctx, k, t));
}

// The values of the client into a copy of the template. Returns the sum of both.
static inline uint64_t template_patch(const struct proto_ctx *ctx, const struct proto_txn *t,
	const struct dhcp4_template *m, uint8_t *buf)
{
	const struct dhcp4_plan *p = ctx->shared;
	const struct dhcp4_worker *w = ctx->own;
	struct dhcp4_client *k = dhcp4_client_at(w, t->user);
	uint16_t has = dhcp4_kinds[t->step].has;
	uint64_t sum = m->sum;

	sum += dhcp_patch32(buf, DHCP4_AT_XID, t->key);
	if (has & DHCP4_HAS_SECS)
		sum += secs_patch(ctx, k, t, buf);
	if (has & DHCP4_HAS_CIADDR)
		sum += dhcp_patch32(buf, DHCP4_AT_CIADDR, k->offered);
	if (m->relayed)
		sum += dhcp_patch32(buf, DHCP4_AT_GIADDR, dhcp4_relay_of(p, w, t->user));
	if (has & DHCP4_HAS_CHADDR)
		sum += chaddr_patch(p, dhcp_work_number(&w->is.work, t->user), m, buf);
	if (m->requested_at)
		sum += dhcp_patch32(buf, m->requested_at, k->offered);
	if (m->server_at)
		sum += dhcp_patch32(buf, m->server_at, k->chosen);
	return sum;
}

static inline void tail_write(
	const struct dhcp4_self *s, const struct dhcp4_template *m, uint16_t has, struct writer *w)
{
	const struct pattern_values values = values_of(s);
	const struct dhcp4_plan *p = s->p;
	uint8_t *head;

	if ((has & DHCP4_HAS_CHADDR) && p->client_id == DHCP4_ID_TEXT) {
		head = dhcp_option_begin(w, DHCP4_OPT_CLIENT_ID, false);
		dhcp4_client_id_write(s, w);
		dhcp_option_end(w, head, false);
	}
	if (has & DHCP4_HAS_OPTIONS) {
		dhcp_varying_options(&values, &p->is.options, false, w);
		dhcp_fqdn_write(&values, &p->is, false, w);
	}
	if (m->relay_info) {
		head = dhcp_option_begin(w, DHCP4_OPT_RELAY_INFO, false);
		dhcp4_relay_info_write(s, w);
		dhcp_option_end(w, head, false);
	}
	write_u8(w, DHCP4_OPT_END);
}

// Nothing tells how a message without an answer fared: the client goes on when it is written.
static void silent_sent(struct proto_ctx *ctx, struct proto_txn *t)
{
	struct dhcp4_worker *w = ctx->own;
	struct dhcp4_counters *n = ctx->counters;

	t->silent = true;
	if (t->tries)
		return;
	t->tries = 1;
	w->is.heard |= !w->is.work.dry;
	n->is.released += t->step == DHCP4_STEP_RELEASE;
	n->is.declined += t->step == DHCP4_STEP_DECLINE;
	dhcp4_lease_drop(w, t->user);
	dhcp_work_leave(&w->is.work, ctx, t, t->step == DHCP4_STEP_DECLINE);
}

// A relay that knows several servers asks them all (RFC 1542 section 4.1.1).
static inline uint8_t copies_of(const struct dhcp4_plan *p, const struct proto_txn *t)
{
	return dhcp4_kinds[t->step].has & DHCP4_IS_UNICAST ? 0 : p->is.layout.more;
}

// The options behind an open template, END and the padding. The length of the message.
static __attribute__((noinline)) uint32_t template_end(struct proto_ctx *ctx, struct proto_txn *t,
	const struct dhcp4_template *m, uint8_t *buf, uint32_t room)
{
	struct writer w = writer_of(buf + m->len, room - m->len);
	struct dhcp4_self s;
	uint32_t len;

	dhcp4_self_find(ctx, t->user, &s);
	tail_write(&s, m, dhcp4_kinds[t->step].has, &w);
	len = (uint32_t)(w.at - buf);
	ctx->sum += dhcp_sum_at(csum_add(0, buf + m->len, len - m->len), m->len);
	if (len >= s.p->pad)
		return len;
	memset(buf + len, 0, s.p->pad - len);
	return s.p->pad;
}

uint32_t dhcp4_request(struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t room)
{
	const struct dhcp4_plan *p = ctx->shared;
	const struct dhcp_message_kind *kind = &dhcp4_kinds[t->step];
	const struct dhcp4_template *m = &p->templates[t->step];
	struct dhcp4_counters *n = ctx->counters;
	uint32_t len, copies;

	if (m->room > room)
		return 0;
	memcpy(buf, m->bytes, m->len);
	ctx->sum = template_patch(ctx, t, m, buf);
	len = m->open ? template_end(ctx, t, m, buf, room) : m->len;
	copies = 1 + copies_of(p, t);
	n->is.sent[kind->type] += copies;
	n->is.request_bytes += (uint64_t)len * copies;
	t->wait = dhcp_work_wait(ctx->own, t, 0, false);
	if (kind->has & DHCP_IS_SILENT)
		silent_sent(ctx, t);
	return len;
}

static inline void own_mac_write(const struct dhcp4_plan *p, uint32_t number, uint8_t mac[6])
{
	uint8_t chaddr[DHCP4_CHADDR_LEN];

	dhcp4_chaddr(p, number, chaddr);
	memcpy(mac, chaddr, 6);
}

void dhcp4_flow(struct proto_ctx *ctx, const struct proto_txn *t, struct proto_flow *out)
{
	const struct dhcp4_plan *p = ctx->shared;
	const struct dhcp4_worker *w = ctx->own;
	const struct dhcp4_client *k = dhcp4_client_at(w, t->user);
	uint16_t has = dhcp4_kinds[t->step].has;
	uint32_t number = dhcp_work_number(&w->is.work, t->user);
	uint32_t set = dhcp_vlans_place(&p->is.vlans, number) * p->is.path_stride;

	out->own_mac = !p->is.relays;
	out->more = 0;
	if (out->own_mac)
		own_mac_write(p, number, out->mac);
	memset(out->src, 0, sizeof(out->src));
	if (p->templates[t->step].relayed) {
		out->more = copies_of(p, t);
		out->path = set + (out->more ? 0 : k->head.server);
		out->src_port = p->is.relay_port;
		bytes_put_be32(out->src, dhcp4_relay_of(p, w, t->user));
		return;
	}
	out->path = set + (has & DHCP4_IS_UNICAST ? p->path_server + k->head.server : 0);
	out->src_port = DHCP4_CLIENT_PORT;
	if (has & DHCP4_HAS_CIADDR)
		bytes_put_be32(out->src, k->offered);
}
