// SPDX-License-Identifier: BSD-3-Clause
// Compiles the text of a setting to pieces, or explains its error. Not here: writing
// them (pattern_wire.c). Path: cold. Management thread.

#include "base/pattern.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LEN_MAX     65535
#define DECIMAL_MAX 20
#define HEX_MAX     16
#define BYTES_MAX   8
#define BYTES_USUAL 4
#define RANDOM_MAX  255
#define IPV4_TEXT   15 // characters
#define IPV6_TEXT   39
#define VLAN_TEXT   4
#define SHOWN_MAX   32 // of a bad name, in a complaint

#define TEXT_NAMES                                                                                 \
	"{client}, {client:N}, {client:0Nx}, {mac}, {relay}, {address}, {vlan}, {outer}, "         \
	"{inner}, "                                                                                \
	"{random:N} or {file:N} (like host-{client}; a brace itself is {{)"
#define HEX_NAMES                                                                                  \
	"{client}, {client:N}, {mac}, {relay}, {address}, {vlan}, {outer}, {inner}, {random:N} "   \
	"or "                                                                                      \
	"{file:N} (like "                                                                          \
	"ff{client:4}{mac})"

struct compile {
	struct pattern *p;
	struct pattern_piece *pieces;
	uint8_t *literals; // where the next literal byte goes
	const struct pattern_clients *clients;
	char *what;
	uint32_t room;
};

// The text between the braces.
struct name {
	const char *text;
	uint32_t len;      // up to the colon
	const char *width; // after it; NULL: no colon
	uint32_t width_len;
};

#define COMPLAIN(c, ...) (snprintf((c)->what, (c)->room, __VA_ARGS__), -EINVAL)

static int complain_name(struct compile *c, const struct name *n, const char *allowed)
{
	uint32_t len = n->len + (n->width ? n->width_len + 1 : 0);

	return COMPLAIN(c, "{%.*s%s} is not %s", (int)(len < SHOWN_MAX ? len : SHOWN_MAX), n->text,
		len < SHOWN_MAX ? "" : "...", allowed);
}

static bool name_is(const struct name *n, const char *word)
{
	return n->len == strlen(word) && memcmp(n->text, word, n->len) == 0;
}

static int piece_add(struct compile *c, enum pattern_piece_kind kind, uint32_t width, uint32_t len)
{
	c->pieces[c->p->count++] = (struct pattern_piece){.kind = kind, .width = (uint16_t)width};
	c->p->max_len += len;
	c->p->fixed = false;
	return 0;
}

static int literal_add(struct compile *c, uint8_t byte)
{
	struct pattern_piece *last = &c->pieces[c->p->count];

	if (c->p->count == 0 || last[-1].kind != PATTERN_LITERAL) {
		*last++ = (struct pattern_piece){.kind = PATTERN_LITERAL, .literal = c->literals};
		c->p->count++;
	}
	last[-1].width++;
	c->p->max_len++;
	*c->literals++ = byte;
	return 0;
}

// A decimal number from 1 to max; 0 for any other text.
static uint32_t width_read(const char *text, uint32_t len, uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		n = n * 10 + (uint32_t)(text[i] - '0');
		if (n > max)
			return 0;
	}
	return n;
}

static uint32_t decimal_len(uint64_t n)
{
	uint32_t len = 1;

	for (; n >= 10; n /= 10)
		len++;
	return len;
}

static int client_text(struct compile *c, const struct name *n)
{
	uint32_t width;

	if (!n->width)
		return piece_add(c, PATTERN_CLIENT_DECIMAL, 0,
			decimal_len(c->clients->count ? c->clients->count - 1 : 0));
	if (n->width_len > 1 && n->width[n->width_len - 1] == 'x') {
		width = width_read(n->width, n->width_len - 1, HEX_MAX);
		if (width && n->width[0] == '0')
			return piece_add(c, PATTERN_CLIENT_HEX, width, width);
	} else {
		width = width_read(n->width, n->width_len, DECIMAL_MAX);
		if (width)
			return piece_add(c, PATTERN_CLIENT_DECIMAL, width, width);
	}
	return complain_name(c, n,
		"{client:N} with 1 to 20 digits or {client:0Nx} with 1 to 16 (like {client:04x})");
}

static int client_hex(struct compile *c, const struct name *n)
{
	uint32_t width = BYTES_USUAL;

	if (n->width)
		width = width_read(n->width, n->width_len, BYTES_MAX);
	if (!width)
		return complain_name(c, n, "{client:N} with 1 to 8 bytes (like {client:4})");
	return piece_add(c, PATTERN_CLIENT_BYTES, width, width);
}

static int random_add(struct compile *c, const struct name *n)
{
	uint32_t width = n->width ? width_read(n->width, n->width_len, RANDOM_MAX) : 0;

	if (!width)
		return complain_name(
			c, n, "{random:N} with 1 to 255 characters or bytes (like {random:8})");
	return piece_add(c, PATTERN_RANDOM, width, width);
}

static int address_add(struct compile *c, enum pattern_piece_kind kind)
{
	uint32_t text = c->p->addr_len == 4 ? IPV4_TEXT : IPV6_TEXT;

	return piece_add(c, kind, 0, c->p->kind == PATTERN_TEXT ? text : c->p->addr_len);
}

static int digit_value(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	ch |= 'a' ^ 'A';
	return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

// The first row with a field that is not pairs of hex digits; the number of rows if there is no
// such row.
static uint64_t odd_row(const struct pattern_table *t, uint32_t column)
{
	for (uint64_t row = 0; row < t->rows; row++) {
		const uint32_t *at = t->at + row * t->columns + column;
		uint32_t digits = 0;

		for (uint32_t i = at[0]; i < at[1]; i++) {
			if (digits % 2 == 0 && t->bytes[i] == ':')
				continue;
			digits++;
			if (digit_value((char)t->bytes[i]) < 0)
				return row;
		}
		if (digits % 2)
			return row;
	}
	return t->rows;
}

static int file_add(struct compile *c, const struct name *n)
{
	const struct pattern_table *t = c->clients->table;
	uint32_t column = n->width ? width_read(n->width, n->width_len, UINT16_MAX) : 0, len;
	uint64_t odd;

	if (!column)
		return complain_name(c, n, "{file:N} with the number of a column (like {file:2})");
	if (!t)
		return COMPLAIN(c, "{file:%u} needs a client_file", column);
	if (column > t->columns)
		return COMPLAIN(c, "{file:%u}: the file has %u column%s", column, t->columns,
			t->columns == 1 ? "" : "s");
	odd = c->p->kind == PATTERN_HEX ? odd_row(t, column - 1) : t->rows;
	if (odd < t->rows)
		return COMPLAIN(c, "{file:%u}: the field of client %llu is not pairs of hex digits",
			column, (unsigned long long)odd);
	c->p->table = t;
	len = t->longest[column - 1];
	return piece_add(c, PATTERN_FILE, column - 1, c->p->kind == PATTERN_HEX ? len / 2 : len);
}

// Returns false if the place is unknown.
static bool place_add(struct compile *c, const struct name *n)
{
	const struct pattern_place *places = c->p->kind == PATTERN_HEX ? c->clients->places : NULL;

	for (uint32_t i = 0; places && places[i].name && !n->width; i++)
		if (name_is(n, places[i].name)) {
			piece_add(c, PATTERN_PLACE, i, places[i].most);
			return true;
		}
	return false;
}

static int name_add(struct compile *c, const struct name *n)
{
	bool text = c->p->kind == PATTERN_TEXT;
	uint32_t mac_len = c->clients->mac_len;

	if (name_is(n, "client"))
		return text ? client_text(c, n) : client_hex(c, n);
	if (name_is(n, "random"))
		return random_add(c, n);
	if (name_is(n, "file"))
		return file_add(c, n);
	if (place_add(c, n))
		return 0;
	if (!n->width && name_is(n, "mac"))
		return piece_add(c, PATTERN_MAC, mac_len, text ? 3 * mac_len - 1 : mac_len);
	if (!n->width && name_is(n, "outer"))
		return piece_add(c, PATTERN_OUTER, 0, text ? VLAN_TEXT : 2);
	if (!n->width && name_is(n, "inner"))
		return piece_add(c, PATTERN_INNER, 0, text ? VLAN_TEXT : 2);
	if (!n->width && name_is(n, "vlan"))
		return piece_add(c, PATTERN_VLAN, 0, text ? VLAN_TEXT : 2);
	if (!n->width && name_is(n, "address"))
		return address_add(c, PATTERN_ADDRESS);
	if (!n->width && name_is(n, "relay")) {
		c->p->relay = true;
		return address_add(c, PATTERN_RELAY);
	}
	return complain_name(c, n, text ? TEXT_NAMES : HEX_NAMES);
}

// *text is after the open brace and is moved past the closing one.
static int braces_read(struct compile *c, const char **text)
{
	const char *end = *text + strcspn(*text, "{}"), *colon;
	struct name n = {.text = *text};

	if (*end != '}')
		return COMPLAIN(c, "an open brace without its end%s",
			c->p->kind == PATTERN_TEXT ? " (a brace itself is {{)" : "");
	colon = memchr(*text, ':', (size_t)(end - *text));
	n.len = (uint32_t)((colon ? colon : end) - *text);
	if (colon) {
		n.width = colon + 1;
		n.width_len = (uint32_t)(end - n.width);
	}
	*text = end + 1;
	return name_add(c, &n);
}

static int text_next(struct compile *c, const char **text)
{
	if (**text != '{')
		return literal_add(c, (uint8_t) * (*text)++);
	if ((*text)[1] == '{') {
		*text += 2;
		return literal_add(c, '{');
	}
	++*text;
	return braces_read(c, text);
}

static int hex_next(struct compile *c, const char **text)
{
	const char *at = *text;
	int high, low;

	if (*at == '{') {
		++*text;
		return braces_read(c, text);
	}
	if (strchr(" \t\r\n:", *at)) {
		++*text;
		return 0;
	}
	high = digit_value(at[0]);
	low = high < 0 ? -1 : digit_value(at[1]);
	if (high < 0 && (*at < ' ' || *at > '~'))
		return COMPLAIN(c, "byte 0x%02x is not a hex digit", (uint8_t)*at);
	if (high < 0)
		return COMPLAIN(c, "'%c' is not a hex digit or one of " HEX_NAMES, *at);
	if (low < 0)
		return COMPLAIN(c, "half a byte '%c': hex digits stand in pairs (like 0a:ff)", *at);
	*text += 2;
	return literal_add(c, (uint8_t)(high << 4 | low));
}

int pattern_compile(struct pattern *p, enum pattern_kind kind, const char *text,
	const struct pattern_clients *clients, struct arena *a, char *what, uint32_t room)
{
	struct compile c = {.p = p, .clients = clients, .what = what, .room = room};
	uint32_t names = 0;
	int err;

	*p = (struct pattern){.kind = kind, .fixed = true, .addr_len = clients->addr_len};
	if (strlen(text) > LEN_MAX)
		return COMPLAIN(&c, "longer than 65535 characters");
	for (const char *at = text; (at = strchr(at, '{')); at++)
		names++;
	c.pieces = arena_zalloc(a, (2 * names + 1) * sizeof(*c.pieces));
	c.literals = arena_zalloc(a, strlen(text) + 1);
	p->pieces = c.pieces;
	while (*text) {
		err = kind == PATTERN_TEXT ? text_next(&c, &text) : hex_next(&c, &text);
		if (err < 0)
			return err;
	}
	return 0;
}
