// SPDX-License-Identifier: BSD-3-Clause
// The bytes of every kind of message: what is the same for all clients is written once, the rest is
// compiled to patterns. Path: cold. Management thread.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "net/csum.h"
#include "proto/dhcp4_self.h"
#include "proto/dhcp_name.h"

#define WHAT_ROOM 256
#define NS_PER_S  1000000000u
#define SUB_MAX   254

enum relay_sub {
	SUB_CIRCUIT_ID = 1,
	SUB_REMOTE_ID = 2,
	SUB_LINK_SELECTION = 5,
	SUB_SUBSCRIBER_ID = 6,
	SUB_SERVER_ID_OVERRIDE = 11,
	SUB_SOURCE_PORT = 19,
};

enum fqdn_flag { FQDN_S = 1, FQDN_E = 4, FQDN_N = 8 };

struct build {
	struct dhcp4_plan *p;
	const struct dhcp4_settings *s;
	struct diag *d;
	struct dhcp4_varying_list fixed; // options of the user that are the same for all
	uint64_t salt;
	bool failed;
};

#define COMPLAIN(b, ...) ((b)->failed = true, diag_error((b)->d, __VA_ARGS__))

// A pattern at `where` that may have up to room bytes.
static bool compile(struct build *b, struct dhcp4_varying *v, enum pattern_kind kind,
	const char *text, const void *where, uint32_t room)
{
	const struct pattern_clients clients = {b->s->clients, b->p->chaddr_len, 4};
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
static bool compile_identity(
	struct build *b, struct dhcp4_varying *v, const char *text, const void *where)
{
	if (!compile(b, v, PATTERN_TEXT, text, where, DHCP4_OPTION_ROOM - 2))
		return false;
	if (!has_address(&v->pattern))
		return true;
	COMPLAIN(b, where, NULL, "{address} is not the same in all messages of a client");
	return false;
}

static void literal(struct build *b, struct dhcp4_varying *v, const void *data, uint32_t len)
{
	struct pattern_piece *piece = arena_zalloc(b->p->arena, sizeof(*piece));
	uint8_t *copy = arena_zalloc(b->p->arena, len ? len : 1);

	if (len)
		memcpy(copy, data, len);
	*piece = (struct pattern_piece){
		.kind = PATTERN_LITERAL, .width = (uint16_t)len, .literal = copy};
	v->pattern = (struct pattern){
		.kind = PATTERN_HEX, .pieces = piece, .count = 1, .max_len = len, .fixed = true};
}

static bool addresses(struct build *b, struct dhcp4_varying *v, const struct field_list *list)
{
	const struct addr *a = list->items;
	uint8_t bytes[DHCP4_OPTION_ROOM];

	if (list->count > sizeof(bytes) / 4) {
		COMPLAIN(b, list, NULL, "too many addresses (up to %zu)", sizeof(bytes) / 4);
		return false;
	}
	for (uint32_t i = 0; i < list->count; i++) {
		if (a[i].len != 4) {
			COMPLAIN(b, &a[i], NULL, "not an IPv4 address");
			return false;
		}
		memcpy(bytes + i * 4, a[i].bytes, 4);
	}
	literal(b, v, bytes, list->count * 4);
	return true;
}

// Where the value of an option stands in the file, for whoever complains about it.
static bool option_value(
	struct build *b, struct dhcp4_varying *v, const struct dhcp4_option_settings *o)
{
	int given = (o->text != NULL) + (o->hex != NULL) + (o->address.count > 0);

	if (given != 1) {
		COMPLAIN(b, &o->code, NULL, "needs a value (one of text, hex and address)");
		return false;
	}
	if (o->text)
		return compile(b, v, PATTERN_TEXT, o->text, &o->text, DHCP4_OPTION_ROOM);
	if (o->hex)
		return compile(b, v, PATTERN_HEX, o->hex, &o->hex, DHCP4_OPTION_ROOM);
	return addresses(b, v, &o->address);
}

// NULL: the user may write it.
static const char *whose(uint32_t code)
{
	switch (code) {
	case DHCP4_OPT_PAD:
	case DHCP4_OPT_END:
	case DHCP4_OPT_OVERLOAD:
	case DHCP4_OPT_TYPE:
	case DHCP4_OPT_SERVER_ID:
	case DHCP4_OPT_RAPID_COMMIT:
		return "is written as the message needs it";
	case DHCP4_OPT_REQUESTED_ADDRESS:
		return "is set by requested_address";
	case DHCP4_OPT_LEASE_TIME:
		return "is set by lease_time";
	case DHCP4_OPT_PARAMETERS:
		return "is set by parameters";
	case DHCP4_OPT_CLIENT_ID:
		return "is set by client_id";
	case DHCP4_OPT_FQDN:
		return "is set by fqdn";
	case DHCP4_OPT_RELAY_INFO:
		return "has sub-options (like 82.1)";
	}
	return NULL;
}

// "12" or "82.1".
static bool option_code(struct build *b, const char *const *text, uint8_t *code, bool *is_sub)
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
	*code = (uint8_t)(*is_sub ? sub : n);
	if (*is_sub && !b->s->relay) {
		COMPLAIN(b, text, NULL, "option 82 needs a relay");
		return false;
	}
	own = *is_sub ? NULL : whose((uint32_t)n);
	if (own)
		COMPLAIN(b, text, NULL, "option %lu %s", n, own);
	return !own;
}

static void list_add(struct dhcp4_varying_list *l, const struct dhcp4_varying *v)
{
	l->items[l->count++] = *v;
}

// A sub-option of 82. What is the same for all is written once, as long as it stands in front: the
// order is that of the codes (those of options: come last), as
// some servers return them so.
static void sub_add(struct build *b, uint8_t code, struct dhcp4_varying *v)
{
	struct dhcp4_plan *p = b->p;
	struct writer w = writer_of(
		p->relay_info + p->relay_info_len, sizeof(p->relay_info) - p->relay_info_len);

	v->code = code;
	if (!v->pattern.fixed || p->relay_subs.count > 0) {
		list_add(&p->relay_subs, v);
		return;
	}
	write_u8(&w, code);
	write_u8(&w, (uint8_t)v->pattern.max_len);
	pattern_write(&v->pattern, &(struct pattern_values){0}, &w);
	if (w.failed)
		COMPLAIN(b, b->s->relay, "", "option 82 is too long (up to %u bytes)",
			DHCP4_OPTION_ROOM);
	else
		p->relay_info_len = (uint8_t)(w.at - p->relay_info);
}

static void sub_text(struct build *b, uint8_t code, const char *const *text)
{
	struct dhcp4_varying v = {0};

	if (*text && compile_identity(b, &v, *text, text))
		sub_add(b, code, &v);
}

static void sub_address(struct build *b, uint8_t code, const struct addr *a)
{
	struct dhcp4_varying v = {0};

	if (a->len == 0)
		return;
	if (a->len != 4) {
		COMPLAIN(b, a, NULL, "not an IPv4 address");
		return;
	}
	literal(b, &v, a->bytes, 4);
	sub_add(b, code, &v);
}

static void sub_override(struct build *b, const char *const *text)
{
	struct dhcp4_varying v = {0};
	struct addr a;
	const char *what;

	if (!*text)
		return;
	if (strcmp(*text, "relay") == 0) {
		if (compile(b, &v, PATTERN_HEX, "{relay}", text, 4))
			sub_add(b, SUB_SERVER_ID_OVERRIDE, &v);
	} else if (addr_parse(*text, &a, &what) < 0 || a.len != 4) {
		COMPLAIN(b, text, NULL, "\"%s\" is not \"relay\" or an IPv4 address", *text);
	} else {
		sub_address(b, SUB_SERVER_ID_OVERRIDE, &a);
	}
}

static void build_relay(struct build *b)
{
	const struct dhcp4_relay_settings *s = b->s->relay;
	struct dhcp4_varying none = {0};

	if (!s)
		return;
	sub_text(b, SUB_CIRCUIT_ID, &s->circuit_id);
	sub_text(b, SUB_REMOTE_ID, &s->remote_id);
	sub_address(b, SUB_LINK_SELECTION, &s->link_selection);
	sub_text(b, SUB_SUBSCRIBER_ID, &s->subscriber_id);
	sub_override(b, &s->server_id_override);
	if (!s->source_port || s->port == DHCP4_SERVER_PORT)
		return;
	literal(b, &none, NULL, 0);
	sub_add(b, SUB_SOURCE_PORT, &none);
}

static void build_option(struct build *b, const struct dhcp4_option_settings *o)
{
	struct dhcp4_varying v = {0};
	bool is_sub;

	if (!option_code(b, &o->code, &v.code, &is_sub) || !option_value(b, &v, o))
		return;
	if (is_sub && has_address(&v.pattern))
		COMPLAIN(
			b, &o->code, NULL, "{address} is not the same in all messages of a client");
	else if (is_sub)
		sub_add(b, v.code, &v);
	else
		list_add(v.pattern.fixed ? &b->fixed : &b->p->options, &v);
}

static void build_fqdn(struct build *b)
{
	const struct dhcp4_fqdn_settings *s = b->s->fqdn;
	struct dhcp4_plan *p = b->p;

	if (!s)
		return;
	p->fqdn.code = DHCP4_OPT_FQDN;
	p->fqdn_wire = s->wire;
	p->fqdn_flags = (uint8_t)((s->server_update && !s->no_update ? FQDN_S : 0) |
				  (s->no_update ? FQDN_N : 0) | (s->wire ? FQDN_E : 0));
	if (compile(b, &p->fqdn, PATTERN_TEXT, s->name, &s->name, DHCP4_OPTION_ROOM - 5) &&
		!dhcp_name_check(&p->fqdn.pattern, b->s->clients))
		COMPLAIN(b, &s->name, NULL, "a label of a name has 1 to %u characters",
			DHCP_LABEL_MAX);
}

static void build_client_id(struct build *b)
{
	const struct dhcp4_settings *s = b->s;

	b->p->htype = (uint8_t)s->htype;
	b->p->hlen = s->htype == DHCP4_HTYPE_INFINIBAND ? 0 : b->p->chaddr_len;
	b->p->client_id = (enum dhcp4_client_id)s->client_id;
	if (s->client_id == DHCP4_ID_TEXT && s->client_id_text)
		compile_identity(b, &b->p->id_text, s->client_id_text, &s->client_id_text);
}

static void write_header(
	const struct build *b, const struct dhcp4_template *m, uint16_t has, struct writer *w)
{
	uint8_t *h = write_space(w, DHCP4_OPTIONS_AT);

	h[DHCP4_AT_OP] = DHCP4_REQUEST_OP;
	if (has & DHCP4_HAS_CHADDR) {
		h[DHCP4_AT_HTYPE] = b->p->htype;
		h[DHCP4_AT_HLEN] = b->p->hlen;
	}
	if (m->relayed)
		h[DHCP4_AT_HOPS] = (uint8_t)b->s->relay->hops;
	if (b->s->broadcast_flag && (has & DHCP4_HAS_OPTIONS) && !(has & DHCP4_HAS_CIADDR))
		h[DHCP4_AT_FLAGS] = DHCP4_BROADCAST >> 8;
	dhcp4_put32(h + DHCP4_AT_COOKIE, DHCP4_COOKIE);
}

static void write_parameters(const struct build *b, struct writer *w)
{
	const uint64_t *codes = b->s->parameters.items;
	uint32_t count = b->s->parameters.count;

	if (count == 0)
		return;
	write_u8(w, DHCP4_OPT_PARAMETERS);
	write_u8(w, (uint8_t)count);
	for (uint32_t i = 0; i < count; i++)
		write_u8(w, (uint8_t)codes[i]);
}

// The identifier of a client whose MAC is zero; where its MAC goes.
static uint16_t write_client_id(struct build *b, struct dhcp4_template *m, struct writer *w)
{
	struct dhcp4_self s = {.p = b->p};
	uint8_t *head;

	if (b->p->client_id != DHCP4_ID_MAC && b->p->client_id != DHCP4_ID_DUID)
		return 0;
	head = write_space(w, 2);
	if (!head)
		return 0;
	dhcp4_client_id_write(&s, w);
	head[0] = DHCP4_OPT_CLIENT_ID;
	head[1] = (uint8_t)(w->at - head - 2);
	return (uint16_t)(w->at - m->bytes - b->p->chaddr_len);
}

static uint16_t write_placeholder(struct dhcp4_template *m, struct writer *w, uint8_t code)
{
	dhcp4_write_option_be32(w, code, 0);
	return (uint16_t)(w->at - m->bytes - 4);
}

static void write_fixed(const struct build *b, struct writer *w)
{
	for (uint32_t i = 0; i < b->fixed.count; i++) {
		const struct dhcp4_varying *v = &b->fixed.items[i];

		write_u8(w, v->code);
		write_u8(w, (uint8_t)v->pattern.max_len);
		pattern_write(&v->pattern, &(struct pattern_values){0}, w);
	}
}

static uint32_t varying_room(const struct dhcp4_varying_list *l)
{
	uint32_t room = 0;

	for (uint32_t i = 0; i < l->count; i++)
		room += 2 + l->items[i].pattern.max_len;
	return room;
}

static uint32_t relay_info_len(const struct dhcp4_plan *p)
{
	return p->relay_info_len + varying_room(&p->relay_subs);
}

// What may follow the template.
static uint32_t tail_room(const struct dhcp4_plan *p, const struct dhcp4_template *m, uint16_t has)
{
	uint32_t room = 1; // END

	if ((has & DHCP4_HAS_CHADDR) && p->client_id == DHCP4_ID_TEXT)
		room += 3 + p->id_text.pattern.max_len;
	if (has & DHCP4_HAS_OPTIONS)
		room += varying_room(&p->options) +
		        (p->fqdn.code ? 2 + 3 + 2 + p->fqdn.pattern.max_len : 0);
	if (m->relay_info)
		room += 2 + relay_info_len(p);
	return room;
}

// What has nothing to follow is ready, the zeros that it is padded with too.
static void end_message(struct dhcp4_template *m)
{
	if (!m->open) {
		m->bytes[m->len] = DHCP4_OPT_END;
		m->len = m->room;
	}
	m->sum = csum_add(0, m->bytes, m->len);
}

static void build_message(struct build *b, const struct dhcp4_kind *kind, struct dhcp4_template *m)
{
	const struct dhcp4_plan *p = b->p;
	struct writer w = writer_of(m->bytes, sizeof(m->bytes));
	uint16_t has = kind->has;
	uint32_t room;

	m->relayed = b->s->relay && (!(has & DHCP4_IS_UNICAST) || p->relay_unicast);
	m->relay_info = m->relayed && (has & DHCP4_HAS_CHADDR) && relay_info_len(p) > 0;
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
	if (has & DHCP4_HAS_CHADDR)
		m->id_at = write_client_id(b, m, &w);
	if (has & DHCP4_HAS_RAPID)
		dhcp4_write_option(&w, DHCP4_OPT_RAPID_COMMIT, "", 0);
	if (has & DHCP4_HAS_OPTIONS)
		write_fixed(b, &w);
	m->len = (uint16_t)(w.at - m->bytes);
	room = m->len + tail_room(p, m, has);
	m->room = (uint16_t)(room > p->pad ? room : p->pad);
	m->open = tail_room(p, m, has) > 1;
	if (w.failed || room > DHCP4_MESSAGE_MAX)
		COMPLAIN(b, &b->s->options, "options", "messages get too long (up to %u bytes)",
			DHCP4_MESSAGE_MAX);
	else
		end_message(m);
}

static void lists_make(struct build *b)
{
	uint32_t count = b->s->options.count;
	size_t own = 8; // sub-options that have a setting

	b->fixed.items = arena_zalloc(b->p->arena, (count + 1) * sizeof(*b->fixed.items));
	b->p->options.items = arena_zalloc(b->p->arena, (count + 1) * sizeof(*b->fixed.items));
	b->p->relay_subs.items = arena_zalloc(b->p->arena, (count + own) * sizeof(*b->fixed.items));
}

int dhcp4_build(struct dhcp4_plan *p, const struct dhcp4_settings *s, struct diag *d)
{
	const struct dhcp4_option_settings *options = s->options.items;
	struct build b = {.p = p, .s = s, .d = d};

	lists_make(&b);
	build_client_id(&b);
	build_relay(&b);
	for (uint32_t i = 0; i < s->options.count; i++)
		build_option(&b, &options[i]);
	build_fqdn(&b);
	if (s->relay && relay_info_len(p) > DHCP4_OPTION_ROOM)
		COMPLAIN(&b, s->relay, "", "option 82 may get %u bytes long (up to %u)",
			relay_info_len(p), DHCP4_OPTION_ROOM);
	if (b.failed)
		return -EINVAL;
	for (uint32_t i = 0; i < DHCP4_STEPS && !b.failed; i++)
		build_message(&b, &dhcp4_kinds[i], &p->templates[i]);
	return b.failed ? -EINVAL : 0;
}
