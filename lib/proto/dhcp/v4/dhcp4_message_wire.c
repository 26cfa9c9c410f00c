// SPDX-License-Identifier: BSD-3-Clause
// Parses DHCPv4 messages from untrusted bytes: header, the joined options of all three fields, and
// layouts of messages already walked. Independent of exchanges. Path: hot. Any thread.

#include "proto/dhcp/v4/dhcp4_message.h"

#define PIECE_MAX   255
#define LEARN_EVERY 16 // messages without a known layout: some servers never repeat one
#define FILE_LEN    128
#define SNAME_LEN   64

enum overload { OVERLOAD_FILE = 1, OVERLOAD_SNAME = 2 };

enum joined { JOINED_CLIENT_ID, JOINED_RELAY_INFO, JOINED_MESSAGE };

struct walk {
	struct dhcp4_message *m;
	struct dhcp4_scratch *scratch;
	uint32_t type, overload;
	uint64_t incomplete; // bit per fixed-size option that is incomplete
	uint8_t have[64];    // bytes so far of each incomplete option
};

// One option as it appears in a field; again: a later piece of it.
struct piece {
	uint8_t code, len;
	bool again;
	const uint8_t *data;
};

// Read the next option of a field, skipping PAD; data NULL: it overruns the field. false: no more;
// the code is END if the field has one.
static inline bool option_next(struct reader *r, struct piece *o)
{
	do {
		o->code = reader_left(r) > 0 ? read_u8(r) : DHCP4_OPT_PAD;
	} while (o->code == DHCP4_OPT_PAD && reader_left(r) > 0);
	if (o->code == DHCP4_OPT_PAD || o->code == DHCP4_OPT_END)
		return false;
	o->len = read_u8(r);
	o->data = read_bytes(r, o->len);
	return true;
}

// Even fixed-size options may be split at the end of the options field (RFC 3396 section 5).
static __attribute__((noinline)) bool fixed_join(
	struct walk *k, const struct piece *o, uint8_t size, uint32_t *value)
{
	uint64_t bit = 1ull << o->code;
	uint8_t have = 0;

	if (o->again)
		have = k->incomplete & bit ? k->have[o->code] : size;
	if (have == size && o->len == size) {
		uint32_t second = size == 1 ? o->data[0] : bytes_be32(o->data);

		k->m->repeats = true;
		return second == *value && o->code != DHCP4_OPT_OVERLOAD;
	}
	if (o->len > size - have)
		return false;
	for (uint8_t i = 0; i < o->len; i++)
		*value = *value << 8 | o->data[i];
	k->have[o->code] = have + o->len;
	k->incomplete &= ~bit;
	if (have + o->len < size)
		k->incomplete |= bit;
	return true;
}

static inline bool number_add(struct walk *k, const struct piece *o, uint8_t size, uint32_t *value)
{
	if (o->len != size || o->again)
		return fixed_join(k, o, size, value);
	*value = size == 1 ? o->data[0] : bytes_be32(o->data);
	return true;
}

static inline bool joined_add(struct walk *k, const struct piece *o, enum joined which,
	const uint8_t **whole, uint16_t *whole_len)
{
	uint8_t *bytes = k->scratch->bytes[which];

	if (!*whole) {
		*whole = o->data;
		*whole_len = o->len;
		return true;
	}
	// A piece that is followed by another is usually full, so an equal one is a repetition.
	if (which != JOINED_MESSAGE && o->len == *whole_len && o->len < PIECE_MAX &&
		memcmp(*whole, o->data, o->len) == 0) {
		k->m->repeats = true;
		return true;
	}
	if (*whole_len + o->len > DHCP4_OPTION_MAX)
		return false;
	if (*whole != bytes)
		memcpy(bytes, *whole, *whole_len);
	memcpy(bytes + *whole_len, o->data, o->len);
	*whole = bytes;
	*whole_len = (uint16_t)(*whole_len + o->len);
	return true;
}

static const char *broken_by(uint8_t code)
{
#define OF_1 " is not of 1 octet, or twice"
#define OF_4 " is not of 4 octets, or twice with two values"
	static const char *const texts[] = {
		[DHCP4_OPT_REQUESTED_ADDRESS] = "option 50 (address)" OF_4,
		[DHCP4_OPT_LEASE_TIME] = "option 51 (lease time)" OF_4,
		[DHCP4_OPT_OVERLOAD] = "option 52 (overload)" OF_1,
		[DHCP4_OPT_TYPE] = "option 53 (message type)" OF_1 " with two values",
		[DHCP4_OPT_SERVER_ID] = "option 54 (server identifier)" OF_4,
		[DHCP4_OPT_T1] = "option 58 (T1)" OF_4,
		[DHCP4_OPT_T2] = "option 59 (T2)" OF_4,
	};
	const char *text = code < sizeof(texts) / sizeof(texts[0]) ? texts[code] : NULL;

	return text ? text : "option 56, 61 or 82 is too long when its pieces are put together";
}

static inline bool piece_add(struct walk *k, const struct piece *o)
{
	struct dhcp4_message *m = k->m;

	switch (o->code) {
	case DHCP4_OPT_TYPE:
		return number_add(k, o, 1, &k->type);
	case DHCP4_OPT_OVERLOAD:
		return number_add(k, o, 1, &k->overload);
	case DHCP4_OPT_SERVER_ID:
		return number_add(k, o, 4, &m->server_id);
	case DHCP4_OPT_LEASE_TIME:
		return number_add(k, o, 4, &m->lease_time);
	case DHCP4_OPT_T1:
		return number_add(k, o, 4, &m->t1);
	case DHCP4_OPT_T2:
		return number_add(k, o, 4, &m->t2);
	case DHCP4_OPT_REQUESTED_ADDRESS:
		return number_add(k, o, 4, &m->requested);
	case DHCP4_OPT_CLIENT_ID:
		return joined_add(k, o, JOINED_CLIENT_ID, &m->client_id, &m->client_id_len);
	case DHCP4_OPT_RELAY_INFO:
		return joined_add(k, o, JOINED_RELAY_INFO, &m->relay_info, &m->relay_info_len);
	case DHCP4_OPT_MESSAGE:
		return joined_add(k, o, JOINED_MESSAGE, &m->message, &m->message_len);
	case DHCP4_OPT_PARAMETERS:
		if (!m->parameters) {
			m->parameters = o->data;
			m->parameters_len = o->len;
		}
		return true;
	default:
		return true;
	}
}

static bool field_walk(struct walk *k, const uint8_t *field, uint32_t field_len, bool *ended)
{
	struct reader r = reader_of(field, field_len);
	struct piece o;

	while (option_next(&r, &o)) {
		uint64_t *present = &k->m->present[o.code >> 6], bit = 1ull << (o.code & 63);

		if (!o.data) {
			k->m->broken = "an option runs over the end";
			return false;
		}
		o.again = *present & bit;
		*present |= bit;
		if (!piece_add(k, &o)) {
			k->m->broken = broken_by(o.code);
			return false;
		}
	}
	*ended = o.code == DHCP4_OPT_END;
	return true;
}

static bool options_walk(struct walk *k, const uint8_t *buf, uint32_t len)
{
	bool ended;

	if (!field_walk(k, buf + DHCP4_OPTIONS_AT, len - DHCP4_OPTIONS_AT, &k->m->has_end))
		return false;
	k->m->broken = "option 52 (overload) is above 3";
	if (k->overload & ~(uint32_t)(OVERLOAD_FILE | OVERLOAD_SNAME))
		return false;
	if ((k->overload & OVERLOAD_FILE) && !field_walk(k, buf + DHCP4_AT_FILE, FILE_LEN, &ended))
		return false;
	if ((k->overload & OVERLOAD_SNAME) &&
		!field_walk(k, buf + DHCP4_AT_SNAME, SNAME_LEN, &ended))
		return false;
	k->m->broken = "an option of a fixed size is too short";
	return !k->incomplete;
}

static inline void header_read(struct dhcp4_message *m, const uint8_t *buf)
{
	m->op = buf[DHCP4_AT_OP];
	m->htype = buf[DHCP4_AT_HTYPE];
	m->hlen = buf[DHCP4_AT_HLEN];
	m->hops = buf[DHCP4_AT_HOPS];
	m->secs = bytes_be16(buf + DHCP4_AT_SECS);
	m->flags = bytes_be16(buf + DHCP4_AT_FLAGS);
	m->xid = bytes_be32(buf + DHCP4_AT_XID);
	m->ciaddr = bytes_be32(buf + DHCP4_AT_CIADDR);
	m->yiaddr = bytes_be32(buf + DHCP4_AT_YIADDR);
	m->siaddr = bytes_be32(buf + DHCP4_AT_SIADDR);
	m->giaddr = bytes_be32(buf + DHCP4_AT_GIADDR);
	m->chaddr = buf + DHCP4_AT_CHADDR;
}

// Notes taken during the walk through a message's options.
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

// Note the option whose code is at `at`. false: messages with such an option get no layout.
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

// Returns the length through END; 0: the layout cannot be learnt.
static uint32_t options_note(struct notes *n, const uint8_t *buf, uint32_t len)
{
	uint32_t at = DHCP4_OPTIONS_AT;

	// The message is well formed: every code except END and PAD has a length.
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

static void layout_learn(
	struct dhcp4_layouts *k, const uint8_t *buf, uint32_t len, const struct dhcp4_message *m)
{
	uint32_t next = (k->last + 1) % DHCP4_LAYOUTS;

	if (k->missed++ % LEARN_EVERY == 0 && layout_make(&k->items[next], buf, len, m))
		k->last = next;
}

static __attribute__((noinline)) bool walk_parse(
	const uint8_t *buf, uint32_t len, struct dhcp4_scratch *scratch, struct dhcp4_message *m)
{
	struct walk k;
	bool right;

	*m = (struct dhcp4_message){.broken = "too short for a header and its magic cookie"};
	if (len < DHCP4_OPTIONS_AT)
		return false;
	header_read(m, buf);
	m->broken = "no magic cookie: not DHCP, but BOOTP";
	if (bytes_be32(buf + DHCP4_AT_COOKIE) != DHCP4_COOKIE)
		return false;
	k.m = m;
	k.scratch = scratch;
	k.type = 0;
	k.overload = 0;
	k.incomplete = 0; // `have` needs no initialisation
	right = options_walk(&k, buf, len);
	m->type = (uint8_t)k.type;
	if (right)
		layout_learn(&scratch->layouts, buf, len, m);
	return right;
}

struct dhcp4_layout *dhcp4_layout_search(struct dhcp4_layouts *k, const uint8_t *buf, uint32_t len)
{
	for (uint32_t i = 0; i < DHCP4_LAYOUTS; i++) {
		struct dhcp4_layout *l = &k->items[i];

		// Most messages that differ have another length.
		if (l->need - 1 >= len || buf[l->need - 1] != DHCP4_OPT_END ||
			!dhcp4_layout_fits(l, buf, len))
			continue;
		k->last = i;
		return l;
	}
	return NULL;
}

static inline const uint8_t *place(const uint8_t *buf, uint16_t at)
{
	return at ? buf + at : NULL;
}

// A number option that may be absent.
static inline uint32_t number_at(const uint8_t *buf, uint16_t at)
{
	return at ? bytes_be32(buf + at) : 0;
}

// Read everything except the header.
static inline void layout_read(
	const struct dhcp4_layout *l, const uint8_t *buf, struct dhcp4_message *m)
{
	m->type = buf[l->at.type];
	m->has_end = true;
	m->repeats = false;
	memcpy(m->present, l->present, sizeof(m->present));
	m->server_id = number_at(buf, l->at.server_id);
	m->requested = number_at(buf, l->at.requested);
	m->lease_time = bytes_be32(buf + l->at.lease_time);
	m->t1 = bytes_be32(buf + l->at.t1);
	m->t2 = bytes_be32(buf + l->at.t2);
	m->client_id = place(buf, l->at.client_id);
	m->relay_info = place(buf, l->at.relay_info);
	m->message = place(buf, l->at.message);
	m->parameters = place(buf, l->at.parameters);
	m->client_id_len = l->client_id_len;
	m->relay_info_len = l->relay_info_len;
	m->message_len = l->message_len;
	m->parameters_len = l->parameters_len;
}

bool dhcp4_parse(
	const uint8_t *buf, uint32_t len, struct dhcp4_scratch *scratch, struct dhcp4_message *m)
{
	const struct dhcp4_layout *l = dhcp4_layout_find(&scratch->layouts, buf, len);

	if (!l)
		return walk_parse(buf, len, scratch, m);
	header_read(m, buf);
	layout_read(l, buf, m);
	return true;
}

void dhcp4_write_option(struct writer *w, uint8_t code, const void *data, uint32_t len)
{
	uint32_t at = 0;

	do {
		uint32_t piece = len - at < PIECE_MAX ? len - at : PIECE_MAX;

		write_u8(w, code);
		write_u8(w, (uint8_t)piece);
		if (piece)
			write_bytes(w, (const uint8_t *)data + at, piece);
		at += piece;
	} while (at < len && !w->failed);
}

void dhcp4_write_option_be32(struct writer *w, uint8_t code, uint32_t value)
{
	write_u8(w, code);
	write_u8(w, 4);
	write_be32(w, value);
}

void dhcp4_write_option_u8(struct writer *w, uint8_t code, uint8_t value)
{
	write_u8(w, code);
	write_u8(w, 1);
	write_u8(w, value);
}

uint32_t dhcp4_find_option(const uint8_t *buf, uint32_t len, uint8_t code)
{
	struct reader r;
	struct piece o;

	if (len < DHCP4_OPTIONS_AT)
		return 0;
	r = reader_of(buf + DHCP4_OPTIONS_AT, len - DHCP4_OPTIONS_AT);
	while (option_next(&r, &o) && o.data)
		if (o.code == code)
			return (uint32_t)(o.data - buf) - 2;
	return code == DHCP4_OPT_END && o.code == code ? (uint32_t)(r.at - buf) - 1 : 0;
}

// Append the pieces from one field. -1: they do not fit.
static int field_join(
	struct reader r, uint8_t code, uint8_t *out, uint32_t room, int *sum, uint8_t *overload)
{
	bool first = *sum < 0;
	struct piece o;

	while (option_next(&r, &o) && o.data) {
		if (o.code == DHCP4_OPT_OVERLOAD && o.len == 1)
			*overload = o.data[0];
		if (o.code != code)
			continue;
		// Within a field, a piece followed by another is full, so this is a repetition of
		// the whole option (joined_add), except in free text.
		if (first && *sum == o.len && o.len < PIECE_MAX && code != DHCP4_OPT_MESSAGE &&
			memcmp(out, o.data, o.len) == 0)
			continue;
		*sum = *sum < 0 ? 0 : *sum;
		if ((uint32_t)*sum + o.len > room)
			return -1;
		memcpy(out + *sum, o.data, o.len);
		*sum += o.len;
	}
	return 0;
}

int dhcp4_option_join(const uint8_t *buf, uint32_t len, uint8_t code, uint8_t *out, uint32_t room)
{
	const struct reader fields[] = {
		len < DHCP4_OPTIONS_AT ? reader_of(buf, 0)
				       : reader_of(buf + DHCP4_OPTIONS_AT, len - DHCP4_OPTIONS_AT),
		reader_of(buf + DHCP4_AT_FILE, DHCP4_AT_COOKIE - DHCP4_AT_FILE),
		reader_of(buf + DHCP4_AT_SNAME, DHCP4_AT_FILE - DHCP4_AT_SNAME)};
	uint8_t overload = 0, none = 0;
	int sum = -1;

	if (field_join(fields[0], code, out, room, &sum, &overload) < 0)
		return -1;
	for (uint32_t i = 1; i < 3; i++)
		if ((overload & i) && field_join(fields[i], code, out, room, &sum, &none) < 0)
			return -1;
	return sum;
}

const char *dhcp4_type_name(uint32_t type)
{
#define NAME(name, number) [number] = #name,
	static const char *const names[] = {DHCP4_TYPE_ROWS(NAME)};

	return type < DHCP4_TYPES ? names[type] : NULL;
}

const char *dhcp4_status_name(uint32_t status)
{
#define TEXT(name, text) text,
	static const char *const texts[] = {DHCP4_STATUS_ROWS(TEXT)};

	return status < DHCP4_STATUSES ? texts[status] : NULL;
}

const char *dhcp4_type_label(uint32_t type)
{
	const char *name = dhcp4_type_name(type);

	return name ? name : type ? "other" : "none";
}

const char *dhcp4_status_label(uint32_t status)
{
	const char *name = dhcp4_status_name(status);

	return name ? name : "other";
}
