// SPDX-License-Identifier: BSD-3-Clause
// The automatic number of an item's clients: enough for the load, limited by identities, addresses
// and memory. Also how long clients and addresses last. Path: cold. Management thread.

#include "proto/dhcp/client/dhcp_supply.h"

#include <math.h>

#define AUTO_MAX     100000000
#define UNKNOWN_RATE 100000 // exchanges per second for loads without a known rate
#define AGAIN_MAX    65536  // in flight, for loads without a known number
#define AGAIN_SPARE  256    // clients that start over, in addition to those in flight
#define FASTEST_RATE 1e7    // exchanges per second, more than in any run
#define AGAIN_PARTS  2      // given numbers may use this multiple of the memory for automatic ones

// Share of exchanges that move a client from one state to the other.
static double share_of(const struct dhcp_family *f, const struct dhcp_settings *s,
	enum dhcp_client_state from, enum dhcp_client_state to)
{
	double sum = 0;

	for (uint32_t e = 0; e < f->exchanges; e++)
		if (f->starts[e].from == from && f->starts[e].to == to)
			sum += dhcp_mix_share(
				dhcp_shares(s), f->exchanges, (uint32_t)s->exchange, e);
	return sum;
}

// Average number of clients used up per exchange: gained leases minus leases given back.
static double used_by_one(const struct dhcp_family *f, const struct dhcp_settings *s, bool rested)
{
	double given = share_of(f, s, DHCP_IS_BOUND, DHCP_IS_FREE) +
	               (rested ? share_of(f, s, DHCP_IS_BOUND, DHCP_IS_RESTING) : 0);

	return fmax(share_of(f, s, DHCP_IS_FREE, DHCP_IS_BOUND) - given, 0);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

// Clients for all exchanges of the run. A rest after a DECLINE may last until the end.
static double wanted(
	const struct dhcp_family *f, const struct dhcp_settings *s, const struct proto_work *w)
{
	double begun = w->begun == UINT64_MAX ? UNKNOWN_RATE * w->seconds : (double)w->begun;
	bool any_free = share_of(f, s, DHCP_IS_FREE, DHCP_IS_FREE) > 0 ||
	                share_of(f, s, DHCP_IS_FREE, DHCP_IS_BOUND) > 0;
	double used = used_by_one(f, s, false) * begun;

	double in_flight = (double)w->in_flight;

	if (s->again) {
		used = AGAIN_SPARE;
		in_flight = w->begun == UINT64_MAX ? fmin(in_flight, AGAIN_MAX) : in_flight;
	}
	return any_free ? fmin(begun, ceil(used) + in_flight) : 0;
}

uint64_t dhcp_room(const struct field_list *ranges)
{
	const struct addr_range *r = ranges->items;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < ranges->count; i++)
		sum += r[i].count;
	return ranges->count ? sum : UINT64_MAX;
}

uint64_t dhcp_most(const struct dhcp_family *f, const struct dhcp_settings *s)
{
	return least(f->identities(s), AUTO_MAX);
}

double dhcp_extra(const struct dhcp_settings *s)
{
	double sum = 0;

	for (uint32_t e = 0; s->mix && e < DHCP_MIX_MAX; e++)
		sum += fmax(-s->mix->share[e], 0);
	return sum;
}

// Round up to equal shares: workers take turns, so one may start one more.
static uint64_t for_all(uint64_t n, const struct proto_work *w)
{
	n = (n + w->workers - 1) / w->workers * w->workers;
	return n > w->workers ? n : w->workers;
}

static uint64_t fit_memory(const struct dhcp_family *f, const struct dhcp_settings *s, uint64_t n,
	uint64_t memory, uint32_t workers)
{
	bool keys = f->addr_len == 16;
	uint64_t each = f->each(s, false) + f->each(s, true);

	while (memory && n > workers &&
		dhcp_clients_memory((uint32_t)n, f->client_size, true) + n * sizeof(uint32_t) +
				dhcp_leases_memory(n * each, keys) >
			memory)
		n -= n / 8 + 1;
	return n;
}

// The number of given clients with which exchanges can start. If clients start over, fewer suffice:
// each is reused sooner.
static uint64_t useful(
	const struct dhcp_family *f, const struct dhcp_settings *s, const struct proto_work *w)
{
	double begun = w->begun == UINT64_MAX ? FASTEST_RATE * w->seconds : (double)w->begun;
	uint64_t n;

	if (s->life) // each client acts from the start
		return 0;
	n = least(for_all((uint64_t)fmin(begun, UINT32_MAX), w), s->clients);
	return s->again ? fit_memory(f, s, n, AGAIN_PARTS * w->memory, w->workers) : n;
}

void dhcp_fit(const struct dhcp_family *f, struct dhcp_settings *s, const struct proto_work *w)
{
	uint64_t n;

	for (uint32_t e = 0; s->mix && e < DHCP_MIX_MAX; e++)
		s->mix->part[e] = w->rate > 0 ? fmax(-s->mix->share[e], 0) / w->rate : 0;
	s->useful = s->clients == UINT64_MAX ? 0 : useful(f, s, w);
	if (s->life && s->clients != UINT64_MAX) {
		struct dhcp_life_plan p;

		dhcp_life_plan(&p, s->life, &f->life, (uint8_t)s->exchange, (uint32_t)s->clients);
		dhcp_life_foresee(s->life, &p, w->seconds);
	}
	n = (uint64_t)fmin(wanted(f, s, w), AUTO_MAX);

	n = least(for_all(n, w), dhcp_most(f, s));
	n = least(n, f->accepted(s));
	n = fit_memory(f, s, n, w->memory, w->workers);
	s->automatic = n > w->workers ? n : w->workers;
}

double dhcp_uses(const struct dhcp_family *f, const struct dhcp_settings *s)
{
	return s->life ? 0 : used_by_one(f, s, true); // a life obtains and returns the same leases
}

double dhcp_leases_used(const struct dhcp_family *f, const struct dhcp_settings *s, bool prefixes)
{
	return dhcp_uses(f, s) * (double)f->each(s, prefixes);
}

void dhcp_stocks(const struct dhcp_plan *p, struct proto_stock *out)
{
	*out = (struct proto_stock){.name = "clients",
		.remedy = p->automatic ? "there are no more addresses in expect, or hardware "
	                                 "addresses, or memory"
	                               : p->family->more_clients[p->course.again],
		.bound = p->family->more_bound,
		.count = p->clients,
		.given = p->automatic ? p->clients : p->most,
		.left = p->clients - p->leases.count / p->stride,
		.each = p->uses,
		.chosen = p->automatic};
}
