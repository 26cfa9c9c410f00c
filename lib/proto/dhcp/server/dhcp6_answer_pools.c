// SPDX-License-Identifier: BSD-3-Clause
// The pools of the DHCPv6 responder before it runs: checks, ranges, room for the clients of the
// same file, and the memory of the leases. Path: cold. Management thread.

#include <errno.h>
#include <string.h>

#include "proto/dhcp/server/dhcp6_answer.h"
#include "proto/dhcp/v6/dhcp6_plan.h"
#include "proto/dhcp/dhcp_setup.h"

static bool check_pool(const struct dhcp6_answers_settings *s, struct diag *d)
{
	const struct addr_range *r = s->pool.items;

	if (s->pool.count > DHCP6_RANGES_MAX) {
		diag_error(d, &s->pool, "pool", "%u ranges (up to %u)", s->pool.count,
			DHCP6_RANGES_MAX);
		return false;
	}
	for (uint32_t i = 0; i < s->pool.count; i++)
		if (!dhcp_family_check(&r[i].first, &r[i], 16, d))
			return false;
	return true;
}

static bool check_prefix(
	const struct dhcp6_answers_settings *s, const struct addr_prefix *p, struct diag *d)
{
	if (p->addr.len != 16) {
		diag_error(d, p, NULL, "not an IPv6 prefix");
		return false;
	}
	if (p->bits == 0 || p->bits > s->prefix_length) {
		diag_error(d, p, NULL, "of %u bits (1 to prefix_length, %llu)", p->bits,
			(unsigned long long)s->prefix_length);
		return false;
	}
	return true;
}

static bool check_prefixes(const struct dhcp6_answers_settings *s, struct diag *d)
{
	const struct addr_prefix *p = s->prefixes.items;

	if (s->prefixes.count > DHCP6_RANGES_MAX) {
		diag_error(d, &s->prefixes, "prefixes", "%u prefixes (up to %u)", s->prefixes.count,
			DHCP6_RANGES_MAX);
		return false;
	}
	for (uint32_t i = 0; i < s->prefixes.count; i++)
		if (!check_prefix(s, &p[i], d))
			return false;
	return true;
}

bool dhcp6_pools_check(const struct dhcp6_answers_settings *s, struct diag *d)
{
	bool right = check_pool(s, d);

	return check_prefixes(s, d) && right;
}

static void range_add(struct dhcp6_answers *a, enum dhcp6_kind kind, dhcp6_number first,
	uint64_t count, uint64_t most)
{
	uint64_t left = most - a->leases[kind];
	uint32_t taken = (uint32_t)(count < left ? count : left);

	if (taken == 0)
		return;
	a->ranges[kind][a->range_count[kind]++] =
		(struct dhcp6_range){first, taken, a->leases[kind]};
	a->leases[kind] += taken;
}

static void set_ranges(struct dhcp6_answers *a, const struct dhcp6_answers_settings *s)
{
	const struct addr_range *r = s->pool.items;
	const struct addr_prefix *p = s->prefixes.items;

	a->bits[DHCP6_ADDRESSES] = 128;
	a->bits[DHCP6_PREFIXES] = (uint8_t)s->prefix_length;
	for (uint32_t i = 0; i < s->pool.count; i++)
		range_add(a, DHCP6_ADDRESSES, dhcp6_pool_number(r[i].first.bytes), r[i].count,
			s->clients);
	for (uint32_t i = 0; i < s->prefixes.count; i++) {
		uint32_t spare = (uint32_t)s->prefix_length - p[i].bits;
		dhcp6_number host =
			p[i].bits ? ((dhcp6_number)1 << (128 - p[i].bits)) - 1 : ~(dhcp6_number)0;

		range_add(a, DHCP6_PREFIXES, dhcp6_pool_number(p[i].addr.bytes) & ~host,
			spare < 32 ? 1ull << spare : DHCP_POOL_MAX, s->clients);
	}
}

static bool overlaps(const struct dhcp6_range *a, const struct dhcp6_range *b, uint8_t bits)
{
	return b->first - a->first < (dhcp6_number)a->count << (128 - bits) ||
	       a->first - b->first < (dhcp6_number)b->count << (128 - bits);
}

static bool check_ranges(const struct dhcp6_answers *a, enum dhcp6_kind kind,
	const struct field_list *list, struct diag *d)
{
	for (uint32_t i = 0; i < a->range_count[kind]; i++)
		for (uint32_t k = 0; k < i; k++)
			if (overlaps(&a->ranges[kind][i], &a->ranges[kind][k], a->bits[kind])) {
				diag_error(d, list, kind == DHCP6_ADDRESSES ? "pool" : "prefixes",
					"two of them overlap");
				return false;
			}
	return true;
}

bool dhcp6_pools_set(struct dhcp6_answers *a, const struct dhcp6_answers_settings *s,
	const struct proto_env *env, struct diag *d)
{
	set_ranges(a, s);
	return check_ranges(a, DHCP6_ADDRESSES, &s->pool, d) &&
	       check_ranges(a, DHCP6_PREFIXES, &s->prefixes, d) &&
	       dhcp_part_check(a->leases[DHCP6_ADDRESSES], env, &s->pool, "pool", d) &&
	       dhcp_part_check(a->leases[DHCP6_PREFIXES], env, &s->prefixes, "prefixes", d);
}

static uint64_t addresses_of(const struct dhcp6_answers_settings *s)
{
	const struct addr_range *r = s->pool.items;
	uint64_t count = 0;

	for (uint32_t i = 0; i < s->pool.count; i++)
		count += r[i].count < s->clients ? r[i].count : s->clients;
	return count < s->clients ? count : s->clients;
}

static uint64_t prefixes_of(const struct dhcp6_answers_settings *s)
{
	const struct addr_prefix *p = s->prefixes.items;
	uint64_t count = 0;

	for (uint32_t i = 0; i < s->prefixes.count; i++) {
		uint64_t spare = s->prefix_length - p[i].bits;

		count += spare < 32 ? 1ull << spare : s->clients;
	}
	return count < s->clients ? count : s->clients;
}

static bool is_same_client(const void *one, const void *other)
{
	const struct dhcp6_settings *a = one, *b = other;

	return memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 && a->duid == b->duid &&
	       a->iaid == b->iaid && a->enterprise == b->enterprise &&
	       dhcp_text_equal(a->mac_file, b->mac_file) &&
	       dhcp_text_equal(a->duid_hex, b->duid_hex) &&
	       dhcp_text_equal(a->duid_file, b->duid_file);
}

static uint64_t wanted(const void *settings, bool prefixes)
{
	return dhcp6_leases_wanted(settings, prefixes);
}

void dhcp6_check_answers(
	const void *answers, const void *const *settings, uint32_t count, struct diag *d)
{
	static const struct dhcp_demand demand = {wanted, is_same_client};
	const struct dhcp6_answers_settings *s = answers;
	const struct dhcp_supply supplies[DHCP6_KINDS] = {
		{s, addresses_of(s), s->clients, "pool", "addresses", false},
		{s, prefixes_of(s), s->clients, "prefixes", "prefixes", true}};

	for (uint32_t kind = 0; kind < DHCP6_KINDS && !s->full_pool; kind++)
		dhcp_supply_check(&supplies[kind], &demand, settings, count, d);
}

int dhcp6_pool_open(struct dhcp6_server *s, const struct dhcp6_answers *a, enum dhcp6_kind kind,
	const struct proto_env *env)
{
	struct dhcp_part part = dhcp_part_of(a->leases[kind], env);
	struct dhcp6_pool *p = &s->pools[kind];

	p->bits = a->bits[kind];
	p->ranges = s->ranges[kind];
	for (uint32_t i = 0; i < a->range_count[kind]; i++) {
		const struct dhcp6_range *r = &a->ranges[kind][i];
		uint32_t skipped, count = dhcp_part_cut(&part, r->lease, r->count, &skipped);
		dhcp6_number distance = (dhcp6_number)skipped << (128 - p->bits);

		if (count)
			s->ranges[kind][p->range_count++] = (struct dhcp6_range){
				r->first + distance, count, r->lease + skipped - part.begin};
	}
	if (dhcp_pool_make(&p->leases, part.end - part.begin, sizeof(struct dhcp_lease), a->seed) <
		0)
		return -ENOMEM;
	dhcp_pool_hold(&p->leases, a->valid_s);
	dhcp_pool_clear(&p->leases);
	return 0;
}
