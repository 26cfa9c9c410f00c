// SPDX-License-Identifier: BSD-3-Clause
// Messages of DHCPv6 bulk lease queries (RFC 5460): the query, and the check of its answer.
// Path: hot. The worker that owns ctx.

#include <string.h>

#include "proto/dhcp/leasequery/leasequery_internal.h"

static const uint16_t subject_codes[] = {[DHCP6_QUERY_BY_CLIENT_ID] = DHCP6_OPT_CLIENT_ID,
	[DHCP6_QUERY_BY_RELAY_ID] = DHCP6_OPT_RELAY_ID,
	[DHCP6_QUERY_BY_REMOTE_ID] = DHCP6_OPT_REMOTE_ID};

static uint8_t query_of(const struct leasequery_plan *p)
{
	return (uint8_t)(p->query + DHCP6_QUERY_BY_ADDRESS);
}

static void subject_write(const struct proto_ctx *ctx, const struct proto_txn *t, struct writer *w)
{
	const struct leasequery_plan *p = ctx->shared;
	uint8_t query = query_of(p), subject[LEASEQUERY_SUBJECT_MAX];
	const struct dhcp6_lease lease = {.address = subject, .status = DHCP6_STATUS_NONE};
	uint32_t len;

	if (query == DHCP6_QUERY_BY_LINK)
		return;
	if (query == DHCP6_QUERY_BY_ADDRESS) {
		addr_nth_bytes(&p->address, leasequery_number(ctx, t), subject);
		dhcp6_write_lease(w, DHCP6_OPT_IA_ADDRESS, &lease);
		return;
	}
	len = leasequery_subject(ctx, t, subject);
	dhcp6_write_option(w, subject_codes[query], subject, len);
}

static uint32_t request_write(
	struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t room)
{
	const struct leasequery_plan *p = ctx->shared;
	struct leasequery_counters *n = ctx->counters;
	struct writer w = writer_of(buf, room);
	uint8_t *option, *oro;
	uint32_t written;

	dhcp6_write_header(&w, DHCP6_LEASEQUERY, t->key);
	dhcp6_write_option(&w, DHCP6_OPT_CLIENT_ID, p->duid, p->duid_len);
	option = dhcp6_option_begin(&w, DHCP6_OPT_LQ_QUERY);
	write_u8(&w, query_of(p));
	write_bytes(&w, p->link, sizeof(p->link));
	subject_write(ctx, t, &w);
	if (p->parameter_count) {
		oro = dhcp6_option_begin(&w, DHCP6_OPT_ORO);
		for (uint32_t i = 0; i < p->parameter_count; i++)
			write_be16(&w, p->parameters[i]);
		dhcp6_option_end(&w, oro);
	}
	dhcp6_option_end(&w, option);
	written = w.failed ? 0 : (uint32_t)(w.at - buf);
	n->request_bytes += written;
	return written;
}

PROTO_REQUEST(leasequery6_request, request_write)

bool leasequery6_key(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	return dhcp6_xid(buf, len, DHCP6_RELAY_REPL, key);
}

// Is this a binding of the queried client, or one with the queried address?
static bool is_asked_for(
	const struct proto_ctx *ctx, const struct proto_txn *t, const struct dhcp6_subject *s)
{
	const struct leasequery_plan *p = ctx->shared;
	uint8_t query = query_of(p), subject[LEASEQUERY_SUBJECT_MAX];

	if (query == DHCP6_QUERY_BY_CLIENT_ID)
		return dhcp6_bytes_are(&s->client_id, subject, leasequery_subject(ctx, t, subject));
	if (query != DHCP6_QUERY_BY_ADDRESS)
		return true;
	addr_nth_bytes(&p->address, leasequery_number(ctx, t), subject);
	for (uint32_t i = 0; i < s->lease_count; i++)
		if (memcmp(s->leases[i].address, subject, 16) == 0)
			return true;
	return s->leases_ignored > 0;
}

static enum proto_verdict reply_judge(
	struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	struct leasequery_counters *n = ctx->counters;
	bool first = t->step == LEASEQUERY_FIRST, has_data;
	struct dhcp6_subject s;
	struct dhcp6_message m;
	uint32_t status;

	if (!dhcp6_parse(buf, len, &m))
		return PROTO_MALFORMED;
	has_data = m.client_data.data;
	if (has_data && !dhcp6_parse_subject(&m.client_data, false, &s))
		return PROTO_MALFORMED;
	if (m.xid != t->key)
		return PROTO_STRAY;
	n->reply_bytes += len;
	n->received[m.type < LEASEQUERY_TYPES ? m.type : LEASEQUERY_TYPES - 1]++;
	status = m.status == DHCP6_STATUS_NONE ? DHCP6_SUCCESS : m.status;
	if (m.type == DHCP6_LEASEQUERY_DONE && !first)
		return leasequery_over(n, status, DHCP6_STATUSES, false);
	if (m.type != (first ? DHCP6_LEASEQUERY_REPLY : DHCP6_LEASEQUERY_DATA))
		return leasequery_fail(&n->unexpected);
	if (first && (status || !has_data)) // section 5.4: no DONE follows
		return leasequery_over(n, status, DHCP6_STATUSES, true);
	if (!has_data)
		return leasequery_fail(&n->unexpected);
	if (!s.client_id.data || !is_asked_for(ctx, t, &s))
		return leasequery_fail(&n->subject_wrong);
	n->bindings++;
	n->leases += s.lease_count + s.leases_ignored;
	return leasequery_continues(t);
}

PROTO_REPLY(leasequery6_reply, reply_judge)
