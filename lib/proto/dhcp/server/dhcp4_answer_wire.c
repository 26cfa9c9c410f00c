// SPDX-License-Identifier: BSD-3-Clause
// Replies to DHCPv4 clients (RFC 2131 section 4.3, RFC 3046, 4039, 4388, 5107, 6842 and 6926), and
// their destinations (section 4.1). Leases are in dhcp_claim.h, injected faults in
// dhcp4_faults_wire.c. Path: hot. The responder's thread.

#include <string.h>

#include "proto/dhcp/server/dhcp4_answer.h"
#include "proto/dhcp/server/dhcp_claim.h"

#define HTYPE_ETHERNET    1
#define RELAY_SERVER_ID   11 // sub-options of option 82: RFC 5107
#define RELAY_SOURCE_PORT 19 // RFC 8357
#define COPIED            DHCP4_AT_SNAME
_Static_assert(COPIED == DHCP_BULK_HEAD, "of a request");
#define FOR_EVER UINT32_MAX

static const struct dhcp_claim_family claims = {dhcp4_pool_keep, dhcp4_pool_forget};

// A message, and the reply under construction.
struct dhcp4_query {
	const struct dhcp4_answers *a;
	struct dhcp_answer_counters *n;
	const uint8_t *buf;
	struct dhcp4_message m;
	struct dhcp4_identity client;
	struct dhcp_claim claim;
	uint32_t server_id; // the server's own, or the relay's override
	struct writer w;    // of the reply
	uint8_t *out;
	enum dhcp4_type type; // of the reply
	struct proto_ctx *ctx;
	bool stream; // the reply is sent over a connection
};

// The data and length of a sub-option of option 82, or NULL.
static const uint8_t *relay_sub_option(
	const uint8_t *info, uint32_t info_len, uint8_t code, uint8_t *len)
{
	struct reader r = reader_of(info, info_len);

	while (reader_left(&r) > 0) {
		uint8_t found = read_u8(&r);
		const uint8_t *data;

		*len = read_u8(&r);
		data = read_bytes(&r, *len);
		if (!data || found == code)
			return data;
	}
	return NULL;
}

// Write the request's header, with the fields that a server changes (RFC 2131 table 3).
static void header_write(
	struct dhcp4_query *q, enum dhcp4_type type, uint32_t ciaddr, uint32_t yiaddr)
{
	uint8_t *out = write_space(&q->w, DHCP4_OPTIONS_AT);

	if (!out)
		return;
	memcpy(out, q->buf, COPIED);
	memset(out + COPIED, 0, DHCP4_AT_COOKIE - COPIED);
	out[DHCP4_AT_OP] = DHCP4_REPLY_OP;
	out[DHCP4_AT_HOPS] = 0;
	memset(out + DHCP4_AT_SECS, 0, 2);
	bytes_put_be32(out + DHCP4_AT_CIADDR, ciaddr);
	bytes_put_be32(out + DHCP4_AT_YIADDR, yiaddr);
	bytes_put_be32(out + DHCP4_AT_SIADDR, 0);
	bytes_put_be32(out + DHCP4_AT_COOKIE, DHCP4_COOKIE);
	dhcp4_write_option_u8(&q->w, DHCP4_OPT_TYPE, (uint8_t)type);
	dhcp4_write_option_be32(&q->w, DHCP4_OPT_SERVER_ID, q->server_id);
	q->type = type;
}

// Requested options below 64, a bit each.
static uint64_t parameters(const struct dhcp4_message *m)
{
	uint64_t asked = 0;

	for (uint32_t i = 0; i < m->parameters_len; i++)
		if (m->parameters[i] < 64)
			asked |= 1ull << m->parameters[i];
	return asked;
}

static uint32_t option_len(const uint8_t *data, uint32_t len)
{
	return data ? len + 2 * (len / 255 + 1) : 0;
}

static void parameters_write(struct dhcp4_query *q)
{
	const struct dhcp4_message *m = &q->m;
	uint64_t asked = q->a->common.ready_count ? parameters(m) : 0;
	uint32_t rest = 1 + option_len(m->client_id, m->client_id_len) +
	                option_len(m->relay_info, m->relay_info_len);

	write_bytes(&q->w, q->a->mask, sizeof(q->a->mask));
	for (uint32_t i = 0; i < q->a->common.ready_count; i++) {
		const struct dhcp_ready *r = &q->a->common.ready[i];

		if ((asked >> r->code & 1) &&
			(uint32_t)(q->w.at - q->out) + r->len + rest <= DHCP4_ANSWER_MAX)
			write_bytes(&q->w, r->bytes, r->len);
	}
}

// Option 82 comes last (RFC 3046 section 2.2). Returns the length of the reply; 0: no room.
static uint32_t answer_end(struct dhcp4_query *q)
{
	const struct dhcp4_message *m = &q->m;
	uint32_t len;

	if (m->relay_info)
		dhcp4_write_option(&q->w, DHCP4_OPT_RELAY_INFO, m->relay_info, m->relay_info_len);
	write_u8(&q->w, DHCP4_OPT_END);
	len = (uint32_t)(q->w.at - q->out);
	if (len < DHCP4_ANSWER_PAD && !q->stream) {
		uint8_t *pad = write_space(&q->w, DHCP4_ANSWER_PAD - len);

		if (pad)
			memset(pad, 0, DHCP4_ANSWER_PAD - len);
		len = DHCP4_ANSWER_PAD;
	}
	return q->w.failed ? 0 : len;
}

static uint32_t client_end(struct dhcp4_query *q)
{
	if (q->m.client_id) // RFC 6842
		dhcp4_write_option(&q->w, DHCP4_OPT_CLIENT_ID, q->m.client_id, q->m.client_id_len);
	return answer_end(q);
}

static uint32_t address_of(const struct dhcp4_query *q, const struct dhcp_lease *l)
{
	return (uint32_t)dhcp_pool_number(q->claim.pool, l);
}

static uint32_t lease_answer(
	struct dhcp4_query *q, enum dhcp4_type type, const struct dhcp_lease *l, bool rapid)
{
	header_write(q, type, type == DHCP4_ACK ? q->m.ciaddr : 0, address_of(q, l));
	write_bytes(&q->w, q->a->terms, q->a->terms_len);
	parameters_write(q);
	if (rapid)
		dhcp4_write_option(&q->w, DHCP4_OPT_RAPID_COMMIT, NULL, 0);
	return client_end(q);
}

static uint32_t nak(struct dhcp4_query *q)
{
	header_write(q, DHCP4_NAK, 0, 0);
	if (q->m.giaddr && !q->w.failed) // RFC 2131 section 4.3.2: the relay must broadcast it
		q->out[DHCP4_AT_FLAGS] |= DHCP4_BROADCAST >> 8;
	return client_end(q);
}

static uint32_t ack(struct dhcp4_query *q, struct dhcp_lease *l)
{
	dhcp_claim_bind(&q->claim, l);
	return lease_answer(q, DHCP4_ACK, l, false);
}

static uint32_t answer4_discover(struct dhcp4_query *q)
{
	struct dhcp_lease *wish =
		q->m.requested ? dhcp_claim_free(&q->claim, q->m.requested) : NULL;
	bool rapid = q->a->common.rapid && dhcp4_has(&q->m, DHCP4_OPT_RAPID_COMMIT);
	struct dhcp_lease *l = dhcp_claim_offer(&claims, &q->claim, wish, rapid);

	if (!l)
		return dhcp_claim_silent(&q->n->pool_full);
	q->n->rapid += rapid;
	return lease_answer(q, rapid ? DHCP4_ACK : DHCP4_OFFER, l, rapid);
}

static bool answer4_is_for_us(const struct dhcp4_query *q)
{
	return !dhcp4_has(&q->m, DHCP4_OPT_SERVER_ID) || q->m.server_id == q->server_id;
}

static uint32_t request_selecting(struct dhcp4_query *q, uint32_t wanted)
{
	struct dhcp_lease *l = dhcp_claim_own(&q->claim);

	if (l)
		return address_of(q, l) == wanted ? ack(q, l) : nak(q);
	l = dhcp_claim_free(&q->claim, wanted); // the offer may have expired
	if (!l)
		return nak(q);
	dhcp_claim_take(&claims, &q->claim, l);
	return ack(q, l);
}

static uint32_t answer4_request(struct dhcp4_query *q)
{
	bool chosen = dhcp4_has(&q->m, DHCP4_OPT_SERVER_ID) && q->m.ciaddr == 0;
	uint32_t wanted = q->m.ciaddr ? q->m.ciaddr : q->m.requested;

	if (!answer4_is_for_us(q)) {
		dhcp_claim_drop_offer(&claims, &q->claim);
		return dhcp_claim_silent(&q->n->other_server);
	}
	if (wanted == 0)
		return dhcp_claim_silent(&q->n->malformed);
	// INIT-REBOOT, RENEWING and REBINDING: a client without a lease here may have a lease from
	// another server.
	if (!chosen && !q->a->common.authoritative && !dhcp_claim_own(&q->claim) &&
		dhcp_pool_at(q->claim.pool, wanted))
		return dhcp_claim_silent(&q->n->unknown_client);
	return request_selecting(q, wanted);
}

// Handle a RELEASE or DECLINE of this address.
static uint32_t answer4_give_back(struct dhcp4_query *q, uint32_t address)
{
	struct dhcp_lease *l = dhcp_claim_bound(&q->claim);

	if (!answer4_is_for_us(q))
		return dhcp_claim_silent(&q->n->other_server);
	if (!l || address_of(q, l) != address)
		return dhcp_claim_silent(&q->n->unknown_client);
	dhcp_claim_return(&claims, &q->claim, l, q->m.type == DHCP4_DECLINE);
	return 0;
}

// RFC 2131 section 4.3.5: no address and no lease time.
static uint32_t answer4_inform(struct dhcp4_query *q)
{
	header_write(q, DHCP4_ACK, q->m.ciaddr, 0);
	parameters_write(q);
	return client_end(q);
}

static void remaining_write(struct dhcp4_query *q, uint8_t code, uint32_t total_s, uint32_t age_s)
{
	if (total_s == FOR_EVER)
		dhcp4_write_option_be32(&q->w, code, total_s);
	else if (total_s > age_s)
		dhcp4_write_option_be32(&q->w, code, total_s - age_s);
}

// RFC 4388 section 6.4.2: the client's identity, and the remaining times.
static void lease_active(struct dhcp4_query *q, const struct dhcp4_lease *l)
{
	uint32_t age_s = q->claim.now_s - l->lease.since_s;
	uint8_t *out = q->out;

	header_write(q, DHCP4_LEASEACTIVE, address_of(q, &l->lease), 0);
	if (q->w.failed)
		return;
	out[DHCP4_AT_HTYPE] = l->htype;
	out[DHCP4_AT_HLEN] = l->hlen;
	memset(out + DHCP4_AT_CHADDR, 0, DHCP4_CHADDR_LEN);
	memcpy(out + DHCP4_AT_CHADDR, l->bytes, l->hlen);
	remaining_write(q, DHCP4_OPT_LEASE_TIME, q->a->common.lease_s, age_s);
	remaining_write(q, DHCP4_OPT_T1, q->a->common.t1_s, age_s);
	remaining_write(q, DHCP4_OPT_T2, q->a->common.t2_s, age_s);
	dhcp4_write_option_be32(&q->w, DHCP4_OPT_CLIENT_LAST_TIME, age_s);
	if (l->client_id_len && l->client_id_len != DHCP4_ID_NOT_KEPT)
		dhcp4_write_option(
			&q->w, DHCP4_OPT_CLIENT_ID, l->bytes + l->hlen, l->client_id_len);
}

// RFC 4388 section 6.1: by address, client-id or hardware address.
static const struct dhcp4_lease *queried_lease(const struct dhcp4_query *q)
{
	const struct dhcp_pool *p = q->claim.pool;

	if (q->m.ciaddr)
		return (struct dhcp4_lease *)dhcp_pool_at(p, q->m.ciaddr);
	if (q->m.client_id_len)
		return (struct dhcp4_lease *)dhcp_claim_own(&q->claim);
	return dhcp4_pool_of_hardware(p, q->m.htype, q->m.chaddr, q->m.hlen);
}

static uint32_t answer4_leasequery(struct dhcp4_query *q)
{
	const struct dhcp4_lease *l;

	if (q->m.giaddr == 0)
		return dhcp_claim_silent(&q->n->malformed);
	l = queried_lease(q);
	if (l && dhcp_bulk_is_held(q->claim.pool, &l->lease, q->claim.now_s))
		lease_active(q, l);
	else
		header_write(q, l && q->m.ciaddr ? DHCP4_LEASEUNASSIGNED : DHCP4_LEASEUNKNOWN,
			q->m.ciaddr, 0);
	return answer_end(q);
}

// The final message of a bulk lease query's answer (RFC 6926 section 6.4).
static uint32_t bulk_done(struct dhcp4_query *q, enum dhcp4_status status)
{
	header_write(q, DHCP4_LEASEQUERYDONE, 0, 0);
	if (!q->w.failed) // the header identifies no client
		memset(q->out + DHCP4_AT_CHADDR, 0, DHCP4_CHADDR_LEN);
	if (!q->w.failed)
		q->out[DHCP4_AT_HTYPE] = q->out[DHCP4_AT_HLEN] = 0;
	if (status != DHCP4_STATUS_SUCCESS)
		dhcp4_write_option_u8(&q->w, DHCP4_OPT_STATUS, (uint8_t)status);
	return answer_end(q);
}

// The message about a lease; times are relative to its base time (section 6.2.2).
static uint32_t bulk_binding(struct dhcp4_query *q, const struct dhcp4_lease *l)
{
	bool held = dhcp_bulk_is_held(q->claim.pool, &l->lease, q->claim.now_s);

	if (held)
		lease_active(q, l);
	else
		header_write(q, DHCP4_LEASEUNASSIGNED, address_of(q, &l->lease), 0);
	dhcp4_write_option_be32(
		&q->w, DHCP4_OPT_BASE_TIME, (uint32_t)((q->ctx->began_ms + q->ctx->now_ms) / 1000));
	dhcp4_write_option_be32(&q->w, DHCP4_OPT_STATE_TIME, q->claim.now_s - l->lease.since_s);
	dhcp4_write_option_u8(
		&q->w, DHCP4_OPT_STATE, held ? DHCP4_STATE_ACTIVE : DHCP4_STATE_AVAILABLE);
	q->n->bulk_bindings += held && !q->w.failed;
	return answer_end(q);
}

// The subject of the query (section 6.3): at most one; none asks for all addresses.
enum bulk_subject { BULK_CLIENT_ID = 1, BULK_HARDWARE = 2, BULK_RELAY_ID = 4, BULK_REMOTE_ID = 8 };

static uint32_t bulk_subjects(const struct dhcp4_message *m)
{
	uint32_t found = m->client_id_len ? BULK_CLIENT_ID : 0;
	uint8_t len;

	found |= m->htype || m->hlen ? BULK_HARDWARE : 0;
	if (m->relay_info &&
		relay_sub_option(m->relay_info, m->relay_info_len, DHCP4_RELAY_ID, &len))
		found |= BULK_RELAY_ID;
	if (m->relay_info &&
		relay_sub_option(m->relay_info, m->relay_info_len, DHCP4_RELAY_REMOTE_ID, &len))
		found |= BULK_REMOTE_ID;
	return found;
}

// Write the next message of the answer.
static uint32_t bulk_continue(struct dhcp4_query *q, struct dhcp_bulk *b)
{
	const struct dhcp_pool *p;
	const struct dhcp_lease *l = dhcp_bulk_next(q->ctx->own, b, &p);

	if (l)
		return bulk_binding(q, (const struct dhcp4_lease *)l);
	dhcp_bulk_end(q->ctx, &q->n->bulk_queries);
	return bulk_done(q, DHCP4_STATUS_SUCCESS);
}

// A query about a client returns at most one lease; the table does not store relays.
static uint32_t answer4_bulk(struct dhcp4_query *q)
{
	uint32_t subjects = bulk_subjects(&q->m);
	bool wrong = q->m.ciaddr || q->m.yiaddr || q->m.siaddr || (subjects & (subjects - 1));
	enum dhcp4_status status = wrong                       ? DHCP4_STATUS_MALFORMED_QUERY
	                           : subjects >= BULK_RELAY_ID ? DHCP4_STATUS_NOT_ALLOWED
	                                                       : DHCP4_STATUS_SUCCESS;
	const struct dhcp4_lease *l = subjects && !status ? queried_lease(q) : NULL;
	bool held = l && dhcp_bulk_is_held(q->claim.pool, &l->lease, q->claim.now_s);
	struct dhcp_bulk *b = !status && (held || !subjects) ? dhcp_bulk_begin(q->ctx) : NULL;

	q->m.relay_info = NULL; // the request came from no relay
	if (!b) {
		q->n->bulk_queries++;
		return bulk_done(
			q, status || !(held || !subjects) ? status : DHCP4_STATUS_UNSPEC_FAIL);
	}
	memcpy(b->head, q->buf, sizeof(b->head));
	b->record = 0;
	b->kind = held ? DHCP_KINDS : DHCP_ADDRESSES;
	return held ? bulk_binding(q, l) : bulk_continue(q, b);
}

static uint32_t answer4_dispatch(struct dhcp4_query *q)
{
	if (q->stream) // connections carry only bulk lease queries
		return q->m.type == DHCP4_BULKLEASEQUERY ? answer4_bulk(q)
		                                         : dhcp_claim_silent(&q->n->ignored);
	switch (q->m.type) {
	case DHCP4_DISCOVER:
		return answer4_discover(q);
	case DHCP4_REQUEST:
		return answer4_request(q);
	case DHCP4_DECLINE:
		return answer4_give_back(q, q->m.requested);
	case DHCP4_RELEASE:
		return answer4_give_back(q, q->m.ciaddr);
	case DHCP4_INFORM:
		return answer4_inform(q);
	case DHCP4_LEASEQUERY:
		return answer4_leasequery(q);
	}
	return dhcp_claim_silent(&q->n->ignored);
}

uint32_t dhcp4_more(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	const struct dhcp4_answers *a = ctx->shared;
	struct dhcp4_server_state *s = ctx->own;
	struct dhcp_answer_counters *n = ctx->counters;
	struct dhcp_bulk *b = dhcp_bulk_of(ctx);
	struct dhcp4_query q = {.a = a,
		.n = n,
		.ctx = ctx,
		.stream = true,
		.buf = b->head,
		.w = writer_of(out, room),
		.out = out,
		.server_id = a->server_id,
		.claim = {.pool = &s->common.pools[DHCP_ADDRESSES],
			.now_s = (uint32_t)(ctx->now_ms / 1000)}};
	uint32_t made;

	if (!out) {
		dhcp_bulk_end(ctx, &n->bulk_dropped);
		return 0;
	}
	made = bulk_continue(&q, b);
	n->sent[q.type] += made > 0;
	return made;
}

static void client_read(struct dhcp4_query *q, struct dhcp_server *s, uint32_t now_s)
{
	const struct dhcp4_message *m = &q->m;
	const uint8_t *override;
	uint8_t len;

	q->client = (struct dhcp4_identity){.chaddr = m->chaddr,
		.htype = m->htype,
		.hlen = m->hlen,
		.client_id = m->client_id,
		.client_id_len = m->client_id_len};
	q->claim = (struct dhcp_claim){.pool = &s->pools[DHCP_ADDRESSES],
		.n = q->n,
		.identity = dhcp4_pool_identity(&s->pools[DHCP_ADDRESSES], &q->client),
		.client = &q->client,
		.now_s = now_s,
		.kind = DHCP_ADDRESSES};
	q->server_id = q->a->server_id;
	if (!m->relay_info)
		return;
	override = relay_sub_option(m->relay_info, m->relay_info_len, RELAY_SERVER_ID, &len);
	if (override && len == 4)
		q->server_id = bytes_be32(override);
}

static void direct_to(struct proto_direction *out, const uint8_t *address, uint16_t port)
{
	memcpy(out->dst, address, 4);
	out->dst_port = port;
}

// RFC 2131 section 4.1. An all-zero MAC stands for the request's source MAC: the relay, the router
// or, if the client has an address, the client.
bool dhcp4_direct(const uint8_t *answer, uint32_t len, struct proto_direction *out)
{
	static const uint8_t everyone[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	const uint8_t *yiaddr = answer + DHCP4_AT_YIADDR, *ciaddr = answer + DHCP4_AT_CIADDR;
	bool ethernet, nak;
	uint8_t sub_len;
	uint32_t at;

	if (len < DHCP4_OPTIONS_AT)
		return false;
	memset(out, 0, sizeof(*out));
	if (bytes_be32(answer + DHCP4_AT_GIADDR)) {
		direct_to(out, answer + DHCP4_AT_GIADDR, DHCP4_SERVER_PORT);
		// A relay that used its own source port includes it (RFC 8357).
		at = dhcp4_find_option(answer, len, DHCP4_OPT_RELAY_INFO);
		return !at || !relay_sub_option(
				      answer + at + 2, answer[at + 1], RELAY_SOURCE_PORT, &sub_len);
	}
	if (bytes_be32(ciaddr)) {
		direct_to(out, ciaddr, DHCP4_CLIENT_PORT);
		return true;
	}
	ethernet = answer[DHCP4_AT_HTYPE] == HTYPE_ETHERNET && answer[DHCP4_AT_HLEN] == 6;
	at = dhcp4_find_option(answer, len, DHCP4_OPT_TYPE);
	nak = at && answer[at + 1] == 1 && answer[at + 2] == DHCP4_NAK;
	if (nak || (answer[DHCP4_AT_FLAGS] & DHCP4_BROADCAST >> 8) ||
		(bytes_be32(yiaddr) && !ethernet)) {
		direct_to(out, everyone, DHCP4_CLIENT_PORT);
		memcpy(out->mac, everyone, 6);
		return true;
	}
	if (!bytes_be32(yiaddr))
		return false;
	direct_to(out, yiaddr, DHCP4_CLIENT_PORT);
	memcpy(out->mac, answer + DHCP4_AT_CHADDR, 6);
	return true;
}

uint32_t dhcp4_answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	struct dhcp_answer_counters *n = ctx->counters;
	struct dhcp4_server_state *s = ctx->own;
	struct dhcp4_query q = {.a = ctx->shared,
		.n = n,
		.ctx = ctx,
		.stream = ctx->stream,
		.buf = buf,
		.out = out};
	uint32_t answer;
	bool right;

	n->received++;
	right = dhcp4_parse(buf, len, &s->scratch, &q.m);
	n->type[q.m.type < DHCP4_TYPES ? q.m.type : 0]++;
	if (!right || q.m.hlen > DHCP4_CHADDR_LEN || q.m.type == 0)
		return dhcp_claim_silent(&n->malformed);
	if (q.m.op != DHCP4_REQUEST_OP || room < DHCP4_ANSWER_PAD)
		return dhcp_claim_silent(&n->ignored);
	q.w = writer_of(out, room);
	client_read(&q, &s->common, (uint32_t)(ctx->now_ms / 1000));
	answer = answer4_dispatch(&q);
	answer = dhcp_claim_answered(n, q.type, &q.w, answer);
	if (answer && !q.stream)
		ctx->directed = dhcp4_direct(out, answer, &ctx->to);
	return answer;
}
