// SPDX-License-Identifier: BSD-3-Clause
// What a right answer to a client is: for it, of a type that fits, and with content that a server
// may send. Each check has its counter. Path: hot. The worker that owns the counters.

#include "base/bytes.h"
#include "proto/dhcp/v4/dhcp4_self.h"

#define OTHER (DHCP4_TYPE_BUCKETS - 1)

static inline bool chaddr_is_ours(const struct dhcp4_self *s, const struct dhcp4_message *m)
{
	if (m->htype != s->p->htype || m->hlen != s->p->hlen)
		return false;
	if (m->hlen == 6)
		return memcmp(m->chaddr, s->chaddr, 6) == 0;
	return memcmp(m->chaddr, s->chaddr, m->hlen) == 0;
}

// A lease query is about an address; only of an active lease the client is told.
static inline bool is_for_us(
	const struct dhcp4_self *s, const struct proto_txn *t, const struct dhcp4_message *m)
{
	if (t->step != DHCP4_STEP_LEASEQUERY)
		return chaddr_is_ours(s, m);
	if (!t->over && m->ciaddr != s->client->offered)
		return false;
	return m->type != DHCP4_LEASEACTIVE || chaddr_is_ours(s, m);
}

static bool is_a_server(const struct dhcp4_plan *p, uint32_t address)
{
	for (uint32_t i = 0; i < p->is.server_count; i++)
		if (p->servers[i] == address)
			return true;
	return p->servers[0] == 0;
}

// RFC 2131 section 4.1. Relays are answered on the server port, or on the one that RFC 8357 tells.
static inline bool way_is_ours(const struct dhcp4_self *s, const struct proto_ends *e,
	const struct proto_txn *t, const struct dhcp4_message *m)
{
	const struct dhcp4_plan *p = s->p;
	uint32_t to = dhcp4_get32(e->dst);

	if (e->addr_len != 4 || e->src_port != p->is.server_port ||
		!is_a_server(p, dhcp4_get32(e->src)))
		return false;
	if (p->templates[t->step].relayed)
		return to == dhcp4_get32(s->relay) &&
		       (e->dst_port == p->is.relay_port || e->dst_port == DHCP4_SERVER_PORT);
	return e->dst_port == DHCP4_CLIENT_PORT &&
	       (to == UINT32_MAX || to == m->yiaddr || to == m->ciaddr || to == s->client->offered);
}

static enum proto_verdict stray(uint64_t *counter)
{
	++*counter;
	return PROTO_STRAY;
}

// Not the first answer, or of another server than the one whose it is to be.
static enum proto_verdict further(uint64_t *others, bool other)
{
	*others += other;
	return PROTO_DUPLICATE;
}

// Of a message for the client: does its type fit?
static inline enum proto_verdict type_ours(const struct dhcp4_self *s, struct dhcp4_counters *n,
	const struct proto_txn *t, const struct dhcp4_message *m)
{
	const struct dhcp4_kind *kind = &dhcp4_kinds[t->step];
	uint32_t bucket = m->type < OTHER ? m->type : OTHER;
	uint32_t type = 1u << bucket;
	bool other;

	n->received[bucket]++;
	if (!((kind->answered | kind->again) & type))
		return stray(&n->type_wrong);
	other = m->type == DHCP4_OFFER && !t->over &&
	        m->server_id != (kind->again ? s->client->chosen : s->p->accept);
	if (kind->again & type)
		return further(&n->other_offers, other);
	return s->p->accept && other ? further(&n->other_offers, true) : PROTO_DONE;
}

static inline enum proto_verdict ours(const struct dhcp4_self *s, const struct proto_ctx *ctx,
	const struct proto_txn *t, const struct dhcp4_message *m)
{
	struct dhcp4_counters *n = ctx->counters;

	if (ctx->ends && !way_is_ours(s, ctx->ends, t, m))
		return stray(&n->way_wrong);
	if (ctx->ends && !dhcp_vlan_is_ours(&s->p->is, s->number, ctx->ends))
		return stray(&n->vlan_wrong);
	if (m->op != DHCP4_REPLY_OP || m->xid != t->key) {
		n->op_wrong += m->op != DHCP4_REPLY_OP;
		n->xid_wrong += m->xid != t->key;
		return PROTO_STRAY;
	}
	if (!is_for_us(s, t, m))
		return stray(&n->chaddr_wrong);
	return type_ours(s, n, t, m);
}

static bool bytes_are(
	const uint8_t *theirs, uint32_t theirs_len, const uint8_t *ours, uint32_t ours_len)
{
	return theirs && theirs_len == ours_len && memcmp(theirs, ours, ours_len) == 0;
}

// Nearly always htype and a MAC, which need not be written down first.
static inline bool client_id_is_ours(const struct dhcp4_self *s, const struct dhcp4_message *m)
{
	const struct dhcp4_plan *p = s->p;
	uint8_t ours[DHCP4_OPTION_ROOM];
	struct writer w;

	if (p->client_id == DHCP4_ID_MAC && p->is.mac_len == 6)
		return m->client_id_len == 7 && m->client_id[0] == p->htype &&
		       memcmp(m->client_id + 1, s->chaddr, 6) == 0;
	if (p->client_id == DHCP4_ID_NONE)
		return false;
	w = writer_of(ours, sizeof(ours));
	dhcp4_client_id_write(s, &w);
	return bytes_are(m->client_id, m->client_id_len, ours, (uint32_t)(w.at - ours));
}

// RFC 6842. Servers that follow RFC 2131 alone send none, which is only counted.
static inline bool client_id_check(
	const struct dhcp4_self *s, struct dhcp4_counters *n, const struct dhcp4_message *m)
{
	if (!m->client_id) {
		n->client_id_missing += s->p->client_id != DHCP4_ID_NONE;
		return true;
	}
	if (client_id_is_ours(s, m))
		return true;
	n->client_id_wrong++;
	return false;
}

static __attribute__((noinline)) bool relay_info_is_ours(
	const struct dhcp4_self *s, const struct dhcp4_message *m)
{
	uint8_t ours[DHCP4_OPTION_ROOM];
	struct writer w = writer_of(ours, sizeof(ours));

	dhcp4_relay_info_write(s, &w);
	return bytes_are(m->relay_info, m->relay_info_len, ours, (uint32_t)(w.at - ours));
}

// RFC 3046 section 2.2.
static inline bool relay_info_check(const struct dhcp4_self *s, struct dhcp4_counters *n,
	const struct proto_txn *t, const struct dhcp4_message *m)
{
	bool sent = s->p->templates[t->step].relay_info;

	if (sent ? relay_info_is_ours(s, m) : !m->relay_info)
		return true;
	n->relay_info_wrong++;
	return false;
}

static inline bool in_pool(const struct dhcp4_plan *p, uint32_t address)
{
	for (uint32_t i = 0; i < p->pool_count; i++)
		if (address >= p->pool[i].first && address <= p->pool[i].last)
			return true;
	return p->pool_count == 0;
}

// Which address an ACK has to have; 0: any.
static inline uint32_t address_due(
	const struct dhcp4_self *s, const struct proto_txn *t, const struct dhcp4_message *m)
{
	if (t->over || m->type != DHCP4_ACK)
		return 0;
	if (t->step == DHCP4_STEP_REQUEST)
		return s->client->offered;
	return t->step != DHCP4_STEP_RAPID && s->p->is.same_lease ? s->client->offered : 0;
}

static inline bool address_check(const struct dhcp4_self *s, struct dhcp4_counters *n,
	const struct proto_txn *t, const struct dhcp4_message *m)
{
	uint32_t due = address_due(s, t, m);

	if (m->yiaddr == 0) {
		n->address_missing++;
		return false;
	}
	if (due && m->yiaddr != due) {
		n->address_changed++;
		return false;
	}
	if (in_pool(s->p, m->yiaddr))
		return true;
	n->outside_pool++;
	return false;
}

static inline bool times_check(struct dhcp4_counters *n, const struct dhcp4_message *m)
{
	bool t1 = dhcp4_has(m, DHCP4_OPT_T1), t2 = dhcp4_has(m, DHCP4_OPT_T2);

	if (!dhcp4_has(m, DHCP4_OPT_LEASE_TIME) || m->lease_time == 0) {
		n->lease_time_missing++;
		return false;
	}
	if ((!t1 || m->t1 < m->lease_time) && (!t2 || m->t2 < m->lease_time) &&
		(!t1 || !t2 || m->t1 < m->t2))
		return true;
	n->times_wrong++;
	return false;
}

static inline bool server_check(const struct dhcp4_self *s, struct dhcp4_counters *n,
	const struct proto_txn *t, const struct dhcp4_message *m)
{
	if (m->server_id == 0) {
		n->server_id_missing++;
		return false;
	}
	if (t->over || t->step != DHCP4_STEP_REQUEST || m->type != DHCP4_ACK ||
		m->server_id == s->client->chosen)
		return true;
	n->server_id_changed++;
	return false;
}

static inline bool lacks_parameters(const struct dhcp4_plan *p, const struct dhcp4_message *m)
{
	uint64_t lack = 0;

	for (uint32_t i = 0; i < 4; i++)
		lack |= p->is.parameters[i] & ~m->present[i];
	return lack != 0;
}

static bool query_check(struct dhcp4_counters *n, const struct dhcp4_message *m)
{
	n->lease_unknown += m->type != DHCP4_LEASEACTIVE;
	return m->type == DHCP4_LEASEACTIVE;
}

static inline bool content_check(const struct dhcp4_self *s, struct dhcp4_counters *n,
	const struct proto_txn *t, const struct dhcp4_message *m)
{
	if (!m->has_end || dhcp4_has(m, DHCP4_OPT_OVERLOAD)) {
		n->no_end += !m->has_end;
		n->overloaded += dhcp4_has(m, DHCP4_OPT_OVERLOAD);
	}
	if (t->step == DHCP4_STEP_LEASEQUERY)
		return query_check(n, m);
	if (!server_check(s, n, t, m) || !client_id_check(s, n, m) || !relay_info_check(s, n, t, m))
		return false;
	if (m->type == DHCP4_NAK)
		return true;
	n->parameters_missing += m->type == DHCP4_ACK && lacks_parameters(s->p, m);
	if (t->step == DHCP4_STEP_INFORM)
		return true;
	if (!address_check(s, n, t, m) || !times_check(n, m))
		return false;
	if (t->step != DHCP4_STEP_RAPID || m->type != DHCP4_ACK ||
		dhcp4_has(m, DHCP4_OPT_RAPID_COMMIT))
		return true;
	n->rapid_commit_missing++;
	return false;
}

enum proto_verdict dhcp4_judge(const struct dhcp4_self *s, const struct proto_ctx *ctx,
	const struct proto_txn *t, const struct dhcp4_message *m)
{
	enum proto_verdict verdict = ours(s, ctx, t, m);

	if (verdict != PROTO_DONE)
		return verdict;
	return content_check(s, ctx->counters, t, m) ? PROTO_DONE : PROTO_FAIL;
}
