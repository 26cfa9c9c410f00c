// SPDX-License-Identifier: BSD-3-Clause
// Notes of a run to the user: its plan, the delay that the tester adds, and the queues that replies
// reach. The queues are probed before the first run and seen in its first interval. Not here: the
// figures of the run. Path: cold. Management thread.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/driver/driver.h"
#include "base/log.h"
#include "engine/core/worker/worker_conn.h"
#include "engine/plan/deal.h"
#include "engine/plan/plan_item.h"
#include "engine/plan/plan_quic.h"
#include "engine/plan/plan_supply.h"
#include "engine/run/run_state.h"
#include "engine/run/around/tester_delay.h"
#include "engine/run/collect/collect_intervals.h"
#include "engine/run/judge/run_notes.h"
#include "stats/text.h"

#define ENOUGH    100  // packets for a 99th percentile
#define STARVED   0.05 // share of the measured part without a client that is reported
#define MOVES_MAX 8    // moves of next hops that are noted

void run_note(const struct run_options *o, const char *fmt, ...)
{
	const struct run_hooks *h = &o->hooks;
	char text[512];
	va_list args;

	if (!h->note)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	h->note(h->ctx, text);
}

// For an item that answers for addresses of its own, on a port whose device steers.
static void note_relays(const struct run *r, const struct plan_item *i)
{
	struct deal_balance b = deal_balance(i, i->worker_count);
	const struct steer *s = &i->port->steer;

	if (b.addresses == 0 || (!steer_is_known(s) && s->how != STEER_ADDRESS))
		return;
	if (i->homes || s->how == STEER_ADDRESS)
		run_note(r->options,
			"traffic %s: its %llu relay addresses are dealt to %u workers by the "
			"device's %s: %.1f %% of replies reach the worker of their client",
			i->settings->name, (unsigned long long)b.addresses, i->worker_count,
			i->homes && s->how != STEER_RULES ? "hash" : "rules", 100 * b.home);
	else
		run_note(r->options,
			"traffic %s: its replies are handed over between workers: the device's "
			"hash includes the server's address, and it has several servers or unknown "
			"ones",
			i->settings->name);
}

// Returns the share of replies on a port that its device can bring to the right worker; 0: unknown.
static double home_expected(const struct plan *p, const struct port *port)
{
	double least = 1;

	for (uint32_t i = 0; i < p->item_count; i++) {
		const struct plan_item *item = &p->items[i];
		double home;

		if (item->port != port || !item->run->router)
			continue;
		if (item->layout.own_addresses ||
			(!item->homes && port->steer.how != STEER_ADDRESS))
			return 0;
		home = deal_balance(item, item->worker_count).home;
		least = home < least ? home : least;
	}
	return least;
}

static void note_connections(const struct run *r, const struct plan_item *i)
{
	uint64_t seats = 0, places = 0, bytes = 0;

	for (uint32_t k = 0; k < i->worker_count; k++) {
		const struct worker_conns *wc = plan_run(i, k)->conns;

		seats += wc->seat_count;
		places += wc->row_count;
		bytes += wc->cs.bytes + plan_quic_bytes(&wc->cs);
	}
	run_note(r->options,
		"traffic %s: %llu connections at a time (%.0f MiB) on %llu addresses and ports",
		i->settings->name, (unsigned long long)seats, (double)bytes / 1048576,
		(unsigned long long)places);
}

static void note_item(const struct run *r, const struct plan_item *i)
{
	const struct proto_stock clients = plan_clients(i);
	uint64_t slots = 0, ports = 0, bytes = 0;
	const char *input = plan_item_input(i);

	if (input)
		run_note(r->options, "traffic %s: used %s", i->settings->name, input);
	if (i->run->stream) {
		note_connections(r, i);
		return;
	}

	for (uint32_t k = 0; k < i->worker_count; k++) {
		slots += plan_run(i, k)->txns.count;
		bytes += plan_run(i, k)->txns.bytes;
		ports += plan_run(i, k)->txns.ports / (plan_run(i, k)->txns.lane_mask + 1);
	}
	run_note(r->options,
		"traffic %s: %llu transaction slots (%.0f MiB), %u source addresses x %llu ports",
		i->settings->name, (unsigned long long)slots, (double)bytes / 1048576,
		i->run->txns.clients, (unsigned long long)(i->source_ports.count ? ports : 1));
	note_relays(r, i);
	if (clients.given > clients.count)
		run_note(r->options,
			"traffic %s: the first %llu clients (the file has %llu more than the run "
			"can use)",
			i->settings->name, (unsigned long long)clients.count,
			(unsigned long long)(clients.given - clients.count));
	if (clients.chosen)
		run_note(r->options, "traffic %s: %llu clients (auto: for the load of the run)",
			i->settings->name, (unsigned long long)clients.count);
}

static void warn_of_capture(const struct plan *p)
{
	const struct capture_settings *s = p->config->output.capture;
	const int32_t *when = s ? s->when.items : NULL;
	bool several = !s;

	for (uint32_t i = 0; s && i < s->when.count; i++)
		several |= when[i] != EVIDENCE_STEP;
	for (uint32_t i = 0; i < p->item_count; i++)
		several |= p->items[i].settings->facts.proto->steps != NULL;
	if (!several)
		log_warning("output.capture: when: [step] keeps replies that the next message of "
			    "an exchange follows, and no item has exchanges of several messages: "
			    "the file may stay empty (when: [answered] keeps all good replies)");
}

void run_warn_shortages(const struct plan *p)
{
	struct arena *a = arena_new();
	const struct counter_list all = plan_shortages(p, a);

	for (uint32_t i = 0; i < all.count; i++)
		log_warning("%s", ((const char *const *)all.items)[i]);
	warn_of_capture(p);
	arena_free(a);
}

// For a port with several workers.
static void note_sharing(const struct run *r, uint32_t port)
{
	const struct port *of = &r->plan.ports[port];
	const struct worker *first = &r->plan.workers[r->plan.first_worker[port]];

	if (first->hand)
		run_note(r->options, "port %s: %s", of->settings->name, steer_text(of->steer.how));
}

static void note_plan(const struct run *r)
{
	const struct plan *p = &r->plan;

	for (uint32_t i = 0; i < p->worker_count; i++) {
		const struct port *port = &p->ports[p->workers[i].port];

		const struct worker *w = &p->workers[i];
		char cpu[16] = "any CPU";

		if (w->cpu != LCORE_ANY_CPU)
			snprintf(cpu, sizeof(cpu), "CPU %u", w->cpu);
		run_note(r->options, "port %s: %s%s%s, worker on %s, %s%s", port->settings->name,
			port->driver->name, port->settings->device ? " " : "",
			port->settings->device ? port->settings->device : "", cpu,
			w->idle.sleeps ? "sleeping while it waits" : "polling",
			w->yields ? " (shared with another worker)" : "");
	}
	for (uint32_t i = 0; i < p->port_count; i++)
		note_sharing(r, i);
	for (uint32_t i = 0; i < p->item_count; i++)
		note_item(r, &p->items[i]);
	if (!p->config->search)
		run_warn_shortages(p);
}

static void measure_tester(struct run *r)
{
	struct result_tester_delay *d = tester_delay_measure(&r->plan, r->arena);
	char text[6][32];

	r->tester_delay = d;
	if (!d)
		return;
	stats_format(d->single.p50_ns, "ns", text[0], sizeof(text[0]));
	stats_format(d->single.p99_ns, "ns", text[1], sizeof(text[1]));
	stats_format(d->burst.p50_ns, "ns", text[2], sizeof(text[2]));
	stats_format(d->burst.p99_ns, "ns", text[3], sizeof(text[3]));
	stats_format(d->apart.p50_ns, "ns", text[4], sizeof(text[4]));
	stats_format(d->apart.p99_ns, "ns", text[5], sizeof(text[5]));
	run_note(r->options,
		"port %s: the tester itself adds p50 %s, p99 %s to every latency (%s, %s in full "
		"bursts of %llu)",
		d->port, text[0], text[1], text[2], text[3], (unsigned long long)d->burst_size);
	if (d->apart.count >= ENOUGH)
		run_note(r->options,
			"port %s: with the way between its CPU and the responder's: p50 %s, p99 %s",
			d->port, text[4], text[5]);
}

// Notes commands about the server that this part of a fleet leaves to the first one.
static void note_elsewhere(const struct run *r)
{
	const struct config *c = r->config;
	const struct event_settings *e = c->events.items;

	if (fleet_asks_server(c))
		return;
	for (uint32_t i = 0; i < c->events.count; i++)
		if (e[i].run)
			run_note(r->options, "event %s: run by part 1", e[i].name);
	if (c->dut.probe || c->dut.counters || c->dut.control)
		run_note(r->options, "dut: part 1 asks the server");
}

void run_introduce(struct run *r)
{
	note_plan(r);
	note_elsewhere(r);
	if (!r->options->respond_only)
		measure_tester(r);
}

static void warn_of_steering(const struct port *port)
{
	log_warning("port %s: replies reach other queues than the device reports, so they are "
		    "handed over (this costs CPU time; the result is correct)",
		port->settings->name);
}

void run_probe_steering(struct run *r)
{
	struct plan *p = &r->plan;
	char text[256];

	for (uint32_t i = 0; i < p->port_count && r->number == 1; i++) {
		struct result_steer_probe *probe;

		if (!steer_probe_is_wanted(p, i))
			continue;
		r->steer_probes[i] = probe = steer_probe_run(p, i, r->options->signals, r->arena);
		steer_probe_describe(probe, text, sizeof(text));
		run_note(r->options, "port %s: %s", p->ports[i].settings->name, text);
		if (steer_probe_tells(probe) &&
			steer_is_belied(&p->ports[i].steer, steer_probe_home(probe)))
			warn_of_steering(&p->ports[i]);
	}
}

static void note_home(const struct run *r, uint32_t port)
{
	const struct port *of = &r->plan.ports[port];
	double home = collect_home(&r->plan, port), expected = home_expected(&r->plan, of);

	if (!r->plan.workers[r->plan.first_worker[port]].hand || home < 0)
		return;
	run_note(r->options,
		"port %s: %.1f %% of the first packets reached the right worker, the others were "
		"handed over",
		of->settings->name, 100 * home);
	if (expected > 0 && !steer_probe_tells(r->steer_probes[port]) &&
		steer_is_belied(&of->steer, home / expected))
		warn_of_steering(of);
}

void run_note_home(struct run *r)
{
	for (uint32_t i = 0; i < r->plan.port_count && !r->probed; i++)
		note_home(r, i);
	r->probed = true;
}

void run_note_addresses(const struct run *r, const struct address_probe *probe)
{
	if (probe->asked)
		run_note(r->options,
			"no other host has one of the tester's %llu addresses (asked for %.1f s)",
			(unsigned long long)probe->asked, probe->seconds);
	if (probe->left_out)
		log_warning(
			"%llu addresses were not probed: they are too many, or the device accepted "
			"no request. A host that uses one of them is noticed during the run",
			(unsigned long long)probe->left_out);
}

static void note_move(struct run *r, uint32_t port, struct next_hop *h)
{
	uint64_t mac = atomic_load_explicit(&h->mac, memory_order_relaxed);
	char hop[ADDR_TEXT_SIZE], text[ADDR_TEXT_SIZE];
	uint8_t bytes[6];

	if (h->shown == mac)
		return;
	h->shown = mac;
	memcpy(bytes, &mac, sizeof(bytes));
	if (r->moves_noted++ < MOVES_MAX)
		run_note(r->options, "port %s: next hop %s is now at %s",
			r->plan.ports[port].settings->name, addr_format(&h->addr, hop, sizeof(hop)),
			addr_format_mac(bytes, text, sizeof(text)));
}

void run_note_moves(struct run *r)
{
	for (uint32_t i = 0; i < r->plan.port_count; i++) {
		struct neighbours *n = &r->plan.neighbours[i];
		uint32_t moved = atomic_load_explicit(&n->moved, memory_order_acquire);

		if (moved == r->moves_seen[i])
			continue;
		r->moves_seen[i] = moved;
		for (uint32_t k = 0; k < n->count; k++)
			note_move(r, i, &n->hops[k]);
	}
}

void run_warn_starved(const struct run *r)
{
	const struct plan *p = &r->plan;
	const struct result_item *items = r->result->traffic.items;
	double end_s = 1e-9 * (double)p->config->run.warmup_ns + r->result->run.measured_s;

	for (uint32_t i = 0; i < p->item_count; i++) {
		const struct plan_item *item = &p->items[i];
		double after_s = plan_starved_s(p, item);

		if (item->run->pace.kind == PACE_RATE || after_s < 0 || items[i].ledger.sent == 0 ||
			end_s - after_s < STARVED * r->result->run.measured_s)
			continue;
		log_warning("traffic %s: its %llu clients ran out after %.3g s, and nothing began "
			    "in the last %.3g s: its rates are too low (%s)",
			items[i].name, (unsigned long long)items[i].clients, after_s,
			end_s - after_s, plan_clients(item).remedy);
	}
}

void run_report_steering(struct run *r)
{
	struct result_port *ports = (struct result_port *)r->result->ports.items;

	for (uint32_t i = 0; i < r->plan.port_count; i++) {
		ports[i].steering_probe = r->steer_probes[i];
		if (r->steer_probes[i])
			r->steer_probes[i]->late += steer_probe_late(&r->plan, i);
	}
}
