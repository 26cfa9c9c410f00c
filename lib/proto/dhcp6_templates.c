// SPDX-License-Identifier: BSD-3-Clause
// The bytes of every kind of message: what is the same for all clients is written once, the rest is
// compiled to patterns. Path: cold. Management thread.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "proto/dhcp6_self.h"
#include "proto/dhcp_name.h"

#define WHAT_ROOM   256
#define OPTION_ROOM 1024       // of one option
#define LLT_TIME    "2d000000" // of DUID-LLT: seconds since 2000 (RFC 8415 section 11.2)

enum fqdn_flag { FQDN_S = 1, FQDN_N = 4 };

struct build {
	struct dhcp6_plan *p;
	const struct dhcp6_settings *s;
	struct diag *d;
	struct dhcp6_varying_list fixed; // options of the user that are the same for all
	uint64_t salt;
	bool failed;
};

#define COMPLAIN(b, ...) ((b)->failed = true, diag_error((b)->d, __VA_ARGS__))

// A pattern at `where` that may have up to room bytes.
static bool compile(struct build *b, struct dhcp6_varying *v, enum pattern_kind kind,
	const char *text, const void *where, uint32_t room)
{
	const struct pattern_clients clients = {b->s->clients, 6, 16};
	char what[WHAT_ROOM];

	v->salt = rand_hash(++b->salt);
	if (pattern_compile(&v->pattern, kind, text, &clients, b->p->arena, what, sizeof(what)) < 0)
		COMPLAIN(b, where, NULL, "%s", what);
	else if (v->pattern.relay && !b->s->relay)
		COMPLAIN(b, where, NULL, "{relay} needs a relay");
	else if (v->pattern.max_len > room)
		COMPLAIN(b, where, NULL, "too long: %u bytes (up to %u)", v->pattern.max_len, room);
	else
		return true;
	return false;
}

static bool has_address(const struct pattern *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->pieces[i].kind == PATTERN_ADDRESS)
			return true;
	return false;
}

// What has to be the same in all messages of a client: it has no address at first.
static bool compile_identity(struct build *b, struct dhcp6_varying *v, enum pattern_kind kind,
	const char *text, const void *where, uint32_t room)
{
	if (!compile(b, v, kind, text, where, room))
		return false;
	if (!has_address(&v->pattern))
		return true;
	COMPLAIN(b, where, NULL, "{address} is not the same in all messages of a client");
	return false;
}

// The usual DUIDs are something fixed and the MAC.
static void duid_split(struct dhcp6_plan *p)
{
	const struct pattern_piece *pieces = p->duid.pattern.pieces;

	if (p->duid.pattern.count != 2 || pieces[0].kind != PATTERN_LITERAL ||
		pieces[1].kind != PATTERN_MAC || pieces[0].width > sizeof(p->duid_head))
		return;
	memcpy(p->duid_head, pieces[0].literal, pieces[0].width);
	p->duid_mac_at = (uint8_t)pieces[0].width;
}

static void build_duid(struct build *b)
{
	const struct dhcp6_settings *s = b->s;
	struct dhcp6_plan *p = b->p;
	const char *text = "00030001{mac}";

	if (s->duid == DHCP6_DUID_FILE) {
		p->duid.pattern.max_len = DHCP6_DUID_MAX;
		return;
	}
	if (s->duid == DHCP6_DUID_LLT)
		text = "00010001" LLT_TIME "{mac}";
	else if (s->duid == DHCP6_DUID_EN)
		text = arena_printf(p->arena, "0002%08x{mac}", (uint32_t)s->enterprise);
	else if (s->duid == DHCP6_DUID_UUID)
		text = "0004{random:16}";
	else if (s->duid == DHCP6_DUID_HEX)
		text = s->duid_hex ? s->duid_hex : "";
	if (!compile_identity(b, &p->duid, PATTERN_HEX, text, &s->duid_hex, DHCP6_DUID_MAX))
		return;
	duid_split(p);
	if (s->duid != DHCP6_DUID_HEX || !s->duid_hex)
		return;
	if (p->duid.pattern.max_len < DHCP6_DUID_MIN)
		COMPLAIN(b, &s->duid_hex, NULL, "too short: %u bytes (%d to %d)",
			p->duid.pattern.max_len, DHCP6_DUID_MIN, DHCP6_DUID_MAX);
	if (p->duid.pattern.fixed && s->clients > 1)
		COMPLAIN(b, &s->duid_hex, NULL,
			"the same for all clients (like 000200000009{client:4})");
}

// Whether the value of an option can be used.
static bool option_value(
	struct build *b, struct dhcp6_varying *v, const struct dhcp6_option_settings *o)
{
	int given = (o->text != NULL) + (o->hex != NULL) + (o->address.count > 0);
	const struct addr *a = o->address.items;
	char *hex;

	if (given != 1) {
		COMPLAIN(b, &o->code, NULL, "needs a value (one of text, hex and address)");
		return false;
	}
	if (o->text)
		return compile(b, v, PATTERN_TEXT, o->text, &o->text, OPTION_ROOM);
	if (o->hex)
		return compile(b, v, PATTERN_HEX, o->hex, &o->hex, OPTION_ROOM);
	hex = arena_zalloc(b->p->arena, o->address.count * 32ull + 1);
	for (uint32_t i = 0; i < o->address.count; i++) {
		if (a[i].len != 16) {
			COMPLAIN(b, &a[i], NULL, "not an IPv6 address");
			return false;
		}
		for (uint32_t k = 0; k < 16; k++)
			sprintf(hex + i * 32 + k * 2, "%02x", a[i].bytes[k]);
	}
	return compile(b, v, PATTERN_HEX, hex, &o->address, OPTION_ROOM);
}

static const char *whose_in_message(uint64_t code)
{
	switch (code) {
	case DHCP6_OPT_CLIENT_ID:
		return "is set by duid";
	case DHCP6_OPT_IA_NA:
	case DHCP6_OPT_IA_PD:
		return "is set by lease";
	case DHCP6_OPT_ORO:
		return "is set by parameters";
	case DHCP6_OPT_FQDN:
		return "is set by fqdn";
	case DHCP6_OPT_SERVER_ID:
	case DHCP6_OPT_ELAPSED_TIME:
	case DHCP6_OPT_RAPID_COMMIT:
		return "is written as the message needs it";
	case DHCP6_OPT_IA_TA:
	case DHCP6_OPT_IA_ADDRESS:
	case DHCP6_OPT_IA_PREFIX:
	case DHCP6_OPT_RELAY_MESSAGE:
	case DHCP6_OPT_STATUS:
	case DHCP6_OPT_INTERFACE_ID:
		return "does not belong there";
	}
	return NULL;
}

static const char *whose_in_relay(uint64_t code)
{
	switch (code) {
	case DHCP6_OPT_RELAY_MESSAGE:
		return "is written as the message needs it";
	case DHCP6_OPT_INTERFACE_ID:
		return "is set by relay.interface_id";
	case DHCP6_OPT_REMOTE_ID:
		return "is set by relay.remote_id";
	case DHCP6_OPT_SUBSCRIBER_ID:
		return "is set by relay.subscriber_id";
	case DHCP6_OPT_CLIENT_LINK_LAYER:
		return "is set by relay.client_mac";
	case DHCP6_OPT_RELAY_PORT:
		return "is set by relay.source_port";
	}
	return NULL;
}

// NULL: the user may write it there.
static const char *whose(const struct dhcp6_option_settings *o)
{
	switch ((enum dhcp6_place)o->in) {
	case DHCP6_IN_MESSAGE:
		return whose_in_message(o->code);
	case DHCP6_IN_RELAY:
		return whose_in_relay(o->code);
	case DHCP6_IN_IA_NA:
	case DHCP6_IN_IA_PD:
		if (o->code == DHCP6_OPT_IA_ADDRESS || o->code == DHCP6_OPT_IA_PREFIX ||
			o->code == DHCP6_OPT_STATUS)
			return "is written as the message needs it";
	}
	return NULL;
}

static void list_add(struct dhcp6_varying_list *l, const struct dhcp6_varying *v)
{
	l->items[l->count++] = *v;
}

static void message_add(struct build *b, const struct dhcp6_varying *v)
{
	bool whole = v->pattern.fixed && !v->has_len && !v->has_enterprise;

	list_add(whole ? &b->fixed : &b->p->options, v);
}

static void build_option(struct build *b, const struct dhcp6_option_settings *o)
{
	struct dhcp6_varying v = {.code = (uint16_t)o->code};
	const char *own = whose(o);

	if (own) {
		COMPLAIN(b, &o->code, NULL, "option %llu %s", (unsigned long long)o->code, own);
		return;
	}
	if (o->in == DHCP6_IN_RELAY && !b->s->relay) {
		COMPLAIN(b, &o->in, NULL, "needs a relay");
		return;
	}
	if (!option_value(b, &v, o))
		return;
	if (o->in == DHCP6_IN_RELAY)
		list_add(&b->p->relay_options, &v);
	else if (o->in == DHCP6_IN_IA_NA)
		list_add(&b->p->ia_na, &v);
	else if (o->in == DHCP6_IN_IA_PD)
		list_add(&b->p->ia_pd, &v);
	else
		message_add(b, &v);
}

static void relay_text(struct build *b, struct dhcp6_varying v, const char *const *text)
{
	if (*text && compile_identity(b, &v, PATTERN_TEXT, *text, text, OPTION_ROOM))
		list_add(&b->p->relay_options, &v);
}

static void build_relay(struct build *b)
{
	const struct dhcp6_relay_settings *s = b->s->relay;

	if (!s)
		return;
	relay_text(b, (struct dhcp6_varying){.code = DHCP6_OPT_INTERFACE_ID}, &s->interface_id);
	relay_text(b,
		(struct dhcp6_varying){.code = DHCP6_OPT_REMOTE_ID,
			.enterprise = (uint32_t)s->remote_enterprise,
			.has_enterprise = true},
		&s->remote_id);
	relay_text(b, (struct dhcp6_varying){.code = DHCP6_OPT_SUBSCRIBER_ID}, &s->subscriber_id);
}

static void build_classes(struct build *b)
{
	const struct dhcp6_settings *s = b->s;
	struct dhcp6_varying user = {.code = DHCP6_OPT_USER_CLASS, .has_len = true};
	struct dhcp6_varying vendor = {
		.code = DHCP6_OPT_VENDOR_CLASS, .has_len = true, .has_enterprise = true};

	if (s->user_class &&
		compile(b, &user, PATTERN_TEXT, s->user_class, &s->user_class, OPTION_ROOM))
		message_add(b, &user);
	if (!s->vendor_class)
		return;
	vendor.enterprise = (uint32_t)s->vendor_class->enterprise;
	if (compile(b, &vendor, PATTERN_TEXT, s->vendor_class->text, &s->vendor_class->text,
		    OPTION_ROOM))
		message_add(b, &vendor);
}

static void build_fqdn(struct build *b)
{
	const struct dhcp6_fqdn_settings *s = b->s->fqdn;
	struct dhcp6_plan *p = b->p;

	if (!s)
		return;
	p->fqdn.code = DHCP6_OPT_FQDN;
	p->fqdn_flags = (uint8_t)((s->server_update && !s->no_update ? FQDN_S : 0) |
				  (s->no_update ? FQDN_N : 0));
	if (compile(b, &p->fqdn, PATTERN_TEXT, s->name, &s->name, 253) &&
		!dhcp_name_check(&p->fqdn.pattern, b->s->clients))
		COMPLAIN(b, &s->name, NULL, "a label of a name has 1 to %u characters",
			DHCP_LABEL_MAX);
}

static void write_code(struct writer *w, const uint8_t *oro, uint16_t code)
{
	for (const uint8_t *at = oro + DHCP6_OPTION_LEN; at < w->at; at += 2)
		if ((at[0] << 8 | at[1]) == code)
			return;
	write_be16(w, code);
}

// What the RFC wants asked for comes first (sections 18.2.1 to 18.2.6 and 21.23 to 21.25).
static void write_parameters(const struct build *b, enum dhcp6_type type, struct writer *w)
{
	const uint64_t *codes = b->s->parameters.items;
	uint8_t *oro = dhcp6_option_begin(w, DHCP6_OPT_ORO);

	if (type == DHCP6_INFORMATION) {
		write_code(w, oro, DHCP6_OPT_REFRESH_TIME);
		write_code(w, oro, DHCP6_OPT_INF_MAX_RT);
	} else {
		write_code(w, oro, DHCP6_OPT_SOL_MAX_RT);
	}
	if (b->s->fqdn)
		write_code(w, oro, DHCP6_OPT_FQDN);
	for (uint32_t i = 0; i < b->s->parameters.count && !w->failed; i++)
		write_code(w, oro, (uint16_t)codes[i]);
	dhcp6_option_end(w, oro);
}

static void write_fixed(const struct build *b, struct writer *w)
{
	for (uint32_t i = 0; i < b->fixed.count; i++) {
		const struct dhcp6_varying *v = &b->fixed.items[i];
		uint8_t *option = dhcp6_option_begin(w, v->code);

		pattern_write(&v->pattern, &(struct pattern_values){0}, w);
		dhcp6_option_end(w, option);
	}
}

static uint32_t varying_room(const struct dhcp6_varying_list *l)
{
	uint32_t room = 0;

	for (uint32_t i = 0; i < l->count; i++)
		room += DHCP6_OPTION_LEN + 4 + 2 + l->items[i].pattern.max_len;
	return room;
}

static uint32_t relay_room(const struct dhcp6_plan *p, const struct dhcp6_relay_settings *s)
{
	uint32_t mac = DHCP6_OPTION_LEN + 2 + 6, port = DHCP6_OPTION_LEN + 2;

	return s ? (uint32_t)s->levels * (DHCP6_RELAY_LEN + DHCP6_OPTION_LEN) +
	                       varying_room(&p->relay_options) + mac + port
	         : 0;
}

static uint32_t ia_room(const struct build *b)
{
	uint32_t one = DHCP6_OPTION_LEN + 12 + DHCP6_OPTION_LEN + 25;

	return b->p->addresses * (one + varying_room(&b->p->ia_na)) +
	       b->p->prefixes * (one + varying_room(&b->p->ia_pd));
}

// What may follow the template or stand in front of it.
static uint32_t more_room(const struct build *b, uint16_t has)
{
	const struct dhcp6_plan *p = b->p;
	uint32_t room = relay_room(p, b->s->relay);

	room += DHCP6_OPTION_LEN + p->duid.pattern.max_len;
	if (has & DHCP6_HAS_SERVER_ID)
		room += DHCP6_OPTION_LEN + DHCP6_DUID_MAX;
	if (has & (DHCP6_HAS_ADDRESSES | DHCP6_HAS_PREFIXES))
		room += ia_room(b);
	if (has & DHCP6_HAS_OPTIONS)
		room += varying_room(&p->options) +
		        (p->fqdn.code ? DHCP6_OPTION_LEN + 3 + p->fqdn.pattern.max_len : 0);
	return room;
}

static void build_message(
	struct build *b, const struct dhcp6_message_kind *kind, struct dhcp6_template *m)
{
	struct writer w = writer_of(m->bytes, sizeof(m->bytes));
	uint32_t room;

	dhcp6_write_header(&w, kind->type, 0);
	dhcp6_write_option_be16(&w, DHCP6_OPT_ELAPSED_TIME, 0);
	if (kind->has & DHCP6_HAS_PARAMETERS)
		write_parameters(b, (enum dhcp6_type)kind->type, &w);
	if (kind->has & DHCP6_HAS_RAPID)
		dhcp6_write_option(&w, DHCP6_OPT_RAPID_COMMIT, "", 0);
	if (kind->has & DHCP6_HAS_OPTIONS)
		write_fixed(b, &w);
	m->len = (uint16_t)(w.at - m->bytes);
	room = m->len + more_room(b, kind->has);
	m->room = (uint16_t)room;
	if (w.failed || room > DHCP6_MESSAGE_MAX)
		COMPLAIN(b, b->s, "options", "messages may get too long (up to %u bytes)",
			DHCP6_MESSAGE_MAX);
}

static void list_make(struct build *b, struct dhcp6_varying_list *l)
{
	size_t own = 8; // options that have a setting

	l->items = arena_zalloc(b->p->arena, (b->s->options.count + own) * sizeof(*l->items));
}

int dhcp6_build(struct dhcp6_plan *p, const struct dhcp6_settings *s, struct diag *d)
{
	const struct dhcp6_option_settings *options = s->options.items;
	struct build b = {.p = p, .s = s, .d = d};

	list_make(&b, &b.fixed);
	list_make(&b, &p->options);
	list_make(&b, &p->ia_na);
	list_make(&b, &p->ia_pd);
	list_make(&b, &p->relay_options);
	build_duid(&b);
	build_relay(&b);
	build_classes(&b);
	for (uint32_t i = 0; i < s->options.count; i++)
		build_option(&b, &options[i]);
	build_fqdn(&b);
	for (uint32_t i = 0; i < DHCP6_STEPS && !b.failed; i++)
		build_message(&b, &dhcp6_kinds[i], &p->templates[i]);
	return b.failed ? -EINVAL : 0;
}
