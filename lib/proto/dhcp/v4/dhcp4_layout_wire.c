// SPDX-License-Identifier: BSD-3-Clause
// Learns the layout of a message that was walked through. Path: hot. One thread.

#include "proto/dhcp/v4/dhcp4_message.h"

#define LEARN_EVERY 16 // messages without a known layout: some servers have no two alike

// Notes on a message during the walk through its options.
struct notes {
	struct dhcp4_layout *l;
	uint8_t mask[DHCP_SHAPE_MAX];
};

static void place_note(struct dhcp4_places *at, uint8_t code, uint16_t data)
{
	uint16_t *const places[] = {
		[DHCP4_OPT_TYPE] = &at->type,
		[DHCP4_OPT_SERVER_ID] = &at->server_id,
		[DHCP4_OPT_LEASE_TIME] = &at->lease_time,
		[DHCP4_OPT_T1] = &at->t1,
		[DHCP4_OPT_T2] = &at->t2,
		[DHCP4_OPT_REQUESTED_ADDRESS] = &at->requested,
		[DHCP4_OPT_CLIENT_ID] = &at->client_id,
		[DHCP4_OPT_RELAY_INFO] = &at->relay_info,
		[DHCP4_OPT_MESSAGE] = &at->message,
		[DHCP4_OPT_PARAMETERS] = &at->parameters,
	};

	if (code < sizeof(places) / sizeof(places[0]) && places[code])
		*places[code] = data;
}

// One option, whose code is at `at`. false: no layout is made of messages with such a one.
static bool option_note(struct notes *n, uint32_t at, uint8_t code)
{
	uint64_t *present = &n->l->present[code >> 6], bit = 1ull << (code & 63);

	if (code == DHCP4_OPT_OVERLOAD || (*present & bit))
		return false;
	*present |= bit;
	n->mask[at + 1 - DHCP4_AT_COOKIE] = 0xff;
	place_note(&n->l->at, code, (uint16_t)(at + 2));
	return true;
}

// The length up to END and with it; 0: it cannot be learnt.
static uint32_t options_note(struct notes *n, const uint8_t *buf, uint32_t len)
{
	uint32_t at = DHCP4_OPTIONS_AT;

	// The message is right: where there is a code there is a length, but for END and PAD.
	while (at < len && at + 1 < DHCP4_AT_COOKIE + DHCP_SHAPE_MAX) {
		uint8_t code = buf[at];

		n->mask[at - DHCP4_AT_COOKIE] = 0xff;
		if (code == DHCP4_OPT_END)
			return at + 1;
		if (code == DHCP4_OPT_PAD) {
			at++;
			continue;
		}
		if (!option_note(n, at, code))
			return 0;
		at += 2u + buf[at + 1];
	}
	return 0;
}

static bool layout_make(
	struct dhcp4_layout *l, const uint8_t *buf, uint32_t len, const struct dhcp4_message *m)
{
	struct notes n = {.l = l, .mask = {0xff, 0xff, 0xff, 0xff}}; // the magic cookie
	const uint8_t *from = buf + DHCP4_AT_COOKIE;
	uint32_t end;

	l->need = 0;
	l->at = (struct dhcp4_places){0};
	l->lacks = DHCP4_LACKS_UNKNOWN;
	memset(l->present, 0, sizeof(l->present));
	end = options_note(&n, buf, len);
	if (!end || !l->at.type || !dhcp_shape_make(&l->shape, from, n.mask, end - DHCP4_AT_COOKIE))
		return false;
	l->client_id_len = (uint8_t)m->client_id_len;
	l->relay_info_len = (uint8_t)m->relay_info_len;
	l->message_len = (uint8_t)m->message_len;
	l->parameters_len = m->parameters_len;
	l->usual = l->at.server_id && l->at.lease_time && l->at.t1 && l->at.t2 &&
	           !l->at.relay_info && (!l->at.client_id || l->client_id_len == 7);
	l->need = end;
	return true;
}

void dhcp4_layout_learn(
	struct dhcp4_layouts *k, const uint8_t *buf, uint32_t len, const struct dhcp4_message *m)
{
	uint32_t next = (k->last + 1) % DHCP4_LAYOUTS;

	if (k->missed++ % LEARN_EVERY == 0 && layout_make(&k->items[next], buf, len, m))
		k->last = next;
}
