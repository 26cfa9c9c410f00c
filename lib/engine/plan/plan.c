// SPDX-License-Identifier: BSD-3-Clause
// Building the plan: workers, items, ports and times. The hot structs are written in the files of
// the plan and nowhere else on the control side. Not here: ports and CPUs (plan_start.c), an item's
// tables (plan_item.c), next hops (plan_neighbours.c), the responder (plan_responder.c).
// Path: cold. Management thread.
#include "engine/plan/plan.h"

#include "engine/core/reassembly.h"
#include "proto/table.h"
#include "io/driver/driver.h"
#include "engine/plan/deal.h"
#include "engine/plan/plan.h"
#include "engine/plan/plan_internal.h"
#include "engine/plan/plan_tls.h"
#include "engine/core/worker/worker_rx.h"
#include "io/sockets/sockets.h"

#define VLANS_AT        14       // of the first VLAN in a frame, behind the first EtherType
#define LANES           32       // of a source port on a socket: a burst
#define ANSWER_GAP_NS   10000    // of a worker's answers to ARP, ND and ping, on average
#define ANSWER_SAVED_NS 40000000 // so 4 000 answers may leave back to back after a quiet time

static const struct port *item_port(const struct plan *p, const struct item_settings *i)
{
	const struct port_settings *s = i->facts.port;

	for (uint32_t n = 0; n < p->port_count; n++)
		if (strcmp(p->ports[n].settings->name, s->name) == 0)
			return &p->ports[n];
	return NULL;
}

static void fill_wire(const struct plan *p, struct wire *w, const struct port *port, uint32_t queue,
	struct field_list owned)
{
	*w = (struct wire){
		.port = port->queue[queue].device,
		.queue = port->queue[queue].number,
		.burst = port->burst,
		.reports_checksums = port->reports_checksums,
		.checksum_offload = port->checksum_offload,
		.tx_pool = port->tx_pool[queue],
		.clock = &p->clock,
		.answer_gap = clock_ticks(&p->clock, ANSWER_GAP_NS),
		.answer_saved = clock_ticks(&p->clock, ANSWER_SAVED_NS),
		.self = {.vlan_count = port->vlan_count,
			.owned = owned.items,
			.owned_count = owned.count},
	};
	memcpy(w->self.mac, port->mac, 6);
	memcpy(w->self.vlans, port->vlans, sizeof(w->self.vlans));
}

// Returns the addresses that the tester answers for on a port: its own and its items' sources.
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
		const struct field_list more[] = {
			plan_given(&p->items[i]), p->items[i].layout.owned};

		for (size_t l = 0; l < 2 && p->items[i].port == port; l++)
			for (uint32_t k = 0; k < more[l].count; k++)
				out[n++] = ((const struct addr_range *)more[l].items)[k];
	}
	return (struct field_list){out, n};
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

// A socket accepts several packets at once, so consecutive transactions use the same one.
static uint32_t lanes_of(const struct plan_item *item)
{
	const struct field_range *r = item->source_ports.items;
	uint64_t ports = 0;

	for (uint32_t n = 0; n < item->source_ports.count; n++)
		ports += r[n].last - r[n].first + 1;
	if (!item->port->driver->sockets || item->settings->facts.stream || ports == 0 ||
		ports > 65536 / LANES)
		return 1;
	return LANES;
}

// A follower runs on the workers of the item that it follows.
static void place_follower(struct plan *p, struct plan_item *item, struct arena *a)
{
	const struct item_settings *of = item->settings->facts.followed;
	struct plan_item *other;

	if (!of)
		return;
	other = &p->items[of - (const struct item_settings *)p->config->traffic.items];
	for (uint32_t k = 0; k < item->worker_count; k++) {
		struct worker_item *run = plan_run(item, k), *followed = plan_run(other, k);

		run->follows = followed;
		run->ctx.followed = &followed->ctx;
		if (!followed->followers)
			followed->followers =
				arena_zalloc(a, p->item_count * sizeof(*followed->followers));
		followed->followers[followed->follower_count++] = run;
	}
}

static void place_item(struct plan_item *item)
{
	uint32_t lanes = lanes_of(item);

	for (uint32_t k = 0; k < item->worker_count; k++) {
		struct worker_item *run = plan_run(item, k);

		run->proto = item->settings->facts.proto;
		run->router = run->proto->router;
		run->asks = load_is_own(&item->settings->load);
		run->begin = run->proto->begin;
		run->any_port = item->facts.any_port;
		run->vlan_at = (uint8_t)(VLANS_AT + 4 * item->port->vlan_count);
		run->txns.key_bits = item->settings->facts.key_bits - txn_bits_for(lanes);
		run->txns.lane_mask = lanes - 1;
		run->more = item->layout.more;
		item->worker[k].spares = max_u16(item->worker[k].spares, 1 + item->layout.more);
	}
	item->run = plan_run(item, 0);
}

// All workers of a port run each of its items, in the order of the file.
static void place_items(struct plan *p, struct arena *a)
{
	for (uint32_t i = 0; i < p->item_count; i++) {
		struct plan_item *item = &p->items[i];
		uint32_t port, first;

		item->port = item_port(p, item->settings);
		port = (uint32_t)(item->port - p->ports);
		first = p->first_worker[port];
		item->worker = &p->workers[first];
		item->worker_count = p->first_worker[port + 1] - first;
		if (item->port->sockets && item->settings->facts.free_ports)
			item->source_ports = sockets_ports(item->port->sockets, i);
		plan_next_hops(item, a);
		item->place = item->worker->item_count;
		for (uint32_t k = 0; k < item->worker_count; k++)
			item->worker[k].item_count++;
	}
	for (uint32_t n = 0; n < p->worker_count; n++)
		place_worker(&p->workers[n], a);
	for (uint32_t i = 0; i < p->item_count; i++)
		place_item(&p->items[i]);
	for (uint32_t i = 0; i < p->item_count; i++)
		place_follower(p, &p->items[i], a);
}

static bool shares_cpu(const struct plan *p, uint32_t i)
{
	const struct lcore_plan *l = &p->lcores;

	if (l->worker_cpus[i] == LCORE_ANY_CPU)
		return l->worker_count > (uint32_t)CPU_COUNT_S(CPUS_SET_LEN, &p->cpus.allowed.set);
	for (uint32_t k = 0; k < l->worker_count; k++)
		if (k != i && l->worker_cpus[k] == l->worker_cpus[i])
			return true;
	return false;
}

static int read_item(struct plan *p, struct plan_item *i, struct arena *a, struct diag *d)
{
	int rc = plan_item_read(p, i, a, d);

	if (rc == 0)
		rc = plan_item_setup(p, i, a, d);
	if (rc == 0)
		plan_item_check(p, i, d);
	return rc == 0 && diag_count(d) ? -EINVAL : rc;
}

int plan_read_input(
	struct plan *p, const struct config *c, bool respond_only, struct arena *a, struct diag *d)
{
	const struct item_settings *settings = c->traffic.items;
	int rc = 0, one;

	*p = (struct plan){.config = c,
		.responder_port = -1,
		.responder_shared = arena_zalloc(a, proto_count() * sizeof(void *)),
		.common = arena_zalloc(a, proto_count() * sizeof(void *))};
	p->item_count = respond_only ? 0 : c->traffic.count;
	p->items = arena_zalloc(a, (p->item_count + 1) * sizeof(*p->items));
	for (uint32_t i = 0; i < p->item_count; i++) {
		p->items[i].settings = &settings[i];
		p->items[i].seed = rand_hash(c->run.seed + i * 0x100000001ull);
		one = read_item(p, &p->items[i], a, d);
		rc = rc ? rc : one;
	}
	if (c->responder && rc == 0)
		rc = plan_responder_setup(p, a, d);
	return rc;
}

static bool is_among(const struct frame_vlans *sets, uint32_t count, const struct frame_vlans *one)
{
	for (uint32_t i = 0; i < count; i++)
		if (sets[i].count == one->count &&
			memcmp(sets[i].ids, one->ids, sizeof(one->ids)) == 0)
			return true;
	return false;
}

// Collects the VLANs of clients besides the port's own, each once.
static void place_vlans(struct plan *p, const struct port *port, struct worker *w, struct arena *a)
{
	struct frame_vlans *more;
	uint32_t paths = 0;

	for (uint32_t i = 0; i < p->item_count; i++)
		paths += p->items[i].path_count;
	more = arena_zalloc(a, (paths + 1) * sizeof(*more));
	for (uint32_t i = 0; i < p->item_count; i++)
		for (uint32_t n = 0; n < p->items[i].path_count && p->items[i].port == port; n++)
			if (p->items[i].paths[n].vlan_count) {
				const struct frame_vlans v = plan_vlans(&p->items[i], n);

				w->wire.any_vlan |= p->items[i].paths[n].vlans_vary;
				if (!is_among(more, w->wire.more_count, &v))
					more[w->wire.more_count++] = v;
			}
	w->wire.more = more;
}

// A worker polls on a CPU of its own. If the threads could use more CPU time than there is, polling
// would take time from the others.
static void plan_idle(struct plan *p, uint32_t i)
{
	struct worker *w = &p->workers[i];
	uint32_t cpu = p->lcores.worker_cpus[i], threads = p->worker_count + 1;
	bool isolated = cpu < CPUS_MAX && CPU_ISSET_S(cpu, CPUS_SET_LEN, &p->cpus.isolated.set);
	int allowed = CPU_COUNT_S(CPUS_SET_LEN, &p->cpus.allowed.set);

	w->idle = (struct idle){
		.sleeps = !p->clock.set && // a stopped clock never wakes it
	                  (p->config->host.idle == IDLE_SLEEP ||
				  (p->config->host.idle == IDLE_AUTO && !isolated)),
		.spins = p->cpus.quota >= threads && (uint32_t)allowed >= threads,
		.stall = clock_ticks(&p->clock, PLAN_STALL_NS),
	};
	if (!p->dry)
		w->idle.wait = wait_of(&p->ports[w->port], w->number);
}

static int build_worker(struct plan *p, struct worker *w, struct arena *a)
{
	const struct port *port = &p->ports[w->port];
	uint32_t index = (uint32_t)(w - p->workers);

	fill_wire(p, &w->wire, port, w->number, owned_on(p, port, a));
	w->stamps = p->dry ? (struct stamps){0} : stamps_of(port, (uint16_t)w->number);
	w->spares = max_u16(w->spares, w->wire.burst);
	w->cpu = p->lcores.worker_cpus[index];
	w->yields = shares_cpu(p, index);
	w->clock = &p->clock;
	w->phase = &p->phase;
	w->wire.self.others = worker_owns;
	w->wire.self.others_of = w;
	place_vlans(p, port, w, a);
	w->wire.reassembly = p->dry ? NULL : reassembly_new(&p->clock);
	return p->dry || w->wire.reassembly ? 0 : -ENOMEM;
}

static int schedule_build_item(struct plan *p, struct plan_item *i)
{
	const struct load_settings *l = &i->settings->load;
	struct schedule_base base = {.hz = p->clock.hz,
		.lead_ns = load_skips_warmup(l) ? 0 : p->config->run.warmup_ns,
		.seed = rand_hash(i->seed),
		.times_ns = i->replay.ns,
		.times_count = i->replay.count};

	return load_is_open(l) ? schedule_build(&i->schedule, l, &base) : 0;
}

int plan_build(struct plan *p, struct arena *a)
{
	int rc = 0;

	if (p->dry) // ticks are nanoseconds of the schedule
		p->clock = (struct clock){.hz = 1e9};
	else if (!p->clock.set)
		clock_calibrate(&p->clock, 30);
	place_items(p, a);
	for (uint32_t i = 0; i < p->worker_count && rc == 0; i++)
		rc = build_worker(p, &p->workers[i], a);
	for (uint32_t i = 0; i < p->port_count && rc == 0; i++)
		rc = deal_port(p, &p->ports[i], a);
	for (uint32_t i = 0; i < p->worker_count && rc == 0; i++)
		plan_idle(p, i);
	for (uint32_t i = 0; i < p->item_count && rc == 0; i++)
		rc = plan_item_open(p, &p->items[i], a);
	if (rc == 0)
		plan_neighbours(p, a);
	for (uint32_t i = 0; i < p->item_count && rc == 0; i++)
		rc = schedule_build_item(p, &p->items[i]);
	rc = rc ? rc : plan_responder_open(p);
	if (rc || p->dry) // no handshake is made
		return rc;
	rc = plan_keylog_open(p);
	return rc ? rc : plan_crew_start(p);
}

void plan_address(struct plan_item *i, uint32_t n, const uint8_t mac[6])
{
	struct frame_vlans vlans = plan_vlans(i, n);
	struct frame_path path = {
		.dst = i->paths[n].dst,
		.dst_port = i->run->server_port,
		.vlan_count = vlans.count,
		.tcp = i->run->stream,
	};

	memcpy(path.src_mac, i->port->mac, 6);
	memcpy(path.dst_mac, mac, 6);
	memcpy(path.vlans, vlans.ids, sizeof(path.vlans));
	for (uint32_t k = 0; k < i->worker_count; k++) {
		struct frame_template *t = &plan_run(i, k)->frames[n];

		frame_template_build(t, &path);
		t->checksum_offload = i->port->checksum_offload;
		plan_conn_address(plan_run(i, k), &path, i->port->checksum_offload);
	}
}

// Returns the first due time from `from` on; for a shape in progress, an early estimate.
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
	const struct fleet_share all = i->settings->facts.share;
	const struct pace_share share = {all.first + worker, all.of};
	struct worker_item *run = plan_run(i, worker);
	struct pace *pace = &run->pace;
	struct pace_closed closed = {.outstanding = l->outstanding,
		.start = t->start,
		.stop = PACE_NEVER,
		.ramp_up = clock_ticks(&p->clock, l->ramp_up_ns)};

	run->ctx.began_ms = clock_wall_ns(&p->clock, t->start) / 1000000;
	pace->left = UINT64_MAX;
	pace->measure = t->measure;
	if (l->catch_up_ns && l->catch_up_ns != UINT64_MAX)
		pace->behind = clock_ticks(&p->clock, l->catch_up_ns);
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
	run->events = &p->events;
	run->gap_least = p->events.count ? clock_ticks(&p->clock, PLAN_GAP_NS) : UINT64_MAX;
}

_Static_assert(WORKER_EVENTS == EVENTS_MAX, "all events that a file may have");

void plan_schedule(struct plan *p, uint64_t start)
{
	const struct run_settings *run = &p->config->run;
	const struct event_settings *events = p->config->events.items;
	struct run_times t = {
		.start = start,
		.measure = start + clock_ticks(&p->clock, run->warmup_ns),
		.grace = clock_ticks(&p->clock, PLAN_GRACE_NS),
		.interval = clock_ticks(&p->clock, run->interval_ns),
	};

	t.end = t.measure + clock_ticks(&p->clock, run->duration_ns);
	p->events.count = p->config->events.count;
	for (uint32_t i = 0; i < p->events.count; i++)
		p->events.at[i] = t.measure + clock_ticks(&p->clock, events[i].at_ns);
	p->events.at[p->events.count] = UINT64_MAX;
	for (uint32_t i = 0; i < p->worker_count; i++) {
		p->workers[i].times = t;
		p->workers[i].stall = clock_ticks(&p->clock, PLAN_STALL_NS);
		p->workers[i].look_every = clock_ticks(&p->clock, PLAN_LOOK_NS);
		p->workers[i].ms_scale = clock_ms_scale(&p->clock);
		hist_clear(&p->workers[i].passes);
		hist_clear(&p->workers[i].wake);
	}
	for (uint32_t i = 0; i < p->item_count; i++)
		for (uint32_t k = 0; k < p->items[i].worker_count; k++)
			schedule_run(p, &p->items[i], k);
}

int plan_free(struct plan *p)
{
	int rc = 0;

	plan_crew_stop(p);
	for (uint32_t i = 0; i < p->item_count; i++) {
		int closed = plan_item_close(&p->items[i]);

		rc = rc ? rc : closed;
	}
	for (uint32_t i = 0; i < p->item_count; i++)
		if (p->items[i].shared)
			p->items[i].settings->facts.proto->teardown(p->items[i].shared);
	plan_keylog_close(p);
	plan_responder_close(p);
	deal_free(p);
	for (uint32_t i = 0; i < p->worker_count; i++)
		reassembly_free(p->workers[i].wire.reassembly);
	return rc;
}
