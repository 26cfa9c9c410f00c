// SPDX-License-Identifier: BSD-3-Clause
// Templates of every kind of message: client-independent bytes are written once, the rest is
// compiled to patterns. Path: cold. Management thread.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "net/csum.h"
#include "proto/dhcp/v4/dhcp4_request.h"
#include "proto/dhcp/client/lease/dhcp_addresses.h"
#include "proto/dhcp/client/dhcp_captured.h"

#define NS_PER_S 1000000000u
#define SUB_MAX  254
#define SUBS_OWN 8 // sub-options with a setting

enum relay_sub {
	SUB_CIRCUIT_ID = 1,
	SUB_REMOTE_ID = 2,
	SUB_LINK_SELECTION = 5,
	SUB_SUBSCRIBER_ID = 6,
	SUB_SERVER_ID_OVERRIDE = 11,
	SUB_SOURCE_PORT = 19,
};

#define FQDN_N 8 // flag: no update

struct build {
	struct dhcp_build is;
	struct dhcp4_plan *p;
	const struct dhcp4_settings *s;
};

#define COMPLAIN(b, ...) DHCP_COMPLAIN(&(b)->is, __VA_ARGS__)

static const struct dhcp_taken taken[] = {
	{DHCP4_OPT_PAD, 1, DHCP_NEEDED},
	{DHCP4_OPT_END, 1, DHCP_NEEDED},
	{DHCP4_OPT_OVERLOAD, 1, DHCP_NEEDED},
	{DHCP4_OPT_TYPE, 1, DHCP_NEEDED},
	{DHCP4_OPT_SERVER_ID, 1, DHCP_NEEDED},
	{DHCP4_OPT_RAPID_COMMIT, 1, DHCP_NEEDED},
	{DHCP4_OPT_REQUESTED_ADDRESS, 1, "is set by requested_address"},
	{DHCP4_OPT_LEASE_TIME, 1, "is set by lease_time"},
	{DHCP4_OPT_PARAMETERS, 1, "is set by parameters"},
	{DHCP4_OPT_CLIENT_ID, 1, "is set by client_id"},
	{DHCP4_OPT_FQDN, 1, "is set by fqdn"},
	{DHCP4_OPT_RELAY_INFO, 1, "has sub-options (like 82.1)"},
	{0},
};

// "12" or "82.1".
static bool option_code(struct build *b, const char *const *text, uint16_t *code, bool *is_sub)
{
	char *end;
	unsigned long n = strtoul(*text, &end, 10), sub = 0;
	const char *own;

	*is_sub = n == DHCP4_OPT_RELAY_INFO && *end == '.';
	if (*is_sub && end[1] >= '0' && end[1] <= '9')
		sub = strtoul(end + 1, &end, 10);
	if (**text < '0' || **text > '9' || *end || n > UINT8_MAX ||
		(*is_sub && (sub < 1 || sub > SUB_MAX))) {
		COMPLAIN(b, text, NULL, "\"%s\" is not an option code (like 12 or 82.1)", *text);
		return false;
	}
	*code = (uint16_t)(*is_sub ? sub : n);
	if (*is_sub && !b->s->is.relay) {
		COMPLAIN(b, text, NULL, "option 82 needs a relay");
		return false;
	}
	own = *is_sub ? NULL : dhcp_taken_why(taken, n, 1);
	if (own)
		COMPLAIN(b, text, NULL, "option %lu %s", n, own);
	return !own;
}

// Add a sub-option of 82. Client-independent ones are written once, up to the first that varies.
// Sorted by code, the order in which some servers return them; sub-options from `options` come
// last.
static void sub_add(struct build *b, uint8_t code, struct dhcp_varying *v)
{
	struct dhcp4_plan *p = b->p;
	struct writer w = writer_of(
		p->relay_info + p->relay_info_len, sizeof(p->relay_info) - p->relay_info_len);

	v->code = code;
	if (!v->pattern.fixed || p->relay_subs.count > 0) {
		dhcp_list_add(&p->relay_subs, v);
		return;
	}
	write_u8(&w, code);
	write_u8(&w, (uint8_t)v->pattern.max_len);
	pattern_write(&v->pattern, &(struct pattern_values){0}, &w);
	if (w.failed)
		COMPLAIN(b, b->s->is.relay, "", "option 82 is too long (up to %u bytes)",
			DHCP4_OPTION_MAX);
	else
		p->relay_info_len = (uint16_t)(w.at - p->relay_info);
}

static void sub_text(struct build *b, uint8_t code, const char *const *text)
{
	struct dhcp_varying v = {0};

	if (*text && dhcp_template_identity(
			     &b->is, &v, PATTERN_TEXT, *text, text, DHCP4_OPTION_ROOM - 2))
		sub_add(b, code, &v);
}

static void sub_address(struct build *b, uint8_t code, const struct addr *a)
{
	struct dhcp_varying v = {0};

	if (a->len == 0)
		return;
	b->is.failed |= !dhcp_family_check(a, a, 4, b->is.d);
	dhcp_template_literal(&b->is, &v, a->bytes, 4);
	sub_add(b, code, &v);
}

static void build_relay(struct build *b)
{
	const struct dhcp4_relay_settings *s = (const void *)b->s->is.relay;
	const char *override = s ? s->server_id_override : NULL, *what;
	struct dhcp_varying v = {0}, none = {0};
	struct addr a;

	if (!s)
		return;
	sub_text(b, SUB_CIRCUIT_ID, &s->circuit_id);
	sub_text(b, SUB_REMOTE_ID, &s->remote_id);
	sub_address(b, SUB_LINK_SELECTION, &s->link_selection);
	sub_text(b, SUB_SUBSCRIBER_ID, &s->subscriber_id);
	if (override && strcmp(override, "relay") == 0) {
		if (dhcp_template_identity(
			    &b->is, &v, PATTERN_HEX, "{relay}", &s->server_id_override, 4))
			sub_add(b, SUB_SERVER_ID_OVERRIDE, &v);
	} else if (override && (addr_parse(override, &a, &what) < 0 || a.len != 4)) {
		COMPLAIN(b, &s->server_id_override, NULL,
			"\"%s\" is not \"relay\" or an IPv4 address", override);
	} else if (override) {
		sub_address(b, SUB_SERVER_ID_OVERRIDE, &a);
	}
	if (!s->is.source_port || s->is.port == DHCP4_SERVER_PORT)
		return;
	dhcp_template_literal(&b->is, &none, NULL, 0);
	sub_add(b, SUB_SOURCE_PORT, &none);
}

static void build_option(struct build *b, const struct dhcp4_option_settings *o)
{
	struct dhcp_varying v = {0};
	bool is_sub;

	if (!option_code(b, &o->code, &v.code, &is_sub) ||
		!dhcp_template_value(&b->is, &v, &o->code, &o->value))
		return;
	if (is_sub && v.pattern.max_len > DHCP_PIECE)
		COMPLAIN(b, &o->code, NULL, "too long: %u bytes (a sub-option has up to %u)",
			v.pattern.max_len, DHCP_PIECE);
	if (is_sub && v.steps)
		COMPLAIN(b, &o->code, NULL, "82 is in all messages through a relay, or in none");
	if (!is_sub && !v.steps)
		v.steps = b->is.usual;
	if (is_sub && dhcp_template_has_address(&v))
		COMPLAIN(b, &o->code, NULL, "{address} differs between the messages of a client");
	else if (is_sub)
		sub_add(b, (uint8_t)v.code, &v);
	else
		dhcp_list_add(v.pattern.fixed ? &b->is.fixed : &b->p->is.options, &v);
}

static void build_client_id(struct build *b)
{
	const struct dhcp4_settings *s = b->s;

	b->p->htype = (uint8_t)s->htype;
	b->p->hlen = s->htype == DHCP4_HTYPE_INFINIBAND ? 0 : b->p->is.mac_len;
	b->p->client_id = (enum dhcp4_client_id)s->client_id;
	if (s->is.wire) {
		b->p->client_id = DHCP4_ID_HEX;
		dhcp_template_identity(&b->is, &b->p->id_text, PATTERN_TEXT, "{file:2}",
			&s->is.wire, DHCP4_OPTION_ROOM);
	}
	if (s->client_id == DHCP4_ID_TEXT && s->client_id_text)
		dhcp_template_identity(&b->is, &b->p->id_text, PATTERN_TEXT, s->client_id_text,
			&s->client_id_text, DHCP4_OPTION_ROOM - 2);
	if (s->client_id == DHCP4_ID_HEX && s->client_id_hex)
		dhcp_template_identity(&b->is, &b->p->id_text, PATTERN_HEX, s->client_id_hex,
			&s->client_id_hex, DHCP4_OPTION_ROOM);
}

static void build_text(struct build *b, const char *const *where, uint8_t at, uint8_t len)
{
	struct dhcp4_text *t = &b->p->texts[b->p->text_count];

	if (!*where || !dhcp_template_compile(&b->is, &t->text, PATTERN_TEXT, where, len))
		return;
	t->at = at;
	t->len = len;
	b->p->text_count++;
}

// Write the fields that the user sets for all messages.
static void write_fields(
	const struct dhcp4_header_settings *s, struct dhcp4_template *m, uint8_t *h)
{
	if (s->flags != UINT64_MAX)
		bytes_put_be16(h + DHCP4_AT_FLAGS, (uint16_t)s->flags);
	if (s->hops != UINT64_MAX)
		h[DHCP4_AT_HOPS] = (uint8_t)s->hops;
	memcpy(h + DHCP4_AT_CIADDR, s->ciaddr.bytes, 4);
	memcpy(h + DHCP4_AT_YIADDR, s->yiaddr.bytes, 4);
	memcpy(h + DHCP4_AT_SIADDR, s->siaddr.bytes, 4);
	if (s->ciaddr.len)
		m->has &= (uint16_t)~DHCP4_HAS_CIADDR;
	if (!m->relayed || !s->giaddr.len)
		return;
	memcpy(h + DHCP4_AT_GIADDR, s->giaddr.bytes, 4);
	m->giaddr = false;
}

static void write_header(
	const struct build *b, struct dhcp4_template *m, uint16_t has, struct writer *w)
{
	uint8_t *h = write_space(w, DHCP4_OPTIONS_AT);

	h[DHCP4_AT_OP] = DHCP4_REQUEST_OP;
	if (has & DHCP4_HAS_CHADDR) {
		h[DHCP4_AT_HTYPE] = b->p->htype;
		h[DHCP4_AT_HLEN] = b->p->hlen;
	}
	if (m->relayed)
		h[DHCP4_AT_HOPS] =
			(uint8_t)((const struct dhcp4_relay_settings *)b->s->is.relay)->hops;
	if (b->s->broadcast_flag && (has & DHCP4_HAS_OPTIONS) && !(has & DHCP4_HAS_CIADDR))
		h[DHCP4_AT_FLAGS] = DHCP4_BROADCAST >> 8;
	bytes_put_be32(h + DHCP4_AT_COOKIE, DHCP4_COOKIE);
	if (b->s->header)
		write_fields(b->s->header, m, h);
}

static void write_parameters(const struct build *b, struct writer *w)
{
	const uint64_t *codes = b->s->is.parameters.items;
	uint32_t count = b->s->is.parameters.count;

	if (count == 0 || b->s->is.wire)
		return;
	write_u8(w, DHCP4_OPT_PARAMETERS);
	write_u8(w, (uint8_t)count);
	for (uint32_t i = 0; i < count; i++)
		write_u8(w, (uint8_t)codes[i]);
}

// Write the identifier of a client with a zero MAC; returns the offset of the MAC.
static uint16_t write_client_id(struct build *b, struct dhcp4_template *m, struct writer *w)
{
	struct dhcp4_self s = {.p = b->p};
	uint8_t *head;

	if (b->p->client_id != DHCP4_ID_MAC && b->p->client_id != DHCP4_ID_DUID)
		return 0;
	head = dhcp_option_begin(w, DHCP4_OPT_CLIENT_ID, false);
	dhcp4_client_id_write(&s, w);
	dhcp_option_end(w, head, false);
	return (uint16_t)(w->at - m->bytes - b->p->is.mac_len);
}

static uint16_t write_placeholder(struct dhcp4_template *m, struct writer *w, uint8_t code)
{
	dhcp4_write_option_be32(w, code, 0);
	return (uint16_t)(w->at - m->bytes - 4);
}

static uint32_t relay_info_len(const struct dhcp4_plan *p)
{
	return p->relay_info_len + dhcp_list_room(&p->relay_subs, 0, 2); // in all steps
}

// Maximum number of bytes appended to the template.
static uint32_t tail_room(const struct dhcp4_plan *p, const struct dhcp4_template *m, uint32_t step)
{
	uint32_t room = 1 + dhcp_list_room(&p->is.options, step, 2); // including END
	uint16_t has = m->has;

	if ((has & DHCP4_HAS_CLIENT_ID) && p->client_id >= DHCP4_ID_TEXT)
		room += 3 + p->id_text.pattern.max_len;
	if ((has & DHCP4_HAS_OPTIONS) && p->is.fqdn.code)
		room += 2 + 3 + 2 + p->is.fqdn.pattern.max_len;
	if (m->relay_info)
		room += 2 * dhcp_pieces(relay_info_len(p)) + relay_info_len(p);
	return room;
}

static const struct pattern_place places[DHCP4_PLACES + 1] = {[DHCP4_PLACE_XID] = {"xid", 4},
	[DHCP4_PLACE_SECS] = {"secs", 2},
	[DHCP4_PLACE_SERVER] = {"server", 4}};

static void build_message(struct build *b, uint32_t step)
{
	const struct dhcp_message_kind *kind = &dhcp4_kinds[step];
	struct dhcp4_template *m = &b->p->templates[step];
	const struct dhcp4_plan *p = b->p;
	const struct dhcp_varying *raw = dhcp_build_raw(&b->is, step, places, DHCP4_MESSAGE_MAX);
	struct writer w = writer_of(m->bytes, sizeof(m->bytes));
	static const uint16_t about[] = {[DHCP4_BY_ADDRESS] = DHCP4_HAS_CIADDR,
		[DHCP4_BY_MAC] = DHCP4_HAS_CHADDR,
		[DHCP4_BY_CLIENT_ID] = DHCP4_HAS_CLIENT_ID};
	uint16_t has = kind->has;
	uint32_t room;

	if (step == DHCP4_STEP_LEASEQUERY) // one query criterion (RFC 4388 section 6.2)
		has = (uint16_t)((has & ~DHCP4_HAS_CIADDR) | about[p->query]);
	m->relayed = b->s->is.relay && (!(has & DHCP4_IS_UNICAST) || p->relay_unicast);
	m->giaddr = m->relayed;
	m->has = has;
	m->chaddr = p->hlen && (has & DHCP4_HAS_CHADDR);
	m->relay_info = m->relayed && step != DHCP4_STEP_LEASEQUERY && relay_info_len(p) > 0;
	b->p->is.raw[step] = raw;
	if (raw) {
		m->room = (uint16_t)raw->pattern.max_len;
		b->p->is.longest = m->room > p->is.longest ? m->room : p->is.longest;
		return;
	}
	write_header(b, m, has, &w);
	dhcp4_write_option_u8(&w, DHCP4_OPT_TYPE, kind->type);
	if ((has & DHCP4_HAS_REQUESTED) || ((has & DHCP4_HAS_WISH) && p->hint_first))
		m->requested_at = write_placeholder(m, &w, DHCP4_OPT_REQUESTED_ADDRESS);
	if (has & DHCP4_HAS_SERVER_ID)
		m->server_at = write_placeholder(m, &w, DHCP4_OPT_SERVER_ID);
	if ((has & DHCP4_HAS_TIME) && b->s->lease_time_ns)
		dhcp4_write_option_be32(
			&w, DHCP4_OPT_LEASE_TIME, (uint32_t)(b->s->lease_time_ns / NS_PER_S));
	if (has & DHCP4_HAS_PARAMETERS)
		write_parameters(b, &w);
	if (has & DHCP4_HAS_CLIENT_ID)
		m->id_at = write_client_id(b, m, &w);
	if (has & DHCP4_HAS_RAPID)
		dhcp4_write_option(&w, DHCP4_OPT_RAPID_COMMIT, "", 0);
	dhcp_build_fixed(&b->is, step, false, &w);
	m->len = (uint16_t)(w.at - m->bytes);
	room = m->len + tail_room(p, m, step);
	m->room = (uint16_t)(room > p->pad ? room : p->pad);
	m->open = room - m->len > 1 || p->text_count;
	b->p->is.longest = m->room > p->is.longest ? m->room : p->is.longest;
	if (w.failed || room > DHCP4_MESSAGE_MAX) {
		COMPLAIN(b, &b->s->is.options, "options", "messages get too long (up to %u bytes)",
			DHCP4_MESSAGE_MAX);
		return;
	}
	if (!m->open) { // complete, including padding
		m->bytes[m->len] = DHCP4_OPT_END;
		m->len = m->room;
	}
	m->sum = csum_add(0, m->bytes, m->len);
	m->usual = !m->open && m->chaddr && p->is.mac_len == 6 && !(has & DHCP_IS_SILENT);
	m->relayed_usual = m->usual && m->relayed && !p->is.from;
}

static void build_expected(struct build *b)
{
	const struct dhcp4_expect_settings *s = b->s->expect;
	struct dhcp4_plan *p = b->p;

	if (!s)
		return;
	dhcp_build_expected(&b->is, &s->options, UINT8_MAX - 1);
	dhcp_family_check(&s->next_server, &s->next_server, 4, b->is.d);
	p->next_server = bytes_be32(s->next_server.bytes);
	if (s->boot_file && dhcp_template_compile(&b->is, &p->boot_file, PATTERN_TEXT,
				    &s->boot_file, DHCP4_OPTION_ROOM))
		p->boot_file.code = DHCP4_OPT_BOOT_FILE;
	p->judged = p->is.expected.count || p->next_server || p->boot_file.code;
}

// The fast path supports only identifiers that are the MAC, or none.
static void build_usual(struct dhcp4_plan *p)
{
	uint64_t htype = (uint64_t)p->htype << 48;

	if (p->is.mac_len != 6 || p->hlen != 6 || p->accept || p->giaddr || p->judged ||
		p->is.own || (p->client_id != DHCP4_ID_NONE && p->client_id != DHCP4_ID_MAC))
		return;
	p->usual_head = (uint64_t)DHCP4_REPLY_OP << 56 | htype | 6ull << 40;
	if (p->client_id == DHCP4_ID_MAC)
		p->usual_id = 7ull << 56 | htype;
	p->usual_ports = bytes_wire32((uint32_t)p->is.server_port << 16 | p->is.relay_port);
	memcpy(&p->usual_server, p->is.servers[0], 4);
	p->usual_mask = p->known_server ? UINT32_MAX : 0;
	for (uint32_t i = 0; i < DHCP4_STEPS; i++) {
		p->usual[i] = p->templates[i].relay_info ? 0 : dhcp4_kinds[i].usual;
		p->usual_relayed |= (uint16_t)(p->templates[i].relayed << i);
	}
}

int dhcp4_templates(struct dhcp_plan *plan, const struct dhcp_settings *settings, struct diag *d)
{
	const struct dhcp4_settings *s = (const struct dhcp4_settings *)settings;
	struct dhcp4_plan *p = (struct dhcp4_plan *)plan;
	const struct dhcp4_option_settings *options = s->is.options.items;
	struct build b = {.p = p, .s = s};

	dhcp_build_begin(&b.is, plan, settings, DHCP4_OPTION_MAX, 1, DHCP4_HAS_OPTIONS, d);
	p->relay_subs = dhcp_list_make(&b.is, s->is.options.count + SUBS_OWN);
	build_client_id(&b);
	p->text_count = 0;
	if (s->header) {
		build_text(&b, &s->header->sname, DHCP4_AT_SNAME, DHCP4_AT_FILE - DHCP4_AT_SNAME);
		build_text(&b, &s->header->file, DHCP4_AT_FILE, DHCP4_AT_COOKIE - DHCP4_AT_FILE);
	}
	build_expected(&b);
	build_relay(&b);
	for (uint32_t i = 0; i < s->is.options.count; i++)
		build_option(&b, &options[i]);
	dhcp_captured_options(&b.is, &p->is.options);
	dhcp_build_fqdn(&b.is, DHCP4_OPT_FQDN, DHCP4_OPTION_ROOM - 5, FQDN_N);
	if (s->is.relay && relay_info_len(p) > DHCP4_OPTION_MAX)
		COMPLAIN(&b, s->is.relay, "", "option 82 may get %u bytes long (up to %u)",
			relay_info_len(p), DHCP4_OPTION_MAX);
	if (b.is.failed)
		return -EINVAL;
	for (uint32_t i = 0; i < DHCP4_STEPS && !b.is.failed; i++)
		build_message(&b, i);
	build_usual(p);
	return b.is.failed ? -EINVAL : 0;
}
