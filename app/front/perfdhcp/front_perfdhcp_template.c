// SPDX-License-Identifier: BSD-3-Clause
// Maps the messages read by -T to settings: the header, then option by option, with the client's
// number in place of the bytes selected by -O. Path: cold. Main thread.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "front/perfdhcp/front_perfdhcp.h"

#define TEMPLATE_MAX 1500
#define V4_OP        0
#define V4_HTYPE     1
#define V4_HLEN      2
#define V4_HOPS      3
#define V4_SECS      8
#define V4_GIADDR    24
#define V4_CHADDR    28
#define V4_OPTIONS   240 // after the cookie
#define V6_OPTIONS   4

struct template
{
	struct perfdhcp *p;
	const char *file;
	uint8_t bytes[TEMPLATE_MAX];
	unsigned len;
	unsigned last;  // offset of the client's last byte
	unsigned width; // number of client bytes
};

// An option of a DHCPv4 or DHCPv6 message.
struct template_option {
	unsigned code, at, len; // place of its content
};

static int refuse(const struct template *t, const char *why)
{
	return as_refuse(&t->p->run, "-T %s: %s", t->file, why);
}

static int read_template(struct template *t)
{
	FILE *f = fopen(t->file, "r");
	unsigned digits = 0, value;
	char c;

	if (!f)
		return refuse(t, strerror(errno));
	while (fscanf(f, " %c", &c) == 1 && digits < 2 * TEMPLATE_MAX) {
		if (sscanf((char[]){c, '\0'}, "%1x", &value) != 1)
			break;
		t->bytes[digits / 2] = (uint8_t)(t->bytes[digits / 2] << 4 | value);
		digits++;
	}
	value = !feof(f);
	fclose(f);
	t->len = digits / 2;
	if (value || digits % 2)
		return refuse(t, "not pairs of hex digits of 1500 bytes at most");
	return 0;
}

static unsigned number(const struct template *t, unsigned at, unsigned bytes)
{
	unsigned value = 0;

	while (bytes--)
		value = value << 8 | t->bytes[at++];
	return value;
}

// Read the option at *at and move *at past it. false: none, or truncated (*at = 0).
static bool next_option(const struct template *t, unsigned *at, struct template_option *o)
{
	unsigned head = t->p->v6 ? 4 : 2;

	while (!t->p->v6 && *at < t->len && t->bytes[*at] == 0)
		++*at;
	if (*at == t->len || (!t->p->v6 && t->bytes[*at] == 255))
		return false;
	if (*at + head > t->len) {
		*at = 0;
		return false;
	}
	*o = (struct template_option){
		number(t, *at, head / 2), *at + head, number(t, *at + head / 2, head / 2)};
	*at = o->at + o->len > t->len ? 0 : o->at + o->len;
	return *at > 0;
}

static bool has_client(const struct template *t, const struct template_option *o)
{
	return t->last >= o->at && t->last < o->at + o->len && t->last + 1 >= o->at + t->width;
}

// Bytes of the message as hex, with the client's number where needed.
static const char *hex_of(const struct template *t, const struct template_option *o)
{
	struct arena *a = t->p->run.arena;
	char *hex = arena_zalloc(a, 2 * o->len + 16), *to = hex;
	bool client = has_client(t, o);

	for (unsigned at = o->at; at < o->at + o->len; at++) {
		bool inside = client && at + t->width > t->last && at <= t->last;

		if (!inside)
			to += sprintf(to, "%02x", t->bytes[at]);
		else if (at == t->last)
			to += t->width == 6 ? sprintf(to, "{mac}")
			                    : sprintf(to, "{client:%u}", t->width);
	}
	return hex;
}

static const char *path(const struct template *t, const char *setting)
{
	return arena_printf(
		t->p->run.arena, "traffic.leases.%s.%s", t->p->v6 ? "dhcp6" : "dhcp4", setting);
}

static void set(struct template *t, const char *setting, const char *yaml)
{
	front_set_yaml(&t->p->run.front, arena_printf(t->p->run.arena, "-T %s", t->file),
		path(t, setting), yaml);
}

static void add_option(struct template *t, const char *code, const char *hex)
{
	front_add_yaml(&t->p->run.front, arena_printf(t->p->run.arena, "-T %s", t->file),
		path(t, "options"),
		arena_printf(t->p->run.arena, "{code: %s, hex: \"%s\"}", code, hex));
}

static void set_parameters(struct template *t, const struct template_option *o)
{
	struct arena *a = t->p->run.arena;
	unsigned width = t->p->v6 ? 2 : 1;
	const char *list = "";

	for (unsigned i = 0; i + width <= o->len; i += width)
		list = arena_printf(a, "%s%s%u", list, i ? ", " : "", number(t, o->at + i, width));
	set(t, "parameters", arena_printf(a, "[%s]", list));
}

// The identifier is type and address as in RFC 2132, or constant text for all clients.
static int set_client_id(struct template *t, const struct template_option *o)
{
	char *text = arena_zalloc(t->p->run.arena, o->len + 1);

	if (o->len == 7 &&
		(has_client(t, o) || memcmp(t->bytes + o->at + 1, t->bytes + V4_CHADDR, 6) == 0)) {
		set(t, "client_id", "mac");
		return 0;
	}
	if (has_client(t, o))
		return refuse(t, "-O points into option 61, which is not a type and a MAC address");
	memcpy(text, t->bytes + o->at, o->len);
	if (strlen(text) != o->len || strpbrk(text, "{}\"\\"))
		return refuse(t, "option 61 is neither a MAC address nor text");
	set(t, "client_id", "text");
	set(t, "client_id_text", arena_printf(t->p->run.arena, "\"%s\"", text));
	return 0;
}

static void add_relay_info(struct template *t, const struct template_option *o)
{
	for (unsigned at = o->at; at + 2 <= o->at + o->len;) {
		const struct template_option sub = {t->bytes[at], at + 2, t->bytes[at + 1]};

		if (sub.at + sub.len > o->at + o->len)
			return;
		add_option(
			t, arena_printf(t->p->run.arena, "\"82.%u\"", sub.code), hex_of(t, &sub));
		at = sub.at + sub.len;
	}
}

static int take_option4(struct template *t, const struct template_option *o)
{
	switch (o->code) {
	case 50:
	case 53:
	case 54: // DISCOVER and REQUEST have their own
		return 0;
	case 51:
		set(t, "lease_time", arena_printf(t->p->run.arena, "%us", number(t, o->at, 4)));
		return 0;
	case 55:
		set_parameters(t, o);
		return 0;
	case 61:
		return set_client_id(t, o);
	case 82:
		add_relay_info(t, o);
		return 0;
	default:
		add_option(t, arena_printf(t->p->run.arena, "%u", o->code), hex_of(t, o));
		return 0;
	}
}

static int take_option6(struct template *t, const struct template_option *o)
{
	switch (o->code) {
	case 1:
		set(t, "duid", "hex");
		set(t, "duid_hex", arena_printf(t->p->run.arena, "\"%s\"", hex_of(t, o)));
		return 0;
	case 2:
	case 8:
	case 14: // the exchange has its own
		return 0;
	case 3:
		set(t, "iaid", arena_printf(t->p->run.arena, "%u", number(t, o->at, 4)));
		return 0;
	case 6:
		set_parameters(t, o);
		return 0;
	case 25:
		return refuse(t, "option 25: -T asks for addresses only");
	default:
		add_option(t, arena_printf(t->p->run.arena, "%u", o->code), hex_of(t, o));
		return 0;
	}
}

static bool is_own(const struct template *t, unsigned code)
{
	static const unsigned own[2][5] = {{50, 53, 54, 61, 0}, {1, 2, 3, 6, 8}};

	for (unsigned i = 0; i < 5; i++)
		if (code == own[t->p->v6][i])
			return true;
	return false;
}

static unsigned options_at(const struct template *t)
{
	return t->p->v6 ? V6_OPTIONS : V4_OPTIONS;
}

static bool find_option(const struct template *t, unsigned code, struct template_option *o)
{
	for (unsigned at = options_at(t); next_option(t, &at, o);)
		if (o->code == code)
			return true;
	return false;
}

// Header fields that are equal in all messages of an exchange. kind: of the setting in `header`.
enum place_kind { PLACE_NONE, PLACE_NUMBER, PLACE_ADDRESS, PLACE_TEXT };

static const struct header_field {
	const char *name;
	unsigned at, len;
	enum place_kind kind;
	const char *setting; // NULL: same as name
} header_fields[] = {
	{"op", V4_OP, 1, PLACE_NONE, NULL},
	{"htype", V4_HTYPE, 1, PLACE_NUMBER, "htype"},
	{"hlen", V4_HLEN, 1, PLACE_NONE, NULL},
	{"hops", V4_HOPS, 1, PLACE_NUMBER, NULL},
	{"flags", 10, 2, PLACE_NUMBER, NULL},
	{"ciaddr", 12, 4, PLACE_ADDRESS, NULL},
	{"yiaddr", 16, 4, PLACE_ADDRESS, NULL},
	{"siaddr", 20, 4, PLACE_ADDRESS, NULL},
	{"giaddr", V4_GIADDR, 4, PLACE_ADDRESS, NULL},
	{"sname", 44, 64, PLACE_TEXT, NULL},
	{"file", 108, 128, PLACE_TEXT, NULL},
};

#define HEADER_FIELDS (sizeof(header_fields) / sizeof(header_fields[0]))

static bool is_zero(const struct template *t, unsigned at, unsigned len)
{
	while (len && t->bytes[at] == 0)
		at++, len--;
	return len == 0;
}

static const char *address_of(const struct template *t, unsigned at)
{
	const uint8_t *b = t->bytes + at;

	return arena_printf(t->p->run.arena, "%u.%u.%u.%u", b[0], b[1], b[2], b[3]);
}

// Text up to the first zero, followed only by zeros; NULL: invalid.
static const char *text_of(const struct template *t, const struct header_field *f)
{
	const char *text =
		arena_printf(t->p->run.arena, "%.*s", (int)f->len, (const char *)t->bytes + f->at);
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~' || strchr("{}\"\\", text[i]))
			return NULL;
	return is_zero(t, f->at + (unsigned)len, f->len - (unsigned)len) ? text : NULL;
}

// The default value of the field.
static unsigned usual_of(const struct template *t, const struct header_field *f)
{
	return f->at == V4_HTYPE || (f->at == V4_HOPS && t->p->relay);
}

static int take_field(struct template *t, const struct header_field *f)
{
	struct arena *a = t->p->run.arena;
	const char *setting = f->setting ? f->setting : arena_printf(a, "header.%s", f->name);
	const char *text;

	switch (f->kind) {
	case PLACE_NONE:
		break;
	case PLACE_NUMBER:
		if (number(t, f->at, f->len) != usual_of(t, f))
			set(t, setting, arena_printf(a, "%u", number(t, f->at, f->len)));
		break;
	case PLACE_ADDRESS:
		if (!is_zero(t, f->at, f->len))
			set(t, setting, address_of(t, f->at));
		break;
	case PLACE_TEXT:
		text = text_of(t, f);
		if (!text)
			return refuse(t, arena_printf(a, "%s is not text", f->name));
		if (*text)
			set(t, setting, arena_printf(a, "\"%s\"", text));
		break;
	}
	return 0;
}

// Replies go to giaddr. If it is zero, the message comes from a client, and this host inserts its
// own address. Returns whether the setting is needed.
static bool takes_giaddr(const struct template *t)
{
	const char *own = t->p->relay, *given = address_of(t, V4_GIADDR);
	bool none = is_zero(t, V4_GIADDR, 4);

	if (own && none)
		as_note(&t->p->run,
			"-T %s: giaddr is 0.0.0.0, to which no server replies: it is %s, and hops "
			"1",
			t->file, own);
	else if (own && strcmp(own, given) != 0)
		as_note(&t->p->run, "-T %s: giaddr is %s: servers reply to it, and not to %s here",
			t->file, given, own);
	return !none && (!own || strcmp(own, given) != 0);
}

static int take_header(struct template *t)
{
	const bool relays = t->p->relay && is_zero(t, V4_GIADDR, 4), giaddr = takes_giaddr(t);
	unsigned secs = number(t, V4_SECS, 2);
	int err = 0;

	if (t->bytes[V4_OP] != 1 || t->bytes[V4_HLEN] != 6)
		return refuse(t, "op is not 1, or hlen is not 6");
	for (size_t i = 0; !err && i < HEADER_FIELDS; i++) {
		const struct header_field *f = &header_fields[i];

		if ((f->at != V4_HOPS || !relays) && (f->at != V4_GIADDR || giaddr))
			err = take_field(t, f);
	}
	if (secs)
		set(t, "secs", arena_printf(t->p->run.arena, "{from: %u}", secs));
	return err;
}

// REQUEST must have the first message's options, because our options apply to the whole exchange.
static int compare_templates(const struct template *first, const struct template *second)
{
	struct template_option o, other;

	for (unsigned i = 0; !first->p->v6 && i < HEADER_FIELDS; i++) {
		const struct header_field *f = &header_fields[i];

		if (memcmp(first->bytes + f->at, second->bytes + f->at, f->len) != 0)
			return as_refuse(&first->p->run,
				"-T %s: %s differs from that in %s (it must be the same in all "
				"messages of an exchange)",
				second->file, f->name, first->file);
	}
	for (unsigned at = options_at(second); next_option(second, &at, &o);) {
		if (is_own(second, o.code))
			continue;
		if (!find_option(first, o.code, &other) || other.len != o.len ||
			memcmp(first->bytes + other.at, second->bytes + o.at, o.len) != 0)
			return as_refuse(&first->p->run,
				"-T %s: option %u differs from that in %s (all messages of an "
				"exchange have the same options)",
				second->file, o.code, first->file);
	}
	return 0;
}

static int check_type(const struct template *t, unsigned index)
{
	static const unsigned types[2][2] = {{1, 3}, {1, 3}};
	struct template_option o;
	unsigned at = options_at(t);

	if (t->len < options_at(t))
		return refuse(t, "too short for a message");
	while (next_option(t, &at, &o))
		;
	if (at == 0)
		return refuse(t, "its last option is cut off");
	if (!t->p->v6 && (!find_option(t, 53, &o) || o.len != 1))
		return refuse(t, "option 53 is missing");
	if ((t->p->v6 ? t->bytes[0] : t->bytes[o.at]) != types[t->p->v6][index])
		return refuse(t, index      ? "not a REQUEST"
				 : t->p->v6 ? "not a SOLICIT"
					    : "not a DISCOVER");
	return 0;
}

// Check the offsets given by perfdhcp options: the transaction ID has a fixed offset, and other
// fields are found by code.
static int check_offsets(const struct template *t, unsigned index)
{
	const char *xid = perfdhcp_nth(t->p, 'X', index);

	if (xid && strtoul(xid, NULL, 10) != (t->p->v6 ? 1 : 4))
		return as_refuse(&t->p->run, "-X %s: the transaction id is at offset %u", xid,
			t->p->v6 ? 1 : 4);
	return 0;
}

// Bytes needed to distinguish the clients, as counted by the original.
static unsigned width_of(const struct perfdhcp *p)
{
	const char *clients = perfdhcp_value(p, 'R');
	unsigned long last = clients ? strtoul(clients, NULL, 10) : 1;
	unsigned width = 1;

	for (last -= last > 0; last > 255; last >>= 8)
		width++;
	return width;
}

static int load(struct template *t, unsigned index)
{
	const char *last = perfdhcp_nth(t->p, 'O', index);
	int err;

	last = last ? last : perfdhcp_nth(t->p, 'O', 0);
	t->file = perfdhcp_nth(t->p, 'T', index);
	t->width = t->p->v6 ? width_of(t->p) : 6;
	// Without -O, the original's offset is after the DHCPv4 address.
	t->last = last ? (unsigned)strtoul(last, NULL, 10) : t->p->v6 ? 21 : V4_CHADDR + 5;
	err = read_template(t);
	err = err ? err : check_type(t, index);
	return err ? err : check_offsets(t, index);
}

// Does -O point at an option or at the client's address?
static bool finds_client(const struct template *t)
{
	struct template_option o;

	if (!t->p->v6 && t->last == V4_CHADDR + 5)
		return true;
	for (unsigned at = options_at(t); next_option(t, &at, &o);)
		if (has_client(t, &o))
			return true;
	return false;
}

static int take(struct template *t)
{
	struct template_option o;
	int err = 0;

	if (!finds_client(t))
		return as_refuse(&t->p->run,
			"-O %u: neither in an option nor in the hardware "
			"address",
			t->last);
	set(t, "parameters", "[]"); // unless the option follows
	if (!t->p->v6) {
		set(t, "client_id", "none");
		set(t, "pad", arena_printf(t->p->run.arena, "%u", t->len));
		set(t, "broadcast_flag", "false");
		err = take_header(t);
	}
	for (unsigned at = options_at(t); !err && next_option(t, &at, &o);)
		err = t->p->v6 ? take_option6(t, &o) : take_option4(t, &o);
	return err;
}

int perfdhcp_map_templates(struct perfdhcp *p)
{
	struct template first = {.p = p}, second = {.p = p};
	int err = 0;

	if (!perfdhcp_times(p, 'T'))
		return 0;
	err = load(&first, 0);
	err = err ? err : take(&first);
	if (err || perfdhcp_times(p, 'T') < 2)
		return err;
	err = load(&second, 1);
	return err ? err : compare_templates(&first, &second);
}
