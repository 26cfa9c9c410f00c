// SPDX-License-Identifier: BSD-3-Clause
// The messages of clients and their destinations: a template by message kind, filled with the
// client's values and options from patterns. Templates are in dhcp4_templates.c. Path: hot. The
// worker that owns ctx.

#include "proto/dhcp/v4/dhcp4_request.h"

#include <string.h>

#include "base/bytes.h"
#include "net/csum.h"
#include "proto/dhcp/client/dhcp_patch.h"
#include "proto/dhcp/v4/dhcp4_wrong.h"

#define MS_PER_S 1000

// The bytes between these offsets are zero in every template.
#define DHCP4_AT_ZEROS 48
#define DHCP4_AT_REST  208

_Static_assert(DHCP4_OPTIONS_AT + 4 - DHCP4_AT_REST >= DHCP_COPY_LEAST,
	"the rest of the shortest message, with a type and an end, can be copied");

#define BIT(type)    (1u << (type))
#define OFFERS       BIT(DHCP4_OFFER)
#define ACKS         BIT(DHCP4_ACK)
#define DECIDES      (BIT(DHCP4_ACK) | BIT(DHCP4_NAK))
#define LEASES_KNOWN (BIT(DHCP4_LEASEUNASSIGNED) | BIT(DHCP4_LEASEUNKNOWN) | BIT(DHCP4_LEASEACTIVE))

// Options of every message that obtains a lease.
#define FULL                                                                                       \
	(DHCP4_HAS_OPTIONS | DHCP4_HAS_PARAMETERS | DHCP4_HAS_IDENTITY | DHCP4_HAS_SECS |          \
		DHCP4_HAS_TIME)

const struct dhcp_message_kind dhcp4_kinds[] = {DHCP4_MESSAGES_LIST(DHCP_ROW_KIND)};
const struct dhcp_start dhcp4_starts[] = {DHCP4_EXCHANGES_LIST(DHCP_ROW_START)};

static inline void chaddr_write(const struct dhcp4_self *s, struct writer *w)
{
	uint8_t *to = write_space(w, s->p->is.mac_len);

	if (to)
		dhcp_mac_copy(&s->p->is, s->chaddr, to);
}

void dhcp4_client_id_write(const struct dhcp4_self *s, struct writer *w)
{
	const struct pattern_values values = dhcp4_values_of(s);

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
		write_u8(w, 0); // fall through
	case DHCP4_ID_HEX:
		dhcp_varying_write(&values, &s->p->id_text, w);
		return;
	}
}

void dhcp4_relay_info_write(const struct dhcp4_self *s, struct writer *w)
{
	const struct pattern_values values = dhcp4_values_of(s);

	write_bytes(w, s->p->relay_info, s->p->relay_info_len);
	dhcp_varying_options(&values, &s->p->relay_subs, 0, false, w);
}

DHCP_INLINE uint16_t secs_of(
	const struct proto_ctx *ctx, struct dhcp4_client *k, const struct proto_txn *t)
{
	const struct dhcp_pretend *pretend = &((const struct dhcp4_plan *)ctx->shared)->is.pretend;
	uint32_t secs = dhcp_client_age_ms(&k->head, ctx->now_ms) / MS_PER_S;

	if (t->step == DHCP4_STEP_REQUEST) // same value as in the DISCOVER
		return k->secs;
	secs = secs < UINT16_MAX ? secs : UINT16_MAX;
	if (dhcp_pretends(pretend, ctx->now_ms))
		secs = dhcp_pretended(pretend, ctx->now_ms, MS_PER_S);
	if (t->step == DHCP4_STEP_DISCOVER || t->step == DHCP4_STEP_RAPID)
		k->secs = (uint16_t)secs;
	return (uint16_t)secs;
}

// A message under construction.
struct asking {
	const struct dhcp4_plan *p;
	struct dhcp4_worker *w;
	struct dhcp4_client *client;
	const struct dhcp4_template *m;
	uint32_t number; // run-wide number of the client
	uint32_t relay;  // in wire format; 0: none
	uint16_t has;    // enum dhcp4_has, enum dhcp_has
	uint8_t type;    // of the message
};

DHCP_INLINE struct asking asking_of(const struct proto_ctx *ctx, const struct proto_txn *t)
{
	const struct dhcp4_plan *p = ctx->shared;
	struct dhcp4_worker *w = ctx->own;
	struct asking a = {.p = p,
		.w = w,
		.client = dhcp4_client_at(w, t->user),
		.m = &p->templates[t->step],
		.number = dhcp_work_number(&w->is.work, t->user),
		.has = dhcp4_kinds[t->step].has,
		.type = dhcp4_kinds[t->step].type};

	if (a.m->relayed)
		memcpy(&a.relay, dhcp4_relay_of(w, t->user, a.number), 4);
	return a;
}

// Write the MAC into the header field and the client identifier. The common case is the first half
// of the field; the rest is zero.
static __attribute__((noinline)) uint64_t chaddr_patch(
	const struct dhcp4_plan *p, const struct dhcp4_template *m, uint32_t number, uint8_t *buf)
{
	uint8_t chaddr[DHCP4_CHADDR_LEN];
	uint64_t sum;

	dhcp_mac_of(&p->is, number, chaddr);
	sum = csum_add(0, chaddr, DHCP4_CHADDR_LEN);
	if (m->id_at)
		dhcp_mac_copy(&p->is, chaddr, buf + m->id_at);
	if (m->chaddr)
		memcpy(buf + DHCP4_AT_CHADDR, chaddr, DHCP4_CHADDR_LEN);
	return (m->chaddr ? sum : 0) + (m->id_at ? dhcp_sum_at(sum, m->id_at) : 0);
}

// Write an Ethernet MAC into both.
DHCP_INLINE uint64_t mac_patch(const struct asking *a, uint8_t *buf)
{
	uint64_t mac = dhcp_mac_number(&a->p->is, a->number);
	uint64_t sum = dhcp_patch64(buf, DHCP4_AT_CHADDR, mac << 16);

	return sum + (a->m->id_at ? dhcp_patch48(buf, a->m->id_at, mac) : 0);
}

// Write the client's other values into a copy of the template. Returns the sum of both.
DHCP_INLINE uint64_t template_patch(const struct proto_ctx *ctx, const struct proto_txn *t,
	const struct asking *a, uint8_t *buf)
{
	const struct dhcp4_template *m = a->m;
	struct dhcp4_client *k = a->client;
	uint64_t sum = m->sum;

	sum += dhcp_patch32(buf, DHCP4_AT_XID, t->key);
	if (m->has & DHCP4_HAS_SECS)
		sum += dhcp_patch16(buf, DHCP4_AT_SECS, secs_of(ctx, k, t));
	if (m->has & DHCP4_HAS_CIADDR)
		sum += dhcp_patch32(buf, DHCP4_AT_CIADDR, k->offered);
	if (m->giaddr) {
		memcpy(buf + DHCP4_AT_GIADDR, &a->relay, 4);
		sum += a->relay;
	}
	if (m->requested_at)
		sum += dhcp_patch32(buf, m->requested_at, k->offered);
	if (m->server_at)
		sum += dhcp_patch32(buf, m->server_at, k->chosen);
	return sum;
}

static inline void tail_write(
	const struct dhcp4_self *s, const struct dhcp4_template *m, uint32_t step, struct writer *w)
{
	const struct pattern_values values = dhcp4_values_of(s);
	const struct dhcp4_plan *p = s->p;
	uint16_t has = m->has;
	uint8_t *head;

	if ((has & DHCP4_HAS_CLIENT_ID) && p->client_id >= DHCP4_ID_TEXT) {
		head = dhcp_option_begin(w, DHCP4_OPT_CLIENT_ID, false);
		dhcp4_client_id_write(s, w);
		if (head && w->at == head + 2) // this captured client has none
			w->at = head;
		else
			dhcp_option_end(w, head, false);
	}
	dhcp_varying_options(&values, &p->is.options, step, false, w);
	if (has & DHCP4_HAS_OPTIONS)
		dhcp_fqdn_write(&values, &p->is, false, w);
	if (m->relay_info) {
		head = dhcp_option_begin(w, DHCP4_OPT_RELAY_INFO, false);
		dhcp4_relay_info_write(s, w);
		dhcp_option_end(w, head, false);
	}
	write_u8(w, DHCP4_OPT_END);
}

// The result of a message without a reply is unknown: the client continues once it is written.
static void silent_sent(struct proto_ctx *ctx, struct proto_txn *t)
{
	struct dhcp4_worker *w = ctx->own;
	struct dhcp_counters *n = ctx->counters;

	t->silent = true;
	if (t->tries)
		return;
	t->tries = 1;
	w->is.heard |= !w->is.work.dry;
	n->released += t->step == DHCP4_STEP_RELEASE;
	n->declined += t->step == DHCP4_STEP_DECLINE;
	dhcp4_lease_drop(w, t->user);
	dhcp_work_leave(&w->is.work, ctx, t, t->step == DHCP4_STEP_DECLINE, DHCP_LEFT_DONE);
}

// Append options, END and padding to an open template. Returns the length of the message.
static __attribute__((noinline)) uint32_t template_end(
	struct proto_ctx *ctx, struct proto_txn *t, struct proto_out *out, uint32_t room)
{
	const struct dhcp4_template *m =
		&((const struct dhcp4_plan *)ctx->shared)->templates[t->step];
	uint8_t *buf = out->buf;
	struct writer w = writer_of(buf + m->len, room - m->len);
	struct dhcp4_self s;
	uint32_t len;

	dhcp4_self_find(ctx, t->user, &s);
	tail_write(&s, m, t->step, &w);
	len = (uint32_t)(w.at - buf);
	out->sum += dhcp_sum_at(csum_add(0, buf + m->len, len - m->len), m->len);
	for (uint32_t i = 0; i < s.p->text_count; i++) { // the fields are zero
		const struct pattern_values values = dhcp4_values_of(&s);
		const struct dhcp4_text *field = &s.p->texts[i];

		w = writer_of(buf + field->at, field->len);
		dhcp_varying_write(&values, &field->text, &w);
		out->sum += csum_add(0, buf + field->at, field->len); // fields are at even offsets
	}
	if (len >= s.p->pad)
		return len;
	memset(buf + len, 0, s.p->pad - len);
	return s.p->pad;
}

// Write a raw message.
static __attribute__((noinline)) void raw_make(struct proto_ctx *ctx, const struct proto_txn *t,
	const struct dhcp_varying *raw, struct proto_out *out, uint32_t room)
{
	uint8_t xid[4], secs[2], server[4];
	const struct pattern_bytes places[DHCP4_PLACES] = {[DHCP4_PLACE_XID] = {xid, sizeof(xid)},
		[DHCP4_PLACE_SECS] = {secs, sizeof(secs)},
		[DHCP4_PLACE_SERVER] = {server, sizeof(server)}};
	struct writer w = writer_of(out->buf, room);
	struct pattern_values values;
	struct dhcp4_self s;

	dhcp4_self_find(ctx, t->user, &s);
	bytes_put_be32(xid, t->key);
	bytes_put_be16(secs, secs_of(ctx, s.client, t));
	bytes_put_be32(server, s.client->chosen);
	values = dhcp4_values_of(&s);
	values.places = places;
	dhcp_varying_write(&values, raw, &w);
	out->len = (uint32_t)(w.at - out->buf);
	out->sum = 0;
}

// Corrupt a message; its sum becomes unknown.
static __attribute__((noinline)) void message_spoil(struct proto_ctx *ctx,
	const struct proto_txn *t, struct proto_out *out, uint32_t room, uint32_t kind)
{
	struct dhcp4_worker *w = ctx->own;
	struct dhcp_counters *n = ctx->counters;

	out->len = dhcp4_wrong_spoil(
		kind, out->buf, out->len, room, rand_hash(~w->is.work.wrong_salt + t->seq));
	out->sum = 0;
	n->wrong_sent[kind]++;
}

// A relay sends copies to all its servers (RFC 1542 section 4.1.1).
DHCP_INLINE void message_count(const struct proto_ctx *ctx, struct proto_txn *t,
	const struct asking *a, const struct proto_flow *flow, const struct proto_out *out)
{
	struct dhcp_counters *n = ctx->counters;
	uint32_t copies = 1u + flow->more;

	n->sent[a->type] += copies;
	n->request_bytes += (uint64_t)out->len * copies;
	t->wait = dhcp_work_wait(&a->w->is.work, t, 0, false);
}

// Write a message that may be of any kind.
static __attribute__((noinline)) void other_make(struct proto_ctx *ctx, struct proto_txn *t,
	const struct proto_flow *flow, struct proto_out *out, uint32_t room)
{
	const struct asking a = asking_of(ctx, t);
	const struct dhcp4_template *m = a.m;

	out->len = 0;
	if (m->room > room)
		return;
	if (a.p->is.raw[t->step]) {
		raw_make(ctx, t, a.p->is.raw[t->step], out, room);
	} else {
		dhcp_copy(out->buf, m->bytes, m->len);
		out->sum = template_patch(ctx, t, &a, out->buf);
		if (m->chaddr || m->id_at)
			out->sum += chaddr_patch(a.p, m, a.number, out->buf);
		out->len = m->open ? template_end(ctx, t, out, room) : m->len;
	}
	if (dhcp_is_wrong(&a.w->is, t))
		message_spoil(ctx, t, out, room, dhcp_wrong_kind(&a.w->is, t));
	message_count(ctx, t, &a, flow, out);
	if (a.has & DHCP_IS_SILENT)
		silent_sent(ctx, t);
}

// Copy a complete template with an Ethernet MAC and write the client's values into it. Returns the
// sum of all.
DHCP_INLINE uint64_t template_write(const struct proto_ctx *ctx, const struct proto_txn *t,
	const struct asking *a, uint8_t *buf)
{
	const struct dhcp4_template *m = a->m;

	memcpy(buf, m->bytes, DHCP4_AT_ZEROS);
	memset(buf + DHCP4_AT_ZEROS, 0, DHCP4_AT_REST - DHCP4_AT_ZEROS);
	dhcp_copy(buf + DHCP4_AT_REST, m->bytes + DHCP4_AT_REST, m->len - DHCP4_AT_REST);
	return template_patch(ctx, t, a, buf) + mac_patch(a, buf);
}

DHCP_INLINE void message_make(struct proto_ctx *ctx, struct proto_txn *t, const struct asking *a,
	const struct proto_flow *flow, struct proto_out *out, uint32_t room)
{
	const struct dhcp4_template *m = a->m;

	if (!m->usual || a->p->is.wrong.steps || m->len > room) {
		other_make(ctx, t, flow, out, room);
		return;
	}
	out->sum = template_write(ctx, t, a, out->buf);
	out->len = m->len;
	message_count(ctx, t, a, flow, out);
}

DHCP_INLINE void flow_make(const struct asking *a, struct proto_flow *out)
{
	const struct dhcp_plan *p = &a->p->is;
	bool unicast = a->has & DHCP4_IS_UNICAST;

	dhcp_flow_begin(p, a->number, out);
	if (a->m->relayed) {
		out->more = unicast ? 0 : p->layout.more;
		out->path += out->more ? 0 : a->client->head.server;
		out->src_port = p->relay_port;
		if (p->from)
			memcpy(out->src, p->from, 4);
		else
			memcpy(out->src, &a->relay, 4);
		return;
	}
	out->more = 0;
	if (unicast && (a->client->known || a->p->known_server))
		out->path += a->p->path_server + a->client->head.server;
	out->src_port = DHCP4_CLIENT_PORT;
	bytes_put_be32(out->src, a->has & DHCP4_HAS_CIADDR ? a->client->offered : 0);
}

// Write n well-formed messages of one step that go through relays, from a complete template, which
// fits. Clients have no VLANs of their own.
static __attribute__((noinline)) void relayed_make(struct proto_ctx *ctx,
	struct proto_txn *const *t, struct proto_flow *flow, struct proto_out *out, uint32_t n)
{
	const struct dhcp4_plan *p = ctx->shared;
	struct asking a = {.p = p, .w = ctx->own, .m = &p->templates[t[0]->step]};
	const struct dhcp_message_kind *kind = &dhcp4_kinds[t[0]->step];
	const uint8_t more = kind->has & DHCP4_IS_UNICAST ? 0 : p->is.layout.more;
	const uint8_t to_its_server = more ? 0 : UINT8_MAX;
	struct dhcp_counters *counters = ctx->counters;
	uint64_t copies = (uint64_t)n * (1u + more);

	for (uint32_t i = 0; i < n; i++) {
		a.client = dhcp4_client_at(a.w, t[i]->user);
		a.number = dhcp_work_number(&a.w->is.work, t[i]->user);
		memcpy(&a.relay, dhcp4_relay_of(a.w, t[i]->user, a.number), 4);
		flow[i].path = a.client->head.server & to_its_server;
		flow[i].more = more;
		flow[i].src_port = p->is.relay_port;
		flow[i].vlans[0] = flow[i].vlans[1] = 0;
		flow[i].own_mac = false;
		memcpy(flow[i].src, &a.relay, 4);
		out[i].sum = template_write(ctx, t[i], &a, out[i].buf);
		out[i].len = a.m->len;
		t[i]->wait = dhcp_work_wait(&a.w->is.work, t[i], 0, false);
	}
	counters->sent[kind->type] += copies;
	counters->request_bytes += a.m->len * copies;
}

// How many of n messages, from the first on, are of one step.
DHCP_INLINE uint32_t steps_alike(struct proto_txn *const *t, uint32_t n)
{
	uint32_t i = 1;

	while (i < n && t[i]->step == t[0]->step)
		i++;
	return i;
}

void dhcp4_request(struct proto_ctx *ctx, struct proto_txn *const *t, struct proto_flow *flow,
	struct proto_out *out, uint32_t n, uint32_t room)
{
	const struct dhcp4_plan *p = ctx->shared;
	const bool alike_only = !p->is.wrong.steps && !p->is.vlans.places;

	for (uint32_t i = 0, alike = 1; i < n; i += alike, alike = 1) {
		const struct dhcp4_template *m = &p->templates[t[i]->step];

		if (m->relayed_usual && alike_only && m->len <= room) {
			alike = steps_alike(t + i, n - i);
			relayed_make(ctx, t + i, flow + i, out + i, alike);
		} else {
			const struct asking a = asking_of(ctx, t[i]);

			flow_make(&a, &flow[i]); // before writing: a silent message drops the lease
			message_make(ctx, t[i], &a, &flow[i], &out[i], room);
		}
	}
}

void dhcp4_name(const struct proto_ctx *ctx, uint32_t client, struct writer *w)
{
	struct pattern_values values;
	struct dhcp4_self s;

	dhcp4_self_find(ctx, client, &s);
	values = dhcp4_values_of(&s);
	dhcp_fqdn_name(&values, &s.p->is, w);
}

// A client identifier of RFC 4361 is identified by its DUID, which follows a type and an IAID.
void dhcp4_identity(const struct proto_ctx *ctx, uint32_t client, struct proto_identity *out)
{
	struct writer w = writer_of(out->bytes, sizeof(out->bytes));
	const uint32_t head = 5;
	struct dhcp4_self s;

	dhcp4_self_find(ctx, client, &s);
	out->type = s.p->client_id != DHCP4_ID_NONE;
	if (out->type)
		dhcp4_client_id_write(&s, &w);
	if (w.at == out->bytes) {
		out->type = 0;
		write_u8(&w, s.p->htype);
		chaddr_write(&s, &w);
	}
	out->len = (uint16_t)(w.at - out->bytes);
	if (out->type == 0 || out->len <= head || out->bytes[0] != 0xff)
		return;
	out->type = 2;
	out->len -= head;
	memmove(out->bytes, out->bytes + head, out->len);
}
