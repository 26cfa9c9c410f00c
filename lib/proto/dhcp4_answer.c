// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv4 responder as users see it and before it runs: the rows of its settings and counters,
// checks, ready options, and the lease table's memory. What it answers is in dhcp4_answer_wire.c,
// what it gets wrong in dhcp4_faults_wire.c. Path: cold. Management thread.

#include "proto/dhcp4_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "proto/dhcp4_internal.h"
#include "proto/dhcp4_plan.h"

#define NS_PER_S   1000000000u
#define AT(member) .offset = offsetof(struct dhcp4_answers_settings, member)

static const struct field answers_fields[] = {
	{"pool", "addresses to give: every one of them, those of networks and broadcasts too",
		FIELD_ADDR_RANGE, .list = true, .def = "10.64.0.0/12", AT(pool)},
	{"clients", "leases at most, 64 bytes each: only so many of the pool's addresses are used",
		FIELD_COUNT, AT(clients), .def = "all", .word = "all", .min = 1,
		.max = DHCP_POOL_MAX},
	{"lease_time", "lease time; when it has passed and the pool is used up, others get it",
		FIELD_DURATION, AT(lease_time_ns), .def = "1h", .word = "infinite", .min = 1e9,
		.max = 4294967294e9},
	{"t1", "renewal time; auto: half the lease time", FIELD_DURATION, AT(t1_ns), .def = "auto",
		.word = "auto", .max = 4294967294e9},
	{"t2", "rebinding time; auto: 7/8 of the lease time", FIELD_DURATION, AT(t2_ns),
		.def = "auto", .word = "auto", .max = 4294967294e9},
	{"server_id", "server identifier in every answer; without: the responder's own address",
		FIELD_ADDR, AT(server_id)},
	{"subnet_mask",
		"subnet mask; without: of the smallest network with the pool and routers in it",
		FIELD_ADDR, AT(subnet_mask)},
	{"router", "routers, for clients that ask for them", FIELD_ADDR, .list = true, AT(router)},
	{"dns", "name servers, for clients that ask for them", FIELD_ADDR, .list = true, AT(dns)},
	{"domain", "domain name, for clients that ask for it", FIELD_STRING, AT(domain), .min = 1,
		.max = 255},
	{"rapid", "grant rapid commit (RFC 4039) to clients that ask for it", FIELD_BOOL, AT(rapid),
		.def = "false"},
	{"authoritative",
		"unknown clients get the address that they say they have when it is free, "
		"and a NAK when it is not, instead of no answer",
		FIELD_BOOL, AT(authoritative), .def = "false"},
	{"full_pool",
		"fewer addresses than clients of the same file are meant: the pool is to run full",
		FIELD_BOOL, AT(full_pool), .def = "false"},
	{"address_twice", "each so-many-th new client gets an address that another has; 0: none",
		FIELD_COUNT, AT(address_twice), .def = "0"},
};

const struct field_section dhcp4_answers_section = {
	.name = "dhcp4",
	.help = "leases out of a pool, and all exchanges with them",
	FIELD_ROWS(answers_fields),
	.size = sizeof(struct dhcp4_answers_settings),
};

#define OFFSET(member) offsetof(struct dhcp4_answer_counters, member)
static const struct counter answer_rows[] = {
	DHCP4_ANSWER_COUNTERS(COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW)};

const struct counter_section dhcp4_answered_section = {
	.name = "dhcp4",
	.help = "DHCPv4 messages answered",
	COUNTER_ROWS(answer_rows),
	.size = sizeof(struct dhcp4_answer_counters),
};

const char *dhcp4_answer_type_label(uint32_t i)
{
	const char *name = dhcp4_type_name(i);

	return name ? name : "other";
}

// What servers that are told no address call themselves.
static const struct addr fallback_id = {4, {192, 0, 2, 1}};

static uint32_t host_order(const struct addr *a)
{
	const uint8_t *p = a->bytes;

	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool check_family(const struct addr *a, const void *where, struct diag *d)
{
	if (a->len == 4)
		return true;
	diag_error(d, where, NULL, "not an IPv4 address");
	return false;
}

static const struct addr *server_id(
	const struct dhcp4_answers_settings *s, const struct proto_env *env)
{
	if (s->server_id.len)
		return &s->server_id;
	return env->server.len == 4 ? &env->server : &fallback_id;
}

static bool check_addresses(const struct field_list *list, const char *key, struct diag *d)
{
	const struct addr *a = list->items;

	if (list->count > DHCP4_ANSWER_LISTED) {
		diag_error(d, list, key, "too many (up to %u)", DHCP4_ANSWER_LISTED);
		return false;
	}
	for (uint32_t i = 0; i < list->count; i++)
		if (!check_family(&a[i], &a[i], d))
			return false;
	return true;
}

static bool overlaps(const struct addr_range *a, const struct addr_range *b)
{
	uint64_t a_first = host_order(&a->first), b_first = host_order(&b->first);

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
		if (!check_family(&r[i].first, &r[i], d))
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

// Items with the same first client have the same clients, and they the same addresses.
static bool is_same_client(const struct dhcp4_settings *a, const struct dhcp4_settings *b)
{
	return memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 && a->mac_file == b->mac_file &&
	       a->chaddr == b->chaddr && a->client_id == b->client_id;
}

static uint64_t holders_of(const void *const *settings, uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t clients = dhcp4_leases_wanted(settings[i]);

		for (uint32_t k = 0; k < i; k++)
			if (is_same_client(settings[i], settings[k]))
				clients = 0;
		sum += clients;
	}
	return sum;
}

void dhcp4_check_answers(
	const void *answers, const void *const *settings, uint32_t count, struct diag *d)
{
	const struct dhcp4_answers_settings *s = answers;
	uint64_t have = addresses_of(s), want = holders_of(settings, count);

	if (have > 0 && have < want && !s->full_pool) // no pool at all is another error
		diag_error(d, s, have == s->clients ? "clients" : "pool",
			"%llu addresses for %llu clients (more of them, or full_pool: true when "
			"it is to run full)",
			(unsigned long long)have, (unsigned long long)want);
}

static uint32_t seconds(uint64_t ns)
{
	return ns == UINT64_MAX ? UINT32_MAX : (uint32_t)(ns / NS_PER_S);
}

static uint32_t part_of(uint32_t lease_s, uint32_t eighths)
{
	return lease_s == UINT32_MAX ? lease_s : (uint32_t)((uint64_t)lease_s * eighths / 8);
}

// RFC 2131 section 4.4.5: T1 before T2 before the end of the lease.
static bool set_times(
	struct dhcp4_answers *a, const struct dhcp4_answers_settings *s, struct diag *d)
{
	uint32_t lease_s = seconds(s->lease_time_ns);

	a->lease_s = lease_s;
	a->t1_s = s->t1_ns == UINT64_MAX ? part_of(lease_s, 4) : seconds(s->t1_ns);
	a->t2_s = s->t2_ns == UINT64_MAX ? part_of(lease_s, 7) : seconds(s->t2_ns);
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
	uint32_t first = host_order(&r[0].first), differ = 0, mask;
	struct writer w = writer_of(a->mask, sizeof(a->mask));

	for (uint32_t i = 0; i < s->pool.count; i++) {
		uint32_t begin = host_order(&r[i].first);

		differ |= (first ^ begin) | (first ^ (begin + (uint32_t)r[i].count - 1));
	}
	for (uint32_t i = 0; i < s->router.count; i++)
		differ |= first ^ host_order(&routers[i]);
	mask = differ ? ~(UINT32_MAX >> __builtin_clz(differ)) : UINT32_MAX;
	if (s->subnet_mask.len) {
		if (!check_family(&s->subnet_mask, &s->subnet_mask, d))
			return false;
		mask = host_order(&s->subnet_mask);
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
			.first = host_order(&r[i].first), .count = count, .lease = a->leases};
		a->leases += count;
	}
}

static struct writer ready_begin(struct dhcp4_answers *a, uint8_t code)
{
	struct dhcp4_ready *r = &a->ready[a->ready_count];

	r->code = code;
	return writer_of(r->bytes, sizeof(r->bytes));
}

static void ready_end(struct dhcp4_answers *a, const struct writer *w)
{
	struct dhcp4_ready *r = &a->ready[a->ready_count++];

	r->len = (uint16_t)(w->at - r->bytes);
}

static void set_addresses(struct dhcp4_answers *a, uint8_t code, const struct field_list *list)
{
	const struct addr *addrs = list->items;
	struct writer w = ready_begin(a, code);

	if (list->count == 0)
		return;
	write_u8(&w, code);
	write_u8(&w, (uint8_t)(4 * list->count));
	for (uint32_t i = 0; i < list->count; i++)
		write_bytes(&w, addrs[i].bytes, 4);
	ready_end(a, &w);
}

static void set_options(struct dhcp4_answers *a, const struct dhcp4_answers_settings *s)
{
	struct writer w = writer_of(a->terms, sizeof(a->terms));

	dhcp4_write_option_be32(&w, DHCP4_OPT_LEASE_TIME, a->lease_s);
	dhcp4_write_option_be32(&w, DHCP4_OPT_T1, a->t1_s);
	dhcp4_write_option_be32(&w, DHCP4_OPT_T2, a->t2_s);
	a->terms_len = (uint8_t)(w.at - a->terms);
	set_addresses(a, DHCP4_OPT_ROUTER, &s->router);
	set_addresses(a, DHCP4_OPT_DNS, &s->dns);
	if (!s->domain)
		return;
	w = ready_begin(a, DHCP4_OPT_DOMAIN);
	dhcp4_write_option(&w, DHCP4_OPT_DOMAIN, s->domain, (uint32_t)strnlen(s->domain, 255));
	ready_end(a, &w);
}

static bool check(
	const struct dhcp4_answers_settings *s, const struct proto_env *env, struct diag *d)
{
	bool right = check_pool(s, d);

	right = check_family(server_id(s, env), &s->server_id, d) && right;
	right = check_addresses(&s->router, "router", d) && right;
	return check_addresses(&s->dns, "dns", d) && right;
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
	a->server_id = host_order(server_id(s, env));
	a->rapid = s->rapid;
	a->authoritative = s->authoritative;
	a->twice = s->address_twice;
	set_ranges(a, s);
	set_options(a, s);
	if (a->leases < env->workers) {
		diag_error(d, &s->pool, "pool", "%u addresses for %u CPUs (at least one for each)",
			a->leases, env->workers);
		free(a);
		return NULL;
	}
	return a;
}

void dhcp4_answers_teardown(void *shared)
{
	free(shared);
}

// The part of the pool that one of several workers has: its neighbours' begins where its ends.
static uint32_t set_share(
	struct dhcp4_server *s, const struct dhcp4_answers *a, const struct proto_env *env)
{
	uint32_t first = (uint32_t)((uint64_t)a->leases * env->worker / env->workers);
	uint32_t end = (uint32_t)((uint64_t)a->leases * (env->worker + 1) / env->workers);
	struct dhcp4_pool *p = &s->pool;

	for (uint32_t i = 0; i < a->range_count; i++) {
		const struct dhcp4_range *r = &a->ranges[i];
		uint32_t from = r->lease > first ? r->lease : first;
		uint32_t to = r->lease + r->count < end ? r->lease + r->count : end;

		if (from >= to)
			continue;
		s->ranges[p->range_count++] =
			(struct dhcp4_range){r->first + (from - r->lease), to - from, from - first};
	}
	p->ranges = s->ranges;
	return end - first;
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
