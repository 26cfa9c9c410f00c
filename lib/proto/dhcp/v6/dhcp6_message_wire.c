// SPDX-License-Identifier: BSD-3-Clause
// Parses DHCPv6 messages from untrusted bytes: options within options within relay messages, each
// within the bounds of its container. Independent of exchanges. Path: hot.
// Any thread.

#include "proto/dhcp/v6/dhcp6_message.h"

#include <stddef.h>

#define IA_LEN      12 // IAID, T1, T2
#define IA_TA_LEN   4
#define ADDRESS_LEN 24 // address, two lifetimes
#define PREFIX_LEN  25 // two lifetimes, length, prefix
#define AUTH_LEN    11 // without the information field
#define STATUS_LEN  6  // of the whole option, without text

// One option and its contents.
struct option {
	uint16_t code, len;
	const uint8_t *data;
	struct dhcp6_notes *notes; // of the container
};

static bool broken(struct dhcp6_notes *n, const char *why)
{
	n->broken = why;
	return false;
}

static inline bool option_read(struct reader *r, struct option *o)
{
	const uint8_t *head = read_bytes(r, DHCP6_OPTION_LEN);

	if (!head)
		return broken(o->notes, "an option without room for its code and length");
	o->code = bytes_be16(head);
	o->len = bytes_be16(head + 2);
	o->data = read_bytes(r, o->len);
	return o->data || broken(o->notes, "an option runs beyond the end of its container");
}

// A second instance of a singleton option is harmless if it equals the first.
static bool is_repeated(const struct option *o, const struct dhcp6_bytes *first)
{
	if (o->len != first->len || memcmp(o->data, first->data, o->len) != 0)
		return broken(
			o->notes, "an option allowed once occurs twice, with different content");
	o->notes->repeats = true;
	return true;
}

static inline struct reader option_reader(const struct option *o)
{
	return reader_of(o->data, o->len);
}

static inline bool bytes_take(
	const struct option *o, uint32_t least, uint32_t most, struct dhcp6_bytes *to)
{
	if (to->data)
		return is_repeated(o, to);
	if (o->len < least || o->len > most)
		return broken(o->notes, "an option has a wrong length (a DUID, perhaps)");
	*to = (struct dhcp6_bytes){o->data, o->len};
	return true;
}

static bool status_take(const struct option *o, uint16_t *status, struct dhcp6_bytes *text)
{
	struct reader r = option_reader(o);

	if (o->len < 2)
		return broken(o->notes, "a status code (option 13) that is too short");
	if (*status != DHCP6_STATUS_NONE) {
		if (*status != bytes_be16(o->data))
			return broken(o->notes, "two different status codes (option 13)");
		o->notes->repeats = true;
		return true;
	}
	*status = read_be16(&r);
	if (text)
		*text = (struct dhcp6_bytes){r.at, (uint16_t)reader_left(&r)};
	return true;
}

static bool lease_options(struct reader *r, struct dhcp6_lease *l, struct dhcp6_notes *notes)
{
	struct option o = {.notes = notes};

	while (reader_left(r) > 0) {
		if (!option_read(r, &o))
			return false;
		if (o.code == DHCP6_OPT_STATUS && !status_take(&o, &l->status, NULL))
			return false;
	}
	return true;
}

static bool lease_read(const struct option *o, struct dhcp6_lease *l)
{
	bool prefix = o->code == DHCP6_OPT_IA_PREFIX;
	struct reader r = option_reader(o);
	const uint8_t *fixed = read_bytes(&r, prefix ? PREFIX_LEN : ADDRESS_LEN);
	const uint8_t *times;

	if (!fixed)
		return broken(o->notes, "an address or a prefix (option 5 or 26) is too short");
	times = prefix ? fixed : fixed + 16;
	l->status = DHCP6_STATUS_NONE;
	l->bits = prefix ? fixed[8] : 128;
	l->address = prefix ? fixed + 9 : fixed;
	l->preferred_s = bytes_be32(times);
	l->valid_s = bytes_be32(times + 4);
	if (l->bits > 128)
		return broken(o->notes, "a prefix (option 26) longer than 128 bits");
	return lease_options(&r, l, o->notes);
}

static bool lease_add(const struct option *o, struct dhcp6_lease *leases, uint32_t most,
	uint16_t *count, uint16_t *ignored)
{
	struct dhcp6_lease beyond;

	if (*count < most)
		return lease_read(o, &leases[(*count)++]);
	++*ignored;
	return lease_read(o, &beyond);
}

static bool ia_options(struct reader *r, struct dhcp6_ia *ia, struct dhcp6_notes *notes)
{
	uint16_t lease_code = dhcp6_lease_code(ia->type);
	struct option o = {.notes = notes};

	while (reader_left(r) > 0) {
		if (!option_read(r, &o))
			return false;
		if (o.code == lease_code && !lease_add(&o, ia->leases, DHCP6_IA_LEASES_MAX,
						    &ia->lease_count, &ia->leases_ignored))
			return false;
		if (o.code == DHCP6_OPT_STATUS && !status_take(&o, &ia->status, &ia->message))
			return false;
	}
	return true;
}

static bool ia_read(const struct option *o, struct dhcp6_ia *ia)
{
	bool timed = o->code != DHCP6_OPT_IA_TA;
	struct reader r = option_reader(o);
	const uint8_t *fixed = read_bytes(&r, timed ? IA_LEN : IA_TA_LEN);

	if (!fixed)
		return broken(o->notes, "an IA (option 3, 4 or 25) is too short");
	ia->type = o->code;
	ia->status = DHCP6_STATUS_NONE;
	ia->whole = (struct dhcp6_bytes){o->data, o->len};
	ia->message = (struct dhcp6_bytes){0};
	ia->lease_count = 0;
	ia->leases_ignored = 0;
	ia->iaid = bytes_be32(fixed);
	ia->t1_s = timed ? bytes_be32(fixed + 4) : 0;
	ia->t2_s = timed ? bytes_be32(fixed + 8) : 0;
	return ia_options(&r, ia, o->notes);
}

static bool message_ia(const struct option *o, struct dhcp6_message *m)
{
	struct dhcp6_ia beyond;

	if (m->ia_count < DHCP6_IAS_MAX)
		return ia_read(o, &m->ias[m->ia_count++]);
	m->ias_ignored++;
	return ia_read(o, &beyond);
}

static bool length_is(const struct option *o, uint32_t len)
{
	return o->len == len || broken(o->notes, "an option of a fixed size has another one");
}

// Read a number of 1, 2 or 4 bytes.
static bool number_take(const struct option *o, bool again, uint32_t len, uint32_t *value)
{
	uint32_t number;

	if (!length_is(o, len))
		return false;
	number = len == 1 ? o->data[0] : len == 2 ? bytes_be16(o->data) : bytes_be32(o->data);
	if (again && number != *value)
		return broken(o->notes, "a number allowed once occurs twice, with two values");
	o->notes->repeats |= again;
	*value = number;
	return true;
}

static bool unicast_take(const struct option *o, struct dhcp6_message *m)
{
	if (m->unicast)
		return is_repeated(o, &(struct dhcp6_bytes){m->unicast, 16});
	m->unicast = o->data;
	return length_is(o, 16);
}

// again: a later instance.
static bool message_option(const struct option *o, bool again, struct dhcp6_message *m)
{
	switch (o->code) {
	case DHCP6_OPT_CLIENT_ID:
		return bytes_take(o, DHCP6_DUID_MIN, DHCP6_DUID_MAX, &m->client_id);
	case DHCP6_OPT_SERVER_ID:
		return bytes_take(o, DHCP6_DUID_MIN, DHCP6_DUID_MAX, &m->server_id);
	case DHCP6_OPT_IA_NA:
	case DHCP6_OPT_IA_TA:
	case DHCP6_OPT_IA_PD:
		return message_ia(o, m);
	case DHCP6_OPT_ORO:
		return length_is(o, o->len & ~1u) && bytes_take(o, 0, UINT16_MAX, &m->oro);
	case DHCP6_OPT_PREFERENCE:
		return number_take(o, again, 1, &m->preference);
	case DHCP6_OPT_ELAPSED_TIME:
		return number_take(o, again, 2, &m->elapsed);
	case DHCP6_OPT_AUTH:
		return bytes_take(o, AUTH_LEN, UINT16_MAX, &m->auth);
	case DHCP6_OPT_RECONFIGURE_MESSAGE:
		return number_take(o, again, 1, &m->reconfigure);
	case DHCP6_OPT_UNICAST:
		return unicast_take(o, m);
	case DHCP6_OPT_STATUS:
		return status_take(o, &m->status, &m->status_message);
	case DHCP6_OPT_LQ_QUERY:
		return bytes_take(o, 0, UINT16_MAX, &m->query);
	case DHCP6_OPT_CLIENT_DATA:
		return bytes_take(o, 0, UINT16_MAX, &m->client_data);
	case DHCP6_OPT_LQ_CLIENT_LINK:
		return length_is(o, o->len & ~15u) &&
		       bytes_take(o, 16, UINT16_MAX, &m->client_links);
	case DHCP6_OPT_RAPID_COMMIT:
	case DHCP6_OPT_RECONFIGURE_ACCEPT:
		o->notes->repeats |= again;
		return length_is(o, 0);
	case DHCP6_OPT_REFRESH_TIME:
		return number_take(o, again, 4, &m->refresh_s);
	case DHCP6_OPT_SOL_MAX_RT:
		return number_take(o, again, 4, &m->sol_max_rt_s);
	case DHCP6_OPT_INF_MAX_RT:
		return number_take(o, again, 4, &m->inf_max_rt_s);
	default:
		return true;
	}
}

static bool message_options(struct reader *r, struct dhcp6_message *m)
{
	struct option o = {.notes = &m->notes};

	while (reader_left(r) >= DHCP6_OPTION_LEN) {
		bool again = false;

		if (!option_read(r, &o))
			return false;
		if (o.code < 256) {
			uint64_t *present = &m->present[o.code >> 6], bit = 1ull << (o.code & 63);

			again = *present & bit;
			*present |= bit;
		}
		if (!message_option(&o, again, m))
			return false;
	}
	m->notes.trailing = reader_left(r) > 0;
	while (reader_left(r) > 0)
		if (read_u8(r))
			return broken(&m->notes, "less than an option at the end");
	return true;
}

static bool is_relay(uint8_t type)
{
	return type == DHCP6_RELAY_FORW || type == DHCP6_RELAY_REPL;
}

bool dhcp6_parse(const uint8_t *buf, uint32_t len, struct dhcp6_message *m)
{
	struct reader r = reader_of(buf, len);
	uint32_t head;

	memset(m, 0, offsetof(struct dhcp6_message, ias));
	m->status = DHCP6_STATUS_NONE;
	head = read_be32(&r);
	if (r.failed)
		return broken(&m->notes, "too short for a header");
	m->type = (uint8_t)(head >> 24);
	m->xid = head & DHCP6_XID_MAX;
	return !is_relay(m->type) && message_options(&r, m);
}

static bool subject_option(const struct option *o, struct dhcp6_subject *s)
{
	bool again = s->has_age;

	switch (o->code) {
	case DHCP6_OPT_CLIENT_ID:
		return bytes_take(o, DHCP6_DUID_MIN, DHCP6_DUID_MAX, &s->client_id);
	case DHCP6_OPT_IA_ADDRESS:
	case DHCP6_OPT_IA_PREFIX:
		return lease_add(o, s->leases, DHCP6_IAS_MAX, &s->lease_count, &s->leases_ignored);
	case DHCP6_OPT_CLT_TIME:
		s->has_age = true;
		return number_take(o, again, 4, &s->age_s);
	default:
		return true;
	}
}

bool dhcp6_parse_subject(const struct dhcp6_bytes *data, bool query, struct dhcp6_subject *s)
{
	struct reader r = reader_of(data->data, data->len);
	struct dhcp6_notes notes = {0};
	struct option o = {.notes = &notes};

	memset(s, 0, offsetof(struct dhcp6_subject, leases));
	if (query) {
		s->query = read_u8(&r);
		s->link = read_bytes(&r, 16);
		if (!s->link)
			return false;
	}
	while (reader_left(&r) > 0)
		if (!option_read(&r, &o) || !subject_option(&o, s))
			return false;
	return true;
}

static bool relay_option(const struct option *o, struct dhcp6_relay *l)
{
	switch (o->code) {
	case DHCP6_OPT_RELAY_MESSAGE:
		return bytes_take(o, 0, UINT16_MAX, &l->message);
	case DHCP6_OPT_INTERFACE_ID:
		return bytes_take(o, 0, UINT16_MAX, &l->interface_id);
	case DHCP6_OPT_REMOTE_ID:
		return bytes_take(o, 4, UINT16_MAX, &l->remote_id);
	case DHCP6_OPT_SUBSCRIBER_ID:
		return bytes_take(o, 0, UINT16_MAX, &l->subscriber_id);
	case DHCP6_OPT_CLIENT_LINK_LAYER:
		return bytes_take(o, 2, UINT16_MAX, &l->link_layer);
	case DHCP6_OPT_RELAY_PORT:
		return bytes_take(o, 2, 2, &l->port);
	default:
		return true;
	}
}

bool dhcp6_parse_relay(const uint8_t *buf, uint32_t len, struct dhcp6_relay *l)
{
	struct reader r = reader_of(buf, len);
	const uint8_t *head = read_bytes(&r, DHCP6_RELAY_LEN);
	struct option o = {.notes = &l->notes};

	*l = (struct dhcp6_relay){.notes = {.broken = "a relay message that is too short"}};
	if (!head || !is_relay(head[0]))
		return false;
	l->type = head[0];
	l->hop_count = head[DHCP6_AT_HOP_COUNT];
	l->link = head + DHCP6_AT_LINK;
	l->peer = head + DHCP6_AT_PEER;
	while (reader_left(&r) > 0)
		if (!option_read(&r, &o) || !relay_option(&o, l))
			return false;
	l->notes.broken = "a relay message without a message in it (option 9)";
	return l->message.data != NULL;
}

bool dhcp6_unwrap(const uint8_t *buf, uint32_t len, struct dhcp6_envelope *e)
{
	e->levels = 0;
	while (len > 0 && is_relay(buf[0])) {
		struct dhcp6_relay *l = &e->relays[e->levels];

		if (e->levels == DHCP6_LEVELS_MAX || !dhcp6_parse_relay(buf, len, l))
			return false;
		if (l->type != e->relays[0].type)
			return false;
		e->levels++;
		buf = l->message.data;
		len = l->message.len;
	}
	e->inner = buf;
	e->inner_len = len;
	return true;
}

// Offset of the relay message option, usually the first; 0: none.
static inline uint32_t relay_message_at(const uint8_t *buf, uint32_t len)
{
	const uint8_t *first = buf + DHCP6_RELAY_LEN;

	if (len < DHCP6_RELAY_LEN + DHCP6_OPTION_LEN)
		return 0;
	if (bytes_be16(first) == DHCP6_OPT_RELAY_MESSAGE &&
		bytes_be16(first + 2) <= len - DHCP6_RELAY_LEN - DHCP6_OPTION_LEN)
		return DHCP6_RELAY_LEN;
	return dhcp6_find_option(buf, DHCP6_RELAY_LEN, len, DHCP6_OPT_RELAY_MESSAGE);
}

bool dhcp6_xid(const uint8_t *buf, uint32_t len, enum dhcp6_type relay, uint32_t *xid)
{
	for (uint32_t levels = 0; len > 0 && buf[0] == relay; levels++) {
		uint32_t at = relay_message_at(buf, len);

		if (at == 0 || levels == DHCP6_LEVELS_MAX)
			return false;
		len = bytes_be16(buf + at + 2);
		buf += at + DHCP6_OPTION_LEN;
	}
	if (len < DHCP6_HEADER_LEN || is_relay(buf[0]) || buf[0] == DHCP6_RECONFIGURE)
		return false;
	*xid = bytes_be32(buf) & DHCP6_XID_MAX;
	return true;
}

// Writes code and length of an option. Returns the position of its len bytes of data, or NULL if
// there is no room.
static inline uint8_t *option_space(struct writer *w, uint16_t code, uint32_t len)
{
	uint8_t *p;

	w->failed |= len > UINT16_MAX;
	p = write_space(w, DHCP6_OPTION_LEN + (size_t)len);
	if (!p)
		return NULL;
	bytes_put_be16(p, code);
	bytes_put_be16(p + 2, (uint16_t)len);
	return p + DHCP6_OPTION_LEN;
}

void dhcp6_write_header(struct writer *w, uint8_t type, uint32_t xid)
{
	write_be32(w, (uint32_t)type << 24 | (xid & DHCP6_XID_MAX));
}

void dhcp6_write_relay(
	struct writer *w, uint8_t type, uint8_t hop_count, const uint8_t *link, const uint8_t *peer)
{
	uint8_t *p = write_space(w, DHCP6_RELAY_LEN);

	if (!p)
		return;
	p[0] = type;
	p[DHCP6_AT_HOP_COUNT] = hop_count;
	memcpy(p + DHCP6_AT_LINK, link, 16);
	memcpy(p + DHCP6_AT_PEER, peer, 16);
}

uint8_t *dhcp6_option_begin(struct writer *w, uint16_t code)
{
	uint8_t *begin = w->at;

	option_space(w, code, 0);
	return begin;
}

void dhcp6_option_end(struct writer *w, uint8_t *begin)
{
	size_t len;

	if (w->failed)
		return;
	len = (size_t)(w->at - begin) - DHCP6_OPTION_LEN;
	w->failed = len > UINT16_MAX;
	bytes_put_be16(begin + 2, (uint16_t)len);
}

uint8_t *dhcp6_ia_begin(
	struct writer *w, uint16_t code, uint32_t iaid, uint32_t t1_s, uint32_t t2_s)
{
	uint8_t *begin = w->at;
	uint8_t *p = option_space(w, code, code == DHCP6_OPT_IA_TA ? IA_TA_LEN : IA_LEN);

	if (!p)
		return begin;
	bytes_put_be32(p, iaid);
	if (code == DHCP6_OPT_IA_TA)
		return begin;
	bytes_put_be32(p + 4, t1_s);
	bytes_put_be32(p + 8, t2_s);
	return begin;
}

void dhcp6_write_lease(struct writer *w, uint16_t code, const struct dhcp6_lease *l)
{
	uint32_t beyond = l->status == DHCP6_STATUS_NONE ? 0 : STATUS_LEN;
	bool prefix = code == DHCP6_OPT_IA_PREFIX;
	uint8_t *p = option_space(w, code, (prefix ? PREFIX_LEN : ADDRESS_LEN) + beyond), *times;

	if (!p)
		return;
	times = prefix ? p : p + 16;
	bytes_put_be32(times, l->preferred_s);
	bytes_put_be32(times + 4, l->valid_s);
	if (prefix)
		p[8] = l->bits;
	memcpy(prefix ? p + 9 : p, l->address, 16);
	w->at -= beyond;
	if (beyond)
		dhcp6_write_status(w, l->status, "");
}

void dhcp6_write_option(struct writer *w, uint16_t code, const void *data, uint32_t len)
{
	uint8_t *p = option_space(w, code, len);

	if (p && len)
		memcpy(p, data, len);
}

void dhcp6_write_option_u8(struct writer *w, uint16_t code, uint8_t value)
{
	dhcp6_write_option(w, code, &value, 1);
}

void dhcp6_write_option_be16(struct writer *w, uint16_t code, uint16_t value)
{
	uint8_t *p = option_space(w, code, 2);

	if (p)
		bytes_put_be16(p, value);
}

void dhcp6_write_option_be32(struct writer *w, uint16_t code, uint32_t value)
{
	uint8_t *p = option_space(w, code, 4);

	if (p)
		bytes_put_be32(p, value);
}

void dhcp6_write_status(struct writer *w, uint16_t status, const char *text)
{
	uint8_t *begin = dhcp6_option_begin(w, DHCP6_OPT_STATUS);

	write_be16(w, status);
	for (; *text; text++)
		write_u8(w, (uint8_t)*text);
	dhcp6_option_end(w, begin);
}

uint32_t dhcp6_find_option(const uint8_t *buf, uint32_t begin, uint32_t end, uint16_t code)
{
	struct reader r = reader_of(buf + begin, end - begin);
	struct dhcp6_notes notes;
	struct option o = {.notes = &notes};

	while (reader_left(&r) > 0) {
		uint32_t at = (uint32_t)(r.at - buf);

		if (!option_read(&r, &o))
			return 0;
		if (o.code == code)
			return at;
	}
	return 0;
}

#define NAME(name, number, text) [number] = text,

const char *dhcp6_type_name(uint32_t type)
{
	static const char *const names[] = {DHCP6_TYPE_ROWS(NAME)};

	return type < DHCP6_TYPES ? names[type] : NULL;
}

const char *dhcp6_status_name(uint32_t status)
{
	static const char *const names[] = {DHCP6_STATUS_ROWS(NAME)};

	return status < DHCP6_STATUSES ? names[status] : NULL;
}

const char *dhcp6_type_label(uint32_t type)
{
	const char *name = dhcp6_type_name(type);

	return name ? name : type ? "other" : "RESERVED";
}

const char *dhcp6_status_label(uint32_t status)
{
	const char *name = dhcp6_status_name(status);

	return name ? name : "other";
}
