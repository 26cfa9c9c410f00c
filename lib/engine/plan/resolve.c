// SPDX-License-Identifier: BSD-3-Clause
// Asks for next hops. Meanwhile answers ARP, ND and ping for the tester's addresses, as in a run.
// Path: cold. Management thread, while no worker runs on these ports.
#include "engine/plan/resolve.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "io/burst.h"

#define ASK_EVERY_NS 200000000ull
#define ASK_TIMES    15
#define ANNOUNCE_MAX                                                                               \
	1024 // source addresses made known: a kernel's neighbour table holds no more by default
#define ANNOUNCE_SETTLE 20000000ull

static void resolve_nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

// A next hop to resolve, on its VLANs.
struct question {
	const struct addr *hop;
	struct frame_vlans vlans;
};

static void resolve_ask(struct wire *w, const struct addr *from, const struct question *q)
{
	struct neigh_self self = w->self;
	struct rte_mbuf *m;
	uint32_t len;

	if (!burst_alloc(w->tx_pool, &m, 1))
		return;
	memcpy(self.vlans, q->vlans.ids, sizeof(self.vlans));
	self.vlan_count = q->vlans.count;
	len = neigh_ask(
		&self, from, q->hop, rte_pktmbuf_mtod(m, uint8_t *), rte_pktmbuf_tailroom(m));
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	if (len == 0 || burst_tx(w->port, w->queue, &m, 1) != 1)
		burst_free(&m, 1);
}

// Receive from one queue and answer requests for our addresses. *learnt: a frame had the target's
// MAC. Returns the number of frames.
static uint16_t resolve_listen(
	struct wire *w, const struct question *q, uint8_t mac[6], bool *learnt)
{
	struct rte_mbuf *pkts[BURST_MAX];
	uint16_t n = burst_rx(w->port, w->queue, pkts, w->burst);
	struct frame f;

	for (uint16_t i = 0; i < n; i++) {
		enum frame_kind kind;

		if (!wire_parse(w, pkts[i], &f, &kind))
			continue;
		if (q && frame_is_on(&f, q->vlans.ids, q->vlans.count) &&
			neigh_learn(kind, &f, q->hop, mac))
			*learnt = true;
		else
			wire_other(w, kind, &f);
	}
	if (n)
		burst_free(pkts, n);
	return n;
}

// Read every queue of the item's port once: a reply may come to any.
static bool listen_once(struct plan_item *i, const struct question *q, uint8_t mac[6])
{
	bool learnt = false;
	uint16_t n = 0;

	for (uint32_t k = 0; k < i->worker_count; k++)
		n |= resolve_listen(&i->worker[k].wire, q, mac, &learnt);
	if (n == 0)
		resolve_nap();
	return learnt;
}

// The port's own address in the subnet of the next hop. A link-local gateway may be in none: then
// the port's first address of the family, or the item's first source address.
static struct addr asking_address(const struct plan_item *i, const struct addr *hop)
{
	const struct port_settings *s = i->port->settings;
	const struct addr_prefix *own = s->addresses.items;
	struct addr best = {0};

	for (uint32_t n = 0; n < s->addresses.count; n++) {
		if (own[n].addr.len != hop->len)
			continue;
		if (addr_in_prefix(hop, &own[n]))
			return own[n].addr;
		if (best.len == 0)
			best = own[n].addr;
	}
	return best.len || i->run->source_ranges == 0 ? best : i->run->sources[0].first;
}

static int resolve_one(struct plan *p, struct plan_item *i, const struct question *q,
	const volatile sig_atomic_t *signals, uint8_t mac[6])
{
	struct wire *w = &i->worker->wire;
	struct addr from = asking_address(i, q->hop);
	uint64_t every = clock_ticks(&p->clock, ASK_EVERY_NS);

	for (int n = 0; n < ASK_TIMES; n++) {
		uint64_t until = clock_time(&p->clock) + every;

		resolve_ask(w, &from, q);
		do { // at least once, also when this thread was without its CPU until then
			if (*signals)
				return -EINTR;
			if (listen_once(i, q, mac))
				return 0;
		} while (clock_time(&p->clock) < until);
	}
	return -ENOENT;
}

// Asking in the name of a source address tells the next hop its MAC.
static void announce_sources(struct plan *p, struct plan_item *i, const struct question *q)
{
	struct wire *w = &i->worker->wire;
	uint64_t until;
	uint32_t n = 0;

	for (uint32_t r = 0; r < i->run->source_ranges; r++) {
		for (uint64_t k = 0; k < i->run->sources[r].count && n < ANNOUNCE_MAX; k++, n++) {
			struct addr from = addr_nth(&i->run->sources[r], k);

			resolve_ask(w, &from, q);
			if (n % 16 == 15)
				listen_once(i, NULL, NULL);
		}
	}
	until = clock_time(&p->clock) + clock_ticks(&p->clock, ANNOUNCE_SETTLE);
	while (clock_time(&p->clock) < until)
		listen_once(i, NULL, NULL);
}

static void explain(const struct plan_item *i, const struct question *q, struct io_error *e)
{
	const struct port *port = i->port;
	struct addr from = asking_address(i, q->hop);
	char hop[ADDR_TEXT_SIZE], own[ADDR_TEXT_SIZE], vlan[64] = "no VLAN";

	if (q->vlans.count == 1)
		snprintf(vlan, sizeof(vlan), "VLAN %u", q->vlans.ids[0]);
	if (q->vlans.count == 2)
		snprintf(vlan, sizeof(vlan), "VLANs %u and %u", q->vlans.ids[0], q->vlans.ids[1]);
	snprintf(e->text, sizeof(e->text),
		"traffic.%s: no %s reply from %s on port %s (asked %d times in %.1f s as %s, %s). "
		"Is the server up, on this wire and in this subnet?",
		i->settings->name, q->hop->len == 4 ? "ARP" : "neighbour discovery",
		addr_format(q->hop, hop, sizeof(hop)), port->settings->name, ASK_TIMES,
		ASK_TIMES * (double)ASK_EVERY_NS / 1e9,
		from.len ? addr_format(&from, own, sizeof(own)) : "a source address", vlan);
}

// A path of this or an item before has the same next hop: its frames begin with the MAC.
static bool known(const struct plan *p, const struct plan_item *i, uint32_t path, uint8_t mac[6])
{
	struct frame_vlans own = plan_vlans(i, path);

	for (const struct plan_item *k = p->items; k <= i; k++) {
		uint32_t count = k < i ? k->path_count : path;

		for (uint32_t n = 0; n < count && k->port == i->port; n++) {
			struct frame_vlans vlans = plan_vlans(k, n);

			if (!addr_equal(&k->next_hops[n], &i->next_hops[path]) ||
				vlans.count != own.count ||
				memcmp(vlans.ids, own.ids, sizeof(own.ids)) != 0)
				continue;
			memcpy(mac, k->run->frames[n].bytes, 6);
			return true;
		}
	}
	return false;
}

static int resolve_path(struct plan *p, struct plan_item *i, uint32_t path,
	const volatile sig_atomic_t *signals, struct io_error *e)
{
	const struct question q = {&i->next_hops[path], plan_vlans(i, path)};
	uint8_t mac[6];
	int rc = 0;

	if (plan_group_mac(q.hop, mac)) {
		plan_address(i, path, mac);
		return 0;
	}
	if (!known(p, i, path, mac))
		rc = resolve_one(p, i, &q, signals, mac);
	if (rc < 0) {
		explain(i, &q, e);
		return rc;
	}
	plan_address(i, path, mac);
	announce_sources(p, i, &q);
	return 0;
}

int resolve_all(struct plan *p, const volatile sig_atomic_t *signals, struct io_error *e)
{
	int rc = 0;

	for (uint32_t n = 0; n < p->item_count; n++)
		for (uint32_t path = 0; path < p->items[n].path_count && rc == 0; path++)
			rc = resolve_path(p, &p->items[n], path, signals, e);
	return rc;
}
