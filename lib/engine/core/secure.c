// SPDX-License-Identifier: BSD-3-Clause
// Path: hot | cold (secures_bytes, secures_init, secures_free). The thread that owns the
// connections.
#include "engine/core/secure.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "crypt/keys.h"

#define ALIGN       64
#define ROOM        ((size_t)RECORD_MOST + RECORD_LEAD_MOST + RECORD_TRAIL_MOST)
#define CACHE_LEAST 16
#define CACHE_MOST  4096
#define SEQ_MOST    (1u << 24) // records by one key (RFC 8446 section 5.5)

// Types of handshake messages, and alerts.
enum { NEW_SESSION_TICKET = 4, KEY_UPDATE = 24 };
enum { LEVEL_WARNING = 1, LEVEL_FATAL = 2, CLOSE_NOTIFY = 0, USER_CANCELED = 90 };
#define MESSAGE_HEAD 4u
#define MESSAGE_MOST (1u << 17) // octets, as GnuTLS allows

enum { THEIRS, OURS }; // secrets

static size_t aligned(size_t n)
{
	return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

// Entries for both keys of each open connection; if they are too many, hardly any would be found.
static uint32_t cache_entries(uint32_t live)
{
	uint32_t n = CACHE_LEAST;

	while (n < 2 * (uint64_t)live && n < CACHE_MOST)
		n *= 2;
	return n < 2 * (uint64_t)live ? CACHE_LEAST : n;
}

size_t secures_bytes(const struct secures_shape *s)
{
	return aligned(s->count * sizeof(struct secure)) +
	       aligned(record_cache_bytes(cache_entries(s->live))) + 3 * aligned(ROOM) +
	       aligned(s->seats * sizeof(struct crew_seat)) +
	       aligned(s->stored * sizeof(struct crew_session *));
}

// --- lists

static void seat_link(struct secures *ss, uint32_t i, enum secure_list list)
{
	struct secure_ends *ends = &ss->lists[list];
	struct crew_seat *s = &ss->seats[i];

	ss->seats_in[list]++;
	s->list = (uint8_t)list;
	s->next = CONN_NONE;
	s->prev = ends->last;
	if (ends->last != CONN_NONE)
		ss->seats[ends->last].next = i;
	else
		ends->first = i;
	ends->last = i;
}

static void seat_move(struct secures *ss, uint32_t i, enum secure_list list)
{
	struct crew_seat *s = &ss->seats[i];
	struct secure_ends *ends = &ss->lists[s->list];

	ss->seats_in[s->list]--;
	if (s->prev != CONN_NONE)
		ss->seats[s->prev].next = s->next;
	else
		ends->first = s->next;
	if (s->next != CONN_NONE)
		ss->seats[s->next].prev = s->prev;
	else
		ends->last = s->prev;
	seat_link(ss, i, list);
}

static void want_seat(struct secures *ss, uint32_t c)
{
	struct secure *s = &ss->all[c];

	ss->want_count++;
	s->read.flags |= SECURE_WANTS;
	s->early.next = CONN_NONE;
	s->early.prev = ss->wanting.last;
	if (ss->wanting.last != CONN_NONE)
		ss->all[ss->wanting.last].early.next = c;
	else
		ss->wanting.first = c;
	ss->wanting.last = c;
}

static void want_no_seat(struct secures *ss, uint32_t c)
{
	struct secure *s = &ss->all[c];

	ss->want_count--;
	s->read.flags &= (uint16_t)~SECURE_WANTS;
	if (s->early.prev != CONN_NONE)
		ss->all[s->early.prev].early.next = s->early.next;
	else
		ss->wanting.first = s->early.next;
	if (s->early.next != CONN_NONE)
		ss->all[s->early.next].early.prev = s->early.prev;
	else
		ss->wanting.last = s->early.prev;
}

void secures_init(struct secures *ss, void *memory, const struct secures_shape *shape)
{
	uint8_t *at = memory;

	*ss = (struct secures){.seat_count = shape->seats,
		.plain_of = CONN_NONE,
		.wanting = {CONN_NONE, CONN_NONE},
		.bytes = secures_bytes(shape)};
	ss->all = memory;
	at += aligned(shape->count * sizeof(struct secure));
	ss->cache = record_cache_init(at, cache_entries(shape->live));
	at += aligned(record_cache_bytes(cache_entries(shape->live)));
	ss->record = at;
	ss->opened = at + aligned(ROOM);
	ss->gathered = at + 2 * aligned(ROOM);
	at += 3 * aligned(ROOM);
	ss->seats = (struct crew_seat *)at;
	at += aligned(shape->seats * sizeof(struct crew_seat));
	if (shape->stored)
		ss->store = (struct crew_session **)at;
	ss->stored = shape->stored;
	for (uint32_t i = 0; i < SECURE_PARTS; i++)
		ss->parts[i].conn = CONN_NONE;
	for (uint32_t i = 0; i < SECURE_LISTS; i++)
		ss->lists[i] = (struct secure_ends){CONN_NONE, CONN_NONE};
	for (uint32_t i = 0; i < shape->seats; i++) {
		ss->seats[i].conn = CONN_NONE;
		seat_link(ss, i, SECURE_FREE);
	}
}

// --- records

static struct crew_seat *seat_of(struct secures *ss, const struct secure *s)
{
	return s->write.flags ? &ss->seats[s->write.flags - 1] : NULL;
}

static uint32_t next_id(struct secures *ss)
{
	ss->ids += ss->ids == UINT32_MAX ? 2 : 1; // never 0
	return ss->ids;
}

// Has its suite SHA-384?
static bool has_rest(const struct secure *s)
{
	return s->read.suite == RECORD_AES_256_GCM;
}

// The secrets of a connection, by direction. `rests` takes memory where they are longer only.
static void secret_put(struct secures *ss, struct secure *s, int way, const uint8_t *secret)
{
	memcpy(s->secrets[way], secret, SECURE_SECRET);
	if (ss->rests && has_rest(s))
		memcpy(ss->rests[s - ss->all].of[way], secret + SECURE_SECRET, SECURE_REST);
}

static void secret_get(const struct secures *ss, const struct secure *s, int way, uint8_t *secret)
{
	memcpy(secret, s->secrets[way], SECURE_SECRET);
	if (ss->rests && has_rest(s))
		memcpy(secret + SECURE_SECRET, ss->rests[s - ss->all].of[way], SECURE_REST);
}

// Replaces a key by the next one.
static __attribute__((noinline)) void key_next(struct secures *ss, struct secure *s, int way)
{
	struct record_way *w = way == OURS ? &s->write : &s->read;
	uint16_t flags = w->flags;
	uint32_t chain = w->chain;
	enum record_suite suite = (enum record_suite)w->suite;
	uint8_t secret[KEYS_SECRET_MOST];

	secret_get(ss, s, way, secret);
	keys_next(suite, secret);
	secret_put(ss, s, way, secret);
	keys_way(w, suite, secret, next_id(ss));
	w->flags = flags;
	w->chain = chain;
}

// Sends len octets as records. Returns false without memory.
static bool seal(struct conns *cs, struct secure *s, uint32_t c, uint8_t type, const uint8_t *bytes,
	uint32_t len)
{
	struct secures *ss = cs->secure;
	uint32_t lead = record_lead(&s->write);

	if (!tcp_is_open(&cs->all[c].tcp)) // nothing follows our FIN
		return true;
	while (len) {
		uint32_t n = len < RECORD_CONTENT ? len : RECORD_CONTENT, whole;

		if (__builtin_expect(ss->split, 0) && n > CONN_LENGTH)
			n = CONN_LENGTH;
		ss->split = false;
		memcpy(ss->record + lead, bytes, n);
		whole = record_seal(ss->cache, &s->write, type, ss->record, n);
		ss->record[whole - 1] ^= ss->corrupt;
		ss->corrupt = false;
		if (!tcp_send(&cs->host, &cs->all[c].tcp, ss->record, whole)) {
			s->write.seq--; // it never leaves
			return false;
		}
		ss->counts->records_sent++;
		bytes += n;
		len -= n;
	}
	return true;
}

// Changes our key, and announces it with the old one.
static void key_update(struct conns *cs, struct secure *s, uint32_t c)
{
	static const uint8_t message[] = {KEY_UPDATE, 0, 0, 1, 0};

	if (seal(cs, s, c, RECORD_HANDSHAKE, message, sizeof(message)))
		key_next(cs->secure, s, OURS);
}

static bool seal_message(
	struct conns *cs, struct secure *s, uint32_t c, const uint8_t *bytes, uint32_t len)
{
	if (__builtin_expect(s->write.seq >= SEQ_MOST, 0) && !s->write.tls12)
		key_update(cs, s, c);
	return seal(cs, s, c, RECORD_DATA, bytes, len);
}

bool secure_write(struct conns *cs, uint32_t c, const uint8_t *bytes, uint32_t len)
{
	struct secures *ss = cs->secure;
	struct secure *s = &ss->all[c];

	if (s->read.flags & SECURE_OPEN && !ss->bursts)
		return seal_message(cs, s, c, bytes, len);
	return tcp_chain_add(&cs->host, &s->write.chain, bytes, len);
}

bool secure_preface(struct conns *cs, uint32_t c, const uint8_t *bytes, uint32_t len)
{
	struct secure *s = &cs->secure->all[c];

	s->early.preface = len;
	return tcp_chain_add(&cs->host, &s->write.chain, bytes, len);
}

// Seals the preface, the first messages of the waiting ones in one record, or the first one in its
// own.
static bool flush_some(struct conns *cs, struct secure *s, uint32_t c, uint32_t preface)
{
	struct secures *ss = cs->secure;
	uint32_t len = preface ? preface : tcp_chain_len(&cs->host, s->write.chain);
	uint8_t head[CONN_HEAD];

	if (!ss->bursts && !preface && !(s->read.flags & SECURE_HTTP)) {
		uint32_t n = tcp_chain_peek(&cs->host, s->write.chain, head, CONN_HEAD);
		uint32_t whole = conn_whole(cs, cs->framed, head, n);

		len = whole < len ? whole : len;
	}
	len = len < RECORD_CONTENT ? len : RECORD_CONTENT;
	tcp_chain_peek(&cs->host, s->write.chain, ss->gathered, len);
	tcp_chain_consume(&cs->host, &s->write.chain, len);
	return seal_message(cs, s, c, ss->gathered, len);
}

static bool flush(struct conns *cs, uint32_t c, uint32_t preface)
{
	struct secure *s = &cs->secure->all[c];

	for (; s->write.chain != TCP_NONE && tcp_is_open(&cs->all[c].tcp); preface = 0) {
		if (flush_some(cs, s, c, preface))
			continue;
		cs->secure->counts->no_memory++;
		tcp_abort(&cs->host, &cs->all[c].tcp);
		return false;
	}
	return true;
}

bool secure_flush(struct conns *cs, uint32_t c)
{
	return !(cs->secure->all[c].read.flags & SECURE_OPEN) || flush(cs, c, 0);
}

static void alert(struct conns *cs, struct secure *s, uint32_t c, uint8_t level, uint8_t which)
{
	const uint8_t message[2] = {level, which};

	if (!(s->read.flags & SECURE_OPEN) || !tcp_is_open(&cs->all[c].tcp))
		return;
	if (seal(cs, s, c, RECORD_ALERT, message, sizeof(message)) && level == LEVEL_FATAL)
		cs->secure->counts->alert_sent[record_alert_place(which)]++;
}

void secure_shut(struct conns *cs, uint32_t c)
{
	struct secure *s = &cs->secure->all[c];

	if (!cs->secure->close_notify || !(s->read.flags & SECURE_ON) ||
		s->read.flags & (SECURE_SHUT | SECURE_BROKEN))
		return;
	secure_flush(cs, c);
	s->read.flags |= SECURE_SHUT;
	alert(cs, s, c, LEVEL_WARNING, CLOSE_NOTIFY);
}

void secure_alert(struct conns *cs, uint32_t c, uint8_t which)
{
	struct secure *s = &cs->secure->all[c];

	alert(cs, s, c, LEVEL_FATAL, which);
	s->read.flags |= SECURE_BROKEN;
}

void secure_key_update(struct conns *cs, uint32_t c)
{
	struct secure *s = &cs->secure->all[c];

	if (!s->write.tls12)
		key_update(cs, s, c);
}

bool secure_handshake(struct conns *cs, uint32_t c, const uint8_t *bytes, uint32_t len)
{
	struct secure *s = &cs->secure->all[c];

	return s->read.flags & SECURE_OPEN && seal(cs, s, c, RECORD_HANDSHAKE, bytes, len);
}

// --- received

static void seat_due(struct secures *ss, struct crew_seat *seat, enum crew_job job)
{
	seat->job = (uint8_t)job;
	seat->given = clock_time(ss->clock);
	seat_move(ss, (uint32_t)(seat - ss->seats), SECURE_DUE);
}

// The connection needs its seat no longer.
static void seat_leave(struct secures *ss, struct secure *s)
{
	struct crew_seat *seat = seat_of(ss, s);

	s->write.flags = 0;
	if (!seat)
		return;
	seat->conn = CONN_NONE;
	if (seat->list != SECURE_BUSY)
		seat_due(ss, seat, CREW_END);
}

// An error of the peer: the connection carries no more.
static void broken(struct conns *cs, struct secure *s, uint32_t c, enum record_error why)
{
	static const uint8_t alerts[] = {
		[RECORD_BAD_MAC] = 20, [RECORD_OVERFLOW] = 22, [RECORD_UNEXPECTED] = 10};

	cs->secure->counts->bad_record++;
	alert(cs, s, c, LEVEL_FATAL, alerts[why]);
	s->read.flags |= SECURE_BROKEN;
}

// Takes the next record to ss->opened. Returns its length; 0: it is not complete, or wrong.
static uint32_t record_take(struct conns *cs, struct secure *s, uint32_t c)
{
	struct tcp_host *h = &cs->host;
	struct tcp *t = &cs->all[c].tcp;
	uint8_t *to = cs->secure->opened;
	uint32_t unread = h->view_len ? h->view_len : tcp_unread(h, t), whole;

	if (unread == 0)
		return 0;
	if (h->view_len)
		whole = record_whole(h->view, unread);
	else
		whole = record_whole(to, tcp_peek(h, t, to, RECORD_HEADER));
	if (whole == UINT32_MAX) {
		broken(cs, s, c, RECORD_OVERFLOW);
		return 0;
	}
	if (whole == 0 || whole > unread) {
		if (h->view_len && !tcp_keep(h, t, unread))
			tcp_abort(h, t);
		h->view_len = 0;
		return 0;
	}
	if (h->view_len) {
		memcpy(to, h->view, whole);
		h->view += whole;
		h->view_len -= whole;
	} else {
		tcp_peek(h, t, to, whole);
		tcp_consume(h, t, whole);
	}
	return whole;
}

static void take_alert(struct conns *cs, struct secure *s, const struct record_opened *r)
{
	uint8_t which = r->len == 2 ? r->content[1] : 0;

	if (r->len == 2 && which == CLOSE_NOTIFY) {
		s->read.flags |= SECURE_CLOSED;
	} else if (r->len == 2 && (r->content[0] != LEVEL_WARNING || !s->read.tls12) &&
		   which != USER_CANCELED) {
		cs->secure->counts->alert_received[record_alert_place(which)]++;
		s->read.flags |= SECURE_BROKEN;
	}
}

// Handles a message after the handshake. last: no octet of the record follows. Returns false if it
// is wrong.
static bool take_message(
	struct conns *cs, struct secure *s, uint32_t c, const struct secure_part *p, bool last)
{
	struct secures *ss = cs->secure;

	if (p->head[0] == NEW_SESSION_TICKET) {
		ss->counts->tickets++;
	} else if (p->head[0] == KEY_UPDATE && !s->read.tls12) {
		if (p->have != MESSAGE_HEAD + 1 || !last || p->head[4] > 1)
			return false;
		ss->counts->key_updates++;
		key_next(ss, s, THEIRS);
		if (p->head[4])
			key_update(cs, s, c);
	} else if (!s->read.tls12) {
		return false;
	}
	return true;
}

// c: CONN_NONE: returns an unused one. NULL: there is none.
static struct secure_part *part_of(struct secures *ss, uint32_t c)
{
	for (uint32_t i = 0; i < SECURE_PARTS; i++)
		if (ss->parts[i].conn == c)
			return &ss->parts[i];
	return NULL;
}

static void part_forget(struct secures *ss, struct secure *s, uint32_t c)
{
	if (s->read.flags & SECURE_PART)
		part_of(ss, c)->conn = CONN_NONE;
	s->read.flags &= (uint16_t)~SECURE_PART;
}

static bool part_keep(struct conns *cs, struct secure *s, const struct secure_part *p)
{
	struct secure_part *to = part_of(cs->secure, CONN_NONE);

	if (to) {
		*to = *p;
		s->read.flags |= SECURE_PART;
		return true;
	}
	cs->secure->counts->no_memory++;
	tcp_abort(&cs->host, &cs->all[p->conn].tcp);
	return false;
}

// Handles handshake messages after the handshake, of which one may continue in the next record.
// Returns false if they are wrong.
static bool take_handshake(
	struct conns *cs, struct secure *s, uint32_t c, const struct record_opened *r)
{
	struct secure_part p = {.conn = c};
	const uint8_t *at = r->content, *end = at + r->len;

	if (s->read.flags & SECURE_PART)
		p = *part_of(cs->secure, c);
	part_forget(cs->secure, s, c);
	while (at < end) {
		uint32_t whole = MESSAGE_HEAD, n;

		if (p.have >= MESSAGE_HEAD)
			whole += bytes_be32(p.head) & 0xffffff;
		if (whole > MESSAGE_MOST)
			return false;
		n = whole - p.have < (size_t)(end - at) ? whole - p.have : (uint32_t)(end - at);
		if (p.have < sizeof(p.head))
			memcpy(p.head + p.have, at,
				n < sizeof(p.head) - p.have ? n : sizeof(p.head) - p.have);
		at += n;
		p.have += n;
		if (p.have < MESSAGE_HEAD ||
			p.have < MESSAGE_HEAD + (bytes_be32(p.head) & 0xffffff))
			continue;
		if (!take_message(cs, s, c, &p, at == end))
			return false;
		p.have = 0;
	}
	return p.have == 0 || part_keep(cs, s, &p);
}

// Are messages of the peer possible before its first ticket?
static bool answers_early(const struct crew_seat *seat)
{
	return seat->facts->early;
}

// The seat of a handshake that is done takes a copy of the records up to the first ticket.
static struct crew_seat *keeper(struct secures *ss, struct secure *s, uint32_t len)
{
	struct crew_seat *seat = seat_of(ss, s);

	if (!seat || seat->list != SECURE_KEPT)
		return NULL;
	if (!(s->read.flags & SECURE_PART) && !answers_early(seat))
		seat->in_len = 0;
	if (seat->in_len + len > CREW_INPUT) {
		seat_leave(ss, s);
		return NULL;
	}
	memcpy(seat->in + seat->in_len, ss->opened, len);
	seat->in_len += len;
	return seat;
}

// Opens the next record. Returns false if there is none, or after the end. Its data are at
// ss->plain.
static bool record_next(struct conns *cs, struct secure *s, uint32_t c)
{
	struct secures *ss = cs->secure;
	uint32_t len = record_take(cs, s, c);
	uint64_t tickets = ss->counts->tickets;
	struct crew_seat *seat;
	struct record_opened r;
	enum record_error e;

	if (len == 0)
		return false;
	seat = s->write.flags ? keeper(ss, s, len) : NULL;
	e = record_open(ss->cache, &s->read, ss->opened, len, &r);
	ss->counts->records_received++;
	if (e == RECORD_OK && r.type == RECORD_HANDSHAKE && !take_handshake(cs, s, c, &r))
		e = RECORD_UNEXPECTED;
	else if (e == RECORD_OK && r.type != RECORD_HANDSHAKE && s->read.flags & SECURE_PART)
		e = RECORD_UNEXPECTED; // RFC 8446 section 5.1
	if (e == RECORD_OK && r.type == RECORD_CHANGE_CIPHER)
		e = RECORD_UNEXPECTED;
	if (e != RECORD_OK) {
		broken(cs, s, c, e);
		return false;
	}
	if (seat && ss->counts->tickets != tickets)
		seat_due(ss, seat, CREW_TICKET);
	else if (seat && !(s->read.flags & SECURE_PART) && !answers_early(seat))
		seat_leave(ss, s); // no ticket follows the first message
	if (r.type == RECORD_ALERT)
		take_alert(cs, s, &r);
	if (r.type == RECORD_DATA) {
		ss->plain = r.content;
		ss->plain_len = r.len;
	}
	return !(s->read.flags & (SECURE_CLOSED | SECURE_BROKEN));
}

// Octets of a handshake wait in the stream, until the seat takes them.
static void keep_for_seat(struct conns *cs, struct secure *s, uint32_t c)
{
	struct secures *ss = cs->secure;
	struct crew_seat *seat = seat_of(ss, s);

	if (cs->host.view_len && !tcp_keep(&cs->host, &cs->all[c].tcp, cs->host.view_len))
		tcp_abort(&cs->host, &cs->all[c].tcp);
	cs->host.view_len = 0;
	if (seat && seat->list == SECURE_IDLE)
		seat_due(ss, seat, CREW_STEP);
	else if (!seat && !(s->read.flags & SECURE_WANTS))
		want_seat(ss, c);
}

// Takes the first message of the parts that were kept.
static bool message_of_parts(
	struct conns *cs, struct secure *s, const uint8_t **message, uint32_t *len)
{
	uint8_t head[CONN_HEAD];
	uint32_t n = tcp_chain_peek(&cs->host, s->read.chain, head, CONN_HEAD);
	uint32_t whole = conn_whole(cs, cs->framed, head, n);

	if (whole > tcp_chain_len(&cs->host, s->read.chain))
		return false;
	tcp_chain_peek(&cs->host, s->read.chain, cs->message, whole);
	tcp_chain_consume(&cs->host, &s->read.chain, whole);
	*message = cs->message + conn_front(cs->framed);
	*len = whole - conn_front(cs->framed);
	return true;
}

// Keeps a part of a message until the next record.
static bool keep_part(struct conns *cs, struct secure *s, uint32_t c)
{
	struct secures *ss = cs->secure;
	uint32_t len = ss->plain_len;

	ss->plain_len = 0;
	if (tcp_chain_add(&cs->host, &s->read.chain, ss->plain, len))
		return true;
	ss->counts->no_memory++;
	tcp_abort(&cs->host, &cs->all[c].tcp);
	return false;
}

bool secure_message(struct conns *cs, uint32_t c, const uint8_t **message, uint32_t *len)
{
	struct secures *ss = cs->secure;
	struct secure *s = &ss->all[c];

	if (!(s->read.flags & SECURE_OPEN)) {
		if (s->read.flags & SECURE_BROKEN)
			cs->host.view_len = 0; // no second handshake
		else
			keep_for_seat(cs, s, c);
		return false;
	}
	if (ss->plain_of != c)
		ss->plain_len = 0;
	ss->plain_of = c;
	do {
		uint32_t whole = conn_whole(cs, cs->framed, ss->plain, ss->plain_len);

		if (s->read.chain == TCP_NONE && whole <= ss->plain_len) {
			*message = ss->plain + conn_front(cs->framed);
			*len = whole - conn_front(cs->framed);
			ss->plain += whole;
			ss->plain_len -= whole;
			return true;
		}
		if (ss->plain_len && !keep_part(cs, s, c))
			return false;
		if (s->read.chain != TCP_NONE && message_of_parts(cs, s, message, len))
			return true;
	} while (!(s->read.flags & (SECURE_CLOSED | SECURE_BROKEN)) && record_next(cs, s, c));
	cs->host.view_len = 0;
	return false;
}

// --- handshakes

void secure_on(struct conns *cs, uint32_t c)
{
	struct secures *ss = cs->secure;
	struct secure *s = &ss->all[c];

	s->read.flags = SECURE_ON;
	s->write.flags = 0;
	s->early.preface = 0;
	s->read.chain = s->write.chain = TCP_NONE;
	if (ss->plain_of == c)
		ss->plain_of = CONN_NONE;
}

void secure_begin(struct conns *cs, uint32_t c, uint32_t store, uint64_t now)
{
	struct secures *ss = cs->secure;
	struct secure *s = &ss->all[c];

	s->read.flags |= SECURE_BEGUN;
	s->early.store = store;
	s->early.began = now;
	s->early.deadline = (uint32_t)cs->host.now + ss->timeout_us;
	if (ss->server)
		return; // until the client has sent something
	ss->counts->begun++;
	ss->counts->waited += ss->want_count >= ss->seats_in[SECURE_FREE];
	want_seat(ss, c);
}

void secure_forget(struct conns *cs, uint32_t c)
{
	struct secure *s = &cs->secure->all[c];

	if (!(s->read.flags & SECURE_ON))
		return;
	if (s->read.flags & SECURE_WANTS)
		want_no_seat(cs->secure, c);
	seat_leave(cs->secure, s);
	part_forget(cs->secure, s, c);
	tcp_chain_drop(&cs->host, &s->read.chain);
	tcp_chain_drop(&cs->host, &s->write.chain);
	s->read.flags = 0;
}

bool secure_waits_for_us(const struct conns *cs, uint32_t c)
{
	const struct secures *ss = cs->secure;
	const struct crew_seat *seat;

	if (!secure_is_shaking(cs, c))
		return false;
	seat = seat_of(cs->secure, &ss->all[c]);
	if (!seat) // whom do the seats wait for?
		return ss->seats_in[SECURE_DUE] + ss->seats_in[SECURE_BUSY] >
		       ss->seats_in[SECURE_IDLE];
	return seat->list == SECURE_DUE || seat->list == SECURE_BUSY;
}

bool secure_times_out(struct conns *cs, uint32_t c)
{
	struct secures *ss = cs->secure;
	struct secure *s = ss ? &ss->all[c] : NULL;

	if (!secure_is_shaking(cs, c) || ss->timeout_us == 0)
		return false;
	if (secure_waits_for_us(cs, c))
		s->early.deadline = (uint32_t)cs->host.now + ss->timeout_us;
	if (tcp_before((uint32_t)cs->host.now, s->early.deadline))
		return false;
	ss->counts->timed_out++;
	secure_lost(cs, c);
	return true;
}

void secure_lost(struct conns *cs, uint32_t c)
{
	struct secure *s;

	if (!secure_is_shaking(cs, c))
		return;
	s = &cs->secure->all[c];
	cs->secure->counts->failed++;
	s->read.flags |= SECURE_BROKEN;
	if (s->read.flags & SECURE_WANTS)
		want_no_seat(cs->secure, c);
	seat_leave(cs->secure, s);
}

bool secure_holds_end(struct conns *cs, uint32_t c)
{
	struct secure *s = cs->secure ? &cs->secure->all[c] : NULL;

	if (!secure_is_shaking(cs, c) || tcp_unread(&cs->host, &cs->all[c].tcp) == 0)
		return false;
	s->read.flags |= SECURE_ENDED;
	return true;
}

static void session_release(struct secures *ss, struct crew_session *of)
{
	if (--of->refs)
		return;
	of->next = ss->garbage;
	ss->garbage = of;
}

// Gives the ticket to resume with to a seat. A ticket for one use leaves the store.
static struct crew_session *session_take(struct secures *ss, uint32_t store)
{
	struct crew_session *of = ss->store ? ss->store[store] : NULL;

	if (of && ss->shared)
		of->refs++;
	else if (of)
		ss->store[store] = NULL;
	return of;
}

static void session_store(struct secures *ss, struct crew_seat *seat)
{
	if (!ss->store || !seat->ticket)
		return;
	if (ss->store[seat->store])
		session_release(ss, ss->store[seat->store]);
	ss->store[seat->store] = seat->ticket;
	seat->ticket = NULL;
}

// Gives seats to connections that want one. The oldest seats without a ticket yet make room.
static void seats_give(struct conns *cs)
{
	struct secures *ss = cs->secure;

	while (ss->wanting.first != CONN_NONE) {
		uint32_t i = ss->lists[SECURE_FREE].first, c = ss->wanting.first;
		struct secure *s = &ss->all[c];
		struct crew_seat *seat;

		if (i == CONN_NONE) {
			i = ss->lists[SECURE_KEPT].first;
			if (i != CONN_NONE)
				seat_leave(ss, &ss->all[ss->seats[i].conn]);
			return;
		}
		want_no_seat(ss, c);
		seat = &ss->seats[i];
		seat->conn = c;
		seat->setup = !ss->server                   ? ss->setup
		              : s->read.flags & SECURE_HTTP ? ss->setups_http[s->early.store]
		                                            : ss->setups[s->early.store];
		seat->store = s->early.store;
		seat->session = ss->server ? NULL : session_take(ss, s->early.store);
		seat->offered = seat->session != NULL;
		seat->began = s->early.began;
		seat->clock = ss->clock;
		seat->ticks = seat->waited = 0;
		seat->early_len = 0;
		s->write.flags = (uint16_t)(i + 1);
		s->early.deadline = (uint32_t)cs->host.now + ss->timeout_us;
		seat_due(ss, seat, CREW_STEP);
	}
}

// Ends a handshake that did not succeed.
static void shaken_badly(
	struct conns *cs, struct secure *s, struct crew_seat *seat, enum secure_outcome how)
{
	struct secures *ss = cs->secure;
	const struct hand_facts *f = seat->facts;
	uint32_t c = seat->conn;

	ss->counts->failed++;
	if (f && f->alert_received >= 0)
		ss->counts->alert_received[record_alert_place(f->alert_received)]++;
	if (f && f->alert_sent >= 0)
		ss->counts->alert_sent[record_alert_place(f->alert_sent)]++;
	if (f && f->refused != HAND_ACCEPTED)
		ss->counts->refused[f->refused]++;
	s->read.flags |= SECURE_BROKEN;
	cs->owner->shaken(cs, c, seat, how);
	seat_leave(ss, s);
}

static bool has_alpn(const struct secures *ss, const struct hand_facts *f)
{
	return memcmp(f->alpn, ss->alpn, sizeof(f->alpn)) == 0;
}

// Is the handshake good, but for the protocol that the peer selected?
static bool is_other(const struct secures *ss, const struct hand_facts *f)
{
	return ss->alpn_needed && !has_alpn(ss, f);
}

static void count_done(struct secures *ss, const struct crew_seat *seat)
{
	const struct hand_facts *f = seat->facts;
	struct tls_counters *n = ss->counts;

	n->full += !f->resumed;
	n->resumed += f->resumed;
	n->resumption_refused += seat->offered && !f->resumed;
	n->certificate_bytes += f->octets_of_them;
	n->no_alpn += ss->alpn[0] && !has_alpn(ss, f);
	n->version[f->tls12 ? TLS_1_2 : TLS_1_3]++;
	n->cipher[f->suite]++;
	n->group[f->group]++;
}

// The early data that were accepted: they wait no longer, or are the first ones received.
static void early_apply(struct conns *cs, struct secure *s, const struct crew_seat *seat)
{
	struct secures *ss = cs->secure;

	if (!ss->server)
		ss->counts->early_refused += seat->early_len && !seat->facts->early;
	if (!seat->early_len || !seat->facts->early)
		return;
	if (!ss->server) {
		ss->counts->early_accepted++;
		tcp_chain_consume(&cs->host, &s->write.chain, seat->early_len);
	} else if (!tcp_chain_add(&cs->host, &s->read.chain, seat->early, seat->early_len)) {
		ss->counts->no_memory++;
		tcp_abort(&cs->host, &cs->all[seat->conn].tcp);
	}
}

// A handshake is done: its keys take its place.
static void shaken_well(struct conns *cs, struct secure *s, struct crew_seat *seat)
{
	struct secures *ss = cs->secure;
	const struct hand_facts *f = seat->facts;
	uint16_t flags = s->read.flags, number = s->write.flags;
	uint32_t parts, waiting, c = seat->conn, preface = s->early.preface;

	early_apply(cs, s, seat);
	parts = s->read.chain;
	waiting = s->write.chain;
	s->read = f->read;
	s->write = f->write;
	s->read.flags = flags | SECURE_OPEN;
	s->write.flags = number;
	s->read.chain = parts;
	s->write.chain = waiting;
	s->read.id = next_id(ss);
	s->write.id = next_id(ss);
	secret_put(ss, s, THEIRS, f->read_secret);
	secret_put(ss, s, OURS, f->write_secret);
	flush(cs, c, preface);
	conn_touch(cs, c);
	seat->in_len = 0;
	if (ss->store && !f->tls12)
		seat_move(ss, (uint32_t)(seat - ss->seats), SECURE_KEPT);
	else
		seat_leave(ss, s);
	cs->owner->shaken(cs, c, seat, SECURE_DONE);
}

static void step_apply(struct conns *cs, struct crew_seat *seat)
{
	struct secures *ss = cs->secure;
	struct secure *s = &ss->all[seat->conn];
	struct tcp *t = &cs->all[seat->conn].tcp;
	bool sent = true;

	if (t->state == TCP_CLOSED) { // while the crew was at work
		seat_leave(ss, s);
		return;
	}
	if (seat->taken)
		tcp_consume(&cs->host, t, seat->taken);
	ss->counts->handshake_bytes += seat->taken + seat->out_len;
	if (seat->out_len && tcp_is_open(t)) {
		sent = tcp_send(&cs->host, t, seat->out, seat->out_len);
		conn_touch(cs, seat->conn);
	}
	if (seat->facts && seat->state != HAND_RUNNING)
		ss->counts->hello_retry += seat->facts->hello_retry;
	if (!sent || !seat->facts) {
		ss->counts->no_memory++;
		shaken_badly(cs, s, seat, SECURE_NO_MEMORY);
	} else if (seat->state == HAND_FAILED) {
		shaken_badly(cs, s, seat, SECURE_FAILED);
	} else if (seat->state == HAND_DONE && is_other(ss, seat->facts)) {
		ss->counts->no_alpn++;
		shaken_badly(cs, s, seat, SECURE_OTHER);
	} else if (seat->state == HAND_DONE) {
		count_done(ss, seat);
		shaken_well(cs, s, seat);
	} else if (tcp_unread(&cs->host, t)) {
		seat_due(ss, seat, CREW_STEP);
	} else if (s->read.flags & SECURE_ENDED) {
		shaken_badly(cs, s, seat, SECURE_LOST);
	} else {
		seat_move(ss, (uint32_t)(seat - ss->seats), SECURE_IDLE);
	}
}

// Brings the outcome of a job to its connection.
static void job_apply(struct conns *cs, struct crew_seat *seat)
{
	struct secures *ss = cs->secure;

	session_store(ss, seat);
	if (seat->session)
		session_release(ss, seat->session);
	seat->session = NULL;
	if (seat->job == CREW_END)
		seat_move(ss, (uint32_t)(seat - ss->seats), SECURE_FREE);
	else if (seat->conn == CONN_NONE)
		seat_due(ss, seat, CREW_END);
	else if (seat->job == CREW_STEP)
		step_apply(cs, seat);
	else
		seat_leave(ss, &ss->all[seat->conn]);
}

// Takes the messages that wait, as early data of a first step: whole ones, as many as its ticket
// allows. A preface has a record of its own, so it waits.
static uint32_t early_take(struct conns *cs, struct crew_seat *seat)
{
	const struct secure *s = &cs->secure->all[seat->conn];
	uint32_t len = tcp_chain_len(&cs->host, s->write.chain), whole = 0, n;

	len = len < seat->session->early_most ? len : seat->session->early_most;
	len = len < CREW_INPUT ? len : CREW_INPUT;
	if (len == 0 || s->early.preface)
		return 0;
	tcp_chain_peek(&cs->host, s->write.chain, seat->in, len);
	if (s->read.flags & SECURE_HTTP)
		return len;
	while ((n = conn_whole(cs, cs->framed, seat->in + whole, len - whole)) <= len - whole)
		whole += n;
	return whole;
}

// Octets of the peer, or messages for it if the step is the first one.
static void step_begin(struct conns *cs, struct crew_seat *seat)
{
	seat->in_len = 0;
	if (seat->session)
		seat->early_len = early_take(cs, seat);
	if (seat->session && seat->early_len)
		cs->secure->counts->early_offered++;
	else
		seat->in_len = tcp_peek(&cs->host, &cs->all[seat->conn].tcp, seat->in, CREW_INPUT);
}

// Prepares a job, as the seat's turn has come.
static void job_begin(struct conns *cs, struct crew_seat *seat)
{
	struct secures *ss = cs->secure;

	if (seat->job == CREW_STEP)
		step_begin(cs, seat);
	seat->garbage = ss->garbage;
	ss->garbage = NULL;
}

static struct crew_line *shortest_line(struct secures *ss)
{
	struct crew_line *best = ss->lines;

	for (uint32_t i = 1; i < ss->line_count; i++)
		if (crew_line_waiting(&ss->lines[i]) < crew_line_waiting(best))
			best = &ss->lines[i];
	return best;
}

// Takes completed jobs from the crew, and gives it the due ones.
static bool crew_pass(struct conns *cs)
{
	struct secures *ss = cs->secure;
	bool worked = false;
	uint32_t i;

	for (uint32_t l = 0; l < ss->line_count; l++)
		while (crew_line_back(&ss->lines[l], &i)) {
			seat_move(ss, i, SECURE_IDLE);
			job_apply(cs, &ss->seats[i]);
			worked = true;
		}
	while ((i = ss->lists[SECURE_DUE].first) != CONN_NONE) {
		job_begin(cs, &ss->seats[i]);
		seat_move(ss, i, SECURE_BUSY);
		crew_line_give(shortest_line(ss), i);
		worked = true;
	}
	return worked;
}

// Is the crew at work?
static bool crew_is_busy(const struct secures *ss)
{
	return ss->line_count && ss->lists[SECURE_BUSY].first != CONN_NONE;
}

bool secure_is_due(const struct secures *ss)
{
	return ss->lists[SECURE_DUE].first != CONN_NONE || ss->wanting.first != CONN_NONE ||
	       crew_is_busy(ss);
}

bool secure_pass(struct conns *cs)
{
	struct secures *ss = cs->secure;
	struct crew_seat *seat;

	seats_give(cs);
	if (ss->line_count)
		return crew_pass(cs);
	if (ss->lists[SECURE_DUE].first == CONN_NONE)
		return false;
	seat = &ss->seats[ss->lists[SECURE_DUE].first];
	job_begin(cs, seat);
	crew_do(seat);
	job_apply(cs, seat);
	return true;
}

void secures_free(struct secures *ss)
{
	for (uint32_t i = 0; i < ss->seat_count; i++) {
		ss->seats[i].job = CREW_END;
		ss->seats[i].clock = ss->clock;
		crew_do(&ss->seats[i]);
	}
	ss->seats[0].garbage = ss->garbage;
	for (uint32_t i = 0; i < ss->stored; i++) {
		if (!ss->store[i])
			continue;
		ss->store[i]->next = ss->seats[0].garbage;
		ss->seats[0].garbage = ss->store[i];
	}
	crew_do(&ss->seats[0]);
}

static bool channel_on(struct conns *cs, uint32_t c)
{
	secure_on(cs, c);
	return true;
}

const struct channel secure_channel = {.on = channel_on,
	.message = secure_message,
	.write = secure_write,
	.flush = secure_flush,
	.shut = secure_shut,
	.forget = secure_forget};
