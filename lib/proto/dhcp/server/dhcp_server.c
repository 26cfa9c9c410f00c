// SPDX-License-Identifier: BSD-3-Clause
// The set-up of the server for both families: checks, ranges, times, prepared options, and the
// memory of the leases. Path: cold. Management thread; dhcp_server_open and dhcp_server_close: the
// responder's.

#include "proto/dhcp/server/dhcp_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "proto/dhcp/client/dhcp_client_setup.h"
#include "proto/dhcp/client/dhcp_supply.h"
#include "proto/dhcp/client/lease/dhcp_addresses.h"

#define NS_PER_S 1000000000u

static const char *const kind_keys[DHCP_KINDS] = {"pool", "prefixes"};
static const char *const kind_names[DHCP_KINDS] = {"addresses", "prefixes"};

// An entry of a list in the settings: addresses, or prefixes cut from a longer one.
struct span {
	const void *item;
	dhcp_number first;
	uint64_t count; // at most 2^32
};

static const struct field_list *list_of(const struct dhcp_answers_settings *s, uint32_t kind)
{
	return kind == DHCP_ADDRESSES ? &s->pool : &s->prefixes;
}

static dhcp_number number_of(const struct addr *a)
{
	if (a->len == 4)
		return bytes_be32(a->bytes);
	return (dhcp_number)bytes_be64(a->bytes) << 64 | bytes_be64(a->bytes + 8);
}

static struct span span_of(const struct dhcp_answers_settings *s, uint32_t kind, uint32_t i)
{
	const struct addr_range *r = s->pool.items;
	const struct addr_prefix *p = s->prefixes.items;
	uint64_t spare;

	if (kind == DHCP_ADDRESSES)
		return (struct span){&r[i], number_of(&r[i].first), r[i].count};
	p += i;
	spare = s->prefix_length - p->bits;
	return (struct span){p,
		p->bits ? number_of(&p->addr) >> (128 - p->bits) << (128 - p->bits) : 0,
		spare < 32 ? 1ull << spare : 1ull << 32};
}

static bool prefix_check(
	const struct dhcp_answers_settings *s, const struct addr_prefix *p, struct diag *d)
{
	if (p->addr.len != 16) {
		diag_error(d, p, NULL, "not an IPv6 prefix");
		return false;
	}
	if (p->bits == 0 || p->bits > s->prefix_length) {
		diag_error(d, p, NULL, "a prefix of %u bits (1 to prefix_length, %llu)", p->bits,
			(unsigned long long)s->prefix_length);
		return false;
	}
	return true;
}

static bool items_check(const struct dhcp_server_family *f, const struct dhcp_answers_settings *s,
	uint32_t kind, struct diag *d)
{
	const struct field_list *list = list_of(s, kind);
	const struct addr_range *ranges = s->pool.items;
	const struct addr_prefix *prefixes = s->prefixes.items;
	uint32_t least = kind == DHCP_ADDRESSES && f->needs_pool;

	if (list->count < least || list->count > DHCP_RANGES_MAX) {
		diag_error(d, list, kind_keys[kind], "%u ranges (%u to %u)", list->count, least,
			DHCP_RANGES_MAX);
		return false;
	}
	for (uint32_t i = 0; i < list->count; i++) {
		if (kind == DHCP_PREFIXES && !prefix_check(s, &prefixes[i], d))
			return false;
		if (kind == DHCP_ADDRESSES &&
			!dhcp_family_check(&ranges[i].first, &ranges[i], f->addr_len, d))
			return false;
	}
	return true;
}

static bool total_check(const struct dhcp_answers_settings *s, struct diag *d)
{
	const struct addr_range *r = s->pool.items;
	uint64_t total = 0;

	if (s->clients != UINT64_MAX)
		return true;
	for (uint32_t i = 0; i < s->pool.count; i++)
		total += r[i].count;
	if (total <= DHCP_POOL_MAX)
		return true;
	diag_error(d, &s->pool, "pool", "%llu addresses (up to %u; clients sets the number to use)",
		(unsigned long long)total, DHCP_POOL_MAX);
	return false;
}

static bool overlaps(const struct dhcp_range *a, const struct dhcp_range *b, uint32_t step)
{
	return b->first - a->first < (dhcp_number)a->count << step ||
	       a->first - b->first < (dhcp_number)b->count << step;
}

static bool range_add(
	struct dhcp_answers *a, uint32_t kind, const struct span *s, uint64_t most, struct diag *d)
{
	struct dhcp_range *all = a->ranges[kind];
	uint64_t left = most - a->leases[kind];
	struct dhcp_range r = {.first = s->first,
		.count = (uint32_t)(s->count < left ? s->count : left),
		.lease = a->leases[kind]};

	if (r.count == 0)
		return true;
	for (uint32_t i = 0; i < a->range_count[kind]; i++)
		if (overlaps(&all[i], &r, a->step[kind])) {
			diag_error(d, s->item, NULL, "overlaps another range (remove one of them)");
			return false;
		}
	all[a->range_count[kind]++] = r;
	a->leases[kind] += r.count;
	return true;
}

// Set the ranges of both kinds, with at least one lease per worker or none at all.
static bool set_ranges(struct dhcp_answers *a, const struct dhcp_answers_settings *s,
	const struct proto_env *env, struct diag *d)
{
	uint64_t most = s->clients < DHCP_POOL_MAX ? s->clients : DHCP_POOL_MAX;

	a->step[DHCP_PREFIXES] = 128 - (uint32_t)s->prefix_length;
	for (uint32_t kind = 0; kind < DHCP_KINDS; kind++) {
		for (uint32_t i = 0; i < list_of(s, kind)->count; i++) {
			struct span span = span_of(s, kind, i);

			if (!range_add(a, kind, &span, most, d))
				return false;
		}
		if (a->leases[kind] == 0 || a->leases[kind] >= env->workers)
			continue;
		diag_error(d, list_of(s, kind), kind_keys[kind],
			"%u %s for %u CPUs (at least one for each)", a->leases[kind],
			kind_names[kind], env->workers);
		return false;
	}
	return true;
}

uint32_t dhcp_seconds(uint64_t ns)
{
	return ns == UINT64_MAX ? UINT32_MAX : (uint32_t)(ns / NS_PER_S);
}

// The time ns; automatic (UINT64_MAX): a number of 40ths of whole_s.
static uint32_t time_of(uint64_t ns, uint32_t whole_s, uint32_t fortieths)
{
	if (ns != UINT64_MAX)
		return dhcp_seconds(ns);
	return whole_s == UINT32_MAX ? whole_s : (uint32_t)((uint64_t)whole_s * fortieths / 40);
}

// RFC 2131 section 4.4.5, RFC 8415 sections 21.4 and 21.6: T1, then T2, then the end of the lease.
static bool set_times(const struct dhcp_server_family *f, struct dhcp_answers *a,
	const struct dhcp_answers_settings *s, struct diag *d)
{
	bool automatic = s->t1_ns == UINT64_MAX && s->t2_ns == UINT64_MAX;

	a->lease_s = dhcp_seconds(s->lease_ns);
	a->preferred_s = a->lease_s;
	if (f->preferred)
		a->preferred_s = time_of(s->preferred_ns, a->lease_s, f->preferred_40ths);
	a->t1_s = time_of(s->t1_ns, a->preferred_s, f->t1_40ths);
	a->t2_s = time_of(s->t2_ns, a->preferred_s, f->t2_40ths);
	if (a->preferred_s > a->lease_s)
		diag_error(d, &s->preferred_ns, NULL, "greater than %s", f->lease);
	else if (s->t2_ns != UINT64_MAX && a->t2_s > a->lease_s)
		diag_error(d, &s->t2_ns, NULL, "greater than %s", f->lease);
	else if (a->t1_s > a->t2_s && s->t1_ns != UINT64_MAX && (a->t2_s || !f->t2_may_be_zero))
		diag_error(d, &s->t1_ns, NULL, "greater than t2");
	else if (a->t1_s > a->t2_s && (a->t2_s || !f->t2_may_be_zero))
		diag_error(d, &s->t2_ns, NULL, "less than t1 (half of %s)",
			f->preferred ? f->preferred : f->lease);
	else if (a->lease_s < f->lease_least_s && automatic)
		diag_error(d, &s->lease_ns, NULL,
			"too short for automatic T1 and T2 (set 3s or more, or t1 and t2)");
	else
		return true;
	return false;
}

void dhcp_ready_add(const struct dhcp_server_family *f, struct dhcp_answers *a, uint16_t code,
	const void *data, uint32_t len)
{
	struct dhcp_ready *r = &a->ready[a->ready_count++];
	struct writer w = writer_of(r->bytes, sizeof(r->bytes));

	f->option_write(&w, code, data, len);
	r->code = code;
	r->len = (uint16_t)(w.at - r->bytes);
}

void dhcp_ready_add_addresses(const struct dhcp_server_family *f, struct dhcp_answers *a,
	uint16_t code, const struct field_list *list)
{
	const struct addr *addrs = list->items;
	uint8_t data[DHCP_READY_ROOM];
	struct writer w = writer_of(data, sizeof(data));

	for (uint32_t i = 0; i < list->count; i++)
		write_bytes(&w, addrs[i].bytes, f->addr_len);
	if (list->count)
		dhcp_ready_add(f, a, code, data, (uint32_t)(w.at - data));
}

static uint64_t worker_memory(
	const struct dhcp_server_family *f, const struct dhcp_answers *a, uint32_t workers)
{
	uint64_t bytes = 0;

	for (uint32_t kind = 0; kind < DHCP_KINDS; kind++)
		bytes += dhcp_pool_memory(
			(a->leases[kind] + workers - 1) / workers, a->lease_size, f->by_hardware);
	return bytes;
}

void *dhcp_server_setup(const struct dhcp_server_family *f, const void *settings,
	const struct proto_env *env, struct proto_facts *facts, struct diag *d)
{
	const struct dhcp_answers_settings *s = settings;
	struct dhcp_answers *a = calloc(1, f->answers_size);
	bool right;

	if (!a)
		return NULL;
	a->family = f;
	a->seed = rand_hash(env->seed);
	a->lease_size = f->lease_size;
	a->twice[DHCP_ADDRESSES] = s->address_twice;
	a->twice[DHCP_PREFIXES] = s->prefix_twice;
	a->rapid = s->rapid;
	a->authoritative = s->authoritative;
	right = items_check(f, s, DHCP_ADDRESSES, d) && total_check(s, d);
	right = items_check(f, s, DHCP_PREFIXES, d) && right;
	right = f->own_check(s, env, d) && right;
	right = dhcp_addresses_check(&s->dns, "dns", f->addr_len, f->listed, d) && right;
	right = set_times(f, a, s, d) && right;
	if (!right || !set_ranges(a, s, env, d)) {
		free(a);
		return NULL;
	}
	f->own_set(f, a, s, env);
	facts->memory = env->workers * worker_memory(f, a, env->workers);
	facts->timed = true;
	facts->after_ns = a->after_ns;
	return a;
}

void dhcp_server_teardown(void *shared)
{
	free(shared);
}

// Create the pool of one worker: its part of all leases, adjacent to its neighbours' parts.
static int pool_open(struct dhcp_pool *p, const struct dhcp_answers *a, uint32_t kind,
	const struct proto_env *env)
{
	uint64_t all = a->leases[kind];
	uint32_t begin = (uint32_t)(all * env->worker / env->workers);
	uint32_t end = (uint32_t)(all * (env->worker + 1) / env->workers);

	if (dhcp_pool_make(p, end - begin, a->lease_size, a->family->by_hardware, a->seed) < 0)
		return -ENOMEM;
	p->step = a->step[kind];
	p->twice = a->twice[kind];
	p->hold_s[DHCP_OFFERED] = DHCP_OFFER_S;
	p->hold_s[DHCP_BOUND] = p->hold_s[DHCP_RESTING] = a->lease_s;
	for (uint32_t i = 0; i < a->range_count[kind]; i++) {
		const struct dhcp_range *r = &a->ranges[kind][i];
		uint32_t from = r->lease > begin ? r->lease : begin;
		uint32_t to = r->lease + r->count < end ? r->lease + r->count : end;

		if (from < to)
			p->ranges[p->range_count++] = (struct dhcp_range){
				r->first + ((dhcp_number)(from - r->lease) << p->step), to - from,
				from - begin};
	}
	dhcp_pool_clear(p);
	return 0;
}

int dhcp_server_open(struct proto_ctx *ctx, const struct proto_env *env)
{
	const struct dhcp_answers *a = ctx->shared;
	struct dhcp_server *s = calloc(1, a->family->server_size);

	if (!s)
		return -ENOMEM;
	ctx->own = s;
	for (uint32_t i = 0; i < PROTO_MAX_MORE; i++)
		s->bulks[i].next = i + 1;
	for (uint32_t kind = 0; kind < DHCP_KINDS; kind++)
		if (pool_open(&s->pools[kind], a, kind, env) < 0) {
			dhcp_server_close(ctx);
			return -ENOMEM;
		}
	return 0;
}

void dhcp_server_close(struct proto_ctx *ctx)
{
	struct dhcp_server *s = ctx->own;

	ctx->own = NULL;
	for (uint32_t kind = 0; s && kind < DHCP_KINDS; kind++)
		dhcp_pool_unmake(&s->pools[kind]);
	free(s);
}

static uint64_t supply_of(const struct dhcp_answers_settings *s, uint32_t kind)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < list_of(s, kind)->count; i++) {
		uint64_t count = span_of(s, kind, i).count;

		sum += count < s->clients ? count : s->clients;
	}
	return sum < s->clients ? sum : s->clients;
}

static bool same_clients(const struct dhcp_server_family *f, const void *one, const void *other)
{
	const struct dhcp_settings *a = one, *b = other;

	return memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 &&
	       dhcp_text_equal(a->mac_file, b->mac_file) &&
	       dhcp_text_equal(a->client_file, b->client_file) &&
	       dhcp_text_equal(a->wire, b->wire) && f->same_clients(one, other);
}

// Items with the same clients count once, because they get the same leases. Automatic numbers of
// clients do not count.
static uint64_t demand_of(const struct dhcp_server_family *f, const void *const *settings,
	uint32_t count, bool prefixes)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		bool known = ((const struct dhcp_settings *)settings[i])->clients == UINT64_MAX;

		for (uint32_t k = 0; k < i; k++)
			known |= same_clients(f, settings[i], settings[k]);
		sum += known ? 0 : dhcp_leases_wanted(f->clients, settings[i], prefixes);
	}
	return sum;
}

void dhcp_server_check(const struct dhcp_server_family *f, const void *answers,
	const void *const *settings, uint32_t count, struct diag *d)
{
	const struct dhcp_answers_settings *s = answers;

	if (s->full_pool || (f->needs_pool && s->pool.count == 0)) // the latter is a separate error
		return;
	for (uint32_t kind = 0; kind < DHCP_KINDS; kind++) {
		uint64_t have = supply_of(s, kind);
		uint64_t want = demand_of(f, settings, count, kind == DHCP_PREFIXES);

		if (have < want)
			diag_error(d, s, have == s->clients ? "clients" : kind_keys[kind],
				"%llu %s for clients that want %llu (add some, or set full_pool: "
				"true if they are meant to run out)",
				(unsigned long long)have, kind_names[kind],
				(unsigned long long)want);
	}
}

// A pool that is meant to run out causes no shortage.
uint32_t dhcp_server_stocks(const struct dhcp_server_family *f, const void *answers,
	const void *item, struct proto_stock *out)
{
	const struct dhcp_answers_settings *s = answers;
	const struct dhcp_settings *clients = item;

	for (uint32_t kind = 0; kind < DHCP_KINDS; kind++) {
		uint64_t have = supply_of(s, kind);
		double used = dhcp_leases_used(f->clients, item, kind == DHCP_PREFIXES);

		if (s->full_pool || (clients->again && dhcp_leases_wanted(f->clients, item,
							       kind == DHCP_PREFIXES) <= have))
			used = 0;
		out[kind] = (struct proto_stock){.name = kind_names[kind],
			.remedy = "give it a larger pool, or set full_pool: true",
			.count = have,
			.left = have,
			.each = used,
			.back_s = s->lease_ns == UINT64_MAX ? 0 : 1e-9 * (double)s->lease_ns};
	}
	return DHCP_KINDS;
}

bool dhcp_text_equal(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}
