// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv4 responder before it runs: checks, ready options, and the lease table's memory. Path:
// cold. Management thread.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "proto/dhcp/server/dhcp4_answer.h"
#include "proto/dhcp/v4/dhcp4_plan.h"
#include "proto/dhcp/dhcp_setup.h"

// What servers that are told no address call themselves.
static const struct addr fallback_id = {4, {192, 0, 2, 1}};

static const struct addr *server_id(
	const struct dhcp4_answers_settings *s, const struct proto_env *env)
{
	if (s->server_id.len)
		return &s->server_id;
	return env->server.len == 4 ? &env->server : &fallback_id;
}

static bool overlaps(const struct addr_range *a, const struct addr_range *b)
{
	uint64_t a_first = bytes_be32(a->first.bytes), b_first = bytes_be32(b->first.bytes);

	return a_first < b_first + b->count && b_first < a_first + a->count;
}

static bool check_pool(const struct dhcp4_answers_settings *s, struct diag *d)
{
	const struct addr_range *r = s->pool.items;
	uint64_t total = 0;

	if (s->pool.count == 0 || s->pool.count > DHCP4_RANGES_MAX) {
		diag_error(d, &s->pool, "pool", "%u ranges (1 to %u)", s->pool.count,
			DHCP4_RANGES_MAX);
		return false;
	}
	for (uint32_t i = 0; i < s->pool.count; i++) {
		if (!dhcp_family_check(&r[i].first, &r[i], 4, d))
			return false;
		for (uint32_t k = 0; k < i; k++)
			if (overlaps(&r[i], &r[k])) {
				diag_error(d, &r[i], NULL, "overlaps another range of the pool");
				return false;
			}
		total += r[i].count;
	}
	if (total <= DHCP_POOL_MAX || s->clients != UINT64_MAX)
		return true;
	diag_error(d, &s->pool, "pool", "%llu addresses (up to %u, or clients: so many of them)",
		(unsigned long long)total, DHCP_POOL_MAX);
	return false;
}

static uint64_t addresses_of(const struct dhcp4_answers_settings *s)
{
	const struct addr_range *r = s->pool.items;
	uint64_t count = 0;

	for (uint32_t i = 0; i < s->pool.count; i++)
		count += r[i].count;
	return count < s->clients ? count : s->clients;
}

static bool is_same_client(const void *one, const void *other)
{
	const struct dhcp4_settings *a = one, *b = other;

	return memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 && a->client_id == b->client_id &&
	       dhcp_text_equal(a->mac_file, b->mac_file) && dhcp_text_equal(a->chaddr, b->chaddr);
}

static uint64_t wanted(const void *settings, bool prefixes)
{
	return dhcp4_leases_wanted(settings);
}

void dhcp4_check_answers(
	const void *answers, const void *const *settings, uint32_t count, struct diag *d)
{
	static const struct dhcp_demand demand = {wanted, is_same_client};
	const struct dhcp4_answers_settings *s = answers;
	const struct dhcp_supply supply = {
		s, addresses_of(s), s->clients, "pool", "addresses", false};

	if (supply.have > 0 && !s->full_pool) // no pool at all is another error
		dhcp_supply_check(&supply, &demand, settings, count, d);
}

// RFC 2131 section 4.4.5: T1 before T2 before the end of the lease.
static bool set_times(
	struct dhcp4_answers *a, const struct dhcp4_answers_settings *s, struct diag *d)
{
	uint32_t lease_s = dhcp_seconds(s->lease_time_ns);

	a->lease_s = lease_s;
	a->t1_s = dhcp_time_of(s->t1_ns, lease_s, 20);
	a->t2_s = dhcp_time_of(s->t2_ns, lease_s, 35);
	if (s->t2_ns != UINT64_MAX && a->t2_s > lease_s) {
		diag_error(d, &s->t2_ns, NULL, "greater than lease_time");
		return false;
	}
	if (s->t1_ns != UINT64_MAX && a->t1_s > a->t2_s) {
		diag_error(d, &s->t1_ns, NULL, "greater than t2");
		return false;
	}
	if (a->t1_s > a->t2_s) {
		diag_error(d, &s->t2_ns, NULL, "less than t1 (half of lease_time)");
		return false;
	}
	if (lease_s < 3 && s->t1_ns == UINT64_MAX && s->t2_ns == UINT64_MAX) {
		diag_error(d, &s->lease_time_ns, NULL,
			"too short for T1 and T2 between (3s or more, or t1 and t2)");
		return false;
	}
	return true;
}

static bool set_mask(
	struct dhcp4_answers *a, const struct dhcp4_answers_settings *s, struct diag *d)
{
	const struct addr_range *r = s->pool.items;
	const struct addr *routers = s->router.items;
	uint32_t first = bytes_be32(r[0].first.bytes), differ = 0, mask;
	struct writer w = writer_of(a->mask, sizeof(a->mask));

	for (uint32_t i = 0; i < s->pool.count; i++) {
		uint32_t begin = bytes_be32(r[i].first.bytes);

		differ |= (first ^ begin) | (first ^ (begin + (uint32_t)r[i].count - 1));
	}
	for (uint32_t i = 0; i < s->router.count; i++)
		differ |= first ^ bytes_be32(routers[i].bytes);
	mask = differ ? ~(UINT32_MAX >> __builtin_clz(differ)) : UINT32_MAX;
	if (s->subnet_mask.len) {
		if (!dhcp_family_check(&s->subnet_mask, &s->subnet_mask, 4, d))
			return false;
		mask = bytes_be32(s->subnet_mask.bytes);
		if (~mask & (~mask + 1)) {
			diag_error(
				d, &s->subnet_mask, NULL, "not a subnet mask (like 255.255.255.0)");
			return false;
		}
	}
	dhcp4_write_option_be32(&w, DHCP4_OPT_SUBNET_MASK, mask);
	return true;
}

static void set_ranges(struct dhcp4_answers *a, const struct dhcp4_answers_settings *s)
{
	const struct addr_range *r = s->pool.items;
	uint64_t most = s->clients < DHCP_POOL_MAX ? s->clients : DHCP_POOL_MAX;

	for (uint32_t i = 0; i < s->pool.count && a->leases < most; i++) {
		uint64_t left = most - a->leases;
		uint32_t count = (uint32_t)(r[i].count < left ? r[i].count : left);

		a->ranges[a->range_count++] = (struct dhcp4_range){
			.first = bytes_be32(r[i].first.bytes), .count = count, .lease = a->leases};
		a->leases += count;
	}
}

static void set_addresses(struct dhcp4_answers *a, uint8_t code, const struct field_list *list)
{
	const struct addr *addrs = list->items;
	struct dhcp_ready *r = &a->ready[a->ready_count];
	struct writer w = dhcp_ready_begin(r, code);

	if (list->count == 0)
		return;
	a->ready_count++;
	write_u8(&w, code);
	write_u8(&w, (uint8_t)(4 * list->count));
	for (uint32_t i = 0; i < list->count; i++)
		write_bytes(&w, addrs[i].bytes, 4);
	dhcp_ready_end(r, &w);
}

static void set_options(struct dhcp4_answers *a, const struct dhcp4_answers_settings *s)
{
	struct writer w = writer_of(a->terms, sizeof(a->terms));
	struct dhcp_ready *r;

	dhcp4_write_option_be32(&w, DHCP4_OPT_LEASE_TIME, a->lease_s);
	dhcp4_write_option_be32(&w, DHCP4_OPT_T1, a->t1_s);
	dhcp4_write_option_be32(&w, DHCP4_OPT_T2, a->t2_s);
	a->terms_len = (uint8_t)(w.at - a->terms);
	set_addresses(a, DHCP4_OPT_ROUTER, &s->router);
	set_addresses(a, DHCP4_OPT_DNS, &s->dns);
	if (!s->domain)
		return;
	r = &a->ready[a->ready_count++];
	w = dhcp_ready_begin(r, DHCP4_OPT_DOMAIN);
	dhcp4_write_option(&w, DHCP4_OPT_DOMAIN, s->domain, (uint32_t)strnlen(s->domain, 255));
	dhcp_ready_end(r, &w);
}

static bool check(
	const struct dhcp4_answers_settings *s, const struct proto_env *env, struct diag *d)
{
	bool right = check_pool(s, d);

	right = dhcp_family_check(server_id(s, env), &s->server_id, 4, d) && right;
	right = dhcp_addresses_check(&s->router, "router", 4, DHCP4_ANSWER_LISTED, d) && right;
	return dhcp_addresses_check(&s->dns, "dns", 4, DHCP4_ANSWER_LISTED, d) && right;
}

void *dhcp4_answers_setup(const void *answers, const struct proto_env *env, struct diag *d)
{
	const struct dhcp4_answers_settings *s = answers;
	struct dhcp4_answers *a = calloc(1, sizeof(*a));
	bool right;

	if (!a)
		return NULL;
	right = check(s, env, d);
	right = set_times(a, s, d) && right;
	if (!right || !set_mask(a, s, d)) {
		free(a);
		return NULL;
	}
	a->seed = rand_hash(env->seed);
	a->server_id = bytes_be32(server_id(s, env)->bytes);
	a->rapid = s->rapid;
	a->authoritative = s->authoritative;
	a->twice = s->address_twice;
	set_ranges(a, s);
	set_options(a, s);
	if (dhcp_part_check(a->leases, env, &s->pool, "pool", d))
		return a;
	free(a);
	return NULL;
}

void dhcp4_answers_teardown(void *shared)
{
	free(shared);
}

static uint32_t set_share(
	struct dhcp4_server *s, const struct dhcp4_answers *a, const struct proto_env *env)
{
	struct dhcp_part part = dhcp_part_of(a->leases, env);
	struct dhcp4_pool *p = &s->pool;

	for (uint32_t i = 0; i < a->range_count; i++) {
		const struct dhcp4_range *r = &a->ranges[i];
		uint32_t skipped, count = dhcp_part_cut(&part, r->lease, r->count, &skipped);

		if (count)
			s->ranges[p->range_count++] = (struct dhcp4_range){
				r->first + skipped, count, r->lease + skipped - part.begin};
	}
	p->ranges = s->ranges;
	return part.end - part.begin;
}

int dhcp4_answers_open(struct proto_ctx *ctx, const struct proto_env *env)
{
	const struct dhcp4_answers *a = ctx->shared;
	struct dhcp4_server *s = calloc(1, sizeof(*s));
	struct dhcp4_pool *p;
	uint32_t count;

	if (!s)
		return -ENOMEM;
	ctx->own = s;
	p = &s->pool;
	count = set_share(s, a, env);
	if (dhcp_pool_make(&p->leases, count, sizeof(struct dhcp4_lease), a->seed) == 0)
		p->by_hardware = dhcp_pool_buckets(&p->leases);
	if (!p->by_hardware) {
		dhcp4_answers_close(ctx);
		return -ENOMEM;
	}
	dhcp_pool_hold(&p->leases, a->lease_s);
	dhcp4_pool_clear(p);
	return 0;
}

void dhcp4_answers_close(struct proto_ctx *ctx)
{
	struct dhcp4_server *s = ctx->own;

	ctx->own = NULL;
	if (!s)
		return;
	dhcp_pool_unmake(&s->pool.leases);
	free(s->pool.by_hardware);
	free(s);
}
