// SPDX-License-Identifier: BSD-3-Clause
// Building the plan. The hot structs are written here and nowhere else on the control side.
// Path: cold. Management thread.
#include "engine/plan.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>

#include "base/log.h"
#include "engine/deal.h"
#include "engine/pages.h"
#include "engine/replay.h"
#include "io/memory.h"

#define GRACE_NS                                                                                   \
	20000000 // after the end, for sends that were due before; for a port that takes none
#define STALL_NS     1000000 // of a pass of a worker: many bursts' worth
#define REORDER_NS   1000000 // that a reordered answer waits for a next one
#define UNKNOWN_RATE 200000  // of requests, for the buffers of answers that are held back

static bool cpu_is_used(const struct lcore_plan *l, uint32_t cpu)
{
	for (uint32_t i = 0; i < l->worker_count; i++)
		if (l->worker_cpus[i] == cpu)
			return true;
	return false;
}

// A CPU of the process that has no worker yet, the management CPU last; with none left, the least
// bad: CPUs in turn.
static uint32_t cpu_pick(const struct lcore_plan *l, const cpu_set_t *allowed)
{
	uint32_t all[CPU_SETSIZE], n = 0;

	for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed) && cpu != l->management_cpu)
			all[n++] = cpu;
	all[n++] = l->management_cpu;
	for (uint32_t i = 0; i < n; i++)
		if (!cpu_is_used(l, all[i]))
			return all[i];
	return all[l->worker_count % n];
}

// The n-th CPU of a port.
static uint32_t cpu_of(const struct port_settings *s, uint32_t n)
{
	const struct field_range *r = s->cpus.items;

	for (; n > r->last - r->first; r++)
		n -= (uint32_t)(r->last - r->first) + 1;
	return (uint32_t)r->first + n;
}

static int check_cpu(
	const struct port_settings *s, uint32_t cpu, const cpu_set_t *allowed, struct io_error *e)
{
	if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, allowed))
		return 0;
	snprintf(e->text, sizeof(e->text),
		"ports.%s.cpus: this process may not run on CPU %u (it has %d CPUs; leave cpus out "
		"to choose by itself)",
		s->name, cpu, CPU_COUNT(allowed));
	return -EINVAL;
}

static int plan_cpus(struct plan *p, struct io_error *e)
{
	cpu_set_t allowed;
	struct lcore_plan *l = &p->lcores;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return -errno;
	l->management_cpu = p->config->host.management_cpu.first;
	if (!CPU_ISSET(l->management_cpu, &allowed)) {
		snprintf(e->text, sizeof(e->text),
			"host.management_cpu: this process may not run on CPU %u (see taskset -p "
			"$$)",
			l->management_cpu);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < p->worker_count; i++) {
		const struct worker *w = &p->workers[i];
		const struct port_settings *s = &p->port_settings[w->port];
		uint32_t cpu = s->cpus.count ? cpu_of(s, w->number) : cpu_pick(l, &allowed);
		int rc = check_cpu(s, cpu, &allowed, e);

		if (rc < 0)
			return rc;
		l->worker_cpus[l->worker_count++] = cpu;
	}
	return 0;
}

void plan_workers(struct plan *p, struct arena *a)
{
	p->first_worker = arena_zalloc(a, (p->port_count + 1) * sizeof(*p->first_worker));
	for (uint32_t i = 0; i < p->port_count; i++)
		p->first_worker[i + 1] = p->first_worker[i] + port_cpu_count(&p->port_settings[i]);
	p->hands = arena_zalloc(a, p->port_count * sizeof(*p->hands));
	p->worker_count = p->first_worker[p->port_count];
	p->workers = arena_zalloc(a, p->worker_count * sizeof(*p->workers));
	for (uint32_t i = 0; i < p->port_count; i++)
		for (uint32_t n = p->first_worker[i]; n < p->first_worker[i + 1]; n++) {
			p->workers[n].port = i;
			p->workers[n].number = n - p->first_worker[i];
		}
}

// Requests per second that the responder has to expect.
static double rate_expected(const struct config *c, bool respond_only)
{
	const struct item_settings *items = c->traffic.items;
	double rate = 0;

	for (uint32_t i = 0; i < c->traffic.count && !respond_only; i++)
		rate += load_peak(&items[i].load);
	return rate > 0 && !isinf(rate) ? rate : UNKNOWN_RATE;
}

// Does an item on this port have clients with Ethernet addresses of their own?
static bool wants_all(const struct plan *p, const struct port_settings *port)
{
	for (uint32_t i = 0; i < p->item_count; i++)
		if (p->items[i].layout.own_macs &&
			config_item_port(p->config, p->items[i].settings) == port)
			return true;
	return false;
}

// Both ends of a ring have as many queues as there are workers at the end that has more.
static void set_queues(struct plan *p, uint32_t port)
{
	int peer = port_ring_peer(p->port_settings, p->port_count, port);

	if (peer >= 0)
		p->port_settings[port].queues = port_cpu_count(&p->port_settings[peer]);
}

int plan_start(struct plan *p, bool respond_only, struct arena *a, struct io_error *e)
{
	const struct config *c = p->config;
	const struct port_settings *dut = config_responder_port(c), *all = c->ports.items;

	p->port_settings = arena_zalloc(a, c->ports.count * sizeof(*p->port_settings));
	for (uint32_t i = 0; i < c->ports.count; i++) {
		if (respond_only && &all[i] != dut)
			continue;
		p->port_settings[p->port_count] = all[i];
		if (&all[i] == dut) {
			p->responder_port = (int32_t)p->port_count;
			p->port_settings[p->port_count].answers = true;
			if (c->responder->faults)
				p->port_settings[p->port_count].held = faults_held(
					c->responder->faults, rate_expected(c, respond_only));
		}
		p->port_settings[p->port_count].promiscuous = wants_all(p, &all[i]);
		p->port_count++;
	}
	for (uint32_t i = 0; i < p->port_count; i++)
		set_queues(p, i);
	p->ports = arena_zalloc(a, p->port_count * sizeof(*p->ports));
	plan_workers(p, a);
	return plan_cpus(p, e);
}

void plan_adopt(struct plan *p, const struct plan *before, struct arena *a)
{
	p->port_settings = before->port_settings;
	p->ports = before->ports;
	p->port_count = before->port_count;
	p->responder_port = before->responder_port;
	p->lcores = before->lcores;
	plan_workers(p, a);
}

static const struct port *port_of(const struct plan *p, const struct item_settings *i)
{
	const struct port_settings *s = config_item_port(p->config, i);

	for (uint32_t n = 0; n < p->port_count; n++)
		if (strcmp(p->ports[n].settings->name, s->name) == 0)
			return &p->ports[n];
	return NULL;
}

static void fill_wire(
	struct wire *w, const struct port *port, uint32_t queue, struct field_list owned)
{
	*w = (struct wire){
		.port = port->queue[queue].device,
		.queue = port->queue[queue].number,
		.burst = port->burst,
		.reports_checksums = port->reports_checksums,
		.checksum_offload = port->checksum_offload,
		.tx_pool = port->tx_pool[queue],
		.self = {.vlan_count = port->vlan_count,
			.owned = owned.items,
			.owned_count = owned.count},
	};
	memcpy(w->self.mac, port->mac, 6);
	memcpy(w->self.vlans, port->vlans, sizeof(w->self.vlans));
}

// The addresses that the tester answers for on a port: its own and its items' sources.
static struct field_list owned_on(const struct plan *p, const struct port *port, struct arena *a)
{
	const struct addr_prefix *own = port->settings->addresses.items;
	uint32_t max = port->settings->addresses.count;
	struct addr_range *out;
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->item_count; i++)
		max += p->items[i].settings->source.addresses.count +
		       p->items[i].layout.owned.count;
	out = arena_zalloc(a, (max + 1) * sizeof(*out));
	for (uint32_t i = 0; i < port->settings->addresses.count; i++)
		out[n++] = (struct addr_range){own[i].addr, 1};
	for (uint32_t i = 0; i < p->item_count; i++) {
		const struct field_list *more = &p->items[i].settings->source.addresses;

		if (p->items[i].port != port)
			continue;
		for (uint32_t k = 0; k < more->count; k++)
			out[n++] = ((const struct addr_range *)more->items)[k];
		more = &p->items[i].layout.owned;
		for (uint32_t k = 0; k < more->count; k++)
			out[n++] = ((const struct addr_range *)more->items)[k];
	}
	return (struct field_list){out, n};
}

static bool is_routed(const struct plan_item *i)
{
	return config_item_proto(i->settings, NULL)->layout != NULL;
}

static uint64_t item_seed(const struct plan *p, const struct plan_item *i)
{
	return rand_hash(p->config->run.seed + (uint64_t)(i - p->items) * 0x100000001ull);
}

static uint64_t longest_wait(const struct worker_item *run, uint32_t count)
{
	uint64_t longest = 0;

	for (uint32_t i = 0; i < count; i++)
		if (run->waits[i] > longest)
			longest = run->waits[i];
	return longest;
}

// The same for one worker as for an only one; another one has other keys.
static uint64_t key_seed(const struct plan *p, const struct plan_item *i, uint32_t worker)
{
	return item_seed(p, i) ^ (worker ? rand_hash(worker) : 0);
}

// Books of the steps, where there are several.
static int item_steps(struct worker_item *run)
{
	uint32_t n = run->proto->step_count;

	if (n <= 1)
		return 0;
	run->steps = pages_alloc(n * sizeof(*run->steps));
	run->step_due = pages_alloc(run->txns.count * sizeof(*run->step_due));
	if (!run->steps || !run->step_due)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		hist_clear(&run->steps[i].response);
		hist_clear(&run->steps[i].service);
	}
	return 0;
}

// As many as are due within the time that a transaction keeps its slot.
static uint64_t replay_slots(const struct plan *p, const struct plan_item *i)
{
	const struct load_settings *l = &i->settings->load;
	uint64_t hold = (uint64_t)(3 * (double)i->settings->timeout_ns * l->replay->speed),
		 most = 0;

	if (l->slots != UINT64_MAX)
		return l->slots;
	for (uint64_t last = 0, first = 0; last < i->replay.count; last++) {
		while (i->replay.ns[last] - i->replay.ns[first] > hold)
			first++;
		if (last - first + 1 > most)
			most = last - first + 1;
	}
	return most + most / 16 + config_slots_needed(p->config, i->settings);
}

// Of each worker: its part, but as much as an only one has where no rate says what that would be.
static uint64_t slots_needed(const struct plan *p, const struct plan_item *i)
{
	uint64_t all =
		i->replay.count ? replay_slots(p, i) : config_slots_needed(p->config, i->settings);

	return isinf(i->settings->load.rate) ? all : all / i->worker_count + 1;
}

static int item_slots(struct plan *p, struct plan_item *i, uint32_t worker, uint32_t clients)
{
	struct worker_item *run = plan_run(i, worker);
	struct txn_shape shape = {
		.ports = run->routed ? 1 : run->txns.ports,
		.clients = run->routed ? 1 : clients,
		.key_bits = run->routed ? (uint8_t)run->txns.key_bits : run->proto->key_bits,
		.more_waits = i->layout.waits.count,
		.seed = key_seed(p, i, worker),
		.quarantine = 2 * longest_wait(run, 1 + i->layout.waits.count),
	};
	uint64_t all = ((uint64_t)shape.ports * shape.clients) << shape.key_bits;
	uint64_t needed = slots_needed(p, i);
	struct txn_slot *slots;

	shape.count = (uint32_t)fmin(fmin((double)needed, (double)all), 1u << 30);
	slots = pages_alloc(shape.count * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	if (txn_init(&run->txns, slots, &shape) == 0)
		return item_steps(run);
	pages_free(slots, shape.count * sizeof(*slots));
	return -ERANGE;
}

static uint32_t proto_index(const struct proto *proto)
{
	uint32_t k = 0;

	while (protos[k] != proto)
		k++;
	return k;
}

static struct proto_env item_env(
	const struct plan *p, const struct plan_item *i, const struct field_list *sources)
{
	const struct addr_range *r = sources->items;
	struct proto_env env = {.seed = item_seed(p, i),
		.workers = port_cpu_count(config_item_port(p->config, i->settings)),
		.name = i->settings->name,
		.common = p->common[proto_index(config_item_proto(i->settings, NULL))],
		.addr_len = i->settings->server.len,
		.server = i->settings->server,
		.server_port = config_server_port(i->settings),
		.timeout_ns = i->settings->timeout_ns,
		.rate = i->replay.count ? UNKNOWN_RATE : load_peak(&i->settings->load),
		.dry = p->dry};

	for (uint32_t n = 0; n < sources->count; n++)
		env.clients += (uint32_t)r[n].count;
	return env;
}

static void check_tags(const struct plan *p, const struct plan_item *i, struct diag *d)
{
	const struct port_settings *port = config_item_port(p->config, i->settings);
	const struct proto_path *paths = i->layout.paths.items;

	for (uint32_t n = 0; n < i->layout.paths.count; n++) {
		if (port->vlans.count + paths[n].vlan_count <= FRAME_MAX_VLANS)
			continue;
		diag_error(d, i->settings, "port",
			"%u VLANs of the port and %u of clients (together up to %d)",
			port->vlans.count, paths[n].vlan_count, FRAME_MAX_VLANS);
		return;
	}
}

// Answers have to find their way to the addresses that the tester answers for.
static void check_owned(const struct plan *p, const struct plan_item *i, struct diag *d)
{
	const struct port_settings *port = config_item_port(p->config, i->settings);
	const struct addr_range *r = i->layout.owned.items;

	for (uint32_t n = 0; n < i->layout.owned.count; n++) {
		struct addr last = addr_nth(&r[n], r[n].count - 1);

		if (config_reaches(port, &r[n].first) && config_reaches(port, &last))
			continue;
		diag_error(d, &r[n], NULL,
			"not on a subnet of port %s, and the port has no IPv%c gateway", port->name,
			last.len == 4 ? '4' : '6');
	}
}

static int item_setup(struct plan *p, struct plan_item *i, struct arena *a, struct diag *d)
{
	struct field_list sources = config_sources(p->config, i->settings, a);
	struct proto_env env = item_env(p, i, &sources);
	const void *settings = NULL;
	const struct proto *proto = config_item_proto(i->settings, &settings);
	int rc = 0;

	if (i->settings->load.replay)
		rc = replay_read(&i->replay, i->settings->load.replay, a, d);
	if (rc)
		return rc;
	i->shared = proto->setup(settings, &env, d);
	if (i->shared && proto->layout) {
		proto->layout(i->shared, &i->layout);
		check_tags(p, i, d);
		check_owned(p, i, d);
	}
	if (i->shared)
		return diag_count(d) ? -EINVAL : 0;
	return diag_count(d) ? -EINVAL : -ENOMEM;
}

static uint64_t *item_waits(const struct plan *p, const struct plan_item *i, struct arena *a)
{
	uint64_t *out = arena_zalloc(a, (1 + i->layout.waits.count) * sizeof(*out));
	const uint64_t *ns = i->layout.waits.items;

	out[0] = clock_ticks(&p->clock, i->settings->timeout_ns);
	for (uint32_t n = 0; n < i->layout.waits.count; n++)
		out[1 + n] = clock_ticks(&p->clock, ns[n]);
	return out;
}

// Workers that have items.
static uint32_t threads_of(const struct plan *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->worker_count; i++)
		n += p->workers[i].item_count > 0;
	return n;
}

static int open_common(struct plan *p, struct arena *a)
{
	void **shared = arena_zalloc(a, (p->item_count + 1) * sizeof(*shared));

	for (uint32_t k = 0; protos[k]; k++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < p->item_count; i++)
			if (config_item_proto(p->items[i].settings, NULL) == protos[k])
				shared[n++] = p->items[i].shared;
		if (n == 0 || !protos[k]->common_setup)
			continue;
		p->common[k] = protos[k]->common_setup(shared, n, threads_of(p));
		if (!p->common[k])
			return -ENOMEM;
	}
	return 0;
}

static int run_open(struct plan *p, struct plan_item *i, uint32_t worker, struct arena *a)
{
	struct field_list sources = config_sources(p->config, i->settings, a);
	struct proto_env env = item_env(p, i, &sources);
	struct worker_item *run = plan_run(i, worker);

	env.worker = worker;
	run->server = i->settings->server;
	run->server_port = config_server_port(i->settings);
	run->frames = arena_zalloc(a, i->path_count * sizeof(*run->frames));
	run->waits = item_waits(p, i, a);
	run->sources = sources.items;
	run->source_ranges = sources.count;
	for (int b = 0; b < 2; b++)
		run->banks[b] = arena_zalloc(a, run->proto->counters->size);
	run->shadow = arena_zalloc(a, run->proto->counters->size);
	hist_clear(&run->books.response);
	hist_clear(&run->service);
	hist_clear(&run->lag);
	run->ctx.shared = i->shared;
	if (run->proto->open && run->proto->open(&run->ctx, &env) < 0)
		return -ENOMEM;
	run->opened = true;
	return item_slots(p, i, worker, env.clients);
}

static int item_open(struct plan *p, struct plan_item *i, struct arena *a)
{
	int rc = 0;

	for (uint32_t k = 0; k < i->worker_count && rc == 0; k++)
		rc = run_open(p, i, k, a);
	return rc;
}

bool plan_group_mac(const struct addr *hop, uint8_t mac[6])
{
	static const uint8_t everybody[16] = {0xff, 0xff, 0xff, 0xff};

	if (hop->len == 4 && addr_bytes_equal(hop->bytes, everybody, 4)) {
		memset(mac, 0xff, 6);
		return true;
	}
	if (hop->len == 16 && hop->bytes[0] == 0xff) { // RFC 2464 section 7
		mac[0] = mac[1] = 0x33;
		memcpy(mac + 2, hop->bytes + 12, 4);
		return true;
	}
	return false;
}

static struct addr next_hop_of(const struct plan_item *i, const struct addr *dst)
{
	const struct port_settings *port = i->port->settings;
	const struct addr_prefix *own = port->addresses.items;
	const struct addr *gw = port->gateway.items;
	uint8_t group[6];

	if (plan_group_mac(dst, group))
		return *dst;
	for (uint32_t n = 0; n < port->addresses.count; n++)
		if (addr_in_prefix(dst, &own[n]))
			return *dst;
	for (uint32_t n = 0; n < port->gateway.count; n++)
		if (gw[n].len == dst->len)
			return gw[n];
	return *dst;
}

static void place_paths(struct plan_item *i, struct arena *a)
{
	i->path_count = is_routed(i) ? i->layout.paths.count : 1;
	i->paths = i->layout.paths.items;
	if (!is_routed(i)) {
		i->paths = arena_zalloc(a, sizeof(*i->paths));
		i->paths[0].dst = i->settings->server;
	}
	i->next_hops = arena_zalloc(a, i->path_count * sizeof(*i->next_hops));
	for (uint32_t n = 0; n < i->path_count; n++)
		i->next_hops[n] = next_hop_of(i, &i->paths[n].dst);
}

static uint16_t max_u16(uint16_t a, uint16_t b)
{
	return a > b ? a : b;
}

static void place_worker(struct worker *w, struct arena *a)
{
	w->items = arena_zalloc(a, (w->item_count + 1) * sizeof(*w->items));
	for (int s = 0; s < SNAPSHOTS; s++)
		w->snapshots[s].items =
			arena_zalloc(a, (w->item_count + 1) * sizeof(*w->snapshots[s].items));
	w->handed = 1;
	w->reading = 2;
}

static void place_item(struct plan_item *item)
{
	for (uint32_t k = 0; k < item->worker_count; k++) {
		struct worker_item *run = plan_run(item, k);

		run->proto = config_item_proto(item->settings, NULL);
		run->routed = is_routed(item);
		run->more = item->layout.more;
		item->worker[k].spares = max_u16(item->worker[k].spares, 1 + item->layout.more);
	}
	item->run = plan_run(item, 0);
}

// Each item is run by all workers of its port; its place on them is that in the file.
static void place_items(struct plan *p, struct arena *a)
{
	for (uint32_t i = 0; i < p->item_count; i++) {
		struct plan_item *item = &p->items[i];
		uint32_t port, first;

		item->port = port_of(p, item->settings);
		port = (uint32_t)(item->port - p->ports);
		first = p->first_worker[port];
		item->worker = &p->workers[first];
		item->worker_count = p->first_worker[port + 1] - first;
		place_paths(item, a);
		item->place = item->worker->item_count;
		for (uint32_t k = 0; k < item->worker_count; k++)
			item->worker[k].item_count++;
	}
	for (uint32_t n = 0; n < p->worker_count; n++)
		place_worker(&p->workers[n], a);
	for (uint32_t i = 0; i < p->item_count; i++)
		place_item(&p->items[i]);
}

static bool shares_cpu(const struct lcore_plan *l, uint32_t i)
{
	for (uint32_t k = 0; k < l->worker_count; k++)
		if (k != i && l->worker_cpus[k] == l->worker_cpus[i])
			return true;
	return false;
}

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

// One of its workers gets a state of its own for a protocol.
static int responder_add(struct plan *p, unsigned proto, uint32_t worker, struct arena *a)
{
	struct responder *r = &p->responders[worker];
	struct responder_protocol *rp = &r->protocols[r->protocol_count++];
	struct proto_env env = responder_env(p, worker);

	rp->proto = protos[proto];
	rp->port = protos[proto]->default_port;
	faults_of_protocol(protos[proto], rp->faults);
	rp->ctx.counters = arena_zalloc(a, protos[proto]->answered->size);
	rp->ctx.shared = p->responder_shared[proto];
	if (rp->proto->answers_open && rp->proto->answers_open(&rp->ctx, &env) < 0)
		return -ENOMEM;
	return 0;
}

static int responder_setup(struct plan *p, struct arena *a, struct diag *d)
{
	const struct responder_settings *s = p->config->responder;
	struct proto_env env = responder_env(p, 0);
	int rc = 0;

	p->responder_count = responders_wanted(p);
	p->responders = arena_zalloc(a, p->responder_count * sizeof(*p->responders));
	for (uint32_t i = 0; i < p->responder_count; i++)
		p->responders[i].protocols =
			arena_zalloc(a, CONFIG_PROTOS * sizeof(*p->responders[i].protocols));
	for (unsigned k = 0; protos[k] && rc == 0; k++) {
		if (!s->protocol[k])
			continue;
		p->responder_shared[k] = protos[k]->answers_setup(s->protocol[k], &env, d);
		if (!p->responder_shared[k])
			return -EINVAL;
		for (uint32_t i = 0; i < p->responder_count && rc == 0; i++)
			rc = responder_add(p, k, i, a);
	}
	return rc;
}

int plan_read_input(
	struct plan *p, const struct config *c, bool respond_only, struct arena *a, struct diag *d)
{
	const struct item_settings *settings = c->traffic.items;
	int rc = 0, one;

	*p = (struct plan){.config = c, .responder_port = -1};
	p->item_count = respond_only ? 0 : c->traffic.count;
	p->items = arena_zalloc(a, (p->item_count + 1) * sizeof(*p->items));
	for (uint32_t i = 0; i < p->item_count; i++) {
		p->items[i].settings = &settings[i];
		one = item_setup(p, &p->items[i], a, d);
		rc = rc ? rc : one;
	}
	if (c->responder && rc == 0)
		rc = responder_setup(p, a, d);
	return rc;
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

static int responder_open(struct plan *p, uint32_t n)
{
	const struct port *port = &p->ports[p->responder_port];
	struct worker *w = &p->workers[p->first_worker[p->responder_port] + n];
	struct responder *r = &p->responders[n];

	r->wire = w->wire;
	r->wire.reports_checksums = true; // it is no judge of what no device complains about
	r->queue_first = n;
	r->queue_step = p->responder_count;
	r->queue_end = port->queues;
	r->queues = port->queue;
	r->cpu = w->cpu;
	r->yields = w->yields;
	r->phase = &p->phase;
	r->patience = clock_ticks(&p->clock, REORDER_NS);
	r->tx_patience = clock_ticks(&p->clock, GRACE_NS);
	r->start = clock_now();
	r->ms_scale = clock_ms_scale(&p->clock);
	r->turns = p->ports[p->responder_port].ring[0] != NULL; // the buffers are the peer's
	for (uint32_t i = 0; i < r->protocol_count; i++) {
		r->timed |= r->protocols[i].proto->answers_open != NULL;
		r->wire.any_vlan |= r->protocols[i].proto->layout != NULL;
	}
	return open_faults(p, r, n);
}

struct frame_vlans plan_vlans(const struct plan_item *i, uint32_t path)
{
	const struct proto_path *p = &i->paths[path];
	struct frame_vlans out = {.count = i->port->vlan_count};

	memcpy(out.ids, i->port->vlans, sizeof(out.ids));
	for (uint8_t n = 0; n < p->vlan_count && out.count < FRAME_MAX_VLANS; n++)
		out.ids[out.count++] = p->vlans[n];
	return out;
}

// The VLANs of an item's clients that are not the port's.
static void place_vlans(struct plan *p, const struct port *port, struct worker *w, struct arena *a)
{
	struct frame_vlans *more;
	uint32_t paths = 0;

	for (uint32_t i = 0; i < p->item_count; i++)
		paths += p->items[i].path_count;
	more = arena_zalloc(a, (paths + 1) * sizeof(*more));
	for (uint32_t i = 0; i < p->item_count; i++)
		for (uint32_t n = 0; n < p->items[i].path_count && p->items[i].port == port; n++)
			if (p->items[i].paths[n].vlan_count)
				more[w->wire.more_count++] = plan_vlans(&p->items[i], n);
	w->wire.more = more;
}

static void build_worker(struct plan *p, struct worker *w, struct arena *a)
{
	const struct port *port = &p->ports[w->port];
	uint32_t index = (uint32_t)(w - p->workers);

	fill_wire(&w->wire, port, w->number, owned_on(p, port, a));
	w->spares = max_u16(w->spares, w->wire.burst);
	w->cpu = p->lcores.worker_cpus[index];
	w->yields = shares_cpu(&p->lcores, index);
	w->phase = &p->phase;
	w->wire.self.others = worker_owns;
	w->wire.self.others_of = w;
	place_vlans(p, port, w, a);
}

static int schedule_build_item(struct plan *p, struct plan_item *i)
{
	const struct load_settings *l = &i->settings->load;
	struct schedule_base base = {.hz = p->clock.hz,
		.lead_ns = load_skips_warmup(l) ? 0 : p->config->run.warmup_ns,
		.seed = rand_hash(item_seed(p, i)),
		.times_ns = i->replay.ns,
		.times_count = i->replay.count};

	return load_is_open(l) ? schedule_build(&i->schedule, l, &base) : 0;
}

int plan_build(struct plan *p, struct arena *a)
{
	int rc = 0;

	if (p->dry) // ticks are nanoseconds of the schedule
		p->clock = (struct clock){.hz = 1e9};
	else
		clock_calibrate(&p->clock, 30);
	place_items(p, a);
	for (uint32_t i = 0; i < p->worker_count; i++)
		build_worker(p, &p->workers[i], a);
	for (uint32_t i = 0; i < p->port_count && rc == 0; i++)
		rc = deal_port(p, &p->ports[i], a);
	if (rc == 0)
		rc = open_common(p, a);
	for (uint32_t i = 0; i < p->item_count && rc == 0; i++)
		rc = item_open(p, &p->items[i], a);
	for (uint32_t i = 0; i < p->item_count && rc == 0; i++)
		rc = schedule_build_item(p, &p->items[i]);
	for (uint32_t i = 0; i < p->responder_count && p->responder_port >= 0 && rc == 0; i++)
		rc = responder_open(p, i);
	return rc;
}

void plan_address(struct plan_item *i, uint32_t n, const uint8_t mac[6])
{
	struct frame_vlans vlans = plan_vlans(i, n);
	struct frame_path path = {
		.dst = i->paths[n].dst,
		.dst_port = i->run->server_port,
		.vlan_count = vlans.count,
	};

	memcpy(path.src_mac, i->port->mac, 6);
	memcpy(path.dst_mac, mac, 6);
	memcpy(path.vlans, vlans.ids, sizeof(path.vlans));
	for (uint32_t k = 0; k < i->worker_count; k++) {
		struct frame_template *t = &plan_run(i, k)->frames[n];

		frame_template_build(t, &path);
		t->checksum_offload = i->port->checksum_offload;
	}
}

// The first send from here on; of a shape that is under way already, not later than that.
static uint64_t first_due(const struct pace *pace, uint64_t from)
{
	if (pace->next >= from && pace->next != PACE_NEVER)
		return pace->next;
	return pace->steady ? from + pace->gap / 2 : from;
}

static void schedule_run(const struct plan *p, struct plan_item *i, uint32_t worker)
{
	const struct load_settings *l = &i->settings->load;
	const struct run_times *t = &i->worker->times;
	const struct pace_share share = {worker, i->worker_count};
	struct worker_item *run = plan_run(i, worker);
	struct pace *pace = &run->pace;
	struct pace_closed closed = {.outstanding = l->outstanding,
		.start = t->start,
		.stop = PACE_NEVER,
		.ramp_up = clock_ticks(&p->clock, l->ramp_up_ns)};

	pace->left = UINT64_MAX;
	pace->measure = t->measure;
	if (load_skips_warmup(l))
		closed.start = t->measure + clock_ticks(&p->clock, l->start_at_ns);
	if (l->stop_at_ns != UINT64_MAX)
		closed.stop = t->measure + clock_ticks(&p->clock, l->stop_at_ns);
	if (load_is_open(l))
		pace_start(pace, &i->schedule, closed.start, share);
	else
		pace_start_closed(pace, &closed, share);
	pace_share_total(pace, closed.start, l->total ? l->total : UINT64_MAX, share);
	run->begun_at = closed.start > t->measure ? closed.start : t->measure;
	run->answered_at = first_due(pace, run->begun_at);
}

void plan_schedule(struct plan *p, uint64_t start)
{
	const struct run_settings *run = &p->config->run;
	struct run_times t = {
		.start = start,
		.measure = start + clock_ticks(&p->clock, run->warmup_ns),
		.grace = clock_ticks(&p->clock, GRACE_NS),
		.interval = clock_ticks(&p->clock, run->interval_ns),
	};

	t.end = t.measure + clock_ticks(&p->clock, run->duration_ns);
	for (uint32_t i = 0; i < p->worker_count; i++) {
		p->workers[i].times = t;
		p->workers[i].stall = clock_ticks(&p->clock, STALL_NS);
		p->workers[i].ms_scale = clock_ms_scale(&p->clock);
		hist_clear(&p->workers[i].passes);
	}
	for (uint32_t i = 0; i < p->item_count; i++)
		for (uint32_t k = 0; k < p->items[i].worker_count; k++)
			schedule_run(p, &p->items[i], k);
}

static void run_free(const struct proto *proto, struct worker_item *run)
{
	pages_free(run->txns.slots, run->txns.count * sizeof(struct txn_slot));
	pages_free(run->step_due, run->txns.count * sizeof(*run->step_due));
	pages_free(run->steps, proto->step_count * sizeof(*run->steps));
	if (run->opened && proto->close)
		proto->close(&run->ctx);
}

static void item_close(struct plan_item *i)
{
	const struct proto *proto = config_item_proto(i->settings, NULL);

	for (uint32_t k = 0; i->run && k < i->worker_count; k++)
		run_free(proto, plan_run(i, k));
	schedule_free(&i->schedule);
	timestamps_free(&i->replay);
}

static void responder_free(struct responder *r)
{
	faults_free(&r->faults);
	for (uint32_t i = 0; i < r->protocol_count; i++)
		if (r->protocols[i].proto->answers_close)
			r->protocols[i].proto->answers_close(&r->protocols[i].ctx);
}

void plan_free(struct plan *p)
{
	for (uint32_t i = 0; i < p->item_count; i++)
		item_close(&p->items[i]);
	for (unsigned k = 0; protos[k]; k++)
		if (p->common[k])
			protos[k]->common_teardown(p->common[k]);
	for (uint32_t i = 0; i < p->item_count; i++)
		if (p->items[i].shared)
			config_item_proto(p->items[i].settings, NULL)->teardown(p->items[i].shared);
	for (uint32_t i = 0; i < p->responder_count; i++)
		responder_free(&p->responders[i]);
	for (unsigned k = 0; protos[k]; k++)
		if (p->responder_shared[k])
			(protos[k]->answers_teardown ? protos[k]->answers_teardown
						     : protos[k]->teardown)(p->responder_shared[k]);
	deal_free(p);
}
