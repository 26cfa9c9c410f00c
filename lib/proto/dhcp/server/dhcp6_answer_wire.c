// SPDX-License-Identifier: BSD-3-Clause
// Answering clients and relays as RFC 8415 sections 18.3 and 19 have it, with RFC 8357, and where
// answers go. One lease is given for each IA. Not here: who has which address (dhcp6_pool.h), what
// is wrong on demand (dhcp6_faults_wire.c). Path: hot. The responder's thread.

#include <string.h>

#include "base/rand.h"
#include "proto/dhcp/server/dhcp6_answer.h"

#define MULTICAST 0xff // first byte of such an address

// One message on its way to an answer.
struct asked {
	const struct dhcp6_answers *a;
	struct dhcp6_server *s;
	struct dhcp6_answer_counters *n;
	const struct proto_ends *ends;
	uint64_t duid; // hash
	uint32_t now_s;
	enum dhcp6_type type; // of the answer
	struct writer w;      // of the answer
	uint8_t *out;
	uint8_t *begins[DHCP6_LEVELS_MAX];
	struct dhcp6_envelope e;
	struct dhcp6_message m;
};

static uint32_t silent(uint64_t *counter)
{
	++*counter;
	return 0;
}

static enum dhcp6_kind kind_of(const struct dhcp6_ia *ia)
{
	switch (ia->type) {
	case DHCP6_OPT_IA_NA:
		return DHCP6_ADDRESSES;
	case DHCP6_OPT_IA_PD:
		return DHCP6_PREFIXES;
	}
	return DHCP6_KINDS; // IA_TA: there is nothing temporary here
}

static void echo(struct asked *q, uint16_t code, const struct dhcp6_bytes *option)
{
	if (option->data)
		dhcp6_write_option(&q->w, code, option->data, option->len);
}

static void reply_begin(struct asked *q, enum dhcp6_type type)
{
	for (uint32_t i = 0; i < q->e.levels; i++) {
		const struct dhcp6_relay *r = &q->e.relays[i];

		dhcp6_write_relay(&q->w, DHCP6_RELAY_REPL, r->hop_count, r->link, r->peer);
		echo(q, DHCP6_OPT_INTERFACE_ID, &r->interface_id);
		echo(q, DHCP6_OPT_RELAY_PORT, &r->port);
		q->begins[i] = dhcp6_option_begin(&q->w, DHCP6_OPT_RELAY_MESSAGE);
	}
	q->type = type;
	dhcp6_write_header(&q->w, (uint8_t)type, q->m.xid);
	echo(q, DHCP6_OPT_CLIENT_ID, &q->m.client_id);
	dhcp6_write_option(&q->w, DHCP6_OPT_SERVER_ID, q->a->server_id, q->a->server_id_len);
}

// The length of the answer; 0: no room.
static uint32_t reply_end(struct asked *q)
{
	for (uint32_t i = q->e.levels; i-- > 0;)
		dhcp6_option_end(&q->w, q->begins[i]);
	return q->w.failed ? 0 : (uint32_t)(q->w.at - q->out);
}

static void status_write(struct asked *q, enum dhcp6_status status)
{
	q->n->status[status]++;
	dhcp6_write_status(&q->w, (uint16_t)status, "");
}

// Which of the options below 128 the client asks for, a bit each.
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

static void options_write(struct asked *q)
{
	uint64_t asked[2];

	if (!q->m.oro.data)
		return;
	wanted(&q->m, asked);
	for (uint32_t i = 0; i < q->a->ready_count; i++) {
		const struct dhcp_ready *r = &q->a->ready[i];

		if (r->code == DHCP6_OPT_REFRESH_TIME && q->m.type != DHCP6_INFORMATION)
			continue; // RFC 8415 section 21.23
		if (asked[r->code >> 6] >> (r->code & 63) & 1)
			write_bytes(&q->w, r->bytes, r->len);
	}
}

static void lease_write(struct asked *q, const struct dhcp6_ia *ia, const struct dhcp_lease *l)
{
	const struct dhcp6_pool *p = &q->s->pools[kind_of(ia)];
	uint8_t address[16];
	const struct dhcp6_lease given = {.address = address,
		.preferred_s = q->a->preferred_s,
		.valid_s = q->a->valid_s,
		.status = DHCP6_STATUS_NONE,
		.bits = p->bits};

	dhcp6_pool_address(p, l, address);
	dhcp6_write_lease(&q->w, dhcp6_lease_code(ia->type), &given);
}

static void ia_give(struct asked *q, const struct dhcp6_ia *ia, const struct dhcp_lease *l)
{
	uint8_t *begin = dhcp6_ia_begin(&q->w, ia->type, ia->iaid, q->a->t1_s, q->a->t2_s);

	lease_write(q, ia, l);
	dhcp6_option_end(&q->w, begin);
}

static void ia_refuse(struct asked *q, const struct dhcp6_ia *ia, enum dhcp6_status status)
{
	uint8_t *begin = dhcp6_ia_begin(&q->w, ia->type, ia->iaid, 0, 0);

	status_write(q, status);
	dhcp6_option_end(&q->w, begin);
}

static void ia_none_left(struct asked *q, const struct dhcp6_ia *ia)
{
	bool prefix = ia->type == DHCP6_OPT_IA_PD;

	ia_refuse(q, ia, prefix ? DHCP6_NO_PREFIX_AVAIL : DHCP6_NO_ADDRS_AVAIL);
}

static uint64_t identity(const struct asked *q, const struct dhcp6_ia *ia)
{
	uint64_t hash = rand_hash(q->duid ^ rand_hash(ia->iaid));

	return hash ? hash : 1;
}

static struct dhcp_pool *leases_of(const struct asked *q, const struct dhcp6_ia *ia)
{
	return &q->s->pools[kind_of(ia)].leases;
}

static struct dhcp_lease *own_lease(const struct asked *q, const struct dhcp6_ia *ia)
{
	if (kind_of(ia) == DHCP6_KINDS)
		return NULL;
	return dhcp_pool_of_identity(leases_of(q, ia), identity(q, ia));
}

static struct dhcp_lease *bound_lease(const struct asked *q, const struct dhcp6_ia *ia)
{
	struct dhcp_lease *l = own_lease(q, ia);

	return l && l->state == DHCP_BOUND ? l : NULL;
}

static struct dhcp_lease *lease_at(
	const struct asked *q, const struct dhcp6_ia *ia, const struct dhcp6_lease *l)
{
	enum dhcp6_kind kind = kind_of(ia);

	return kind == DHCP6_KINDS ? NULL : dhcp6_pool_at(&q->s->pools[kind], l->address, l->bits);
}

// What it wishes for, if nobody uses it.
static struct dhcp_lease *wished_lease(const struct asked *q, const struct dhcp6_ia *ia)
{
	struct dhcp_lease *l = ia->lease_count ? lease_at(q, ia, &ia->leases[0]) : NULL;

	return l && l->state == DHCP_FREE ? l : NULL;
}

static void share_if_due(struct asked *q, enum dhcp6_kind kind, struct dhcp_lease *l)
{
	uint64_t twice = q->a->twice[kind], *fresh = &q->s->fresh[kind];

	if (twice == 0 || ++*fresh < twice)
		return;
	if (!dhcp_pool_share(&q->s->pools[kind].leases, l))
		return;
	*fresh = 0;
	if (kind == DHCP6_ADDRESSES)
		q->n->address_twice++;
	else
		q->n->prefix_twice++;
}

static void lease_take(struct asked *q, const struct dhcp6_ia *ia, struct dhcp_lease *l)
{
	q->n->expired += l->state != DHCP_FREE;
	dhcp_pool_give(leases_of(q, ia), l, identity(q, ia), q->now_s);
}

// For an IA that has none.
static struct dhcp_lease *new_lease(struct asked *q, const struct dhcp6_ia *ia)
{
	struct dhcp_lease *l = wished_lease(q, ia);

	if (kind_of(ia) == DHCP6_KINDS)
		return NULL;
	if (!l)
		l = dhcp_pool_oldest(leases_of(q, ia), q->now_s);
	if (!l)
		return NULL;
	lease_take(q, ia, l);
	share_if_due(q, kind_of(ia), l);
	return l;
}

static void bind(struct asked *q, const struct dhcp6_ia *ia, struct dhcp_lease *l)
{
	dhcp_pool_move(leases_of(q, ia), l, DHCP_BOUND, q->now_s);
	ia_give(q, ia, l);
}

// RFC 8415 section 18.3.1.
static void ia_solicited(struct asked *q, const struct dhcp6_ia *ia, bool rapid)
{
	struct dhcp_lease *l = own_lease(q, ia);

	if (!l)
		l = new_lease(q, ia);
	if (!l) {
		ia_none_left(q, ia);
		return;
	}
	if (rapid) {
		bind(q, ia, l);
		return;
	}
	if (l->state != DHCP_BOUND)
		dhcp_pool_move(leases_of(q, ia), l, DHCP_OFFERED, q->now_s);
	ia_give(q, ia, l);
}

static uint32_t solicit(struct asked *q)
{
	bool rapid = q->a->rapid && dhcp6_has(&q->m, DHCP6_OPT_RAPID_COMMIT);

	reply_begin(q, rapid ? DHCP6_REPLY : DHCP6_ADVERTISE);
	for (uint32_t i = 0; i < q->m.ia_count; i++)
		ia_solicited(q, &q->m.ias[i], rapid);
	if (rapid)
		dhcp6_write_option(&q->w, DHCP6_OPT_RAPID_COMMIT, NULL, 0);
	else if (q->a->has_preference)
		dhcp6_write_option_u8(&q->w, DHCP6_OPT_PREFERENCE, q->a->preference);
	q->n->rapid += rapid;
	options_write(q);
	return reply_end(q);
}

// Is one of its addresses none that anybody could have here?
static bool is_off_link(const struct asked *q, const struct dhcp6_ia *ia)
{
	for (uint32_t i = 0; i < ia->lease_count; i++)
		if (!lease_at(q, ia, &ia->leases[i]))
			return true;
	return false;
}

// RFC 8415 section 18.3.2.
static void ia_requested(struct asked *q, const struct dhcp6_ia *ia)
{
	struct dhcp_lease *l = own_lease(q, ia);

	if (kind_of(ia) == DHCP6_ADDRESSES && is_off_link(q, ia)) {
		ia_refuse(q, ia, DHCP6_NOT_ON_LINK);
		return;
	}
	if (!l)
		l = new_lease(q, ia); // the offer has been forgotten since, or there was none
	if (l)
		bind(q, ia, l);
	else
		ia_none_left(q, ia);
}

static uint32_t request(struct asked *q)
{
	reply_begin(q, DHCP6_REPLY);
	for (uint32_t i = 0; i < q->m.ia_count; i++)
		ia_requested(q, &q->m.ias[i]);
	options_write(q);
	return reply_end(q);
}

// Lifetimes of 0 for what the client has and must not have.
static void withdraw(struct asked *q, const struct dhcp6_ia *ia, const struct dhcp_lease *keep)
{
	for (uint32_t i = 0; i < ia->lease_count; i++) {
		struct dhcp6_lease gone = ia->leases[i];

		if (keep &&
			lease_at(q, ia, &gone) == dhcp_pool_record(leases_of(q, ia), keep->place))
			continue;
		gone.preferred_s = gone.valid_s = 0;
		gone.status = DHCP6_STATUS_NONE;
		dhcp6_write_lease(&q->w, dhcp6_lease_code(ia->type), &gone);
	}
}

static void ia_extend(struct asked *q, const struct dhcp6_ia *ia, struct dhcp_lease *l)
{
	uint8_t *begin = dhcp6_ia_begin(&q->w, ia->type, ia->iaid, q->a->t1_s, q->a->t2_s);

	dhcp_pool_move(leases_of(q, ia), l, DHCP_BOUND, q->now_s);
	lease_write(q, ia, l);
	withdraw(q, ia, l);
	dhcp6_option_end(&q->w, begin);
}

static void ia_withdraw(struct asked *q, const struct dhcp6_ia *ia)
{
	uint8_t *begin = dhcp6_ia_begin(&q->w, ia->type, ia->iaid, 0, 0);

	withdraw(q, ia, NULL);
	dhcp6_option_end(&q->w, begin);
}

// RFC 8415 sections 18.3.4 and 18.3.5: known, not known here, or wrong.
static void ia_renewed(struct asked *q, const struct dhcp6_ia *ia)
{
	struct dhcp_lease *l = bound_lease(q, ia);

	if (l) {
		ia_extend(q, ia, l);
		return;
	}
	l = q->a->authoritative && !own_lease(q, ia) ? wished_lease(q, ia) : NULL;
	if (l) {
		lease_take(q, ia, l);
		bind(q, ia, l);
	} else if (q->m.type == DHCP6_REBIND && is_off_link(q, ia)) {
		ia_withdraw(q, ia);
	} else {
		ia_refuse(q, ia, DHCP6_NO_BINDING);
	}
}

static uint32_t renew(struct asked *q)
{
	reply_begin(q, DHCP6_REPLY);
	for (uint32_t i = 0; i < q->m.ia_count; i++)
		ia_renewed(q, &q->m.ias[i]);
	options_write(q);
	return reply_end(q);
}

// RFC 8415 section 18.3.3.
static uint32_t confirm(struct asked *q)
{
	uint32_t addresses = 0;
	bool off_link = false;

	for (uint32_t i = 0; i < q->m.ia_count; i++) {
		const struct dhcp6_ia *ia = &q->m.ias[i];

		if (kind_of(ia) != DHCP6_ADDRESSES)
			continue;
		addresses += ia->lease_count;
		off_link = is_off_link(q, ia) || off_link;
	}
	if (addresses == 0)
		return silent(&q->n->ignored);
	reply_begin(q, DHCP6_REPLY);
	status_write(q, off_link ? DHCP6_NOT_ON_LINK : DHCP6_SUCCESS);
	return reply_end(q);
}

static bool is_listed(const struct asked *q, const struct dhcp6_ia *ia, const struct dhcp_lease *l)
{
	const struct dhcp_lease *place = dhcp_pool_record(leases_of(q, ia), l->place);

	for (uint32_t i = 0; i < ia->lease_count; i++)
		if (lease_at(q, ia, &ia->leases[i]) == place)
			return true;
	return false;
}

static void ia_given_back(struct asked *q, const struct dhcp6_ia *ia, bool declined)
{
	struct dhcp_lease *l = bound_lease(q, ia);

	if (!l) {
		ia_refuse(q, ia, DHCP6_NO_BINDING);
		return;
	}
	if (!is_listed(q, ia, l))
		return;
	if (declined) {
		dhcp_pool_rest(leases_of(q, ia), l, q->now_s);
		q->n->declined++;
	} else {
		dhcp_pool_free(leases_of(q, ia), l, q->now_s);
		q->n->released++;
	}
}

// RFC 8415 sections 18.3.7 and 18.3.8: a RELEASE, or a DECLINE, which is for addresses only.
static uint32_t give_back(struct asked *q)
{
	bool declined = q->m.type == DHCP6_DECLINE;

	reply_begin(q, DHCP6_REPLY);
	status_write(q, DHCP6_SUCCESS);
	for (uint32_t i = 0; i < q->m.ia_count; i++)
		if (!declined || q->m.ias[i].type != DHCP6_OPT_IA_PD)
			ia_given_back(q, &q->m.ias[i], declined);
	return reply_end(q);
}

static uint32_t information(struct asked *q)
{
	reply_begin(q, DHCP6_REPLY);
	options_write(q);
	return reply_end(q);
}

static uint32_t use_multicast(struct asked *q)
{
	reply_begin(q, DHCP6_REPLY);
	status_write(q, DHCP6_USE_MULTICAST);
	return reply_end(q);
}

static bool is_for_us(const struct asked *q)
{
	const struct dhcp6_bytes *id = &q->m.server_id;

	return !id->data ||
	       (id->len == q->a->server_id_len && memcmp(id->data, q->a->server_id, id->len) == 0);
}

// The client has taken another's offer: ours are free again.
static uint32_t other_chosen(struct asked *q)
{
	for (uint32_t i = 0; i < q->m.ia_count && q->m.type == DHCP6_REQUEST; i++) {
		const struct dhcp6_ia *ia = &q->m.ias[i];
		struct dhcp_lease *l = own_lease(q, ia);

		if (l && l->state == DHCP_OFFERED)
			dhcp_pool_free(leases_of(q, ia), l, q->now_s);
	}
	return silent(&q->n->other_server);
}

// RFC 8415 section 16: which identifiers a message must have and must not have.
static bool is_valid(const struct dhcp6_message *m)
{
	bool client = m->client_id.data, server = m->server_id.data;

	switch (m->type) {
	case DHCP6_SOLICIT:
	case DHCP6_CONFIRM:
	case DHCP6_REBIND:
		return client && !server;
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

// With a server identifier a client that was not told to must not use unicast (section 18.4).
static bool is_wrong_unicast(const struct asked *q)
{
	return !q->a->unicast && q->e.levels == 0 && q->ends && q->ends->dst[0] != MULTICAST &&
	       q->m.server_id.data && q->m.type != DHCP6_INFORMATION;
}

static uint32_t dispatch(struct asked *q)
{
	switch (q->m.type) {
	case DHCP6_SOLICIT:
		return solicit(q);
	case DHCP6_REQUEST:
		return request(q);
	case DHCP6_CONFIRM:
		return confirm(q);
	case DHCP6_RENEW:
	case DHCP6_REBIND:
		return renew(q);
	case DHCP6_RELEASE:
	case DHCP6_DECLINE:
		return give_back(q);
	case DHCP6_INFORMATION:
		return information(q);
	}
	return silent(&q->n->ignored);
}

static uint32_t judge(struct asked *q)
{
	uint64_t seed = q->a->seed;

	if (!is_valid(&q->m))
		return silent(&q->n->malformed);
	if (q->m.client_id.data)
		q->duid = dhcp_pool_hash(seed, q->m.client_id.data, q->m.client_id.len);
	if (!is_for_us(q))
		return other_chosen(q);
	if (is_wrong_unicast(q))
		return use_multicast(q);
	return dispatch(q);
}

// Of a client or a relay, and well formed?
static bool read_message(struct asked *q, const uint8_t *buf, uint32_t len)
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

uint32_t dhcp6_answer(
	struct proto_ctx *ctx, const uint8_t *buf, uint32_t len, uint8_t *out, uint32_t room)
{
	struct dhcp6_answer_counters *n = ctx->counters;
	struct asked q;
	uint32_t answer;

	q.a = ctx->shared;
	q.s = ctx->own;
	q.n = n;
	q.ends = ctx->ends;
	q.now_s = ctx->now_ms / 1000;
	q.w = writer_of(out, room);
	q.out = out;
	n->received++;
	if (!read_message(&q, buf, len))
		return silent(&n->malformed);
	if (q.e.levels && q.e.relays[0].type != DHCP6_RELAY_FORW)
		return silent(&n->ignored);
	answer = judge(&q);
	n->answered += answer > 0;
	if (answer)
		n->sent[q.type]++;
	n->ignored += q.w.failed;
	return answer;
}

// RFC 8415 sections 7.2 and 19.3: to the relay or client that the request came from, at its port;
// a relay with a port of its own (RFC 8357) is answered there.
bool dhcp6_direct(const uint8_t *answer, uint32_t len, struct proto_direction *out)
{
	bool relayed = len >= DHCP6_RELAY_LEN && answer[0] == DHCP6_RELAY_REPL;

	memset(out, 0, sizeof(*out));
	out->dst_port = relayed ? DHCP6_SERVER_PORT : DHCP6_CLIENT_PORT;
	return !relayed || !dhcp6_find_option(answer, DHCP6_RELAY_LEN, len, DHCP6_OPT_RELAY_PORT);
}
