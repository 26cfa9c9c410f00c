// SPDX-License-Identifier: BSD-3-Clause
// Writing compiled templates: one small writer per kind of piece. Path: hot. Any thread.

#include "base/pattern.h"

#include "base/rand.h"

#define DECIMAL_MAX 20 // digits of 2^64-1
#define DRAW        8  // characters or bytes of one draw
#define LETTERS     36

static void decimal_write(struct writer *w, uint64_t n, uint32_t width)
{
	uint8_t digits[DECIMAL_MAX];
	uint32_t at = DECIMAL_MAX;

	do {
		digits[--at] = (uint8_t)('0' + n % 10);
		n /= 10;
	} while (at > 0 && (width ? DECIMAL_MAX - at < width : n > 0));
	write_bytes(w, digits + at, DECIMAL_MAX - at);
}

static void hex_write(struct writer *w, uint64_t n, uint32_t width)
{
	uint8_t *p = write_space(w, width);

	if (!p)
		return;
	for (uint8_t *at = p + width; at > p; n >>= 4)
		*--at = (uint8_t) "0123456789abcdef"[n & 15];
}

static void bytes_write(struct writer *w, uint64_t n, uint32_t width)
{
	uint8_t *p = write_space(w, width);

	if (!p)
		return;
	for (uint32_t i = width; i > 0; i--, n >>= 8)
		p[i - 1] = (uint8_t)n;
}

static void mac_write(struct writer *w, const uint8_t *mac, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		if (i)
			write_u8(w, ':');
		hex_write(w, mac[i], 2);
	}
}

static void dotted_write(struct writer *w, const uint8_t address[4])
{
	for (uint32_t i = 0; i < 4; i++) {
		if (i)
			write_u8(w, '.');
		decimal_write(w, address[i], 0);
	}
}

// The first of the longest runs of at least two zero groups, and its length in *len; 0 if there is
// no such run.
static uint32_t zeros_find(const uint16_t groups[8], uint32_t *len)
{
	uint32_t first = 0;

	*len = 0;
	for (uint32_t i = 0, n = 0; i < 8; i++) {
		n = groups[i] ? 0 : n + 1;
		if (n < 2 || n <= *len)
			continue;
		*len = n;
		first = i + 1 - n;
	}
	return first;
}

static void group_write(struct writer *w, uint16_t group)
{
	hex_write(w, group, group > 0xfff ? 4 : group > 0xff ? 3 : group > 0xf ? 2 : 1);
}

// RFC 5952, without its notation for embedded IPv4.
static void colons_write(struct writer *w, const uint8_t address[16])
{
	uint16_t groups[8];
	uint32_t zeros, zeros_len;

	for (uint32_t i = 0; i < 8; i++)
		groups[i] = bytes_be16(address + 2 * i);
	zeros = zeros_find(groups, &zeros_len);
	for (uint32_t i = 0; i < 8; i++) {
		if (zeros_len && i == zeros) {
			write_bytes(w, "::", 2);
			i += zeros_len - 1;
			continue;
		}
		if (i && !(zeros_len && i == zeros + zeros_len))
			write_u8(w, ':');
		group_write(w, groups[i]);
	}
}

static void random_text(uint8_t *p, uint32_t width, struct rand *r)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < width; i++) {
		unsigned __int128 scaled;

		if (i % DRAW == 0)
			bits = rand_next(r);
		scaled = (unsigned __int128)bits * LETTERS;
		p[i] = (uint8_t) "abcdefghijklmnopqrstuvwxyz0123456789"[(uint32_t)(scaled >> 64)];
		bits = (uint64_t)scaled;
	}
}

static void random_bytes(uint8_t *p, uint32_t width, struct rand *r)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < width; i++, bits >>= 8) {
		if (i % DRAW == 0)
			bits = rand_next(r);
		p[i] = (uint8_t)bits;
	}
}

// Each {random} of a pattern has its own stream.
static void random_write(const struct pattern *p, uint32_t piece, uint64_t seed, struct writer *w)
{
	struct rand r = {rand_hash(seed) + rand_hash(piece)};
	uint32_t width = p->pieces[piece].width;
	uint8_t *at = write_space(w, width);

	if (!at)
		return;
	if (p->kind == PATTERN_TEXT)
		random_text(at, width, &r);
	else
		random_bytes(at, width, &r);
}

static void address_write(const struct pattern *p, const uint8_t *address, struct writer *w)
{
	if (p->kind == PATTERN_HEX)
		write_bytes(w, address, p->addr_len);
	else if (p->addr_len == 4)
		dotted_write(w, address);
	else
		colons_write(w, address);
}

static void vlan_write(const struct pattern *p, uint16_t vlan, struct writer *w)
{
	if (p->kind == PATTERN_TEXT)
		decimal_write(w, vlan, 0);
	else
		bytes_write(w, vlan, 2);
}

static uint8_t digit_of(uint8_t c)
{
	return c <= '9' ? c - '0' : (c | ('a' ^ 'A')) - 'a' + 10;
}

// Pairs of hex digits, with colons between some of them.
static void pairs_write(struct writer *w, const uint8_t *digits, uint32_t len)
{
	for (uint32_t i = 0; i + 1 < len;) {
		if (digits[i] == ':') {
			i++;
			continue;
		}
		write_u8(w, (uint8_t)(digit_of(digits[i]) << 4 | digit_of(digits[i + 1])));
		i += 2;
	}
}

// A client without a line gets no bytes.
static void file_write(const struct pattern *p, uint32_t column, uint64_t client, struct writer *w)
{
	const struct pattern_table *t = p->table;
	const uint32_t *at;

	if (client >= t->rows)
		return;
	at = t->at + client * t->columns + column;
	if (p->kind == PATTERN_HEX)
		pairs_write(w, t->bytes + at[0], at[1] - at[0]);
	else
		write_bytes(w, t->bytes + at[0], at[1] - at[0]);
}

void pattern_write(const struct pattern *p, const struct pattern_values *v, struct writer *w)
{
	for (uint32_t i = 0; i < p->count; i++) {
		const struct pattern_piece *piece = &p->pieces[i];

		switch ((enum pattern_piece_kind)piece->kind) {
		case PATTERN_LITERAL:
			write_bytes(w, piece->literal, piece->width);
			break;
		case PATTERN_CLIENT_DECIMAL:
			decimal_write(w, v->client, piece->width);
			break;
		case PATTERN_CLIENT_HEX:
			hex_write(w, v->client, piece->width);
			break;
		case PATTERN_CLIENT_BYTES:
			bytes_write(w, v->client, piece->width);
			break;
		case PATTERN_MAC:
			if (p->kind == PATTERN_TEXT)
				mac_write(w, v->mac, piece->width);
			else
				write_bytes(w, v->mac, piece->width);
			break;
		case PATTERN_RELAY:
			address_write(p, v->relay, w);
			break;
		case PATTERN_ADDRESS:
			address_write(p, v->address, w);
			break;
		case PATTERN_RANDOM:
			random_write(p, i, v->seed, w);
			break;
		case PATTERN_OUTER:
			vlan_write(p, v->vlans.outer, w);
			break;
		case PATTERN_INNER:
			vlan_write(p, v->vlans.inner, w);
			break;
		case PATTERN_VLAN:
			vlan_write(p, v->vlans.inner ? v->vlans.inner : v->vlans.outer, w);
			break;
		case PATTERN_FILE:
			file_write(p, piece->width, v->client, w);
			break;
		case PATTERN_PLACE:
			write_bytes(w, v->places[piece->width].data, v->places[piece->width].len);
			break;
		}
	}
}
