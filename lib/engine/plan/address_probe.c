// SPDX-License-Identifier: BSD-3-Clause
// Probes for our own addresses; the packet path notices replies (core/wire.c). Path: cold.
// Management thread, while no worker runs on these ports.
#include "engine/plan/address_probe.h"
#include "engine/core/wire.h"
#include "engine/plan/plan_neighbours.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "io/driver/driver.h"

#define ROUNDS    2
#define ROUND_NS  100000000ull // after the last probe of a round
#define AT_ONCE   16           // probes back to back; then a pause
#define PAUSE_NS  1000000ull
#define TRIES     50 // attempts to send a probe that the device does not accept
#define LISTENERS (PORT_MAX * PORT_MAX_QUEUES)

struct probing {
	struct plan *p;
	const volatile sig_atomic_t *signals;
	struct address_probe *out;
	struct worker *listeners[LISTENERS];
	uint32_t count;
	uint32_t round;
	uint64_t left; // addresses of the port that may be asked for
	uint32_t sent; // since the last pause
};

static bool is_wanted(const struct port *port)
{
	const struct port_settings *s = port->settings;

	if (port->driver->sockets)
		return false; // the kernel owns them, and has probed them
	switch ((enum probe_when)s->address_probe) {
	case PROBE_AUTO: // no other host is on a ring, in a file, or on a port without a wire
		return port->driver->device != DEVICE_PEER && port->driver->device != DEVICE_NONE &&
		       (!port->driver->files || s->device);
	case PROBE_ALWAYS:
		return true;
	case PROBE_NEVER:
		break;
	}
	return false;
}

static void listen_all(struct probing *g, uint64_t until)
{
	do { // at least once, even if this thread was descheduled until then
		uint16_t n = 0;

		for (uint32_t i = 0; i < g->count; i++)
			n |= wire_listen(&g->listeners[i]->wire);
		if (n == 0)
			nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	} while (clock_time(&g->p->clock) < until);
}

static void listen_for(struct probing *g, uint64_t ns)
{
	listen_all(g, clock_time(&g->p->clock) + clock_ticks(&g->p->clock, ns));
	g->sent = 0;
}

// Returns the first worker that noticed a conflict, or NULL.
static const struct worker *conflict_of(const struct probing *g)
{
	for (uint32_t i = 0; i < g->count; i++)
		if (g->listeners[i]->wire.conflict.addr.len)
			return g->listeners[i];
	return NULL;
}

static bool is_over(const struct probing *g)
{
	return *g->signals || conflict_of(g);
}

static bool probe_address(
	struct probing *g, struct worker *w, const struct addr *a, const struct frame_vlans *vlans)
{
	const struct addr nobody = {.len = a->len};

	for (int i = 0; i < TRIES; i++) {
		if (wire_ask(&w->wire, vlans, &nobody, a))
			return true;
		listen_for(g, PAUSE_NS);
	}
	return false;
}

static void probe_range(struct probing *g, struct worker *w, const struct addr_range *r,
	const struct frame_vlans *vlans)
{
	uint64_t n = r->count < g->left ? r->count : g->left, k = 0;

	while (k < n && !is_over(g)) {
		struct addr a = addr_nth(r, k);

		if (!probe_address(g, w, &a, vlans))
			break;
		k++;
		if (++g->sent == AT_ONCE)
			listen_for(g, PAUSE_NS);
	}
	g->left -= k;
	if (g->round == 0) {
		g->out->asked += k;
		g->out->left_out += r->count - k;
	}
}

static bool vlans_are_new(const struct plan_item *i, uint32_t path)
{
	struct frame_vlans own = plan_vlans(i, path);

	for (uint32_t k = 0; k < path; k++) {
		struct frame_vlans v = plan_vlans(i, k);

		if (v.count == own.count && memcmp(v.ids, own.ids, sizeof(v.ids)) == 0)
			return false;
	}
	return true;
}

// Probes the addresses of an item besides its port's, on the VLANs of each of its paths.
static void probe_item(struct probing *g, struct worker *w, const struct plan_item *i)
{
	const struct field_list lists[] = {plan_given(i), i->layout.owned};

	for (uint32_t path = 0; path < i->path_count; path++) {
		struct frame_vlans vlans = plan_vlans(i, path);

		if (!vlans_are_new(i, path))
			continue;
		for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++) {
			const struct addr_range *r = lists[l].items;

			for (uint32_t n = 0; n < lists[l].count; n++)
				probe_range(g, w, &r[n], &vlans);
		}
	}
}

static void probe_port(struct probing *g, uint32_t port)
{
	const struct port *of = &g->p->ports[port];
	const struct addr_prefix *own = of->settings->addresses.items;
	struct worker *w = &g->p->workers[g->p->first_worker[port]];
	struct frame_vlans vlans = {.count = of->vlan_count};

	memcpy(vlans.ids, of->vlans, sizeof(vlans.ids));
	g->left = ADDRESS_PROBE_MAX;
	for (uint32_t n = 0; n < of->settings->addresses.count; n++)
		probe_range(g, w, &(struct addr_range){own[n].addr, 1}, &vlans);
	for (uint32_t i = 0; i < g->p->item_count; i++)
		if (g->p->items[i].port == of)
			probe_item(g, w, &g->p->items[i]);
}

static void listen_on(struct probing *g, uint32_t port)
{
	for (uint32_t k = g->p->first_worker[port]; k < g->p->first_worker[port + 1]; k++) {
		g->listeners[g->count++] = &g->p->workers[k];
		g->p->workers[k].wire.tentative = true;
	}
}

static void explain(const struct plan *p, const struct worker *w, struct io_error *e)
{
	const struct neigh_claim *c = &w->wire.conflict;
	const char *port = p->ports[w->port].settings->name;
	char addr[ADDR_TEXT_SIZE], mac[ADDR_TEXT_SIZE];

	addr_format(&c->addr, addr, sizeof(addr));
	addr_format_mac(c->mac, mac, sizeof(mac));
	snprintf(e->text, sizeof(e->text),
		"port %s: the host %s %s %s, an address of the tester, so one of the two would "
		"lose its replies. Choose another address, or remove it from that host "
		"(ports.%s.address_probe: never skips this check)",
		port, mac, c->probe ? "is about to take" : "has", addr, port);
}

int address_probe_run(struct plan *p, const volatile sig_atomic_t *signals,
	struct address_probe *out, struct io_error *e)
{
	struct probing g = {.p = p, .signals = signals, .out = out};
	uint64_t start = clock_time(&p->clock);
	const struct worker *conflict;

	*out = (struct address_probe){0};
	for (uint32_t i = 0; i < p->port_count; i++)
		if (is_wanted(&p->ports[i]))
			listen_on(&g, i);
	for (; g.round < ROUNDS && g.count && !is_over(&g); g.round++) {
		for (uint32_t i = 0; i < p->port_count && !is_over(&g); i++)
			if (is_wanted(&p->ports[i]))
				probe_port(&g, i);
		for (uint64_t ns = 0; ns < ROUND_NS && out->asked && !is_over(&g); ns += PAUSE_NS)
			listen_for(&g, PAUSE_NS);
	}
	for (uint32_t i = 0; i < g.count; i++) {
		g.listeners[i]->wire.tentative = false;
		memset(&g.listeners[i]->wire.counters, 0, sizeof(struct wire_counters));
	}
	out->seconds = clock_ns(&p->clock, clock_time(&p->clock) - start) / 1e9;
	conflict = conflict_of(&g);
	if (*signals)
		return -EINTR;
	if (!conflict)
		return 0;
	explain(p, conflict, e);
	return -EADDRINUSE;
}
