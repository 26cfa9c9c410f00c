// SPDX-License-Identifier: BSD-3-Clause
// Solicits routers. Meanwhile answers ARP, ND and ping, as in a run: the router may ask for the MAC
// of the client. Path: cold. Management thread.
#include "engine/plan/plan_neighbours.h"
#include "engine/core/wire.h"
#include "engine/run/around/solicit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

// An item on the VLANs of a path.
struct asking {
	struct plan_item *item;
	const struct proto_soliciting *how;
	struct frame_vlans vlans;
	uint64_t began, next; // ticks
	uint32_t asked;
	bool over;
	uint64_t heard_at; // tick; 0: no advertisement yet
	struct addr router;
	struct neigh_advert advert; // the last one
};

struct soliciting {
	struct plan *p;
	struct asking *list;
	uint32_t count;
};

static bool vlans_equal(const struct frame_vlans *a, const struct frame_vlans *b)
{
	return a->count == b->count && memcmp(a->ids, b->ids, a->count * sizeof(a->ids[0])) == 0;
}

static void add_item(struct soliciting *g, struct plan_item *i)
{
	for (uint32_t path = 0; path < i->path_count && i->layout.soliciting; path++) {
		struct asking one = {
			.item = i, .how = i->layout.soliciting, .vlans = plan_vlans(i, path)};
		bool known = false;

		for (uint32_t k = 0; k < g->count; k++)
			known |= g->list[k].item == i && vlans_equal(&g->list[k].vlans, &one.vlans);
		if (!known)
			g->list[g->count++] = one;
	}
}

static bool has_flags(const struct asking *one)
{
	return !one->how->flags || one->advert.flags & one->how->flags;
}

// Handles a packet of any queue of a port, for all items that solicit there: an advertisement is
// for the whole link, or for the soliciting client.
static void advertised(
	void *of, const struct wire *w, const struct frame *f, const struct neigh_advert *advert)
{
	struct soliciting *g = of;

	for (struct asking *one = g->list; one < g->list + g->count; one++) {
		if (one->over || one->item->worker->wire.port != w->port ||
			!frame_is_on(f, one->vlans.ids, one->vlans.count) ||
			(f->dst[0] != 0xff && !addr_bytes_equal(f->dst, one->how->src, 16)))
			continue;
		one->advert = *advert;
		one->router.len = 16;
		memcpy(one->router.bytes, f->src, 16);
		if (!one->heard_at)
			one->heard_at = clock_time(&g->p->clock);
		one->over = has_flags(one);
	}
}

static void listen_on(struct soliciting *g, bool on)
{
	for (uint32_t k = 0; k < g->count; k++)
		for (uint32_t n = 0; n < g->list[k].item->worker_count; n++) {
			struct wire *w = &g->list[k].item->worker[n].wire;

			w->advertised = on ? advertised : NULL;
			w->advertised_of = on ? g : NULL;
		}
}

static void listen_once(struct soliciting *g)
{
	uint16_t n = 0;

	for (uint32_t i = 0; i < g->p->worker_count; i++)
		if (g->p->workers[i].wire.advertised)
			n |= wire_listen(&g->p->workers[i].wire);
	if (n == 0)
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

// After an advertisement a host stops soliciting (RFC 4861 section 6.3.7). Another router may have
// the flags that this one lacks: the rest of the time is for it.
static void ask(struct soliciting *g, struct asking *one)
{
	uint64_t now = clock_time(&g->p->clock);

	if (one->over || now < one->next)
		return;
	if (one->heard_at || one->asked == one->how->tries) {
		one->over = true;
		return;
	}
	if (!wire_solicit(&one->item->worker->wire, &one->vlans, one->how->mac, one->how->src))
		return; // the device accepts it later
	if (one->asked++ == 0)
		one->began = now;
	one->next = now + clock_ticks(&g->p->clock, one->how->interval_ns);
}

static bool is_over(const struct soliciting *g)
{
	for (uint32_t k = 0; k < g->count; k++)
		if (!g->list[k].over)
			return false;
	return true;
}

static const char *vlans_text(const struct frame_vlans *v, struct arena *a)
{
	if (v->count == 0)
		return "none";
	return v->count == 1 ? arena_printf(a, "%u", v->ids[0])
	                     : arena_printf(a, "%u.%u", v->ids[0], v->ids[1]);
}

static struct counter_list prefixes_of(const struct neigh_advert *advert, struct arena *a)
{
	struct result_prefix *out = arena_zalloc(a, NEIGH_PREFIXES_MAX * sizeof(*out));
	char text[ADDR_TEXT_SIZE];

	for (uint8_t i = 0; i < advert->prefix_count; i++) {
		const struct neigh_prefix *p = &advert->prefixes[i];

		out[i] = (struct result_prefix){
			.prefix =
				arena_strdup(a, addr_format_prefix(&p->prefix, text, sizeof(text))),
			.on_link = p->on_link,
			.autonomous = p->autonomous,
			.valid_s = p->valid_s,
			.preferred_s = p->preferred_s};
	}
	return (struct counter_list){out, advert->prefix_count};
}

static struct result_router result_of(
	const struct soliciting *g, const struct asking *one, struct arena *a)
{
	const struct neigh_advert *advert = &one->advert;
	struct result_router out = {.item = one->item->settings->name,
		.port = one->item->port->settings->name,
		.vlans = vlans_text(&one->vlans, a),
		.asked = one->asked,
		.heard = one->heard_at != 0,
		.took_ns = NAN,
		.prefixes = prefixes_of(advert, a)};
	char text[ADDR_TEXT_SIZE];

	if (!out.heard)
		return out;
	out.took_ns = clock_ns(&g->p->clock, one->heard_at - one->began);
	out.router = arena_strdup(a, addr_format(&one->router, text, sizeof(text)));
	out.managed = advert->flags & NEIGH_MANAGED;
	out.other = advert->flags & NEIGH_OTHER;
	out.hop_limit = advert->hop_limit;
	out.lifetime_s = advert->lifetime_s;
	return out;
}

// An item whose needs are not met does not begin.
static int judge(const struct asking *one, const struct result_router *r, struct io_error *e)
{
	if (!one->how->needed || (one->heard_at && has_flags(one)))
		return 0;
	if (one->heard_at)
		snprintf(e->text, sizeof(e->text),
			"traffic.%s: router %s on port %s, VLANs %s, does not send hosts to it (M "
			"%u, "
			"O %u in its advertisement), so no client would begin. Set its flag, or "
			"router_solicitation.need: advert",
			r->item, r->router, r->port, r->vlans, r->managed, r->other);
	else
		snprintf(e->text, sizeof(e->text),
			"traffic.%s: no router advertisement on port %s, VLANs %s (asked %u "
			"times), so "
			"no client would begin. Is there a router on this wire? "
			"router_solicitation.need: nothing is sent without one",
			r->item, r->port, r->vlans, one->asked);
	return -ENOENT;
}

int solicit_all(struct plan *p, const volatile sig_atomic_t *signals, struct arena *a,
	struct counter_list *out, struct io_error *e)
{
	struct soliciting g = {.p = p};
	struct result_router *results;
	uint32_t paths = 0;
	int rc = 0;

	for (uint32_t i = 0; i < p->item_count; i++)
		paths += p->items[i].path_count;
	g.list = arena_zalloc(a, (paths + 1) * sizeof(*g.list));
	for (uint32_t i = 0; i < p->item_count; i++)
		add_item(&g, &p->items[i]);
	if (g.count == 0)
		return 0;
	listen_on(&g, true);
	while (!is_over(&g) && !*signals) {
		for (uint32_t k = 0; k < g.count; k++)
			ask(&g, &g.list[k]);
		listen_once(&g);
	}
	listen_on(&g, false);
	results = arena_zalloc(a, g.count * sizeof(*results));
	for (uint32_t k = 0; k < g.count; k++) {
		results[k] = result_of(&g, &g.list[k], a);
		rc = rc ? rc : judge(&g.list[k], &results[k], e);
	}
	*out = (struct counter_list){results, g.count};
	return *signals ? -EINTR : rc;
}
