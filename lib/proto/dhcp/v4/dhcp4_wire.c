// SPDX-License-Identifier: BSD-3-Clause
// DHCPv4 clients in the course of an exchange (dhcp_course.h): checks of replies, and the addresses
// that a client requests and holds. Each check has its counter. Messages of clients are in
// dhcp4_request_wire.c. Path: hot. The worker that owns ctx.

#include <string.h>

#include "base/bytes.h"
#include "proto/dhcp/client/dhcp_course.h"
#include "proto/dhcp/v4/dhcp4_request.h"
#include "proto/dhcp/v4/dhcp4_usual.h"

#define OTHER (DHCP_TYPE_BUCKETS - 1)

// As words: the compiler would merge two memcmp calls of length 6 into one of variable length.
static inline bool six_equal(const uint8_t *a, const uint8_t *b)
{
	uint32_t a4, b4;
	uint16_t a2, b2;

	memcpy(&a4, a, 4);
	memcpy(&b4, b, 4);
	memcpy(&a2, a + 4, 2);
	memcpy(&b2, b + 4, 2);
	return a4 == b4 && a2 == b2;
}

static inline bool chaddr_is_ours(const struct dhcp4_self *s, const struct dhcp4_message *m)
{
	return m->htype == s->p->htype && m->hlen == s->p->hlen &&
	       (m->hlen == 6 ? six_equal(m->chaddr, s->chaddr)
			     : memcmp(m->chaddr, s->chaddr, m->hlen) == 0);
}

// A lease query's reply names its client only for an active lease. A query by address gets the
// address in its reply.
static inline bool is_for_us(
	const struct dhcp4_self *s, const struct proto_txn *t, const struct dhcp4_message *m)
{
	if (t->step != DHCP4_STEP_LEASEQUERY)
		return chaddr_is_ours(s, m);
	if (!t->over && s->p->query == DHCP4_BY_ADDRESS && m->ciaddr != s->client->offered)
		return false;
	return m->type != DHCP4_LEASEACTIVE || chaddr_is_ours(s, m);
}

// RFC 2131 section 4.1. Relays get replies on the server port, or on their source port (RFC 8357).
static inline bool dhcp4_way_is_ours(
	const struct dhcp_heard *heard, const struct proto_ends *e, const struct proto_txn *t)
{
	const struct dhcp4_heard *h = (const struct dhcp4_heard *)heard;
	const struct dhcp4_plan *p = h->self.p;
	uint32_t to = bytes_be32(e->dst);

	if (e->addr_len != 4)
		return false;
	if (p->templates[t->step].relayed && t->step == DHCP4_STEP_INFORM &&
		e->dst_port == DHCP4_CLIENT_PORT && to == h->self.client->offered)
		return true; // RFC 2131 section 4.4.3
	if (p->templates[t->step].relayed)
		return (p->giaddr ? to == p->giaddr
				  : dhcp_is_to_relay(&p->is, e->dst, h->self.relay, 4)) &&
		       (e->dst_port == p->is.relay_port || e->dst_port == DHCP4_SERVER_PORT);
	return e->dst_port == DHCP4_CLIENT_PORT &&
	       (to == UINT32_MAX || to == h->m.yiaddr || to == h->m.ciaddr ||
		       to == h->self.client->offered);
}

// Clients on the link ask all servers and relays there.
static inline bool dhcp4_is_elsewhere(
	const struct dhcp_heard *heard, const struct proto_ends *e, const struct proto_txn *t)
{
	const struct dhcp4_plan *p = ((const struct dhcp4_heard *)heard)->self.p;

	return e->src_port != p->is.server_port ||
	       (p->known_server && p->templates[t->step].relayed &&
		       !dhcp_is_server(&p->is, e->src, 4));
}

static enum proto_verdict stray(uint64_t *counter)
{
	++*counter;
	return PROTO_STRAY;
}

// A further answer, possibly of another server than the expected one.
static enum proto_verdict further(uint64_t *others, bool other)
{
	*others += other;
	return PROTO_DUPLICATE;
}

// Is the message type valid for the client's step?
static inline enum proto_verdict type_ours(const struct dhcp4_self *s, struct dhcp_counters *n,
	const struct proto_txn *t, const struct dhcp4_message *m)
{
	const struct dhcp_message_kind *kind = &dhcp4_kinds[t->step];
	uint32_t bucket = m->type < OTHER ? m->type : OTHER;
	uint32_t type = 1u << bucket;
	bool other;

	n->received[bucket]++;
	if (!((kind->answered | kind->again) & type))
		return stray(&n->type_wrong);
	// A server without such an offer may broadcast a NAK (RFC 2131 section 4.3.2).
	if (m->type == DHCP4_NAK && t->step == DHCP4_STEP_REQUEST && !t->over && m->server_id &&
		m->server_id != s->client->chosen)
		return stray(&n->other_naks);
	other = m->type == DHCP4_OFFER && !t->over &&
	        m->server_id != (kind->again ? s->client->chosen : s->p->accept);
	if (kind->again & type)
		return further(&n->other_offers, other);
	return s->p->accept && other ? further(&n->other_offers, true) : PROTO_DONE;
}

// An offer of a boot server without addresses (PXE 2.1 section 2.2.3).
static bool is_proxy(const struct dhcp4_heard *h)
{
	static const char class[] = "PXEClient";
	uint8_t text[DHCP4_OPTION_ROOM];

	return h->m.type == DHCP4_OFFER && h->m.yiaddr == 0 &&
	       dhcp4_option_join(h->buf, h->len, DHCP4_OPT_VENDOR_CLASS, text, sizeof(text)) >=
	               (int)sizeof(class) - 1 &&
	       memcmp(text, class, sizeof(class) - 1) == 0;
}

static inline enum proto_verdict dhcp4_ours(
	struct dhcp_heard *heard, const struct proto_ctx *ctx, const struct proto_txn *t)
{
	struct dhcp4_heard *h = (struct dhcp4_heard *)heard;
	const struct dhcp4_message *m = &h->m;
	struct dhcp_counters *n = ctx->counters;

	if (m->op != DHCP4_REPLY_OP || m->xid != t->key) {
		n->op_wrong += m->op != DHCP4_REPLY_OP;
		n->xid_wrong += m->xid != t->key;
		return PROTO_STRAY;
	}
	if (!is_for_us(&h->self, t, m))
		return stray(&n->chaddr_wrong);
	dhcp4_peer_find(h, ctx);
	dhcp_peer_count(n, heard,
		m->type == DHCP4_OFFER ? DHCP_PEER_OFFERS
		: m->type == DHCP4_NAK ? DHCP_PEER_REFUSALS
				       : DHCP_PEER_ANSWERS);
	if (m->yiaddr == 0 && t->step == DHCP4_STEP_DISCOVER &&
		h->self.client->head.exchange != DHCP_TWO_WAY && is_proxy(h))
		return further(&n->proxy_offers, true); // another server assigns the address
	return type_ours(&h->self, n, t, m);
}

static bool bytes_are(
	const uint8_t *theirs, uint32_t theirs_len, const uint8_t *ours, uint32_t ours_len)
{
	return theirs && theirs_len == ours_len && memcmp(theirs, ours, ours_len) == 0;
}

// Usually htype and a MAC, which can be compared without writing them first.
static inline bool client_id_is_ours(const struct dhcp4_self *s, const struct dhcp4_message *m)
{
	const struct dhcp4_plan *p = s->p;
	uint8_t ours[DHCP4_OPTION_ROOM];
	struct writer w;

	if (p->client_id == DHCP4_ID_MAC && p->is.mac_len == 6)
		return m->client_id_len == 7 && m->client_id[0] == p->htype &&
		       six_equal(m->client_id + 1, s->chaddr);
	if (p->client_id == DHCP4_ID_NONE)
		return false;
	w = writer_of(ours, sizeof(ours));
	dhcp4_client_id_write(s, &w);
	return bytes_are(m->client_id, m->client_id_len, ours, (uint32_t)(w.at - ours));
}

// RFC 6842. Servers that only implement RFC 2131 send none, which is just counted; some captured
// clients have none.
static inline bool client_id_check(
	const struct dhcp4_self *s, struct dhcp_counters *n, const struct dhcp4_message *m)
{
	uint8_t ours[DHCP4_OPTION_ROOM];
	struct writer w = writer_of(ours, sizeof(ours));

	if (m->client_id)
		return dhcp_right(client_id_is_ours(s, m), &n->client_id_wrong);
	if (s->p->client_id == DHCP4_ID_HEX)
		dhcp4_client_id_write(s, &w);
	n->client_id_missing +=
		s->p->client_id == DHCP4_ID_HEX ? w.at > ours : s->p->client_id != DHCP4_ID_NONE;
	return true;
}

static __attribute__((noinline)) bool relay_info_is_ours(
	const struct dhcp4_self *s, const struct dhcp4_message *m)
{
	uint8_t ours[DHCP4_OPTION_MAX];
	struct writer w = writer_of(ours, sizeof(ours));

	dhcp4_relay_info_write(s, &w);
	return bytes_are(m->relay_info, m->relay_info_len, ours, (uint32_t)(w.at - ours));
}

// Check that option 82 is echoed (RFC 3046 section 2.2).
static inline bool relay_info_check(const struct dhcp4_self *s, struct dhcp_counters *n,
	const struct proto_txn *t, const struct dhcp4_message *m)
{
	bool sent = s->p->templates[t->step].relay_info;

	return dhcp_right(sent ? relay_info_is_ours(s, m) : !m->relay_info, &n->relay_info_wrong);
}

// The address required in an ACK; 0: any.
static inline uint32_t address_due(
	const struct dhcp4_self *s, const struct proto_txn *t, const struct dhcp4_message *m)
{
	if (t->over || m->type != DHCP4_ACK)
		return 0;
	if (t->step == DHCP4_STEP_REQUEST)
		return s->client->offered;
	return t->step != DHCP4_STEP_RAPID && s->p->is.same_lease ? s->client->offered : 0;
}

// The header's file field, or option 67 (RFC 2132 section 9.5).
static bool boot_is_right(const struct dhcp4_heard *h, const struct pattern_values *values)
{
	uint8_t file[DHCP4_OPTION_ROOM], wanted[DHCP4_OPTION_ROOM];
	struct writer to = writer_of(wanted, sizeof(wanted));
	int len = dhcp4_option_join(h->buf, h->len, DHCP4_OPT_BOOT_FILE, file, sizeof(file));

	if (len < 0) {
		memcpy(file, h->buf + DHCP4_AT_FILE, DHCP4_FILE_LEN);
		for (len = 0; len < DHCP4_FILE_LEN && file[len];)
			len++;
	}
	if (len > 0 && file[len - 1] == '\0')
		len--;
	dhcp_varying_write(values, &h->self.p->boot_file, &to);
	return (uint32_t)len == (uint32_t)(to.at - wanted) &&
	       memcmp(file, wanted, (size_t)len) == 0;
}

// Check an OFFER or ACK against the options and fields that the user expects.
static bool expected_check(struct dhcp4_heard *h, struct dhcp_worker *w, struct dhcp_counters *n)
{
	const struct dhcp4_plan *p = h->self.p;
	const struct pattern_values values = dhcp4_values_of(&h->self);
	uint8_t data[DHCP4_OPTION_MAX];
	bool right = true;

	for (uint32_t i = 0; i < p->is.expected.count; i++) {
		int len = dhcp4_option_join(
			h->buf, h->len, (uint8_t)p->is.expected.items[i].code, data, sizeof(data));

		right &= dhcp_expected_check(
			w, &values, i, len < 0 ? NULL : data, len < 0 ? 0 : (uint32_t)len);
	}
	right &= !p->next_server || h->m.siaddr == p->next_server;
	right &= !p->boot_file.code || boot_is_right(h, &values);
	return dhcp_right(right, &n->option_unexpected);
}

static inline bool address_check(const struct dhcp4_self *s, struct dhcp_counters *n,
	const struct proto_txn *t, const struct dhcp4_message *m)
{
	uint32_t due = address_due(s, t, m);
	uint32_t own = s->p->is.own ? bytes_be32(s->p->is.own[s->number].bytes) : 0;

	return dhcp_right(m->yiaddr != 0, &n->address_missing) &&
	       dhcp_right(!due || m->yiaddr == due, &n->address_changed) &&
	       dhcp_right(!own || m->yiaddr == own, &n->address_unexpected) &&
	       dhcp_right(dhcp4_in_pool(s->p, m->yiaddr), &n->outside_pool);
}

static inline bool times_check(struct dhcp_counters *n, const struct dhcp4_message *m)
{
	bool t1 = dhcp4_has(m, DHCP4_OPT_T1), t2 = dhcp4_has(m, DHCP4_OPT_T2);

	return dhcp_right(dhcp4_has(m, DHCP4_OPT_LEASE_TIME) && m->lease_time != 0,
		       &n->lease_time_missing) &&
	       dhcp_right((!t1 || m->t1 < m->lease_time) && (!t2 || m->t2 < m->lease_time) &&
				  (!t1 || !t2 || m->t1 < m->t2),
		       &n->times_wrong);
}

static inline bool content_check(const struct dhcp4_self *s, struct dhcp_counters *n,
	const struct proto_txn *t, const struct dhcp4_message *m)
{
	if (!m->has_end || m->repeats || dhcp4_has(m, DHCP4_OPT_OVERLOAD)) {
		n->option_repeated += m->repeats;
		n->no_end += !m->has_end;
		n->overloaded += dhcp4_has(m, DHCP4_OPT_OVERLOAD);
	}
	if (t->step == DHCP4_STEP_LEASEQUERY)
		return dhcp_right(m->type == DHCP4_LEASEACTIVE, &n->lease_unknown) &&
		       dhcp_right(t->over || m->ciaddr == s->client->offered, &n->address_changed);
	if (!dhcp_right(m->server_id != 0, &n->server_id_missing) ||
		!dhcp_right(t->over || t->step != DHCP4_STEP_REQUEST || m->type != DHCP4_ACK ||
				    m->server_id == s->client->chosen,
			&n->server_id_changed) ||
		!client_id_check(s, n, m) || !relay_info_check(s, n, t, m))
		return false;
	if (m->type == DHCP4_NAK)
		return true;
	if (m->type == DHCP4_ACK && dhcp_lacks_parameters(&s->p->is, m->present))
		dhcp_count_missing(&s->p->is, m->present, n);
	if (t->step == DHCP4_STEP_INFORM)
		return true;
	return address_check(s, n, t, m) && times_check(n, m) &&
	       dhcp_right(t->step != DHCP4_STEP_RAPID || m->type != DHCP4_ACK ||
				  dhcp4_has(m, DHCP4_OPT_RAPID_COMMIT),
		       &n->rapid_commit_missing);
}

static inline enum dhcp_judgement dhcp4_judge(
	struct dhcp_heard *heard, const struct proto_ctx *ctx, const struct proto_txn *t)
{
	struct dhcp4_heard *h = (struct dhcp4_heard *)heard;
	struct dhcp_counters *n = ctx->counters;
	bool proxy = h->self.client->head.exchange == DHCP_TWO_WAY && is_proxy(h);
	bool right = proxy || content_check(&h->self, n, t, &h->m);

	n->proxy_offers += proxy;
	if (right && h->self.p->judged && h->m.type != DHCP4_NAK &&
		t->step != DHCP4_STEP_LEASEQUERY)
		right = expected_check(h, ctx->own, n);

	if (h->m.type != DHCP4_NAK) {
		heard->valid_s = h->m.lease_time;
		heard->t1_s = dhcp4_has(&h->m, DHCP4_OPT_T1) ? h->m.t1 : 0;
		heard->t2_s = dhcp4_has(&h->m, DHCP4_OPT_T2) ? h->m.t2 : 0;
		return right ? DHCP_RIGHT : DHCP_WRONG;
	}
	n->nak++;
	heard->status = 0;
	heard->text = h->m.message;
	heard->text_len = h->m.message_len;
	return DHCP_REFUSED;
}

// Set the address of the exchange: the client's lease, otherwise the desired address.
DHCP_INLINE void dhcp4_begun(struct proto_ctx *ctx, struct proto_txn *t)
{
	const struct dhcp4_plan *p = ctx->shared;
	struct dhcp4_worker *w = ctx->own;
	struct dhcp4_client *k = dhcp4_client_at(w, t->user);

	k->chosen = k->server_id;
	k->offered = k->address;
	if (k->head.holds)
		dhcp_holders_expect(&w->is.common->leases.holders, k->address);
	else if (t->step == DHCP4_STEP_INFORM)
		k->offered = p->inform_first + dhcp_work_number(&w->is.work, t->user);
	else if (p->hint_first)
		k->offered = p->hint_first + (uint32_t)recip_mod(&p->hint_count,
						     dhcp_work_number(&w->is.work, t->user));
}

// An address assigned to a client by configuration.
static bool dhcp4_is_own(const struct dhcp_plan *plan, const uint8_t *addr, uint8_t mac[6])
{
	const struct dhcp4_plan *p = (const struct dhcp4_plan *)plan;
	uint32_t number = bytes_be32(addr) - p->inform_first;

	if (number >= p->inform_count)
		return false;
	if (plan->relays)
		return true;
	dhcp_mac_write(plan, number, mac);
	return true;
}

static void dhcp4_leases_drop(struct dhcp_work *w, uint32_t client)
{
	dhcp4_lease_drop((struct dhcp4_worker *)w, client);
}

static inline bool dhcp4_heard_parse(struct proto_ctx *ctx, uint32_t client, const uint8_t *buf,
	uint32_t len, struct dhcp_heard *heard)
{
	struct dhcp4_heard *h = (struct dhcp4_heard *)heard;
	struct dhcp4_worker *w = ctx->own;

	h->buf = buf;
	h->len = len;
	if (!dhcp4_parse(buf, len, &w->scratch, &h->m)) {
		heard->broken = h->m.broken;
		return false;
	}
	dhcp4_self_find(ctx, client, &h->self);
	heard->client = &h->self.client->head;
	heard->number = h->self.number;
	heard->type = h->m.type;
	return true;
}

static inline void dhcp4_server_find(const struct proto_ctx *ctx, struct dhcp_heard *heard)
{
	const struct dhcp4_heard *h = (const struct dhcp4_heard *)heard;
	const struct dhcp4_plan *p = ctx->shared;

	if (p->is.layout.more || !p->is.relays) // all servers were asked
		heard->client->server = dhcp4_server_of(p, h->self.client, h->m.server_id);
}

// Renewals go only to the server of the lease, at the address where the client met it.
static inline void server_keep(struct proto_ctx *ctx, const struct dhcp4_heard *h)
{
	struct dhcp_counters *n = ctx->counters;
	struct dhcp4_client *k = h->self.client;
	const struct dhcp4_plan *p = ctx->shared;

	k->server_id = h->m.server_id;
	if (!p->met) {
		k->head.server = dhcp4_server_of(p, k, k->server_id);
		return;
	}
	if (!dhcp4_server_keep(p, k, k->server_id)) {
		n->servers_beyond++;
		return;
	}
	if ((p->named >> k->head.server & 1) || !h->is.src)
		return;
	ctx->noted = true;
	ctx->path_found = dhcp_vlans_place(&p->is.vlans, h->is.number) * p->is.path_stride +
	                  p->path_server + k->head.server + 1;
	bytes_put_be32(ctx->found, k->server_id);
}

static inline bool dhcp4_offer_keep(struct proto_ctx *ctx, struct dhcp_heard *heard)
{
	const struct dhcp4_heard *h = (const struct dhcp4_heard *)heard;
	struct dhcp4_worker *w = ctx->own;

	h->self.client->offered = h->m.yiaddr;
	h->self.client->chosen = h->m.server_id;
	dhcp_holders_expect(&w->is.common->leases.holders, h->m.yiaddr);
	return true;
}

// The server gave the client an address that another one holds.
static __attribute__((noinline)) bool address_clashes(
	struct proto_ctx *ctx, uint32_t number, uint32_t address, uint32_t holder)
{
	struct dhcp_counters *n = ctx->counters;
	struct dhcp4_worker *w = ctx->own;
	struct dhcp_clash clash = {.holder = holder, .taker = dhcp4_owner(w, number)};

	n->duplicate_address++;
	bytes_put_be32(clash.bytes, address);
	dhcp_work_clash(&w->is.work, &clash);
	return false;
}

DHCP_INLINE bool dhcp4_leases_take(
	struct proto_ctx *ctx, struct proto_txn *t, struct dhcp_heard *heard, uint32_t until_s)
{
	const struct dhcp4_heard *h = (const struct dhcp4_heard *)heard;
	struct dhcp_counters *n = ctx->counters;
	uint32_t holder = dhcp4_lease_hold(
		ctx->own, h->self.client, heard->number, h->m.yiaddr, until_s, dhcp_now_s(ctx));

	if (holder < DHCP_UNWATCHED)
		return address_clashes(ctx, heard->number, h->m.yiaddr, holder);
	n->unwatched += holder == DHCP_UNWATCHED;
	server_keep(ctx, h);
	return true;
}

static inline uint32_t dhcp4_lease_find(
	const struct dhcp_leases *l, const uint8_t *addr, uint32_t now_s)
{
	return dhcp_holders_find(&l->holders, dhcp4_held(bytes_be32(addr)), now_s);
}

static inline bool dhcp4_has_xid(const struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	uint32_t xid;

	return dhcp4_xid(buf, len, DHCP4_REPLY_OP, &xid) && xid == t->key;
}

static const struct dhcp_messages dhcp4_messages = {
	.kinds = dhcp4_kinds,
	.offer = DHCP4_OFFER,
	.rests_after = DHCP_STEP_NONE, // a DECLINE has no reply: request ends it
	.begun = dhcp4_begun,
	.leases_drop = dhcp4_leases_drop,
	.is_usual = dhcp4_is_usual,
	.parse = dhcp4_heard_parse,
	.way_is_ours = dhcp4_way_is_ours,
	.is_elsewhere = dhcp4_is_elsewhere,
	.ours = dhcp4_ours,
	.judge = dhcp4_judge,
	.server_find = dhcp4_server_find,
	.offer_keep = dhcp4_offer_keep,
	.leases_take = dhcp4_leases_take,
	.lease_find = dhcp4_lease_find,
	.is_own = dhcp4_is_own,
	.has_xid = dhcp4_has_xid,
};

// Accepts requests as well: if one comes back to us, it is counted as such.
bool dhcp4_key(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	return dhcp4_xid(buf, len, DHCP4_REPLY_OP, key) ||
	       dhcp4_xid(buf, len, DHCP4_REQUEST_OP, key);
}

bool dhcp4_happened(struct proto_ctx *ctx, const struct proto_txn *t, struct proto_event *out)
{
	const struct dhcp4_worker *w = ctx->own;
	const struct dhcp4_client *k = dhcp4_client_at(w, t->user);

	if (!dhcp_happened(&w->is, t, out))
		return false;
	bytes_put_be32(out->addr, out->what == PROTO_LEASED ? k->address : k->offered);
	return true;
}

DHCP_VERBS(dhcp4, 4, dhcp4_messages)
