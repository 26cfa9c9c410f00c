// SPDX-License-Identifier: BSD-3-Clause
// Templates of every kind of message: client-independent bytes are written once, the rest is
// compiled to patterns. Path: cold. Management thread.

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "proto/dhcp/client/dhcp_captured.h"
#include "proto/dhcp/v6/dhcp6_plan.h"

#define OPTION_ROOM 1024 // of one option
#define OPTIONS_OWN 8    // options with a setting
#define NAME_ROOM   253

#define VARYING_HEAD (DHCP6_OPTION_LEN + 4 + 2) // with an enterprise and a length

#define LLT_TIME "2d000000" // time of DUID-LLT: seconds since 2000 (RFC 8415 section 11.2)

#define FQDN_N 4 // flag: no update

struct build {
	struct dhcp_build is;
	struct dhcp6_plan *p;
	const struct dhcp6_settings *s;
};

#define COMPLAIN(b, ...) DHCP_COMPLAIN(&(b)->is, __VA_ARGS__)

static void build_duid(struct build *b)
{
	const struct dhcp6_settings *s = b->s;
	struct dhcp6_plan *p = b->p;
	const char *text = "00030001{mac}";
	const struct pattern_piece *pieces;

	if (s->duid == DHCP6_DUID_FILE) {
		p->duid.pattern.max_len = DHCP6_DUID_MAX;
		return;
	}
	if (s->is.wire) {
		dhcp_template_identity(
			&b->is, &p->duid, PATTERN_TEXT, "{file:2}", &s->is.wire, DHCP6_DUID_MAX);
		return;
	}
	if (s->duid == DHCP6_DUID_LLT)
		text = "00010001" LLT_TIME "{mac}";
	else if (s->duid == DHCP6_DUID_EN)
		text = arena_printf(p->is.arena, "0002%08x{mac}", (uint32_t)s->enterprise);
	else if (s->duid == DHCP6_DUID_UUID)
		text = "0004{random:16}";
	else if (s->duid == DHCP6_DUID_HEX)
		text = s->duid_hex ? s->duid_hex : "";
	if (!dhcp_template_identity(
		    &b->is, &p->duid, PATTERN_HEX, text, &s->duid_hex, DHCP6_DUID_MAX))
		return;
	pieces = p->duid.pattern.pieces;
	if (p->duid.pattern.count == 2 && pieces[0].kind == PATTERN_LITERAL &&
		pieces[1].kind == PATTERN_MAC && pieces[0].width <= sizeof(p->duid_head)) {
		memcpy(p->duid_head, pieces[0].literal, pieces[0].width); // like the usual ones
		p->duid_mac_at = (uint8_t)pieces[0].width;
	}
	if (s->duid != DHCP6_DUID_HEX || !s->duid_hex)
		return;
	if (p->duid.pattern.max_len < DHCP6_DUID_MIN)
		COMPLAIN(b, &s->duid_hex, NULL, "too short: %u bytes (%d to %d)",
			p->duid.pattern.max_len, DHCP6_DUID_MIN, DHCP6_DUID_MAX);
	if (p->duid.pattern.fixed && p->is.clients > 1)
		COMPLAIN(b, &s->duid_hex, NULL,
			"is identical for all clients (like 000200000009{client:4})");
}

#define IN(place) (1 << DHCP6_IN_##place)
#define IN_IA     (IN(IA_NA) | IN(IA_PD))
#define MISPLACED "does not belong there"

static const struct dhcp_taken taken[] = {
	{DHCP6_OPT_CLIENT_ID, IN(MESSAGE), "is set by duid"},
	{DHCP6_OPT_IA_NA, IN(MESSAGE), "is set by lease"},
	{DHCP6_OPT_IA_PD, IN(MESSAGE), "is set by lease"},
	{DHCP6_OPT_ORO, IN(MESSAGE), "is set by parameters"},
	{DHCP6_OPT_FQDN, IN(MESSAGE), "is set by fqdn"},
	{DHCP6_OPT_SERVER_ID, IN(MESSAGE), DHCP_NEEDED},
	{DHCP6_OPT_ELAPSED_TIME, IN(MESSAGE), DHCP_NEEDED},
	{DHCP6_OPT_RAPID_COMMIT, IN(MESSAGE), DHCP_NEEDED},
	{DHCP6_OPT_IA_TA, IN(MESSAGE), MISPLACED},
	{DHCP6_OPT_IA_ADDRESS, IN(MESSAGE), MISPLACED},
	{DHCP6_OPT_IA_PREFIX, IN(MESSAGE), MISPLACED},
	{DHCP6_OPT_RELAY_MESSAGE, IN(MESSAGE), MISPLACED},
	{DHCP6_OPT_STATUS, IN(MESSAGE), MISPLACED},
	{DHCP6_OPT_INTERFACE_ID, IN(MESSAGE), MISPLACED},
	{DHCP6_OPT_RELAY_MESSAGE, IN(RELAY), DHCP_NEEDED},
	{DHCP6_OPT_INTERFACE_ID, IN(RELAY), "is set by relay.interface_id"},
	{DHCP6_OPT_REMOTE_ID, IN(RELAY), "is set by relay.remote_id"},
	{DHCP6_OPT_SUBSCRIBER_ID, IN(RELAY), "is set by relay.subscriber_id"},
	{DHCP6_OPT_CLIENT_LINK_LAYER, IN(RELAY), "is set by relay.client_mac"},
	{DHCP6_OPT_RELAY_PORT, IN(RELAY), "is set by relay.source_port"},
	{DHCP6_OPT_IA_ADDRESS, IN_IA, DHCP_NEEDED},
	{DHCP6_OPT_IA_PREFIX, IN_IA, DHCP_NEEDED},
	{DHCP6_OPT_STATUS, IN_IA, DHCP_NEEDED},
	{0},
};

static void message_add(struct build *b, const struct dhcp_varying *v)
{
	bool whole = v->pattern.fixed && !v->has_len && !v->has_enterprise;
	struct dhcp_varying placed = *v;

	if (!placed.steps)
		placed.steps = b->is.usual;
	dhcp_list_add(whole ? &b->is.fixed : &b->p->is.options, &placed);
}

static void build_option(struct build *b, const struct dhcp6_option_settings *o)
{
	struct dhcp_varying v = {.code = (uint16_t)o->code};
	const char *own = dhcp_taken_why(taken, o->code, (uint8_t)(1 << o->in));

	if (own) {
		COMPLAIN(b, &o->code, NULL, "option %llu %s", (unsigned long long)o->code, own);
		return;
	}
	if (o->in == DHCP6_IN_RELAY && !b->s->is.relay) {
		COMPLAIN(b, &o->in, NULL, "needs a relay");
		return;
	}
	if (!dhcp_template_value(&b->is, &v, &o->code, &o->value))
		return;
	if (o->in == DHCP6_IN_MESSAGE)
		message_add(b, &v);
	else
		dhcp_list_add(o->in == DHCP6_IN_RELAY   ? &b->p->relay_options
			      : o->in == DHCP6_IN_IA_NA ? &b->p->ia_na
							: &b->p->ia_pd,
			&v);
}

// Build an option with its own setting, whose text is constant for a relay's client.
static void text_option(
	struct build *b, struct dhcp_varying v, const char *const *text, bool in_relay)
{
	if (!*text)
		return;
	if (!in_relay && dhcp_template_compile(&b->is, &v, PATTERN_TEXT, text, OPTION_ROOM))
		message_add(b, &v);
	if (in_relay && dhcp_template_identity(&b->is, &v, PATTERN_TEXT, *text, text, OPTION_ROOM))
		dhcp_list_add(&b->p->relay_options, &v);
}

static void build_texts(struct build *b)
{
	const struct dhcp6_relay_settings *r = (const void *)b->s->is.relay;
	const struct dhcp6_vendor_settings *vendor = b->s->vendor_class;
	struct dhcp_varying v = {.code = DHCP6_OPT_INTERFACE_ID};

	if (r) {
		text_option(b, v, &r->interface_id, true);
		v = (struct dhcp_varying){.code = DHCP6_OPT_REMOTE_ID,
			.enterprise = (uint32_t)r->remote_enterprise,
			.has_enterprise = true};
		text_option(b, v, &r->remote_id, true);
		v = (struct dhcp_varying){.code = DHCP6_OPT_SUBSCRIBER_ID};
		text_option(b, v, &r->subscriber_id, true);
	}
	v = (struct dhcp_varying){.code = DHCP6_OPT_USER_CLASS, .has_len = true};
	text_option(b, v, &b->s->user_class, false);
	if (!vendor)
		return;
	v = (struct dhcp_varying){.code = DHCP6_OPT_VENDOR_CLASS,
		.enterprise = (uint32_t)vendor->enterprise,
		.has_enterprise = true,
		.has_len = true};
	text_option(b, v, &vendor->text, false);
}

static void write_code(struct writer *w, const uint8_t *oro, uint16_t code)
{
	for (const uint8_t *at = oro + DHCP6_OPTION_LEN; at < w->at; at += 2)
		if (bytes_be16(at) == code)
			return;
	write_be16(w, code);
}

// Options requested by the RFC come first (sections 18.2.1 to 18.2.6 and 21.23 to 21.25).
static void write_parameters(const struct build *b, enum dhcp6_type type, struct writer *w)
{
	const uint64_t *codes = b->s->is.parameters.items;
	uint8_t *oro = dhcp6_option_begin(w, DHCP6_OPT_ORO);

	if (type == DHCP6_INFORMATION) {
		write_code(w, oro, DHCP6_OPT_REFRESH_TIME);
		write_code(w, oro, DHCP6_OPT_INF_MAX_RT);
	} else {
		write_code(w, oro, DHCP6_OPT_SOL_MAX_RT);
	}
	if (b->s->unicast)
		write_code(w, oro, DHCP6_OPT_UNICAST);
	if (b->s->is.fqdn)
		write_code(w, oro, DHCP6_OPT_FQDN);
	for (uint32_t i = 0; i < b->s->is.parameters.count && !w->failed; i++)
		write_code(w, oro, (uint16_t)codes[i]);
	dhcp6_option_end(w, oro);
}

// Maximum number of bytes before and after the template.
static uint32_t more_room(const struct build *b, uint32_t step)
{
	const struct dhcp6_relay_settings *r = (const void *)b->s->is.relay;
	uint32_t ia = DHCP6_OPTION_LEN + 12 + DHCP6_OPTION_LEN + 25; // with a prefix
	const struct dhcp6_plan *p = b->p;
	uint32_t room = DHCP6_OPTION_LEN + p->duid.pattern.max_len +
	                dhcp_list_room(&p->is.options, step, VARYING_HEAD);
	uint16_t has = dhcp6_kinds[step].has;

	if (dhcp6_asks_about(step))
		return room + DHCP6_QUERY_ROOM;
	if (r) // options for the client's MAC and the relay's port come last
		room += (uint32_t)r->levels * (DHCP6_RELAY_LEN + DHCP6_OPTION_LEN) +
		        dhcp_list_room(&p->relay_options, step, VARYING_HEAD) + DHCP6_OPTION_LEN +
		        8 + DHCP6_OPTION_LEN + 2;
	if (has & DHCP6_HAS_SERVER_ID)
		room += DHCP6_OPTION_LEN + DHCP6_DUID_MAX;
	if (has & (DHCP6_HAS_ADDRESSES | DHCP6_HAS_PREFIXES))
		room += p->is.addresses * (ia + dhcp_list_room(&p->ia_na, step, VARYING_HEAD)) +
		        p->is.prefixes * (ia + dhcp_list_room(&p->ia_pd, step, VARYING_HEAD));
	if ((has & DHCP6_HAS_OPTIONS) && p->is.fqdn.code)
		room += DHCP6_OPTION_LEN + 3 + p->is.fqdn.pattern.max_len;
	return room;
}

static const struct pattern_place places[DHCP6_PLACES + 1] = {[DHCP6_PLACE_XID] = {"xid", 3},
	[DHCP6_PLACE_ELAPSED] = {"elapsed", 2},
	[DHCP6_PLACE_SERVER] = {"server", DHCP6_DUID_MAX},
	[DHCP6_PLACE_DUID] = {"duid", DHCP6_DUID_MAX}};

static void build_message(struct build *b, uint32_t step)
{
	const struct dhcp_message_kind *kind = &dhcp6_kinds[step];
	struct dhcp6_template *m = &b->p->templates[step];
	struct writer w = writer_of(m->bytes, sizeof(m->bytes));
	const struct dhcp_varying *raw = dhcp_build_raw(&b->is, step, places, DHCP6_TEMPLATE_MAX);
	uint32_t room;

	b->p->is.raw[step] = raw;
	b->p->usual &= !raw;
	dhcp6_write_header(&w, kind->type, 0);
	if (!dhcp6_asks_about(step))
		dhcp6_write_option_be16(&w, DHCP6_OPT_ELAPSED_TIME, 0);
	if ((kind->has & DHCP6_HAS_PARAMETERS) && !b->s->is.wire)
		write_parameters(b, (enum dhcp6_type)kind->type, &w);
	if (kind->has & DHCP6_HAS_RAPID)
		dhcp6_write_option(&w, DHCP6_OPT_RAPID_COMMIT, "", 0);
	if (b->s->reconfigure && (kind->has & DHCP6_HAS_PARAMETERS))
		dhcp6_write_option(&w, DHCP6_OPT_RECONFIGURE_ACCEPT, "", 0);
	dhcp_build_fixed(&b->is, step, true, &w);
	m->len = (uint16_t)(w.at - m->bytes);
	room = m->len + more_room(b, step) + (raw ? raw->pattern.max_len : 0);
	m->room = (uint16_t)room;
	b->p->is.longest = room > b->p->is.longest ? room : b->p->is.longest;
	if (w.failed || room > DHCP6_MESSAGE_MAX)
		COMPLAIN(b, b->s, "options", "messages may get too long (up to %u bytes)",
			DHCP6_MESSAGE_MAX);
}

int dhcp6_templates(struct dhcp_plan *plan, const struct dhcp_settings *settings, struct diag *d)
{
	const struct dhcp6_settings *s = (const struct dhcp6_settings *)settings;
	struct dhcp6_plan *p = (struct dhcp6_plan *)plan;
	const struct dhcp6_option_settings *options = s->is.options.items;
	uint32_t room = s->is.options.count + OPTIONS_OWN;
	struct build b = {.p = p, .s = s};
	bool varying;

	dhcp_build_begin(&b.is, plan, settings, OPTION_ROOM, OPTIONS_OWN, DHCP6_HAS_OPTIONS, d);
	p->ia_na = dhcp_list_make(&b.is, room);
	p->ia_pd = dhcp_list_make(&b.is, room);
	p->relay_options = dhcp_list_make(&b.is, room);
	build_duid(&b);
	build_texts(&b);
	for (uint32_t i = 0; i < s->is.options.count; i++)
		build_option(&b, &options[i]);
	dhcp_captured_options(&b.is, &p->is.options);
	dhcp_build_fqdn(&b.is, DHCP6_OPT_FQDN, NAME_ROOM, FQDN_N);
	if (s->expect)
		dhcp_build_expected(&b.is, &s->expect->options, UINT16_MAX);
	// The fast path allows a MAC in the DUID, one address, and no other patterns.
	varying =
		plan->options.count || plan->fqdn.code || p->ia_na.count || p->relay_options.count;
	p->usual = !plan->own && !plan->expected.count && p->duid_mac_at && plan->addresses == 1 &&
	           plan->prefixes == 0 && !varying && !p->client_mac && !p->takes_best &&
	           !p->accept_len && (!plan->relays || (p->levels == 1 && !p->ldra));
	for (uint32_t i = 0; i < DHCP6_STEPS && !b.is.failed; i++)
		build_message(&b, i);
	return b.is.failed ? -EINVAL : 0;
}
