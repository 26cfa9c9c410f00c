// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Management thread.
#include "engine/plan/plan_quic.h"

#include <errno.h>
#include <string.h>

#include "engine/core/pages.h"
#include "engine/core/responder/responder.h"
#include "engine/core/worker/worker_quic.h"
#include "engine/plan/plan_internal.h"
#include "engine/plan/plan_item.h"
#include "engine/plan/plan_tls.h"

#define CLOSING       64   // connections that are being closed, at least
#define STREAMS_EXTRA 1024 // of messages that are sent again
#define BLOCKS_EXTRA  4096
#define BLOCKS_MOST   1048576
#define SHARES        4294967295.0 // a share of 1, as quic_faults has it

#define SERVER_STREAMS       65536 // requests at a time, over all connections
#define SERVER_STREAM_WINDOW 65538
#define SERVER_DATAGRAM      1252
#define SERVER_HANDSHAKE_NS  10000000000u
#define SERVER_ACK_DELAY_NS  25000000

uint32_t plan_quic_conns(uint32_t seats)
{
	uint64_t n = 2ull * seats + CLOSING;

	return n < QUIC_CONNS ? (uint32_t)n : QUIC_CONNS;
}

static struct quics_shape shape_of(const struct plan_item *i, uint32_t conns, uint64_t slots)
{
	uint64_t each = 1 + plan_item_longest(i) / QUIC_BLOCK, blocks = slots * each;

	return (struct quics_shape){.count = conns,
		.streams = (uint32_t)slots + STREAMS_EXTRA,
		.blocks = (uint32_t)(blocks < BLOCKS_MOST ? blocks : BLOCKS_MOST) + BLOCKS_EXTRA};
}

static uint32_t kept_count(const struct plan_item *i, uint32_t seats)
{
	const int32_t resume = i->settings->facts.tls->resume;

	return resume == TLS_RESUME_EACH ? seats : resume == TLS_RESUME_LAST ? 1 : 0;
}

static size_t own_bytes(uint32_t conns, uint32_t kept)
{
	return kept * sizeof(struct quic_kept) + conns * sizeof(uint32_t);
}

uint64_t plan_quic_memory(const struct plan_item *i, uint32_t conns, uint32_t seats, uint64_t slots)
{
	const struct quics_shape shape = shape_of(i, conns, slots);

	return quics_bytes(&shape) + own_bytes(conns, kept_count(i, seats));
}

// The settings of QUIC of an item.
static void fill(const struct plan *p, const struct plan_item *i, uint32_t worker, struct quics *q)
{
	const struct item_facts *f = &i->settings->facts;
	const struct quic_settings *s = f->quic;
	const int32_t *versions = s->versions.items;
	uint32_t room = (uint32_t)i->port->settings->mtu - FRAME_UDP_LEN -
	                (i->settings->server.len == 4 ? FRAME_IPV4_LEN : FRAME_IPV6_LEN);
	static const enum quic_congestion uses[] = {[QUIC_USE_CUBIC] = QUIC_CUBIC,
		[QUIC_USE_RENO] = QUIC_RENO,
		[QUIC_USE_BBR] = QUIC_BBR};

	*q = (struct quics){.tls = i->hands,
		.clock = &p->clock,
		.worker = (f->share.first + worker) % QUIC_WORKERS,
		.workers = f->share.of < QUIC_WORKERS ? f->share.of : QUIC_WORKERS,
		.seed = rand_hash(i->seed ^ (f->share.first + worker)),
		.idle_ns = s->idle_timeout_ns,
		.handshake_ns = f->tls->timeout_ns,
		.ack_delay_ns = s->ack_delay_ns,
		.window = (uint32_t)s->window,
		.stream_window = (uint32_t)s->window,
		.mtu = (uint16_t)(s->datagram < room ? s->datagram : room),
		.congestion = uses[s->congestion],
		.tickets = f->tls->resume != TLS_RESUME_NONE,
		.cancel = s->cancel};
	q->versions[0] = QUIC_V1;
	q->version_count = 1;
	for (uint32_t n = 0; n < s->versions.count && n < 2; n++) {
		q->versions[n] = versions[n] ? quic_version_2() : QUIC_V1;
		q->version_count = n + 1;
	}
}

// Makes the tables of count connections, of which `kept` sessions are kept. Returns NULL without
// memory. q: its settings.
static struct quic_conns *tables_open(
	struct conns *cs, const struct quics *q, const struct quics_shape *shape, uint32_t kept)
{
	struct quic_conns *qc = pages_alloc(sizeof(*qc));
	uint8_t *own = pages_alloc(own_bytes(cs->count, kept));
	void *memory = pages_alloc(quics_bytes(shape));

	if (!qc || !own || !memory) {
		pages_free(qc, sizeof(*qc));
		pages_free(own, own_bytes(cs->count, kept));
		pages_free(memory, quics_bytes(shape));
		return NULL;
	}
	qc->q = *q;
	quics_init(&qc->q, memory, shape);
	qc->memory = memory;
	qc->memory_bytes = quics_bytes(shape);
	qc->kept = kept ? (struct quic_kept *)own : NULL;
	qc->kept_count = kept;
	qc->own = own;
	qc->own_bytes = own_bytes(cs->count, kept);
	qc->at = (uint32_t *)(own + kept * sizeof(struct quic_kept));
	memset(qc->at, 0xff, cs->count * sizeof(*qc->at));
	cs->quic = qc;
	return qc;
}

int plan_quic_open(struct plan *p, const struct plan_item *i, uint32_t worker)
{
	struct worker_conns *wc = plan_run(i, worker)->conns;
	const struct quics_shape shape = shape_of(i, wc->cs.count, wc->it->txns.count);
	struct quic_conns *qc;
	struct quics q;

	fill(p, i, worker, &q);
	qc = tables_open(&wc->cs, &q, &shape, kept_count(i, wc->seat_count));
	if (!qc)
		return -ENOMEM;
	qc->counts = wc->books.quic;
	wc->cs.owner = &worker_quic_owner;
	wc->open = worker_quic_open;
	qc->tokens = i->settings->facts.quic->tokens;
	wc->it->keyless = true;
	return 0;
}

uint64_t plan_quic_bytes(const struct conns *cs)
{
	return cs->quic ? cs->quic->memory_bytes + cs->quic->own_bytes : 0;
}

void plan_quic_close(struct conns *cs)
{
	struct quic_conns *qc = cs->quic;

	if (!qc)
		return;
	quics_free(&qc->q);
	pages_free(qc->memory, qc->memory_bytes);
	pages_free(qc->own, qc->own_bytes);
	pages_free(qc, sizeof(*qc));
	cs->quic = NULL;
}

static uint32_t share_of(double share)
{
	return (uint32_t)(share * SHARES);
}

static uint32_t or_never(uint64_t n)
{
	return n == UINT64_MAX ? 0 : (uint32_t)n;
}

static struct quics serve_settings(const struct plan *p, uint32_t number, const struct port *port)
{
	const struct quic_server_settings *s = p->config->responder->quic;
	uint64_t room = port->settings->mtu - FRAME_UDP_LEN - FRAME_IPV6_LEN;

	return (struct quics){.server = true,
		.tls = p->responder_hands_quic[0],
		.tls_no_early = p->responder_hands_quic[PLAN_NO_EARLY],
		.clock = &p->clock,
		.worker = number % QUIC_WORKERS,
		.workers = p->responder_count < QUIC_WORKERS ? p->responder_count : QUIC_WORKERS,
		.seed = rand_hash(p->config->run.seed),
		.versions = {QUIC_V1, quic_version_2()},
		.version_count = 2,
		.idle_ns = s->idle_timeout_ns,
		.handshake_ns = SERVER_HANDSHAKE_NS,
		.ack_delay_ns = SERVER_ACK_DELAY_NS,
		.window = (uint32_t)s->window,
		.stream_window = SERVER_STREAM_WINDOW,
		.streams = (uint32_t)s->streams,
		.mtu = (uint16_t)(room < SERVER_DATAGRAM ? room : SERVER_DATAGRAM),
		.faults = {
			.retry = share_of(s->retry),
			.version_negotiation = share_of(s->version_negotiation),
			.drop_initial = share_of(s->drop_initial),
			.early_refused = share_of(s->early_refused),
			.reset = share_of(s->reset),
			.reset_code = s->reset_error,
			.forget_after = or_never(s->forget_after),
			.close_after = or_never(s->close_after),
			.close_code = s->close_error,
			.no_credit = s->no_credit,
		}};
}

// The protocol of the port; NULL: none travels by QUIC.
static struct responder_protocol *served(const struct responder *r)
{
	for (uint32_t i = 0; i < r->protocol_count; i++)
		if (r->protocols[i].quic_port)
			return &r->protocols[i];
	return NULL;
}

int plan_quic_serve(struct plan *p, struct responder *r, const struct port *port)
{
	struct responder_protocol *of = served(r);
	struct responder_quic *rq;
	struct conns_shape shape = {0};
	struct quics_shape quics;
	struct quics q;
	void *memory;

	if (!of || !r->conns)
		return 0;
	q = serve_settings(p, r->queue_first, port);
	shape.count = shape.places = (uint32_t)p->config->responder->quic->connections;
	quics = (struct quics_shape){.count = shape.count,
		.streams = SERVER_STREAMS,
		.blocks = SERVER_STREAMS,
		.server = true};
	rq = pages_alloc(sizeof(*rq));
	memory = pages_alloc(conns_bytes(&shape));
	if (rq)
		rq->numbers = pages_alloc(shape.count * sizeof(*rq->numbers));
	if (!rq || !memory || !rq->numbers) {
		if (rq)
			pages_free(rq->numbers, shape.count * sizeof(*rq->numbers));
		pages_free(rq, sizeof(*rq));
		pages_free(memory, conns_bytes(&shape));
		return -ENOMEM;
	}
	r->quic = rq;
	conns_init(&rq->cs, memory, &shape, r->start, clock_us_scale(&p->clock));
	rq->cs.owner = &responder_quic_owner;
	rq->cs.of = r;
	rq->protocol = of;
	if (!tables_open(&rq->cs, &q, &quics, 0))
		return -ENOMEM;
	rq->cs.quic->counts = &rq->outcomes;
	return 0;
}

void plan_quic_serve_end(struct responder *r)
{
	struct responder_quic *rq = r->quic;

	if (!rq)
		return;
	plan_quic_close(&rq->cs);
	pages_free(rq->numbers, rq->cs.count * sizeof(*rq->numbers));
	pages_free(rq->cs.all, rq->cs.bytes);
	pages_free(rq, sizeof(*rq));
	r->quic = NULL;
}
