// SPDX-License-Identifier: BSD-3-Clause
// Path: hot. The worker's own thread.
#include "engine/core/worker/worker_quic.h"

#include "crypt/tls_settings.h"
#include "engine/core/quic_channel.h"
#include "engine/core/wire.h"
#include "engine/core/worker/worker_conn_internal.h"
#include "engine/core/worker/worker_internal.h"

bool worker_quic_open(struct worker_conns *wc, uint32_t c, uint64_t now)
{
	const struct worker_item *it = wc->it;
	struct conn *of = conn_at(wc, c);
	struct conn_head head;
	struct quic_path path = {.remote = it->server, .remote_port = it->server_port};

	worker_conn_head(wc, of->row, &head);
	path.local.len = it->server.len;
	memcpy(path.local.bytes, head.src, path.local.len);
	path.local_port = head.src_port;
	if (!quic_channel_open(&wc->cs, c, &path, of->seat))
		return false;
	wc->books.tls[conn_is_measured(wc, now)].begun++;
	return true;
}

static uint32_t version_place(uint32_t version)
{
	return version == QUIC_V1 ? 0 : version == quic_version_2() ? 1 : 2;
}

// Counts a handshake that is done.
static void shaken(struct worker_conns *wc, uint32_t c, uint64_t now)
{
	const struct quic_facts *f = quic_channel_facts(&wc->cs, c);
	struct quic_outcomes *n = wc->cs.quic->counts;
	bool measured = conn_is_measured(wc, now);
	struct tls_counters *t = &wc->books.tls[measured];
	struct hist *times = wc->books.tls_times;
	uint64_t took = (uint64_t)((uint32_t)(wc->came >> SINCE_SHIFT) - conn_at(wc, c)->since)
	                << SINCE_SHIFT;

	n->version[version_place(f->version)]++;
	n->retried += f->retried;
	n->upgraded += f->upgraded;
	n->preferred_refused += f->preferred_refused;
	t->full += !f->tls.resumed;
	t->resumed += f->tls.resumed;
	t->hello_retry += f->tls.hello_retry;
	t->early_offered += f->early_offered;
	t->early_accepted += f->early;
	t->early_refused += f->early_offered && !f->early;
	t->version[TLS_1_3]++;
	t->cipher[f->tls.suite]++;
	t->group[f->tls.group]++;
	t->certificate_bytes += f->tls.octets_of_them;
	worker_conn_is_open(wc, c, now);
	if (!measured)
		return;
	hist_add(&times[f->tls.resumed ? TLS_RESUMED : TLS_FULL], took);
	hist_add(&times[TLS_OWN], f->ticks);
	hist_add(&times[TLS_QUEUED], f->waited);
}

// Counts a handshake that has failed.
static void not_shaken(struct worker_conns *wc, const struct quic_facts *f,
	const struct quic_end *e, bool measured)
{
	struct tls_counters *t = &wc->books.tls[measured];

	t->failed++;
	t->timed_out += e->kind == QUIC_END_TIMEOUT;
	if (e->kind == QUIC_END_ALERT && e->code < RECORD_ALERTS)
		t->alert_received[e->code]++;
	if (f->known && f->tls.alert_sent >= 0 && f->tls.alert_sent < RECORD_ALERTS)
		t->alert_sent[f->tls.alert_sent]++;
	if (e->kind == QUIC_END_REFUSED)
		t->refused[f->tls.refused]++;
}

// Handles a connection that has ended, and not by us.
static void closed(struct worker_conns *wc, uint32_t c, uint64_t now)
{
	struct conns *cs = &wc->cs;
	const struct quic_end *e = quic_end(&cs->quic->q, cs->quic->at[c]);
	const struct quic_facts *f = quic_channel_facts(cs, c);
	struct conn_counters *counts = counts_of(wc, now);
	struct conn *of = conn_at(wc, c);
	uint32_t seat = of->seat;

	cs->quic->counts->ended[e->kind]++;
	if (e->kind == QUIC_END_APPLICATION)
		cs->quic->counts->closed_with[quic_error_place(e->code)]++;
	if (f->done_ns == 0)
		not_shaken(wc, f, e, conn_is_measured(wc, now));
	if (e->kind == QUIC_END_MEMORY)
		counts->no_memory++;
	else if (f->first_ns == 0 && (e->kind == QUIC_END_TIMEOUT || e->kind == QUIC_END_IDLE))
		counts->no_answer++; // or datagrams that are no answer
	else if (f->done_ns == 0)
		counts->refused++;
	else if (e->kind == QUIC_END_APPLICATION || e->kind == QUIC_END_IDLE)
		counts->closed++;
	else
		counts->reset++;
	if (f->done_ns)
		counts->closed_after += of->asked - of->open;
	if (f->done_ns) // without one, another handshake would fail, too
		worker_conn_leaving(wc, c, now);
	worker_conn_leave(wc, c);
	worker_conn_not_open(wc, of);
	worker_conn_lose(wc, c, now);
	quic_channel_abort(cs, c);
	worker_conn_seat(wc, seat, now);
}

static void quic_events(struct worker_conns *wc, uint32_t c, const struct rte_mbuf *m, uint64_t now)
{
	struct conns *cs = &wc->cs;

	if (!m)
		wc->came = now;
	while (cs->all[c].tcp.state != TCP_CLOSED &&
		conn_message(cs, c, &wc->read, &wc->read_len)) {
		switch (cs->stream.event) {
		case STREAM_OPENED:
			shaken(wc, c, now);
			break;
		case STREAM_CLOSED:
			closed(wc, c, now);
			break;
		default:
			worker_conn_stream(wc, c, m, wc->read, wc->read_len, now);
		}
	}
	wc->books.tls[conn_is_measured(wc, now)].tickets += cs->quic->tickets;
	cs->quic->tickets = 0;
	wc->read = NULL;
	conn_touch(cs, c);
}

void worker_quic_rx(struct worker *w, struct worker_item *it, const struct txn_place *to,
	const struct rte_mbuf *m, const struct frame *f, uint64_t now, uint64_t came)
{
	struct worker_conns *wc = it->conns;
	struct addr from = {.len = f->addr_len};
	uint32_t c;

	if (f->src_port != it->server_port ||
		!addr_bytes_equal(f->src, it->server.bytes, f->addr_len)) {
		wire_other(&w->wire, FRAME_UDP, f);
		return;
	}
	memcpy(from.bytes, f->src, f->addr_len);
	wc->cs.segments_in++;
	wc->came = came;
	worker_conn_clock(wc, now);
	c = quic_channel_find(&wc->cs, f->payload, f->payload_len, &from, f->src_port);
	if (c == CONN_NONE) // a stateless reset has no ID that we know
		c = worker_conn_of_row(wc, to->port * wc->client_count + to->client);
	if (c != CONN_NONE && !quic_channel_input(&wc->cs, c, f->payload, f->payload_len))
		c = CONN_NONE;
	if (c != CONN_NONE)
		quic_events(wc, c, m, now);
}

static void expired(struct conns *cs, uint32_t c, uint32_t events)
{
	struct worker_conns *wc = cs->of;

	worker_conn_expired(cs, c, events);
	quic_events(wc, c, NULL, clock_time(wc->w->clock));
}

const struct conn_owner worker_quic_owner = {
	.head = worker_conn_head_of, .expired = expired, .gone = worker_conn_gone};
