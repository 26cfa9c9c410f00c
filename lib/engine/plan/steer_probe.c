// SPDX-License-Identifier: BSD-3-Clause
// Sending and counting: queries over UDP, and the first segment of connections. Path: cold.
// Management thread, while no worker runs on these ports.
#include "engine/plan/steer_probe.h"

#include <stdio.h>
#include <time.h>

#include "engine/core/wire.h"
#include "io/driver/driver.h"
#include "engine/core/worker/worker_conn.h"
#include "engine/core/worker/worker_servers.h"
#include "engine/core/worker/worker_message.h"
#include "io/burst.h"
#include "io/port_state.h"

#define SEQ 1 // of the SYN

// A query of a worker: for a transaction before the first, or the SYN of a connection.
struct question {
	struct worker *worker;
	struct worker_item *run;
	struct txn_place place; // of a SYN: port and client alone
	uint32_t row;           // of a SYN
	uint8_t src[16];
	bool answered;
};

struct asking {
	struct worker *workers;
	uint32_t worker_count;
	struct question *all;
	uint32_t count;
	struct result_steer_probe *result;
};

bool steer_probe_is_wanted(const struct plan *p, uint32_t port)
{
	const struct port *of = &p->ports[port];

	if (!p->workers[p->first_worker[port]].hand)
		return false;
	switch ((enum probe_when)of->settings->steering_probe) {
	case PROBE_AUTO:
		return !of->driver->pairs;
	case PROBE_ALWAYS:
		return true;
	case PROBE_NEVER:
		break;
	}
	return false;
}

// Takes the last keys, spaced so that addresses and ports differ; the run uses them last.
static void plan_questions(struct asking *s, const struct plan_item *i, uint32_t worker)
{
	struct worker_item *run = plan_run(i, worker);
	uint32_t step = run->txns.clients + 1;

	if (run->txns.space / step < WORKER_ASKS)
		step = 1;
	for (uint32_t n = 0; n < WORKER_ASKS; n++) {
		struct question *q = &s->all[s->count++];
		uint64_t before = 1 + (uint64_t)n * step;

		q->worker = &i->worker[worker];
		q->run = run;
		txn_place_of(&run->txns, run->txns.issued - before, &q->place);
		addr_list_nth_bytes(run->sources, q->place.client, q->src);
		run->asked[n] = before;
	}
	run->asked_count = WORKER_ASKS;
}

// Takes the ports and addresses that connections use last.
static void plan_syns(struct asking *s, const struct plan_item *i, uint32_t worker)
{
	struct worker_item *run = plan_run(i, worker);
	const struct worker_conns *wc = run->conns;

	for (uint32_t n = 0; n < WORKER_ASKS && n < wc->row_count; n++) {
		struct question *q = &s->all[s->count++];

		q->worker = &i->worker[worker];
		q->run = run;
		q->row = wc->rows[(wc->row_first + wc->row_count - 1 - n) & wc->row_mask];
		q->place.port = q->row / wc->client_count;
		q->place.client = q->row % wc->client_count;
		addr_list_nth_bytes(run->sources, q->place.client, q->src);
	}
}

static void plan_all(struct plan *p, uint32_t port, struct asking *s, struct arena *a)
{
	s->workers = &p->workers[p->first_worker[port]];
	s->worker_count = p->first_worker[port + 1] - p->first_worker[port];
	s->all = arena_zalloc(
		a, (p->item_count * s->worker_count * WORKER_ASKS + 1) * sizeof(*s->all));
	for (uint32_t i = 0; i < p->item_count; i++)
		for (uint32_t k = 0; k < s->worker_count; k++) {
			const struct plan_item *of = &p->items[i];

			if (of->port != &p->ports[port])
				continue;
			if (of->run->stream)
				plan_syns(s, of, k);
			else if (of->facts.harmless)
				plan_questions(s, of, k);
		}
}

static bool syn_send(const struct question *q)
{
	const struct tcp_segment syn = {.seq = SEQ,
		.flags = TCP_SYN,
		.window = UINT16_MAX,
		.scale = TCP_NO_SCALE,
		.mss = q->run->conns->mss};
	struct conn_head head;

	worker_conn_head(q->run->conns, q->row, &head);
	return conns_say(&q->run->conns->cs, &q->worker->wire, &head, &syn);
}

// The server refused the connection, or accepted it, in which case it is reset.
static bool answers_syn(const struct question *q, const struct frame *f)
{
	struct tcp_segment s;
	struct conn_head head;

	if (!tcp_parse(f->payload, f->payload_len, &s) || !(s.flags & TCP_ACK) ||
		s.ack != SEQ + 1 || !(s.flags & (TCP_SYN | TCP_RST)))
		return false;
	worker_conn_head(q->run->conns, q->row, &head);
	conns_refuse(&q->run->conns->cs, &q->worker->wire, &head, &s);
	return true;
}

static void steer_probe_ask(struct asking *s, struct question *q)
{
	const struct wire *w = &q->worker->wire;
	struct rte_mbuf *m;

	if (q->run->stream) {
		s->result->sent += syn_send(q);
		return;
	}
	if (!burst_alloc(w->tx_pool, &m, 1))
		return;
	m->data_len = (uint16_t)worker_first(
		q->run, &q->place, rte_pktmbuf_mtod(m, uint8_t *), rte_pktmbuf_tailroom(m));
	m->pkt_len = m->data_len;
	if (burst_tx(w->port, w->queue, &m, 1) == 1)
		s->result->sent++;
	else
		burst_free(&m, 1);
}

// Takes turns, so that no queue gets all queries at once.
static void ask_all(struct asking *s)
{
	for (uint32_t n = 0; n < WORKER_ASKS; n++)
		for (uint32_t i = n; i < s->count; i += WORKER_ASKS)
			steer_probe_ask(s, &s->all[i]);
}

static bool is_for(const struct question *q, const struct frame *f)
{
	const struct worker_item *run = q->run;

	return f->addr_len == run->server.len && f->src_port == run->server_port &&
	       f->dst_port == run->ports[q->place.port] && servers_have(run, f->src, f->addr_len) &&
	       addr_bytes_equal(f->dst, q->src, f->addr_len);
}

// Matches a reply by its key and its content.
static bool answers(const struct question *q, const struct frame *f)
{
	struct worker_item *run = q->run;
	const struct proto_message in = {.buf = f->payload, .len = f->payload_len};
	struct proto_txn view = {
		.seq = q->place.seq, .key = q->place.key, .client = q->place.client, .over = true};
	enum proto_verdict verdict;
	uint32_t key;

	if (!run->proto->key(f->payload, f->payload_len, &key) || key != q->place.key)
		return false;
	run->ctx.counters = run->shadow;
	verdict = proto_reply(run->proto, &run->ctx, &view, &in);
	return verdict != PROTO_STRAY && verdict != PROTO_MALFORMED;
}

static bool look(struct asking *s, const struct worker *at, const struct frame *f, bool stream)
{
	for (uint32_t i = 0; i < s->count; i++) {
		struct question *q = &s->all[i];

		if (q->run->stream != stream || !is_for(q, f) ||
			!(stream ? answers_syn(q, f) : answers(q, f)))
			continue;
		s->result->home += !q->answered && q->worker == at;
		s->result->elsewhere += !q->answered && q->worker != at;
		q->answered = true;
		return true;
	}
	return false;
}

static uint16_t steer_probe_listen(struct asking *s, struct worker *at)
{
	struct wire *w = &at->wire;
	struct rte_mbuf *pkts[BURST_MAX];
	uint16_t n = burst_rx(w->port, w->queue, pkts, w->burst);

	for (uint16_t i = 0; i < n; i++) {
		enum frame_kind kind;
		struct frame f;

		if (!wire_parse(w, pkts[i], &f, &kind))
			continue;
		if ((kind != FRAME_UDP && kind != FRAME_TCP) || !look(s, at, &f, kind == FRAME_TCP))
			wire_other(w, kind, &f);
	}
	if (n)
		burst_free(pkts, n);
	return n;
}

static bool all_answered(const struct result_steer_probe *r)
{
	return r->home + r->elsewhere == r->sent;
}

// Reads at least once, even if this thread was descheduled until the time is over.
static void listen_all(struct asking *s, const struct clock *c, uint64_t until,
	const volatile sig_atomic_t *signals)
{
	for (bool over = false; !over && !*signals && !all_answered(s->result);) {
		uint16_t n = 0;

		over = clock_time(c) >= until;
		for (uint32_t k = 0; k < s->worker_count; k++)
			n |= steer_probe_listen(s, &s->workers[k]);
		if (n == 0 && !over)
			nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
	}
}

struct result_steer_probe *steer_probe_run(
	struct plan *p, uint32_t port, const volatile sig_atomic_t *signals, struct arena *a)
{
	struct asking s = {0};

	plan_all(p, port, &s, a);
	if (s.count == 0)
		return NULL;
	s.result = arena_zalloc(a, sizeof(*s.result));
	ask_all(&s);
	listen_all(&s, &p->clock,
		clock_time(&p->clock) + clock_ticks(&p->clock, STEER_PROBE_MS * 1000000ull),
		signals);
	s.result->unanswered = s.result->sent - s.result->home - s.result->elsewhere;
	return s.result;
}

bool steer_probe_tells(const struct result_steer_probe *probe)
{
	return probe && probe->home + probe->elsewhere > 0;
}

double steer_probe_home(const struct result_steer_probe *probe)
{
	return (double)probe->home / (double)(probe->home + probe->elsewhere);
}

void steer_probe_describe(const struct result_steer_probe *probe, char *text, size_t room)
{
	if (!probe)
		snprintf(text, room,
			"no query of its traffic leaves the server unchanged, so none was sent "
			"before the run: the first interval shows which queue replies reach");
	else if (!steer_probe_tells(probe))
		snprintf(text, room, "none of %llu queries before the run had a reply within %d ms",
			(unsigned long long)probe->sent, STEER_PROBE_MS);
	else
		snprintf(text, room,
			"of %llu queries before the run, %llu had their reply on the sender's "
			"queue, %llu on another one, %llu had none",
			(unsigned long long)probe->sent, (unsigned long long)probe->home,
			(unsigned long long)probe->elsewhere,
			(unsigned long long)probe->unanswered);
}

uint64_t steer_probe_late(const struct plan *p, uint32_t port)
{
	uint64_t late = 0;

	for (uint32_t k = p->first_worker[port]; k < p->first_worker[port + 1]; k++)
		for (uint32_t i = 0; i < p->workers[k].item_count; i++)
			late += p->workers[k].items[i].books.counts[1].probe_late;
	return late;
}
