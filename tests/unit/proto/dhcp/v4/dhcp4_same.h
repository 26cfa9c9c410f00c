// SPDX-License-Identifier: BSD-3-Clause
// Do two ways of parsing the same bytes give the same message? Path: tests only.
#pragma once

#include "proto/dhcp/v4/dhcp4_message.h"

static inline bool same_piece(const uint8_t *a, uint32_t a_len, const uint8_t *b, uint32_t b_len)
{
	return !a == !b && a_len == b_len && (!a || memcmp(a, b, a_len) == 0);
}

static inline bool same_header(const struct dhcp4_message *a, const struct dhcp4_message *b)
{
	return a->op == b->op && a->htype == b->htype && a->hlen == b->hlen && a->hops == b->hops &&
	       a->secs == b->secs && a->flags == b->flags && a->xid == b->xid &&
	       a->ciaddr == b->ciaddr && a->yiaddr == b->yiaddr && a->siaddr == b->siaddr &&
	       a->giaddr == b->giaddr && a->chaddr == b->chaddr;
}

static inline bool same_number(
	const struct dhcp4_message *m, uint8_t option, uint32_t a, uint32_t b)
{
	return a == b || !dhcp4_has(m, option);
}

// Numbers that are meaningful only when present are compared only then.
static inline bool same_message(const struct dhcp4_message *a, const struct dhcp4_message *b)
{
	return same_header(a, b) && a->type == b->type && a->has_end == b->has_end &&
	       a->repeats == b->repeats &&
	       memcmp(a->present, b->present, sizeof(a->present)) == 0 &&
	       a->server_id == b->server_id && a->requested == b->requested &&
	       same_number(a, DHCP4_OPT_LEASE_TIME, a->lease_time, b->lease_time) &&
	       same_number(a, DHCP4_OPT_T1, a->t1, b->t1) &&
	       same_number(a, DHCP4_OPT_T2, a->t2, b->t2) &&
	       same_piece(a->client_id, a->client_id_len, b->client_id, b->client_id_len) &&
	       same_piece(a->relay_info, a->relay_info_len, b->relay_info, b->relay_info_len) &&
	       same_piece(a->message, a->message_len, b->message, b->message_len) &&
	       same_piece(a->parameters, a->parameters_len, b->parameters, b->parameters_len);
}
