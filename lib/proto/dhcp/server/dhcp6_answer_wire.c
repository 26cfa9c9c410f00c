// SPDX-License-Identifier: BSD-3-Clause
// Replies to DHCPv6 clients and relays (RFC 8415 sections 18.3 and 19, RFC 8357, RFC 5007 and RFC
// 5460), and their destinations. Each IA gets one lease. Leases are in dhcp_claim.h, injected
// faults in dhcp6_faults_wire.c. Path: hot. The responder's thread.

#include <string.h>

#include "base/rand.h"
#include "proto/dhcp/server/dhcp6_answer.h"
#include "proto/dhcp/server/dhcp6_calls.h"
#include "proto/dhcp/server/dhcp_claim.h"

#define MULTICAST 0xff // first byte of a multicast address

#define BUCKET_BITS 0xffffff // of DHCP_POOL_MAX records

// Store the DUID (client: struct dhcp6_bytes) with a lease; NULL: not stored.
static void duid_keep(struct dhcp_pool *p, struct dhcp_lease *lease, const void *client)
{
	struct dhcp6_lease_kept *l = (struct dhcp6_lease_kept *)lease;
	const struct dhcp6_bytes *duid = client;

	if (!duid)
		return;
	l->duid_len = duid->len <= sizeof(l->duid) ? (uint8_t)duid->len : 0;
	memcpy(l->duid, duid->data, l->duid_len);
}

static const struct dhcp_claim_family claims = {.keep = duid_keep};

// A message, and the reply under construction.
struct dhcp6_query {
	const struct dhcp6_answers *a;
	struct dhcp_server *s;
	struct dhcp_answer_counters *n;
	const struct proto_ends *ends;
	uint64_t duid; // hash
	uint32_t now_s;
	enum dhcp6_type type; // of the reply
	struct writer w;      // of the reply
	uint8_t *out;
	struct proto_ctx *ctx;
	uint8_t *begins[DHCP6_LEVELS_MAX];
	struct dhcp6_envelope e;
	struct dhcp6_message m;
};

static struct dhcp_claim claim_of(const struct dhcp6_query *q, const struct dhcp6_ia *ia)
{
	struct dhcp_claim c = {.n = q->n, .now_s = q->now_s};
	bool temporary = ia->type == DHCP6_OPT_IA_TA; // from the pool of IA_NA

	c.kind = ia->type == DHCP6_OPT_IA_PD ? DHCP_PREFIXES : DHCP_ADDRESSES;
	c.pool = &q->s->pools[c.kind];
	c.identity = rand_hash(q->duid ^ rand_hash(ia->iaid | (uint64_t)temporary << 32));
	// Put all leases of a client into the bucket of its DUID, where lease queries find them.
	c.identity = (c.identity & ~(uint64_t)BUCKET_BITS) | (q->duid & BUCKET_BITS);
	c.identity += c.identity == 0;
	c.client = q->a->leasequery ? &q->m.client_id : NULL;
	return c;
}

static void reply_begin(struct dhcp6_query *q, enum dhcp6_type type)
{
	dhcp6_relays_begin(&q->w, &q->e, q->begins);
	q->type = type;
	dhcp6_write_header(&q->w, (uint8_t)type, q->m.xid);
	dhcp6_echo(&q->w, DHCP6_OPT_CLIENT_ID, &q->m.client_id);
	dhcp6_write_option(&q->w, DHCP6_OPT_SERVER_ID, q->a->server_id, q->a->server_id_len);
}

// Returns the length of the reply; 0: no room.
static uint32_t reply_end(struct dhcp6_query *q)
{
	for (uint32_t i = q->e.levels; i-- > 0;)
		dhcp6_option_end(&q->w, q->begins[i]);
	return q->w.failed ? 0 : (uint32_t)(q->w.at - q->out);
}

static void status_write(struct dhcp6_query *q, enum dhcp6_status status)
{
	q->n->status[status]++;
	dhcp6_write_status(&q->w, (uint16_t)status, "");
}

// Requested options below 128, a bit each.
static void wanted(const struct dhcp6_message *m, uint64_t asked[2])
{
	struct reader r = reader_of(m->oro.data, m->oro.len);

	asked[0] = asked[1] = 0;
	while (reader_left(&r) > 0) {
		uint16_t code = read_be16(&r);

		if (code < 128)
			asked[code >> 6] |= 1ull << (code & 63);
	}
}

static void options_write(struct dhcp6_query *q)
{
	uint64_t asked[2];

	if (!q->m.oro.data)
		return;
	wanted(&q->m, asked);
	for (uint32_t i = 0; i < q->a->common.ready_count; i++) {
		const struct dhcp_ready *r = &q->a->common.ready[i];

		if (r->code == DHCP6_OPT_REFRESH_TIME && q->m.type != DHCP6_INFORMATION)
			continue; // RFC 8415 section 21.23
		if (asked[r->code >> 6] >> (r->code & 63) & 1)
			write_bytes(&q->w, r->bytes, r->len);
	}
}

static uint8_t bits_of(const struct dhcp6_query *q, enum dhcp_kind kind)
{
	return kind == DHCP_PREFIXES ? q->a->prefix_length : 128;
}

static uint32_t remaining(uint32_t total_s, uint32_t age_s)
{
	return total_s == DHCP6_INFINITY ? total_s : total_s > age_s ? total_s - age_s : 0;
}

// age_s: time since the lease was assigned.
static void lease_write(struct dhcp6_query *q, enum dhcp_kind kind, const struct dhcp_pool *p,
	const struct dhcp_lease *l, uint32_t age_s)
{
	uint16_t code = kind == DHCP_PREFIXES ? DHCP6_OPT_IA_PREFIX : DHCP6_OPT_IA_ADDRESS;
	dhcp_number n = dhcp_pool_number(p, l);
	uint8_t address[16];
	const struct dhcp6_lease given = {.address = address,
		.preferred_s = remaining(q->a->common.preferred_s, age_s),
		.valid_s = remaining(q->a->common.lease_s, age_s),
		.status = DHCP6_STATUS_NONE,
		.bits = bits_of(q, kind)};

	bytes_put_be64(address, (uint64_t)(n >> 64));
	bytes_put_be64(address + 8, (uint64_t)n);
	dhcp6_write_lease(&q->w, code, &given);
}

static void ia_give(struct dhcp6_query *q, const struct dhcp6_ia *ia, const struct dhcp_claim *c,
	const struct dhcp_lease *l)
{
	uint8_t *begin =
		dhcp6_ia_begin(&q->w, ia->type, ia->iaid, q->a->common.t1_s, q->a->common.t2_s);

	lease_write(q, c->kind, c->pool, l, 0);
	dhcp6_option_end(&q->w, begin);
}

static void ia_refuse(struct dhcp6_query *q, const struct dhcp6_ia *ia, enum dhcp6_status status)
{
	uint8_t *begin = dhcp6_ia_begin(&q->w, ia->type, ia->iaid, 0, 0);

	status_write(q, status);
	dhcp6_option_end(&q->w, begin);
}

// Write the lease, or the status of an exhausted pool.
static void ia_answer(struct dhcp6_query *q, const struct dhcp6_ia *ia, const struct dhcp_claim *c,
	const struct dhcp_lease *l)
{
	bool prefix = ia->type == DHCP6_OPT_IA_PD;

	if (l)
		ia_give(q, ia, c, l);
	else
		ia_refuse(q, ia, prefix ? DHCP6_NO_PREFIX_AVAIL : DHCP6_NO_ADDRS_AVAIL);
}

// The lease of a pool that a client names in its IA; NULL: none.
static struct dhcp_lease *lease_at(
	const struct dhcp6_query *q, const struct dhcp_claim *c, const struct dhcp6_lease *l)
{
	const uint8_t *a = l->address;

	if (!c->pool || l->bits != bits_of(q, c->kind))
		return NULL;
	return dhcp_pool_at(c->pool, (dhcp_number)bytes_be64(a) << 64 | bytes_be64(a + 8));
}

// The first lease named in the IA, if it is free.
static struct dhcp_lease *wished_lease(
	const struct dhcp6_query *q, const struct dhcp6_ia *ia, const struct dhcp_claim *c)
{
	struct dhcp_lease *l = ia->lease_count ? lease_at(q, c, &ia->leases[0]) : NULL;

	return l && l->state == DHCP_FREE ? l : NULL;
}

// RFC 8415 section 18.3.1.
static uint32_t answer6_solicit(struct dhcp6_query *q)
{
	bool rapid = q->a->common.rapid && dhcp6_has(&q->m, DHCP6_OPT_RAPID_COMMIT);

	reply_begin(q, rapid ? DHCP6_REPLY : DHCP6_ADVERTISE);
	for (uint32_t i = 0; i < q->m.ia_count; i++) {
		const struct dhcp6_ia *ia = &q->m.ias[i];
		struct dhcp_claim c = claim_of(q, ia);
		struct dhcp_lease *wish = wished_lease(q, ia, &c);

		ia_answer(q, ia, &c, dhcp_claim_offer(&claims, &c, wish, rapid));
	}
	if (rapid)
		dhcp6_write_option(&q->w, DHCP6_OPT_RAPID_COMMIT, NULL, 0);
	else if (q->a->has_preference)
		dhcp6_write_option_u8(&q->w, DHCP6_OPT_PREFERENCE, q->a->preference);
	q->n->rapid += rapid;
	options_write(q);
	dhcp6_accept_write(q->ctx, &q->m, q->duid, rapid, &q->w);
	return reply_end(q);
}

// Is an address outside all pools?
static bool is_off_link(
	const struct dhcp6_query *q, const struct dhcp6_ia *ia, const struct dhcp_claim *c)
{
	for (uint32_t i = 0; i < ia->lease_count; i++)
		if (!lease_at(q, c, &ia->leases[i]))
			return true;
	return false;
}

// RFC 8415 section 18.3.2. A client with an expired offer, or without any, gets a lease.
static void ia_requested(struct dhcp6_query *q, const struct dhcp6_ia *ia)
{
	struct dhcp_claim c = claim_of(q, ia);

	if (c.kind == DHCP_ADDRESSES && is_off_link(q, ia, &c))
		ia_refuse(q, ia, DHCP6_NOT_ON_LINK);
	else
		ia_answer(q, ia, &c, dhcp_claim_offer(&claims, &c, wished_lease(q, ia, &c), true));
}

// Write lifetimes of 0 for leases that the client has and must not keep.
static void withdraw(struct dhcp6_query *q, const struct dhcp6_ia *ia, const struct dhcp_claim *c,
	const struct dhcp_lease *keep)
{
	for (uint32_t i = 0; i < ia->lease_count; i++) {
		struct dhcp6_lease gone = ia->leases[i];

		if (keep && lease_at(q, c, &gone) == dhcp_pool_record(c->pool, keep->place))
			continue;
		gone.preferred_s = gone.valid_s = 0;
		gone.status = DHCP6_STATUS_NONE;
		dhcp6_write_lease(&q->w, dhcp6_lease_code(ia->type), &gone);
	}
}

// RFC 8415 sections 18.3.4 and 18.3.5: the lease is bound or unknown here, or on another link.
static void ia_renewed(struct dhcp6_query *q, const struct dhcp6_ia *ia)
{
	struct dhcp_claim c = claim_of(q, ia);
	struct dhcp_lease *l = dhcp_claim_own(&c);
	struct dhcp_lease *wish = q->a->common.authoritative && !l ? wished_lease(q, ia, &c) : NULL;
	uint8_t *begin;

	if (l && l->state == DHCP_BOUND) {
		dhcp_claim_bind(&c, l);
		begin = dhcp6_ia_begin(
			&q->w, ia->type, ia->iaid, q->a->common.t1_s, q->a->common.t2_s);
		lease_write(q, c.kind, c.pool, l, 0);
		withdraw(q, ia, &c, l);
		dhcp6_option_end(&q->w, begin);
	} else if (wish) {
		dhcp_claim_take(&claims, &c, wish);
		dhcp_claim_bind(&c, wish);
		ia_give(q, ia, &c, wish);
	} else if (q->m.type == DHCP6_REBIND && is_off_link(q, ia, &c)) {
		begin = dhcp6_ia_begin(&q->w, ia->type, ia->iaid, 0, 0);
		withdraw(q, ia, &c, NULL);
		dhcp6_option_end(&q->w, begin);
	} else {
		ia_refuse(q, ia, DHCP6_NO_BINDING);
	}
}

// Answers REQUEST, RENEW and REBIND, and INFORMATION-REQUEST, which has no IA.
static uint32_t answer6_reply(struct dhcp6_query *q)
{
	reply_begin(q, DHCP6_REPLY);
	for (uint32_t i = 0; i < q->m.ia_count; i++) {
		if (q->m.type == DHCP6_REQUEST)
			ia_requested(q, &q->m.ias[i]);
		else
			ia_renewed(q, &q->m.ias[i]);
	}
	options_write(q);
	dhcp6_accept_write(q->ctx, &q->m, q->duid, dhcp6_gives_key(q->m.type), &q->w);
	return reply_end(q);
}

// RFC 8415 section 18.3.3.
static uint32_t answer6_confirm(struct dhcp6_query *q)
{
	uint32_t addresses = 0;
	bool off_link = false;

	for (uint32_t i = 0; i < q->m.ia_count; i++) {
		const struct dhcp6_ia *ia = &q->m.ias[i];
		struct dhcp_claim c = claim_of(q, ia);

		if (c.kind != DHCP_ADDRESSES)
			continue;
		addresses += ia->lease_count;
		off_link = is_off_link(q, ia, &c) || off_link;
	}
	if (addresses == 0)
		return dhcp_claim_silent(&q->n->ignored);
	reply_begin(q, DHCP6_REPLY);
	status_write(q, off_link ? DHCP6_NOT_ON_LINK : DHCP6_SUCCESS);
	return reply_end(q);
}

static void ia_given_back(struct dhcp6_query *q, const struct dhcp6_ia *ia, bool declined)
{
	struct dhcp_claim c = claim_of(q, ia);
	struct dhcp_lease *l = dhcp_claim_bound(&c);

	if (!l) {
		ia_refuse(q, ia, DHCP6_NO_BINDING);
		return;
	}
	for (uint32_t i = 0; i < ia->lease_count; i++)
		if (lease_at(q, &c, &ia->leases[i]) == dhcp_pool_record(c.pool, l->place)) {
			dhcp_claim_return(&claims, &c, l, declined);
			return;
		}
}

// RFC 8415 sections 18.3.7 and 18.3.8: RELEASE, or DECLINE, which applies only to addresses.
static uint32_t answer6_give_back(struct dhcp6_query *q)
{
	bool declined = q->m.type == DHCP6_DECLINE;

	reply_begin(q, DHCP6_REPLY);
	status_write(q, DHCP6_SUCCESS);
	for (uint32_t i = 0; i < q->m.ia_count; i++)
		if (!declined || q->m.ias[i].type != DHCP6_OPT_IA_PD)
			ia_given_back(q, &q->m.ias[i], declined);
	return reply_end(q);
}

// The next lease that this client holds, from record *i on in its bucket; NULL: none.
static const struct dhcp_lease *held_next(
	const struct dhcp_pool *p, uint32_t *i, const struct dhcp6_bytes *duid, uint32_t now_s)
{
	while (*i != DHCP_NO_LEASE) {
		const struct dhcp_lease *l = dhcp_pool_record(p, *i);
		const struct dhcp6_lease_kept *kept = (const struct dhcp6_lease_kept *)l;

		*i = l->same_identity;
		if (dhcp_bulk_is_held(p, l, now_s) &&
			dhcp6_bytes_are(duid, kept->duid, kept->duid_len))
			return l;
	}
	return NULL;
}

static uint32_t bucket_of(
	const struct dhcp6_query *q, const struct dhcp_pool *p, const struct dhcp6_bytes *duid)
{
	uint64_t hash = dhcp_pool_hash(q->a->common.seed, duid->data, duid->len);

	return p->by_identity[hash & BUCKET_BITS & p->mask];
}

// Write the data of the client with this DUID. false: it has no lease, and nothing was written.
static bool client_data_write(struct dhcp6_query *q, const struct dhcp6_bytes *duid)
{
	struct writer before = q->w;
	uint8_t *option = dhcp6_option_begin(&q->w, DHCP6_OPT_CLIENT_DATA);
	uint32_t age_s = UINT32_MAX;
	bool found = false;

	dhcp6_echo(&q->w, DHCP6_OPT_CLIENT_ID, duid);
	for (uint32_t kind = 0; duid->len && kind < DHCP_KINDS; kind++) {
		const struct dhcp_pool *p = &q->s->pools[kind];
		const struct dhcp_lease *l;

		for (uint32_t i = bucket_of(q, p, duid); (l = held_next(p, &i, duid, q->now_s));) {
			uint32_t since_s = q->now_s - l->since_s;

			lease_write(q, (enum dhcp_kind)kind, p, l, since_s);
			age_s = since_s < age_s ? since_s : age_s;
			found = true;
		}
	}
	dhcp6_write_option_be32(&q->w, DHCP6_OPT_CLT_TIME, age_s);
	dhcp6_option_end(&q->w, option);
	if (!found)
		q->w = before;
	return found;
}

// RFC 5007 section 4.3.3: find the DUID that is queried. Returns a failure status if there is none.
static enum dhcp6_status subject_find(
	const struct dhcp6_query *q, const struct dhcp6_subject *s, struct dhcp6_bytes *duid)
{
	const struct dhcp_pool *p = &q->s->pools[DHCP_ADDRESSES];
	const struct dhcp6_lease_kept *l;
	const uint8_t *a;

	*duid = s->client_id;
	if (s->query == DHCP6_QUERY_BY_LINK && q->ctx->stream)
		return DHCP6_SUCCESS;
	if (s->query != DHCP6_QUERY_BY_ADDRESS && s->query != DHCP6_QUERY_BY_CLIENT_ID)
		return DHCP6_UNKNOWN_QUERY_TYPE;
	if (s->query == DHCP6_QUERY_BY_CLIENT_ID)
		return duid->data ? DHCP6_SUCCESS : DHCP6_MALFORMED_QUERY;
	if (s->lease_count != 1)
		return DHCP6_MALFORMED_QUERY;
	a = s->leases[0].address;
	l = (const struct dhcp6_lease_kept *)dhcp_pool_at(
		p, (dhcp_number)bytes_be64(a) << 64 | bytes_be64(a + 8));
	if (!l)
		return DHCP6_NOT_CONFIGURED;
	*duid = (struct dhcp6_bytes){0};
	if (dhcp_bulk_is_held(p, &l->lease, q->now_s))
		*duid = (struct dhcp6_bytes){l->duid, l->duid_len};
	return DHCP6_SUCCESS;
}

static enum dhcp6_status query_status(
	const struct dhcp6_query *q, struct dhcp6_subject *s, struct dhcp6_bytes *duid)
{
	*duid = (struct dhcp6_bytes){0};
	if (!q->a->leasequery)
		return DHCP6_NOT_ALLOWED;
	if (!q->m.query.data || !dhcp6_parse_subject(&q->m.query, true, s))
		return DHCP6_MALFORMED_QUERY;
	return subject_find(q, s, duid);
}

// A client without a lease has no data.
static uint32_t answer6_leasequery(struct dhcp6_query *q)
{
	struct dhcp6_subject subject;
	struct dhcp6_bytes duid;
	enum dhcp6_status status = query_status(q, &subject, &duid);

	reply_begin(q, DHCP6_LEASEQUERY_REPLY);
	if (status != DHCP6_SUCCESS)
		status_write(q, status);
	client_data_write(q, &duid);
	return reply_end(q);
}

// Is this the first lease that its client holds?
static bool is_first(const struct dhcp6_query *q, const struct dhcp_bulk *b,
	const struct dhcp_lease *lease, const struct dhcp6_bytes *duid)
{
	for (uint32_t kind = 0; kind <= b->kind; kind++) {
		const struct dhcp_pool *p = &q->s->pools[kind];
		const struct dhcp_lease *l;

		for (uint32_t i = bucket_of(q, p, duid); (l = held_next(p, &i, duid, q->now_s));)
			if (kind < b->kind || l < lease)
				return false;
	}
	return true;
}

// Finds the next client with a lease among the next `most` leases. Returns false if there is none.
static bool bulk_client(
	const struct dhcp6_query *q, struct dhcp_bulk *b, uint32_t most, struct dhcp6_bytes *duid)
{
	const struct dhcp_pool *p;
	const struct dhcp_lease *l;

	for (; most > 0 && (l = dhcp_bulk_next(q->s, b, &p)); most--) {
		const struct dhcp6_lease_kept *kept = (const struct dhcp6_lease_kept *)l;

		*duid = (struct dhcp6_bytes){kept->duid, kept->duid_len};
		if (dhcp_bulk_is_held(p, l, q->now_s) && duid->len && is_first(q, b, l, duid))
			return true;
	}
	return false;
}

// RFC 5460 section 5.4: a reply with the status and the first client's data, if any. Clients of all
// links share the pools, so each link has all leases.
static uint32_t answer6_bulk(struct dhcp6_query *q)
{
	struct dhcp6_subject subject;
	struct dhcp6_bytes duid;
	enum dhcp6_status status = query_status(q, &subject, &duid);
	struct dhcp_bulk *b = status == DHCP6_SUCCESS ? dhcp_bulk_begin(q->ctx) : NULL;
	bool found = false;

	reply_begin(q, DHCP6_LEASEQUERY_REPLY);
	if (b) {
		b->xid = q->m.xid;
		b->record = 0;
		b->kind = subject.query == DHCP6_QUERY_BY_LINK ? DHCP_ADDRESSES : DHCP_KINDS;
		if (b->kind == DHCP_KINDS || bulk_client(q, b, UINT32_MAX, &duid))
			found = client_data_write(q, &duid);
	} else {
		status_write(q, status == DHCP6_SUCCESS ? DHCP6_UNSPEC_FAIL : status);
	}
	q->n->bulk_bindings += found;
	if (b && !found)
		dhcp_bulk_end(q->ctx, &q->n->bulk_queries);
	else if (!b)
		q->n->bulk_queries++;
	return reply_end(q);
}

static uint32_t bulk_more(struct proto_ctx *ctx, uint8_t *out, uint32_t room)
{
	struct dhcp_answer_counters *n = ctx->counters;
	struct dhcp_bulk *b = dhcp_bulk_of(ctx);
	struct dhcp6_bytes duid;
	struct dhcp6_query q;

	if (!out) {
		dhcp_bulk_end(ctx, &n->bulk_dropped);
		return 0;
	}
	q.a = ctx->shared;
	q.s = ctx->own;
	q.n = n;
	q.now_s = (uint32_t)(ctx->now_ms / 1000);
	q.w = writer_of(out, room);
	q.out = out;
	q.e.levels = 0;
	if (bulk_client(&q, b, DHCP_BULK_LOOKED, &duid)) {
		q.type = DHCP6_LEASEQUERY_DATA;
		dhcp6_write_header(&q.w, DHCP6_LEASEQUERY_DATA, b->xid);
		n->bulk_bindings += client_data_write(&q, &duid);
	} else if (b->kind == DHCP_KINDS) {
		q.type = DHCP6_LEASEQUERY_DONE;
		dhcp6_write_header(&q.w, DHCP6_LEASEQUERY_DONE, b->xid);
		dhcp_bulk_end(ctx, &n->bulk_queries);
	} else {
		return 0;
	}
	n->sent[q.type]++;
	return reply_end(&q);
}

uint32_t dhcp6_more(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	return buf ? dhcp6_reconfigure_write(ctx, buf, len, out, room) : bulk_more(ctx, out, room);
}

// RFC 8415 section 16: required and forbidden identifiers of a message.
static bool is_valid(const struct dhcp6_message *m)
{
	bool client = m->client_id.data, server = m->server_id.data;

	switch (m->type) {
	case DHCP6_SOLICIT:
	case DHCP6_CONFIRM:
	case DHCP6_REBIND:
		return client && !server;
	case DHCP6_LEASEQUERY:
		return client;
	case DHCP6_REQUEST:
	case DHCP6_RENEW:
	case DHCP6_RELEASE:
	case DHCP6_DECLINE:
		return client && server;
	case DHCP6_INFORMATION:
		return m->ia_count == 0;
	}
	return true;
}

static uint32_t answer6_dispatch(struct dhcp6_query *q)
{
	switch (q->m.type) {
	case DHCP6_SOLICIT:
		return answer6_solicit(q);
	case DHCP6_REQUEST:
	case DHCP6_RENEW:
	case DHCP6_REBIND:
	case DHCP6_INFORMATION:
		return answer6_reply(q);
	case DHCP6_CONFIRM:
		return answer6_confirm(q);
	case DHCP6_RELEASE:
	case DHCP6_DECLINE:
		return answer6_give_back(q);
	case DHCP6_LEASEQUERY:
		return answer6_leasequery(q);
	}
	return dhcp_claim_silent(&q->n->ignored);
}

static uint32_t query_answer(struct dhcp6_query *q)
{
	const struct dhcp6_bytes *id = &q->m.client_id, *server = &q->m.server_id;

	if (q->e.levels && q->e.relays[0].type != DHCP6_RELAY_FORW)
		return dhcp_claim_silent(&q->n->ignored);
	if (!is_valid(&q->m))
		return dhcp_claim_silent(&q->n->malformed);
	if (id->data)
		q->duid = dhcp_pool_hash(q->a->common.seed, id->data, id->len);
	if (server->data && !dhcp6_bytes_are(server, q->a->server_id, q->a->server_id_len)) {
		for (uint32_t i = 0; i < q->m.ia_count && q->m.type == DHCP6_REQUEST; i++) {
			struct dhcp_claim c = claim_of(q, &q->m.ias[i]);

			dhcp_claim_drop_offer(&claims, &c);
		}
		return dhcp_claim_silent(&q->n->other_server);
	}
	if (q->ctx->stream) // connections carry only bulk lease queries
		return q->m.type == DHCP6_LEASEQUERY && q->e.levels == 0
		               ? answer6_bulk(q)
		               : dhcp_claim_silent(&q->n->ignored);
	// A client that sends a server identifier may use unicast only if the server allows it
	// (section 18.4).
	if (q->a->unicast || q->e.levels || !q->ends || q->ends->dst[0] == MULTICAST ||
		!server->data || q->m.type == DHCP6_INFORMATION)
		return answer6_dispatch(q);
	reply_begin(q, DHCP6_REPLY);
	status_write(q, DHCP6_USE_MULTICAST);
	return reply_end(q);
}

// false: not well formed.
static bool query_read(struct dhcp6_query *q, const uint8_t *buf, uint32_t len)
{
	bool right = dhcp6_unwrap(buf, len, &q->e);

	q->m.type = 0;
	right = right && dhcp6_parse(q->e.inner, q->e.inner_len, &q->m);
	q->n->type[q->m.type < DHCP6_TYPES ? q->m.type : 0]++;
	if (!right)
		return false;
	q->n->relayed += q->e.levels > 0;
	q->n->ias_ignored += q->m.ias_ignored;
	return true;
}

// RFC 8415 sections 7.2 and 19.3: to the relay or client that sent the request, at its well-known
// port, or at the relay's own port (RFC 8357).
bool dhcp6_direct(const uint8_t *answer, uint32_t len, struct proto_direction *out)
{
	bool relayed = len >= DHCP6_RELAY_LEN && answer[0] == DHCP6_RELAY_REPL;

	memset(out, 0, sizeof(*out));
	out->dst_port = relayed ? DHCP6_SERVER_PORT : DHCP6_CLIENT_PORT;
	return !relayed || !dhcp6_find_option(answer, DHCP6_RELAY_LEN, len, DHCP6_OPT_RELAY_PORT);
}

uint32_t dhcp6_answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	struct dhcp_answer_counters *n = ctx->counters;
	struct dhcp6_query q;
	uint32_t answer;

	q.ctx = ctx;
	q.a = ctx->shared;
	q.s = ctx->own;
	q.n = n;
	q.ends = ctx->ends;
	q.now_s = (uint32_t)(ctx->now_ms / 1000);
	q.w = writer_of(out, room);
	q.out = out;
	q.type = 0;
	n->received++;
	if (!query_read(&q, buf, len))
		return dhcp_claim_silent(&n->malformed);
	answer = query_answer(&q);
	answer = dhcp_claim_answered(n, q.type, &q.w, answer);
	if (answer && !ctx->stream)
		ctx->directed = dhcp6_direct(out, answer, &ctx->to);
	return answer;
}
