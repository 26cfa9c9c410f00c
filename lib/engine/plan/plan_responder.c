// SPDX-License-Identifier: BSD-3-Clause
// The embedded responder's part of the plan: a state for each of its workers and protocols, and its
// faults. Path: cold. Management thread.
#include <stdlib.h>

#include "proto/table.h"
#include "base/log.h"
#include "engine/plan/plan_internal.h"
#include "engine/plan/plan_quic.h"
#include "engine/plan/plan_tls.h"
#include "io/driver/driver.h"
#include "io/driver/memory.h"

#define MIB        1048576.0
#define NS_PER_S   1000000000u
#define REORDER_NS 1000000 // a reordered reply waits this long for the next one
// Values advertised besides the settings; the times are from RFC 4861 section 6.2.1.
#define HOP_LIMIT          64
#define PREFIX_VALID_S     2592000
#define PREFIX_PREFERRED_S 604800

static uint32_t responders_wanted(const struct plan *p)
{
	return port_cpu_count(config_responder_port(p->config));
}

static struct proto_env responder_env(const struct plan *p, uint32_t worker)
{
	const struct port_settings *port = config_responder_port(p->config);
	const struct addr_prefix *own = port->addresses.items;
	struct proto_env env = {.seed = p->config->run.seed,
		.worker = worker,
		.workers = responders_wanted(p),
		.clients = 1};

	if (port->addresses.count)
		env.server = own[0].addr;
	return env;
}

// Adds a protocol to a worker, with a state of its own.
static int responder_add(struct plan *p, unsigned proto, uint32_t worker, struct arena *a)
{
	struct responder *r = &p->responders[worker];
	struct responder_protocol *rp = &r->protocols[r->protocol_count++];
	const struct proto_facts *facts = &p->responder_facts[proto];
	struct proto_env env = responder_env(p, worker);

	rp->proto = protos[proto];
	rp->server = rp->proto->server;
	rp->port = config_responder_server_port(p->config, rp->proto);
	rp->tls_port = config_responder_tls_port(p->config, rp->proto);
	rp->https_port = config_responder_https_port(p->config, rp->proto);
	rp->quic_port = config_responder_quic_port(p->config, rp->proto);
	rp->ports = facts->ports;
	rp->preface = facts->preface;
	rp->request_len = facts->fixed;
	faults_of_protocol(rp->server, rp->faults);
	rp->ctx.counters = arena_zalloc(a, rp->server->counters->size);
	rp->told = arena_zalloc(a, rp->server->counters->size);
	rp->ctx.shared = p->responder_shared[proto];
	if (rp->server->open && rp->server->open(&rp->ctx, &env) < 0)
		return -ENOMEM;
	return 0;
}

// Checks before the memory is touched. Returns false if the box lacks it (logged).
static bool has_memory(const struct plan *p, unsigned proto)
{
	uint64_t need = p->responder_facts[proto].memory, available = memory_available();

	if (available == 0 || need <= available)
		return true;
	log_error("responder.%s: not enough memory: %.0f MiB are needed and %.0f are available "
		  "(reduce its clients, pools or zones)",
		protos[proto]->name, (double)need / MIB, (double)available / MIB);
	return false;
}

static const struct neigh_advert *router_of(const struct router_settings *s, struct arena *a)
{
	struct neigh_advert *out = arena_zalloc(a, sizeof(*out));
	const struct addr_prefix *prefixes = s->prefixes.items;

	*out = (struct neigh_advert){
		.flags = (s->managed ? NEIGH_MANAGED : 0) | (s->other ? NEIGH_OTHER : 0),
		.hop_limit = HOP_LIMIT,
		.lifetime_s = (uint16_t)(s->lifetime_ns / NS_PER_S),
		.prefix_count = (uint8_t)s->prefixes.count};
	for (uint32_t i = 0; i < s->prefixes.count; i++)
		out->prefixes[i] = (struct neigh_prefix){.prefix = prefixes[i],
			.on_link = true,
			.autonomous = !s->managed,
			.valid_s = PREFIX_VALID_S,
			.preferred_s = PREFIX_PREFERRED_S};
	return out;
}

// Prepares the handshakes of a protocol. Returns false after an error, or without memory.
static bool hands_of(struct plan *p, const struct proto *proto, struct arena *a, struct diag *d)
{
	const struct {
		bool is;
		enum channel_kind kind;
		struct hand_setup **to;
	} ways[] = {
		{config_responder_tls_port(p->config, proto), CHANNEL_TLS, p->responder_hands},
		{config_responder_https_port(p->config, proto), CHANNEL_HTTP,
			p->responder_hands_http},
		{config_responder_quic_port(p->config, proto), CHANNEL_QUIC,
			p->responder_hands_quic},
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (ways[i].is &&
			!plan_tls_server(p->config, proto->ports, ways[i].kind, ways[i].to, a, d))
			return false;
	return true;
}

int plan_responder_setup(struct plan *p, struct arena *a, struct diag *d)
{
	const struct responder_settings *s = p->config->responder;
	struct proto_env env = responder_env(p, 0);
	int rc = 0;

	p->router = s->router ? router_of(s->router, a) : NULL;
	p->responder_count = responders_wanted(p);
	p->responders = arena_zalloc(a, p->responder_count * sizeof(*p->responders));
	p->responder_facts = arena_zalloc(a, proto_count() * sizeof(*p->responder_facts));
	for (uint32_t i = 0; i < p->responder_count; i++)
		p->responders[i].protocols =
			arena_zalloc(a, proto_count() * sizeof(*p->responders[i].protocols));
	for (unsigned k = 0; protos[k] && rc == 0; k++) {
		if (!s->protocol[k])
			continue;
		p->responder_shared[k] =
			protos[k]->server->setup(s->protocol[k], &env, &p->responder_facts[k], d);
		if (!p->responder_shared[k])
			return diag_count(d) ? -EINVAL : -ENOMEM;
		if (!has_memory(p, k))
			return -ENOSPC;
		for (uint32_t i = 0; i < p->responder_count && rc == 0; i++)
			rc = responder_add(p, k, i, a);
		if (!hands_of(p, protos[k], a, d))
			return diag_count(d) ? -EINVAL : -ENOMEM;
	}
	return rc;
}

static const struct proto_facts *facts_of(const struct plan *p, const struct responder_protocol *rp)
{
	unsigned k = 0;

	while (protos[k] != rp->proto)
		k++;
	return &p->responder_facts[k];
}

// Each worker of the responder counts and draws for itself; the capacity is divided among them.
static int open_faults(const struct plan *p, struct responder *r, uint32_t n)
{
	const struct port_settings *port = p->ports[p->responder_port].settings;
	int rc = faults_init(&r->faults, p->config->responder->faults, &p->clock,
		p->config->run.seed + n, port_tx_mbufs(port));

	r->faults.gap *= p->responder_count;
	return rc;
}

// Further messages that leave after a time wait in the queue of delayed replies.
static int open_later(const struct plan *p, struct responder *r)
{
	const struct port_settings *port = p->ports[p->responder_port].settings;
	uint64_t longest = 0;

	for (uint32_t i = 0; i < r->protocol_count; i++) {
		struct responder_protocol *rp = &r->protocols[i];

		rp->later = clock_ticks(&p->clock, facts_of(p, rp)->after_ns);
		longest = rp->later > longest ? rp->later : longest;
	}
	if (longest == 0 || r->faults.active)
		return 0;
	r->faults.active = true;
	return delay_init(&r->faults.delay, port_tx_mbufs(port), longest, p->clock.hz);
}

// Prepares a buffer for replies above the MTU, which leave in fragments. On sockets the kernel
// fragments them. Returns false without memory.
static bool long_answers(const struct plan *p, struct responder *r)
{
	const struct port *port = &p->ports[p->responder_port];
	bool any = false;

	r->mtu = (uint32_t)port->settings->mtu;
	for (uint32_t i = 0; i < r->protocol_count && !port->driver->sockets; i++) {
		struct responder_protocol *rp = &r->protocols[i];

		rp->is_long = facts_of(p, rp)->longest + FRAME_IPV6_LEN + FRAME_UDP_LEN > r->mtu;
		any |= rp->is_long;
	}
	r->scratch = any ? malloc(FRAGMENTS_FRAME_MAX) : NULL;
	return !any || r->scratch;
}

static int responder_open(struct plan *p, uint32_t n)
{
	const struct port *port = &p->ports[p->responder_port];
	struct worker *w = &p->workers[p->first_worker[p->responder_port] + n];
	struct responder *r = &p->responders[n];

	int rc;

	r->wire = w->wire;
	r->wire.self.router = p->router;
	r->wire.reports_checksums = true; // only the device checks checksums
	r->queue_first = n;
	r->queue_step = p->responder_count;
	r->queue_end = port->queues;
	r->queues = port->queue;
	r->cpu = w->cpu;
	r->yields = w->yields;
	r->idle = w->idle;
	r->clock = &p->clock;
	r->phase = &p->phase;
	r->patience = clock_ticks(&p->clock, REORDER_NS);
	r->tx_patience = clock_ticks(&p->clock, PLAN_GRACE_NS);
	r->stall = clock_ticks(&p->clock, PLAN_STALL_NS);
	r->start = clock_time(&p->clock);
	r->ms_scale = clock_ms_scale(&p->clock);
	r->turns = p->ports[p->responder_port].ring[0] != NULL; // the buffers are the peer's
	for (uint32_t i = 0; i < r->protocol_count; i++) {
		const struct responder_protocol *rp = &r->protocols[i];

		r->timed |= facts_of(p, rp)->timed && (!rp->server->open || rp->ctx.own);
		r->protocols[i].ctx.began_ms = clock_wall_ns(&p->clock, r->start) / 1000000;
		r->wire.any_vlan |= r->protocols[i].server->groups != NULL;
	}
	r->fragment_id = n;
	if (!long_answers(p, r) || plan_responder_conns(p, r, port) < 0 ||
		plan_quic_serve(p, r, port) < 0)
		return -ENOMEM;
	rc = open_faults(p, r, n);
	return rc < 0 ? rc : open_later(p, r);
}

static void responder_free(struct responder *r)
{
	free(r->scratch);
	faults_free(&r->faults);
	plan_responder_conns_close(r);
	for (uint32_t i = 0; i < r->protocol_count; i++)
		if (r->protocols[i].server->close)
			r->protocols[i].server->close(&r->protocols[i].ctx);
}

int plan_responder_open(struct plan *p)
{
	int rc = 0;

	for (uint32_t i = 0; i < p->responder_count && p->responder_port >= 0 && rc == 0; i++)
		rc = responder_open(p, i);
	return rc;
}

void plan_responder_close(struct plan *p)
{
	for (uint32_t i = 0; i < p->responder_count; i++)
		responder_free(&p->responders[i]);
	for (uint32_t i = TLS_FAULT_COUNT; i-- > 0;) { // the first one has the others' keys
		hand_setup_free(p->responder_hands[i]);
		hand_setup_free(p->responder_hands_http[i]);
		hand_setup_free(p->responder_hands_quic[i]);
		p->responder_hands[i] = p->responder_hands_http[i] = NULL;
		p->responder_hands_quic[i] = NULL;
	}
	for (unsigned k = 0; p->responder_shared && protos[k]; k++)
		if (p->responder_shared[k])
			protos[k]->server->teardown(p->responder_shared[k]);
}
