// SPDX-License-Identifier: BSD-3-Clause
// What both responders do before they run. Path: cold. Management thread.

#include "proto/dhcp/server/dhcp_answers.h"

#include <string.h>

#define NS_PER_S 1000000000u

struct writer dhcp_ready_begin(struct dhcp_ready *r, uint16_t code)
{
	r->code = code;
	return writer_of(r->bytes, sizeof(r->bytes));
}

void dhcp_ready_end(struct dhcp_ready *r, const struct writer *w)
{
	r->len = (uint16_t)(w->at - r->bytes);
}

uint32_t dhcp_seconds(uint64_t ns)
{
	return ns == UINT64_MAX ? UINT32_MAX : (uint32_t)(ns / NS_PER_S);
}

uint32_t dhcp_time_of(uint64_t ns, uint32_t whole_s, uint32_t fortieths)
{
	if (ns != UINT64_MAX)
		return dhcp_seconds(ns);
	return whole_s == UINT32_MAX ? whole_s : (uint32_t)((uint64_t)whole_s * fortieths / 40);
}

struct dhcp_part dhcp_part_of(uint32_t leases, const struct proto_env *env)
{
	uint64_t all = leases;

	return (struct dhcp_part){(uint32_t)(all * env->worker / env->workers),
		(uint32_t)(all * (env->worker + 1) / env->workers)};
}

uint32_t dhcp_part_cut(const struct dhcp_part *p, uint32_t first, uint32_t count, uint32_t *skipped)
{
	uint32_t from = first > p->begin ? first : p->begin;
	uint32_t to = first + count < p->end ? first + count : p->end;

	*skipped = from - first;
	return from < to ? to - from : 0;
}

bool dhcp_part_check(uint32_t leases, const struct proto_env *env, const void *where,
	const char *key, struct diag *d)
{
	if (leases == 0 || leases >= env->workers)
		return true;
	diag_error(d, where, key, "%u %s for %u CPUs (at least one for each)", leases,
		strcmp(key, "pool") == 0 ? "addresses" : key, env->workers);
	return false;
}

static uint64_t demanded(
	const struct dhcp_demand *of, const void *const *settings, uint32_t count, bool prefixes)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		bool known = false;

		for (uint32_t k = 0; k < i; k++)
			known |= of->same(settings[i], settings[k]);
		sum += known ? 0 : of->wanted(settings[i], prefixes);
	}
	return sum;
}

void dhcp_supply_check(const struct dhcp_supply *s, const struct dhcp_demand *of,
	const void *const *settings, uint32_t count, struct diag *d)
{
	uint64_t want = demanded(of, settings, count, s->prefixes);

	if (s->have < want)
		diag_error(d, s->where, s->have == s->most ? "clients" : s->key,
			"%llu %s for clients that want %llu (more of them, or full_pool: true when "
			"it is to run full)",
			(unsigned long long)s->have, s->what, (unsigned long long)want);
}

bool dhcp_text_equal(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}
