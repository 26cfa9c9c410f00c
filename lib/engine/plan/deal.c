// SPDX-License-Identifier: BSD-3-Clause
// Dealing, once, before the workers run. Path: cold. Management thread.
#include "engine/plan/deal.h"

#include <string.h>

#include "engine/core/pages.h"
#include "engine/plan/plan_internal.h"
#include "io/burst.h"
#include "io/sockets/sockets.h"
#include "io/steer.h"

#define LOOK_EVERY_NS 20000 // between checks of the other workers' progress

// The dealing of one port.
struct dealing {
	struct plan *plan;
	const struct port *port;
	struct worker *workers;
	uint32_t worker_count, item_count;
	struct port_entry *entries; // [65536]
	uint8_t *homes;             // [65536]
	uint32_t *dealt;            // source ports of each item so far
	struct addr *sources;       // the first source of each item
	bool *steered;              // items whose replies can be steered to a queue
	bool blind;                 // none can
};

// Claims the ports that a router names. Items may share a port (tag_items).
static void claim_ports(struct dealing *d, const struct plan_item *i)
{
	const uint16_t *ports = i->layout.ports.items;

	for (uint32_t n = 0; n < i->layout.ports.count; n++) {
		d->entries[ports[n]] = (struct port_entry){(uint16_t)i->place, 0};
		d->homes[ports[n]] = PORT_HOME_KEY;
	}
}

static struct steer_flow answer_to(
	const struct plan_item *i, const struct addr *source, uint32_t port)
{
	return (struct steer_flow){.src = i->settings->server.bytes,
		.dst = source->bytes,
		.addr_len = i->settings->server.len,
		.src_port = i->settings->facts.server_port,
		.dst_port = (uint16_t)port,
		.tcp = i->settings->facts.stream && !i->settings->facts.quic};
}

static struct addr first_source(const struct plan_item *i)
{
	const struct field_list *sources = &i->settings->facts.sources;
	const struct addr_range *r = sources->items;

	return sources->count ? r[0].first : i->settings->server;
}

// Do replies of all its servers to an address have the same place? The hash is linear, so one
// address decides for all.
static bool servers_agree(const struct steer *s, const struct plan_item *i, struct steer_flow f)
{
	const struct proto_path *paths = i->layout.paths.items;
	uint32_t place = steer_place(s, &f);
	uint8_t mac[6];

	for (uint32_t n = 0; n < i->layout.paths.count; n++) {
		f.src = paths[n].dst.bytes;
		if (plan_group_mac(&paths[n].dst, mac) || steer_place(s, &f) != place)
			return false;
	}
	return true;
}

// Does the queue of a reply depend on the port alone, and not on the source address? The hash is
// linear, so one port decides for all.
static bool is_steered(const struct dealing *d, const struct plan_item *i)
{
	const struct field_list *sources = &i->settings->facts.sources;
	const struct steer *s = &d->port->steer;
	const struct addr_range *r = sources->items;
	struct addr first = first_source(i);
	struct steer_flow f = answer_to(i, &first, 0);
	uint32_t place;

	if (d->blind || !steer_is_known(s) || i->source_ports.count == 0 || !servers_agree(s, i, f))
		return false;
	place = steer_place(s, &f);
	for (uint32_t n = 0; n < sources->count; n++)
		for (uint64_t k = 0; k < r[n].count; k++) {
			struct addr source = addr_nth(&r[n], k);

			f = answer_to(i, &source, 0);
			if (steer_place(s, &f) != place)
				return false;
		}
	return true;
}

static uint64_t owned_count(const struct plan_item *i)
{
	const struct addr_range *r = i->layout.owned.items;
	uint64_t count = 0;

	for (uint32_t n = 0; n < i->layout.owned.count; n++)
		count += r[n].count;
	return count;
}

// Returns the worker that replies reach, for each of the item's own addresses.
static const uint8_t *address_homes(
	const struct dealing *d, const struct plan_item *i, struct arena *a)
{
	const struct addr_range *r = i->layout.owned.items;
	const struct steer *s = &d->port->steer;
	uint64_t count = owned_count(i), at = 0;
	struct steer_flow f;
	uint8_t *homes;

	if (count == 0 || d->worker_count == 1 || !steer_is_known(s))
		return NULL;
	f = answer_to(i, &r->first, *(const uint16_t *)i->layout.ports.items);
	if (!servers_agree(s, i, f))
		return NULL;
	homes = arena_zalloc(a, count);
	for (uint32_t n = 0; n < i->layout.owned.count; n++)
		for (uint64_t k = 0; k < r[n].count; k++) {
			struct addr to = addr_nth(&r[n], k);

			f.dst = to.bytes;
			homes[at++] = (uint8_t)steer_queue(s, &f);
		}
	return homes;
}

struct deal_balance deal_balance(const struct plan_item *i, uint32_t workers)
{
	struct deal_balance b = {.addresses = owned_count(i), .home = 1};
	const struct fleet_share share = i->settings->facts.share;
	uint64_t each[PORT_MAX_QUEUES] = {0}, most = 0, home = 0;

	for (uint64_t n = 0; n < b.addresses; n++)
		each[i->homes && !fleet_is_part(&share) ? i->homes[n] : n % workers]++;
	for (uint32_t w = 0; w < workers; w++) {
		uint64_t all = each[w] * workers; // in parts of a worker's share

		home += all < b.addresses ? all : b.addresses;
		most = each[w] > most ? each[w] : most;
	}
	if (b.addresses)
		b.home = (double)home / (double)(b.addresses * workers);
	b.more = most * workers - b.addresses;
	return b;
}

// Returns the worker of its item that a source port is for; from worker_count on: another box's.
static uint32_t deal_home(const struct dealing *d, const struct plan_item *i, uint32_t port)
{
	struct steer_flow f = answer_to(i, &d->sources[i->place], port);
	const struct fleet_share share = i->settings->facts.ports_share;

	if (d->steered[i->place])
		return steer_queue(&d->port->steer, &f);
	return d->dealt[i->place] % share.of - share.first;
}

static void give_port(void *of, uint32_t item, uint32_t port)
{
	struct dealing *d = of;
	const struct plan_item *i = &d->plan->items[item];
	uint32_t home = deal_home(d, i, port);
	struct worker_item *run;
	uint16_t *ports;

	d->dealt[i->place]++;
	if (home >= d->worker_count)
		return;
	run = plan_run(i, home);
	ports = (uint16_t *)run->ports;
	d->homes[port] = (uint8_t)home;
	d->entries[port] = (struct port_entry){(uint16_t)i->place, (uint16_t)run->txns.ports};
	for (uint32_t lane = 0; lane <= run->txns.lane_mask; lane++)
		ports[run->txns.ports++] = (uint16_t)port;
}

// Steered ports are compared by the number that their worker has, others by the item's.
static uint64_t has_ports(void *of, uint32_t item, uint32_t port)
{
	const struct dealing *d = of;
	const struct plan_item *i = &d->plan->items[item];

	if (i->port != d->port || d->entries[port].item != PORT_NOBODY ||
		!config_wants_port(&i->source_ports, port))
		return CONFIG_NOT_WANTED;
	if (!d->steered[i->place])
		return d->dealt[i->place];
	return (uint64_t)plan_run(i, deal_home(d, i, port))->txns.ports * d->worker_count;
}

// Every source port belongs to one item, and there to one worker. So a reply's destination port
// identifies both, whatever else the items have in common.
static void deal_source_ports(struct dealing *d, struct arena *a)
{
	const struct config_dealing how = {d->plan->item_count, has_ports, give_port, d};

	for (uint32_t n = 0; n < 65536; n++) {
		d->entries[n].item = PORT_NOBODY;
		d->homes[n] = PORT_HOME_ANY;
	}
	for (uint32_t n = 0; n < how.items; n++) {
		struct plan_item *i = &d->plan->items[n];
		const struct fleet_share share = i->settings->facts.share;

		if (i->port != d->port)
			continue;
		claim_ports(d, i);
		i->homes = fleet_is_part(&share) ? i->homes : address_homes(d, i, a);
		d->sources[i->place] = first_source(i);
		d->steered[i->place] = is_steered(d, i);
	}
	config_deal_ports(&how, a);
}

// The few ports of an item may all hash to the same queue.
static bool everybody_has_ports(const struct dealing *d)
{
	for (uint32_t w = 0; w < d->worker_count; w++)
		for (uint32_t i = 0; i < d->item_count; i++)
			if (d->steered[i] && d->workers[w].items[i].txns.ports == 0)
				return false;
	return true;
}

static void clear_ports(struct dealing *d)
{
	for (uint32_t w = 0; w < d->worker_count; w++)
		for (uint32_t i = 0; i < d->item_count; i++)
			d->workers[w].items[i].txns.ports = 0;
	memset(d->dealt, 0, d->item_count * sizeof(*d->dealt));
}

// Routed items share ports: the upper bits of their keys identify worker and item.
static void tag_items(struct dealing *d, uint32_t worker, struct arena *a)
{
	struct fleet_share share = fleet_share(d->plan->config, d->port->settings);
	struct worker *w = &d->workers[worker];
	struct worker_item **tagged = arena_zalloc(a, (w->item_count + 1) * sizeof(*tagged));
	uint32_t bits;

	for (uint32_t i = 0; i < w->item_count; i++)
		if (w->items[i].proto->router)
			tagged[w->tagged_count++] = &w->items[i];
	w->tagged = tagged;
	w->tag_bits = txn_bits_for(w->tagged_count);
	w->before = share.first;
	w->tag_first = (share.first + worker) << w->tag_bits;
	bits = w->tag_bits + txn_bits_for(share.of);
	for (uint32_t i = 0; i < w->tagged_count; i++) {
		struct worker_item *it = tagged[i];

		it->tag_shift = it->proto->key_bits - bits;
		it->tag = bits ? (w->tag_first + i) << it->tag_shift : 0;
		it->txns.key_bits = it->tag_shift;
	}
}

// Returns the worker that a socket on a port is for, and the server if there is only one.
static struct socket_home socket_home_of(void *of, uint16_t port)
{
	const struct dealing *d = of;
	const struct plan_item *i = d->plan->items;
	uint8_t home = d->homes[port];

	if (d->item_count == 0) // the responder's
		return (struct socket_home){0};
	if (home >= PORT_HOME_KEY)
		return (struct socket_home){.queue = UINT16_MAX};
	while (i->port != d->port || i->place != d->entries[port].item)
		i++;
	return (struct socket_home){home, i->settings->servers.count ? NULL : &i->settings->server,
		i->settings->facts.server_port};
}

static size_t rings_size(uint32_t workers)
{
	return (size_t)workers * workers * sizeof(struct handoff_ring);
}

static int join_workers(struct dealing *d)
{
	uint32_t n = d->worker_count;
	struct handoff *all = pages_alloc(n * sizeof(*all));
	struct handoff_ring *rings = pages_alloc(rings_size(n));

	d->plan->hands[d->port - d->plan->ports] = (struct plan_hands){all, rings, n};
	if (!all || !rings)
		return -ENOMEM;
	handoff_init(all, rings, n, clock_ticks(&d->plan->clock, LOOK_EVERY_NS));
	for (uint32_t i = 0; i < n; i++)
		d->workers[i].hand = &all[i];
	return 0;
}

int deal_port(struct plan *p, const struct port *port, struct arena *a)
{
	uint32_t index = (uint32_t)(port - p->ports);
	struct worker *workers = &p->workers[p->first_worker[index]];
	uint32_t items = workers->item_count;
	struct dealing d = {.plan = p,
		.port = port,
		.workers = workers,
		.worker_count = p->first_worker[index + 1] - p->first_worker[index],
		.item_count = items,
		.entries = arena_zalloc(a, 65536 * sizeof(*d.entries)),
		.homes = arena_zalloc(a, 65536),
		.dealt = arena_zalloc(a, (items + 1) * sizeof(*d.dealt)),
		.sources = arena_zalloc(a, (items + 1) * sizeof(*d.sources)),
		.steered = arena_zalloc(a, (items + 1) * sizeof(*d.steered))};

	for (uint32_t w = 0; w < d.worker_count; w++) {
		for (uint32_t i = 0; i < items; i++)
			workers[w].items[i].ports = arena_zalloc(a, 65536 * sizeof(uint16_t));
		workers[w].by_port = d.entries;
		workers[w].home = d.homes;
		tag_items(&d, w, a);
	}
	deal_source_ports(&d, a);
	if (!everybody_has_ports(&d)) {
		d.blind = true;
		clear_ports(&d);
		deal_source_ports(&d, a);
	}
	if (port->sockets)
		sockets_deal(port->sockets, socket_home_of, &d);
	return d.worker_count > 1 && items ? join_workers(&d) : 0;
}

static void ring_empty(struct handoff_ring *ring)
{
	struct handoff_packet packets[HANDOFF_BURST];
	uint32_t n;

	while ((n = handoff_ring_take(ring, packets, HANDOFF_BURST)) > 0)
		for (uint32_t i = 0; i < n; i++)
			burst_free(&packets[i].mbuf, 1);
}

void deal_empty(const struct plan *p)
{
	for (uint32_t i = 0; i < p->port_count; i++)
		for (uint32_t n = 0; n < p->hands[i].count * p->hands[i].count; n++)
			ring_empty(&p->hands[i].rings[n]);
}

void deal_free(struct plan *p)
{
	for (uint32_t i = 0; i < p->port_count && p->hands; i++) {
		struct plan_hands *h = &p->hands[i];

		pages_free(h->all, h->count * sizeof(*h->all));
		pages_free(h->rings, rings_size(h->count));
	}
}
