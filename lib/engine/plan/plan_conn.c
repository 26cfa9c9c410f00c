// SPDX-License-Identifier: BSD-3-Clause
// The connections' part of the plan: their tables for each worker of an item, and for the
// responder. Path: cold. Management thread.
#include <math.h>
#include <time.h>

#include "engine/core/pages.h"
#include "engine/core/worker/worker_conn.h"
#include "engine/core/worker/worker_rude.h"
#include "engine/plan/plan_https.h"
#include "engine/plan/plan_internal.h"
#include "engine/plan/plan_quic.h"
#include "engine/plan/plan_tls.h"
#include "engine/core/responder/responder.h"

#define CLOSING_LEAST    4096    // connections that are being closed
#define CLOSING_UNKNOWN  1048576 // likewise, if the rate is unknown
#define SPARE            0.05    // share of the seats: a pool replaces some connections
#define BLOCKS_LEAST     4096
#define BLOCKS_MOST      1048576 // 256 MiB; above that, one for each transaction
#define PIPELINE_MOST    32767   // as many may move from another connection: conn.open holds both
#define RETRANSMISSIONS  8
#define PATIENCE_NS      200000000 // time for connections to end after the last transaction
#define CLOCK_BITS       42 // of microseconds: timestamps and sequence numbers wrap within them
#define RECORD_EXTRA     (RECORD_LEAD_MOST + RECORD_TRAIL_MOST)
#define REQUEST_EXTRA    512   // octets of the frames and headers of a message
#define FLIGHT_BLOCKS    40    // of a handshake: 8 KiB of certificates, and our part
#define HANDSHAKE_BYTES  12288 // that the TLS library takes for one
#define BEHAVE_WINDOW    2048  // small: a slow reader's fills soon
#define BEHAVE_BLOCKS    24    // of a client, whose window arrives in small segments
#define SERVER_WINDOW    65535
#define SERVER_CONNS     262144 // of a worker, for testers elsewhere
#define SERVER_BLOCKS    65536
#define SERVER_LIVE      1024    // of these, usually open at a time
#define SERVER_TIME_WAIT 1000000 // microseconds
#define SERVER_ACK_DELAY 40000   // microseconds
#define SERVER_SYN_TRIES 4

static uint32_t seats_of(const struct item_facts *f, uint32_t worker)
{
	uint64_t each = f->tcp->connections / f->share.of;
	uint64_t seats = each + (worker < f->tcp->connections % f->share.of);

	return (uint32_t)(seats ? seats : 1);
}

uint32_t plan_seats(const struct plan_item *i, uint32_t worker)
{
	const struct item_facts *f = &i->settings->facts;

	return f->stream ? seats_of(f, f->share.first + worker) : 0;
}

// Blocks for the messages of all transactions at once, each the longest possible, up to a limit.
static uint64_t blocks_of(uint64_t slots, uint32_t longest)
{
	uint64_t each = 1 + longest / TCP_BLOCK_BYTES,
		 most = slots > BLOCKS_MOST ? slots : BLOCKS_MOST;

	return (slots * each < most ? slots * each : most) + BLOCKS_LEAST;
}

// Blocks for a part of a long reply on each connection; segments may fill blocks only partly.
static uint64_t parts_of(uint64_t seats, uint64_t reply)
{
	uint64_t blocks = seats * (2 * reply / TCP_BLOCK_BYTES);

	return blocks < BLOCKS_MOST ? blocks : BLOCKS_MOST;
}

// Connections of a worker: at its seats, and being closed.
static struct conns_shape shape_of(const struct plan_item *i, uint64_t rows, uint64_t slots)
{
	const struct item_facts *f = &i->settings->facts;
	const struct tcp_settings *tcp = f->tcp;
	double rate = config_connection_rate(i->settings) / f->share.of;
	double closing =
		isinf(rate) ? CLOSING_UNKNOWN
			    : fmax(rate * (1 + 1e-9 * (double)tcp->time_wait_ns), CLOSING_LEAST);
	uint64_t seats = seats_of(f, 0);
	uint64_t reply = config_terms(i->settings).longest_reply;
	double open = (double)seats * (rate > 0 ? 2 : 1 + SPARE);
	uint32_t longest =
		plan_item_longest(i) + (f->tls ? RECORD_EXTRA : 0) + (f->https ? REQUEST_EXTRA : 0);
	uint64_t flights = f->tls ? f->tls->handshakes * FLIGHT_BLOCKS : 0;

	if (f->quic)
		return (struct conns_shape){
			.count = (uint32_t)fmin((double)rows, plan_quic_conns((uint32_t)seats)),
			.places = (uint32_t)rows};
	return (struct conns_shape){.count = (uint32_t)fmin((double)rows, open + closing),
		.places = (uint32_t)rows,
		.blocks = (uint32_t)(blocks_of(slots, longest) + parts_of(seats, reply) + flights),
		.window = (uint32_t)tcp->window,
		.time_wait_us = tcp->time_wait_ns / 1000,
		.ack_delay_us = (uint32_t)(tcp->ack_delay_ns / 1000),
		.syn_tries = (uint8_t)tcp->syn_tries,
		.tries = RETRANSMISSIONS,
		.stamps = tcp->timestamps,
		.nagle = tcp->nagle};
}

static size_t rows_size(uint64_t rows)
{
	return sizeof(uint32_t) << txn_bits_for(rows);
}

static uint64_t own_bytes(uint64_t seats, uint64_t slots, uint64_t rows)
{
	return sizeof(struct worker_conns) + seats * sizeof(struct conn_seat) +
	       seats * sizeof(uint32_t) + slots * 2 * sizeof(uint32_t) + rows_size(rows);
}

// Returns the tick at which the clock of connections is 0. The clock continues from run to run,
// because a server that closed a connection accepts a new one from that port only with a later
// timestamp or sequence number.
static uint64_t clock_zero(const struct clock *c)
{
	struct timespec now;
	uint64_t us;

	if (c->set)
		return *c->set;
	clock_gettime(CLOCK_REALTIME, &now);
	us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
	return clock_now() - clock_ticks(c, 1000 * (us & ((1ull << CLOCK_BITS) - 1)));
}

// --- misbehaving clients ---

// Returns the number of a worker's clients with this behaviour.
static uint32_t behave_clients(const struct plan_item *i, uint32_t worker, uint32_t behaviour)
{
	const struct fleet_share share = i->settings->facts.share;
	uint64_t all = tcp_behave_clients(i->settings->facts.tcp, (enum tcp_behaviour)behaviour);

	return (uint32_t)(all / share.of + (share.first + worker < all % share.of));
}

// Returns the rows (addresses and ports) of the worker that these clients get.
static uint32_t behave_rows(uint64_t clients, uint64_t rows)
{
	double least = 2 * (double)clients + 1, most = 16 * (double)clients;

	return clients ? (uint32_t)fmin((double)rows - 1, fmax(least, fmin(most, (double)rows / 8)))
	               : 0;
}

static struct conns_shape behave_shape(
	const struct tcp_settings *tcp, uint64_t clients, uint32_t rows)
{
	return (struct conns_shape){.count = (uint32_t)(2 * clients),
		.places = rows,
		.blocks = (uint32_t)fmin((double)clients * BEHAVE_BLOCKS + BLOCKS_LEAST, 1u << 24),
		.window = BEHAVE_WINDOW,
		.time_wait_us = 1,
		.syn_tries = (uint8_t)tcp->syn_tries,
		.tries = RETRANSMISSIONS};
}

static size_t behave_own(uint64_t clients)
{
	return sizeof(struct worker_behave) + clients * (sizeof(uint32_t) + sizeof(uint8_t));
}

static uint64_t behave_memory(const struct tcp_settings *tcp, uint32_t workers, uint64_t rows)
{
	uint64_t clients = tcp_behave_all(tcp) / workers + TCP_BEHAVIOUR_COUNT;
	struct conns_shape shape = behave_shape(tcp, clients, behave_rows(clients, rows / workers));

	return tcp_behave_all(tcp) ? conns_bytes(&shape) + behave_own(clients) : 0;
}

// Mixes the kinds of clients evenly: the next client is of the kind furthest behind its share.
static void mix_kinds(const uint32_t *counts, uint64_t all, uint8_t *kinds)
{
	uint64_t done[TCP_BEHAVIOUR_COUNT] = {0};

	for (uint64_t n = 0; n < all; n++) {
		uint32_t best = 0;
		double most = -1;

		for (uint32_t k = 0; k < TCP_BEHAVIOUR_COUNT; k++) {
			double lags =
				(double)counts[k] * (double)(n + 1) / (double)all - (double)done[k];

			if (counts[k] > done[k] && lags > most) {
				most = lags;
				best = k;
			}
		}
		done[best]++;
		kinds[n] = (uint8_t)best;
	}
}

static size_t rests_bytes(const struct secures_shape *s)
{
	return s->sha384 ? s->count * sizeof(struct secure_rest) : 0;
}

// Returns the tables of TLS, which belong to cs; NULL: without memory.
static struct secures *tls_open(struct plan *p, struct conns *cs, const struct secures_shape *shape)
{
	struct secures *ss = pages_alloc(sizeof(*ss));
	void *memory = pages_alloc(secures_bytes(shape));
	void *rests = shape->sha384 ? pages_reserve(rests_bytes(shape)) : NULL;

	if (!ss || !memory || (shape->sha384 && !rests)) {
		pages_free(ss, sizeof(*ss));
		pages_free(memory, secures_bytes(shape));
		pages_free(rests, rests_bytes(shape));
		return NULL;
	}
	secures_init(ss, memory, shape);
	ss->rests = rests;
	ss->rests_bytes = rests_bytes(shape);
	ss->clock = &p->clock;
	cs->secure = ss;
	return plan_crew_add(p, ss) < 0 ? NULL : ss;
}

static void tls_close(struct conns *cs)
{
	struct secures *ss = cs->secure;

	plan_https_close(cs);
	if (!ss)
		return;
	secures_free(ss);
	plan_crew_remove(ss);
	pages_free(ss->rests, ss->rests_bytes);
	pages_free(ss->all, ss->bytes);
	pages_free(ss, sizeof(*ss));
	cs->secure = NULL;
}

// TLS of its clients that complete the handshake, and ClientHello of the others.
static int behave_tls_open(
	struct plan *p, const struct plan_item *i, struct worker_behave *b, uint32_t shaking)
{
	struct secures_shape shape = plan_tls_shape(i->settings->facts.tls, b->cs.count, shaking);
	struct hand *h = hand_begin(i->hands, NULL, 0);
	struct secures *ss;
	const uint8_t *out;
	size_t len = 0, taken;

	if (h) {
		hand_step(h, NULL, 0, &taken);
		out = hand_output(h, &len);
		b->hello_len = (uint32_t)(len < BEHAVE_HELLO ? len : BEHAVE_HELLO);
		memcpy(b->hello, out, b->hello_len);
	}
	hand_free(h);
	if (len == 0)
		return -ENOMEM;
	shape.stored = 0;
	ss = shaking ? tls_open(p, &b->cs, &shape) : NULL;
	if (shaking && !ss)
		return -ENOMEM;
	if (!ss)
		return 0;
	plan_tls_fill(ss, i->settings);
	ss->setup = i->hands;
	ss->counts = &b->tls;
	ss->timeout_us = 0;
	ss->bursts = false;
	return 0;
}

// rows: all rows of the worker; the last ones are for misbehaving clients.
static int behave_open(struct plan *p, struct plan_item *i, uint32_t worker, uint64_t rows)
{
	const struct tcp_settings *tcp = i->settings->facts.tcp;
	struct worker_conns *wc = plan_run(i, worker)->conns;
	uint32_t counts[TCP_BEHAVIOUR_COUNT], shaking;
	struct worker_behave *b;
	struct conns_shape shape;
	uint64_t all = 0;
	void *memory;

	for (uint32_t k = 0; k < TCP_BEHAVIOUR_COUNT; k++)
		all += counts[k] = behave_clients(i, worker, k);
	wc->row_end = (uint32_t)rows - behave_rows(all, rows);
	if (all == 0)
		return 0;
	shape = behave_shape(tcp, all, (uint32_t)rows - wc->row_end);
	b = pages_alloc(behave_own(all));
	memory = pages_alloc(conns_bytes(&shape));
	if (!b || !memory) {
		pages_free(b, behave_own(all));
		pages_free(memory, conns_bytes(&shape));
		return -ENOMEM;
	}
	wc->behave = b;
	conns_init(&b->cs, memory, &shape, clock_zero(&p->clock), clock_us_scale(&p->clock));
	b->cs.host.reads_all = false; // unread data of a slow reader fills its window
	b->cs.owner = &worker_behave_owner;
	b->cs.of = b;
	b->wc = wc;
	b->client_count = (uint32_t)all;
	b->row_first = wc->row_end;
	b->row_count = (uint32_t)rows - wc->row_end;
	b->gap = clock_ticks(&p->clock, (double)tcp->behave->hold_ns / (double)all);
	b->conn_of = (uint32_t *)(b + 1);
	memset(b->conn_of, 0xff, all * sizeof(*b->conn_of));
	b->kinds = (const uint8_t *)(b->conn_of + all);
	mix_kinds(counts, all, (uint8_t *)(b->conn_of + all));
	b->request = i->request;
	b->cs.framed = worker_rude_framed;
	shaking = counts[TCP_TLS_HANDSHAKE_ONLY] + counts[TCP_TLS_RENEGOTIATE];
	for (uint32_t k = TCP_FIRST_OF_H2; k < TCP_BEHAVIOUR_COUNT; k++)
		shaking += counts[k];
	return i->settings->facts.tls ? behave_tls_open(p, i, b, shaking) : 0;
}

static void behave_close(struct worker_behave *b)
{
	if (!b)
		return;
	tls_close(&b->cs);
	pages_free(b->cs.all, b->cs.bytes);
	pages_free(b, behave_own(b->client_count));
}

static uint64_t tls_memory(const struct item_facts *f, uint32_t conns)
{
	const struct secures_shape shape = plan_tls_shape(f->tls, conns, seats_of(f, 0));

	return secures_bytes(&shape) + rests_bytes(&shape) +
	       (uint64_t)shape.seats * HANDSHAKE_BYTES;
}

// Returns 0 or -ENOMEM.
static int item_https_open(const struct plan_item *i, struct worker_conns *wc)
{
	const struct https_shape shape =
		plan_https_shape(i->settings, wc->cs.count, wc->seat_count, wc->it->txns.count);
	int ret = plan_https_open(&wc->cs, i, &shape);

	if (ret < 0)
		return ret;
	wc->cs.https->counts = wc->books.http;
	wc->it->keyless = true;
	if (wc->per_conn > H2_STREAM_LAST / 2)
		wc->per_conn = H2_STREAM_LAST / 2;
	return 0;
}

// Returns 0 or -ENOMEM.
static int item_tls_open(struct plan *p, const struct plan_item *i, struct worker_conns *wc)
{
	const struct secures_shape shape =
		plan_tls_shape(i->settings->facts.tls, wc->cs.count, wc->seat_count);
	struct secures *ss = tls_open(p, &wc->cs, &shape);

	if (!ss)
		return -ENOMEM;
	plan_tls_fill(ss, i->settings);
	ss->setup = i->hands;
	ss->counts = wc->books.tls;
	return i->request ? item_https_open(i, wc) : 0;
}

static uint64_t https_memory(const struct plan_item *i, uint32_t conns, uint32_t slots)
{
	const struct https_shape shape =
		plan_https_shape(i->settings, conns, seats_of(&i->settings->facts, 0), slots);

	return https_bytes(&shape);
}

uint64_t plan_conn_memory(const struct plan_item *i, uint64_t slots, uint64_t rows)
{
	const struct item_facts *f = &i->settings->facts;
	uint32_t workers = f->share.of;
	struct conns_shape shape;

	if (!f->tcp)
		return 0;
	shape = shape_of(i, rows / workers, slots);
	if (f->quic)
		return conns_bytes(&shape) + own_bytes(seats_of(f, 0), slots, rows / workers) +
		       plan_quic_memory(i, shape.count, seats_of(f, 0), slots);
	return conns_bytes(&shape) + own_bytes(seats_of(f, 0), slots, rows / workers) +
	       behave_memory(f->tcp, workers, rows) + (f->tls ? tls_memory(f, shape.count) : 0) +
	       (f->https ? https_memory(i, shape.count, (uint32_t)slots) : 0);
}

static uint32_t us_of(uint64_t ns)
{
	return ns == UINT64_MAX ? 0 : (uint32_t)(ns / 1000);
}

// port_count: the worker's own source ports; clients: source addresses.
int plan_conn_open(
	struct plan *p, struct plan_item *i, uint32_t worker, uint32_t port_count, uint32_t clients)
{
	const struct item_facts *f = &i->settings->facts;
	const struct tcp_settings *tcp = f->tcp;
	struct worker_item *run = plan_run(i, worker);
	uint64_t rows = (uint64_t)port_count * clients;
	struct conns_shape shape = shape_of(i, rows, run->txns.count);
	struct worker_conns *wc = pages_alloc(sizeof(*wc));
	uint8_t preface[TCP_BLOCK_BYTES];
	void *memory;

	if (run->proto->preface && run->proto->preface(&run->ctx, 0, preface, sizeof(preface)) > 0)
		shape.blocks += shape.count; // it waits for the server's SYN
	memory = pages_alloc(conns_bytes(&shape));
	if (!wc || !memory) {
		pages_free(wc, sizeof(*wc));
		pages_free(memory, conns_bytes(&shape));
		return -ENOMEM;
	}
	if (i->port->sockets) // ports rest in the kernel
		shape.time_wait_us = 0;
	run->conns = wc;
	conns_init(&wc->cs, memory, &shape, clock_zero(&p->clock), clock_us_scale(&p->clock));
	wc->cs.owner = &worker_conn_owner;
	wc->cs.of = wc;
	wc->cs.host.counters = &wc->books.tcp;
	wc->cs.framed = run->proto->framed;
	wc->cs.fixed = i->facts.fixed;
	wc->preface_outside = i->facts.preface_outside;
	wc->silent = i->facts.silent;
	wc->connects = i->facts.connects;
	wc->w = &i->worker[worker];
	wc->it = run;
	run->stream = f->stream;
	wc->seat_count = plan_seats(i, worker);
	wc->client_count = clients;
	recip_init(&wc->by_client, clients);
	wc->per_conn = tcp->queries_per_connection > UINT32_MAX
	                       ? UINT32_MAX
	                       : (uint32_t)tcp->queries_per_connection;
	wc->pipeline = tcp->pipeline > PIPELINE_MOST ? PIPELINE_MOST : (uint32_t)tcp->pipeline;
	wc->idle_us = us_of(tcp->idle_ns);
	wc->replaces = tcp->open == TRANSPORT_OPEN_RATE;
	if (wc->seat_count && tcp->open != TRANSPORT_OPEN_DEMAND)
		wc->open_gap =
			clock_ticks(&p->clock, (uint64_t)(1e9 * f->share.of / tcp->open_rate) + 1);
	wc->again = tcp->closed == TRANSPORT_CLOSED_AGAIN;
	wc->mss = (uint16_t)(i->port->settings->mtu - FRAME_TCP_LEN -
			     (i->settings->server.len == 4 ? FRAME_IPV4_LEN : FRAME_IPV6_LEN));
	wc->patience = clock_ticks(&p->clock, PATIENCE_NS);
	wc->late = clock_ticks(&p->clock, p->config->validity.send_lag_p99_ns);
	wc->secret = rand_hash(i->seed ^ (f->share.first + worker));
	wc->row_mask = (uint32_t)(rows_size(rows) / sizeof(uint32_t)) - 1;
	if (behave_open(p, i, worker, rows) < 0 ||
		(f->quic ? plan_quic_open(p, i, worker) < 0
			 : f->tls && item_tls_open(p, i, wc) < 0))
		return -ENOMEM;
	wc->rows = pages_alloc(rows_size(rows));
	wc->seats = pages_alloc((wc->seat_count + 1) * sizeof(*wc->seats));
	wc->silent_at = pages_alloc((wc->seat_count + 1) * sizeof(*wc->silent_at));
	wc->of_slot = pages_alloc(run->txns.count * sizeof(*wc->of_slot));
	wc->end_of = pages_alloc(run->txns.count * sizeof(*wc->end_of));
	if (!wc->rows || !wc->seats || !wc->silent_at || !wc->of_slot || !wc->end_of)
		return -ENOMEM;
	memset(wc->of_slot, 0xff, run->txns.count * sizeof(*wc->of_slot));
	wc->row_count = 0;
	for (uint32_t n = 0; n < wc->row_end; n++)
		if ((n / clients & run->txns.lane_mask) == 0) // each port occurs once per lane
			wc->rows[wc->row_count++] = n;
	for (uint32_t n = 0; n < wc->seat_count; n++)
		wc->seats[n].conn = CONN_NONE;
	hist_clear(&wc->books.handshake);
	hist_clear(&wc->books.first);
	for (int n = 0; n < TLS_TIMES; n++)
		hist_clear(&wc->books.tls_times[n]);
	return 0;
}

void plan_conn_address(
	struct worker_item *run, const struct frame_path *path, bool checksum_offload)
{
	struct frame_path tcp = *path;

	if (!run->conns)
		return;
	tcp.tcp = !run->conns->cs.quic;
	frame_template_build(&run->conns->frame, &tcp);
	run->conns->frame.checksum_offload = checksum_offload;
}

void plan_conn_close(struct worker_item *run)
{
	struct worker_conns *wc = run->conns;

	if (!wc)
		return;
	pages_free(wc->rows, (wc->row_mask + 1ull) * sizeof(*wc->rows));
	pages_free(wc->seats, (wc->seat_count + 1) * sizeof(*wc->seats));
	pages_free(wc->silent_at, (wc->seat_count + 1) * sizeof(*wc->silent_at));
	pages_free(wc->of_slot, run->txns.count * sizeof(*wc->of_slot));
	pages_free(wc->end_of, run->txns.count * sizeof(*wc->end_of));
	behave_close(wc->behave);
	tls_close(&wc->cs);
	plan_quic_close(&wc->cs);
	pages_free(wc->cs.all, wc->cs.bytes);
	pages_free(wc, sizeof(*wc));
	run->conns = NULL;
}

// Connections that the responder has to expect, from our own items or testers elsewhere. If it
// closes them, they stay in its table for a while, up to one per port and address of the clients.
static uint64_t expected(const struct plan *p, bool closes)
{
	uint64_t most = p->item_count ? 0 : SERVER_CONNS, rows = 0;

	for (uint32_t i = 0; i < p->item_count; i++)
		for (uint32_t k = 0; k < p->items[i].worker_count; k++) {
			const struct worker_conns *wc = plan_run(&p->items[i], k)->conns;

			most += wc ? wc->cs.count : 0;
			most += wc && wc->behave ? wc->behave->row_count : 0;
			rows += wc ? wc->row_count : 0;
		}
	rows = rows < SERVER_CONNS ? rows : SERVER_CONNS;
	return closes && rows > most ? rows : most;
}

static uint32_t or_any(uint64_t n)
{
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

// Sets how the responder treats connections. n: number of its worker.
static void treat(struct responder_conns *rc, const struct transport_server_settings *s, uint32_t n,
	uint32_t workers)
{
	uint64_t share = s->connections / workers + (n < s->connections % workers);

	rc->most = s->connections == UINT64_MAX ? UINT32_MAX : (uint32_t)share;
	rc->per_conn = or_any(s->queries_per_connection);
	rc->idle_us = us_of(s->idle_ns);
	rc->accept = s->accept;
	rc->drops = s->full == TRANSPORT_FULL_DROP;
	rc->resets = s->reset;
}

// Connections that are open at a time, if the items of this file ask it; else usually.
static uint32_t live_tls(const struct plan *p)
{
	uint64_t n = p->item_count ? 0 : SERVER_LIVE;

	for (uint32_t i = 0; i < p->item_count; i++)
		if (p->items[i].settings->facts.tls)
			n += p->items[i].settings->facts.tcp->connections +
			     tcp_behave_all(p->items[i].settings->facts.tcp);
	return (uint32_t)(n < UINT32_MAX ? n : UINT32_MAX);
}

// Returns 0 or -ENOMEM.
static int responder_tls_open(struct plan *p, struct responder_conns *rc)
{
	const struct tls_server_settings *s = tls_server_settings_or(p->config->responder->tls);
	const struct secures_shape shape = {.count = rc->cs.count,
		.live = live_tls(p),
		.seats = (uint32_t)(s->handshakes < rc->cs.count ? s->handshakes : rc->cs.count),
		.sha384 = tls_has_cipher(&s->common, RECORD_AES_256_GCM)};
	struct secures *ss = tls_open(p, &rc->cs, &shape);

	if (!ss)
		return -ENOMEM;
	ss->setups = (const struct hand_setup *const *)p->responder_hands;
	ss->setups_http = (const struct hand_setup *const *)p->responder_hands_http;
	ss->counts = &rc->tls;
	ss->server = true;
	ss->close_notify = s->close_notify;
	return p->responder_hands_http[0] ? plan_https_serve(&rc->cs, p, live_tls(p), rc->secret)
	                                  : 0;
}

int plan_responder_conns(struct plan *p, struct responder *r, const struct port *port)
{
	const struct transport_server_settings *s = transport_server(p->config->responder->tcp);
	bool closes = s->queries_per_connection != UINT64_MAX || s->idle_ns != UINT64_MAX;
	bool secured = p->responder_hands[0] || p->responder_hands_http[0];
	uint64_t count = expected(p, closes);
	const struct conns_shape shape = {.count = (uint32_t)count,
		.places = (uint32_t)count,
		.blocks = SERVER_BLOCKS + (secured ? SERVER_BLOCKS : 0),
		.window = (uint32_t)s->window,
		// A kernel lets ports rest by itself.
		.time_wait_us = port->sockets ? 0 : SERVER_TIME_WAIT,
		.ack_delay_us = SERVER_ACK_DELAY,
		.syn_tries = SERVER_SYN_TRIES,
		.tries = RETRANSMISSIONS,
		.stamps = true};
	struct responder_conns *rc;
	void *memory;

	if (count == 0)
		return 0;
	rc = pages_alloc(sizeof(*rc));
	memory = pages_alloc(conns_bytes(&shape));
	if (rc)
		rc->all = pages_alloc(count * sizeof(*rc->all));
	if (!rc || !memory || !rc->all) {
		if (rc)
			pages_free(rc->all, count * sizeof(*rc->all));
		pages_free(rc, sizeof(*rc));
		pages_free(memory, conns_bytes(&shape));
		return -ENOMEM;
	}
	r->conns = rc;
	conns_init(&rc->cs, memory, &shape, r->start, clock_us_scale(&p->clock));
	rc->cs.owner = &responder_conn_owner;
	rc->cs.of = r;
	rc->packet = (uint32_t)port->settings->mtu;
	rc->secret = rand_hash(p->config->run.seed ^ r->queue_first);
	rc->more_blocks = SERVER_BLOCKS / 2;
	treat(rc, s, r->queue_first, p->responder_count);
	if (!secured)
		return 0;
	plan_tls_faults(p, rc, r->queue_first);
	return responder_tls_open(p, rc);
}

void plan_responder_conns_close(struct responder *r)
{
	plan_quic_serve_end(r);
	if (!r->conns)
		return;
	tls_close(&r->conns->cs);
	pages_free(r->conns->all, r->conns->cs.count * sizeof(*r->conns->all));
	pages_free(r->conns->cs.all, r->conns->cs.bytes);
	pages_free(r->conns, sizeof(*r->conns));
}
