// SPDX-License-Identifier: BSD-3-Clause
// The table, the wheel and the segments of connections; see conn.h.
// Path: hot | cold (conns_bytes, conns_init). The thread that owns it.
#include "engine/core/conn.h"

#include "base/clock.h"
#include "engine/core/quic_channel.h"
#include "engine/core/secure.h"
#include "engine/core/wire.h"
#include "io/burst.h"

#define TURN_MASK (UINT32_MAX >> CONN_BUCKET_SHIFT)
#define RTO_FIRST 1000000
#define RTO_LEAST 200000
#define RTO_MOST  60000000
#define ALIGN     64

#define ALWAYS_INLINE inline __attribute__((always_inline))

static uint64_t power_for(uint64_t n)
{
	uint64_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static size_t aligned(size_t n)
{
	return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

size_t conns_bytes(const struct conns_shape *s)
{
	return aligned(s->count * sizeof(struct conn)) +
	       aligned(s->blocks * sizeof(struct tcp_block)) +
	       aligned(power_for(s->places) * sizeof(uint32_t)) +
	       aligned(power_for(s->count) * sizeof(uint32_t)) + CONN_BUCKETS * sizeof(uint32_t) +
	       aligned(CONN_MESSAGE_MAX);
}

void conns_init(struct conns *cs, void *memory, const struct conns_shape *s, uint64_t start,
	uint64_t us_scale)
{
	uint8_t *at = memory;
	struct tcp_block *blocks;

	*cs = (struct conns){.count = s->count,
		.at_mask = (uint32_t)power_for(s->places) - 1,
		.ready_mask = (uint32_t)power_for(s->count) - 1,
		.start = start,
		.us_scale = us_scale,
		.bytes = conns_bytes(s)};
	cs->all = memory;
	at += aligned(s->count * sizeof(struct conn));
	blocks = (struct tcp_block *)at;
	at += aligned(s->blocks * sizeof(struct tcp_block));
	cs->at = (uint32_t *)at;
	at += aligned((cs->at_mask + 1ull) * sizeof(uint32_t));
	cs->ready = (uint32_t *)at;
	at += aligned((cs->ready_mask + 1ull) * sizeof(uint32_t));
	cs->buckets = (uint32_t *)at;
	cs->message = at + CONN_BUCKETS * sizeof(uint32_t);
	memset(cs->at, 0xff, (cs->at_mask + 1ull) * sizeof(uint32_t));
	memset(cs->buckets, 0xff, CONN_BUCKETS * sizeof(uint32_t));
	for (uint32_t c = 0; c < s->count; c++)
		cs->all[c].chain = c + 1 < s->count ? c + 1 : CONN_NONE;
	cs->free = s->count ? 0 : CONN_NONE;
	tcp_host_init(&cs->host, blocks, s->blocks);
	cs->host.window = s->window;
	cs->host.rto_first = RTO_FIRST;
	cs->host.rto_least = RTO_LEAST;
	cs->host.rto_most = RTO_MOST;
	cs->host.ack_delay = s->ack_delay_us;
	cs->host.time_wait = (uint32_t)s->time_wait_us;
	cs->host.syn_tries = s->syn_tries;
	cs->host.tries = s->tries;
	cs->host.stamps = s->stamps;
	cs->host.nagle = s->nagle;
	cs->host.counters = &cs->counters;
	cs->host.reads_all = true; // a part of a message may be longer than the window
}

void conns_clock(struct conns *cs, uint64_t now)
{
	cs->host.now = clock_us(now - cs->start, cs->us_scale);
}

// --- channels ---

static const struct channel *const channels[] = {
	[CHANNEL_TLS] = &secure_channel, [CHANNEL_HTTP] = &http_channel};

// Returns the channel of a connection; NULL: plain TCP.
static inline const struct channel *channel_of(const struct conns *cs, uint32_t c)
{
	uint32_t flags = secure_flags(cs, c);

	if (cs->quic)
		return &quic_channel;
	return flags == 0 ? NULL : channels[flags & SECURE_HTTP ? CHANNEL_HTTP : CHANNEL_TLS];
}

// Is any connection on a channel?
static inline bool has_channels(const struct conns *cs)
{
	return ((uintptr_t)cs->secure | (uintptr_t)cs->quic) != 0;
}

bool conn_on(struct conns *cs, uint32_t c, enum channel_kind kind)
{
	return channels[kind]->on(cs, c);
}

void conn_cancel(struct conns *cs, uint32_t c, uint32_t tag)
{
	const struct channel *channel = channel_of(cs, c);

	if (channel && channel->cancel)
		channel->cancel(cs, c, tag);
}

bool conn_unheard(struct conns *cs, uint32_t c, uint32_t *tag)
{
	const struct channel *channel = channel_of(cs, c);

	return channel && channel->unheard && channel->unheard(cs, c, tag);
}

static __attribute__((noinline)) void channel_flush(struct conns *cs, uint32_t c)
{
	const struct channel *channel = channel_of(cs, c);

	if (channel)
		channel->flush(cs, c);
}

void conn_forget(struct conns *cs, uint32_t c)
{
	const struct channel *channel = channel_of(cs, c);

	if (channel)
		channel->forget(cs, c);
}

// --- the wheel ---

// Returns how many buckets after the next one a time lies; 0 if it has passed.
static uint32_t ahead_of(const struct conns *cs, uint32_t when)
{
	uint32_t ahead = ((when >> CONN_BUCKET_SHIFT) - cs->turn) & TURN_MASK;

	return ahead > TURN_MASK / 2 ? 0 : ahead;
}

// A time beyond one turn of the wheel goes to the last bucket, where it is examined again.
static uint32_t *bucket_of(struct conns *cs, uint32_t when)
{
	uint32_t ahead = ahead_of(cs, when);

	ahead = ahead < CONN_BUCKETS ? ahead : CONN_BUCKETS - 1;
	return &cs->buckets[(cs->turn + ahead) % CONN_BUCKETS];
}

// The `prev` of the first connection in a bucket's list is the number of the bucket plus cs->count.
static void wheel_link(struct conns *cs, uint32_t c, uint32_t when)
{
	struct conn *of = &cs->all[c];
	uint32_t *bucket = bucket_of(cs, when);

	of->when = when;
	of->next = *bucket;
	of->prev = cs->count + (uint32_t)(bucket - cs->buckets);
	if (of->next != CONN_NONE)
		cs->all[of->next].prev = c;
	*bucket = c;
	of->flags |= CONN_TIMED;
	cs->timed++;
}

static void wheel_unlink(struct conns *cs, uint32_t c)
{
	struct conn *of = &cs->all[c];

	if (of->prev >= cs->count)
		cs->buckets[of->prev - cs->count] = of->next;
	else
		cs->all[of->prev].next = of->next;
	if (of->next != CONN_NONE)
		cs->all[of->next].prev = of->prev;
	of->flags &= (uint8_t)~CONN_TIMED;
	cs->timed--;
}

void conn_wake(struct conns *cs, uint32_t c, uint32_t when)
{
	struct conn *of = &cs->all[c];

	if (of->flags & CONN_TIMED) {
		if (!tcp_before(when, of->when))
			return; // it is examined earlier
		wheel_unlink(cs, c);
	}
	wheel_link(cs, c, when);
}

// Handles a deadline. Returns events as tcp_timeout; none of QUIC, which has messages for them.
static uint32_t conn_timeout(struct conns *cs, uint32_t c)
{
	if (__builtin_expect(cs->quic == NULL, 1))
		return tcp_timeout(&cs->host, &cs->all[c].tcp);
	quic_channel_expire(cs, c);
	return 0;
}

void conns_expire(struct conns *cs)
{
	uint32_t end = (uint32_t)cs->host.now >> CONN_BUCKET_SHIFT;

	for (; cs->turn != end && cs->timed; cs->turn = (cs->turn + 1) & TURN_MASK) {
		uint32_t *bucket = &cs->buckets[cs->turn % CONN_BUCKETS], c;

		while ((c = *bucket) != CONN_NONE) {
			wheel_unlink(cs, c);
			if (ahead_of(cs, cs->all[c].when))
				wheel_link(cs, c, cs->all[c].when);
			else
				cs->owner->expired(cs, c, conn_timeout(cs, c));
		}
	}
	cs->turn = end;
}

// --- the table ---

uint32_t conn_take(struct conns *cs, uint32_t place)
{
	uint32_t c = cs->free;

	if (c == CONN_NONE)
		return c;
	cs->free = cs->all[c].chain;
	cs->used++;
	cs->all[c].flags = 0;
	cs->all[c].chain = cs->at[place & cs->at_mask];
	cs->at[place & cs->at_mask] = c;
	return c;
}

static void conn_give(struct conns *cs, uint32_t c)
{
	struct conn *of = &cs->all[c];
	uint32_t *at = &cs->at[cs->owner->gone(cs, c) & cs->at_mask];

	conn_forget(cs, c);
	if (of->flags & CONN_TIMED)
		wheel_unlink(cs, c);
	while (*at != c)
		at = &cs->all[*at].chain;
	*at = of->chain;
	of->chain = cs->free;
	cs->free = c;
	cs->used--;
}

void conn_fetch(const struct conns *cs, uint32_t c)
{
	const struct conn *of = &cs->all[c];

	burst_own(of);
	burst_own((const uint8_t *)of + 64);
	if (!cs->secure)
		return;
	burst_own(&cs->secure->all[c].read);
	burst_own(&cs->secure->all[c].write);
}

// --- segments ---

// Writes a segment into a buffer.
static void segment_write(struct conns *cs, struct rte_mbuf *m, const struct conn_head *head,
	const struct tcp *t, const struct tcp_segment *s)
{
	uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *), *tcp = data + head->t.len - TCP_HEADER_LEN;
	uint32_t header = tcp_header_len(s), len;

	tcp_header(s, tcp);
	if (s->len)
		tcp_copy(&cs->host, t, s, tcp + header);
	len = frame_stamp_tcp(&head->t, data, head->src, head->src_port, header + s->len);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	if (head->t.checksum_offload)
		wire_offload_tcp(m, &head->t, header);
	cs->segments_out++;
}

static bool spare_fill(struct conns *cs, struct wire *w, uint64_t *no_mbuf)
{
	if (cs->spare_count)
		return true;
	if (!burst_alloc(w->tx_pool, cs->spare, w->burst)) {
		++*no_mbuf;
		return false;
	}
	cs->spare_count = w->burst;
	for (uint16_t i = 1; i <= BURST_AHEAD && i <= cs->spare_count; i++)
		burst_own_mbuf(cs->spare[cs->spare_count - i]);
	return true;
}

static uint16_t out_flush(struct conns *cs, struct wire *w)
{
	uint16_t n = burst_tx(w->port, w->queue, cs->out + cs->out_first,
		(uint16_t)(cs->out_count - cs->out_first));

	cs->out_first += n;
	cs->swap = false;
	if (cs->out_first == cs->out_count)
		cs->out_first = cs->out_count = 0;
	return n;
}

// Adds a built segment to the burst.
static void out_put(struct conns *cs, struct rte_mbuf *m)
{
	cs->out[cs->out_count++] = m;
	if (!cs->swap)
		return;
	cs->swap = false;
	if (cs->out_count < 2)
		return;
	cs->out[cs->out_count - 1] = cs->out[cs->out_count - 2];
	cs->out[cs->out_count - 2] = m;
}

// Like out_put, with a fault. A duplicate uses a spare buffer.
static void out_put_faulty(struct conns *cs, struct rte_mbuf *m, enum conn_fate fate)
{
	struct rte_mbuf *copy = cs->spare_count ? cs->spare[cs->spare_count - 1] : NULL;

	if (fate == CONN_FATE_LOST) {
		burst_free(&m, 1);
		return;
	}
	out_put(cs, m);
	if (fate == CONN_FATE_TWICE && copy) {
		memcpy(rte_pktmbuf_mtod(copy, uint8_t *), rte_pktmbuf_mtod(m, const uint8_t *),
			m->data_len);
		copy->data_len = m->data_len;
		copy->pkt_len = m->pkt_len;
		copy->ol_flags = m->ol_flags;
		copy->tx_offload = m->tx_offload;
		cs->out[cs->out_count++] = copy;
		cs->spare_count--;
	}
	cs->swap = fate == CONN_FATE_LATER;
}

// Adds a segment to the burst, with its fault.
static void segment_leave(
	struct conns *cs, struct conn_head *head, const struct tcp *t, const struct tcp_segment *s)
{
	uint16_t left = --cs->spare_count;
	struct rte_mbuf *m = cs->spare[left];
	bool offload = head->t.checksum_offload;
	enum conn_fate fate;

	if (left >= BURST_AHEAD) // its last user was the device or another CPU
		burst_own_mbuf(cs->spare[left - BURST_AHEAD]);
	if (!cs->owner->fate) {
		segment_write(cs, m, head, t, s);
		out_put(cs, m);
		return;
	}
	fate = cs->owner->fate(cs);
	head->t.checksum_offload = offload && fate != CONN_FATE_DAMAGED;
	segment_write(cs, m, head, t, s);
	head->t.checksum_offload = offload;
	if (fate == CONN_FATE_DAMAGED)
		rte_pktmbuf_mtod(m, uint8_t *)[m->data_len - 1] ^= 1;
	if (fate == CONN_FATE_NONE)
		out_put(cs, m);
	else
		out_put_faulty(cs, m, fate);
}

// Takes the first connection out of the queue.
static void ready_pop(struct conns *cs, uint32_t c)
{
	cs->all[c].flags &= (uint8_t)~CONN_READY;
	cs->ready_first++;
	cs->ready_count--;
}

// As conn_build, for datagrams of QUIC, which are written where they are sent from.
static __attribute__((noinline)) bool datagrams_build(
	struct conns *cs, struct wire *w, uint32_t c, uint64_t *no_mbuf)
{
	struct conn_head head;
	uint32_t len, at;

	head.t.len = 0;
	for (;;) {
		struct rte_mbuf *m;
		uint8_t *data;

		if (cs->out_count + 1 >= BURST_MAX || cs->out_count >= w->burst ||
			!spare_fill(cs, w, no_mbuf))
			return false;
		if (head.t.len == 0)
			cs->owner->head(cs, c, &head);
		m = cs->spare[cs->spare_count - 1];
		data = rte_pktmbuf_mtod(m, uint8_t *);
		len = quic_channel_output(cs, c, data + head.t.len);
		if (len == 0)
			break;
		cs->spare_count--;
		len = frame_stamp(&head.t, data, head.src, head.src_port,
			(struct frame_payload){(uint16_t)len, 0});
		m->data_len = (uint16_t)len;
		m->pkt_len = len;
		if (w->checksum_offload)
			wire_offload(m, &head.t);
		cs->segments_out++;
		out_put(cs, m);
	}
	ready_pop(cs, c);
	if (cs->all[c].tcp.state == TCP_CLOSED)
		conn_give(cs, c);
	else if (quic_channel_deadline(cs, c, &at))
		conn_wake(cs, c, at);
	return true;
}

// Builds the segments of the first connection in the queue. Returns false if it has more, but the
// burst is full or no buffer is free.
static bool conn_build(struct conns *cs, struct wire *w, uint64_t *no_mbuf)
{
	uint32_t c = cs->ready[cs->ready_first & cs->ready_mask], at;
	struct conn *of = &cs->all[c];
	struct tcp_segment s;
	struct conn_head head;

	if (__builtin_expect(cs->quic != NULL, 0))
		return datagrams_build(cs, w, c, no_mbuf);
	head.t.len = 0; // it is not known yet
	if (__builtin_expect(cs->secure != NULL, 0))
		channel_flush(cs, c);
	for (;;) {
		if (cs->out_count + 1 >= BURST_MAX || cs->out_count >= w->burst ||
			!spare_fill(cs, w, no_mbuf))
			return false;
		if (!tcp_output(&cs->host, &of->tcp, &s))
			break;
		if (head.t.len == 0)
			cs->owner->head(cs, c, &head);
		segment_leave(cs, &head, &of->tcp, &s);
	}
	ready_pop(cs, c);
	if (of->tcp.state == TCP_CLOSED)
		conn_give(cs, c);
	else if (tcp_deadline(&of->tcp, &at))
		conn_wake(cs, c, at);
	return true;
}

uint16_t conns_send(struct conns *cs, struct wire *w, uint64_t *no_mbuf)
{
	uint16_t sent = cs->out_count ? out_flush(cs, w) : 0;

	while (cs->ready_count && cs->out_count == 0) {
		while (cs->ready_count && conn_build(cs, w, no_mbuf)) {
		}
		if (cs->out_count == 0)
			break;
		sent += out_flush(cs, w);
	}
	return sent;
}

// --- messages ---

// Takes the next message from bytes that arrived in order, and keeps an incomplete one for later.
static ALWAYS_INLINE bool message_in_view(
	struct conns *cs, uint32_t c, conn_framing framed, const uint8_t **message, uint32_t *len)
{
	struct tcp_host *h = &cs->host;
	uint32_t whole = conn_whole(cs, framed, h->view, h->view_len);

	if (h->view_len < whole) {
		if (!tcp_keep(h, &cs->all[c].tcp, h->view_len))
			tcp_abort(h, &cs->all[c].tcp);
		h->view_len = 0;
		return false;
	}
	*message = h->view + conn_front(framed);
	*len = whole - conn_front(framed);
	h->view += whole;
	h->view_len -= whole;
	return true;
}

static ALWAYS_INLINE bool message_next(
	struct conns *cs, uint32_t c, conn_framing framed, const uint8_t **message, uint32_t *len)
{
	struct tcp *t = &cs->all[c].tcp;
	uint32_t unread, head, whole;

	if (cs->host.view_len)
		return message_in_view(cs, c, framed, message, len);
	unread = tcp_unread(&cs->host, t);
	if (unread == 0)
		return false;
	head = tcp_peek(&cs->host, t, cs->message, unread < CONN_HEAD ? unread : CONN_HEAD);
	whole = conn_whole(cs, framed, cs->message, head);
	if (unread < whole)
		return false;
	tcp_peek(&cs->host, t, cs->message, whole);
	tcp_consume(&cs->host, t, whole);
	*message = cs->message + conn_front(framed);
	*len = whole - conn_front(framed);
	return true;
}

// Separate, so that the usual framing is a compile-time constant and costs no register.
static __attribute__((noinline)) bool message_framed(
	struct conns *cs, uint32_t c, const uint8_t **message, uint32_t *len)
{
	return message_next(cs, c, cs->framed, message, len);
}

static __attribute__((noinline)) bool message_of_channel(
	struct conns *cs, uint32_t c, const uint8_t **message, uint32_t *len)
{
	const struct channel *channel = channel_of(cs, c);

	return channel ? channel->message(cs, c, message, len)
	               : message_framed(cs, c, message, len);
}

bool conn_message(struct conns *cs, uint32_t c, const uint8_t **message, uint32_t *len)
{
	if (__builtin_expect(has_channels(cs), 0))
		return message_of_channel(cs, c, message, len);
	if (__builtin_expect(cs->framed != NULL, 0))
		return message_framed(cs, c, message, len);
	return message_next(cs, c, NULL, message, len);
}

// The message at cs->message, with its length in front unless it is framed. *len becomes the length
// of all.
static ALWAYS_INLINE const uint8_t *message_whole(struct conns *cs, uint32_t *len)
{
	if (__builtin_expect(cs->framed != NULL, 0))
		return cs->message + CONN_LENGTH;
	bytes_put_be16(cs->message, (uint16_t)*len);
	*len += CONN_LENGTH;
	return cs->message;
}

static __attribute__((noinline)) bool write_to_channel(struct conns *cs, uint32_t c, uint32_t len)
{
	const uint8_t *from = cs->message + CONN_LENGTH;
	const struct channel *channel = channel_of(cs, c);

	if (!channel || channel == &secure_channel)
		from = message_whole(cs, &len);
	return channel ? channel->write(cs, c, from, len)
	               : tcp_send(&cs->host, &cs->all[c].tcp, from, len);
}

bool conn_write(struct conns *cs, uint32_t c, uint32_t len)
{
	const uint8_t *from;

	if (__builtin_expect(has_channels(cs), 0))
		return write_to_channel(cs, c, len);
	from = message_whole(cs, &len);
	return tcp_send(&cs->host, &cs->all[c].tcp, from, len);
}

void conn_abort(struct conns *cs, uint32_t c)
{
	if (cs->quic)
		quic_channel_abort(cs, c);
	else
		tcp_abort(&cs->host, &cs->all[c].tcp);
}

void conn_shut(struct conns *cs, uint32_t c)
{
	const struct channel *channel = channel_of(cs, c);

	if (channel)
		channel->shut(cs, c);
	if (!cs->quic)
		tcp_shut(&cs->all[c].tcp);
}

bool conns_say(
	struct conns *cs, struct wire *w, const struct conn_head *head, const struct tcp_segment *s)
{
	struct rte_mbuf *m;

	if (!burst_alloc(w->tx_pool, &m, 1))
		return false;
	segment_write(cs, m, head, NULL, s);
	if (burst_tx(w->port, w->queue, &m, 1) == 1)
		return true;
	burst_free(&m, 1);
	return false;
}

void conns_refuse(
	struct conns *cs, struct wire *w, const struct conn_head *head, const struct tcp_segment *s)
{
	struct tcp_segment reset;

	if (tcp_reset_for(s, &reset))
		conns_say(cs, w, head, &reset);
}

void conns_halt(struct conns *cs)
{
	if (cs->out_count)
		burst_free(cs->out + cs->out_first, (uint16_t)(cs->out_count - cs->out_first));
	if (cs->spare_count)
		burst_free(cs->spare, cs->spare_count);
	cs->out_first = cs->out_count = cs->spare_count = 0;
}
