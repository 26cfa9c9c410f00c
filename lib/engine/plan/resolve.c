// SPDX-License-Identifier: BSD-3-Clause
// Resolves next hops; meanwhile answers ARP, ND and ping for the tester's addresses, as in a run.
// Path: cold. Management thread, while no worker runs on these ports.
#include "engine/plan/plan.h"
#include "engine/core/wire.h"
#include "engine/plan/plan_neighbours.h"
#include "engine/plan/resolve.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define ASK_EVERY_NS 200000000ull
#define ASK_TIMES    15
#define ANNOUNCE_MAX                                                                               \
	1024 // source addresses made known: a kernel's neighbour table holds no more by default
#define ANNOUNCE_SETTLE 20000000ull

static void resolve_nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

// Reads every queue of the item's port once: a reply may arrive at any.
static void listen_once(struct plan_item *i)
{
	uint16_t n = 0;

	for (uint32_t k = 0; k < i->worker_count; k++)
		n |= wire_listen(&i->worker[k].wire);
	if (n == 0)
		resolve_nap();
}

static int resolve_one(struct plan *p, struct plan_item *i, const struct next_hop *h,
	const volatile sig_atomic_t *signals)
{
	uint64_t every = clock_ticks(&p->clock, ASK_EVERY_NS);

	for (int n = 0; n < ASK_TIMES; n++) {
		uint64_t until = clock_time(&p->clock) + every;

		wire_ask(&i->worker->wire, &h->vlans, &h->from, &h->addr);
		do { // at least once, even if this thread was descheduled until then
			if (*signals)
				return -EINTR;
			listen_once(i);
			if (h->mac)
				return 0;
		} while (clock_time(&p->clock) < until);
	}
	return -ENOENT;
}

// A request from a source address announces its MAC to the next hop.
static void announce_sources(struct plan *p, struct plan_item *i, const struct next_hop *h)
{
	uint64_t until;
	uint32_t n = 0;

	for (uint32_t r = 0; r < i->run->source_ranges; r++) {
		for (uint64_t k = 0; k < i->run->sources[r].count && n < ANNOUNCE_MAX; k++, n++) {
			struct addr from = addr_nth(&i->run->sources[r], k);

			wire_ask(&i->worker->wire, &h->vlans, &from, &h->addr);
			if (n % 16 == 15)
				listen_once(i);
		}
	}
	until = clock_time(&p->clock) + clock_ticks(&p->clock, ANNOUNCE_SETTLE);
	while (clock_time(&p->clock) < until)
		listen_once(i);
}

static void explain(const struct plan_item *i, const struct next_hop *h, struct io_error *e)
{
	const struct port *port = i->port;
	char hop[ADDR_TEXT_SIZE], own[ADDR_TEXT_SIZE], vlan[64] = "no VLAN";

	if (h->vlans.count == 1)
		snprintf(vlan, sizeof(vlan), "VLAN %u", h->vlans.ids[0]);
	if (h->vlans.count == 2)
		snprintf(vlan, sizeof(vlan), "VLANs %u and %u", h->vlans.ids[0], h->vlans.ids[1]);
	snprintf(e->text, sizeof(e->text),
		"traffic.%s: no %s reply from %s on port %s (asked %d times in %.1f s as %s, %s). "
		"Is the server up, on this wire and in this subnet?",
		i->settings->name, h->addr.len == 4 ? "ARP" : "neighbour discovery",
		addr_format(&h->addr, hop, sizeof(hop)), port->settings->name, ASK_TIMES,
		ASK_TIMES * (double)ASK_EVERY_NS / 1e9,
		h->from.len ? addr_format(&h->from, own, sizeof(own)) : "a source address", vlan);
}

static int resolve_path(struct plan *p, struct plan_item *i, uint32_t path,
	const volatile sig_atomic_t *signals, struct io_error *e)
{
	struct next_hop *h;
	uint8_t mac[6] = {0}; // zero on sockets: the kernel knows next hops
	int rc = 0;

	if (i->port->sockets || plan_group_mac(&i->next_hops[path], mac)) {
		plan_address(i, path, mac);
		return 0;
	}
	h = &p->neighbours[i->worker->port].hops[i->run->hops[path]];
	if (h->mac == 0)
		rc = resolve_one(p, i, h, signals);
	if (rc < 0) {
		explain(i, h, e);
		return rc;
	}
	h->shown = h->mac;
	memcpy(mac, &h->shown, sizeof(mac));
	plan_address(i, path, mac);
	announce_sources(p, i, h);
	return 0;
}

int resolve_all(struct plan *p, const volatile sig_atomic_t *signals, struct io_error *e)
{
	int rc = 0;

	for (uint32_t n = 0; n < p->item_count; n++)
		for (uint32_t path = 0; path < p->items[n].path_count && rc == 0; path++)
			rc = *signals ? -EINTR : resolve_path(p, &p->items[n], path, signals, e);
	return rc;
}
