// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of a forecast. Path: cold. Main thread.
#include "engine/tools/forecast.h"

#include "engine/plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "crypt/tls_settings.h"
#include "engine/core/secure.h"
#include "engine/core/txn.h"
#include "engine/core/worker/worker_state.h"
#include "io/driver/driver.h"
#include "io/driver/memory.h"
#include "io/port/port_read.h"

#define STREAM_COST_NS  85    // of a message and its reply over an open connection, besides UDP
#define RECORD_COST_NS  345   // of their two records of TLS, besides TCP
#define HTTP_COST_NS    450   // of their frames and headers, besides TLS
#define QUIC_COST_NS    400   // of a message and its answer, ten at a time
#define FULL_COST_NS    230e3 // of a handshake with a certificate: P-256, X25519
#define RESUMED_COST_NS 90e3

#define WARNINGS_MAX (1 + 4 * PORT_MAX + 2 * CONFIG_MAX_ITEMS)
#define CPU_FULL     0.9 // of a worker: above it there is no room for bursts
#define MIB          1048576.0

void forecast_load(struct forecast_item *i, const struct sample *s, double message_ns)
{
	double n = (double)s->exchanges;

	i->sampled = s->exchanges;
	i->assumed = s->assumed;
	i->cut = s->cut;
	if (s->exchanges == 0)
		return;
	i->messages = (double)s->messages / n;
	i->answers = (double)s->answers / n;
	i->message_octets = s->messages ? (double)s->message_octets / (double)s->messages : 0;
	i->answer_octets = s->answers ? (double)s->answer_octets / (double)s->answers : 0;
	i->exchange_ns = i->messages * message_ns;
	if (!i->paced && i->exchange_ns > 0)
		i->per_s *= 1e9 / i->exchange_ns;
	i->out_per_s = i->per_s * i->messages;
	i->in_per_s = i->per_s * i->answers;
	i->out_bps = 8 * i->out_per_s * i->message_octets;
	i->in_bps = 8 * i->in_per_s * i->answer_octets;
	i->cpus = i->per_s * i->exchange_ns / 1e9;
}

void forecast_add(struct forecast_port *p, const struct forecast_item *i)
{
	p->out_per_s += i->out_per_s;
	p->in_per_s += i->in_per_s;
	p->out_bps += i->out_bps;
	p->in_bps += i->in_bps;
	p->cpus += i->cpus;
	p->out_share = p->link_bps ? p->out_bps / (double)p->link_bps : 0;
	p->in_share = p->link_bps ? p->in_bps / (double)p->link_bps : 0;
}

// --- misfits
// ---------------------------------------------------------------------------

static void warn(struct forecast *f, const char *text)
{
	((const char **)f->warnings.items)[f->warnings.count++] = text;
}

static void forecast_judge_link(struct forecast *f, const struct forecast_port *p, struct arena *a)
{
	if (p->out_share > 1)
		warn(f, arena_printf(a, "port %s: %.2f Gbit/s to the server, the link has %.2f",
				p->name, p->out_bps / 1e9, (double)p->link_bps / 1e9));
	if (p->in_share > 1)
		warn(f, arena_printf(a, "port %s: %.2f Gbit/s of replies, the link has %.2f",
				p->name, p->in_bps / 1e9, (double)p->link_bps / 1e9));
}

static bool paced_on(const struct forecast *f, const struct forecast_port *p)
{
	const struct forecast_item *items = f->traffic.items;

	for (uint32_t i = 0; i < f->traffic.count; i++)
		if (strcmp(items[i].port, p->name) == 0 && !items[i].paced)
			return false;
	return true;
}

static void judge_cpus(struct forecast *f, const struct forecast_port *p, struct arena *a)
{
	if (paced_on(f, p) && p->cpus > CPU_FULL * (double)p->workers)
		warn(f, arena_printf(a,
				"port %s: %.2f busy CPUs for %llu worker%s (%g each at most)",
				p->name, p->cpus, (unsigned long long)p->workers,
				p->workers == 1 ? "" : "s", CPU_FULL));
}

// If the driver's cost is unknown, so is whether its workers suffice.
static void judge_driver(struct forecast *f, const struct forecast_port *p, struct arena *a)
{
	if (p->out_per_s > 0 && !p->driver_known)
		warn(f, arena_printf(a,
				"port %s: the CPU time of driver %s is not known, so %llu worker%s "
				"may be too few (measure it: a short run with load: {outstanding: "
				"100} has workers[].ns_per_transaction)",
				p->name, p->driver, (unsigned long long)p->workers,
				p->workers == 1 ? "" : "s"));
}

static void forecast_judge_item(struct forecast *f, const struct forecast_item *i, struct arena *a)
{
	if (i->sampled == 0)
		warn(f, arena_printf(
				a, "traffic %s: no message can be made before a run", i->name));
	if (i->cut)
		warn(f, arena_printf(a,
				"traffic %s: %llu of %llu exchanges ended early: their replies did "
				"not pass its checks",
				i->name, (unsigned long long)i->cut,
				(unsigned long long)i->sampled));
}

void forecast_judge(struct forecast *f, struct arena *a)
{
	const struct forecast_port *ports = f->ports.items;
	const struct forecast_item *items = f->traffic.items;

	f->warnings = (struct counter_list){
		arena_zalloc(a, (WARNINGS_MAX + f->shortages.count) * sizeof(const char *)), 0};
	for (uint32_t i = 0; i < f->shortages.count; i++)
		warn(f, ((const char *const *)f->shortages.items)[i]);
	for (uint32_t i = 0; i < f->traffic.count; i++)
		forecast_judge_item(f, &items[i], a);
	for (uint32_t i = 0; i < f->ports.count; i++) {
		forecast_judge_link(f, &ports[i], a);
		judge_cpus(f, &ports[i], a);
		judge_driver(f, &ports[i], a);
	}
	if (f->memory_available && f->memory > f->memory_available)
		warn(f, arena_printf(a, "memory: %.0f MiB, this box has %.0f left",
				(double)f->memory / MIB, (double)f->memory_available / MIB));
}

// --- from the file
// --------------------------------------------------------------------------------

// Is the highest number per second known before the run?
static bool is_paced(const struct item_settings *i)
{
	double peak = load_peak(&i->load);

	return peak > 0 && !isinf(peak);
}

static uint32_t unpaced_on(const struct config *c, const struct port_settings *port)
{
	const struct item_settings *items = c->traffic.items;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->traffic.count; i++)
		n += items[i].facts.port == port && !is_paced(&items[i]);
	return n;
}

// Worker time of a message and its reply, with their share of a handshake.
static double message_cost(const struct item_settings *s, const struct forecast_item *i)
{
	const struct item_facts *f = &s->facts;
	double cost = f->proto->cost_ns + driver_of(f->port)->cost_ns;

	cost += f->stream ? STREAM_COST_NS : 0;
	cost += f->tls && !f->quic ? RECORD_COST_NS : 0;
	cost += f->quic ? QUIC_COST_NS : 0;
	cost += f->https ? HTTP_COST_NS : 0;
	return f->tls && !i->crew && f->tcp->queries_per_connection != UINT64_MAX
	               ? cost + i->handshake_ns / (double)f->tcp->queries_per_connection
	               : cost;
}

// After forecast_load, which knows the messages.
static void add_handshakes(struct forecast_item *out, const struct item_facts *f)
{
	double part = (double)f->share.count / f->share.of;
	double replaced = f->tcp->open == TRANSPORT_OPEN_RATE ? part * f->tcp->open_rate : 0;

	out->handshakes_per_s = replaced;
	out->cpus += out->crew ? 0 : replaced * out->handshake_ns / 1e9;
	if (f->tcp->queries_per_connection != UINT64_MAX)
		out->handshakes_per_s += out->out_per_s / (double)f->tcp->queries_per_connection;
	out->connections = (uint64_t)(part * (double)f->tcp->connections);
	out->connection_bytes = sizeof(struct conn) + sizeof(struct secure);
}

static struct forecast_item item_of(
	const struct config *c, const struct item_settings *s, const struct sample *sample)
{
	const struct proto *proto = s->facts.proto;
	const struct port_settings *port = s->facts.port;
	const struct fleet_share share = s->facts.share;
	struct forecast_item out = {.name = s->name,
		.protocol = proto->name,
		.port = port->name,
		.input = sample->input,
		.memory = sample->memory,
		.paced = is_paced(s),
		.crew = c->host.crew.count > 0,
		.per_s = load_peak(&s->load) * share.count / share.of};

	if (sample->replayed_per_s > 0) {
		out.paced = true;
		out.per_s = sample->replayed_per_s * share.count / share.of;
	}
	if (!out.paced)
		out.per_s = (double)port_queue_count(port) / unpaced_on(c, port);
	out.slots = config_slots_needed(c, s);
	if (!proto->router) { // else it chooses addresses and ports itself
		uint64_t per_port = s->facts.addresses << s->facts.key_bits;

		out.source_addresses = s->facts.addresses;
		out.source_ports_needed =
			per_port ? (config_keys_needed(c, s) + per_port - 1) / per_port : 0;
	}
	if (s->facts.tls)
		out.handshake_ns = s->facts.tls->resume ? RESUMED_COST_NS : FULL_COST_NS;
	forecast_load(&out, sample, message_cost(s, &out));
	if (s->facts.tls)
		add_handshakes(&out, &s->facts);
	return out;
}

static struct forecast_port port_of(const struct port_settings *s)
{
	return (struct forecast_port){.name = s->name,
		.driver = driver_of(s)->name,
		.driver_known = driver_of(s)->cost_known,
		.link_bps = port_link_expected(s),
		.workers = port_queue_count(s),
		.memory = port_memory(s)};
}

static void fill(
	const struct config *c, const struct sample *samples, struct arena *a, struct forecast *out)
{
	const struct port_settings *settings = c->ports.items;
	const struct item_settings *given = c->traffic.items;
	struct forecast_port *ports = arena_zalloc(a, c->ports.count * sizeof(*ports));
	struct forecast_item *items = arena_zalloc(a, c->traffic.count * sizeof(*items));
	const uint64_t *source_ports = config_source_ports(c, a);

	out->memory = out->input;
	for (uint32_t i = 0; i < c->ports.count; i++) {
		ports[i] = port_of(&settings[i]);
		out->memory += ports[i].memory;
	}
	for (uint32_t i = 0; i < c->traffic.count; i++) {
		items[i] = item_of(c, &given[i], &samples[i]);
		items[i].source_ports = source_ports[i];
		forecast_add(&ports[given[i].facts.port - settings], &items[i]);
		out->memory += items[i].memory;
	}
	out->traffic = (struct counter_list){items, c->traffic.count};
	out->ports = (struct counter_list){ports, c->ports.count};
}

int forecast_make(const struct config *c, struct arena *a, struct diag *d, struct forecast *out)
{
	struct sample *samples = arena_zalloc(a, (c->traffic.count + 1) * sizeof(*samples));
	int rc;

	*out = (struct forecast){.schema = "ddiperf-plan/1",
		.name = c->run.name,
		.memory_available = memory_available()};
	rc = sample_items(c, a, d, samples, &out->input, &out->shortages);
	if (rc < 0)
		return rc;
	fill(c, samples, a, out);
	forecast_judge(out, a);
	return 0;
}
