// SPDX-License-Identifier: BSD-3-Clause
// The embedded server's loop: receive, answer from fresh buffers, send now or later. Not here:
// faults (faults_wire.c), the timing wheel (delay.h). Path: hot. The responder's own thread.
#include "engine/core/responder/responder.h"

#include "engine/core/responder/responder_idle.h"
#include "engine/core/responder/responder_internal.h"
#include "engine/core/secure.h"

#include <sched.h>

#include "base/clock.h"
#include "engine/core/wire.h"
#include "io/burst.h"

#define REQUEST_MAX 2048 // bytes of a frame that is answered in its own buffer
#define PIECES      130  // of a reply: 65 535 octets at the smallest MTU, and one more

static struct responder_protocol *protocol_of(struct responder *r, uint16_t port)
{
	for (uint32_t i = 0; i < r->protocol_count; i++)
		if (r->protocols[i].port == port)
			return &r->protocols[i];
	for (uint32_t i = 0; i < r->protocol_count; i++)
		if ((uint16_t)(port - r->protocols[i].port) <= r->protocols[i].ports)
			return &r->protocols[i];
	return NULL;
}

static struct responder_protocol *stream_protocol_of(struct responder *r, uint16_t port)
{
	struct responder_protocol *p = protocol_of(r, port);

	for (uint32_t i = 0; i < r->protocol_count; i++)
		if (r->protocols[i].tls_port == port || r->protocols[i].https_port == port)
			return &r->protocols[i];
	return p && p->server->stream ? p : NULL;
}

// Waits for room, as a server's socket would. Replies are lost if the port takes none for long.
static void responder_tx(struct responder *r, struct rte_mbuf **out, uint16_t n)
{
	uint16_t sent = burst_tx(r->wire.port, r->wire.queue, out, n);
	uint64_t begin = sent < n ? clock_time(r->clock) : 0;

	while (sent < n && clock_time(r->clock) - begin < r->tx_patience) {
		if (r->yields)
			sched_yield();
		rte_pause();
		sent += burst_tx(r->wire.port, r->wire.queue, out + sent, n - sent);
	}
	r->tx_given += sent;
	if (sent == n)
		return;
	r->tx_refused += n - sent;
	burst_free(out + sent, n - sent);
}

static void responder_flush(struct responder *r)
{
	if (r->out_count)
		responder_tx(r, r->out, r->out_count);
	r->out_count = 0;
}

static void push(struct responder *r, struct rte_mbuf *m)
{
	r->out[r->out_count++] = m;
	if (r->out_count == BURST_MAX)
		responder_flush(r);
}

static __attribute__((noinline)) void headers_build(
	const struct responder *r, const struct frame *f, struct frame_template *t)
{
	struct frame_path path = {.vlan_count = f->vlan_count, .dst.len = f->addr_len};

	memcpy(path.src_mac, r->wire.self.mac, 6);
	memcpy(path.vlans, f->vlans, sizeof(path.vlans));
	frame_template_build(t, &path);
	t->checksum_offload = r->wire.checksum_offload;
}

// Makes the headers of the reply: the request's, reversed, or as the protocol wants them (to).
static inline void address(struct responder *r, const struct frame *f,
	const struct proto_direction *to, struct frame_template *t)
{
	static const uint8_t unknown[16];
	bool known = to && memcmp(to->mac, unknown, 6) != 0;
	bool elsewhere = to && memcmp(to->dst, unknown, f->addr_len) != 0;

	if (f->vlan_count) {
		headers_build(r, f, t);
	} else {
		if (r->base.addr_len != f->addr_len)
			headers_build(r, f, &r->base);
		*t = r->base;
	}
	frame_template_aim(t, known ? to->mac : f->eth + 6, elsewhere ? to->dst : f->src,
		to && to->dst_port ? to->dst_port : f->src_port);
}

// Returns the request's destination; for a broadcast, our first address of its family, or NULL.
static const uint8_t *own_address(const struct responder *r, const struct frame *f)
{
	const struct neigh_self *self = &r->wire.self;

	if (neigh_owns(self, f->dst, f->addr_len))
		return f->dst;
	for (uint32_t i = 0; i < self->owned_count; i++)
		if (self->owned[i].first.len == f->addr_len)
			return self->owned[i].first.bytes;
	return NULL;
}

// Is the reply sent in fragments? Only replies in the scratch buffer are long enough.
static bool is_long(const struct responder *r, const struct fault_answer *a)
{
	return a->data == r->scratch && a->t.len - a->t.ip + a->len > r->mtu;
}

// Writes the payload of the reply to m or the scratch buffer; len 0: there is no reply.
static void answer_begin(struct responder *r, struct responder_protocol *p, const struct frame *f,
	struct rte_mbuf *m, struct fault_answer *a)
{
	uint32_t headers = frame_header_len(f->vlan_count, f->addr_len);
	const struct proto_ends ends = wire_ends(&r->wire, f);
	const struct proto_direction *to;
	uint8_t *payload;

	a->data = p->is_long ? r->scratch : rte_pktmbuf_mtod(m, uint8_t *);
	a->room = (p->is_long ? UINT16_MAX : rte_pktmbuf_tailroom(m)) - headers;
	a->damaged = false;
	payload = a->data + headers;
	p->ctx.ends = &ends;
	p->ctx.more = p->ctx.directed = 0;
	a->len = p->server->answer(&p->ctx, f->payload, f->payload_len, payload, a->room);
	p->ctx.ends = NULL;
	if (a->len == 0)
		return;
	memcpy(a->src, own_address(r, f), f->addr_len);
	to = p->ctx.directed ? &p->ctx.to : NULL;
	a->src_port = to && to->src_port ? to->src_port : f->dst_port;
	address(r, f, to, &a->t);
}

static void answer_finish(const struct fault_answer *a, struct rte_mbuf *m)
{
	uint32_t len = frame_stamp(
		&a->t, a->data, a->src, a->src_port, (struct frame_payload){.len = a->len});

	if (a->damaged)
		faults_flip(a);
	if (a->data != rte_pktmbuf_mtod(m, uint8_t *))
		memcpy(rte_pktmbuf_mtod(m, uint8_t *), a->data, len);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	if (a->t.checksum_offload)
		wire_offload(m, &a->t);
}

// Sends a packet at tick `leave`.
static void send_at(struct responder *r, struct rte_mbuf *m, uint64_t leave, uint64_t now)
{
	if (leave <= now && r->faults.delay.held == 0) {
		push(r, m);
		return;
	}
	if (delay_put(&r->faults.delay, m, leave, now))
		return;
	r->tx_no_mbuf++; // as many places as buffers: only with an empty pool
	push(r, m);
}

static void send_swapped(struct responder *r, uint64_t leave, uint64_t now)
{
	struct rte_mbuf *m = r->swapped;

	r->swapped = NULL;
	send_at(r, m, leave > r->swapped_leave ? leave : r->swapped_leave, now);
}

struct piece {
	uint32_t offset, len;
};

// Lists the fragments of `total` octets in their sending order. Returns their number.
static uint32_t pieces_make(uint32_t total, uint32_t room, uint32_t fault, struct piece *out)
{
	uint32_t n = 0;

	for (uint32_t at = 0; at < total && n < PIECES - 1; at += room)
		out[n++] = (struct piece){at, total - at < room ? total - at : room};
	if (fault == FAULT_FRAGMENT_LOSS)
		return n - 1;
	if (fault == FAULT_FRAGMENT_REORDER) {
		struct piece last = out[n - 1];

		memmove(out + 1, out, (n - 1) * sizeof(*out));
		out[0] = last;
	}
	if (fault == FAULT_FRAGMENT_DUPLICATE || fault == FAULT_FRAGMENT_OVERLAP) {
		out[n] = out[n - 1]; // the last one stays last, as nothing is complete without it
		out[n - 1] = fault == FAULT_FRAGMENT_DUPLICATE
		                     ? out[0]
		                     : (struct piece){out[n].offset - 8, 8};
		n++;
	}
	return n;
}

// Sends a long reply in fragments, the first one in m. Fragments without a buffer are lost.
static void send_fragments(struct responder *r, struct fault_answer *a, struct rte_mbuf *m,
	uint32_t fault, uint64_t leave, uint64_t now)
{
	uint32_t room = fragment_room(a->t.addr_len, r->mtu), len, n;
	struct piece pieces[PIECES];
	struct frame f;

	a->t.checksum_offload = false; // no device computes the checksum of a fragmented packet
	len = frame_stamp(
		&a->t, a->data, a->src, a->src_port, (struct frame_payload){.len = a->len});
	if (a->damaged)
		faults_flip(a);
	frame_parse(a->data, len, &f);
	n = pieces_make(FRAME_UDP_LEN + a->len, room, fault, pieces);
	responder_count(&r->counts.fragmented, 1);
	for (uint32_t i = 0; i < n; i++) {
		if (i && !burst_alloc(r->wire.tx_pool, &m, 1)) {
			r->tx_no_mbuf++;
			break;
		}
		m->data_len = (uint16_t)fragment_make(&f, r->fragment_id, pieces[i].offset,
			pieces[i].len, rte_pktmbuf_mtod(m, uint8_t *));
		m->pkt_len = m->data_len;
		send_at(r, m, leave, now);
	}
	r->fragment_id += r->queue_step; // other workers use other IDs
}

// Makes an additional message: a copy of the reply, changed by the protocol if row is given.
// Returns NULL if that is not possible.
static struct rte_mbuf *extra_make(
	struct responder *r, const struct proto_fault *row, const struct fault_answer *a)
{
	struct fault_answer copy = *a;
	struct rte_mbuf *m;

	if (is_long(r, a) || !burst_alloc(r->wire.tx_pool, &m, 1))
		return NULL;
	copy.data = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(copy.data + a->t.len, a->data + a->t.len, a->len);
	if (row && !faults_spoil(FAULT_OF_PROTOCOL, row, &copy, rand_next(&r->faults.rand))) {
		burst_free(&m, 1);
		return NULL;
	}
	answer_finish(&copy, m);
	return m;
}

// Applies the fault to the reply. Returns false if it is not possible.
static bool fault_happens(struct responder *r, const struct responder_protocol *p, uint32_t fault,
	struct fault_answer *a, struct rte_mbuf **extra)
{
	const struct proto_fault *row = p->faults[fault];

	if (fault == FAULT_DUPLICATE || (row && row->extra)) {
		*extra = extra_make(r, row, a);
		return *extra != NULL;
	}
	if (fault >= FAULT_FRAGMENT_LOSS && fault <= FAULT_FRAGMENT_OVERLAP)
		return is_long(r, a);
	if (fault == FAULT_REORDER && is_long(r, a))
		return false;
	return faults_spoil(fault, row, a, rand_next(&r->faults.rand));
}

// Applies the first fault whose turn it is and that is possible. Returns it, or FAULTS_MAX.
static uint32_t fault_choose(struct responder *r, const struct responder_protocol *p,
	struct fault_answer *a, struct rte_mbuf **extra)
{
	for (uint64_t turns = faults_draw(&r->faults, UINT64_MAX); turns; turns &= turns - 1) {
		uint32_t fault = (uint32_t)__builtin_ctzll(turns);

		if (!fault_happens(r, p, fault, a, extra))
			continue;
		faults_count(&r->faults, fault);
		return fault;
	}
	return FAULTS_MAX;
}

static void send_faulty(struct responder *r, const struct responder_protocol *p,
	struct fault_answer *a, struct rte_mbuf *m, const uint64_t leave, uint64_t now)
{
	struct rte_mbuf *extra = NULL;
	uint32_t fault = fault_choose(r, p, a, &extra);

	if (fault == FAULT_LOSS || a->len == PROTO_NO_ANSWER) {
		burst_free(&m, 1);
		return;
	}
	responder_count(&r->counts.answered, 1);
	if (is_long(r, a)) {
		send_fragments(r, a, m, fault, leave, now);
		if (r->swapped)
			send_swapped(r, leave, now);
		return;
	}
	answer_finish(a, m);
	if (fault == FAULT_REORDER && !r->swapped) {
		r->swapped = m;
		r->swapped_leave = leave;
		r->swapped_at = now;
		return;
	}
	send_at(r, m, leave, now);
	if (extra)
		send_at(r, extra, leave, now);
	if (r->swapped)
		send_swapped(r, leave, now);
}

// Completes and sends a reply that has its payload. Returns false if there is none.
static bool send_answer(struct responder *r, struct fault_answer *a, struct rte_mbuf *m)
{
	if (a->len == 0) {
		responder_count(&r->counts.ignored, 1);
		return false;
	}
	responder_count(&r->counts.answered, 1);
	if (is_long(r, a)) {
		send_fragments(r, a, m, FAULTS_MAX, 0, 0);
		return true;
	}
	answer_finish(a, m);
	push(r, m);
	return true;
}

// Sends the further messages of a reply, each in a buffer of its own, to where the reply goes.
// Messages without a buffer are lost.
static __attribute__((noinline)) void send_more(struct responder *r, struct responder_protocol *p,
	const struct frame *f, const struct fault_answer *answer, uint64_t leave, uint64_t now)
{
	for (uint32_t n = 0; p->ctx.more && n < PROTO_MAX_MORE; n++) {
		struct fault_answer a = *answer;
		struct rte_mbuf *m;

		if (!burst_alloc(r->wire.tx_pool, &m, 1)) {
			r->tx_no_mbuf++;
			return;
		}
		a.data = rte_pktmbuf_mtod(m, uint8_t *);
		a.room = rte_pktmbuf_tailroom(m) - a.t.len;
		a.len = p->server->more(
			&p->ctx, f->payload, f->payload_len, a.data + a.t.len, a.room);
		if (a.len == 0) {
			burst_free(&m, 1);
			return;
		}
		answer_finish(&a, m);
		send_at(r, m, leave + p->later, now);
	}
}

// Answers a request received at `now`.
static void respond(
	struct responder *r, struct responder_protocol *p, const struct frame *f, uint64_t now)
{
	struct fault_answer a, first;
	struct rte_mbuf *m;
	uint64_t leave = now;

	if (r->faults.active && !faults_admit(&r->faults, now, &leave))
		return;
	if (!burst_alloc(r->wire.tx_pool, &m, 1)) {
		r->tx_no_mbuf++;
		responder_count(&r->counts.no_buffer, 1);
		return;
	}
	answer_begin(r, p, f, m, &a);
	if (a.len == 0)
		p->ctx.more = 0;
	if (p->ctx.more)
		first = a; // without its faults
	if (a.len && r->faults.active)
		send_faulty(r, p, &a, m, leave, now);
	else if (!send_answer(r, &a, m))
		burst_free(&m, 1);
	if (p->ctx.more)
		send_more(r, p, f, &first, leave, now);
}

// Like respond, in the buffer of the request: none of its lines travels to the other CPU and back
// more than once. Reads the request from a copy. Returns false if the buffer was not sent.
static bool turn_round(
	struct responder *r, struct responder_protocol *p, struct rte_mbuf *m, uint64_t now)
{
	uint8_t copy[REQUEST_MAX];
	struct fault_answer a;
	struct frame f;

	memcpy(copy, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
	if (!frame_parse_plain(copy, m->data_len, &f))
		frame_parse(copy, m->data_len, &f);
	burst_reset(m);
	m->data_len = 0;
	answer_begin(r, p, &f, m, &a);
	if (!send_answer(r, &a, m))
		return false;
	if (__builtin_expect(p->ctx.more != 0, 0))
		send_more(r, p, &f, &a, now, now);
	return true;
}

// Is the packet for an address of ours, or a broadcast in a protocol that has them?
static bool is_for_us(
	const struct responder *r, const struct responder_protocol *p, const struct frame *f)
{
	static const uint8_t everybody[4] = {0xff, 0xff, 0xff, 0xff};
	bool group = f->addr_len == 4 ? addr_bytes_equal(f->dst, everybody, 4) : f->dst[0] == 0xff;

	return neigh_owns(&r->wire.self, f->dst, f->addr_len) ||
	       (group && p->server->groups && own_address(r, f));
}

// Handles a segment of a connection. Returns false if it is not for us.
static bool responder_stream(struct responder *r, const struct frame *f, uint64_t now)
{
	struct responder_protocol *p = stream_protocol_of(r, f->dst_port);

	if (!r->conns || !neigh_owns(&r->wire.self, f->dst, f->addr_len))
		return false;
	if (p)
		p->ctx.now_ms = clock_ms(now - r->start, r->ms_scale);
	responder_segment(r, p, f, now);
	return true;
}

static bool is_quic(const struct responder *r, const struct frame *f)
{
	return r->quic && f->dst_port == r->quic->protocol->quic_port &&
	       neigh_owns(&r->wire.self, f->dst, f->addr_len);
}

// Handles a packet. Returns true if its buffer was sent with the reply.
static bool responder_packet(struct responder *r, struct rte_mbuf *m, uint64_t now)
{
	struct frame f;
	struct responder_protocol *p;
	enum frame_kind kind;

	if (!wire_parse(&r->wire, m, &f, &kind))
		return false;
	if (kind == FRAME_TCP && responder_stream(r, &f, now))
		return false;
	if (kind == FRAME_UDP && is_quic(r, &f)) {
		if (wire_packet(&r->wire, m, &f))
			responder_quic_datagram(r, &f, now);
		return false;
	}
	p = kind == FRAME_UDP ? protocol_of(r, f.dst_port) : NULL;
	if (!p || !is_for_us(r, p, &f)) {
		wire_other(&r->wire, kind, &f);
		return false;
	}
	responder_count(&r->counts.received, 1);
	p->ctx.now_ms = clock_ms(now - r->start, r->ms_scale);
	if (r->turns && !p->is_long && !r->faults.active && wire_packet(&r->wire, m, &f) == m &&
		m->data_len <= REQUEST_MAX)
		return turn_round(r, p, m, now);
	respond(r, p, &f, now);
	return false;
}

// Sends a held-back reply that is due, and frees it.
static void send_held(struct responder *r, void *held)
{
	struct rte_mbuf *m = (struct rte_mbuf *)((uintptr_t)held & ~(uintptr_t)1);
	const struct held head = *rte_pktmbuf_mtod(m, const struct held *);
	uint32_t len = 0;

	for (const struct held *h; m; m = h->next) {
		h = rte_pktmbuf_mtod(m, const struct held *);
		memcpy(r->conns->cs.message + CONN_LENGTH + len, h + 1, h->len);
		len += h->len;
	}
	responder_free_message(held);
	if (head.quic)
		responder_quic_send(r, &head, len);
	else
		responder_conn_send(r, &head, len);
}

static void responder_release(struct responder *r)
{
	void *due[BURST_MAX];
	uint64_t now = clock_time(r->clock);
	uint32_t n = delay_take(&r->faults.delay, now, due, BURST_MAX);

	for (uint32_t i = 0; i < n; i++) {
		if (responder_holds_message(due[i]))
			send_held(r, due[i]);
		else
			push(r, due[i]);
	}
	if (r->swapped && txn_since(now, r->swapped_at) > (int64_t)r->patience)
		send_swapped(r, now, now);
	atomic_store_explicit(&r->counts.waiting, r->faults.delay.held + (r->swapped != NULL),
		memory_order_release);
}

static uint16_t responder_burst(struct responder *r)
{
	struct rte_mbuf *in[BURST_MAX];
	uint16_t n = burst_rx(r->wire.port, r->wire.queue, in, r->wire.burst);
	bool timed = r->faults.active || r->timed;
	uint64_t now = r->conns || (n && timed) ? clock_time(r->clock) : 0;
	uint16_t kept = 0;

	if (r->conns)
		conns_clock(&r->conns->cs, now);

	burst_ask(in, n);
	for (uint16_t i = 0; i < n; i++) {
		burst_ask_next(in, n, i);
		if (!responder_packet(r, in[i], now))
			in[kept++] = in[i];
	}
	if (kept)
		burst_free(in, kept);
	if (r->faults.active)
		responder_release(r);
	responder_flush(r);
	if (r->conns) {
		conns_expire(&r->conns->cs);
		if (r->conns->more_count)
			n |= responder_go_on(r, now);
		if (r->conns->cs.secure)
			n |= secure_pass(&r->conns->cs);
		n |= conns_send(&r->conns->cs, &r->wire, &r->tx_no_mbuf);
	}
	if (r->quic)
		n |= responder_quic_pass(r);
	return n;
}

// A held-back reply is sent by the queue that is served at that time, so a tester with several
// queues may receive it on another one.
uint16_t responder_pass(struct responder *r)
{
	uint16_t n = 0;

	for (uint32_t q = r->queue_first; q < r->queue_end; q += r->queue_step) {
		r->wire.port = r->queues[q].device;
		r->wire.queue = r->queues[q].number;
		n |= responder_burst(r);
	}
	return n;
}

void responder_halt(struct responder *r)
{
	void *held;

	if (r->conns)
		responder_conns_halt(r);
	if (r->quic)
		responder_quic_halt(r);
	while ((held = delay_drop(&r->faults.delay))) {
		struct rte_mbuf *m = held;

		if (responder_holds_message(held))
			responder_free_message(held);
		else
			burst_free(&m, 1);
	}
	if (r->swapped)
		burst_free(&r->swapped, 1);
	wire_fragments_end(&r->wire);
}

// Counts a time without the CPU: losses in it are caused by this box, not by a server.
static void responder_stalled(struct responder_counts *c, uint64_t passed)
{
	responder_count(&c->gaps_over_1ms, 1);
	responder_count(&c->stolen, passed);
	if (passed > atomic_load_explicit(&c->max_gap, memory_order_relaxed))
		atomic_store_explicit(&c->max_gap, passed, memory_order_relaxed);
}

// Copies the counters of the protocols, as the management thread requested.
static __attribute__((noinline)) void responder_tell(struct responder *r, uint32_t asked)
{
	for (uint32_t n = 0; n < r->protocol_count; n++) {
		const struct responder_protocol *p = &r->protocols[n];

		memcpy(p->told, p->ctx.counters, p->server->counters->size);
	}
	atomic_store_explicit(&r->told, asked, memory_order_release);
}

bool responder_turn(struct responder *r, uint64_t *at)
{
	uint32_t phase = atomic_load_explicit(r->phase, memory_order_acquire), asked;
	uint64_t before = *at;
	bool worked;

	if (phase == PHASE_STOP) {
		responder_halt(r);
		return false;
	}
	worked = responder_pass(r) > 0;
	if (!worked && r->yields)
		sched_yield();
	if (r->idle.sleeps)
		before = responder_rest(r, before, worked);
	*at = clock_time(r->clock);
	if (*at - before > r->stall && phase != PHASE_WARMUP)
		responder_stalled(&r->counts, *at - before);
	asked = atomic_load_explicit(&r->asked, memory_order_acquire);
	if (asked != atomic_load_explicit(&r->told, memory_order_relaxed))
		responder_tell(r, asked);
	return true;
}

int responder_loop(void *arg)
{
	struct responder *r = arg;
	uint64_t now = clock_time(r->clock);

	if (r->idle.sleeps)
		wait_prepare();
	while (responder_turn(r, &now))
		;
	return 0;
}
