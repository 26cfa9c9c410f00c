// SPDX-License-Identifier: BSD-3-Clause
// Decisions before EAL starts: ports to bring up, their numbers of queues, the CPU of each worker.
// Not here: the work of the workers (plan.c). Path: cold. Management thread.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "proto/table.h"
#include "engine/core/reassembly.h"
#include "engine/plan/plan_internal.h"
#include "engine/plan/plan_start.h"
#include "io/driver/driver.h"
#include "io/driver/memory.h"
#include "io/driver/settings.h"
#include "io/port/rules.h"
#include "io/sockets/sockets.h"
#include "net/frame.h"
#include "net/neigh.h"

#define RESPONDER_CONNECTIONS 4096 // of a responder on sockets, at a time

static bool is_of_crew(const struct plan *p, uint32_t cpu)
{
	const struct field_range *r = p->config->host.crew.items;

	for (uint32_t i = 0; i < p->config->host.crew.count; i++)
		if (cpu >= r[i].first && cpu <= r[i].last)
			return true;
	return false;
}

static bool cpu_is_used(const struct lcore_plan *l, uint32_t cpu)
{
	for (uint32_t i = 0; i < l->worker_count; i++)
		if (l->worker_cpus[i] == cpu)
			return true;
	return false;
}

// Returns an isolated CPU without a worker of this run or another; else the kernel chooses.
static uint32_t cpu_pick(const struct plan *p, const cpu_set_t *free)
{
	const struct lcore_plan *l = &p->lcores;

	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++)
		if (CPU_ISSET_S(cpu, CPUS_SET_LEN, free) && cpu != l->management_cpu &&
			!cpu_is_used(l, cpu) && !is_of_crew(p, cpu))
			return cpu;
	return LCORE_ANY_CPU;
}

// Returns the first CPU that is not isolated, if there are isolated CPUs.
static uint32_t management_pick(const struct cpus *c)
{
	for (uint32_t cpu = 0; cpu < CPUS_MAX && CPU_COUNT_S(CPUS_SET_LEN, &c->isolated.set); cpu++)
		if (CPU_ISSET_S(cpu, CPUS_SET_LEN, &c->allowed.set) &&
			!CPU_ISSET_S(cpu, CPUS_SET_LEN, &c->isolated.set))
			return cpu;
	return LCORE_ANY_CPU;
}

// The n-th CPU of a port.
static uint32_t cpu_of(const struct port_settings *s, uint32_t n)
{
	const struct field_range *r = s->cpus.items;

	for (; n > r->last - r->first; r++)
		n -= (uint32_t)(r->last - r->first) + 1;
	return (uint32_t)r->first + n;
}

static int check_worker_cpu(
	const struct port_settings *s, uint32_t cpu, const cpu_set_t *allowed, struct io_error *e)
{
	if (cpu == LCORE_ANY_CPU || (cpu < CPUS_MAX && CPU_ISSET_S(cpu, CPUS_SET_LEN, allowed)))
		return 0;
	snprintf(e->text, sizeof(e->text),
		"ports.%s.cpus: this process may not run on CPU %u (it has %d CPUs; leave cpus out "
		"to choose by itself)",
		s->name, cpu, CPU_COUNT_S(CPUS_SET_LEN, allowed));
	return -EINVAL;
}

static int check_crew(const struct field_list *crew, const cpu_set_t *allowed, struct io_error *e)
{
	const struct field_range *r = crew->items;

	for (uint32_t i = 0; i < crew->count; i++)
		for (uint32_t cpu = r[i].first; cpu <= r[i].last; cpu++) {
			if (cpu < CPUS_MAX && CPU_ISSET_S(cpu, CPUS_SET_LEN, allowed))
				continue;
			snprintf(e->text, sizeof(e->text),
				"host.crew: this process may not run on CPU %u (it has %d CPUs)",
				cpu, CPU_COUNT_S(CPUS_SET_LEN, allowed));
			return -EINVAL;
		}
	return 0;
}

static int plan_cpus(struct plan *p, struct io_error *e)
{
	const struct host_settings *h = &p->config->host;
	const cpu_set_t *allowed = &p->cpus.allowed.set;
	struct lcore_plan *l = &p->lcores;
	int rc = cpus_read(&p->cpus);

	if (rc < 0)
		return rc;
	l->management_cpu = h->management_cpu == UINT64_MAX ? management_pick(&p->cpus)
	                                                    : (uint32_t)h->management_cpu;
	if (h->management_cpu != UINT64_MAX &&
		!CPU_ISSET_S(l->management_cpu, CPUS_SET_LEN, allowed)) {
		snprintf(e->text, sizeof(e->text),
			"host.management_cpu: this process may not run on CPU %u (see taskset -p "
			"$$)",
			l->management_cpu);
		return -EINVAL;
	}
	rc = check_crew(&h->crew, allowed, e);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < p->worker_count; i++) {
		const struct worker *w = &p->workers[i];
		const struct port_settings *s = &p->port_settings[w->port];
		uint32_t cpu =
			s->cpus.count ? cpu_of(s, w->number) : cpu_pick(p, &p->cpus.free.set);

		rc = check_worker_cpu(s, cpu, allowed, e);
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

// Returns the requests per second that the responder has to expect.
static double rate_expected(const struct config *c, bool respond_only)
{
	const struct item_settings *items = c->traffic.items;
	double rate = 0;

	for (uint32_t i = 0; i < c->traffic.count && !respond_only; i++)
		rate += load_peak(&items[i].load);
	return rate > 0 && !isinf(rate) ? rate : PLAN_UNKNOWN_RATE;
}

static bool has_ports(const struct plan *p, const struct port_settings *port)
{
	for (uint32_t i = 0; i < p->item_count; i++)
		if (p->items[i].source_ports.count && p->items[i].settings->facts.port == port)
			return true;
	return false;
}

static bool has_streams(const struct plan *p, const struct port_settings *port)
{
	const struct responder_settings *r = p->config->responder;

	for (unsigned k = 0; port == config_responder_port(p->config) && protos[k]; k++)
		if (r->protocol[k] && protos[k]->server->stream)
			return true;
	for (uint32_t i = 0; i < p->item_count; i++)
		if (p->items[i].settings->facts.tcp && p->items[i].settings->facts.port == port)
			return true;
	return false;
}

// Does an item on this port have clients with Ethernet addresses of their own?
static bool wants_all(const struct plan *p, const struct port_settings *port)
{
	for (uint32_t i = 0; i < p->item_count; i++)
		if (p->items[i].layout.own_macs && p->items[i].settings->facts.port == port)
			return true;
	return false;
}

// Deals the addresses of an item to the workers. 0: too few for one each.
static uint64_t homes_of(const struct plan_item *i, uint32_t workers, struct rule_home *out)
{
	const struct addr_range *r = i->layout.owned.items;
	uint64_t count = 0;

	for (uint32_t n = 0; n < i->layout.owned.count; n++)
		for (uint64_t k = 0; k < r[n].count && count <= RULES_MAX; k++, count++)
			if (count < RULES_MAX)
				out[count] = (struct rule_home){
					addr_nth(&r[n], k), (uint16_t)(count % workers)};
	return count < workers ? 0 : count;
}

// Deals them on a port whose items all have enough, so that a device may sort by them; else none.
static struct field_list homes_on(
	const struct plan *p, const struct port_settings *port, struct arena *a)
{
	struct rule_home *homes = arena_zalloc(a, 2 * RULES_MAX * sizeof(*homes));
	uint32_t workers = port_cpu_count(port);
	uint64_t count = 0;

	for (uint32_t i = 0; i < p->item_count && workers > 1; i++) {
		uint64_t more;

		if (p->items[i].settings->facts.port != port)
			continue;
		more = homes_of(&p->items[i], workers, homes + count);
		if (more == 0 || count + more > RULES_MAX)
			return (struct field_list){0};
		count += more;
	}
	return (struct field_list){homes, (uint32_t)count};
}

// Lists the relay addresses of all items, which identify the worker of a reply. None where a range
// of source ports has several addresses too, each with ports of all workers.
static struct field_list relays_on(
	const struct plan *p, const struct port_settings *port, struct arena *a)
{
	struct field_list out = {0};
	struct addr_range *all;
	uint32_t max = 0;

	for (uint32_t i = 0; i < p->item_count; i++)
		max += p->items[i].layout.owned.count;
	out.items = all = arena_zalloc(a, (max + 1) * sizeof(*all));
	for (uint32_t i = 0; i < p->item_count; i++) {
		const struct plan_item *item = &p->items[i];
		const struct field_list *sources = &item->settings->facts.sources;
		const struct addr_range *r = sources->items;

		if (item->settings->facts.port != port)
			continue;
		if (item->source_ports.count && (sources->count > 1 || r->count > 1))
			return (struct field_list){0};
		for (uint32_t n = 0; n < item->layout.owned.count; n++)
			all[out.count++] = ((struct addr_range *)item->layout.owned.items)[n];
	}
	return out;
}

// The sockets of an item.
static struct socket_group group_of(const struct plan_item *i, struct arena *a)
{
	const struct item_facts *f = &i->settings->facts;
	struct socket_group g = {.server = i->settings->server,
		.connections = f->tcp && !f->quic ? f->tcp->connections : 0,
		.stream = f->stream && !f->quic,
		.fixed = i->settings->source.ports.count > 0};
	const uint16_t *ports = i->layout.ports.items;
	struct field_range *r;

	if (i->source_ports.count) {
		g.addresses = f->sources;
		g.ports = i->source_ports;
		g.free_ports = f->free_ports;
		return g;
	}
	r = arena_zalloc(a, (i->layout.ports.count + 1) * sizeof(*r));
	for (uint32_t n = 0; n < i->layout.ports.count; n++)
		r[n] = (struct field_range){ports[n], ports[n]};
	g.addresses = i->layout.owned;
	g.ports = (struct field_list){r, i->layout.ports.count};
	return g;
}

// The sockets of the responder.
static struct socket_group responder_group(const struct plan *p, struct arena *a)
{
	const struct port_settings *port = config_responder_port(p->config);
	const struct addr_prefix *own = port->addresses.items;
	struct addr_range *addresses = arena_zalloc(a, port->addresses.count * sizeof(*addresses));
	struct field_range *ports = arena_zalloc(a, 4 * proto_count() * sizeof(*ports));
	struct socket_group g = {.addresses = {addresses, port->addresses.count},
		.ports = {ports, 0},
		.listens = true};

	for (uint32_t i = 0; i < port->addresses.count; i++)
		addresses[i] = (struct addr_range){own[i].addr, 1};
	for (uint32_t k = 0; protos[k]; k++) {
		uint16_t at = config_responder_server_port(p->config, protos[k]);

		if (!p->config->responder->protocol[k])
			continue;
		ports[g.ports.count++] = (struct field_range){
			at, at + (p->responder_facts ? p->responder_facts[k].ports : 0)};
		if (protos[k]->server->stream)
			g.connections = RESPONDER_CONNECTIONS;
		at = config_responder_tls_port(p->config, protos[k]);
		if (at)
			ports[g.ports.count++] = (struct field_range){at, at};
		at = config_responder_https_port(p->config, protos[k]);
		if (at)
			ports[g.ports.count++] = (struct field_range){at, at};
		at = config_responder_quic_port(p->config, protos[k]);
		if (at && at != config_responder_tls_port(p->config, protos[k]))
			ports[g.ports.count++] = (struct field_range){at, at};
	}
	return g;
}

static struct field_list groups_on(
	const struct plan *p, const struct port_settings *port, struct arena *a)
{
	struct socket_group *groups = arena_zalloc(a, (p->item_count + 1) * sizeof(*groups));

	if (port == config_responder_port(p->config) && p->config->responder) {
		groups[0] = responder_group(p, a);
		return (struct field_list){groups, 1};
	}

	for (uint32_t i = 0; i < p->item_count; i++)
		if (p->items[i].settings->facts.port == port)
			groups[i] = group_of(&p->items[i], a);
	return (struct field_list){groups, p->item_count};
}

static void add_tag(bool *seen, const struct port_settings *port, const struct proto_path *path)
{
	const uint64_t *own = port->vlans.items;

	if (port->vlans.count)
		seen[own[0]] = true;
	else if (path && path->vlan_count)
		seen[path->vlans[0]] = true;
}

// Outermost VLANs of the packets that a port receives: its own, else its clients'. A responder has
// the clients of all items, or without items the clients of another box, on any VLAN.
static struct field_list tags_of(
	const struct plan *p, const struct port_settings *port, bool answers, struct arena *a)
{
	uint16_t *tags = arena_zalloc(a, (FRAME_VLAN_MAX + 1) * sizeof(*tags));
	bool seen[FRAME_VLAN_MAX + 1] = {0};
	uint32_t count = 0;

	add_tag(seen, port, NULL);
	for (uint32_t i = 0; i < p->item_count; i++) {
		const struct proto_path *paths = p->items[i].layout.paths.items;

		if (!answers && p->items[i].settings->facts.port != port)
			continue;
		for (uint32_t n = 0; n < p->items[i].layout.paths.count; n++)
			add_tag(seen, port, &paths[n]);
	}
	for (uint16_t n = 1; n <= FRAME_VLAN_MAX; n++)
		if (seen[n] || (answers && !p->item_count && !port->vlans.count))
			tags[count++] = n;
	return (struct field_list){tags, count};
}

static void add_group(struct port_settings *out, const struct addr *group)
{
	uint8_t mac[6], (*macs)[6] = out->listens.items;

	if (!plan_group_mac(group, mac) || mac[0] == 0xff)
		return;
	for (uint32_t i = 0; i < out->listens.count; i++)
		if (memcmp(macs[i], mac, 6) == 0)
			return;
	if (out->listens.count == PORT_GROUPS_MAX)
		out->listens_more = true;
	else
		memcpy(macs[out->listens.count++], mac, 6);
}

// Adds the groups of neighbour solicitations for these addresses.
static void add_asked(struct port_settings *out, const struct field_list *addresses)
{
	const struct addr_range *r = addresses->items;

	for (uint32_t i = 0; i < addresses->count; i++)
		for (uint64_t k = 0; k < r[i].count && !out->listens_more; k++) {
			struct addr one = addr_nth(&r[i], k), group = neigh_group(&one);

			if (one.len == 16)
				add_group(out, &group);
		}
}

static bool is_ipv6(const struct plan_item *i)
{
	const struct proto_path *path = i->layout.paths.items;

	return i->layout.paths.count && path->dst.len == 16;
}

// Multicast groups whose packets the port has to receive.
static void fill_groups(const struct plan *p, const struct port_settings *of,
	struct port_settings *out, struct arena *a)
{
	static const struct addr all_nodes = {16, {0xff, 0x02, [15] = 1}};
	const struct config *c = p->config;
	const struct addr_prefix *own = of->addresses.items;

	out->listens.items = arena_zalloc(a, PORT_GROUPS_MAX * 6);
	for (uint32_t i = 0; i < of->addresses.count; i++) {
		struct addr_range one = {own[i].addr, 1};

		add_asked(out, &(struct field_list){&one, 1});
	}
	for (uint32_t i = 0; i < p->item_count; i++) {
		const struct plan_item *item = &p->items[i];

		if (item->settings->facts.port != of)
			continue;
		add_asked(out, &item->settings->source.addresses);
		add_asked(out, &item->layout.owned);
		out->listens_more |= item->layout.own_addresses && is_ipv6(item);
	}
	if (out->listens.count)
		add_group(out, &all_nodes);
	for (unsigned k = 0; of == config_responder_port(c) && protos[k]; k++)
		for (const struct addr *g = c->responder->protocol[k] ? protos[k]->server->groups
		                                                      : NULL;
			g && g->len; g++)
			add_group(out, g);
}

// Both ends of a ring have as many queues as there are workers at the end that has more.
static void set_queues(struct plan *p, uint32_t port)
{
	int peer = port_ring_peer(p->port_settings, p->port_count, port);

	if (peer >= 0)
		p->port_settings[port].queues = port_cpu_count(&p->port_settings[peer]);
}

// Settings of a port that follow from its items and from the responder.
static void fill_settings(const struct plan *p, const struct port_settings *of,
	struct port_settings *out, struct arena *a)
{
	*out = *of;
	out->promiscuous = wants_all(p, of);
	out->has_ports = has_ports(p, of);
	out->has_streams = has_streams(p, of);
	out->homes = homes_on(p, of, a);
	out->relays = relays_on(p, of, a);
	out->groups = groups_on(p, of, a);
	out->tags = tags_of(p, of, of == config_responder_port(p->config), a);
	fill_groups(p, of, out, a);
}

static void fill_responder(const struct config *c, struct port_settings *out, bool respond_only)
{
	out->answers = true;
	if (c->responder->faults)
		out->held = faults_held(c->responder->faults, rate_expected(c, respond_only));
}

int plan_start(struct plan *p, bool respond_only, struct arena *a, struct io_error *e)
{
	const struct config *c = p->config;
	const struct port_settings *dut = config_responder_port(c), *all = c->ports.items;

	p->port_settings = arena_zalloc(a, c->ports.count * sizeof(*p->port_settings));
	for (uint32_t i = 0; i < c->ports.count; i++) {
		struct port_settings *out = &p->port_settings[p->port_count];

		if (respond_only && &all[i] != dut)
			continue;
		fill_settings(p, &all[i], out, a);
		if (&all[i] == dut) {
			p->responder_port = (int32_t)p->port_count;
			fill_responder(c, out, respond_only);
		}
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
	p->cpus = before->cpus;
	p->lcores = before->lcores;
	plan_workers(p, a);
}

#define MIB   1048576.0
#define LARGE 0.05 // share of the sum from which a part is listed

// Packets are in hugepages if enough are free; these are not counted as available memory.
static bool ports_take_pages(const struct plan *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->port_count; i++)
		sum += port_memory(&p->port_settings[i]);
	return p->config->host.memory == MEMORY_PAGES ||
	       (p->config->host.memory == MEMORY_AUTO && hugepages_free() < sum);
}

const char *plan_lacks_memory(const struct plan *p, bool ports, struct arena *a)
{
	uint32_t count = ports && ports_take_pages(p) ? p->port_count : 0;
	uint64_t *parts = arena_zalloc(a, (count + p->item_count + 1) * sizeof(*parts));
	uint64_t sum = p->worker_count * reassembly_memory(), available = memory_available();
	const char *text;

	for (uint32_t i = 0; i < count + p->item_count; i++) {
		parts[i] = i < count ? port_memory(&p->port_settings[i])
		                     : plan_item_memory(p, &p->items[i - count]);
		sum += parts[i];
	}
	if (available == 0 || sum <= available)
		return NULL;
	text = arena_printf(a, "not enough memory: %.0f MiB are needed and %.0f are available",
		(double)sum / MIB, (double)available / MIB);
	for (uint32_t i = 0; i < count; i++)
		if ((double)parts[i] > LARGE * (double)sum)
			text = arena_printf(a, "%s; port %s: %.0f MiB (mbufs, cpus)", text,
				p->port_settings[i].name, (double)parts[i] / MIB);
	for (uint32_t i = 0; i < p->item_count; i++)
		if ((double)parts[count + i] > LARGE * (double)sum)
			text = arena_printf(a,
				"%s; traffic %s: %.0f MiB (clients, load.slots, rate x timeout)",
				text, p->items[i].settings->name, (double)parts[count + i] / MIB);
	return text;
}
