// SPDX-License-Identifier: BSD-3-Clause
// A traffic item from its settings to the state of each of its workers: the protocol's set-up,
// tables, counters, waits. Not here: its workers and its schedule (plan.c). Path: cold. Management
// thread.
#include <math.h>

#include "proto/table.h"
#include "base/log.h"
#include "engine/config/work.h"
#include "engine/core/pages.h"
#include "engine/core/worker/worker_conn.h"
#include "engine/core/worker/worker_servers.h"
#include "engine/plan/plan_internal.h"
#include "engine/plan/plan_https.h"
#include "engine/plan/plan_tls.h"
#include "engine/plan/replay.h"
#include "io/driver/driver.h"

// Worker 0 has the keys of a single worker; the others have different ones.
static uint64_t key_seed(const struct plan_item *i, uint32_t worker)
{
	return i->seed ^ (worker ? rand_hash(worker) : 0);
}

// Allocates the counters of the steps, if there are several.
static int item_steps(struct worker_item *run)
{
	uint32_t n = proto_steps(run->proto);

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

// Transactions of a replay that are due within hold_ns at most, with a margin.
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

// Slots of each worker: its part, or with `rate: max` the number for a single worker.
static uint64_t slots_needed(const struct plan *p, const struct plan_item *i)
{
	const struct load_settings *l = &i->settings->load;
	uint32_t of = i->settings->facts.share.of;
	uint64_t all = i->replay.count && l->slots == UINT64_MAX
	                       ? replay_begun(p, i, i->settings->facts.hold_ns)
	                       : config_slots_needed(p->config, i->settings);

	if (isinf(l->rate))
		return all;
	return all / of + (of > 1);
}

static uint64_t outcomes_needed(const struct plan *p, const struct plan_item *i, uint64_t wait_ns)
{
	uint64_t all = i->replay.count ? replay_begun(p, i, 3 * wait_ns)
	                               : config_outcomes_needed(p->config, i->settings, wait_ns);

	return load_is_open(&i->settings->load) ? all / i->settings->facts.share.of + 1 : all;
}

static uint64_t longest_wait_ns(const struct plan_item *i)
{
	const uint64_t *more = i->layout.waits.items;
	uint64_t longest = i->settings->facts.wait_ns;

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
		.seed = key_seed(i, i->settings->facts.share.first + worker),
		.rest = clock_ticks(&p->clock, 3 * wait_ns),
		.reuse = i->settings->facts.reuses_keys,
		.in_order = i->layout.waits.count == 0 && !i->settings->facts.tcp,
	};
	double all = (double)shape.ports * shape.clients * (double)(1ull << shape.key_bits);
	void *memory;

	shape.count = (uint32_t)fmin(fmin((double)slots_needed(p, i), all), 1u << 30);
	shape.window = (uint64_t)fmin((double)outcomes_needed(p, i, wait_ns), all);
	memory = pages_alloc(txn_bytes(&shape));
	if (!memory)
		return -ENOMEM;
	if (txn_init(&run->txns, memory, &shape) == 0) {
		int rc = i->settings->facts.tcp ? plan_conn_open(p, i, worker, ports, clients) : 0;

		return rc ? rc : item_steps(run);
	}
	pages_free(memory, txn_bytes(&shape));
	return -ERANGE;
}

// Workers that have items.
static uint32_t threads_of(const struct plan *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->worker_count; i++)
		n += p->workers[i].item_count > 0;
	return n;
}

static struct proto_env item_env(const struct plan *p, const struct plan_item *i)
{
	const struct item_settings *s = i->settings;
	struct proto_env env = {.seed = i->seed,
		.workers = s->facts.share.of,
		.clients = (uint32_t)s->facts.addresses,
		.name = s->name,
		.threads = threads_of(p),
		.common = &p->common[s->facts.index],
		.addr_len = s->server.len,
		.server = s->server,
		.server_port = s->facts.server_port,
		.captured_port = s->host.port,
		.timeout_ns = s->timeout_ns,
		.rate = i->replay.count ? PLAN_UNKNOWN_RATE : load_peak(&s->load),
		.dry = p->dry};

	config_env_follower(s, &env);
	return env;
}

// Bytes of the histograms of a follower.
static size_t marks_bytes(const struct proto *proto)
{
	return proto->follower ? proto_marks(proto) * sizeof(struct hist) : 0;
}

// Do all frames go to one server over UDP, so that they may differ in little?
static bool item_has_images(const struct plan_item *i)
{
	const struct item_facts *f = &i->settings->facts;

	return f->proto->images && !f->proto->router && !f->stream && !i->facts.any_port &&
	       f->asks == 1 && i->layout.paths.count == 1;
}

uint64_t plan_item_memory(const struct plan *p, const struct plan_item *i)
{
	const struct item_facts *f = &i->settings->facts;
	struct txn_shape shape = {
		.count = (uint32_t)fmin((double)slots_needed(p, i), 1u << 30),
		.window = outcomes_needed(p, i, longest_wait_ns(i)),
	};
	uint64_t each = sizeof(struct worker_item) + SNAPSHOTS * sizeof(struct item_snapshot) +
	                txn_bytes(&shape) + marks_bytes(f->proto) +
	                plan_conn_memory(i, shape.count, f->port_count * f->addresses),
		 images = 0;

	if (f->proto->steps)
		each += shape.count * sizeof(*i->run->step_due) +
		        (1 + SNAPSHOTS) * proto_steps(f->proto) * sizeof(struct step_books);
	if (item_has_images(i))
		images = images_size(f->proto, i->shared, FRAME_HEADER_MAX + plan_item_longest(i));
	return f->share.count * each + images + i->facts.memory * f->share.count / f->share.of;
}

// Without a router there is a path to each server, from the item's source ports.
static void item_layout(struct plan_item *i, struct arena *a)
{
	const struct proto *proto = i->settings->facts.proto;
	const struct field_list *further = &i->settings->servers;
	struct proto_path *path;

	i->layout = i->facts.layout;
	if (proto->router)
		return;
	path = arena_zalloc(a, (1 + further->count) * sizeof(*path));
	path->dst = i->settings->server;
	for (uint32_t n = 0; n < further->count; n++)
		path[1 + n].dst = ((const struct field_host *)further->items)[n].addr;
	i->layout.paths = (struct field_list){path, 1 + further->count};
	i->source_ports = i->settings->facts.ports;
}

// Keeps this box's part of the addresses that the item answers for; each has a worker in the fleet.
static void divide_owned(struct plan_item *i, struct arena *a, struct diag *d)
{
	const struct addr_range *r = i->layout.owned.items;
	const struct fleet_share share = i->settings->facts.share;
	uint64_t all = 0, count = 0;
	struct addr_range *out;
	uint8_t *homes;

	for (uint32_t n = 0; n < i->layout.owned.count; n++)
		all += r[n].count;
	if (!fleet_is_part(&share) || all == 0)
		return;
	if (all % share.of) {
		diag_error(d, i->settings, "",
			"%llu addresses of relays for the %u workers of the fleet (take a "
			"multiple of them: a server's reply must reach the box of the client)",
			(unsigned long long)all, share.of);
		return;
	}
	homes = arena_zalloc(a, all);
	out = arena_zalloc(a, (all / share.of * share.count) * sizeof(*out));
	all = 0;
	for (uint32_t n = 0; n < i->layout.owned.count; n++)
		for (uint64_t k = 0; k < r[n].count; k++, all++) {
			homes[all] = (uint8_t)(all % share.of);
			if (homes[all] - share.first < share.count)
				out[count++] = (struct addr_range){addr_nth(&r[n], k), 1};
		}
	i->homes = homes;
	i->layout.owned = (struct field_list){out, (uint32_t)count};
}

int plan_item_read(const struct plan *p, struct plan_item *i, struct arena *a, struct diag *d)
{
	const struct item_facts *f = &i->settings->facts;
	const struct replay_settings *replay = i->settings->load.replay;
	struct proto_work work;
	int rc = 0;

	if (!replay)
		return 0;
	if (!replay->filter)
		i->times_of = diag_path(d, &replay->file, a);
	if (!i->times_of || f->proto->fit) // fit needs their number
		rc = replay_read(&i->replay, replay, a, d);
	if (rc || !f->proto->fit)
		return rc;
	work = config_work(p->config, i->settings, i->replay.count);
	f->proto->fit(f->settings, &work);
	return 0;
}

// If messages and times come from the same file, the messages determine the times.
static int take_times(struct plan_item *i, struct arena *a, struct diag *d)
{
	const struct timestamps *t = i->facts.times;

	if (t && t->count)
		return replay_take(&i->replay, t);
	return i->replay.count ? 0 : replay_read(&i->replay, i->settings->load.replay, a, d);
}

int plan_item_setup(struct plan *p, struct plan_item *i, struct arena *a, struct diag *d)
{
	const struct item_facts *f = &i->settings->facts;
	struct proto_env env = item_env(p, i);

	env.times_of = i->times_of;
	i->shared = f->proto->setup(f->settings, &env, &i->facts, d);
	if (!i->shared || (i->times_of && take_times(i, a, d) < 0))
		return diag_count(d) ? -EINVAL : -ENOMEM;
	if (f->tls) {
		i->hands = plan_tls_client(i->settings, i->facts.harmless, a, d);
		if (!i->hands)
			return diag_count(d) ? -EINVAL : -ENOMEM;
	}
	if (f->https) {
		i->request = plan_https_request(i->settings, a, d);
		if (!i->request)
			return -EINVAL;
	}
	item_layout(i, a);
	divide_owned(i, a, d);
	return 0;
}

// Packets are not fragmented, except by the kernel.
static void check_length(const struct plan *p, const struct plan_item *i, struct diag *d)
{
	struct port_settings *ports = p->config->ports.items;
	const struct port_settings *port = i->settings->facts.port;
	uint32_t longest = plan_item_longest(i);
	uint32_t packet = longest + FRAME_UDP_LEN +
	                  (i->settings->server.len == 4 ? FRAME_IPV4_LEN : FRAME_IPV6_LEN);

	if (packet <= port->mtu || i->settings->facts.stream)
		return;
	if (i->settings->facts.sockets) // the kernel makes fragments
		ports[port - ports].longest = packet > port->longest ? packet : port->longest;
	else
		diag_error(d, i->settings, "",
			"a message may get %u bytes long, a packet of %u with its headers: more "
			"than the mtu of port %s, %llu (driver: socket sends it in fragments)",
			longest, packet, port->name, (unsigned long long)port->mtu);
}

static void check_tags(const struct plan_item *i, struct diag *d)
{
	const struct port_settings *port = i->settings->facts.port;
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

// Sockets send the kernel's frames only.
static void check_sockets(const struct plan_item *i, struct diag *d)
{
	const struct proto_path *paths = i->layout.paths.items;
	const struct field_list *further = i->settings->facts.further;
	const struct field_host *h = further->items;
	bool group = false, vlans = false;
	const struct addr *which = &i->settings->server;
	uint8_t mac[6];

	if (!i->settings->facts.sockets)
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
			    "relay, are lost with driver: socket (driver: af_packet receives both)",
			i->settings->name);
	if (vlans)
		diag_error(d, i->settings, "port", "driver: socket sends no VLAN tags");
}

// Replies must have a way to the addresses that the tester answers for.
static void check_owned(const struct plan_item *i, struct diag *d)
{
	const struct addr_range *r = i->layout.owned.items;

	for (uint32_t n = 0; n < i->layout.owned.count; n++) {
		struct addr last = addr_nth(&r[n], r[n].count - 1);

		config_check_range(i->settings, &r[n], d);
		if (config_check_way(i->settings, &r[n].first, &r[n], d))
			config_check_way(i->settings, &last, &r[n], d);
	}
}

void plan_item_check(const struct plan *p, const struct plan_item *i, struct diag *d)
{
	check_length(p, i, d);
	check_tags(i, d);
	check_owned(i, d);
	check_sockets(i, d);
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

static void snapshot_open(struct item_snapshot *s, const struct item_settings *i, struct arena *a)
{
	const struct proto *proto = i->facts.proto;

	if (proto->steps)
		s->steps = arena_zalloc(a, proto_steps(proto) * sizeof(*s->steps));
	if (i->facts.tcp)
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

// Lists the servers that its paths lead to, each once, without groups.
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

// Allocates a worker's state of servers, if there are several or requests are repeated.
static int item_servers(struct worker_item *run, const struct plan_item *i, struct arena *a)
{
	const struct proto_path *paths = i->layout.paths.items;
	struct addr *all = arena_zalloc(a, SERVERS_MAX * sizeof(*all));
	uint16_t *of_path = arena_zalloc(a, (1 + i->layout.paths.count) * sizeof(*of_path));
	uint32_t count = servers_of(i, all), asks = i->settings->facts.asks;
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
	const struct item_facts *f = &i->settings->facts;
	struct proto_env env = item_env(p, i);
	struct worker_item *run = plan_run(i, worker);
	uint32_t addresses = env.clients, events = p->config->events.count;
	int rc;

	if (plan_seats(i, worker)) // each connection is a client
		env.clients = plan_seats(i, worker);
	env.worker = f->share.first + worker;
	env.homes = i->homes;
	run->server = i->settings->server;
	run->server_port = f->server_port;
	run->frames = arena_zalloc(a, i->path_count * sizeof(*run->frames));
	run->waits = item_waits(p, i, a);
	run->sources = f->sources.items;
	run->source_ranges = f->sources.count;
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
	// For messages sent before the run.
	run->ctx.began_ms = clock_wall_ns(&p->clock, clock_time(&p->clock)) / 1000000;
	if (run->proto->open && run->proto->open(&run->ctx, &env) < 0)
		return -ENOMEM;
	run->opened = true;
	rc = item_slots(p, i, worker, addresses);
	return rc ? rc : item_servers(run, i, a);
}

// Makes the images, which the workers share.
static int item_images(struct plan_item *i)
{
	struct frame_vlans vlans = plan_vlans(i, 0);
	struct frame_path path = {
		.dst = i->paths[0].dst, .dst_port = i->run->server_port, .vlan_count = vlans.count};

	memcpy(path.vlans, vlans.ids, sizeof(path.vlans));
	if (!images_make(&i->images, i->settings->facts.proto, i->shared, &path))
		return -ENOMEM;
	for (uint32_t k = 0; i->images.bytes && k < i->worker_count; k++)
		plan_run(i, k)->images = &i->images;
	return 0;
}

int plan_item_open(struct plan *p, struct plan_item *i, struct arena *a)
{
	int rc = 0;

	for (uint32_t k = 0; k < i->worker_count && rc == 0; k++)
		rc = item_open(p, i, k, a);
	return rc == 0 && item_has_images(i) ? item_images(i) : rc;
}

static int item_free(const struct proto *proto, struct worker_item *run)
{
	plan_conn_close(run);
	if (run->servers)
		pages_free(run->servers->slots, run->txns.count * sizeof(*run->servers->slots));
	pages_free(run->txns.slots, run->txns.bytes);
	pages_free(run->step_due, run->txns.count * sizeof(*run->step_due));
	pages_free(run->steps, proto_steps(proto) * sizeof(*run->steps));
	pages_free(run->marks, marks_bytes(proto));
	return run->opened && proto->close ? proto->close(&run->ctx) : 0;
}

int plan_item_close(struct plan_item *i)
{
	const struct proto *proto = i->settings->facts.proto;
	int rc = 0;

	for (uint32_t k = 0; i->run && k < i->worker_count; k++) {
		int closed = item_free(proto, plan_run(i, k));

		rc = rc ? rc : closed;
	}
	hand_setup_free(i->hands);
	i->hands = NULL;
	images_free(&i->images);
	schedule_free(&i->schedule);
	timestamps_free(&i->replay);
	return rc;
}
