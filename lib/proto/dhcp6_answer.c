// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv6 responder as users see it and before it runs: the rows of its settings and counters,
// checks, ready options, and the memory of its leases. What it answers is in dhcp6_answer_wire.c,
// what it gets wrong in dhcp6_faults_wire.c. Path: cold. Management thread.

#include "proto/dhcp6_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "proto/dhcp6_plan.h"

#define NS_PER_S   1000000000u
#define NUMBER_MAX 4294967294e9 // the longest lifetime that ends
#define DUID_EN    2
#define ENTERPRISE 32473 // for documentation (RFC 5612)
#define LABEL_MAX  63
#define AT(member) .offset = offsetof(struct dhcp6_answers_settings, member)

static const struct field answers_fields[] = {
	{"pool", "addresses to give: every one of them, the first of a subnet too",
		FIELD_ADDR_RANGE, .list = true, .def = "2001:db8:0:1::/64", AT(pool)},
	{"prefixes", "prefixes that those to give are cut from", FIELD_PREFIX, .list = true,
		.def = "2001:db8:8000::/33", AT(prefixes)},
	{"prefix_length", "length of the prefixes to give", FIELD_COUNT, AT(prefix_length),
		.def = "56", .min = 1, .max = 128},
	{"clients", "addresses, and prefixes, at most: 32 bytes each", FIELD_COUNT, AT(clients),
		.def = "1M", .min = 1, .max = DHCP_POOL_MAX},
	{"valid_lifetime",
		"valid lifetime; when it has passed and the pool is used up, others get it",
		FIELD_DURATION, AT(valid_ns), .def = "1h", .word = "infinite", .min = 1e9,
		.max = NUMBER_MAX},
	{"preferred_lifetime", "preferred lifetime; auto: 5/8 of the valid one", FIELD_DURATION,
		AT(preferred_ns), .def = "auto", .word = "auto", .max = NUMBER_MAX},
	{"t1", "renewal time; auto: half the preferred lifetime", FIELD_DURATION, AT(t1_ns),
		.def = "auto", .word = "auto", .max = NUMBER_MAX},
	{"t2", "rebinding time; auto: 4/5 of the preferred lifetime", FIELD_DURATION, AT(t2_ns),
		.def = "auto", .word = "auto", .max = NUMBER_MAX},
	{"server_id", "DUID of the server; without: made of the responder's own address", FIELD_HEX,
		AT(server_id)},
	{"preference", "preference in ADVERTISEs", FIELD_COUNT, AT(preference), .def = "none",
		.word = "none", .max = 255},
	{"dns", "name servers, for clients that ask for them", FIELD_ADDR, .list = true, AT(dns)},
	{"domain", "domain to search, for clients that ask for it", FIELD_STRING, AT(domain),
		.min = 1, .max = 253},
	{"sol_max_rt", "SOL_MAX_RT, for clients that ask for it; 0s: none", FIELD_DURATION,
		AT(sol_max_rt_ns), .def = "0s", .max = 86400e9},
	{"inf_max_rt", "INF_MAX_RT, likewise", FIELD_DURATION, AT(inf_max_rt_ns), .def = "0s",
		.max = 86400e9},
	{"refresh_time", "information refresh time in answers to INFORMATION-REQUESTs, likewise",
		FIELD_DURATION, AT(refresh_ns), .def = "0s", .max = NUMBER_MAX},
	{"rapid", "grant rapid commit to clients that ask for it", FIELD_BOOL, AT(rapid),
		.def = "false"},
	{"authoritative",
		"unknown clients that RENEW or REBIND get what they say they have when it is free, "
		"instead of NoBinding",
		FIELD_BOOL, AT(authoritative), .def = "false"},
	{"unicast",
		"take messages that clients send to the server's own address; else: UseMulticast",
		FIELD_BOOL, AT(unicast), .def = "true"},
	{"full_pool",
		"fewer addresses or prefixes than clients of the same file are meant: the pool is "
		"to run full",
		FIELD_BOOL, AT(full_pool), .def = "false"},
	{"address_twice", "each so-many-th new client gets an address that another has; 0: none",
		FIELD_COUNT, AT(address_twice), .def = "0"},
	{"prefix_twice", "each so-many-th new client gets a prefix that another has; 0: none",
		FIELD_COUNT, AT(prefix_twice), .def = "0"},
};

const struct field_section dhcp6_answers_section = {
	.name = "dhcp6",
	.help = "addresses out of a pool, prefixes, and all exchanges with them",
	FIELD_ROWS(answers_fields),
	.size = sizeof(struct dhcp6_answers_settings),
};

#define OFFSET(member) offsetof(struct dhcp6_answer_counters, member)
static const struct counter answer_rows[] = {
	DHCP6_ANSWER_COUNTERS(COUNTER_MEMBER_ROW, COUNTER_ARRAY_ROW)};

const struct counter_section dhcp6_answered_section = {
	.name = "dhcp6",
	.help = "DHCPv6 messages answered",
	COUNTER_ROWS(answer_rows),
	.size = sizeof(struct dhcp6_answer_counters),
};

const char *dhcp6_answer_type_label(uint32_t i)
{
	const char *name = dhcp6_type_name(i);

	return name ? name : "other";
}

const char *dhcp6_answer_status_label(uint32_t i)
{
	return dhcp6_status_name(i);
}

static bool check_pool(const struct dhcp6_answers_settings *s, struct diag *d)
{
	const struct addr_range *r = s->pool.items;

	if (s->pool.count > DHCP6_RANGES_MAX) {
		diag_error(d, &s->pool, "pool", "%u ranges (up to %u)", s->pool.count,
			DHCP6_RANGES_MAX);
		return false;
	}
	for (uint32_t i = 0; i < s->pool.count; i++)
		if (r[i].first.len != 16) {
			diag_error(d, &r[i], NULL, "not IPv6 addresses");
			return false;
		}
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

static bool check_server_id(const struct dhcp6_answers_settings *s, struct diag *d)
{
	uint32_t len = s->server_id.len;

	if (len == 0 || (len >= DHCP6_DUID_MIN && len <= DHCP6_DUID_MAX))
		return true;
	diag_error(
		d, &s->server_id, NULL, "%u bytes (%u to %u)", len, DHCP6_DUID_MIN, DHCP6_DUID_MAX);
	return false;
}

static bool check_dns(const struct dhcp6_answers_settings *s, struct diag *d)
{
	const struct addr *a = s->dns.items;

	if (s->dns.count > DHCP6_ANSWER_LISTED) {
		diag_error(d, &s->dns, "dns", "too many (up to %u)", DHCP6_ANSWER_LISTED);
		return false;
	}
	for (uint32_t i = 0; i < s->dns.count; i++)
		if (a[i].len != 16) {
			diag_error(d, &a[i], NULL, "not an IPv6 address");
			return false;
		}
	return true;
}

static bool check_domain(const struct dhcp6_answers_settings *s, struct diag *d)
{
	uint32_t label = 0;

	for (const char *c = s->domain ? s->domain : "x"; *c; c++) {
		label = *c == '.' ? 0 : label + 1;
		if (label > LABEL_MAX || (label == 0 && (c == s->domain || c[1] == '.'))) {
			diag_error(d, &s->domain, NULL, "not a domain name (labels of 1 to %d)",
				LABEL_MAX);
			return false;
		}
	}
	return true;
}

static uint32_t seconds(uint64_t ns)
{
	return ns == UINT64_MAX ? DHCP6_INFINITY : (uint32_t)(ns / NS_PER_S);
}

// ns as it is set, or so many fortieths of another time.
static uint32_t time_of(uint64_t ns, uint32_t whole_s, uint32_t fortieths)
{
	if (ns != UINT64_MAX)
		return seconds(ns);
	return whole_s == DHCP6_INFINITY ? whole_s : (uint32_t)((uint64_t)whole_s * fortieths / 40);
}

// RFC 8415 sections 21.4 and 21.6; a T1 or T2 of 0 leaves it to the client.
static bool set_times(
	struct dhcp6_answers *a, const struct dhcp6_answers_settings *s, struct diag *d)
{
	a->valid_s = seconds(s->valid_ns);
	a->preferred_s = time_of(s->preferred_ns, a->valid_s, 25);
	a->t1_s = time_of(s->t1_ns, a->preferred_s, 20);
	a->t2_s = time_of(s->t2_ns, a->preferred_s, 32);
	if (a->preferred_s > a->valid_s) {
		diag_error(d, &s->preferred_ns, NULL, "greater than valid_lifetime");
		return false;
	}
	if (s->t2_ns != UINT64_MAX && a->t2_s > a->valid_s) {
		diag_error(d, &s->t2_ns, NULL, "greater than valid_lifetime");
		return false;
	}
	if (a->t2_s && a->t1_s > a->t2_s) {
		bool first = s->t1_ns != UINT64_MAX;

		diag_error(d, first ? &s->t1_ns : &s->t2_ns, NULL,
			first ? "greater than t2" : "less than t1 (half of preferred_lifetime)");
		return false;
	}
	return true;
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

static void set_server_id(struct dhcp6_answers *a, const struct dhcp6_answers_settings *s,
	const struct proto_env *env)
{
	struct writer w = writer_of(a->server_id, sizeof(a->server_id));

	if (s->server_id.len) {
		write_bytes(&w, s->server_id.data, s->server_id.len);
	} else {
		write_be16(&w, DUID_EN);
		write_be32(&w, ENTERPRISE);
		write_u8(&w, env->server.len);
		write_bytes(&w, env->server.bytes, env->server.len);
	}
	a->server_id_len = (uint8_t)(w.at - a->server_id);
}

static struct writer ready_begin(struct dhcp6_answers *a, uint16_t code)
{
	struct dhcp6_ready *r = &a->ready[a->ready_count];

	r->code = code;
	return writer_of(r->bytes, sizeof(r->bytes));
}

static void ready_end(struct dhcp6_answers *a, const struct writer *w)
{
	struct dhcp6_ready *r = &a->ready[a->ready_count++];

	r->len = (uint16_t)(w->at - r->bytes);
}

static void set_addresses(struct dhcp6_answers *a, uint16_t code, const struct field_list *list)
{
	const struct addr *addrs = list->items;
	struct writer w = ready_begin(a, code);
	uint8_t *begin = dhcp6_option_begin(&w, code);

	if (list->count == 0)
		return;
	for (uint32_t i = 0; i < list->count; i++)
		write_bytes(&w, addrs[i].bytes, 16);
	dhcp6_option_end(&w, begin);
	ready_end(a, &w);
}

// RFC 1035 section 3.1; checked before.
static void set_domain(struct dhcp6_answers *a, const char *name)
{
	struct writer w = ready_begin(a, DHCP6_OPT_DOMAIN_LIST);
	uint8_t *begin = dhcp6_option_begin(&w, DHCP6_OPT_DOMAIN_LIST);

	while (*name) {
		uint32_t label = (uint32_t)strcspn(name, ".");

		write_u8(&w, (uint8_t)label);
		write_bytes(&w, name, label);
		name += label;
		name += *name == '.';
	}
	write_u8(&w, 0);
	dhcp6_option_end(&w, begin);
	ready_end(a, &w);
}

static void set_time(struct dhcp6_answers *a, uint16_t code, uint64_t ns)
{
	struct writer w = ready_begin(a, code);

	if (ns == 0)
		return;
	dhcp6_write_option_be32(&w, code, seconds(ns));
	ready_end(a, &w);
}

static void set_options(struct dhcp6_answers *a, const struct dhcp6_answers_settings *s)
{
	set_addresses(a, DHCP6_OPT_DNS, &s->dns);
	if (s->domain)
		set_domain(a, s->domain);
	set_time(a, DHCP6_OPT_SOL_MAX_RT, s->sol_max_rt_ns);
	set_time(a, DHCP6_OPT_INF_MAX_RT, s->inf_max_rt_ns);
	set_time(a, DHCP6_OPT_REFRESH_TIME, s->refresh_ns);
}

static bool check(const struct dhcp6_answers_settings *s, struct diag *d)
{
	bool right = check_pool(s, d);

	right = check_prefixes(s, d) && right;
	right = check_server_id(s, d) && right;
	right = check_dns(s, d) && right;
	return check_domain(s, d) && right;
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

// Items with the same first client have the same clients, and they the same leases.
static bool is_same_client(const struct dhcp6_settings *a, const struct dhcp6_settings *b)
{
	return memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 && a->duid == b->duid &&
	       a->duid_hex == b->duid_hex && a->iaid == b->iaid && a->enterprise == b->enterprise;
}

static uint64_t wanted_of(const void *const *settings, uint32_t count, bool prefixes)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t wanted = dhcp6_leases_wanted(settings[i], prefixes);

		for (uint32_t k = 0; k < i; k++)
			if (is_same_client(settings[i], settings[k]))
				wanted = 0;
		sum += wanted;
	}
	return sum;
}

static void check_room(const struct dhcp6_answers_settings *s, uint64_t have, uint64_t want,
	bool prefixes, struct diag *d)
{
	const char *what = prefixes ? "prefixes" : "addresses";
	const char *key = prefixes ? "prefixes" : "pool";

	if (have < want)
		diag_error(d, s, have == s->clients ? "clients" : key,
			"%llu %s for clients that want %llu (more of them, or full_pool: true when "
			"it is to run full)",
			(unsigned long long)have, what, (unsigned long long)want);
}

void dhcp6_check_answers(
	const void *answers, const void *const *settings, uint32_t count, struct diag *d)
{
	const struct dhcp6_answers_settings *s = answers;

	if (s->full_pool)
		return;
	check_room(s, addresses_of(s), wanted_of(settings, count, false), false, d);
	check_room(s, prefixes_of(s), wanted_of(settings, count, true), true, d);
}

void *dhcp6_answers_setup(const void *answers, const struct proto_env *env, struct diag *d)
{
	const struct dhcp6_answers_settings *s = answers;
	struct dhcp6_answers *a = calloc(1, sizeof(*a));
	bool right;

	if (!a)
		return NULL;
	right = check(s, d);
	right = set_times(a, s, d) && right;
	if (right)
		set_ranges(a, s);
	if (!right || !check_ranges(a, DHCP6_ADDRESSES, &s->pool, d) ||
		!check_ranges(a, DHCP6_PREFIXES, &s->prefixes, d)) {
		free(a);
		return NULL;
	}
	a->seed = rand_hash(env->seed);
	a->twice[DHCP6_ADDRESSES] = s->address_twice;
	a->twice[DHCP6_PREFIXES] = s->prefix_twice;
	a->rapid = s->rapid;
	a->authoritative = s->authoritative;
	a->unicast = s->unicast;
	a->has_preference = s->preference != UINT64_MAX;
	a->preference = (uint8_t)s->preference;
	set_server_id(a, s, env);
	set_options(a, s);
	return a;
}

void dhcp6_answers_teardown(void *shared)
{
	free(shared);
}

// The part of a pool that one of several workers has: its neighbours' begins where its ends.
static int open_pool(struct dhcp6_server *s, const struct dhcp6_answers *a, enum dhcp6_kind kind,
	const struct proto_env *env)
{
	uint64_t all = a->leases[kind];
	uint32_t begin = (uint32_t)(all * env->worker / env->workers);
	uint32_t end = (uint32_t)(all * (env->worker + 1) / env->workers);
	struct dhcp6_pool *p = &s->pools[kind];

	p->bits = a->bits[kind];
	p->ranges = s->ranges[kind];
	for (uint32_t i = 0; i < a->range_count[kind]; i++) {
		const struct dhcp6_range *r = &a->ranges[kind][i];
		uint32_t from = r->lease > begin ? r->lease : begin;
		uint32_t to = r->lease + r->count < end ? r->lease + r->count : end;
		dhcp6_number skipped = from - r->lease;

		if (from < to)
			s->ranges[kind][p->range_count++] = (struct dhcp6_range){
				r->first + (skipped << (128 - p->bits)), to - from, from - begin};
	}
	if (dhcp_pool_make(&p->leases, end - begin, sizeof(struct dhcp_lease), a->seed) < 0)
		return -ENOMEM;
	dhcp_pool_hold(&p->leases, a->valid_s);
	dhcp_pool_clear(&p->leases);
	return 0;
}

int dhcp6_answers_open(struct proto_ctx *ctx, const struct proto_env *env)
{
	const struct dhcp6_answers *a = ctx->shared;
	struct dhcp6_server *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	ctx->own = s;
	for (uint32_t kind = 0; kind < DHCP6_KINDS; kind++) {
		if (open_pool(s, a, (enum dhcp6_kind)kind, env) == 0)
			continue;
		dhcp6_answers_close(ctx);
		return -ENOMEM;
	}
	return 0;
}

void dhcp6_answers_close(struct proto_ctx *ctx)
{
	struct dhcp6_server *s = ctx->own;

	ctx->own = NULL;
	if (!s)
		return;
	for (uint32_t kind = 0; kind < DHCP6_KINDS; kind++)
		dhcp_pool_unmake(&s->pools[kind].leases);
	free(s);
}
