// SPDX-License-Identifier: BSD-3-Clause
// A traffic item from its settings to the state of each of its workers: the protocol's set-up,
// tables, counters, waits. Not here: its workers and its schedule (plan.c). Path: cold. Management
// thread.
#include <math.h>

#include "proto/table.h"
#include "base/log.h"
#include "engine/config/routing.h"
#include "engine/config/work.h"
#include "engine/core/pages.h"
#include "engine/core/worker/worker_conn.h"
#include "engine/core/worker/worker_servers.h"
#include "engine/plan/plan_internal.h"
#include "engine/plan/replay.h"
#include "io/driver/driver.h"

// The same for one worker as for an only one; another one has other keys.
static uint64_t key_seed(const struct plan *p, const struct plan_item *i, uint32_t worker)
{
	return plan_item_seed(p, i) ^ (worker ? rand_hash(worker) : 0);
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

// As many of a replay as are due within a time, at the most.
static uint64_t replay_begun(const struct plan *p, const struct plan_item *i, uint64_t hold_ns)
{
	const struct load_settings *l = &i->settings->load;
	uint64_t hold = (uint64_t)((double)hold_ns * l->replay->speed), most = 0;

	for (uint64_t last = 0, first = 0; last < i->replay.count; last++) {
		while (i->replay.ns[last] - i->replay.ns[first] > hold)
			first++;
		if (last - first + 1 > most)
			most = last - first + 1;
	}
	return most + most / 16 + config_slots_needed(p->config, i->settings);
}

// Slots of each worker: its part, or at `rate: max` as many as a single worker has.
static uint64_t slots_needed(const struct plan *p, const struct plan_item *i)
{
	const struct load_settings *l = &i->settings->load;
	uint64_t all = i->replay.count && l->slots == UINT64_MAX
	                       ? replay_begun(p, i, config_hold_ns(i->settings))
	                       : config_slots_needed(p->config, i->settings);

	if (isinf(l->rate))
		return all;
	return all / i->share.of + (i->share.of > 1);
}

static uint64_t outcomes_needed(const struct plan *p, const struct plan_item *i, uint64_t wait_ns)
{
	uint64_t all = i->replay.count ? replay_begun(p, i, 3 * wait_ns)
	                               : config_outcomes_needed(p->config, i->settings, wait_ns);

	return load_is_open(&i->settings->load) ? all / i->share.of + 1 : all;
}

static uint64_t longest_wait_ns(const struct plan_item *i)
{
	const uint64_t *more = i->layout.waits.items;
	uint64_t longest = config_wait_ns(i->settings);

	for (uint32_t n = 0; n < i->layout.waits.count; n++)
		if (more[n] > longest)
			longest = more[n];
	return longest;
}

static int item_slots(struct plan *p, struct plan_item *i, uint32_t worker, uint32_t clients)
{
	struct worker_item *run = plan_run(i, worker);
	uint32_t seats = plan_seats(i, worker), ports = run->txns.ports;
	uint64_t wait_ns = longest_wait_ns(i);
	struct txn_shape shape = {
		.ports = i->source_ports.count && !seats ? ports : 1,
		.clients = seats                   ? seats
	                   : i->source_ports.count ? clients
	                                           : 1,
		.key_bits = (uint8_t)run->txns.key_bits,
		.lane_mask = run->txns.lane_mask,
		.more_waits = i->layout.waits.count,
		.seed = key_seed(p, i, i->share.first + worker),
		.rest = clock_ticks(&p->clock, 3 * wait_ns),
		.reuse = config_reuses_keys(i->settings),
	};
	double all = (double)shape.ports * shape.clients * (double)(1ull << shape.key_bits);
	void *memory;

	shape.count = (uint32_t)fmin(fmin((double)slots_needed(p, i), all), 1u << 30);
	shape.window = (uint64_t)fmin((double)outcomes_needed(p, i, wait_ns), all);
	memory = pages_alloc(txn_bytes(&shape));
	if (!memory)
		return -ENOMEM;
	if (txn_init(&run->txns, memory, &shape) == 0) {
		int rc = config_tcp(i->settings) ? plan_conn_open(p, i, worker, ports, clients) : 0;

		return rc ? rc : item_steps(run);
	}
	pages_free(memory, txn_bytes(&shape));
	return -ERANGE;
}

static uint32_t proto_index(const struct proto *proto)
{
	uint32_t k = 0;

	while (protos[k]->settings != proto->settings) // of a variant, too
		k++;
	return k;
}

static struct proto_env item_env(
	const struct plan *p, const struct plan_item *i, const struct field_list *sources)
{
	const struct addr_range *r = sources->items;
	struct proto_env env = {.seed = plan_item_seed(p, i),
		.workers = i->share.of,
		.name = i->settings->name,
		.common = p->common[proto_index(config_item_proto(i->settings, NULL))],
		.addr_len = i->settings->server.len,
		.server = i->settings->server,
		.server_port = config_server_port(i->settings),
		.captured_port = i->settings->host.port,
		.timeout_ns = i->settings->timeout_ns,
		.rate = i->replay.count ? PLAN_UNKNOWN_RATE : load_peak(&i->settings->load),
		.dry = p->dry};

	config_env_follower(p->config, i->settings, &env);
	for (uint32_t n = 0; n < sources->count; n++)
		env.clients += (uint32_t)r[n].count;
	return env;
}

// Bytes of the histograms of a follower.
static size_t marks_bytes(const struct proto *proto)
{
	return proto->follower ? proto_marks(proto) * sizeof(struct hist) : 0;
}

// As item_slots and the protocol's open take it, for all workers.
uint64_t plan_item_memory(const struct plan *p, const struct plan_item *of, struct arena *a)
{
	const struct proto *proto = config_item_proto(of->settings, NULL);
	struct field_list sources = config_sources(p->config, of->settings, a);
	struct proto_env env = item_env(p, of, &sources);
	struct plan_item i = *of;
	struct txn_shape shape = {0};
	uint64_t bytes, sum = 0;

	i.worker_count = i.share.count;
	shape.count = (uint32_t)fmin((double)slots_needed(p, &i), 1u << 30);
	shape.window = outcomes_needed(p, &i, longest_wait_ns(&i));
	bytes = txn_bytes(&shape);
	if (proto->step_count > 1)
		bytes += shape.count * sizeof(*i.run->step_due) +
		         proto->step_count * sizeof(struct step_books);
	bytes += plan_conn_memory(of->settings, env.workers, shape.count,
		config_places(of->settings, env.clients), plan_item_longest(of));
	for (env.worker = i.share.first; env.worker < i.share.first + i.share.count; env.worker++)
		sum += bytes + marks_bytes(proto) +
		       (proto->memory ? proto->memory(of->shared, &env) : 0);
	return sum;
}

// A packet is not sent in fragments.
static void check_length(const struct plan *p, const struct plan_item *i, struct diag *d)
{
	struct port_settings *ports = p->config->ports.items;
	const struct port_settings *port = config_item_port(p->config, i->settings);
	uint32_t longest = plan_item_longest(i);
	uint32_t packet = longest + FRAME_UDP_LEN +
	                  (i->settings->server.len == 4 ? FRAME_IPV4_LEN : FRAME_IPV6_LEN);

	if (packet <= port->mtu || config_is_stream(i->settings))
		return;
	if (driver_of(port)->sockets) // the kernel makes fragments
		ports[port - ports].longest = packet > port->longest ? packet : port->longest;
	else
		diag_error(d, i->settings, "",
			"a message may get %u bytes long, a packet of %u with its headers: more "
			"than the mtu of port %s, %llu (driver: socket sends it in fragments)",
			longest, packet, port->name, (unsigned long long)port->mtu);
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

// Sockets have the kernel's frames and no others.
static void check_sockets(const struct plan *p, const struct plan_item *i, struct diag *d)
{
	const struct proto_path *paths = i->layout.paths.items;
	const struct field_list *further = config_further(i->settings);
	const struct field_host *h = further->items;
	bool group = false, vlans = false;
	const struct addr *which = &i->settings->server;
	uint8_t mac[6];

	if (!config_on_sockets(p->config, i->settings))
		return;
	for (uint32_t n = 0; n < further->count; n++)
		if (plan_group_mac(&h[n].addr, mac))
			which = &h[n].addr;
	for (uint32_t n = 0; n < i->layout.paths.count; n++) {
		group |= plan_group_mac(&paths[n].dst, mac);
		vlans |= paths[n].vlan_count > 0;
	}
	if (i->layout.own_macs)
		diag_error(d, i->settings, "port",
			"driver: socket has no clients on the link: they need frames of their own "
			"(let them be behind a relay, or use driver: af_packet)");
	else if (group)
		diag_error(d, which, which->len ? NULL : "server",
			"driver: socket sends to one server, not to a group (give its address)");
	else if (i->layout.own_addresses)
		diag_error(d, i->settings, "port",
			"driver: socket has no unicast messages of clients: their addresses are "
			"not the host's (relay.all: true sends them through the relay, or "
			"use driver: af_packet)");
	else if (i->layout.own_answers)
		log_warning("traffic %s: answers to the clients' own addresses, and not to their "
			    "relay, are lost with driver: socket (driver: af_packet hears both)",
			i->settings->name);
	if (vlans)
		diag_error(d, i->settings, "port", "driver: socket sends no VLAN tags");
}

// Replies must find their way to the addresses that the tester answers for.
static void check_owned(const struct plan *p, const struct plan_item *i, struct diag *d)
{
	const struct port_settings *port = config_item_port(p->config, i->settings);
	const struct addr_range *r = i->layout.owned.items;

	for (uint32_t n = 0; n < i->layout.owned.count; n++) {
		struct addr last = addr_nth(&r[n], r[n].count - 1);

		if (config_has_server(i->settings, &r[n]) &&
			!config_on_sockets(p->config, i->settings))
			diag_error(d, &r[n], NULL, "holds the address of a server");
		if (config_reaches(port, &r[n].first) && config_reaches(port, &last))
			continue;
		diag_error(d, &r[n], NULL,
			"not on a subnet of port %s, and the port has no IPv%c gateway", port->name,
			last.len == 4 ? '4' : '6');
	}
}

// Without a router a path leads to each server, from the item's source ports.
static void item_layout(struct plan_item *i, const struct proto *proto, struct arena *a)
{
	const struct field_list *further = &i->settings->servers;
	struct proto_path *path;

	routing_of(proto)->layout(i->shared, &i->layout);
	if (routing_is_own(proto))
		return;
	path = arena_zalloc(a, (1 + further->count) * sizeof(*path));
	path->dst = i->settings->server;
	for (uint32_t n = 0; n < further->count; n++)
		path[1 + n].dst = ((const struct field_host *)further->items)[n].addr;
	i->layout.paths = (struct field_list){path, 1 + further->count};
	i->source_ports = i->settings->ports;
}

// Of the addresses that the item answers for, those of this box: each has one worker in the fleet.
static void divide_owned(struct plan_item *i, struct arena *a, struct diag *d)
{
	const struct addr_range *r = i->layout.owned.items;
	uint64_t all = 0, count = 0;
	struct addr_range *out;
	uint8_t *homes;

	for (uint32_t n = 0; n < i->layout.owned.count; n++)
		all += r[n].count;
	if (!fleet_is_part(&i->share) || all == 0)
		return;
	if (all % i->share.of) {
		diag_error(d, i->settings, "",
			"%llu addresses of relays for the %u workers of the fleet (take a "
			"multiple of them: a server's reply must reach the box of the client)",
			(unsigned long long)all, i->share.of);
		return;
	}
	homes = arena_zalloc(a, all);
	out = arena_zalloc(a, (all / i->share.of * i->share.count) * sizeof(*out));
	all = 0;
	for (uint32_t n = 0; n < i->layout.owned.count; n++)
		for (uint64_t k = 0; k < r[n].count; k++, all++) {
			homes[all] = (uint8_t)(all % i->share.of);
			if (homes[all] - i->share.first < i->share.count)
				out[count++] = (struct addr_range){addr_nth(&r[n], k), 1};
		}
	i->homes = homes;
	i->layout.owned = (struct field_list){out, (uint32_t)count};
}

// Where messages and times come from one file, the times are those of the messages.
static int take_times(
	struct plan_item *i, const struct proto *proto, struct arena *a, struct diag *d)
{
	const struct timestamps *t = proto->times(i->shared);
	int rc = 0;

	if (t->count == 0)
		return i->replay.count ? 0
		                       : replay_read(&i->replay, i->settings->load.replay, a, d);
	timestamps_free(&i->replay);
	for (uint64_t k = 0; k < t->count && rc == 0; k++)
		rc = timestamps_add(&i->replay, t->ns[k]);
	if (rc == 0)
		replay_order(&i->replay);
	return rc;
}

int plan_item_setup(struct plan *p, struct plan_item *i, struct arena *a, struct diag *d)
{
	struct field_list sources = config_sources(p->config, i->settings, a);
	const void *settings = NULL;
	const struct proto *proto = config_item_proto(i->settings, &settings);
	const struct replay_settings *replay = i->settings->load.replay;
	struct proto_env env;
	int rc = 0;

	i->share = fleet_share(p->config, config_item_port(p->config, i->settings));
	i->given = fleet_addresses(&i->settings->source.addresses, &i->share, a);
	env = item_env(p, i, &sources);

	if (replay && !replay->filter && proto->times)
		env.times_of = diag_path(d, &replay->file, a);
	if (replay && (!env.times_of || proto->fit)) // fit needs to know how many there are
		rc = replay_read(&i->replay, replay, a, d);
	if (rc)
		return rc;
	if (i->settings->load.replay && proto->fit) {
		struct proto_work work = config_work(p->config, i->settings, i->replay.count);

		proto->fit(i->settings->protocol[proto_index(proto)], &work);
	}
	i->shared = proto->setup(settings, &env, d);
	if (i->shared && env.times_of && take_times(i, proto, a, d) < 0)
		return diag_count(d) ? -EINVAL : -ENOMEM;
	if (i->shared) {
		item_layout(i, proto, a);
		divide_owned(i, a, d);
		check_length(p, i, d);
		check_tags(p, i, d);
		check_owned(p, i, d);
		check_sockets(p, i, d);
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

int plan_open_common(struct plan *p, struct arena *a)
{
	void **shared = arena_zalloc(a, (p->item_count + 1) * sizeof(*shared));

	for (uint32_t k = 0; protos[k]; k++) {
		const struct proto_router *router = routing_of(protos[k]);
		uint32_t n = 0;

		for (uint32_t i = 0; i < p->item_count; i++)
			if (config_item_proto(p->items[i].settings, NULL) == protos[k])
				shared[n++] = p->items[i].shared;
		if (n == 0 || !router->common_setup)
			continue;
		p->common[k] = router->common_setup(shared, n, threads_of(p));
		if (!p->common[k])
			return -ENOMEM;
	}
	return 0;
}

static void snapshot_open(struct item_snapshot *s, const struct item_settings *i, struct arena *a)
{
	const struct proto *proto = config_item_proto(i, NULL);

	if (proto->step_count > 1)
		s->steps = arena_zalloc(a, proto->step_count * sizeof(*s->steps));
	if (config_tcp(i))
		s->conns = arena_zalloc(a, sizeof(*s->conns));
	for (int b = 0; b < 2; b++)
		s->banks[b] = arena_zalloc(a, proto->counters->size);
}

static int item_marks(struct worker_item *run)
{
	if (!run->proto->follower)
		return 0;
	run->marks = pages_alloc(marks_bytes(run->proto));
	for (uint32_t n = 0; run->marks && n < proto_marks(run->proto); n++)
		hist_clear(&run->marks[n]);
	return run->marks ? 0 : -ENOMEM;
}

// The servers that its paths lead to, each once; groups are none.
static uint32_t servers_of(const struct plan_item *i, struct addr *all)
{
	const struct proto_path *paths = i->layout.paths.items;
	uint32_t count = 0, k;
	uint8_t mac[6];

	for (uint32_t n = 0; n < i->layout.paths.count; n++) {
		for (k = 0; k < count && !addr_equal(&all[k], &paths[n].dst); k++)
			;
		if (k == count && count < SERVERS_MAX && !plan_group_mac(&paths[n].dst, mac))
			all[count++] = paths[n].dst;
	}
	return count;
}

// What a worker keeps of the servers, if there are several or one is asked again.
static int item_servers(struct worker_item *run, const struct plan_item *i, struct arena *a)
{
	const struct proto_path *paths = i->layout.paths.items;
	struct addr *all = arena_zalloc(a, SERVERS_MAX * sizeof(*all));
	uint16_t *of_path = arena_zalloc(a, (1 + i->layout.paths.count) * sizeof(*of_path));
	uint32_t count = servers_of(i, all), asks = config_asks(i->settings);
	struct worker_servers *s;

	if (count <= 1 && asks == 1)
		return 0;
	for (uint32_t n = 0; n < i->layout.paths.count; n++)
		for (uint32_t k = 0; k < count; k++) {
			uint8_t mac[6];

			if (addr_equal(&all[k], &paths[n].dst) ||
				plan_group_mac(&paths[n].dst, mac))
				of_path[n] |= (uint16_t)(1u << k);
		}
	s = run->servers = arena_zalloc(a, sizeof(*s));
	s->all = all;
	s->count = count;
	s->spread = (enum server_spread)i->settings->spread;
	s->rotate = i->settings->rotate;
	s->asks = asks;
	s->of_path = of_path;
	recip_init(&s->by_count, count);
	s->slots = pages_alloc(run->txns.count * sizeof(*s->slots));
	return s->slots ? 0 : -ENOMEM;
}

static int item_open(struct plan *p, struct plan_item *i, uint32_t worker, struct arena *a)
{
	struct field_list sources = config_sources(p->config, i->settings, a);
	struct proto_env env = item_env(p, i, &sources);
	struct worker_item *run = plan_run(i, worker);
	uint32_t addresses = env.clients, events = p->config->events.count;
	int rc;

	if (plan_seats(i, worker)) // each connection is a client
		env.clients = plan_seats(i, worker);
	env.worker = i->share.first + worker;
	env.homes = i->homes;
	run->server = i->settings->server;
	run->server_port = config_server_port(i->settings);
	run->server_plain = frame_plain_from_of(&run->server, run->server_port);
	run->frames = arena_zalloc(a, i->path_count * sizeof(*run->frames));
	run->waits = item_waits(p, i, a);
	run->sources = sources.items;
	run->source_ranges = sources.count;
	for (int b = 0; b < 2; b++)
		run->banks[b] = arena_zalloc(a, run->proto->counters->size);
	for (int s = 0; s < SNAPSHOTS; s++)
		snapshot_open(&i->worker[worker].snapshots[s].items[i->place], i->settings, a);
	run->shadow = arena_zalloc(a, run->proto->counters->size);
	hist_clear(&run->books.response);
	hist_clear(&run->books.service);
	hist_clear(&run->books.lag);
	if (item_marks(run) < 0)
		return -ENOMEM;
	run->waited = events ? arena_zalloc(a, events * sizeof(*run->waited)) : NULL;
	for (uint32_t n = 0; n < events; n++)
		hist_clear(&run->waited[n]);
	run->ctx.shared = i->shared;
	// For what is sent before the run.
	run->ctx.began_ms = clock_wall_ns(&p->clock, clock_time(&p->clock)) / 1000000;
	if (run->proto->open && run->proto->open(&run->ctx, &env) < 0)
		return -ENOMEM;
	run->opened = true;
	rc = item_slots(p, i, worker, addresses);
	return rc ? rc : item_servers(run, i, a);
}

int plan_item_open(struct plan *p, struct plan_item *i, struct arena *a)
{
	int rc = 0;

	for (uint32_t k = 0; k < i->worker_count && rc == 0; k++)
		rc = item_open(p, i, k, a);
	return rc;
}

static int item_free(const struct proto *proto, struct worker_item *run)
{
	plan_conn_close(run);
	if (run->servers)
		pages_free(run->servers->slots, run->txns.count * sizeof(*run->servers->slots));
	pages_free(run->txns.slots, run->txns.bytes);
	pages_free(run->step_due, run->txns.count * sizeof(*run->step_due));
	pages_free(run->steps, proto->step_count * sizeof(*run->steps));
	pages_free(run->marks, marks_bytes(proto));
	return run->opened && proto->close ? proto->close(&run->ctx) : 0;
}

int plan_item_close(struct plan_item *i)
{
	const struct proto *proto = config_item_proto(i->settings, NULL);
	int rc = 0;

	for (uint32_t k = 0; i->run && k < i->worker_count; k++) {
		int closed = item_free(proto, plan_run(i, k));

		rc = rc ? rc : closed;
	}
	schedule_free(&i->schedule);
	timestamps_free(&i->replay);
	return rc;
}
