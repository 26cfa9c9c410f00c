// SPDX-License-Identifier: BSD-3-Clause
// The DHCPv6 responder before it runs: checks, times and ready options. Not here: its pools
// (dhcp6_answer_pools.c). Path: cold. Management thread.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "proto/dhcp/server/dhcp6_answer.h"
#include "proto/dhcp/v6/dhcp6_plan.h"
#include "proto/dhcp/dhcp_setup.h"

#define DUID_EN    2
#define ENTERPRISE 32473 // for documentation (RFC 5612)
#define LABEL_MAX  63

static bool check_server_id(const struct dhcp6_answers_settings *s, struct diag *d)
{
	uint32_t len = s->server_id.len;

	if (len == 0 || (len >= DHCP6_DUID_MIN && len <= DHCP6_DUID_MAX))
		return true;
	diag_error(
		d, &s->server_id, NULL, "%u bytes (%u to %u)", len, DHCP6_DUID_MIN, DHCP6_DUID_MAX);
	return false;
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

// RFC 8415 sections 21.4 and 21.6; a T1 or T2 of 0 leaves it to the client.
static bool set_times(
	struct dhcp6_answers *a, const struct dhcp6_answers_settings *s, struct diag *d)
{
	a->valid_s = dhcp_seconds(s->valid_ns);
	a->preferred_s = dhcp_time_of(s->preferred_ns, a->valid_s, 25);
	a->t1_s = dhcp_time_of(s->t1_ns, a->preferred_s, 20);
	a->t2_s = dhcp_time_of(s->t2_ns, a->preferred_s, 32);
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

static void set_addresses(struct dhcp6_answers *a, uint16_t code, const struct field_list *list)
{
	const struct addr *addrs = list->items;
	struct dhcp_ready *r = &a->ready[a->ready_count];
	struct writer w = dhcp_ready_begin(r, code);
	uint8_t *begin = dhcp6_option_begin(&w, code);

	if (list->count == 0)
		return;
	a->ready_count++;
	for (uint32_t i = 0; i < list->count; i++)
		write_bytes(&w, addrs[i].bytes, 16);
	dhcp6_option_end(&w, begin);
	dhcp_ready_end(r, &w);
}

// RFC 1035 section 3.1; checked before.
static void set_domain(struct dhcp6_answers *a, const char *name)
{
	struct dhcp_ready *r = &a->ready[a->ready_count++];
	struct writer w = dhcp_ready_begin(r, DHCP6_OPT_DOMAIN_LIST);
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
	dhcp_ready_end(r, &w);
}

static void set_time(struct dhcp6_answers *a, uint16_t code, uint64_t ns)
{
	struct dhcp_ready *r = &a->ready[a->ready_count];
	struct writer w = dhcp_ready_begin(r, code);

	if (ns == 0)
		return;
	a->ready_count++;
	dhcp6_write_option_be32(&w, code, dhcp_seconds(ns));
	dhcp_ready_end(r, &w);
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
	bool right = dhcp6_pools_check(s, d);

	right = check_server_id(s, d) && right;
	right = dhcp_addresses_check(&s->dns, "dns", 16, DHCP6_ANSWER_LISTED, d) && right;
	return check_domain(s, d) && right;
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
	if (!right || !dhcp6_pools_set(a, s, env, d)) {
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

int dhcp6_answers_open(struct proto_ctx *ctx, const struct proto_env *env)
{
	const struct dhcp6_answers *a = ctx->shared;
	struct dhcp6_server *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	ctx->own = s;
	for (uint32_t kind = 0; kind < DHCP6_KINDS; kind++) {
		if (dhcp6_pool_open(s, a, (enum dhcp6_kind)kind, env) == 0)
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
