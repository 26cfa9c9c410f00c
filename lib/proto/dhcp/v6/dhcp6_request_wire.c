// SPDX-License-Identifier: BSD-3-Clause
// The messages of clients, the relay messages around them and their destinations: a template by
// message kind, filled with the client's values and options from patterns. Templates are in
// dhcp6_templates.c. Path: hot. The worker that owns ctx.

#include "proto/dhcp/v6/dhcp6_request.h"
#include "base/bytes.h"
#include "proto/dhcp/client/dhcp_wrong.h"
#include "proto/dhcp/v6/dhcp6_usual.h"
#include "proto/dhcp/v6/dhcp6_wrong.h"

#define MS_PER_CS 10 // hundredths of a second
#define HTYPE     1  // Ethernet

static const uint8_t unspecified[16];

struct pattern_values dhcp6_values_of(const struct dhcp6_self *s)
{
	return (struct pattern_values){.client = s->number,
		.seed = s->seed,
		.vlans = dhcp_vlans_of(&s->p->is, s->number),
		.mac = s->mac,
		.relay = s->relay,
		.address = s->address};
}

static __attribute__((noinline)) void duid_from_pattern(struct dhcp6_self *s)
{
	const struct pattern_values values = dhcp6_values_of(s);
	struct writer w = writer_of(s->duid, sizeof(s->duid));

	dhcp_varying_write(&values, &s->p->duid, &w);
	s->duid_len = (uint8_t)(w.at - s->duid);
}

static inline void duid_write(struct dhcp6_self *s)
{
	const struct dhcp6_plan *p = s->p;

	if (p->duids) {
		s->duid_len = p->duids[s->number].len;
		memcpy(s->duid, p->duids[s->number].bytes, sizeof(s->duid));
		return;
	}
	if (p->duid_mac_at) {
		memcpy(s->duid, p->duid_head, sizeof(p->duid_head));
		memcpy(s->duid + p->duid_mac_at, s->mac, 6);
		s->duid_len = p->duid_mac_at + 6;
		return;
	}
	duid_from_pattern(s);
}

void dhcp6_self_find(const struct proto_ctx *ctx, uint32_t client, struct dhcp6_self *s)
{
	const struct dhcp6_plan *p = ctx->shared;
	struct dhcp6_worker *w = ctx->own;
	s->p = p;
	s->w = w;
	s->client = dhcp6_client_at(w, client);
	s->lease = dhcp_lease_of(&p->is, &w->is, client);
	for (uint32_t i = 0; i < p->is.stride; i++)
		dhcp_lease_get(&w->is.common->leases, s->lease + i, &s->keys[i]);
	s->address = p->is.addresses ? s->keys[0].bytes : unspecified;
	s->number = dhcp_work_number(&w->is.work, client);
	s->relay_number = dhcp_relay_number(&w->is, client, s->number);
	s->relay = p->is.relays ? dhcp6_relay_of(p, s->relay_number) : NULL;
	s->seed = w->is.work.random_salt + s->number;
	dhcp_mac_write(&p->is, s->number, s->mac);
	duid_write(s);
}

// Level 0 is nearest to the client. The outermost relay talks to the server; inner ones are other
// relays of the list. Only the first relay on layer 3 sets the link address (RFC 8415 section
// 19.1.2); a layer-2 relay leaves it unspecified and forwards as the client (RFC 6221).
void dhcp6_hop_find(const struct dhcp6_self *s, uint32_t level, struct dhcp6_hop *h)
{
	const struct dhcp6_plan *p = s->p;
	uint32_t names = p->ldra ? 1 : 0;

	h->hop_count = (uint8_t)(p->hop_count + level);
	h->link = unspecified;
	if (level == names && p->own_link)
		h->link = dhcp6_relay_of(p, s->relay_number + p->levels - 1 - level);
	else if (level == names)
		h->link = p->link;
	if (level <= names)
		addr_link_local(s->mac, h->peer);
	else
		memcpy(h->peer, dhcp6_relay_of(p, s->relay_number + p->levels - level), 16);
}

static __attribute__((noinline)) void some_options_write(const struct dhcp6_self *s,
	const struct dhcp_varying_list *l, uint32_t step, struct writer *w)
{
	const struct pattern_values values = dhcp6_values_of(s);

	dhcp_varying_options(&values, l, step, true, w);
	if (l == &s->p->is.options && (dhcp6_kinds[step].has & DHCP6_HAS_OPTIONS))
		dhcp_fqdn_write(&values, &s->p->is, true, w);
}

static inline void options_write(const struct dhcp6_self *s, const struct dhcp_varying_list *l,
	uint32_t step, struct writer *w)
{
	if (l->count)
		some_options_write(s, l, step, w);
}

static inline void lease_write(const struct dhcp_key *k, uint16_t code, struct writer *w)
{
	uint8_t prefix[16];
	struct dhcp6_lease l = {.address = k->bytes, .status = DHCP6_STATUS_NONE};

	if (code == DHCP6_OPT_IA_PD) {
		l.bits = dhcp_key_split(k, prefix);
		l.address = prefix;
	}
	dhcp6_write_lease(w, dhcp6_lease_code(code), &l);
}

// Lifetimes, T1 and T2 are 0, for the server to choose (RFC 8415 sections 21.4 to 21.22).
static void ia_write(const struct dhcp6_self *s, uint32_t i, uint32_t step, struct writer *w)
{
	const struct dhcp6_plan *p = s->p;
	uint16_t code = p->ias[i].code;
	uint8_t *ia = dhcp6_ia_begin(w, code, p->ias[i].iaid, 0, 0);

	if (dhcp6_kinds[step].has & DHCP6_HAS_LEASES) {
		lease_write(&s->keys[i], code, w);
	} else if (code == DHCP6_OPT_IA_PD && p->prefix_hint) {
		const struct dhcp_key hint = {{[15] = p->prefix_hint}};

		lease_write(&hint, code, w);
	}
	options_write(s, code == DHCP6_OPT_IA_PD ? &p->ia_pd : &p->ia_na, step, w);
	dhcp6_option_end(w, ia);
}

static inline void ias_write(const struct dhcp6_self *s, uint32_t step, struct writer *w)
{
	uint16_t has = dhcp6_kinds[step].has;
	uint32_t all = s->p->is.stride;
	uint32_t begin = has & DHCP6_HAS_ADDRESSES ? 0 : s->p->is.addresses;
	uint32_t end = has & DHCP6_HAS_PREFIXES ? all : s->p->is.addresses;

	for (uint32_t i = begin; i < end; i++)
		ia_write(s, i, step, w);
}

// 0 in the first try (RFC 8415 section 21.9).
static inline uint16_t elapsed_of(
	const struct proto_ctx *ctx, const struct dhcp6_client *k, const struct proto_txn *t)
{
	const struct dhcp_pretend *pretend = &((const struct dhcp6_plan *)ctx->shared)->is.pretend;
	uint32_t elapsed;

	if (dhcp_pretends(pretend, ctx->now_ms))
		return dhcp_pretended(pretend, ctx->now_ms, MS_PER_CS);
	if (t->tries == 0)
		return 0;
	elapsed = dhcp_client_age_ms(&k->head, ctx->now_ms) / MS_PER_CS;
	return elapsed < UINT16_MAX ? (uint16_t)elapsed : UINT16_MAX;
}

// Write a raw message.
static __attribute__((noinline)) void raw_write(
	const struct dhcp6_self *s, const struct proto_txn *t, uint16_t elapsed, struct writer *w)
{
	const struct dhcp6_duid_bytes *server = &s->w->servers[s->client->chosen];
	uint8_t xid[4], time[2];
	const struct pattern_bytes places[DHCP6_PLACES] = {[DHCP6_PLACE_XID] = {xid + 1, 3},
		[DHCP6_PLACE_ELAPSED] = {time, sizeof(time)},
		[DHCP6_PLACE_SERVER] = {server->bytes, server->len},
		[DHCP6_PLACE_DUID] = {s->duid, s->duid_len}};
	struct pattern_values values = dhcp6_values_of(s);

	bytes_put_be32(xid, dhcp6_xid_of(t));
	bytes_put_be16(time, elapsed);
	values.places = places;
	dhcp_varying_write(&values, s->p->is.raw[t->step], w);
}

// RFC 5007 section 4.1: the relay identifies itself and queries all links.
static __attribute__((noinline)) void query_write(const struct dhcp6_self *s, struct writer *w)
{
	bool by_address = s->p->query == DHCP6_BY_ADDRESS;
	uint8_t *option, duid[DHCP6_RELAY_DUID_LEN];

	dhcp6_relay_duid(s, duid);
	dhcp6_write_option(w, DHCP6_OPT_CLIENT_ID, duid, sizeof(duid));
	option = dhcp6_option_begin(w, DHCP6_OPT_LQ_QUERY);
	write_u8(w, by_address ? DHCP6_QUERY_BY_ADDRESS : DHCP6_QUERY_BY_CLIENT_ID);
	write_bytes(w, unspecified, 16);
	if (by_address)
		lease_write(&s->keys[0], DHCP6_OPT_IA_NA, w);
	else
		dhcp6_write_option(w, DHCP6_OPT_CLIENT_ID, s->duid, s->duid_len);
	dhcp6_option_end(w, option);
}

static inline void message_write(
	const struct dhcp6_self *s, const struct proto_txn *t, uint16_t elapsed, struct writer *w)
{
	const struct dhcp6_template *m = &s->p->templates[t->step];
	const struct dhcp6_duid_bytes *server = &s->w->servers[s->client->chosen];
	uint16_t has = dhcp6_kinds[t->step].has;
	uint32_t xid = dhcp6_xid_of(t), wrong = dhcp_wrong_kind(&s->w->is, t);
	uint8_t *head;

	if (s->p->is.raw[t->step]) {
		raw_write(s, t, elapsed, w);
		return;
	}
	head = write_space(w, m->len);
	if (!head)
		return;
	memcpy(head, m->bytes, m->len);
	head[1] = (uint8_t)(xid >> 16);
	head[2] = (uint8_t)(xid >> 8);
	head[3] = (uint8_t)xid;
	if (dhcp6_asks_about(t->step)) {
		query_write(s, w);
	} else {
		bytes_put_be16(head + DHCP6_AT_ELAPSED, elapsed);
		dhcp6_write_option(w, DHCP6_OPT_CLIENT_ID, s->duid, s->duid_len);
	}
	if (has & DHCP6_HAS_SERVER_ID)
		dhcp6_write_option(w, DHCP6_OPT_SERVER_ID, server->bytes, server->len);
	ias_write(s, t->step, w);
	if (s->p->is.options.count || s->p->is.fqdn.code)
		some_options_write(s, &s->p->is.options, t->step, w);
	if (wrong < DHCP_WRONG_COUNT)
		dhcp6_wrong_spoil(wrong, head, w, rand_hash(~s->w->is.work.wrong_salt + t->seq));
}

// Begin one relay message with its options: user options go into the innermost, and the relay
// message option comes last.
static uint8_t *relay_begin(
	const struct dhcp6_self *s, uint32_t level, uint32_t step, struct writer *w)
{
	const struct dhcp6_plan *p = s->p;
	struct dhcp6_hop h;

	dhcp6_hop_find(s, level, &h);
	dhcp6_write_relay(w, DHCP6_RELAY_FORW, h.hop_count, h.link, h.peer);
	if (level == 0) {
		options_write(s, &p->relay_options, step, w);
		if (p->client_mac) {
			uint8_t *option = dhcp6_option_begin(w, DHCP6_OPT_CLIENT_LINK_LAYER);

			write_be16(w, HTYPE);
			write_bytes(w, s->mac, 6);
			dhcp6_option_end(w, option);
		}
	}
	if (level == p->levels - 1u && p->source_port)
		dhcp6_write_option_be16(w, DHCP6_OPT_RELAY_PORT, 0);
	return dhcp6_option_begin(w, DHCP6_OPT_RELAY_MESSAGE);
}

static inline void relayed_write(
	const struct dhcp6_self *s, const struct proto_txn *t, uint16_t elapsed, struct writer *w)
{
	uint8_t *inside[DHCP6_LEVELS_MAX];
	uint32_t levels = s->p->levels;

	for (uint32_t level = levels; level-- > 0;)
		inside[level] = relay_begin(s, level, t->step, w);
	message_write(s, t, elapsed, w);
	for (uint32_t level = 0; level < levels; level++)
		dhcp6_option_end(w, inside[level]);
}

// Write the whole message part by part, with all options from patterns.
static __attribute__((noinline)) uint32_t whole_write(const struct proto_ctx *ctx,
	const struct proto_txn *t, uint16_t elapsed, uint8_t *buf, uint32_t room)
{
	struct writer w = writer_of(buf, room);
	struct dhcp6_self s;
	uint32_t len;

	dhcp6_self_find(ctx, t->user, &s);
	if (s.p->is.relays && !dhcp6_asks_about(t->step))
		relayed_write(&s, t, elapsed, &w);
	else
		message_write(&s, t, elapsed, &w);
	len = (uint32_t)(w.at - buf);
	if (s.p->usual && !dhcp6_asks_about(t->step) &&
		dhcp_wrong_kind(&s.w->is, t) == DHCP_WRONG_COUNT)
		dhcp6_image_learn(s.w, t, buf, len);
	return len;
}

// A server may limit the growth of waits (RFC 8415 sections 21.24 and 21.25). The first wait of a
// SOLICIT is longer than IRT (section 18.2.1).
static __attribute__((noinline)) uint8_t wait_of(
	const struct dhcp_work *w, const struct dhcp6_client *k, const struct proto_txn *t)
{
	bool solicits = dhcp6_kinds[t->step].type == DHCP6_SOLICIT;
	uint8_t growing = solicits                            ? k->sol_waits
	                  : t->step == DHCP6_STEP_INFORMATION ? k->inf_waits
	                                                      : 0;

	return dhcp_work_wait(w, t, growing, solicits && t->tries == 0);
}

// A message about to be written.
struct asking {
	const struct dhcp6_plan *p;
	const struct dhcp6_worker *w;
	const struct dhcp6_client *k;
	const uint8_t *relay; // NULL: none
	uint32_t number;      // of the client in the run
	bool unicast;
};

DHCP_INLINE struct asking asking_of(const struct proto_ctx *ctx, const struct proto_txn *t)
{
	const struct dhcp6_plan *p = ctx->shared;
	const struct dhcp6_worker *w = ctx->own;
	struct asking a = {.p = p,
		.w = w,
		.k = dhcp6_client_at(w, t->user),
		.number = dhcp_work_number(&w->is.work, t->user)};

	a.unicast = dhcp6_is_unicast(a.k, t->step);
	if (p->is.relays)
		a.relay = dhcp6_relay_of(p, dhcp_relay_number(&w->is, t->user, a.number));
	return a;
}

DHCP_INLINE void message_make(struct proto_ctx *ctx, struct proto_txn *t, const struct asking *a,
	struct proto_out *out, uint32_t room)
{
	uint16_t elapsed = elapsed_of(ctx, a->k, t);
	struct dhcp_counters *n = ctx->counters;
	const struct dhcp6_plan *p = a->p;
	uint32_t copies = 1u + p->is.layout.more;
	const struct dhcp6_image *m = &a->w->images[t->step];
	bool wrong = dhcp_is_wrong(&a->w->is, t);

	if (!wrong && m->len - 1u < room && dhcp6_image_is_of(m, a->k, t)) {
		out->len = m->len;
		out->sum = dhcp6_image_write(a->w, m, t, a->number, a->relay, elapsed, out->buf);
	} else {
		out->len = out->sum = 0;
		if (p->templates[t->step].room > room)
			return;
		out->len = whole_write(ctx, t, elapsed, out->buf, room);
		if (wrong)
			n->wrong_sent[dhcp_wrong_kind(&a->w->is, t)]++;
	}
	n->sent[dhcp6_kinds[t->step].type] += copies;
	n->request_bytes += (uint64_t)out->len * copies;
	if (a->unicast)
		n->unicast++;
	t->wait = p->is.course.waits.count ? wait_of(&a->w->is.work, a->k, t) : 0;
}

DHCP_INLINE void flow_make(
	const struct asking *a, const struct proto_txn *t, struct proto_flow *out)
{
	const struct dhcp_plan *p = &a->p->is;

	dhcp_flow_begin(p, a->number, out);
	out->more = p->layout.more;
	if (a->unicast)
		out->path += p->server_count;
	else if (!out->more)
		out->path += a->k->head.server;
	out->src_port = a->relay && !dhcp6_asks_about(t->step) ? p->relay_port : DHCP6_CLIENT_PORT;
	if (a->relay)
		memcpy(out->src, dhcp_source_of(p, a->relay), 16);
	else
		addr_link_local(out->mac, out->src);
}

// Write well-formed messages of one step that go through relays, from its image, which fits.
// Clients have no VLANs of their own. Returns their number: up to the first that needs another way.
static __attribute__((noinline)) uint32_t relayed_make(struct proto_ctx *ctx,
	struct proto_txn *const *t, struct proto_flow *flow, struct proto_out *out, uint32_t n)
{
	const struct dhcp6_plan *p = ctx->shared;
	const struct dhcp6_worker *w = ctx->own;
	const uint8_t step = t[0]->step, more = p->is.layout.more;
	const uint8_t to_its_server = more ? 0 : UINT8_MAX;
	const struct dhcp6_image *m = &w->images[step];
	struct dhcp_counters *counters = ctx->counters;
	uint64_t copies;
	uint32_t i;

	for (i = 0; i < n && t[i]->step == step; i++) {
		const struct dhcp6_client *k = dhcp6_client_at(w, t[i]->user);
		uint32_t number = dhcp_work_number(&w->is.work, t[i]->user);
		const uint8_t *relay;

		if (!dhcp6_image_is_of(m, k, t[i]) || dhcp6_is_unicast(k, step))
			break;
		relay = dhcp6_relay_of(p, dhcp_relay_number(&w->is, t[i]->user, number));
		flow[i].path = k->head.server & to_its_server;
		flow[i].more = more;
		flow[i].src_port = p->is.relay_port;
		flow[i].vlans[0] = flow[i].vlans[1] = 0;
		flow[i].own_mac = false;
		memcpy(flow[i].src, relay, 16);
		out[i].len = m->len;
		out[i].sum = dhcp6_image_write(
			w, m, t[i], number, relay, elapsed_of(ctx, k, t[i]), out[i].buf);
		t[i]->wait = p->is.course.waits.count ? wait_of(&w->is.work, k, t[i]) : 0;
	}
	copies = (uint64_t)i * (1u + more);
	counters->sent[dhcp6_kinds[step].type] += copies;
	counters->request_bytes += m->len * copies;
	return i;
}

void dhcp6_request(struct proto_ctx *ctx, struct proto_txn *const *t, struct proto_flow *flow,
	struct proto_out *out, uint32_t n, uint32_t room)
{
	const struct dhcp6_plan *p = ctx->shared;
	const struct dhcp6_worker *w = ctx->own;
	const bool alike = p->is.relays && !p->is.from && !p->is.wrong.steps && !p->is.vlans.places;

	for (uint32_t i = 0, made; i < n; i += made) {
		made = 0;
		if (alike && w->images[t[i]->step].len - 1u < room)
			made = relayed_make(ctx, t + i, flow + i, out + i, n - i);
		if (made == 0) {
			const struct asking a = asking_of(ctx, t[i]);

			flow_make(&a, t[i], &flow[i]);
			message_make(ctx, t[i], &a, &out[i], room);
			made = 1;
		}
	}
}

void dhcp6_name(const struct proto_ctx *ctx, uint32_t client, struct writer *w)
{
	struct pattern_values values;
	struct dhcp6_self s;

	dhcp6_self_find(ctx, client, &s);
	values = dhcp6_values_of(&s);
	dhcp_fqdn_name(&values, &s.p->is, w);
}

void dhcp6_identity(const struct proto_ctx *ctx, uint32_t client, struct proto_identity *out)
{
	struct dhcp6_self s;

	dhcp6_self_find(ctx, client, &s);
	out->type = 2;
	out->len = s.duid_len;
	memcpy(out->bytes, s.duid, s.duid_len);
}
