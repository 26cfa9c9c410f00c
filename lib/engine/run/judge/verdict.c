// SPDX-License-Identifier: BSD-3-Clause
// The rules of the verdict, worst first: a broken ledger, an interruption, a server that never
// answered, a tester at fault, a criterion that does not hold. Path: cold. Management thread.
#include "engine/run/judge/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/driver/settings.h"
#include "io/driver/driver.h"
#include "base/arena.h"
#include "engine/config/criteria.h"
#include "engine/core/worker/worker_conn.h"
#include "engine/plan/plan_supply.h"
#include "engine/run/judge/limit.h"
#include "engine/run/run_options.h"
#include "io/sockets/sockets.h"
#include "stats/text.h"

#define REASONS_ROOM 64  // to begin with
#define ROOM_LEFT    0.8 // of the sent rate: a rate that the box can do

struct reasons {
	struct arena *arena;
	const char **texts;
	uint32_t count, room;
	uint32_t of_load; // reasons that are no fault of the tester
	uint32_t late;    // reasons that blame only others on its CPU
	uint32_t waited;  // of these, about workers that slept, and sent on time
	uint32_t unsent;  // reasons that the tester did not send,
	uint32_t lagged;  // or sent late
};

__attribute__((format(printf, 2, 3))) static void because(struct reasons *r, const char *fmt, ...)
{
	const char **more;
	va_list args;
	char *text;

	if (r->count == r->room) {
		r->room = r->room ? 2 * r->room : REASONS_ROOM;
		more = arena_zalloc(r->arena, r->room * sizeof(*more));
		if (r->count)
			memcpy(more, r->texts, r->count * sizeof(*more));
		r->texts = more;
	}
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		arena_exhausted();
	va_end(args);
	r->texts[r->count++] = arena_strdup(r->arena, text);
	free(text);
}

static const char *in_words(const struct reasons *r, double ns)
{
	char text[32];

	return arena_strdup(r->arena, stats_format(ns, "ns", text, sizeof(text)));
}

static const char *per_s(const struct reasons *r, double rate)
{
	char text[32];

	return arena_strdup(r->arena, stats_format(rate, "per_s", text, sizeof(text)));
}

// Causes of an item's late or missing sends.
static void explain_sending(const struct plan_item *i, struct reasons *out)
{
	uint64_t no_mbuf = 0, refused = 0;

	for (uint32_t k = 0; k < i->worker_count; k++) {
		no_mbuf += i->worker[k].tx_no_mbuf;
		refused += i->worker[k].tx_refused;
	}
	if (no_mbuf)
		because(out,
			"port %s: no packet buffer to send from, %llu times (ports.%s.mbufs: more)",
			i->port->settings->name, (unsigned long long)no_mbuf,
			i->port->settings->name);
	if (refused)
		because(out,
			"port %s: the device took less than a burst, %llu times (more "
			"ports.%s.tx_descriptors, or a lower rate)",
			i->port->settings->name, (unsigned long long)refused,
			i->port->settings->name);
}

// Counts why transactions of the measured part had no client.
static struct item_counters without_client(const struct plan_item *i)
{
	struct item_counters sum = {0};

	for (uint32_t k = 0; k < i->worker_count; k++)
		counter_sum(&sum, &plan_run(i, k)->books.counts[1], sizeof(sum));
	return sum;
}

// Was anything answered, in the warm-up or later?
static bool ever_answered(const struct plan_item *i)
{
	for (uint32_t k = 0; k < 2 * i->worker_count; k++) {
		const struct ledger *l = &plan_run(i, k / 2)->books.ledger[k % 2];

		if (l->answered + l->failed)
			return true;
	}
	return false;
}

static uint64_t slots_of(const struct plan_item *i)
{
	uint64_t n = 0;

	for (uint32_t k = 0; k < i->worker_count; k++)
		n += plan_run(i, k)->txns.count;
	return n;
}

// The protocol's own counter of faults, in the warm-up and in the measured part.
static void verdict_protocol(const struct plan_item *i, const char *name, struct reasons *out)
{
	const struct counter_section *counters = i->run->proto->counters;
	uint64_t n = 0;

	for (uint32_t r = 0; counters->fault && r < counters->count; r++) {
		const struct counter *row = &counters->rows[r];

		if (strcmp(row->name, counters->fault) != 0)
			continue;
		for (uint32_t k = 0; k < 2 * i->worker_count; k++)
			n += *(const uint64_t *)(const void *)((const uint8_t *)plan_run(i, k / 2)
								       ->banks[k % 2] +
							       row->offset);
		if (n)
			because(out, "%s: %s.%s is %llu, warm-up included: %s", name,
				counters->name, row->name, (unsigned long long)n, row->help);
	}
}

// Was every transaction sent in time for which a client or a connection was free? kept:
// transactions without one.
static bool is_of_load(
	const struct validity_settings *v, const struct result_item *r, uint64_t kept)
{
	return kept && (double)r->unsent - (double)kept <= v->unsent * (double)r->ledger.due &&
	       !(r->send_lag.p99_ns > (double)v->send_lag_p99_ns);
}

// Explains why transactions had no client or connection.
static void explain_load(const struct plan *p, const struct plan_item *i,
	const struct result_item *r, const struct item_counters *n, struct reasons *out)
{
	uint64_t untaken = r->connections ? r->connections->no_memory : 0;
	const struct proto_stock clients = plan_clients(i);
	double starved_s = plan_starved_s(p, i);

	if (n->no_client > n->no_bound)
		because(out,
			"%s: %llu not sent: no client was free for them, the first %.3g s after "
			"the start: %s, or lower the rate",
			r->name, (unsigned long long)(n->no_client - n->no_bound), starved_s,
			clients.remedy);
	if (n->no_bound)
		because(out, "%s: %llu not sent: no client was bound and idle for them: %s",
			r->name, (unsigned long long)n->no_bound, clients.bound);
	if (n->no_client == 0 && r->ledger.sent == 0 && starved_s >= 0)
		because(out,
			"%s: its %llu clients ran out in the warm-up, %.3g s after the start: %s",
			r->name, (unsigned long long)r->clients, starved_s, clients.remedy);
	if (untaken)
		because(out,
			"%s: %llu of them had no memory: their connections hold everything that "
			"the server has not yet read or accepted (more tcp.connections, or a lower "
			"rate)",
			r->name, (unsigned long long)untaken);
}

// Did too many messages wait for the tester's part of a handshake?
static void handshakes_late(
	const struct validity_settings *v, const struct result_item *r, struct reasons *out)
{
	const struct result_tls *tls = r->connections ? r->connections->tls : NULL;

	if (!tls || (double)tls->counts.delayed <= v->unsent * (double)r->ledger.sent)
		return;
	because(out,
		"%s: %llu messages waited more than %s for the tester, which computes the "
		"handshakes of their connections (open them in the warm-up, or more slowly, or "
		"give host.crew more CPUs)",
		r->name, (unsigned long long)tls->counts.delayed,
		in_words(out, (double)v->send_lag_p99_ns));
}

static void verdict_item(const struct plan *p, const struct plan_item *i,
	const struct result_item *r, struct reasons *out)
{
	const struct validity_settings *v = &p->config->validity;
	struct item_counters n = without_client(i);
	uint64_t untaken = r->connections ? r->connections->no_memory : 0;
	// No transaction that needs a bound client can begin before the first one is bound.
	uint64_t wanted = r->unsent - (n.no_bound_yet < r->unsent ? n.no_bound_yet : r->unsent);
	bool starved = r->ledger.sent == 0 && plan_starved_s(p, i) >= 0;
	bool of_load = is_of_load(v, r, n.no_client + untaken) || r->ledger.due == 0 || starved;
	uint32_t before = out->count;

	if ((double)wanted > v->unsent * (double)r->ledger.due) {
		out->unsent += !of_load;
		because(out, "%s: %s%llu of %llu that were due%s (more than %g %%)", r->name,
			of_load ? "" : "the tester did not send ", (unsigned long long)r->unsent,
			(unsigned long long)r->ledger.due, of_load ? " were not sent" : "",
			100 * v->unsent);
	}
	if (r->send_lag.p99_ns > (double)v->send_lag_p99_ns) {
		because(out, "%s: the tester sent late: %s %s (more than %s)", r->name,
			hist_knows((double)r->send_lag.count, 0.99) ? "99th percentile" : "at most",
			in_words(out, r->send_lag.p99_ns),
			in_words(out, (double)v->send_lag_p99_ns));
		out->late++;
		out->lagged++;
	}
	handshakes_late(v, r, out);
	if (r->ledger.sent == 0)
		because(out, "%s: nothing was %s in the measured part", r->name,
			r->ledger.due ? "sent" : "due");
	if (out->count > before)
		explain_load(p, i, r, &n, out);
	if (of_load)
		out->of_load += out->count - before;
	// A closed loop that waits for a slot and not for the server measures the table. Without
	// any reply it waits for the server, because lost transactions use up the slots.
	if (r->no_slot && (i->run->pace.kind == PACE_RATE
					  ? out->count > before
					  : ever_answered(i) &&
						    (out->count > before ||
							    i->run->pace.kind == PACE_OUTSTANDING)))
		because(out,
			"%s: all %llu transaction slots were in use, or all keys were used within "
			"the last 3 timeouts (raise load.slots, or add source ports or addresses, "
			"or shorten the timeout)",
			r->name, (unsigned long long)slots_of(i));
	if (out->count > before)
		explain_sending(i, out);
}

// A packet that the kernel refused was counted as sent.
static void verdict_sockets(
	const struct port *port, const struct result_port *r, struct reasons *out)
{
	const char *error = port->sockets ? sockets_send_error(port->sockets) : NULL;

	if (port->sockets && r->tx_errors)
		because(out,
			"port %s: the kernel did not send %llu packets that count as sent (the "
			"last one: %s)",
			r->name, (unsigned long long)r->tx_errors, error ? error : "no socket");
}

// Does an event change the link of this port? Then its cost is intended.
static bool link_is_changed(const struct plan *p, const struct result_port *r)
{
	const struct event_settings *e = p->config->events.items;

	for (uint32_t i = 0; i < p->config->events.count; i++)
		if (e[i].link != EVENT_LINK_NONE && (!e[i].port || strcmp(e[i].port, r->name) == 0))
			return true;
	return false;
}

// A card that was reset accepts packets and sends none.
static void verdict_sending(const struct plan *p, const struct port *port,
	const struct result_port *r, struct reasons *out)
{
	uint64_t lost = r->tx_given > r->tx_packets ? r->tx_given - r->tx_packets : 0;

	if (!port->sockets && !link_is_changed(p, r) &&
		(double)lost > p->config->validity.dropped * (double)r->tx_given)
		because(out,
			"port %s: the device took %llu packets and sent %llu (was it reset, or "
			"does a "
			"transmit queue hang?)",
			r->name, (unsigned long long)r->tx_given,
			(unsigned long long)r->tx_packets);
}

static void verdict_port(const struct plan *p, const struct result_port *r, struct reasons *out)
{
	uint64_t dropped = r->rx_missed + r->rx_no_mbuf + r->hand_over_full;
	double all = (double)(r->rx_packets + dropped);

	if (dropped && (double)dropped > p->config->validity.dropped * all)
		because(out,
			"port %s: the tester dropped %llu received packets (rx_missed %llu, "
			"rx_no_mbuf %llu, hand_over_full %llu)",
			r->name, (unsigned long long)dropped, (unsigned long long)r->rx_missed,
			(unsigned long long)r->rx_no_mbuf, (unsigned long long)r->hand_over_full);
}

// Returns the host with an address of ours that a worker noticed last.
static const struct neigh_claim *conflict_on(const struct plan *p, uint32_t port)
{
	const struct neigh_claim *last = NULL;

	for (uint32_t k = 0; k < p->worker_count; k++) {
		const struct worker *w = &p->workers[k];
		const struct wire *wire = &w->wire;

		if (w->port != port)
			continue;
		if ((int32_t)port == p->responder_port)
			wire = &p->responders[w->number].wire;
		if (wire->conflict.addr.len)
			last = &wire->conflict;
	}
	return last;
}

static void verdict_conflicts(
	const struct plan *p, uint32_t port, const struct result_port *r, struct reasons *out)
{
	const struct neigh_claim *c =
		r->other && r->other->address_conflicts ? conflict_on(p, port) : NULL;
	char addr[ADDR_TEXT_SIZE], mac[ADDR_TEXT_SIZE];

	if (c)
		because(out,
			"port %s: the host %s also uses %s, an address of the tester (%llu ARP or "
			"ND packets): replies may have gone there",
			r->name, addr_format_mac(c->mac, mac, sizeof(mac)),
			addr_format(&c->addr, addr, sizeof(addr)),
			(unsigned long long)r->other->address_conflicts);
}

static void verdict_link(const struct plan *p, const struct result_port *r, struct reasons *out)
{
	if (!link_is_changed(p, r) && r->link_downs &&
		r->link_down_s * 1e9 > (double)p->config->validity.link_down_ns)
		because(out, "port %s: the link was down %llu times, %.3g s in all", r->name,
			(unsigned long long)r->link_downs, r->link_down_s);
}

// of_s: time for which all threads together should have had their CPUs. Stolen time is seen when
// the CPU is back, maybe after the end; 100 % is still all there is.
static bool is_stolen(const struct config *c, double stolen_s, double of_s)
{
	return fmin(stolen_s, of_s) > c->validity.stolen * of_s;
}

static void verdict_stolen(const struct plan *p, const char *who, double stolen_s, double of_s,
	uint64_t gaps, double longest_ns, struct reasons *out)
{
	because(out,
		"%s was descheduled for %s of %.3g s (more than %g %%; %llu times over 1 ms, "
		"longest %s)",
		who, in_words(out, stolen_s * 1e9), of_s, 100 * p->config->validity.stolen,
		(unsigned long long)gaps, in_words(out, longest_ns));
	out->late++;
}

// Did all that was due on this port leave within the bound on late sends?
static bool sends_on_time(const struct config *c, const struct result *r, const char *port)
{
	const struct result_item *items = r->traffic.items;

	for (uint32_t i = 0; i < r->traffic.count; i++) {
		const struct latency *lag = &items[i].send_lag;
		double late = isnan(lag->p99_ns) ? lag->max_ns : lag->p99_ns;

		if (strcmp(items[i].port, port) == 0 && late > (double)c->validity.send_lag_p99_ns)
			return false;
	}
	return true;
}

// Does a schedule, and not the replies, determine when the items of this port send?
static bool sends_by_schedule(const struct config *c, const struct result *r, const char *port)
{
	const struct result_item *items = r->traffic.items;
	const struct item_settings *of = c->traffic.items;

	for (uint32_t i = 0; i < r->traffic.count && i < c->traffic.count; i++)
		if (strcmp(items[i].port, port) == 0 && !load_is_open(&of[i].load))
			return false;
	return true;
}

// If the kernel stamps replies, and a schedule determines the sends, only a late send does harm.
static bool is_timed(const struct config *c, const struct result *r, const struct result_worker *w)
{
	return w->wake && sends_by_schedule(c, r, w->port) && sends_on_time(c, r, w->port);
}

// A worker that mostly sleeps yields its CPU and gets it back for its sends: others that run
// meanwhile are no fault unless a send was late.
static bool worker_is_stolen(
	const struct config *c, const struct result *r, const struct result_worker *w)
{
	return is_stolen(c, w->stolen_s, r->run.measured_s) && !is_timed(c, r, w) &&
	       !(w->slept_s > w->stolen_s && sends_on_time(c, r, w->port));
}

bool verdict_stole(const struct config *c, const struct result *r)
{
	const struct result_worker *w = r->workers.items;

	for (uint32_t i = 0; i < r->workers.count; i++)
		if (worker_is_stolen(c, r, &w[i]))
			return true;
	return r->responder &&
	       is_stolen(c, r->responder->stolen_s,
		       r->run.measured_s * port_cpu_count(config_responder_port(c)));
}

static void verdict_worker(const struct plan *p, const struct result *r,
	const struct result_worker *w, struct reasons *out)
{
	const char *cpu = isnan(w->cpu) ? "" : arena_printf(out->arena, " on CPU %.0f", w->cpu);

	if (!worker_is_stolen(p->config, r, w))
		return;
	out->waited +=
		w->idle && strcmp(w->idle, "sleep") == 0 && sends_on_time(p->config, r, w->port);
	verdict_stolen(p, arena_printf(out->arena, "port %s: the worker%s", w->port, cpu),
		w->stolen_s, r->run.measured_s, w->gaps_over_1ms, w->max_gap_ns, out);
}

static bool lost_any(const struct result *r)
{
	const struct result_item *items = r->traffic.items;

	for (uint32_t i = 0; i < r->traffic.count; i++)
		if (items[i].ledger.lost)
			return true;
	return false;
}

// The embedded server is on the tester's box: the box's faults are not the server's. A responder
// that sleeps while it waits was only slower for them.
static void verdict_responder(const struct plan *p, const struct result *r, struct reasons *out)
{
	const struct result_item *items = r->traffic.items;
	const struct result_responder *of = r->responder;
	const double of_s = r->run.measured_s * p->responder_count;

	if (is_stolen(p->config, of->stolen_s, of_s) &&
		(!p->responders || !p->responders->idle.sleeps || lost_any(r)))
		verdict_stolen(p, arena_printf(out->arena, "port %s: the responder", of->port),
			of->stolen_s, of_s, of->gaps_over_1ms, of->max_gap_ns, out);
	for (uint32_t i = 0; i < p->item_count && p->config->validity.stolen < 1; i++)
		if (items[i].ledger.lost &&
			of->max_gap_ns >= (double)p->items[i].settings->timeout_ns)
			because(out,
				"%s: %llu lost, but the responder was descheduled for %s at once: "
				"longer than the timeout",
				items[i].name, (unsigned long long)items[i].ledger.lost,
				in_words(out, of->max_gap_ns));
}

static void verdict_clock(const struct plan *p, const struct result_host *h, struct reasons *out)
{
	if (h->clock_deviation > p->config->validity.clock)
		because(out,
			"the clock jumped: ticks and the kernel's clocks disagree by %s (%.3g %%, "
			"more than %g %%)",
			in_words(out, h->clock_jump_ns), 100 * h->clock_deviation,
			100 * p->config->validity.clock);
}

// If an event failed, its effects could not be measured.
static void verdict_events(const struct result *r, struct reasons *out)
{
	const struct result_event *e = r->events.items;

	for (uint32_t i = 0; i < r->events.count; i++)
		if (e[i].failed)
			because(out, "event \"%s\" failed: %s", e[i].name, e[i].outcome);
}

static void verdict_tester(const struct plan *p, const struct result *r, struct reasons *out)
{
	const struct result_item *items = r->traffic.items;
	const struct result_port *ports = r->ports.items;
	const struct result_worker *workers = r->workers.items;

	for (uint32_t i = 0; i < p->item_count; i++)
		if (items[i].ledger.due || !r->verdict.stopped) // else it ended before their turn
			verdict_item(p, &p->items[i], &items[i], out);
	for (uint32_t i = 0; i < p->item_count; i++)
		verdict_protocol(&p->items[i], items[i].name, out);
	for (uint32_t i = 0; i < r->ports.count; i++) {
		verdict_link(p, &ports[i], out);
		verdict_conflicts(p, i, &ports[i], out);
		if ((int32_t)i != p->responder_port) // drops of that port are the server's
			verdict_port(p, &ports[i], out);
		verdict_sending(p, &p->ports[i], &ports[i], out);
		verdict_sockets(&p->ports[i], &ports[i], out);
	}
	for (uint32_t i = 0; i < r->workers.count; i++)
		verdict_worker(p, r, &workers[i], out);
	if (r->responder)
		verdict_responder(p, r, out);
	verdict_events(r, out);
	verdict_clock(p, &r->run.host, out);
}

// Did the tester drop received packets, or its kernel fail to send some?
static bool dropped(const struct plan *p, const struct result *r)
{
	const struct result_port *ports = r->ports.items;

	for (uint32_t i = 0; i < r->ports.count; i++)
		if ((int32_t)i != p->responder_port &&
			ports[i].rx_missed + ports[i].rx_no_mbuf + ports[i].hand_over_full +
				(p->ports[i].sockets ? ports[i].tx_errors : 0))
			return true;
	return false;
}

// Another host has an address of the tester, and may get its replies.
static bool is_contested(const struct plan *p)
{
	for (uint32_t i = 0; i < p->worker_count; i++)
		if (p->workers[i].wire.counters.address_conflicts)
			return true;
	return false;
}

struct connections_ever {
	struct conn_counters counts;
	struct tls_counters tls;
	struct quic_outcomes quic;
	uint64_t quic_came; // datagrams
	bool is_quic;
};

// Sums up the connections of all items, the warm-up's too: a pool may have been opened in it.
static struct connections_ever connections_ever(const struct plan *p)
{
	struct connections_ever sum = {0};

	for (uint32_t i = 0; i < p->item_count; i++)
		for (uint32_t k = 0; k < p->items[i].worker_count; k++) {
			const struct worker_conns *wc = plan_run(&p->items[i], k)->conns;

			if (wc && wc->cs.quic)
				sum.quic_came += wc->cs.segments_in;
			for (int bank = 0; wc && bank < 2; bank++) {
				counter_sum(
					&sum.counts, &wc->books.counts[bank], sizeof(sum.counts));
				counter_sum(&sum.tls, &wc->books.tls[bank], sizeof(sum.tls));
				counter_sum(&sum.quic, &wc->books.quic[bank], sizeof(sum.quic));
				sum.is_quic |= wc->cs.quic != NULL;
			}
		}
	return sum;
}

// The largest count of an array by name. Returns its place; UINT32_MAX: all are 0.
static uint32_t most_of(const uint64_t *counts, uint32_t length)
{
	uint32_t most = UINT32_MAX;

	for (uint32_t i = 0; i < length; i++)
		if (counts[i] && (most == UINT32_MAX || counts[i] > counts[most]))
			most = i;
	return most;
}

// Explains why handshakes of TLS failed. Returns false if some succeeded, or none failed.
static bool handshakes_say(const struct connections_ever *ever, struct reasons *out)
{
	const struct tls_counters *t = &ever->tls;
	uint32_t refused = most_of(t->refused, HAND_REFUSALS);
	uint32_t received = most_of(t->alert_received, RECORD_ALERTS);
	uint32_t sent = most_of(t->alert_sent, RECORD_ALERTS);

	if (t->failed == 0)
		return false;
	if (ever->is_quic && ever->counts.no_answer == t->failed)
		return false;
	if (ever->quic.ended[QUIC_END_VERSION]) {
		because(out,
			"the server refused %llu connections: it speaks none of our versions "
			"of QUIC (quic.versions)",
			(unsigned long long)ever->quic.ended[QUIC_END_VERSION]);
		return t->full + t->resumed == 0;
	}
	because(out, "the TLS handshake failed on %llu of %llu connections",
		(unsigned long long)t->failed,
		(unsigned long long)(t->failed + t->full + t->resumed));
	if (refused != UINT32_MAX)
		because(out, "the tester refused the certificate: %s (tls.verify)",
			hand_refusal_name(refused));
	else if (t->no_alpn && t->full + t->resumed == 0)
		because(out, "the server did not select HTTP/2 (ALPN h2): this port speaks "
			     "something else");
	else if (received != UINT32_MAX)
		because(out,
			"the server refused with the alert %s (which versions, ciphers and "
			"ALPN does it accept?)",
			record_alert_name(received));
	else if (sent != UINT32_MAX)
		because(out, "the tester refused with the alert %s", record_alert_name(sent));
	else if (t->timed_out)
		because(out, "%llu handshakes took longer than tls.handshake_timeout",
			(unsigned long long)t->timed_out);
	else
		because(out, "the server ended connections in the middle of the handshake (does "
			     "it speak TLS on this port?)");
	return t->full + t->resumed == 0;
}

static uint64_t others(const struct ledger *l)
{
	return l->late + l->stray + l->malformed + l->duplicate;
}

// Explains packets that came and answered nothing, or that none came.
static void say_what_came(uint64_t sent, const struct ledger *l, struct reasons *out)
{
	if (others(l) == 0)
		because(out, "nothing answered: %llu sent, no reply of any kind",
			(unsigned long long)sent);
	else
		because(out,
			"nothing answered: %llu sent, and all replies were late (%llu; a longer "
			"timeout?), stray (%llu: wrong address, port, ID or question), malformed "
			"(%llu) or duplicate (%llu)",
			(unsigned long long)sent, (unsigned long long)l->late,
			(unsigned long long)l->stray, (unsigned long long)l->malformed,
			(unsigned long long)l->duplicate);
}

// Explains how the server treated connections without any reply. Returns false if there were none.
static bool connections_say(
	const struct connections_ever *ever, const struct ledger *l, struct reasons *out)
{
	const struct conn_counters *c = &ever->counts;

	if (c->opened == 0)
		return false;
	if (handshakes_say(ever, out))
		return true;
	if (others(l))
		say_what_came(l->sent - l->no_reply, l, out);
	else if (c->established && c->closed + c->reset)
		because(out,
			"the server accepts connections and closes them without an answer (%llu "
			"accepted, %llu closed, %llu reset)",
			(unsigned long long)c->established, (unsigned long long)c->closed,
			(unsigned long long)c->reset);
	else if (c->established)
		because(out, "the server accepts connections and never answers (%llu accepted)",
			(unsigned long long)c->established);
	if (c->refused)
		because(out, "%llu connections refused: no server listens on that port",
			(unsigned long long)c->refused);
	else if (c->established == 0 && ever->quic_came)
		because(out,
			"no answer to %llu connections over QUIC: that UDP port "
			"answers with datagrams of something else (%llu)",
			(unsigned long long)c->opened, (unsigned long long)ever->quic_came);
	else if (c->opened > c->established && ever->is_quic)
		because(out,
			"no answer to %llu connections over QUIC: no server listens on that UDP "
			"port, or its datagrams were lost or dropped",
			(unsigned long long)(c->opened - c->established));
	else if (c->opened > c->established)
		because(out, "no answer to %llu connections: each SYN was lost or dropped",
			(unsigned long long)(c->opened - c->established));
	return true;
}

// Did no criterion fail, and no rule stop the run?
static bool all_hold(const struct result_verdict *v)
{
	const struct result_criterion *c = v->criteria.items;

	for (uint32_t i = 0; i < v->criteria.count; i++)
		if (!c[i].pass)
			return false;
	return !v->stopped;
}

static struct ledger of_warmup(const struct plan *p)
{
	struct ledger sum = {0};

	for (uint32_t i = 0; i < p->item_count; i++)
		for (uint32_t k = 0; k < p->items[i].worker_count; k++)
			counter_sum(&sum, &plan_run(&p->items[i], k)->books.ledger[0], sizeof(sum));
	return sum;
}

// Was nothing answered at all, although something was sent? If other packets came, a failed
// criterion explains more.
static bool unreachable(const struct result *r, const struct plan *p, struct reasons *out)
{
	const struct result_item *items = r->traffic.items;
	uint64_t sent, refused = 0, fragments = 0, whole = 0;
	const struct connections_ever connections = connections_ever(p);
	struct ledger l = {0};

	for (uint32_t i = 0; i < r->traffic.count; i++)
		counter_sum(&l, &items[i].ledger, sizeof(l));
	if (l.sent == 0) // of the warm-up, whose messages were all that could be sent
		l = of_warmup(p);
	sent = l.sent - l.no_reply;
	if (sent == 0 || l.answered + l.failed || (others(&l) && !all_hold(&r->verdict)) ||
		dropped(p, r) || is_contested(p))
		return false;
	for (uint32_t i = 0; i < p->worker_count; i++) {
		const struct wire_counters *c = &p->workers[i].wire.counters;

		refused += c->icmp_errors[ICMP_PORT_UNREACHABLE];
		fragments += c->fragments;
		whole += c->reassembled;
	}
	if (!connections_say(&connections, &l, out))
		say_what_came(sent, &l, out);
	if (refused)
		because(out,
			"ICMP port unreachable (%llu times): no server listens on that port (is "
			"the server running, and on this port?)",
			(unsigned long long)refused);
	else if (others(&l) == 0 && connections.counts.opened == 0)
		because(out, "to try next: is the server running, and listening on that address "
			     "and port (ss -lun)? Does a firewall drop the packets (nft list "
			     "ruleset, on both hosts)? Does the server have a route back to the "
			     "tester's address?");
	if (fragments)
		because(out,
			"%llu IP fragments came back, and %llu datagrams were put together from "
			"them (not_reassembled of the port has the reasons)",
			(unsigned long long)fragments, (unsigned long long)whole);
	return true;
}

// "10.0.0.1", or with the port.
static const char *end_text(
	const struct reasons *out, const struct addr *a, uint16_t port, bool with_port)
{
	char text[ADDR_TEXT_SIZE];

	addr_format(a, text, sizeof(text));
	return with_port ? arena_printf(out->arena, "%s port %u", text, port)
	                 : arena_strdup(out->arena, text);
}

// Reports replies from elsewhere than the server, and whether they were accepted.
static void say_elsewhere(const struct plan_item *i, struct reasons *out)
{
	const struct worker_item *run = i->run;
	struct item_elsewhere all = {0};
	const char *taken = run->router ? "they count, as a reply is known by its content"
	                                : "they are strays (it has several addresses, or there is "
	                                  "a NAT in between)";
	char rest[64] = "";
	bool ports;

	for (uint32_t k = 0; k < i->worker_count; k++) {
		const struct item_elsewhere *e = &plan_run(i, k)->elsewhere;

		if (all.from.len == 0) {
			all = *e;
		} else if (addr_equal(&all.from, &e->from) && all.port == e->port) {
			all.same[1] += e->same[1];
			all.rest[1] += e->rest[1];
		} else {
			all.rest[1] += e->same[1] + e->rest[1];
		}
	}
	if (all.same[1] + all.rest[1] == 0)
		return;
	ports = all.port != run->server_port;
	if (all.rest[1])
		snprintf(rest, sizeof(rest), " (and %llu from elsewhere)",
			(unsigned long long)all.rest[1]);
	if (run->server.len)
		because(out, "%s: %llu replies came from %s%s; the server asked is %s: %s",
			i->settings->name, (unsigned long long)all.same[1],
			end_text(out, &all.from, all.port, ports), rest,
			end_text(out, &run->server, run->server_port, ports), taken);
	else
		because(out, "%s: %llu replies came from %s%s, and servers have port %u: %s",
			i->settings->name, (unsigned long long)all.same[1],
			end_text(out, &all.from, all.port, true), rest, run->server_port, taken);
}

// Does one count explain half of the other?
static bool is_most(uint64_t n, uint64_t of)
{
	return n && of && 2 * n >= of;
}

// Explains dropped replies where they are nearly as many as the losses.
static void say_dropped(const struct plan_item *i, const struct result_item *r, struct reasons *out)
{
	const struct counter_section *s = i->run->proto->counters;
	const struct ledger *l = &r->ledger;
	const char *why = NULL;

	for (uint32_t n = 0; r->counters.data && is_most(l->stray, l->lost) && n < s->count; n++) {
		const struct counter *row = &s->rows[n];
		uint64_t count;

		if (!row->stray)
			continue;
		memcpy(&count, (const uint8_t *)r->counters.data + row->offset, sizeof(count));
		if (is_most(count, l->stray))
			because(out, "%s: %llu replies were dropped (%s.%s): %s", r->name,
				(unsigned long long)count, s->name, row->name, row->stray);
	}
	for (uint32_t k = 0; k < i->worker_count && !why; k++)
		why = plan_run(i, k)->malformed;
	if (why && is_most(l->malformed, l->lost))
		because(out, "%s: %llu replies do not parse; the first one: %s", r->name,
			(unsigned long long)l->malformed, why);
}

// Explains failed messages by the status of their answers.
static void say_statuses(const struct result_item *r, struct reasons *out)
{
	const struct result_http *http = r->connections ? r->connections->http : NULL;
	uint64_t refused[H2_STATUSES];
	uint32_t most;

	if (!http)
		return;
	memcpy(refused, http->counts.status, sizeof(refused));
	refused[0] = 0; // 200
	most = most_of(refused, H2_STATUSES);
	if (most != UINT32_MAX && is_most(refused[most], r->ledger.failed))
		because(out,
			h2_status_place(404) == most
				? "%s: %llu answers have the HTTP status %s (is https.path right?)"
				: "%s: %llu answers have the HTTP status %s",
			r->name, (unsigned long long)refused[most], h2_status_name(most));
	if (is_most(http->counts.wrong_type, r->ledger.failed))
		because(out,
			"%s: %llu answers have another type than a reply (is https.path right?)",
			r->name, (unsigned long long)http->counts.wrong_type);
}

// Explains losses that begin at the item's own connections: their messages had to wait.
static void say_waited(const struct result_item *r, struct reasons *out)
{
	if (r->connections && r->connections->pipeline_lost)
		because(out,
			"%s: %llu of the %llu lost messages still waited behind others on their "
			"connection, which had not been answered (tcp.connections or "
			"tcp.pipeline: more, or a lower rate)",
			r->name, (unsigned long long)r->connections->pipeline_lost,
			(unsigned long long)r->ledger.lost);
}

// Adds facts about received packets, and about losses, that the ledger does not contain.
static void verdict_replies(const struct plan *p, const struct result *r, struct reasons *out)
{
	const struct result_item *items = r->traffic.items;

	for (uint32_t i = 0; i < p->item_count; i++) {
		if (p->items[i].run->router || is_most(items[i].ledger.stray, items[i].ledger.lost))
			say_elsewhere(&p->items[i], out);
		say_dropped(&p->items[i], &items[i], out);
		say_statuses(&items[i], out);
		say_waited(&items[i], out);
	}
}

// The last criterion is that no rule stopped the run, if a rule did.
static bool verdict_criteria(const struct result *r, struct reasons *out)
{
	const struct result_verdict *v = &r->verdict;
	const struct result_criterion *c = v->criteria.items;
	uint32_t count = v->criteria.count - (v->stopped != NULL);
	bool pass = !v->stopped;

	if (v->stopped)
		because(out, "stopped %.3g s after the start of the measured part: %s",
			v->stopped_s, v->stopped);
	for (uint32_t i = 0; i < count; i++) {
		if (c[i].pass)
			continue;
		because(out, "criterion not met: %s", c[i].expression);
		pass = false;
	}
	return pass;
}

// Workers that sleep while they wait read replies late when others have their CPU, which makes
// latencies longer, not shorter. If all was sent on time and the criteria hold anyway, they hold.
static bool is_harmless(const struct result *r, const struct reasons *why)
{
	struct reasons failed = {.arena = why->arena};

	return why->count && why->count == why->waited && verdict_criteria(r, &failed);
}

bool verdict_is_near(const struct plan *p, const struct plan_item *i)
{
	return !i->settings->facts.asks_responder && i->run->server.len &&
	       sockets_is_own(&i->run->server);
}

// Fills the tester's part in an item's outcome: by figures alone, whatever was tolerated.
static void facts_of_tester(const struct plan *p, const struct result *r, uint32_t item,
	const struct result_port *port, struct limit_facts *f)
{
	const struct result_item *i = &((const struct result_item *)r->traffic.items)[item];
	const struct result_worker *workers = r->workers.items;
	const struct plan_item *of = &p->items[item];
	const struct item_counters n = without_client(of);
	uint64_t kept = n.no_client + (i->connections ? i->connections->no_memory : 0);
	bool own = of->settings->facts.asks_responder;
	bool near = verdict_is_near(p, of);

	f->due = i->ledger.due;
	f->unsent = i->unsent > kept ? i->unsent - kept : 0;
	f->late_ns = isnan(i->send_lag.p99_ns) ? 0 : i->send_lag.p99_ns;
	f->dropped = port->rx_missed + port->rx_no_mbuf + port->hand_over_full;
	for (uint32_t k = 0; k < r->workers.count && r->run.measured_s > 0; k++)
		if (strcmp(workers[k].port, port->name) == 0) {
			double share = workers[k].stolen_s / r->run.measured_s;

			f->disturbed = fmax(f->disturbed, share);
			if (!is_timed(p->config, r, &workers[k]))
				f->harmed = fmax(f->harmed, share);
		}
	if (own && r->responder && r->run.measured_s > 0) {
		f->harmed = fmax(
			f->harmed, r->responder->stolen_s / r->run.measured_s / p->responder_count);
		f->disturbed = fmax(f->disturbed, f->harmed);
	}
	f->box = near && r->cpu ? r->cpu->use.used : 0;
}

static struct limit_facts item_facts(
	const struct plan *p, const struct timeline *t, const struct result *r, uint32_t item)
{
	const struct timeline_growth growth = timeline_growth(t, item, r->run.measured_s);
	const struct result_item *i = &((const struct result_item *)r->traffic.items)[item];
	const struct plan_item *of = &p->items[item];
	const struct result_port *port =
		&((const struct result_port *)r->ports.items)[of->worker->port];
	double busy = 0;
	struct limit_facts f = {
		.open_rate = of->run->pace.kind == PACE_RATE,
		.sent = i->ledger.sent,
		.lost = i->ledger.lost,
		.sent_per_s = i->sent_per_s,
		.no_slot = i->no_slot,
		.link_used = port->link_used,
		.open = growth.open,
		.grown = growth.grown,
		.sent_since = growth.sent,
	};

	for (uint32_t k = 0; k < of->worker_count; k++) {
		if (port_ring_peer(p->port_settings, p->port_count, of->worker->port) >= 0)
			f.tx_refused += of->worker[k].tx_refused;
		busy = fmax(busy, (double)of->worker[k].busy[1]);
	}
	if (r->run.measured_s > 0)
		f.busy = busy / p->clock.hz / r->run.measured_s;
	facts_of_tester(p, r, item, port, &f);
	return f;
}

// Returns the limit to report for all items; *why: the facts of its item.
static enum limit find_limit(
	const struct plan *p, const struct timeline *t, struct result *r, struct limit_facts *why)
{
	enum limit worst = LIMIT_NONE;
	double disturbed = 0, harmed = 0;

	*why = (struct limit_facts){.sent = 0};
	for (uint32_t i = 0; i < r->traffic.count; i++) {
		struct limit_facts f = item_facts(p, t, r, i);
		enum limit l = limit_of(&f);

		disturbed = fmax(disturbed, f.disturbed);
		harmed = fmax(harmed, f.harmed);
		if (l > worst)
			*why = f;
		worst = l > worst ? l : worst;
	}
	r->verdict.disturbed = fmin(disturbed, 1);
	r->verdict.harmed = fmin(harmed, 1);
	return worst;
}

static void say_undecided(const struct limit_facts *f, struct reasons *out)
{
	if (f->harmed > LIMIT_DISTURBED)
		because(out,
			"undecided: others had the CPU for %.0f %% of the time, so losses and "
			"delays may be due to them or to the server",
			100 * fmin(f->harmed, 1));
	else if (f->late_ns > LIMIT_LATE_NS)
		because(out,
			"undecided: sends were late (99th percentile %s), so they came in bursts "
			"that may have been too much for the server",
			in_words(out, f->late_ns));
	else
		because(out,
			"undecided: the server runs on this box, whose CPUs were %.0f %% in use: "
			"on "
			"CPUs of its own it may do more",
			100 * f->box);
}

static bool was_down(const struct result *r)
{
	const struct result_port *ports = r->ports.items;

	for (uint32_t i = 0; i < r->ports.count; i++)
		if (ports[i].link_downs)
			return true;
	return false;
}

// Returns why a run is invalid, in one sentence, if time on a CPU is the cause; else NULL.
static const char *cause_of(const struct result *r, const struct reasons *why)
{
	const struct result_item *items = r->traffic.items;
	double due = 0, sent = 0, late = 0, share = r->verdict.disturbed;
	const char *did;

	for (uint32_t i = 0; i < r->traffic.count; i++) {
		due += items[i].due_per_s;
		sent += items[i].sent_per_s;
		late = fmax(late, isnan(items[i].send_lag.p99_ns) ? 0 : items[i].send_lag.p99_ns);
	}
	did = why->unsent
	              ? arena_printf(why->arena, "sent %s of %s", per_s(why, sent), per_s(why, due))
	      : why->lagged ? arena_printf(why->arena, "sent late (99th percentile %s)",
				      in_words(why, late))
	                    : NULL;
	if (share > LIMIT_DISTURBED)
		return arena_printf(why->arena,
			"others had the tester's CPU for %.0f %% of the time%s%s", 100 * share,
			did ? ", and it " : "", did ? did : "");
	return why->unsent
	               ? arena_printf(why->arena, "this box was too slow for the load: it %s", did)
	               : NULL;
}

// Reports a rate below the sent rate, with room for other work of the box.
static void say_possible(const struct result *r, struct reasons *out)
{
	const struct result_item *items = r->traffic.items;
	double sent = 0;

	for (uint32_t i = 0; i < r->traffic.count; i++)
		sent += items[i].sent_per_s;
	if (out->unsent && sent > 0)
		because(out, "as busy as it was, the box would have sent about %s in time",
			per_s(out, ROOM_LEFT * sent));
}

int verdict_reach(const struct plan *p, const struct timeline *t, const char *broken,
	bool interrupted, struct arena *a, struct result *r)
{
	struct reasons why = {.arena = a}, silence = {.arena = a};
	struct result_verdict *v = &r->verdict;
	struct limit_facts facts;
	uint32_t faults, late;
	enum limit limit;

	v->criteria = criteria_judge(&t->criteria, r, a);
	verdict_tester(p, r, &why);
	faults = is_harmless(r, &why) ? 0 : why.count;
	late = why.late;
	limit = find_limit(p, t, r, &facts);
	if (faults > why.of_load + late && limit != LIMIT_WIRE)
		limit = LIMIT_TESTER;
	v->limited_by = limit_name(limit);
	if (broken) {
		because(&why, "internal error: %s", broken);
		v->status = "invalid";
		v->exit_code = EXIT_INTERNAL;
	} else if (interrupted) {
		because(&why, "interrupted after %.1f s of the measured part", r->run.measured_s);
		v->limited_by = "none"; // it was limited by its end
		v->status = "interrupted";
		v->exit_code = EXIT_INTERRUPTED;
	} else if (unreachable(r, p, &silence)) {
		for (uint32_t i = 0; i < why.count; i++)
			because(&silence, "%s", why.texts[i]);
		why = silence;
		v->status = "unreachable";
		v->exit_code = EXIT_UNREACHABLE;
	} else if (faults) {
		v->status = "invalid";
		v->invalid_by = faults == why.of_load          ? "load"
		                : faults == why.of_load + late ? "disturbance"
		                                               : "tester";
		v->exit_code = EXIT_INVALID;
		if (limit != LIMIT_WIRE && strcmp(v->invalid_by, "load") != 0 && !was_down(r)) {
			v->cause = cause_of(r, &why);
			say_possible(r, &why);
		}
	} else if (!verdict_criteria(r, &why)) {
		v->status = "fail";
		v->exit_code = EXIT_FAIL;
	} else {
		v->status = p->config->criteria.count || p->config->stop.count ? "pass" : "done";
		v->exit_code = EXIT_PASS;
	}
	if (why.waited && !faults)
		because(&why, "everything was sent on time; latencies include the time until the "
			      "worker had its CPU to read a reply");
	if (limit == LIMIT_UNDECIDED && !interrupted)
		say_undecided(&facts, &why);
	verdict_replies(p, r, &why);
	v->reasons = (struct counter_list){why.texts, why.count};
	return (int)v->exit_code;
}
