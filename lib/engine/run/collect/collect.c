// SPDX-License-Identifier: BSD-3-Clause
// The workers' counters after they have ended: the whole result except its intervals
// (collect_intervals.c). Path: cold. Management thread.
#include "engine/run/collect/collect.h"

#include "io/driver/driver.h"
#include "engine/core/worker/worker_conn.h"
#include "engine/core/worker/worker_servers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/addr.h"
#include "engine/config/condition.h"
#include "engine/plan/plan_item.h"
#include "engine/plan/plan_supply.h"
#include "engine/result/result_fold.h"
#include "io/driver/settings.h"
#include "io/port/port_read.h"

// For the copies of a responder's worker: a second.
#define TELL_PAUSE_NS 100000
#define TELL_TRIES    10000

static struct latency latency_of(
	const struct clock *c, const struct hist *h, uint64_t lost, struct counter_list percentiles)
{
	struct latency l = {.count = h->count, .percentiles = percentiles};
	bool any = h->count > 0;

	l.min_ns = any ? clock_ns(c, h->min) : NAN;
	l.max_ns = any ? clock_ns(c, h->max) : NAN;
	l.mean_ns = any ? hist_mean(h) * 1e9 / c->hz : NAN;
	l.stddev_ns = any ? hist_stddev(h) * 1e9 / c->hz : NAN;
	result_percentiles(&l, h, lost, c->hz, false);
	return l;
}

struct latency collect_latency(const struct clock *c, const struct hist *h, uint64_t lost)
{
	return latency_of(c, h, lost, (struct counter_list){0});
}

struct latency collect_distribution(
	const struct plan *p, const struct hist *h, uint64_t lost, struct arena *a)
{
	return latency_of(&p->clock, h, lost, condition_percentiles(p->config, a));
}

static uint64_t due_of_run(const struct worker_item *run)
{
	struct pace pace = run->pace;

	pace.left = run->left_over;
	return run->books.ledger[1].due + pace_missed(&pace, run->ended_at);
}

uint64_t collect_due(const struct plan_item *i)
{
	uint64_t n = 0;

	for (uint32_t k = 0; k < i->worker_count; k++)
		n += due_of_run(plan_run(i, k));
	return n;
}

struct item_sums collect_sums_of(uint32_t steps, size_t counters, bool conns, struct arena *a)
{
	return (struct item_sums){
		.conns = conns ? arena_zalloc(a, sizeof(struct conn_books)) : NULL,
		.steps = steps > 1 ? arena_zalloc(a, steps * sizeof(struct step_books)) : NULL,
		.counters = {arena_zalloc(a, counters), arena_zalloc(a, counters)},
	};
}

void collect_sums_clear(struct item_sums *s, const struct proto *proto)
{
	memset(&s->books, 0, offsetof(struct item_books, response));
	hist_clear(&s->books.response);
	hist_clear(&s->books.service);
	hist_clear(&s->books.lag);
	for (uint32_t n = 0; s->steps && n < proto_steps(proto); n++) {
		memset(&s->steps[n], 0, offsetof(struct step_books, response));
		hist_clear(&s->steps[n].response);
		hist_clear(&s->steps[n].service);
	}
	if (s->conns) {
		memset(s->conns, 0, offsetof(struct conn_books, handshake));
		hist_clear(&s->conns->handshake);
		hist_clear(&s->conns->first);
		for (int i = 0; i < TLS_TIMES; i++)
			hist_clear(&s->conns->tls_times[i]);
	}
	for (int bank = 0; bank < 2; bank++)
		memset(s->counters[bank], 0, proto->counters->size);
	memset(s->servers, 0, sizeof(s->servers));
}

static void conns_add(struct conn_books *to, const struct conn_books *from)
{
	counter_sum(to, from, offsetof(struct conn_books, handshake));
	hist_merge(&to->handshake, &from->handshake);
	hist_merge(&to->first, &from->first);
	for (int i = 0; i < TLS_TIMES; i++)
		hist_merge(&to->tls_times[i], &from->tls_times[i]);
}

static void step_add(struct step_books *to, const struct step_books *from)
{
	STEP_COUNTERS(COUNTER_ADD)
	hist_merge(&to->response, &from->response);
	hist_merge(&to->service, &from->service);
}

void collect_sums_add(struct item_sums *s, const struct proto *proto, const struct item_books *b,
	const struct step_books *steps, const struct conn_books *conns, void *const banks[2])
{
	if (conns)
		conns_add(s->conns, conns);
	for (int bank = 0; bank < 2; bank++) {
		counter_sum(&s->books.ledger[bank], &b->ledger[bank], sizeof(b->ledger[bank]));
		counter_sum(&s->books.counts[bank], &b->counts[bank], sizeof(b->counts[bank]));
		if (banks[bank])
			counter_sum(s->counters[bank], banks[bank], proto->counters->size);
	}
	counter_sum(&s->books.earlier, &b->earlier, sizeof(b->earlier));
	if (b->longest_gap > s->books.longest_gap)
		s->books.longest_gap = b->longest_gap;
	hist_merge(&s->books.response, &b->response);
	hist_merge(&s->books.service, &b->service);
	hist_merge(&s->books.lag, &b->lag);
	for (uint32_t n = 0; steps && n < proto_steps(proto); n++)
		step_add(&s->steps[n], &steps[n]);
}

void collect_servers_add(struct item_sums *s, const struct server_books *books)
{
	for (uint32_t i = 0; i < SERVERS_MAX; i++) {
		const struct server_books *from = &books[i];
		struct server_books *to = &s->servers[i];

		SERVER_COUNTERS(COUNTER_ADD)
		if (from->longest_gap > to->longest_gap)
			to->longest_gap = from->longest_gap;
	}
}

void collect_sums_all(struct item_sums *s, const struct plan_item *i)
{
	const struct proto *proto = i->run->proto;

	collect_sums_clear(s, proto);
	for (uint32_t k = 0; k < i->worker_count; k++) {
		const struct worker_item *run = plan_run(i, k);

		collect_sums_add(s, proto, &run->books, run->steps,
			run->conns ? &run->conns->books : NULL, run->banks);
		if (run->servers)
			collect_servers_add(s, run->servers->books);
	}
}

static double measured_s(const struct plan *p)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < p->item_count; i++)
		for (uint32_t k = 0; k < p->items[i].worker_count; k++) {
			uint64_t measure = p->items[i].worker->times.measure;
			uint64_t ended = plan_run(&p->items[i], k)->ended_at;

			if (ended > measure && ended - measure > last)
				last = ended - measure;
		}
	return (double)last / p->clock.hz;
}

// Keeps the histogram of a fleet's part: percentiles of the whole need the parts' histograms.
static struct latency for_merge(
	const struct plan *p, const struct hist *h, uint64_t lost, struct arena *a)
{
	struct latency l = collect_distribution(p, h, lost, a);

	if (fleet_weight(p->config))
		l.histogram = result_histogram(h, a);
	return l;
}

static struct result_step step_result(
	const struct plan *p, const char *name, const struct step_books *from, struct arena *a)
{
	struct result_step out = {.name = name}, *to = &out;

	STEP_COUNTERS(COUNTER_ADD)
	out.latency.response = for_merge(p, &from->response, from->lost, a);
	out.latency.service = for_merge(p, &from->service, 0, a);
	return out;
}

#define OR_COUNT(member, help) || s->member

static bool step_is_used(const struct step_books *s)
{
	return false STEP_COUNTERS(OR_COUNT);
}

struct counter_list collect_steps(const struct plan *p, const struct proto *proto,
	const struct item_sums *ever, const struct item_sums *s, struct arena *a)
{
	uint32_t count = ever->steps && proto->steps ? proto_steps(proto) : 0, n = 0;
	struct result_step *out;

	for (uint32_t step = 0; step < count; step++)
		n += step_is_used(&ever->steps[step]);
	out = n ? arena_zalloc(a, n * sizeof(*out)) : NULL;
	n = 0;
	for (uint32_t step = 0; step < count; step++)
		if (step_is_used(&ever->steps[step]))
			out[n++] = step_result(p, proto->steps[step], &s->steps[step], a);
	return (struct counter_list){out, n};
}

static double seconds_since(const struct plan *p, uint64_t from, uint64_t to)
{
	return to > from ? (double)(to - from) / p->clock.hz : 0;
}

// Returns 8 times a counter of the protocol, or 0 without a counter of this name.
static double bits_of(const struct counter_choice *counters, const char *name)
{
	const struct counter_section *s = counters->section;

	for (uint32_t i = 0; i < s->count; i++)
		if (s->rows[i].type == COUNTER_U64 && strcmp(s->rows[i].name, name) == 0)
			return 8 * (double)*(const uint64_t *)((const char *)counters->data +
							       s->rows[i].offset);
	return 0;
}

static const struct result_foreseen *foreseen(const struct plan *p, const struct plan_item *i,
	const struct result_item *item, struct arena *a)
{
	const struct load_settings *l = &i->settings->load;
	const struct run_settings *run = &p->config->run;
	const struct load_span span = {
		.warmup_ns = run->warmup_ns, .duration_ns = run->duration_ns};
	double warmup_s = 1e-9 * (double)run->warmup_ns;
	struct result_foreseen *out;

	if (!l->own.begun)
		return NULL;
	out = arena_zalloc(a, sizeof(*out));
	out->due = load_due(l, &span, warmup_s + item->sending_s) - load_due(l, &span, warmup_s);
	if (out->due > 0)
		out->off = (double)item->ledger.due / out->due - 1;
	return out;
}

// A load that has an end is a piece of work: it is done with its last reply, and its answered rate
// is over all that time. Any other load ends when the run stops it; later replies count for the
// time before.
static void rates(const struct plan *p, const struct plan_item *i, struct result_item *out)
{
	uint64_t begun = i->run->begun_at, ended = 0, answer = 0, left = 0;
	double answering;

	for (uint32_t k = 0; k < i->worker_count; k++) {
		const struct worker_item *run = plan_run(i, k);

		ended = run->ended_at > ended ? run->ended_at : ended;
		answer = run->last_answer > answer ? run->last_answer : answer;
		left |= run->left_over;
	}
	out->sending_s = seconds_since(p, begun, ended);
	out->last_answer_s = seconds_since(p, begun, answer);
	answering = out->sending_s;
	if (load_is_work(&i->settings->load, left == 0))
		answering = fmax(out->sending_s, out->last_answer_s);
	if (out->sending_s > 0) {
		out->due_per_s = (double)out->ledger.due / out->sending_s;
		out->sent_per_s = (double)out->ledger.sent / out->sending_s;
		out->request_bps = bits_of(&out->counters, "request_bytes") / out->sending_s;
	}
	if (answering > 0) {
		out->answered_per_s = (double)out->ledger.answered / answering;
		out->reply_bps = bits_of(&out->counters, "reply_bytes") / answering;
	}
}

static void tcp_add(struct result_connections *to, const struct tcp_counters *from)
{
	TCP_COUNTERS(COUNTER_ADD)
}

#define BEHAVE_ADD(member, help) to->member[n] += from->member[n];

// Misbehaving clients of all its workers; NULL: none.
static const struct result_behave *behave_of(const struct plan_item *i, struct arena *a)
{
	struct result_behave *to = arena_zalloc(a, sizeof(*to));
	bool any = false;

	for (uint32_t k = 0; k < i->worker_count; k++) {
		const struct worker_behave *b = plan_run(i, k)->conns->behave;
		const struct behave_counters *from = b ? &b->counts[1] : NULL;

		if (!b)
			continue;
		any = true;
		to->no_memory += from->no_memory;
		for (uint32_t n = 0; n < TCP_BEHAVIOUR_COUNT; n++) {
			BEHAVE_COUNTERS(BEHAVE_ADD)
		}
	}
	return any ? to : NULL;
}

const struct result_tls *collect_tls(
	const struct plan *p, const struct conn_books *sum, int bank, struct arena *a)
{
	struct result_tls *to = arena_zalloc(a, sizeof(*to));
	uint64_t done = sum->tls[bank].full + sum->tls[bank].resumed;

	to->counts = sum->tls[bank];
	to->resumed_share = done ? (double)sum->tls[bank].resumed / (double)done : 0;
	to->full_time = for_merge(p, &sum->tls_times[TLS_FULL], 0, a);
	to->resumed_time = for_merge(p, &sum->tls_times[TLS_RESUMED], 0, a);
	to->own = for_merge(p, &sum->tls_times[TLS_OWN], 0, a);
	to->queued = for_merge(p, &sum->tls_times[TLS_QUEUED], 0, a);
	return to;
}

const struct result_http *collect_http(const struct conn_books *sum, int bank, struct arena *a)
{
	struct result_http *to = arena_zalloc(a, sizeof(*to));

	to->counts = sum->http[bank];
	return to;
}

const struct result_quic *collect_quic(const struct conn_books *sum, int bank, struct arena *a)
{
	struct result_quic *to = arena_zalloc(a, sizeof(*to));

	to->counts = sum->quic[bank];
	to->datagrams = sum->datagrams;
	return to;
}

// The connections of all its workers; NULL: none.
static const struct result_connections *connections_of(const struct plan *p,
	const struct plan_item *i, const struct conn_books *sum, struct arena *a)
{
	struct result_connections *to = sum ? arena_zalloc(a, sizeof(*to)) : NULL;
	const struct conn_counters *from = sum ? &sum->counts[1] : NULL;

	if (!sum)
		return NULL;
	CONN_COUNTERS(COUNTER_ADD)
	tcp_add(to, &sum->tcp);
	for (uint32_t k = 0; k < i->worker_count; k++) {
		const struct worker_conns *wc = plan_run(i, k)->conns;

		to->segments_sent += wc->cs.segments_out;
		to->segments_received += wc->cs.segments_in;
		to->left += wc->left;
	}
	to->handshake = for_merge(p, &sum->handshake, 0, a);
	to->first_answer = for_merge(p, &sum->first, 0, a);
	to->behave = behave_of(i, a);
	to->tls = i->settings->facts.tls ? collect_tls(p, sum, 1, a) : NULL;
	to->http = i->settings->facts.https ? collect_http(sum, 1, a) : NULL;
	to->quic = i->settings->facts.quic ? collect_quic(sum, 1, a) : NULL;
	return to;
}

static struct counter_list marks_of(
	const struct plan *p, const struct plan_item *i, struct arena *a)
{
	const struct proto *proto = i->run->proto;
	uint32_t count = proto->follower ? proto_marks(proto) : 0, n = 0;
	struct result_mark *out = arena_zalloc(a, (count + 1) * sizeof(*out));
	struct hist *sum = arena_zalloc(a, sizeof(*sum));

	for (uint32_t m = 0; m < count; m++) {
		hist_clear(sum);
		for (uint32_t k = 0; k < i->worker_count; k++)
			hist_merge(sum, &plan_run(i, k)->marks[m]);
		if (sum->count == 0)
			continue;
		out[n].name = proto->follower->marks[m];
		out[n].latency = collect_distribution(p, sum, 0, a);
		out[n++].latency.histogram = result_histogram(sum, a);
	}
	return (struct counter_list){out, n};
}

const char *collect_server_name(const struct plan_item *i, uint32_t server, struct arena *a)
{
	return addr_format(
		&i->run->servers->all[server], arena_zalloc(a, ADDR_TEXT_SIZE), ADDR_TEXT_SIZE);
}

static struct counter_list servers_result(const struct plan *p, const struct plan_item *i,
	const struct item_sums *sum, struct arena *a)
{
	uint32_t count = i->run->servers ? i->run->servers->count : 0;
	uint64_t answered = sum->books.ledger[1].answered;
	struct result_server *out = count ? arena_zalloc(a, count * sizeof(*out)) : NULL;

	for (uint32_t n = 0; n < count; n++) {
		const struct server_books *from = &sum->servers[n];
		struct result_server *to = &out[n];

		to->name = collect_server_name(i, n, a);
		SERVER_COUNTERS(COUNTER_ADD) // core/servers.h
		to->share = answered ? (double)to->answered / (double)answered : 0;
		to->longest_gap_ns = clock_ns(&p->clock, from->longest_gap);
	}
	return (struct counter_list){out, count};
}

static struct counter_list peers_of(
	const struct plan_item *i, const void *counters, struct arena *a)
{
	const struct proto *proto = i->run->proto;
	struct proto_peer peer;
	struct result_heard *out;
	uint32_t count = 0;

	while (proto->peer && proto->peer(i->shared, counters, count, &peer))
		count++;
	out = arena_zalloc(a, (count + 1) * sizeof(*out));
	for (uint32_t n = 0; n < count; n++) {
		proto->peer(i->shared, counters, n, &peer);
		out[n] = (struct result_heard){.name = arena_strdup(a, peer.name),
			.offers = peer.offers,
			.answers = peer.answers,
			.refusals = peer.refusals};
		if (peer.from.len)
			out[n].address = addr_format(
				&peer.from, arena_zalloc(a, ADDR_TEXT_SIZE), ADDR_TEXT_SIZE);
	}
	return (struct counter_list){out, count};
}

static struct result_item item_result(
	const struct plan *p, const struct plan_item *i, struct arena *a)
{
	const struct proto *proto = i->run->proto;
	struct item_sums *sum = arena_zalloc(a, sizeof(*sum));
	const struct item_books *books = &sum->books;
	const struct ledger *l = &books->ledger[1];
	const struct item_counters *from = &books->counts[1];
	const struct addr *server = &i->settings->server;
	const char *input = plan_item_input(i);
	double asked;
	struct result_item out = {
		.name = i->settings->name,
		.protocol = proto->name,
		.port = i->port->settings->name,
		.server = server->len ? addr_format(server, arena_zalloc(a, ADDR_TEXT_SIZE),
						ADDR_TEXT_SIZE)
	                              : NULL,
		.server_name = i->settings->host.name,
		.loop = i->run->pace.kind == PACE_OUTSTANDING ? "closed" : "open",
		.input = input ? arena_strdup(a, input) : NULL,
		.clients = plan_clients(i).count,
	};
	struct result_item *to = &out;

	*sum = collect_sums_of(proto_steps(proto), proto->counters->size, i->run->conns, a);
	collect_sums_all(sum, i);
	out.ledger = *l;
	out.counters = (struct counter_choice){proto->counters, sum->counters[1]};
	out.ledger.due = collect_due(i);
	out.unsent = out.ledger.due - l->sent;
	out.in_flight = l->sent - l->answered - l->failed - l->lost - l->no_reply;
	out.steps = collect_steps(p, proto, sum, sum, a);
	out.marks = marks_of(p, i, a);
	out.servers = servers_result(p, i, sum, a);
	out.servers_heard = peers_of(i, sum->counters[1], a);
	out.connections = connections_of(p, i, sum->conns, a);
	asked = (double)(l->sent - l->no_reply);
	out.loss = asked > 0 ? (double)l->lost / asked : 0;
	rates(p, i, &out);
	out.foreseen = foreseen(p, i, &out, a);
	out.latency.response = collect_distribution(p, &books->response, l->lost, a);
	out.latency.service = collect_distribution(p, &books->service, 0, a);
	out.send_lag = collect_distribution(p, &books->lag, 0, a);
	out.latency.response.histogram = result_histogram(&books->response, a);
	out.latency.service.histogram = result_histogram(&books->service, a);
	out.send_lag.histogram = result_histogram(&books->lag, a);
	out.longest_gap_ns = clock_ns(&p->clock, books->longest_gap);
	ITEM_COUNTERS(COUNTER_ADD, COUNTER_SKIP)
	return out;
}

// Packets without room in a ring never left their sender, the embedded server. So they are drops of
// the tester's port.
static uint64_t missed_on_ring(const struct plan *p, uint32_t n)
{
	int peer = port_ring_peer(p->port_settings, p->port_count, n);
	uint64_t missed = 0;

	for (uint32_t i = 0; peer >= 0 && peer == p->responder_port && i < p->responder_count; i++)
		missed += p->responders[i].tx_refused;
	return missed;
}

#define ADD_HANDOFF(member, help) to->member += w->hand->member;

// Adds a worker to the figures of its port.
static void port_add_worker(const struct plan *p, const struct worker *w, struct result_port *to,
	struct wire_counters *other)
{
	const struct wire *wire = &w->wire;

	if ((int32_t)w->port == p->responder_port) {
		const struct responder *from = &p->responders[w->number];

		wire = &from->wire;
		QUEUE_COUNTERS(COUNTER_ADD)
	} else {
		const struct worker *from = w;

		QUEUE_COUNTERS(COUNTER_ADD)
	}
	counter_sum(other, &wire->counters, sizeof(*other));
	if (w->hand) {
		HANDOFF_COUNTERS(ADD_HANDOFF, COUNTER_SKIP, ADD_HANDOFF)
	}
}

static struct result_port port_result(const struct plan *p, uint32_t n, struct arena *a)
{
	struct port *port = &p->ports[n];
	struct wire_counters *other = arena_zalloc(a, sizeof(*other));
	struct port_counters c, *from = &c;
	char nic[128];
	struct result_port out =
				   {
					   .name = port->settings->name,
					   .driver = port->driver->name,
					   .device = port->settings->device,
					   .nic = port_nic(port, nic, sizeof(nic))
	                                                  ? arena_strdup(a, nic)
	                                                  : NULL,
					   .steering = steer_name(port->steer.how),
					   .caveat = port->driver->caveat,
					   .other = other,
				   },
			   *to = &out;

	port_read_counters(port, &c);
	PORT_COUNTERS(COUNTER_ADD)
	out.rx_missed += missed_on_ring(p, n);
	out.rx_missed_known = c.rx_missed_known;
	for (uint32_t i = p->first_worker[n]; i < p->first_worker[n + 1]; i++)
		port_add_worker(p, &p->workers[i], &out, other);
	return out;
}

#define SHARE_OF_SECONDS(member, help)                                                             \
	to->member = seconds > 0 ? fmin((double)from->member[1] / hz / seconds, 1) : 0;

static struct result_worker worker_result(
	const struct plan *p, uint32_t n, double seconds, struct arena *a)
{
	const struct worker *w = &p->workers[n], *from = w;
	double hz = p->clock.hz, busy = (double)w->busy[1] / hz;
	struct result_worker out = {
		.port = p->ports[w->port].settings->name,
		.number = w->number,
		.cpu = collect_cpu(w),
		.idle = w->idle.sleeps ? "sleep" : "poll",
		.max_gap_ns = clock_ns(&p->clock, w->passes.max),
		.passes = collect_latency(&p->clock, &w->passes, 0),
		.arrival = w->stamps.known ? "kernel" : "burst",
	};
	struct result_worker *to = &out;
	uint64_t completed = 0;

	if (w->stamps.known) {
		out.wake = arena_zalloc(a, sizeof(*out.wake));
		*out.wake = collect_latency(&p->clock, &w->wake, 0);
	}

	for (uint32_t i = 0; i < w->item_count; i++) {
		const struct ledger *l = &w->items[i].books.ledger[1];

		completed += l->answered + l->failed + l->lost + l->no_reply;
	}
	out.ns_per_transaction = completed ? busy * 1e9 / (double)completed : 0;
	PASS_COUNTERS(COUNTER_ADD, COUNTER_ADD_SECONDS, COUNTER_SKIP)
	WORKER_COUNTERS(COUNTER_ADD, COUNTER_ADD_SECONDS, SHARE_OF_SECONDS)
	if (w->hand) {
		HANDOFF_COUNTERS(ADD_HANDOFF, ADD_HANDOFF, COUNTER_SKIP)
	}
	return out;
}

static uint64_t relaxed(const _Atomic uint64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

#define RELAXED_ADD(member, help)         to->member += relaxed(&from->member);
#define RELAXED_ADD_SECONDS(member, help) to->member##_s += (double)relaxed(&from->member) / hz;
#define RELAXED_MAX_NS(member, help)                                                               \
	to->member##_ns = fmax(to->member##_ns, (double)relaxed(&from->member) * 1e9 / hz);

static void add_connections(
	const struct responder_conn_counts *from, struct result_responder_conns *to)
{
	RESPONDER_CONN_COUNTERS(RELAXED_ADD, RELAXED_ADD)
}

static void add_responder(
	const struct plan *p, const struct responder *r, struct result_responder *to)
{
	const struct responder_counts *from = &r->counts;
	double hz = p->clock.hz;

	RESPONDER_COUNTERS(RELAXED_ADD, RELAXED_ADD)
	PASS_COUNTERS(RELAXED_ADD, RELAXED_ADD_SECONDS, RELAXED_MAX_NS)
	for (uint32_t i = 0; i < FAULTS_MAX; i++)
		to->faults[i] += relaxed(&r->faults.counts[i]);
	if (r->conns)
		add_connections(&r->conns->counts, &to->conns);
	for (uint32_t i = 0; r->conns && i < TLS_FAULT_COUNT; i++)
		to->handshake_faults[i] += relaxed(&r->conns->tls_faults[i]);
}

// Returns the counters of a protocol over all of the responder's workers. told: from their copies.
static struct result_responder_protocol protocol_result(
	const struct plan *p, uint32_t n, bool told, struct arena *a)
{
	const struct proto *proto = p->responders[0].protocols[n].proto;
	const struct counter_section *counters = proto->server->counters;
	void *sum = arena_zalloc(a, counters->size);

	for (uint32_t i = 0; i < p->responder_count; i++) {
		const struct responder_protocol *of = &p->responders[i].protocols[n];

		counter_sum(sum, told ? of->told : of->ctx.counters, counters->size);
	}
	return (struct result_responder_protocol){proto->name, {counters, sum}};
}

void collect_responder(const struct plan *p, struct result_responder *out)
{
	*out = (struct result_responder){.port = p->ports[p->responder_port].settings->name};
	for (uint32_t i = 0; i < p->responder_count; i++)
		add_responder(p, &p->responders[i], out);
}

static void responder_whole(
	const struct plan *p, bool told, struct arena *a, struct result_responder *out)
{
	uint32_t count = p->responders[0].protocol_count;
	struct result_responder_protocol *list = arena_zalloc(a, (count + 1) * sizeof(*list));

	collect_responder(p, out);
	out->connections = p->responders[0].conns ? &out->conns : NULL;
	for (uint32_t i = 0; i < count; i++)
		list[i] = protocol_result(p, i, told, a);
	out->protocols = (struct counter_list){list, count};
}

void collect_responder_whole(const struct plan *p, struct arena *a, struct result_responder *out)
{
	responder_whole(p, false, a, out);
}

// Asks each worker for copies, and waits for them. Returns false if one did not run all that time.
static bool ask_responders(const struct plan *p)
{
	const struct timespec pause = {.tv_nsec = TELL_PAUSE_NS};

	for (uint32_t i = 0; i < p->responder_count; i++)
		atomic_fetch_add_explicit(&p->responders[i].asked, 1, memory_order_acq_rel);
	for (uint32_t i = 0, tries = 0; i < p->responder_count; i++) {
		const struct responder *r = &p->responders[i];

		while (atomic_load_explicit(&r->told, memory_order_acquire) !=
			atomic_load_explicit(&r->asked, memory_order_relaxed)) {
			if (tries++ == TELL_TRIES)
				return false;
			nanosleep(&pause, NULL);
		}
	}
	return true;
}

bool collect_responder_running(const struct plan *p, struct arena *a, struct result_responder *out)
{
	bool told = ask_responders(p);

	if (told)
		responder_whole(p, true, a, out);
	return told;
}

uint64_t collect_first_sent(const struct plan *p)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < p->item_count; i++)
		for (uint32_t k = 0; k < p->items[i].worker_count; k++) {
			uint64_t at = plan_run(&p->items[i], k)->first_sent;

			first = at && at < first ? at : first;
		}
	return first < UINT64_MAX ? first : 0;
}

void collect_result(const struct plan *p, struct arena *a, struct result *out)
{
	struct result_item *items = arena_zalloc(a, (p->item_count + 1) * sizeof(*items));
	struct result_port *ports = arena_zalloc(a, p->port_count * sizeof(*ports));
	struct result_worker *workers = arena_zalloc(a, (p->worker_count + 1) * sizeof(*workers));
	double seconds = measured_s(p);

	out->run.measured_s = seconds;
	for (uint32_t i = 0; i < p->item_count; i++)
		items[i] = item_result(p, &p->items[i], a);
	out->traffic = (struct counter_list){items, p->item_count};
	out->workers = (struct counter_list){workers, 0};
	for (uint32_t i = 0; i < p->port_count; i++)
		ports[i] = port_result(p, i, a);
	for (uint32_t i = 0; i < p->worker_count; i++)
		if ((int32_t)p->workers[i].port != p->responder_port)
			workers[out->workers.count++] = worker_result(p, i, seconds, a);
	out->ports = (struct counter_list){ports, p->port_count};
	if (p->responder_port < 0)
		return;
	out->responder = arena_zalloc(a, sizeof(*out->responder));
	collect_responder_whole(p, a, out->responder);
}

#define DIFFERS(member, help) || to->member != from->member

static bool ledgers_differ(const struct ledger *to, const struct ledger *from)
{
	return false LEDGER_COUNTERS(DIFFERS, COUNTER_SKIP, COUNTER_SKIP);
}

static uint64_t in_tables(const struct plan_item *i)
{
	uint64_t n = 0;

	for (uint32_t k = 0; k < i->worker_count; k++)
		n += plan_run(i, k)->txns.in_flight;
	return n;
}

// Both count the same replies, and no message is sent before its due time.
static bool latencies_agree(const struct hist *response, const struct hist *service)
{
	return response->count == service->count && response->sum >= service->sum &&
	       response->max >= service->max;
}

static bool item_latencies_agree(const struct plan_item *i)
{
	for (uint32_t k = 0; k < i->worker_count; k++) {
		const struct worker_item *run = plan_run(i, k);
		uint32_t steps = run->steps ? proto_steps(run->proto) : 0;

		if (!latencies_agree(&run->books.response, &run->books.service))
			return false;
		for (uint32_t n = 0; n < steps; n++)
			if (!latencies_agree(&run->steps[n].response, &run->steps[n].service))
				return false;
	}
	return true;
}

const char *collect_check(
	const struct plan *p, const struct timeline *t, const struct result *r, struct arena *a)
{
	const struct result_item *items = r->traffic.items;

	for (uint32_t i = 0; i < r->traffic.count; i++) {
		const struct ledger *l = &items[i].ledger;
		const struct ledger *sum = &t->items[i].sum;

		if (l->due < l->sent || l->sent < l->answered + l->failed + l->lost + l->no_reply)
			return arena_printf(a,
				"traffic.%s: the ledger does not add up: due %llu, sent %llu, "
				"answered %llu, failed %llu, lost %llu",
				items[i].name, (unsigned long long)l->due,
				(unsigned long long)l->sent, (unsigned long long)l->answered,
				(unsigned long long)l->failed, (unsigned long long)l->lost);
		// In flight by the ledger equals in flight by the table, which may hold
		// transactions of the warm-up too.
		if (items[i].in_flight > in_tables(&p->items[i]))
			return arena_printf(a,
				"traffic.%s: %llu in flight by the ledger, %llu by the table",
				items[i].name, (unsigned long long)items[i].in_flight,
				(unsigned long long)in_tables(&p->items[i]));
		if (!item_latencies_agree(&p->items[i]))
			return arena_printf(a,
				"traffic.%s: response and service latencies contradict each other",
				items[i].name);
		if (ledgers_differ(sum, l))
			return arena_printf(a,
				"traffic.%s: the intervals do not add up to the total "
				"(due %llu/%llu, sent %llu/%llu, answered %llu/%llu)",
				items[i].name, (unsigned long long)sum->due,
				(unsigned long long)l->due, (unsigned long long)sum->sent,
				(unsigned long long)l->sent, (unsigned long long)sum->answered,
				(unsigned long long)l->answered);
	}
	return NULL;
}
