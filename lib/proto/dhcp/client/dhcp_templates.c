// SPDX-License-Identifier: BSD-3-Clause
// Options in the file to patterns, and names to labels. Path: hot (dhcp_option_begin,
// dhcp_option_end, dhcp_expected_check, dhcp_varying_write, dhcp_varying_options, dhcp_fqdn_write,
// dhcp_fqdn_name) | cold (the rest). Management thread; hot functions: any thread.

#include "proto/dhcp/client/dhcp_templates.h"

#include <string.h>

#include "base/rand.h"
#include "proto/dhcp/client/dhcp_client.h"
#include "proto/dhcp/client/lease/dhcp_addresses.h"

#define WHAT_ROOM     256
#define NAME_MAX_LEN  255
#define LABEL_MAX     63
#define EXPECTED_ROOM 1024 // of a value

enum fqdn_flag { FQDN_S = 1, FQDN_E = 4 };

static bool compile(struct dhcp_build *b, struct dhcp_varying *v, enum pattern_kind kind,
	const char *text, const void *where, uint32_t room)
{
	char what[WHAT_ROOM];

	v->salt = rand_hash(++b->salt);
	if (pattern_compile(&v->pattern, kind, text, &b->clients, b->arena, what, sizeof(what)) < 0)
		DHCP_COMPLAIN(b, where, NULL, "%s", what);
	else if (v->pattern.relay && !b->relayed)
		DHCP_COMPLAIN(b, where, NULL, "{relay} needs a relay");
	else if (v->pattern.max_len > room)
		DHCP_COMPLAIN(
			b, where, NULL, "too long: %u bytes (up to %u)", v->pattern.max_len, room);
	else
		return true;
	return false;
}

bool dhcp_template_compile(struct dhcp_build *b, struct dhcp_varying *v, enum pattern_kind kind,
	const char *const *where, uint32_t room)
{
	return compile(b, v, kind, *where, where, room);
}

bool dhcp_template_has_address(const struct dhcp_varying *v)
{
	for (uint32_t i = 0; i < v->pattern.count; i++)
		if (v->pattern.pieces[i].kind == PATTERN_ADDRESS)
			return true;
	return false;
}

bool dhcp_template_identity(struct dhcp_build *b, struct dhcp_varying *v, enum pattern_kind kind,
	const char *text, const void *where, uint32_t room)
{
	if (!compile(b, v, kind, text, where, room))
		return false;
	if (!dhcp_template_has_address(v))
		return true;
	DHCP_COMPLAIN(b, where, NULL, "{address} differs between the messages of a client");
	return false;
}

void dhcp_template_literal(
	struct dhcp_build *b, struct dhcp_varying *v, const void *data, uint32_t len)
{
	struct pattern_piece *piece = arena_zalloc(b->arena, sizeof(*piece));
	uint8_t *copy = arena_zalloc(b->arena, len ? len : 1);

	if (len)
		memcpy(copy, data, len);
	*piece = (struct pattern_piece){
		.kind = PATTERN_LITERAL, .width = (uint16_t)len, .literal = copy};
	v->pattern = (struct pattern){
		.kind = PATTERN_HEX, .pieces = piece, .count = 1, .max_len = len, .fixed = true};
}

bool dhcp_template_value(struct dhcp_build *b, struct dhcp_varying *v, const void *code,
	const struct dhcp_value_settings *s)
{
	int given = (s->text != NULL) + (s->hex != NULL) + (s->address.count > 0);
	uint32_t len = b->clients.addr_len;
	const struct addr *a = s->address.items;
	uint8_t *bytes;

	if (given != 1) {
		DHCP_COMPLAIN(b, code, NULL, "needs a value (one of text, hex and address)");
		return false;
	}
	for (uint32_t i = 0; i < s->messages.count; i++)
		v->steps |= (uint16_t)(1u << ((const int32_t *)s->messages.items)[i]);
	if (s->text)
		return dhcp_template_compile(b, v, PATTERN_TEXT, &s->text, b->option_room);
	if (s->hex)
		return dhcp_template_compile(b, v, PATTERN_HEX, &s->hex, b->option_room);
	if (!dhcp_addresses_check(&s->address, NULL, len, b->option_room / len, b->d)) {
		b->failed = true;
		return false;
	}
	bytes = arena_zalloc(b->arena, s->address.count * len);
	for (uint32_t i = 0; i < s->address.count; i++)
		memcpy(bytes + i * len, a[i].bytes, len);
	dhcp_template_literal(b, v, bytes, s->address.count * len);
	return true;
}

void dhcp_build_expected(struct dhcp_build *b, const struct field_list *list, uint64_t most)
{
	const struct dhcp_expected_settings *s = list->items;

	b->plan->expected = dhcp_list_make(b, DHCP_EXPECTED_MAX);
	if (list->count > DHCP_EXPECTED_MAX)
		DHCP_COMPLAIN(
			b, list, NULL, "%u options (up to %u)", list->count, DHCP_EXPECTED_MAX);
	for (uint32_t i = 0; i < list->count && i < DHCP_EXPECTED_MAX; i++) {
		struct dhcp_varying v = {.code = (uint16_t)s[i].code};

		if (s[i].code > most)
			DHCP_COMPLAIN(b, &s[i], "code", "not an option code (1 to %llu)",
				(unsigned long long)most);
		else if (dhcp_template_value(b, &v, &s[i], &s[i].value))
			dhcp_list_add(&b->plan->expected, &v);
	}
}

bool dhcp_expected_check(struct dhcp_worker *w, const struct pattern_values *client, uint32_t place,
	const uint8_t *data, uint32_t len)
{
	struct dhcp_unlike *u = &w->unlike[place];
	uint8_t wanted[EXPECTED_ROOM];
	struct writer to = writer_of(wanted, sizeof(wanted));

	dhcp_varying_write(client, &w->plan->expected.items[place], &to);
	if (data && !to.failed && len == (uint32_t)(to.at - wanted) &&
		memcmp(data, wanted, len) == 0)
		return true;
	if (u->count++)
		return false;
	u->client = (uint32_t)client->client;
	u->missing = !data;
	u->len = (uint8_t)(len < DHCP_UNLIKE_SHOWN ? len : DHCP_UNLIKE_SHOWN);
	if (data)
		memcpy(u->bytes, data, u->len);
	return false;
}

struct dhcp_varying_list dhcp_list_make(struct dhcp_build *b, uint32_t room)
{
	return (struct dhcp_varying_list){
		arena_zalloc(b->arena, room * sizeof(struct dhcp_varying)), 0};
}

void dhcp_list_add(struct dhcp_varying_list *l, const struct dhcp_varying *v)
{
	l->items[l->count++] = *v;
}

uint32_t dhcp_list_room(const struct dhcp_varying_list *l, uint32_t step, uint32_t head)
{
	uint32_t room = 0;

	for (uint32_t i = 0; i < l->count; i++)
		if (dhcp_varying_is_in(&l->items[i], step))
			room += l->items[i].pattern.max_len +
			        head * (head == 2 ? dhcp_pieces(l->items[i].pattern.max_len) : 1);
	return room;
}

uint8_t *dhcp_option_begin(struct writer *w, uint16_t code, bool wide)
{
	uint8_t *head = write_space(w, wide ? 4 : 2);

	if (head && wide)
		bytes_put_be16(head, code);
	else if (head)
		head[0] = (uint8_t)code;
	return head;
}

// Split into pieces of 255 bytes (RFC 3396), last one first: each moves behind the heads before it.
static void split(struct writer *w, uint8_t *head, uint32_t len)
{
	uint32_t pieces = dhcp_pieces(len);

	if (!write_space(w, 2 * (pieces - 1)))
		return;
	for (uint32_t i = pieces; i-- > 0;) {
		uint32_t size = i + 1 < pieces ? DHCP_PIECE : len - DHCP_PIECE * (pieces - 1);
		uint8_t *to = head + (size_t)(DHCP_PIECE + 2) * i;

		memmove(to + 2, head + 2 + (size_t)DHCP_PIECE * i, size);
		to[0] = head[0];
		to[1] = (uint8_t)size;
	}
}

void dhcp_option_end(struct writer *w, uint8_t *head, bool wide)
{
	uint32_t len;

	if (!head)
		return;
	if (wide) {
		bytes_put_be16(head + 2, (uint16_t)(w->at - head - 4));
		return;
	}
	len = (uint32_t)(w->at - head - 2);
	head[1] = (uint8_t)len;
	if (len > DHCP_PIECE)
		split(w, head, len);
}

void dhcp_varying_write(
	const struct pattern_values *client, const struct dhcp_varying *v, struct writer *w)
{
	struct pattern_values values = *client;

	values.seed = rand_hash(client->seed ^ v->salt);
	pattern_write(&v->pattern, &values, w);
}

void dhcp_varying_options(const struct pattern_values *client, const struct dhcp_varying_list *l,
	uint32_t step, bool wide, struct writer *w)
{
	for (const struct dhcp_varying *v = l->items; v < l->items + l->count; v++) {
		uint8_t *head, *len;

		if (!dhcp_varying_is_in(v, step))
			continue;
		if (v->whole) {
			dhcp_varying_write(client, v, w);
			continue;
		}
		head = dhcp_option_begin(w, v->code, wide);
		if (v->has_enterprise)
			write_be32(w, v->enterprise);
		len = v->has_len ? write_space(w, 2) : NULL;
		dhcp_varying_write(client, v, w);
		if (len)
			bytes_put_be16(len, (uint16_t)(w->at - len - 2));
		dhcp_option_end(w, head, wide);
	}
}

// Convert dotted text, which starts one byte after `at`, to length-prefixed labels (RFC 1035
// section 3.1). A single label is a partial name and gets no root.
static void name_labels(struct writer *w, uint8_t *at)
{
	uint8_t *label = at;

	for (uint8_t *c = at + 1; c < w->at; c++) {
		if (*c != '.')
			continue;
		*label = (uint8_t)(c - label - 1);
		label = c;
	}
	*label = (uint8_t)(w->at - label - 1);
	if (*label && label != at)
		write_u8(w, 0);
}

// In DHCPv4, two obsolete RCODEs follow the flags, and the name may be text.
void dhcp_fqdn_write(
	const struct pattern_values *client, const struct dhcp_plan *p, bool wide, struct writer *w)
{
	uint8_t *head, *name;

	if (!p->fqdn.code)
		return;
	head = dhcp_option_begin(w, p->fqdn.code, wide);
	write_u8(w, p->fqdn_flags);
	if (!wide)
		write_be16(w, 0);
	name = wide || (p->fqdn_flags & FQDN_E) ? write_space(w, 1) : NULL;
	dhcp_varying_write(client, &p->fqdn, w);
	if (name && !w->failed)
		name_labels(w, name);
	dhcp_option_end(w, head, wide);
}

void dhcp_fqdn_name(
	const struct pattern_values *client, const struct dhcp_plan *p, struct writer *w)
{
	uint8_t *at = write_space(w, 1);

	dhcp_varying_write(client, &p->fqdn, w);
	if (at && !w->failed)
		name_labels(w, at);
}

static bool labels_are_right(const struct pattern *p, uint64_t client)
{
	uint8_t text[NAME_MAX_LEN], some[16];
	struct pattern_values v = {.client = client, .mac = some, .relay = some, .address = some};
	struct writer w = writer_of(text, sizeof(text));
	const uint8_t *label = text;

	memset(some, 0xff, sizeof(some));
	pattern_write(p, &v, &w);
	for (const uint8_t *c = text; c <= w.at; c++) {
		if (c < w.at && *c != '.')
			continue;
		if (c - label > LABEL_MAX || (c == label && c < w.at))
			return false;
		label = c + 1;
	}
	return true;
}

// Do all labels of the clients' names have a valid length? The last client has the longest ones,
// unless names come from a file.
static bool name_check(const struct pattern *p, uint64_t clients)
{
	if (p->table && p->table->rows == 0)
		return true; // not read yet
	for (uint64_t client = 0; p->table && client + 1 < clients; client++)
		if (!labels_are_right(p, client))
			return false;
	return labels_are_right(p, clients - 1);
}

void dhcp_build_begin(struct dhcp_build *b, struct dhcp_plan *p, const struct dhcp_settings *s,
	uint32_t option_room, uint32_t room, uint16_t has, struct diag *d)
{
	const struct dhcp_family *f = p->family;
	const struct pattern_table *unread = s->client_file || s->wire ? &dhcp_table_unread : NULL;
	const struct pattern_table *table = p->table.is.columns ? &p->table.is : unread;

	*b = (struct dhcp_build){.plan = p,
		.settings = s,
		.arena = p->arena,
		.d = d,
		.clients = {p->clients, p->mac_len, f->addr_len, table, NULL},
		.option_room = option_room,
		.relayed = s->relay != NULL};
	for (uint32_t i = 0; i < f->steps; i++)
		b->usual |= (uint16_t)((f->kinds[i].has & has) != 0) << i;
	b->fixed = dhcp_list_make(b, s->options.count + room);
	p->options = dhcp_list_make(b, s->options.count + room);
}

const char *dhcp_taken_why(const struct dhcp_taken *taken, uint64_t code, uint8_t in)
{
	while (taken->why && (taken->code != code || !(taken->in & in)))
		taken++;
	return taken->why;
}

void dhcp_build_fixed(const struct dhcp_build *b, uint32_t step, bool wide, struct writer *w)
{
	dhcp_varying_options(&(struct pattern_values){0}, &b->fixed, step, wide, w);
}

// Does it contain the transaction ID, which is the first place?
static bool has_xid(const struct pattern *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->pieces[i].kind == PATTERN_PLACE && p->pieces[i].width == 0)
			return true;
	return false;
}

const struct dhcp_varying *dhcp_build_raw(
	struct dhcp_build *b, uint32_t step, const struct pattern_place *places, uint32_t room)
{
	const struct dhcp_raw_settings *all = b->settings->raw.items, *s = NULL;
	struct dhcp_varying *v;

	for (uint32_t i = 0; i < b->settings->raw.count; i++) {
		if (all[i].message != (int32_t)step)
			continue;
		if (s)
			DHCP_COMPLAIN(b, &all[i].message, NULL, "the message is there twice");
		s = &all[i];
	}
	if (!s)
		return NULL;
	v = arena_zalloc(b->arena, sizeof(*v));
	b->clients.places = places;
	if (compile(b, v, PATTERN_HEX, s->hex, &s->hex, room) && !has_xid(&v->pattern))
		DHCP_COMPLAIN(b, &s->hex, NULL, "needs {xid}: replies are known by it");
	b->clients.places = NULL;
	return v;
}

void dhcp_build_fqdn(struct dhcp_build *b, uint16_t code, uint32_t room, uint8_t no_update)
{
	const struct dhcp_fqdn_settings *s = b->settings->fqdn;
	struct dhcp_plan *p = b->plan;

	if (!s)
		return;
	p->fqdn.code = code;
	p->fqdn_flags = (uint8_t)((s->server_update && !s->no_update ? FQDN_S : 0) |
				  (s->wire ? FQDN_E : 0) | (s->no_update ? no_update : 0));
	if (dhcp_template_compile(b, &p->fqdn, PATTERN_TEXT, &s->name, room) &&
		!name_check(&p->fqdn.pattern, b->clients.count))
		DHCP_COMPLAIN(
			b, &s->name, NULL, "a label of a name has 1 to %u characters", LABEL_MAX);
}
