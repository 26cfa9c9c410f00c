// SPDX-License-Identifier: BSD-3-Clause
// Checks of a reply: its client, type, relays and content. Each check has its counter. Path: hot.
// The worker that owns the counters.

#include "proto/dhcp/v6/dhcp6_checks.h"
#include "base/bytes.h"
#include "proto/dhcp/v6/dhcp6_request.h"

#define OTHER_TYPE   (DHCP_TYPE_BUCKETS - 1)
#define OTHER_STATUS (DHCP_STATUS_BUCKETS - 1)
#define OPTION_ROOM  1024 // of a compared option

// The members of a group are unknown, and a server on the link replies from its link-local address.
bool dhcp6_is_elsewhere(
	const struct dhcp_heard *heard, const struct proto_ends *e, const struct proto_txn *t)
{
	const struct dhcp6_plan *p = ((const struct dhcp6_heard *)heard)->self.p;

	return e->src_port != p->is.server_port ||
	       (p->unicast && !dhcp_is_server(&p->is, e->src, 16));
}

// Relays get replies on the server port, or on their source port (RFC 8357).
bool dhcp6_way_is_ours(
	const struct dhcp_heard *heard, const struct proto_ends *e, const struct proto_txn *t)
{
	const struct dhcp6_self *s = &((const struct dhcp6_heard *)heard)->self;
	const struct dhcp6_plan *p = s->p;
	uint8_t own[16];

	if (e->addr_len != 16)
		return false;
	if (dhcp6_asks_about(t->step))
		return dhcp_is_to_relay(&p->is, e->dst, s->relay, 16) &&
		       e->dst_port == DHCP6_CLIENT_PORT;
	if (p->is.relays)
		return dhcp_is_to_relay(&p->is, e->dst, s->relay, 16) &&
		       (e->dst_port == p->is.relay_port || e->dst_port == DHCP6_SERVER_PORT);
	addr_link_local(s->mac, own);
	return e->dst_port == DHCP6_CLIENT_PORT && addr_bytes_equal(e->dst, own, 16);
}

// Is this the DUID of the message sent, from the client or its querying relay?
static bool sender_is(
	const struct dhcp6_self *s, const struct proto_txn *t, const struct dhcp6_message *m)
{
	uint8_t duid[DHCP6_RELAY_DUID_LEN];

	if (!dhcp6_asks_about(t->step))
		return dhcp6_bytes_are(&m->client_id, s->duid, s->duid_len);
	dhcp6_relay_duid(s, duid);
	return dhcp6_bytes_are(&m->client_id, duid, sizeof(duid));
}

static inline bool server_is(const struct dhcp6_message *m, const struct dhcp6_duid_bytes *id)
{
	return dhcp6_bytes_are(&m->server_id, id->bytes, id->len);
}

enum proto_verdict dhcp6_ours(
	struct dhcp_heard *heard, const struct proto_ctx *ctx, const struct proto_txn *t)
{
	struct dhcp6_heard *h = (struct dhcp6_heard *)heard;
	const struct dhcp6_self *s = &h->self;
	const struct dhcp6_message *m = &h->m;
	struct dhcp_counters *n = ctx->counters;
	const struct dhcp6_bytes *id = &m->server_id;
	uint32_t bucket = m->type < OTHER_TYPE ? m->type : OTHER_TYPE;
	uint32_t type = 1u << bucket;

	if (!dhcp_right((m->xid ^ dhcp6_xid_of(t)) >> 1 == 0, &n->xid_wrong) ||
		!dhcp_right(sender_is(s, t, m), &n->duid_wrong))
		return PROTO_STRAY;
	n->received[bucket]++;
	heard->peer = id->len ? dhcp_peer_find(s->p->is.peers, dhcp_peer_key(id->data, id->len),
					id->data, id->len, heard->src, 16)
	                      : DHCP_PEER_NONE;
	// Refusals by status are recognised later, by judge.
	dhcp_peer_count(
		n, heard, m->type == DHCP6_ADVERTISE ? DHCP_PEER_OFFERS : DHCP_PEER_ANSWERS);
	if (m->xid != dhcp6_xid_of(t)) { // for an answer to the previous message
		if (!dhcp_right(dhcp6_kinds[t->step].again & type, &n->xid_wrong))
			return PROTO_STRAY;
		if (m->type == DHCP6_ADVERTISE && !t->over)
			n->other_advertises += !server_is(m, &s->w->servers[s->client->chosen]);
		return PROTO_DUPLICATE;
	}
	if (!dhcp_right(dhcp6_kinds[t->step].answered & type, &n->type_wrong))
		return PROTO_STRAY;
	if (m->type != DHCP6_ADVERTISE || s->p->accept_len == 0 ||
		dhcp6_bytes_are(&m->server_id, s->p->accept, s->p->accept_len))
		return PROTO_DONE;
	n->other_advertises++;
	return PROTO_DUPLICATE;
}

// The option must equal the one sent by the innermost relay, or be absent.
static bool interface_id_check(
	const struct dhcp6_self *s, struct dhcp_counters *n, const struct dhcp6_relay *r)
{
	const struct dhcp_varying_list *l = &s->p->relay_options;
	struct pattern_values values;
	bool right = !r->interface_id.data;
	uint8_t ours[OPTION_ROOM];

	for (uint32_t i = 0; i < l->count; i++) {
		struct writer w = writer_of(ours, sizeof(ours));

		if (l->items[i].code != DHCP6_OPT_INTERFACE_ID)
			continue;
		values = dhcp6_values_of(s);
		dhcp_varying_write(&values, &l->items[i], &w);
		right = dhcp6_bytes_are(&r->interface_id, ours, (uint32_t)(w.at - ours));
	}
	return dhcp_right(right, &n->interface_id_wrong);
}

static bool hop_check(const struct dhcp6_self *s, struct dhcp_counters *n,
	const struct dhcp6_relay *r, uint32_t level)
{
	struct dhcp6_hop h;

	dhcp6_hop_find(s, level, &h);
	return dhcp_right(r->hop_count == h.hop_count, &n->hop_count_wrong) &&
	       dhcp_right(addr_bytes_equal(r->link, h.link, 16), &n->link_wrong) &&
	       dhcp_right(addr_bytes_equal(r->peer, h.peer, 16), &n->peer_wrong) &&
	       (level > 0 || interface_id_check(s, n, r));
}

bool dhcp6_envelope_is_ours(const struct dhcp6_self *s, struct dhcp_counters *n,
	const struct proto_txn *t, const struct dhcp6_envelope *e)
{
	uint32_t levels = s->p->is.relays && !dhcp6_asks_about(t->step) ? s->p->levels : 0;

	if (!dhcp_right(e->levels == levels && (!levels || e->relays[0].type == DHCP6_RELAY_REPL),
		    &n->levels_wrong))
		return false;
	for (uint32_t i = 0; i < levels; i++)
		if (!hop_check(s, n, &e->relays[i], levels - 1 - i))
			return false;
	return true;
}

// Count a status other than Success in its bucket, and keep the first.
static void status_note(uint64_t *buckets, uint16_t code, const struct dhcp6_bytes *said,
	uint16_t *status, struct dhcp6_bytes *text)
{
	if (code == DHCP6_STATUS_NONE || code == DHCP6_SUCCESS)
		return;
	buckets[code < OTHER_STATUS ? code : OTHER_STATUS]++;
	if (*status != DHCP6_STATUS_NONE)
		return;
	*status = code;
	if (said)
		*text = *said;
}

static inline bool is_ours(
	const struct dhcp6_self *s, uint16_t has, uint32_t i, const struct dhcp6_ia *ia)
{
	bool prefix = dhcp_is_prefix(&s->p->is, i);

	return (has & (prefix ? DHCP6_HAS_PREFIXES : DHCP6_HAS_ADDRESSES)) &&
	       ia->type == s->p->ias[i].code && ia->iaid == s->p->ias[i].iaid;
}

// The index of an IA among those requested by t; DHCP6_IAS_MAX: not requested.
static uint32_t place_of(
	const struct dhcp6_self *s, const struct proto_txn *t, const struct dhcp6_ia *ia)
{
	for (uint32_t i = 0; i < s->p->is.stride; i++)
		if (is_ours(s, dhcp6_kinds[t->step].has, i, ia))
			return i;
	return DHCP6_IAS_MAX;
}

static bool is_refusal(const struct dhcp6_self *s, struct dhcp_counters *n,
	const struct proto_txn *t, const struct dhcp6_message *m, uint16_t *status,
	struct dhcp6_bytes *text)
{
	*status = DHCP6_STATUS_NONE;
	*text = (struct dhcp6_bytes){0};
	status_note(n->message_status, m->status, &m->status_message, status, text);
	for (uint32_t i = 0; i < m->ia_count; i++) {
		const struct dhcp6_ia *ia = &m->ias[i];

		if (place_of(s, t, ia) == DHCP6_IAS_MAX)
			continue;
		status_note(n->ia_status, ia->status, &ia->message, status, text);
		for (uint32_t k = 0; k < ia->lease_count; k++)
			status_note(n->lease_status, ia->leases[k].status, NULL, status, text);
	}
	return *status != DHCP6_STATUS_NONE;
}

// The lease that the client takes from an IA: the first with a nonzero lifetime.
static const struct dhcp6_lease *lease_of(const struct dhcp6_ia *ia)
{
	for (uint32_t i = 0; i < ia->lease_count; i++)
		if (ia->leases[i].valid_s)
			return &ia->leases[i];
	return ia->lease_count ? &ia->leases[0] : NULL;
}

// RFC 8415 sections 21.4, 21.6, 21.21 and 21.22; 0 leaves T1 and T2 to the client.
static bool times_check(
	struct dhcp_counters *n, const struct dhcp6_ia *ia, const struct dhcp6_lease *l)
{
	return dhcp_right(l->valid_s != 0 && l->preferred_s <= l->valid_s, &n->lifetimes_wrong) &&
	       dhcp_right((ia->t2_s == 0 || ia->t1_s <= ia->t2_s) && ia->t1_s <= l->valid_s &&
				  ia->t2_s <= l->valid_s,
		       &n->times_wrong);
}

static bool prefix_check(const struct dhcp6_plan *p, struct dhcp_counters *n,
	const struct dhcp6_lease *l, struct dhcp_key *key)
{
	bool fits = l->bits > 0 && l->bits <= DHCP_PREFIX_MAX &&
	            (p->prefix_length == 0 || l->bits == p->prefix_length);

	return dhcp_right(fits && dhcp_key_prefix(key, l->address, l->bits),
		       &n->prefix_length_wrong) &&
	       dhcp_right(dhcp6_is_in(&p->delegated, l->address), &n->outside_prefixes);
}

static bool address_check(const struct dhcp6_plan *p, struct dhcp_counters *n,
	const struct dhcp6_lease *l, struct dhcp_key *key)
{
	memcpy(key->bytes, l->address, 16);
	return dhcp_right(dhcp6_is_in(&p->pool, l->address), &n->outside_pool);
}

// The earlier of two times; 0: not given.
static uint32_t sooner(uint32_t a, uint32_t b)
{
	return a == 0 || (b && b < a) ? b : a;
}

static bool ia_check(const struct dhcp6_self *s, struct dhcp_counters *n, const struct proto_txn *t,
	uint32_t i, const struct dhcp6_ia *ia, struct dhcp6_given *out)
{
	const struct dhcp6_lease *l = lease_of(ia);
	bool prefix = dhcp_is_prefix(&s->p->is, i);
	struct dhcp_key *key = &out->keys[i];

	bool fixed = !t->over && (dhcp6_kinds[t->step].has & DHCP6_HAS_LEASES) &&
	             (t->step == DHCP6_STEP_REQUEST || s->p->is.same_lease);

	if (!dhcp_right(l, &n->lease_missing))
		return false;
	n->leases_unused += ia->lease_count + ia->leases_ignored - 1u;
	if (!times_check(n, ia, l) || !(prefix ? prefix_check : address_check)(s->p, n, l, key))
		return false;
	if (l->valid_s < out->valid_s)
		out->valid_s = l->valid_s;
	out->t1_s = sooner(out->t1_s, ia->t1_s);
	out->t2_s = sooner(out->t2_s, ia->t2_s);
	return !fixed || dhcp_right(dhcp_key_equal(key, &s->keys[i]),
				 prefix ? &n->prefix_changed : &n->address_changed);
}

static bool leases_check(const struct dhcp6_self *s, struct dhcp_counters *n,
	const struct proto_txn *t, const struct dhcp6_message *m, struct dhcp6_given *out)
{
	const struct dhcp6_ia *found[DHCP6_IAS_MAX] = {0};

	out->valid_s = DHCP6_INFINITY;
	out->t1_s = out->t2_s = 0;
	n->ias_unasked += m->ias_ignored;
	for (uint32_t i = 0; i < m->ia_count; i++) {
		uint32_t place = place_of(s, t, &m->ias[i]);

		if (place == DHCP6_IAS_MAX || found[place])
			n->ias_unasked++;
		else
			found[place] = &m->ias[i];
	}
	for (uint32_t i = 0; i < s->p->is.stride; i++) {
		if (!dhcp_right(found[i], &n->ia_missing) || !ia_check(s, n, t, i, found[i], out))
			return false;
	}
	return true;
}

// RFC 5007 section 4.2.2: the client's data, or the links on which it has leases.
static bool subject_check(const struct dhcp6_self *s, struct dhcp_counters *n,
	const struct proto_txn *t, const struct dhcp6_message *m)
{
	struct dhcp6_subject subject;
	bool has_lease = t->over || s->p->query != DHCP6_BY_ADDRESS, right;

	if (!m->client_data.data) {
		n->client_links += m->client_links.data != NULL;
		return dhcp_right(m->client_links.data, &n->lease_unknown);
	}
	right = dhcp6_parse_subject(&m->client_data, false, &subject) && subject.has_age &&
	        dhcp6_bytes_are(&subject.client_id, s->duid, s->duid_len);
	for (uint32_t i = 0; right && i < subject.lease_count; i++)
		has_lease |= addr_bytes_equal(subject.leases[i].address, s->keys[0].bytes, 16);
	return dhcp_right(right && has_lease, &n->client_data_wrong);
}

// Is one lease the address or prefix that the client must get?
static bool own_check(
	const struct dhcp6_self *s, struct dhcp_counters *n, const struct dhcp6_given *given)
{
	static const struct dhcp_key none;
	const struct dhcp_key *own = s->p->is.own ? &s->p->is.own[s->number] : &none;

	if (memcmp(own, &none, sizeof(none)) == 0)
		return true;
	for (uint32_t i = 0; i < s->p->is.stride; i++)
		if (memcmp(&given->keys[i], own, sizeof(*own)) == 0)
			return true;
	n->address_unexpected++;
	return false;
}

// Check the options that the user expects.
static bool expected_check(
	const struct dhcp6_heard *h, struct dhcp_worker *w, struct dhcp_counters *n)
{
	const struct pattern_values values = dhcp6_values_of(&h->self);
	const struct dhcp_varying_list *l = &h->self.p->is.expected;
	const uint8_t *inner = h->envelope.inner;
	bool right = true;

	for (uint32_t i = 0; i < l->count; i++) {
		uint32_t at = dhcp6_find_option(
			inner, DHCP6_HEADER_LEN, h->envelope.inner_len, l->items[i].code);

		right &= at ? dhcp_expected_check(
				      w, &values, i, inner + at + 4, bytes_be16(inner + at + 2))
		            : dhcp_expected_check(w, &values, i, NULL, 0);
	}
	return dhcp_right(right, &n->option_unexpected);
}

enum dhcp_judgement dhcp6_judge(
	struct dhcp_heard *heard, const struct proto_ctx *ctx, const struct proto_txn *t)
{
	struct dhcp6_heard *h = (struct dhcp6_heard *)heard;
	const struct dhcp6_self *s = &h->self;
	const struct dhcp6_message *m = &h->m;
	struct dhcp_counters *n = ctx->counters;
	uint16_t has = dhcp6_kinds[t->step].has;
	struct dhcp6_bytes text;

	n->option_repeated += m->notes.repeats;
	n->trailing += m->notes.trailing;
	if (!dhcp6_envelope_is_ours(s, n, t, &h->envelope) ||
		!dhcp_right(m->server_id.data, &n->server_id_missing) ||
		!dhcp_right(t->over || !(has & DHCP6_HAS_SERVER_ID) ||
				    server_is(m, &s->w->servers[s->client->chosen]),
			&n->server_id_changed))
		return DHCP_WRONG;
	if (is_refusal(s, n, t, m, &heard->status, &text)) {
		n->refused++;
		heard->text = text.data;
		heard->text_len = text.len;
		return DHCP_REFUSED;
	}
	if (dhcp6_asks_about(t->step))
		return subject_check(s, n, t, m) ? DHCP_RIGHT : DHCP_WRONG;
	if (m->type == DHCP6_REPLY && (has & DHCP6_HAS_PARAMETERS) &&
		dhcp_lacks_parameters(&s->p->is, m->present))
		dhcp_count_missing(&s->p->is, m->present, n);
	if (s->p->is.expected.count && !expected_check(h, ctx->own, n))
		return DHCP_WRONG;
	if (m->type == DHCP6_REPLY && !(has & DHCP_MAKES_LEASE))
		return DHCP_RIGHT;
	if (!leases_check(s, n, t, m, &h->given) || !own_check(s, n, &h->given))
		return DHCP_WRONG;
	heard->valid_s = h->given.valid_s;
	heard->t1_s = h->given.t1_s;
	heard->t2_s = h->given.t2_s;
	return dhcp_right(t->step != DHCP6_STEP_RAPID || m->type != DHCP6_REPLY ||
				  dhcp6_has(m, DHCP6_OPT_RAPID_COMMIT),
		       &n->rapid_commit_missing)
	               ? DHCP_RIGHT
	               : DHCP_WRONG;
}
