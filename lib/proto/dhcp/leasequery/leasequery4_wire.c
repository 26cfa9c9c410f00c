// SPDX-License-Identifier: BSD-3-Clause
// Messages of DHCPv4 bulk lease queries (RFC 6926): the query, and the check of its answer.
// Path: hot. The worker that owns ctx.

#include <string.h>

#include "proto/dhcp/leasequery/leasequery_internal.h"

static void header_write(struct writer *w, uint32_t xid, const uint8_t *chaddr, uint32_t chaddr_len)
{
	uint8_t *head = write_space(w, DHCP4_OPTIONS_AT);

	if (!head)
		return;
	memset(head, 0, DHCP4_OPTIONS_AT);
	head[DHCP4_AT_OP] = DHCP4_REQUEST_OP;
	head[DHCP4_AT_HTYPE] = chaddr_len ? DHCP4_HTYPE_ETHERNET : 0;
	head[DHCP4_AT_HLEN] = (uint8_t)chaddr_len;
	bytes_put_be32(head + DHCP4_AT_XID, xid);
	memcpy(head + DHCP4_AT_CHADDR, chaddr, chaddr_len);
	bytes_put_be32(head + DHCP4_AT_COOKIE, DHCP4_COOKIE);
}

// Write option 82 with one sub-option.
static void relay_info_write(
	struct writer *w, enum dhcp4_relay_option code, const uint8_t *id, uint32_t len)
{
	write_u8(w, DHCP4_OPT_RELAY_INFO);
	write_u8(w, (uint8_t)(2 + len));
	write_u8(w, (uint8_t)code);
	write_u8(w, (uint8_t)len);
	write_bytes(w, id, len);
}

static uint32_t request_write(
	struct proto_ctx *ctx, struct proto_txn *t, uint8_t *buf, uint32_t room)
{
	const struct leasequery_plan *p = ctx->shared;
	struct leasequery_counters *n = ctx->counters;
	struct writer w = writer_of(buf, room);
	uint8_t subject[LEASEQUERY_SUBJECT_MAX];
	uint32_t len = leasequery_subject(ctx, t, subject), written;

	header_write(&w, t->key, subject, p->query == LEASEQUERY4_MAC ? len : 0);
	dhcp4_write_option_u8(&w, DHCP4_OPT_TYPE, DHCP4_BULKLEASEQUERY);
	if (p->parameter_count) {
		write_u8(&w, DHCP4_OPT_PARAMETERS);
		write_u8(&w, p->parameter_count);
	}
	for (uint32_t i = 0; i < p->parameter_count; i++)
		write_u8(&w, (uint8_t)p->parameters[i]);
	if (p->query == LEASEQUERY4_CLIENT_ID)
		dhcp4_write_option(&w, DHCP4_OPT_CLIENT_ID, subject, len);
	if (p->query == LEASEQUERY4_RELAY_ID)
		relay_info_write(&w, DHCP4_RELAY_ID, subject, len);
	if (p->query == LEASEQUERY4_REMOTE_ID)
		relay_info_write(&w, DHCP4_RELAY_REMOTE_ID, subject, len);
	write_u8(&w, DHCP4_OPT_END);
	written = w.failed ? 0 : (uint32_t)(w.at - buf);
	n->request_bytes += written;
	return written;
}

PROTO_REQUEST(leasequery4_request, request_write)

bool leasequery4_key(const uint8_t *buf, uint32_t len, uint32_t *key)
{
	return dhcp4_xid(buf, len, DHCP4_REPLY_OP, key);
}

// Is this a binding of the queried client? Queries by relay are not judged: the server returns
// relays in option 82 only if it knows them.
static bool is_asked_for(
	const struct proto_ctx *ctx, const struct proto_txn *t, const struct dhcp4_message *m)
{
	const struct leasequery_plan *p = ctx->shared;
	uint8_t subject[LEASEQUERY_SUBJECT_MAX];
	uint32_t len = leasequery_subject(ctx, t, subject);

	if (p->query == LEASEQUERY4_MAC)
		return m->hlen == len && memcmp(m->chaddr, subject, len) == 0;
	if (p->query == LEASEQUERY4_CLIENT_ID)
		return m->client_id_len == len && memcmp(m->client_id, subject, len) == 0;
	return true;
}

static enum proto_verdict reply_judge(
	struct proto_ctx *ctx, struct proto_txn *t, const uint8_t *buf, uint32_t len)
{
	struct leasequery_worker *w = ctx->own;
	struct leasequery_counters *n = ctx->counters;
	struct dhcp4_message m;
	uint32_t at;

	if (!dhcp4_parse(buf, len, &w->scratch, &m) || m.op != DHCP4_REPLY_OP || m.type == 0)
		return PROTO_MALFORMED;
	if (m.xid != t->key)
		return PROTO_STRAY;
	n->reply_bytes += len;
	n->received[m.type < LEASEQUERY_TYPES ? m.type : LEASEQUERY_TYPES - 1]++;
	switch (m.type) {
	case DHCP4_LEASEACTIVE:
		if (!is_asked_for(ctx, t, &m))
			return leasequery_fail(&n->subject_wrong);
		n->bindings++;
		return leasequery_continues(t);
	case DHCP4_LEASEUNASSIGNED:
		n->unassigned++;
		return leasequery_continues(t);
	case DHCP4_LEASEQUERYDONE:
		at = dhcp4_find_option(buf, len, DHCP4_OPT_STATUS);
		return leasequery_over(n,
			!at           ? DHCP4_STATUS_SUCCESS
			: buf[at + 1] ? buf[at + 2]
				      : DHCP4_STATUSES,
			DHCP4_STATUSES, t->step == LEASEQUERY_FIRST);
	}
	return leasequery_fail(&n->unexpected);
}

PROTO_REPLY(leasequery4_reply, reply_judge)
